"""Idempotence for more than two classes: what calibrated Gaussian log-likelihood-ratios must look like."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.errors import InputError
from llrkit.metrics.curve_base import Curve
from llrkit.multiclass.class_counts_and_priors import Prior, class_prior
from llrkit.multiclass.class_moments import class_means
from llrkit.multiclass.gaussian_backend import linear_discriminant, shared_covariance
from llrkit.scores.class_scores import ClassSource

_LARGEST_TEST = 40


@dataclass(frozen=True, eq=False)
class Idempotence(Curve):
    """Means of the log-likelihood-ratios over the last class, and where calibration wants them.

    Row j of ``observed`` holds the means of trials of class j, row j of ``expected`` is
    ``S e_j - diag(S) / 2`` with the shared covariance S (``e_j`` a unit vector, 0 for the last class).
    ``slopes`` and ``offsets`` are the map from the LLRs to the LLRs that a Gaussian back-end makes of them:
    the identity, when they are calibrated.
    """

    classes: tuple[str, ...]
    """Names of the classes."""
    observed: FloatArray
    """Mean LLRs over the last class, one row for each class."""
    expected: FloatArray
    """The means that calibrated LLRs with this covariance have."""
    standard_errors: FloatArray
    """Of ``observed - expected``, for independent Gaussian trials."""
    covariance: FloatArray
    """Covariance of the LLRs that all classes share."""
    slopes: FloatArray
    """Matrix of the map that a Gaussian back-end makes of the LLRs."""
    offsets: FloatArray
    """Offsets of that map."""
    statistic: float
    """Wald statistic of ``observed = expected``, chi-square distributed under calibration."""
    degrees: int
    """Degrees of freedom of the statistic."""
    p_value: float
    """Chance of a larger statistic under calibration; nan for more than 40 classes."""

    @property
    def largest_deviation(self) -> float:
        """Largest absolute difference between an observed and an expected mean, in nats."""
        return float(np.abs(self.observed - self.expected).max())


def idempotence(source: ClassSource, *, weights: Prior = "flat") -> Idempotence:
    """Whether Gaussian log-likelihood-ratios of several classes are calibrated: a test and a picture.

    Let z be the LLRs of all classes over the last one, Gaussian in every class with common covariance S.
    They are calibrated, that is, the LLRs of z are z itself, if and only if the mean of z for trials of
    class j is ``S e_j - diag(S) / 2``; two classes give means of plus and minus half the variance. The test
    asks whether the differences could be chance, for independent Gaussian trials.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    weights
        Weights of the classes in the shared covariance.

    References
    ----------
    van Leeuwen & Brümmer, "The distribution of calibrated likelihood-ratios in speaker recognition",
    Interspeech 2013; Noé et al., arXiv 2509.03365, 2025, for more than two hypotheses.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> z = np.concatenate([rng.normal(mean, 2.0, 2000) for mean in (2.0, -2.0)])
    >>> scores = lk.ClassScores(np.column_stack([z, np.zeros(4000)]), np.repeat([0, 1], 2000))
    >>> test = lk.multiclass.idempotence(scores)
    >>> test.expected.round(1).ravel(), test.p_value > 0.01
    (array([ 2., -2.]), True)
    """
    means = class_means(source)
    if not means.differences:
        raise InputError("idempotence is about log-likelihoods; vectors need a back-end first")
    share = class_prior(weights, means.counts)
    covariance = shared_covariance(source, means, share)
    slopes, offsets = linear_discriminant(means.mean, covariance)
    difference = means.mean - calibrated_means(covariance)
    per_trial = 1.0 / means.n
    pooled = float((share**2 * per_trial).sum())
    spread = _variances_of_means(covariance, per_trial, pooled)
    k = len(means.classes)
    statistic = p_value = math.nan
    if k <= _LARGEST_TEST:
        flat = difference.ravel()
        statistic = float(
            flat @ np.linalg.lstsq(_covariances_of_means(covariance, per_trial, pooled), flat)[0]
        )
        from scipy.special import chdtrc  # takes longer to import than all of llrkit

        p_value = float(chdtrc(k * (k - 1), statistic))
    return Idempotence(
        classes=means.classes,
        observed=means.mean,
        expected=calibrated_means(covariance),
        standard_errors=np.sqrt(spread),
        covariance=covariance,
        slopes=slopes[:-1] - slopes[-1],
        offsets=offsets[:-1] - offsets[-1],
        statistic=statistic,
        degrees=k * (k - 1),
        p_value=p_value,
    )


def calibrated_means(covariance: FloatArray) -> FloatArray:
    """Means of calibrated Gaussian LLRs over the last class, one row for each class: ``S e_j - diag(S) / 2``.

    Parameters
    ----------
    covariance
        Covariance of the LLRs over the last class.

    Examples
    --------
    >>> calibrated_means(np.array([[4.0]])).ravel()
    array([ 2., -2.])
    """
    d = len(covariance)
    return np.asarray(np.vstack([covariance, np.zeros((1, d))]) - 0.5 * np.diag(covariance))


def _covariances_of_means(s: FloatArray, per_trial: FloatArray, pooled: float) -> FloatArray:
    """Covariance matrix of all components of ``observed - expected``.

    Means vary by ``S / n_j``; entries of S by ``cov(S_ab, S_cd) = (S_ac S_bd + S_ad S_bc) pooled``, and the
    expected means are linear in them.
    """
    k, d = len(per_trial), len(s)
    covariance = np.zeros((k, d, k, d))
    for j in range(k):
        covariance[j, :, j, :] += s * per_trial[j]
        for other in range(k):
            covariance[j, :, other, :] += pooled * _covariance_of_expected_means(s, j, other)
    return covariance.reshape(k * d, k * d)


def _covariance_of_expected_means(s: FloatArray, j: int, other: int) -> FloatArray:
    """Covariance, times the number of trials, of ``S e_j - diag(S)/2`` and the same of another class."""
    d = len(s)
    covariance = 0.5 * s**2  # of the halves of the diagonals
    if j < d:
        covariance = covariance - s * s[j][None, :]  # S_aj with S_bb / 2
    if other < d:
        covariance = covariance - s * s[other][:, None]
    if j < d and other < d:
        covariance = covariance + s * s[j, other] + np.outer(s[:, other], s[j])
    return np.asarray(covariance)


def _variances_of_means(s: FloatArray, per_trial: FloatArray, pooled: float) -> FloatArray:
    """The diagonal of :func:`_covariances_of_means`, one row for each class."""
    k = len(per_trial)
    own = np.multiply.outer(per_trial, np.diag(s))
    return own + pooled * np.array([np.diag(_covariance_of_expected_means(s, j, j)) for j in range(k)])
