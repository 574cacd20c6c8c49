"""The numbers of an evaluation as functionals, and the influence of each trial.

Every number of an evaluation is, to first order, a sum over trials; what a trial adds is its influence. The
threshold of a minimum cost and the PAV map of the minimum Cllr are taken as fitted: moving them a little
changes nothing to first order, since they are where the cost is smallest. The equal error rate moves along
the ROC: with w the share of false alarms in a short piece of the ROC around it, ``dEER = w dPmiss + (1 - w)
dPfa``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from llrkit.base.arguments import Array, ArrayLike, FloatArray, IntArray
from llrkit.base.text import counted
from llrkit.core.cells import CellFinder, require_both_classes
from llrkit.core.numerics import LN2, blocks, probit, softplus
from llrkit.core.order import Ranking
from llrkit.core.pav import ErrorPath, PavBlocks, ScoreBins, error_path
from llrkit.core.summaries import FieldwiseSums, UnweightedSummary
from llrkit.metrics import discrimination
from llrkit.metrics.discrimination import det_slope_from_bins
from llrkit.metrics.measure import Measurements
from llrkit.scores import Scores, ScoreSource
from llrkit.theory.operating_points import OperatingPoint
from llrkit.trust.speakers import Contributions, Covariance, Speakers, covariance

MOST_CELLS = 2_000
"""Cells of the score in which trials are counted by speaker; fewer distinct scores are counted exactly."""


def decision_thresholds(result: Measurements) -> FloatArray:
    """The thresholds of the operating points and, last, the one fixed on other trials if there is one."""
    fixed = [result.fixed.threshold] if result.fixed is not None else []
    return np.array([*(point.point.threshold for point in result.points), *fixed], dtype=np.float64)


def evaluation_numbers(
    bins: ScoreBins,
    mean_loss: tuple[float, float],
    rates: tuple[FloatArray, FloatArray],
    result: Measurements,
    *,
    slope: bool = False,
) -> dict[str, float]:
    """The numbers that an evaluation of these counts would have, by name.

    ``mean_loss`` is the mean logarithmic loss of each class in nats, ``rates`` are Pmiss and Pfa at the
    :func:`decision_thresholds`.
    """
    ranking = Ranking(bins)
    blocks = ranking.blocks
    numbers = {
        "cllr": (mean_loss[0] + mean_loss[1]) / (2.0 * LN2),
        "min_cllr": discrimination.min_cllr_from_blocks(blocks),
        "auc": discrimination.auc_from_ranking(ranking),
        "eer": discrimination.eer_from_blocks(blocks),
        "eer_roc": discrimination.eer_roc_from_ranking(ranking),
    }
    if slope:
        numbers["det_slope"] = det_slope_from_bins(bins).slope
    p_miss, p_fa = rates
    best = discrimination.best_errors(blocks, [point.point.log_odds for point in result.points])
    for i, point in enumerate(result.points):
        miss, fa = float(p_miss[i]), float(p_fa[i])
        numbers[f"points.{i}.p_miss"], numbers[f"points.{i}.p_fa"] = miss, fa
        numbers[f"points.{i}.act_dcf"] = point.point.cost(miss, fa)
        numbers[f"points.{i}.min_dcf"] = point.point.cost(float(best[0][i]), float(best[1][i]))
    for i, primary in enumerate(result.primaries):
        for kind in ("min", "act"):
            costs = [numbers[f"points.{member}.{kind}_dcf"] for member in primary.members]
            numbers[f"primaries.{i}.{kind}"] = float(np.mean(costs))
    if result.fixed is not None:
        miss, fa = float(p_miss[-1]), float(p_fa[-1])
        numbers["fixed_threshold.p_miss"], numbers["fixed_threshold.p_fa"] = miss, fa
        numbers["fixed_threshold.hter"] = (miss + fa) / 2.0
    return numbers


def score_cuts(result: Measurements, most: int = MOST_CELLS) -> FloatArray:
    """Where scores are cut into cells so that counts in the cells give the numbers of an evaluation.

    All distinct scores that matter if they are at most ``most``. Otherwise the ends of the PAV blocks, which
    keep minimum costs and minimum Cllr of all trials exact, and scores that are close to each other along the
    ROC, both in shares of trials and on probit axes, which looks into the corners.
    """
    bins, thresholds = result.summaries.bins, decision_thresholds(result)
    lows = bins.low
    if len(lows) > most:
        roc = error_path(bins)
        p_miss, p_fa = roc.p_miss[1:-1], roc.p_fa[1:-1]
        shares = p_miss - p_fa
        # half a trial: empty corners get a finite probit
        smallest = 0.5 / max(float(bins.n_target), float(bins.n_nontarget), 2.0)
        probits = probit(np.clip(p_miss, smallest, 1.0 - smallest)) - probit(
            np.clip(p_fa, smallest, 1.0 - smallest)
        )
        # half of the cells evenly in shares of trials, half evenly on probit axes, where the corners are
        places = [
            np.searchsorted(along, np.linspace(along[0], along[-1], most // 2)) for along in (shares, probits)
        ]
        inner = lows[1:][np.unique(np.concatenate(places))]
        # the ends of PAV blocks are always cuts, so minima of all trials stay exact
        lows = np.concatenate([inner, result.summaries.blocks.low])
    return np.unique(np.concatenate([lows, thresholds]))


LARGEST_LOSS = 1e100
"""Squares of losses beyond it, and sums of them, overflow."""


@dataclass(frozen=True, eq=False)
class StepInfluences:
    """Sums to which each trial adds its logarithmic loss, or a value that depends on its cell only.

    Sums come in pairs, one for each class: sum ``2 k`` is that of the targets, ``2 k + 1`` that of the
    non-targets. All are centered: what a class adds is zero on average. Pair 0 is the logarithmic loss.
    """

    finder: CellFinder
    steps: tuple[FloatArray, FloatArray]
    """For each class, values by (step function, cell)."""
    mean_loss: tuple[float, float]

    @property
    def size(self) -> int:
        """Number of sums."""
        return 2 * (len(self.steps[0]) + 1)

    def columns(self, class_index: int) -> tuple[int, ...]:
        """The sums of a class."""
        return tuple(range(class_index, self.size, 2))

    def cut_also(self, cuts: ArrayLike) -> StepInfluences:
        """The same sums with more cells: those between its own cuts and these."""
        finer = CellFinder(np.union1d(self.finder.cuts, np.asarray(cuts, dtype=np.float64)))
        left = np.concatenate([[-np.inf], finer.cuts])
        within = np.searchsorted(self.finder.cuts, left, side="right")
        # the leftmost cell, below all cuts, is the leftmost of the coarser ones
        within[0] = 0
        return replace(self, finder=finer, steps=(self.steps[0][:, within], self.steps[1][:, within]))

    @property
    def contributions(self) -> Contributions:
        """What each trial adds to each sum."""

        def of(values: Array, class_index: int) -> list[FloatArray]:
            cell = self.finder(values)
            return [self.loss(values, class_index), *(table[cell] for table in self.steps[class_index])]

        return Contributions(self.size, of, (self.columns(0), self.columns(1)))

    def loss(self, values: Array, class_index: int) -> FloatArray:
        """The logarithmic loss of each score in nats, less the mean of its class."""
        # an infinite or huge loss would make every covariance nan; Cllr gets a reason instead of an interval
        if not max(self.mean_loss) < LARGEST_LOSS:  # Cllr has no variance
            return np.zeros(len(values))
        loss = log_loss(values, class_index)
        loss -= self.mean_loss[class_index]
        return loss


def log_loss(values: Array, class_index: int) -> FloatArray:
    """The logarithmic loss of each score of a class in nats, the scores read as LLRs.

    Examples
    --------
    >>> log_loss(np.array([0.0, 1.0]), 0).round(4)
    array([0.6931, 0.3133])
    """
    x = values.astype(np.float64, copy=False)
    signed = -x if class_index == 0 else x
    if len(x) == 0 or signed.max() >= 700.0:
        return np.asarray(softplus(signed))
    # exp neither overflows nor loses digits below 700
    # as exact as softplus where it counts, and three times as fast
    loss = np.exp(signed)
    np.log1p(loss, out=loss)
    return loss


class StepTable:
    """Collects step functions of the score on the cells between all places where any of them steps.

    ``cuts`` are the places if they are given: scores in one cell are then taken as equal. The thresholds and
    the ends of the PAV blocks must be among them.
    """

    def __init__(self, result: Measurements, thresholds: ArrayLike, cuts: FloatArray | None = None) -> None:
        self.bins: ScoreBins = result.summaries.bins
        if cuts is not None:  # bins joined where no cut lies between them
            exact = self.bins
            cell = np.searchsorted(cuts, exact.low, side="right")
            start = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
            self.bins = ScoreBins(
                np.add.reduceat(exact.target, start),
                np.add.reduceat(exact.nontarget, start),
                exact.low[start],
                exact.high[np.append(start[1:], len(cell)) - 1],
            )
        self.blocks: PavBlocks = result.summaries.blocks
        self.roc: ErrorPath = error_path(self.bins)
        self.hull: ErrorPath = error_path(self.blocks)
        at = np.asarray(thresholds, dtype=np.float64)
        self.cuts: FloatArray = np.unique(np.concatenate([self.bins.low, at])) if cuts is None else cuts
        # the bin of every cell; no trial is below the first bin
        left = np.concatenate([[-np.inf], self.cuts])
        self._bin = np.maximum(np.searchsorted(self.bins.low, left, side="right") - 1, 0)
        self._rows: tuple[list[FloatArray], list[FloatArray]] = ([], [])
        losses = result.summaries.at_llrs
        self._mean_loss = (
            float(losses.target_loss[0] / losses.n_target),
            float(losses.nontarget_loss[0] / losses.n_nontarget),
        )

    def add(self, target: FloatArray, nontarget: FloatArray) -> int:
        """Add a function by its values in each bin for each class; its number."""
        b = self.bins
        for rows, values, count in zip(self._rows, (target, nontarget), (b.target, b.nontarget), strict=True):
            used = count > 0
            # centered, so that sums over a class are 0 and products over trials are covariances
            mean = float((values[used] * count[used]).sum() / count.sum())
            # where a class has no trials its value does not matter, and may be infinite; otherwise it is
            # kept, so that errors at a threshold have one step
            finite = used | np.isfinite(values)
            rows.append(np.where(finite, np.where(finite, values, 0.0) - mean, 0.0)[self._bin])
        return len(self._rows[0])

    def add_threshold(self, threshold: float, p_miss: float, p_fa: float) -> int:
        """Add the errors at a threshold that is among the cuts, given their rates; the number."""
        rejected = np.arange(len(self.cuts) + 1) <= np.searchsorted(self.cuts, threshold)
        self._rows[0].append(rejected.astype(np.float64) - p_miss)
        self._rows[1].append((~rejected).astype(np.float64) - p_fa)
        return len(self._rows[0])

    def add_vertex(self, vertex: int) -> int:
        """Add the errors at a vertex of the convex hull."""
        below = (self.bins.low < self.hull.threshold[vertex]).astype(np.float64)
        return self.add(below, 1.0 - below)

    def add_crossing(self, path: ErrorPath) -> int:
        """Add the errors where a path meets Pmiss = Pfa: a mixture of the two vertices around it."""
        gap = path.p_miss - path.p_fa
        # the path starts at Pmiss = 0, Pfa = 1 and ends at the opposite corner: it must cross
        after = int(np.argmax(gap >= 0))
        share = float(gap[after - 1] / (gap[after - 1] - gap[after]))  # the first gap is -1, so after > 0
        start, stop = path.threshold[after - 1], path.threshold[after]
        low = self.bins.low
        below = np.where(low < start, 1.0, np.where(low < stop, share, 0.0))
        return self.add(below, 1.0 - below)

    def add_pav_loss(self) -> int:
        """Add the logarithmic loss of the PAV LLRs."""
        block = np.searchsorted(self.blocks.low, self.bins.low, side="right") - 1
        llr = self.blocks.llr[block]
        return self.add(np.asarray(softplus(-llr)), np.asarray(softplus(llr)))

    def add_placements(self) -> int:
        """Add the share of the other class that each trial is on the right side of, ties counting half."""
        b = self.bins
        # ties count half, as in the AUC
        below = (np.cumsum(b.nontarget) - 0.5 * b.nontarget) / b.n_nontarget
        above = 1.0 - (np.cumsum(b.target) - 0.5 * b.target) / b.n_target
        return self.add(below, above)

    def influences(self) -> StepInfluences:
        """All functions together."""
        tables = [np.array(rows).reshape(len(rows), len(self.cuts) + 1) for rows in self._rows]
        return StepInfluences(CellFinder(self.cuts), (tables[0], tables[1]), self._mean_loss)


def false_alarm_share(roc: ErrorPath, rate: float) -> float:
    """Share of false alarms in the piece of the ROC where Pmiss and Pfa differ by at most the EER.

    Examples
    --------
    >>> equal = ScoreBins(np.array([0, 1, 1]), np.array([1, 1, 0]), np.arange(3.0), np.arange(3.0))
    >>> false_alarm_share(error_path(equal), 0.25)
    0.5
    """
    gap = roc.p_miss - roc.p_fa
    low, high = np.interp([-rate, rate], gap, roc.p_fa)
    return float(low - high) / (2.0 * rate)


Scale = Literal["rate", "cost"]
Terms = dict[int, tuple[float, float]]
"""By number of an influence, the weights of its means over targets and over non-targets."""
FEWEST_ERRORS = 5
"""With fewer errors of a kind, or trials of a class, the normal approximation says nothing about them."""

COUNTED = "counted, not estimated"
GIVEN = "given, not estimated"
REASONS = {
    "n_target": COUNTED,
    "n_nontarget": COUNTED,
    "cllr_cal": "its distribution is not normal where calibration is good, and its mean is not zero there: "
    "compare it with its null distribution (check_calibration)",
    "prbep": "a number of errors, which depends on the numbers of trials",
    "det_slope": "no closed form; resampling speakers (bootstrap) gives one",
}


@dataclass(frozen=True, eq=False)
class Functional:
    """One number: to first order, ``coefficients`` times the sums of the influences.

    A rate gets its interval on the logit scale, a cost on the logarithmic one. Minimum costs and minimum Cllr
    cannot exceed 1, what saying nothing costs, and are on the scale of rates.
    """

    name: str
    value: float
    scale: Scale
    coefficients: FloatArray
    reason: str = ""
    """Why an interval would be misleading, if it would."""


@dataclass(frozen=True, eq=False)
class Functionals:
    """All numbers of an evaluation, and the influences they are made of."""

    influences: StepInfluences
    numbers: tuple[Functional, ...]
    reasons: dict[str, str]
    """Why other numbers have no interval."""

    def __getitem__(self, name: str) -> Functional:
        return {number.name: number for number in self.numbers}[name]


def functionals(
    result: Measurements, trials: tuple[float, float] | None = None, cuts: FloatArray | None = None
) -> Functionals:
    """The numbers of an evaluation with their influence functions.

    ``trials`` are the numbers of trials of the classes, where they are not the sums of their weights. With
    ``cuts`` influences are the same for all scores between two of them, see :class:`StepTable`.
    """
    table = StepTable(result, decision_thresholds(result), cuts)
    ranking = result.summaries.ranking  # weighted trials need not add up to a whole number
    n = (float(ranking.n_target), float(ranking.n_nontarget))
    n_trials = n if trials is None else trials
    recorded: dict[str, tuple[float, Scale, Terms, str]] = {}
    reasons = dict(REASONS)

    def record_rates(prefix: str, number: int, p_miss: float, p_fa: float) -> None:
        few = _too_few_errors(n_trials, p_miss, 1.0), _too_few_errors(n_trials, 1.0, p_fa)
        recorded[f"{prefix}.p_miss"] = (p_miss, "rate", {number: (1.0, 0.0)}, few[0])
        recorded[f"{prefix}.p_fa"] = (p_fa, "rate", {number: (0.0, 1.0)}, few[1])

    half = 1.0 / (2.0 * LN2)
    no_overlap = "" if result.eer > 0.0 else "the classes do not overlap: no error was seen"
    no_variance = "Cllr is too large for a standard error" if result.cllr >= LARGEST_LOSS else ""
    if np.isinf(result.cllr):
        no_variance = "Cllr is infinite"
    recorded["cllr"] = (result.cllr, "cost", {0: (half, half)}, no_variance)
    recorded["min_cllr"] = (result.min_cllr, "rate", {table.add_pav_loss(): (half, half)}, no_overlap)
    recorded["auc"] = (result.auc, "rate", {table.add_placements(): (1.0, 1.0)}, "")
    crossing = table.add_crossing(table.hull)  # of the ROC as well: to first order both move alike
    for name, rate in (("eer", result.eer), ("eer_roc", result.eer_roc)):
        # errors at the ends have no slope of the ROC; half is then as good as anything
        share = false_alarm_share(table.roc, rate) if 0.0 < rate < 1.0 else 0.5
        reason = no_overlap or _too_few_errors(n_trials, rate, rate)
        recorded[name] = (rate, "rate", {crossing: (share, 1.0 - share)}, reason)
    for i, point in enumerate(result.points):
        reasons |= {f"points.{i}.{name}": GIVEN for name in ("p_target", "c_miss", "c_fa", "threshold")}
        at_bayes = table.add_threshold(point.point.threshold, point.p_miss, point.p_fa)
        few = _too_few_errors(n_trials, point.p_miss, point.p_fa)
        costs = error_costs(point.point)
        recorded[f"points.{i}.act_dcf"] = (point.act_dcf, "cost", {at_bayes: costs}, few)
        record_rates(f"points.{i}", at_bayes, point.p_miss, point.p_fa)
        # the vertex that is best at this threshold, found by the LLRs of the PAV blocks
        vertex = int(np.searchsorted(table.blocks.llr, point.point.threshold))
        few = _too_few_errors(n_trials, float(table.hull.p_miss[vertex]), float(table.hull.p_fa[vertex]))
        recorded[f"points.{i}.min_dcf"] = (point.min_dcf, "rate", {table.add_vertex(vertex): costs}, few)
    if (fixed := result.fixed) is not None:
        number = table.add_threshold(fixed.threshold, fixed.p_miss, fixed.p_fa)
        few = _too_few_errors(n_trials, fixed.p_miss, fixed.p_fa)
        recorded["fixed_threshold.hter"] = (fixed.hter, "rate", {number: (0.5, 0.5)}, few)
        record_rates("fixed_threshold", number, fixed.p_miss, fixed.p_fa)
        reasons["fixed_threshold.threshold"] = "fixed on other trials"
    for i, primary in enumerate(result.primaries):
        scales: tuple[tuple[str, float, Scale], ...] = (
            ("min", primary.min, "rate"), ("act", primary.act, "cost")
        )  # fmt: skip
        for kind, value, scale in scales:
            members = [recorded[f"points.{member}.{kind}_dcf"] for member in primary.members]
            terms = {
                number: (on_miss / len(members), on_fa / len(members))
                for _, _, member, _ in members
                for number, (on_miss, on_fa) in member.items()
            }
            reason = next((reason for *_, reason in members if reason), "")
            recorded[f"primaries.{i}.{kind}"] = (value, scale, terms, reason)
    influences = table.influences()
    few = ""
    for what, size in zip(("target", "non-target"), n_trials, strict=True):
        if not few and size < FEWEST_ERRORS:
            few = f"{counted(round(size), what)}: fewer than {FEWEST_ERRORS} say too little about the others"
    numbers = []
    for name, (value, scale, terms, reason) in recorded.items():
        coefficients = np.zeros(influences.size)
        for number, by_class in terms.items():
            # sums become means: each class is divided by its own size
            coefficients[2 * number : 2 * number + 2] = np.array(by_class) / n
        numbers.append(Functional(name, value, scale, coefficients, few or reason))
    return Functionals(influences, tuple(numbers), reasons)


def _too_few_errors(trials: tuple[float, float], p_miss: float, p_fa: float) -> str:
    """Why rates that rest on few errors have no interval."""
    kinds = (("miss", "misses", p_miss), ("false alarm", "false alarms", p_fa))
    for (one, several, rate), n in zip(kinds, trials, strict=True):
        # rounded, because rates times weighted counts need not be whole
        errors = round(rate * n)
        if errors < FEWEST_ERRORS:
            few = counted(errors, one, several)
            return f"{few}: fewer than {FEWEST_ERRORS} say too little about their rate"
    return ""


def error_costs(point: OperatingPoint) -> tuple[float, float]:
    """What a miss rate and a false-alarm rate of 1 cost at an operating point."""
    return point.cost(1.0, 0.0), point.cost(0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Unweighted(UnweightedSummary, FieldwiseSums):
    """Counts of trials, each counted once whatever it weighs."""

    counts: IntArray


def trial_numbers(source: ScoreSource) -> tuple[float, float] | None:
    """The numbers of trials of the two classes where they are weighted; one pass, or none."""
    if source.roles.weight is None:
        return None
    trials = source.reduce(lambda chunk: Unweighted(np.array([chunk.n_target, chunk.n_nontarget])))
    return float(trials.counts[0]), float(trials.counts[1])


def class_means(source: ScoreSource, contributions: Contributions) -> tuple[FloatArray, FloatArray]:
    """Mean contribution by class and sum, and the numbers of trials of the classes; one pass."""

    def summarize(chunk: Scores) -> FloatArray:
        """Sums by class; the last one counts the trials."""
        sums = np.zeros((2, contributions.size + 1))
        sums[:, -1] = chunk.n_target, chunk.n_nontarget
        for class_index, values in enumerate((chunk.target, chunk.nontarget)):
            columns = contributions.columns(class_index)
            for block in blocks(len(values)):
                arrays = contributions.of(values[block], class_index)
                for column, array in zip(columns, arrays, strict=True):
                    sums[class_index, column] += array.sum()
        return sums

    sums = source.reduce(summarize)
    n = sums[:, -1]
    with np.errstate(invalid="ignore"):  # a class may be empty, which is for the caller to refuse
        return np.asarray(sums[:, :-1] / n[:, None]), n


def estimate_means(
    source: ScoreSource,
    contributions: Contributions,
    speakers: Speakers | None = None,
    *,
    diagonal: bool = False,
) -> tuple[FloatArray, Covariance]:
    """Mean contributions by class and sum, and the covariance of their sums over both classes; two passes."""
    means, n = class_means(source, contributions)
    require_both_classes(float(n[0]), float(n[1]))

    def centered(values: Array, class_index: int) -> list[FloatArray]:
        columns, arrays = contributions.columns(class_index), contributions.of(values, class_index)
        return [
            (array - means[class_index, column]) / n[class_index]
            for column, array in zip(columns, arrays, strict=True)
        ]

    terms = replace(contributions, of=centered)
    return means, covariance(source, terms, speakers, diagonal=diagonal)
