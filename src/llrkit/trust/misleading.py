"""LLRs as strong as those of a case among trials of known origin, and the strongest that misled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeAlias

import numpy as np

from llrkit.base.arguments import FloatArray, whole_number
from llrkit.base.text import Json
from llrkit.core.cells import BelowCounts, score_indexes
from llrkit.core.groups import decoded, plain_value
from llrkit.core.summaries import UnweightedSummary
from llrkit.engine.open import Files
from llrkit.errors import UnknownNameError
from llrkit.results.result import Result, plain
from llrkit.scores import POSITION, AnyTrials, Labels, Scores, ScoreSource, as_source
from llrkit.scores.source import WrappedSource
from llrkit.theory.operating_points import verbal_scale
from llrkit.trust.influence import Unweighted
from llrkit.trust.speakers import clopper_pearson

LEVEL = 0.95
"""Of intervals, unless another is asked for."""


@dataclass(frozen=True)
class AsExtreme:
    """How many trials of known origin had an LLR like this one: so low if same-source, so high if not."""

    as_low: int
    n_target: int
    as_high: int
    n_nontarget: int

    def to_dict(self) -> dict[str, int]:
        """Plain numbers."""
        return {
            "same_source_as_low": self.as_low, "n_same_source": self.n_target,
            "different_source_as_high": self.as_high, "n_different_source": self.n_nontarget,
        }  # fmt: skip

    def misleading(self, llr: float, level: float = LEVEL) -> MisleadingRate:
        """How often LLRs as strong as this one pointed the wrong way."""
        count, n = (self.as_high, self.n_nontarget) if llr >= 0.0 else (self.as_low, self.n_target)
        # one-sided: the chance of a true rate above it is 1 - level
        return MisleadingRate(count, n, clopper_pearson(count, n, 2.0 * level - 1.0)[1], level)


@dataclass(frozen=True)
class MisleadingRate:
    """Trials of the other class with LLRs as strong as one: their number, and a bound of their rate."""

    count: int
    n: int
    upper: float
    level: float

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        return {"count": self.count, "n": self.n, "rate": self.count / self.n, "upper": self.upper,
                "level": self.level}  # fmt: skip


def as_extreme(llrs: ScoreSource, asked: FloatArray) -> list[AsExtreme | None]:
    """For each LLR that is asked about, the trials of known origin that had one like it; one pass.

    Examples
    --------
    >>> [at_zero] = as_extreme(Scores([0.0, 2.0], [-1.0, 0.0, 1.0]), np.zeros(1))
    >>> at_zero.as_low, at_zero.as_high
    (1, 2)
    """
    n = len(asked)
    above = np.nextafter(asked, np.inf)  # what is below the next number is as low as this one

    def count(chunk: Scores) -> Unweighted:
        """By class, how many trials are below each number, and last how many there are."""
        below = BelowCounts.of(chunk, np.concatenate([above, asked]))
        return Unweighted(np.array([[*below.target, chunk.n_target], [*below.nontarget, chunk.n_nontarget]]))

    target, nontarget = llrs.reduce(count).counts
    n_target, n_nontarget = int(target[-1]), int(nontarget[-1])
    # nothing is above infinity, so nextafter stays there and would not count it
    as_low = np.where(np.isposinf(asked), n_target, target[:n])
    as_high = n_nontarget - nontarget[n:-1]
    return [
        AsExtreme(int(low), n_target, int(high), n_nontarget)
        for low, high in zip(as_low, as_high, strict=True)
    ]


ROW = "row"


@dataclass(frozen=True)
class MisleadingTrial(Result):
    """A trial whose LLR points the wrong way."""

    is_target: bool
    """Whether the trial is a target, whose LLR should be positive."""
    llr: float
    """Its LLR, in nats."""
    trial: dict[str, Json]
    """Its row, counted from 0 (or its place in its class), and its ids where it has any."""
    place: str = ""
    """Its file and line, or its row, in words; empty for arrays."""

    @property
    def words_of_place(self) -> str:
        """Where the trial stands, by the name of its file and not its path, and its ids."""
        counted = (ROW,) if self.place else ()
        ids = [f"{name} {value}" for name, value in self.trial.items() if name not in counted]
        file, comma, line = self.place.rpartition(", ")
        return ", ".join([*([f"{PurePath(file).name}{comma}{line}"] if self.place else []), *ids])

    @property
    def words(self) -> str:
        """What the LLR says in words, which is wrong."""
        return verbal_scale(self.llr)

    def to_dict(self) -> dict[str, Json]:
        """Plain values."""
        return {**super().to_dict(), "words": self.words}


def misleading_trials(
    source: AnyTrials, labels: Labels | None = None, n: int = 10
) -> tuple[MisleadingTrial, ...]:
    """The ``n`` trials of each class whose LLRs mislead most, strongest first; one pass.

    File and line, rows and ids are given where the source is a table; files that are read in batches are read
    once more for the lines.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    n
        Number of trials of each class.

    Examples
    --------
    >>> import llrkit as lk
    >>> table = {"llr": [2.0, -1.5, 0.5, -3.0], "label": [1, 1, 0, 0], "test": ["a", "b", "c", "d"]}
    >>> trials = lk.Trials(table, score="llr", test="test")
    >>> [(trial.llr, trial.trial["test"]) for trial in lk.trust.misleading_trials(trials)]
    [(-1.5, 'b'), (0.5, 'c')]
    """
    source = as_source(source, labels)
    whole_number(n, 1, "n")
    ids = source.roles.ids
    # rows where the source has them, otherwise the position within the class
    try:
        wide, names = source.with_columns(ROW, *ids), (ROW, *ids)
    except UnknownNameError:  # arrays have no rows
        wide, names = source.with_columns(POSITION), (POSITION,)
    worst = wide.reduce(lambda chunk: _MostMisleading.of(chunk, n, names))
    trials = [
        (class_index == 0, llr, dict(zip(names, values, strict=True)))
        for class_index, rows in enumerate((worst.targets, worst.nontargets))
        for llr, *values in rows
    ]
    places = _places_of_misleading(
        source, [row for *_, trial in trials if isinstance(row := trial.get(ROW), int)]
    )
    return tuple(
        MisleadingTrial(is_target, llr, trial, places.get(row, "") if isinstance(row, int) else "")
        for is_target, llr, trial in trials
        for row in (trial.get(ROW),)
    )


def _places_of_misleading(source: ScoreSource, rows: list[int]) -> dict[int, str]:
    """Where rows are, in words; of files that are read in batches all of them in one pass."""
    # derived sources change scores, not rows; the file is at the bottom
    while isinstance(source, WrappedSource):
        source = source.source
    if not isinstance(source, Files):
        return {row: source.place(row) for row in rows}
    places: dict[int, str] = {}
    wanted, before = sorted(set(rows)), 0
    for scan in source.scans if wanted else ():
        for batch in scan.read(list(source.roles.score)):
            after = before + batch.table.height
            places |= {row: batch.place(row - before) for row in wanted if before <= row < after}
            before = after
            # reading ends at the last row that is wanted
            if len(places) == len(wanted):
                return places
    return places


_Found: TypeAlias = tuple[float, *tuple[Json, ...]]
"""An LLR, and the values of columns."""


@dataclass(frozen=True, eq=False)
class _MostMisleading(UnweightedSummary):
    """The most misleading trials of each class: LLR, then the values of the columns ``names``."""

    most: int
    targets: tuple[_Found, ...]
    nontargets: tuple[_Found, ...]

    @classmethod
    def of(cls, chunk: Scores, most: int, names: tuple[str, ...]) -> _MostMisleading:
        worst: list[tuple[_Found, ...]] = []
        for class_index, values in enumerate(index.values for index in score_indexes(chunk)):
            wrong = -values if class_index == 0 else values
            where = np.flatnonzero(wrong > 0)
            # stable, so equal LLRs come in the order of the trials whatever the chunks
            where = where[np.argsort(-wrong[where], kind="stable")[:most]]
            columns = [decoded(chunk, name, class_index)[where].tolist() for name in names]
            rows = zip(values[where].tolist(), *columns, strict=True)
            worst.append(
                tuple((float(llr), *(plain(plain_value(value)) for value in row)) for llr, *row in rows)
            )
        return cls(most, worst[0], worst[1])

    def __add__(self, other: _MostMisleading) -> _MostMisleading:
        targets = sorted(self.targets + other.targets, key=lambda row: row[0])[: self.most]
        nontargets = sorted(self.nontargets + other.nontargets, key=lambda row: -row[0])[: self.most]
        return _MostMisleading(self.most, tuple(targets), tuple(nontargets))
