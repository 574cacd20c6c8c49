"""Result: what every result can do besides its numbers: travel, become a table, show itself in a notebook."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, overload

import numpy as np

from llrkit.base.text import Json
from llrkit.errors import MissingPackageError, UnknownNameError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from llrkit.base.arguments import Array

FrameKind: TypeAlias = Literal["polars", "pandas"]
Column: TypeAlias = "Sequence[object] | Array"
K = TypeVar("K")
V = TypeVar("V")
LEFT, RIGHT = "text-align:left", "text-align:right"


def read_only(items: dict[K, V]) -> MappingProxyType[K, V]:
    """A mapping that cannot be written to; what a pickle makes of one is made again by this."""
    return MappingProxyType(items)


# Results hold mappings that cannot be written to, which Python pickles and copies only if it is told how.
copyreg.pickle(MappingProxyType, lambda given: (read_only, (dict(given),)))


class Result:
    """Shared by results, which are frozen dataclasses.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Loss(Result):
    ...     raw: float
    ...     ends: tuple[float, float]
    >>> Loss(0.5, (0.4, 0.6)).to_dict()
    {'raw': 0.5, 'ends': [0.4, 0.6]}
    >>> Loss(0.5, (0.4, 0.6)).to_frame().columns
    ['raw', 'ends']
    """

    def to_dict(self) -> Mapping[str, Json]:
        """Plain numbers, texts, lists and dicts."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    @overload
    def to_frame(self, kind: Literal["polars"] = "polars") -> pl.DataFrame: ...
    @overload
    def to_frame(self, kind: FrameKind) -> pl.DataFrame | pd.DataFrame: ...
    def to_frame(self, kind: FrameKind = "polars") -> pl.DataFrame | pd.DataFrame:
        """The numbers as a data frame, of polars or, if asked for, of pandas.

        A curve has a row for each point; the numbers that all points share are repeated, edges of bins become
        two columns, and a column that is shorter than others ends with missing values.
        """
        return frame_of_columns(self._frame_columns(), kind)

    def _frame_columns(self) -> Mapping[str, Column]:
        """The columns of the frame."""
        return columns_of_rows(self._frame_rows())

    def _frame_rows(self) -> Sequence[Mapping[str, object]]:
        """The rows of the frame: one, unless a result has several."""
        return [flat(self.to_dict())]

    def _repr_html_(self) -> str:
        table = getattr(self, "table", None)
        if table is not None:
            return html_table(*table())
        # a class with a repr of its own has chosen what to show
        if "__dataclass_params__" in vars(type(self)) and type(self).__dataclass_params__.repr:  # type: ignore[attr-defined]
            shown = {name: value for name, value in flat(self.to_dict()).items() if not _is_long_value(value)}
            return html_table([type(self).__name__, ""], [[name, _cell_text(v)] for name, v in shown.items()])
        return html_text(repr(self))


def plain(value: object) -> Json:
    """Arrays, mappings, tuples and results as lists, dicts and plain numbers."""
    # first: np.float64 is a float as well, and would pass as it is
    if isinstance(value, (np.generic, np.ndarray)):
        numbers: Json = value.tolist()
        return numbers
    if hasattr(value, "to_dict"):  # a result, and whatever else knows its plain values
        known: Mapping[str, Json] = value.to_dict()
        return known
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}  # keys of JSON are text
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"JSON has nothing for a {type(value).__name__}")


def flat(values: Mapping[str, Json], prefix: str = "") -> dict[str, Json]:
    """Nested dicts as one, with names joined by dots.

    Examples
    --------
    >>> flat({"eer": 0.1, "ci": {"level": 0.95}})
    {'eer': 0.1, 'ci.level': 0.95}
    """
    one: dict[str, Json] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            one |= flat(value, f"{prefix}{name}.")
        else:
            one[f"{prefix}{name}"] = value
    return one


def columns_of_rows(rows: Sequence[Mapping[str, object]]) -> dict[str, list[object]]:
    """Rows as columns; a row that lacks a column has a missing value there.

    Examples
    --------
    >>> columns_of_rows([{"a": 1, "b": 2.0}, {"a": 2}])
    {'a': [1, 2], 'b': [2.0, None]}
    """
    # in the order in which they first occur
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}


def frame_of_columns(columns: Mapping[str, Column], kind: FrameKind) -> pl.DataFrame | pd.DataFrame:
    """Columns of the same length as a data frame."""
    if kind == "polars":
        import polars as pl

        # not strict: a column may hold numbers and words
        return pl.DataFrame({name: pl.Series(name, values, strict=False) for name, values in columns.items()})
    if kind == "pandas":
        try:
            import pandas as pd
        except ImportError:
            raise MissingPackageError("to_frame('pandas') needs pandas; pip install pandas") from None
        return pd.DataFrame(dict(columns))
    raise UnknownNameError(f"unknown kind of data frame {kind!r}; known are polars and pandas")


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> str:
    """A table for a notebook; everything is escaped.

    Examples
    --------
    >>> html_table(["", ""], [["<a>", "2 %"]], left=(0, 1))
    "<table><tbody><tr><td style='text-align:left'>&lt;a&gt;</td><td style='text-align:left'>2 %</td>..."
    """

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag} style='{LEFT if i in left else RIGHT}'>{escape(text)}</{tag}>"
            for i, text in enumerate(row)
        )

    head = f"<thead><tr>{cells(header, 'th')}</tr></thead>" if any(header) else ""
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """The same as aligned text: the columns of names to the left, numbers to the right.

    Examples
    --------
    >>> print(text_table(["method", "Cllr"], [["raw", "0.7"]]))
    method  Cllr
    raw      0.7
    """
    lines = [header, *rows] if any(header) else rows
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    signs = ["<" if i in left else ">" for i in range(len(header))]
    aligned = (map("{:{}{}}".format, line, signs, widths) for line in lines)
    return "\n".join("  ".join(cells).rstrip() for cells in aligned)


def html_text(text: str) -> str:
    """Text for a notebook that keeps its lines, and its columns where it has any."""
    style = "font-family:monospace;" if "  " in text else ""
    return f"<div style='{style}white-space:pre-wrap'>{escape(text)}</div>"


def _is_long_value(value: Json) -> bool:
    return isinstance(value, list) and (
        len(value) > 4 or any(isinstance(item, (list, dict)) for item in value)
    )


def _cell_text(value: Json) -> str:
    if isinstance(value, list):
        return ", ".join(map(_cell_text, value))
    return f"{value:.5g}" if isinstance(value, float) else str(value)
