"""Prior-weighted logistic regression, and its relatives under other scoring rules."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit._warn import warn_caller
from llrkit.calibrate.affine.linear_fit import LinearFit, Shrinkage, fit_linear
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.maps import AffineMap
from llrkit.calibrate.poor_fit_guard import TOLERATED, TrainingSample
from llrkit.calibrate.training_checks import check_moments, provenance
from llrkit.core.elementary_functions import probability
from llrkit.core.moments import Moments
from llrkit.core.newton_sums import LOGARITHMIC
from llrkit.core.scoring_rules import ScoringRule, scoring_rule
from llrkit.core.summary_algebra import both
from llrkit.errors import ReversedScoresWarning, SeparationError, ShapeWarning, SystemCountError
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source

SHARES = (0.01, 0.03, 0.1, 0.3)


@dataclass(frozen=True)
class TemperedRule(ScoringRule):
    """``(1 - share)`` times a rule and ``share`` times the logarithmic rule.

    Examples
    --------
    >>> float(TemperedRule(2, 2, 0.5).miss(0.0))  # halfway between 3/4 and log 2
    0.7215735902799727
    """

    share: float = 0.0

    def miss(self, z: npt.ArrayLike) -> FloatArray:
        """Cost of posterior log-odds ``z`` for a target."""
        return (1.0 - self.share) * super().miss(z) + self.share * LOGARITHMIC.miss(z)

    def fa(self, z: npt.ArrayLike) -> FloatArray:
        """Cost of posterior log-odds ``z`` for a non-target."""
        return (1.0 - self.share) * super().fa(z) + self.share * LOGARITHMIC.fa(z)

    def miss_derivatives(self, z: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of :meth:`miss`."""
        return self._mixed(super().miss_derivatives(z), LOGARITHMIC.miss_derivatives(z))

    def fa_derivatives(self, z: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of :meth:`fa`."""
        return self._mixed(super().fa_derivatives(z), LOGARITHMIC.fa_derivatives(z))

    def _mixed(
        self, own: tuple[FloatArray, FloatArray], log: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        first, second = ((1.0 - self.share) * a + self.share * b for a, b in zip(own, log, strict=True))
        return first, second


def tempered(rule: ScoringRule, sample: TrainingSample, prior: float) -> ScoringRule:
    """The rule itself; or with as small a share of the logarithmic rule as keeps its line from running away.

    A bounded rule charges a mislabeled trial no more than its bound, so where all other trials can be told
    apart the best slope is without end, and so is the LLR of the mislabeled ones. A line that loses twice as
    much as logistic regression and 0.05 of the prior's entropy more (bits, at 1/2) has run away.
    """
    if rule == LOGARITHMIC:
        return rule
    trials = sample.scores()
    limit = 2.0 * sample.logistic_loss(prior) + TOLERATED
    for candidate in (rule, *(TemperedRule(rule.a, rule.b, share) for share in SHARES)):
        try:
            line = fit_linear(trials, prior=prior, rule=candidate)
        except SeparationError:
            if candidate == rule:
                return rule  # refused by the fit itself, or only the sample separates
            continue
        if sample.loss(line.llrs, prior) <= limit:
            return candidate
    return TemperedRule(rule.a, rule.b, SHARES[-1])


@fits_map
def fit_logistic(
    source: ScoreSource,
    *,
    prior: float = 0.5,
    robust: float = 0.0,
    regularization: float = 0.0,
    df: float | None = None,
) -> AffineMap:
    """Affine calibration by prior-weighted logistic regression (Brümmer & du Preez 2006; FoCal).

    Minimizes ``p mean_target softplus(-z) + (1 - p) mean_nontarget softplus(z)`` with
    ``z = a s + b + logit p``; the result is an LLR whatever the prior and the class sizes. A first guess
    on a sample is followed by three to five Newton steps, each one pass.

    Classes that do not overlap raise ``SeparationError`` unless ``robust`` or ``regularization`` is given.

    Parameters
    ----------
    prior
        Where the fit should be best: the prior of a target, costs included (:term:`training prior`).
    robust
        Weight of a mislabeled copy of every trial, for instance 0.001.
    regularization, df
        Weight ``regularization / df`` of copies that say nothing and pull the LLR towards 0 (Morrison &
        Poh 2018); ``df`` is by default the number of targets. 0.01 is a numerical safeguard, 1 and more
        is deliberate shrinkage.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.fit_logistic(lk.Scores([1.0, 2.0, 4.0], [-1.0, 0.0, 1.5, -2.0]))
    AffineMap(logistic: llr = 1.93179 * score -1.97446)
    """
    fit = fit_linear(source, prior=prior, shrinkage=Shrinkage(robust, regularization, df))
    options = {"prior": prior, "robust": robust, "regularization": regularization, "df": df}
    return _affine_map_of_fit(fit, "logistic", options)


@fits_map
def fit_rule(
    source: ScoreSource,
    *,
    rule: ScoringRule | str | tuple[float, float] = "brier",
    prior: float = 0.5,
) -> AffineMap:
    """Affine calibration that minimizes another proper scoring rule (Brümmer & Doddington 2013).

    ``rule`` is "log", "brier", "boosting", "high-threshold", "low-threshold" or a pair (a, b) of the Beta
    family. The prior shifts, and the rule shapes, the range of thresholds for which the fit should be best.

    Some rules, Brier's among them, charge a gross error no more than a bound. Where a few labels are wrong
    and all other trials can be told apart, the best slope is then very large or without end. If the line
    loses twice as much as logistic regression on the training trials, and 0.05 bits more, 1 to 30 % of the
    logarithmic rule are mixed in, as few as it takes; ``details["log_share"]`` and a ``ShapeWarning`` say so.

    Parameters
    ----------
    rule
        Scoring rule: ``"log"``, ``"brier"``, another name, or a pair (a, b) of the Beta family.
    prior
        Where the fit should be best: the prior of a target, costs included (:term:`training prior`).

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.fit_rule(lk.Scores([1.0, 2.0, 4.0], [-1.0, 0.0, 1.5, -2.0]), rule="boosting")
    AffineMap(rule: llr = 2.73287 * score -3.04513)
    """
    chosen_rule, prior = scoring_rule(rule), probability(prior, "prior")
    sample = as_source(source).reduce(both(Moments.of, TrainingSample.of))
    check_moments(source, sample.summaries[0])
    used = tempered(chosen_rule, sample.summaries[1], prior)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReversedScoresWarning)  # said once, above
        fit = fit_linear(source, prior=prior, rule=used)
    fitted = _affine_map_of_fit(fit, "rule", {"rule": [chosen_rule.a, chosen_rule.b], "prior": prior})
    if not isinstance(used, TemperedRule):
        return fitted
    warn_caller(
        f"this rule hardly penalizes gross errors, and its slope diverged; adding {100 * used.share:g} % of "
        "the logarithmic rule kept it finite. Are some trials mislabeled?",
        ShapeWarning,
    )
    return replace(fitted, details={**fitted.details, "log_share": used.share})


def _affine_map_of_fit(fit: LinearFit, method: str, options: Mapping[str, object]) -> AffineMap:
    if len(fit.slopes) != 1:
        raise SystemCountError(f"one system expected, got {len(fit.slopes)}; use fit_fusion")
    return AffineMap(
        a=float(fit.slopes[0]),
        b=fit.offset,
        method=method,
        options=options,
        details=fit.settled.details(),
        provenance=provenance(fit.moments),
    )
