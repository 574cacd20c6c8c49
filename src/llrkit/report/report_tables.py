"""The tables of reports: numbers of results with intervals, compared systems, and plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from llrkit._format import chance, number
from llrkit._plain import as_number, as_text
from llrkit.errors import InputError
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.evaluation_rows import number_row
from llrkit.scores.roles import require_column
from llrkit.trust.differences.compare_many_systems import RATES, PairwiseComparison
from llrkit.trust.differences.compare_systems import SystemComparison

R = TypeVar("R")
T = TypeVar("T")
Column = tuple[str, str, Callable[[R], float], Callable[[float], str]]
"""Its name in the JSON, its title, the number of a result, and how that is shown."""
ALL = "all"
"""The row of all trials, above those of groups or classes."""


@dataclass(frozen=True)
class Table:
    """A table: the names of its rows, and for each column a key, a title, values and how they are shown."""

    row_title: str
    names: tuple[str, ...]
    keys: tuple[str, ...]
    titles: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    """One tuple for each row."""
    texts: tuple[tuple[str, ...], ...]
    caption: str = ""

    def choose(self, columns: Sequence[str]) -> Table:
        """The same table with these columns only, by key or title, in this order.

        Examples
        --------
        >>> column = ("x", "x (%)", lambda value: value, rate_in_percent)
        >>> table = table_of({"a": 0.5}, [column], row_title="name")
        >>> table.choose(["x"]).titles
        ('x (%)',)
        """
        places = []
        for name in columns:
            found = [i for i, pair in enumerate(zip(self.keys, self.titles, strict=True)) if name in pair]
            if not found:
                require_column(name, self.keys)
            places.append(found[0])

        def chosen(row: tuple[T, ...]) -> tuple[T, ...]:
            return tuple(row[i] for i in places)

        return replace(
            self,
            keys=chosen(self.keys),
            titles=chosen(self.titles),
            values=tuple(map(chosen, self.values)),
            texts=tuple(map(chosen, self.texts)),
        )


def table_of(
    results: Mapping[str, R], columns: Sequence[Column[R]], *, row_title: str, caption: str = ""
) -> Table:
    """One row for each result.

    Examples
    --------
    >>> table_of({"a": 0.5}, [("x", "x (%)", lambda value: value, rate_in_percent)], row_title="name").texts
    (('50.00',),)
    """
    values = tuple(tuple(float(of(result)) for _, _, of, _ in columns) for result in results.values())
    return Table(
        row_title,
        tuple(map(str, results)),
        tuple(key for key, *_ in columns),
        tuple(title for _, title, *_ in columns),
        values,
        tuple(tuple(show(v) for (*_, show), v in zip(columns, row, strict=True)) for row in values),
        caption,
    )


def of_one_kind(results: object, kind: type[R], wanted: str) -> Mapping[str, R]:
    """The results if they are named and all of a kind."""
    if not isinstance(results, Mapping) or not results:
        raise InputError(wanted)
    for name, value in results.items():
        if not isinstance(value, kind):
            raise InputError(
                f"{name!r}: expected {_article_of_word(kind.__name__)}, got {type(value).__name__}"
            )
    return results


def _article_of_word(word: str) -> str:
    return f"an {word}" if word[0] in "AEIOU" else f"a {word}"


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
    keys, titles = list(table.keys), list(table.titles)
    values, texts = [list(row) for row in table.values], [list(row) for row in table.texts]
    for key in table.keys:
        if not any(f"{key}_low" in row for row in rows):
            continue
        place = keys.index(key)
        for i, row in enumerate(rows):
            ends = [row.get(f"{key}{end}") for end in ENDS]
            numbers = [float("nan") if end is None else as_number(end) for end in ends]
            values[i][place + 1 : place + 1] = numbers
            known = ends[0] is not None
            texts[i][place] += (
                f" [{_shown_number(key, numbers[0])}, {_shown_number(key, numbers[1])}]" if known else ""
            )
            texts[i][place + 1 : place + 1] = [_shown_number(key, end) for end in numbers]
        keys[place + 1 : place + 1] = [f"{key}{end}" for end in ENDS]
        titles[place + 1 : place + 1] = ["lower end", "upper end"]
    return replace(
        table,
        keys=tuple(keys),
        titles=tuple(titles),
        values=tuple(map(tuple, values)),
        texts=tuple(map(tuple, texts)),
    )


def without_ends(table: Table) -> Table:
    """The table for people, where the ends stand behind their number and not in columns of their own."""
    ends = {f"{key}{end}" for key in table.keys for end in ENDS}
    return table.choose([key for key in table.keys if key not in ends])


def _shown_number(key: str, value: float) -> str:
    return rate_in_percent(value) if key.startswith("eer") else number(value, _DIGITS.get(key, 4))


def comparison_table(compared: SystemComparison | PairwiseComparison, caption: str = "") -> Table:
    """A row for each number of each pair of systems: both values, difference, interval, p-values."""
    many = isinstance(compared, PairwiseComparison) and len(compared.pairs) > 1
    rows = compared._frame_rows()
    keys = [
        "first",
        "second",
        "difference",
        "low",
        "high",
        "p_value",
        *(["corrected_p_value"] if many else []),
    ]
    titles = ["first", "second", "difference", "from", "to", "p"] + ["p (Holm)"] * many
    if not many:
        titles[:2] = (
            [as_text(rows[0]["first_system"]), as_text(rows[0]["second_system"])] if rows else titles[:2]
        )
    names, values, texts = [], [], []
    for row in rows:
        pair = f"{row['first_system']} - {row['second_system']}: " if many else ""
        name = as_text(row["number"])
        names.append(f"{pair}{_name_of_number(compared, name)}")
        numbers = tuple(float("nan") if row[key] is None else float(as_number(row[key])) for key in keys)
        values.append(numbers)
        show = rate_in_percent if name.rpartition(".")[2] in RATES else number
        p_values = [chance(value) for value in numbers[5:]]
        texts.append((*(show(value) for value in numbers[:5]), *p_values))
    return Table("number", tuple(names), tuple(keys), tuple(titles), tuple(values), tuple(texts), caption)


def _name_of_number(compared: SystemComparison | PairwiseComparison, key: str) -> str:
    pairs = compared if isinstance(compared, PairwiseComparison) else None
    whole = pairs or PairwiseComparison(compared.names, (compared,), ({},))  # type: ignore[arg-type]
    unit = " (%)" if key.rpartition(".")[2] in RATES else ""
    return whole.number_name(key) + unit


COLUMNS: tuple[Column[Evaluation], ...] = (
    ("n_target", "targets", lambda e: e.n_target, whole_number),
    ("n_nontarget", "non-targets", lambda e: e.n_nontarget, whole_number),
    ("eer", "EER (%)", lambda e: e.eer, rate_in_percent),
    ("eer_roc", "EER on the ROC (%)", lambda e: e.eer_roc, rate_in_percent),
    ("auc", "AUC", lambda e: e.auc, lambda value: number(value, 5)),
    ("cllr", "Cllr", lambda e: e.cllr, number),
    ("min_cllr", "min Cllr", lambda e: e.min_cllr, number),
    ("cllr_cal", "Cllr − min", lambda e: e.cllr_cal, number),
    ("det_slope", "DET slope", lambda e: e.det_slope.slope, lambda value: number(value, 2)),
)


WIDEST = 14
"""Columns that fit on paper; wider tables are cut, each part with the names of the rows."""


N_GENERAL = len(COLUMNS)


def text_tables(table: Table) -> list[TextTable]:
    """A table of numbers as it is shown: in one piece, or in pieces that fit on paper.

    The costs at operating points then follow the numbers that need none.
    """
    n = len(table.titles)
    if n < WIDEST:
        return [_columns_of_table(table, 0, n)]
    starts = [0, *range(N_GENERAL, n, WIDEST - 2)]
    return [
        _columns_of_table(table, start, stop) for start, stop in zip(starts, [*starts[1:], n], strict=True)
    ]


def _columns_of_table(table: Table, start: int, stop: int) -> TextTable:
    rows = tuple((name, *texts[start:stop]) for name, texts in zip(table.names, table.texts, strict=True))
    return TextTable((table.row_title, *table.titles[start:stop]), rows, table.caption, numeric=True)


@dataclass(frozen=True)
class TextTable:
    """A table of words: a header and rows of text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    numeric: bool = False
    """Whether all columns but the first are numbers, to be set flush right."""
