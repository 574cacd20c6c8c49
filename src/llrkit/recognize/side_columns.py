"""What is known of each row of a side besides its vector: it travels to the file of scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit.recognize.backends.pooled_sessions import model_rows
from llrkit.recognize.embeddings import Embeddings

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
