"""Values of options as they are typed, made what the library takes: names, shares, operating points."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from llrkit.base.text import Json

if TYPE_CHECKING:
    from llrkit.theory.odds import OperatingPoint


def split_names(text: str | None) -> list[str] | None:
    """Names of columns separated by commas.

    Examples
    --------
    >>> split_names("enroll_speaker, test_speaker")
    ['enroll_speaker', 'test_speaker']
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def parse_options(settings: Sequence[str]) -> dict[str, Json]:
    """``NAME=VALUE`` pairs; values are numbers, true, false or none where they look like it.

    Examples
    --------
    >>> parse_options(["alpha=0.3", "laplace=none"])
    {'alpha': 0.3, 'laplace': 'none'}
    """
    from llrkit.errors import InputError

    options: dict[str, Json] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not (equals and name.isidentifier()):
            raise InputError(f"--option {setting}: expected NAME=VALUE")
        if name in options:
            raise InputError(f"--option {name} is given twice; it takes one value")
        try:
            options[name] = json.loads(text)
        except json.JSONDecodeError:
            options[name] = text
    return options


def parse_points(texts: Sequence[str]) -> list[OperatingPoint | str]:
    """Operating points as given on the command line."""
    from llrkit.errors import InputError
    from llrkit.theory.odds import point_of_text

    try:
        return [point_of_text(text) or text for text in texts]
    except InputError as error:
        raise InputError(f"--point: {error}") from None


def parse_share(text: str, option: str) -> float:
    """A number that may be written with a percent sign.

    Examples
    --------
    >>> parse_share("5%", "--eer"), parse_share("0.05", "--eer")
    (0.05, 0.05)
    """
    from llrkit.errors import InputError

    digits = text.strip()
    try:
        return float(digits[:-1]) / 100.0 if digits.endswith("%") else float(digits)
    except ValueError:
        raise InputError(f"{option}: {text!r} is not a number") from None
