"""DerivedSource: another source whose chunks are changed on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from llrkit.scores.arrays import Scores
from llrkit.scores.source import MadeOf, S, ScoreSource, as_source


@dataclass(frozen=True)
class DerivedSource(MadeOf):
    """The trials of another source after a change: some of them only, or with other scores.

    Parameters
    ----------
    change
        What becomes of a chunk; it keeps the columns of the trials that stay.
    needs
        The columns that ``change`` looks at.

    Examples
    --------
    >>> scores = Scores([1.0, 4.0], [0.0, 2.0])
    >>> doubled = DerivedSource(scores, lambda chunk: Scores.part(2 * chunk.target, 2 * chunk.nontarget))
    >>> from llrkit.core.moments import Moments
    >>> doubled.reduce(Moments.of).target.mean
    array([5.])
    """

    source: ScoreSource
    change: Callable[[Scores], Scores]
    needs: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    score: tuple[str, ...] = ()
    """Names of the systems, where the change leaves them as they are."""

    @property
    def weight(self) -> str | None:
        """The column that says how often each trial counts, where the source below has one."""
        return getattr(self.source, "weight", None)

    def __post_init__(self) -> None:
        as_source(self.source)

    def reduce(self, summarize: Callable[[Scores], S]) -> S:
        """Change every chunk, then summarize it; a chunk may have nothing left."""
        return self._wide.reduce(lambda chunk: summarize(self.change(chunk)))

    @cached_property
    def _wide(self) -> ScoreSource:
        """The source below with the columns it takes; kept, because it may keep what it has read."""
        names = tuple(dict.fromkeys((*self.carried, *self.needs)))
        if not names or getattr(self.source, "carried", None) == names:
            return self.source
        return self.source.with_columns(*names)

    def with_columns(self, *names: str) -> DerivedSource:
        """The same trials carrying these columns."""
        self.source.with_columns(*names)  # a name that does not exist is refused here already
        return replace(self, carried=names)


def place_of(source: ScoreSource, row: int) -> str:
    """Where a row is, in the words of the source it comes from: file and line, or a row of a table.

    Examples
    --------
    >>> place_of(Scores([1.0], [0.0]), 3)
    'row 3 (counted from 0)'
    """
    while isinstance(source, MadeOf):
        source = source.source
    place: Callable[[int], str] | None = getattr(source, "place", None)
    return row_in_words(row) if place is None else place(row)


def row_in_words(row: int) -> str:
    """A row of a table: these are counted from 0, lines of files from 1, so messages say which."""
    return f"row {row} (counted from 0)"
