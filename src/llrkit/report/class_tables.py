"""Tables of evaluations of several classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeGuard

from llrkit._format import number
from llrkit.multiclass.class_evaluation_result import ClassEvaluation, ClassResult
from llrkit.multiclass.compare_classes import ClassComparison
from llrkit.report.report_tables import (
    ALL,
    Column,
    Table,
    of_one_kind,
    rate_in_percent,
    table_of,
    whole_number,
)

WANTED = "a table needs a ClassEvaluation, a ClassComparison, or a dict of ClassEvaluations by system"
Either = ClassEvaluation | ClassResult
ClassResults = ClassEvaluation | ClassComparison | Mapping[str, ClassEvaluation]
"""What a table of several classes is made of."""


def _cllr_and_refined(result: Either) -> tuple[float, float]:
    if isinstance(result, ClassEvaluation):
        return result.cllr, result.refined_cllr
    return result.cllr.actual, result.cllr.refined


COLUMNS: tuple[Column[Either], ...] = (
    ("n", "trials", lambda e: e.n, whole_number),
    ("cllr", "Cllr", lambda e: _cllr_and_refined(e)[0], number),
    ("refined_cllr", "refined Cllr", lambda e: _cllr_and_refined(e)[1], number),
    ("cllr_cal", "Cllr − refined", lambda e: _cllr_and_refined(e)[0] - _cllr_and_refined(e)[1], number),
    ("error_rate", "errors (%)", lambda e: e.error_rate.actual, rate_in_percent),
    ("refined_error_rate", "refined errors (%)", lambda e: e.error_rate.refined, rate_in_percent),
)


def has_classes(results: object) -> TypeGuard[ClassResults]:
    """Whether these are results of several classes."""
    if isinstance(results, Mapping) and results:
        return isinstance(next(iter(results.values())), ClassEvaluation)
    return isinstance(results, ClassEvaluation | ClassComparison)


def class_table(
    results: ClassResults,
    *,
    row_title: str = "system",
    caption: str = "",
) -> Table:
    """The numbers of evaluations of several classes, or of a comparison, as a table.

    A single evaluation gives a row for all trials and one for each class; several have costs as well.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> class_table(lk.multiclass.evaluate(scores)).names
    ('all', '0', '1', '2')
    """
    if isinstance(results, ClassEvaluation):
        rows: dict[str, Either] = {ALL: results} | {one.name: one for one in results.per_class}
        title = "class" if row_title == "system" else row_title
        return table_of(rows, COLUMNS, row_title=title, caption=caption)
    if isinstance(results, ClassComparison):
        results, row_title = results.evaluations, "method" if row_title == "system" else row_title
    named = of_one_kind(results, ClassEvaluation, WANTED)
    first = next(iter(named.values()))
    columns: list[Column[ClassEvaluation]] = [*COLUMNS]
    columns.insert(2, ("cllr_normalized", "Cllr, normalized", lambda e: e.cllr_normalized, number))
    for of, title in (("costs", "cost"), ("cavgs", "Cavg")):
        for i, cost in enumerate(getattr(first, of)):
            columns.append(
                (f"{title.lower()} {cost.name}", f"{title} {cost.name}", _class_cost(of, i), number)
            )
    return table_of(named, columns, row_title=row_title, caption=caption)


def _class_cost(of: str, i: int) -> Callable[[ClassEvaluation], float]:
    return lambda evaluation: float(getattr(evaluation, of)[i].actual)
