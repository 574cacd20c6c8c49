"""KindCounts: where the scores of non-targets and spoofs lie among those of the targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np

from llrkit._arrays import Counts, FloatArray
from llrkit.core.grid import Grid
from llrkit.core.score_bins import ScoreBins
from llrkit.core.summary import Grouped, ReadOnlyArrays, SummaryBase
from llrkit.core.trial_counts import TrialCounts
from llrkit.errors import EmptyClassError
from llrkit.scores import Scores
from llrkit.spoof.chunk_kinds import attack_positions, spoof_mask
from llrkit.spoof.spoof_trials import SpoofTrials, System

ALL = ""
"""The one group of spoofs where attacks are not told apart."""


@dataclass(frozen=True, eq=False)
class KindCounts(SummaryBase):
    """Targets, non-targets and the spoofs of each attack on the grid of the targets' scores.

    No threshold between two scores of targets can cost less than the upper one of them: it misses as many
    targets and accepts at least as many others. So the grid of targets has all thresholds that matter.
    """

    bona_fide: TrialCounts
    """Targets and non-targets."""
    spoofs: Grouped
    """Spoofs by attack, counted without the targets."""

    @classmethod
    def at(cls, grid: FloatArray, kinds: str, attack: str | None) -> Callable[[Scores], KindCounts]:
        """A summarizer of chunks that carry their kinds, and their attacks."""

        def make(chunk: Scores) -> KindCounts:
            spoof = spoof_mask(chunk, kinds)
            scores = chunk.nontarget
            bona_fide = TrialCounts.of(Scores.part(chunk.target, scores[~spoof]), grid, "target")
            spoofs = scores[spoof]
            groups = {ALL: spoofs}
            if attack is not None:
                groups = {name: spoofs[own] for name, own in attack_positions(chunk, attack, spoof).items()}
            nobody = chunk.target[:0]
            counted = {
                name: TrialCounts.of(Scores.part(nobody, own), grid, "target") for name, own in groups.items()
            }
            return cls(bona_fide, Grouped({name: one for name, one in counted.items() if one.n_nontarget}))

        return make

    def __add__(self, other: KindCounts) -> KindCounts:
        return KindCounts(self.bona_fide + other.bona_fide, self.spoofs + other.spoofs)

    def __mul__(self, weight: float) -> KindCounts:
        return KindCounts(self.bona_fide * weight, self.spoofs * weight)

    @property
    def attacks(self) -> list[str]:
        """The attacks there are, in the order of their names."""
        return sorted(self.spoofs.groups)

    def bins(self, attack: str | None = None) -> KindBins:
        """Counts of the three kinds in ascending bins; of all attacks, or of one."""
        return self._bins_of_all if attack is None else self._bins(attack)

    @cached_property
    def _bins_of_all(self) -> KindBins:
        # several numbers of an evaluation are made of them
        return self._bins(None)

    def _bins(self, attack: str | None) -> KindBins:
        counts = self.bona_fide
        grid, k = counts.grid, len(counts.grid)
        chosen = [one for name, one in self.spoofs.groups.items() if attack in (None, name)]
        spoofs = reduce(add, chosen) if chosen else None
        target = np.zeros(2 * k + 1, dtype=counts.at.dtype)
        target[1::2] = counts.at
        spoof = np.zeros(2 * k + 1, dtype=np.int64) if spoofs is None else spoofs.cells
        low, high = np.empty(2 * k + 1), np.empty(2 * k + 1)
        low[1::2] = high[1::2] = grid
        low[0::2] = counts.low if spoofs is None else np.minimum(counts.low, spoofs.low)
        high[0::2] = counts.high if spoofs is None else np.maximum(counts.high, spoofs.high)
        filled = (target > 0) | (counts.cells > 0) | (spoof > 0)
        return KindBins(target[filled], counts.cells[filled], spoof[filled], low[filled], high[filled])


@dataclass(frozen=True, eq=False)
class KindBins(ReadOnlyArrays):
    """Counts of three kinds of trials in ascending bins: one score of targets, or what lies between two."""

    target: Counts
    nontarget: Counts
    spoof: Counts
    low: FloatArray
    high: FloatArray

    def pair(self, nontarget: bool, spoof: bool) -> ScoreBins:
        """Targets against non-targets, spoofs, or both."""
        other = self.nontarget * nontarget + self.spoof * spoof
        if not other.sum():
            kind = "nontarget" if nontarget else "spoof"
            raise EmptyClassError(f"there are no {kind} trials")
        filled = (self.target > 0) | (other > 0)
        return ScoreBins(self.target[filled], other[filled], self.low[filled], self.high[filled])

    @property
    def n(self) -> tuple[float, float, float]:
        """Number (or weight) of targets, non-targets and spoofs."""
        return self.target.sum().item(), self.nontarget.sum().item(), self.spoof.sum().item()

    def path(self) -> KindPath:
        """The error rates at every threshold."""
        return self._path

    @cached_property
    def _path(self) -> KindPath:
        return KindPath(
            _from_zero(self.target, False),
            _from_zero(self.nontarget, True),
            _from_zero(self.spoof, True),
            np.append(self.low, np.inf),
        )


@dataclass(frozen=True, eq=False)
class KindPath(ReadOnlyArrays):
    """Error rates of three kinds from "accept all" to "reject all"; nan where a kind has no trials."""

    p_miss: FloatArray
    p_fa: FloatArray
    p_fa_spoof: FloatArray
    threshold: FloatArray
    """Scores at or above it are accepted; the last one is inf and rejects everything."""


def _from_zero(counts: Counts, falling: bool) -> FloatArray:
    sums = np.concatenate([np.zeros(1, counts.dtype), np.cumsum(counts)])
    errors = sums[-1] - sums if falling else sums
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(errors / sums[-1])


def count_kinds(trials: SpoofTrials, system: System) -> KindCounts:
    """Count all trials that have a score of a system: one pass for the grid of targets, one for the counts.

    Examples
    --------
    >>> labels = ["target", "target", "nontarget", "spoof"]
    >>> trials = SpoofTrials({"sasv": [1.0, 2.0, 0.5, 1.0], "label": labels})
    >>> bins = count_kinds(trials, "sasv").bins()
    >>> bins.low, bins.spoof
    (array([0.5, 1. , 2. ]), array([0, 1, 0]))
    """
    source = trials.source_of(system)
    grid = source.reduce(lambda chunk: Grid.of(chunk, only="target"))
    if grid.n_target == 0 or grid.target is None:
        raise EmptyClassError(f"there are no target trials with a score of the {system} system")
    return source.reduce(KindCounts.at(grid.target, trials.kind_column, trials.attack))


def at_threshold(trials: SpoofTrials, system: System, threshold: float) -> tuple[float, float, float]:
    """Pmiss, Pfa of non-targets and Pfa of spoofs of accepting scores at or above a threshold; one pass."""
    p_miss, p_fa, p_fa_spoof = at_thresholds(trials, system, [threshold])[0].tolist()
    return p_miss, p_fa, p_fa_spoof


def at_thresholds(
    trials: SpoofTrials, system: System, thresholds: Sequence[float], attack: str | None = None
) -> FloatArray:
    """The same at several thresholds: one row for each; of all spoofs, or those of one attack."""
    names = trials.kind_column, None if attack is None else trials.attack, attack
    counts = trials.source_of(system).reduce(lambda chunk: _Accepted.of(chunk, names, thresholds))
    errors = counts.accepted.copy()
    errors[:, 0] = counts.total[0] - counts.accepted[:, 0]
    with np.errstate(invalid="ignore"):
        return np.asarray(errors / counts.total)


@dataclass(frozen=True, eq=False)
class _Accepted(SummaryBase):
    """How many of each kind are accepted at some thresholds, of how many."""

    accepted: FloatArray
    total: FloatArray

    @classmethod
    def of(
        cls, chunk: Scores, names: tuple[str, str | None, str | None], thresholds: Sequence[float]
    ) -> _Accepted:
        kinds, column, attack = names
        spoof = spoof_mask(chunk, kinds)
        spoofs = chunk.nontarget[spoof]
        if column is not None and attack is not None:
            spoofs = spoofs[attack_positions(chunk, column, spoof).get(attack, np.empty(0, dtype=np.intp))]
        groups = (chunk.target, chunk.nontarget[~spoof], spoofs)
        accepted = [[np.count_nonzero(values >= cut) for values in groups] for cut in thresholds]
        total = np.array([len(values) for values in groups], dtype=np.float64)
        return cls(np.array(accepted, dtype=np.float64).reshape(-1, 3), total)

    def __add__(self, other: _Accepted) -> _Accepted:
        return _Accepted(self.accepted + other.accepted, self.total + other.total)

    def __mul__(self, weight: float) -> _Accepted:
        return _Accepted(self.accepted * weight, self.total * weight)
