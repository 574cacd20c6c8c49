"""Which file has a header: whether the first row of a text names its columns, and which names these get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from llrkit._format import counted
from llrkit.errors import FileFormatError
from llrkit.io.text.layouts import (
    ENROLL_NAMES,
    KNOWN_NAMES,
    LABEL_NAMES,
    ONE_OF_TWO_SCORES,
    SCORE_NAMES,
    TEST_NAMES,
    Layout,
    folded,
    kinds_of,
)
from llrkit.io.text.lines import NO_SCORE, NUMBER
from llrkit.scores.roles import Roles
from llrkit.scores.target_labels import classify_words


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: it has no number, but a known name or numbers below it.

    Examples
    --------
    >>> has_header([["enroll", "test", "target"], ["x", "y", "1"]])
    True
    >>> has_header([["x", "y", "target"], ["x", "z", "nontarget"]])
    False
    >>> has_header([["0", "1", "2", "label"], ["-1.5", "2", "0.3", "1"]])
    True
    """
    first = [field.strip().lower() for field in rows[0]]
    numbers = [field for field in first if NUMBER.fullmatch(field)]
    if _names_what_is_below(rows):
        return True
    # classes may be numbered: 0, 1, 2, ... beside columns with known names
    if numbers and (numbers != [str(i) for i in range(len(numbers))] or len(numbers) < 2):
        return False
    words = {
        folded(field) for field, known in zip(first, classify_words(first), strict=True) if known is None
    }
    if words & KNOWN_NAMES:
        return True
    if numbers:
        return False
    below = [row for row in rows[1:] if len(row) == len(first)]
    # nothing is not the name of a column of numbers
    return any(
        "N" in kind and name not in NO_SCORE for name, kind in zip(first, kinds_of(below), strict=False)
    )


def _names_what_is_below(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a field of the first row is called as what its column holds: scores, or labels.

    Then it is a header, even if other columns have whole numbers as their names.
    """
    first = [folded(field) for field in rows[0]]
    if any(NUMBER.fullmatch(field) and not field.isdecimal() for field in first):
        return False
    kinds = kinds_of([row for row in rows[1:] if len(row) == len(first)])
    for name, kind, meaning in zip(first, kinds, classify_words(first), strict=False):
        scores = name in (*SCORE_NAMES, *ONE_OF_TWO_SCORES) and "N" in kind
        if scores or (meaning is None and name in LABEL_NAMES and "L" in kind):
            return True
    return False


def unique_names(fields: Sequence[str]) -> list[str]:
    """Names for columns: none is empty, none occurs twice.

    Examples
    --------
    >>> unique_names(["score", "", "score"])
    ['score', 'column_2', 'score_3']
    """
    names: dict[str, None] = {}  # in order, and quick to look in
    for i, field in enumerate(fields, 1):
        name = field.strip() or f"column_{i}"
        while name in names:
            name = f"{name}_{i}"
        names[name] = None
    return list(names)


def distinct_names(fields: Sequence[str], where: str) -> list[str]:
    """Names for columns as :func:`unique_names`; a name that is there twice is an error.

    Examples
    --------
    >>> distinct_names(["score", ""], "file, line 1")
    ['score', 'column_2']
    """
    names = [field.strip() for field in fields]
    twice = next((name for name, times in Counter(names).items() if name and times > 1), None)
    if twice is not None:
        raise FileFormatError(
            f"{where}: two columns are named {twice!r}; name all columns with --columns, each differently"
        )
    return unique_names(fields)


def named(names: Sequence[str], candidates: Sequence[str]) -> str | None:
    """The column with the first of these names, however it is capitalized."""
    known = {folded(name): name for name in reversed(names)}
    return next((known[candidate] for candidate in candidates if candidate in known), None)


def header_names_both_sides(rows: list[list[str]]) -> bool:
    """Whether the first row names the ids of both sides and the labels of a key."""
    names = rows[0]
    roles = (ENROLL_NAMES, TEST_NAMES, LABEL_NAMES)
    return has_header(rows) and all(named(names, candidates) is not None for candidates in roles)


def header_is_renamed(rows: list[list[str]], names: Sequence[str], roles: Roles) -> bool:
    """Whether the first row is a header, whose names ``--columns`` replaces, rather than a damaged trial.

    No score or label in it may be a number or missing, and one of them must be a name that such columns have
    and that is no label itself. Anything else is a row, and an error where it cannot be one.
    """
    if len(rows) < 2:
        return False
    fields = {name: field.strip().lower() for name, field in zip(names, rows[0], strict=True)}
    deciding = [fields[name] for name in (*roles.score, roles.label) if name in fields]
    if not deciding:
        return has_header(rows)
    if any(field in NO_SCORE or NUMBER.fullmatch(field) for field in deciding):
        return False
    return any(folded(field) in KNOWN_NAMES and classify_words([field]) == [None] for field in deciding)


def nist_key_has_header(first: list[str], key: Layout, where: str) -> bool:
    """Whether the first line of a NIST key is a header; a damaged trial must not be taken for one."""
    kinds = kinds_of([first])
    if key.fits(kinds, ","):
        return False
    alike = sum(want != "*" and want in kind for want, kind in zip(key.holds, kinds, strict=False))
    if len(first) != len(key.holds) or alike > 1:  # a name of one letter may be a side, or n
        raise FileFormatError(f"{where}: neither a trial nor names for {counted(len(key.holds), 'column')}")
    return True
