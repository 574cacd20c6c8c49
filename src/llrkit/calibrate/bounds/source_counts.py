"""How many independent sources the evidence of each class rests on: speakers, pairs of speakers, trials."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import IntArray
from llrkit._plain import Json
from llrkit.calibrate.option_checks import names_of
from llrkit.core.column_values import ValueCounts, numbered
from llrkit.core.distinct_numbers import DistinctNumbers, JoinedNumbers
from llrkit.core.moments import Moments
from llrkit.core.summary_algebra import both
from llrkit.core.threshold_grid import require_both_classes
from llrkit.errors import InputError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.source import as_source

ONE = "trials of one speaker"


@dataclass(frozen=True)
class SourceCounts:
    """The number of independent sources of each class, and what was counted."""

    n_target: float
    n_nontarget: float
    target: str = "trials"
    """What was counted: "speakers", "trials", or "trials of one speaker", who says nothing of others; "groups
    of attack" where that column has them."""
    nontarget: str = "trials"
    """The same, or "pairs" of speakers."""
    exact: bool = True
    """Whether pairs were counted one by one; there may be too many, and their number is an estimate then."""
    passes: int = 0

    def __str__(self) -> str:
        about = "" if self.exact else "about "
        of_targets, of_nontargets = (f"{_whole_count(n):,}" for n in (self.n_target, self.n_nontarget))
        return (
            f"{of_targets} {_words_for_sources(self.target, 'target', self.n_target)}, "
            f"{about}{of_nontargets} {_words_for_sources(self.nontarget, 'non-target', self.n_nontarget)}"
        )

    def details(self) -> dict[str, Json]:
        """Plain values for the details of a map."""
        return {
            "n_target_sources": _whole_count(self.n_target),
            "n_nontarget_sources": _whole_count(self.n_nontarget),
            "target_sources": self.target,
            "nontarget_sources": self.nontarget,
            "exact": self.exact,
            "passes": self.passes,
        }


def _words_for_sources(counted: str, name: str, n: float) -> str:
    many = "" if n == 1 else "s"
    if counted == "pairs":
        return f"pair{many} of speakers with {name} trials"
    if counted.startswith("groups of "):
        return f"group{many} ({counted.removeprefix('groups of ')}) with {name} trials"
    if counted == "speakers":
        return f"speaker{many} with {name} trials"
    kind, _, rest = counted.partition("s ")  # "trials of one speaker"
    return f"{name} {kind.removesuffix('s')}{many}" + (f" {rest}" if rest else "")


def _whole_count(n: float) -> float:
    return int(n) if n == int(n) else n  # trials may have weights


def count_sources(
    source: ScoreSource, speakers: str | Sequence[str] | None = None, *, moments: Moments | None = None
) -> SourceCounts:
    """Count the independent sources of each class, as far as the trials show them.

    Without ``speakers``, trials. With one column, the distinct speakers of the trials of each class. With two
    columns (the two sides), the distinct speakers of the target trials and the distinct unordered pairs of
    speakers of the non-target trials. A class of one speaker is counted by its trials, a class of one pair by
    the two speakers.

    The values of both columns are one set of names. Two values that share a target trial are one speaker, so
    columns with models and test segments may stand for speakers.

    Parameters
    ----------
    moments
        Those of the trials, if they are known already; saves a pass.

    Examples
    --------
    >>> sides = {"left": (["a", "b", "b"], ["a", "b", "a"]), "right": (["a", "b", "b"], ["b", "a", "c"])}
    >>> scores = Scores([2.0, 1.0, 1.5], [-1.0, 0.5, -3.0], sides)
    >>> print(count_sources(scores, ("left", "right")))  # a-b is seen twice
    2 speakers with target trials, 2 pairs of speakers with non-target trials
    >>> print(count_sources(scores, "left"))
    2 speakers with target trials, 2 speakers with non-target trials
    >>> print(count_sources(scores))
    3 target trials, 3 non-target trials
    """
    source, passes = as_source(source), 0
    if moments is None:
        moments, passes = source.reduce(Moments.of), 1
    trials = moments.target.count, moments.nontarget.count
    require_both_classes(*trials)
    if speakers is None:
        return SourceCounts(*trials, passes=passes)
    columns = names_of(speakers, "speakers")
    if len(columns) not in (1, 2):
        raise InputError(f"speakers are one or two columns (the two sides of a trial), got {speakers!r}")
    wide = source.with_columns(*columns)
    values = wide.reduce(lambda chunk: ValueCounts.of(chunk, *columns)).counts
    if None in values:
        raise InputError(f"a trial has no value in {' or '.join(columns)}: every trial needs its speakers")
    of_class = [[value for value, n in values.items() if n[i] > 0] for i in (0, 1)]
    if len(columns) == 1:
        target, nontarget = (
            (len(seen), "speakers") if len(seen) > 1 else (n, ONE)
            for seen, n in zip(of_class, trials, strict=True)
        )
        return SourceCounts(target[0], nontarget[0], target[1], nontarget[1], passes=passes + 1)

    numbers = {value: i for i, value in enumerate(values)}
    joined, pairs = wide.reduce(
        both(_joined_by_targets(columns, numbers), _pairs_of_sources(columns, numbers))
    ).summaries
    if joined.any_joined:  # the values are not speakers: those that share a target trial are one
        numbers = {value: int(joined.lowest[i]) for value, i in numbers.items()}
        pairs, passes = wide.reduce(_pairs_of_sources(columns, numbers)), passes + 1
    n_speakers = [len({numbers[value] for value in seen}) for seen in of_class]
    target = (n_speakers[0], "speakers") if n_speakers[0] > 1 else (trials[0], ONE)
    nontarget = (pairs.count, "pairs")
    if pairs.count == 1:
        nontarget = (n_speakers[1], "speakers") if n_speakers[1] > 1 else (trials[1], ONE)
    return SourceCounts(target[0], nontarget[0], target[1], nontarget[1], pairs.exact, passes + 2)


def _sides_of_trial(
    chunk: Scores, columns: Sequence[str], numbers: Mapping[Hashable, int], class_index: int
) -> tuple[IntArray, IntArray]:
    left, right = (numbered(chunk, name, class_index, numbers) for name in columns)
    return left, right


def _joined_by_targets(
    columns: Sequence[str], numbers: Mapping[Hashable, int]
) -> Callable[[Scores], JoinedNumbers]:
    return lambda chunk: JoinedNumbers.of(len(numbers), *_sides_of_trial(chunk, columns, numbers, 0))


def _pairs_of_sources(
    columns: Sequence[str], numbers: Mapping[Hashable, int]
) -> Callable[[Scores], DistinctNumbers]:
    n = len(numbers)

    def make(chunk: Scores) -> DistinctNumbers:
        left, right = _sides_of_trial(chunk, columns, numbers, 1)
        return DistinctNumbers.of(np.minimum(left, right) * n + np.maximum(left, right))

    return make
