"""Sources that make their trials when they are needed, one block at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from llrkit.errors import InputError, UnknownNameError
from llrkit.scores import Scores
from llrkit.scores.source import POSITION, S, reduce_chunks

if TYPE_CHECKING:
    from llrkit.scores.trials import Trials

BLOCK_TRIALS = 1 << 20


def block_rng(seed: int, *key: int) -> np.random.Generator:
    """The generator of one block: another one for every key, whoever asks first.

    Examples
    --------
    >>> float(block_rng(1, 0).random()) == float(block_rng(1, 0).random()) != float(block_rng(1, 1).random())
    True
    """
    return np.random.default_rng(np.random.SeedSequence(checked_seed(seed), spawn_key=key))


def checked_seed(seed: Any) -> int:
    """A seed is a whole number from 0 on."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed must be a whole number from 0 on, got {seed!r}")
    return int(seed)


@dataclass(frozen=True, kw_only=True)
class BlockSource(ABC):
    """Simulated trials as a score source: nothing is kept, every pass makes its blocks anew.

    A block depends on the seed and on its number alone, so the trials are the same whatever the number of
    threads, and a billion of them take no more memory than a few blocks.
    """

    carried: tuple[str, ...] = ()

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """In how many pieces the trials are made."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """What is known of each trial besides score and label."""

    @abstractmethod
    def block(self, number: int) -> Scores:
        """One piece, with the carried columns."""

    def blocks(self) -> Iterator[Scores]:
        """All pieces in order."""
        return map(self.block, range(self.n_blocks))

    def reduce(self, summarize: Callable[[Scores], S], *, threads: int | None = None) -> S:
        """Make and summarize every block in a pool of threads and merge the summaries in order."""
        return reduce_chunks(
            range(self.n_blocks), lambda number: summarize(self.block(number)), threads=threads
        )

    def with_columns(self, *names: str) -> Self:
        """The same trials, each block carrying these columns."""
        for name in names:
            if name not in (*self.columns, POSITION):
                raise UnknownNameError(f"there is no column {name!r}; there are: {', '.join(self.columns)}")
        return replace(self, carried=names)

    def scores(self) -> Scores:
        """All scores in memory, with the carried columns as numbers or text."""
        blocks = list(self.blocks())
        columns: dict[str, tuple[Any, Any]] = {}
        for name in self.carried:
            columns[name] = (
                np.concatenate([_decoded(block, name, 0) for block in blocks]),
                np.concatenate([_decoded(block, name, 1) for block in blocks]),
            )
        target = np.concatenate([block.target for block in blocks])
        return Scores(target, np.concatenate([block.nontarget for block in blocks]), columns)

    def trials(self) -> Trials:
        """All trials in memory as a table with every column."""
        from llrkit.scores.tabulate import trials_of

        return trials_of(self.with_columns(*self.columns).blocks(), **self.roles)

    @property
    def roles(self) -> dict[str, str]:
        """Which columns hold the ids of the two sides."""
        return {name: name for name in ("enroll", "test") if name in self.columns}


def _decoded(block: Scores, name: str, class_index: int) -> Any:
    values = block.columns[name][class_index]
    return np.array(block.categories[name])[values] if name in block.categories else values
