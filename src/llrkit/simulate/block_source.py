"""Sources that make their trials when they are needed, one block at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from llrkit._arrays import Array
from llrkit._memory import require_memory
from llrkit._random import checked_seed
from llrkit.scores import Scores
from llrkit.scores.roles import POSITION, Roles, require_column, row_in_words
from llrkit.scores.source import S, ScoreSource, reduce_chunks

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


@dataclass(frozen=True, kw_only=True)
class BlockSource(ScoreSource):
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

    @property
    def reads_again(self) -> bool:
        """Every pass makes the blocks anew."""
        return True

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
            if name != POSITION:
                require_column(name, self.columns)
        return replace(self, carried=names)

    def scores(self) -> Scores:
        """All scores in memory, with the carried columns as numbers or text."""
        blocks = list(self._held_blocks())
        columns: dict[str, tuple[object, object]] = {}
        for name in self.carried:
            columns[name] = (
                np.concatenate([_decoded_column(block, name, 0) for block in blocks]),
                np.concatenate([_decoded_column(block, name, 1) for block in blocks]),
            )
        target = np.concatenate([block.target for block in blocks])
        return Scores.from_classes(target, np.concatenate([block.nontarget for block in blocks]), columns)

    def trials(self) -> Trials:
        """All trials in memory as a table with every column."""
        from llrkit.scores.scores_to_trials import trials_of

        roles = self.roles
        wide = self.with_columns(*self.columns)
        return trials_of(wide._held_blocks(), enroll=roles.enroll, test=roles.test)

    def _held_blocks(self) -> Iterator[Scores]:
        """All pieces in order, to be held in memory together; each value takes some eight bytes."""
        trials = float(max(self.n_blocks - 1, 0)) * BLOCK_TRIALS
        hint = "write them to a folder (-o trials/)"
        require_memory(8.0 * (1 + len(self.carried)) * trials, "the simulated trials", hint)
        return self.blocks()

    @property
    def roles(self) -> Roles:
        """Ids are in the columns of their name, where there are any."""
        enroll, test = (name if name in self.columns else None for name in ("enroll", "test"))
        return Roles(enroll=enroll, test=test, carried=self.carried)

    def place(self, row: int) -> str:
        """Simulated trials are known by number only."""
        return row_in_words(row)


def _decoded_column(block: Scores, name: str, class_index: int) -> Array:
    values = block.columns[name][class_index]
    return np.array(block.categories[name])[values] if name in block.categories else values
