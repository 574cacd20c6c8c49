"""PLDA models moved to another domain: by unlabeled embeddings from it, or by a second labeled model.

In all of these ``B`` is the covariance between speakers, ``W`` that within, and ``C`` that of the unlabeled
embeddings of the new domain.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from llrkit._arguments import not_negative, takes
from llrkit._arrays import FloatArray
from llrkit.errors import InputError
from llrkit.recognize.embeddings import Embeddings, vectors_of
from llrkit.recognize.plda.plda_model import PLDA

Unlabeled = Embeddings | npt.ArrayLike


def mean_and_covariance(vectors: Unlabeled, dim: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance (1/n) of embeddings.

    Examples
    --------
    >>> mean_and_covariance([[0.0], [2.0]])
    (array([1.]), array([[1.]]))
    """
    matrix = np.asarray(vectors_of(vectors, dim), dtype=np.float64)
    mean = matrix.mean(axis=0)
    return mean, (matrix - mean).T @ (matrix - mean) / len(matrix)


def recoloring(source: FloatArray, target: FloatArray, *, shrinkage: float = 1e-3) -> FloatArray:
    """The matrix ``A`` of CORAL: rows ``x @ A`` of covariance ``source`` get the covariance ``target``.

    ``A = source^(-1/2) target^(1/2)`` with symmetric square roots; ``shrinkage`` adds that share of the mean
    variance to every direction of both first.

    Parameters
    ----------
    source
        The covariance of the rows.
    target
        The covariance that is wanted.
    shrinkage
        Share of the mean variance that is mixed into the covariance.

    References
    ----------
    Sun, Feng & Saenko, "Return of frustratingly easy domain adaptation", AAAI 2016; Alam, Bhattacharya &
    Kenny, "Speaker verification in mismatched conditions with frustratingly easy domain adaptation",
    Odyssey 2018.

    Examples
    --------
    >>> recoloring(np.diag([4.0, 1.0]), np.diag([1.0, 9.0]), shrinkage=0.0)
    array([[0.5, 0. ],
           [0. , 3. ]])
    """
    not_negative(shrinkage, "shrinkage")
    powers = []
    for covariance, power in ((source, -0.5), (target, 0.5)):
        values, directions = np.linalg.eigh(covariance)
        values = np.maximum(values, 0.0) + shrinkage * np.trace(covariance) / len(covariance)
        if values[0] <= 0.0:
            raise InputError("the covariance is singular; give a shrinkage")
        powers.append((directions * values**power) @ directions.T)
    return np.asarray(powers[0] @ powers[1])


@takes(plda=PLDA)
def coral_plus(plda: PLDA, unlabeled: Unlabeled, *, between: float = 0.8, within: float = 0.8) -> PLDA:
    """CORAL+: covariances of a PLDA model raised, never lowered, towards those of another domain.

    With ``A`` of :func:`recoloring` from ``B + W`` to ``C``, pseudo-in-domain covariances are ``A' B A`` and
    ``A' W A``. In coordinates where the old covariance is the identity and the new one diagonal with
    variances d, the result has ``(1 - g) + g max(1, d)``. The mean becomes that of the new domain.

    Parameters
    ----------
    plda
        The PLDA model.
    unlabeled
        Embeddings of the new domain; their speakers need not be known.
    between, within
        The weights ``g`` of the new covariances.

    References
    ----------
    Lee, Wang & Koshinaka, "The CORAL+ algorithm for unsupervised domain adaptation of PLDA", ICASSP 2019.

    Examples
    --------
    >>> plda = PLDA([0.0], [[1.0]], [[1.0]])
    >>> coral_plus(plda, [[-4.0], [4.0]], between=1.0, within=0.5).within.round(2)
    array([[4.5]])
    """
    for name, weight in (("between", between), ("within", within)):
        if not 0.0 <= weight <= 1.0:
            raise InputError(f"{name} must be from 0 to 1, got {weight!r}")
    mean, covariance = mean_and_covariance(unlabeled, plda.dim)
    a = recoloring(plda.between + plda.within, covariance, shrinkage=1e-6)
    raised = [
        _raised_variances(old, a.T @ old @ a, weight)
        for old, weight in ((plda.between, between), (plda.within, within))
    ]
    return PLDA(mean, *raised)


def _raised_variances(old: FloatArray, new: FloatArray, weight: float) -> FloatArray:
    """Variances of the new covariance where they are larger, with this weight; low-rank covariances too."""
    floor = 1e-8 * np.trace(old) / len(old)
    ratios, basis = eigh(new, old + floor * np.eye(len(old)))
    back = (old + floor * np.eye(len(old))) @ basis  # the inverse of the transposed basis
    gain = weight * np.maximum(ratios - 1.0, 0.0)
    result = old + (back * gain) @ back.T
    return np.asarray(0.5 * (result + result.T))


@takes(plda=PLDA)
def kaldi_adapted(
    plda: PLDA,
    unlabeled: Unlabeled,
    *,
    between: float = 0.7,
    within: float = 0.3,
    mean_difference: float = 1.0,
) -> PLDA:
    """Kaldi's unsupervised adaptation (``ivector-adapt-plda``): variance that is too large is shared out.

    The mean becomes that of the unlabeled embeddings, their covariance is enlarged by ``mean_difference``
    times the square of the shift. In coordinates where ``B + W`` is the identity and that covariance is
    diagonal, the excess ``s_i - 1`` of each direction, where positive, is added to ``W`` and to ``B`` with
    the weights ``within`` and ``between``.

    Parameters
    ----------
    plda
        The PLDA model.
    unlabeled
        Embeddings of the new domain; their speakers need not be known.
    between
        Share of the excess that goes between speakers.
    within
        Share of the excess that goes within speakers.
    mean_difference
        Weight of the difference of the means.

    Examples
    --------
    >>> plda = PLDA([0.0], [[3.0]], [[1.0]])
    >>> moved = kaldi_adapted(plda, [[-4.0], [4.0]])
    >>> moved.between.round(2), moved.within.round(2)
    (array([[11.4]]), array([[4.6]]))
    """
    for name, weight in (("between", between), ("within", within), ("mean_difference", mean_difference)):
        if not 0.0 <= weight < np.inf:
            raise InputError(f"{name} must be a number of at least 0, got {weight!r}")
    mean, covariance = mean_and_covariance(unlabeled, plda.dim)
    shift = mean - plda.mean
    covariance = covariance + mean_difference * np.outer(shift, shift)
    total = plda.between + plda.within
    excess, basis = eigh(covariance, total)  # basis' total basis = I
    back = total @ basis
    extra = (back * np.maximum(excess - 1.0, 0.0)) @ back.T
    return PLDA(mean, plda.between + between * extra, plda.within + within * extra)


@takes(plda=PLDA, in_domain=PLDA)
def interpolated(plda: PLDA, in_domain: PLDA, weight: float = 0.5) -> PLDA:
    """Covariances of two labeled models, ``weight`` of the one of the domain; its mean.

    Parameters
    ----------
    plda
        The PLDA model.
    in_domain
        A model of the new domain.
    weight
        Weight of the model of the new domain.

    References
    ----------
    Garcia-Romero, McCree, Shum, Brümmer & Vaquero, "Unsupervised domain adaptation for i-vector speaker
    recognition", Odyssey 2014.

    Examples
    --------
    >>> interpolated(PLDA([0.0], [[1.0]], [[1.0]]), PLDA([2.0], [[3.0]], [[5.0]]), 0.25).within
    array([[2.]])
    """
    if not 0.0 <= weight <= 1.0:
        raise InputError(f"the weight must be from 0 to 1, got {weight!r}")
    if plda.dim != in_domain.dim:
        raise InputError(f"models of {plda.dim} and {in_domain.dim} dimensions")
    between, within = (
        (1.0 - weight) * getattr(plda, name) + weight * getattr(in_domain, name)
        for name in ("between", "within")
    )
    return PLDA(in_domain.mean, between, within)
