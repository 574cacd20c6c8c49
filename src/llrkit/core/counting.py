"""Counting: the order of all trials of a source, in one of two ways that give the same to the last bit.

Where one class is much the smaller, the other is counted in the cells between its distinct scores, mostly
without sorting. Where both are large, or all trials are few, each class is sorted once and the two are merged
by ranges of score. Which way it is follows from the numbers of trials alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Counts, FloatArray
from llrkit._memory import at_once
from llrkit.core.collected_scores import (
    CollectedScores,
    SpilledScores,
    bins_of_range,
    can_spill,
    count_below,
    sorted_classes,
)
from llrkit.core.pav_and_hull import PavBlocks
from llrkit.core.ranking import KEEP_BYTES, RankedBins, Ranking, ranking_of_sorted
from llrkit.core.sample import Sample
from llrkit.core.score_bins import ScoreBins, joined_bins
from llrkit.core.score_index import score_indexes
from llrkit.core.score_ranges import ScoreRange, ranges_needed, score_ranges
from llrkit.core.summary_algebra import Both, both
from llrkit.core.threshold_grid import ClassName, Grid, collect_again, require_both_classes
from llrkit.core.trial_counts import BelowCounts, TrialCounts, count_on
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.source import as_source

ALWAYS_SORTED = 1 << 16
"""So few trials are sorted whatever their classes."""
MUCH_SMALLER = 16
"""From this ratio of the classes on, cells cost less than sorting (measured)."""
MOST_PASSES = 4
"""A set that takes more passes to collect is counted in cells, unless the cells are too many."""
MOST_CELLS = 1 << 24
RANGES_OF_FILES = 4
"""Ranges of scores in files for one that would be collected: every thread holds one at a time."""


@dataclass(frozen=True, eq=False)
class FirstLook:
    """What the way of counting is chosen from: the numbers of trials, and what a first pass found."""

    n_target: int
    n_nontarget: int
    grid: Grid | None = None
    sample: Sample | None = None

    @classmethod
    def of(cls, grid: Grid, sample: Sample | None = None) -> FirstLook:
        """What a pass over the trials found."""
        return cls(grid.n_target, grid.n_nontarget, grid, sample)

    @classmethod
    def at(cls, source: ScoreSource) -> FirstLook:
        """The sizes of a source that knows them, otherwise what a pass finds."""
        sizes = as_source(source).sizes
        if sizes is not None:
            return cls(*sizes)
        return cls.of(*source.reduce(both(Grid.of, Sample.of)).summaries)

    @property
    def sorts(self) -> bool:
        """Whether the classes are sorted and merged, not counted in cells."""
        if self.grid is not None and self.grid.weighted:
            return False
        smaller, larger = sorted((self.n_target, self.n_nontarget))
        if smaller + larger <= ALWAYS_SORTED:
            return True
        if self.grid is not None and self.grid.points is not None:
            smaller = len(
                self.grid.points
            )  # few distinct scores make few cells, however many trials have them
        few_cells = MUCH_SMALLER * smaller < larger
        many_passes = ranges_needed(self.n_target, self.n_nontarget) > MOST_PASSES
        return smaller > MOST_CELLS or not (few_cells or many_passes)


@dataclass(frozen=True, eq=False)
class Counted:
    """The order of all trials, and how many of each class are below the thresholds that were asked for."""

    ranking: Ranking
    target_below: Counts
    nontarget_below: Counts


def count_bins(source: ScoreSource) -> ScoreBins:
    """The bins of all trials of a source.

    Examples
    --------
    >>> bins = count_bins(Scores([1.0, 2.0, 2.0], [0.0, 1.0]))
    >>> bins.target, bins.nontarget, bins.low
    (array([0, 1, 2]), array([1, 1, 0]), array([0., 1., 2.]))
    """
    return rank(source).bins


def count_blocks(source: ScoreSource) -> PavBlocks:
    """The PAV blocks of all trials of a source.

    Examples
    --------
    >>> blocks = count_blocks(Scores([1.0, 2.0, 2.0], [0.0, 1.0]))
    >>> blocks.target, blocks.nontarget
    (array([0, 1, 2]), array([1, 1, 0]))
    """
    return rank(source).blocks


def rank(source: ScoreSource) -> Ranking:
    """The order of all trials of a source; a source in memory keeps it for the next metric."""
    kept = as_source(source).kept_counts
    already = None if kept is None else kept.get("ranking")
    if isinstance(already, Ranking):
        return already
    source = in_order_if_kept(source)
    ranking = count(source, FirstLook.at(source)).ranking
    keep_ranking(source, ranking)
    return ranking


def keep_ranking(source: ScoreSource, ranking: Ranking) -> None:
    """Keep the ranking of a source with it, if it is in memory and not too large."""
    kept = source.kept_counts
    if kept is not None and ranking.nbytes <= at_once(KEEP_BYTES):
        kept["ranking"] = ranking


def count(source: ScoreSource, look: FirstLook, thresholds: npt.ArrayLike = ()) -> Counted:
    """The bins of all trials, and the trials below some thresholds, in the way that suits their numbers."""
    require_both_classes(look.n_target, look.n_nontarget)
    cuts = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    if isinstance(source, Scores) and source.ascending:
        return _in_order(source, cuts)
    return _by_sorting(source, look, cuts) if look.sorts else _in_cells(source, look, cuts)


def in_order_if_kept(source: ScoreSource) -> ScoreSource:
    """A source whose classes counting sorts in ascending order, if that is kept for the next metric."""
    sizes = as_source(source).sizes
    return source.in_order(if_small=True) if sizes is not None and FirstLook(*sizes).sorts else source


def _in_order(scores: Scores, thresholds: FloatArray) -> Counted:
    ranking = ranking_of_sorted(scores.target, scores.nontarget)
    if not len(thresholds):
        none = np.zeros(0, dtype=np.int64)
        return Counted(ranking, none, none)
    return Counted(ranking, *below_in_order(scores, thresholds))


def below_in_order(scores: Scores, thresholds: FloatArray) -> tuple[Counts, Counts]:
    """How many trials of each class are below thresholds, where both classes are in ascending order."""
    everything, never = ScoreRange(), np.zeros(0, dtype=np.int64)
    target, nontarget = (
        count_below(everything, of, never, thresholds) for of in (scores.target, scores.nontarget)
    )
    return target, nontarget


def _by_sorting(source: ScoreSource, look: FirstLook, thresholds: FloatArray) -> Counted:
    def drawn() -> Sample:
        return source.reduce(Sample.of) if look.sample is None else look.sample

    several = ranges_needed(look.n_target, look.n_nontarget) > 1
    if several and can_spill(source, look.n_target + look.n_nontarget):
        try:
            return _by_spilling(source, look, drawn, thresholds)
        except OSError:  # a disk that is full after all; what cannot be read is told by the next pass
            pass
    parts: list[ScoreBins] = []
    ranking: Ranking | None = None
    below = [np.zeros(len(thresholds), dtype=np.int64) for _ in range(2)]
    for chosen in score_ranges(look.n_target, look.n_nontarget, drawn):
        collected = source.reduce(CollectedScores.within(chosen))
        repeated = collected.repeated
        classes = sorted_classes(collected)
        del collected  # its pieces are as large as what is made of them
        if several or chosen.repeated:
            parts.append(bins_of_range(chosen, *classes, repeated))
        else:
            ranking = ranking_of_sorted(*classes)
        if len(thresholds):
            for counts, ascending, times in zip(below, classes, repeated, strict=True):
                counts += count_below(chosen, ascending, times, thresholds)
    return Counted(RankedBins(joined_bins(parts)) if ranking is None else ranking, *below)


def _by_spilling(
    source: ScoreSource, look: FirstLook, drawn: Callable[[], Sample], thresholds: FloatArray
) -> Counted:
    """One pass that sorts the scores into files by ranges, which are then counted two at a time."""
    ranges = score_ranges(look.n_target, look.n_nontarget, drawn, finer=RANGES_OF_FILES)
    with SpilledScores(ranges) as spilled:
        found = spilled.counted(source.reduce(spilled.take), thresholds)
    target, nontarget = (np.sum([counts[i] for _, counts in found], axis=0) for i in range(2))
    return Counted(RankedBins(joined_bins(bins for bins, _ in found)), target, nontarget)


def _in_cells(source: ScoreSource, look: FirstLook, thresholds: FloatArray) -> Counted:
    if look.grid is None:
        smaller: ClassName = "target" if look.n_target <= look.n_nontarget else "nontarget"
        grid = source.reduce(Grid.of_class(smaller))
    else:
        grid = collect_again(source, look.grid)
    summarize, points = both(count_on(grid), BelowCounts.at(thresholds)), grid.points
    ascending = np.sort(thresholds)

    def prepared(chunk: Scores) -> Both[tuple[TrialCounts, BelowCounts]]:
        larger = score_indexes(chunk)[1 if grid.smaller == "target" else 0]
        if points is not None and len(ascending):
            larger.prepare(points, ascending)  # one look at the scores for both summaries
        return summarize(chunk)

    counts, below = source.reduce(prepared).summaries
    require_both_classes(counts.n_target, counts.n_nontarget)
    return Counted(RankedBins(counts.bins()), below.target, below.nontarget)
