"""Results as tables: of systems, of classes, in LaTeX, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard, TypeVar

from llrkit.base.arguments import of_kind, one_of, yes_or_no
from llrkit.base.text import as_number, as_text, chance, csv_text, number
from llrkit.errors import InputError
from llrkit.multiclass.choose import ClassComparison
from llrkit.multiclass.evaluation import ClassEvaluation, ClassResult
from llrkit.results.vocabulary import vocabulary
from llrkit.scores.source import require_column
from llrkit.trust.differences import RATES, PairwiseComparison, SystemComparison
from llrkit.verbs.compare import Comparison
from llrkit.verbs.conditions import ConditionTable
from llrkit.verbs.evaluate import Evaluation, group_name, number_row

R = TypeVar("R")
T = TypeVar("T")
Number = tuple[str, str, Callable[[R], float], Callable[[float], str]]
"""Its name in the JSON, its title, the number of a result, and how that is shown."""
ALL = "all"
"""The row of all trials, above those of groups or classes."""


@dataclass(frozen=True)
class Column:
    """One number of every row of a table."""

    key: str
    """Its name in the JSON."""
    title: str
    values: tuple[float, ...]
    texts: tuple[str, ...]
    """How the values are shown."""


@dataclass(frozen=True)
class Table:
    """A table of numbers: the names of its rows, and its columns."""

    row_title: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    caption: str = ""

    @property
    def keys(self) -> list[str]:
        """The names of the columns in the JSON."""
        return [column.key for column in self.columns]

    @property
    def header(self) -> tuple[str, ...]:
        """The titles, that of the rows first."""
        return (self.row_title, *(column.title for column in self.columns))

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The rows as they are shown, each with its name first."""
        return tuple(zip(self.names, *(column.texts for column in self.columns), strict=True))

    def choose(self, columns: Sequence[str]) -> Table:
        """The same table with these columns only, by key or title, in this order.

        Examples
        --------
        >>> number_shown = ("x", "x (%)", lambda value: value, rate_in_percent)
        >>> table = table_of({"a": 0.5}, [number_shown], row_title="name")
        >>> table.choose(["x"]).header
        ('name', 'x (%)')
        """
        chosen = []
        for name in columns:
            found = [column for column in self.columns if name in (column.key, column.title)]
            # Called for its error, which lists the names that there are.
            if not found:
                require_column(name, self.keys)
            chosen.append(found[0])
        return replace(self, columns=tuple(chosen))

    def retitled(self, say: Callable[[str], str]) -> Table:
        """The same table with its titles in other words."""
        return replace(self, columns=tuple(replace(one, title=say(one.title)) for one in self.columns))


def table_of(
    results: Mapping[str, R], numbers: Sequence[Number[R]], *, row_title: str, caption: str = ""
) -> Table:
    """One row for each result.

    Examples
    --------
    >>> table_of({"a": 0.5}, [("x", "x (%)", lambda value: value, rate_in_percent)], row_title="name").rows
    (('a', '50.00'),)
    """
    columns = []
    for key, title, of, show in numbers:
        values = tuple(float(of(result)) for result in results.values())
        columns.append(Column(key, title, values, tuple(map(show, values))))
    return Table(row_title, tuple(map(str, results)), tuple(columns), caption)


def of_one_kind(results: object, kind: type[R], wanted: str) -> Mapping[str, R]:
    """The results if they are named and all of a kind."""
    if not isinstance(results, Mapping) or not results:
        raise InputError(wanted)
    for name, value in results.items():
        if not isinstance(value, kind):
            article = "an" if kind.__name__[0] in "AEIOU" else "a"
            raise InputError(f"{name!r}: expected {article} {kind.__name__}, got {type(value).__name__}")
    return results


def whole_number(value: float) -> str:
    """A count."""
    return f"{value:,.0f}"


def rate_in_percent(value: float) -> str:
    """A rate in percent, without the sign."""
    return number(100.0 * value, 2)


ENDS = ("_low", "_high")
_DIGITS = {"auc": 5, "det_slope": 2}


def with_intervals(table: Table, results: Sequence[Evaluation]) -> Table:
    """The table with each number followed by the ends of its interval, where there is one."""
    if all(result.uncertainty is None for result in results):
        raise InputError("these evaluations have no intervals: evaluate(..., ci=...) makes them")
    rows = [number_row(result) for result in results]
    columns: list[Column] = []
    for column in table.columns:
        key = column.key
        # A number without an interval has None there, and a reason elsewhere.
        known = [row.get(f"{key}_low") is not None for row in rows]
        ends = [
            tuple(as_number(row[f"{key}{end}"]) if there else float("nan")
                  for row, there in zip(rows, known, strict=True))
            for end in ENDS
        ]  # fmt: skip
        low, high = (tuple(_shown_number(key, value) for value in values) for values in ends)
        shown = zip(column.texts, low, high, known, strict=True)
        texts = tuple(f"{text} [{a}, {b}]" if there else text for text, a, b, there in shown)
        columns.append(replace(column, texts=texts))
        if any(f"{key}_low" in row for row in rows):
            columns.append(Column(f"{key}_low", "lower end", ends[0], low))
            columns.append(Column(f"{key}_high", "upper end", ends[1], high))
    return replace(table, columns=tuple(columns))


def without_ends(table: Table) -> Table:
    """The table for people, where the ends stand behind their number and not in columns of their own."""
    ends = {f"{key}{end}" for key in table.keys for end in ENDS}
    return table.choose([key for key in table.keys if key not in ends])


def _shown_number(key: str, value: float) -> str:
    # Rates are in percent, everything else has the digits of its own column.
    if key.startswith("n_"):
        return whole_number(value)
    return rate_in_percent(value) if key.startswith("eer") else number(value, _DIGITS.get(key, 4))


def comparison_table(compared: SystemComparison | PairwiseComparison, caption: str = "") -> Table:
    """A row for each number of each pair of systems: both values, difference, interval, p-values."""
    if isinstance(compared, SystemComparison):
        # Two systems are a comparison of one pair.
        compared = PairwiseComparison(compared.names, (compared,), ({},))
    many = len(compared.pairs) > 1
    rows = compared._frame_rows()
    names, is_rate = [], []
    for row in rows:
        pair = f"{row['first_system']} - {row['second_system']}: " if many else ""
        name = as_text(row["number"])
        is_rate.append(name.rpartition(".")[2] in RATES)
        names.append(f"{pair}{compared.number_name(name)}{' (%)' if is_rate[-1] else ''}")
    titles = {"first": "first", "second": "second", "difference": "difference", "low": "from", "high": "to"}
    if rows and not many:
        titles |= {key: as_text(rows[0][f"{key}_system"]) for key in ("first", "second")}
    p_values = {"p_value": "p"} | ({"corrected_p_value": "p (Holm)"} if many else {})
    columns = []
    for key, title in (titles | p_values).items():
        values = tuple(float("nan") if row[key] is None else float(as_number(row[key])) for row in rows)
        texts = tuple(
            chance(value) if key in p_values else rate_in_percent(value) if rate else number(value)
            for value, rate in zip(values, is_rate, strict=True)
        )
        columns.append(Column(key, title, values, texts))
    return Table("number", tuple(names), tuple(columns), caption)


TITLES = {
    "n_target": "targets", "n_nontarget": "non-targets", "eer": "EER (%)", "eer_roc": "EER on the ROC (%)",
    "auc": "AUC", "cllr": "Cllr", "min_cllr": "min Cllr", "cllr_cal": "Cllr − min", "det_slope": "DET slope",
}  # fmt: skip
"""The numbers that need no operating point, by their keys."""
_NOT_SHOWN = ("prbep", "hter")
WIDEST = 14
"""Columns that fit on paper; wider tables are cut, each part with the names of the rows."""


def text_tables(table: Table) -> list[TextTable]:
    """A table of numbers as it is shown: in one piece, or in pieces that fit on paper.

    The costs at operating points then follow the numbers that need none.
    """
    n = len(table.columns) + 1
    # The numbers that need no operating point first, then costs in pieces; one column of each piece has
    # the names.
    starts = [0] if n <= WIDEST else [0, *range(len(TITLES), n - 1, WIDEST - 2)]
    pieces = [
        replace(table, columns=table.columns[start:stop])
        for start, stop in zip(starts, [*starts[1:], n - 1], strict=True)
    ]
    return [TextTable(piece.header, piece.rows, table.caption, numeric=True) for piece in pieces]


@dataclass(frozen=True)
class TextTable:
    """A table of words: a header and rows of text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    numeric: bool = False
    """Whether all columns but the first are numbers, to be set flush right."""


CLASS_WANTED = "a table needs a ClassEvaluation, a ClassComparison, or a dict of ClassEvaluations by system"
Either = ClassEvaluation | ClassResult
ClassResults = ClassEvaluation | ClassComparison | Mapping[str, ClassEvaluation]
"""What a table of several classes is made of."""


def _cllr_and_refined(result: Either) -> tuple[float, float]:
    if isinstance(result, ClassEvaluation):
        return result.cllr, result.refined_cllr
    return result.cllr.actual, result.cllr.refined


CLASS_COLUMNS: tuple[Number[Either], ...] = (
    ("n", "trials", lambda e: e.n, whole_number),
    ("cllr", "Cllr", lambda e: _cllr_and_refined(e)[0], number),
    ("refined_cllr", "refined Cllr", lambda e: _cllr_and_refined(e)[1], number),
    ("cllr_cal", "Cllr − refined", lambda e: _cllr_and_refined(e)[0] - _cllr_and_refined(e)[1], number),
    ("error_rate", "errors (%)", lambda e: e.error_rate.actual, rate_in_percent),
    ("refined_error_rate", "refined errors (%)", lambda e: e.error_rate.refined, rate_in_percent),
)


def has_classes(results: object) -> TypeGuard[ClassResults]:
    """Whether these are results of several classes."""
    # A mapping is judged by its first value; of_one_kind looks at the others.
    if isinstance(results, Mapping) and results:
        return isinstance(next(iter(results.values())), ClassEvaluation)
    return isinstance(results, ClassEvaluation | ClassComparison)


def class_table(results: ClassResults, *, row_title: str = "system", caption: str = "") -> Table:
    """The numbers of evaluations of several classes, or of a comparison, as a table.

    A single evaluation gives a row for all trials and one for each class; several have costs as well.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> class_table(lk.multiclass.evaluate(scores)).names
    ('all', '0', '1', '2')
    """
    if isinstance(results, ClassEvaluation):
        rows: dict[str, Either] = {ALL: results} | {one.name: one for one in results.per_class}
        title = "class" if row_title == "system" else row_title
        return table_of(rows, CLASS_COLUMNS, row_title=title, caption=caption)
    if isinstance(results, ClassComparison):
        results, row_title = results.evaluations, "method" if row_title == "system" else row_title
    named = of_one_kind(results, ClassEvaluation, CLASS_WANTED)
    first = next(iter(named.values()))
    columns: list[Number[ClassEvaluation]] = [*CLASS_COLUMNS]
    # Beside Cllr; single classes have no entropy to normalize by.
    columns.insert(2, ("cllr_normalized", "Cllr, normalized", lambda e: e.cllr_normalized, number))
    for of, title in (("costs", "cost"), ("cavgs", "Cavg")):
        for i, cost in enumerate(getattr(first, of)):
            key, value = f"{title.lower()} {cost.name}", _nth_cost(of, i, "actual")
            columns.append((key, f"{title} {cost.name}", value, number))
    return table_of(named, columns, row_title=row_title, caption=caption)


def _nth_cost(of: str, i: int, which: str) -> Callable[[object], float]:
    """One of the costs of an evaluation, all of which are in the same order."""
    # A function and not a lambda in the loop, which would see the last i.
    return lambda evaluation: float(getattr(getattr(evaluation, of)[i], which))


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
    >>> summary_table({"mine": result}).rows[0][6:9]
    ('0.7140', '0.5354', '0.1786')
    """
    if isinstance(results, SystemComparison | PairwiseComparison):
        return comparison_table(results, caption)
    if isinstance(results, ConditionTable):
        # A title that was asked for stays.
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
    rows = [number_row(replace(result, uncertainty=None)) for result in named.values()]
    columns = []
    for key in (key for key in rows[0] if key not in _NOT_SHOWN):
        cost, _, point = key.partition(" ")  # min_dcf sre08, act_c_primary sre12
        title = f"{cost.replace('_dcf', ' DCF').replace('_c_primary', ' C_primary')} {point}"
        values = tuple(float(as_number(row.get(key, float("nan")))) for row in rows)
        texts = tuple(_shown_number(key, value) for value in values)
        columns.append(Column(key, TITLES.get(key, title), values, texts))
    table = Table(row_title, tuple(map(str, named)), tuple(columns), caption)
    return with_intervals(table, list(named.values())) if intervals else table


def same_points(results: Mapping[str, Evaluation]) -> None:
    """Refuse evaluations at different operating points: their costs cannot be side by side."""
    # Points and not their names: two of one name may have other costs.
    names = {name: tuple(p.point for p in e.points) for name, e in results.items()}
    first = next(iter(names))
    for name, points in names.items():
        if points != names[first]:
            raise InputError(f"{first!r} and {name!r} were evaluated at different operating points")


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
    of_kind(row_title, str, "row_title")
    of_kind(caption, str, "caption")
    yes_or_no(intervals, "intervals")
    one_of(style, tuple(STYLES), "style of table")
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
    # CSV has the ends as numbers of their own.
    table = table if style == "csv" else without_ends(table)
    table = table.retitled(vocabulary(words).say)
    return STYLES[style](table)


def _table_as_csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    # Names that begin like a formula get an apostrophe, which spreadsheets take for text.
    writer.writerow([csv_text(text) for text in (table.row_title, *table.keys)])
    for name, *row in zip(table.names, *(column.values for column in table.columns), strict=True):
        writer.writerow([csv_text(name), *(_exact_cell(value) for value in row)])
    return out.getvalue()


def _exact_cell(value: float) -> str:
    # Whole numbers without .0; repr has the shortest digits that give the same number.
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _table_as_markdown(table: Table) -> str:
    lines = ["| " + " | ".join(map(markdown_text, row)) + " |" for row in (table.header, *table.rows)]
    lines.insert(1, "|---|" + "--:|" * len(table.columns))
    return "\n".join([f"**{markdown_text(table.caption)}**", "", *lines] if table.caption else lines) + "\n"


def _table_as_latex(table: Table) -> str:
    rows = [
        " & ".join([latex_text(name), *map(_latex_number, texts)]) + r" \\" for name, *texts in table.rows
    ]
    head = " & ".join(map(latex_text, table.header)) + r" \\"
    lines = [
        # As a comment: the reader's document has to load the package.
        r"% \usepackage{booktabs}",
        r"\begin{tabular}{l" + "r" * len(table.columns) + "}",
        r"\toprule",
        head,
    ]
    lines += [r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]
    if table.caption:
        lines = [lines[0], r"\begin{table}", r"\centering", rf"\caption{{{latex_text(table.caption)}}}",
                 *lines[1:], r"\end{table}"]  # fmt: skip
    return "\n".join(lines) + "\n"


STYLES = {"latex": _table_as_latex, "markdown": _table_as_markdown, "csv": _table_as_csv}
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
    # Minus signs of numbers are set in math mode, where they are not hyphens.
    return f"${text}$" if text.startswith("-") and len(text) > 1 else text


def markdown_text(text: str) -> str:
    r"""Text that Markdown shows as it is, also in a cell of a table.

    Examples
    --------
    >>> markdown_text("a|b <i> *c* _d_")
    'a\\|b &lt;i&gt; \\*c\\* \\_d\\_'
    """
    # HTML in Markdown would be shown as HTML.
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = " ".join(text.splitlines())
    # The backslash first, or those that escape others would be escaped too.
    for character in "\\|*_`[]":
        text = text.replace(character, f"\\{character}")
    return text
