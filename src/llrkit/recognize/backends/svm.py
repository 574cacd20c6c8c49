"""Linear support vector machines, one per model, against a background cohort; needs scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
import numpy.typing as npt

from llrkit._arguments import takes
from llrkit._arrays import Array, FloatArray
from llrkit._format import counted
from llrkit._random import RNG, seed_of
from llrkit.core.elementary_functions import blocks
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.errors import InputError, MissingPackageError
from llrkit.recognize.backends.pooled_sessions import model_rows
from llrkit.recognize.covariances import float_type, rows_per_block
from llrkit.recognize.embeddings import Embeddings, checked_texts, finite_matrix, vectors_of
from llrkit.recognize.model_files import load_arrays, naming_file, save_arrays

SCHEMA = "llrkit.svm/1"


@dataclass(frozen=True, eq=False, repr=False)
class LinearModels(ReadOnlyArrays):
    """One linear function per model: ``weights @ x + offset``.

    Examples
    --------
    >>> LinearModels(np.array(["a"]), np.array([[1.0, -1.0]]), np.array([0.5])).scores([[2.0, 1.0]])
    array([[1.5]])
    """

    ids: Array
    """The name of each model."""
    weights: FloatArray
    """Shape (models, dimensions)."""
    offsets: FloatArray
    """One number per model, added to its scores."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", checked_texts(self.ids, "ids"))
        object.__setattr__(self, "weights", finite_matrix(self.weights, what="the weights"))
        object.__setattr__(self, "offsets", np.asarray(self.offsets, dtype=np.float64))
        if not len(self.ids) == len(self.weights) == len(self.offsets) or self.offsets.ndim != 1:
            raise InputError(
                f"{len(self.ids)} models, but weights of shape {self.weights.shape} and offsets of shape "
                f"{self.offsets.shape}"
            )
        super().__post_init__()

    def scores(self, test: Embeddings | npt.ArrayLike, *, dtype: npt.DTypeLike = np.float64) -> Array:
        """Scores of all models (rows) on all test embeddings (columns).

        Parameters
        ----------
        test
            Embeddings of the test side.
        dtype
            Type of the result.
        """
        kind = float_type(dtype)
        vectors = vectors_of(test, self.weights.shape[1], "test embeddings").astype(kind)
        scores = np.empty((len(self.ids), len(vectors)), dtype=kind)
        for rows in blocks(len(self.ids), rows_per_block(len(vectors))):
            scores[rows] = self.weights[rows].astype(kind) @ vectors.T + self.offsets[rows, None].astype(kind)
        return scores

    def save(self, path: str | PathLike[str]) -> None:
        """Write the models to an NPZ file.

        Parameters
        ----------
        path
            The file.
        """
        save_arrays(path, SCHEMA, {"ids": self.ids, "weights": self.weights, "offsets": self.offsets})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> LinearModels:
        """Read models that were saved.

        Parameters
        ----------
        path
            The file.
        """
        arrays = load_arrays(path, SCHEMA, ("ids", "weights", "offsets"))
        with naming_file(str(path)):
            return cls(arrays["ids"], arrays["weights"], arrays["offsets"])

    def __repr__(self) -> str:
        return f"LinearModels({counted(len(self.ids), 'model')} of {self.weights.shape[1]} dimensions)"


@takes(enroll=Embeddings)
def train_svm(
    enroll: Embeddings,
    background: Embeddings | npt.ArrayLike,
    models: Mapping[str, Sequence[str]] | Sequence[str] | Array | None = None,
    *,
    cost: float = 1.0,
    rng: RNG = 0,
) -> LinearModels:
    """Train a linear support vector machine per model: its sessions against the background cohort.

    Both classes weigh the same, however many vectors they have. Scores are distances from the boundary in
    units of the margin, not LLRs.

    Parameters
    ----------
    enroll
        The sessions of all models.
    background
        Impostors; nobody who enrolls may be among them. They are the same for all models.
    models
        As in :func:`pool_sessions`: the model of each row, or model -> ids; by default every row is one.
    cost
        Price of an error relative to the width of the margin (C of the support vector machine).
    rng
        For the order in which the solver visits the vectors.

    References
    ----------
    Campbell, Sturim & Reynolds, "Support vector machines using GMM supervectors for speaker verification",
    IEEE Signal Processing Letters 2006.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> models = train_svm(Embeddings([[4.0, 4.0]], ["anna"]), rng.normal(size=(100, 2)))
    >>> (models.scores([[3.0, 5.0], [0.0, 0.0]]) > 0).tolist()
    [[True, False]]
    """
    seed = seed_of(rng)
    try:
        from sklearn.svm import LinearSVC
    except ImportError:
        raise MissingPackageError.of_extra("support vector machines need scikit-learn", "sklearn") from None
    if not 0.0 < cost < np.inf:
        raise InputError(f"cost must be a positive number, got {cost!r}")
    others = vectors_of(background, enroll.dim, "background embeddings").astype(np.float64)
    if isinstance(background, Embeddings):
        _refuse_enrolled(enroll, background)
    groups = model_rows(enroll, enroll.ids if models is None else models)
    weights, offsets = np.empty((len(groups), enroll.dim)), np.empty(len(groups))
    for i, rows in enumerate(groups.values()):
        own = enroll.vectors[rows].astype(np.float64)
        machine = LinearSVC(C=cost, class_weight="balanced", dual="auto", random_state=seed, max_iter=20_000)
        machine.fit(np.concatenate([own, others]), np.repeat([1, 0], [len(own), len(others)]))
        weights[i], offsets[i] = machine.coef_[0], np.ravel(machine.intercept_)[0]
    return LinearModels(np.array(list(groups)), weights, offsets)


def _refuse_enrolled(enroll: Embeddings, background: Embeddings) -> None:
    pairs = [(enroll.ids, background.ids, "segment")]
    if enroll.speakers is not None and background.speakers is not None:
        pairs.append((enroll.speakers, background.speakers, "speaker"))
    for own, others, what in pairs:
        both = np.intersect1d(own, others)
        if len(both):
            raise InputError(f"{what} {str(both[0])!r} is both enrolled and in the background cohort")
