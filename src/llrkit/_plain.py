"""Numbers as JSON can hold them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
    if isinstance(value, str) or not isinstance(value, Sequence):
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
