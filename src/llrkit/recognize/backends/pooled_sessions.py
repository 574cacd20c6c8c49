"""Several sessions of one speaker become one row: enrollment from more than one segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from llrkit._arguments import takes
from llrkit._arrays import Array, FloatArray
from llrkit._format import counted
from llrkit.errors import InputError
from llrkit.recognize.embeddings import Embeddings, checked_texts
from llrkit.recognize.plda.plda_model import PLDA, SESSIONS

Models: TypeAlias = Mapping[str, Sequence[str]] | Sequence[str] | Array
"""The sessions of each model, or the model of each session."""
Positions: TypeAlias = npt.NDArray[np.intp]


@takes(embeddings=Embeddings)
def pool_sessions(
    embeddings: Embeddings,
    models: Models | None = None,
    *,
    plda: PLDA | None = None,
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
    groups = model_rows(embeddings, models)
    rows = list(groups.values())
    vectors = np.array([embeddings.vectors[own_rows].mean(axis=0, dtype=np.float64) for own_rows in rows])
    covariances = None
    if embeddings.covariances is not None:
        pooled = [_precision_weighted_sessions(embeddings, own_rows, plda) for own_rows in rows]
        vectors = np.array([vector for vector, _ in pooled])
        covariances = np.array([covariance for _, covariance in pooled])
    columns = {name: values for name, values in embeddings.columns.items() if name != SESSIONS}
    kept = {
        name: first
        for name, values in columns.items()
        if (first := _values_if_constant(values, rows)) is not None
    }
    speakers = None
    if embeddings.speakers is not None:
        speakers = _values_if_constant(embeddings.speakers, rows)
        if speakers is None:
            _refuse_mixed_speakers(embeddings, groups)
    counts = np.array([len(own_rows) for own_rows in rows])
    return Embeddings(vectors, np.array(list(groups)), speakers, {**kept, SESSIONS: counts}, covariances)


def model_rows(embeddings: Embeddings, models: Models | None) -> dict[str, Positions]:
    """The rows of each model, in the order in which the models come first."""
    if SESSIONS in embeddings.columns and (embeddings.columns[SESSIONS] != 1).any():
        raise InputError("these embeddings are averages already; pool the sessions themselves")
    if isinstance(models, Mapping):
        for name, ids in models.items():
            if len(ids) == 0:
                raise InputError(f"model {name!r} has no sessions")
        return {str(name): embeddings.rows_of(list(ids)) for name, ids in models.items()}
    names = (
        embeddings.known_speakers if models is None else checked_texts(models, "models", ids=embeddings.ids)
    )
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
        return vectors.mean(axis=0), covariances.sum(axis=0) / len(rows) ** 2
    precisions = np.linalg.inv(plda.within + covariances)
    noise = np.linalg.inv(precisions.sum(axis=0))
    vector = noise @ np.einsum("nde,ne->d", precisions, vectors)
    # what is left over the covariance of the average of as many certain sessions; never negative
    rest = noise - plda.within / len(rows)
    return vector, 0.5 * (rest + rest.T)


def _values_if_constant(values: Array, rows: list[Positions]) -> Array | None:
    if all((values[own_rows] == values[own_rows[0]]).all() for own_rows in rows):
        return values[[own_rows[0] for own_rows in rows]]
    return None


def _refuse_mixed_speakers(embeddings: Embeddings, groups: Mapping[str, Positions]) -> None:
    for name, own_rows in groups.items():
        several = np.unique(embeddings.known_speakers[own_rows])
        if len(several) > 1:
            raise InputError(f"model {name!r} has sessions of several speakers: {', '.join(several[:5])}")
