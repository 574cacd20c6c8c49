"""LLRs of pairs whose speaker is a point on a sphere with a von Mises-Fisher prior."""

from __future__ import annotations

from typing import Any

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.special import blocks
from llrkit.errors import InputError
from llrkit.recognize.embeddings import Embeddings, vectors_of
from llrkit.recognize.matrix_checks import rows_per_block
from llrkit.recognize.plda.plda_model import SESSIONS
from llrkit.recognize.psda.von_mises_fisher import log_normalizer


def add_sphere_llrs(out: FloatArray, prior: FloatArray, enroll: FloatArray, test: FloatArray) -> None:
    """Add ``log C(|p + e|) + log C(|p + t|) - log C(|p + e + t|) - log C(|p|)`` of all pairs to ``out``.

    ``p`` is the natural parameter of the prior, ``e`` and ``t`` are what the sessions of either side add to
    it.

    Examples
    --------
    >>> llrs = np.zeros((1, 2))
    >>> add_sphere_llrs(llrs, np.zeros(3), 9.0 * np.eye(3)[:1], 9.0 * np.eye(3)[:2])
    >>> llrs.round(2)
    array([[ 2.2 , -2.73]])
    """
    dim, left = len(prior), prior + enroll
    norm = float(log_normalizer(dim, np.linalg.norm(prior)))
    alone = log_normalizer(dim, np.linalg.norm(left, axis=1))
    alone_test = log_normalizer(dim, np.linalg.norm(prior + test, axis=1))
    squares, squares_test = (left * left).sum(axis=1), (test * test).sum(axis=1)
    for rows in blocks(len(left), rows_per_block(len(test))):
        both = squares[rows, None] + squares_test + 2.0 * left[rows] @ test.T
        together = log_normalizer(dim, np.sqrt(np.maximum(both, 0.0)))
        out[rows] += alone[rows, None] + alone_test - together - norm


def session_sums(rows: Any, counts: Any, dim: int, what: str) -> FloatArray:
    """Sums of sessions of length one, from their averages and numbers."""
    vectors = np.asarray(vectors_of(rows, dim, f"{what} embeddings"), dtype=np.float64)
    if counts is None and isinstance(rows, Embeddings):
        counts = rows.columns.get(SESSIONS)
    sizes = np.ones(len(vectors)) if counts is None else np.asarray(counts, dtype=np.float64)
    if sizes.shape != (len(vectors),) or not (sizes >= 1).all():
        raise InputError(f"{what} embeddings: counts must be {len(vectors)} numbers from 1 on")
    lengths = np.linalg.norm(vectors, axis=1)
    wrong = (lengths > 1.0 + 1e-5) | ((sizes == 1) & (np.abs(lengths - 1.0) > 1e-5))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"{what} embeddings, row {row}: of length {lengths[row]:.4g}; PSDA is for embeddings of "
            "length one, so normalize the length first"
        )
    return vectors * sizes[:, None]
