"""The values of a column: which trials have one, and where each of them is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt


def has_value(values: npt.NDArray[Any], value: Any, names: tuple[Any, ...] | None) -> npt.NDArray[np.bool_]:
    """Which trials have a value, of a column of values or of codes for the names."""
    if names is not None:
        codes = [code for code, name in enumerate(names) if plain_value(name) == value]
        return np.isin(values, codes)
    return np.asarray(np.isnan(values) if value is None else values == value)


def plain_value(value: Any) -> Any:
    """A value as a plain Python one; a missing number is a missing value."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def places(values: npt.NDArray[Any]) -> dict[Any, npt.NDArray[np.intp]]:
    """Where each value is.

    Examples
    --------
    >>> places(np.array(["b", "a", "b"]))
    {'a': array([1]), 'b': array([0, 2])}
    """
    if values.dtype.kind in "biufUS":
        distinct, codes = np.unique(values, return_inverse=True)
        keys = [plain_value(value) for value in distinct]
    else:
        seen: dict[Any, int] = {}
        codes = np.fromiter(
            (seen.setdefault(plain_value(v), len(seen)) for v in values), np.intp, len(values)
        )
        keys = list(seen)
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.searchsorted(codes[order], np.arange(1, len(keys))))
    return dict(zip(keys, parts, strict=True)) if len(values) else {}
