"""Cosine scores of whole matrices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, DType
from llrkit.core.elementary_functions import blocks
from llrkit.errors import InputError
from llrkit.recognize.backends.transforms import lengths_to_divide_by
from llrkit.recognize.covariances import float_type, rows_per_block
from llrkit.recognize.embeddings import Embeddings, vectors_of


def cosine_scores(
    enroll: Embeddings | npt.ArrayLike,
    test: Embeddings | npt.ArrayLike,
    *,
    dtype: npt.DTypeLike = np.float64,
    out: Array | None = None,
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
    kind = float_type(dtype)
    left, right = _unit_directions(enroll, kind, "enrollment"), _unit_directions(test, kind, "test")
    if left.shape[1] != right.shape[1]:
        raise InputError(f"enrollment embeddings have {left.shape[1]} dimensions, test ones {right.shape[1]}")
    shape = (len(left), len(right))
    scores = np.empty(shape, dtype=kind) if out is None else out
    if scores.shape != shape:
        raise InputError(f"out has shape {scores.shape}, but there are {shape} scores")
    for rows in blocks(shape[0], rows_per_block(shape[1])):
        scores[rows] = left[rows] @ right.T
    return scores


def _unit_directions(rows: Embeddings | npt.ArrayLike, kind: DType, side: str) -> Array:
    vectors = vectors_of(rows, what=f"{side} embeddings")
    ids = rows.ids if isinstance(rows, Embeddings) else None
    return np.asarray(vectors / lengths_to_divide_by(vectors, ids)[:, None], dtype=kind)
