"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Header and rows as lines.

    Examples
    --------
    >>> markdown_table(("a", "b"), [("1", "x|y")])
    ['| a | b |', '|---|---|', '| 1 | x\\\\|y |']
    """
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *markdown_rows(rows)]


def markdown_rows(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows without a header."""
    return ["| " + " | ".join(map(clean, row)) + " |" for row in rows]


def clean(text: object) -> str:
    """Text that cannot break out of a Markdown table or become HTML."""
    plain = " ".join(str(text).split())
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|")
