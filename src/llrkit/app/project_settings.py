"""Settings: what is chosen once for all pages and documents of a project."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from llrkit.app.choice_types import Spoken
from llrkit.results.vocabulary import VOCABULARIES, LlrUnit, Vocabulary, llr_unit

WORDS = {
    "forensic": "same-source, different-source",
    "nist": "target, non-target (NIST)",
}
_QUOTED = re.compile(r"'[^']*'")
UNITS = {"": "natural logarithms (nats)", "on": "base ten (log10 LR)"}


@dataclass(frozen=True)
class Settings:
    """The words, the unit of LLRs, and the columns of the speakers.

    Examples
    --------
    >>> Settings(base_10=True).unit.column, Settings().vocabulary.target
    ('log10 LR', 'same-source')
    """

    words: str = "forensic"
    base_10: bool = False
    speakers: tuple[str, ...] = ()
    """One or two columns; without them trials are taken as independent."""

    @classmethod
    def from_dict(cls, plain: object) -> Settings:
        """As they are saved; what cannot be settings is a ValueError, or a TypeError."""
        if not isinstance(plain, dict):
            raise ValueError
        settings = cls(**{**plain, "speakers": tuple(plain.get("speakers", ()))})
        is_one = settings.words in WORDS and isinstance(settings.base_10, bool)
        if not is_one or not all(isinstance(name, str) for name in settings.speakers):
            raise ValueError
        return settings

    def to_dict(self) -> Spoken:
        """Plain values."""
        return {"words": self.words, "base_10": self.base_10, "speakers": list(self.speakers)}

    @property
    def unit(self) -> LlrUnit:
        """In which LLRs are shown."""
        return llr_unit(self.base_10)

    @property
    def vocabulary(self) -> Vocabulary:
        """In whose words pages and documents speak."""
        return VOCABULARIES[self.words]


def said_in(words: Vocabulary, text: str, names: Iterable[str]) -> str:
    """What the library said in the words of a project; names of files and columns, and what is quoted, stay.

    Examples
    --------
    >>> said_in(VOCABULARIES["forensic"], "target.csv: 3 trials have the label 'target'", ["target.csv"])
    "target.csv: 3 comparisons have the label 'target'"
    """
    return words.say_of_sources(text, keep=(*names, *_QUOTED.findall(text)))
