"""PSDA: a von Mises-Fisher speaker, and von Mises-Fisher sessions around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from llrkit._arguments import whole_number
from llrkit._arrays import Array, FloatArray, IntArray
from llrkit.errors import InputError
from llrkit.recognize.backends.speaker_scatter import rows_and_speakers
from llrkit.recognize.covariances import float_type
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.model_files import SavedModel
from llrkit.recognize.psda.von_mises_fisher import (
    add_sphere_llrs,
    concentration,
    log_normalizer,
    mean_length,
    session_sums,
)

MOST_CONCENTRATED = 1e8


@dataclass(frozen=True, eq=False, repr=False)
class PSDA(SavedModel):
    """The model ``z ~ VMF(mean, between)`` of a speaker and ``x ~ VMF(z, within)`` of each session.

    For embeddings of length one. ``between`` and ``within`` are concentrations: the larger, the closer. With
    the sum ``s`` of ``n`` sessions the speaker has the posterior ``VMF`` of the parameter ``between mean +
    within s``, so sums and Bessel functions are all that an LLR needs.

    References
    ----------
    Brümmer, Swart, Mošner, Silnova, Plchot, Stafylakis & Burget, "Probabilistic spherical discriminant
    analysis: an alternative to PLDA for length-normalized embeddings", Interspeech 2022.

    Examples
    --------
    >>> psda = PSDA([1.0, 0.0, 0.0], 1.0, 20.0)
    >>> psda.scores([[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).round(3)
    array([[ 3.122, -8.242]])
    """

    mean: FloatArray
    """The mean direction of speakers, a vector of length one."""
    between: FloatArray
    """Concentration of speakers around the mean, at least 0."""
    within: FloatArray
    """Concentration of sessions around their speaker, above 0."""
    schema: ClassVar[str] = "llrkit.psda/1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mean.ndim != 1 or len(self.mean) < 2 or not np.isclose(np.linalg.norm(self.mean), 1.0):
            raise InputError("the mean must be a vector of length one in two dimensions or more")
        if self.between.shape or not 0.0 <= float(self.between) < np.inf:
            raise InputError("the concentration between speakers must be a number of at least 0")
        if self.within.shape or not 0.0 < float(self.within) < np.inf:
            raise InputError("the concentration within speakers must be a positive number")

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.mean)

    def scores(
        self,
        enroll: Embeddings | npt.ArrayLike,
        test: Embeddings | npt.ArrayLike,
        counts: npt.ArrayLike | None = None,
        *,
        dtype: npt.DTypeLike = np.float64,
    ) -> Array:
        """LLRs of all pairs; a row may be the average of sessions (``counts``, or column ``sessions``).

        Parameters
        ----------
        enroll
            Embeddings of the enrollment side.
        test
            Embeddings of the test side.
        counts
            Number of sessions in each enrollment row.
        dtype
            Type of the result.
        """
        scale = float(self.within)
        own, other = (
            scale * session_sums(rows, sizes, self.dim, what)
            for rows, sizes, what in ((enroll, counts, "enrollment"), (test, None, "test"))
        )
        scores = np.zeros((len(own), len(other)), dtype=float_type(dtype))
        add_sphere_llrs(scores, float(self.between) * self.mean, own, other)
        return scores

    def __repr__(self) -> str:
        return f"PSDA({self.dim} dimensions, between {self.between:.4g}, within {self.within:.4g})"


class PSDATraining(NamedTuple):
    """A trained model, and the log-likelihood of its training data before each step and after the last."""

    model: PSDA
    """The trained model."""
    log_likelihood: FloatArray
    """Before each step and after the last; it never falls."""


def train_psda(
    vectors: Embeddings | npt.ArrayLike, speakers: npt.ArrayLike | None = None, *, iterations: int = 20
) -> PSDATraining:
    """Train PSDA by expectation-maximization, both steps of which are exact; the log-likelihood never falls.

    Parameters
    ----------
    vectors
        Embeddings, or an array with one row each.
    speakers
        The speaker of each row; by default that of the embeddings.
    iterations
        Number of iterations.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> means = rng.normal(size=(200, 8))
    >>> x = np.repeat(means, 4, axis=0) + 0.5 * rng.normal(size=(800, 8))
    >>> model, history = train_psda(x / np.linalg.norm(x, axis=1, keepdims=True), np.arange(800) // 4)
    >>> model.dim, bool((np.diff(history) > -1e-9).all())
    (8, True)
    """
    whole_number(iterations, 0, "iterations")
    matrix, codes = unit_rows_and_codes(vectors, speakers)
    sums = np.zeros((int(codes.max()) + 1, matrix.shape[1]))
    np.add.at(sums, codes, matrix)
    model = _start_of_psda(sums, len(matrix))
    history = []
    for _ in range(iterations):
        parameters = float(model.between) * model.mean + float(model.within) * sums
        history.append(_psda_log_likelihood(model, parameters, len(matrix)))
        model = _maximized_psda(parameters, sums, len(matrix))
    parameters = float(model.between) * model.mean + float(model.within) * sums
    history.append(_psda_log_likelihood(model, parameters, len(matrix)))
    return PSDATraining(model, np.array(history))


def unit_rows_and_codes(
    vectors: Embeddings | npt.ArrayLike, speakers: npt.ArrayLike | None = None
) -> tuple[FloatArray, IntArray]:
    """Embeddings of length one as a matrix, and the number of the speaker of each row."""
    matrix, names = rows_and_speakers(vectors, speakers)
    if not np.allclose(np.linalg.norm(matrix, axis=1), 1.0, atol=1e-5):
        raise InputError("PSDA is for embeddings of length one; normalize the length first")
    distinct, codes = np.unique(names, return_inverse=True)
    if len(distinct) < 2 or len(distinct) == len(matrix):
        raise InputError("PSDA needs two speakers at least, and several sessions of some of them")
    return matrix, codes


def _start_of_psda(sums: FloatArray, n: int) -> PSDA:
    """As if speakers were where the means of their sessions point."""
    directions = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return _psda_from_means(directions.mean(axis=0), float((directions * sums).sum()) / n)


def _maximized_psda(parameters: FloatArray, sums: FloatArray, n: int) -> PSDA:
    k = np.linalg.norm(parameters, axis=1)
    expected = parameters * (mean_length(parameters.shape[1], k) / k)[:, None]
    return _psda_from_means(expected.mean(axis=0), float((expected * sums).sum()) / n)


def _psda_from_means(mean: FloatArray, along: float) -> PSDA:
    dim, length = len(mean), float(np.linalg.norm(mean))
    between = concentration(dim, min(length, 1.0 - 1e-12))
    within = min(concentration(dim, min(max(along, 1e-9), 1.0 - 1e-12)), MOST_CONCENTRATED)
    return PSDA(mean / length, np.asarray(min(between, MOST_CONCENTRATED)), np.asarray(within))


def _psda_log_likelihood(model: PSDA, parameters: FloatArray, n: int) -> float:
    dim, k = model.dim, np.linalg.norm(parameters, axis=1)
    own = n * float(log_normalizer(dim, float(model.within)))
    prior = len(k) * float(log_normalizer(dim, float(model.between)))
    return own + prior - float(log_normalizer(dim, k).sum())
