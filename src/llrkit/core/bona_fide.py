"""Bona fide trials against spoofs, where labels tell targets, non-targets and spoofs apart."""

from __future__ import annotations

import re
import warnings
from functools import partial

from llrkit.core.chunk_kinds import regrouped
from llrkit.core.column_values import ValueCounts
from llrkit.errors import LabelError, PooledClassesWarning
from llrkit.scores import ScoreSource
from llrkit.scores.derived_sources import DerivedSource
from llrkit.scores.kinds import SPOOF_WORDS, Kind, kind_of

BONA_FIDE: tuple[Kind, ...] = ("target", "nontarget")


def speaks_of_spoofs(word: str | None) -> bool:
    """Whether a class to share is named as countermeasures do: bona fide, or spoof.

    Examples
    --------
    >>> [speaks_of_spoofs(word) for word in ("bonafide", "Bona fide", "spoof", "target", None)]
    [True, True, True, False, False]
    """
    plain = re.sub(r"[ _]+", "-", word.strip().lower()) if isinstance(word, str) else ""
    return plain in ("bonafide", "bona-fide") or plain in SPOOF_WORDS


def bona_fide_and_spoofs(source: ScoreSource, word: str | None) -> ScoreSource:
    """Targets and non-targets against spoofs, if the class to share is named so and labels tell all three.

    Both are bona fide, so that a countermeasure is to accept them. Other trials stay as they are; one pass.

    Examples
    --------
    >>> import llrkit as lk
    >>> table = {"score": [2.0, 3.0, -1.0], "label": ["target", "nontarget", "spoof"], "attack": list("--A")}
    >>> lk.evaluate(lk.Trials(table), by="attack", shared="bonafide").n_target
    2
    """
    column = source.roles.label
    if column is None or not speaks_of_spoofs(word):
        return source
    with warnings.catch_warnings():  # no two kinds are taken as one
        warnings.simplefilter("ignore", PooledClassesWarning)
        words = source.with_columns(column).reduce(lambda chunk: ValueCounts.of(chunk, column)).counts
    try:
        kinds = {kind_of(label) for label in words}
    except LabelError:  # labels of its own, which the label of the targets tells apart
        return source
    if not {"nontarget", "spoof"} <= kinds:
        return source
    change = partial(regrouped, column=column, positive=BONA_FIDE, negative=("spoof",), attack=None)
    return DerivedSource(source, change, (column,))
