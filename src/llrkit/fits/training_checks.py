"""What every fit checks of its training trials, ties among them, and trials as weighted points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from llrkit import errors
from llrkit._version import __version__
from llrkit.base.arguments import Array, FloatArray
from llrkit.base.process import warn_caller
from llrkit.base.text import Json, agreeing, counted
from llrkit.core.cells import require_both_classes, score_indexes
from llrkit.core.histograms import CellSums, DensityGrid
from llrkit.core.summaries import ClassMoments, FieldwiseSums, Moments, SummaryBase
from llrkit.maps.training_range import gap_of_moments
from llrkit.metrics.measure import FEWEST_AT_AN_END, SHARE_AT_AN_END
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.source import POSITION, ROW

FEW_TO_TRAIN = 30
"""Trials of a class with which its mean score is known to 18 % of its spread (1 / sqrt(30))."""


def smaller_class(n_target: int, n_nontarget: int, needed: int) -> str:
    """The class with fewer trials than needed, counted; empty if both have enough.

    Examples
    --------
    >>> smaller_class(3, 40, needed=30), smaller_class(30, 40, needed=30)
    ('3 target trials', '')
    """
    n, name = min((n_target, "target"), (n_nontarget, "non-target"), key=lambda one: one[0])
    return "" if n >= needed else counted(n, f"{name} trial")


def few_to_train(n_target: int, n_nontarget: int) -> str:
    """What is to be said of a calibration that few trials of a class train; empty if both have enough.

    Examples
    --------
    >>> few_to_train(3, 40)
    'only 3 target trials: the mean score of the class is known to 58 % of its spread, so LLRs may be far off'
    """
    few = smaller_class(n_target, n_nontarget, FEW_TO_TRAIN)
    if not few:
        return ""
    known = f"{100 / math.sqrt(min(n_target, n_nontarget)):.0f} % of its spread"
    return f"only {few}: the mean score of the class is known to {known}, so LLRs may be far off"


BEYOND_CHANCE = 3.0
"""Standard errors by which the mean of targets is below that of non-targets before a fit warns."""


def training_moments(
    source: ScoreSource, *, at_least: int = 1, finite: bool = True, spread: bool = False
) -> Moments:
    """Moments of the training scores of one system, after the checks of :func:`check_moments`.

    A class whose scores are all equal has no density, and is refused if the fit needs a ``spread``.
    """
    moments = source.reduce(Moments.of)
    check_moments(source, moments, at_least=at_least, finite=finite)
    for name, class_moments in (("target", moments.target), ("nontarget", moments.nontarget)):
        if spread and not class_moments.variance[0] > 0.0:
            raise errors.ConstantScoreError(f"the {name} scores are constant: they have no density")
    return moments


def check_moments(
    source: ScoreSource, moments: Moments, *, at_least: int = 1, finite: bool = True, several: bool = False
) -> None:
    """Refuse an empty class, too few trials and constant scores; warn of reversed ones.

    Infinite scores are refused if they must be ``finite``, and those of several systems unless the fit takes
    ``several``.
    """
    # ordered from what makes every later number meaningless to what only deserves a warning
    target, nontarget = moments.target, moments.nontarget
    if not several and len(target.mean) != 1:
        raise errors.SystemCountError(f"one system expected, got {len(target.mean)}; use fit_fusion")
    require_both_classes(target.count, nontarget.count)
    if finite and (target.n_infinite or nontarget.n_infinite):
        raise errors.InfiniteScoreError(f"{_first_infinite(source)}; a fit needs finite scores")
    for name, one in (("target", target), ("non-target", nontarget)):
        if one.n_infinite and one.n_infinite == one.count:
            every = counted(int(one.count), f"{name} score")
            raise errors.InfiniteScoreError(
                f"{_first_infinite(source)}, like all of {every}; at least one must be finite: bound the "
                "LLRs when you calibrate (bound=, --bound)"
            )
    # fourth moments are needed for standard errors and shape; a sum that overflowed would make them nan
    if not (np.isfinite(target.m4).all() and np.isfinite(nontarget.m4).all()):
        raise errors.InputError(
            "the scores are too large to calibrate: their fourth moment is beyond float64"
        )
    spread = np.maximum(target.high, nontarget.high) - np.minimum(target.low, nontarget.low)
    # fourth powers of such differences come close to the end of float64
    if np.any((spread > 0) & (spread < 1e-70)):
        raise errors.InputError("the scores are too close together to calibrate: their range is below 1e-70")
    for name, class_moments in (("target", target), ("nontarget", nontarget)):
        if class_moments.n < at_least:
            few = counted(class_moments.n, f"{name} trial")
            raise errors.TooFewTrialsError(f"{few}; this method needs at least {at_least}")
    if np.all((target.low == nontarget.low) & (target.high == nontarget.high) & (target.low == target.high)):
        raise errors.ConstantScoreError(f"all scores are {target.low[0]:g}: there is nothing to calibrate")
    # the warning waits for three standard errors: with few trials reversed means are often chance
    chance = np.sqrt(target.variance / target.n + nontarget.variance / nontarget.n)
    if np.all(nontarget.mean - target.mean > BEYOND_CHANCE * chance):
        warn_caller(
            f"targets score {target.mean[0]:.4g} on average, non-targets {nontarget.mean[0]:.4g}: "
            "is a higher score really more target-like?",
            errors.ReversedScoresWarning,
        )


def provenance(moments: Moments) -> dict[str, Json]:
    """What is written down about the training scores."""
    gap = gap_of_moments(moments)
    return {
        "llrkit": __version__,
        "n_target": int(moments.target.count),
        "n_nontarget": int(moments.nontarget.count),
        "mean_target": _one_system_or_all(moments.target.mean),
        "mean_nontarget": _one_system_or_all(moments.nontarget.mean),
        "std_target": _one_system_or_all(np.sqrt(moments.target.variance)),
        "std_nontarget": _one_system_or_all(np.sqrt(moments.nontarget.variance)),
        **{
            f"{name}_{of_class}": _one_system_or_all(np.nan_to_num(values))  # nan of equal scores: no shape
            for of_class, one in (("target", moments.target), ("nontarget", moments.nontarget))
            for name, values in (("skewness", one.skewness), ("kurtosis", one.excess_kurtosis))
        },
        "low": _one_system_or_all(np.minimum(moments.target.low, moments.nontarget.low)),
        "high": _one_system_or_all(np.maximum(moments.target.high, moments.nontarget.high)),
        **({} if gap is None else {"gap": list(gap)}),
    }


def _one_system_or_all(values: FloatArray) -> float | list[float]:
    return float(values[0]) if len(values) == 1 else values.tolist()


@dataclass(frozen=True, eq=False)
class FirstInfinite(SummaryBase):
    """The number of the first infinite score of each class; infinite if there is none."""

    target: float
    nontarget: float

    @classmethod
    def at(cls, column: str) -> Callable[[Scores], FirstInfinite]:
        """A summarizer; the column numbers the trials."""

        def first(values: Array, numbers: Array) -> float:
            bad = np.isinf(values) if values.ndim == 1 else np.isinf(values).any(axis=1)
            return float(numbers[bad].astype(np.float64).min(initial=math.inf))

        return lambda chunk: cls(*map(first, (chunk.target, chunk.nontarget), chunk.columns[column]))

    def __add__(self, other: FirstInfinite) -> FirstInfinite:
        return FirstInfinite(min(self.target, other.target), min(self.nontarget, other.nontarget))

    def __mul__(self, weight: float) -> FirstInfinite:
        return self


def _first_infinite(source: ScoreSource) -> str:
    try:
        # a second pass, made only on the way to an error: the message names the row
        first = source.with_columns(ROW).reduce(FirstInfinite.at(ROW))
        return f"{source.place(int(min(first.target, first.nontarget)))}: the score is infinite"
    except errors.UnknownNameError:  # not a table: the position within the class must do
        first = source.with_columns(POSITION).reduce(FirstInfinite.at(POSITION))
        found = math.isfinite(first.target)
        name, place = ("target", first.target) if found else ("nontarget", first.nontarget)
        return f"the {name} score at index {place:.0f} is infinite"


@dataclass(frozen=True, eq=False)
class DistinctScores:
    """Distinct scores in ascending order, and how often each class has them; ``None`` if there are too many.

    Examples
    --------
    >>> distinct = Scores([1.0, 2.0], [1.0, 0.0]).reduce(DistinctScores.at(10))
    >>> distinct.values, distinct.target, distinct.nontarget
    (array([0., 1., 2.]), array([0., 1., 1.]), array([1., 1., 0.]))
    """

    limit: int
    values: FloatArray | None
    target: FloatArray
    nontarget: FloatArray

    @classmethod
    def of(cls, chunk: Scores, limit: int) -> DistinctScores:
        """The distinct scores of a chunk."""
        if chunk.n_systems != 1:
            return cls._too_many(limit)
        t, n = (np.unique(index.ascending, return_counts=True) for index in score_indexes(chunk))
        no_t, no_n = np.zeros(len(t[0])), np.zeros(len(n[0]))
        return cls._joined(limit, (*t, no_t), (n[0], no_n, n[1]))

    @classmethod
    def at(cls, limit: int) -> Callable[[Scores], DistinctScores]:
        """A summarizer that gives up beyond ``limit`` distinct scores."""
        return lambda chunk: cls.of(chunk, limit)

    @classmethod
    def _too_many(cls, limit: int) -> DistinctScores:
        return cls(limit, None, np.empty(0), np.empty(0))

    @classmethod
    def _joined(cls, limit: int, *tables: tuple[Array, Array, Array]) -> DistinctScores:
        if max(len(table[0]) for table in tables) > limit:
            return cls._too_many(limit)
        values, target, nontarget = pooled_points(*tables)
        return cls(limit, values, target, nontarget) if len(values) <= limit else cls._too_many(limit)

    def __add__(self, other: DistinctScores) -> DistinctScores:
        # once too many, always too many: the tables of later chunks are not kept
        if self.values is None or other.values is None:
            return self._too_many(self.limit)
        return self._joined(
            self.limit,
            (self.values, self.target, self.nontarget),
            (other.values, other.target, other.nontarget),
        )

    def __mul__(self, weight: float) -> DistinctScores:
        return DistinctScores(self.limit, self.values, self.target * weight, self.nontarget * weight)


def pooled_points(*tables: tuple[Array, Array, Array]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distinct points of several tables, ascending, and the sums of the two weights that tables give them.

    Examples
    --------
    >>> pooled_points((np.array([1.0, 2.0]), np.ones(2), np.zeros(2)), (np.ones(1), np.zeros(1), np.ones(1)))
    (array([1., 2.]), array([1., 1.]), array([1., 0.]))
    """
    points, target, nontarget = (np.concatenate(column) for column in zip(*tables, strict=True))
    distinct, place = np.unique(points, return_inverse=True)
    w_target, w_nontarget = (np.bincount(place, w).astype(np.float64) for w in (target, nontarget))
    return distinct.astype(np.float64), w_target, w_nontarget


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """Ascending weighted points that stand for the scores of one class.

    A cell of the density grid becomes two points of half its weight, one standard deviation of the cell
    on either side of the cell's mean: count, mean and variance in the cell are kept, so a sum over the
    points differs from the sum over the scores in the third order of the cell width only. A cell with one
    or two scores gives back exactly those.
    """

    points: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, cells: CellSums, low: float, high: float) -> WeightedPoints:
        """The points of one class on a grid between ``low`` and ``high``."""
        filled = np.flatnonzero(cells.count)
        n = cells.count[filled].astype(np.float64)
        mean = cells.first[filled] / n
        spread = np.sqrt(np.maximum(cells.second[filled] / n - mean**2, 0.0))
        # rounding must not give a single score a spread
        spread[n == 1.0] = 0.0
        size = len(cells.count)
        share = (filled + 0.5 + mean) / size
        # a weighted mean of the ends: low + share * (high - low) would overflow for huge ranges
        middle = low * (1.0 - share) + high * share
        half = spread * (high / size - low / size)
        points = np.stack([middle - half, middle + half], axis=1).ravel()
        weights = np.repeat(0.5 * n, 2)
        single = np.repeat(half == 0.0, 2)
        keep = ~single
        keep[0::2] = True
        # two points in one place become one with all of the weight
        weights[single] *= 2.0
        return cls(points[keep], weights[keep])

    @classmethod
    def joined(cls, *several: WeightedPoints) -> WeightedPoints:
        """All points of several, in ascending order."""
        points = np.concatenate([one.points for one in several])
        order = np.argsort(points, kind="stable")
        return cls(points[order], np.concatenate([one.weights for one in several])[order])

    def fewer(self, cells: int = 512) -> WeightedPoints:
        """The same with at most two points in each of some even cells, for a search that need not be exact.

        The cells lie between the outermost thousandths; the points beyond stay as they are. Weight, mean and
        variance in a cell are kept.

        Examples
        --------
        >>> many = WeightedPoints(np.linspace(0.0, 1.0, 10_001), np.ones(10_001))
        >>> few = many.fewer(100)
        >>> len(few.points), few.total, round(few.mean_of(few.points**2) - many.mean_of(many.points**2), 12)
        (220, 10001.0, 0.0)
        """
        if len(self.points) <= 4 * cells:
            return self
        # the outermost thousandths decide tails and are few: they stay as they are
        low, high = np.searchsorted(self.points, [self.quantile(0.001), self.quantile(0.999)])
        inner, weights = self.points[low:high], self.weights[low:high]
        if high - low <= 4 * cells or not inner[-1] > inner[0]:
            return self
        cell = ((inner - inner[0]) * (cells / (inner[-1] - inner[0]))).astype(np.intp)
        start = np.flatnonzero(np.diff(np.minimum(cell, cells - 1), prepend=-1))
        in_cell = np.diff(start, append=len(inner))
        total = np.add.reduceat(weights, start)
        mean = np.add.reduceat(weights * inner, start) / total
        deviation = inner - np.repeat(mean, in_cell)
        half = np.sqrt(np.add.reduceat(weights * deviation**2, start) / total)
        points = np.stack([mean - half, mean + half], axis=1).ravel()
        return WeightedPoints(
            np.concatenate([self.points[:low], points, self.points[high:]]),
            np.concatenate([self.weights[:low], np.repeat(0.5 * total, 2), self.weights[high:]]),
        )

    @property
    def total(self) -> float:
        """Number of scores."""
        return float(self.weights.sum())

    def mean_of(self, values: FloatArray) -> float:
        """Weighted mean of values at the points."""
        return float((self.weights * values).sum() / self.total)

    def standardized(self, center: float, scale: float) -> WeightedPoints:
        """The same points as ``(s - center) / scale``; a negative scale turns their order round."""
        points = (self.points - center) / scale
        forward = 1 if scale > 0 else -1
        return WeightedPoints(points[::forward], self.weights[::forward])

    def quantile(self, p: float) -> float:
        """The point up to which a share ``p`` of the weight lies, half of its own weight included."""
        # half of a point's own weight: the quantile of an even sample then lies in its middle
        share = (np.cumsum(self.weights) - 0.5 * self.weights) / self.total
        return float(np.interp(p, share, self.points))


@dataclass(frozen=True, eq=False)
class TrainingPoints:
    """What every fit on the density grid starts from."""

    moments: Moments
    target: WeightedPoints
    nontarget: WeightedPoints

    @property
    def center(self) -> float:
        """Midpoint of the class means."""
        return 0.5 * float(self.moments.target.mean[0] + self.moments.nontarget.mean[0])

    @property
    def scale(self) -> float:
        """Root of the mean within-class variance; negative when targets score below non-targets."""
        v = 0.5 * float(self.moments.target.variance[0] + self.moments.nontarget.variance[0])
        if v == 0.0:
            raise errors.ConstantScoreError("each class is constant: the slope would be infinite")
        down = self.moments.target.mean[0] < self.moments.nontarget.mean[0]
        # the sign turns reversed scores around, so fits can assume that targets score higher
        return -float(np.sqrt(v)) if down else float(np.sqrt(v))

    def standardized(self) -> tuple[WeightedPoints, WeightedPoints]:
        """Both classes around 0 with standard deviation near 1, targets above non-targets.

        What is fitted there follows the scores through every affine map of them.
        """
        center, scale = self.center, self.scale
        return self.target.standardized(center, scale), self.nontarget.standardized(center, scale)


def training_points(source: ScoreSource, moments: Moments) -> TrainingPoints:
    """Second pass: the scores on the density grid between the extremes that the moments found."""
    low, high = moments.extremes
    return points_of_grid(source.reduce(DensityGrid.at(low, high)), moments)


def points_of_grid(grid: DensityGrid, moments: Moments) -> TrainingPoints:
    """The points of both classes."""
    points = (WeightedPoints.of(cells, grid.low, grid.high) for cells in (grid.target, grid.nontarget))
    return TrainingPoints(moments, *points)


def spread_of(class_moments: ClassMoments) -> tuple[float, float]:
    """Mean and (1/N) standard deviation of a class."""
    return float(class_moments.mean[0]), float(np.sqrt(class_moments.variance[0]))


FEW_DIFFERENT = 256
"""Different scores up to which ties are looked for."""
TRIALS_PER_SCORE = 4.0
"""Trials that share one score on average, from which on scores count as tied."""


@dataclass(frozen=True, eq=False)
class ClassEnds(SummaryBase):
    """The lowest and the highest score of a class, and how many trials have exactly these."""

    n: float
    low: float
    at_low: float
    high: float
    at_high: float

    @classmethod
    def of(cls, values: Array) -> ClassEnds:
        """Of the scores of one class; none of them may be missing."""
        if len(values) == 0:
            return cls(0.0, np.inf, 0.0, -np.inf, 0.0)
        low, high = values.min(), values.max()
        at_low, at_high = (float(np.count_nonzero(values == end)) for end in (low, high))
        return cls(float(len(values)), float(low), at_low, float(high), at_high)

    def __add__(self, other: ClassEnds) -> ClassEnds:
        low, high = min(self.low, other.low), max(self.high, other.high)
        return ClassEnds(
            self.n + other.n,
            low,
            # only parts that reach the common end have trials there
            sum(part.at_low for part in (self, other) if part.low == low),
            high,
            sum(part.at_high for part in (self, other) if part.high == high),
        )

    def __mul__(self, weight: float) -> ClassEnds:
        return ClassEnds(self.n * weight, self.low, self.at_low * weight, self.high, self.at_high * weight)


@dataclass(frozen=True, eq=False)
class TiedScores(FieldwiseSums):
    """How many trials share the ends of the scores, and the different scores if there are few.

    Examples
    --------
    >>> tied = TiedScores.of(Scores([1.0] * 60 + [0.7, 0.9] * 20, np.linspace(0.0, 1.0, 1001)))
    >>> for sentence in tied.sentences():
    ...     print(sentence)
    60.0 % of the target scores are exactly 1, the highest score: they are clipped or saturated
    """

    target: ClassEnds
    nontarget: ClassEnds
    different: DistinctScores
    llrs: bool = field(default=False, kw_only=True)
    """Whether they are LLRs that a calibration wrote: bounds put many of them in one place."""

    @classmethod
    def of_source(cls, source: ScoreSource) -> TiedScores:
        """Of all trials of a source, which knows whether a calibration wrote them."""
        return replace(source.reduce(cls.of), llrs=source.roles.calibrated)

    @classmethod
    def of(cls, chunk: Scores) -> TiedScores:
        """Of a chunk with one system."""
        return cls(
            ClassEnds.of(chunk.target), ClassEnds.of(chunk.nontarget), DistinctScores.of(chunk, FEW_DIFFERENT)
        )

    @property
    def within_0_and_1(self) -> bool:
        """Whether all scores could be probabilities."""
        ends = (self.target, self.nontarget)
        return min(end.low for end in ends) >= 0.0 and max(end.high for end in ends) <= 1.0

    def sentences(self) -> list[str]:
        """What saturates and what ties, in words; empty for scores that do neither."""
        told = self.at_the_ends()
        if self.different.values is not None:
            n, total = len(self.different.values), self.target.n + self.nontarget.n
            if total >= TRIALS_PER_SCORE * n:
                different = counted(n, f"different {self._what[:-1]}")
                told.append(f"there {agreeing(n, 'is', 'are')} only {different} among {total:,.0f} trials")
        return told

    @property
    def _what(self) -> str:
        return "LLRs" if self.llrs else "scores"

    def at_the_ends(self) -> list[str]:
        """What saturates, in words; LLRs of a calibration that has bounds lie at these."""
        classes = (("target", self.target), ("non-target", self.nontarget))
        highest, lowest = max(end.high for _, end in classes), min(end.low for _, end in classes)
        told = []
        for extreme, name in ((highest, "highest"), (lowest, "lowest")):
            shares = []
            for class_name, ends in classes:
                end, count = (ends.high, ends.at_high) if name == "highest" else (ends.low, ends.at_low)
                # the share decides for a large class; a small one needs at least a handful
                if end == extreme and count >= max(FEWEST_AT_AN_END, SHARE_AT_AN_END * ends.n):
                    shares.append(f"{100.0 * count / ends.n:.1f} % of the {class_name}")
            if shares and np.isfinite(extreme):
                where = f"{' and '.join(shares)} {self._what} are exactly {extreme:.6g}, the {name}"
                told.append(
                    f"{where} LLR: a bound of the calibration, or its scores were saturated"
                    if self.llrs
                    else f"{where} score: they are clipped or saturated"
                )
        return told
