"""Prior-weighted logistic regression, and its relatives under other scoring rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llrkit.calibrate.affine.linear_fit import LinearFit, Shrinkage, fit_linear
from llrkit.calibrate.fitting import fits_map
from llrkit.calibrate.maps import AffineMap
from llrkit.calibrate.training_checks import provenance
from llrkit.core.scoring_rules import ScoringRule, scoring_rule
from llrkit.errors import SystemCountError
from llrkit.scores import ScoreSource


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

    Parameters
    ----------
    prior
        Where the fit should be best: the prior of a target, costs included.
    robust
        Weight of a mislabeled copy of every trial, for instance 0.001.
    regularization, df
        Weight ``regularization / df`` of copies that say nothing and pull the LLR towards 0 (Morrison &
        Poh 2018); ``df`` is by default the number of targets. 0.01 is a numerical safeguard, 1 and more
        is deliberate shrinkage.

    Classes that do not overlap raise ``SeparationError`` unless ``robust`` or ``regularization`` is given.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.fit_logistic(lk.Scores([1.0, 2.0, 4.0], [-1.0, 0.0, 1.5, -2.0]))
    AffineMap(logistic: llr = 1.93179 * score -1.97446)
    """
    fit = fit_linear(source, prior=prior, shrinkage=Shrinkage(robust, regularization, df))
    options = {"prior": prior, "robust": robust, "regularization": regularization, "df": df}
    return _affine(fit, "logistic", options)


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

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.fit_rule(lk.Scores([1.0, 2.0, 4.0], [-1.0, 0.0, 1.5, -2.0]), rule="boosting")
    AffineMap(rule: llr = 2.73287 * score -3.04513)
    """
    chosen_rule = scoring_rule(rule)
    fit = fit_linear(source, prior=prior, rule=chosen_rule)
    return _affine(fit, "rule", {"rule": [chosen_rule.a, chosen_rule.b], "prior": prior})


def _affine(fit: LinearFit, method: str, options: Mapping[str, Any]) -> AffineMap:
    if len(fit.slopes) != 1:
        raise SystemCountError(f"one system expected, got {len(fit.slopes)}; use fit_fusion")
    return AffineMap(
        a=float(fit.slopes[0]),
        b=fit.offset,
        method=method,
        options=options,
        details=fit.details(),
        provenance=provenance(fit.moments),
    )
