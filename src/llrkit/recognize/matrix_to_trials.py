"""From a matrix of scores to trials: all pairs or those of a list, in any format.

Pairs of a list are picked by :func:`pick_listed`, and a matrix is made into a table by :func:`pair_table`,
whether the two sides are embeddings or ids with speakers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

import numpy as np
import numpy.typing as npt

from llrkit._arguments import takes
from llrkit._arrays import Array
from llrkit.errors import EmptyClassError, InputError
from llrkit.io.score_matrices import long_table
from llrkit.io.trial_table import TrialTable
from llrkit.io.write import write_table
from llrkit.recognize.backends.trial_sides import Side
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.pair_labels import Ids, Places, same_speaker, trial_masks
from llrkit.scores import Scores
from llrkit.scores.roles import Roles
from llrkit.scores.trials import Trials

Blocks = Iterable[tuple[slice, Array]]


def pick_listed(scores: Array | Blocks, listed: Places) -> Array:
    """The scores of listed pairs from a matrix, or from its blocks of rows."""
    rows, columns = listed
    if isinstance(scores, np.ndarray):
        return np.asarray(scores[rows, columns])
    picked = np.full(len(rows), np.nan)
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


@takes(enroll=Embeddings | Side, test=Embeddings | Side, scores=np.ndarray)
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
    target, nontarget = trial_masks(enroll, test, same=same)
    for mask, name in ((target, "target"), (nontarget, "nontarget")):
        if not mask.any():
            raise EmptyClassError(f"there are no {name} trials between these enrollments and tests")
    names, codes = np.unique(
        np.concatenate([enroll.known_speakers, test.known_speakers]), return_inverse=True
    )
    sides = (codes[: len(enroll), None], codes[len(enroll) :])
    by_trial = [np.broadcast_to(values, scores.shape) for values in sides]
    columns = {
        f"{side}_speaker": (values[target], values[nontarget])
        for side, values in zip(("enroll", "test"), by_trial, strict=True)
    }
    categories = {name: names.tolist() for name in columns}
    return Scores.from_classes(scores[target], scores[nontarget], columns, categories=categories)


@takes(enroll=Embeddings | Side, test=Embeddings | Side, scores=np.ndarray)
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
    target, nontarget = trial_masks(enroll, test, same=same)
    more: dict[str, Array] = {}
    for name in ("speaker", *columns):
        more |= {f"enroll_{name}": enroll.column(name)[:, None], f"test_{name}": test.column(name)}
    pairs = pair_table(scores, enroll.ids, test.ids, mask=target | nontarget, label=target, more=more)
    return Trials(pairs.table, enroll="enroll", test="test")


@takes(enroll=Embeddings | Side, test=Embeddings | Side)
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
    if len(enroll_ids) != len(test_ids):
        raise InputError(f"{len(enroll_ids)} enrollment ids but {len(test_ids)} test ids")
    listed = enroll.rows_of(enroll_ids), test.rows_of(test_ids)
    if isinstance(scores, np.ndarray):
        _require_matrix_shape(scores, enroll, test)
    return pick_listed(scores, listed)


@takes(enroll=Embeddings | Side, test=Embeddings | Side)
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
    table = {
        "enroll": np.asarray(enroll_ids, dtype=str).tolist(),
        "test": np.asarray(test_ids, dtype=str).tolist(),
        "score": picked,
        "label": of_pairs,
    }
    return Trials(table, enroll="enroll", test="test")


@takes(enroll=Embeddings | Side, test=Embeddings | Side, scores=np.ndarray)
def write_matrix(
    scores: Array,
    enroll: Embeddings,
    test: Embeddings,
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
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
