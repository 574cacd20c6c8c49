"""From a batch of rows to a chunk of scores: the same for files and for a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from llrkit.io.checks import score_values, target_mask_of
from llrkit.io.trial_table import Found
from llrkit.scores import Scores
from llrkit.scores.source import POSITION
from llrkit.scores.trials import ROW, Trials

ENOUGH_BYTES = 10 << 20
"""Scores in a chunk of a large set: what a summary costs besides, for its grid say, is spread over many."""
COUNTED = (ROW, POSITION)
"""Columns that need not be stored: they follow from where a trial stands."""


@dataclass(frozen=True)
class Roles:
    """Which columns hold the scores and the label and how these are read, and what else chunks carry."""

    score: tuple[str, ...] = ("score",)
    label: str = "label"
    positive: str | None = None
    factor: float = 1.0
    carried: tuple[str, ...] = ()

    def stored(self, there: list[str]) -> list[str]:
        """The columns that have to be read, each once; ``there`` are those of the table."""
        carried = (name for name in self.carried if name in there or name not in COUNTED)
        return list(dict.fromkeys((*self.score, self.label, *carried)))

    def carrying(self, names: tuple[str, ...]) -> Self:
        """The same roles with other columns carried."""
        return replace(self, carried=names)

    def chunk(self, batch: Found, before: Any) -> Any:
        """What a batch is summarized as; other kinds of trials have roles of their own."""
        return chunk_of(replace(batch, score=self.score, label=self.label), self, before)[0]

    def counted(self, chunk: Any) -> Any:
        """What a chunk adds to the trials before those that come after it."""
        return Before.of(chunk)

    def rows_of(self, chunk: Any) -> int:
        """How many trials a chunk holds."""
        return int(chunk.n_target + chunk.n_nontarget)

    def nothing_before(self) -> Any:
        """Where the first batch stands."""
        return Before()


@dataclass(frozen=True)
class Before:
    """How many targets and non-targets come before a batch."""

    n_target: int = 0
    n_nontarget: int = 0

    @classmethod
    def of(cls, chunk: Scores) -> Before:
        """What a chunk adds for those that come after it."""
        return cls(chunk.n_target, chunk.n_nontarget)

    def __add__(self, other: Before) -> Before:
        return Before(self.n_target + other.n_target, self.n_nontarget + other.n_nontarget)

    def place(self, name: str, mask: Any) -> Any:
        """Row numbers, or positions within the class, of the rows of a batch."""
        if name == ROW:
            return np.arange(len(mask)) + (self.n_target + self.n_nontarget)
        of_target, of_nontarget = np.cumsum(mask) + self.n_target, np.cumsum(~mask) + self.n_nontarget
        return np.where(mask, of_target, of_nontarget) - 1


def chunk_of(
    batch: Found, roles: Roles, before: Before, expected: Iterable[str] = ()
) -> tuple[Scores, frozenset[str]]:
    """The scores of a batch with the columns its roles carry, and the words among its labels.

    Either class may be empty. ``expected`` are the words of earlier batches, which are looked for first.
    """
    scores = score_values(batch) if roles.factor == 1.0 else score_values(batch) * roles.factor
    mask, words = target_mask_of(batch, roles.positive, expected)
    trials = Trials(batch.table, score=roles.score, label=roles.label)
    columns: dict[str, tuple[Any, Any]] = {}
    categories: dict[str, tuple[Any, ...]] = {}
    for name in roles.carried:
        if name in trials.columns:
            values, names = trials.coded(name)
        else:
            values, names = before.place(name, mask), None
        columns[name] = (values[mask], values[~mask])
        if names is not None:
            categories[name] = tuple(names)
    return Scores.part(scores[mask], scores[~mask], columns, categories), words


def joined(chunks: Iterable[Any]) -> Iterator[Any]:
    """Scores in larger chunks; those that carry columns, or are no scores of two classes, as they are."""
    held: list[Scores] = []
    size = 0
    for chunk in chunks:
        if not isinstance(chunk, Scores) or chunk.columns:
            yield chunk
            continue
        held.append(chunk)
        size += chunk.target.nbytes + chunk.nontarget.nbytes
        if size >= ENOUGH_BYTES:
            yield _one_of(held)
            held, size = [], 0
    if held:
        yield _one_of(held)


def _one_of(chunks: list[Scores]) -> Scores:
    if len(chunks) == 1:
        return chunks[0]
    return Scores.part(
        np.concatenate([chunk.target for chunk in chunks]),
        np.concatenate([chunk.nontarget for chunk in chunks]),
        {},
        {},
    )
