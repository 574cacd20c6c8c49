"""Back-ends: transforms with PLDA or the cosine, and their adaptation to another domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import BinaryIO, ClassVar, Self

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, FloatArray, of_kind, one_of, share
from llrkit.base.files import existing_file
from llrkit.core.numerics import blocks
from llrkit.errors import FileFormatError, InputError
from llrkit.io.array_files import part_of, prefixed
from llrkit.speech.embeddings import Arrays, Embeddings, Saved, vectors_of
from llrkit.speech.kaldi import read_kaldi_text
from llrkit.speech.models import ADAPTATIONS, transforms
from llrkit.speech.models.plda import PLDA, coral_plus, interpolated, kaldi_adapted, recoloring, train_plda
from llrkit.speech.models.svm import Models, pool_sessions
from llrkit.speech.models.transforms import Affine, AnyStep, Chain, LengthNorm, Trainable, Transform
from llrkit.speech.scoring import normalized_scores


def cosine_scores(
    enroll: Trainable, test: Trainable, *, dtype: npt.DTypeLike = np.float64, out: Array | None = None
) -> Array:
    """Cosines of the angles between all pairs, a matrix of shape (rows of ``enroll``, rows of ``test``).

    Parameters
    ----------
    enroll
        Embeddings of the enrollment side.
    test
        Embeddings of the test side.
    dtype
        Type of the result.
    out
        Array that the result is written into.

    Examples
    --------
    >>> cosine_scores([[3.0, 4.0], [0.0, 2.0]], [[1.0, 0.0]])
    array([[0.6],
           [0. ]])
    """
    units = []
    for rows, side in ((enroll, "enrollment"), (test, "test")):
        vectors = vectors_of(rows, what=f"{side} embeddings")
        ids = rows.ids if isinstance(rows, Embeddings) else None
        # Dividing first makes the score one matrix product.
        units.append(vectors / transforms.lengths_to_divide_by(vectors, ids)[:, None])
    if units[0].shape[1] != units[1].shape[1]:
        dims = [unit.shape[1] for unit in units]
        raise InputError(f"enrollment embeddings have {dims[0]} dimensions, test ones {dims[1]}")
    scores = transforms.empty_scores((len(units[0]), len(units[1])), dtype, out)
    # After the division, so that 32 bits hold unit vectors and not large raw ones.
    left, right = (unit.astype(np.dtype(dtype)) for unit in units)
    for block in blocks(len(left), transforms.rows_per_block(len(right))):
        scores[block] = left[block] @ right.T
    return scores


SCORERS = ("plda", "cosine")


@dataclass(frozen=True, eq=False, repr=False)
class Backend(Saved):
    """Steps before scoring, and PLDA; without it the score is the cosine.

    Examples
    --------
    >>> from llrkit.speech.models.transforms import LengthNorm
    >>> backend = Backend(Chain((LengthNorm(),)))
    >>> backend.scorer
    'cosine'
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/backend.npz"
    >>> Backend(Chain(), PLDA([0.0], [[1.0]], [[1.0]])).save(file)
    >>> Backend.load(file)
    Backend(Chain(steps=()), PLDA(1 dimensions, rank 1))
    """

    schema: ClassVar[str] = "llrkit.backend/1"
    needed: ClassVar[tuple[str, ...]] = ("kinds",)
    chain: Chain
    """The steps before scoring."""
    plda: PLDA | None = None
    """Two-covariance PLDA, if it scores."""

    @property
    def scorer(self) -> str:
        """'plda' or 'cosine'."""
        return "cosine" if self.plda is None else "plda"

    def prepare(self, embeddings: Embeddings) -> Embeddings:
        """Raw embeddings made ready for scoring.

        Parameters
        ----------
        embeddings
            The embeddings.
        """
        return self.chain(embeddings)

    def enroll(self, embeddings: Embeddings, models: Models | None = None) -> Embeddings:
        """Raw sessions made ready for scoring, one row per model (by default per speaker).

        Parameters
        ----------
        embeddings
            The embeddings.
        models
            Sessions of each model, or the model of each session; by default speakers are models.
        """
        return self.pool(self.chain(embeddings), models)

    def pool(self, ready: Embeddings, models: Models | None = None) -> Embeddings:
        """Sessions that are ready for scoring, one row per model: see :func:`pool_sessions`.

        Parameters
        ----------
        ready
            Embeddings that are ready for scoring.
        models
            Sessions of each model, or the model of each session; by default speakers are models.
        """
        return pool_sessions(ready, models, plda=self.plda)

    def scores(
        self,
        enroll: Embeddings,
        test: Embeddings,
        *,
        normalize: str = "none",
        cohort: Embeddings | None = None,
        top: int | None = None,
        dtype: npt.DTypeLike = np.float64,
    ) -> Array:
        """Scores of all pairs of embeddings that are ready (see :meth:`enroll` and :meth:`prepare`).

        Parameters
        ----------
        enroll
            Embeddings of the enrollment side.
        test
            Embeddings of the test side.
        normalize
            'none', 'z', 't', 'zt', 'tz', 's', 'as1' or 'as2' (adaptive: see :func:`as_norm`).
        cohort
            Impostors, made ready too; needed to normalize.
        top
            Size of the adapted cohort of 'as1' and 'as2'.
        dtype
            Type of the result.
        """

        def score(left: Embeddings, right: Embeddings) -> Array:
            if self.plda is None:
                return cosine_scores(left, right, dtype=dtype)
            return self.plda.scores(left, right, dtype=dtype)

        return normalized_scores(score, enroll, test, cohort, normalize=normalize, top=top)

    def __repr__(self) -> str:
        return f"Backend({self.chain!r}, {self.plda or self.scorer!s})"

    def arrays(self) -> dict[str, Array]:
        """What is saved."""
        return self.chain.arrays() | ({} if self.plda is None else prefixed("plda.", self.plda.arrays()))

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The back-end that :meth:`arrays` described.

        Parameters
        ----------
        arrays
            Named arrays, as they were saved.
        """
        plda = part_of(arrays, "plda.")
        return cls(Chain.from_arrays(arrays), PLDA.from_arrays(plda) if plda else None)


def train_backend(
    background: Embeddings,
    steps: Sequence[AnyStep] = ("center", "length"),
    *,
    scorer: str = "plda",
    iterations: int = 10,
    rank: int | None = None,
    shrinkage: float = 0.0,
) -> Backend:
    """Train the steps one after the other on background speakers, then the scorer.

    Parameters
    ----------
    background
        Embeddings of speakers that will neither enroll nor be tested.
    steps
        As in :func:`train_chain`.
    scorer
        'plda' or 'cosine'.
    iterations, rank, shrinkage
        As in :func:`train_plda`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> speakers = np.arange(300) // 3
    >>> vectors = rng.normal(size=(100, 5))[speakers] + rng.normal(size=(300, 5))
    >>> background = Embeddings(vectors, [f"s{i}" for i in range(300)], speakers)
    >>> backend = train_backend(background, ["lda:3", "length"], rank=2)
    >>> backend.plda
    PLDA(3 dimensions, rank 2)
    """
    of_kind(background, Embeddings, "background")
    one_of(scorer, SCORERS, "scorer")
    if scorer != "plda" and (rank is not None or shrinkage):
        raise InputError(f"rank and shrinkage are options of plda, not of {scorer}")
    chain = transforms.train_chain(background, steps)
    if scorer == "cosine":
        return Backend(chain)
    plda = train_plda(chain(background), iterations=iterations, rank=rank, shrinkage=shrinkage)
    return Backend(chain, plda.model)


def recentered(backend: Backend, unlabeled: Embeddings) -> Backend:
    """The same back-end with every mean that of unlabeled embeddings of the new domain.

    The mean of each linear step becomes that of the unlabeled embeddings where they reach it, and so does the
    mean of PLDA.

    Parameters
    ----------
    backend
        The back-end.
    unlabeled
        Embeddings of the new domain; their speakers need not be known.

    Examples
    --------
    >>> from llrkit.speech.models.plda import PLDA
    >>> backend = Backend(Chain((Affine([5.0]),)), PLDA([0.0], [[1.0]], [[1.0]]))
    >>> moved = recentered(backend, Embeddings([[1.0], [2.0]], ["a", "b"]))
    >>> moved.chain.steps[0].mean, moved.plda.mean
    (array([1.5]), array([0.]))
    """
    of_kind(backend, Backend, "backend")
    of_kind(unlabeled, Embeddings, "unlabeled")
    steps: list[Transform] = []
    for step in backend.chain.steps:
        if isinstance(step, Affine):
            # The mean of the unlabeled embeddings as they arrive at this step, after the steps before it
            # have been moved too.
            step = Affine(unlabeled.vectors.mean(axis=0, dtype=np.float64), step.matrix, step.name)
        steps.append(step)
        unlabeled = step(unlabeled)
    mean, plda = unlabeled.vectors.mean(axis=0, dtype=np.float64), backend.plda
    return Backend(Chain(tuple(steps)), None if plda is None else replace(plda, mean=mean))


def recolored(background: Embeddings, unlabeled: Embeddings, *, shrinkage: float = 1e-3) -> Embeddings:
    """CORAL: background embeddings with the mean and covariance of those of the new domain.

    Parameters
    ----------
    background
        Embeddings with known speakers.
    unlabeled
        Embeddings of the new domain; their speakers need not be known.
    shrinkage
        Share of the mean variance that is mixed into the covariance.

    Examples
    --------
    >>> background = Embeddings([[0.0], [2.0]], ["a", "b"])
    >>> recolored(background, Embeddings([[10.0], [16.0]], ["c", "d"]), shrinkage=0.0).vectors.ravel()
    array([10., 16.])
    """
    of_kind(background, Embeddings, "background")
    of_kind(unlabeled, Embeddings, "unlabeled")
    mean, covariance = transforms.mean_and_covariance(background)
    new_mean, new_covariance = transforms.mean_and_covariance(unlabeled, background.dim)
    a = recoloring(covariance, new_covariance, shrinkage=shrinkage)
    return background.replace(vectors=(background.vectors - mean) @ a + new_mean)


def train_adapted_backend(
    background: Embeddings,
    in_domain: Embeddings,
    steps: Sequence[AnyStep] = ("center", "length"),
    *,
    adaptation: str = "center",
    scorer: str = "plda",
    iterations: int = 10,
    rank: int | None = None,
    weight: float | None = None,
) -> Backend:
    """Train a back-end on background speakers and adapt it to another domain.

    Parameters
    ----------
    background
        Embeddings of many speakers, of another domain.
    in_domain
        Embeddings of the domain that is meant; their speakers are needed for 'interpolate' only.
    adaptation
        'center': means of the new domain (:func:`recentered`). 'coral': the background is given mean and
        covariance of the new domain before training (:func:`recolored`). 'coral+' and 'kaldi': centered, and
        the covariances of PLDA raised (:func:`coral_plus`, :func:`kaldi_adapted`). 'interpolate': centered,
        and mixed with a PLDA that is trained on the in-domain speakers (:func:`interpolated`).
    steps, scorer, iterations, rank
        As in :func:`train_backend`.
    weight
        Of the new domain: of 'coral+' (0.8 by default) and of 'interpolate' (0.5).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> speakers = np.arange(300) // 3
    >>> vectors = rng.normal(size=(100, 2))[speakers] + rng.normal(size=(300, 2))
    >>> background = Embeddings(vectors, [f"s{i}" for i in range(300)], speakers)
    >>> new = Embeddings(3.0 + rng.normal(size=(50, 2)), [f"n{i}" for i in range(50)])
    >>> backend = train_adapted_backend(background, new, ["center"])
    >>> bool(np.allclose(backend.chain.steps[0].mean, new.vectors.mean(axis=0)))
    True
    """
    of_kind(in_domain, Embeddings, "in_domain")
    of_kind(background, Embeddings, "background")
    require_adaptation(adaptation, scorer, weight)
    if in_domain.dim != background.dim:
        raise InputError(
            f"the embeddings of the new domain have {in_domain.dim} dimensions, the others {background.dim}"
        )
    # Before training: every step and PLDA then see a background of the new mean and covariance.
    if adaptation == "coral":
        background = recolored(background, in_domain)
    trained = train_backend(background, steps, scorer=scorer, iterations=iterations, rank=rank)
    if adaptation == "coral":
        return trained
    moved = recentered(trained, in_domain)
    if adaptation == "center" or moved.plda is None:
        return moved
    # Posterior covariances are no part of adaptation, and carrying them through the chain is costly.
    ready = moved.prepare(in_domain.replace(covariances=None))
    if adaptation == "kaldi":
        return Backend(moved.chain, kaldi_adapted(moved.plda, ready))
    if adaptation == "coral+":
        weights = {} if weight is None else {"between": weight, "within": weight}
        return Backend(moved.chain, coral_plus(moved.plda, ready, **weights))
    # In the space of the centered chain, so that the two models can be mixed.
    own = train_plda(ready, iterations=iterations, rank=rank).model
    return Backend(moved.chain, interpolated(moved.plda, own, 0.5 if weight is None else weight))


def require_adaptation(adaptation: str, scorer: str, weight: float | None = None) -> None:
    """Refuse an adaptation that the scorer does not have, and a weight that it does not have.

    Examples
    --------
    >>> require_adaptation("kaldi", "cosine")
    Traceback (most recent call last):
    llrkit.errors.InputError: the adaptation 'kaldi' is one of PLDA, not of 'cosine'
    """
    one_of(adaptation, ADAPTATIONS, "adaptation")
    if adaptation in ("coral+", "kaldi", "interpolate") and scorer != "plda":
        raise InputError(f"the adaptation {adaptation!r} is one of PLDA, not of {scorer!r}")
    if weight is not None and adaptation not in ("coral+", "interpolate"):
        raise InputError(f"the adaptation {adaptation!r} has no weight")
    if weight is not None:
        share(weight, "the weight of the new domain")


# Kaldi's tags: vector or matrix of floats (F) or doubles (D).
_KALDI_KINDS = {b"FV ": ("<f4", 1), b"DV ": ("<f8", 1), b"FM ": ("<f4", 2), b"DM ": ("<f8", 2)}


def read_kaldi_plda(path: str | PathLike[str]) -> PLDA:
    """A PLDA model of Kaldi (``ivector-compute-plda``), text or binary.

    Kaldi stores a mean and a transform A such that ``A W A' = I`` and ``A B A' = diag(psi)``; so
    ``W = inv(A) inv(A)'`` and ``B = inv(A) diag(psi) inv(A)'``.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "plda"
    >>> _ = file.write_text("<Plda>  [ 1 2 ]\\n [\\n  1 0\\n  0 0.5 ]\\n [ 3 1 ]\\n</Plda> ")
    >>> plda = read_kaldi_plda(file)
    >>> plda.within.tolist(), plda.between.tolist()
    ([[1.0, 0.0], [0.0, 4.0]], [[3.0, 0.0], [0.0, 4.0]])
    """
    file = existing_file(path)
    with file.open("rb") as raw:
        binary = _is_binary_model(raw)
        _require_token(raw, b"<Plda>", file)
        mean, transform, psi = (_read_kaldi_object(raw, file, binary) for _ in range(3))
        _require_token(raw, b"</Plda>", file)
    dim = mean.shape[0]
    if mean.ndim != 1 or transform.shape != (dim, dim) or psi.shape != (dim,):
        raise FileFormatError(
            f"{file}: a mean of shape {mean.shape}, a transform of {transform.shape} and psi of {psi.shape}"
        )
    try:
        # Kaldi stores the transform that makes the model diagonal; its inverse leads back.
        back = np.linalg.inv(transform)
        return PLDA(mean, (back * psi) @ back.T, back @ back.T)
    except (np.linalg.LinAlgError, InputError) as error:
        raise FileFormatError(f"{file}: {error}") from None


def read_kaldi_transform(path: str | PathLike[str]) -> Affine:
    """A transform of Kaldi (``transform.mat`` of LDA), or a mean to subtract (``mean.vec``), text or binary.

    A matrix with one column more than the embeddings have dimensions holds an offset in it:
    ``y = T x + b``.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "transform.mat"
    >>> _ = file.write_text(" [\\n  1 2\\n  3 4\\n  5 6 ]\\n")
    >>> read_kaldi_transform(file)(np.array([[1.0, 1.0]]))
    array([[ 3.,  7., 11.]])
    """
    file = existing_file(path)
    with file.open("rb") as raw:
        array = _read_kaldi_object(raw, file, _is_binary_model(raw))
    if array.ndim == 1:
        return Affine(array, name="centering")
    # Kaldi multiplies columns, T x; here vectors are rows.
    return Affine(np.zeros(array.shape[1]), array.T, name="Kaldi transform")


def kaldi_transform_with_offset(transform: Affine, dim: int, where: str) -> Affine:
    """A transform for embeddings of so many dimensions: a last column may be an offset."""
    assert transform.matrix is not None
    if len(transform.matrix) == dim:
        return transform
    if len(transform.matrix) != dim + 1:
        raise InputError(f"{where}: a transform of {len(transform.matrix)} columns, embeddings of {dim}")
    linear, offset = transform.matrix[:-1], transform.matrix[-1]
    # Affine has a mean and no offset: T x + b = T (x - shift) needs T shift = -b, which may have no
    # solution where T drops dimensions of its output.
    shift, *_ = np.linalg.lstsq(linear.T, -offset, rcond=None)
    if not np.allclose(linear.T @ shift, -offset, atol=1e-6 * max(1.0, float(np.abs(offset).max()))):
        raise InputError(f"{where}: its offset is in none of the directions that it maps to")
    return Affine(shift, linear, transform.name)


def kaldi_backend(
    plda: str | PathLike[str],
    *,
    mean: str | PathLike[str] | None = None,
    transform: str | PathLike[str] | None = None,
    dim: int | None = None,
    normalize_length: bool = True,
) -> Backend:
    """The back-end of a Kaldi recipe: subtract the mean, transform, normalize the length, score by PLDA.

    Parameters
    ----------
    plda
        The model.
    mean, transform
        ``mean.vec`` and ``transform.mat``, if the recipe has them.
    dim
        Dimensions of the embeddings, if the transform has an offset in a last column and there is no mean.
    normalize_length
        As Kaldi does by default: the length is normalized before PLDA (``ivector-normalize-length``) and once
        more in it, so that ``(x - mean)' inv(B + W) (x - mean)`` is the number of dimensions. Several
        sessions are normalized one by one here, after their average in Kaldi.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "plda"
    >>> _ = file.write_text("<Plda>  [ 0 0 ]\\n [\\n  1 0\\n  0 1 ]\\n [ 3 1 ]\\n</Plda> ")
    >>> kaldi_backend(file, normalize_length=False).plda
    PLDA(2 dimensions, rank 2)
    """
    model = read_kaldi_plda(plda)
    steps: list[Transform] = []
    if mean is not None:
        centering = read_kaldi_transform(mean)
        if centering.matrix is not None:
            raise FileFormatError(f"{mean}: a matrix, expected the vector that is subtracted")
        steps.append(centering)
        dim = len(centering.mean)
    if transform is not None:
        linear = read_kaldi_transform(transform)
        if linear.matrix is None:
            raise FileFormatError(f"{transform}: a vector, expected a matrix")
        steps.append(linear if dim is None else kaldi_transform_with_offset(linear, dim, str(transform)))
    if not normalize_length:
        return Backend(Chain(tuple(steps)), model)
    # Kaldi's PLDA normalizes the length in units of B + W, here by whitening with it first.
    values, directions = np.linalg.eigh(model.between + model.within)
    whitener: FloatArray = directions / np.sqrt(values)
    steps += [LengthNorm("sqrt-dim"), Affine(model.mean, whitener, "Kaldi PLDA"), LengthNorm("sqrt-dim")]
    between, within = (whitener.T @ covariance @ whitener for covariance in (model.between, model.within))
    return Backend(Chain(tuple(steps)), PLDA(np.zeros(model.dim), between, within))


def _is_binary_model(raw: BinaryIO) -> bool:
    # Kaldi's mark of a binary file.
    binary = raw.read(2) == b"\0B"
    if not binary:
        raw.seek(0)
    return binary


def _require_token(raw: BinaryIO, token: bytes, file: Path) -> None:
    while (byte := raw.read(1)) and byte.isspace():
        pass
    word = byte + raw.read(len(token) - 1)
    if word != token:
        raise FileFormatError(f"{file}: expected {token.decode()}, got {word[:20]!r}")
    raw.read(1)  # the blank after it


def _read_kaldi_object(raw: BinaryIO, file: Path, binary: bool) -> Array:
    """A vector or matrix where the file is now."""
    try:
        array = _read_binary_object(raw, file) if binary else read_kaldi_text(raw)
    except ValueError as error:
        raise FileFormatError(f"{file}: no Kaldi vector or matrix ({error})") from None
    if array.size == 0 or not np.isfinite(array).all():
        raise FileFormatError(f"{file}: an empty vector or matrix, or one with numbers that are not finite")
    return np.asarray(array, dtype=np.float64)


def _read_binary_object(raw: BinaryIO, file: Path) -> Array:
    kind = raw.read(3)
    if kind not in _KALDI_KINDS:
        raise ValueError(f"the unknown kind {kind!r}")
    dtype, axes = _KALDI_KINDS[kind]
    shape = []
    for _ in range(axes):
        size = raw.read(5)
        # Kaldi writes integers with a byte before them that gives their size, here 4.
        if len(size) != 5 or size[0] != 4:
            raise ValueError("its size is missing")
        shape.append(int.from_bytes(size[1:], "little", signed=True))
    n = int(np.prod(shape))
    # Before anything is allocated: a damaged size could ask for any amount of memory.
    if min(shape) < 0 or n * np.dtype(dtype).itemsize > file.stat().st_size:
        raise ValueError("it announces more numbers than the file holds")
    content = raw.read(n * np.dtype(dtype).itemsize)
    return np.frombuffer(content, dtype=dtype, count=n).reshape(shape)
