"""The gamma pair: the likelihood ratio itself is gamma distributed in both classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit._arguments import positive
from llrkit._arrays import FloatArray
from llrkit.theory.calibrated_pair import CalibratedPair
from llrkit.theory.distribution import Distribution, Size


@dataclass(frozen=True)
class LogGamma(Distribution):
    """Distribution of ``log r`` for ``r`` gamma distributed with given shape and rate.

    ``p(x) = rate^shape / Gamma(shape) exp(shape x - rate e^x)``.

    Examples
    --------
    >>> round(LogGamma(1.0, 1.0).mean(), 6)  # minus Euler's constant
    -0.577216
    """

    shape: float
    """Shape of the gamma distribution, above 0."""
    rate: float
    """Rate of the gamma distribution, above 0."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        positive(self.shape, "shape")
        positive(self.rate, "rate")

    def mean(self) -> float:
        """``psi(shape) - log(rate)``."""
        from scipy.special import psi

        return float(psi(self.shape) - np.log(self.rate))

    def var(self) -> float:
        """``psi'(shape)``."""
        from scipy.special import polygamma

        return float(polygamma(1, self.shape))

    def _scaled(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``log(rate r)`` and ``rate r``, the latter kept below overflow, where its tail is 0 anyway."""
        y = x + np.log(self.rate)
        return y, np.exp(np.minimum(y, 700.0))

    def _logpdf(self, x: FloatArray) -> FloatArray:
        from scipy.special import gammaln

        y, z = self._scaled(x)
        return np.asarray(self.shape * y - z - gammaln(self.shape))

    def _cdf(self, x: FloatArray) -> FloatArray:
        from scipy.special import gammainc, gammaln

        y, z = self._scaled(x)
        # r itself underflows long before its distribution function does when the shape is small
        far = np.exp(self.shape * np.minimum(y, 0.0) - gammaln(self.shape + 1.0))
        return np.where(y < -37.0, far, gammainc(self.shape, z))

    def _sf(self, x: FloatArray) -> FloatArray:
        from scipy.special import gammaincc

        y, z = self._scaled(x)
        return np.where(y < -37.0, 1.0 - self._cdf(x), gammaincc(self.shape, z))

    def _ppf(self, q: FloatArray) -> FloatArray:
        from scipy.special import gammainccinv, gammaincinv, gammaln

        far = (np.log(q) + gammaln(self.shape + 1.0)) / self.shape
        z = np.where(q > 0.5, gammainccinv(self.shape, 1.0 - q), gammaincinv(self.shape, q))
        near = np.log(np.maximum(z, 1e-300))
        return np.asarray(np.where(far < -37.0, far, near) - np.log(self.rate))

    def _rvs(self, size: Size, rng: np.random.Generator) -> FloatArray:
        # G(a) = G(a + 1) U^(1/a) in distribution; in logarithms small shapes do not underflow
        boost = np.log1p(-rng.random(size)) / self.shape
        return np.asarray(np.log(rng.gamma(self.shape + 1.0, 1.0, size)) + boost - np.log(self.rate))


@dataclass(frozen=True)
class GammaLLR(CalibratedPair):
    """Calibrated pair with gamma distributed likelihood ratio ``r = e^x``.

    Non-targets: ``r ~ Gamma(shape a, rate a)``; targets: ``r ~ Gamma(a + 1, rate a)``. In the LLR,
    ``d(x) = a^a / Gamma(a) exp(a x - a e^x)`` and ``e(x) = e^x d(x)``; ``Pmiss(t) = P(a + 1, a e^t)``,
    ``Pfa(t) = Q(a, a e^t)`` (regularized incomplete gammas). Its Cllr is below that of the Gaussian pair of
    equal EER, so the Gaussian relation is no bound. ``mirror()`` gives the pair with ``1/r`` gamma.

    Examples
    --------
    >>> pair = GammaLLR(shape=0.3)
    >>> round(pair.eer, 6), round(pair.eer_threshold, 4), round(pair.cllr, 6)
    (0.217416, 0.3242, 0.6417)
    """

    shape: float
    """Shape parameter of the gamma distribution."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "shape", positive(self.shape, "shape"))

    @property
    def target(self) -> LogGamma:
        """Log of a gamma variable of shape ``a + 1`` and rate ``a``."""
        return LogGamma(self.shape + 1.0, self.shape)

    @property
    def nontarget(self) -> LogGamma:
        """Log of a gamma variable of shape ``a`` and rate ``a``."""
        return LogGamma(self.shape, self.shape)
