"""From a batch of rows to a chunk of scores: the same for files and for a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from llrkit._arrays import Array, BoolArray, IntArray
from llrkit._memory import at_once
from llrkit.errors import LabelError
from llrkit.io.checked_trials import score_values, target_mask_of
from llrkit.io.trial_table import TrialTable
from llrkit.scores import Scores
from llrkit.scores.roles import ROW, Roles
from llrkit.scores.target_labels import ACCEPTED, warn_of_pooled
from llrkit.scores.trials import Trials

ENOUGH_BYTES = 10 << 20
"""Scores in a chunk of a large set: what a summary costs besides, for its grid say, is spread over many."""


class Countable(Protocol):
    """What is counted of some trials adds up to what is counted of all of them."""

    def __add__(self, other: Self, /) -> Self:
        """Together with other trials."""
        ...


C = TypeVar("C")
B = TypeVar("B", bound=Countable)


@dataclass(frozen=True)
class Chunking(ABC, Generic[C, B]):
    """How batches of rows become the chunks that are summarized; one for each kind of trials."""

    roles: Roles

    def carrying(self, *names: str) -> Self:
        """The same with other columns carried."""
        return replace(self, roles=self.roles.carrying(*names))

    @abstractmethod
    def chunk(self, batch: TrialTable, before: B, words: set[str]) -> C:
        """The trials of a batch, checked; ``before`` are those of earlier batches.

        The words among the labels are added to ``words``, where labels are words.
        """

    @abstractmethod
    def counted(self, chunk: C) -> B:
        """What a chunk adds to the trials before those that come after it."""

    @abstractmethod
    def rows_of(self, chunk: C) -> int:
        """How many trials a chunk holds."""

    @abstractmethod
    def nothing_before(self) -> B:
        """Where the first batch stands."""

    def joined(self, chunks: Iterable[C]) -> Iterator[C]:
        """The same trials in larger chunks, where that saves time."""
        return iter(chunks)


@dataclass(frozen=True)
class TwoClassChunking(Chunking[Scores, "Before"]):
    """Trials of targets and non-targets become :class:`Scores`."""

    def chunk(self, batch: TrialTable, before: Before, words: set[str]) -> Scores:
        """The scores of a batch with the columns that are carried."""
        chunk, seen = chunk_of(replace(batch, roles=self.roles), before, words)
        words |= seen
        return chunk

    def counted(self, chunk: Scores) -> Before:
        """The targets and non-targets of a chunk."""
        return Before.of(chunk)

    def rows_of(self, chunk: Scores) -> int:
        """Targets and non-targets together."""
        return chunk.n_target + chunk.n_nontarget

    def nothing_before(self) -> Before:
        """No targets and no non-targets."""
        return Before()

    def joined(self, chunks: Iterable[Scores]) -> Iterator[Scores]:
        """Scores without columns in larger chunks."""
        return joined(chunks)


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

    def place(self, name: str, mask: BoolArray) -> IntArray:
        """Row numbers, or positions within the class, of the rows of a batch."""
        if name == ROW:
            return np.arange(len(mask)) + (self.n_target + self.n_nontarget)
        of_target, of_nontarget = np.cumsum(mask) + self.n_target, np.cumsum(~mask) + self.n_nontarget
        return np.where(mask, of_target, of_nontarget) - 1


def chunk_of(
    batch: TrialTable, before: Before, expected: Iterable[str] = ()
) -> tuple[Scores, frozenset[str]]:
    """The scores of a batch with the columns its roles carry, and the words among its labels.

    Either class may be empty. ``expected`` are the words of earlier batches, which are looked for first.
    """
    roles = batch.roles
    scores = score_values(batch) if roles.factor == 1.0 else score_values(batch) * roles.factor
    mask, words = target_mask_of(batch, roles.positive, expected)
    trials = Trials.of(batch.table, Roles(roles.score, roles.label))
    columns: dict[str, tuple[Array, Array]] = {}
    categories: dict[str, tuple[Hashable, ...]] = {}
    for name in roles.carried:
        if name in trials.columns:
            values, names = trials.coded(name)
        else:
            values, names = before.place(name, mask), None
        columns[name] = (values[mask], values[~mask])
        if names is not None:
            categories[name] = tuple(names)
    return Scores.part(scores[mask], scores[~mask], columns, categories), words


def settle_words(words: Iterable[str], where: str) -> None:
    """What all labels of a set must be, though each batch may look right by itself: two classes.

    Examples
    --------
    >>> settle_words(["1", "0", "-1"], "scores/, column 'label'")
    Traceback (most recent call last):
    llrkit.errors.LabelError: scores/, column 'label': labels are not two classes: saw '-1', '0', '1'; ...
    """
    seen = sorted(words)
    if {"0", "-1"} <= set(seen):
        shown = ", ".join(map(repr, seen[:5]))
        raise LabelError(f"{where}: labels are not two classes: saw {shown}; accepted are {ACCEPTED}")
    warn_of_pooled(seen, where)


def joined(chunks: Iterable[Scores]) -> Iterator[Scores]:
    """Scores in larger chunks; those that carry columns as they are."""
    held: list[Scores] = []
    size, enough = 0, at_once(ENOUGH_BYTES)
    for chunk in chunks:
        if chunk.columns:
            yield chunk
            continue
        held.append(chunk)
        size += chunk.target.nbytes + chunk.nontarget.nbytes
        if size >= enough:
            yield _one_chunk_of(held)
            held, size = [], 0
    if held:
        yield _one_chunk_of(held)


def _one_chunk_of(chunks: list[Scores]) -> Scores:
    if len(chunks) == 1:
        return chunks[0]
    return Scores.part(
        np.concatenate([chunk.target for chunk in chunks]),
        np.concatenate([chunk.nontarget for chunk in chunks]),
        {},
        {},
    )
