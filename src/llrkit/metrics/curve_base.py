"""Curve: what the frozen objects that plots draw have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import counted
from llrkit._plain import Json
from llrkit._results import Column, Result, html_table, plain
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.errors import InputError


class Curve(ReadOnlyArrays, Result):
    """Shared by the curves, which are frozen dataclasses.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.evaluate([2.0, 1.0, -1.0, -3.0], [1, 0, 1, 0]).det
    ErrorCurve(5 points, kind='roc', n_target=2, n_nontarget=2)
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            # that of a dataclass shows all arrays
            cls.__repr__ = Curve._in_short  # type: ignore[method-assign, assignment]

    def _in_short(self) -> str:
        """How many points there are, and the numbers and words that all share."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        n = max((len(value) for value in values.values() if isinstance(value, np.ndarray)), default=0)
        shared = [
            f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value!r}"
            for name, value in values.items() if isinstance(value, (bool, int, float, str))
        ]  # fmt: skip
        return f"{type(self).__name__}({', '.join([counted(n, 'point'), *shared])})"

    def _frame_columns(self) -> Mapping[str, Column]:
        return curve_columns(self)

    def _repr_html_(self) -> str:
        columns = curve_columns(self)
        n = max((len(values) for values in columns.values()), default=0)
        rows = [[name, *_ends_of_array(values)] for name, values in columns.items()]
        return html_table([f"{type(self).__name__} of {counted(n, 'point')}", "first", "last"], rows)


def curve_columns(curve: Curve) -> dict[str, list[object]]:
    """The arrays of a curve as columns of the same length, and its numbers and words repeated.

    Examples
    --------
    >>> from llrkit.metrics.curves import HistogramPair
    >>> counts = np.array([3, 1])
    >>> list(curve_columns(HistogramPair(np.array([0.0, 1.0, 2.0]), counts, counts, 4, 4)))
    ['edges_low', 'edges_high', 'target', 'nontarget', 'n_target', 'n_nontarget']
    """
    values = _expanded_fields({field.name: getattr(curve, field.name) for field in fields(curve)})  # type: ignore[arg-type]
    lengths = [len(value) for value in values.values() if isinstance(value, list)]
    n = max(lengths, default=1)
    if lengths.count(n) == 1 and len(lengths) > 1 and n - 1 in lengths:  # edges of bins
        n -= 1
    columns: dict[str, list[object]] = {}
    for name, value in values.items():
        items: list[object] = list(value) if isinstance(value, list) else [value] * n
        if len(items) == n + 1 and isinstance(value, list):
            columns |= {f"{name}_low": items[:-1], f"{name}_high": items[1:]}
        else:
            columns[name] = items + [None] * (n - len(items))
    return columns


def _expanded_fields(values: Mapping[str, object]) -> dict[str, Json]:
    """Lists of plain values, and single ones; nested curves, mappings and matrices are taken apart."""
    flat: dict[str, Json] = {}
    for name, value in values.items():
        if isinstance(value, Curve):
            inner = {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]
            flat |= {f"{name}.{key}": item for key, item in _expanded_fields(inner).items()}
        elif isinstance(value, Mapping):
            flat |= {f"{name}.{key}": item for key, item in _expanded_fields(value).items()}
        elif isinstance(value, np.ndarray) and value.ndim > 1:
            matrix = value.reshape(len(value), -1)
            flat |= {f"{name}.{i}": matrix[:, i].tolist() for i in range(matrix.shape[1])}
        elif isinstance(value, (np.ndarray, tuple, list)):
            flat[name] = [plain(item) for item in value]
        elif isinstance(value, Result):
            flat |= {f"{name}.{key}": item for key, item in value.to_dict().items()}
        else:
            flat[name] = plain(value)
    return flat


def _ends_of_array(values: list[object]) -> tuple[str, str]:
    shown = [f"{value:.5g}" if isinstance(value, float) else str(value) for value in values[:1] + values[-1:]]
    return (shown[0], shown[-1]) if shown else ("", "")


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
