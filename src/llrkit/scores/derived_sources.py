"""Sources made of another one whose chunks are changed on the way; :class:`DerivedSource` for two classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from llrkit._arrays import Array
from llrkit._cached import cached_property
from llrkit.errors import InputError
from llrkit.scores.arrays import Scores
from llrkit.scores.checked_arrays import frozen
from llrkit.scores.roles import Roles
from llrkit.scores.source import S, ScoreSource, WrappedSource, as_source

ChunkBelow = TypeVar("ChunkBelow")
Chunk = TypeVar("Chunk")
ChunkGiven = TypeVar("ChunkGiven", covariant=True)


class ChunkSource(Protocol[ChunkGiven]):
    """What a source of any kind of chunk can do: of two classes, of several, of three kinds of trials."""

    def reduce(self, summarize: Callable[[ChunkGiven], S]) -> S:
        """Summarize every chunk and merge the summaries."""
        ...

    def with_columns(self, *names: str) -> ChunkSource[ChunkGiven]:
        """The same trials, each chunk carrying these columns."""
        ...


@dataclass(frozen=True, eq=False)
class ChangedChunks(Generic[ChunkBelow, Chunk]):
    """The trials of another source after a change of every chunk, whatever kind of chunk they are.

    ``change`` keeps the columns of the trials that stay; ``needs`` are the columns it looks at.
    """

    source: ChunkSource[ChunkBelow]
    change: Callable[[ChunkBelow], Chunk]
    needs: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()

    def reduce(self, summarize: Callable[[Chunk], S]) -> S:
        """Change every chunk, then summarize it; a chunk may have nothing left."""
        return self._wide.reduce(lambda chunk: summarize(self.change(chunk)))

    def with_columns(self, *names: str) -> Self:
        """The same trials carrying these columns."""
        self.source.with_columns(*names)  # a name that does not exist is refused here already
        return replace(self, carried=names)

    @cached_property
    def _wide(self) -> ChunkSource[ChunkBelow]:
        """The source below with the columns it takes; kept, because it may keep what it has read."""
        names = tuple(dict.fromkeys((*self.carried, *self.needs)))
        return self.source.with_columns(*names) if names else self.source


@dataclass(frozen=True)
class DerivedSource(ChangedChunks[Scores, Scores], WrappedSource):
    """The trials of another source after a change: some of them only, or with other scores.

    Parameters
    ----------
    change
        What becomes of a chunk; it keeps the columns of the trials that stay.
    needs
        The columns that ``change`` looks at.
    score
        The names of the systems, where ``change`` makes other ones.

    Examples
    --------
    >>> scores = Scores([1.0, 4.0], [0.0, 2.0])
    >>> doubled = DerivedSource(scores, lambda chunk: Scores.part(2 * chunk.target, 2 * chunk.nontarget))
    >>> from llrkit.core.moments import Moments
    >>> doubled.reduce(Moments.of).target.mean
    array([5.])
    """

    source: ScoreSource
    change: Callable[[Scores], Scores]
    needs: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    score: tuple[str, ...] | None = None
    """Names of the systems after the change, where it does not leave them as they are."""
    factor: float | None = None
    """What scores of the file were multiplied by, where the change makes that meaningless."""
    calibrated: bool = False
    """Whether the change makes LLRs of scores; known to be so, they are not calibrated again by mistake."""

    @property
    def roles(self) -> Roles:
        """Those of the source below, with the systems and the columns there are here."""
        roles = super().roles
        if self.score is not None:
            roles = replace(roles, score=self.score)
        return (
            roles if self.factor is None else replace(roles, factor=self.factor, calibrated=self.calibrated)
        )

    def __post_init__(self) -> None:
        as_source(self.source)

    @cached_property
    def _wide(self) -> ScoreSource:
        names = tuple(dict.fromkeys((*self.carried, *self.needs)))
        if not names or self.source.roles.carried == names:
            return self.source
        return self.source.with_columns(*names)

    @cached_property
    def _in_memory(self) -> Scores:
        parts = self.reduce(_GatheredChunks.of).parts
        target, nontarget = (
            frozen(np.concatenate([getattr(part, name) for part in parts]))
            for name in ("target", "nontarget")
        )
        whole = Scores.part(target, nontarget)
        return whole.read_with(self.roles.factor, self.roles.calibrated, self.roles.score)

    def scores(self) -> Scores:
        """All trials in memory, those of each class in their order.

        Examples
        --------
        >>> import llrkit as lk
        >>> scores = lk.Scores([2.0, 4.0], [0.0, 2.0])
        >>> lk.fit_cmlg(scores).on(scores).scores().target
        array([0., 4.])
        """
        return self._in_memory

    @property
    def target(self) -> Array:
        """Scores of the targets, brought into memory."""
        return self._in_memory.target

    @property
    def nontarget(self) -> Array:
        """Scores of the non-targets, brought into memory."""
        return self._in_memory.nontarget


def chosen_systems(chunk: Scores, places: Sequence[int]) -> Scores:
    """The scores of some systems, in this order."""
    order = list(places)
    return Scores.part(chunk.target[:, order], chunk.nontarget[:, order], chunk.columns, chunk.categories)


@dataclass(frozen=True)
class _GatheredChunks:
    """Chunks in their order."""

    parts: tuple[Scores, ...]

    @classmethod
    def of(cls, chunk: Scores) -> _GatheredChunks:
        return cls((chunk,))

    def __add__(self, other: _GatheredChunks) -> _GatheredChunks:
        return _GatheredChunks(self.parts + other.parts)

    def __mul__(self, weight: float) -> _GatheredChunks:
        raise InputError("weighted trials are counted, not held: their scores cannot be brought into memory")
