"""What columns mean, and the one abstraction between data and mathematics: the score source."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, islice
from operator import add
from threading import Thread
from typing import TYPE_CHECKING, Protocol, Self, TypedDict, TypeVar

from llrkit.base.process import cached_property
from llrkit.base.text import not_among
from llrkit.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from llrkit.scores.arrays import Scores
    from llrkit.scores.trials import Trials


POSITION = "position"
"""A column every source can carry: the place of each trial among those of its class."""
ROW = "row"
"""Name under which the row number of each trial can be asked for."""
COUNTED = (ROW, POSITION)
"""Columns that need not be stored: they follow from where a trial stands."""


@dataclass(frozen=True)
class Roles:
    """Which columns hold what, how they are read, and which of them chunks carry.

    Every source of trials has roles, also those that are made of another one. A role that a source does not
    have is None; ``score`` always names as many systems as there are scores per trial, except in files that
    hold no scores (a key).

    Examples
    --------
    >>> roles = Roles(("plda", "ecapa"), "label", enroll="model", test="segment")
    >>> roles.n_systems, roles.ids
    (2, ('model', 'segment'))
    >>> roles.carrying("row", "snr").to_read(["plda", "ecapa", "label", "snr"])
    ['plda', 'ecapa', 'label', 'snr']
    """

    score: tuple[str, ...] = ("score",)
    """The columns with the scores, one per system."""
    label: str | None = None
    enroll: str | None = None
    test: str | None = None
    """The columns with the ids of the two sides of a trial."""
    weight: str | None = None
    """The column that says how often each trial counts."""
    positive: str | None = None
    """The label that means target, where the usual words do not say it."""
    factor: float = 1.0
    """What scores are multiplied by as they are read."""
    carried: tuple[str, ...] = ()
    """The columns that every chunk has beside the scores."""
    calibrated: bool = False
    """Whether the scores are LLRs that a calibration wrote."""

    @property
    def n_systems(self) -> int:
        """How many scores each trial has."""
        return len(self.score)

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that hold ids of a side of a trial, enrollment first; empty where there are none."""
        return tuple(name for name in (self.enroll, self.test) if name is not None)

    def identify_trial(self, columns: Iterable[str]) -> list[str]:
        """The columns that tell one trial from another; empty unless the ids of both sides are known.

        A recording is in many trials, so the id of one side alone identifies none. ``columns`` are those of
        the table, where NIST's files have the channel in ``side``.

        Examples
        --------
        >>> Roles(enroll="model", test="segment").identify_trial(["model", "segment", "side", "score"])
        ['model', 'segment', 'side']
        >>> Roles(test="segment").identify_trial(["segment", "score"])
        []
        """
        return [*self.ids, *({"side"} & set(columns))] if len(self.ids) == 2 else []

    @property
    def named(self) -> tuple[str, ...]:
        """All columns that have a role."""
        names = (*self.score, self.label, self.enroll, self.test, self.weight)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def carrying(self, *names: str) -> Self:
        """The same roles with other columns carried."""
        return replace(self, carried=names)

    def carrying_weight(self) -> Self:
        """The weight as one more carried column: for a source that weighs chunks after reading them."""
        assert self.weight is not None
        return replace(self, weight=None, carried=tuple(dict.fromkeys((*self.carried, self.weight))))

    def to_read(self, columns: Sequence[str] = ()) -> list[str]:
        """The columns that chunks are made of, each once; ``columns`` are those of the table."""
        carried = (name for name in self.carried if name in columns or name not in COUNTED)
        label = () if self.label is None else (self.label,)
        return list(dict.fromkeys((*self.score, *label, *carried)))


class RoleChanges(TypedDict, total=False):
    """Some of the fields of :class:`Roles`, to be replaced."""

    score: tuple[str, ...]
    label: str | None
    enroll: str | None
    test: str | None
    weight: str | None
    positive: str | None
    factor: float
    carried: tuple[str, ...]
    calibrated: bool


def unnamed_systems(n: int) -> tuple[str, ...]:
    """What the systems of arrays, which have no names, are called.

    Examples
    --------
    >>> unnamed_systems(2)
    ('system1', 'system2')
    """
    return tuple(f"system{i + 1}" for i in range(n))


def row_in_words(row: int) -> str:
    """A row of a table: these are counted from 0, lines of files from 1, so messages say which."""
    return f"row {row} (counted from 0)"


def require_column(name: str, columns: Iterable[str], where: str = "") -> None:
    """Refuse the name of a column that does not exist, saying which there are."""
    columns = list(columns)
    if not isinstance(name, str) or name not in columns:
        raise UnknownNameError(no_column(name, columns, where))


def no_column(name: str, columns: Iterable[str], where: str = "", *, typed: bool = True) -> str:
    """What is said of a column that does not exist; one that somebody ``typed`` may be meant for another.

    Examples
    --------
    >>> no_column("snr", ["score", "label"], "scores.csv")
    "scores.csv: there is no column 'snr'; there are: score, label"
    """
    prefix = f"{where}: " if where else ""
    names = list(columns)
    wrong = not_among(name, names, "; there are: ") if typed else f"{name!r}; there are: {', '.join(names)}"
    return f"{prefix}there is no column {wrong}"


class Summary(Protocol):
    """What is known of some trials; summaries of parts add up to the summary of the whole."""

    def __add__(self, other: Self, /) -> Self:
        """Merge with the summary of other trials."""
        ...

    def __mul__(self, weight: float, /) -> Self:
        """Count every trial ``weight`` times."""
        ...


S = TypeVar("S", bound=Summary)
Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


class ScoreSource(ABC):
    """Anything that can summarize its trials: arrays, a table, files, a cluster.

    To make one of your own, derive from it and define these four; everything in llrkit takes it then.
    """

    @property
    @abstractmethod
    def roles(self) -> Roles:
        """Which columns the trials have, by what they mean."""

    @abstractmethod
    def reduce(self, summarize: Callable[[Scores], S]) -> S:
        """Summarize every chunk and merge the summaries.

        Parameters
        ----------
        summarize
            Function of one chunk whose results can be merged with ``+``.
        """

    @abstractmethod
    def with_columns(self, *names: str) -> ScoreSource:
        """The same trials, each chunk carrying these columns beside the scores.

        Parameters
        ----------
        *names
            Names of columns.
        """

    @abstractmethod
    def place(self, row: int) -> str:
        """Where a row is, in words: file and line, or the number of a row.

        Parameters
        ----------
        row
            Number of the row, from 0.
        """

    @property
    def sizes(self) -> tuple[int, int] | None:
        """Numbers of targets and of non-targets, if they are known beforehand and each trial counts once."""
        return None

    def in_order(self, *, if_small: bool = False) -> ScoreSource:
        """The same scores in ascending order and without columns, where they are in memory and unweighted.

        Sums of them have the same bits however the trials came, and counting them sorts nothing again.
        ``if_small`` leaves a set as it is whose sorted scores would not be kept for the next metric.

        Parameters
        ----------
        if_small
            Sort only if the set is small enough for the sorted scores to be kept.
        """
        return self

    @property
    def reads_again(self) -> bool:
        """Whether every pass reads or makes the trials again, in this process: files may save passes then."""
        return False

    @property
    def kept_counts(self) -> dict[str, object] | None:
        """Where counts are kept for the next metric; None unless the trials are in memory for good."""
        return None


class WrappedSource(ScoreSource):
    """A source made of another one: the same trials or some of them, found in the same places."""

    source: ScoreSource
    carried: tuple[str, ...]

    @property
    def roles(self) -> Roles:
        """Those of the source below, with the columns that are carried here."""
        return self.source.roles.carrying(*self.carried)

    def place(self, row: int) -> str:
        """Where a row is in the source below."""
        return self.source.place(row)

    @property
    def reads_again(self) -> bool:
        """As the source below."""
        return self.source.reads_again

    @cached_property
    def kept_counts(self) -> dict[str, object] | None:
        """Counts for the next metric, if the source below keeps any."""
        return None if self.source.kept_counts is None else {}


def rows_in_memory(source: ScoreSource) -> Trials:
    """A source that is a table in memory, row by row; others give summaries only."""
    from llrkit.scores.trials import Trials  # imports polars, which arrays alone do not need

    if not isinstance(source, Trials):
        raise InputError(
            f"{type(source).__name__} gives summaries, not rows: use map.on(source) for a source of LLRs, "
            "or read the trials into memory with lk.read_trials(path)"
        )
    return source


def thread_count(threads: int | None = None) -> int:
    """How many threads to use: the argument, else ``LLRKIT_THREADS``, else the cores we may run on.

    Examples
    --------
    >>> thread_count(3)
    3
    """
    if threads is None:
        text = os.environ.get("LLRKIT_THREADS", "")
        if not text:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if not text.isdecimal():
            raise InputError(f"LLRKIT_THREADS must be a positive whole number, got {text!r}")
        threads = int(text)
    if threads < 1:
        raise InputError(f"the number of threads must be at least 1, got {threads}")
    return threads


def reduce_chunks(
    chunks: Iterable[Chunk],
    summarize: Callable[[Chunk], S],
    *,
    n_chunks: int | None = None,
    threads: int | None = None,
) -> S:
    """Summarize chunks in a pool of threads and merge the summaries in the order of the chunks.

    A chunk is whatever ``summarize`` takes: scores, or the number of a block that it makes itself. The
    merge order never depends on which thread was first, so the answer does not depend on the number of
    threads. Only a few summaries are alive at a time. If ``n_chunks`` says that there are no more chunks than
    threads, nothing has to wait for them.
    """
    workers = thread_count(threads)
    if n_chunks is not None and n_chunks <= workers:
        return reduce(add, each_in_threads(summarize, chunks, threads=threads))
    rest = iter(chunks)
    ahead = list(islice(rest, 2))
    if not ahead:
        raise InputError("a source without chunks cannot be summarized")
    if workers == 1 or len(ahead) == 1:  # a pool would cost more than it gives
        return reduce(add, map(summarize, chain(ahead, rest)))
    with ThreadPoolExecutor(workers) as pool:
        return reduce(add, in_order(pool, summarize, chain(ahead, rest), 2 * workers))


def each_in_threads(
    work: Callable[[Chunk], Result], chunks: Iterable[Chunk], *, threads: int | None = None
) -> list[Result]:
    """What ``work`` makes of every chunk, in their order, by this thread and as many others as are allowed.

    Examples
    --------
    >>> each_in_threads(len, ["one", "three"])
    [3, 5]
    """
    waiting = list(chunks)
    workers = min(thread_count(threads), len(waiting))
    if workers <= 1:
        return list(map(work, waiting))
    # Not an executor: this thread would wait beside the others, and wake for every chunk.
    to_do = deque(range(len(waiting)))
    made: dict[int, Result] = {}
    failed: dict[int, BaseException] = {}

    def work_on() -> None:
        while to_do:
            try:
                i = to_do.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                made[i] = work(waiting[i])
            except BaseException as error:
                failed[i] = error
                to_do.clear()

    others = [Thread(target=work_on) for _ in range(workers - 1)]
    try:
        for thread in others:
            thread.start()
        work_on()
    finally:
        to_do.clear()
        for thread in others:
            if thread.ident is not None:  # it was started
                thread.join()
    if failed:
        raise failed[min(failed)]
    return [made[i] for i in range(len(waiting))]


def in_order(
    pool: ThreadPoolExecutor, work: Callable[[Chunk], Result], chunks: Iterable[Chunk], most: int
) -> Iterator[Result]:
    """Results in the order of the chunks, with at most ``most`` under way or waiting."""
    waiting: deque[Future[Result]] = deque()
    for chunk in chunks:
        waiting.append(pool.submit(work, chunk))
        if len(waiting) > most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
