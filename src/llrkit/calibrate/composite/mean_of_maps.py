"""The weighted mean of the LLRs of several maps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.bounds.bounded_map import BoundedMap
from llrkit.calibrate.inverse_map import InverseMap
from llrkit.calibrate.maps import Columns, Map
from llrkit.errors import InputError, NotInvertibleError, SystemCountError


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MeanMap(Map):
    """``llr = sum_j weight_j llr_j``, weights that are positive and sum to one.

    The cross-entropy is a convex function of the LLR, so the mean never costs more than the maps do on
    average. Where one map says plus and another minus infinity, the mean is 0.

    Examples
    --------
    >>> from llrkit.calibrate.maps import AffineMap
    >>> maps = {"steep": AffineMap(a=3.0, b=0.0), "flat": AffineMap(a=1.0, b=-1.0)}
    >>> mean = MeanMap(maps=maps, weights={"steep": 0.5, "flat": 0.5})
    >>> mean([-1.0, 2.0])
    array([-2.5,  3.5])
    >>> mean.inverse(3.5)
    2.0
    """

    maps: Mapping[str, Map]
    weights: Mapping[str, float]

    kind: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        """Check that there is a weight for each map."""
        if not all(isinstance(fitted, Map) for fitted in self.maps.values()):
            raise InputError("a mean needs at least one map")
        if not all(isinstance(weight, (int, float)) for weight in self.weights.values()):
            raise InputError(f"weights must be numbers, got {dict(self.weights)}")
        if not self.maps or set(self.maps) != set(self.weights):
            raise InputError(f"weights {sorted(self.weights)} do not match the maps {sorted(self.maps)}")
        if min(self.weights.values()) <= 0.0 or not math.isclose(sum(self.weights.values()), 1.0):
            raise InputError(f"weights must be positive and sum to one, got {dict(self.weights)}")
        if len({fitted.n_systems for fitted in self.maps.values()}) > 1:
            raise SystemCountError("the maps take different numbers of systems")

    @property
    def n_systems(self) -> int:
        """As many as the maps take."""
        return next(iter(self.maps.values())).n_systems

    @property
    def system_names(self) -> list[str]:
        """Those of the maps."""
        return next(iter(self.maps.values())).system_names

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of all maps."""
        return tuple(dict.fromkeys(name for fitted in self.maps.values() for name in fitted.needs))

    @property
    def has_bounds(self) -> bool:
        """When all maps have them."""
        return all(fitted.has_bounds for fitted in self.maps.values())

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The mean of what the maps say."""
        with np.errstate(invalid="ignore"):  # plus and minus infinity
            total = np.zeros(len(scores))
            for name, fitted in self.maps.items():
                total += self.weights[name] * fitted.llr(scores, columns)
        return np.nan_to_num(total, copy=False, nan=0.0, posinf=math.inf, neginf=-math.inf)

    def _tried(self, scores: FloatArray) -> FloatArray:
        return np.concatenate([fitted._tried(scores) for fitted in self.maps.values()])[-len(scores) :]

    @property
    def low(self) -> float:
        """Minus infinity: a mean is held nowhere, though its maps may be."""
        return -math.inf

    @property
    def high(self) -> float:
        """Infinity."""
        return math.inf

    @property
    def direction(self) -> int:
        """1 when all maps go up, -1 when all go down, otherwise 0."""
        try:
            slopes = {np.sign(high - low) for low, high in (_around_zero(m) for m in self.maps.values())}
        except NotInvertibleError:
            return 0
        return int(slopes.pop()) if len(slopes) == 1 else 0

    def anchor(self) -> tuple[float, float]:
        """A score in the bulk and the size of the bulk: where the LLRs are about -1 to 1."""
        ends = np.array([_around_zero(fitted) for fitted in self.maps.values()])
        return float(ends.mean()), max(float(np.abs(ends[:, 1] - ends[:, 0]).mean()), 1e-300)

    def back_to_scores(self) -> InverseMap:
        """Back to the score, by bisection, when all maps go the same way."""
        if self.direction == 0:
            raise NotInvertibleError("some maps of the mean rise and others fall, so it has no inverse")
        return InverseMap(of=self, method=f"inverse of {self.method}")

    def __repr__(self) -> str:
        by_weight = sorted(self.weights.items(), key=lambda item: -item[1])
        return f"MeanMap({self.method}: {' + '.join(f'{weight:.2g} {name}' for name, weight in by_weight)})"


def _around_zero(fitted: Map) -> tuple[float, float]:
    """The scores with LLRs -1 and 1, or the nearest there are; what bounds a map is further out."""
    inside = fitted.map if isinstance(fitted, BoundedMap) else fitted
    back = inside.back_to_scores()(np.array([-1.0, 1.0]))
    return float(back[0]), float(back[1])
