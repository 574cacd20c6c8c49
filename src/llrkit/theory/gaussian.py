"""Gaussian LLRs: their Cllr and EER, fusion, and what unequal variances do.

One number, sigma, says everything of a Gaussian pair. ``1 - Cllr(sigma)`` is the "J-function" of coding
theory: the mutual information, in bits, between a fair bit and a consistent Gaussian LLR of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import FloatArray, Numbers, class_weight, number_or_array, positive
from llrkit.base.process import cached_property
from llrkit.base.text import counted
from llrkit.core.numerics import LN2, bracketed_root, probit
from llrkit.errors import InputError
from llrkit.theory.calibrated_pairs import CalibratedPair, DetLine
from llrkit.theory.distributions import Normal

# The trapezoid rule converges exponentially for smooth functions times a Gaussian. Gauss-Hermite quadrature
# does not suit log(1 + e^-x): with 128 nodes it is still off by some 1e-8.
_H = 0.1
_Z = np.arange(-100, 101) * _H  # beyond 10 the weight is below 1e-22
_PHI = _H * np.exp(-0.5 * _Z**2) / np.sqrt(2.0 * np.pi)
_WIDE = 4.0  # above this sigma log(1 + e^-x) is sharp on the scale of z, and the grid goes over x instead
_X = np.arange(-400, 401) * 0.25  # the kernel falls like e^(-|x| / 2): below 1e-19 at the ends
_KERNEL = 0.25 * np.exp(0.5 * _X + np.log(np.logaddexp(0.0, -_X)))  # e^{x/2} log(1 + e^-x), integral 2 pi


@overload
def information_from_sigma(sigma: float) -> float: ...
@overload
def information_from_sigma(sigma: Numbers) -> FloatArray: ...
def information_from_sigma(sigma: float | Numbers) -> float | FloatArray:
    """``1 - Cllr`` in bits, with full relative accuracy also where it is tiny.

    ``[sigma^2/4 - E log cosh(x/2)] / ln 2`` with ``x ~ N(sigma^2/2, sigma)``: ``log(1 + e^-x)`` is
    ``log 2 - x/2 + log cosh(x/2)``, so nothing of size 1 is subtracted. Small sigma:
    ``(sigma^2/8 - sigma^4/64 + ...) / ln 2``. Trapezoid rule in ``z = (x - mu)/sigma``, step 0.1,
    from -10 to 10.

    Parameters
    ----------
    sigma
        Standard deviation of the LLRs in nats.

    Examples
    --------
    >>> round(1e6 * information_from_sigma(1e-3), 6)  # 1/(8 ln 2) = 0.180337
    0.180337
    """
    s = _checked_sigma(sigma)
    half = 0.5 * (0.5 * s[:, None] ** 2 + s[:, None] * _Z)
    small = np.minimum(np.abs(half), 1.0)  # keeps sinh from overflowing in the branch that is not taken
    log_cosh = np.where(
        np.abs(half) < 1.0,
        # cosh(h) = 1 + 2 sinh(h / 2)^2 has all digits near 0, the other form cannot overflow
        np.log1p(2.0 * np.sinh(0.5 * small) ** 2),
        np.abs(half) + np.log1p(np.exp(-2.0 * np.abs(half))) - LN2,
    )
    narrow = (0.25 * s**2 - np.einsum("ij,j->i", log_cosh, _PHI)) / LN2
    # expm1: Cllr is small there, so 1 - Cllr is near 1
    return _shaped_like(np.where(s <= _WIDE, narrow, -np.expm1(_log_cllr_wide(s))), sigma)


@overload
def cllr_from_sigma(sigma: float) -> float: ...
@overload
def cllr_from_sigma(sigma: Numbers) -> FloatArray: ...
def cllr_from_sigma(sigma: float | Numbers) -> float | FloatArray:
    """Cllr in bits of calibrated Gaussian LLRs with standard deviation ``sigma`` (number or array).

    ``1/ln 2 ∫ N(x | sigma^2/2, sigma) log(1 + e^-x) dx`` by the trapezoid rule in ``z``; for wide
    distributions by its other form
    ``e^{-sigma^2/8} / (sqrt(2 pi) sigma ln 2) ∫ e^{-x^2/(2 sigma^2)} e^{x/2} log(1 + e^-x) dx``.

    Parameters
    ----------
    sigma
        Standard deviation of the LLRs in nats.

    Examples
    --------
    >>> cllr_from_sigma(0.0)
    1.0
    >>> round(cllr_from_sigma(4.652695748082), 12)
    0.039463410636
    """
    s = _checked_sigma(sigma)
    loss = np.logaddexp(0.0, -(0.5 * s[:, None] ** 2 + s[:, None] * _Z))
    # rounding may exceed 1 bit near sigma = 0
    narrow = np.minimum(np.einsum("ij,j->i", loss, _PHI) / LN2, 1.0)
    return _shaped_like(np.where(s <= _WIDE, narrow, np.exp(_log_cllr_wide(s))), sigma)


@overload
def sigma_from_cllr(cllr: float) -> float: ...
@overload
def sigma_from_cllr(cllr: Numbers) -> FloatArray: ...
def sigma_from_cllr(cllr: float | Numbers) -> float | FloatArray:
    """Standard deviation of calibrated Gaussian LLRs with a given Cllr in bits (number or array).

    Root of :func:`information_from_sigma` ``= 1 - cllr`` where Cllr is near 1, of the logarithm of Cllr
    where it is small, started at :func:`sigma_from_cllr_approx`.

    Parameters
    ----------
    cllr
        Cllr in bits, between 0 and 1.

    Examples
    --------
    >>> round(sigma_from_cllr(cllr_from_sigma(3.0)), 14)
    3.0
    """
    values = _checked_bits(cllr)
    # a root for each: the brackets differ
    return _shaped_like(np.array([_solve_for_sigma(float(value)) for value in values.ravel()]), cllr)


@overload
def sigma_from_cllr_approx(cllr: float) -> float: ...
@overload
def sigma_from_cllr_approx(cllr: Numbers) -> FloatArray: ...
def sigma_from_cllr_approx(cllr: float | Numbers) -> float | FloatArray:
    """Approximate inverse of :func:`cllr_from_sigma`, good to about 6e-4 in Cllr.

    ``[-(1/0.3073) log2(1 - (1 - cllr)^(1/1.1064))]^(1/1.787)``, from
    ``1 - Cllr = (1 - 2^(-0.3073 sigma^1.787))^1.1064``.

    Parameters
    ----------
    cllr
        Cllr in bits, between 0 and 1.

    References
    ----------
    Brännström, Rasmussen & Grant, "Convergence analysis and optimal scheduling for multiple concatenated
    codes", IEEE Trans. Information Theory 51 (2005).

    Examples
    --------
    >>> round(sigma_from_cllr_approx(0.1835833745691), 2)
    3.29
    """
    # 1 - (1 - cllr)^(1 / 1.1064), which cancels for small Cllr
    remainder = -np.expm1(np.log1p(-_checked_bits(cllr)) / 1.1064)
    return _shaped_like((-np.log2(remainder) / 0.3073) ** (1.0 / 1.787), cllr)


def _checked_bits(cllr: float | Numbers) -> FloatArray:
    values = np.asarray(cllr, dtype=np.float64)
    if not np.all((values > 0.0) & (values < 1.0)):
        raise InputError(f"cllr must be strictly between 0 and 1 bit, got {cllr!r}")
    return values


def _solve_for_sigma(cllr: float) -> float:
    start = float(sigma_from_cllr_approx(cllr))

    def excess(sigma: float) -> float:
        if cllr >= 0.5:  # 1 - cllr is exact in floating point
            return float(information_from_sigma(sigma)) - (1.0 - cllr)
        if sigma > _WIDE:  # the logarithm stays finite where Cllr itself underflows
            return float(np.log(cllr) - _log_cllr_wide(np.array([sigma]))[0])
        return float(np.log(cllr) - np.log(cllr_from_sigma(sigma)))

    # the approximation is nearly always inside; the loops are for the far ends of the range
    low, high = 0.95 * start, 1.05 * start
    while excess(low) > 0.0:
        low *= 0.5
    while excess(high) < 0.0:
        high *= 2.0
    return bracketed_root(excess, low, high)


def _log_cllr_wide(sigma: FloatArray) -> FloatArray:
    s = np.maximum(sigma, _WIDE)  # smaller ones are not used, and 0 would divide by 0
    integral = np.einsum("ij,j->i", np.exp(-0.5 * (_X / s[:, None]) ** 2), _KERNEL)
    return np.asarray(-0.125 * s**2 + np.log(integral / (np.sqrt(2.0 * np.pi) * s * LN2)))


def _checked_sigma(sigma: float | Numbers) -> FloatArray:
    values = np.asarray(sigma, dtype=np.float64)
    if not np.all((values >= 0.0) & np.isfinite(values)):
        raise InputError(f"sigma must be finite and not negative, got {sigma!r}")
    return values.ravel()


def _shaped_like(flat: FloatArray, template: float | Numbers) -> float | FloatArray:
    shape = np.asarray(template).shape
    return float(np.ravel(flat)[0]) if shape == () else np.reshape(flat, shape)


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
        return cls(float(-2.0 * probit(eer)))  # an EER of 1/2 is sigma = 0, which is no pair

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


@dataclass(frozen=True)
class GaussianFusion:
    """A linear fusion ``x = weights @ scores + offset`` and the calibrated pair it leads to.

    Examples
    --------
    >>> fuse_calibrated([GaussianLLR(3.0), GaussianLLR(3.0)], 0.0)(np.array([[1.0, 2.0]]))
    array([3.])
    """

    weights: tuple[float, ...]
    """Weight of each system."""
    offset: float
    """Offset of the fused LLR."""
    fused: GaussianLLR
    """Distribution of the fused LLRs."""

    def __call__(self, scores: npt.ArrayLike) -> FloatArray:
        """Fused LLRs of an array with one column per system."""
        values = np.asarray(scores, dtype=np.float64)
        if values.shape[-1:] != (len(self.weights),):
            raise InputError(
                f"one column for each of {counted(len(self.weights), 'system')} is needed, got {values.shape}"
            )
        return np.asarray(values @ np.array(self.weights) + self.offset)


def fuse_calibrated(systems: Sequence[GaussianLLR], correlation: npt.ArrayLike) -> GaussianFusion:
    """Best fusion of calibrated Gaussian systems from their strengths and correlations alone.

    With ``R`` the within-class correlation matrix, the same in both classes, and ``sigma`` the standard
    deviations: ``w_i = 1/sigma_i sum_j (R^-1)_ij sigma_j``, no offset, ``sigma_f^2 = sigma' R^-1 sigma``;
    the fused LLR is a calibrated Gaussian again. Two systems:
    ``w_1 = (1 - rho sigma_2/sigma_1)/(1 - rho^2)``. A weaker system with ``rho > sigma_2/sigma_1`` gets
    a negative weight and still helps.

    Parameters
    ----------
    systems
        The calibrated pairs.
    correlation
        One number for all pairs of systems, or a matrix.

    Examples
    --------
    >>> fusion = fuse_calibrated([GaussianLLR(3.0), GaussianLLR(2.0)], 0.5)
    >>> np.round(fusion.weights, 3), round(100 * fusion.fused.eer, 2)
    (array([0.889, 0.333]), 6.33)
    """
    sigma = np.array([system.sigma for system in systems])
    if sigma.size == 0:
        raise InputError("at least one system is needed")
    matrix = np.asarray(correlation, dtype=np.float64)
    if matrix.ndim == 0:
        matrix = np.where(np.eye(sigma.size, dtype=bool), 1.0, matrix)  # the same correlation for all pairs
    if matrix.shape == (sigma.size, sigma.size) and not np.allclose(np.diag(matrix), 1.0, atol=1e-9):
        raise InputError("the diagonal of a correlation matrix must be 1; fuse_moments takes covariances")
    half = _solve_for_weights(matrix, sigma, "correlation")
    # half is R^-1 sigma
    return GaussianFusion(tuple((half / sigma).tolist()), 0.0, GaussianLLR(float(np.sqrt(sigma @ half))))


def fuse_moments(
    mean_target: npt.ArrayLike,
    mean_nontarget: npt.ArrayLike,
    cov_target: npt.ArrayLike,
    cov_nontarget: npt.ArrayLike,
    *,
    alpha: float = 0.5,
) -> GaussianFusion:
    """Fusion and calibration of raw scores from the means and covariances of the two classes.

    ``V = alpha V_e + (1 - alpha) V_d``, ``w = V^-1 (m_e - m_d)``, ``b = -w'(m_e + m_d)/2``: constrained
    maximum likelihood Gaussian calibration in several dimensions. ``fused`` is exact when the covariances are
    equal and a prediction otherwise.

    Parameters
    ----------
    mean_target
        Mean of the targets.
    mean_nontarget
        Mean of the non-targets.
    cov_target
        Covariance of the targets.
    cov_nontarget
        Covariance of the non-targets.
    alpha
        Weight of the covariance of the targets.

    Examples
    --------
    >>> fusion = fuse_moments([1.0, 1.0], [-1.0, 0.0], np.eye(2), np.eye(2))
    >>> fusion.weights, fusion.offset, round(fusion.fused.mu, 12)
    ((2.0, 1.0), -0.5, 2.5)
    """
    alpha = class_weight(alpha)
    up, down = (np.atleast_1d(np.asarray(mean, dtype=np.float64)) for mean in (mean_target, mean_nontarget))
    if up.ndim != 1 or up.shape != down.shape:
        raise InputError(f"two mean vectors of one length are needed, got shapes {up.shape} and {down.shape}")
    covariances = (np.asarray(covariance, dtype=np.float64) for covariance in (cov_target, cov_nontarget))
    pooled = sum(share * each for share, each in zip((alpha, 1.0 - alpha), covariances, strict=True))
    weights = _solve_for_weights(np.atleast_2d(pooled), up - down, "covariance")
    strength = float(weights @ (up - down))
    if not strength > 0.0:  # NaN is refused, too
        raise InputError("the means of the two classes are equal: there is nothing to fuse")
    offset = float(-0.5 * weights @ (up + down))
    return GaussianFusion(tuple(weights.tolist()), offset, GaussianLLR(float(np.sqrt(strength))))


def _solve_for_weights(matrix: FloatArray, vector: FloatArray, name: str) -> FloatArray:
    if matrix.shape != (vector.size, vector.size):
        raise InputError(f"{name} must be a {vector.size} by {vector.size} matrix, got shape {matrix.shape}")
    if not (np.isfinite(matrix).all() and np.isfinite(vector).all()):
        raise InputError(f"{name} and means must be finite")
    # a matrix that is not positive definite would give a fusion with a negative variance
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0) or np.linalg.eigvalsh(matrix)[0] <= 0.0:
        raise InputError(f"{name} must be a symmetric positive definite matrix")
    return np.asarray(np.linalg.solve(matrix, vector), dtype=np.float64)


@dataclass(frozen=True)
class UnequalGaussians:
    """Normal scores with different variances: their LLR is a quadratic, so they are no calibrated pair.

    ``log e(s)/d(s) = quadratic s^2 + linear s + constant`` with ``quadratic = 1/(2 sd^2) - 1/(2 se^2)``,
    ``linear = me/se^2 - md/sd^2``, ``constant = log(sd/se) + md^2/(2 sd^2) - me^2/(2 se^2)`` (means
    ``me``, ``md``, standard deviations ``se``, ``sd`` of targets and non-targets). Scores are LLRs only if
    this is ``s`` itself, which needs equal variances. The parabola turns back at ``vertex``.

    Examples
    --------
    >>> scores = UnequalGaussians(mean_target=2.0, std_target=2.0, mean_nontarget=-2.0, std_nontarget=1.0)
    >>> scores.quadratic, scores.linear, scores.vertex, scores.is_calibrated
    (0.375, 2.5, -3.3333333333333335, False)
    >>> scores.det_line()
    DetLine(slope=-0.5, intercept=-2.0)
    """

    mean_target: float
    """Mean of the target scores."""
    std_target: float
    """Standard deviation of the target scores."""
    mean_nontarget: float
    """Mean of the non-target scores."""
    std_nontarget: float
    """Standard deviation of the non-target scores."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        positive(self.std_target, "std_target")
        positive(self.std_nontarget, "std_nontarget")

    @property
    def target(self) -> Normal:
        """Distribution of the target scores."""
        return Normal(self.mean_target, self.std_target)

    @property
    def nontarget(self) -> Normal:
        """Distribution of the non-target scores."""
        return Normal(self.mean_nontarget, self.std_nontarget)

    @property
    def quadratic(self) -> float:
        """Coefficient of the squared score."""
        return 0.5 / self.std_nontarget**2 - 0.5 / self.std_target**2

    @property
    def linear(self) -> float:
        """Coefficient of the score."""
        return self.mean_target / self.std_target**2 - self.mean_nontarget / self.std_nontarget**2

    @property
    def constant(self) -> float:
        """LLR of score 0."""
        squares = (self.mean_nontarget / self.std_nontarget) ** 2 - (self.mean_target / self.std_target) ** 2
        return float(np.log(self.std_nontarget / self.std_target) + 0.5 * squares)

    @property
    def vertex(self) -> float | None:
        """Score at which the LLR turns back, ``-linear / (2 quadratic)``; none for equal variances."""
        return None if self.quadratic == 0.0 else -self.linear / (2.0 * self.quadratic)

    @property
    def is_calibrated(self) -> bool:
        """Whether the scores are their own LLRs: coefficients 0, 1, 0 (to 1e-12)."""
        coefficients = (self.quadratic, self.linear, self.constant)
        return bool(np.allclose(coefficients, (0.0, 1.0, 0.0), rtol=0.0, atol=1e-12))

    @overload
    def llr(self, score: float, *, monotone: bool = False) -> float: ...
    @overload
    def llr(self, score: Numbers, *, monotone: bool = False) -> FloatArray: ...
    def llr(self, score: float | Numbers, *, monotone: bool = False) -> float | FloatArray:
        """LLR of a score in nats; ``monotone`` holds it constant beyond the vertex.

        Parameters
        ----------
        score
            Scores.
        monotone
            Hold the LLR constant beyond the vertex.

        Examples
        --------
        >>> scores = UnequalGaussians(2.0, 2.0, -2.0, 1.0)
        >>> scores.llr(-9.0) > scores.llr(-9.0, monotone=True) == scores.llr(scores.vertex)
        True
        """
        s = np.asarray(score, dtype=np.float64)
        if monotone and self.vertex is not None:
            # one that opens upwards falls left of its vertex, one that opens downwards falls right of it
            s = np.maximum(s, self.vertex) if self.quadratic > 0.0 else np.minimum(s, self.vertex)
        return number_or_array((self.quadratic * s + self.linear) * s + self.constant)  # Horner's rule

    def det_line(self) -> DetLine:
        """The DET of the scores: slope ``-sd/se``, intercept ``(md - me)/se``."""
        gap = (self.mean_nontarget - self.mean_target) / self.std_target
        return DetLine(-self.std_nontarget / self.std_target, gap)


@dataclass(frozen=True)
class MomentSolution:
    """The affine map ``x = a s + b`` whose mean moments are those of a calibrated Gaussian with mean ``mu``.

    Examples
    --------
    >>> MomentSolution(mu=2.0, a=1.0, b=0.0).predicted.sigma
    2.0
    """

    mu: float
    """Mean target LLR after the map."""
    a: float
    """Slope of the map."""
    b: float
    """Offset of the map."""

    @property
    def predicted(self) -> GaussianLLR:
        """The calibrated pair the mapped scores should follow; its EER is ``Phi(-sqrt(mu/2))``."""
        return GaussianLLR.from_mu(self.mu)


def moment_solution(
    mean_target: float, mean_nontarget: float, var_target: float, var_nontarget: float
) -> MomentSolution:
    """Calibrate scores by their moments: means ``±mu``, mean variance ``2 mu``.

    ``mu = (me - md)^2 / (ve + vd)``, ``a = 2 mu / (me - md)``, ``b = -a (me + md)/2``. This is exactly
    constrained maximum likelihood Gaussian calibration with equal class weights.

    Parameters
    ----------
    mean_target
        Mean of the targets.
    mean_nontarget
        Mean of the non-targets.
    var_target
        Variance of the targets.
    var_nontarget
        Variance of the non-targets.

    Examples
    --------
    >>> moment_solution(mean_target=3.0, mean_nontarget=-1.0, var_target=3.0, var_nontarget=1.0)
    MomentSolution(mu=4.0, a=2.0, b=-2.0)
    """
    gap = mean_target - mean_nontarget
    if not gap > 0.0:
        raise InputError(
            f"the target mean must be above the non-target mean, got {mean_target!r} and {mean_nontarget!r}"
        )
    if min(var_target, var_nontarget) < 0.0 or not 0.0 < var_target + var_nontarget < np.inf:
        raise InputError(
            f"variances must be finite and not negative, got {var_target!r} and {var_nontarget!r}"
        )
    mu = gap**2 / (var_target + var_nontarget)
    a = 2.0 * mu / gap
    return MomentSolution(mu, a, -0.5 * a * (mean_target + mean_nontarget))
