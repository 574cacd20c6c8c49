"""The delimiter between columns, and numbers with a decimal comma: when a file must mean them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llrkit.scores.target_labels import classify_words

COMMA_NUMBER = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.I | re.A)
PATTERN = r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$"
"""The same for polars, in two parts around the comma."""
_NO_FRACTION = re.compile(r"\s*([+-]?(\d+|inf|infinity)|nan)\s*", re.I | re.A)
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*", re.A)


def with_point(field: str) -> str:
    """A field with a decimal point if it is a number with a decimal comma; anything else as it is.

    Examples
    --------
    >>> with_point("-0,25"), with_point("a,b"), with_point("1,2,3")
    ('-0.25', 'a,b', '1,2,3')
    """
    return field.replace(",", ".") if COMMA_NUMBER.fullmatch(field) else field


def means_decimal_commas(fields: Sequence[str]) -> bool:
    """Whether the values of a column can only be numbers with decimal commas.

    All must be numbers without a decimal point, and one must be more than a whole number with a comma
    between its thousands.

    Examples
    --------
    >>> means_decimal_commas(["0,5", "-1"]), means_decimal_commas(["1,5", "2.5"])
    (True, False)
    >>> means_decimal_commas(["1,234"])  # or a thousand and more
    False
    """
    with_comma = [field for field in fields if COMMA_NUMBER.fullmatch(field)]
    rest = [field for field in fields if not COMMA_NUMBER.fullmatch(field)]
    return all(_NO_FRACTION.fullmatch(field) for field in rest) and any(
        not _THOUSANDS.fullmatch(field) for field in with_comma
    )


def commas_are_decimal(line: str, delimiter: str) -> bool:
    """Whether every comma of a line belongs to a number, if the line is cut at another delimiter.

    Examples
    --------
    >>> commas_are_decimal("1,5;target", ";"), commas_are_decimal("a;b,1,2", ";")
    (True, False)
    """
    fields = line.split(delimiter)
    return len(fields) > 1 and all(COMMA_NUMBER.fullmatch(field) for field in fields if "," in field)


def delimiter_of(head: bytes, decimal: str) -> str:
    """What stands between the columns of a text, from its first line with anything in it."""
    raw = next((line for line in head.split(b"\n") if line.strip()), b"")
    first = re.sub('"[^"]*"', '""', raw.decode("utf-8", "replace"))
    marks = {mark: first.count(mark) for mark in "\t,;"}
    if any(commas_are_decimal(first, mark) for mark in "\t;"):
        marks[","] = 0
    elif decimal == ",":
        marks[","] = sum("," in field and not COMMA_NUMBER.fullmatch(field) for field in first.split())
    delimiter = max(marks, key=lambda mark: marks[mark])
    if delimiter != "\t" and marks[delimiter] and _is_kaldi(head, delimiter):
        return " "
    if not marks[delimiter]:  # blanks, unless there is only one column
        delimiter = " " if len(raw.split()) > 1 else "," if decimal == "." else ";"
    return delimiter


def _is_kaldi(head: bytes, mark: str) -> bool:
    """Whether two ids that hold a comma or a semicolon stand before a score or a label, between blanks."""
    lines = [line.decode("utf-8", "replace") for line in head.split(b"\n") if line.strip()][:2]
    for line in lines:
        *ids, last = line.split()
        alone = line.rpartition(mark)[2].split()[-1:] != line.rpartition(mark)[2].split()
        if len(ids) != 2 or not alone or not (_is_number(last) or classify_words([last]) != [None]):
            return False
    return True


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
