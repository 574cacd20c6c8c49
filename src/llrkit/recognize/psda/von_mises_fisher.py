"""The von Mises-Fisher distribution on the sphere in many dimensions, and the LLRs of pairs it leads to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, ive

from llrkit._arrays import FloatArray
from llrkit.core.elementary_functions import blocks
from llrkit.errors import InputError
from llrkit.recognize.covariances import rows_per_block
from llrkit.recognize.embeddings import Embeddings, vectors_of
from llrkit.recognize.plda.plda_model import SESSIONS

_DEBYE_FROM = 30.0
"""Orders from which the uniform expansion is used: its error is below 1e-12 there."""


def log_bessel_over_power(order: float, k: npt.ArrayLike) -> FloatArray:
    """``log(I_v(k) / k^v)``, smooth down to ``k = 0``, where it is ``-v log 2 - log Gamma(v + 1)``.

    By the scaled Bessel function for small orders, and the uniform expansion of Debye for large ones
    (DLMF 10.41.3).

    Examples
    --------
    >>> from scipy.special import iv
    >>> round(float(log_bessel_over_power(0.5, 2.0) - np.log(iv(0.5, 2.0) / 2.0**0.5)), 12) + 0.0
    0.0
    """
    x = np.asarray(k, dtype=np.float64)
    if order < _DEBYE_FROM:
        small = x < 1e-3
        safe = np.where(small, 1.0, x)
        large = np.log(ive(order, safe)) + safe - order * np.log(safe)
        series = -order * np.log(2.0) - gammaln(order + 1.0) + x * x / (4.0 * (order + 1.0))
        return np.where(small, series, large)
    z = x / order
    root = np.sqrt(1.0 + z * z)
    t = 1.0 / root
    t2 = t * t
    terms = (
        t * (3.0 - 5.0 * t2) / 24.0,
        t2 * (81.0 - 462.0 * t2 + 385.0 * t2**2) / 1152.0,
        t * t2 * (30375.0 - 369603.0 * t2 + 765765.0 * t2**2 - 425425.0 * t2**3) / 414720.0,
        t2**2
        * (4465125.0 - 94121676.0 * t2 + 349922430.0 * t2**2 - 446185740.0 * t2**3 + 185910725.0 * t2**4)
        / 39813120.0,
    )
    correction = sum(term / order ** (i + 1) for i, term in enumerate(terms))
    # log z of the exponent and log k of the power cancel, so that nothing is lost at zero
    exponent = order * (root - np.log1p(root) - np.log(order))
    return np.asarray(
        exponent - 0.5 * np.log(2.0 * np.pi * order) - 0.5 * np.log(root) + np.log1p(correction)
    )


def log_normalizer(dim: int, k: npt.ArrayLike) -> FloatArray:
    """``log C_d(k)``: the density is ``C_d(k) exp(k m'x)`` on the sphere in ``dim`` dimensions.

    Examples
    --------
    >>> round(float(np.exp(-log_normalizer(3, 0.0)) / np.pi), 12)   # the surface of the sphere
    4.0
    """
    return np.asarray(-0.5 * dim * np.log(2.0 * np.pi) - log_bessel_over_power(dim / 2.0 - 1.0, k))


def mean_length(dim: int, k: npt.ArrayLike) -> FloatArray:
    """The length of the mean, ``I_{d/2}(k) / I_{d/2-1}(k)``.

    Examples
    --------
    >>> round(float(mean_length(3, 2.0) - (1 / np.tanh(2.0) - 0.5)), 12) + 0.0
    0.0
    """
    x = np.asarray(k, dtype=np.float64)
    order = dim / 2.0 - 1.0
    log_ratio = log_bessel_over_power(order + 1.0, x) - log_bessel_over_power(order, x)
    return np.asarray(x * np.exp(log_ratio))


def concentration(dim: int, length: float) -> float:
    """The concentration whose mean has this length: Newton steps from what Banerjee et al. 2005 propose.

    Examples
    --------
    >>> round(concentration(10, float(mean_length(10, 25.0))), 9)
    25.0
    """
    if not 0.0 <= length < 1.0:
        raise InputError(f"the length of a mean on the sphere must be from 0 to 1, got {length!r}")
    k = length * (dim - length**2) / (1.0 - length**2)
    for _ in range(50):
        if k == 0.0:
            break
        a = float(mean_length(dim, k))
        step = (a - length) / (1.0 - a * a - (dim - 1.0) / k * a)
        k = max(k - step, 0.5 * k)
        if abs(step) <= 1e-12 * k:
            break
    return float(k)


def add_sphere_llrs(out: FloatArray, prior: FloatArray, enroll: FloatArray, test: FloatArray) -> None:
    """Add ``log C(|p + e|) + log C(|p + t|) - log C(|p + e + t|) - log C(|p|)`` of all pairs to ``out``.

    ``p`` is the natural parameter of the prior, ``e`` and ``t`` are what the sessions of either side add to
    it.

    Examples
    --------
    >>> llrs = np.zeros((1, 2))
    >>> add_sphere_llrs(llrs, np.zeros(3), 9.0 * np.eye(3)[:1], 9.0 * np.eye(3)[:2])
    >>> llrs.round(2)
    array([[ 2.2 , -2.73]])
    """
    dim, left = len(prior), prior + enroll
    norm = float(log_normalizer(dim, np.linalg.norm(prior)))
    alone = log_normalizer(dim, np.linalg.norm(left, axis=1))
    alone_test = log_normalizer(dim, np.linalg.norm(prior + test, axis=1))
    squares, squares_test = (left * left).sum(axis=1), (test * test).sum(axis=1)
    for rows in blocks(len(left), rows_per_block(len(test))):
        both = squares[rows, None] + squares_test + 2.0 * left[rows] @ test.T
        together = log_normalizer(dim, np.sqrt(np.maximum(both, 0.0)))
        out[rows] += alone[rows, None] + alone_test - together - norm


def session_sums(
    rows: Embeddings | npt.ArrayLike, counts: npt.ArrayLike | None, dim: int, what: str
) -> FloatArray:
    """Sums of sessions of length one, from their averages and numbers."""
    vectors = np.asarray(vectors_of(rows, dim, f"{what} embeddings"), dtype=np.float64)
    if counts is None and isinstance(rows, Embeddings):
        counts = rows.columns.get(SESSIONS)
    sizes = np.ones(len(vectors)) if counts is None else np.asarray(counts, dtype=np.float64)
    if sizes.shape != (len(vectors),) or not (sizes >= 1).all():
        raise InputError(f"{what} embeddings: counts must be {len(vectors)} numbers of at least 1")
    lengths = np.linalg.norm(vectors, axis=1)
    wrong = (lengths > 1.0 + 1e-5) | ((sizes == 1) & (np.abs(lengths - 1.0) > 1e-5))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"{what} embeddings, row {row}: of length {lengths[row]:.4g}; PSDA is for embeddings of "
            "length one, so normalize the length first"
        )
    return vectors * sizes[:, None]
