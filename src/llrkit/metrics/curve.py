"""Curve: what the frozen objects that plots draw have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.summary import ReadOnlyArrays
from llrkit.errors import InputError


class Curve(ReadOnlyArrays):
    """Shared by the curves, which are frozen dataclasses."""

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Curve):
        return value.to_dict()
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, Mapping) else value


def as_floats(curve: Curve, *names: str) -> None:
    """Turn lists given for these fields into arrays of float64."""
    for name in names:
        object.__setattr__(curve, name, np.asarray(getattr(curve, name), dtype=np.float64))


def same_length(curve: Curve, *names: str) -> None:
    """Refuse fields of different lengths."""
    lengths = {name: len(getattr(curve, name)) for name in names}
    if len(set(lengths.values())) > 1:
        raise InputError(f"{type(curve).__name__}: lengths differ, {lengths}")


def named_arrays(values: Mapping[str, FloatArray], length: int, what: str) -> Mapping[str, FloatArray]:
    """Read-only arrays by name, all of one length."""
    arrays = {}
    for name, column in values.items():
        array = np.asarray(column, dtype=np.float64).copy()
        if array.shape != (length,):
            raise InputError(f"{what}[{name!r}] has shape {array.shape}, expected ({length},)")
        array.flags.writeable = False
        arrays[name] = array
    return MappingProxyType(arrays)
