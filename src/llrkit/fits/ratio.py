"""Maps by the ratio of two densities, and the maximizer of their likelihoods."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from llrkit.base.arguments import BoolArray, FloatArray
from llrkit.core.numerics import bracketed_root
from llrkit.core.summaries import ClassMoments
from llrkit.errors import NotInvertibleError
from llrkit.fits.training_checks import TrainingPoints, WeightedPoints, provenance
from llrkit.maps.map import Columns, InverseMap, Map

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
"""A function and its gradient."""

# five times what scores with a density need; a class of ties makes a ridge without end
_MOST_EVALUATIONS = 250


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where a likelihood is largest."""

    x: FloatArray
    value: float
    gradient: float
    """Largest slope left in a direction that was free to move."""


def maximize(
    objective: Objective,
    starts: Sequence[Sequence[float]],
    bounds: Sequence[tuple[float, float]],
    *,
    rough: Objective | None = None,
) -> Optimum:
    """Largest value of a smooth function within bounds, from the best of several starts.

    BFGS finds the hill; Newton steps (Hessian from differences of the gradient) climb its last bit, so that
    the answer does not depend on where the search began. ``rough``, if given, is nearly the same function and
    cheaper: its hill is climbed instead, and its Hessian tells the last steps where to go.

    Examples
    --------
    >>> def hill(x):
    ...     return -float(((x - 1.0) ** 2).sum()), -2.0 * (x - 1.0)
    >>> top = maximize(hill, [[5.0, 5.0]], [(0.0, 9.0), (2.0, 9.0)])
    >>> top.x, top.value
    (array([1., 2.]), -1.0)
    """
    low, high = np.array(bounds, dtype=np.float64).T
    easy = objective if rough is None else rough
    # the best hill is chosen on the cheap function; only its top is found on all points
    within = [np.clip(np.array(start, dtype=float), low, high) for start in starts]
    tops = [_climb_likelihood(easy, start, low, high) for start in within]
    _, best = max(tops, key=lambda top: top[0])
    if rough is not None:
        best = _newton_of_likelihood(rough, best, low, high).x
    return _newton_of_likelihood(objective, best, low, high, rough)


def _climb_likelihood(
    objective: Objective, x: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[float, FloatArray]:
    """BFGS held within bounds. SciPy's calls LAPACK, whose threads cost more than all of a small fit."""
    value, gradient = objective(x)
    inverse, free = np.eye(len(x)), _free_parameters(x, gradient, low, high)
    evaluations = 1
    while evaluations < _MOST_EVALUATIONS:
        # good enough for Newton steps to take over
        if not free.any() or np.abs(gradient[free]).max() < 1e-7:
            break
        step = (inverse * np.where(free, gradient, 0.0)).sum(axis=1) * free
        # not uphill: the approximation of the Hessian has gone bad, so it is forgotten
        if (step * gradient).sum() <= 0.0:
            inverse, step = np.eye(len(x)), np.where(free, gradient, 0.0)
        # no step is longer than 1: parameters are logarithms or standardized scores
        step *= min(1.0, 1.0 / float(np.sqrt((step * step).sum())))
        for _ in range(40):
            moved = np.clip(x + step, low, high)
            new_value, new_gradient = objective(moved)
            evaluations += 1
            # Armijo's condition, with the step as it is after clipping to the bounds
            if new_value >= value + 1e-4 * float(((moved - x) * gradient).sum()):
                break
            step *= 0.5
        else:
            break
        s, y = moved - x, gradient - new_gradient
        gain, x, value, gradient = new_value - value, moved, new_value, new_gradient
        now = _free_parameters(x, gradient, low, high)
        # curvature that was seen with other parameters at their bounds says nothing about those now free
        inverse = _bfgs_update(inverse, s, y) if np.array_equal(now, free) else np.eye(len(x))
        if gain <= 1e-15 * (1.0 + abs(value)) and np.array_equal(now, free):
            break
        free = now
    return value, x


def _bfgs_update(inverse: FloatArray, s: FloatArray, y: FloatArray) -> FloatArray:
    """The BFGS formula for the inverse of minus the Hessian."""
    curve = float((s * y).sum())
    # without positive curvature along the step an update would not stay positive definite
    if curve <= 1e-10 * float((s * s).sum()):
        return inverse
    pulled = (inverse * y).sum(axis=1)
    both, square = s[:, None] * pulled, s[:, None] * s
    grown = inverse + square * (1.0 + float((y * pulled).sum()) / curve) / curve
    updated: FloatArray = grown - (both + both.T) / curve
    return updated


def _newton_of_likelihood(
    objective: Objective, x: FloatArray, low: FloatArray, high: FloatArray, rough: Objective | None = None
) -> Optimum:
    value, gradient = objective(x)
    curved = objective if rough is None else rough
    for _ in range(25):
        free = _free_parameters(x, gradient, low, high)
        # gradients of likelihoods are exact to rounding, so the search goes on to the end of their digits
        if not free.any() or np.abs(gradient[free]).max() < 1e-13:
            break
        hessian = np.zeros((len(x), len(x)))
        for i in np.flatnonzero(free):
            up, down = x.copy(), x.copy()
            # central differences of the gradient; the step is relative, and absolute near 0
            shift = 1e-5 * (1.0 + abs(x[i]))
            up[i], down[i] = min(x[i] + shift, high[i]), max(x[i] - shift, low[i])
            hessian[i] = (curved(up)[1] - curved(down)[1]) / (up[i] - down[i])
        step = np.zeros_like(x)
        step[free] = _uphill_step(hessian[np.ix_(free, free)], gradient[free])
        for _ in range(30):
            moved = np.clip(x + step, low, high)
            new_value, new_gradient = objective(moved)
            # near the top the value is flat to the last bit, and the gradient says more
            flat = abs(new_value - value) <= 1e-13 * (1.0 + abs(value))
            if new_value > value and not flat:
                break
            if flat and np.abs(new_gradient[free]).max() < np.abs(gradient[free]).max():
                break
            step *= 0.5
        else:
            break
        if np.abs(new_gradient[free]).max() > 0.1 * np.abs(gradient[free]).max():
            curved = objective  # the rough function bends another way
        x, value, gradient = moved, new_value, new_gradient
    free = _free_parameters(x, gradient, low, high)
    left = float(np.abs(gradient[free]).max()) if free.any() else 0.0
    return Optimum(x, value, left)


def _free_parameters(x: FloatArray, gradient: FloatArray, low: FloatArray, high: FloatArray) -> BoolArray:
    # a parameter at a bound is free only if the function rises into the allowed range
    return ~(((x <= low) & (gradient <= 0.0)) | ((x >= high) & (gradient >= 0.0)))


def _uphill_step(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    # symmetric in exact arithmetic; rounding of the differences is averaged out
    size, axes = np.linalg.eigh(0.5 * (hessian + hessian.T))
    # uphill also along directions that are flat or curve the wrong way
    steep = np.maximum(np.abs(size), 1e-9 * max(1.0, float(np.abs(size).max())))
    step: FloatArray = axes @ ((axes.T @ gradient) / steep)
    length = float(np.linalg.norm(step))
    return step if length <= 1.0 else step / length


Curve = Callable[[FloatArray], FloatArray]

_FAR = 1e140  # as good as infinite: the square of anything further might overflow
_FURTHEST_TURN = 1e6  # standard deviations from the middle; turning points beyond are not looked for


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RatioMap(Map):
    """``llr = log p(s | target) - log p(s | nontarget)``, with ``s`` held between ``low`` and ``high``.

    Subclasses have the parameters of both densities and define :meth:`log_ratio`, :meth:`limit` and
    :meth:`anchor`. ``direction`` is 1 (or -1) when the LLR goes up (or down) all the way from ``low`` to
    ``high``, 0 when it does not and the map has no inverse.

    A ratio may turn back in the tails. A fit with ``monotone=True`` puts ``low`` and ``high`` at the ends of
    the monotone interval that contains most training scores (classes weighted equally): the LLR is held
    constant outside, at the values of the ends. With ``monotone=False`` it is the ratio itself everywhere.
    """

    low: float = -np.inf
    high: float = np.inf
    direction: int = 0

    may_be_infinite: ClassVar[frozenset[str]] = frozenset({"low", "high"})

    def __post_init__(self) -> None:
        """Keep what was fitted from being changed."""
        arrays = [name for name, value in self.parameters().items() if isinstance(value, np.ndarray)]
        self._own_arrays(*arrays)

    @abstractmethod
    def log_ratio(self, s: FloatArray) -> FloatArray:
        """The log-ratio at finite scores."""

    @abstractmethod
    def limit(self, sign: float) -> float:
        """The log-ratio at plus or minus infinity."""

    @abstractmethod
    def anchor(self) -> tuple[float, float]:
        """A score in the bulk and the size of the bulk."""

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The ratio of the densities at the scores, or at the end of the interval."""
        # held before the ratio is computed: it may turn back or overflow outside
        held = np.clip(scores, self.low, self.high)
        center, scale = self.anchor()
        far = np.abs(held - center) > _FAR * scale
        if not far.any():
            return self.log_ratio(held)
        out = self.log_ratio(np.where(far, center, held))
        for sign in (-1.0, 1.0):
            # beyond _FAR formulas overflow; the limit is known in closed form
            here = far & (sign * held > 0.0)
            if here.any():
                out[here] = self.limit(sign)
        return out

    def back_to_scores(self) -> InverseMap:
        """Back to the score, for LLRs that the map can give; others go to the end of the interval."""
        if self.direction == 0:
            raise NotInvertibleError(
                f"the LLR of {self.method or self.kind!r} is not monotone and has no inverse; "
                "fit with monotone=True"
            )
        return InverseMap(of=self, method=f"inverse of {self.method}")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DensityRatioMap(RatioMap):
    """A ratio of two densities of one family, each given by its parameters.

    Subclasses say what the logarithm of the density is at scores, and its slope, given the parameters.
    """

    target: FloatArray
    nontarget: FloatArray

    log_density: ClassVar[Callable[..., FloatArray]]
    density_slope: ClassVar[Callable[..., FloatArray]]

    def log_ratio(self, s: FloatArray) -> FloatArray:
        """Difference of the log densities."""
        return self.log_density(s, *self.target.tolist()) - self.log_density(s, *self.nontarget.tolist())

    def slope(self, s: FloatArray) -> FloatArray:
        """Its derivative."""
        return self.density_slope(s, *self.target.tolist()) - self.density_slope(s, *self.nontarget.tolist())


R = TypeVar("R", bound=DensityRatioMap)


def held_where_monotone(ratio: R, training: TrainingPoints, scale: float, monotone: bool) -> R:
    """The map, held constant outside the interval on which its log-ratio goes up if it is to be ``monotone``.

    For reversed scores, which have a negative ``scale``, it goes down. Among all intervals between turning
    points, the one with the largest share of the training scores is taken, both classes weighted equally. The
    details of the map tell the interval and the share outside.
    """
    up, slope = 1.0 if scale > 0 else -1.0, ratio.slope
    # sinh spaces the points evenly in the bulk and geometrically out to the furthest turning point looked for
    u = np.linspace(-np.arcsinh(_FURTHEST_TURN), np.arcsinh(_FURTHEST_TURN), 8193)
    points = training.center + abs(scale) * np.sinh(u)
    rising = up * slope(points) > 0.0
    turns = np.flatnonzero(rising[1:] != rising[:-1])
    ends = [-np.inf, *(_turning_point_of_ratio(slope, points[i], points[i + 1]) for i in turns), np.inf]
    low, high, direction, share_outside = -np.inf, np.inf, 0, 1.0
    for i in range(len(ends) - 1):
        # between turning points the slope alternates, so every second interval goes the right way
        if rising[0] != (i % 2 == 0):
            continue
        inside = [
            nodes.weights[(nodes.points >= ends[i]) & (nodes.points <= ends[i + 1])].sum() / nodes.total
            for nodes in (training.target, training.nontarget)
        ]
        outside = 1.0 - 0.5 * float(sum(inside))
        if outside < share_outside:
            low, high, direction, share_outside = ends[i], ends[i + 1], int(up), max(outside, 0.0)
    details = {"monotone_low": low, "monotone_high": high, "share_outside": share_outside}
    if monotone:
        return replace(ratio, low=low, high=high, direction=direction, details=details)
    everywhere = low == -np.inf and high == np.inf
    return replace(ratio, direction=direction if everywhere else 0, details=details)


def _turning_point_of_ratio(slope: Curve, left: float, right: float) -> float:
    def at(s: float) -> float:
        return float(slope(np.array([s]))[0])

    if at(left) * at(right) >= 0.0:  # a slope of exactly 0 at one end
        return right if at(right) == 0.0 else left
    return bracketed_root(at, left, right)


ClassFit = Callable[[WeightedPoints, ClassMoments], tuple[FloatArray, float, float]]


def fit_ratio(make: type[R], fit_class: ClassFit, training: TrainingPoints, monotone: bool, method: str) -> R:
    """Fit a density to each class and make the map of their log-ratio, held on its monotone interval.

    ``fit_class`` gives the parameters of one class, its mean log-likelihood and what is left of the
    gradient.
    """
    moments = training.moments
    target, like_e, grad_e = fit_class(training.target, moments.target)
    nontarget, like_d, grad_d = fit_class(training.nontarget, moments.nontarget)
    held = held_where_monotone(make(target=target, nontarget=nontarget), training, training.scale, monotone)
    likelihood = {"log_likelihood": 0.5 * (like_e + like_d), "gradient_left": max(grad_e, grad_d)}
    options, details = {"monotone": monotone}, {**held.details, **likelihood}
    return replace(held, method=method, options=options, details=details, provenance=provenance(moments))
