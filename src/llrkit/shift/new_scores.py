"""Unlabeled scores as a shift sees them: counts in cells, and how sure the share below each cut is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.calibrate.bounds.bounded_map import BoundedMap
from llrkit.calibrate.composed_map import ComposedMap
from llrkit.calibrate.maps import AffineMap, Map
from llrkit.calibrate.option_checks import names_of
from llrkit.calibrate.training_densities import TrainingDensities
from llrkit.core.group_cells import group_cells, share_covariance
from llrkit.core.score_histogram import ClassHistogram, ScoreHistogram
from llrkit.errors import InputError, NaNScoreError, TooFewTrialsError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.checked_arrays import first_nan, number_array
from llrkit.scores.derived_sources import DerivedSource

FEWEST = 200
"""Unlabeled scores from which on a shift is looked for."""
NO_DENSITIES = (
    "the densities of its training scores (an old file, a map per group, a fusion that takes missing scores, "
    "or one adapted by a few labels to scores that nothing describes): calibrate again"
)


def densities_of(fitted: Map) -> TrainingDensities | None:
    """What a map, or the map inside it, knows of its training scores.

    Examples
    --------
    >>> import llrkit as lk
    >>> densities_of(lk.fit_cmlg(lk.Scores([2.0, 4.0], [0.0, 2.0]), bound="sources")).of
    'scores'
    """
    while fitted.densities is None and isinstance(fitted, BoundedMap):
        fitted = fitted.map
    return None if fitted.densities is None else TrainingDensities.from_plain(fitted.densities)


def counted_map(fitted: Map) -> tuple[Map, Map]:
    """For densities of LLRs: the map whose LLRs were counted, and what follows it.

    Examples
    --------
    >>> from llrkit.calibrate.maps import AffineMap
    >>> line = AffineMap(a=2.0, b=0.0)
    >>> counted, after = counted_map(BoundedMap(map=line, low=-1.0, high=1.0))
    >>> counted is line, after(5.0)
    (True, 1.0)
    """
    if isinstance(fitted, BoundedMap) and fitted.densities is None:
        counted, after = counted_map(fitted.map)
        return counted, BoundedMap(map=after, low=fitted.low, high=fitted.high)
    if isinstance(fitted, ComposedMap):  # adapted: its densities are those of what its first map says
        return fitted.first, fitted.second
    return fitted, AffineMap(a=1.0, b=0.0)


@dataclass(frozen=True, eq=False)
class NewScores:
    """Unlabeled scores: counts in cells, and the covariance of the shares below the cuts of the training."""

    histogram: ClassHistogram
    covariance: FloatArray
    df: float
    by_groups: bool

    @property
    def n(self) -> float:
        """All scores, infinite ones included."""
        return self.histogram.total + self.histogram.n_neg_inf + self.histogram.n_pos_inf

    @classmethod
    def of(
        cls, source: ScoreSource, cuts: FloatArray, speakers: str | Sequence[str] | None = None
    ) -> NewScores:
        """The scores of a source, whose labels are not looked at; two more passes with speakers."""
        histogram = source.reduce(ScoreHistogram.of).pooled
        if speakers is None:
            return cls.of_counts(histogram, cuts)
        _require_enough_scores(histogram)
        cells = group_cells(source, names_of(speakers, "speakers"), cuts)
        covariance, df = share_covariance(cells.target + cells.nontarget)
        return cls(histogram, covariance, df, by_groups=True)

    @classmethod
    def of_counts(cls, histogram: ClassHistogram, cuts: FloatArray) -> NewScores:
        """Scores that were counted already, taken as independent."""
        _require_enough_scores(histogram)
        share = share_below(histogram, cuts)
        independent = np.minimum.outer(share, share) - np.outer(share, share)
        return cls(histogram, independent / histogram.total, np.inf, by_groups=False)


def _require_enough_scores(histogram: ClassHistogram) -> None:
    if histogram.total < FEWEST:
        raise TooFewTrialsError(
            f"{histogram.total:,.0f} finite scores are too few to tell a shift from chance: "
            f"at least {FEWEST} are needed"
        )


def as_new_source(fitted: Map, scores: ScoreSource | npt.ArrayLike, of: str) -> ScoreSource:
    """Trials whose scores are what the map was trained on, as the map reads them; or its LLRs."""
    if not isinstance(scores, ScoreSource):
        if of == "LLRs":
            raise InputError("this map takes several scores of a trial: give trials, not an array of scores")
        if isinstance(scores, (str, PathLike)):
            raise InputError(f"{scores}: paths are not accepted here; give an array of scores, or trials")
        values = np.asarray(number_array(scores, "scores"), dtype=np.float64).reshape(-1)
        where = first_nan(values)
        if where is not None:
            raise NaNScoreError(f"the score at index {where[0]} is not a number")
        values = values * fitted.input_factor if fitted.input_factor != 1.0 else values
        return Scores.part(values, values[:0])
    if of == "LLRs":
        return counted_map(fitted)[0].on(scores)
    factor = fitted.input_factor / fitted._read_factor(scores)
    if factor == 1.0:
        return scores
    return DerivedSource(
        scores,
        lambda chunk: Scores.part(
            chunk.target * factor, chunk.nontarget * factor, chunk.columns, chunk.categories
        ),
    )


def share_below(histogram: ClassHistogram, cuts: FloatArray) -> FloatArray:
    """The share of scores below each cut; exact where a cut is the border of a cell.

    Examples
    --------
    >>> share_below(ClassHistogram.of(np.array([0.0, 1.0, 2.0, np.inf])), np.array([1.0, 64.0]))
    array([0.25, 0.75])
    """
    below = np.concatenate([[0.0], np.cumsum(histogram.count)]) + histogram.n_neg_inf
    place = cuts / histogram.width - histogram.first
    total = histogram.total + histogram.n_neg_inf + histogram.n_pos_inf
    return np.asarray(np.interp(place, np.arange(len(below)), below) / total)
