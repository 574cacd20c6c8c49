"""One calibration for each value of a column: a room, a channel, a language."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llrkit._arguments import yes_or_no
from llrkit._arrays import FloatArray
from llrkit._format import counted
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.maps import Columns, Map
from llrkit.core.column_values import ValueCounts, positions_by_value, trials_with_value
from llrkit.errors import InputError, LlrkitError, SystemCountError, UnknownNameError
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ByMap(Map):
    """A map for each value of a column, and perhaps one for values that have none.

    Examples
    --------
    >>> from llrkit.calibrate.maps import AffineMap
    >>> maps = {"phone": AffineMap(a=2.0, b=0.0), "mic": AffineMap(a=1.0, b=0.0)}
    >>> channel = ByMap(column="channel", maps=maps)
    >>> channel([1.0, 1.0], {"channel": ["mic", "phone"]})
    array([1., 2.])
    >>> channel(1.0, {"channel": "radio"})
    Traceback (most recent call last):
    llrkit.errors.UnknownNameError: no calibration for channel = 'radio'; there are: 'phone', 'mic'
    """

    column: str
    maps: Mapping[Hashable, Map]
    fallback: Map | None = None

    kind: ClassVar[str] = "by"

    def __post_init__(self) -> None:
        """Check that there is a map for at least one value, and that all take the same scores."""
        if not isinstance(self.column, str) or not isinstance(self.maps, Mapping) or not self.maps:
            raise InputError("a map by value needs the name of a column and at least one map")
        if not all(isinstance(fitted, Map) for fitted in self._all_maps):
            raise InputError("some value has something other than a map")
        if len({fitted.n_systems for fitted in self._all_maps}) > 1:
            raise SystemCountError("the maps take different numbers of systems")

    @property
    def n_systems(self) -> int:
        """As many as the maps take."""
        return next(iter(self.maps.values())).n_systems

    @property
    def needs(self) -> tuple[str, ...]:
        """The column, and what the maps need."""
        inner = [name for fitted in self._all_maps for name in fitted.needs]
        return tuple(dict.fromkeys((self.column, *inner)))

    @property
    def accepts_missing(self) -> bool:
        """When all maps do."""
        return all(fitted.accepts_missing for fitted in self._all_maps)

    @property
    def system_names(self) -> list[str]:
        """Those of the maps."""
        return next(iter(self.maps.values())).system_names

    @property
    def _all_maps(self) -> tuple[Map, ...]:
        return (*self.maps.values(), *((self.fallback,) if self.fallback is not None else ()))

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """Each score through the map of its value."""
        llrs = np.empty(len(scores))
        for value, where in positions_by_value(columns[self.column]).items():
            fitted = self.maps.get(value, self.fallback)
            if fitted is None:
                known = ", ".join(repr(known) for known in list(self.maps)[:10])
                more = ", ..." if len(self.maps) > 10 else ""
                raise UnknownNameError(
                    f"no calibration for {self.column} = {value!r}; there are: {known}{more}"
                )
            own_columns = {name: values[where] for name, values in columns.items()}
            llrs[where] = fitted.checked(scores[where], own_columns)
        return llrs

    def _tried(self, scores: FloatArray) -> FloatArray:
        return np.concatenate([fitted._tried(scores) for fitted in self._all_maps])[-len(scores) :]

    def back_to_scores(self) -> ByMap:
        """The inverse of each map."""
        return ByMap(
            column=self.column,
            maps={value: fitted.back_to_scores() for value, fitted in self.maps.items()},
            fallback=None if self.fallback is None else self.fallback.back_to_scores(),
            method=f"inverse of {self.method}",
        )

    def __repr__(self) -> str:
        return f"ByMap({self.method}: {counted(len(self.maps), 'value')} of {self.column!r})"


@fits_map
def fit_by(
    source: ScoreSource, column: str, method: Callable[..., Map], *, fallback: bool = False, **options: object
) -> ByMap:
    """One calibration for each value of a column, each fitted by ``method(part, **options)``.

    A trial is calibrated by the map of its own value. A value that was not there in training is an error
    that names it, or with ``fallback`` goes through a map fitted on all trials. What goes wrong in a
    group names the group. A missing value is a value of its own.

    Passes: one to find the values, then those of ``method`` for each value (each sees the whole source
    and keeps its own part), and once more for the fallback.

    Parameters
    ----------
    column
        Name of a column of the source, of words or of numbers.
    method
        A fit function, for example ``fit_cmlg``.
    fallback
        Fit a map to all trials too, for values that training has not seen.
    **options
        Keywords of the method.

    Examples
    --------
    >>> from llrkit.calibrate.affine.cmlg import fit_cmlg
    >>> from llrkit.scores import Scores
    >>> scores = Scores([2.0, 4.0, 20.0, 40.0], [0.0, 2.0, 0.0, 20.0],
    ...                 {"room": ([1, 1, 2, 2], [1, 1, 2, 2])})
    >>> fitted = fit_by(scores, "room", fit_cmlg)
    >>> fitted.maps[2], fitted(30.0, {"room": 2})
    (AffineMap(cmlg: llr = 0.2 * score -4), 2.0)
    """
    if not callable(method):
        raise InputError(f"method must be a fit function such as fit_cmlg, got {method!r}")
    fallback = yes_or_no(fallback, "fallback")
    values = as_source(source).with_columns(column).reduce(lambda chunk: ValueCounts.of(chunk, column))
    name = getattr(method, "__name__", str(method))
    maps = {}
    for value in sorted(values.counts, key=lambda value: (value is None, value)):
        try:
            maps[value] = method(trials_with_value(source, column, value), **options)
        except LlrkitError as error:
            raise type(error)(f"{column} = {value!r}: {error}") from error
    rest = method(source, **options) if fallback else None
    if len({fitted.n_systems for fitted in maps.values()}) > 1:
        raise SystemCountError("the maps of the groups take different numbers of systems")
    return ByMap(
        column=column, maps=maps, fallback=rest, method=f"{name.removeprefix('fit_')} by {column}",
        options={"column": column, "method": name, "fallback": fallback, **options},
        details={"n_target": {key: n[0] for key, n in values.counts.items()},
                 "n_nontarget": {key: n[1] for key, n in values.counts.items()}},
    )  # fmt: skip
