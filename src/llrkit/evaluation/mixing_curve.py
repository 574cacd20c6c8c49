"""MixingCurve: how the difficulty of trials is distributed, w(mu), as a fit of a mixture found it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit._arguments import takes
from llrkit._arrays import FloatArray
from llrkit.calibrate.bounds.bounded_map import BoundedMap
from llrkit.calibrate.maps import Map
from llrkit.errors import InputError
from llrkit.metrics.curve_base import Curve, as_floats, same_length


@dataclass(frozen=True, eq=False)
class MixingCurve(Curve):
    """Shares of trials whose LLRs have mean ±mu and variance 2 mu.

    Examples
    --------
    >>> curve = MixingCurve([1.0, 9.0], [0.4, 0.6])
    >>> curve.eer.round(3), round(curve.mean_eer, 3), curve.cumulative
    (array([0.24 , 0.017]), 0.106, array([0.4, 1. ]))
    """

    mu: FloatArray
    """In ascending order; 0 is a share of trials that say nothing."""
    weights: FloatArray

    def __post_init__(self) -> None:
        as_floats(self, "mu", "weights")
        same_length(self, "mu", "weights")
        if len(self.mu) == 0 or np.any(np.diff(self.mu) <= 0.0) or self.mu[0] < 0.0:
            raise InputError("values of mu must be ascending and at least 0")
        if np.any(self.weights < 0.0) or not abs(float(self.weights.sum()) - 1.0) < 1e-6:
            raise InputError("weights of mu must not be negative, and sum to 1")
        super().__post_init__()

    @property
    def eer(self) -> FloatArray:
        """The EER of trials of each difficulty, ``Phi(-sqrt(mu/2))``."""
        from scipy.special import ndtr

        return np.asarray(ndtr(-np.sqrt(0.5 * self.mu)))

    @property
    def mean_eer(self) -> float:
        """The EER of all trials together, which is the mean of those of the parts."""
        return float(self.weights @ self.eer)

    @property
    def cumulative(self) -> FloatArray:
        """The share of trials up to each mu."""
        return np.asarray(np.cumsum(self.weights))


@takes(fitted=Map)
def mixing_curve(fitted: Map) -> MixingCurve:
    """Weights w(mu) of a map that ``fit_mixture`` made, bounded or not.

    Parameters
    ----------
    fitted
        A map of :func:`llrkit.fit_mixture`.

    Examples
    --------
    >>> import llrkit as lk
    >>> pair = lk.theory.MixtureLLR([0.4, 0.6], [1.0, 9.0])
    >>> scores = lk.Scores(*pair.rvs(5000, 5000, np.random.default_rng(1)))
    >>> curve = lk.mixing_curve(lk.fit_mixture(scores, components="grid"))
    >>> len(curve.mu), round(curve.mean_eer, 2)
    (41, 0.11)
    """
    if not isinstance(fitted, Map):
        raise InputError(
            f"mixing_curve takes a map that fit_mixture made, got {type(fitted).__name__}; "
            "mixing_curve(fit_mixture(scores))"
        )
    inner = fitted.map if isinstance(fitted, BoundedMap) else fitted
    if inner.method != "mixture" or "mu" not in inner.details:
        raise InputError(f"w(mu) comes from fit_mixture; this map is of {fitted.method}")
    mu, weights = (np.asarray(inner.details[name], dtype=np.float64) for name in ("mu", "weights"))
    return MixingCurve(mu, weights)
