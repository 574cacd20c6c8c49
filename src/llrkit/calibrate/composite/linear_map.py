"""LinearMap: the weighted sum of several scores and of features, as fusion and quality measures give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.composite.side_information import Quality
from llrkit.calibrate.maps import Columns, Map
from llrkit.errors import NaNScoreError


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LinearMap(Map):
    """``llr = weights @ (scores, features) + offset`` for K systems.

    With ``missing="subset"`` a trial without a score (NaN) of some systems gets the fusion of the others.
    """

    weights: FloatArray
    """Weight of each system, then of each feature."""
    offset: float
    """What is added to the weighted sum."""
    systems: list[str]
    """Names of the systems, in the order of the scores."""
    columns: list[str] = field(default_factory=list)
    """Columns of the side information; empty without any."""
    features: str = "linear"
    """How these columns enter: "linear", "durations" or "bilinear"."""
    scaled: bool = False
    """Whether each score is also multiplied by each feature."""
    missing: str = "error"
    """What happens to a trial without the score of some system: "error", "drop" or "subset"."""
    subsets: Mapping[str, FloatArray] = field(default_factory=dict)
    """For each set of systems that are there, "101" say: its weights followed by its offset."""

    kind: ClassVar[str] = "linear"

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return len(self.systems)

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns of the side information."""
        return tuple(self.columns)

    @property
    def accepts_missing(self) -> bool:
        """With ``missing="subset"``."""
        return self.missing == "subset"

    @property
    def system_names(self) -> list[str]:
        """Names of the systems in the order of training."""
        return list(self.systems)

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The weighted sum, of the systems that are there.

        Parameters
        ----------
        scores
            Scores as float64, shape (n, systems).
        columns
            Columns that go with the scores, by name.
        """
        if self.accepts_missing and np.isnan(scores).any():
            return self._by_pattern(scores, columns)
        wide = Quality(tuple(self.columns), self.features, self.scaled).widen(scores, columns)
        with np.errstate(invalid="ignore"):  # looked at in the next line
            llrs = weighted_sum(wide, self.weights, self.offset)
        if np.isnan(llrs).any():
            row = int(np.argmax(np.isnan(llrs)))
            raise NaNScoreError(f"trial {row}: the infinite scores of its systems contradict each other")
        return llrs

    def _by_pattern(self, values: FloatArray, columns: Columns) -> FloatArray:
        """Each trial by the fusion of the systems it has."""
        present = ~np.isnan(values)
        llrs = np.empty(len(values))
        patterns, which = np.unique(present, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            rows = np.flatnonzero(which.ravel() == i)
            if pattern.all():
                llrs[rows] = self.llr(values[rows], {name: column[rows] for name, column in columns.items()})
                continue
            key = "".join("01"[int(flag)] for flag in pattern)
            if key not in self.subsets:
                raise NaNScoreError(f"trial {rows[0]}: no fusion was trained for the systems {key}")
            fitted = np.asarray(self.subsets[key])
            llrs[rows] = weighted_sum(values[rows][:, pattern], fitted[:-1], fitted[-1])
        return llrs

    def __repr__(self) -> str:
        made = Quality(tuple(self.columns), self.features, self.scaled)
        names = made.term_names(self.systems)
        first = f"{self.weights[0]:.4g} {names[0]}"
        more = "".join(f" {w:+.4g} {name}" for w, name in zip(self.weights[1:], names[1:], strict=True))
        subsets = f", {len(self.subsets)} fusions of fewer systems" if self.subsets else ""
        return f"LinearMap({self.method}: llr = {first}{more} {self.offset:+.4g}{subsets})"


def weighted_sum(values: FloatArray, weights: FloatArray, offset: float = 0.0) -> FloatArray:
    """Column by column: the last bits of a BLAS product may depend on how many rows come at once."""
    total = weights[0] * values[:, 0]
    for column in range(1, len(weights)):
        total += weights[column] * values[:, column]
    return np.asarray(total + offset)
