"""Tables of evaluations and comparisons for papers: LaTeX, Markdown, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

from llrkit._arguments import takes
from llrkit._format import csv_text, not_among
from llrkit._vocabulary import vocabulary
from llrkit.errors import UnknownNameError
from llrkit.report.report_tables import (
    ENDS,
    Table,
    without_ends,
)
from llrkit.report.summary_table import Tabulated, summary_table

STYLES = ("latex", "markdown", "csv")


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
        return _table_as_csv(table)
    if style == "markdown":
        return _table_as_markdown(table)
    if style == "latex":
        return _table_as_latex(table)
    raise UnknownNameError(f"unknown style of table {not_among(style, STYLES)}")


def _table_as_csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_text(text) for text in (table.row_title, *table.keys)])
    for name, row in zip(table.names, table.values, strict=True):
        writer.writerow([csv_text(name), *(_exact_cell(value) for value in row)])
    return out.getvalue()


def _exact_cell(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _table_as_markdown(table: Table) -> str:
    rows = [(table.row_title, *table.titles)]
    rows += [(name, *texts) for name, texts in zip(table.names, table.texts, strict=True)]
    lines = ["| " + " | ".join(map(markdown_text, row)) + " |" for row in rows]
    lines.insert(1, "|---|" + "--:|" * len(table.titles))
    return "\n".join([f"**{markdown_text(table.caption)}**", "", *lines] if table.caption else lines) + "\n"


def _table_as_latex(table: Table) -> str:
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
