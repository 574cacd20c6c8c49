"""Which pairs of a matrix of scores are trials, and which of them are targets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from llrkit._arguments import takes
from llrkit._arrays import Array
from llrkit.recognize.backends.trial_sides import Side
from llrkit.recognize.embeddings import Embeddings

Ids = Sequence[str] | Array
Speakers = tuple[Ids, Ids]
"""The speakers of the enrollments and of the tests."""
Places = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
"""Rows and columns of listed pairs."""


def same_speaker(speakers: Speakers, listed: Places | None = None) -> Array:
    """Which pairs are target trials: a matrix for all pairs, or one value for each listed pair.

    Examples
    --------
    >>> same_speaker((["ann"], ["ann", "bo"]))
    array([[ True, False]])
    """
    enroll, test = (np.asarray(names, dtype=np.str_) for names in speakers)
    if listed is None:
        return np.asarray(enroll[:, None] == test)
    rows, columns = listed
    return np.asarray(enroll[rows] == test[columns])


def label_names(is_target: Array) -> npt.NDArray[np.str_]:
    """The labels of trials as words."""
    return np.where(is_target, "target", "nontarget")


def different_ids(enroll_ids: Ids, test_ids: Ids) -> Array:
    """Which pairs are not one and the same segment."""
    enroll, test = (np.asarray(ids, dtype=np.str_) for ids in (enroll_ids, test_ids))
    return np.asarray(enroll[:, None] != test)


@takes(enroll=Embeddings | Side, test=Embeddings | Side)
def trial_masks(enroll: Embeddings, test: Embeddings, *, same: Sequence[str] = ()) -> tuple[Array, Array]:
    """Which pairs are target trials and which non-target trials, as two matrices of bool.

    A pair is a trial if its sides agree in all columns named in ``same`` (gender, say) and are not one and
    the same segment (the same id).

    Parameters
    ----------
    enroll
        Embeddings of the enrollment side.
    test
        Embeddings of the test side.
    same
        Columns whose values must be equal on both sides of a trial, such as gender.

    Examples
    --------
    >>> both = Embeddings(np.eye(3), ["a1", "a2", "b1"], ["a", "a", "b"])
    >>> target, nontarget = trial_masks(both, both)
    >>> int(target.sum()), int(nontarget.sum())
    (2, 4)
    """
    is_target = same_speaker((enroll.known_speakers, test.known_speakers))
    is_trial = different_ids(enroll.ids, test.ids)
    for name in same:
        is_trial &= enroll.column(name)[:, None] == test.column(name)
    return is_target & is_trial, ~is_target & is_trial
