"""Maps that are the log-ratio of two densities, and where such a ratio can be turned round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypedDict, TypeVar

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.densities.training_points import TrainingPoints, WeightedPoints
from llrkit.calibrate.inverse_map import InverseMap
from llrkit.calibrate.maps import Columns, Map
from llrkit.calibrate.training_checks import provenance
from llrkit.core.bracketed_root import bracketed_root
from llrkit.core.moments import ClassMoments
from llrkit.errors import NotInvertibleError

Curve = Callable[[FloatArray], FloatArray]

_FAR = 1e140  # as good as infinite: the square of anything further might overflow


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
        for name, value in self.parameters().items():
            if isinstance(value, np.ndarray):
                frozen = value.astype(np.float64)
                frozen.flags.writeable = False
                object.__setattr__(self, name, frozen)

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
        held = np.clip(scores, self.low, self.high)
        center, scale = self.anchor()
        far = np.abs(held - center) > _FAR * scale
        if not far.any():
            return self.log_ratio(held)
        out = self.log_ratio(np.where(far, center, held))
        for sign in (-1.0, 1.0):
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


@dataclass(frozen=True)
class MonotoneInterval:
    """Where a log-ratio is monotone, and which share of the training scores lies outside."""

    low: float
    high: float
    direction: int
    outside: float

    @property
    def everywhere(self) -> bool:
        """Whether it is monotone on the whole line."""
        return self.low == -np.inf and self.high == np.inf


def monotone_interval(slope: Curve, training: TrainingPoints, reach: float = 1e6) -> MonotoneInterval:
    """The interval on which a log-ratio goes up (down, for reversed scores) that holds most scores.

    Among all intervals between the turning points, the one with the largest share of the training scores
    is taken, both classes weighted equally. Turning points further than ``reach`` standard deviations
    from the middle are not looked for.
    """
    center, scale = training.center, training.scale
    up = 1.0 if scale > 0 else -1.0
    u = np.linspace(-np.arcsinh(reach), np.arcsinh(reach), 8193)
    points = center + abs(scale) * np.sinh(u)
    rising = up * slope(points) > 0.0
    turns = np.flatnonzero(rising[1:] != rising[:-1])
    ends = [-np.inf, *(_turning_point_of_ratio(slope, points[i], points[i + 1]) for i in turns), np.inf]
    best = MonotoneInterval(-np.inf, np.inf, 0, 1.0)
    for i in range(len(ends) - 1):
        if rising[0] != (i % 2 == 0):
            continue
        outside = 1.0 - 0.5 * sum(
            float(
                nodes.weights[(nodes.points >= ends[i]) & (nodes.points <= ends[i + 1])].sum() / nodes.total
            )
            for nodes in (training.target, training.nontarget)
        )
        if outside < best.outside:
            best = MonotoneInterval(ends[i], ends[i + 1], int(up), max(outside, 0.0))
    return best


def _turning_point_of_ratio(slope: Curve, left: float, right: float) -> float:
    def at(s: float) -> float:
        return float(slope(np.array([s]))[0])

    if at(left) * at(right) >= 0.0:  # a slope of exactly 0 at one end
        return right if at(right) == 0.0 else left
    return bracketed_root(at, left, right)


class Held(TypedDict):
    """The fields of a :class:`DensityRatioMap`."""

    low: float
    high: float
    direction: int


R = TypeVar("R", bound=DensityRatioMap)
ClassFit = Callable[[WeightedPoints, ClassMoments], tuple[FloatArray, float, float]]


def fit_ratio(make: type[R], fit_class: ClassFit, training: TrainingPoints, monotone: bool, method: str) -> R:
    """Fit a density to each class and make the map of their log-ratio, held on its monotone interval.

    ``fit_class`` gives the parameters of one class, its mean log-likelihood and what is left of the
    gradient.
    """
    moments = training.moments
    target, like_e, grad_e = fit_class(training.target, moments.target)
    nontarget, like_d, grad_d = fit_class(training.nontarget, moments.nontarget)
    interval = monotone_interval(make(target=target, nontarget=nontarget).slope, training)
    return make(
        target=target,
        nontarget=nontarget,
        **held_between(interval, monotone),
        method=method,
        options={"monotone": monotone},
        provenance=provenance(moments),
        details={
            **interval_details(interval),
            "log_likelihood": 0.5 * (like_e + like_d),
            "gradient_left": max(grad_e, grad_d),
        },
    )


def held_between(interval: MonotoneInterval, monotone: bool) -> Held:
    """The parameters that hold a map on its monotone interval, or leave it as it is."""
    if monotone:
        return {"low": interval.low, "high": interval.high, "direction": interval.direction}
    return {"low": -np.inf, "high": np.inf, "direction": interval.direction if interval.everywhere else 0}


def interval_details(interval: MonotoneInterval) -> dict[str, float]:
    """What is written down about the interval."""
    return {
        "monotone_low": interval.low,
        "monotone_high": interval.high,
        "share_outside": interval.outside,
    }
