"""An evaluation in words: one sentence, a table for terminals, a table for notebooks."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from llrkit._format import counted, number, percent
from llrkit._llr_units import NATS, LlrUnit
from llrkit._results import html_table, html_text
from llrkit.calibrate.gap_between_classes import gap_of_moments
from llrkit.evaluation.over_groups import group_name, over_groups

if TYPE_CHECKING:
    from llrkit.evaluation.evaluation_result import Evaluation
    from llrkit.trust.calibration.verdict import Verdict
    from llrkit.trust.intervals.uncertainty_result import Uncertainty

K = TypeVar("K", bound=Hashable)


def sentence(result: Evaluation, verdict: Verdict | None = None) -> str:
    """What the numbers mean: how much is lost to what, and what the test of calibration says.

    ``verdict`` is that of a closer check of the same trials, if one was made.
    """
    verdict = verdict or result.verdict
    if verdict.outcome in ("reversed", "uninformative", "infinite"):
        bits = "infinite" if math.isinf(result.cllr) else f"{number(result.cllr)} bits"
        return f"Cllr is {bits}. {verdict.sentence}"
    lost = f"Of Cllr = {number(result.cllr)} bits, {number(result.min_cllr)} are lost to discrimination"
    share = f"{100 * (1.0 - result.min_cllr / result.cllr):.0f} %" if result.cllr > 0 else "0 %"
    lost += f" and {number(result.cllr_cal)} ({share}) to calibration{_parts_of_loss(result)}."
    harm = " Read as LLRs they are worse than saying nothing (Cllr = 1)." if result.cllr >= 1.0 else ""
    return f"{lost}{harm} {verdict.sentence}"


def _parts_of_loss(result: Evaluation) -> str:
    """The loss to calibration in two parts, beside what it would be by chance."""
    split = result.loss_split
    if split is None:
        return f" (not split into scale and shape: {_why_not_split(result)})"
    # parts that are rounded add up to the whole that is rounded, with the decimals of the table
    shape = float(number(result.cllr_cal)) - float(number(split.scale_and_offset))
    parts = f": {number(split.scale_and_offset)} to scale and offset, {number(max(shape, 0.0))} to shape"
    if result.tested is not None or result.equalized:  # expected of independent trials only
        return parts
    return f"{parts}, where calibrated LLRs would show about {number(split.chance)} together by chance"


def _why_not_split(result: Evaluation) -> str:
    gap = gap_of_moments(result.moments)
    if gap is not None:
        meet = f"share only the score {gap[0]:.4g}" if gap[0] == gap[1] else "do not overlap"
        return f"the classes {meet}, and no straight line is best"
    if result.best_line is None:
        return "no straight line is best"
    if result.best_line.a <= 0.0:
        return "the best straight line falls"
    return "the scores range too widely to find the best straight line closely enough"


class Row(NamedTuple):
    """A number of the table."""

    name: str
    key: str
    """Its name in the JSON, with the place in a list."""
    value: str
    interval: str
    """Empty where there is none."""
    note: str


def rows(result: Evaluation, unit: LlrUnit = NATS) -> list[tuple[str, str, str]]:
    """The table: name, value, and what it is."""
    of_spoofs = result.shared is not None and result.shared.of_kinds
    classes = "bona fide + spoof" if of_spoofs else "target + non-target"
    table = [("trials", f"{result.n_target:,} + {result.n_nontarget:,}", classes)]
    for row in numbers_of_table(result, unit):
        table.append((row.name, row.value, "  ".join(filter(None, (row.interval, row.note)))))
    return table


def numbers_of_table(result: Evaluation, unit: LlrUnit = NATS) -> list[Row]:
    """All numbers of the table but the counts; thresholds in a unit of LLRs."""
    table: list[Row] = []
    which = f" {unit.suffix}" if unit.base_10 else ""

    def row(name: str, key: str, value: float, note: str, show: Callable[[float], str] = number) -> None:
        interval = ""
        if key in result.intervals:
            low, high = result.intervals[key]
            interval = f"[{show(low).removesuffix(' %')}, {show(high)}]"
        elif result.uncertainty is not None and key in result.uncertainty.upper_bound:
            interval = f"at most {show(result.uncertainty.upper_bound[key])}"
        table.append(Row(name, key, show(value), interval, note))

    row("EER", "eer", result.eer, "ROC convex hull", percent)
    row("EER (ROC)", "eer_roc", result.eer_roc, "interpolated ROC", percent)
    row("AUC", "auc", result.auc, "", lambda value: number(value, 5))
    row("Cllr", "cllr", result.cllr, "bits")
    row("min Cllr", "min_cllr", result.min_cllr, "discrimination loss")
    row("Cllr - min", "cllr_cal", result.cllr_cal, "calibration loss")
    slope_note = "-1 for calibrated Gaussian LLRs"
    row("DET slope", "det_slope", result.det_slope.slope, slope_note, lambda value: number(value, 2))
    for i, point in enumerate(result.points):
        threshold = f"threshold {unit.of(point.point.threshold):.3f}{which}"
        row(f"min DCF {point.point.name}", f"points.{i}.min_dcf", point.min_dcf, "best threshold")
        row(f"act DCF {point.point.name}", f"points.{i}.act_dcf", point.act_dcf, threshold)
    for i, primary in enumerate(result.primaries):
        for kind, value in (("min", primary.min), ("act", primary.act)):
            row(f"{kind} C_primary {primary.name}", f"primaries.{i}.{kind}", value, "mean of its points")
    if result.fixed is not None:
        note = f"threshold {unit.of(result.fixed.threshold):.4f}{which} from development data"
        row("HTER", "fixed_threshold.hter", result.fixed.hter, note, percent)
    return table


def without_interval(
    uncertainty: Uncertainty, shown: Sequence[Row], *, but: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """The numbers without an interval, or with its upper end only, each reason once, but those in ``but``."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for row in shown:
        reason = uncertainty.no_interval.get(row.key, "")
        if reason and reason != but.get(row.key):
            what = "only an upper bound" if row.key in uncertainty.upper_bound else "no interval"
            by_reason.setdefault((what, reason), []).append(row.name)
    return [
        f"{what} for {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}: {why}"
        for (what, why), names in by_reason.items()
    ]


def group_rows(
    groups: Mapping[K, Evaluation], by: str, *, of_spoofs: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table with one line per group; classes may be bona fide trials and spoofs."""
    classes = ("bona fide", "spoof") if of_spoofs else ("target", "nontarget")
    header = [by, *classes, "EER", "Cllr", "min Cllr", "Cllr - min"]
    points = next(iter(groups.values())).points
    costs = [f"{kind} {point.point.name}" for point in points for kind in ("min", "act")]
    keys = ["eer", "cllr", "min_cllr", "cllr_cal"]
    keys += [f"points.{i}.{kind}_dcf" for i in range(len(points)) for kind in ("min", "act")]
    table = []
    for name, group in groups.items():
        shown = {row.key: f"{row.value} {row.interval}".rstrip() for row in numbers_of_table(group)}
        table.append(
            [group_name(name), f"{group.n_target:,}", f"{group.n_nontarget:,}", *(shown[key] for key in keys)]
        )
    return header + costs, table


def on_groups(groups: Mapping[K, Evaluation], by: str) -> str:
    """The mean and the worst of the groups, in words."""
    over = over_groups(groups)
    group, worst = over.worst["eer"]
    return (
        f"Mean EER over {counted(len(groups), 'group')} {percent(over.mean['eer'])}, "
        f"worst {percent(worst)} ({by} = {group_name(group)})."
    )


def plain_table(result: Evaluation) -> str:
    """The table as aligned text, below it that of the groups, ending with the sentence."""
    table = rows(result)
    first = max(len(row[0]) for row in table)
    second = max(len(row[1]) for row in table)
    lines = [f"{name:<{first}}  {value:>{second}}  {note}".rstrip() for name, value, note in table]
    return "\n".join([*lines, *_group_lines(result), "", sentence(result)])


def _group_lines(result: Evaluation) -> list[str]:
    """The table of the groups as aligned text, what they come to, and which are left out."""
    lines, by = [], ", ".join(result.by)
    if result.groups:
        header, table = group_rows(result.groups, by)
        widths = [max(map(len, column)) for column in zip(header, *table, strict=True)]
        for first, *others in (header, *table):
            cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
            lines.append("  ".join([first.ljust(widths[0]), *cells]))
        lines += ["", on_groups(result.groups, by)]
    left_out = [f"{by} = {group_name(key)} left out: {why}" for key, why in result.skipped_groups.items()]
    return ["", *lines, *left_out] if lines or left_out else []


def html_page(result: Evaluation) -> str:
    """The table for a notebook, with that of the groups below and the sentence."""
    table = [(row.name, row.value, row.interval, row.note) for row in numbers_of_table(result)]
    table.insert(0, ("trials", f"{result.n_target:,} + {result.n_nontarget:,}", "", "target + non-target"))
    header = ["", "", "", ""]
    if result.uncertainty is not None and result.intervals:
        header[2] = f"{100 * result.uncertainty.level:g} % interval"
    else:
        table = [(name, value, note) for name, value, _, note in table]  # type: ignore[misc]
        header.pop()
    html = html_table(header, table, left=(0, len(header) - 1))
    if result.groups:
        by = ", ".join(result.by)
        html += html_table(*group_rows(result.groups, by)) + html_text(on_groups(result.groups, by))
    if result.skipped_groups:
        left_out = (f"{group_name(key)}: {why}" for key, why in result.skipped_groups.items())
        html += html_text("Left out: " + "; ".join(left_out))
    return html + html_text(sentence(result))
