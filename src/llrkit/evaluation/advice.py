"""Which calibrators suit scores: advice that follows from what was measured.

Every sentence names the number it rests on. The thresholds: fewer than ``FEW`` trials of a class do not show
its shape; ``PAV_NEEDS`` of each class are enough for a map that follows the data; ``DET_SLOPE``; and the
limits of skewness, kurtosis and spread in :mod:`llrkit.calibrate.affine.gaussian_tests`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from llrkit._format import p_words, told_apart
from llrkit.calibrate.affine.gaussian_tests import (
    KURTOSIS,
    LEVEL,
    SD_RATIO,
    SKEWNESS,
    SPREADS,
    gaussian_tests,
    kurtosis_p_value,
    shape_statistics,
    spread_limit,
)
from llrkit.calibrate.few_training_trials import smaller_class
from llrkit.calibrate.gap_between_classes import REMEDY
from llrkit.core.moments import Moments
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.suspicions import other_quantity

FEW = 100
"""Trials of a class that show its shape.

With fewer, Gaussian scores have a skewness beyond 1.2 (5 sqrt(6 / 100)) or spreads of 1 to 1.5 (exp(4 sqrt(1
/ 100))) before the tests of :func:`llrkit.calibrate.affine.gaussian_tests.shape_problems` see them.
"""
PAV_NEEDS = 1000
"""Trials of each class from which on the steps of PAV are small beside what it finds."""
DET_SLOPE = 0.25
"""How far the slope of the DET may be from -1: for Gaussians it is minus the ratio of the spreads."""

METHODS = ("cmlg", "logistic", "gaussian", "nig", "bayes", "pav")
"""The methods that are advised, or not."""

Advice = tuple[str, bool, str]
"""Method, whether it is advised, and why."""


def short_class(result: Evaluation, needed: int) -> str:
    """The class with fewer trials than needed, counted; empty if both have enough."""
    return smaller_class(result.n_target, result.n_nontarget, needed)


def is_separable(result: Evaluation) -> bool:
    """Whether every target scores above every non-target: an EER of 0."""
    return result.eer == 0.0


def unsettled_question(result: Evaluation) -> str:
    """What has to be settled before any method is advised; empty if nothing has.

    Classes that do not overlap leave no choice of a method, whatever the scores are.
    """
    if result.verdict.outcome == "reversed":
        return "first settle which way the scores point (see the lines above)"
    if result.verdict.outcome == "uninformative":
        return "first settle whether these are the right labels and scores (see the lines above)"
    if other_quantity(*result.moments.extremes) in result.suspicions and not is_separable(result):
        return "first settle what the scores are (see the lines above)"
    return ""


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
    limit = max(DET_SLOPE, spread_limit(result.n_target, result.n_nontarget) - 1.0)
    if abs(slope + 1.0) > limit:  # never for nan
        problems.append(f"the DET slope is {slope:.2f}, more than {limit:.2f} from -1")
    return problems


@dataclass(frozen=True)
class Doubt:
    """A measure beyond its limit that is no problem yet, and how often chance goes that far."""

    words: str
    p_value: float
    of_spreads: bool = False

    @property
    def may_be_chance(self) -> bool:
        """Whether the test keeps the assumption at its level."""
        return not self.p_value < LEVEL

    def __str__(self) -> str:
        but = " but may be chance" if self.may_be_chance else ""
        return f"{self.words}{but} ({p_words(self.p_value)})"


def _doubt_about_shape(moments: Moments) -> Doubt | None:
    """The first measure beyond its limit, with the p-value of its test; None if all are within."""
    statistics = shape_statistics(moments)
    p_values = {test.name: test.p_value for test in gaussian_tests(moments)}
    for name, of_class in (("target", moments.target), ("nontarget", moments.nontarget)):
        scores = f"{'non-target' if name == 'nontarget' else name} scores"
        skewness, kurtosis = statistics[f"skewness_{name}"], statistics[f"kurtosis_{name}"]
        if abs(skewness) > SKEWNESS:
            what = f"skewness of {scores}"
            return Doubt(f"the {what}, {skewness:+.2f}, is beyond {SKEWNESS:g}", p_values.get(what, 1.0))
        if abs(kurtosis) > KURTOSIS:
            words = f"the excess kurtosis of {scores}, {kurtosis:+.2f}, is beyond {KURTOSIS:g}"
            return Doubt(words, kurtosis_p_value(of_class))
    ratio = statistics["sd_ratio"]
    if not 1.0 / SD_RATIO <= ratio <= SD_RATIO:
        shown, limit = told_apart(ratio, SD_RATIO if ratio > 1.0 else 1.0 / SD_RATIO, 2)
        words = f"the ratio of the spreads, {shown}, is beyond {limit}"
        return Doubt(words, p_values.get(SPREADS, 1.0), of_spreads=True)
    return None


def advice_for(result: Evaluation, problems: list[str]) -> list[Advice]:
    """For each method whether it is advised, and the number that says so.

    None is advised for scores of which it is not settled what they are.
    """
    unsettled = unsettled_question(result)
    if unsettled:
        return [(name, False, unsettled) for name in METHODS]
    if is_separable(result):
        return _advice_without_overlap()
    few = short_class(result, FEW)
    statistics = shape_statistics(result.moments)
    shaped = any("skewness" in problem or "kurtosis" in problem for problem in problems)
    unequal = any("spread" in problem or "DET slope" in problem for problem in problems)
    doubt = None if few or problems else _doubt_about_shape(result.moments)
    unequal = unequal or (doubt is not None and doubt.of_spreads and not doubt.may_be_chance)
    doubted = "" if doubt is None else str(doubt)
    within = (
        f"skewness within {SKEWNESS:g}, excess kurtosis within {KURTOSIS:g} and ratio of the spreads within "
        f"{SD_RATIO:g}: Gaussian with the same spread"
    )
    return [
        ("cmlg", not (problems or doubted), _against_cmlg(result, problems) or doubted or within),
        ("logistic", True, "assumes only that the LLR is a linear function of the score"),
        _advice_on_gaussian(few, shaped, unequal, statistics["sd_ratio"], result.det_slope.slope, doubted),
        _advice_on_nig(few, shaped),
        _advice_on_bayes(few, shaped),
        _advice_on_pav(result),
    ]


def _against_cmlg(result: Evaluation, problems: list[str]) -> str:
    """Why CMLG is not advised; a DET at 45 degrees is no reason in its favor."""
    if not problems:
        return ""
    slope = result.det_slope.slope
    straight = abs(slope + 1.0) <= DET_SLOPE
    said = f"; a DET slope within {DET_SLOPE} of -1 ({slope:.2f}) does not make it right" if straight else ""
    return f"see the lines above{said}"


def _advice_on_gaussian(
    few: str, shaped: bool, unequal: bool, ratio: float, slope: float, doubt: str
) -> Advice:
    if few:
        return "gaussian", False, f"{few}: the spreads cannot be told apart with fewer than {FEW} of a class"
    if shaped:
        return "gaussian", False, "the classes are not Gaussian: see the lines above"
    if unequal:
        return "gaussian", True, f"classes of different spreads (ratio {ratio:.2f}, DET slope {slope:.2f})"
    if not ratio > 0.0:
        return "gaussian", False, "the spreads could not be measured"
    return "gaussian", False, doubt or f"the spreads are nearly the same (ratio {ratio:.2f}): not needed"


def _advice_on_nig(few: str, shaped: bool) -> Advice:
    if few:
        return "nig", False, f"{few}: skewness and tails cannot be fitted with fewer than {FEW} of a class"
    if shaped:
        return "nig", True, "skewed or heavy-tailed classes: see the lines above"
    return "nig", False, "neither skewness nor excess kurtosis beyond its limit: not needed"


def _advice_on_bayes(few: str, shaped: bool) -> Advice:
    if shaped:
        return "bayes", False, "the classes are not Gaussian: see the lines above"
    if few:
        return "bayes", True, f"{few}, fewer than {FEW}: it shrinks the LLR where the data say little"
    return "bayes", False, f"{FEW} trials of each class or more: not needed"


def _advice_on_pav(result: Evaluation) -> Advice:
    short = short_class(result, PAV_NEEDS)
    if short:
        return "pav", False, f"{short}; with fewer than {PAV_NEEDS:,} of a class it overfits"
    return "pav", True, f"{PAV_NEEDS:,} trials of each class or more: enough for a map that follows the data"


def _advice_without_overlap() -> list[Advice]:
    """Where all targets score above all non-targets only a prior belief gives a slope."""
    alone = "the size of its LLRs would rest on the assumed shape alone"
    return [
        ("cmlg", False, alone),
        (
            "logistic",
            True,
            REMEDY,
        ),
        ("gaussian", False, alone),
        ("nig", False, alone),
        ("bayes", False, alone),
        ("pav", False, "its LLRs would be infinite"),
    ]
