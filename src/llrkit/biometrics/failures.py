"""Failures to enroll and to acquire, folded into the error rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Literal

import numpy as np

from llrkit._arrays import Array, BoolArray, FloatArray
from llrkit._format import counted, percent
from llrkit._plain import Json
from llrkit.core.column_values import ValueCounts, decoded, plain_value
from llrkit.core.summary_algebra import FieldwiseSums
from llrkit.errors import InputError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived_sources import DerivedSource
from llrkit.scores.source import as_source

Failure = Literal["enroll", "acquire", "failure"]
_NO_FAILURE = frozenset({"", "-", "0", "0.0", "false", "no", "none", "n/a", "na", "ok", "success"})
_MEANINGS: tuple[tuple[Failure, tuple[str, ...]], ...] = (
    ("enroll", ("fte", "enroll", "enrol", "enrollment", "enrolment")),
    ("acquire", ("fta", "ftx", "acquire", "acquisition", "capture", "extraction")),
    ("failure", ("1", "1.0", "true", "yes", "failure", "failed", "fail")),
)
_WORDS: Mapping[str, Failure] = MappingProxyType({word: kind for kind, words in _MEANINGS for word in words})


def failure_of(value: object, column: str = "") -> Failure | None:
    """Which failure a value of the column means; None if nothing failed.

    Examples
    --------
    >>> failure_of("FTE"), failure_of("fta"), failure_of(True), failure_of("ok"), failure_of(None)
    ('enroll', 'acquire', 'failure', None, None)
    """
    value = plain_value(value)
    word = "" if value is None else str(value).strip().lower()
    if word in _NO_FAILURE:
        return None
    if word not in _WORDS:
        where = f"column {column!r}: " if column else ""
        raise InputError(
            f"{where}unknown failure {value!r}; known are fte (enroll), fta (acquire), true (any), and '', "
            "'-', 0, false, no, none, ok for comparisons where nothing failed"
        )
    return _WORDS[word]


@dataclass(frozen=True)
class FailureCounts:
    """Comparisons that no score could be computed for, by what failed: mated and non-mated ones."""

    column: str
    """Column that marks failures."""
    counts: Mapping[str, tuple[float, float]]
    """Failed mated and non-mated comparisons, by kind of failure."""
    n: tuple[float, float]
    """All mated and non-mated comparisons."""

    @property
    def rates(self) -> tuple[float, float]:
        """The share of mated and of non-mated comparisons with a failure."""
        failed = [sum(pair[i] for pair in self.counts.values()) for i in (0, 1)]
        mated, nonmated = (k / n if n else 0.0 for k, n in zip(failed, self.n, strict=True))
        return mated, nonmated

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        counts = {kind: list(pair) for kind, pair in self.counts.items()}
        return {"column": self.column, "counts": counts, "rates": list(self.rates), "n": list(self.n)}

    @property
    def sentence(self) -> str:
        """What failed and what that means for the rates, in words."""
        names = {"enroll": "to enroll", "acquire": "to acquire", "failure": "without more detail"}
        told = [f"{counted(round(sum(pair)), 'failure')} {names[kind]}" for kind, pair in self.counts.items()]
        mated, nonmated = (percent(rate) for rate in self.rates)
        return (
            f"{', '.join(told) or 'No failures'} ({mated} of the mated, {nonmated} of the non-mated "
            "comparisons) count as rejected in FRR and FAR; all other numbers are of the other comparisons."
        )


def fold_failures(source: ScoreSource, column: str) -> tuple[ScoreSource, FailureCounts]:
    """Comparisons with a failure to enroll or to acquire as rejected at every threshold (score -inf).

    With ``f`` the share of failures, the FNMR becomes ``FRR = f + (1 - f) FNMR`` and the FMR becomes
    ``FAR = (1 - f) FMR``, the generalized rates of ISO/IEC 19795-1, with shares of comparisons. A
    comparison of score -inf that no failure explains is refused.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.
    column
        Column that says whether the comparison failed.

    Examples
    --------
    >>> import llrkit as lk
    >>> column = {"failed": (["", "", "fta", ""], ["", ""])}
    >>> scores = lk.Scores([2.0, 1.0, 5.0, -2.0], [0.0, -1.0], column)
    >>> folded, failures = fold_failures(scores, "failed")
    >>> failures.rates
    (0.25, 0.0)
    >>> lk.threshold_for(folded, false_alarm_rate=0.0, ci="none").p_miss
    0.5
    """
    source = as_source(source)
    wide = source.with_columns(column)
    values = wide.reduce(lambda chunk: ValueCounts.of(chunk, column)).counts
    counts: dict[str, list[float]] = {}
    total = [0.0, 0.0]
    for value, pair in values.items():
        kind = failure_of(value, column)
        for i in (0, 1):
            total[i] += pair[i]
            if kind is not None:
                counts.setdefault(kind, [0, 0])[i] += pair[i]
    unexplained = wide.reduce(partial(_Unexplained.of, column=column)).n
    if unexplained:
        raise InputError(
            f"{counted(round(unexplained), 'comparison')} without score (or with -inf) where {column!r} says "
            "that nothing failed"
        )
    folded = DerivedSource(source, partial(_failures_rejected, column=column), (column,))
    by_kind = {kind: (pair[0], pair[1]) for kind, pair in sorted(counts.items())}
    return folded, FailureCounts(column, MappingProxyType(by_kind), (total[0], total[1]))


def without_failures(source: ScoreSource, column: str) -> ScoreSource:
    """The comparisons where nothing failed; for numbers of the scores themselves.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.
    column
        Column that says whether the comparison failed.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([2.0, -1.0], [0.0], {"failed": (["", "fta"], [""])})
    >>> lk.auc(without_failures(scores, "failed"))
    1.0
    """
    as_source(source).with_columns(column)  # a name that does not exist is refused here already
    return DerivedSource(as_source(source), partial(_nothing_failed, column=column), (column,))


def _nothing_failed(chunk: Scores, column: str) -> Scores:
    return chunk.select(*(~_failed_comparisons(chunk, column, i) for i in (0, 1)))


def _failed_comparisons(chunk: Scores, column: str, class_index: int) -> BoolArray:
    codes, names = chunk.columns[column][class_index], chunk.categories.get(column)
    if names is not None:
        failed = np.array([failure_of(name, column) is not None for name in names], dtype=bool)
        return np.asarray(failed[codes], dtype=bool) if len(codes) else np.zeros(0, dtype=bool)
    values: Array = decoded(chunk, column, class_index)
    distinct, place = np.unique(values, return_inverse=True)
    return np.array([failure_of(value, column) is not None for value in distinct], dtype=bool)[place]


def _failures_rejected(chunk: Scores, column: str) -> Scores:
    def rejected(scores: FloatArray, class_index: int) -> FloatArray:
        return np.where(_failed_comparisons(chunk, column, class_index), -math.inf, scores)

    target, nontarget = rejected(chunk.target, 0), rejected(chunk.nontarget, 1)
    return Scores.part(target, nontarget, chunk.columns, chunk.categories)


@dataclass(frozen=True)
class _Unexplained(FieldwiseSums):
    """How many comparisons have the score -inf though nothing failed."""

    n: float

    @classmethod
    def of(cls, chunk: Scores, column: str) -> _Unexplained:
        """Of a chunk."""
        lowest = [np.isneginf(scores) for scores in (chunk.target, chunk.nontarget)]
        return cls(
            sum(int((low & ~_failed_comparisons(chunk, column, i)).sum()) for i, low in enumerate(lowest))
        )
