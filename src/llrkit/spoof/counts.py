"""Counts of targets, non-targets and spoofs, and the equal error rates of the ASVspoof organizers.

Trials in memory are sorted once for all that is made of them; other sources are read in passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add

import numpy as np

from llrkit.base.arguments import Array, Counts, FloatArray, IntArray, of_kind, share
from llrkit.base.process import cached_property
from llrkit.core.cells import Grid, TrialCounts, count_trials, distinct_ascending
from llrkit.core.counting import count_below
from llrkit.core.groups import BONA_FIDE, ValueCounts, attack_name, attack_positions, spoof_mask
from llrkit.core.pav import ScoreBins, crossing_of_rejected, from_zero
from llrkit.core.summaries import FieldwiseSums, Grouped, ReadOnlyArrays
from llrkit.errors import EmptyClassError, InputError
from llrkit.scores import AnyTrials, DerivedSource, Labels, Scores, ScoreSource, as_source
from llrkit.scores.labels import KINDS
from llrkit.spoof.trials import SpoofTrials, System

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

        # Spoofs are counted on the grid of targets, but without the targets, which would be counted once
        # for each attack.
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
        return self._bins(None)  # kept: several numbers of an evaluation are made of them

    def _bins(self, attack: str | None) -> KindBins:
        counts = self.bona_fide
        grid, k = counts.grid, len(counts.grid)
        chosen = [one for name, one in self.spoofs.groups.items() if attack in (None, name)]
        spoofs = reduce(add, chosen) if chosen else None
        # Odd bins are scores of targets, even ones what lies between two of them.
        target = np.zeros(2 * k + 1, dtype=counts.at.dtype)
        target[1::2] = counts.at
        spoof = np.zeros(2 * k + 1, dtype=np.int64) if spoofs is None else spoofs.cells
        low, high = np.empty(2 * k + 1), np.empty(2 * k + 1)
        low[1::2] = high[1::2] = grid
        # Between two targets the thresholds are the extremes of what was seen there, of either kind.
        low[0::2] = counts.low if spoofs is None else np.minimum(counts.low, spoofs.low)
        high[0::2] = counts.high if spoofs is None else np.maximum(counts.high, spoofs.high)
        # Empty bins would be thresholds at which nothing changes.
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
        # A list times a bool: the arrays that take part.
        other = reduce(add, [self.nontarget] * nontarget + [self.spoof] * spoof)
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

    @cached_property
    def path(self) -> KindPath:
        """The error rates at every threshold."""
        missed, *others = self._rejected
        # A kind without trials has rates of 0 / 0, which is NaN and means not known.
        with np.errstate(invalid="ignore", divide="ignore"):
            p_fa, p_fa_spoof = ((sums[-1] - sums) / sums[-1] for sums in others)
            return KindPath(missed / missed[-1], p_fa, p_fa_spoof, np.append(self.low, np.inf))


@dataclass(frozen=True, eq=False)
class KindPath(ReadOnlyArrays):
    """Error rates of three kinds from "accept all" to "reject all"; nan where a kind has no trials."""

    p_miss: FloatArray
    p_fa: FloatArray
    p_fa_spoof: FloatArray
    threshold: FloatArray
    """Scores at or above it are accepted; the last one is inf and rejects everything."""


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
    no_targets = EmptyClassError(f"there are no target trials with a score of the {system} system")
    if trials.in_memory:
        target, nontarget, spoof = trials.ascending_kinds(system)
        if not len(target):
            raise no_targets
        groups = {ALL: spoof} if trials.attack is None else trials.ascending_attacks(system)
        # As 64-bit numbers, the type of thresholds everywhere.
        scores = np.asarray(distinct_ascending(target), dtype=np.float64)
        return KindCounts.of(scores, target, nontarget, groups, ascending=True)
    source = trials.source_of(system)
    # Only the targets: their scores are all the thresholds that matter.
    grid = source.reduce(partial(Grid.of, only="target"))
    if grid.n_target == 0 or grid.target is None:
        raise no_targets
    return source.reduce(KindCounts.at(grid.target, trials.kind_column, trials.attack))


def attack_names(trials: SpoofTrials, system: System) -> list[str]:
    """The attacks of the spoofs that have a score of a system, in the order of their names; one pass."""
    column = trials.attack
    if column is None:
        return []
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
    # as 64-bit numbers, so that a threshold is not rounded to scores of 32 bits
    cuts = np.array(thresholds, dtype=np.float64)
    if trials.in_memory:
        kinds = trials.ascending_kinds(system, attack)
        below = np.column_stack([count_below(kind, cuts) for kind in kinds])
        total = np.array([len(kind) for kind in kinds], dtype=np.float64)
        accepted = total - below
    else:
        chosen = trials.kind_column, trials.attack, attack

        def count(chunk: Scores) -> FloatArray:
            kinds = scores_of_kinds(chunk, chosen)
            accepted = [[np.count_nonzero(values >= cut) for values in kinds] for cut in cuts]
            return np.array([*accepted, [len(values) for values in kinds]], dtype=np.float64)

        counts = trials.source_of(system).reduce(count)
        accepted, total = counts[:-1], counts[-1]
    # The first column becomes misses: what is not accepted.
    accepted[:, 0] = total[0] - accepted[:, 0]
    with np.errstate(invalid="ignore"):
        return np.asarray(accepted / total)


Chosen = tuple[str, str | None, str | None]
"""The column of kinds, that of attacks, and the attack whose spoofs are chosen; None for all of them."""


def scores_of_kinds(chunk: Scores, chosen: Chosen) -> tuple[Array, Array, Array]:
    """The scores of targets, non-targets and chosen spoofs of a chunk."""
    kinds, column, attack = chosen
    spoof = spoof_mask(chunk, kinds)
    spoofs = chunk.nontarget[spoof]
    if column is not None and attack is not None:
        spoofs = spoofs[attack_positions(chunk, column, spoof).get(attack, np.empty(0, dtype=np.intp))]
    return chunk.target, chunk.nontarget[~spoof], spoofs


@dataclass(frozen=True)
class NearestPoint:
    """Where miss and false-alarm rate are nearest, going from trial to trial, targets first among ties."""

    p_miss: float
    p_fa: float
    bin: int
    """The bin of the last rejected trial; -1 if none is rejected."""
    n_rejected: tuple[int, int]
    """Targets and non-targets of that bin that are rejected."""

    @property
    def eer(self) -> float:
        """The mean of both rates."""
        return (self.p_miss + self.p_fa) / 2.0


def eer_nearest(source: AnyTrials, labels: Labels | None = None) -> float:
    """Equal error rate by the organizers' convention: the mean of both rates where they differ least.

    The programs of the ASVspoof challenges sort all trials, targets before non-targets of the same score, go
    from one to the next, and take the first place where the two rates are nearest. It depends on the order
    among ties and is a mean of two different rates; :func:`llrkit.metrics.eer_roc` has neither fault. For
    published numbers to the last digit.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])
    >>> eer_nearest(scores), lk.metrics.eer_roc(scores)
    (0.225, 0.25)
    """
    return nearest_point(count_trials(as_source(source, labels)).bins()).eer


def nearest_point(bins: ScoreBins) -> NearestPoint:
    """The nearest point of counted bins; every bin is one score, or a run of one class."""
    # Going from trial to trial is meaningless where a trial counts 1.5 times.
    if bins.target.dtype.kind == "f" or bins.nontarget.dtype.kind == "f":
        raise InputError("the nearest-point EER is not defined for weighted trials")
    n_t, n_n = int(bins.n_target), int(bins.n_nontarget)
    missed, accepted = np.cumsum(bins.target), n_n - np.cumsum(bins.nontarget)
    # compared as whole numbers: miss rate >= false-alarm rate
    i = int(np.argmax(missed * n_n >= accepted * n_t))
    m, f = int(missed[i] - bins.target[i]), int(accepted[i] + bins.nontarget[i])
    own = int(bins.target[i])
    # Ties: the organizers' programs sort targets before non-targets of the same score.
    if (m + own) * n_n >= f * n_t:  # both meet while targets are being rejected
        # -(-a // b) rounds up: the first trial at which the rates have met.
        x, y = -(-(f * n_t - m * n_n) // n_n), 0
    else:
        x, y = own, -(-(f * n_t - (m + own) * n_n) // n_t)
    second = NearestPoint((m + x) / n_t, (f - y) / n_n, i, (x, y))
    # one trial earlier: within the bin, or at the end of the one below
    if x + y > 1:
        x, y = (x, y - 1) if y else (x - 1, 0)
        first = NearestPoint((m + x) / n_t, (f - y) / n_n, i, (x, y))
    else:
        whole = (int(bins.target[i - 1]), int(bins.nontarget[i - 1])) if i else (0, 0)
        first = NearestPoint(m / n_t, f / n_n, i - 1, whole)
    # The first of two equally near points, as argmin takes it.
    return first if abs(first.p_miss - first.p_fa) <= abs(second.p_miss - second.p_fa) else second


def nearest_threshold(source: ScoreSource, bins: ScoreBins) -> float:
    """The threshold of the nearest point: the score of the last rejected trial; one pass.

    The organizers' programs accept what scores at or above it, that trial included.
    """
    point = nearest_point(bins)
    if point.bin < 0:
        # No trial is rejected; the organizers' programs use a value just below the lowest score.
        return float(bins.low[0]) - 0.001
    low, high = float(bins.low[point.bin]), float(bins.high[point.bin])
    if low == high:
        return low

    def between(chunk: Scores) -> Scores:
        return chunk.select(*((v >= low) & (v <= high) for v in (chunk.target, chunk.nontarget)))

    # A run of one class has several scores; only these few are held to find the right one.
    within = DerivedSource(source, between).scores()
    x, y = point.n_rejected
    return float(np.sort(within.nontarget)[y - 1] if y else np.sort(within.target)[x - 1])


def _scores_in_memory(trials: SpoofTrials, system: System, attack: str | None) -> tuple[Array, Array, Array]:
    """All scores of a system: of targets, non-targets and spoofs, or the spoofs of one attack."""
    source = trials.source_of(system)
    if source.roles.weight is not None:
        raise InputError("the nearest-point t-EER is not defined for weighted trials")
    bona_fide = trials.pair(system, ("target",), ("nontarget",)).scores()
    spoofs = trials.pair(system, ("target",), ("spoof",), attack=attack).scores()
    scores = bona_fide.target, bona_fide.nontarget, spoofs.nontarget
    for kind, values in zip(KINDS, scores, strict=True):
        if len(values) == 0:
            raise EmptyClassError(f"there are no {kind} trials with a score of the {system} system")
    return scores


def t_eer_nearest(trials: SpoofTrials, *, prevalence: float = 0.5, attack: str | None = None) -> float:
    """Concurrent t-EER at observed thresholds, a share: the organizers' convention; all scores in memory.

    For every observed threshold of the ASV system, take the observed threshold of the CM system where the
    tandem rejects targets about as often as it accepts others, of which ``prevalence`` are spoofs. Among
    these, take the one where accepted non-targets are nearest to accepted spoofs, and the rate of the latter.
    On exact curves any prevalence gives the same; the organizers take one half. Ties are broken by kind
    (targets, non-targets, spoofs). For published numbers to the last digit; otherwise use :func:`t_eer`.

    Parameters
    ----------
    trials
        The trials.
    prevalence
        Share of spoofs among the trials that should be rejected.
    attack
        Keep only the spoofs of this attack.

    Examples
    --------
    >>> trials = SpoofTrials({"asv": [3.0, 2.0, -1.0, 2.5], "cm": [1.0, 2.0, 3.0, -1.0],
    ...                       "label": ["target", "target", "nontarget", "spoof"]})
    >>> t_eer_nearest(trials)
    0.0
    """
    of_kind(trials, SpoofTrials, "trials")
    share(prevalence, "prevalence")
    if attack is not None and trials.attack is None:
        raise InputError(f"attack {attack!r}: the trials do not name attacks (attack=, the column)")
    p_miss, p_fa, p_fa_spoof = _rates_trial_by_trial(*_scores_in_memory(trials, "asv", attack))
    target, nontarget, spoof = _scores_in_memory(trials, "cm", attack)
    cm_miss, cm_fa = _rates_trial_by_trial(np.concatenate([target, nontarget]), spoof)
    accepted = (1.0 - prevalence) * p_fa + prevalence * p_fa_spoof
    kept = p_miss < accepted  # elsewhere the ASV system alone rejects targets too often
    if not kept.any():
        return float("nan")
    m, f, s = p_miss[kept], p_fa[kept], p_fa_spoof[kept]

    def gap(k: IntArray) -> FloatArray:
        passed = 1.0 - cm_miss[k]
        return np.asarray(1.0 - passed * (1.0 - m + (1.0 - prevalence) * f) - prevalence * cm_fa[k] * s)

    over = first_place_at_level(gap, np.zeros(len(m)), len(cm_miss))
    before = np.maximum(over - 1, 0)
    before = first_place_at_level(gap, gap(before), len(cm_miss))  # the first of equal ones
    nearest = np.where(np.abs(gap(before)) <= np.abs(gap(over)), before, over)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(f / s - cm_fa[nearest] / (1.0 - cm_miss[nearest]))
    # nanargmin: points where no spoof passes the ASV system are undefined.
    best = int(np.nanargmin(apart))
    return float(s[best] * cm_fa[nearest[best]])


def first_place_at_level(gap: Callable[[IntArray], FloatArray], level: FloatArray, n: int) -> IntArray:
    """The first place where a gap that never falls reaches a level, or the last place there is."""
    low, high = np.zeros(len(level), dtype=np.intp), np.full(len(level), n - 1, dtype=np.intp)
    while (low < high).any():
        middle = (low + high) // 2
        over = gap(middle) >= level
        high, low = np.where(over, middle, high), np.where(over, low, np.minimum(middle + 1, high))
    return low


def _rates_trial_by_trial(*kinds: Array) -> list[FloatArray]:
    """Error rates after each trial in ascending order: misses of the first kind, false alarms of others."""
    # Stable, so that ties stay in the order of the kinds, as in the organizers' programs.
    order = np.argsort(np.concatenate(kinds), kind="stable")
    label = np.repeat(np.arange(len(kinds)), [len(values) for values in kinds])[order]
    rates = []
    for kind, values in enumerate(kinds):
        rejected = np.concatenate([[0], np.cumsum(label == kind)]) / len(values)
        rates.append(rejected if kind == 0 else 1.0 - rejected)
    return rates
