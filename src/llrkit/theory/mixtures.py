"""Mixtures over mu: trials of different difficulty, each with calibrated Gaussian LLRs, stay calibrated."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._cached import cached_property
from llrkit.errors import InputError
from llrkit.theory._quadrature import NODES, WEIGHTS, merge_below, refine
from llrkit.theory.calibrated_pair import CalibratedPair
from llrkit.theory.gaussian_cllr import cllr_from_sigma
from llrkit.theory.normal_distributions import NormalMixture
from llrkit.theory.tabulated_density import Axis, LogDensity
from llrkit.theory.tilting import HasLogpdf


class MuMixture(CalibratedPair):
    """What finite and continuous mixtures share: ``∫ w(mu) N(x | ±mu, sqrt(2 mu)) dmu``.

    EER and Cllr are the means of those of the components, because all have their EER at 0:
    ``EER = ∫ w Phi(-sqrt(mu/2)) dmu``, ``Cllr = ∫ w Cllr(mu) dmu``.

    Examples
    --------
    >>> MixtureLLR((1.0,), (2.0,)).symmetric
    True
    """

    @abstractmethod
    def _components(self) -> tuple[FloatArray, FloatArray]:
        """Weights and values of mu; the weights sum to 1."""

    @property
    def components(self) -> tuple[FloatArray, FloatArray]:
        """Weights and values of mu: those given, or the nodes that stand for a density."""
        return self._components()

    @property
    def symmetric(self) -> bool:
        """True."""
        return True

    @cached_property
    def target(self) -> NormalMixture:
        """``∫ w(mu) N(x | mu, sqrt(2 mu)) dmu``."""
        weights, mu = self._components()
        return NormalMixture(weights, mu, np.sqrt(2.0 * mu))

    @cached_property
    def nontarget(self) -> NormalMixture:
        """``∫ w(mu) N(x | -mu, sqrt(2 mu)) dmu``."""
        weights, mu = self._components()
        return NormalMixture(weights, -mu, np.sqrt(2.0 * mu))

    @cached_property
    def eer(self) -> float:
        """Mean EER of the components; an uninformative one counts 1/2."""
        from scipy.special import ndtr

        weights, mu = self._components()
        return float(weights @ ndtr(-np.sqrt(0.5 * mu)))

    @cached_property
    def cllr(self) -> float:
        """Mean Cllr of the components; an uninformative one counts 1."""
        weights, mu = self._components()
        return float(weights @ np.asarray(cllr_from_sigma(np.sqrt(2.0 * mu))))


@dataclass(frozen=True)
class MixtureLLR(MuMixture):
    """Finite mixture of calibrated Gaussian pairs, ``sum_i weights_i N(x | ±mu_i, sqrt(2 mu_i))``.

    ``mu = 0`` is allowed: a share of trials that carry no information and get LLR 0. This point mass is
    not part of ``pdf``, which then integrates to the share of the other trials; it is part of all else.

    Examples
    --------
    >>> pair = MixtureLLR(weights=(0.2, 0.5, 0.3), mu=(0.5, 3.0, 9.0))
    >>> round(pair.eer, 14)
    0.12195957625386
    >>> blank = MixtureLLR(weights=(0.5, 0.5), mu=(0.0, 3.0))
    >>> round(blank.p_fa(0.0) - blank.p_fa(1e-12), 6), blank.point_mass
    (0.5, 0.5)
    """

    weights: tuple[float, ...]
    """Share of each part among the trials."""
    mu: tuple[float, ...]
    """Mean target LLR of each part."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        weights, mu = _finite_tuple(self.weights, "weights"), _finite_tuple(self.mu, "mu")
        if len(weights) != len(mu) or not weights:
            raise InputError(f"as many weights as values of mu are needed, got {len(weights)} and {len(mu)}")
        if min(mu) < 0.0 or min(weights) < 0.0:
            raise InputError("weights and mu must not be negative")
        if not abs(sum(weights) - 1.0) < 1e-9:
            raise InputError(f"weights must sum to 1, got {sum(weights)!r}")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "mu", mu)

    @property
    def point_mass(self) -> float:
        """Share of trials whose LLR is exactly 0."""
        return sum(weight for weight, mu in zip(self.weights, self.mu, strict=True) if mu == 0.0)

    def _components(self) -> tuple[FloatArray, FloatArray]:
        return np.array(self.weights), np.array(self.mu)


@dataclass(frozen=True, eq=False)
class DensityMixtureLLR(MuMixture):
    """Mixture of calibrated Gaussian pairs over a density of mu, ``∫ w(mu) N(x | ±mu, sqrt(2 mu)) dmu``.

    ``log_weight`` is the vectorized logarithm of ``w``, normalized, on ``support`` within ``[0, inf)``; or a
    frozen ``scipy.stats`` distribution, whose support is then its own. The integral becomes a sum over some
    thousand values of ``log mu``, close enough together that the sum over normals is smooth; ``rvs`` draws
    from that sum.

    Examples
    --------
    >>> exponential = DensityMixtureLLR(lambda mu: -mu)
    >>> round(exponential.eer, 10)  # ∫ e^-mu Phi(-sqrt(mu/2)) dmu = (1 - 1/sqrt 5)/2
    0.2763932023
    >>> from scipy import stats
    >>> round(DensityMixtureLLR(stats.expon()).eer, 10)
    0.2763932023
    """

    log_weight: LogDensity | HasLogpdf
    """``log w(mu)``, or a frozen distribution of mu."""
    support: tuple[float, float] | None = None
    """The values of mu; by default those of the distribution, or all from 0 to infinity."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        given = self.log_weight
        if isinstance(given, HasLogpdf):
            if hasattr(given, "freeze"):  # stats.gamma, not stats.gamma(3)
                raise InputError("the distribution must be frozen: give its parameters, as in stats.gamma(3)")
            object.__setattr__(self, "log_weight", given.logpdf)
            if self.support is None:
                object.__setattr__(self, "support", tuple(float(end) for end in given.support()))
        elif not callable(given):
            raise InputError(
                f"a frozen distribution with a density or a log density is needed, got {type(given).__name__}"
            )
        if self.support is None:
            object.__setattr__(self, "support", (0.0, np.inf))
        low, high = self._ends
        if not 0.0 <= low < high:
            raise InputError(
                f"the support of mu must be two ascending numbers of at least 0, got {self.support!r}"
            )
        mass = float(np.sum(self._nodes[0]))
        if not abs(mass - 1.0) < 1e-6:
            raise InputError(f"w(mu) integrates to {mass:.6g}, not 1, over the support {self.support!r}")

    @property
    def _ends(self) -> tuple[float, float]:
        assert self.support is not None  # set when it was made
        return self.support

    @cached_property
    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        # log mu as the variable: power laws at 0 are smooth in it, and so are the normals
        low, high = self._ends
        start, stop = np.log(low) if low > 0.0 else -700.0, np.log(high) if high < np.inf else 30.0
        log_density = Axis((0.0, np.inf)).weighted(cast(LogDensity, self.log_weight))

        def density(s: FloatArray) -> FloatArray:
            return np.exp(log_density(s))

        panels = refine(density, np.linspace(start, stop, int(np.ceil(2.0 * (stop - start))) + 1))
        keep = panels.mass > 1e-18
        half = 0.5 * (panels.right - panels.left)[keep, None]
        s = (panels.left[keep, None] + half * (1.0 + NODES)).ravel()
        return merge_below((half * WEIGHTS).ravel() * density(s), np.exp(s))

    def _components(self) -> tuple[FloatArray, FloatArray]:
        return self._nodes


def _finite_tuple(values: Sequence[float], name: str) -> tuple[float, ...]:
    try:
        out = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a sequence of numbers, got {values!r}") from None
    if not np.all(np.isfinite(out)):
        raise InputError(f"{name} must be finite, got {values!r}")
    return out
