"""Intervals by leaving out speakers in turn, and of error rates with few errors.

The jackknife computes every number again without each speaker in turn. With ``theta`` a number of S speakers
and ``theta_p`` the same number without the trials of speaker p, the pseudo-values ``S theta - (S - 1)
theta_p`` behave like S independent observations (Tukey 1958): their mean is the number corrected for its bias
to first order, their spread gives its standard error, and resampling them shows how skewed it is
(bootstrap-t, Efron 1981). Trials between two speakers are left out with either. Speakers in blocks that are
never compared, such as genders, are strata: the pseudo-values of each block spread around their own mean.

One pass (:func:`speaker_pass`) serves all intervals: it counts trials by speaker, and adds up the influences
of all numbers by pair of speakers. All influences but that of the logarithmic loss depend on the cell of a
score only, so that most sums follow from the counts. It gives the same as :class:`SpeakerCells` and
:class:`InfluenceSums` side by side, several times as fast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, Never, TypeVar

import numpy as np

from llrkit.base.arguments import ArrayLike, BoolArray, FloatArray, IntArray
from llrkit.base.process import cached_property
from llrkit.base.text import Json, counted, two_digits
from llrkit.core.numerics import BLOCK, blocks, logit, probability, sigmoid
from llrkit.core.summaries import Both, ReadOnlyArrays
from llrkit.metrics.measure import Measurements
from llrkit.scores import Scores, ScoreSource
from llrkit.trust import influence
from llrkit.trust.speakers import (
    CellSet,
    Contributions,
    Covariance,
    InfluenceSums,
    SpeakerCells,
    Speakers,
    centered,
    count_blocks,
    covariance_of,
    exact_limits,
    pair_columns,
    speaker_cells,
)

Scale = Literal["plain", "cost", "rate"]
DRAWS = 2000
"""Resampled sets of pseudo-values."""
_FEWEST_DF = 3.0
# stands for infinitely many standard errors: quantiles between infinite values do not exist
_FURTHEST = 1e9
"""Standard errors that stand for infinitely many."""


@dataclass(frozen=True, eq=False)
class Jackknife(ReadOnlyArrays):
    """Some numbers of all trials, and of all trials but those of each speaker (or group of speakers).

    Examples
    --------
    >>> whole = np.array([1.0, 2.0, 4.0, 9.0])  # one number a speaker: the mean has the usual error
    >>> without = (whole.sum() - whole) / 3
    >>> mean = Jackknife(("mean",), np.array([4.0]), without[:, None])
    >>> mean.pseudo_values[:, 0], bool(np.isclose(mean.standard_error[0], whole.std(ddof=1) / 2))
    (array([1., 2., 4., 9.]), True)
    """

    names: tuple[str, ...]
    values: FloatArray
    without: FloatArray
    """By speaker and number; nan where it does not exist without a speaker."""
    counted_once: FloatArray | float = 1.0
    """Share of the variance that is left when trials between two speakers are not counted twice."""
    blocks: tuple[int, ...] = ()
    """The block of each speaker (:class:`Speakers`); empty if there is only one."""

    @classmethod
    def of(
        cls, cells: SpeakerCells, function: Callable[[CellSet], ArrayLike], names: Sequence[str] = ()
    ) -> Jackknife:
        """The jackknife of any function of a set of trials.

        Where no trials of a class are left without a speaker the values are nan; the function is not called.
        """
        values = np.atleast_1d(np.asarray(function(cells.total), dtype=np.float64))
        without = np.full((cells.n_speakers, len(values)), np.nan)
        for row, kept in zip(without, cells, strict=True):
            # a function of an empty class has no value, and most would divide by 0
            if min(kept.n) > 0:
                row[:] = function(kept)
        names = tuple(names) or tuple(map(str, range(len(values))))
        return cls(names, values, without, blocks=cells.blocks)

    def __sub__(self, other: Jackknife) -> Jackknife:
        """The differences between two systems on the same trials, without the same speakers."""
        # shares of pairs belong to one number of one system; the caller sets those of the difference
        return Jackknife(
            self.names, self.values - other.values, self.without - other.without, blocks=self.blocks
        )

    def select(self, names: Sequence[str]) -> Jackknife:
        """Some of the numbers."""
        place = [self.names.index(name) for name in names]
        shares = np.broadcast_to(self.counted_once, len(self.values))
        return Jackknife(tuple(names), self.values[place], self.without[:, place], shares[place], self.blocks)

    def on_scales(self, scales: Sequence[Scale]) -> Jackknife:
        """The logit of rates, the logarithm of costs, and other numbers as they are."""
        values, without = np.array(self.values), np.array(self.without)
        for i, scale in enumerate(scales):
            values[i], without[:, i] = to_scale(values[i], scale), to_scale(without[:, i], scale)
        return replace(self, values=values, without=without)

    @property
    def n_speakers(self) -> int:
        """Number of speakers, or of groups of them."""
        return len(self.without)

    @cached_property
    def pseudo_values(self) -> FloatArray:
        """``S theta - (S - 1) theta_p``, by speaker and number."""
        n = self.n_speakers
        with np.errstate(invalid="ignore"):  # infinite on their scale: they have none
            return np.asarray(n * self.values - (n - 1) * self.without)

    @property
    def corrected(self) -> FloatArray:
        """The numbers corrected for bias: the means of the pseudo-values."""
        return np.asarray(self.pseudo_values.mean(axis=0))

    @property
    def deviations(self) -> FloatArray:
        """Pseudo-values less their mean, or less that of their block."""
        with np.errstate(invalid="ignore"):
            return centered(self.pseudo_values, self.blocks)

    @property
    def covariance(self) -> FloatArray:
        """Covariance matrix of the numbers."""
        n, d = self.n_speakers, self.deviations
        # covariances shrink by the roots of both shares, so the diagonal agrees with standard_error
        root = np.sqrt(np.broadcast_to(self.counted_once, len(self.values)))
        return np.asarray(d.T @ d / (n * (n - 1.0)) * np.outer(root, root))

    @property
    def standard_error(self) -> FloatArray:
        """Standard errors of the numbers."""
        n, d = self.n_speakers, self.deviations
        return np.asarray(np.sqrt(np.square(d).sum(axis=0) / (n * (n - 1.0)) * self.counted_once))

    @property
    def df(self) -> FloatArray:
        """Degrees of freedom of the variances: fewer than speakers - 1 where few speakers make most of it.

        A sum of squares ``d_p^2`` of independent normal deviations has ``3 (sum d^2)^2 / sum d^4`` terms.
        The mean of each block takes one of them.
        """
        d, means = self.deviations, count_blocks(self.blocks)
        squares, fourth = np.square(d).sum(axis=0), (d**4).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            # E d^4 = 3 (E d^2)^2 for normal deviations, so speakers
            # alike give about as many terms as there are
            terms = np.where(fourth > 0.0, 3.0 * squares**2 / fourth, 2.0)
        return np.asarray(np.clip(terms - means, 1.0, max(self.n_speakers - means, 1.0)))

    def studentized(self, *, draws: int = DRAWS, seed: int = 0) -> FloatArray:
        """Deviations over their standard errors in resampled sets of pseudo-values, by draw and number."""
        d, n = self.deviations, self.n_speakers
        times = resampled_times(n, draws, seed)
        mean = times @ d / n
        # the variance of each resampled set around its own mean, divided by n - 1 as an error of a mean is
        variance = np.maximum(times @ np.square(d) / n - np.square(mean), 0.0) / (n - 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            t = mean / np.sqrt(variance)
        # one speaker drawn every time has no spread; between infinite values there would be no quantile
        return np.asarray(np.clip(np.where(np.isnan(t) & np.isfinite(mean), 0.0, t), -_FURTHEST, _FURTHEST))

    def interval(
        self, level: float = 0.95, *, center: FloatArray | None = None, seed: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends for all numbers on this scale, around the corrected values or a given center.

        On each side the longer of the bootstrap-t interval, which sees skewness, and Student's t with the
        effective degrees of freedom: resampling few speakers does not see what none of them shows. Where one
        speaker makes most of the variance neither tells how far off the number may be; so both reach no
        further than Student's t with 3 degrees of freedom.
        """
        from scipy.special import stdtrit

        tail = 0.5 - 0.5 * probability(level, "level")
        low, high = np.quantile(self.studentized(seed=seed), [tail, 1.0 - tail], axis=0)
        student, furthest = stdtrit(self.df, 1.0 - tail), float(stdtrit(_FEWEST_DF, 1.0 - tail))
        # quantiles of t change sides: a long upper tail of t means that the number may lie far below
        down, up = (np.minimum(np.maximum(side, student), furthest) for side in (high, -low))
        middle, error = self.corrected if center is None else center, self.standard_error
        return np.asarray(middle - down * error), np.asarray(middle + up * error)


def correlations(a: Jackknife, b: Jackknife) -> FloatArray:
    """Correlation of each number of one jackknife with that of another; zero where one does not vary."""
    left, right = a.deviations, b.deviations
    product = np.sqrt(np.square(left).sum(axis=0) * np.square(right).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(product > 0.0, (left * right).sum(axis=0) / product, 0.0)


# the draws depend on n, draws and seed only, so all numbers of an evaluation share them
@lru_cache(maxsize=4)
def resampled_times(n: int, draws: int, seed: int) -> FloatArray:
    """How often each of n is drawn in each of several draws of n with replacement."""
    rng = np.random.default_rng([seed, n])
    keys = rng.integers(n, size=(draws, n)) + n * np.arange(draws)[:, None]
    times = np.bincount(keys.ravel(), minlength=n * draws).reshape(draws, n).astype(np.float64)
    times.flags.writeable = False
    return times


def to_scale(values: ArrayLike, scale: Scale) -> FloatArray:
    """Numbers on the scale on which their intervals are made."""
    x = np.asarray(values, dtype=np.float64)
    if scale == "plain":
        return x
    # 0 and 1 have no finite place on the scale; callers check for that
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(logit(x) if scale == "rate" else np.log(x))


def from_scale(values: ArrayLike, scale: Scale) -> FloatArray:
    """The inverse of :func:`to_scale`.

    Examples
    --------
    >>> [round(float(from_scale(to_scale(0.3, scale), scale)), 12) for scale in ("plain", "cost", "rate")]
    [0.3, 0.3, 0.3]
    """
    x = np.asarray(values, dtype=np.float64)
    if scale == "plain":
        return x
    return np.asarray(sigmoid(x) if scale == "rate" else np.exp(np.minimum(x, 700.0)))


LOG_LOSS = Contributions(1, lambda values, class_index: [influence.log_loss(values, class_index)])
"""The logarithmic loss of each trial, which is all that numbers of an evaluation need beside counts."""


def count_by_speaker(source: ScoreSource, result: Measurements, speakers: Speakers) -> SpeakerCells:
    """What the numbers of an evaluation are made of, by speaker; one pass.

    Speakers beyond 500 should be in groups (:meth:`Speakers.grouped`).
    """
    return speaker_cells(source, speakers, influence.score_cuts(result), LOG_LOSS)


def leave_out(cells: SpeakerCells, result: Measurements) -> Jackknife:
    """The numbers of an evaluation without each speaker; those of all trials are the exact ones.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.trust.speakers import find_speakers
    >>> rng = np.random.default_rng(1)
    >>> left, right = rng.integers(0, 20, 900), rng.integers(0, 20, 900)
    >>> trials = lk.Trials({"score": np.where(left == right, 2, -2) + 2 * rng.normal(size=900),
    ...                     "label": left == right, "left": left, "right": right})
    >>> result = lk.evaluate(trials, points=[0.1])
    >>> cells = count_by_speaker(trials, result, find_speakers(trials, ("left", "right")).grouped())
    >>> numbers = leave_out(cells, result).select(["cllr", "min_cllr"])
    >>> bool(numbers.corrected[1] > result.min_cllr)  # what was fitted to these trials looks too good
    True
    """
    place = np.searchsorted(cells.cuts, influence.decision_thresholds(result))

    def numbers(kept: CellSet) -> dict[str, float]:
        means = kept.means[:, 0]
        rates = kept.p_miss[place], kept.p_fa[place]
        return influence.evaluation_numbers(kept.bins(), (float(means[0]), float(means[1])), rates, result)

    counted = numbers(cells.total)
    jackknife = Jackknife.of(cells, lambda kept: list(numbers(kept).values()), tuple(counted))
    exact = np.array([exact_number(result, name) for name in jackknife.names])
    finite = np.isfinite(exact)
    # within a cell scores are not told apart, neither in all trials nor in some of them
    # counts in cells are off by the same small amount with and without a
    # speaker, so the exact number minus the counted one is added to all
    shift = np.where(finite, np.where(finite, exact, 0.0) - np.where(finite, jackknife.values, 0.0), 0.0)
    return replace(jackknife, values=exact, without=jackknife.without + shift)


def exact_number(result: Measurements, name: str) -> float:
    """A number of an evaluation by its name, such as ``points.0.min_dcf``."""
    found: object = result
    for part in name.replace("fixed_threshold", "fixed").split("."):
        found = found[int(part)] if isinstance(found, tuple) else getattr(found, part)
    if not isinstance(found, (int, float)):
        raise TypeError(f"{name} is no number")
    return float(found)


FEWEST_MAKERS = 4.0
"""A speaker who is mistaken for many others makes errors as unequally as four speakers would."""
MANY_MAKERS = 2.0 * FEWEST_MAKERS
"""From so many speakers with errors on, a rate tells how many independent trials would know it as well."""
COST_MAKERS = 6.0 * FEWEST_MAKERS
"""Up to so many speakers with errors, the upper end of a cost is that of its rates."""
_LOOKED_AT = 200
"""Thresholds at which the effective number of trials is looked at."""


@dataclass(frozen=True, eq=False)
class RateIntervals(ReadOnlyArrays):
    """Intervals of the rates of one kind of error at several thresholds."""

    rate: FloatArray
    low: FloatArray
    high: FloatArray
    bound: FloatArray
    """One-sided upper bound."""
    few: BoolArray
    """Where so few speakers make the errors (or all but the errors) that only the bound can be trusted."""
    makers: FloatArray
    """How many speakers who make equally many errors would be as unequal."""


@dataclass(frozen=True, eq=False)
class ErrorRates(ReadOnlyArrays):
    """The rates of one kind of error at some thresholds: of all trials, and without each speaker."""

    jackknife: Jackknife
    makers: FloatArray
    """Effective number of speakers who make the errors, or who make none where errors prevail."""
    events: FloatArray
    """The same divided by the speakers of a trial: one false alarm has two of them, and is one event."""
    errors: FloatArray
    """How many there are; of weighted trials, whose number is not known, the events."""
    effective: float
    """How many independent trials would know the rates as well, in the middle of the curve."""

    @classmethod
    def of(
        cls, cells: SpeakerCells, class_index: int, places: ArrayLike, along: ArrayLike | None = None
    ) -> ErrorRates:
        """Misses (class 0) or false alarms (class 1) at the cuts with these numbers.

        The effective number of trials is looked at ``along`` other cuts, by default all of them.
        """
        where = np.arange(len(cells.cuts)) if along is None else np.asarray(along, dtype=np.intp)
        # evenly spaced cuts: enough to see the middle of the curve
        every = where[np.unique(np.linspace(0, len(where) - 1, _LOOKED_AT).astype(np.intp))]
        looked = _rates_without_speakers(cells, class_index, every)
        rate, error = looked.jackknife.values, looked.jackknife.standard_error
        known = (looked.makers >= MANY_MAKERS) & (error > 0.0)
        effective = looked.effective
        if known.any():
            # n such that rate (1 - rate) / n is the variance that the speakers show
            sizes = rate[known] * (1.0 - rate[known]) / np.square(error[known])
            # the median over the curve is robust to thresholds that happen to have little spread
            effective = min(effective, float(np.median(sizes)))
        return replace(
            _rates_without_speakers(cells, class_index, np.asarray(places, dtype=np.intp)),
            effective=effective,
        )

    def intervals(
        self, level: float, *, counted_once: FloatArray | float = 1.0, corrected: bool = True
    ) -> RateIntervals:
        """On the logit scale; as of an effective number of independent trials where few make the errors.

        ``corrected`` intervals lie around the rates corrected for bias on that scale.
        """
        rate = self.jackknife.values
        scaled = replace(self.jackknife, counted_once=counted_once).on_scales(["rate" for _ in rate])
        inside = np.isfinite(scaled.values) & np.isfinite(scaled.without).all(axis=0)
        # rates of 0 or 1, with or without some speaker, have no logit
        few = ~inside | (self.makers < FEWEST_MAKERS)
        rare = np.minimum(rate, 1.0 - rate)
        # a speaker, or a pair, with many errors counts as one event
        k = np.minimum(rare * self.effective, self.events)
        with np.errstate(invalid="ignore", divide="ignore"):
            # the number of trials that goes with k errors at this rate
            size = np.where(k > 0.0, k / np.where(rare > 0.0, rare, 1.0), self.effective)
        low, high, bound = exact_limits(np.where(rate > 0.5, size - k, k), size, level)
        if (~few).any():
            some = scaled.select([scaled.names[i] for i in np.flatnonzero(~few)])
            center = None if corrected else some.values
            ends = some.interval(level, center=center)
            # where not many make the errors, such sets are among those that show too many of them
            shaky = self.makers[~few] < 1.5 * FEWEST_MAKERS
            lower = from_scale(ends[0], "rate")
            # the interval may only become longer by this
            low[~few] = np.where(shaky, np.minimum(lower, low[~few]), lower)
            high[~few] = from_scale(ends[1], "rate")
            if level > 0.5:  # a one-sided bound is the end of a shorter interval of two sides
                _, upper = some.interval(2.0 * level - 1.0, center=center)
                upper = np.maximum(from_scale(upper, "rate"), rate[~few])
                # a handful of errors, each by other speakers, shows no spread
                handful = self.errors[~few] < influence.FEWEST_ERRORS
                bound[~few] = np.where(handful, np.maximum(upper, bound[~few]), upper)
        return RateIntervals(rate, low, high, bound, few, self.makers)


def _rates_without_speakers(cells: SpeakerCells, class_index: int, places: IntArray) -> ErrorRates:
    counts = (cells.target, cells.nontarget)[class_index]
    below = np.cumsum(counts, axis=1, dtype=np.float64)
    sizes, errors = below[:, -1:], below[:, places]
    if class_index == 1:
        # counts below a cut are misses for targets; for non-targets the rest are false alarms
        errors = sizes - errors
    with np.errstate(invalid="ignore", divide="ignore"):  # a group may have no trial of the class
        rate = errors[-1] / sizes[-1]
        without = (errors[-1] - errors[:-1]) / (sizes[-1] - sizes[:-1])
        # where errors prevail, the trials without one are the rare events
        rare = np.where(rate > 0.5, sizes - errors, errors)
        own, total = rare[:-1], rare[-1]
        # (sum e)^2 / sum e^2: speakers with equally many errors that would be as uneven
        makers = np.nan_to_num(np.square(own.sum(axis=0)) / np.square(own).sum(axis=0))
        # a false alarm has two speakers and is in both rows, so the sum over speakers is twice the total
        events = np.nan_to_num(makers * total / own.sum(axis=0))
    # rounding of weighted counts must not give rates beyond their ends
    names = tuple(map(str, range(len(places))))
    jackknife = Jackknife(names, rate, np.clip(without, 0.0, 1.0), blocks=cells.blocks)
    known = np.issubdtype(counts.dtype, np.integer)
    return ErrorRates(jackknife, makers, events, total if known else events, float(sizes[-1, 0]))


KINDS = ("misses", "false alarms")


def best_thresholds(result: Measurements) -> FloatArray:
    """The threshold with the lowest cost at each operating point; infinite if it rejects all trials."""
    blocks = result.summaries.blocks
    vertex = np.searchsorted(blocks.llr, [point.point.threshold for point in result.points])
    return np.append(blocks.low, math.inf)[vertex]


def rates_looked_at(cells: SpeakerCells, result: Measurements) -> tuple[ErrorRates, ErrorRates]:
    """Misses and false alarms at the thresholds of decisions, then at the best one of each point."""
    used = np.concatenate([influence.decision_thresholds(result), best_thresholds(result)])
    # a threshold of infinity has no cell; the last one stands in, and its cost has a reason instead
    place = np.minimum(np.searchsorted(cells.cuts, used), len(cells.cuts) - 1)
    return ErrorRates.of(cells, 0, place), ErrorRates.of(cells, 1, place)


def few_makers(kind: str, rate: float, makers: float) -> str:
    """Why errors of a kind ("misses", "false alarms") that few speakers make say little about others."""
    if rate == 0.0:
        return f"there are no {kind}"
    if rate == 1.0:
        return f"there is nothing but {kind}"
    return f"the {kind} come from few speakers, effectively {makers:.1f}"


def makers_of_errors(cells: SpeakerCells, result: Measurements) -> tuple[dict[str, float], dict[str, str]]:
    """By name of a number at an operating point, how many speakers make its errors, and why they are too few.

    Of an actual cost those of the kind of errors that fewer make; of a minimum there is no number.
    """
    rates = rates_looked_at(cells, result)
    n_fixed = len(influence.decision_thresholds(result))
    fewer = np.minimum(rates[0].makers, rates[1].makers).tolist()

    def why(place: int, *classes: int) -> str:
        for one in classes:
            n, rate = float(rates[one].makers[place]), float(rates[one].jackknife.values[place])
            if n < FEWEST_MAKERS:
                return few_makers(KINDS[one], rate, n)
        return ""

    makers, reasons = {}, {}
    for i in range(len(result.points)):
        for class_index, name in enumerate(("p_miss", "p_fa")):
            makers[f"points.{i}.{name}"] = float(rates[class_index].makers[i])
            reasons[f"points.{i}.{name}"] = why(i, class_index)
        makers[f"points.{i}.act_dcf"] = fewer[i]
        reasons[f"points.{i}.act_dcf"], reasons[f"points.{i}.min_dcf"] = why(i, 0, 1), why(n_fixed + i, 0, 1)
    for i, primary in enumerate(result.primaries):
        makers[f"primaries.{i}.act"] = min(fewer[member] for member in primary.members)
        for kind in ("min", "act"):
            of_members = [reasons[f"points.{member}.{kind}_dcf"] for member in primary.members]
            reasons[f"primaries.{i}.{kind}"] = next(filter(None, of_members), "")
    return makers, {name: reason for name, reason in reasons.items() if reason}


FEWEST_EFFECTIVE = 20.0
"""With fewer speakers, or as unequal ones, intervals are rough."""


def few_speakers_note(effective: Mapping[str, float]) -> list[str]:
    """Says so where the trials of a kind are of few speakers, or mostly of few; by kind, how many they are.

    Examples
    --------
    >>> few_speakers_note({"target": 40.0, "spoof": 25.0})
    []
    """
    kind, least = min(effective.items(), key=lambda item: item[1], default=("", math.inf))
    if least >= FEWEST_EFFECTIVE:
        return []
    what = "non-target" if kind == "nontarget" else kind
    return [
        f"the {what} trials are spread as unevenly as over {counted(round(least), 'equal speaker')}: with "
        f"fewer than {FEWEST_EFFECTIVE:.0f}, intervals are rough, and rather too short"
    ]


Range = tuple[float, float]
V = TypeVar("V")


def _empty_mapping() -> Mapping[str, Never]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Uncertainty:
    """Intervals of the numbers of an evaluation, by name.

    Names are those of the JSON, with the place in a list: ``"eer"``, ``"points.0.min_dcf"``,
    ``"primaries.0.act"``, ``"fixed_threshold.hter"``. Every number has either an interval or a reason
    why it has none.

    Examples
    --------
    >>> reasons = {"points.0.act_dcf": "why"}
    >>> uncertainty = Uncertainty("trial", 0.95, {"eer": (0.04, 0.06)}, no_interval=reasons)
    >>> uncertainty.with_prefix("")
    {'intervals': {'eer': [0.04, 0.06]}, 'no_interval': {}}
    >>> uncertainty.with_prefix("points.0.")
    {'intervals': {}, 'no_interval': {'act_dcf': 'why'}}
    """

    kind: str
    """``"trial"``, ``"speaker"`` or ``"bootstrap"``."""
    level: float
    intervals: Mapping[str, Range]
    standard_error: Mapping[str, float] = field(default_factory=_empty_mapping)
    design_effect: Mapping[str, float] = field(default_factory=_empty_mapping)
    """Variance over the variance of as many independent trials; empty where trials are taken as such."""
    no_interval: Mapping[str, str] = field(default_factory=_empty_mapping)
    upper_bound: Mapping[str, float] = field(default_factory=_empty_mapping)
    """One-sided bounds at this level, of numbers without interval because few speakers make the errors."""
    corrected: Mapping[str, float] = field(default_factory=_empty_mapping)
    """Numbers that are fitted to the trials, corrected for what the fit makes them look better by."""
    n_speakers: int | None = None
    notes: tuple[str, ...] = ()

    def with_prefix(self, prefix: str) -> dict[str, Json]:
        """The intervals of the object whose numbers have this prefix, as in the JSON."""

        def own(values: Mapping[str, V]) -> dict[str, V]:
            names = (name for name in values if name.startswith(prefix))
            return {
                name.removeprefix(prefix): values[name] for name in names
                if "." not in name.removeprefix(prefix)
            }  # fmt: skip

        plain: dict[str, Json] = {
            "intervals": {name: list(ends) for name, ends in own(self.intervals).items()},
            "no_interval": own(self.no_interval),
        }
        if self.n_speakers:
            plain["design_effect"] = own(self.design_effect)
        more = {"upper_bound": own(self.upper_bound), "bias_corrected": own(self.corrected)}
        return plain | {name: values for name, values in more.items() if values}

    def settings(self) -> dict[str, Json]:
        """How the intervals were made."""
        return {
            "kind": self.kind, "level": self.level, "n_speakers": self.n_speakers, "notes": list(self.notes)
        }  # fmt: skip


def range_around(value: float, low: float, high: float) -> Range:
    """An interval that holds its value; one around a value corrected for bias may miss it.

    Examples
    --------
    >>> range_around(0.12, 0.05, 0.1)
    (0.05, 0.12)
    """
    return min(low, value), max(high, value)


def reason_for_no_interval(number: influence.Functional, variance: float) -> str:
    """Why a number has no interval, if it has none."""
    inside = 0.0 < number.value < (1.0 if number.scale == "rate" else math.inf)
    if not (inside and variance > 0.0):
        return "it is at an end of its range, or does not vary: no standard error can be given"
    return ""


def effect_note(effects: Mapping[str, float], n_speakers: int) -> list[str]:
    """What sharing speakers costs, in words; an estimate that few speakers leave uncertain.

    Examples
    --------
    >>> effect_note({"cllr": 1.893}, 97)
    ['97 speakers; design effect of Cllr about 1.9: as informative as about 53 % as many independent trials']
    """
    if not n_speakers or "cllr" not in effects:
        return []
    effect = effects["cllr"]
    said = f"{counted(n_speakers, 'speaker')}; design effect of Cllr about {two_digits(effect)}"
    if effect > 1.0:
        said += f": as informative as about {two_digits(100 / effect)} % as many independent trials"
    return [said]


_FEW_EDGES = 2
"""Steps of the errors at a threshold, or at the crossing of the hull with Pmiss = Pfa."""


def speaker_pass(
    source: ScoreSource, influences: influence.StepInfluences, speakers: Speakers
) -> tuple[SpeakerCells, Covariance]:
    """Counts and losses by speaker, and the covariance of the influences."""

    def summarize(chunk: Scores) -> Both[tuple[SpeakerCells, InfluenceSums]]:
        (target, t_loss, t_sums), (nontarget, n_loss, n_sums) = (
            _speaker_pass_of_class(chunk, i, influences, speakers) for i in (0, 1)
        )
        losses = np.stack([t_loss, n_loss])[:, None]
        cells = SpeakerCells(influences.finder.cuts, target, nontarget, losses, speakers.blocks)
        return Both((cells, t_sums + n_sums))

    cells, sums = source.with_columns(*speakers.columns).reduce(summarize).summaries
    return cells, covariance_of(sums, influences.columns, speakers)


def _speaker_pass_of_class(
    chunk: Scores, class_index: int, influences: influence.StepInfluences, speakers: Speakers
) -> tuple[IntArray, FloatArray, InfluenceSums]:
    """Counts by (speaker, cell), losses by speaker (all trials last), and sums of influences."""
    values = (chunk.target, chunk.nontarget)[class_index]
    n, width, steps = speakers.n, influences.finder.n_cells, influences.steps[class_index]
    first, second = speakers.of(chunk, class_index)
    crossed = class_index == 1 or speakers.targets_cross
    kept = pair_columns(influences.columns, speakers)
    rows = [kept.index(column) for column in influences.columns(class_index)] if crossed else []
    size = (n + 1) * width
    counts, losses, squares = np.zeros(size, dtype=np.int64), np.zeros(n + 1), 0.0
    # by first and second speaker; within one speaker the second is nobody
    # n (n + 1): a column for nobody, the second speaker of trials within one
    pairs, trials_of_pair = np.zeros((len(kept), n * (n + 1))), np.zeros(n * (n + 1), dtype=np.int64)
    # most influences are errors at a threshold, with one step: sums over the trials beyond it are cheaper
    # than sums of looked-up values over all trials
    jumps: list[list[tuple[int, float]]] = []  # cells where a step function changes, and by how much
    for change in np.diff(steps, axis=1):
        edges = np.flatnonzero(change)
        few = edges if len(edges) <= _FEW_EDGES else edges[:0]
        jumps.append([(int(i) + 1, float(change[i])) for i in few])
    lowest = min((edge for found in jumps for edge, _ in found), default=0)
    all_losses = 0.0
    # blocks no smaller than the tables, which are added up for each
    for block in blocks(len(values), max(BLOCK, size // 4)):
        cell, one, other = influences.finder(values[block]), first[block], second[block]
        loss = influences.loss(values[block], class_index)
        all_losses += float(loss.sum())
        squares += float(np.einsum("n,n->", loss, loss))
        own = one * width + cell
        if not crossed:
            counts += np.bincount(own, minlength=size)
            losses += np.bincount(one, loss, minlength=n + 1)
            continue
        counts += np.bincount(np.concatenate([own, other * width + cell]), minlength=size)
        keys = one * (n + 1) + other
        pairs[rows[0]] += np.bincount(keys, loss, minlength=n * (n + 1))
        trials_of_pair += np.bincount(keys, minlength=n * (n + 1))
        # errors at a threshold: few non-targets are beyond the lowest
        beyond = np.flatnonzero(cell >= lowest)
        far_cell, far_keys = cell[beyond], keys[beyond]
        for row, step, found in zip(rows[1:], steps, jumps, strict=True):
            for edge, jump in found:
                pairs[row] += jump * np.bincount(far_keys[far_cell >= edge], minlength=n * (n + 1))
            if not found:
                pairs[row] += np.bincount(keys, step[cell], minlength=n * (n + 1))
    if crossed:
        for row, step, found in zip(rows[1:], steps, jumps, strict=True):
            if found:
                # what all trials of a pair have before the first step
                pairs[row] += step[0] * trials_of_pair
    square = pairs.reshape(len(kept), n, n + 1)
    # trials within a speaker belong on the diagonal
    square[:, np.arange(n), np.arange(n)] += square[:, :, n]
    pairs = square[:, :, :n].reshape(len(kept), n * n)
    if crossed:
        of_loss = pairs[rows[0]].reshape(n, n)
        losses[:n] = of_loss.sum(axis=0) + of_loss.sum(axis=1) - np.diag(of_loss)
    table: IntArray = counts.reshape(n + 1, width)
    # a trial is in the rows of both of its speakers, or of one and of nobody
    total = table.sum(axis=0) // (2 if crossed else 1)
    table[n], losses[n] = total, all_losses
    mean = influences.mean_loss[class_index]
    # influences are centered; speaker cells hold plain losses, so the mean is put back
    uncentered = losses + (mean * table.sum(axis=1) if np.isfinite(mean) else np.inf)
    columns = list(influences.columns(class_index))
    trials, by_speaker = np.zeros((influences.size, influences.size)), np.zeros((influences.size, n))
    trials[columns[0], columns[0]] = squares
    # products over trials follow from counts by cell, because steps are constant in a cell
    trials[np.ix_(columns[1:], columns[1:])] = (steps * total) @ steps.T
    if not crossed:
        by_speaker[columns] = np.vstack([losses[None, :n], steps @ table[:n].T])
    return table, uncentered, InfluenceSums(trials, by_speaker, pairs)
