"""Targets, non-targets and spoofs within a chunk; bona fide trials against spoofs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llrkit._arrays import Array, BoolArray, IntArray, Rows
from llrkit.core.column_values import positions_by_name
from llrkit.scores import Scores
from llrkit.scores.spoof_kind_words import KIND, KINDS, Kind, kind_of

UNNAMED = "(no name)"
"""The attack of spoofs that have none in the column of attacks."""


def spoof_mask(chunk: Scores, column: str) -> BoolArray:
    """Which trials of a chunk that are no targets are spoofs."""
    codes, names = chunk.columns[column][1], chunk.categories.get(column)
    if column == KIND:
        return np.asarray(codes == KINDS.index("spoof"))
    if names is None and codes.dtype.kind not in "OSU":
        return np.zeros(len(codes), dtype=bool)  # numbers and booleans tell two classes only
    if names is None:
        distinct, codes = np.unique(codes.astype(str), return_inverse=True)
        names = tuple(distinct.tolist())
    is_spoof = np.array([kind_of(name) == "spoof" for name in names], dtype=bool)
    return np.asarray(is_spoof[codes], dtype=bool) if len(codes) else np.zeros(0, dtype=bool)


def regrouped(
    chunk: Scores,
    column: str,
    positive: Sequence[Kind],
    negative: Sequence[Kind],
    attack: tuple[str, str] | None,
) -> Scores:
    """Two classes made of these kinds; ``attack`` (a column, a value) keeps the spoofs of one attack."""
    spoof = spoof_mask(chunk, column)
    chosen: dict[Kind, Rows] = {"target": slice(None), "nontarget": ~spoof, "spoof": spoof}
    if attack is not None:
        own = attack_positions(chunk, attack[0], spoof).get(attack[1], np.empty(0, dtype=np.intp))
        chosen["spoof"] = np.flatnonzero(spoof)[own]

    def joined(arrays: tuple[Array, Array], kinds: Sequence[Kind]) -> Array:
        parts = [arrays[0 if kind == "target" else 1][chosen[kind]] for kind in kinds]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def both(arrays: tuple[Array, Array]) -> tuple[Array, Array]:
        return joined(arrays, positive), joined(arrays, negative)

    columns = {name: both(arrays) for name, arrays in chunk.columns.items()}
    return Scores.part(*both((chunk.target, chunk.nontarget)), columns, chunk.categories)


def attack_positions(chunk: Scores, column: str, spoof: BoolArray) -> dict[str, IntArray]:
    """For each attack, where its trials are among the spoofs of a chunk."""
    found = positions_by_name(chunk.columns[column][1][spoof], chunk.categories.get(column))
    return {attack_name(value): own for value, own in found.items()}


def attack_name(value: object) -> str:
    """What an attack is called.

    Examples
    --------
    >>> attack_name("A07"), attack_name(None)
    ('A07', '(no name)')
    """
    return UNNAMED if value is None else str(value)


def one_system(chunk: Scores, place: int) -> Scores:
    """The scores of one system."""
    return Scores.part(chunk.target[:, place], chunk.nontarget[:, place], chunk.columns, chunk.categories)


def gated(chunk: Scores, place: tuple[int, int], threshold: float) -> Scores:
    """The scores of the second system, -inf where the first rejects."""
    first, second = place

    def passed(scores: Array) -> Array:
        return np.where(scores[:, first] >= threshold, scores[:, second], -np.inf)

    return Scores.part(passed(chunk.target), passed(chunk.nontarget), chunk.columns, chunk.categories)


BONA_FIDE: tuple[Kind, ...] = ("target", "nontarget")
