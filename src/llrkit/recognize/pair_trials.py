"""From a matrix of scores to trials: labels from the speakers, all pairs or those of a list, any format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit.errors import EmptyClassError, InputError
from llrkit.io.score_matrices import long_table
from llrkit.io.trial_table import TrialTable
from llrkit.io.write import write_table
from llrkit.recognize.embeddings import Embeddings
from llrkit.scores import Scores
from llrkit.scores.roles import Roles
from llrkit.scores.trials import Trials

Blocks = Iterable[tuple[slice, Array]]
Ids = Sequence[str] | Array


def trial_masks(enroll: Embeddings, test: Embeddings, *, same: Sequence[str] = ()) -> tuple[Array, Array]:
    """Which pairs are target trials and which non-target trials, as two matrices of bool.

    A pair is a trial if its sides agree in all columns named in ``same`` (gender, say) and are not one and
    the same segment (the same id).

    Examples
    --------
    >>> both = Embeddings(np.eye(3), ["a1", "a2", "b1"], ["a", "a", "b"])
    >>> target, nontarget = trial_masks(both, both)
    >>> int(target.sum()), int(nontarget.sum())
    (2, 4)
    """
    speakers, others = enroll.known_speakers, test.known_speakers
    counts = enroll.ids[:, None] != test.ids
    for name in same:
        counts &= enroll.column(name)[:, None] == test.column(name)
    alike = speakers[:, None] == others
    return alike & counts, ~alike & counts


def matrix_scores(scores: Array, enroll: Embeddings, test: Embeddings, *, same: Sequence[str] = ()) -> Scores:
    """The scores of all trials, with the speakers of both sides as columns.

    Examples
    --------
    >>> enroll = Embeddings(np.eye(2), ["a1", "b1"], ["a", "b"])
    >>> test = Embeddings(np.eye(2), ["a2", "b2"], ["a", "b"])
    >>> matrix_scores(np.array([[3.0, -1.0], [-2.0, 2.0]]), enroll, test).target
    array([3., 2.])
    """
    _require_shape(scores, enroll, test)
    target, nontarget = trial_masks(enroll, test, same=same)
    for mask, name in ((target, "target"), (nontarget, "nontarget")):
        if not mask.any():
            raise EmptyClassError(f"there are no {name} trials between these enrollments and tests")
    names, codes = np.unique(
        np.concatenate([enroll.known_speakers, test.known_speakers]), return_inverse=True
    )
    sides = (codes[: len(enroll), None], codes[len(enroll) :])
    columns = {
        f"{side}_speaker": tuple(np.broadcast_to(values, scores.shape)[mask] for mask in (target, nontarget))
        for side, values in zip(("enroll", "test"), sides, strict=True)
    }
    listed = {name: names.tolist() for name in columns}
    return Scores(scores[target], scores[nontarget], columns, categories=listed)  # type: ignore[arg-type]


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
    _require_shape(scores, enroll, test)
    target, nontarget = trial_masks(enroll, test, same=same)
    more: dict[str, Array] = {"label": target}
    for name in ("speaker", *columns):
        more |= {f"enroll_{name}": enroll.column(name)[:, None], f"test_{name}": test.column(name)}
    table = long_table(scores, enroll.ids.tolist(), test.ids.tolist(), mask=target | nontarget, more=more)
    return Trials(table, enroll="enroll", test="test")


def listed_scores(
    scores: Array | Blocks, enroll: Embeddings, test: Embeddings, enroll_ids: Ids, test_ids: Ids
) -> Array:
    """The scores of listed pairs, in the order of the list.

    ``scores`` is a matrix, or the blocks of rows that :meth:`PLDA.score_blocks` gives: then the whole matrix
    is never in memory.

    Examples
    --------
    >>> enroll, test = Embeddings(np.eye(2), ["a1", "b1"]), Embeddings(np.eye(2), ["a2", "b2"])
    >>> listed_scores(np.array([[3.0, -1.0], [-2.0, 2.0]]), enroll, test, ["b1", "a1"], ["a2", "a2"])
    array([-2.,  3.])
    """
    if len(enroll_ids) != len(test_ids):
        raise InputError(f"{len(enroll_ids)} enrollment ids but {len(test_ids)} test ids")
    rows, columns = enroll.rows_of(enroll_ids), test.rows_of(test_ids)
    if isinstance(scores, np.ndarray):
        _require_shape(scores, enroll, test)
        return np.asarray(scores[rows, columns])
    found = np.full(len(rows), np.nan)
    order = np.argsort(rows, kind="stable")
    for part, block in scores:
        mine = order[slice(*np.searchsorted(rows, (part.start, part.stop), sorter=order))]
        found[mine] = block[rows[mine] - part.start, columns[mine]]
    return found


def listed_trials(
    scores: Array | Blocks,
    enroll: Embeddings,
    test: Embeddings,
    enroll_ids: Ids,
    test_ids: Ids,
    labels: npt.ArrayLike | None = None,
) -> Trials:
    """Listed pairs as trials; the labels are given, or follow from the speakers.

    Examples
    --------
    >>> enroll, test = (Embeddings(np.eye(2), [a, b], ["x", "y"]) for a, b in (("a1", "b1"), ("a2", "b2")))
    >>> listed_trials(np.eye(2), enroll, test, ["a1", "a1"], ["a2", "b2"]).scores().target
    array([1.])
    """
    found = listed_scores(scores, enroll, test, enroll_ids, test_ids)
    if labels is None:
        rows, columns = enroll.rows_of(enroll_ids), test.rows_of(test_ids)
        labels = enroll.known_speakers[rows] == test.known_speakers[columns]
    table = {
        "enroll": np.asarray(enroll_ids, dtype=str).tolist(),
        "test": np.asarray(test_ids, dtype=str).tolist(),
        "score": found,
        "label": np.asarray(labels),
    }
    return Trials(table, enroll="enroll", test="test")


def write_matrix(
    scores: Array,
    enroll: Embeddings,
    test: Embeddings,
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
) -> None:
    """Write all scores of a matrix, without labels, in any of the formats of :func:`llrkit.write_trials`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "scores.kaldi"
    >>> write_matrix(np.array([[0.5]]), Embeddings([[1.0]], ["m"]), Embeddings([[1.0]], ["t"]), file)
    >>> file.read_text()
    'm t 0.5\\n'
    """
    _require_shape(scores, enroll, test)
    table = long_table(scores, enroll.ids.tolist(), test.ids.tolist())
    trials = TrialTable(str(path), "", table, Roles(("score",), None, "enroll", "test"))
    write_table(trials, path, format=format)


def _require_shape(scores: Array, enroll: Embeddings, test: Embeddings) -> None:
    shape = (len(enroll), len(test))
    if scores.shape != shape:
        raise InputError(f"scores have shape {scores.shape}, but there are {shape} enrollments and tests")
