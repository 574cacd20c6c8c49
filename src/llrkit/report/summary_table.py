"""The numbers of evaluations, or of a comparison, side by side in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from llrkit._format import number
from llrkit.errors import InputError
from llrkit.evaluation.compare import Comparison
from llrkit.evaluation.condition_tables import ConditionTable
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.over_groups import group_name
from llrkit.report.class_tables import ClassResults, class_table, has_classes
from llrkit.report.report_tables import (
    ALL,
    COLUMNS,
    Column,
    Table,
    comparison_table,
    of_one_kind,
    table_of,
    with_intervals,
)
from llrkit.trust.differences.compare_many_systems import PairwiseComparison
from llrkit.trust.differences.compare_systems import SystemComparison

WANTED = (
    "a table needs an Evaluation, a Comparison, or a dict of Evaluations by system; or a ConditionTable, a "
    "SystemComparison or a PairwiseComparison"
)


Tabulated: TypeAlias = (
    Evaluation
    | Comparison
    | Mapping[str, Evaluation]
    | ConditionTable
    | SystemComparison
    | PairwiseComparison
    | ClassResults
)
"""What a table can be made of."""


def summary_table(
    results: Tabulated, *, row_title: str = "system", caption: str = "", intervals: bool = False
) -> Table:
    """The numbers of one or several evaluations, or of a comparison, as a table.

    A single evaluation gives one row, and one more for each of its groups.

    Examples
    --------
    >>> import llrkit as lk
    >>> result = lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]), points=["sre08"])
    >>> summary_table({"mine": result}).texts[0][5:8]
    ('0.7140', '0.5354', '0.1786')
    """
    if isinstance(results, SystemComparison | PairwiseComparison):
        return comparison_table(results, caption)
    if isinstance(results, ConditionTable):
        row_title = results.by if row_title == "system" else row_title
        results = results.rows()
    if has_classes(results):
        if intervals:
            raise InputError("evaluations of several classes have no intervals")
        return class_table(results, row_title=row_title, caption=caption)
    if isinstance(results, Comparison):
        results, row_title = results.evaluations, "method" if row_title == "system" else row_title
    if isinstance(results, Evaluation):
        if results.groups and row_title == "system":
            row_title = ", ".join(results.by) or row_title
        results = {ALL: results, **{group_name(key): group for key, group in results.groups.items()}}
    named = of_one_kind(results, Evaluation, WANTED)
    same_points(named)
    columns = [*COLUMNS, *_cost_columns(next(iter(named.values())))]
    table = table_of(named, columns, row_title=row_title, caption=caption)
    return with_intervals(table, list(named.values())) if intervals else table


def _cost_columns(first: Evaluation) -> list[Column[Evaluation]]:
    columns: list[Column[Evaluation]] = []
    for i, result in enumerate(first.points):
        for kind in ("min", "act"):
            name = result.point.name
            columns.append(
                (
                    f"{kind}_dcf {name}",
                    f"{kind} DCF {name}",
                    _cost_at_point("points", i, f"{kind}_dcf"),
                    number,
                )
            )
    for i, primary in enumerate(first.primaries):
        for kind in ("min", "act"):
            title = f"{kind} C_primary {primary.name}"
            columns.append(
                (f"{kind}_c_primary {primary.name}", title, _cost_at_point("primaries", i, kind), number)
            )
    return columns


def _cost_at_point(of: str, i: int, kind: str) -> Callable[[Evaluation], float]:
    return lambda evaluation: float(getattr(getattr(evaluation, of)[i], kind))


def same_points(results: Mapping[str, Evaluation]) -> None:
    """Refuse evaluations at different operating points: their costs cannot be side by side."""
    names = {name: tuple(p.point for p in e.points) for name, e in results.items()}
    first = next(iter(names))
    for name, points in names.items():
        if points != names[first]:
            raise InputError(f"{first!r} and {name!r} were evaluated at different operating points")
