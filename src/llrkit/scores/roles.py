"""Roles: what the columns of a trial table mean, in one place for every source of trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypedDict

from llrkit._format import not_among
from llrkit.errors import UnknownNameError

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
