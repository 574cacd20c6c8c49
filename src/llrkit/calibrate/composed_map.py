"""One map after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from llrkit._arrays import FloatArray
from llrkit.calibrate.maps import AffineMap, Columns, Map


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ComposedMap(Map):
    """One map after another."""

    first: Map
    second: Map

    kind: ClassVar[str] = "composed"

    def __post_init__(self) -> None:
        if self.reading is None:  # it takes what the first map takes
            object.__setattr__(self, "reading", self.first.reading)

    @property
    def n_systems(self) -> int:
        """As many as the first map takes."""
        return self.first.n_systems

    @property
    def condition_ranges(self) -> dict[str, list[float]]:
        """Those of both maps."""
        return {**self.first.condition_ranges, **self.second.condition_ranges}

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns of either map."""
        return tuple(dict.fromkeys((*self.first.needs, *self.second.needs)))

    @property
    def accepts_missing(self) -> bool:
        """As the first map."""
        return self.first.accepts_missing

    @property
    def system_names(self) -> list[str]:
        """Those of the first map."""
        return self.first.system_names

    @property
    def training_range(self) -> tuple[FloatArray, FloatArray] | None:
        """That of the first map, which meets the scores."""
        return self.first.training_range

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The second map of the first map's LLRs."""
        return self.second.llr(self.first.checked(scores, columns), columns)

    def _tried(self, scores: FloatArray) -> FloatArray:
        return self.second._tried(self.first._tried(scores))

    def back_to_scores(self) -> ComposedMap:
        """Back through both, last first."""
        return ComposedMap(
            first=self.second.back_to_scores(),
            second=self.first.back_to_scores(),
            method=f"inverse of {self.method}",
        )


def composed(first: Map, second: Map, *, method: str) -> Map:
    """One map, then another; the maps that are composed need not know how."""
    return ComposedMap(first=first, second=second, method=method)


def then_divided(first: Map, factor: float, *, method: str) -> Map:
    """A map, then a division by what scores were multiplied by when they were read.

    Examples
    --------
    >>> then_divided(AffineMap(a=3.0, b=0.0), 2.0, method="an example")(4.0)
    6.0
    """
    return composed(first, AffineMap(a=1.0 / factor, b=0.0), method=method)
