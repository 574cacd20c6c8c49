"""Speakers: which trials share a source, whatever the columns that say so look like."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from llrkit._arrays import IntArray
from llrkit._format import not_among
from llrkit.core.column_values import ValueCounts, numbered
from llrkit.core.summary_algebra import SummaryBase
from llrkit.errors import InputError, TooFewTrialsError, UnknownNameError
from llrkit.scores import Scores, ScoreSource
from llrkit.trust.intervals.compared_speakers import (
    Partition,
    blocks_of,
    compared,
    connected,
    count_blocks,
)

Columns = str | Sequence[str]

MOST_SINGLE = 500
"""Speakers that are left out one by one; more of them are put into groups."""
GROUPS = 100


def kind_asked_for(ci: str | None, speakers: Columns | None, otherwise: str) -> str:
    """The kind of intervals and tests: as given, or for shared speakers where these are named.

    Examples
    --------
    >>> kind_asked_for(None, ("left", "right"), "none"), kind_asked_for(None, None, "trial")
    ('speaker', 'trial')
    """
    return ci if ci is not None else "speaker" if speakers else otherwise


def require_columns(
    ci: str,
    kinds: Sequence[str],
    speakers: Columns | None,
    recordings: Columns | None,
    *,
    trials: bool = False,
) -> None:
    """Refuse an unknown kind of interval, one without its columns, and columns it does not look at.

    ``trials`` says that a bootstrap without speakers draws trials.
    """
    if ci not in kinds:
        raise UnknownNameError(f"unknown ci {not_among(ci, kinds)}")
    by_speaker = ci in ("speaker", "bootstrap")
    if by_speaker and not speakers and not (trials and ci == "bootstrap" and not recordings):
        raise InputError(
            f"ci={ci!r} needs the speakers of each trial: give speakers (--speakers), the names of one "
            "or two columns"
        )
    if (speakers and not by_speaker) or (recordings and ci != "bootstrap"):
        unused = "speakers" if speakers and not by_speaker else "recordings"
        raise InputError(f"ci={ci!r} ignores {unused}; use another kind of interval, or leave {unused} out")


@dataclass(frozen=True)
class Speakers:
    """A number for each speaker in one or two columns of the trials.

    The values of both columns are one set of names: the speaker of an enrollment and the speaker of a test
    are the same person if the values are equal.
    """

    columns: tuple[str, ...]
    number_of: Mapping[Hashable, int]
    targets_cross: bool
    """Whether some target trial has two different values (models and segments, say, in place of speakers)."""
    n_groups: int | None = None
    """Into how many groups the speakers were put, each with one number; None if each has its own."""
    blocks: tuple[int, ...] = ()
    """By number of the speaker, the block of those it is compared with; empty if there is only one block."""

    @property
    def n(self) -> int:
        """How many numbers there are: one for each speaker, or for each group of them."""
        return self.n_speakers if self.n_groups is None else self.n_groups

    @property
    def n_compared(self) -> float:
        """How many of them are compared with each other: those of a block, on average."""
        return self.n / count_blocks(self.blocks)

    @property
    def n_speakers(self) -> int:
        """How many speakers there are."""
        return len(self.number_of)

    def grouped(self, most: int = MOST_SINGLE, groups: int = GROUPS) -> Speakers:
        """The same speakers if they are at most ``most``, otherwise in random groups of nearly equal size.

        Trials within a group count as trials within a speaker. The groups depend on the names of the speakers
        only, not on the order of the trials. Blocks are spread evenly over the groups.

        Examples
        --------
        >>> scores = Scores([1.0, 2.0], [0.0], {"who": (["a", "b"], ["c"])})
        >>> speakers = find_speakers(scores, "who")
        >>> speakers.grouped().n, speakers.grouped(most=2, groups=2).n
        (3, 2)
        """
        if self.n_speakers <= most:
            return self
        places = np.random.default_rng(0).permutation(self.n_speakers)
        if self.blocks:
            places[np.lexsort((places, np.asarray(self.blocks)))] = np.arange(self.n_speakers)
        places %= groups
        number_of = {name: int(place) for name, place in zip(self.number_of, places, strict=True)}
        return replace(self, number_of=number_of, n_groups=groups, blocks=())

    def of(self, chunk: Scores, class_index: int) -> tuple[IntArray, IntArray]:
        """The two speakers of each trial of a class; the second is ``n``, nobody, when it is the first again.

        Examples
        --------
        >>> scores = Scores([1.0], [0.0], {"left": (["a"], ["a"]), "right": (["a"], ["b"])})
        >>> speakers = find_speakers(scores, ("left", "right"))
        >>> speakers.of(scores, 0), speakers.of(scores, 1)
        ((array([0]), array([2])), (array([0]), array([1])))
        """
        first = numbered(chunk, self.columns[0], class_index, self.number_of)
        if len(self.columns) == 1:
            return first, np.full(len(first), self.n)
        second = numbered(chunk, self.columns[1], class_index, self.number_of)
        second[first == second] = self.n
        return first, second


def find_speakers(source: ScoreSource, columns: Columns) -> Speakers:
    """Number the speakers of a source; one pass over one or two columns."""
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if len(names) not in (1, 2) or not all(isinstance(name, str) for name in names):
        raise InputError(f"speakers are one or two columns (the two sides of a trial), got {columns!r}")
    seen = source.with_columns(*names).reduce(_SpeakerValues.at(names))
    if None in seen.values:
        raise InputError(f"a trial has no value in {' or '.join(names)}: every trial needs its speakers")
    if len(seen.values) < 2:
        raise TooFewTrialsError(f"there is only one speaker in {' and '.join(names)}; at least 2 are needed")
    # as text, so that numbers read from text give the same draws
    order = sorted(seen.values, key=lambda value: (str(value), str(type(value))))
    number_of = {value: i for i, value in enumerate(order)}
    return Speakers(names, number_of, seen.targets_cross, blocks=blocks_of(order, seen.compared))


@dataclass(frozen=True, eq=False)
class _SpeakerValues(SummaryBase):
    values: frozenset[Hashable]
    targets_cross: bool
    compared: Partition

    @classmethod
    def at(cls, columns: tuple[str, ...]) -> Callable[[Scores], _SpeakerValues]:
        def make(chunk: Scores) -> _SpeakerValues:
            values = list(ValueCounts.of(chunk, *columns).counts)
            here = {value: i for i, value in enumerate(values)}
            sides = [numbered(chunk, name, 0, here) for name in columns]
            crossed = bool((sides[0] != sides[-1]).any())
            return cls(frozenset(values), crossed, compared(chunk, columns, values))

        return make

    def __add__(self, other: _SpeakerValues) -> _SpeakerValues:
        return _SpeakerValues(
            self.values | other.values,
            self.targets_cross or other.targets_cross,
            connected(self.compared, other.compared),
        )

    def __mul__(self, weight: float) -> _SpeakerValues:
        return self
