"""Result: what every result can do besides its numbers: travel, become a table, show itself in a notebook."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from llrkit._plain import Json
from llrkit.errors import MissingPackageError, UnknownNameError

if TYPE_CHECKING:
    from llrkit._arrays import Array

FrameKind: TypeAlias = Literal["polars", "pandas"]
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

    def to_frame(self, kind: FrameKind = "polars") -> Any:
        """The numbers as a data frame, of polars or, if asked for, of pandas."""
        return frame_of(self._frame_rows(), kind)

    def _frame_rows(self) -> list[dict[str, Json]]:
        """The rows of the frame: one, unless a result has several."""
        return [flat(self.to_dict())]

    def _repr_html_(self) -> str:
        table = getattr(self, "table", None)
        if table is not None:
            return html_table(*table())
        if "__dataclass_params__" in vars(type(self)) and type(self).__dataclass_params__.repr:  # type: ignore[attr-defined]
            shown = {name: value for name, value in flat(self.to_dict()).items() if not _is_long(value)}
            return html_table([type(self).__name__, ""], [[name, _text(v)] for name, v in shown.items()])
        return html_text(repr(self))


def plain(value: Any) -> Any:
    """Arrays, mappings, tuples and results as lists, dicts and plain numbers."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


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


def frame_of(rows: Sequence[Mapping[str, object]], kind: FrameKind = "polars") -> Any:
    """Rows as a data frame; a row that lacks a column has a missing value there.

    Examples
    --------
    >>> frame_of([{"a": 1, "b": 2.0}, {"a": 2}])["b"].to_list()
    [2.0, None]
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    return frame_of_columns({name: [row.get(name) for row in rows] for name in names}, kind)


def frame_of_columns(columns: Mapping[str, Sequence[object] | Array], kind: FrameKind = "polars") -> Any:
    """Columns of the same length as a data frame."""
    if kind == "polars":
        import polars as pl

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


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same as aligned text: names to the left, numbers to the right.

    Examples
    --------
    >>> print(text_table(["method", "Cllr"], [["raw", "0.7"]]))
    method  Cllr
    raw      0.7
    """
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    aligned = (
        [cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))]
        for line in lines
    )
    return "\n".join("  ".join(cells).rstrip() for cells in aligned)


def html_text(text: str) -> str:
    """Text for a notebook that keeps its lines, and its columns where it has any."""
    style = "font-family:monospace;" if "  " in text else ""
    return f"<div style='{style}white-space:pre-wrap'>{escape(text)}</div>"


def _is_long(value: Json) -> bool:
    return isinstance(value, list) and (
        len(value) > 4 or any(isinstance(item, (list, dict)) for item in value)
    )


def _text(value: Json) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:.5g}" if isinstance(value, float) else str(value)
