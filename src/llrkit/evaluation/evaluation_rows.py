"""The numbers of evaluations as rows of a data frame, with their intervals beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llrkit.evaluation.evaluation_result import Evaluation

NUMBERS = ("eer", "eer_roc", "auc", "cllr", "min_cllr", "cllr_cal", "prbep")


def number_row(result: Evaluation) -> dict[str, object]:
    """Numbers by name; where there are intervals, each is followed by ``<name>_low`` and ``<name>_high``.

    Examples
    --------
    >>> import llrkit as lk
    >>> row = number_row(lk.evaluate([2.0, 1.0, -1.0], [1, 0, 0], points=["sre08"]))
    >>> row["n_nontarget"], row["act_dcf sre08"]
    (2, 1.0)
    """
    row: dict[str, object] = {"n_target": result.n_target, "n_nontarget": result.n_nontarget}
    for name, key, value in _numbers_of_row(result):
        row[name] = value
        if result.uncertainty is not None:
            low, high = result.intervals.get(key, (None, None))
            row |= {f"{name}_low": low, f"{name}_high": high}
    return row


def _numbers_of_row(result: Evaluation) -> Iterator[tuple[str, str, float]]:
    """Name of the column, name of the interval, value."""
    for name in NUMBERS:
        yield name, name, getattr(result, name)
    yield "det_slope", "det_slope", result.det_slope.slope
    for i, point in enumerate(result.points):
        for kind in ("min_dcf", "act_dcf"):
            yield f"{kind} {point.point.name}", f"points.{i}.{kind}", getattr(point, kind)
    for i, primary in enumerate(result.primaries):
        for kind in ("min", "act"):
            yield f"{kind}_c_primary {primary.name}", f"primaries.{i}.{kind}", getattr(primary, kind)
    if result.fixed is not None:
        yield "hter", "fixed_threshold.hter", result.fixed.hter


def named_rows(title: str, results: Mapping[str, Evaluation]) -> list[dict[str, object]]:
    """A row for each result, which begins with its name."""
    return [{title: name, **number_row(result)} for name, result in results.items()]


def group_rows_of(result: Evaluation) -> list[dict[str, object]]:
    """A row of all trials, and one for each group, whose values are in columns of their own."""
    if not result.groups:
        return [number_row(result)]
    columns = result.by
    rows: list[dict[str, object]] = [{**dict.fromkeys(columns), **number_row(result)}]
    for key, group in result.groups.items():
        values = key if len(columns) > 1 and isinstance(key, tuple) else (key,)
        rows.append({**dict(zip(columns, values, strict=True)), **number_row(group)})
    return rows
