"""How results are worded: in the words of three communities, and in two units of LLRs.

One table holds the words of three communities for the same things, for tables, plots and reports. Sentences
are written once, in the words of NIST's evaluations; a vocabulary says them in the words of forensic science
or of biometrics (ISO/IEC 19795-1 and 2382-37).

Units of log-likelihood-ratios: nats inside, the logarithm to base ten where a reader asks for it. Whatever
shows an LLR asks here how: the number, and the name of its unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from llrkit.base.process import cached_property
from llrkit.base.text import table_beside

_COLUMNS = ("nist", "forensic", "biometrics")
_WORDS = table_beside(__file__, "words.txt")


_OF_SOURCES = {"same-source": "target", "different-source": "non-target"}
"""Words of texts that are written for forensic science, and NIST's."""


@dataclass(frozen=True)
class Vocabulary:
    """What a community calls things.

    Examples
    --------
    >>> vocabulary("biometrics").say("Misses against false alarms: Pmiss of 1,000 targets")
    'False non-matches against false matches: FNMR of 1,000 mated comparisons'
    >>> vocabulary("forensic").say("non-target trials of target.csv", keep=["target.csv"])
    'different-source comparisons of target.csv'
    """

    name: str

    def say(self, text: str, *, keep: Iterable[str] = ()) -> str:
        """A text in NIST's words in those of this community; names to ``keep`` stay as they are.

        Words that are part of a name (``target_loss``, ``--false-alarm-rate``, ``target.csv``) stay too.
        """
        if self.name == _COLUMNS[0]:
            return text
        return _either_word(keep, self._pattern).sub(self._replaced, text)

    def say_of_sources(self, text: str, *, keep: Iterable[str] = ()) -> str:
        """A text that speaks of same-source and different-source trials, in the words of this community.

        Examples
        --------
        >>> said = "2 % of same-source trials below 0"
        >>> [vocabulary(name).say_of_sources(said) for name in ("nist", "forensic")]
        ['2 % of target trials below 0', '2 % of same-source comparisons below 0']
        """
        names = tuple(keep)
        pattern = _either_word(names, rf"(?<![\w./=-])(?P<word>{'|'.join(_OF_SOURCES)})(?![\w=-]|\.\w|/\w)")
        return self.say(pattern.sub(lambda m: _OF_SOURCES.get(m["word"], m[0]), text), keep=names)

    def _replaced(self, match: re.Match[str]) -> str:
        word = match["word"]
        if word is None:  # a name to keep
            return match[0]
        if word in self._table:  # as it stands, for words with a capital of their own (Pmiss)
            return self._table[word]
        said = self._table[word[0].lower() + word[1:]]
        return said[0].upper() + said[1:]

    @cached_property
    def _table(self) -> dict[str, str]:
        place = _COLUMNS.index(self.name)
        return {row[0]: row[place] for row in _WORDS}

    @cached_property
    def _pattern(self) -> str:
        longest = sorted(self._table, key=len, reverse=True)  # "miss rate" before "miss"
        either = (f"[{word[0].upper()}{word[0].lower()}]{re.escape(word[1:])}" if word[0].islower()
                  else re.escape(word) for word in longest)  # fmt: skip
        # not inside names, paths and options
        return rf"(?<![\w./=-])(?P<word>{'|'.join(either)})(?![\w=-]|\.\w|/\w)"


def _either_word(keep: Iterable[str], words: str) -> re.Pattern[str]:
    """Names to keep, the longest first, or words."""
    kept = [_whole_word(name) for name in sorted(filter(None, keep), key=len, reverse=True)]
    return re.compile("|".join([*kept, words]))


def _whole_word(name: str) -> str:
    """A name that is not part of a longer word: ``f`` is none in ``false``."""
    before, after = (r"\w" if re.match(r"\w", end) else "" for end in (name[0], name[-1]))
    return (rf"(?<!{before})" if before else "") + re.escape(name) + (rf"(?!{after})" if after else "")


VOCABULARIES = {name: Vocabulary(name) for name in _COLUMNS}


def vocabulary(name: object) -> Vocabulary:
    """A vocabulary by its name.

    Examples
    --------
    >>> vocabulary("biometrics").say("Pmiss and Pfa")
    'FNMR and FMR'
    """
    from llrkit.base.arguments import one_of  # needs NumPy, which the help of a command does not

    one_of(name, VOCABULARIES, "vocabulary")
    return VOCABULARIES[str(name)]


LN10 = math.log(10.0)
F = TypeVar("F")


@dataclass(frozen=True)
class LlrUnit:
    """A unit in which LLRs are shown.

    Examples
    --------
    >>> NATS.said(2.0), LOG10.said(2.0), LOG10.span(-2.0, 2.0)
    ('2.00 nats', '0.87 in log10 LR', '-0.87 to 0.87 in log10 LR')
    """

    nats: float
    """How many nats one unit has."""
    suffix: str
    """Follows a number in a sentence."""
    column: str
    """The head of a column of LLRs."""
    short: str
    """In brackets behind the name of what is a difference or a bound of LLRs."""

    @property
    def base_10(self) -> bool:
        """Whether it is the logarithm to base ten."""
        return self.nats != 1.0

    def of(self, llr: F) -> F:
        """A natural-log LLR, or an array of them, in this unit."""
        return llr / self.nats  # type: ignore[operator,return-value]

    def said(self, llr: float, form: str = ".2f") -> str:
        """A natural-log LLR in a sentence."""
        return f"{self.of(llr):{form}} {self.suffix}"

    def span(self, low: float, high: float) -> str:
        """A range of natural-log LLRs in a sentence."""
        return f"{self.of(low):.2f} to {self.said(high)}"


NATS = LlrUnit(1.0, "nats", "LLR (nats)", "nats")
LOG10 = LlrUnit(LN10, "in log10 LR", "log10 LR", "log10 LR")


def llr_unit(base_10: bool) -> LlrUnit:
    """The unit that a reader asked for."""
    return LOG10 if base_10 else NATS


@dataclass(frozen=True)
class Amount:
    """A natural-log LLR that stands in a text, in nats: what was written can be said in another unit."""

    llr: float
    form: str = ".2f"
    bare: bool = False
    """Without the unit, which an axis beside it names."""

    def __str__(self) -> str:
        return self.said_in(NATS)

    def said_in(self, unit: LlrUnit) -> str:
        """The amount in a unit."""
        if self.bare:
            return f"{unit.of(self.llr):{self.form}}".replace("-", "−")  # a minus sign, not a hyphen
        return unit.said(self.llr, self.form)


def in_unit(text: str, amounts: Iterable[Amount], unit: LlrUnit) -> str:
    """A text whose amounts, in the order in which they stand, are said in a unit.

    Examples
    --------
    >>> bias = Amount(0.8123, ".1f")
    >>> in_unit(f"biased by {bias}", [bias], LOG10)
    'biased by 0.4 in log10 LR'
    """
    if not unit.base_10:  # texts are written in nats
        return text
    said = ""
    for amount in amounts:
        # only behind the amount before: two amounts may read the same
        before, written, after = text.partition(str(amount))
        if written:
            said, text = said + before + amount.said_in(unit), after
    return said + text
