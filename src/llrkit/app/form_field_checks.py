"""Single fields of a form, each checked; what is too long or too much is refused, never cut."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping

from llrkit.app.safe_names import one_line
from llrkit.errors import InputError

LARGEST = 256 << 10
"""Bytes of a form."""
MOST_SCORES = 200
MOST_COLUMNS = 60
Form = Mapping[str, str]


def scores_of(text: str) -> list[float]:
    """Numbers separated by spaces, lines or semicolons."""
    words = [word for word in re.split(r"[\s;]+", text) if word]
    if len(words) > MOST_SCORES:
        raise InputError(f"got {len(words)} scores; give more than {MOST_SCORES} as a file")
    scores = []
    for word in words:
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or "_" in word:
            raise InputError(f"{one_line(word, 40)!r} is not a number; write scores like 0.52, with a point")
        scores.append(value)
    return scores


def number_of(form: Form, field: str, what: str) -> float:
    """A finite number."""
    try:
        value = float(form.get(field, ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{what}: {one_line(form.get(field, ''), 40)!r} is not a number")
    return value


def text_of(form: Form, field: str, what: str, most: int) -> str:
    """A text of one line; a longer one is refused, as nothing that is signed may be cut.

    Examples
    --------
    >>> text_of({"h1": "the suspect\\n is the speaker"}, "h1", "first proposition", 1000)
    'the suspect is the speaker'
    >>> text_of({"h1": 1001 * "a"}, "h1", "first proposition", 1000)
    Traceback (most recent call last):
    llrkit.errors.InputError: first proposition: 1,001 characters are too many; at most 1,000 are accepted
    """
    text = one_line(form.get(field, ""), LARGEST)
    if len(text) > most:
        raise InputError(f"{what}: {len(text):,} characters are too many; at most {most:,} are accepted")
    return text


def names_of(text: str) -> list[str]:
    """Names of columns, separated by commas."""
    names = [name for name in (one_line(part, LARGEST) for part in text.split(",")) if name]
    if len(names) > MOST_COLUMNS or any(len(name) > 100 for name in names):
        raise InputError(f"at most {MOST_COLUMNS} column names are accepted, of at most 100 characters each")
    return names


def one_of(form: Form, field: str, accepted: Container[str]) -> str:
    """One of the values that a form offers."""
    value = form.get(field, "")
    if value not in accepted:
        raise InputError(f"{field}: {one_line(value, 40)!r} is not one of the choices")
    return value
