"""Tables of three kinds of trials: targets, non-targets and spoofs, told apart by words."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import polars as pl

from llrkit._arrays import Array, FloatArray
from llrkit.errors import LabelError
from llrkit.scores.label_columns import distinct_labels
from llrkit.scores.roles import require_column, row_in_words
from llrkit.scores.spoof_kind_words import KIND, KINDS, TARGET, Kind, kind_of
from llrkit.scores.tables_of_other_libraries import own_table
from llrkit.scores.trials import Trials


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
        self.columns = [name for name in frame.columns if name not in (KIND, TARGET)]
        self.frame = frame.with_columns(kind.alias(KIND), (kind == KINDS.index("target")).alias(TARGET))
        self.label = label

    def trials_of(self, score: str) -> Trials:
        """The trials that have a score in a column, targets against all others."""
        return Trials(self._where_scored(score), score=score, label=TARGET)

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
        if all(_has_all_scores(self.frame[name]) for name in names):
            return self.frame
        return self.frame.filter(*map(_scored_rows, names))

    def trials_of_both(self, first: str, second: str) -> Trials:
        """The trials that have both scores, targets against all others."""
        kept = self._where_scored(first, second)
        return Trials(kept, score=[first, second], label=TARGET)

    def with_scores(
        self, first: str, second: str, name: str, fuse: Callable[[FloatArray], FloatArray]
    ) -> KindTable:
        """The trials that have both scores, with one more column made of them."""
        kept = self.frame.filter(_scored_rows(first) & _scored_rows(second))
        both = kept.select(pl.col(first, second).cast(pl.Float64)).to_numpy()
        return KindTable(kept.with_columns(pl.Series(name, fuse(both))), self.label)

    def where(self, column: str, value: object) -> KindTable:
        """The trials that have one value in a column."""
        require_column(column, self.columns)
        return KindTable(self.frame.filter(pl.col(column) == value), self.label)

    def gated(self, gate: str, threshold: float, score: str) -> KindTable:
        """The trials that have both scores, the second -inf where the first is below a threshold."""
        passed = pl.when(pl.col(gate) >= threshold).then(pl.col(score).cast(pl.Float64)).otherwise(-np.inf)
        both = self.frame.filter(_scored_rows(gate) & _scored_rows(score))
        return KindTable(both.with_columns(passed.alias(score)), self.label)

    def counts(self) -> dict[Kind, int]:
        """How many trials of each kind there are."""
        n = dict(self.frame.group_by(KIND).len().iter_rows())
        return {kind: n.get(code, 0) for code, kind in enumerate(KINDS)}


def _kind_codes(labels: pl.Series) -> pl.Series:
    """The place of each label's kind among the three."""
    words, masks = distinct_labels(labels)
    codes = [KINDS.index(kind_of(word)) for word in words]
    if not set(words) <= masks.keys():
        return labels.replace_strict(words, codes, return_dtype=pl.UInt8)
    kinds = np.zeros(len(labels), dtype=np.uint8)
    for word, code in zip(words, codes, strict=True):
        if code:
            kinds[masks[word].to_numpy()] = code
    return pl.Series(labels.name, kinds)


def _has_all_scores(column: pl.Series) -> bool:
    if column.has_nulls() or not column.dtype.is_numeric():
        return False
    return not column.dtype.is_float() or not column.is_nan().any()


def _scored_rows(name: str) -> pl.Expr:
    value = pl.col(name).cast(pl.Float64)
    return value.is_not_null() & value.is_not_nan()
