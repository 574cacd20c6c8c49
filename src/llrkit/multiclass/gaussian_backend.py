"""Gaussian back-ends: closed forms from means and covariances of every class."""

from __future__ import annotations

import numpy as np

from llrkit._arguments import takes
from llrkit._arrays import FloatArray
from llrkit._version import __version__
from llrkit.calibrate.saved_map import MapMetadata
from llrkit.errors import ConstantScoreError, InputError, TooFewTrialsError
from llrkit.multiclass.class_counts_and_priors import Prior, class_prior
from llrkit.multiclass.class_map_base import ClassMap
from llrkit.multiclass.class_map_forms import AffineClassMap, QuadraticClassMap
from llrkit.multiclass.class_moments import ClassMeans, Scatter, class_means
from llrkit.scores.class_scores import ClassSource


@takes()
def fit_gaussian(
    source: ClassSource, *, weights: Prior = "flat", shared: bool = True, shrinkage: float = 0.0
) -> ClassMap:
    """A Gaussian for each class, with one covariance matrix or with one each: closed form, two passes.

    With ``shared`` the log-likelihoods are affine, ``l_k = m_k' S^-1 x - m_k' S^-1 m_k / 2``, where
    ``S = sum_k w_k S_k`` is the class-weighted mean of the 1/N covariance matrices: the multi-class form of
    CMLG (van Leeuwen & Brümmer 2013), to which two classes lead. Its log-likelihood-ratios are calibrated in
    the sense of :func:`idempotence`; fitting again changes nothing. Without ``shared`` they are quadratic.

    Vectors, embeddings for instance, are taken as they are; of scores, the log-likelihood-ratios over the
    last class are taken, since a constant per trial says nothing.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    weights
        Weights w of the classes in the shared covariance: "flat", "counts" (then it is linear
        discriminant analysis) or a number for each class.
    shared
        One covariance matrix for all classes.
    shrinkage
        Share of a multiple of the identity, of the same trace, in every covariance matrix.

    Examples
    --------
    >>> import llrkit as lk
    >>> vectors = lk.ClassVectors([[0.0, 1], [2, 1], [4, 0], [4, 2], [1, 5], [1, 7]], list("aabbcc"))
    >>> lk.multiclass.fit_gaussian(vectors).posteriors([[1.0, 1.0]]).round(3)
    array([[1., 0., 0.]])
    """
    if not (isinstance(shrinkage, (int, float)) and 0.0 <= shrinkage <= 1.0):
        raise InputError(f"shrinkage must be between 0 and 1, got {shrinkage!r}")
    means = class_means(source)
    share = class_prior(weights, means.counts)
    classes = list(means.classes)
    metadata: MapMetadata = {
        "method": "gaussian" if shared else "free-gaussian",
        "options": {
            "weights": weights if isinstance(weights, str) else share.tolist(),
            "shared": shared,
            "shrinkage": shrinkage,
        },
        "provenance": {
            "llrkit": __version__,
            "n": {name: int(n) for name, n in zip(means.classes, means.n, strict=True)},
        },
    }
    if not shared:
        each = source.reduce(Scatter.at(means.mean, None)).each / means.n[:, None, None]
        each = np.array([_usable_covariance(one, shrinkage, f"class {name}")
                         for one, name in zip(each, means.classes, strict=True)])  # fmt: skip
        return QuadraticClassMap(
            classes=classes, means=means.mean, covariances=each, differences=means.differences, **metadata
        )
    pooled = shared_covariance(source, means, share)
    weights_of, offsets = linear_discriminant(
        means.mean, _usable_covariance(pooled, shrinkage, "all classes")
    )
    if means.differences:
        weights_of = np.column_stack([weights_of, -weights_of.sum(axis=1)])
    metadata["details"] = {"passes": 2}
    return AffineClassMap(classes=classes, weights=weights_of, offsets=offsets, **metadata)


def shared_covariance(source: ClassSource, means: ClassMeans, weights: FloatArray) -> FloatArray:
    """The weighted mean of the 1/N covariance matrices of the classes, in a second pass."""
    return source.reduce(Scatter.at(means.mean, weights / means.n)).shared


def linear_discriminant(mean: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights (K, D) and offsets (K,) of Gaussian log-likelihoods with a common covariance matrix.

    Examples
    --------
    >>> linear_discriminant(np.array([[1.0], [-1.0]]), np.array([[2.0]]))
    (array([[ 0.5],
           [-0.5]]), array([-0.25, -0.25]))
    """
    weights = np.asarray(np.linalg.solve(covariance, mean.T).T, dtype=np.float64)
    return weights, np.asarray(-0.5 * (weights * mean).sum(axis=1))


def _usable_covariance(covariance: FloatArray, shrinkage: float, what: str) -> FloatArray:
    d = len(covariance)
    spread = np.diag(covariance)
    if not (spread > 0).any():
        raise ConstantScoreError(f"{what}: the trials of a class are all the same")
    mixed = (1.0 - shrinkage) * covariance + shrinkage * spread.mean() * np.eye(d)
    # correlations, so that the units of the dimensions do not matter
    scale = np.sqrt(np.diag(mixed))
    if (scale == 0).any() or np.linalg.eigvalsh(mixed / np.outer(scale, scale))[0] < 1e-12:
        raise TooFewTrialsError(
            f"the covariance matrix of {what} has no inverse: some dimensions are constant or follow from "
            "others, or there are too few trials; use shrinkage=0.01, say"
        )
    return np.asarray(mixed)
