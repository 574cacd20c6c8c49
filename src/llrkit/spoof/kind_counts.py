"""KindCounts: where the scores of non-targets and spoofs lie among those of the targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from llrkit._arrays import Array, Counts, FloatArray
from llrkit._cached import cached_property
from llrkit.core.collected_scores import count_below
from llrkit.core.column_values import ValueCounts
from llrkit.core.pav_and_hull import crossing_of_rejected
from llrkit.core.pav_pooling import from_zero
from llrkit.core.score_bins import ScoreBins
from llrkit.core.score_ranges import ScoreRange
from llrkit.core.spoof_kinds import BONA_FIDE, attack_name, attack_positions, spoof_mask
from llrkit.core.summary_algebra import FieldwiseSums, Grouped, ReadOnlyArrays
from llrkit.core.threshold_grid import Grid, distinct_ascending
from llrkit.core.trial_counts import TrialCounts
from llrkit.errors import EmptyClassError
from llrkit.scores import Scores
from llrkit.spoof.spoof_trials import SpoofTrials, System

ALL = ""
"""The one group of spoofs where attacks are not told apart."""


@dataclass(frozen=True, eq=False)
class KindCounts(FieldwiseSums):
    """Targets, non-targets and the spoofs of each attack on the grid of the targets' scores.

    No threshold between two scores of targets can cost less than the upper one of them: it misses as many
    targets and accepts at least as many others. So the grid of targets has all thresholds that matter.
    """

    bona_fide: TrialCounts
    """Targets and non-targets."""
    spoofs: Grouped[str, TrialCounts]
    """Spoofs by attack, counted without the targets."""

    @classmethod
    def at(cls, grid: FloatArray, kinds: str, attack: str | None) -> Callable[[Scores], KindCounts]:
        """A summarizer of chunks that carry their kinds, and their attacks."""

        def make(chunk: Scores) -> KindCounts:
            spoof = spoof_mask(chunk, kinds)
            scores = chunk.nontarget
            spoofs = scores[spoof]
            groups = {ALL: spoofs}
            if attack is not None:
                groups = {name: spoofs[own] for name, own in attack_positions(chunk, attack, spoof).items()}
            return cls.of(grid, chunk.target, scores[~spoof], groups)

        return make

    @classmethod
    def of(
        cls,
        grid: FloatArray,
        target: Array,
        nontarget: Array,
        spoofs: Mapping[str, Array],
        *,
        ascending: bool = False,
    ) -> KindCounts:
        """Count the scores of each kind, spoofs by attack; they may be known to be in ascending order."""

        def counted(own: Array, other: Array) -> TrialCounts:
            pair = Scores.part(own, other)
            pair.ascending = ascending
            return TrialCounts.of(pair, grid, "target")

        groups = {name: counted(target[:0], own) for name, own in spoofs.items() if len(own)}
        return cls(counted(target, nontarget), Grouped(groups))

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
        self._require_others(nontarget, spoof)
        other = (
            self.nontarget + self.spoof
            if nontarget and spoof
            else (self.nontarget if nontarget else self.spoof)
        )
        filled = (self.target > 0) | (other > 0)
        return ScoreBins(self.target[filled], other[filled], self.low[filled], self.high[filled])

    def eer_roc(self, nontarget: bool, spoof: bool) -> float:
        """The EER of such a pair on the interpolated ROC, without making its bins."""
        self._require_others(nontarget, spoof)
        missed, of_nontargets, of_spoofs = self._rejected
        return crossing_of_rejected(missed, [of_nontargets] * nontarget + [of_spoofs] * spoof)

    def _require_others(self, nontarget: bool, spoof: bool) -> None:
        if not nontarget * self.n[1] + spoof * self.n[2]:
            raise EmptyClassError(f"there are no {'nontarget' if nontarget else 'spoof'} trials")

    @cached_property
    def n(self) -> tuple[float, float, float]:
        """Number (or weight) of targets, non-targets and spoofs."""
        return self.target.sum().item(), self.nontarget.sum().item(), self.spoof.sum().item()

    @cached_property
    def _rejected(self) -> tuple[Counts, Counts, Counts]:
        """Trials of each kind that are rejected at every threshold."""
        return from_zero(self.target), from_zero(self.nontarget), from_zero(self.spoof)

    def path(self) -> KindPath:
        """The error rates at every threshold."""
        return self._path

    @cached_property
    def _path(self) -> KindPath:
        missed, nontarget, spoof = self._rejected
        return KindPath(
            _rate_of_kind(missed, False),
            _rate_of_kind(nontarget, True),
            _rate_of_kind(spoof, True),
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


def _rate_of_kind(sums: Counts, falling: bool) -> FloatArray:
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
    if trials.in_memory:
        return _count_ascending(trials, system)
    source = trials.source_of(system)
    grid = source.reduce(lambda chunk: Grid.of(chunk, only="target"))
    if grid.n_target == 0 or grid.target is None:
        raise no_targets(system)
    return source.reduce(KindCounts.at(grid.target, trials.kind_column, trials.attack))


def _count_ascending(trials: SpoofTrials, system: System) -> KindCounts:
    """The same of trials in memory, each kind of which is sorted once for all that is made of it."""
    target, nontarget, spoof = trials.ascending_kinds(system)
    if not len(target):
        raise no_targets(system)
    groups = {ALL: spoof} if trials.attack is None else trials.ascending_attacks(system)
    grid = np.asarray(distinct_ascending(target), dtype=np.float64)
    return KindCounts.of(grid, target, nontarget, groups, ascending=True)


def no_targets(system: System) -> EmptyClassError:
    """What to say of a system without targets."""
    return EmptyClassError(f"there are no target trials with a score of the {system} system")


def attack_names(trials: SpoofTrials, system: System) -> list[str]:
    """The attacks of the spoofs that have a score of a system, in the order of their names; one pass."""
    column = trials.attack
    if column is None:
        return []
    if trials.in_memory:
        return sorted(trials.ascending_attacks(system))
    spoofs = trials.pair(system, BONA_FIDE, ("spoof",)).with_columns(column)
    seen = spoofs.reduce(lambda chunk: ValueCounts.of(chunk, column)).counts
    return sorted(attack_name(value) for value, (_, n_spoofs) in seen.items() if n_spoofs)


def at_threshold(trials: SpoofTrials, system: System, threshold: float) -> tuple[float, float, float]:
    """Pmiss, Pfa of non-targets and Pfa of spoofs of accepting scores at or above a threshold; one pass."""
    p_miss, p_fa, p_fa_spoof = at_thresholds(trials, system, [threshold])[0].tolist()
    return p_miss, p_fa, p_fa_spoof


def at_thresholds(
    trials: SpoofTrials, system: System, thresholds: Sequence[float], attack: str | None = None
) -> FloatArray:
    """The same at several thresholds: one row for each; of all spoofs, or those of one attack."""
    if trials.in_memory:
        return _rates_at_ascending(trials, system, thresholds, attack)
    names = trials.kind_column, None if attack is None else trials.attack, attack
    counts = trials.source_of(system).reduce(lambda chunk: _AcceptedOfKinds.of(chunk, names, thresholds))
    return _error_rates(counts.accepted, counts.total)


def _rates_at_ascending(
    trials: SpoofTrials, system: System, thresholds: Sequence[float], attack: str | None
) -> FloatArray:
    target, nontarget, spoof = trials.ascending_kinds(system)
    if attack is not None:
        spoof = trials.ascending_attacks(system).get(attack, spoof[:0])
    kinds = (target, nontarget, spoof)
    cuts, never = np.array(thresholds, dtype=np.float64), np.zeros(0, dtype=np.int64)
    below = np.column_stack([count_below(ScoreRange(), kind, never, cuts) for kind in kinds])
    total = np.array([len(kind) for kind in kinds], dtype=np.float64)
    return _error_rates(total - below, total)


def _error_rates(accepted: FloatArray, total: FloatArray) -> FloatArray:
    errors = accepted.copy()
    errors[:, 0] = total[0] - accepted[:, 0]
    with np.errstate(invalid="ignore"):
        return np.asarray(errors / total)


@dataclass(frozen=True, eq=False)
class _AcceptedOfKinds(FieldwiseSums):
    """How many of each kind are accepted at some thresholds, of how many."""

    accepted: FloatArray
    total: FloatArray

    @classmethod
    def of(
        cls, chunk: Scores, names: tuple[str, str | None, str | None], thresholds: Sequence[float]
    ) -> _AcceptedOfKinds:
        kinds, column, attack = names
        spoof = spoof_mask(chunk, kinds)
        spoofs = chunk.nontarget[spoof]
        if column is not None and attack is not None:
            spoofs = spoofs[attack_positions(chunk, column, spoof).get(attack, np.empty(0, dtype=np.intp))]
        groups = (chunk.target, chunk.nontarget[~spoof], spoofs)
        # as 64-bit numbers, so that a threshold is not rounded to scores of 32 bits
        cuts = np.array(thresholds, dtype=np.float64)
        accepted = [[np.count_nonzero(values >= cut) for values in groups] for cut in cuts]
        total = np.array([len(values) for values in groups], dtype=np.float64)
        return cls(np.array(accepted, dtype=np.float64).reshape(-1, 3), total)
