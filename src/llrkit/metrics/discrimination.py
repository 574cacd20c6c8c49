"""What depends on the order of scores only: EER, AUC, minimum costs, thresholds, the shape of a DET curve.

No increasing map of the scores changes these numbers. Each metric has one definition, as a function of PAV
blocks or of a ranking; the public function counts a source first.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import RNG, Array, ArrayLike, BoolArray, Counts, FloatArray, whole_number
from llrkit.base.process import warn_caller
from llrkit.base.text import Json, counted
from llrkit.core import pav
from llrkit.core.cells import BelowCounts
from llrkit.core.counting import count_bins, count_blocks, rank
from llrkit.core.numerics import LN2, probit, softplus
from llrkit.core.order import Ranking
from llrkit.core.summaries import ReadOnlyArrays
from llrkit.errors import InputError, ReversedScoresWarning
from llrkit.results.result import Column, Result, html_table, plain
from llrkit.scores import AnyTrials, Labels, Scores, ScoreSource, as_source
from llrkit.theory.operating_points import OperatingPoint, Point, operating_point

BEYOND_CHANCE = 2.576
"""Standard errors from 1/2, two-sided 1 %."""
RANGE = (0.001, 0.5)
"""Both error rates are between these where the slope of a DET curve is measured."""
# odd, so that one of them is Pmiss = Pfa
_LINES = 403  # of equal difference of probits, whose crossings with the DET the slope is fitted to
_STEPS = 60  # more than halving alone needs
_SETTLED = 1e-13
"""In probits; one more step of Newton's leaves rounding errors only."""
_ROOT_2_PI = math.sqrt(2.0 * math.pi)
MOST = 100_000
"""Simulated trials of a class. More trials vary less, so for larger sets the null is a little too wide."""
_CUTS = 1 << 16
"""Thresholds tried in one pass: four passes find any of the 2^64 floats."""
_SIGN = np.uint64(1 << 63)
Demand = Callable[[Counts, Counts], BoolArray]
"""What holds for the numbers of targets and of non-targets below a threshold, up to some threshold."""
Range = tuple[float, float]
Compare = Callable[[Array, float], ArrayLike]


def eer(source: AnyTrials, labels: Labels | None = None) -> float:
    """Equal error rate on the ROC convex hull (ROCCH-EER).

    The value where the hull meets Pmiss = Pfa; equals the maximum over priors of the minimum error rate
    (Brümmer & de Villiers 2013). :func:`llrkit.metrics.eer_roc` gives the interpolated-ROC variant. Where
    targets score below non-targets beyond chance, a :class:`llrkit.errors.ReversedScoresWarning` tells the
    rate of the negated scores.

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
    >>> lk.eer(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])) == 3 / 13
    True
    """
    ranking = rank(as_source(source, labels))
    area = auc_from_ranking(ranking)
    # warned of only beyond chance: small sets are below 1/2 now and then
    if separation(ranking, area).reversed:
        warn_caller(reversed_text(ranking.bins, area), ReversedScoresWarning)
    return eer_from_blocks(ranking.blocks)


def eer_from_blocks(blocks: pav.PavBlocks) -> float:
    """ROCCH-EER of pooled bins."""
    hull = blocks.hull
    return pav.crossing(hull.p_miss, hull.p_fa)


def eer_roc(source: AnyTrials, labels: Labels | None = None) -> float:
    """Equal error rate on the ROC itself, with straight lines between its points.

    Ties are pooled, so the order of the trials does not matter.

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
    >>> lk.metrics.eer_roc(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]))
    0.25
    """
    return eer_roc_from_ranking(rank(as_source(source, labels)))


def eer_roc_from_ranking(ranking: Ranking) -> float:
    """Interpolated-ROC EER of ordered trials."""
    missed, rejected = ranking.rejected_around_eer
    return pav.crossing_of_rejected(missed, [rejected])


def prbep(source: AnyTrials, labels: Labels | None = None) -> float:
    """Precision-recall break-even point: the number of misses where it equals that of false alarms.

    Taken on the ROC convex hull with counts instead of rates, as BOSARIS does.

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
    >>> round(lk.metrics.prbep(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])), 6)
    1.0
    """
    return prbep_from_blocks(count_blocks(as_source(source, labels)))


def prbep_from_blocks(blocks: pav.PavBlocks) -> float:
    """Break-even count of pooled bins."""
    hull = blocks.hull
    return pav.crossing(hull.n_miss, hull.n_fa)


def auc(source: AnyTrials, labels: Labels | None = None) -> float:
    """Area under the ROC: the chance that a target scores above a non-target, ties counting one half.

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
    >>> lk.auc(lk.Scores([1, 2], [0, 1]))
    0.875
    """
    return auc_from_ranking(rank(as_source(source, labels)))


def auc_from_ranking(ranking: Ranking) -> float:
    """AUC of ordered trials."""
    # divided one after the other: the product of two large classes may be beyond 2^63
    return ranking.doubled_wins / 2.0 / ranking.n_target / ranking.n_nontarget


def min_dcf(source: AnyTrials, labels: Labels | None = None, *, point: Point) -> float:
    """Smallest normalized detection cost that any threshold gives on these trials (minDCF).

    ``min over t of (c_miss p Pmiss(t) + c_fa (1 - p) Pfa(t)) / default cost``.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    point
        Operating point: a prior, ``(prior, c_miss, c_fa)``, an :class:`llrkit.OperatingPoint`, or the name
        of a preset.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.min_dcf(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]), point=lk.OperatingPoint(0.5))
    0.45
    """
    source = as_source(source, labels)
    return min_dcf_from_blocks(count_blocks(source), operating_point(point))


def min_dcf_from_blocks(blocks: pav.PavBlocks, point: OperatingPoint) -> float:
    """Minimum normalized DCF of pooled bins."""
    p_miss, p_fa = best_errors(blocks, [point.log_odds])
    return point.cost(float(p_miss[0]), float(p_fa[0]))


def best_errors(blocks: pav.PavBlocks, log_odds: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Error rates of the best threshold at each prior log-odds.

    The best vertex of the convex hull rejects the blocks whose PAV LLR is below the Bayes threshold.
    """
    hull = blocks.hull
    # a block whose LLR equals the threshold is accepted, as a score at a threshold is
    vertex = np.searchsorted(blocks.llr, -np.asarray(log_odds, dtype=np.float64))
    return hull.p_miss[vertex], hull.p_fa[vertex]


def min_cllr(source: AnyTrials, labels: Labels | None = None) -> float:
    """Cllr after the optimal monotone calibration of the same trials (PAV, no Laplace end points).

    The cost of imperfect discrimination alone, in bits; biased low on small sets.

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
    >>> round(lk.min_cllr(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])), 13)
    0.5353940099985
    """
    return min_cllr_from_blocks(count_blocks(as_source(source, labels)))


def min_cllr_from_blocks(blocks: pav.PavBlocks) -> float:
    """Minimum Cllr of pooled bins, in bits."""
    target, nontarget = block_losses(blocks, [0.0])
    return float(target[0] + nontarget[0]) / (2.0 * LN2)


def block_losses(blocks: pav.PavBlocks, log_odds: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Mean logarithmic loss of the PAV LLRs of each class at each prior log-odds, in nats."""
    llr = blocks.llr
    # a block at -inf holds no targets and one at inf no non-targets: their losses are 0 times inf, that is 0
    with_target, with_nontarget = blocks.target > 0, blocks.nontarget > 0
    t_llr, t_share = llr[with_target], blocks.target[with_target] / blocks.target.sum()
    n_llr, n_share = llr[with_nontarget], blocks.nontarget[with_nontarget] / blocks.nontarget.sum()
    odds = np.atleast_1d(np.asarray(log_odds, dtype=np.float64))
    target = np.array([(t_share * softplus(-t_llr - shift)).sum() for shift in odds])
    nontarget = np.array([(n_share * softplus(n_llr + shift)).sum() for shift in odds])
    return target, nontarget


@dataclass(frozen=True)
class Separation:
    """AUC beside 1/2, with the standard error it has if scores say nothing about the class."""

    auc: float
    standard_error: float

    @property
    def reversed(self) -> bool:
        """Targets score below non-targets, beyond chance."""
        return self.auc - 0.5 < -BEYOND_CHANCE * self.standard_error

    @property
    def none(self) -> bool:
        """AUC cannot be told from 1/2."""
        return abs(self.auc - 0.5) <= BEYOND_CHANCE * self.standard_error

    @property
    def would_show(self) -> float:
        """The smallest AUC above 1/2 that would have been told from it."""
        return 0.5 + BEYOND_CHANCE * self.standard_error


def separation(ranking: Ranking, auc: float) -> Separation:
    """The Mann-Whitney test of ordered trials; ties between the classes are taken into account.

    Examples
    --------
    >>> import numpy as np
    >>> bins = pav.ScoreBins(np.array([20, 0]), np.array([0, 20]), *np.array([[0.0, 1.0]] * 2))
    >>> separation(Ranking(bins), auc=0.0).reversed
    True
    """
    n_t, n_n = float(ranking.n_target), float(ranking.n_nontarget)
    total = n_t + n_n
    # tied ranks vary less than distinct ones
    ties = ranking.tie_sum / (total * max(total - 1.0, 1.0))
    # all trials tied: rounding may leave less than 0
    variance = max(total + 1.0 - ties, 0.0) / (12.0 * n_t * n_n)
    return Separation(auc, math.sqrt(variance))


def eer_reversed(bins: pav.ScoreBins) -> float:
    """ROCCH-EER of the negated scores.

    Examples
    --------
    >>> import numpy as np
    >>> eer_reversed(pav.ScoreBins(np.array([20, 0]), np.array([0, 20]), *np.array([[0.0, 1.0]] * 2)))
    0.0
    """
    # the bins the other way round are those of the negated scores: no trial is read again
    negated = pav.ScoreBins(bins.target[::-1], bins.nontarget[::-1], -bins.high[::-1], -bins.low[::-1])
    return eer_from_blocks(pav.pav_blocks(negated))


def reversed_text(bins: pav.ScoreBins, auc: float) -> str:
    """What is wrong, and what the equal error rate would be."""
    return (
        f"targets score below non-targets (AUC {auc:.3f}): is a higher score really more target-like? "
        f"The other way round the EER is {100 * eer_reversed(bins):.2f} %"
    )


def threshold_for_false_alarms(source: ScoreSource, bins: pav.ScoreBins, rate: float) -> float:
    """The lowest threshold with at most this false-alarm rate: the score above the last one that has more.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])
    >>> bins = count_bins(scores)
    >>> threshold_for_false_alarms(scores, bins, 0.2), threshold_for_false_alarms(scores, bins, 0.0)
    (0.5, 2.0)
    """
    if rate >= 1.0:  # accepting everything is always allowed
        return float(bins.low[0])
    # `gt` holds up to some threshold and never again, as a demand must; the answer is the next score
    last = highest_threshold(source, bins, _on_false_alarms(bins, operator.gt, rate))
    return next_score(source, bins, last)


def threshold_for_misses(source: ScoreSource, bins: pav.ScoreBins, rate: float) -> float:
    """The highest threshold with at most this miss rate.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])
    >>> bins = count_bins(scores)
    >>> threshold_for_misses(scores, bins, 0.25), threshold_for_misses(scores, bins, 0.0)
    (0.5, -1.0)
    """
    return highest_threshold(source, bins, _on_misses(bins, operator.le, rate))


def _on_misses(bins: pav.ScoreBins, compare: Compare, rate: float) -> Demand:
    return lambda target, _: np.asarray(compare(target / bins.n_target, rate))


def _on_false_alarms(bins: pav.ScoreBins, compare: Compare, rate: float) -> Demand:
    n = bins.n_nontarget
    return lambda _, nontarget: np.asarray(compare((n - nontarget) / n, rate))


def threshold_for_cost(blocks: pav.PavBlocks, point: OperatingPoint) -> float:
    """The threshold with the lowest cost on these trials, a vertex of the ROC convex hull.

    Examples
    --------
    >>> import llrkit as lk
    >>> blocks = count_blocks(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]))
    >>> threshold_for_cost(blocks, OperatingPoint(0.5)), threshold_for_cost(blocks, OperatingPoint(0.01))
    (0.5, 2.0)
    """
    vertex = int(np.searchsorted(blocks.llr, point.threshold))
    return float(pav.error_path(blocks).threshold[vertex])


def highest_threshold(source: ScoreSource, bins: pav.ScoreBins, demand: Demand) -> float:
    """The highest threshold for which a demand holds: a score, or inf where it holds throughout.

    Without any, the lowest score. Trials are looked at again only where the threshold is inside a run of
    one class.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([1.0, 2.0, 3.0, 4.0], [0.0])
    >>> highest_threshold(scores, count_bins(scores), lambda target, nontarget: target <= 2)
    3.0
    """
    path = pav.error_path(bins)
    holds = demand(path.n_miss, path.n_nontarget - path.n_fa)
    if not holds[0]:
        return float(path.threshold[0])
    last = len(holds) - 1 if holds.all() else int(np.argmin(holds)) - 1
    if last == len(bins.low) or bins.low[last] == bins.high[last]:
        return float(path.threshold[last])
    # inside a run the bins know no threshold; floats are searched by their rank among all floats
    low, high = (int(_as_order(end)) for end in (bins.low[last], bins.high[last]))
    high += 1  # the search keeps its upper end out
    while high - low > 1:  # the demand holds at low and, as far as scores go, not at high
        step = -(-(high - low) // _CUTS)  # rounded up: the cuts span the whole interval
        # uint64 throughout: beside int64 they would become floats
        cuts = np.uint64(low) + np.uint64(step) * np.arange(-(-(high - low) // step), dtype=np.uint64)
        below = source.reduce(BelowCounts.at(_as_float(cuts)))
        met = int(np.count_nonzero(demand(below.target, below.nontarget)))
        if met == 0:  # sums of weights may differ in their last bit from those of the bins
            break
        low, high = int(cuts[met - 1]), int(cuts[met]) if met < len(cuts) else high
    return float(_as_float(np.uint64(low)))


def next_score(source: ScoreSource, bins: pav.ScoreBins, score: float) -> float:
    """The next higher score of the trials, inf above the highest.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([1.0, 2.0, 3.0, 4.0], [0.0])
    >>> next_score(scores, count_bins(scores), 2.0)
    3.0
    """
    place = int(np.searchsorted(bins.low, score, side="right")) - 1
    if score >= bins.high[place]:  # the next bin begins with the next score
        return float(pav.error_path(bins).threshold[place + 1])
    just_above = source.reduce(BelowCounts.at([math.nextafter(score, math.inf)]))
    of_target, of_nontarget = just_above.target[0], just_above.nontarget[0]

    def no_more(target: Counts, nontarget: Counts) -> BoolArray:
        return np.asarray((target <= of_target) & (nontarget <= of_nontarget))

    return highest_threshold(source, bins, no_more)


def _as_order(floats: ArrayLike) -> npt.NDArray[np.uint64]:
    """Whole numbers in the order of floats, one apart for neighbors.

    Examples
    --------
    >>> _as_order([-0.0, 0.0, 5e-324]) - _as_order(-0.0)
    array([0, 1, 2], dtype=uint64)
    """
    bits = np.asarray(floats, dtype=np.float64).view(np.uint64)
    # negative floats have their bits in falling order, so these are turned over
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _as_float(order: ArrayLike) -> FloatArray:
    """The floats of such whole numbers."""
    order = np.asarray(order, dtype=np.uint64)
    return np.where(order & _SIGN, order & ~_SIGN, ~order).view(np.float64)


def same_rate(
    source: ScoreSource, bins: pav.ScoreBins, kind: str, rate: float, width: float, effect: float
) -> Range:
    """Thresholds whose false-alarm (or miss) rate differs from this one by no more than chance.

    ``width`` is in standard errors, of which the square is ``effect`` times that of independent trials. The
    lower end is the score below the first of them: counts say nothing about what is between.
    """
    n = bins.n_nontarget if kind == "p_fa" else bins.n_target
    # the standard error of a share; `effect` allows for trials that are not independent
    error = width * math.sqrt(effect * rate * (1.0 - rate) / n)
    if kind == "p_fa":
        first = _on_false_alarms(bins, operator.gt, rate + error)
        last = _on_false_alarms(bins, operator.ge, rate - error)
    else:
        first = _on_misses(bins, operator.lt, rate - error)
        last = _on_misses(bins, operator.le, rate + error)
    return highest_threshold(source, bins, first), highest_threshold(source, bins, last)


def equal_rates(path: pav.ErrorPath, rate: float, width: float, effects: Range) -> Range:
    """Thresholds at which the two rates differ by no more than chance; ``rate`` is the equal error rate."""
    variance = rate * (1.0 - rate) * (effects[0] / path.n_target + effects[1] / path.n_nontarget)
    gap = path.p_miss - path.p_fa
    return _thresholds_around(path, np.abs(gap) <= width * np.sqrt(variance), gap)


def same_cost(
    path: pav.ErrorPath, point: OperatingPoint, threshold: float, width: float, effects: Range
) -> Range:
    """Thresholds that cost no more than this one, as far as the trials between the two can tell.

    The costs of two thresholds differ by the trials between them, so the variance of the difference is that
    of their numbers; a threshold is in the set unless it is worse by more than chance.
    """
    chosen = int(np.searchsorted(path.threshold, threshold))
    d_miss, d_fa = path.p_miss - path.p_miss[chosen], path.p_fa - path.p_fa[chosen]
    w_miss, w_fa = point.cost(1.0, 0.0), point.cost(0.0, 1.0)
    variance = w_miss**2 * effects[0] * np.abs(d_miss) / path.n_target
    variance += w_fa**2 * effects[1] * np.abs(d_fa) / path.n_nontarget
    inside = w_miss * d_miss + w_fa * d_fa <= width * np.sqrt(variance)
    return _thresholds_around(path, inside, np.arange(len(path.threshold)) - chosen)


def _thresholds_around(path: pav.ErrorPath, inside: BoolArray, side: Array) -> Range:
    """The ends of a set of thresholds, one step further out: counts say nothing about what is between."""
    places = np.flatnonzero(inside)
    if not len(places):  # chance may be narrower than one step of the path
        places = np.array([np.argmin(np.abs(side))])
    low, high = max(int(places[0]) - 1, 0), min(int(places[-1]) + 1, len(path.threshold) - 1)
    return float(path.threshold[low]), float(path.threshold[high])


class Curve(ReadOnlyArrays, Result):
    """Shared by the curves, which are frozen dataclasses.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.evaluate([2.0, 1.0, -1.0, -3.0], [1, 0, 1, 0]).det
    ErrorCurve(5 points, kind='roc', n_target=2, n_nontarget=2)
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            # that of a dataclass shows all arrays
            cls.__repr__ = Curve._in_short  # type: ignore[method-assign, assignment]

    def _in_short(self) -> str:
        """How many points there are, and the numbers and words that all share."""
        values = _fields_of(self)
        n = max((len(value) for value in values.values() if isinstance(value, np.ndarray)), default=0)
        shared = [
            f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value!r}"
            for name, value in values.items() if isinstance(value, (bool, int, float, str))
        ]  # fmt: skip
        return f"{type(self).__name__}({', '.join([counted(n, 'point'), *shared])})"

    def _frame_columns(self) -> Mapping[str, Column]:
        return curve_columns(self)

    def _repr_html_(self) -> str:
        columns = curve_columns(self)
        n = max((len(values) for values in columns.values()), default=0)
        rows = []
        for name, values in columns.items():
            ends = (values[0], values[-1]) if values else ("", "")
            rows.append([name, *(f"{end:.5g}" if isinstance(end, float) else str(end) for end in ends)])
        return html_table([f"{type(self).__name__} of {counted(n, 'point')}", "first", "last"], rows)


def curve_columns(curve: Curve) -> dict[str, list[object]]:
    """The arrays of a curve as columns of the same length, and its numbers and words repeated.

    Examples
    --------
    >>> from llrkit.metrics.curves import HistogramPair
    >>> counts = np.array([3, 1])
    >>> list(curve_columns(HistogramPair(np.array([0.0, 1.0, 2.0]), counts, counts, 4, 4)))
    ['edges_low', 'edges_high', 'target', 'nontarget', 'n_target', 'n_nontarget']
    """
    values = _expanded_fields(_fields_of(curve))
    lengths = [len(value) for value in values.values() if isinstance(value, list)]
    n = max(lengths, default=1)
    if lengths.count(n) == 1 and len(lengths) > 1 and n - 1 in lengths:  # edges of bins
        n -= 1
    columns: dict[str, list[object]] = {}
    for name, value in values.items():
        items: list[object] = list(value) if isinstance(value, list) else [value] * n
        if len(items) == n + 1 and isinstance(value, list):
            columns |= {f"{name}_low": items[:-1], f"{name}_high": items[1:]}
        else:
            columns[name] = items + [None] * (n - len(items))
    return columns


def _fields_of(curve: Curve) -> dict[str, Any]:
    return {field.name: getattr(curve, field.name) for field in fields(curve)}  # type: ignore[arg-type]


def _expanded_fields(values: Mapping[str, object]) -> dict[str, Json]:
    """Lists of plain values, and single ones; nested curves, mappings and matrices are taken apart."""
    flat: dict[str, Json] = {}
    for name, value in values.items():
        if isinstance(value, (Curve, Mapping)):
            inner = _fields_of(value) if isinstance(value, Curve) else value
            flat |= {f"{name}.{key}": item for key, item in _expanded_fields(inner).items()}
        elif isinstance(value, np.ndarray) and value.ndim > 1:
            matrix = value.reshape(len(value), -1)
            flat |= {f"{name}.{i}": matrix[:, i].tolist() for i in range(matrix.shape[1])}
        elif isinstance(value, (np.ndarray, tuple, list)):
            flat[name] = [plain(item) for item in value]
        elif isinstance(value, Result):
            flat |= {f"{name}.{key}": item for key, item in value.to_dict().items()}
        else:
            flat[name] = plain(value)
    return flat


def as_floats(curve: Curve, *names: str) -> None:
    """Turn lists given for these fields into arrays of float64."""
    for name in names:
        object.__setattr__(curve, name, np.asarray(getattr(curve, name), dtype=np.float64))


def same_length(curve: Curve, *names: str) -> None:
    """Refuse fields of different lengths."""
    lengths = {name: len(getattr(curve, name)) for name in names}
    if len(set(lengths.values())) > 1:
        raise InputError(f"{type(curve).__name__}: lengths differ, {lengths}")


def named_arrays(values: Mapping[str, FloatArray], length: int, what: str) -> Mapping[str, FloatArray]:
    """Read-only arrays by name, all of one length."""
    arrays = {}
    for name, column in values.items():
        array = np.asarray(column, dtype=np.float64).copy()  # a copy: the caller's array stays writable
        if array.shape != (length,):
            raise InputError(f"{what}[{name!r}] has shape {array.shape}, expected ({length},)")
        array.flags.writeable = False
        arrays[name] = array
    return MappingProxyType(arrays)


@dataclass(frozen=True, eq=False)
class DetSlope(Curve):
    """A straight line through a DET curve: ``probit Pmiss = slope * probit Pfa + intercept``.

    ``probit_fa`` and ``probit_miss`` are the points of the DET it was fitted to. -1 is what calibrated
    Gaussian LLRs give; ``nan`` when fewer than two points lie in the range.
    """

    slope: float
    intercept: float
    probit_fa: FloatArray
    probit_miss: FloatArray


def det_slope(source: AnyTrials, labels: Labels | None = None) -> DetSlope:
    """Slope of the DET curve where both error rates are between 0.1 % and 50 %.

    Total least squares over the crossings of the DET with the lines probit Pmiss - probit Pfa = c, c on
    an even grid; swapping the classes inverts the slope exactly.

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
    >>> from scipy.special import ndtri
    >>> quantiles = ndtri((np.arange(2000) + 0.5) / 2000)
    >>> round(lk.metrics.det_slope(lk.Scores(quantiles + 1, 0.5 * quantiles - 1)).slope, 2)
    -0.5
    """
    return det_slope_from_bins(count_bins(as_source(source, labels)))


def det_slope_from_bins(bins: pav.ScoreBins) -> DetSlope:
    """DET slope of bins."""
    path = pav.error_path(bins)
    p_miss, p_fa = path.p_miss, path.p_fa
    reach = float(probit(RANGE[1]) - probit(RANGE[0]))
    wanted = np.linspace(-reach, reach, _LINES)[1:-1]  # the end lines touch the range in a corner only
    # c rises along the path from -inf to inf, except where both rates are at an end (perfect separation)
    with np.errstate(invalid="ignore"):
        c = probit(p_miss) - probit(p_fa)
    good = ~np.isnan(c)
    # accumulate: rounding must not make c fall, or searchsorted would go astray
    p_miss, p_fa, c = p_miss[good], p_fa[good], np.maximum.accumulate(c[good])
    after = np.searchsorted(c, wanted)
    inside = (after > 0) & (after < len(c))  # the path does not cross the other lines
    wanted, after = wanted[inside], after[inside]
    m, f = _det_crossings(p_miss[after - 1], p_miss[after], p_fa[after - 1], p_fa[after], wanted)
    keep = (m >= RANGE[0]) & (m <= RANGE[1]) & (f >= RANGE[0]) & (f <= RANGE[1])
    x, y = np.asarray(probit(f[keep])), np.asarray(probit(m[keep]))
    slope = _total_least_squares(x, y)
    intercept = float(y.mean() - slope * x.mean()) if len(x) > 1 else float("nan")
    return DetSlope(slope, intercept, x, y)


def _det_crossings(
    m0: FloatArray, m1: FloatArray, f0: FloatArray, f1: FloatArray, wanted: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Where each segment of the path meets its line: the difference rises along it.

    Newton's steps, halving the bracket wherever one leaves it.
    """
    low, high = np.zeros(len(wanted)), np.ones(len(wanted))
    # both ends of a segment may have an infinite probit, the middle has not
    share = 0.5 * (low + high)
    for _ in range(_STEPS):
        at_m, at_f = probit(m0 + share * (m1 - m0)), probit(f0 + share * (f1 - f0))
        excess = at_m - at_f - wanted
        low, high = np.where(excess < 0.0, share, low), np.where(excess < 0.0, high, share)
        with np.errstate(over="ignore", invalid="ignore"):  # at the ends, where a rate is 0 or 1
            # the derivative of probit(p) is sqrt(2 pi) exp(probit(p)^2 / 2)
            rise = _ROOT_2_PI * ((m1 - m0) * np.exp(0.5 * at_m**2) - (f1 - f0) * np.exp(0.5 * at_f**2))
            tried = share - excess / rise
        # NaN fails both comparisons, too
        share = np.where((tried >= low) & (tried <= high), tried, 0.5 * (low + high))
        if not np.any(np.abs(excess) > _SETTLED):
            break
    return m0 + share * (m1 - m0), f0 + share * (f1 - f0)


def _total_least_squares(x: FloatArray, y: FloatArray) -> float:
    if len(x) < 2:
        return float("nan")
    dx, dy = x - x.mean(), y - y.mean()
    xx, yy, xy = float((dx * dx).sum()), float((dy * dy).sum()), float((dx * dy).sum())
    if abs(xy) <= 1e-12 * max(xx, yy):  # flat or upright: no slope to speak of
        return float("nan")
    gap = yy - xx
    root = float(np.hypot(gap, 2.0 * xy))
    # of the two equal forms take the one that adds
    return (gap + root) / (2.0 * xy) if gap >= 0 else 2.0 * xy / (root - gap)


@dataclass(frozen=True, eq=False)
class DetStraightness(Result):
    """How far a DET is from the line through it, and how far straight ones are by chance.

    ``rms`` is the root mean square distance, at right angles, in probits. ``p_value`` is the probability that
    independent trials of two Gaussians, whose DET is the line, are at least that far from theirs.
    """

    rms: float
    bend: float
    """Mean distance in the middle third less that in the outer thirds; above 0 the DET bends outwards."""
    line: DetSlope
    null: FloatArray
    """The same distance of every simulated DET."""

    @property
    def p_value(self) -> float:
        """Share of the simulations, and of this one, that are as bent."""
        # the trials themselves are one draw of the null
        return float((1 + np.count_nonzero(self.null >= self.rms)) / (1 + len(self.null)))

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        return {
            "rms": self.rms,
            "bend": self.bend,
            "slope": self.line.slope,
            "p_value": self.p_value,
            "null_median": float(np.median(self.null)),
            "null_95": float(np.quantile(self.null, 0.95)),
        }

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value:.4g}" for name, value in self.to_dict().items())
        return f"DetStraightness({shown}, {len(self.null)} simulations)"


def det_straightness(
    source: AnyTrials, labels: Labels | None = None, *, simulations: int = 99, rng: RNG = 0
) -> DetStraightness:
    """Whether a DET is a straight line, as that of two Gaussians of any spreads is.

    The line is that of :func:`llrkit.metrics.det_slope`. A DET depends on the order of the scores alone, so
    this says nothing about the scores themselves: every increasing map of them has the same DET. Straight
    with a slope of -1 means that *some* map makes them a calibrated Gaussian pair, not that a line does.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    simulations
        Number of simulated sets.
    rng
        A NumPy generator, or a seed.

    Examples
    --------
    >>> import llrkit as lk
    >>> rng = np.random.default_rng(1)
    >>> gaussian = lk.Scores(rng.normal(2, 1, 1000), rng.normal(0, 1.5, 5000))
    >>> bent = lk.Scores(rng.normal(rng.choice([1.0, 5.0], 1000), 1), rng.normal(0, 1, 5000))
    >>> [lk.metrics.det_straightness(scores, simulations=19).p_value > 0.05 for scores in (gaussian, bent)]
    [True, False]
    """
    source = as_source(source, labels)
    whole_number(simulations, 1, "simulations")
    bins = count_bins(source)
    line = det_slope_from_bins(bins)
    distance = _distances_from_line(line)
    if len(distance) < 3 or not np.isfinite(distance).all():
        raise InputError("the DET has too few points between 0.1 % and 50 % to tell whether it is straight")
    # the line through a bent curve has its middle on one side and both ends on the other
    thirds = np.array_split(distance, 3)
    bend = float(thirds[1].mean() - 0.5 * (thirds[0].mean() + thirds[2].mean()))
    generator = np.random.default_rng(rng)
    n_target, n_nontarget = (int(min(n, MOST)) for n in (bins.n_target, bins.n_nontarget))
    null = [_simulated_distances(line, n_target, n_nontarget, generator) for _ in range(simulations)]
    return DetStraightness(_rms_distance(distance), bend, line, np.array(null))


def _distances_from_line(line: DetSlope) -> FloatArray:
    """From the line to each point of the DET; positive above it, where errors are more."""
    across = line.probit_miss - line.slope * line.probit_fa - line.intercept
    return np.asarray(across / np.hypot(1.0, line.slope))


def _rms_distance(distance: FloatArray) -> float:
    return float(np.sqrt(np.mean(distance**2)))


def _simulated_distances(line: DetSlope, n_target: int, n_nontarget: int, rng: np.random.Generator) -> float:
    # Pfa = Phi(-t) and Pmiss = Phi((t - m) / s): the DET has slope -1/s and intercept -m/s
    spread = -1.0 / line.slope
    mean = -line.intercept * spread
    target = mean + spread * rng.standard_normal(n_target)
    made = det_slope_from_bins(count_bins(Scores(target, rng.standard_normal(n_nontarget))))
    distance = _distances_from_line(made)
    # too few points count as straight, which makes p smaller
    return _rms_distance(distance) if len(distance) > 2 and np.isfinite(distance).all() else 0.0
