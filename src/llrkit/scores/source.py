"""The score source, the one abstraction between data and mathematics, and what its columns mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
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
        # one id alone would take different trials for repeated ones
        return [*self.ids, *({"side"} & set(columns))] if len(self.ids) == 2 else []

    @property
    def named(self) -> tuple[str, ...]:
        """All columns that have a role."""
        names = (*self.score, self.label, self.enroll, self.test, self.weight)
        # one column may have two roles
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
        # counted columns are made, unless the table has one of that name
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
