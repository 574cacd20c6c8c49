"""Tables of scored trials: all pairs of two sides or those of a list, with what is known of either side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit.io.trial_lists import find_listed, with_listed_scores
from llrkit.io.trial_table import TrialTable
from llrkit.recognize.backends.pooled_sessions import model_rows
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.matrix_to_trials import pair_table, pick_listed
from llrkit.recognize.pair_labels import Ids, Speakers, different_ids, label_names, same_speaker

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
    norms = np.sqrt(np.einsum("nd,nd->n", raw.vectors, raw.vectors, dtype=np.float64))
    return {**raw.columns, NORM: np.round(norms, 6)}


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
        elif all((values[own] == values[own[0]]).all() for own in rows):
            columns[name] = values[[own[0] for own in rows]]
    columns["sessions"] = np.array([len(own) for own in rows])
    return columns


SideColumns = tuple[Mapping[str, Array], Mapping[str, Array]]
"""What else is known of the enrollments and of the tests."""


def all_pairs_table(
    scores: Array,
    enroll_ids: Ids,
    test_ids: Ids,
    *,
    speakers: Speakers | None = None,
    columns: SideColumns = ({}, {}),
) -> TrialTable:
    """One trial per cell of a matrix of scores, but none of a segment against itself (the same id).

    ``speakers`` of both sides give the labels, if they are known, and two columns; ``columns`` of either side
    become ``enroll_<name>`` and ``test_<name>``.

    Examples
    --------
    >>> speakers = (["ann"], ["ann", "bo"])
    >>> all_pairs_table(np.array([[1.5, -2.0]]), ["a"], ["x", "y"], speakers=speakers).table.rows()
    [('a', 'x', 1.5, 'target', 'ann', 'ann'), ('a', 'y', -2.0, 'nontarget', 'ann', 'bo')]
    """
    label = None if speakers is None else label_names(same_speaker(speakers))
    enroll, test = _columns_of_side(speakers, columns)
    more = {**{name: values[:, None] for name, values in enroll.items()}, **test}
    mask = different_ids(enroll_ids, test_ids)
    return pair_table(scores, enroll_ids, test_ids, mask=mask, label=label, more=more)


def _columns_of_side(
    speakers: Speakers | None, columns: SideColumns
) -> tuple[dict[str, Array], dict[str, Array]]:
    sides = []
    for i, side in enumerate(("enroll", "test")):
        named = {} if speakers is None else {f"{side}_speaker": np.asarray(speakers[i], dtype=np.str_)}
        sides.append({**named, **{f"{side}_{name}": np.asarray(v) for name, v in columns[i].items()}})
    return sides[0], sides[1]


def listed_pairs_table(
    scores: Array,
    trial_list: TrialTable,
    enroll_ids: Sequence[str],
    test_ids: Sequence[str],
    *,
    speakers: Speakers | None = None,
    columns: SideColumns = ({}, {}),
) -> TrialTable:
    """The trials of a list with their scores, in its order.

    If the list has no labels, they come from the ``speakers`` of both sides, if these are known. Columns of
    either side are added as in :func:`all_pairs_table`, unless the list has them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from llrkit.io.trial_lists import read_trial_list
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "trials"
    >>> _ = file.write_text("b x\\na x\\n")
    >>> listed_pairs_table(np.array([[1.5], [-2.0]]), read_trial_list(file), ["a", "b"], ["x"]).table.rows()
    [('b', 'x', -2.0), ('a', 'x', 1.5)]
    """
    listed = find_listed(trial_list, enroll_ids, test_ids)
    labels = None
    if trial_list.label is None and speakers is not None:
        labels = label_names(same_speaker(speakers, listed))
    more = {
        name: values[places]
        for side, places in zip(_columns_of_side(speakers, columns), listed, strict=True)
        for name, values in side.items()
    }
    return with_listed_scores(trial_list, pick_listed(scores, listed), labels, more)
