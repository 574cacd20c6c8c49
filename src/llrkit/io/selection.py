"""Which trials are taken: conditions on columns, lists of trials and of candidates."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llrkit.base.arguments import Array
from llrkit.core.groups import truth_of
from llrkit.errors import FileFormatError, InputError
from llrkit.io.formats import first_rows, read_table
from llrkit.io.read_options import PathArg, Reading
from llrkit.io.table_columns import Scan, TrialTable, first_true, has_header
from llrkit.io.trial_checks import with_scores
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import DerivedSource
from llrkit.scores.source import require_column
from llrkit.scores.trials import Trials

_CONDITION = re.compile(
    r"""\s*(?:"(?P<quoted>[^"]+)"|(?P<plain>.+?))\s*(?P<op>==|!=|<=|>=|=|<|>|\bnot\s+in\b|\bin\b)\s*(?P<value>.*?)\s*$"""
)
_QUOTED = re.compile(r"""^(["'])(.*)\1$""", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_ORDERED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_SHOWN, _LOOKED_AT = 3, 10_000
"""So many values are shown of a column in which none was found, from among so many of its first rows."""
ACCEPTED = 'COLUMN OP VALUE with OP one of = != < <= > >=, or "in" and "not in" with VALUE,VALUE'


@dataclass(frozen=True)
class Condition:
    """One comparison of a column with a value, or with several.

    Numbers are compared as numbers, also where a text file holds them, text as text; ``<`` and its like need
    numbers. A missing value satisfies no condition. Quotation marks keep a value together.

    Examples
    --------
    >>> Condition.parse("seconds >= 5")
    Condition(column='seconds', op='>=', values=('5',))
    >>> Condition.parse('room not in "the hall", kitchen').values
    ('the hall', 'kitchen')
    >>> Condition.parse("seconds")
    Traceback (most recent call last):
    llrkit.errors.InputError: --where 'seconds': expected COLUMN OP VALUE with OP one of = != < <= > >=, ...
    """

    column: str
    op: str
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Condition:
        """From text; whatever is not a comparison is refused."""
        found = _CONDITION.match(text) if isinstance(text, str) else None
        if found is None or not found["value"]:
            raise InputError(f"--where {text!r}: expected {ACCEPTED}")
        op = " ".join(found["op"].split())
        several = op in ("in", "not in")
        each = re.compile(r"""\s*("[^"]*"|'[^']*'|[^,]+)""")
        values = each.findall(found["value"]) if several else [found["value"]]
        unquoted = [_QUOTED.sub(r"\2", value.strip()) for value in values]
        return cls(found["quoted"] or found["plain"], "=" if op == "==" else op, tuple(unquoted))

    def holds(self, column: pl.Series) -> pl.Series:
        """For each value of a column whether it satisfies the condition."""
        if column.dtype.is_float():
            # NaN in a float column is a missing value here, and satisfies no condition.
            column = column.fill_nan(None)
        if column.dtype == pl.Boolean:
            wanted: list[Any] = [truth_of(value) for value in self.values]
            if None in wanted or self.op in _ORDERED:
                raise InputError(f"--where {self}: the column {self.column!r} is true or false")
        elif column.dtype.is_numeric():
            wanted = [self._number(value) for value in self.values]
        elif self.op in _ORDERED:  # text, which must hold numbers
            text = column.cast(pl.String)
            column = text.cast(pl.Float64, strict=False)
            bad = text.filter(column.is_null() & text.is_not_null())
            if len(bad):
                raise InputError(f"--where {self}: the column {self.column!r} holds text ({bad[0]!r})")
            wanted = [self._number(self.values[0])]
        else:
            column, wanted = column.cast(pl.String), list(self.values)
        # A comparison for each value instead of is_in: it compares 5 with 5.0 and leaves null where the
        # column is null.
        compare = _ORDERED.get(self.op, operator.eq)
        found: pl.Series = reduce(operator.or_, (compare(column, value) for value in wanted))
        # Of text, which is what every column of a text file is, a number equals every way to write it.
        for value in self.values if column.dtype == pl.String else ():
            if value.lower() in ("true", "false"):
                found |= column.str.to_lowercase() == value.lower()
            elif _NUMBER.fullmatch(value):
                # NaN equals nothing, so text that is no number cannot match.
                found |= column.cast(pl.Float64, strict=False).fill_null(float("nan")) == float(value)
        if self.op in ("!=", "not in"):
            found = ~found
        # After the negation, so that a missing value satisfies neither = nor !=.
        return found.fill_null(value=False) & column.is_not_null()

    def _number(self, value: str) -> float:
        try:
            # Integers stay integers: beyond 2^53 two ids would be equal as floats.
            number = int(value) if value.lstrip("+-").isdecimal() else float(value)
            if math.isnan(number):  # nothing is above, below or equal to it
                raise ValueError
            return number
        except ValueError:
            raise InputError(
                f"--where {self}: the column {self.column!r} is compared with numbers, got {value!r}"
            ) from None

    def __str__(self) -> str:
        return repr(f"{self.column} {self.op} {', '.join(self.values)}")


@dataclass(frozen=True)
class Where:
    """Conditions that must all hold.

    Examples
    --------
    >>> where = Where.parse(["room = a", "seconds > 5"])
    >>> table = pl.DataFrame({"room": ["a", "a", "b"], "seconds": [3, 9, 9]})
    >>> where.mask(table).to_list()
    [False, True, False]
    """

    conditions: tuple[Condition, ...]

    @classmethod
    def parse(cls, texts: Sequence[str]) -> Where:
        """From the texts of all conditions."""
        return cls(tuple(Condition.parse(text) for text in texts))

    @property
    def columns(self) -> list[str]:
        """The columns that are looked at."""
        return list(dict.fromkeys(condition.column for condition in self.conditions))

    def mask(self, table: pl.DataFrame) -> pl.Series:
        """Which rows satisfy all conditions."""
        masks = (condition.holds(table[condition.column]) for condition in self.conditions)
        return reduce(operator.and_, masks)

    def of_scan(self, scan: Scan) -> Scan:
        """The rows of a file that satisfy all conditions, batch by batch; none at all is an error."""
        for name in self.columns:
            require_column(name, scan.columns, f"{scan.like.file}: --where")

        def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
            # Counted over all batches, since a batch without any such trial is no error.
            n_rows, shown = 0, ""
            # Columns that only the condition needs are read too and dropped again.
            for batch in scan.read([*dict.fromkeys([*wanted, *self.columns])]):
                kept = batch.only(self.mask(batch.table))
                n_rows += kept.table.height
                # What the columns begin with, for who asked for "true" and has 1.0.
                for name in self.columns if not shown else ():
                    column = batch.table[name].head(_LOOKED_AT).drop_nulls()
                    firsts = map(repr, column.unique(maintain_order=True).head(_SHOWN))
                    texts = [text if len(text) <= 30 else f"{text[:27]}..." for text in firsts]
                    shown += f"; the first values of {name!r} are {', '.join(texts)}" if texts else ""
                yield replace(kept, table=kept.table.select(wanted))
            if n_rows == 0:
                asked = " and ".join(map(str, self.conditions))
                raise InputError(f"{scan.like.file}: no trial satisfies --where {asked}{shown}")

        return Scan(scan.like, read)

    def of_source(self, source: ScoreSource) -> ScoreSource:
        """The trials of a source that satisfy all conditions, chunk by chunk, wherever chunks are made."""
        return DerivedSource(source, self._select, tuple(self.columns))

    def _select(self, chunk: Scores) -> Scores:
        masks = []
        for class_index, n in enumerate((chunk.n_target, chunk.n_nontarget)):
            kept = np.ones(n, dtype=bool)
            for condition in self.conditions:
                values = chunk.columns[condition.column][class_index]
                names = chunk.categories.get(condition.column)
                if names is None:
                    kept &= condition.holds(pl.Series(values)).to_numpy()
                elif len(values):  # codes of names
                    # The condition is tried on each name once and spread over the trials by their codes.
                    kept &= condition.holds(pl.Series(list(names), strict=False)).to_numpy()[values]
            masks.append(kept)
        return chunk.select(*masks)


def rows_where(
    columns: Mapping[str, Sequence[object] | Array], texts: Sequence[str], file: str
) -> NDArray[np.intp]:
    """Which rows of some columns satisfy all conditions; none at all is an error.

    Examples
    --------
    >>> rows_where({"split": ["dev", "eval", "dev"]}, ["split = dev"], "x.npz")
    array([0, 2])
    """
    conditions = Where.parse(texts)
    for name in conditions.columns:
        require_column(name, list(columns), f"{file}: --where")
    # Only the columns that are asked about become a table.
    table = pl.DataFrame({name: np.asarray(columns[name]) for name in conditions.columns})
    rows = np.flatnonzero(conditions.mask(table).to_numpy())
    if len(rows) == 0:
        raise InputError(f"{file}: no utterance satisfies --where {' and '.join(texts)}")
    return rows


def split_conditions(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Conditions on the test utterances, and those on trials, which name a side.

    Examples
    --------
    >>> split_conditions(["split = eval", "enroll_gender = test_gender"])
    (['split = eval'], ['enroll_gender = test_gender'])
    """
    # Columns of trials are named after their side, so the prefix tells the two kinds of conditions
    # apart.
    on_trials = [text for text in texts if Condition.parse(text).column.startswith(("enroll_", "test_"))]
    return [text for text in texts if text not in on_trials], on_trials


def select_trials(trials: TrialTable, texts: Sequence[str]) -> TrialTable:
    """The trials that satisfy all conditions; the value may be a column of the other side.

    Examples
    --------
    >>> from llrkit.scores.source import Roles
    >>> table = pl.DataFrame({"score": [1.0, 2.0], "enroll_sex": ["f", "f"], "test_sex": ["f", "m"]})
    >>> trials = TrialTable("s", "", table, Roles(("score",)))
    >>> select_trials(trials, ["enroll_sex = test_sex"]).table["score"][0]
    1.0
    """
    kept = pl.Series([True]).new_from_index(0, trials.table.height)
    for text in texts:
        condition = Condition.parse(text)
        require_column(condition.column, trials.table.columns, "--where")
        column, value = trials.table[condition.column], condition.values[0]
        if value in trials.table.columns and value.startswith(("enroll_", "test_")):
            if condition.op not in ("=", "!="):
                raise InputError(f"--where {text!r}: two columns are compared with = or !=")
            same = column.cast(pl.String) == trials.table[value].cast(pl.String)
            kept &= same if condition.op == "=" else ~same
        else:
            kept &= condition.holds(column)
    chosen = trials.only(kept)
    if chosen.table.is_empty():
        raise InputError(f"no trial satisfies --where {' and '.join(texts)}")
    return chosen


SEARCH, CANDIDATE, MATE, ENROLLED, LABEL = "searchId", "templateId", "mate", "enrolled", "label"
NO_MATE = ("", "-", "none", "NA")


def read_candidates(lists: PathArg, mates: PathArg) -> Trials:
    """Candidates labeled by whether they are the mate of their search.

    ``lists`` has the columns searchId, templateId and score (and may have isAssigned, whose zeros are no
    candidates: a search with nothing else returned nothing); ``mates`` has two columns, searchId and the
    templateId of its mate in the gallery, which is ``-`` for searches without one; a header line is allowed.
    A subject with several templates in the gallery has a line for each of them.
    """
    table = with_scores(read_table(lists, Reading(score=("score",))), droppable=False)
    for name in (SEARCH, CANDIDATE):
        require_column(name, table.table.columns, table.file)
    frame = table.table.drop(LABEL, ENROLLED, strict=False).with_columns(
        pl.col(SEARCH, CANDIDATE).cast(pl.String), pl.col("score").cast(pl.Float64)
    )
    if "isAssigned" in frame.columns:
        assigned = pl.col("isAssigned").cast(pl.String).str.to_lowercase().is_in(["1", "true"])
        kept = frame.filter(assigned)
        # a search without any candidate has one that is rejected at every threshold
        nothing = frame.join(kept, on=SEARCH, how="anti").unique(SEARCH, maintain_order=True)
        # A search that returned nothing is a miss if it has a mate, so it must stay in the table
        # (docs/notes/decisions-models.md).
        rejected = (pl.lit("-").alias(CANDIDATE), pl.lit(-math.inf).alias("score"))
        frame = pl.concat([kept, nothing.with_columns(rejected)])
    key = read_table(mates, Reading(columns=(SEARCH, CANDIDATE)))
    truth = key.table.select(
        pl.col(SEARCH).cast(pl.String), pl.col(CANDIDATE).cast(pl.String).str.strip_chars().alias(MATE)
    )
    truth = truth.filter(pl.col(SEARCH) != SEARCH)  # a header line
    has_mate = pl.col(MATE).is_not_null() & ~pl.col(MATE).is_in(NO_MATE)
    # Repeated lines of the key would repeat candidates in the join.
    mated = truth.filter(has_mate).unique()
    both = truth.filter(~has_mate).join(mated, on=SEARCH, how="semi")
    if both.height:
        raise FileFormatError(f"{key.file}: search {both[SEARCH][0]} is listed both with and without a mate")
    # A search whose outcome or truth is unknown is an error in either direction: leaving it out would
    # change the rates.
    unknown = frame.join(truth, on=SEARCH, how="anti")
    if unknown.height:
        raise FileFormatError(f"{key.file}: the key does not mention the search {unknown[SEARCH][0]}")
    silent = truth.join(frame, on=SEARCH, how="anti")
    if silent.height:
        raise FileFormatError(
            f"{table.file}: there are no candidates of the search {silent[SEARCH][0]}; a search that "
            "returned nothing has a line with isAssigned 0"
        )
    pairs = mated.rename({MATE: CANDIDATE}).with_columns(pl.lit(True).alias(LABEL))
    enrolled = mated.select(SEARCH).unique().with_columns(pl.lit(True).alias(ENROLLED))
    labeled = frame.join(pairs, on=[SEARCH, CANDIDATE], how="left", maintain_order="left")
    labeled = labeled.join(enrolled, on=SEARCH, how="left", maintain_order="left")
    labeled = labeled.with_columns(pl.col(LABEL, ENROLLED).fill_null(False))
    return Trials(labeled, score="score", label=LABEL, enroll=CANDIDATE, test=SEARCH)


def read_trial_list(path: str | PathLike[str]) -> TrialTable:
    """Read a list of trials: the ids of both sides, and labels if there are any.

    Every format that has ids will do (Kaldi, VoxCeleb, NIST, tables with a header); so will two columns
    without a header, enrollment first.
    """
    file = Path(path)
    rows = first_rows(file) if file.is_file() else []
    two_columns = bool(rows) and len(rows[0]) == 2 and not has_header(rows)
    trial_list = read_table(file, Reading(columns=("enroll", "test") if two_columns else None, score=()))
    if trial_list.enroll is None or trial_list.test is None:
        names = ", ".join(trial_list.table.columns)
        raise FileFormatError(f"{file}: a list of trials needs the ids of both sides; there are: {names}")
    return trial_list


def find_listed(
    trial_list: TrialTable, enroll: Sequence[str], test: Sequence[str]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Row and column of each listed trial in the matrix of all pairs; an error names the first unknown id.

    Examples
    --------
    >>> from llrkit.scores.source import Roles
    >>> table = pl.DataFrame({"model": ["b", "a"], "segment": ["x", "x"]})
    >>> roles = Roles((), enroll="model", test="segment")
    >>> find_listed(TrialTable("list", "", table, roles), ["a", "b"], ["x"])
    (array([1, 0]), array([0, 0]))
    """
    found_at = []
    for column, known, what in (
        (trial_list.enroll, enroll, "enrolled model"),
        (trial_list.test, test, "test utterance"),
    ):
        ids = trial_list.table[column or ""].cast(pl.String)
        numbered = pl.DataFrame({"id": pl.Series(known, dtype=pl.String), "at": np.arange(len(known))})
        places = ids.to_frame("id").join(numbered, on="id", how="left", maintain_order="left")["at"]
        row = first_true(places.is_null())
        if row is not None:
            raise FileFormatError(f"{trial_list.place(row)}: there is no {what} {ids[row]!r}")
        found_at.append(places.to_numpy().astype(np.intp))
    return found_at[0], found_at[1]


def with_listed_scores(
    trial_list: TrialTable, scores: Array, labels: NDArray[np.str_] | None, more: Mapping[str, Array]
) -> TrialTable:
    """The list with a score for each of its trials, and labels unless they are None.

    Columns of ``more`` are added, but for those that the list has itself.

    Examples
    --------
    >>> from llrkit.scores.source import Roles
    >>> table = pl.DataFrame({"m": ["b", "a"], "t": ["x", "x"]})
    >>> pairs = TrialTable("list", "", table, Roles((), enroll="m", test="t"))
    >>> with_listed_scores(pairs, np.array([-2.0, 1.5]), None, {}).table.rows()
    [('b', 'x', -2.0), ('a', 'x', 1.5)]
    """
    there = trial_list.table.columns
    added = [pl.Series(name, values) for name, values in more.items() if name not in there]
    table = trial_list.table.with_columns(pl.Series("score", scores), *added)
    if labels is None:
        return trial_list.with_table(table, score=("score",))
    table = table.with_columns(pl.Series("label", labels))
    return trial_list.with_table(table, score=("score",), label="label")
