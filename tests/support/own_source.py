"""What a source of one's own needs besides ``reduce`` and ``with_columns``."""

from llrkit.scores import ScoreSource
from llrkit.scores.source import Roles, row_in_words


class OwnSource(ScoreSource):
    """One score per trial, no ids; a test adds how the trials are summarized."""

    @property
    def roles(self):
        return Roles()

    def place(self, row):
        return row_in_words(row)
