"""Score normalization by a cohort of impostors, on whole matrices of scores.

``enroll_cohort[i, c]`` is the score of enrollment ``i`` against cohort segment ``c``, ``cohort_test[c, j]``
that of cohort model ``c`` against test ``j``, and ``cohort_cohort`` holds those of cohort models against
cohort segments. Where a cohort score is not one of an impostor (a model against its own segment), ``use``
is False and the score is left out. Means and variances are those of the cohort scores themselves (1/N). No
normalized score is an LLR: calibrate afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray
from llrkit._format import not_among
from llrkit.core.elementary_functions import blocks
from llrkit.errors import InfiniteScoreError, InputError, NaNScoreError, UnknownNameError
from llrkit.recognize.covariances import rows_per_block
from llrkit.scores.checked_arrays import first_nan

SELECTIONS = ("own", "other")


@dataclass(frozen=True, eq=False)
class Spread:
    """Mean and standard deviation of the cohort scores of each enrollment, or of each test."""

    mean: FloatArray
    sd: FloatArray


def z_norm(scores: npt.ArrayLike, enroll_cohort: npt.ArrayLike, *, use: Array | None = None) -> Array:
    """Normalize by what each enrollment scores against impostor segments.

    ``(s_ij - mean_i) / sd_i`` over row ``i`` of ``enroll_cohort``.

    Parameters
    ----------
    scores
        Scores of all pairs, shape (models, segments).
    enroll_cohort
        Scores of the models against cohort segments, shape (models, cohort).
    use
        Boolean mask of the scores to take the mean and deviation from; by default all.

    Examples
    --------
    >>> z_norm([[2.0, 3.0]], [[0.0, 2.0]])
    array([[1., 2.]])
    """
    matrix, cohort = _score_matrix(scores, "scores"), _score_matrix(enroll_cohort, "enroll_cohort")
    _require_agreement(matrix, cohort, None)
    spread = _cohort_spread(cohort, "enrollment", use=use)
    return _apply_by_blocks(
        matrix, lambda rows, block: (block - spread.mean[rows, None]) / spread.sd[rows, None]
    )


def t_norm(scores: npt.ArrayLike, cohort_test: npt.ArrayLike, *, use: Array | None = None) -> Array:
    """Normalize by what impostor models score against each test segment.

    ``(s_ij - mean_j) / sd_j`` over column ``j`` of ``cohort_test``.

    Parameters
    ----------
    scores
        Scores of all pairs, shape (models, segments).
    cohort_test
        Scores of cohort models against the segments, shape (cohort, segments).
    use
        Boolean mask of the scores to take the mean and deviation from; by default all.

    References
    ----------
    Auckenthaler, Carey & Lloyd-Thomas, "Score normalization for text-independent speaker verification
    systems", Digital Signal Processing 2000.

    Examples
    --------
    >>> t_norm([[2.0, 3.0]], [[0.0, 1.0], [2.0, 5.0]])
    array([[1., 0.]])
    """
    matrix, cohort = _score_matrix(scores, "scores"), _score_matrix(cohort_test, "cohort_test")
    _require_agreement(matrix, None, cohort)
    spread = _cohort_spread(cohort.T, "test", use=None if use is None else np.asarray(use).T)
    return _apply_by_blocks(matrix, lambda rows, block: (block - spread.mean) / spread.sd)


def zt_norm(
    scores: npt.ArrayLike,
    enroll_cohort: npt.ArrayLike,
    cohort_test: npt.ArrayLike,
    cohort_cohort: npt.ArrayLike,
    *,
    use: Array | None = None,
) -> Array:
    """First z-norm, then t-norm with cohort models that are z-normalized in the same way.

    Parameters
    ----------
    scores
        Scores of all pairs, shape (models, segments).
    enroll_cohort
        Scores of the models against cohort segments, shape (models, cohort).
    cohort_test
        Scores of cohort models against the segments, shape (cohort, segments).
    cohort_cohort
        Scores of the cohort against itself.
    use
        Boolean mask of the scores to take the mean and deviation from; by default all.

    Examples
    --------
    >>> zt_norm([[3.0]], [[0.0, 2.0]], [[1.0], [3.0]], [[0.0, 2.0], [0.0, 2.0]])
    array([[1.]])
    """
    return t_norm(z_norm(scores, enroll_cohort), z_norm(cohort_test, cohort_cohort, use=use))


def tz_norm(
    scores: npt.ArrayLike,
    enroll_cohort: npt.ArrayLike,
    cohort_test: npt.ArrayLike,
    cohort_cohort: npt.ArrayLike,
    *,
    use: Array | None = None,
) -> Array:
    """First t-norm, then z-norm with cohort segments that are t-normalized in the same way.

    Parameters
    ----------
    scores
        Scores of all pairs, shape (models, segments).
    enroll_cohort
        Scores of the models against cohort segments, shape (models, cohort).
    cohort_test
        Scores of cohort models against the segments, shape (cohort, segments).
    cohort_cohort
        Scores of the cohort against itself.
    use
        Boolean mask of the scores to take the mean and deviation from; by default all.

    Examples
    --------
    >>> tz_norm([[3.0]], [[0.0, 2.0]], [[1.0], [3.0]], [[0.0, 1.0], [2.0, 3.0]])
    array([[3.]])
    """
    return z_norm(t_norm(scores, cohort_test), t_norm(enroll_cohort, cohort_cohort, use=use))


def s_norm(scores: npt.ArrayLike, enroll_cohort: npt.ArrayLike, cohort_test: npt.ArrayLike) -> Array:
    """Symmetric normalization: half the sum of the z- and the t-normalized score.

    Parameters
    ----------
    scores
        Scores of all pairs, shape (models, segments).
    enroll_cohort
        Scores of the models against cohort segments, shape (models, cohort).
    cohort_test
        Scores of cohort models against the segments, shape (cohort, segments).

    Examples
    --------
    >>> s_norm([[3.0]], [[0.0, 2.0]], [[1.0], [3.0]])
    array([[1.5]])
    """
    return as_norm(scores, enroll_cohort, cohort_test)


def require_top(top: int, n_cohort: int) -> None:
    """Refuse an adapted cohort of one member, or of more than there are."""
    if not (int(top) == top and 2 <= top <= n_cohort):
        raise InputError(f"top must be a whole number from 2 to the {n_cohort} of the cohort, got {top!r}")


def as_norm(
    scores: npt.ArrayLike,
    enroll_cohort: npt.ArrayLike,
    cohort_test: npt.ArrayLike,
    *,
    top: int | None = None,
    selection: str = "own",
) -> Array:
    """Adaptive s-norm: the same with the ``top`` cohort members that score highest.

    Parameters
    ----------
    scores
        Scores of all pairs, shape (models, segments).
    enroll_cohort
        Scores of the models against cohort segments, shape (models, cohort).
    cohort_test
        Scores of cohort models against the segments, shape (cohort, segments).
    top
        Size of the adapted cohort; all by default, which is :func:`s_norm`.
    selection
        'own' (AS-norm1): each side picks the members that score highest against itself. 'other' (AS-norm2):
        the members that score highest against the *test* give the statistics of the enrollment, and the
        other way round; both sides must then have the same cohort in the same order.

    References
    ----------
    Matějka et al., "Analysis of score normalization in multilingual speaker recognition", Interspeech 2017.

    Examples
    --------
    >>> as_norm([[3.0]], [[-9.0, 0.0, 2.0]], [[1.0], [-5.0], [3.0]], top=2)
    array([[1.5]])
    """
    if selection not in SELECTIONS:
        raise UnknownNameError(f"selection={not_among(selection, SELECTIONS, ': expected one of ')}")
    matrix = _score_matrix(scores, "scores")
    enroll, test = _score_matrix(enroll_cohort, "enroll_cohort"), _score_matrix(cohort_test, "cohort_test").T
    _require_agreement(matrix, enroll, test.T)
    for cohort in (enroll, test):
        if top is not None:
            require_top(top, cohort.shape[1])
    if selection == "other" and enroll.shape[1] != test.shape[1]:
        raise InputError(
            f"the enrollments have {enroll.shape[1]} cohort members, the tests {test.shape[1]}: "
            "selection='other' needs the same ones on both sides"
        )
    if top is None or selection == "own":
        z, t = _cohort_spread(enroll, "enrollment", top), _cohort_spread(test, "test", top)
        return _apply_by_blocks(matrix, lambda rows, block: 0.5 * (
            (block - z.mean[rows, None]) / z.sd[rows, None] + (block - t.mean) / t.sd))  # fmt: skip
    chosen_by_test = _highest_of_each_row(test, int(top))
    chosen_by_enroll = _highest_of_each_row(enroll, int(top))

    def both(rows: slice, block: FloatArray) -> FloatArray:
        z = _spread_of_chosen(enroll[rows], chosen_by_test, int(top), "enrollment")
        t = _spread_of_chosen(test, chosen_by_enroll[rows], int(top), "test")
        return 0.5 * ((block - z.mean) / z.sd + (block - t.mean.T) / t.sd.T)

    return _apply_by_blocks(matrix, both)


def _cohort_spread(cohort: Array, side: str, top: int | None = None, use: Array | None = None) -> Spread:
    if use is not None and use.shape != cohort.shape:
        raise InputError(f"use must have the shape of the cohort scores, {cohort.shape}, got {use.shape}")
    mean, sd = np.empty(len(cohort)), np.empty(len(cohort))
    for rows in blocks(len(cohort), rows_per_block(cohort.shape[1])):
        block = np.asarray(cohort[rows], dtype=np.float64)
        if top is not None and top < block.shape[1]:
            block = np.partition(block, block.shape[1] - top, axis=1)[:, block.shape[1] - top :]
        counts = np.ones((len(block), 1), dtype=bool) if use is None else np.asarray(use[rows], dtype=bool)
        if not counts.any(axis=1).all():
            row = rows.start + int(np.argmin(counts.any(axis=1)))
            raise InputError(f"no cohort score of {side} {row} may be used")
        mean[rows], sd[rows] = block.mean(axis=1, where=counts), block.std(axis=1, where=counts)
        _refuse_constant(sd[rows], np.abs(block).max(axis=1), side, rows.start)
    return Spread(mean, sd)


def _highest_of_each_row(cohort: Array, top: int) -> npt.NDArray[np.bool_]:
    """Which cohort members are among the ``top`` of each row; of equal scores those that come first."""
    chosen = np.zeros(cohort.shape, dtype=bool)
    for rows in blocks(len(cohort), rows_per_block(cohort.shape[1])):
        order = np.argsort(-np.asarray(cohort[rows], dtype=np.float64), axis=1, kind="stable")
        np.put_along_axis(chosen[rows], order[:, :top], True, axis=1)
    return chosen


def _spread_of_chosen(cohort: Array, chosen: npt.NDArray[np.bool_], top: int, side: str) -> Spread:
    """Statistics of each row over the members that each other side has chosen, by two matrix products."""
    values = np.asarray(cohort, dtype=np.float64)
    center = values.mean(axis=1, keepdims=True)  # squares of small numbers: nothing cancels
    values = values - center
    members = chosen.T.astype(np.float64)
    mean = values @ members / top
    variance = (values * values) @ members / top - mean * mean
    sd = np.sqrt(np.maximum(variance, 0.0))
    _refuse_constant(sd.ravel(), np.repeat(np.abs(values).max(axis=1), sd.shape[1]), side, None)
    return Spread(mean + center, sd)


def _apply_by_blocks(scores: Array, change: Callable[[slice, FloatArray], Array]) -> Array:
    out = np.empty(scores.shape, dtype=scores.dtype)
    for rows in blocks(len(scores), rows_per_block(scores.shape[1])):
        out[rows] = change(rows, np.asarray(scores[rows], dtype=np.float64))
    return out


def _score_matrix(values: object, what: str) -> Array:
    matrix = np.asarray(values)
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError(f"{what} must be a matrix, got shape {matrix.shape}")
    where = first_nan(matrix)
    if where is not None:
        row, column = where
        raise NaNScoreError(f"{what}: NaN in row {row}, column {column}")
    if what != "scores" and not (np.isfinite(matrix.min()) and np.isfinite(matrix.max())):
        row, column = np.argwhere(np.isinf(matrix))[0]
        raise InfiniteScoreError(f"{what}: an infinite score in row {row}, column {column}")
    return matrix


def _require_agreement(scores: Array, enroll_cohort: Array | None, cohort_test: Array | None) -> None:
    if enroll_cohort is not None and len(enroll_cohort) != len(scores):
        raise InputError(
            f"scores of {len(scores)} enrollments, but enroll_cohort has {len(enroll_cohort)} rows"
        )
    if cohort_test is not None and cohort_test.shape[1] != scores.shape[1]:
        raise InputError(
            f"scores of {scores.shape[1]} tests, but cohort_test has {cohort_test.shape[1]} columns"
        )


def _refuse_constant(sd: FloatArray, size: FloatArray, side: str, start: int | None) -> None:
    flat = sd <= 1e-12 * size
    if flat.any():
        which = f" {int(np.argmax(flat)) + start}" if start is not None else ""
        raise InputError(f"all cohort scores of {side}{which} are equal: nothing to normalize by")
