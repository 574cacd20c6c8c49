"""Estimating the steps before scoring: centering, whitening, LDA, within-class covariance normalization."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, eigh

from llrkit._arguments import not_negative, takes, whole_number
from llrkit._arrays import FloatArray
from llrkit._format import counted
from llrkit._warn import warn_caller
from llrkit.errors import InputError, SpeechWarning, UnknownNameError
from llrkit.recognize.backends.speaker_scatter import speaker_sums
from llrkit.recognize.backends.transforms import Affine, Chain, LengthNorm, Transform
from llrkit.recognize.covariances import rank_of, require_definite
from llrkit.recognize.embeddings import Embeddings, vectors_of

Trainable = Embeddings | npt.ArrayLike


def train_centering(vectors: Trainable) -> Affine:
    """Subtract the mean.

    Parameters
    ----------
    vectors
        Embeddings, or an array with one row each.

    Examples
    --------
    >>> train_centering([[1.0, 0.0], [3.0, 0.0]]).mean
    array([2., 0.])
    """
    return Affine(vectors_of(vectors).mean(axis=0, dtype=np.float64), name="centering")


def train_whitening(vectors: Trainable, *, dim: int | None = None, shrinkage: float = 0.0) -> Affine:
    """Subtract the mean and make the covariance the identity, in the ``dim`` directions of largest variance.

    ``shrinkage`` adds that share of the mean variance to every direction first. Without ``dim``, directions
    in which the embeddings do not vary are left out, and a warning says so.

    Parameters
    ----------
    vectors
        Embeddings, or an array with one row each.
    dim
        Number of dimensions to keep; by default all.
    shrinkage
        Share of the mean variance that is mixed into the covariance.

    Examples
    --------
    >>> whiten = train_whitening([[0.0, 1.0], [2.0, -1.0], [4.0, 1.0], [2.0, 3.0]])
    >>> np.cov(whiten([[0.0, 1.0], [2.0, -1.0], [4.0, 1.0], [2.0, 3.0]]).T, bias=True).round(12) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    matrix = vectors_of(vectors).astype(np.float64)
    mean = matrix.mean(axis=0)
    covariance = _shrunk_covariance((matrix - mean).T @ (matrix - mean) / len(matrix), shrinkage)
    kept = _dimensions_of_step(dim, len(mean))
    if dim is None and 0 < (rank := rank_of(covariance)) < kept:
        kept = rank
        warn_caller(
            f"{len(matrix)} embeddings vary in {rank} of {len(mean)} directions: the others are left out",
            SpeechWarning,
        )
    elif dim is None:
        require_definite(covariance, f"the covariance of {counted(len(matrix), 'embedding')}")
    values, directions = np.linalg.eigh(covariance)
    values, directions = values[::-1][:kept], directions[:, ::-1][:, :kept]
    if values[-1] <= len(mean) * np.finfo(float).eps * values[0]:
        raise InputError(f"the embeddings do not vary in {kept} directions; ask for fewer dimensions")
    return Affine(mean, directions / np.sqrt(values), name="whitening")


def train_lda(
    vectors: Trainable,
    speakers: npt.ArrayLike | None = None,
    *,
    dim: int | None = None,
    shrinkage: float = 0.0,
) -> Affine:
    """Linear discriminant analysis: the directions in which speakers differ most, within-variance one.

    The columns solve ``S_b v = lambda W v`` with ``v' W v = 1``. At most as many dimensions as there are
    speakers less one.

    Parameters
    ----------
    vectors
        Embeddings, or an array with one row each.
    speakers
        The speaker of each row; by default that of the embeddings.
    dim
        Number of dimensions to keep; by default all.
    shrinkage
        Share of the mean variance that is mixed into the covariance.

    Examples
    --------
    >>> lda = train_lda([[0.0, 1.0], [0.0, -1.0], [9.0, 1.5], [9.2, -1.0]], list("aabb"))
    >>> lda
    LDA(2 to 1 dimensions)
    """
    sums = speaker_sums(vectors, speakers, shrinkage=shrinkage)
    most = min(sums.dim, len(sums.counts) - 1)
    if dim is not None and not 1 <= whole_number(dim, 1, "dim") <= most:
        raise InputError(f"dim must be from 1 to {most} (dimensions, speakers less one), got {dim!r}")
    mean = sums.counts @ sums.means / sums.sessions
    centered = sums.means - mean
    between = (centered * sums.counts[:, None]).T @ centered / sums.sessions
    _, directions = eigh(between, sums.within)
    return Affine(mean, directions[:, ::-1][:, : dim or most], name="LDA")


def train_wccn(
    vectors: Trainable, speakers: npt.ArrayLike | None = None, *, shrinkage: float = 0.0
) -> Affine:
    """Within-class covariance normalization: subtract the mean, make the covariance within speakers one.

    The matrix is the Cholesky factor of the inverse of the covariance within speakers (Hatch, Kajarekar &
    Stolcke, Interspeech 2006).

    Parameters
    ----------
    vectors
        Embeddings, or an array with one row each.
    speakers
        The speaker of each row; by default that of the embeddings.
    shrinkage
        Share of the mean variance that is mixed into the covariance.

    Examples
    --------
    >>> wccn = train_wccn([[0.0], [4.0], [9.0], [13.0]], list("aabb"))
    >>> round(float(wccn.matrix[0, 0])**-2, 6)
    8.0
    """
    sums = speaker_sums(vectors, speakers, shrinkage=shrinkage)
    mean = sums.counts @ sums.means / sums.sessions
    factor: FloatArray = cholesky(np.linalg.inv(sums.within), lower=True)
    return Affine(mean, factor, name="WCCN")


Step = str | Transform | Callable[[Embeddings], Transform]
_NAMED: dict[str, Callable[[Embeddings, int | None], Transform]] = {
    "center": lambda e, dim: train_centering(e),
    "whiten": lambda e, dim: train_whitening(e, dim=dim),
    "lda": lambda e, dim: train_lda(e, dim=dim),
    "wccn": lambda e, dim: train_wccn(e),
    "length": lambda e, dim: LengthNorm(),
}
_WITH_DIM = ("whiten", "lda")


@takes(embeddings=Embeddings)
def train_chain(embeddings: Embeddings, steps: Sequence[Step]) -> Chain:
    """Train steps one after the other, each on what the ones before it make of the embeddings.

    Parameters
    ----------
    embeddings
        The background, with speakers where a step needs them.
    steps
        Names (``center``, ``whiten``, ``whiten:100``, ``lda``, ``lda:150``, ``wccn``, ``length``), steps that
        are trained already, or functions that train one.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> background = Embeddings(rng.normal(size=(60, 5)), [str(i) for i in range(60)], np.arange(60) // 3)
    >>> train_chain(background, ["center", "length", "lda:2"])
    Chain(steps=(centering(5 dimensions), LengthNorm(length='unit'), LDA(5 to 2 dimensions)))
    """
    chain = Chain()
    for step in steps:
        if isinstance(step, str):
            transform = _train_named_step(step, embeddings)
        else:
            transform = step if isinstance(step, Transform) else step(embeddings)
        embeddings = transform(embeddings)
        chain = chain.then(transform)
    return chain


def parsed_step(text: str) -> tuple[str, int | None]:
    """Name and dimensions of a step.

    Examples
    --------
    >>> parsed_step("LDA:150"), parsed_step("length")
    (('lda', 150), ('length', None))
    """
    name, colon, size = text.strip().lower().partition(":")
    if name not in _NAMED or (colon and (name not in _WITH_DIM or not size.isdecimal())):
        known_steps = ", ".join(f"{known}[:DIM]" if known in _WITH_DIM else known for known in _NAMED)
        raise UnknownNameError(f"unknown step {text!r}; there are: {known_steps}")
    return name, int(size) if colon else None


def _train_named_step(text: str, embeddings: Embeddings) -> Transform:
    name, size = parsed_step(text)
    return _NAMED[name](embeddings, size)


def _shrunk_covariance(covariance: FloatArray, shrinkage: float) -> FloatArray:
    not_negative(shrinkage, "shrinkage")
    return np.asarray(
        covariance + shrinkage * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    )


def _dimensions_of_step(dim: int | None, most: int) -> int:
    if dim is not None and not 1 <= dim <= most:
        raise InputError(f"dim must be from 1 to {most}, got {dim!r}")
    return most if dim is None else whole_number(dim, 1, "dim")
