"""Trials: a table with roles, and its columns of scores, labels and kinds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
import polars as pl

from llrkit.base.arguments import Array, BoolArray, FloatArray
from llrkit.base.process import cached_property, refuse_after_fork, warn_caller
from llrkit.base.text import counted, left_out
from llrkit.errors import EmptyClassError, InputError, LabelError, LeftOutWarning, NaNScoreError
from llrkit.scores.arrays import EXACT, INEXACT, Scores, first_nan
from llrkit.scores.derived import WEIGHTS_IN_WORDS, acceptable_weights, weighted
from llrkit.scores.labels import ACCEPTED, KIND, KINDS, TARGET, Kind, classify_words, kind_of, warn_of_pooled
from llrkit.scores.source import (
    COUNTED,
    POSITION,
    ROW,
    RoleChanges,
    Roles,
    S,
    ScoreSource,
    require_column,
    row_in_words,
)

Label: TypeAlias = str | int | float | bool
"""A value of a column of labels."""
SameTrials = Literal["other trials", "same scores", "other scores"]
WEIGHT = "how often each trial counts"
WORDS = ("target", "nontarget")
_WEIGHT_TYPES = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null)


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
        names = (score,) if isinstance(score, str) else tuple(score)
        self._set(table, Roles(names, label, enroll, test, weight, carried=tuple(carried)), origin, lines)

    def _set(
        self, table: object, roles: Roles, origin: str, lines: Callable[[list[int]], list[int]] | None
    ) -> None:
        refuse_after_fork("trials as tables")  # polars would wait for ever for threads that are gone
        self._table, self._roles, self.origin, self.lines = own_table(table), roles, origin, lines
        for name in (*roles.named, *(name for name in roles.carried if name not in COUNTED)):
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
        trials = cls.__new__(cls)
        # a source of trials always has a column of labels
        trials._set(table, replace(roles, label=roles.label or "label"), origin, lines)
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
    def is_target(self) -> BoolArray:
        """Which rows are targets."""
        mask, words = target_rows(self.table[self.label], self.place)
        warn_of_pooled(words, f"{self.origin}, column {self.label!r}" if self.origin else self.label)
        return mask

    @cached_property
    def score_array(self) -> Array:
        """Scores in row order, shape (n,) or (n, K)."""
        arrays = []
        for name in self.score:
            column = self.table[name]
            if not column.dtype.is_numeric():
                raise InputError(f"column {name!r} holds {column.dtype}, not numbers")
            if column.dtype not in (pl.Float32, pl.Float64):  # whole numbers and decimals
                row = inexact_row(column)
                if row is not None:
                    raise InputError(f"{self.place(row)}, column {name!r}: {column[row]} {INEXACT}")
                column = column.cast(pl.Float64)
            arrays.append(column.to_numpy())
            if column.has_nulls() or first_nan(arrays[-1]) is not None:
                row = int((column.is_null() | column.is_nan()).arg_max() or 0)
                raise NaNScoreError(
                    f"{self.place(row)}, column {name!r}: score is missing or NaN; every trial needs a score "
                    "(+-inf is allowed)"
                )
        return arrays[0] if len(arrays) == 1 else np.column_stack(arrays)

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
        weighed = Scores.part(plain.target, plain.nontarget, columns, plain.categories)
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
        # sorted, so that codes do not depend on the order of the rows
        values = column.unique().sort(nulls_last=True).to_list()
        order = pl.DataFrame({name: pl.Series(values, dtype=column.dtype), "code": np.arange(len(values))})
        joined = self.table.select(name).join(  # maintain_order: codes must stay with their rows
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
            # the running number within the class
            return np.where(mask, np.cumsum(mask), np.cumsum(~mask)) - 1
        self._require(name)
        column = self.table[name]
        # whole numbers of 128 bits as Python has them
        return np.array(column.to_list()) if is_wide(column.dtype) else column.to_numpy()

    def reduce(self, summarize: Callable[[Scores], S]) -> S:
        """Summarize every chunk and merge the summaries.

        Parameters
        ----------
        summarize
            Function of one chunk whose results can be merged with ``+``.
        """
        if self._roles.weight is None:
            return self._scores.reduce(summarize)
        # weighted chunk by chunk, whatever is summarized
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
        # None cannot be compared with values
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
        # a table with other rows has lost their lines
        lines = self.lines if table is None or table.height == self.table.height else None
        table = self.table if table is None else table
        return Trials.of(table, replace(self._roles, **changed), origin=self.origin, lines=lines)

    def __repr__(self) -> str:
        roles = [*self.score, self.label, *(name for name in (self.enroll, self.test) if name)]
        rest = [name for name in self.table.columns if name not in roles]
        more = f"; columns {', '.join(rest)}" if rest else ""
        return f"Trials({counted(self.table.height, 'row')}: {', '.join(roles)}{more})"


def trials_of(chunks: Iterable[Scores], *, enroll: str | None = None, test: str | None = None) -> Trials:
    """Trials of consecutive chunks of scores: in each the targets first, all columns beside the scores.

    Codes of a column with categories become the values they stand for. Scores of several systems are
    named ``score_1``, ``score_2``, ...

    Examples
    --------
    >>> scores = Scores([2.0], [-1.0, 0.5], {"sex": ([1], [0, 1])}, categories={"sex": ["f", "m"]})
    >>> trials_of([scores]).table.rows()
    [('m', 2.0, 'target'), ('f', -1.0, 'nontarget'), ('m', 0.5, 'nontarget')]
    """
    tables, systems = [], ["score"]
    for chunk in chunks:
        if chunk.n_systems > 1:
            systems = [f"score_{i + 1}" for i in range(chunk.n_systems)]
        columns = []
        for name, values in chunk.columns.items():
            codes, words = np.concatenate(values), chunk.categories.get(name)
            # positions of polars are of 32 bits
            column = codes if words is None else pl.Series(words).gather(pl.Series(codes.astype(np.uint32)))
            columns.append(pl.Series(name, column))
        scores = np.concatenate([chunk.target, chunk.nontarget]).reshape(-1, len(systems))
        columns += [pl.Series(name, scores[:, i]) for i, name in enumerate(systems)]
        labels = np.repeat(np.array([0, 1], dtype=np.uint32), [chunk.n_target, chunk.n_nontarget])
        columns.append(pl.Series("label", WORDS).gather(pl.Series(labels)))
        tables.append(pl.DataFrame(columns))
    if not tables:
        raise InputError("there are no chunks to make trials of")
    return Trials(pl.concat(tables), score=systems, enroll=enroll, test=test)


def repeated_trials(trials: ScoreSource) -> dict[str, int | None]:
    """What the JSON of an evaluation says of trials that occur more than once; nothing where none does.

    Nothing is said either where trials cannot be told apart by their ids. None stands for what is not known:
    ids are not held in memory for what is read in batches.
    """
    if len(trials.roles.ids) < 2:
        return {}
    n = trials.n_repeated if isinstance(trials, Trials) else None
    return {} if n == 0 else {"repeated_trials": n}


def same_trials(first: Trials, second: Trials) -> SameTrials:
    """What two tables have in common, by their ids and labels in any order.

    Tables without ids count as other trials: nothing says that theirs are the same.

    Examples
    --------
    >>> columns = {"test": ["a", "b"], "label": [1, 0]}
    >>> one = Trials({**columns, "score": [1.5, 0.5]}, test="test")
    >>> same_trials(one, Trials({**columns, "score": [1.5, 0.7]}, test="test"))
    'other scores'
    """
    n_ids = len(first.roles.ids)
    if n_ids == 0 or len(second.roles.ids) != n_ids or len(first) != len(second):
        return "other trials"
    # in the order of the ids, since the two files may list the trials in any order
    left, right = _table_in_order_of_ids(first), _table_in_order_of_ids(second)
    names = left.columns[: n_ids + 1]  # the label stands behind the ids
    if not left.select(names).equals(right.select(names)):
        return "other trials"
    return "same scores" if left.equals(right) else "other scores"


def _table_in_order_of_ids(trials: Trials) -> pl.DataFrame:
    """Ids as text, label and scores in columns that are named by number, in the order of the ids."""
    ids, scores = trials.roles.ids, trials.roles.score
    # text, as one file may hold numbers and the other words
    texts = [trials.table[name].cast(pl.String).alias(f"id{i}") for i, name in enumerate(ids)]
    numbers = [trials.table[name].cast(pl.Float64).alias(f"score{i}") for i, name in enumerate(scores)]
    table = pl.DataFrame([*texts, pl.Series("is_target", trials.is_target), *numbers])
    return table.sort(table.columns)


class KindTable:
    """A table with the kind of each trial; scores may be missing.

    Examples
    --------
    >>> table = KindTable({"asv": [2.0, None, 1.5], "label": ["target", "target", "spoof"]}, "label")
    >>> len(table.trials_of("asv")), table.counts()
    (2, {'target': 2, 'nontarget': 0, 'spoof': 1})
    """

    def __init__(self, table: object, label: str) -> None:
        frame = own_table(table)
        require_column(label, frame.columns)
        if frame[label].has_nulls():
            row = int(frame[label].is_null().arg_max() or 0)
            raise LabelError(f"{row_in_words(row)}: there is no label in column {label!r}")
        kind = _kind_codes(frame[label])
        # ours are made anew below
        self.columns = [name for name in frame.columns if name not in (KIND, TARGET)]
        self.frame = frame.with_columns(kind.alias(KIND), (kind == KINDS.index("target")).alias(TARGET))
        self.label = label

    def trials_of(self, *scores: str) -> Trials:
        """The trials that have a score in each of these columns, targets against all others."""
        return Trials(self._where_scored(*scores), score=scores, label=TARGET)

    def ascending_kinds(self, score: str) -> tuple[Array, Array, Array]:
        """The scores of targets, of non-targets and of spoofs, each in ascending order."""
        trials = self.trials_of(score)
        values, kinds = trials.score_array, trials.table[KIND].to_numpy()
        target, nontarget, spoof = (np.sort(values[kinds == code]) for code in range(len(KINDS)))
        return target, nontarget, spoof

    def spoofs_of(self, score: str, attack: str) -> tuple[Array, Array, tuple[Hashable, ...] | None]:
        """The scores of spoofs, their attacks as in :meth:`Trials.coded`, and what the codes stand for."""
        trials = self.trials_of(score)
        codes, names = trials.coded(attack)
        spoof = trials.table[KIND].to_numpy() == KINDS.index("spoof")
        return trials.score_array[spoof], codes[spoof], None if names is None else tuple(names)

    def _where_scored(self, *names: str) -> pl.DataFrame:
        """The trials that have all of these scores; the table itself where none is missing."""
        # no copy where no score is missing, which is the usual case
        if all(map(_has_all_scores, self.frame.select(names))):
            return self.frame
        values = (pl.col(name).cast(pl.Float64) for name in names)
        return self.frame.filter(*(value.is_not_null() & value.is_not_nan() for value in values))

    def with_scores(
        self, first: str, second: str, name: str, fuse: Callable[[FloatArray], FloatArray]
    ) -> KindTable:
        """The trials that have both scores, with one more column made of them."""
        kept = self._where_scored(first, second)
        both = kept.select(pl.col(first, second).cast(pl.Float64)).to_numpy()
        return KindTable(kept.with_columns(pl.Series(name, fuse(both))), self.label)

    def where(self, column: str, value: object) -> KindTable:
        """The trials that have one value in a column."""
        require_column(column, self.columns)
        return KindTable(self.frame.filter(pl.col(column) == value), self.label)

    def gated(self, gate: str, threshold: float, score: str) -> KindTable:
        """The trials that have both scores, the second -inf where the first is below a threshold."""
        passed = pl.when(pl.col(gate) >= threshold).then(pl.col(score).cast(pl.Float64)).otherwise(-np.inf)
        return KindTable(self._where_scored(gate, score).with_columns(passed.alias(score)), self.label)

    def counts(self) -> dict[Kind, int]:
        """How many trials of each kind there are."""
        n = dict(self.frame.group_by(KIND).len().iter_rows())
        return {kind: n.get(code, 0) for code, kind in enumerate(KINDS)}


def _kind_codes(labels: pl.Series) -> pl.Series:
    """The place of each label's kind among the three."""
    words, masks = distinct_labels(labels)
    codes = [KINDS.index(kind_of(word)) for word in words]
    if not set(words) <= masks.keys():  # some label was not among the likely ones
        return labels.replace_strict(words, codes, return_dtype=pl.UInt8)
    kinds = np.zeros(len(labels), dtype=np.uint8)
    for word, code in zip(words, codes, strict=True):
        if code:  # zeros are targets already
            kinds[masks[word].to_numpy()] = code
    return pl.Series(labels.name, kinds)


def _has_all_scores(column: pl.Series) -> bool:
    if column.has_nulls() or not column.dtype.is_numeric():
        return False
    return not column.dtype.is_float() or not column.is_nan().any()


def own_table(table: object) -> pl.DataFrame:
    """A polars table of anything that can be one, with memory that whoever gave it cannot write to.

    polars takes over arrays of NumPy, pandas and Arrow without a copy, so their numbers are copied here.
    Tables and columns of polars, which cannot be written to, are used as they are.

    Examples
    --------
    >>> import numpy as np
    >>> mine = np.array([1.5, -0.5])
    >>> table = own_table({"score": mine})
    >>> mine[:] = 0.0
    >>> table["score"].to_list()
    [1.5, -0.5]
    """
    frame = as_table(table)
    if isinstance(table, (pl.DataFrame, pl.LazyFrame)):
        return frame
    safe = (pl.Series, list, tuple)
    columns = table if isinstance(table, Mapping) else {}
    shared = [
        name
        for name, dtype in frame.schema.items()
        if (dtype.is_numeric() or dtype.is_temporal()) and not isinstance(columns.get(name), safe)
    ]
    # Two pieces that become one are always copied; one piece, even a clone, never is.
    numbers = frame.select(shared)
    copy = pl.concat([numbers, numbers.head(1)], rechunk=True).head(frame.height) if shared else numbers
    return frame.with_columns(copy.get_columns())


def as_table(table: object) -> pl.DataFrame:
    """A polars table of anything that can be one: a dict of columns, a pandas table, ..."""
    try:
        if isinstance(table, pl.DataFrame):
            return table
        if isinstance(table, pl.LazyFrame):
            return table.collect()
        foreign: Any = table  # polars finds out itself what it is
        return pl.from_pandas(foreign) if hasattr(table, "iloc") else pl.DataFrame(foreign)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot make a table of {type(table).__name__}: {error}") from None


def target_rows(
    column: pl.Series, place: Callable[[int], str], expected: Iterable[str] = ()
) -> tuple[BoolArray, frozenset[str]]:
    """Which rows of a column of labels are targets, and the words in it (none if it is boolean).

    ``expected`` are words that are likely to occur, for speed.
    """
    if column.has_nulls():
        row = int(column.is_null().arg_max() or 0)
        raise LabelError(f"{place(row)}: no label in column {column.name!r}")
    if column.dtype == pl.Boolean:
        return column.to_numpy(), frozenset()
    if not is_label_type(column.dtype):
        raise LabelError(f"column {column.name!r} holds {column.dtype}, not labels; accepted are {ACCEPTED}")
    distinct, masks = distinct_labels(column, expected)
    words = [
        # 1.0 is the label 1
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for value in distinct
    ]
    meaning = classify_words(words)
    unknown = [value for value, known in zip(distinct, meaning, strict=True) if known is None]
    if unknown or {"0", "-1"} <= set(words):  # 0 and -1 both mean non-target, of two different pairs
        where = place(int((column == unknown[0]).arg_max() or 0)) if unknown else column.name
        seen = ", ".join(repr(value) for value in distinct[:5]) + (", ..." if len(distinct) > 5 else "")
        raise LabelError(
            f"{where}: labels in column {column.name!r} are not two classes: saw {seen}; "
            f"accepted are {ACCEPTED}"
        )
    targets = [value for value, known in zip(distinct, meaning, strict=True) if known]
    only = masks.get(targets[0]) if len(targets) == 1 else None  # compared with all rows already
    mask = column.is_in(targets) if only is None else only
    return mask.to_numpy(), frozenset(words)


def is_label_type(dtype: pl.DataType) -> bool:
    """Whether a column of this type can hold labels: words, numbers, or true and false."""
    words = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Boolean)
    return words or dtype.is_integer() or dtype.is_float()


def distinct_labels(
    column: pl.Series, expected: Iterable[str] = ()
) -> tuple[list[Label], dict[Label, pl.Series]]:
    """The values of a column of labels, as they come first, and where some of them are.

    Comparing all rows with the words that are likely is several times faster than looking for distinct ones.
    """
    # the first rows of a file show its labels as a rule
    likely = list(expected) or column.head(1000).unique(maintain_order=True).to_list()
    if column.dtype != pl.String or not 0 < len(likely) <= 4:
        return column.unique(maintain_order=True).to_list(), {}
    masks = {word: column == word for word in likely}
    known = reduce(or_, masks.values())
    there = [word for word, mask in masks.items() if mask.any()]  # an expected word need not occur
    return [*there, *([] if known.all() else column.filter(~known).unique(maintain_order=True))], masks


def inexact_row(column: pl.Series) -> int | None:
    """The first row with a whole number beyond 2^53, which is not exact as floating point; None without.

    Examples
    --------
    >>> inexact_row(pl.Series([1, 2**53 + 1])), inexact_row(pl.Series([1, 2]))
    (1, None)
    """
    if not column.dtype.is_integer() or column.len() == 0:
        return None
    low, high = column.min(), column.max()
    # extremes tell; only where they do are rows looked at
    if low is None or (int(low) >= -EXACT and int(high) <= EXACT):  # type: ignore[arg-type]
        return None
    return next(i for i, value in enumerate(column) if value is not None and abs(value) > EXACT)


def is_wide(dtype: pl.DataType) -> bool:
    """Whether these are whole numbers of more than 64 bits, which NumPy does not have."""
    return dtype.is_integer() and str(dtype).endswith("128")


def is_plain_number(dtype: pl.DataType) -> bool:
    """Whether these are numbers that NumPy has too; decimals and 128 bits are not.

    Examples
    --------
    >>> is_plain_number(pl.Int64()), is_plain_number(pl.Decimal(10, 2)), is_plain_number(pl.Int128())
    (True, False, False)
    """
    return dtype.is_numeric() and not dtype.is_decimal() and not is_wide(dtype)


def groupable(column: pl.Series, origin: str) -> pl.Series:
    """A column whose values can be told apart: lists, structures and objects are refused."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        where = f"{origin}, " if origin else ""
        raise InputError(
            f"{where}column {column.name!r}: holds {column.dtype}, expected numbers, text, dates or booleans"
        )
    return column


def weight_numbers(column: pl.Series, origin: str, place: Callable[[int], str]) -> FloatArray:
    """The weights of trials; what is none is named by its row."""
    if not column.dtype.is_numeric() and column.dtype not in _WEIGHT_TYPES:
        where = f"{origin}, " if origin else ""
        raise InputError(f"{where}column {column.name!r}: holds {column.dtype}, not weights")
    words = column.dtype in (pl.Categorical, pl.Enum)
    # words of a category are codes underneath
    numbers = (column.cast(pl.String) if words else column).cast(pl.Float64, strict=False)
    # what could not be read is NaN, which is refused with its row
    weights = numbers.fill_null(np.nan).to_numpy()
    bad = ~acceptable_weights(weights)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{place(row)}, column {column.name!r}: the weight is {column[row]!r}, "
            f"expected {WEIGHTS_IN_WORDS}"
        )
    return np.asarray(weights)
