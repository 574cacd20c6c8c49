"""One model of several sessions: their average for PLDA, or a support vector machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import RNG, Array, FloatArray, of_kind, positive, seed_of
from llrkit.base.process import needed_package
from llrkit.base.text import counted
from llrkit.core.numerics import blocks
from llrkit.errors import InputError
from llrkit.speech.embeddings import Embeddings, Saved, checked_texts, finite_matrix, vectors_of
from llrkit.speech.models.plda import PLDA, SESSIONS
from llrkit.speech.models.transforms import empty_scores, rows_per_block

Models: TypeAlias = Mapping[str, Sequence[str]] | Sequence[str] | Array
"""The sessions of each model, or the model of each session."""
Positions: TypeAlias = npt.NDArray[np.intp]


def pool_sessions(
    embeddings: Embeddings, models: Models | None = None, *, plda: PLDA | None = None
) -> Embeddings:
    """The average of the sessions of each model, with their number in the column ``sessions``.

    For PLDA the average and the number of the sessions are all there is to know, and
    :meth:`PLDA.scores` uses both. Where every session has a covariance of its own, sessions have to be
    weighted by how much they say, which depends on the model: give it as ``plda``.

    Columns that have one value for all sessions of every model are kept, the others are left out.

    Parameters
    ----------
    embeddings
        All sessions.
    models
        The model each row belongs to, or model -> ids of its sessions (a session may then be in several);
        by default the speakers.
    plda
        Weigh sessions by their precision under this model; the result has the covariances that make
        :meth:`PLDA.scores` exact.

    Examples
    --------
    >>> sessions = Embeddings([[1.0], [3.0], [5.0]], ["a1", "a2", "b1"], ["a", "a", "b"])
    >>> pooled = pool_sessions(sessions)
    >>> pooled.ids, pooled.vectors.ravel(), pooled.columns["sessions"]
    (array(['a', 'b'], dtype='<U1'), array([2., 5.]), array([2, 1]))
    """
    of_kind(embeddings, Embeddings, "embeddings")
    groups = model_rows(embeddings, models)
    rows = list(groups.values())
    if embeddings.covariances is None:
        vectors = np.array([embeddings.vectors[own].mean(axis=0, dtype=np.float64) for own in rows])
        covariances = None
    else:
        pooled = [_precision_weighted_sessions(embeddings, own, plda) for own in rows]
        vectors, covariances = (np.array(values) for values in zip(*pooled, strict=True))
    columns = {name: values_if_constant(values, rows) for name, values in embeddings.columns.items()}
    columns[SESSIONS] = np.array([len(own) for own in rows])
    speakers = None if embeddings.speakers is None else values_if_constant(embeddings.speakers, rows)
    if embeddings.speakers is not None and speakers is None:
        for name, own in groups.items():
            several = np.unique(embeddings.speakers[own])
            if len(several) > 1:
                raise InputError(f"model {name!r} has sessions of several speakers: {', '.join(several[:5])}")
    kept = {name: values for name, values in columns.items() if values is not None}
    return Embeddings(vectors, np.array(list(groups)), speakers, kept, covariances)


def model_rows(embeddings: Embeddings, models: Models | None) -> dict[str, Positions]:
    """The rows of each model, in the order in which the models come first."""
    # An average of averages would forget how many sessions each of them has.
    if SESSIONS in embeddings.columns and (embeddings.columns[SESSIONS] != 1).any():
        raise InputError("these embeddings are averages already; pool the sessions themselves")
    if isinstance(models, Mapping):
        for name, ids in models.items():
            if len(ids) == 0:
                raise InputError(f"model {name!r} has no sessions")
        return {str(name): embeddings.rows_of(list(ids)) for name, ids in models.items()}
    given = embeddings.known_speakers if models is None else models
    names = checked_texts(given, "models", ids=embeddings.ids)
    if len(names) != len(embeddings):
        raise InputError(f"{counted(len(embeddings), 'embedding')} but {counted(len(names), 'model')}")
    return session_rows_by_name(names)


def session_rows_by_name(names: Array) -> dict[str, Positions]:
    """The rows that have each name, in the order in which the names come first.

    Examples
    --------
    >>> session_rows_by_name(np.array(["b", "a", "b"]))
    {'b': array([0, 2]), 'a': array([1])}
    """
    distinct, first, codes = np.unique(names, return_index=True, return_inverse=True)
    # Stable, so that the sessions of a model stay in the order of the file.
    order = np.argsort(codes, kind="stable")
    rows_by_code = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    return {str(distinct[i]): rows_by_code[i] for i in np.argsort(first)}


def _precision_weighted_sessions(
    embeddings: Embeddings, rows: Positions, plda: PLDA | None
) -> tuple[FloatArray, FloatArray]:
    assert embeddings.covariances is not None
    vectors = np.asarray(embeddings.vectors[rows], dtype=np.float64)
    covariances = np.asarray(embeddings.covariances[rows], dtype=np.float64)
    if plda is None:
        # Sessions are independent: the covariance of an average is the average of covariances over n.
        return vectors.mean(axis=0), covariances.sum(axis=0) / len(rows) ** 2
    precisions = np.linalg.inv(plda.within + covariances)
    noise = np.linalg.inv(precisions.sum(axis=0))
    vector = noise @ np.einsum("nde,ne->d", precisions, vectors)
    # what is left over the covariance of the average of as many certain sessions; never negative
    # PLDA.scores adds within / n for n sessions; with this rest the sum is ``noise``, the exact
    # covariance.
    rest = noise - plda.within / len(rows)
    return vector, 0.5 * (rest + rest.T)


def values_if_constant(values: Array, rows: Sequence[Positions]) -> Array | None:
    """The value of each group of rows, or None where the rows of a group differ."""
    if all((values[own_rows] == values[own_rows[0]]).all() for own_rows in rows):
        return values[[own_rows[0] for own_rows in rows]]
    return None


@dataclass(frozen=True, eq=False, repr=False)
class LinearModels(Saved):
    """One linear function per model: ``weights @ x + offset``.

    Examples
    --------
    >>> LinearModels(np.array(["a"]), np.array([[1.0, -1.0]]), np.array([0.5])).scores([[2.0, 1.0]])
    array([[1.5]])
    """

    schema: ClassVar[str] = "llrkit.svm/1"
    needed: ClassVar[tuple[str, ...]] = ("ids", "weights", "offsets")
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
            shapes = f"weights of shape {self.weights.shape} and offsets of shape {self.offsets.shape}"
            raise InputError(f"{len(self.ids)} models, but {shapes}")
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
        vectors = vectors_of(test, self.weights.shape[1], "test embeddings")
        scores = empty_scores((len(self.ids), len(vectors)), dtype)
        kind = scores.dtype
        vectors = vectors.astype(kind)
        for rows in blocks(len(self.ids), rows_per_block(len(vectors))):
            scores[rows] = self.weights[rows].astype(kind) @ vectors.T + self.offsets[rows, None].astype(kind)
        return scores

    def __repr__(self) -> str:
        return f"LinearModels({counted(len(self.ids), 'model')} of {self.weights.shape[1]} dimensions)"


def train_svm(
    enroll: Embeddings,
    background: Embeddings | npt.ArrayLike,
    models: Models | None = None,
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
    of_kind(enroll, Embeddings, "enroll")
    seed = seed_of(rng)
    positive(cost, "cost")
    svm = needed_package("sklearn.svm", "support vector machines need scikit-learn", "sklearn")
    # liblinear works in 64 bits.
    others = vectors_of(background, enroll.dim, "background embeddings").astype(np.float64)
    if isinstance(background, Embeddings):
        refuse_background(enroll.ids, enroll.speakers, background)
    groups = model_rows(enroll, enroll.ids if models is None else models)
    weights, offsets = np.empty((len(groups), enroll.dim)), np.empty(len(groups))
    for i, rows in enumerate(groups.values()):
        own = enroll.vectors[rows].astype(np.float64)
        # Balanced, since a model has a few sessions against a whole cohort. LinearSVC stops after 1,000
        # iterations by default, where it may not have converged.
        machine = svm.LinearSVC(
            C=cost, class_weight="balanced", dual="auto", random_state=seed, max_iter=20_000
        )
        machine.fit(np.concatenate([own, others]), np.repeat([1, 0], [len(own), len(others)]))
        weights[i], offsets[i] = machine.coef_[0], np.ravel(machine.intercept_)[0]
    return LinearModels(np.array(list(groups)), weights, offsets)


def refuse_background(
    ids: Sequence[str] | Array, speakers: Sequence[str] | Array | None, background: Embeddings
) -> None:
    """Refuse segments, or speakers, that are among those that support vector machines are trained against."""
    for own, others, what in ((ids, background.ids, "segment"), (speakers, background.speakers, "speaker")):
        both = np.intersect1d([] if own is None else own, [] if others is None else others)
        if len(both):
            raise InputError(
                f"{what} {str(both[0])!r} is in the background that support vector machines are trained "
                "against; take speakers that are not in it"
            )
