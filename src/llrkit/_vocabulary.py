"""The words of three communities for the same things: one table, used by tables, plots and reports.

Sentences are written once, in the words of NIST's evaluations; a vocabulary says them in the words of
forensic science or of biometrics (ISO/IEC 19795-1 and 2382-37).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from llrkit._cached import cached_property
from llrkit._format import not_among
from llrkit.errors import UnknownNameError

_COLUMNS = ("nist", "forensic", "biometrics")
_WORDS = (
    ("target trial", "same-source comparison", "mated comparison"),
    ("target trials", "same-source comparisons", "mated comparisons"),
    ("non-target trial", "different-source comparison", "non-mated comparison"),
    ("non-target trials", "different-source comparisons", "non-mated comparisons"),
    ("target", "same-source", "mated"),
    ("targets", "same-source comparisons", "mated comparisons"),
    ("non-target", "different-source", "non-mated"),
    ("nontarget", "different-source", "non-mated"),
    ("non-targets", "different-source comparisons", "non-mated comparisons"),
    ("trial", "comparison", "comparison"),
    ("trials", "comparisons", "comparisons"),
    ("miss", "false exclusion", "false non-match"),
    ("misses", "false exclusions", "false non-matches"),
    ("false alarm", "false inclusion", "false match"),
    ("false alarms", "false inclusions", "false matches"),
    ("miss rate", "false-exclusion rate", "FNMR"),
    ("false-alarm rate", "false-inclusion rate", "FMR"),
    ("share of targets accepted", "share of same-source comparisons accepted", "TMR"),
    ("targets accepted", "same-source comparisons accepted", "TMR"),
    ("Pmiss", "false-exclusion rate", "FNMR"),
    ("Pfa", "false-inclusion rate", "FMR"),
    ("same-source", "same-source", "mated"),
    ("different-source", "different-source", "non-mated"),
    ("speaker", "speaker", "subject"),
    ("speakers", "speakers", "subjects"),
)


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

    @property
    def target(self) -> str:
        """A trial of the class that should be accepted, as an adjective."""
        return self._of("target")

    @property
    def nontarget(self) -> str:
        """A trial of the other class, as an adjective."""
        return self._of("non-target")

    @property
    def misses(self) -> str:
        """Errors among targets."""
        return self._of("misses")

    @property
    def false_alarms(self) -> str:
        """Errors among non-targets."""
        return self._of("false alarms")

    @property
    def p_miss(self) -> str:
        """The rate of misses."""
        return self._of("Pmiss")

    @property
    def p_fa(self) -> str:
        """The rate of false alarms."""
        return self._of("Pfa")

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
        if word in self._table:
            return self._table[word]
        said = self._table[word[0].lower() + word[1:]]
        return said[0].upper() + said[1:]

    def _of(self, word: str) -> str:
        return self._table.get(word, word)

    @cached_property
    def _table(self) -> dict[str, str]:
        place = _COLUMNS.index(self.name)
        return {row[0]: row[place] for row in _WORDS}

    @cached_property
    def _pattern(self) -> str:
        longest = sorted(self._table, key=len, reverse=True)
        either = (f"[{word[0].upper()}{word[0].lower()}]{re.escape(word[1:])}" if word[0].islower()
                  else re.escape(word) for word in longest)  # fmt: skip
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
NIST = VOCABULARIES["nist"]


def vocabulary(name: object) -> Vocabulary:
    """A vocabulary by its name, or as it is.

    Examples
    --------
    >>> words = vocabulary("biometrics")
    >>> words.p_miss, words.p_fa, words.misses, words.target
    ('FNMR', 'FMR', 'false non-matches', 'mated')
    """
    if isinstance(name, Vocabulary):
        return name
    if not isinstance(name, str) or name not in VOCABULARIES:
        raise UnknownNameError(f"unknown vocabulary {not_among(name, VOCABULARIES)}")
    return VOCABULARIES[name]
