"""Ranking: the order of the trials of two classes, all that metrics of discrimination ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from llrkit._arrays import Array, Counts, FloatArray, IntArray
from llrkit._cached import cached_property
from llrkit._memory import at_once
from llrkit.core.merged_blocks import MergedClasses, merge_sorted
from llrkit.core.merged_runs import RANGE, bins_at_once, bins_of_sorted, merged_at_once
from llrkit.core.pav_and_hull import PavBlocks, pav_blocks
from llrkit.core.pav_pooling import from_zero, products_are_exact
from llrkit.core.score_bins import ScoreBins, doubled_wins, tie_sum

_MUCH_SMALLER = 8
"""From this ratio of the classes on, bins take no more memory than sorted scores, and little time."""
KEEP_BYTES = 128 << 20
"""A ranking that a source in memory keeps for the next metric has at most so many bytes."""


class Ranking(ABC):
    """The order of trials, from their bins or from sorted classes; both give the same to the last bit."""

    @property
    @abstractmethod
    def bins(self) -> ScoreBins:
        """The bins of all trials."""

    @property
    @abstractmethod
    def blocks(self) -> PavBlocks:
        """The PAV blocks."""

    @property
    @abstractmethod
    def n_target(self) -> float:
        """Number (or total weight) of targets."""

    @property
    @abstractmethod
    def n_nontarget(self) -> float:
        """Number (or total weight) of non-targets."""

    @property
    @abstractmethod
    def doubled_wins(self) -> float:
        """Twice the pairs in which the target scores above the non-target, and once those that tie."""

    @property
    @abstractmethod
    def tie_sum(self) -> float:
        """The sum of ``m^3 - m`` over the scores that both classes have, ``m`` trials each."""

    @property
    @abstractmethod
    def rejected_around_eer(self) -> tuple[Counts, Counts]:
        """Targets and non-targets below the thresholds around the equal error rate; all of them last."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory that is held."""


class RankedBins(Ranking):
    """The order of trials that were counted in bins.

    Parameters
    ----------
    bins
        The bins of all trials.
    """

    def __init__(self, bins: ScoreBins) -> None:
        self._bins = bins

    @property
    def bins(self) -> ScoreBins:
        """The bins of all trials."""
        return self._bins

    @cached_property
    def blocks(self) -> PavBlocks:
        """The PAV blocks."""
        return pav_blocks(self._bins)

    @cached_property
    def n_target(self) -> float:
        """Number (or total weight) of targets."""
        return self._bins.n_target

    @cached_property
    def n_nontarget(self) -> float:
        """Number (or total weight) of non-targets."""
        return self._bins.n_nontarget

    @cached_property
    def doubled_wins(self) -> float:
        """Twice the pairs in which the target scores above the non-target, and once those that tie."""
        return doubled_wins(self._bins)

    @cached_property
    def tie_sum(self) -> float:
        """The sum of ``m^3 - m`` over the scores that both classes have, ``m`` trials each."""
        return tie_sum(self._bins)

    @property
    def rejected_around_eer(self) -> tuple[Counts, Counts]:
        """Targets and non-targets below all thresholds."""
        return from_zero(self._bins.target), from_zero(self._bins.nontarget)

    @property
    def nbytes(self) -> int:
        """Memory of the bins."""
        return self._bins.nbytes


class RankedClasses(Ranking):
    """The order of two large classes that were sorted: bins are made only when a curve asks for them.

    Parameters
    ----------
    target, nontarget
        Scores in ascending order.
    range_size
        Scores of a class from one possible border of the merged ranges to the next.

    Examples
    --------
    >>> ranking = RankedClasses(np.array([1.0, 2.0, 2.0]), np.array([0.0, 0.5, 2.0]))
    >>> ranking.blocks.low, ranking.blocks.high
    (array([0., 1.]), array([0.5, 2. ]))
    >>> ranking.bins.target
    array([0, 1, 2])
    """

    def __init__(self, target: Array, nontarget: Array, *, range_size: int = RANGE) -> None:
        self._target, self._nontarget, self._range_size = target, nontarget, range_size
        self._bins: ScoreBins | None = None

    def __reduce__(self) -> tuple[type[RankedBins], tuple[ScoreBins]]:
        """What travels to another process or into a file are the counts, not the scores of the trials."""
        return RankedBins, (self.bins,)

    @cached_property
    def _merged(self) -> MergedClasses:
        return merge_sorted(self._target, self._nontarget, range_size=self._range_size)

    @property
    def bins(self) -> ScoreBins:
        """The bins of all trials, made anew each time if they are too large to be kept."""
        if self._bins is not None:
            return self._bins
        bins = bins_of_sorted(self._target, self._nontarget)
        if bins.nbytes <= at_once(KEEP_BYTES):
            self._bins = bins
        return bins

    @cached_property
    def blocks(self) -> PavBlocks:
        """The PAV blocks."""
        t, n = self._merged.blocks
        first = _scores_at(self._target, t[:-1], t[1:] > t[:-1], np.inf)
        others = _scores_at(self._nontarget, n[:-1], n[1:] > n[:-1], np.inf)
        last = _scores_at(self._target, t[1:] - 1, t[1:] > t[:-1], -np.inf)
        last_others = _scores_at(self._nontarget, n[1:] - 1, n[1:] > n[:-1], -np.inf)
        return PavBlocks(
            t[1:] - t[:-1], n[1:] - n[:-1], np.minimum(first, others), np.maximum(last, last_others)
        )

    @property
    def n_target(self) -> int:
        """Number of targets."""
        return len(self._target)

    @property
    def n_nontarget(self) -> int:
        """Number of non-targets."""
        return len(self._nontarget)

    @property
    def doubled_wins(self) -> float:
        """Twice the pairs in which the target scores above the non-target, and once those that tie."""
        return self._merged.doubled_wins

    @property
    def tie_sum(self) -> float:
        """The sum of ``m^3 - m`` over the scores that both classes have, ``m`` trials each."""
        return self._merged.tie_sum

    @property
    def rejected_around_eer(self) -> tuple[Counts, Counts]:
        """Targets and non-targets below the thresholds of the range in which the error rates cross."""
        t, n = self._merged.borders
        after = t / self.n_target >= (self.n_nontarget - n) / self.n_nontarget
        stop = int(np.argmax(after))  # never the first border, below which there is nothing
        here = self._target[t[stop - 1] : t[stop]], self._nontarget[n[stop - 1] : n[stop]]
        bins = bins_at_once(*(scores.astype(np.float64, copy=False) for scores in here))
        return (
            np.append(t[stop - 1] + from_zero(bins.target), self.n_target),
            np.append(n[stop - 1] + from_zero(bins.nontarget), self.n_nontarget),
        )

    @property
    def nbytes(self) -> int:
        """Memory of the sorted scores, and of the bins if they are kept."""
        bins = 0 if self._bins is None else self._bins.nbytes
        return self._target.nbytes + self._nontarget.nbytes + bins


def ranking_of_sorted(target: Array, nontarget: Array) -> Ranking:
    """The order of two sorted classes, in the way that suits their sizes."""
    smaller, larger = sorted((len(target), len(nontarget)))
    few_bins = merged_at_once(target, nontarget) or _MUCH_SMALLER * smaller <= larger
    if few_bins or not products_are_exact(smaller, larger):
        return RankedBins(bins_of_sorted(target, nontarget))
    return RankedClasses(target, nontarget)


def _scores_at(ascending: Array, at: IntArray, there: Array, otherwise: float) -> FloatArray:
    """The scores at some positions, where a block has any of this class."""
    return np.where(there, ascending.take(at, mode="clip").astype(np.float64, copy=False), otherwise)
