"""Values as text and as JSON: numbers, counts, names and tables."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar, Union, overload

R = TypeVar("R")

Json: TypeAlias = Union[bool, int, float, str, Sequence["Json"], Mapping[str, "Json"], None]  # noqa: UP007
"""What JSON holds: the values of every ``to_dict``."""


@overload
def spelled(value: Mapping[str, Json]) -> dict[str, Json]: ...
@overload
def spelled(value: Json) -> Json: ...
def spelled(value: Json) -> Json:
    """Infinities as the strings "inf" and "-inf", NaN as null: JSON has none of them.

    Examples
    --------
    >>> spelled({"cllr": float("inf"), "slope": float("nan"), "eer": [0.1]})
    {'cllr': 'inf', 'slope': None, 'eer': [0.1]}
    """
    if isinstance(value, Mapping):
        return {str(key): spelled(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [spelled(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def as_object(value: object) -> Mapping[str, Json]:
    """What JSON has in curly brackets; anything else is a ``ValueError``.

    Examples
    --------
    >>> as_object([1.0])
    Traceback (most recent call last):
    ValueError: expected names and values, got [1.0]
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"expected names and values, got {value!r}")
    return value


def as_list(value: object) -> Sequence[Json]:
    """What JSON has in square brackets; anything else is a ``ValueError``."""
    if isinstance(value, str) or not isinstance(value, Sequence):  # text is a Sequence, too
        raise ValueError(f"expected a list, got {value!r}")
    return value


def as_text(value: object) -> str:
    """A text; anything else is a ``ValueError``."""
    if not isinstance(value, str):
        raise ValueError(f"expected a text, got {value!r}")
    return value


def as_number(value: object) -> float:
    """A number as it is, whole or not; anything else is a ``ValueError``."""
    if not isinstance(value, (int, float)):
        raise ValueError(f"expected a number, got {value!r}")
    return value


def unchecked(function: Callable[..., R]) -> Callable[..., R]:
    """The same function, for values whose types were made sure of at run time: type checkers let them pass.

    Examples
    --------
    >>> options = {"real": 1.0, "imag": 2.0}
    >>> unchecked(complex)(**options)
    (1+2j)
    """
    return function


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|-inf")
_FORMULA = re.compile(r"[\s]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""How cells begin that a spreadsheet computes; the last four signs are the wide ones of East Asian fonts."""


def percent(rate: float, digits: int = 2) -> str:
    """A rate as a percentage.

    Examples
    --------
    >>> percent(0.0285)
    '2.85 %'
    """
    return f"{100 * rate:.{digits}f} %"


def number(value: float, digits: int = 4) -> str:
    """A number for a table; infinities spelled out.

    Examples
    --------
    >>> number(0.37512), number(float("inf")), number(-0.00001)
    ('0.3751', 'inf', '0.0000')
    """
    if math.isnan(value):
        return "-"
    shown = round(value, digits) + 0.0 if math.isfinite(value) else value  # no minus in front of nothing
    return f"{shown:.{digits}f}" if abs(value) < 1e6 else f"{value:.4g}"


def two_digits(value: float) -> str:
    """A rough number, written out.

    Examples
    --------
    >>> two_digits(1.893), two_digits(452.0), two_digits(0.221)
    ('1.9', '450', '0.22')
    """
    return f"{float(f'{value:.2g}'):,.10g}"  # rounded first, then written without an exponent


def told_apart(value: float, other: float, digits: int, most: int = 8) -> tuple[str, str]:
    """Two numbers with so many decimals that they look different where they are.

    Examples
    --------
    >>> told_apart(0.00437, 0.00421, 3), told_apart(0.5, 0.1, 3)
    (('0.0044', '0.0042'), ('0.500', '0.100'))
    """
    while digits < most and value != other and f"{value:.{digits}f}" == f"{other:.{digits}f}":
        digits += 1
    return f"{value:.{digits}f}", f"{other:.{digits}f}"


def decimals_beside(value: float, limits: tuple[float, float], digits: int, most: int = 17) -> int:
    """With how many decimals a rounded number is within its two limits, or beyond one, as it is itself.

    Examples
    --------
    >>> decimals_beside(0.31513, (0.0, 0.3151), 4), decimals_beside(0.31507, (0.0, 0.3151), 4)
    (5, 4)
    """
    at_least, at_most = limits
    # equal to a limit, it is judged right with any number of decimals
    while digits < most and value not in limits:
        shown = round(value, digits)
        if (shown <= at_most) == (value <= at_most) and (shown >= at_least) == (value >= at_least):
            break
        digits += 1
    return digits


def counted(n: float, singular: str, plural: str = "") -> str:
    """How many of what, in the number that goes with it.

    Examples
    --------
    >>> counted(1, "LLR"), counted(1234, "LLR"), counted(2, "criterion", "criteria")
    ('1 LLR', '1,234 LLRs', '2 criteria')
    """
    return f"{n:,} {agreeing(n, singular, plural or singular + 's')}"


def agreeing(n: float, singular: str, plural: str) -> str:
    """The form of a word that goes with a number.

    Examples
    --------
    >>> agreeing(1, "is", "are"), agreeing(0, "is", "are")
    ('is', 'are')
    """
    return singular if n == 1 else plural


def left_out(n: int, of: int, why: str, whys: str) -> str:
    """How many of some trials are left out, and why: what one of them does, and what several do.

    Examples
    --------
    >>> left_out(1, 3, "has no score", "have no score")
    '1 of 3 trials has no score and is left out'
    """
    fate = f"{agreeing(n, why, whys)} and {agreeing(n, 'is', 'are')} left out"
    return f"{n:,} of {counted(of, 'trial')} {fate}"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The known name that an unknown one may have been meant for, in brackets; empty if none is close.

    Examples
    --------
    >>> did_you_mean("gendr", ["score", "gender"]), did_you_mean("Snr", ["snr"]), did_you_mean("x", ["score"])
    (" (did you mean 'gender'?)", " (did you mean 'snr'?)", '')
    """
    from difflib import get_close_matches  # most names are right

    names = list(map(str, known))
    # reversed: of names that differ in case, the first is kept
    letters = {one.lower().lstrip("-"): one for one in reversed(names)}
    # cut: difflib is slow on long texts
    close = get_close_matches(str(name)[:100].lower().lstrip("-"), letters, n=1, cutoff=0.75)
    return f" (did you mean {letters[close[0]]!r}?)" if close else ""


def not_among(name: object, known: Iterable[str], then: str = "; known are ") -> str:
    """A name that is none of those that are known: what it may be meant for, and which there are.

    Examples
    --------
    >>> print(f"unknown method {not_among('logistik', ['cmlg', 'logistic'])}")
    unknown method 'logistik' (did you mean 'logistic'?); known are cmlg, logistic
    """
    names = list(known)
    return f"{name!r}{did_you_mean(name, names)}{then}{', '.join(names) or 'none'}"


def csv_text(text: str) -> str:
    """Text for a cell of a CSV file that no spreadsheet takes for a formula; numbers stay numbers.

    Spreadsheets compute cells that begin with one of ``= + - @`` or a tab, also when they are quoted. An
    apostrophe in front makes them text.

    Examples
    --------
    >>> csv_text("=cmd|' /C calc'!A0"), csv_text("-3.5"), csv_text("PLDA")
    ("'=cmd|' /C calc'!A0", '-3.5', 'PLDA')
    """
    if not _FORMULA.match(text):
        return text
    # negative numbers begin with a minus, but are no formulas
    return text if _NUMBER.fullmatch(text) else f"'{text}"


def chance(p_value: float) -> str:
    """The p-value of a test; nothing is impossible.

    Examples
    --------
    >>> chance(0.0314), chance(0.0)
    ('0.031', '< 0.0001')
    """
    return "< 0.0001" if p_value < 1e-4 else f"{p_value:.2g}"


def p_words(p_value: float) -> str:
    """A p-value in a sentence.

    Examples
    --------
    >>> p_words(0.0314), p_words(0.0)
    ('p = 0.031', 'p < 0.0001')
    """
    shown = chance(p_value)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def p_at_level(p_value: float, level: float) -> str:
    """A p-value with the level at which it is judged.

    Examples
    --------
    >>> p_at_level(0.0314, 0.01)
    'p = 0.031 at a level of 1 %'
    """
    return f"{p_words(p_value)} at a level of {100 * level:.0f} %"


def printable(text: str) -> str:
    r"""A text that can be written as UTF-8: what is none in the name of a file becomes an escape.

    Examples
    --------
    >>> printable("scores"), printable("b\udcff")
    ('scores', 'b\\udcff')
    """
    return text.encode("utf-8", "backslashreplace").decode()


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
    # & first, or the entities would be escaped again
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|")


def table_beside(module: str, name: str) -> list[list[str]]:
    """The rows of a table in a text file beside a module: fields between tabs; lines with ``#`` are comments.

    Examples
    --------
    >>> table_beside(__file__, "names_elsewhere.txt")[0]
    ['roc_curve', 'evaluate(scores, labels).roc']
    """
    lines = Path(module).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]
