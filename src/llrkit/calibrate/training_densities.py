"""What a calibration file keeps of the scores of each training class: kilobytes, enough to notice a shift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._plain import Json, as_list, as_number, as_object, as_text
from llrkit.core.group_cells import group_cells, share_covariance
from llrkit.core.score_histogram import ClassHistogram, ScoreHistogram
from llrkit.errors import MapFileError
from llrkit.scores import ScoreSource

if TYPE_CHECKING:
    from llrkit.calibrate.maps import Map

M = TypeVar("M", bound="Map")
CUTS = 15
"""Scores at which shares of trials are compared; fewer where the cells are too coarse for so many."""
_COARSER = 2  # binary digits: other scores may spread four times as far and still have these cuts


@dataclass(frozen=True, eq=False)
class GroupSpread:
    """How much the share of trials below each cut varies because groups differ, for each class."""

    columns: tuple[str, ...]
    covariance: tuple[FloatArray, FloatArray]
    df: tuple[float, float]


@dataclass(frozen=True, eq=False)
class TrainingDensities:
    """Both classes of the training scores as histograms, and how their groups differ where these are known.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> histogram = Scores([2.0, 4.0, 3.0], [0.0, 1.0, 2.5]).reduce(ScoreHistogram.of)
    >>> densities = TrainingDensities(histogram)
    >>> again = TrainingDensities.from_plain(densities.to_plain())
    >>> again.histogram.target.total, again.of
    (3, 'scores')
    """

    histogram: ScoreHistogram
    of: str = "scores"
    """What was counted: 'scores', or the 'LLRs' of a map of several scores."""
    spread: GroupSpread | None = None

    @property
    def cuts(self) -> FloatArray:
        """Where shares are compared: quantiles of both classes in equal parts, at borders of cells."""
        target, nontarget = self.histogram.target, self.histogram.nontarget
        exponent = max(target.exponent, nontarget.exponent) + _COARSER
        both = target.coarser(exponent), nontarget.coarser(exponent)
        first = min(one.first for one in both)
        share = np.zeros(max(one.first + len(one.count) for one in both) - first)
        for one in both:
            place = one.first - first
            share[place : place + len(one.count)] += 0.5 * one.count / one.total
        below = np.cumsum(share)
        border = np.searchsorted(below, np.arange(1, CUTS + 1) / (CUTS + 1)) + 1
        inner = np.unique(border[border < len(share)])
        return np.asarray((inner + first) * np.ldexp(1.0, exponent), dtype=np.float64)

    def with_groups(self, source: ScoreSource, columns: Sequence[str]) -> TrainingDensities:
        """The same, with what the groups of the training trials tell; two passes."""
        cells = group_cells(source, columns, self.cuts)
        of_class = [share_covariance(counts) for counts in (cells.target, cells.nontarget)]
        (target, t_df), (nontarget, n_df) = of_class
        spread = GroupSpread(tuple(columns), (target, nontarget), (t_df, n_df))
        return TrainingDensities(self.histogram, self.of, spread)

    def to_plain(self) -> dict[str, Json]:
        """Plain values for a calibration file."""
        plain: dict[str, Json] = {
            "of": self.of,
            "target": self.histogram.target.to_text(),
            "nontarget": self.histogram.nontarget.to_text(),
        }
        if self.spread is not None:
            plain["groups"] = {
                "columns": list(self.spread.columns),
                "covariance": [
                    [" ".join(f"{value:.6g}" for value in row) for row in matrix]
                    for matrix in self.spread.covariance
                ],
                "df": list(self.spread.df),
            }
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Json]) -> TrainingDensities:
        """What :meth:`to_plain` wrote; anything else is refused."""
        try:
            classes = [ClassHistogram.from_text(as_object(plain[name])) for name in ("target", "nontarget")]
            if plain["of"] not in ("scores", "LLRs") or min(one.total for one in classes) <= 0.0:
                raise ValueError("a class is empty, or what was counted is missing")
            found = cls(ScoreHistogram(*classes), as_text(plain["of"]))
            if "groups" in plain:
                found = cls(
                    found.histogram, found.of, _group_spread_of(as_object(plain["groups"]), len(found.cuts))
                )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise MapFileError(f"the densities of the training scores are broken ({error})") from None
        return found


def _group_spread_of(plain: Mapping[str, Json], n: int) -> GroupSpread:
    matrices = [
        np.array([[float(word) for word in as_text(row).split()] for row in as_list(matrix)]).reshape(n, n)
        for matrix in as_list(plain["covariance"])
    ]
    if not all(np.isfinite(matrix).all() and (np.diag(matrix) >= 0.0).all() for matrix in matrices):
        raise ValueError("the spread of groups is not finite")
    (target, nontarget), (t_df, n_df) = matrices, (float(as_number(df)) for df in as_list(plain["df"]))
    if not (t_df >= 1.0 and n_df >= 1.0):
        raise ValueError("degrees of freedom below 1")
    columns = tuple(str(name) for name in as_list(plain["columns"]))
    return GroupSpread(columns, (target, nontarget), (t_df, n_df))


def with_group_spread(fitted: M, source: ScoreSource, columns: Sequence[str]) -> M:
    """A map that records how the groups of its training trials differ, if it records scores; two passes."""
    if fitted.densities is None:
        return fitted
    densities = TrainingDensities.from_plain(fitted.densities)
    densities = densities.with_groups(source if densities.of == "scores" else fitted.on(source), columns)
    return replace(fitted, densities=densities.to_plain())
