"""A map whose LLRs are clipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.maps import Columns, Map
from llrkit.errors import NotInvertibleError


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BoundedMap(Map):
    """Another map whose LLRs are clipped to ``low`` (at most 0) and ``high`` (at least 0), in nats.

    Examples
    --------
    >>> from llrkit.calibrate.maps import AffineMap
    >>> BoundedMap(map=AffineMap(a=1.0, b=0.0), low=-2.0, high=3.0)([-9.0, 1.0, 9.0])
    array([-2.,  1.,  3.])
    """

    map: Map
    low: float
    high: float

    kind: ClassVar[str] = "bounded"
    may_be_infinite: ClassVar[frozenset[str]] = frozenset({"low", "high"})

    def __post_init__(self) -> None:
        if self.reading is None:  # it takes what the map inside takes
            object.__setattr__(self, "reading", self.map.reading)

    @property
    def n_systems(self) -> int:
        """As many as the map inside takes."""
        return self.map.n_systems

    @property
    def condition_ranges(self) -> dict[str, list[float]]:
        """Those of the map inside."""
        return self.map.condition_ranges

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns the map inside needs."""
        return self.map.needs

    @property
    def accepts_missing(self) -> bool:
        """As the map inside."""
        return self.map.accepts_missing

    @property
    def has_bounds(self) -> bool:
        """They are what it is for."""
        return True

    @property
    def system_names(self) -> list[str]:
        """Those of the map inside."""
        return self.map.system_names

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The clipped LLRs."""
        return np.clip(self.map.checked(scores, columns), self.low, self.high)

    def _tried(self, scores: FloatArray) -> FloatArray:
        return np.clip(self.map._tried(scores), self.low, self.high)

    def back_to_scores(self) -> Map:
        """None: many scores share a bound."""
        raise NotInvertibleError("a bounded map has no inverse; use that of the map inside: .map.inverse")

    def __repr__(self) -> str:
        return f"BoundedMap({self.map!r}, llr from {self.low:.4g} to {self.high:.4g})"
