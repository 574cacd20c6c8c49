"""diagnose(): what the scores are like, and which calibrators suit them.

Advice follows from what was measured, and every sentence names the number it rests on. The thresholds: fewer
than ``FEW`` trials of a class do not show its shape; ``PAV_NEEDS`` of each class are enough for a map that
follows the data; ``DET_SLOPE``; and the limits of skewness, kurtosis and spread in
:mod:`llrkit.fits.gaussian`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from llrkit.base.options import documented
from llrkit.base.text import Json, agreeing, as_list, as_number, counted, number, p_words, told_apart
from llrkit.core.numerics import LN2, softplus
from llrkit.core.pav import PavBlocks
from llrkit.core.summaries import Moments
from llrkit.fits import gaussian
from llrkit.fits.best import MethodRow, fit_best
from llrkit.fits.cmlg import PredictedCost, cmlg_from_moments, line_costs, predicted_cost
from llrkit.fits.mixtures import mixture_from_training
from llrkit.fits.training_checks import TiedScores, TrainingPoints, smaller_class, training_points
from llrkit.maps.training_range import REMEDY
from llrkit.results.result import Result, plain
from llrkit.scores import ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.theory import GaussianLLR
from llrkit.theory.operating_points import Preset, cost_of
from llrkit.verbs.evaluate import Evaluation, evaluate, other_quantity
from llrkit.verbs.options import DiagnoseOptions

if TYPE_CHECKING:
    from llrkit.keywords import DiagnoseKeywords

FEW = 100
"""Trials of a class that show its shape.

With fewer, Gaussian scores have a skewness beyond 1.2 (5 sqrt(6 / 100)) or spreads of 1 to 1.5 (exp(4 sqrt(1
/ 100))) before the tests of :func:`llrkit.fits.gaussian.shape_problems` see them.
"""
PAV_NEEDS = 1000
"""Trials of each class from which on the steps of PAV are small beside what it finds."""
DET_SLOPE = 0.25
"""How far the slope of the DET may be from -1: for Gaussians it is minus the ratio of the spreads."""

ADVISED = ("cmlg", "logistic", "gaussian", "nig", "bayes", "pav")
"""The methods that are advised, or not."""

Advice = tuple[str, bool, str]
"""Method, whether it is advised, and why."""
LOSS = 0.02
"""Share of Cllr that CMLG may cost more than logistic regression; see docs/notes/decisions-fits.md."""
_SHAPED = ("cmlg", "gaussian", "nig", "bayes")


@dataclass(frozen=True)
class GaussianCheck:
    """Tests of two Gaussians of equal spread, and what CMLG costs."""

    tests: tuple[gaussian.GaussianTest, ...] = ()
    costs: PredictedCost | None = None
    """On the trials themselves, or on scores with their moments."""

    def problems(self, fewest: float) -> list[str]:
        """In words, a cost that neither CMLG should have nor chance gives; ``fewest`` trials of a class.

        The gain of two fitted parameters is by chance more than 5 / n nats once in 150 times.
        """
        if self.costs is None:
            return []
        # the larger of a share of the loss and of what chance gains with two parameters
        limit = max(LOSS * self.costs.cllr_logistic, 5.0 / (fewest * math.log(2.0)))
        lost = self.costs.cllr_cmlg - self.costs.cllr_logistic
        if not lost > limit:
            return []
        loses, more = told_apart(lost, limit, 3)
        return [f"CMLG loses {loses} bits against logistic regression, more than {more}"]

    def lines(self) -> list[str]:
        """For people: a line for each test, and one for the costs."""
        words = [f"test of the {test}" for test in self.tests]
        return words + ([f"on these trials: {self.costs}"] if self.costs is not None else [])


SIMPLEST = ("logistic", "cmlg", "gaussian", "saturating", "bigaussian", "tied-nig", "nig", "kde", "pav")
"""Methods that are suggested, the simplest first."""


@dataclass(frozen=True)
class TriedMethods:
    """Methods in cross-validation, and the one that they speak for."""

    suggested: str
    """The simplest method that these trials do not tell from the best."""
    why: str
    """Why it is that one."""
    rows: tuple[MethodRow, ...]
    """The methods, the one with the lowest Cllr first."""


def suggested_method(table: Sequence[MethodRow], advised: Sequence[str]) -> tuple[str, str]:
    """The simplest method that these trials do not tell from the best, and why it is that one.

    Examples
    --------
    >>> rows = [MethodRow("nig", 0.2), MethodRow("logistic", 0.21, standard_error=0.02)]
    >>> suggested_method(rows, ["nig", "logistic"])[0], suggested_method(rows[:1], [])[0]
    ('logistic', 'nig')
    """
    known = [row for row in table if row.reason is None and row.method in SIMPLEST]
    if not known:
        return SIMPLEST[0], "no method could be compared, and it asks for the least"
    best = known[0]

    def may_be_as_good(row: MethodRow) -> bool:
        return row.standard_error is not None and row.cllr - best.cllr <= 1.96 * row.standard_error

    close = [row for row in known if row is best or may_be_as_good(row)]
    close = [row for row in close if row.method in advised] or close
    chosen = min(close, key=lambda row: SIMPLEST.index(row.method))
    if chosen is best:
        return best.method, f"its Cllr in cross-validation is the lowest, {number(best.cllr)} bits"
    return chosen.method, (
        f"it is the simplest method that these trials do not tell from the best ({best.method}): its "
        f"Cllr in cross-validation is {number(chosen.cllr)} bits instead of {number(best.cllr)}"
    )


@dataclass(frozen=True, eq=False)
class Diagnosis(Result):
    """What the scores look like, and what follows for calibration."""

    evaluation: Evaluation
    """Metrics of the scores as they are."""
    shape: dict[str, float]
    """Skewness, excess kurtosis and the ratio of the spreads, by name."""
    problems: tuple[str, ...]
    """In words, what is unlike Gaussian scores of equal spread, or keeps the trials from showing it."""
    advice: tuple[tuple[str, bool, str], ...]
    """Method, whether it is advised, and why."""
    cllr_from_eer: float
    """The Cllr that Gaussian LLRs with this EER would have."""
    notes: tuple[str, ...] = ()
    """In words, what was noticed and speaks against no method."""
    check: GaussianCheck = field(default_factory=GaussianCheck)
    """Tests of two Gaussians of equal spread, and what CMLG costs beside logistic regression."""
    methods: TriedMethods | None = None
    """How the methods do in cross-validation, where that was asked for."""

    def advised(self, method: str) -> bool:
        """Whether a method is advised for these scores.

        Parameters
        ----------
        method
            Name of the calibrator.
        """
        return {name: good for name, good, _ in self.advice}[method]

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers and sentences."""
        return {
            "n_target": self.evaluation.n_target,
            "n_nontarget": self.evaluation.n_nontarget,
            "eer": self.evaluation.eer,
            "cllr": self.evaluation.cllr,
            "min_cllr": self.evaluation.min_cllr,
            "cllr_from_eer": self.cllr_from_eer,
            "det_slope": self.evaluation.det_slope.slope,
            **self.shape,
            "gaussian_tests": plain(self.check.tests),
            "costs": plain(self.check.costs),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "advice": [{"method": name, "advised": good, "why": why} for name, good, why in self.advice],
            **({} if self.methods is None else {"methods": plain(self.methods)}),
        }

    def __repr__(self) -> str:
        e, lines = self.evaluation, []
        lines.append(
            f"{e.n_target:,} target and {e.n_nontarget:,} non-target trials, EER {100 * e.eer:.2f} %"
        )
        lines.append(
            f"DET slope {number(e.det_slope.slope, 2)}, min Cllr {e.min_cllr:.4f} "
            f"(Gaussian LLRs with this EER would have {self.cllr_from_eer:.4f})"
        )
        for name in ("target", "nontarget"):
            skew, kurtosis = self.shape[f"skewness_{name}"], self.shape[f"kurtosis_{name}"]
            lines.append(f"{name:<9} scores: skewness {skew:+.2f}, excess kurtosis {kurtosis:+.2f}")
        lines.append(f"spread of non-target over target scores: {self.shape['sd_ratio']:.2f}")
        lines += self.check.lines()
        lines += self.notes
        lines += [f"! {problem}" for problem in self.problems]
        reasons = {why for _, _, why in self.advice}
        if len(reasons) == 1 and not any(good for _, good, _ in self.advice):
            return "\n".join([*lines, f"no method is advised yet; {reasons.pop()}"])
        lines += [f"{'use' if good else 'avoid':<5} {name:<10} {why}" for name, good, why in self.advice]
        return "\n".join(lines)


@documented(DiagnoseOptions)
def diagnose(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    options: DiagnoseOptions | None = None,
    **changes: Unpack[DiagnoseKeywords],
) -> Diagnosis:
    """Describe the scores and say which calibrators suit them.

    Skewness, excess kurtosis, the ratio of the spreads and the slope of the DET are compared with limits,
    see ``shape_problems`` and ``advice``. The
    shape of a class with fewer than 100 trials is not judged. Classes that do not overlap fit any slope that
    is steep enough. The shares of clipped, saturated and tied scores are reported; if a straight line loses
    to PAV because of them, on trials left out, PAV or another scale is advised.

    The Gaussian assumption of CMLG is tested (``gaussian_tests``;
    one Gaussian pair against a mixture by the gain in likelihood), and what it costs is measured on the
    trials: Cllr of CMLG and of logistic regression, and with ``point`` their costs there. A DET with a slope
    of -1 does not replace that: every increasing map of the scores has the same DET.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> model = lk.theory.GaussianLLR.from_eer(0.05)
    >>> target, nontarget = model.rvs(3000, 30000, np.random.default_rng(1))
    >>> diagnosis = lk.diagnose(lk.Scores(3 * target + 7, 3 * nontarget + 7))
    >>> diagnosis.problems, diagnosis.advised("cmlg")
    ((), True)
    """
    asked = DiagnoseOptions.of(options, changes)
    source = as_source(source, labels)
    cost = None if asked.point is None else cost_of(asked.point)
    result, tied = evaluate(source), TiedScores.of_source(source)
    # trials that do not show a shape are not looked at a second time
    check = check_trials(result.moments, source, cost) if can_be_checked(result) else None
    diagnosis = diagnosis_of(result, check, tied=tied)
    if asked.cross_validate:
        rows = MethodRow.of_details(fit_best(source, groups=asked.speakers or None).details)
        advised = [method for method, good, _ in diagnosis.advice if good]
        diagnosis = replace(diagnosis, methods=TriedMethods(*suggested_method(rows, advised), tuple(rows)))
    if cost is None or (check is not None and check.costs is not None):
        return diagnosis
    why = short_class(result, FEW) or "see the lines below"
    more = f"CMLG and logistic regression are not compared at {cost.name}: {why}"
    return replace(diagnosis, notes=(*diagnosis.notes, more))


def can_be_checked(result: Evaluation) -> bool:
    """Whether the trials show the shape of both classes: enough of each, finite, and overlapping."""
    finite = not (result.moments.target.n_infinite or result.moments.nontarget.n_infinite)
    return (
        finite
        and not (is_separable(result) or short_class(result, FEW))
        and all(math.isfinite(value) for value in gaussian.shape_statistics(result.moments).values())
    )


def diagnosis_of(
    result: Evaluation, check: GaussianCheck | None = None, *, tied: TiedScores | None = None
) -> Diagnosis:
    """What follows from an evaluation without another look at the trials, unless they were checked.

    ``tied`` says which scores occur often, where they were counted.
    """
    # the line to compare PAV with: from the trials where they
    # were read, else from the cells of the evaluation
    line = None
    if check is not None and check.costs is not None:
        line = check.costs.cllr_logistic
    elif result.best_line is not None and result.loss_split is not None:  # else the cells are too wide
        line = result.best_line.cllr
    if check is None:
        check = check_trials(result.moments) if can_be_checked(result) else GaussianCheck()
    problems = gaussian.shape_problems(result.moments)
    if result.verdict.outcome in ("reversed", "uninformative"):
        problems.insert(0, f"the scores are {result.verdict.text}")
    # suspicions come first: what the scores are matters more than their shape
    problems[:0] = result.suspicions
    infinite = int(result.moments.n_infinite)
    if infinite:
        are = agreeing(infinite, "is", "are")
        problems.append(f"{counted(infinite, 'score')} {are} infinite, which no fit accepts")
    if any(math.isnan(value) for value in gaussian.shape_statistics(result.moments).values()):
        problems.append("the scores are too large for their moments to be computed")
    problems += overlap_problems(result)
    problems += check.problems(min(result.n_target, result.n_nontarget))
    # PAV does not mind what tied scores are, but which way they point
    may_follow_ties = not (is_separable(result) or result.verdict.outcome in ("reversed", "uninformative"))
    cost = cost_of_ties(line, result.summaries.blocks) if may_follow_ties else None
    told = tied.sentences() if tied is not None else []
    if told and cost is not None:
        told.append(cost[0])
    # without a line to compare with, ties are a problem until shown otherwise
    is_problem = cost is None or cost[1]
    problems += told if is_problem else []
    advice = advice_for(result, problems)
    if may_follow_ties:
        advice = advice_for_ties(tied, cost is not None and cost[1], advice)
    return Diagnosis(
        evaluation=result,
        shape=gaussian.shape_statistics(result.moments),
        problems=tuple(problems),
        advice=tuple(advice),
        cllr_from_eer=GaussianLLR.from_eer(result.eer).cllr
        if 0.0 < result.eer < 0.5
        else float(result.eer > 0),
        notes=() if is_problem else tuple(told),
        check=check,
    )


def short_class(result: Evaluation, needed: int) -> str:
    """The class with fewer trials than needed, counted; empty if both have enough."""
    return smaller_class(result.n_target, result.n_nontarget, needed)


def is_separable(result: Evaluation) -> bool:
    """Whether every target scores above every non-target: an EER of 0."""
    return result.eer == 0.0


def overlap_problems(result: Evaluation) -> list[str]:
    """What keeps the trials from showing a slope or a shape: no overlap, too few of a class, a bent DET."""
    problems = []
    if is_separable(result):
        low, high = float(result.moments.nontarget.high[0]), float(result.moments.target.low[0])
        gap = f" (gap from {low:.4g} to {high:.4g})" if low < high < math.inf and low > -math.inf else ""
        problems.append(f"the classes do not overlap{gap}: any slope that is steep enough fits")
    if short_class(result, FEW):
        classes = (("target", result.n_target), ("non-target", result.n_nontarget))
        few = " and ".join(f"{n:,} {name}" for name, n in classes if n < FEW)
        trials = "trial" if few.startswith("1 ") and " and " not in few else "trials"
        problems.append(f"{few} {trials}: the shape of a class cannot be judged from fewer than {FEW}")
        return problems
    slope = result.det_slope.slope
    # the slope is minus the ratio of spreads for Gaussians, so chance moves it as far as that ratio
    limit = max(DET_SLOPE, gaussian.spread_limit(result.n_target, result.n_nontarget) - 1.0)
    if abs(slope + 1.0) > limit:  # never for nan
        problems.append(f"the DET slope is {slope:.2f}, more than {limit:.2f} from -1")
    return problems


def _doubt_about_shape(moments: Moments) -> tuple[str, bool]:
    """The first measure beyond its limit that is no problem yet, in words; and whether spreads do differ.

    The words say how often chance goes that far; they are empty if all measures are within their limits.
    """
    statistics = gaussian.shape_statistics(moments)
    p_values = {test.name: test.p_value for test in gaussian.gaussian_tests(moments)}

    # within the limit that chance allows, a measure is a doubt and no problem
    def beyond_limit(words: str, p_value: float) -> tuple[str, bool]:
        differs = p_value < gaussian.LEVEL
        return f"{words}{'' if differs else ' but may be chance'} ({p_words(p_value)})", differs

    for name, of_class in (("target", moments.target), ("nontarget", moments.nontarget)):
        scores = f"{'non-target' if name == 'nontarget' else name} scores"
        skewness, kurtosis = statistics[f"skewness_{name}"], statistics[f"kurtosis_{name}"]
        if abs(skewness) > gaussian.SKEWNESS:
            what = f"skewness of {scores}"
            words = f"the {what}, {skewness:+.2f}, is beyond {gaussian.SKEWNESS:g}"
            return beyond_limit(words, p_values.get(what, 1.0))[0], False
        if abs(kurtosis) > gaussian.KURTOSIS:
            words = f"the excess kurtosis of {scores}, {kurtosis:+.2f}, is beyond {gaussian.KURTOSIS:g}"
            return beyond_limit(words, gaussian.kurtosis_p_value(of_class))[0], False
    ratio = statistics["sd_ratio"]
    if 1.0 / gaussian.SD_RATIO <= ratio <= gaussian.SD_RATIO:
        return "", False
    shown, limit = told_apart(ratio, gaussian.SD_RATIO if ratio > 1.0 else 1.0 / gaussian.SD_RATIO, 2)
    return beyond_limit(
        f"the ratio of the spreads, {shown}, is beyond {limit}", p_values.get(gaussian.SPREADS, 1.0)
    )


def advice_for(result: Evaluation, problems: list[str]) -> list[Advice]:
    """For each method whether it is advised, and the number that says so.

    None is advised for scores of which it is not settled what they are. Classes that do not overlap leave no
    choice of a method, whatever the scores are.
    """
    unsettled = ""
    if result.verdict.outcome == "reversed":
        unsettled = "which way the scores point"
    elif result.verdict.outcome == "uninformative":
        unsettled = "whether these are the right labels and scores"
    elif other_quantity(*result.moments.extremes) in result.suspicions and not is_separable(result):
        unsettled = "what the scores are"
    if unsettled:
        return [(name, False, f"first settle {unsettled} (see the lines above)") for name in ADVISED]
    if is_separable(result):  # only a prior belief gives a slope
        alone = "the size of its LLRs would rest on the assumed shape alone"
        special = {"logistic": (True, REMEDY), "pav": (False, "its LLRs would be infinite")}
        return [(name, *special.get(name, (False, alone))) for name in ADVISED]
    few, slope = short_class(result, FEW), result.det_slope.slope
    ratio = gaussian.shape_statistics(result.moments)["sd_ratio"]
    shaped = any("skewness" in problem or "kurtosis" in problem for problem in problems)
    unequal = any("spread" in problem or "DET slope" in problem for problem in problems)
    # doubts are for scores without problems: either is reason enough against CMLG
    doubt, spreads_differ = ("", False) if few or problems else _doubt_about_shape(result.moments)

    against_cmlg = doubt
    if problems:  # a DET at 45 degrees is no reason in favor of CMLG
        straight = abs(slope + 1.0) <= DET_SLOPE
        against_cmlg = "see the lines above" + (
            f"; a DET slope within {DET_SLOPE} of -1 ({slope:.2f}) does not make it right" if straight else ""
        )
    within = (
        f"skewness within {gaussian.SKEWNESS:g}, excess kurtosis within {gaussian.KURTOSIS:g} and ratio of "
        f"the spreads within {gaussian.SD_RATIO:g}: Gaussian with the same spread"
    )
    if few:
        unequal_pair = False, f"{few}: the spreads cannot be told apart with fewer than {FEW} of a class"
    elif shaped:
        unequal_pair = False, "the classes are not Gaussian: see the lines above"
    elif unequal or spreads_differ:
        unequal_pair = True, f"classes of different spreads (ratio {ratio:.2f}, DET slope {slope:.2f})"
    elif not ratio > 0.0:
        unequal_pair = False, "the spreads could not be measured"
    else:
        unequal_pair = False, doubt or f"the spreads are nearly the same (ratio {ratio:.2f}): not needed"
    if few:
        nig = False, f"{few}: skewness and tails cannot be fitted with fewer than {FEW} of a class"
    elif shaped:
        nig = True, "skewed or heavy-tailed classes: see the lines above"
    else:
        nig = False, "neither skewness nor excess kurtosis beyond its limit: not needed"
    if shaped:
        bayes = False, "the classes are not Gaussian: see the lines above"
    elif few:
        bayes = True, f"{few}, fewer than {FEW}: it shrinks the LLR where the data say little"
    else:
        bayes = False, f"{FEW} trials of each class or more: not needed"
    if short := short_class(result, PAV_NEEDS):
        pav = False, f"{short}; with fewer than {PAV_NEEDS:,} of a class it overfits"
    else:
        pav = True, f"{PAV_NEEDS:,} trials of each class or more: enough for a map that follows the data"
    return [
        ("cmlg", not against_cmlg, against_cmlg or within),
        ("logistic", True, "assumes only that the LLR is a linear function of the score"),
        ("gaussian", *unequal_pair),
        ("nig", *nig),
        ("bayes", *bayes),
        ("pav", *pav),
    ]


def check_trials(
    moments: Moments, source: ScoreSource | None = None, cost: Preset | None = None
) -> GaussianCheck:
    """Score tests, and costs of scores with these moments; with the trials, one more pass makes both exact.

    Then the mixture over mu is tested by its likelihood, and the costs are those of the trials themselves.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> pair = lk.theory.GaussianLLR.from_eer(0.05)
    >>> scores = lk.Scores(*pair.rvs(3000, 30_000, np.random.default_rng(1)))
    >>> check = check_trials(scores.reduce(Moments.of))
    >>> len(check.tests), check.problems(3000)
    (4, [])
    """
    tests = gaussian.gaussian_tests(moments)
    if not tests:
        return GaussianCheck()
    fitted = cmlg_from_moments(moments)
    # without the trials, scores with the same moments stand for them
    if source is None:
        return GaussianCheck(tuple(tests), predicted_cost(moments, fitted.a, fitted.b, cost))
    training = training_points(source, moments)
    costs = line_costs(training.target, training.nontarget, fitted.a, fitted.b, cost)
    # the likelihood of the trials replaces the score test of the mixture, which moments alone allow
    return GaussianCheck((*tests[:-1], _mixture_against_one_pair(training, tests[-1])), costs)


def _mixture_against_one_pair(
    training: TrainingPoints, score_test: gaussian.GaussianTest
) -> gaussian.GaussianTest:
    """One Gaussian pair against two: twice the gain in log-likelihood, beside chi-square with 2 degrees.

    Under one pair the weight and mu of the second are not both determined, so chi-square is an
    approximation; in simulations it is exceeded a little less often than it says.
    """
    from scipy.special import chdtrc

    moments = training.moments
    n = moments.target.n + moments.nontarget.n
    # alpha is the share of targets: the likelihood is then that of the pooled trials, as the test needs
    fitted = mixture_from_training(training, 2, float(moments.target.n / n), None)
    gain = max(2.0 * n * (fitted.detail("log_likelihood") - fitted.detail("log_likelihood_cmlg")), 0.0)
    weights, mus = (list(map(as_number, as_list(fitted.details[name]))) for name in ("weights", "mu"))
    mean = sum(w * mu for w, mu in zip(weights, mus, strict=True))
    spread = sum(w * (mu - mean) ** 2 for w, mu in zip(weights, mus, strict=True))
    variation = math.sqrt(spread) / mean if mean > 0 else 0.0
    return replace(score_test, deviation=variation, statistic=gain, p_value=float(chdtrc(2, gain)))


def cost_of_ties(line: float | None, blocks: PavBlocks) -> tuple[str, bool] | None:
    """What PAV gains over the best straight line, in words, and whether that is measurable.

    ``line`` is the Cllr of the line in bits; without one there is nothing to compare.

    Examples
    --------
    >>> two = PavBlocks(np.array([10, 90]), np.array([90, 10]), *np.array([[0.0, 1.0]] * 2))
    >>> cost_of_ties(0.5, two)[1], cost_of_ties(None, two)
    (False, None)
    """
    if line is None or not math.isfinite(line):
        return None
    pav = held_out_cllr(blocks)
    fewest = float(min(blocks.target.sum(), blocks.nontarget.sum()))
    # more than chance: 5 / n nats, as for CMLG
    measurable = line - pav > max(LOSS * line, 5.0 / (fewest * LN2))
    shown = "the best straight line has a Cllr of {}, PAV one of {} on trials left out"
    words = shown.format(*told_apart(line, pav, 3))
    return words if measurable else f"{words}: no measurable loss", measurable


def held_out_cllr(blocks: PavBlocks) -> float:
    """Cllr of the LLRs of PAV, in bits, where every trial is left out of the counts of its block.

    Half a trial of each class is added to every block, so no LLR is infinite. The blocks themselves have seen
    the trials, so the value is a little low where blocks are many.

    Examples
    --------
    >>> round(held_out_cllr(PavBlocks(np.array([1, 3]), np.array([3, 1]), *np.array([[0.0, 1.0]] * 2))), 3)
    1.063
    """
    counts = blocks.target.astype(np.float64), blocks.nontarget.astype(np.float64)
    lost = 0.0
    for own, other in (counts, counts[::-1]):
        # a trial is taken out of its own class only; half a trial keeps empty counts finite
        odds = np.log((np.maximum(own - 1.0, 0.0) + 0.5) / (other + 0.5))
        # class sizes, less the trial that is left out, turn odds into an LLR
        odds = odds + math.log(float(other.sum()) / max(float(own.sum()) - 1.0, 0.5))
        lost += float((own * np.asarray(softplus(-odds))).sum() / own.sum())
    return lost / (2.0 * LN2)


def advice_for_ties(tied: TiedScores | None, costly: bool, advice: Sequence[Advice]) -> list[Advice]:
    """The advice for continuous scores, changed where scores are clipped, saturated or tied.

    Densities that have no steps are never advised for such scores; PAV takes the place of a straight line
    only if that loses by it (``costly``).

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> tied = TiedScores.of(Scores([1.0] * 9, [0.0] * 9 + [1.0]))
    >>> advice_for_ties(tied, False, [("nig", True, "skewed classes"), ("logistic", True, "a line")])
    [('nig', False, 'saturated or tied scores have no such density'), ('logistic', True, 'a line')]
    """
    if tied is None or not tied.sentences():
        return list(advice)
    before = "log-odds instead of probabilities" if tied.within_0_and_1 else "the scores before they were cut"
    changed: list[Advice] = []
    for name, advised, why in advice:
        if name == "nig" or (costly and name in _SHAPED):
            if advised or costly:
                advised, why = False, "saturated or tied scores have no such density"
        elif costly and name == "pav":
            advised, why = True, "follows saturated and tied scores, whatever their scale"
        elif costly and name == "logistic":
            advised, why = False, f"no straight line fits saturated or tied scores: use {before}, or PAV"
        changed.append((name, advised, why))
    return changed
