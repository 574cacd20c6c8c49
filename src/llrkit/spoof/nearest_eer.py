"""Equal error rates as the organizers of ASVspoof take them: where both rates are nearest; tandems too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arguments import share, takes
from llrkit._arrays import Array, FloatArray, IntArray
from llrkit.core.score_bins import ScoreBins
from llrkit.core.spoof_kinds import attack_positions, spoof_mask
from llrkit.core.summary_algebra import SummaryBase
from llrkit.core.trial_counts import count_trials
from llrkit.errors import EmptyClassError, InputError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.spoof_kind_words import KINDS
from llrkit.spoof.spoof_trials import SpoofTrials, System


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


@takes_labels
def eer_nearest(source: ScoreSource) -> float:
    """Equal error rate by the organizers' convention: the mean of both rates where they differ least.

    The programs of the ASVspoof challenges sort all trials, targets before non-targets of the same score, go
    from one to the next, and take the first place where the two rates are nearest. It depends on the order
    among ties and is a mean of two different rates; :func:`llrkit.eer_roc` has neither fault. For published
    numbers to the last digit.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])
    >>> eer_nearest(scores), lk.eer_roc(scores)
    (0.225, 0.25)
    """
    return nearest_point(count_trials(source).bins()).eer


def nearest_point(bins: ScoreBins) -> NearestPoint:
    """The nearest point of counted bins; every bin is one score, or a run of one class."""
    if bins.target.dtype.kind == "f" or bins.nontarget.dtype.kind == "f":
        raise InputError("the nearest-point EER is not defined for weighted trials")
    n_t, n_n = int(bins.n_target), int(bins.n_nontarget)
    missed, accepted = np.cumsum(bins.target), n_n - np.cumsum(bins.nontarget)
    # compared as whole numbers: miss rate >= false-alarm rate
    i = int(np.argmax(missed * n_n >= accepted * n_t))
    m, f = int(missed[i] - bins.target[i]), int(accepted[i] + bins.nontarget[i])
    own = int(bins.target[i])
    if (m + own) * n_n >= f * n_t:  # both meet while targets are being rejected
        x, y = -(-(f * n_t - m * n_n) // n_n), 0
    else:
        x, y = own, -(-(f * n_t - (m + own) * n_n) // n_t)
    places = [_one_trial_before(bins, i, x, y), (i, x, y)]
    points = [_nearest_point_at(bins, m, f, place, i, (n_t, n_n)) for place in places]
    first, second = points
    return first if abs(first.p_miss - first.p_fa) <= abs(second.p_miss - second.p_fa) else second


def _one_trial_before(bins: ScoreBins, i: int, x: int, y: int) -> tuple[int, int, int]:
    """The place one trial earlier."""
    if y > 0:
        return i, x, y - 1
    if x > 1 or (x == 1 and i == 0):
        return (i, x - 1, 0) if x > 1 else (-1, 0, 0)
    if i == 0:
        return -1, 0, 0
    return i - 1, int(bins.target[i - 1]), int(bins.nontarget[i - 1])


def _nearest_point_at(
    bins: ScoreBins, m: int, f: int, place: tuple[int, int, int], i: int, n: tuple[int, int]
) -> NearestPoint:
    where, x, y = place
    misses, false_alarms = (m + x, f - y) if where == i else (m, f)
    return NearestPoint(misses / n[0], false_alarms / n[1], where, (x, y))


def nearest_threshold(source: ScoreSource, bins: ScoreBins) -> float:
    """The threshold of the nearest point: the score of the last rejected trial; one pass.

    The organizers' programs accept what scores at or above it, that trial included.
    """
    point = nearest_point(bins)
    if point.bin < 0:
        return float(bins.low[0]) - 0.001
    low, high = float(bins.low[point.bin]), float(bins.high[point.bin])
    if low == high:
        return low
    x, y = point.n_rejected
    target, nontarget = source.reduce(lambda chunk: _ScoresWithin.of(chunk, low, high)).sorted
    return float(nontarget[y - 1] if y else target[x - 1])


@dataclass(frozen=True, eq=False)
class _ScoresWithin(SummaryBase):
    """The scores of both classes between two ends."""

    target: Array
    nontarget: Array

    @classmethod
    def of(cls, chunk: Scores, low: float, high: float) -> _ScoresWithin:
        return cls(*(v[(v >= low) & (v <= high)] for v in (chunk.target, chunk.nontarget)))

    def __add__(self, other: _ScoresWithin) -> _ScoresWithin:
        return _ScoresWithin(
            np.concatenate([self.target, other.target]), np.concatenate([self.nontarget, other.nontarget])
        )

    def __mul__(self, weight: float) -> _ScoresWithin:
        return self

    @property
    def sorted(self) -> tuple[Array, Array]:
        return np.sort(self.target), np.sort(self.nontarget)


@dataclass(frozen=True, eq=False)
class _ScoresByKind(SummaryBase):
    """All scores of targets, non-targets and spoofs, in the order of the trials."""

    scores: tuple[Array, Array, Array]

    @classmethod
    def of(cls, chunk: Scores, kinds: str, attack: tuple[str, str] | None) -> _ScoresByKind:
        spoof = spoof_mask(chunk, kinds)
        spoofs = chunk.nontarget[spoof]
        if attack is not None:
            nowhere = np.empty(0, dtype=np.intp)
            spoofs = spoofs[attack_positions(chunk, attack[0], spoof).get(attack[1], nowhere)]
        return cls((chunk.target, chunk.nontarget[~spoof], spoofs))

    def __add__(self, other: _ScoresByKind) -> _ScoresByKind:
        first, second, third = (np.concatenate(pair) for pair in zip(self.scores, other.scores, strict=True))
        return _ScoresByKind((first, second, third))

    def __mul__(self, weight: float) -> _ScoresByKind:
        return self


def scores_by_kind(
    trials: SpoofTrials, system: System, attack: str | None = None
) -> tuple[Array, Array, Array]:
    """All scores of a system in memory: of targets, non-targets and spoofs, or the spoofs of one attack."""
    name = trials.kind_column
    chosen = None if attack is None or trials.attack is None else (trials.attack, attack)
    source = trials.source_of(system)
    if source.roles.weight is not None:
        raise InputError("the nearest-point t-EER is not defined for weighted trials")
    scores = source.reduce(lambda chunk: _ScoresByKind.of(chunk, name, chosen)).scores
    for kind, values in zip(KINDS, scores, strict=True):
        if len(values) == 0:
            raise EmptyClassError(f"there are no {kind} trials with a score of the {system} system")
    return scores


@takes(trials=SpoofTrials)
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
    share(prevalence, "prevalence")
    if attack is not None and trials.attack is None:
        raise InputError(f"attack {attack!r}: the trials do not name attacks (attack=, the column)")
    p_miss, p_fa, p_fa_spoof = _rates_trial_by_trial(*scores_by_kind(trials, "asv", attack))
    target, nontarget, spoof = scores_by_kind(trials, "cm", attack)
    cm_miss, cm_fa = _rates_trial_by_trial(np.concatenate([target, nontarget]), spoof)
    accepted = (1.0 - prevalence) * p_fa + prevalence * p_fa_spoof
    kept = p_miss < accepted  # elsewhere the ASV system alone rejects targets too often
    if not kept.any():
        return float("nan")
    m, f, s = p_miss[kept], p_fa[kept], p_fa_spoof[kept]

    def gap(k: IntArray) -> FloatArray:
        passed = 1.0 - cm_miss[k]
        return np.asarray(1.0 - passed * (1.0 - m + (1.0 - prevalence) * f) - prevalence * cm_fa[k] * s)

    over = _first_place_at_level(gap, np.zeros(len(m)), len(cm_miss))
    before = np.maximum(over - 1, 0)
    before = _first_place_at_level(gap, gap(before), len(cm_miss))  # the first of equal ones
    nearest = np.where(np.abs(gap(before)) <= np.abs(gap(over)), before, over)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(f / s - cm_fa[nearest] / (1.0 - cm_miss[nearest]))
    best = int(np.nanargmin(apart))
    return float(s[best] * cm_fa[nearest[best]])


def _first_place_at_level(gap: Callable[[IntArray], FloatArray], level: FloatArray, n: int) -> IntArray:
    """The first place where a gap that never falls reaches a level, or the last place there is."""
    low, high = np.zeros(len(level), dtype=np.intp), np.full(len(level), n - 1, dtype=np.intp)
    while (low < high).any():
        middle = (low + high) // 2
        over = gap(middle) >= level
        high, low = np.where(over, middle, high), np.where(over, low, np.minimum(middle + 1, high))
    return low


def _rates_trial_by_trial(*kinds: Array) -> list[FloatArray]:
    """Error rates after each trial in ascending order: misses of the first kind, false alarms of others."""
    order = np.argsort(np.concatenate(kinds), kind="stable")
    label = np.repeat(np.arange(len(kinds)), [len(values) for values in kinds])[order]
    rates = []
    for kind, values in enumerate(kinds):
        rejected = np.concatenate([[0], np.cumsum(label == kind)]) / len(values)
        rates.append(rejected if kind == 0 else 1.0 - rejected)
    return rates
