"""Student's t and the normal inverse Gaussian: logarithms, slopes and gradients that hold in the limits."""

from __future__ import annotations

import numpy as np

from llrkit._arrays import FloatArray

_LOG_ROOT_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))
_SERIES_ABOVE = 20.0  # from here on the asymptotic series of gamma ratios are exact in double precision
_BESSEL_SERIES_ABOVE = 300.0  # and those of Bessel functions


def log_student(s: FloatArray, df: float, loc: float, scale: float) -> FloatArray:
    """Logarithm of Student's t density; ``df = inf`` is the Gaussian.

    Examples
    --------
    >>> np.round(log_student(np.array([0.0]), 1.0, 0.0, 1.0) + np.log(np.pi), 12)
    array([0.])
    """
    z2 = ((s - loc) / scale) ** 2
    power = 0.5 * z2 if np.isinf(df) else 0.5 * (df + 1.0) * np.log1p(z2 / df)
    return np.asarray(_log_gamma_step(df) - _LOG_ROOT_TWO_PI - np.log(scale) - power)


def student_slope(s: FloatArray, df: float, loc: float, scale: float) -> FloatArray:
    """Derivative of :func:`log_student` by the score."""
    y = (s - loc) / scale
    weight = 1.0 if np.isinf(df) else (df + 1.0) / (df + y * y)
    return np.asarray(-weight * y / scale)


def student_gradient(t: FloatArray, u: float, loc: float, scale: float) -> FloatArray:
    """Derivatives of :func:`log_student` by ``loc``, ``log scale`` and ``u = 1 / df``, as rows."""
    df = 1.0 / u
    z = (t - loc) / scale
    y = z * z * u
    pull = (1.0 + u) / (1.0 + y)
    inner = y / (1.0 + y)
    by_df = 0.5 * (inner - np.log1p(y) + inner * u)
    return np.stack([pull * z / scale, pull * z * z - 1.0, -(by_df * df * df + 0.5 * _digamma_step(df))])


def _log_gamma_step(df: float) -> float:
    """``log Gamma((df + 1)/2) - log Gamma(df/2) - log(df/2)/2``, which goes to 0."""
    from scipy.special import gammaln

    x = 0.5 * df
    if x < _SERIES_ABOVE:
        return float(gammaln(x + 0.5) - gammaln(x) - 0.5 * np.log(x))
    r = 1.0 / x
    return -r / 8.0 + r**3 / 192.0 - r**5 / 640.0 + 17.0 * r**7 / 14336.0


def _digamma_step(df: float) -> float:
    """``df^2 [psi((df + 1)/2) - psi(df/2) - 1/df]``, which goes to 1/2."""
    from scipy.special import psi

    x = 0.5 * df
    if x < _SERIES_ABOVE:
        return float(df * df * (psi(x + 0.5) - psi(x) - 1.0 / df))
    r = 1.0 / x
    return 4.0 * (1.0 / 8.0 - r**2 / 64.0 + r**4 / 128.0 - 17.0 * r**6 / 2048.0)


def log_nig(s: FloatArray, alpha: float, beta: float, delta: float, loc: float) -> FloatArray:
    """Logarithm of the normal inverse Gaussian density.

    ``alpha delta K_1(alpha q) / (pi q) exp(delta gamma + beta y)`` with ``y = s - loc``,
    ``q^2 = delta^2 + y^2`` and ``gamma^2 = alpha^2 - beta^2``. With the exponential of K_1 taken out, the
    exponent is ``-(gamma y - delta beta)^2 / (alpha q + delta gamma + beta y)``: nothing cancels, also not
    near the Gaussian limit.

    Examples
    --------
    >>> from scipy.stats import norminvgauss
    >>> x = np.array([-3.0, 0.5])
    >>> bool(np.allclose(log_nig(x, 2.0, 0.5, 1.5, 0.1), norminvgauss(3.0, 0.75, 0.1, 1.5).logpdf(x)))
    True
    """
    from scipy.special import k1e

    gamma = np.sqrt((alpha - beta) * (alpha + beta))
    y = s - loc
    q = np.hypot(delta, y)
    exponent = (gamma * y - delta * beta) ** 2 / (alpha * q + delta * gamma + beta * y)
    return np.asarray(np.log(alpha * delta / np.pi) + np.log(k1e(alpha * q)) - np.log(q) - exponent)


def nig_slope(s: FloatArray, alpha: float, beta: float, delta: float, loc: float) -> FloatArray:
    """Derivative of :func:`log_nig` by the score."""
    y = s - loc
    q = np.hypot(delta, y)
    return np.asarray(beta - y / q * (alpha * _bessel_ratio(alpha * q) + 2.0 / q))


def standard_nig(t: FloatArray, p: float, e: float) -> tuple[FloatArray, FloatArray]:
    """Log density of the NIG with mean 0 and variance 1, and its derivatives by ``t``, ``p`` and ``e``.

    ``p`` bends it (skewness ``3 p``) and ``e`` fattens its tails; both 0 is the Gaussian. With
    ``Q^2 = (1 + p t)^2 + e^2 t^2`` the log density is

    ``-log(2 pi)/2 + log[sqrt(2 z/pi) e^z K_1(z)] - 3/2 log Q - t^2 / (1 + p t + Q)``, ``z = Q / e^2``:

    smooth up to the Gaussian limit, with nothing that cancels. In the usual parameters
    ``1/e = gamma sd``, ``p = beta e^2 sd`` and ``1/(p^2 + e^2) = delta gamma``.

    Examples
    --------
    >>> near, _ = standard_nig(np.array([0.0, 1.0]), 0.0, 1e-5)
    >>> np.round(near - near[0], 9)
    array([ 0. , -0.5])
    """
    x = 1.0 + p * t
    q = np.hypot(x, e * t)
    z = q / e**2
    # 1 + p t + Q, also where its terms cancel
    w = np.where(x > 0.0, x + q, (e * t) ** 2 / np.where(x > 0.0, 1.0, q - x))
    fall = t * t / w
    level, u = _bessel_level(z)
    value = level - _LOG_ROOT_TWO_PI - 1.5 * np.log(q) - fall
    q_t, q_p, q_e = (p * x + e * e * t) / q, t * x / q, e * t * t / q
    pull, steep = (u - 1.5) / q, fall / w
    return value, np.stack(
        [
            pull * q_t - 2.0 * t / w + steep * (q_t + p),
            pull * q_p + steep * (q_p + t),
            pull * q_e - 2.0 * u / e + steep * q_e,
        ]
    )


def _bessel_level(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``log[sqrt(2 z/pi) e^z K_1(z)]`` and ``z`` times its derivative; both vanish like ``3/(8 z)``."""
    from scipy.special import k0e, k1e

    near = np.minimum(z, _BESSEL_SERIES_ABOVE)
    r = 1.0 / np.maximum(z, _BESSEL_SERIES_ABOVE)
    k1 = k1e(near)
    far = z > _BESSEL_SERIES_ABOVE
    level = np.where(
        far,
        np.log1p(r * (3.0 / 8.0 - r * (15.0 / 128.0 - r * (105.0 / 1024.0 - r * (4725.0 / 32768.0))))),
        np.log(k1 * np.sqrt(2.0 / np.pi * near)),
    )
    slope = np.where(
        far,
        -r * (3.0 / 8.0 - r * (3.0 / 8.0 - r * (63.0 / 128.0 - r * (27.0 / 32.0)))),
        near * (1.0 - k0e(near) / k1) - 0.5,
    )
    return level, slope


def _bessel_ratio(z: FloatArray) -> FloatArray:
    """``K_0(z) / K_1(z)``."""
    from scipy.special import k0e, k1e

    return np.asarray(k0e(z) / k1e(z))
