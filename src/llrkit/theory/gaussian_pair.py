"""The Gaussian pair: the calibrated LLR distributions that are normal, and their one parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np

from llrkit._arguments import positive
from llrkit._arrays import FloatArray, Numbers, number_or_array
from llrkit._cached import cached_property
from llrkit.core.elementary_functions import probit
from llrkit.errors import InputError
from llrkit.theory.calibrated_pair import CalibratedPair, DetLine
from llrkit.theory.gaussian_cllr import cllr_from_sigma, sigma_from_cllr
from llrkit.theory.normal_distributions import Normal


@dataclass(frozen=True)
class GaussianLLR(CalibratedPair):
    """Calibrated Gaussian LLRs: targets ``N(mu, sigma)``, non-targets ``N(-mu, sigma)``, ``sigma^2 = 2 mu``.

    Normal non-target LLRs force normal target LLRs of the same variance, means of opposite sign and
    variance equal to twice the mean, so one number says everything; ``sigma`` is also d'.

    ``eer = Phi(-sigma/2)``, ``auc = Phi(sigma/sqrt 2)``, ``Pmiss(t) = Phi((t - mu)/sigma)``,
    ``Pfa(t) = Phi(-(t + mu)/sigma)``. ``sigma`` is a standard deviation in nats, Cllr is in bits.

    References
    ----------
    van Leeuwen & Brümmer, Interspeech 2013, section 3.

    Examples
    --------
    >>> pair = GaussianLLR.from_eer(0.05)
    >>> round(pair.mu, 6), round(pair.d_prime, 6), round(pair.cllr, 6)
    (5.411087, 3.289707, 0.183583)
    >>> round(pair.min_dcf("sre10"), 6), round(pair.c_primary("sre12"), 6)
    (0.765657, 0.642084)
    >>> pair.target.mean() == -pair.nontarget.mean() == pair.mu
    True
    """

    sigma: float
    """Standard deviation of the LLRs of both classes, in nats."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "sigma", positive(self.sigma, "sigma"))

    @classmethod
    def from_sigma(cls, sigma: float) -> GaussianLLR:
        """From the standard deviation of the LLRs.

        Parameters
        ----------
        sigma
            Standard deviation of the LLRs in nats.

        Examples
        --------
        >>> GaussianLLR.from_sigma(2.0).mu
        2.0
        """
        return cls(sigma)

    @classmethod
    def from_d_prime(cls, d_prime: float) -> GaussianLLR:
        """From d', the distance of the means in standard deviations, which equals sigma.

        Parameters
        ----------
        d_prime
            Distance of the means in standard deviations.

        Examples
        --------
        >>> GaussianLLR.from_d_prime(2.0).sigma
        2.0
        """
        return cls(positive(d_prime, "d_prime"))

    @classmethod
    def from_mu(cls, mu: float) -> GaussianLLR:
        """From the mean of the target LLRs, ``sigma = sqrt(2 mu)``.

        Parameters
        ----------
        mu
            Mean of the target LLRs in nats.

        Examples
        --------
        >>> GaussianLLR.from_mu(2.0).sigma
        2.0
        """
        return cls(float(np.sqrt(2.0 * positive(mu, "mu"))))

    @classmethod
    def from_eer(cls, eer: float) -> GaussianLLR:
        """From the equal error rate, a fraction between 0 and 0.5: ``sigma = -2 probit(eer)``.

        Parameters
        ----------
        eer
            Equal error rate, between 0 and 0.5.

        Examples
        --------
        >>> round(GaussianLLR.from_eer(0.1).mu, 6)
        3.284749
        >>> GaussianLLR.from_eer(5)
        Traceback (most recent call last):
        llrkit.errors.InputError: eer must be a fraction strictly between 0 and 0.5, got 5
        """
        if not 0.0 < float(eer) < 0.5:
            raise InputError(f"eer must be a fraction strictly between 0 and 0.5, got {eer!r}")
        return cls(float(-2.0 * probit(eer)))

    @classmethod
    def from_cllr(cls, cllr: float) -> GaussianLLR:
        """From Cllr in bits, strictly between 0 and 1, by root finding to machine precision.

        Parameters
        ----------
        cllr
            Cllr in bits, between 0 and 1.

        Examples
        --------
        >>> round(GaussianLLR.from_cllr(0.1835833745691).eer, 12)
        0.05
        """
        return cls(float(sigma_from_cllr(cllr)))

    @property
    def mu(self) -> float:
        """Mean of the target LLRs, ``sigma^2 / 2``; also the divergence between the classes in nats."""
        return 0.5 * self.sigma**2

    @property
    def d_prime(self) -> float:
        """Distance of the means in standard deviations."""
        return self.sigma

    @property
    def target(self) -> Normal:
        """``N(mu, sigma)``."""
        return Normal(self.mu, self.sigma)

    @property
    def nontarget(self) -> Normal:
        """``N(-mu, sigma)``."""
        return Normal(-self.mu, self.sigma)

    @property
    def symmetric(self) -> bool:
        """True."""
        return True

    @cached_property
    def eer(self) -> float:
        """``Phi(-sigma / 2)``."""
        from scipy.special import ndtr

        return float(ndtr(-0.5 * self.sigma))

    @cached_property
    def auc(self) -> float:
        """``Phi(sigma / sqrt 2)``."""
        from scipy.special import ndtr

        return float(ndtr(self.sigma / np.sqrt(2.0)))

    @cached_property
    def cllr(self) -> float:
        """``1/ln 2 ∫ N(x | mu, sigma) log(1 + e^-x) dx`` bits."""
        return float(cllr_from_sigma(self.sigma))

    def det_line(self) -> DetLine:
        """The DET: ``probit Pmiss = -probit Pfa - d'``.

        Examples
        --------
        >>> GaussianLLR(3.0).det_line()
        DetLine(slope=-1.0, intercept=-3.0)
        """
        return DetLine(-1.0, -self.sigma)

    def det_slope(self, low: float = 0.001, high: float = 0.5) -> float:
        """-1: the DET is a line, whatever part of it is looked at.

        Parameters
        ----------
        low
            Lowest error rate.
        high
            Highest error rate.
        """
        return -1.0


@overload
def cllr_from_eer(eer: float) -> float: ...
@overload
def cllr_from_eer(eer: Numbers) -> FloatArray: ...
def cllr_from_eer(eer: float | Numbers) -> float | FloatArray:
    """Cllr in bits of calibrated Gaussian LLRs with a given EER (a fraction, 0 to 0.5; number or array).

    ``1/ln 2 ∫ N(x | mu, sigma) log(1 + e^-x) dx`` with ``sigma = -2 probit(eer)``, ``mu = sigma^2/2``.

    Parameters
    ----------
    eer
        Equal error rate, between 0 and 0.5.

    References
    ----------
    van Leeuwen & Brümmer, Interspeech 2013, eq. 12.

    Examples
    --------
    >>> round(cllr_from_eer(0.05), 10)
    0.1835833746
    """
    rates = np.asarray(eer, dtype=np.float64)
    if not np.all((rates > 0.0) & (rates <= 0.5)):
        raise InputError(f"eer must be a fraction above 0 and at most 0.5, got {eer!r}")
    return cllr_from_sigma(-2.0 * probit(rates))


@overload
def eer_from_cllr(cllr: float) -> float: ...
@overload
def eer_from_cllr(cllr: Numbers) -> FloatArray: ...
def eer_from_cllr(cllr: float | Numbers) -> float | FloatArray:
    """EER of calibrated Gaussian LLRs with a given Cllr in bits (0 to 1; number or array).

    The inverse of :func:`cllr_from_eer`, exact to rounding.

    Parameters
    ----------
    cllr
        Cllr in bits, between 0 and 1.

    Examples
    --------
    >>> round(eer_from_cllr(0.1835833745691), 12)
    0.05
    """
    from scipy.special import ndtr

    return number_or_array(ndtr(-0.5 * np.asarray(sigma_from_cllr(cllr))))
