"""Trials: a table with roles that keeps the order of its rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit._arrays import Array
from llrkit._cached import cached_property
from llrkit._forks import refuse_after_fork
from llrkit._format import counted, left_out
from llrkit._warn import warn_caller
from llrkit.errors import EmptyClassError, InputError, LeftOutWarning, NaNScoreError
from llrkit.scores.arrays import Scores
from llrkit.scores.checked_arrays import first_nan
from llrkit.scores.label_columns import target_rows
from llrkit.scores.roles import COUNTED, POSITION, ROW, RoleChanges, Roles, require_column, row_in_words
from llrkit.scores.score_columns import as_array, groupable, is_plain_number, require_exact, weight_numbers
from llrkit.scores.source import S, ScoreSource
from llrkit.scores.tables_of_other_libraries import own_table
from llrkit.scores.target_labels import warn_of_pooled
from llrkit.scores.weights import weighted

WEIGHT = "how often each trial counts"


class Trials(ScoreSource):
    """Trials as rows of a polars table; each column has a role or a name.

    Parameters
    ----------
    table
        A polars DataFrame, or anything ``polars.DataFrame`` takes (a dict of columns, a pandas table, ...).
        Tables of polars are used as they are, numbers of others are copied.
    score
        The column with the scores, or several for several systems.
    label
        The column that says which trials are targets: bool, 0/1, -1/1 or the usual words.
    enroll, test
        The columns with the ids of the two sides, if there are any.
    weight
        The column that says how often each trial counts, if not once; metrics and fits take it into account.
    origin
        Where the table came from, for messages.
    lines
        Function from row numbers to the lines of the file they came from.
    carried
        Names of columns that chunks carry.

    Examples
    --------
    >>> Trials({"score": [1.5, -0.5, 0.2], "label": ["tgt", "imp", "imp"], "sex": ["f", "f", "m"]})
    Trials(3 rows: score, label; columns sex)
    """

    def __init__(
        self,
        table: object,
        *,
        score: str | Sequence[str] = "score",
        label: str = "label",
        enroll: str | None = None,
        test: str | None = None,
        weight: str | None = None,
        carried: Sequence[str] = (),
        origin: str = "",
        lines: Callable[[list[int]], list[int]] | None = None,
    ) -> None:
        refuse_after_fork("trials as tables")
        self._table = own_table(table)
        names = (score,) if isinstance(score, str) else tuple(score)
        self._roles = Roles(names, label, enroll, test, weight, carried=tuple(carried))
        self.origin, self.lines = origin, lines
        for name in (*self._roles.named, *(name for name in carried if name not in COUNTED)):
            self._require(name)

    @classmethod
    def of(
        cls,
        table: pl.DataFrame,
        roles: Roles,
        *,
        origin: str = "",
        lines: Callable[[list[int]], list[int]] | None = None,
    ) -> Trials:
        """Trials of a table whose roles are known; labels and scores are as they should be already.

        Parameters
        ----------
        table
            The table of trials.
        roles
            Which columns hold what.
        origin
            Where the trials come from, for messages.
        lines
            Function from row numbers to line numbers of the file.
        """
        trials = cls(
            table,
            score=roles.score,
            label=roles.label or "label",
            enroll=roles.enroll,
            test=roles.test,
            weight=roles.weight,
            carried=roles.carried,
            origin=origin,
            lines=lines,
        )
        trials._roles = replace(roles, label=trials.label)
        return trials

    @property
    def table(self) -> pl.DataFrame:
        """The polars table."""
        refuse_after_fork("trials as tables")
        return self._table

    @property
    def roles(self) -> Roles:
        """Which columns hold what."""
        return self._roles

    @property
    def score(self) -> tuple[str, ...]:
        """The columns with the scores."""
        return self._roles.score

    @property
    def label(self) -> str:
        """The column with the labels."""
        assert self._roles.label is not None
        return self._roles.label

    @property
    def enroll(self) -> str | None:
        """The column with the ids of the enrollment side."""
        return self._roles.enroll

    @property
    def test(self) -> str | None:
        """The column with the ids of the test side."""
        return self._roles.test

    def _require(self, name: str) -> None:
        require_column(name, self.table.columns, self.origin)

    def place(self, row: int) -> str:
        """Where a row is, in words: its line in the file, or its number, counted from 0.

        Parameters
        ----------
        row
            Number of the row, from 0.
        """
        where = row_in_words(row) if self.lines is None else f"line {self.lines([row])[0]}"
        return f"{self.origin}, {where}" if self.origin else where

    def __len__(self) -> int:
        return self.table.height

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return self.table.columns

    @property
    def n_repeated(self) -> int | None:
        """How many rows hold a trial that is in an earlier row already.

        None where the ids of one side of a trial are not known, or of both.
        """
        ids = self.roles.identify_trial(self.table.columns)
        return self.table.height - self.table.select(ids).n_unique() if ids else None

    @cached_property
    def is_target(self) -> npt.NDArray[np.bool_]:
        """Which rows are targets."""
        mask, words = target_rows(self.table[self.label], self.place)
        warn_of_pooled(words, f"{self.origin}, column {self.label!r}" if self.origin else self.label)
        return mask

    @cached_property
    def score_array(self) -> Array:
        """Scores in row order, shape (n,) or (n, K)."""
        arrays = [self._score_column(name) for name in self.score]
        return arrays[0] if len(arrays) == 1 else np.column_stack(arrays)

    def _score_column(self, name: str) -> Array:
        column = self.table[name]
        if not column.dtype.is_numeric():
            raise InputError(f"column {name!r} holds {column.dtype}, not numbers")
        if column.dtype not in (pl.Float32, pl.Float64):
            require_exact(column, self.place)
            column = column.cast(pl.Float64)
        values = column.to_numpy()
        if column.has_nulls() or first_nan(values) is not None:
            row = int((column.is_null() | column.is_nan()).arg_max() or 0)
            raise NaNScoreError(
                f"{self.place(row)}, column {name!r}: score is missing or NaN; every trial needs a score "
                "(+-inf is allowed)"
            )
        return values

    def scores(self) -> Scores:
        """The scores, split by label, with the columns that are carried."""
        return self._scores

    @cached_property
    def _scores(self) -> Scores:
        mask = self.is_target
        columns: dict[str, object] = {}
        categories: dict[str, list[Hashable]] = {}
        for name in self._roles.carried:
            columns[name], values = self.coded(name)
            if values is not None:
                categories[name] = values
        try:
            scores = Scores.from_labels(self.score_array, mask, columns, categories=categories)
        except EmptyClassError as error:
            raise EmptyClassError(f"{self.origin}: {error}" if self.origin else str(error)) from None
        return scores.read_with(self._roles.factor, self._roles.calibrated, self.score)

    @cached_property
    def _weighed(self) -> Scores:
        """The scores carrying how often each trial counts."""
        column = self.table[self._roles.weight or ""]
        plain, values, mask = self._scores, weight_numbers(column, self.origin, self.place), self.is_target
        columns = {**plain.columns, WEIGHT: (values[mask], values[~mask])}
        weighed = Scores.from_classes(plain.target, plain.nontarget, columns, categories=plain.categories)
        return weighed.read_with(self._roles.factor, self._roles.calibrated, self.score)

    def coded(self, name: str) -> tuple[Array, list[Hashable] | None]:
        """A column as numbers: itself if numeric, else codes with the values they stand for.

        Parameters
        ----------
        name
            Name of the column.
        """
        if name in (ROW, POSITION) and name not in self.table.columns:
            return self.column(name), None
        column = groupable(self.table[name], self.origin)
        if is_plain_number(column.dtype) and not column.has_nulls():
            return column.to_numpy(), None
        values = column.unique().sort(nulls_last=True).to_list()
        order = pl.DataFrame({name: pl.Series(values, dtype=column.dtype), "code": np.arange(len(values))})
        joined = self.table.select(name).join(
            order, on=name, how="left", nulls_equal=True, maintain_order="left"
        )
        return joined["code"].to_numpy(), values

    def column(self, name: str) -> Array:
        """The values of a column in row order.

        Parameters
        ----------
        name
            Name of the column.
        """
        if name == ROW and ROW not in self.table.columns:
            return np.arange(self.table.height)
        if name == POSITION and POSITION not in self.table.columns:
            mask = self.is_target
            return np.where(mask, np.cumsum(mask), np.cumsum(~mask)) - 1
        self._require(name)
        return as_array(self.table[name])

    def reduce(self, summarize: Callable[[Scores], S]) -> S:
        """Summarize every chunk and merge the summaries.

        Parameters
        ----------
        summarize
            Function of one chunk whose results can be merged with ``+``.
        """
        if self._roles.weight is None:
            return self._scores.reduce(summarize)
        return self._weighed.reduce(weighted(summarize, WEIGHT))

    @property
    def sizes(self) -> tuple[int, int] | None:
        """Numbers of targets and of non-targets, unless some trials count more than others."""
        return self._scores.sizes if self._roles.weight is None else None

    def in_order(self, *, if_small: bool = False) -> ScoreSource:
        """The scores in ascending order, unless some trials count more than others.

        Parameters
        ----------
        if_small
            Sort only if the set is small enough for the sorted scores to be kept.
        """
        return self._scores.in_order(if_small=if_small) if self._roles.weight is None else self

    @property
    def kept_counts(self) -> dict[str, object]:
        """Counts for the next metric."""
        return self._scores.kept_counts if self._roles.weight is None else self._weighed.kept_counts

    def with_columns(self, *names: str) -> Trials:
        """The same trials, each chunk carrying these columns.

        Parameters
        ----------
        *names
            Names of columns.
        """
        return self._replace(carried=names)

    def by(self, column: str) -> dict[Hashable, Trials]:
        """One set of trials for each value of a column, in the order of the values.

        Parameters
        ----------
        column
            Name of the column.

        Examples
        --------
        >>> trials = Trials({"score": [1, 2], "label": [0, 1], "sex": ["m", "f"]})
        >>> {sex: len(part) for sex, part in trials.by("sex").items()}
        {'f': 1, 'm': 1}
        """
        self._require(column)
        groupable(self.table[column], self.origin)
        tables = self.table.partition_by(column, as_dict=True, maintain_order=True)
        trials = {key[0]: self._replace(table) for key, table in tables.items()}
        return dict(sorted(trials.items(), key=lambda item: (item[0] is None, item[0])))

    def complete(self) -> Trials:
        """The trials that have a score of every system; rows keep their order, and their numbers are lost."""
        scored = pl.all_horizontal(
            pl.col(name).is_not_null() & pl.col(name).is_not_nan() for name in self.score
        )
        return self._replace(self.table.filter(scored))

    def complete_counted(self, *, of: str = "") -> Trials:
        """The same, with a warning that says how many are left out, or what they are left out ``of``.

        Parameters
        ----------
        of
            What the others are not used for, for example ``"the training"``.
        """
        complete = self.complete()
        if n := len(self) - len(complete):
            lacks = "no score of some system"
            said = left_out(n, len(self), f"has {lacks}", f"have {lacks}")
            warn_caller(LeftOutWarning(f"{said} of {of}" if of else said, n))
        return complete

    @cached_property
    def score_array_or_nan(self) -> Array:
        """Scores in row order, NaN where a system has none."""
        columns = [self.table[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in self.score]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def rescaled(self, factor: float) -> Trials:
        """The same trials with all scores multiplied.

        Parameters
        ----------
        factor
            What scores are multiplied by.
        """
        return self._replace(self.table.with_columns(pl.col(name) * factor for name in self.score))

    def read_with(self, *, factor: float, positive: str | None) -> Trials:
        """These trials with all scores multiplied, remembering how they were read; for readers.

        Parameters
        ----------
        factor
            What scores are multiplied by.
        positive
            The label that means target.
        """
        trials = self if factor == 1.0 else self.rescaled(factor)
        trials._roles = replace(trials._roles, factor=factor, positive=positive)
        return trials

    def holding(self, factor: float) -> Trials:
        """These trials, whose scores are still to be multiplied by a factor; for writers.

        Parameters
        ----------
        factor
            What scores are multiplied by.
        """
        return self._replace(factor=factor)

    def weighed_by(self, column: str) -> Trials:
        """The same trials, each counting as often as this column says.

        Parameters
        ----------
        column
            Column that says how often each trial counts.
        """
        self._require(column)
        return self._replace(weight=column)

    def _replace(self, table: pl.DataFrame | None = None, **changed: Unpack[RoleChanges]) -> Trials:
        """Another table, or other roles; rows that were left out no longer stand where they stood."""
        lines = self.lines if table is None or table.height == self.table.height else None
        table = self.table if table is None else table
        return Trials.of(table, replace(self._roles, **changed), origin=self.origin, lines=lines)

    def __repr__(self) -> str:
        roles = [*self.score, self.label, *(name for name in (self.enroll, self.test) if name)]
        rest = [name for name in self.table.columns if name not in roles]
        more = f"; columns {', '.join(rest)}" if rest else ""
        return f"Trials({counted(self.table.height, 'row')}: {', '.join(roles)}{more})"


def repeated_trials(trials: ScoreSource) -> dict[str, int | None]:
    """What the JSON of an evaluation says of trials that occur more than once; nothing where none does.

    Nothing is said either where trials cannot be told apart by their ids. None stands for what is not known:
    ids are not held in memory for what is read in batches.
    """
    if len(trials.roles.ids) < 2:
        return {}
    n = trials.n_repeated if isinstance(trials, Trials) else None
    return {} if n == 0 else {"repeated_trials": n}
