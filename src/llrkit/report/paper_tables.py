"""Tables of evaluations and comparisons for papers: LaTeX, Markdown, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from llrkit._arguments import takes
from llrkit._format import csv_text, not_among, number
from llrkit._vocabulary import vocabulary
from llrkit.errors import InputError, UnknownNameError
from llrkit.evaluation.compare import Comparison
from llrkit.evaluation.conditions import ConditionTable
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.over_groups import group_name
from llrkit.report.class_tables import ClassResults, class_table, has_classes
from llrkit.report.number_tables import (
    ALL,
    ENDS,
    Column,
    Table,
    comparison_table,
    of_one_kind,
    rate,
    table_of,
    whole_number,
    with_intervals,
    without_ends,
)
from llrkit.trust.differences.compare_many_systems import PairwiseComparison
from llrkit.trust.differences.compare_systems import SystemComparison

STYLES = ("latex", "markdown", "csv")
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
COLUMNS: tuple[Column[Evaluation], ...] = (
    ("n_target", "targets", lambda e: e.n_target, whole_number),
    ("n_nontarget", "non-targets", lambda e: e.n_nontarget, whole_number),
    ("eer", "EER (%)", lambda e: e.eer, rate),
    ("eer_roc", "EER on the ROC (%)", lambda e: e.eer_roc, rate),
    ("auc", "AUC", lambda e: e.auc, lambda value: number(value, 5)),
    ("cllr", "Cllr", lambda e: e.cllr, number),
    ("min_cllr", "min Cllr", lambda e: e.min_cllr, number),
    ("cllr_cal", "Cllr − min", lambda e: e.cllr_cal, number),
    ("det_slope", "DET slope", lambda e: e.det_slope.slope, lambda value: number(value, 2)),
)


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
    columns = [*COLUMNS, *_costs(next(iter(named.values())))]
    table = table_of(named, columns, row_title=row_title, caption=caption)
    return with_intervals(table, list(named.values())) if intervals else table


def _costs(first: Evaluation) -> list[Column[Evaluation]]:
    columns: list[Column[Evaluation]] = []
    for i, result in enumerate(first.points):
        for kind in ("min", "act"):
            name = result.point.name
            columns.append(
                (f"{kind}_dcf {name}", f"{kind} DCF {name}", _cost("points", i, f"{kind}_dcf"), number)
            )
    for i, primary in enumerate(first.primaries):
        for kind in ("min", "act"):
            title = f"{kind} C_primary {primary.name}"
            columns.append((f"{kind}_c_primary {primary.name}", title, _cost("primaries", i, kind), number))
    return columns


def _cost(of: str, i: int, kind: str) -> Callable[[Evaluation], float]:
    return lambda evaluation: float(getattr(getattr(evaluation, of)[i], kind))


def same_points(results: Mapping[str, Evaluation]) -> None:
    """Refuse evaluations at different operating points: their costs cannot be side by side."""
    names = {name: tuple(p.point for p in e.points) for name, e in results.items()}
    first = next(iter(names))
    for name, points in names.items():
        if points != names[first]:
            raise InputError(f"{first!r} and {name!r} were evaluated at different operating points")


@takes(row_title=str, caption=str)
def format_table(
    results: Tabulated | Table,
    style: str = "markdown",
    *,
    row_title: str = "system",
    caption: str = "",
    columns: Sequence[str] | str | None = None,
    intervals: bool = False,
    words: str = "nist",
) -> str:
    """The numbers of evaluations or of a comparison as LaTeX, Markdown or CSV.

    LaTeX and Markdown have the digits people read; CSV has all of them, under the names of the JSON. Names
    that a spreadsheet would take for a formula get an apostrophe in front there.

    Parameters
    ----------
    results
        An Evaluation, a Comparison, or a dict of Evaluations by system; of two classes or of several. A
        ConditionTable, and what compares systems, give tables of their own.
    style
        'latex' (uses booktabs), 'markdown' or 'csv'.
    row_title
        Title of the first column.
    caption
        Caption of a LaTeX table.
    columns
        The columns to show, by their names in the CSV (``"eer"``, ``"min_dcf sre08"`` or
        ``"min_dcf_sre08"``) or their titles.
    intervals
        Whether numbers of evaluations are followed by their intervals; CSV has columns ``..._low`` and
        ``..._high``.
    words
        The vocabulary of the titles: 'nist', 'forensic' or 'biometrics'; CSV has the names of the JSON.

    Examples
    --------
    >>> import llrkit as lk
    >>> result = lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]), points=["sre08"])
    >>> print(lk.format_table({"my_system": result}, "latex").splitlines()[5])
    my\\_system & 4 & 5 & 23.08 & 25.00 & 0.82500 & 0.7140 & 0.5354 & 0.1786 & $-0.35$ & 0.5000 & 0.7500 \\\\
    """
    table = (
        results
        if isinstance(results, Table)
        else summary_table(results, row_title=row_title, caption=caption, intervals=intervals)
    )
    if columns is not None:
        names = [columns] if isinstance(columns, str) else list(columns)
        spelled = {key.replace(" ", "_"): key for key in table.keys}  # as llrkit.torch has them
        names = [spelled.get(name, name) for name in names]
        ends = {name: [f"{name}{end}" for end in ENDS if f"{name}{end}" in table.keys] for name in names}
        table = table.choose([one for name in names for one in (name, *ends[name])])
    table = table if style == "csv" else without_ends(table)
    titles = tuple(map(vocabulary(words).say, table.titles))
    table = replace(table, titles=titles)
    if style == "csv":
        return _csv(table)
    if style == "markdown":
        return _markdown(table)
    if style == "latex":
        return _latex(table)
    raise UnknownNameError(f"unknown style of table {not_among(style, STYLES)}")


def _csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_text(text) for text in (table.row_title, *table.keys)])
    for name, row in zip(table.names, table.values, strict=True):
        writer.writerow([csv_text(name), *(_exact(value) for value in row)])
    return out.getvalue()


def _exact(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _markdown(table: Table) -> str:
    rows = [(table.row_title, *table.titles)]
    rows += [(name, *texts) for name, texts in zip(table.names, table.texts, strict=True)]
    lines = ["| " + " | ".join(map(markdown_text, row)) + " |" for row in rows]
    lines.insert(1, "|---|" + "--:|" * len(table.titles))
    return "\n".join([f"**{markdown_text(table.caption)}**", "", *lines] if table.caption else lines) + "\n"


def _latex(table: Table) -> str:
    rows = [
        " & ".join([latex_text(name), *map(_latex_number, texts)]) + r" \\"
        for name, texts in zip(table.names, table.texts, strict=True)
    ]
    head = " & ".join(map(latex_text, (table.row_title, *table.titles))) + r" \\"
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{tabular}{l" + "r" * len(table.titles) + "}",
        r"\toprule",
        head,
    ]
    lines += [r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]
    if table.caption:
        lines = [lines[0], r"\begin{table}", r"\centering", rf"\caption{{{latex_text(table.caption)}}}",
                 *lines[1:], r"\end{table}"]  # fmt: skip
    return "\n".join(lines) + "\n"


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "−": "--", "\n": " ", "\r": " ",
}  # fmt: skip


def latex_text(text: str) -> str:
    r"""Text that LaTeX sets as it is.

    Examples
    --------
    >>> latex_text("50 % of a_b & {c}")
    '50 \\% of a\\_b \\& \\{c\\}'
    """
    return "".join(_LATEX.get(character, character) for character in text)


def _latex_number(text: str) -> str:
    if text == "inf":
        return r"$\infty$"
    return f"${text}$" if text.startswith("-") and len(text) > 1 else text


def markdown_text(text: str) -> str:
    r"""Text that Markdown shows as it is, also in a cell of a table.

    Examples
    --------
    >>> markdown_text("a|b <i> *c* _d_")
    'a\\|b &lt;i&gt; \\*c\\* \\_d\\_'
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = " ".join(text.splitlines())
    for character in "\\|*_`[]":
        text = text.replace(character, f"\\{character}")
    return text
