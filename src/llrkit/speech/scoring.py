"""Matrices of scores, their normalization by cohorts, and the trials they become.

Of a cohort of impostors ``enroll_cohort[i, c]`` is the score of enrollment ``i`` against cohort segment
``c``, ``cohort_test[c, j]`` that of cohort model ``c`` against test ``j``, and ``cohort_cohort`` holds those
of cohort models against cohort segments. Where a cohort score is not one of an impostor (a model against its
own segment), ``use`` is False and the score is left out. Means and variances are those of the cohort scores
themselves (1/N). No normalized score is an LLR: calibrate afterwards.

Trials are all pairs or those of a list. Pairs of a list are picked by :func:`pick_listed`, and a matrix
becomes a table by :func:`pair_table`, whether the two sides are embeddings or ids with speakers.
"""

# ruff: noqa: A002 - options called format name formats

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, FloatArray, of_kind, one_of
from llrkit.core.numerics import blocks
from llrkit.errors import EmptyClassError, InfiniteScoreError, InputError, NaNScoreError
from llrkit.io.read_options import PathArg
from llrkit.io.selection import find_listed, with_listed_scores
from llrkit.io.table_columns import TrialTable
from llrkit.io.text_tables import long_table
from llrkit.io.write import write_table
from llrkit.scores import Scores
from llrkit.scores.arrays import first_nan
from llrkit.scores.source import Roles
from llrkit.scores.trials import Trials
from llrkit.speech import sides
from llrkit.speech.embeddings import Embeddings
from llrkit.speech.models import NORMS
from llrkit.speech.models.svm import model_rows, values_if_constant
from llrkit.speech.models.transforms import row_lengths, rows_per_block
from llrkit.speech.sides import Ids, Places, Side, different_ids, same_speaker

SELECTIONS = ("own", "other")
MeanAndSd = tuple[FloatArray, FloatArray]


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
    _require_same_number(len(matrix), len(cohort), "enrollments", "enroll_cohort")
    mean, sd = _cohort_spread(cohort, "enrollment", use=use)
    return _apply_by_blocks(matrix, lambda rows, block: (block - mean[rows, None]) / sd[rows, None])


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
    _require_same_number(matrix.shape[1], cohort.shape[1], "tests", "cohort_test")
    mean, sd = _cohort_spread(cohort.T, "test", use=None if use is None else np.asarray(use).T)
    return _apply_by_blocks(matrix, lambda rows, block: (block - mean) / sd)


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
    # The cohort models go through the same z-norm, or the t-norm would mix two scales.
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
    one_of(selection, SELECTIONS, "selection")
    matrix = _score_matrix(scores, "scores")
    enroll, test = _score_matrix(enroll_cohort, "enroll_cohort"), _score_matrix(cohort_test, "cohort_test").T
    _require_same_number(len(matrix), len(enroll), "enrollments", "enroll_cohort")
    _require_same_number(matrix.shape[1], len(test), "tests", "cohort_test")
    if top is not None:
        require_top(top, min(enroll.shape[1], test.shape[1]))
    if selection == "other" and enroll.shape[1] != test.shape[1]:
        sizes = f"the enrollments have {enroll.shape[1]} cohort members, the tests {test.shape[1]}"
        raise InputError(f"{sizes}: selection='other' needs the same ones on both sides")
    if top is None or selection == "own":
        z_mean, z_sd = _cohort_spread(enroll, "enrollment", top)
        t_mean, t_sd = _cohort_spread(test, "test", top)
        return _apply_by_blocks(matrix, lambda rows, block: 0.5 * (
            (block - z_mean[rows, None]) / z_sd[rows, None] + (block - t_mean) / t_sd))  # fmt: skip
    chosen_by_test = _highest_of_each_row(test, int(top))
    chosen_by_enroll = _highest_of_each_row(enroll, int(top))

    def both(rows: slice, block: FloatArray) -> FloatArray:
        z_mean, z_sd = _spread_of_chosen(enroll[rows], chosen_by_test, int(top), "enrollment")
        t_mean, t_sd = _spread_of_chosen(test, chosen_by_enroll[rows], int(top), "test")
        return 0.5 * ((block - z_mean) / z_sd + (block - t_mean.T) / t_sd.T)

    return _apply_by_blocks(matrix, both)


def _cohort_spread(cohort: Array, side: str, top: int | None = None, use: Array | None = None) -> MeanAndSd:
    if use is not None and use.shape != cohort.shape:
        raise InputError(f"use must have the shape of the cohort scores, {cohort.shape}, got {use.shape}")
    mean, sd = np.empty(len(cohort)), np.empty(len(cohort))
    for rows in blocks(len(cohort), rows_per_block(cohort.shape[1])):
        block = np.asarray(cohort[rows], dtype=np.float64)
        if top is not None and top < block.shape[1]:
            # The top scores in any order are enough for a mean and a deviation.
            block = np.partition(block, block.shape[1] - top, axis=1)[:, block.shape[1] - top :]
        counts = np.ones((len(block), 1), dtype=bool) if use is None else np.asarray(use[rows], dtype=bool)
        if not counts.any(axis=1).all():
            row = rows.start + int(np.argmin(counts.any(axis=1)))
            raise InputError(f"no cohort score of {side} {row} may be used")
        # std divides by N: the cohort is all there is, not a sample of it.
        mean[rows], sd[rows] = block.mean(axis=1, where=counts), block.std(axis=1, where=counts)
        _refuse_constant(sd[rows], np.abs(block).max(axis=1), side, rows.start)
    return mean, sd


def _highest_of_each_row(cohort: Array, top: int) -> npt.NDArray[np.bool_]:
    """Which cohort members are among the ``top`` of each row; of equal scores those that come first."""
    chosen = np.zeros(cohort.shape, dtype=bool)
    for rows in blocks(len(cohort), rows_per_block(cohort.shape[1])):
        # Stable and negated: of equal scores the first member is chosen, on every machine.
        order = np.argsort(-np.asarray(cohort[rows], dtype=np.float64), axis=1, kind="stable")
        np.put_along_axis(chosen[rows], order[:, :top], True, axis=1)
    return chosen


def _spread_of_chosen(cohort: Array, chosen: npt.NDArray[np.bool_], top: int, side: str) -> MeanAndSd:
    """Statistics of each row over the members that each other side has chosen, by two matrix products."""
    values = np.asarray(cohort, dtype=np.float64)
    center = values.mean(axis=1, keepdims=True)  # squares of small numbers: nothing cancels
    values = values - center
    # A matrix of zeros and ones: sums over chosen members become matrix products.
    members = chosen.T.astype(np.float64)
    mean = values @ members / top
    variance = (values * values) @ members / top - mean * mean
    # Rounding can leave a variance of zero slightly negative.
    sd = np.sqrt(np.maximum(variance, 0.0))
    _refuse_constant(sd.ravel(), np.repeat(np.abs(values).max(axis=1), sd.shape[1]), side, None)
    return mean + center, sd


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
    # An infinite raw score stays infinite, but a cohort that holds one has no mean and no deviation.
    if what != "scores" and not (np.isfinite(matrix.min()) and np.isfinite(matrix.max())):
        row, column = np.argwhere(np.isinf(matrix))[0]
        raise InfiniteScoreError(f"{what}: an infinite score in row {row}, column {column}")
    return matrix


def _require_same_number(n: int, of_cohort: int, what: str, name: str) -> None:
    if n != of_cohort:
        raise InputError(f"scores of {n} {what}, but {name} has {of_cohort}")


def _refuse_constant(sd: FloatArray, size: FloatArray, side: str, start: int | None) -> None:
    # Relative to the size of the scores: rounding alone leaves a tiny deviation of equal ones.
    flat = sd <= 1e-12 * size
    if flat.any():
        which = f" {int(np.argmax(flat)) + start}" if start is not None else ""
        raise InputError(f"all cohort scores of {side}{which} are equal: nothing to normalize by")


E = TypeVar("E", Embeddings, Side)


def normalized_scores(
    score: Callable[[E, E], Array],
    enroll: E,
    test: E,
    cohort: E | None = None,
    *,
    normalize: str = "none",
    top: int | None = None,
) -> Array:
    """Scores of all pairs by any scorer, normalized by a cohort that stands for impostor models and segments.

    Parameters
    ----------
    score
        Function of two sets of embeddings that gives all scores.
    enroll
        Embeddings of the enrollment side.
    test
        Embeddings of the test side.
    cohort
        Impostors that scores are normalized by.
    normalize
        ``"none"``, ``"z"``, ``"t"``, ``"zt"``, ``"tz"``, ``"s"``, ``"as1"`` or ``"as2"``.
    top
        Number of cohort members with the highest scores that adaptive normalization uses.

    Examples
    --------
    >>> import numpy as np
    >>> from llrkit.speech.backends import cosine_scores
    >>> rng = np.random.default_rng(1)
    >>> enroll, test, cohort = (
    ...     Embeddings(rng.normal(size=(n, 4)), [f"{name}{i}" for i in range(n)])
    ...     for n, name in ((2, "e"), (3, "t"), (50, "c"))
    ... )
    >>> normalized_scores(cosine_scores, enroll, test, cohort, normalize="as1", top=20).shape
    (2, 3)
    """
    of_kind(enroll, Embeddings | Side, "enroll")
    of_kind(test, Embeddings | Side, "test")
    of_kind(cohort, Embeddings | Side | None, "cohort")
    one_of(normalize, NORMS, "normalization")
    if top is not None and normalize not in ("as1", "as2"):
        raise InputError(f"top needs 'as1' or 'as2', not {normalize!r}")
    raw = score(enroll, test)
    where = first_nan(raw)
    if where is not None:
        model, segment = where
        raise InputError(
            f"the score of model {enroll.ids[model]!r} and segment {test.ids[segment]!r} is NaN: the model "
            "is damaged, or its numbers are too large to be multiplied"
        )
    if normalize == "none":
        return raw
    if cohort is None:
        raise InputError(f"normalize={normalize!r} needs a cohort")
    if normalize == "z":
        return z_norm(raw, score(enroll, cohort))
    if normalize == "t":
        return t_norm(raw, score(cohort, test))
    if normalize in ("zt", "tz"):
        both = zt_norm if normalize == "zt" else tz_norm
        # A cohort segment against itself, or against its own speaker, is no impostor score.
        own, use = score(cohort, cohort), cohort.ids[:, None] != cohort.ids
        if cohort.speakers is not None:
            use &= cohort.speakers[:, None] != cohort.speakers
        return both(raw, score(enroll, cohort), score(cohort, test), own, use=use)
    # s-norm is as_norm without top, for which the selection makes no difference.
    selection = "own" if normalize == "as1" else "other"
    return as_norm(raw, score(enroll, cohort), score(cohort, test), top=top, selection=selection)


Blocks = Iterable[tuple[slice, Array]]


def pick_listed(scores: Array | Blocks, listed: Places) -> Array:
    """The scores of listed pairs from a matrix, or from its blocks of rows."""
    rows, columns = listed
    if isinstance(scores, np.ndarray):
        return np.asarray(scores[rows, columns])
    picked = np.full(len(rows), np.nan)
    # Sorted by row once, so that the pairs of each block are a slice of the order.
    order = np.argsort(rows, kind="stable")
    for block_rows, block in scores:
        inside = order[slice(*np.searchsorted(rows, (block_rows.start, block_rows.stop), sorter=order))]
        picked[inside] = block[rows[inside] - block_rows.start, columns[inside]]
    return picked


def pair_table(
    scores: Array,
    enroll_ids: Ids,
    test_ids: Ids,
    *,
    mask: Array | None = None,
    label: Array | None = None,
    more: Mapping[str, Array] | None = None,
) -> TrialTable:
    """One row per pair where ``mask`` is true: ids, score, label if there is one, and ``more`` columns."""
    columns = {} if label is None else {"label": label}
    enroll, test = (np.asarray(ids, dtype=np.str_).tolist() for ids in (enroll_ids, test_ids))
    table = long_table(scores, enroll, test, mask=mask, more={**columns, **(more or {})})
    roles = Roles(("score",), None if label is None else "label", "enroll", "test")
    return TrialTable("scores", "", table, roles)


def matrix_scores(scores: Array, enroll: Embeddings, test: Embeddings, *, same: Sequence[str] = ()) -> Scores:
    """The scores of all trials, with the speakers of both sides as columns.

    Parameters
    ----------
    scores
        The matrix of all scores.
    enroll
        Embeddings of the enrollment side.
    test
        Embeddings of the test side.
    same
        Columns whose values must be equal on both sides of a trial, such as gender.

    Examples
    --------
    >>> enroll = Embeddings(np.eye(2), ["a1", "b1"], ["a", "b"])
    >>> test = Embeddings(np.eye(2), ["a2", "b2"], ["a", "b"])
    >>> matrix_scores(np.array([[3.0, -1.0], [-2.0, 2.0]]), enroll, test).target
    array([3., 2.])
    """
    _require_matrix_shape(scores, enroll, test)
    target, nontarget = sides.trial_masks(enroll, test, same=same)
    for mask, name in ((target, "target"), (nontarget, "nontarget")):
        if not mask.any():
            raise EmptyClassError(f"there are no {name} trials between these enrollments and tests")
    # Both sides are coded together, so that a speaker has one code wherever it occurs.
    speakers = np.concatenate([enroll.known_speakers, test.known_speakers])
    names, codes = np.unique(speakers, return_inverse=True)
    columns = {}
    for side, own in (("enroll", codes[: len(enroll), None]), ("test", codes[len(enroll) :])):
        # A view: nothing of the size of the matrix is copied before the masks pick from it.
        of_trial = np.broadcast_to(own, scores.shape)
        columns[f"{side}_speaker"] = (of_trial[target], of_trial[nontarget])
    categories = {name: names.tolist() for name in columns}
    return Scores.from_classes(scores[target], scores[nontarget], columns, categories=categories)


def matrix_trials(
    scores: Array,
    enroll: Embeddings,
    test: Embeddings,
    *,
    same: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> Trials:
    """All trials of a matrix as a table with ids, labels and speakers.

    Parameters
    ----------
    scores
        Shape (rows of ``enroll``, rows of ``test``).
    enroll
        Embeddings of the enrollment side.
    test
        Embeddings of the test side.
    same
        Columns in which both sides must agree.
    columns
        Columns to carry along, as ``enroll_<name>`` and ``test_<name>``.

    Examples
    --------
    >>> enroll = Embeddings(np.eye(2), ["a1", "b1"], ["a", "b"], {"duration": [5, 40]})
    >>> test = Embeddings(np.eye(2), ["a2", "b2"], ["a", "b"])
    >>> matrix_trials(np.array([[3.0, -1.0], [-2.0, 2.0]]), enroll, test)
    Trials(4 rows: score, label, enroll, test; columns enroll_speaker, test_speaker)
    """
    _require_matrix_shape(scores, enroll, test)
    target, nontarget = sides.trial_masks(enroll, test, same=same)
    more: dict[str, Array] = {}
    for name in ("speaker", *columns):
        more |= {f"enroll_{name}": enroll.column(name)[:, None], f"test_{name}": test.column(name)}
    pairs = pair_table(scores, enroll.ids, test.ids, mask=target | nontarget, label=target, more=more)
    return Trials(pairs.table, enroll="enroll", test="test")


def listed_scores(
    scores: Array | Blocks, enroll: Embeddings, test: Embeddings, enroll_ids: Ids, test_ids: Ids
) -> Array:
    """The scores of listed pairs, in the order of the list.

    ``scores`` is a matrix, or the blocks of rows that :meth:`PLDA.score_blocks` gives: then the whole matrix
    is never in memory.

    Parameters
    ----------
    scores
        The matrix of all scores, or blocks of it.
    enroll
        Embeddings of the enrollment side.
    test
        Embeddings of the test side.
    enroll_ids
        Identifiers of the enrollment side of each pair.
    test_ids
        Identifiers of the test side of each pair.

    Examples
    --------
    >>> enroll, test = Embeddings(np.eye(2), ["a1", "b1"]), Embeddings(np.eye(2), ["a2", "b2"])
    >>> listed_scores(np.array([[3.0, -1.0], [-2.0, 2.0]]), enroll, test, ["b1", "a1"], ["a2", "a2"])
    array([-2.,  3.])
    """
    of_kind(enroll, Embeddings | Side, "enroll")
    of_kind(test, Embeddings | Side, "test")
    if len(enroll_ids) != len(test_ids):
        raise InputError(f"{len(enroll_ids)} enrollment ids but {len(test_ids)} test ids")
    listed = enroll.rows_of(enroll_ids), test.rows_of(test_ids)
    if isinstance(scores, np.ndarray):
        _require_matrix_shape(scores, enroll, test)
    return pick_listed(scores, listed)


def listed_trials(
    scores: Array | Blocks,
    enroll: Embeddings,
    test: Embeddings,
    enroll_ids: Ids,
    test_ids: Ids,
    labels: npt.ArrayLike | None = None,
) -> Trials:
    """Listed pairs as trials; the labels are given, or follow from the speakers.

    Parameters
    ----------
    scores
        The matrix of all scores, or blocks of it.
    enroll
        Embeddings of the enrollment side.
    test
        Embeddings of the test side.
    enroll_ids
        Identifiers of the enrollment side of each pair.
    test_ids
        Identifiers of the test side of each pair.
    labels
        Labels of the pairs; by default they follow from the speakers.

    Examples
    --------
    >>> enroll, test = (Embeddings(np.eye(2), [a, b], ["x", "y"]) for a, b in (("a1", "b1"), ("a2", "b2")))
    >>> listed_trials(np.eye(2), enroll, test, ["a1", "a1"], ["a2", "b2"]).scores().target
    array([1.])
    """
    picked = listed_scores(scores, enroll, test, enroll_ids, test_ids)
    if labels is None:
        listed = enroll.rows_of(enroll_ids), test.rows_of(test_ids)
        labels = same_speaker((enroll.known_speakers, test.known_speakers), listed)
    of_pairs = np.asarray(labels)
    if of_pairs.shape != picked.shape:
        raise InputError(f"labels must be one for each of the {len(picked)} pairs, got {labels!r:.60}")
    enrolled, tested = (np.asarray(ids, dtype=str).tolist() for ids in (enroll_ids, test_ids))
    table = {"enroll": enrolled, "test": tested, "score": picked, "label": of_pairs}
    return Trials(table, enroll="enroll", test="test")


def write_matrix(
    scores: Array, enroll: Embeddings, test: Embeddings, path: PathArg, *, format: str | None = None
) -> None:
    """Write all scores of a matrix, without labels, in any of the formats of :func:`llrkit.write_trials`.

    Parameters
    ----------
    scores
        The matrix of all scores.
    enroll
        Embeddings of the enrollment side.
    test
        Embeddings of the test side.
    path
        Where the scores are written.
    format
        Name of the format; by default that of the ending of the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "scores.kaldi"
    >>> write_matrix(np.array([[0.5]]), Embeddings([[1.0]], ["m"]), Embeddings([[1.0]], ["t"]), file)
    >>> file.read_text()
    'm t 0.5\\n'
    """
    _require_matrix_shape(scores, enroll, test)
    write_table(pair_table(scores, enroll.ids, test.ids), path, format=format)


def _require_matrix_shape(scores: Array, enroll: Embeddings, test: Embeddings) -> None:
    shape = (len(enroll), len(test))
    if scores.shape != shape:
        raise InputError(f"scores have shape {scores.shape}, but there are {shape} enrollments and tests")


NORM = "norm"
"""The column with the length of each raw embedding, which says something about its quality."""
_SUMS = ("speech_seconds", "audio_seconds", "frames")
Columns = dict[str, Array]


def row_columns(raw: Embeddings) -> Columns:
    """The columns of utterances, and the length of their raw embeddings.

    Examples
    --------
    >>> row_columns(Embeddings([[3.0, 4.0]], ["a"], columns={"gender": ["f"]}))
    {'gender': array(['f'], dtype='<U1'), 'norm': array([5.])}
    """
    return {**raw.columns, NORM: np.round(row_lengths(raw.vectors), 6)}


def model_columns(raw: Embeddings, models: Array) -> Columns:
    """The columns of models that are made of several utterances.

    Seconds and frames are added up, lengths averaged, the number of utterances is in ``sessions``; other
    columns are kept where they have one value in each model.

    Examples
    --------
    >>> raw = Embeddings(np.eye(3), list("abc"), list("xxy"), {"speech_seconds": [2.0, 3.0, 4.0]})
    >>> model_columns(raw, raw.speakers)["speech_seconds"]
    array([5., 4.])
    """
    return pooled_columns(row_columns(raw), list(model_rows(raw, models).values()))


def pooled_columns(columns_of_rows: Columns, rows: Sequence[npt.NDArray[np.intp]]) -> Columns:
    """The same of columns alone; ``rows`` are those of each model.

    Examples
    --------
    >>> seconds, gender = np.array([2.0, 3.0, 4.0]), np.array(["f", "f", "m"])
    >>> pooled_columns({"speech_seconds": seconds, "gender": gender}, [np.array([0, 1]), np.array([2])])
    {'speech_seconds': array([5., 4.]), 'gender': array(['f', 'm'], dtype='<U1'), 'sessions': array([2, 1])}
    """
    columns: Columns = {}
    for name, values in columns_of_rows.items():
        if name in _SUMS and values.dtype.kind in "iuf":
            columns[name] = np.array([values[own].sum() for own in rows]).round(6)
        elif name == NORM:
            columns[name] = np.array([values[own].mean() for own in rows]).round(6)
        elif (constant := values_if_constant(values, rows)) is not None:
            columns[name] = constant
    columns["sessions"] = np.array([len(own) for own in rows])
    return columns


def scored_pairs(
    scores: Array, models: Side, segments: Side, trial_list: TrialTable | None = None
) -> TrialTable:
    """Trials of two sides: those of a list, or all pairs but those of a segment with itself (the same id).

    Labels follow from the speakers of both sides, if they are known, unless the list has some. Speakers and
    columns of either side become ``enroll_<name>`` and ``test_<name>``, unless the list has them.

    Examples
    --------
    >>> models = Side(np.array(["a"]), np.array(["ann"]))
    >>> segments = Side(np.array(["x", "y"]), np.array(["ann", "bo"]))
    >>> scored_pairs(np.array([[1.5, -2.0]]), models, segments).table.rows()
    [('a', 'x', 1.5, 'target', 'ann', 'ann'), ('a', 'y', -2.0, 'nontarget', 'ann', 'bo')]
    """
    ids = models.ids.tolist(), segments.ids.tolist()
    listed = None if trial_list is None else find_listed(trial_list, *ids)
    # Of all pairs, values of the models are a column, which is broadcast along the row of the segments.
    at: tuple[Any, Any] = np.s_[(slice(None), None), :] if listed is None else listed
    named: tuple[dict[str, Array], dict[str, Array]] = {}, {}
    labels = None
    if models.speakers is not None and segments.speakers is not None:
        named = {"speaker": models.speakers}, {"speaker": segments.speakers}
        if trial_list is None or trial_list.label is None:
            is_target = same_speaker((models.speakers, segments.speakers), listed)
            labels = np.where(is_target, "target", "nontarget")
    more: dict[str, Array] = {}
    for side, own, who, places in zip((models, segments), named, ("enroll", "test"), at, strict=True):
        more |= {f"{who}_{name}": np.asarray(v)[places] for name, v in {**own, **side.columns}.items()}
    if trial_list is not None and listed is not None:
        return with_listed_scores(trial_list, pick_listed(scores, listed), labels, more)
    mask = different_ids(models.ids, segments.ids)
    return pair_table(scores, models.ids, segments.ids, mask=mask, label=labels, more=more)
