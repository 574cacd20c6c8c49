"""Saturating calibration: an affine map whose LLRs flatten where trials may be mislabeled or broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llrkit._arguments import whole_number
from llrkit._arrays import FloatArray
from llrkit._warn import warn_caller
from llrkit.calibrate.affine.saturating_function import (
    SaturatingSums,
    limits,
    saturate,
    saturating_class_sums,
    saturating_descent,
    saturating_start_points,
    saturating_start_scale,
    unsaturate,
)
from llrkit.calibrate.densities.training_points import WeightedPoints
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.maps import AffineMap, Columns, Map
from llrkit.calibrate.training_checks import provenance, training_moments
from llrkit.core.elementary_functions import binary_entropy, logit, probability
from llrkit.core.newton_minimizer import Minimum
from llrkit.errors import NotInvertibleError, SeparationError, ShapeWarning
from llrkit.scores import ScoreSource

STARTS = (-2.0, -5.0)
"""First guesses of r and s."""
STEEP = 200.0
"""A slope, in standardized scores, that no continuous scores ask for."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SaturatingMap(Map):
    """``llr = log[(e^x + e^r) / (1 + e^r)] - log[(1 + e^(x + s)) / (1 + e^s)]`` of ``x = a * score + b``.

    0 at x = 0, straight in the middle, flat at both ends. ``r`` and ``s`` are the log-odds that a target
    and a non-target is an outlier; the identity in x as both go to -inf.

    Examples
    --------
    >>> flat = SaturatingMap(a=1.0, b=0.0, r=-5.0, s=-4.0)
    >>> flat(0.0), flat.inverse(flat(2.0))
    (0.0, 2.0)
    >>> flat(np.array([-99.0, 99.0])).round(3)
    array([-4.989,  4.011])
    """

    a: float
    b: float
    r: float
    s: float

    kind: ClassVar[str] = "saturating"

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The straight line, then the saturation."""
        return saturate(AffineMap(a=self.a, b=self.b).llr(scores, columns), self.r, self.s)

    @property
    def limits(self) -> tuple[float, float]:
        """The LLRs that no score goes beyond."""
        return limits(self.r, self.s)

    def back_to_scores(self) -> SaturatingInverse:
        """Exact on the open range between the limits; infinite scores beyond."""
        if self.a == 0.0:
            raise NotInvertibleError("the map is constant (a = 0) and has no inverse")
        return SaturatingInverse(a=self.a, b=self.b, r=self.r, s=self.s, method=f"inverse of {self.method}")

    def __repr__(self) -> str:
        low, high = self.limits
        line = f"{self.a:.6g} * score {self.b:+.6g}"
        return f"SaturatingMap({self.method}: {line}, saturating at {low:.4g} and {high:.4g})"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SaturatingInverse(Map):
    """The score that a :class:`SaturatingMap` with the same parameters maps to an LLR."""

    a: float
    b: float
    r: float
    s: float

    kind: ClassVar[str] = "saturating_inverse"

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The saturation undone, then the straight line."""
        return (unsaturate(scores, self.r, self.s) - self.b) / self.a

    def back_to_scores(self) -> SaturatingMap:
        """The map itself."""
        return SaturatingMap(a=self.a, b=self.b, r=self.r, s=self.s, method=f"inverse of {self.method}")


@fits_map
def fit_saturating(source: ScoreSource, *, prior: float = 0.5, max_passes: int = 30) -> SaturatingMap:
    """Affine calibration that saturates, by minimal prior-weighted cross-entropy.

    ``x = a * score + b`` and ``llr = log(e^x + e^r) + log(1 + e^-s) - log(e^x + e^-s) - log(1 + e^r)``.
    All four parameters minimize ``prior`` times the mean of ``log(1 + e^-(llr + logit prior))`` over the
    targets plus ``1 - prior`` times the mean of ``log(1 + e^(llr + logit prior))`` over the non-targets.

    One pass for the moments, one for 2^14 cells on which Newton's method runs to the end from two starts,
    then full passes (loss, gradient and Hessian as mergeable sums) until the step is negligible: usually
    one or two, more for very heavy tails. Where outliers leave but a few cells to all others, a pass more
    gives these new cells. A limit that the data do not ask for drifts to very negative ``r`` or ``s``,
    where it changes nothing. ``details`` hold the limits, the normalized cross-entropy and the number of
    passes; a ``ShapeWarning`` says when the passes were not enough, or when the best map is a step, as it
    is for some very small sets.

    Parameters
    ----------
    prior
        Prior probability of a target in the cross-entropy that is minimized (:term:`training prior`).
    max_passes
        How many times all trials may be looked at, at most.

    References
    ----------
    BOSARIS Toolkit 1.06, s-calibration; Brümmer & de Villiers 2011.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> rng = np.random.default_rng(1)
    >>> target, nontarget = rng.normal(2, 2, 4000), rng.normal(-2, 2, 4000)
    >>> target[:80] = rng.normal(-2, 2, 80)  # 2 % of the targets are mislabeled
    >>> fitted = fit_saturating(Scores(target, nontarget))
    >>> round(fitted.limits[0], 1)  # log(0.02) = -3.9
    -3.7
    """
    prior = probability(prior, "prior")
    whole_number(max_passes, 1, "max_passes")
    moments = training_moments(source, at_least=2)
    target, nontarget = moments.target, moments.nontarget
    if target.low[0] > nontarget.high[0] or nontarget.low[0] > target.high[0]:
        raise SeparationError("the classes do not overlap: the best slope is infinite")
    log_odds = float(logit(prior))
    nodes, passes = saturating_start_points(source, *moments.extremes)
    center, scale, gap = saturating_start_scale(nodes)

    def on_points(nodes: Sequence[WeightedPoints]) -> Callable[[FloatArray], SaturatingSums]:
        points = [((weighted.points - center) / scale, weighted.weights) for weighted in nodes]
        return lambda p: SaturatingSums(
            *(saturating_class_sums(*points[i], p, log_odds, sign) for i, sign in ((0, -1.0), (1, 1.0)))
        )

    def on_trials(p: FloatArray) -> SaturatingSums:
        return source.reduce(SaturatingSums.at(p, center, scale, log_odds))

    slope = float(np.clip(2.0 * gap / scale, -20.0, 20.0))  # about that of CMLG, never wild
    few = on_points([weighted.fewer() for weighted in nodes])
    starts = [saturating_descent(few, np.array([slope, 0.0, guess, guess]), prior, 300) for guess in STARTS]
    on_cells = saturating_descent(on_points(nodes), min(starts, key=lambda end: end.value).x, prior, 300)
    descent = saturating_descent(on_trials, on_cells.x, prior, max_passes)
    if not descent.converged or abs(descent.x[0]) > STEEP:
        _warn_of_descent(descent)
    a, b, r, s = (float(value) for value in descent.x)
    fitted = SaturatingMap(a=a / scale, b=b - a * center / scale, r=r, s=s)
    lower, upper = fitted.limits
    details = {
        "llr_lower_limit": lower, "llr_upper_limit": upper, "converged": descent.converged,
        "cross_entropy": descent.value / float(binary_entropy(prior)),
        "passes": 1 + passes + descent.evaluations,
    }  # fmt: skip
    return SaturatingMap(
        a=fitted.a, b=fitted.b, r=r, s=s, method="saturating", details=details,
        options={"prior": prior, "max_passes": max_passes}, provenance=provenance(moments),
    )  # fmt: skip


def _warn_of_descent(descent: Minimum) -> None:
    what = f"has not converged after {descent.evaluations} passes"
    if descent.converged:
        what = "has become a step: its slope grows without end"
    warn_caller(
        f"saturating calibration {what}. There may be too few trials: compare with fit_logistic.",
        ShapeWarning,
    )
