"""Intervals by drawing trials or speakers again.

Replicates are counted on a common grid of the score, many in one pass: a draw says how often each speaker (or
trial) counts, and the counts of a replicate are the sums of these weights in the cells of the grid. Numbers
of an evaluation then follow from the counts as they do for the trials themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from llrkit.base.arguments import FloatArray, IntArray, checked_seed
from llrkit.base.process import at_once, stage
from llrkit.base.text import counted
from llrkit.core.cells import Grid, TrialCounts, collect_again, score_indexes
from llrkit.core.numerics import logit, sigmoid, softplus
from llrkit.core.summaries import FieldwiseSums, Moments, UnweightedSummary
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.metrics.measure import Measurements
from llrkit.scores import POSITION, Scores, ScoreSource
from llrkit.trust import influence
from llrkit.trust.jackknife import Range, Uncertainty, effect_note, range_around, reason_for_no_interval
from llrkit.trust.speakers import Speakers, covariance, find_speakers, quadratic, quantile

FEWEST_SPEAKERS = 5
"""With fewer, most replicates hold the same speakers again, or nobody to compare them with."""
FEWEST_REPLICATES = 100
"""Fewer have no percentiles as far out as intervals need."""
MOST_REPLICATES = 1_000_000
"""More would not change a digit that is shown, and keep a computer busy for days."""
MOST_TRIALS = 2_000_000
"""Each replicate holds a number for every trial."""
MOST_NUMBERS = 1 << 25
"""Counts kept at a time; more replicates than this allows for take another pass."""
AT_A_TIME = 250
"""Replicates that are counted in one pass at most."""
Sides = tuple[IntArray, ...]
"""The numbers of both speakers of each trial and, if known, of both recordings."""


def bootstrap(
    source: ScoreSource, result: Measurements, resampling: Resampling, level: float, n: int
) -> Uncertainty:
    """Intervals of all numbers of an evaluation, see :func:`percentile_interval`."""
    drawn = bootstrap_numbers(source, result, resampling, checked_replicates(n))
    wanted = influence.functionals(result, influence.trial_numbers(source))
    # the variance if trials were independent, in the denominator of the design effect
    single = covariance(source, wanted.influences.contributions).independent
    units = resampling.units
    n_speakers = units if isinstance(resampling, SpeakerResampling) else None
    intervals, errors, effects, reasons = {}, {}, {}, dict(wanted.reasons)
    for number in wanted.numbers:
        # a replicate without errors may have no finite number; then there is no variance to judge by
        variance = float(np.var(drawn[number.name])) if np.isfinite(drawn[number.name]).all() else 0.0
        reason = number.reason or reason_for_no_interval(number, variance)
        if reason:
            reasons[number.name] = reason
            continue
        ends = percentile_interval(number, drawn[number.name], units, level)
        intervals[number.name] = range_around(number.value, *ends)
        errors[number.name] = math.sqrt(variance)
        own = quadratic(single, number.coefficients)
        if own > 0.0:
            effects[number.name] = variance / own
    if np.isfinite(drawn["det_slope"]).all() and math.isfinite(result.det_slope.slope):
        low, high = np.quantile(drawn["det_slope"], tail_probabilities(units, level))
        intervals["det_slope"] = (float(low), float(high))
        del reasons["det_slope"]
    else:
        reasons["det_slope"] = "too few errors: some replicates have no slope"
    used = len(drawn["cllr"])
    notes = [f"{counted(n, 'replicate')}, seed {resampling.seed}; bias-corrected percentile intervals"]
    if n_speakers is None:
        notes.append("trials drawn within each class, as if they were independent")
    if used < n:
        notes.append(f"{n - used:,} replicates without trials of both classes were left out")
    return Uncertainty(
        kind="bootstrap",
        level=level,
        intervals=MappingProxyType(intervals),
        standard_error=MappingProxyType(errors),
        design_effect=MappingProxyType(effects),
        no_interval=MappingProxyType(reasons),
        n_speakers=n_speakers,
        notes=(*notes, *effect_note(effects, n_speakers or 0)),
    )


def bootstrap_numbers(
    source: ScoreSource, result: Measurements, resampling: Resampling, n: int, *, slope: bool = True
) -> dict[str, FloatArray]:
    """The numbers of an evaluation in each of ``n`` replicates, by name.

    Replicates in which a class was not drawn at all are left out.
    """
    thresholds = influence.decision_thresholds(result)
    # counting needs ascending thresholds; `place` puts the rates back into the order of the points
    place, cuts = np.argsort(np.argsort(thresholds)), np.sort(thresholds)
    grid = collect_again(source, source.reduce(Grid.of))
    points, own = grid.points, 0 if grid.smaller == "target" else 1
    assert points is not None
    wide = source.with_columns(*resampling.columns)
    # counts at the points and between them, and below each threshold, of all replicates of a pass at once
    at_a_time = min(AT_A_TIME, max(1, at_once(MOST_NUMBERS, unit=8) // (3 * len(points) + 2 * len(cuts) + 1)))
    unknown = np.full(len(points) + 1, np.nan)  # where exactly scores lie between the points is not counted
    rows = []
    with stage("resampling", n, "replicates") as done:
        for start in range(0, n, at_a_time):
            draws = [resampling.draw(i) for i in range(start, min(start + at_a_time, n))]

            def summarize(chunk: Scores, draws: list[Draw] = draws) -> ReplicateCounts:
                classes = [
                    _class_replicates(chunk, i, points, i == own, cuts, resampling, draws) for i in (0, 1)
                ]
                losses, below = (np.array([one[k] for one in classes]) for k in (1, 2))
                return ReplicateCounts(classes[own][0], classes[1 - own][0], losses, below)

            drawn = wide.reduce(summarize)
            for i in range(len(draws)):
                counts = TrialCounts(points, grid.smaller, drawn.at[i], drawn.cells[i], unknown, unknown)
                size = counts.n_target, counts.n_nontarget
                # a class that nobody drew has no rates
                if min(size) > 0:
                    loss = float(drawn.loss[0, i] / size[0]), float(drawn.loss[1, i] / size[1])
                    # counts below thresholds are exact, whatever the grid:
                    # actual costs do not depend on its cells
                    below = drawn.below[0, i] / size[0], drawn.below[1, i] / size[1]
                    rates = below[0][place], (1.0 - below[1])[place]
                    rows.append(influence.evaluation_numbers(counts.bins(), loss, rates, result, slope=slope))
            done(len(draws))
    if not rows:
        raise TooFewTrialsError("no replicate holds trials of both classes: too few speakers or trials")
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def percentile_interval(
    number: influence.Functional, drawn: FloatArray, n_speakers: int, level: float
) -> Range:
    """Percentiles of the replicates, corrected for bias and for the small number of speakers.

    What is fitted to the trials (a threshold, a PAV map) looks better than it is, and in a replicate once
    more by as much; so the percentiles are moved, on the scale of the number, by twice the difference
    between the estimate and the mean of the replicates. They are taken further out than the level says,
    at ``Phi(-sqrt(S / (S - 1)) t)`` with t the Student quantile (Hesterberg 2015).
    """
    # the correction is made where the number is nearly normal, and the ends stay inside its range
    to, back = (logit, sigmoid) if number.scale == "rate" else (np.log, np.exp)
    with np.errstate(divide="ignore"):  # a replicate without errors: the end of the scale
        ends = to(np.quantile(drawn, tail_probabilities(n_speakers, level)))
    low, high = back(ends + 2.0 * (to(number.value) - to(float(drawn.mean()))))
    return float(low), float(high)


def checked_replicates(n: int, fewest: int | None = None) -> int:
    """A number of replicates that percentiles can be taken of, in a time that somebody would wait."""
    fewest = FEWEST_REPLICATES if fewest is None else fewest
    if isinstance(n, bool) or not isinstance(n, int) or not fewest <= n <= MOST_REPLICATES:
        raise InputError(
            f"replicates must be a whole number of at least {fewest} and at most {MOST_REPLICATES:,}, "
            f"got {str(n)[:40]}"
        )
    return n


def tail_probabilities(n_speakers: int, level: float) -> list[float]:
    """Where percentiles are taken: a little further out than the level says when speakers are few."""
    from scipy.special import ndtr

    # the variance of a resampled mean is (S - 1) / S of the
    # unbiased one, and S - 1 degrees of freedom estimate it
    reach = math.sqrt(n_speakers / (n_speakers - 1.0)) * quantile(level, n_speakers - 1)
    return [float(ndtr(-reach)), float(ndtr(reach))]


def speaker_resampling(
    source: ScoreSource,
    speakers: str | Sequence[str],
    recordings: str | Sequence[str] | None = None,
    seed: int = 0,
) -> SpeakerResampling:
    """Prepare resampling of the speakers in one or two columns, and of the recordings in as many others."""
    seed = checked_seed(seed)
    speaker_set = find_speakers(source, speakers)
    if speaker_set.n < FEWEST_SPEAKERS:
        raise TooFewTrialsError(
            f"there are only {counted(speaker_set.n, 'speaker')} in {' and '.join(speaker_set.columns)}; "
            f"resampling them needs at least {FEWEST_SPEAKERS}"
        )
    if recordings is None:
        return SpeakerResampling(speaker_set, seed=seed)
    recording_set = find_speakers(source, recordings)
    if len(recording_set.columns) != len(speaker_set.columns):
        raise InputError(
            "as many columns of recordings as of speakers are needed: "
            f"{recording_set.columns}, {speaker_set.columns}"
        )

    def summarize(chunk: Scores) -> _Owners:
        owners = []
        for class_index in (0, 1):
            first, second = speaker_set.of(chunk, class_index)
            left, right = recording_set.of(chunk, class_index)
            # Speakers.of gives "nobody" as the second side of a trial
            # within a speaker; here it is the speaker again
            second = np.where(second == speaker_set.n, first, second)
            right = np.where(right == recording_set.n, left, right)
            owners += [left * speaker_set.n + first, right * speaker_set.n + second]
        return _Owners(np.unique(np.concatenate(owners)))

    found = source.with_columns(*speaker_set.columns, *recording_set.columns).reduce(summarize)
    recording, speaker_of = np.divmod(found.keys, speaker_set.n)
    several = np.flatnonzero(np.diff(recording) == 0)
    if len(several):
        name = list(recording_set.number_of)[recording[several[0]]]
        raise InputError(f"recording {name!r} belongs to more than one speaker")
    return SpeakerResampling(speaker_set, recording_set, speaker_of, int(seed))


def trial_resampling(source: ScoreSource, seed: int = 0) -> TrialResampling:
    """Prepare resampling of the trials of a source."""
    seed = checked_seed(seed)
    # a weight would say how often a trial counts, which is what the draw decides
    if source.roles.weight is not None:
        raise InputError("ci='bootstrap' without speakers draws trials that count once; these have weights")
    moments = source.reduce(Moments.of)
    sizes = [round(one.count) for one in (moments.target, moments.nontarget)]
    if min(sizes) < FEWEST_SPEAKERS:
        raise TooFewTrialsError(
            f"there are only {min(sizes)} trials of a class; resampling them needs at least {FEWEST_SPEAKERS}"
        )
    if sum(sizes) > MOST_TRIALS:
        raise InputError(
            f"ci='bootstrap' without speakers draws all trials, at most {MOST_TRIALS:,}, got {sum(sizes):,}; "
            "ci='trial' gives intervals in closed form"
        )
    return TrialResampling(sizes[0], sizes[1], int(seed))


@dataclass(frozen=True)
class SpeakerResampling:
    """Draws speakers with replacement (Poh, Martin & Bengio 2007), and their recordings if they are known.

    A trial between two speakers counts ``m_p m_q`` times, one within a speaker ``m_p`` times, where m is
    how often a speaker was drawn. With recordings, each drawn speaker's recordings are drawn with
    replacement too, and speakers' numbers are replaced by those of the recordings.
    """

    speakers: Speakers
    recordings: Speakers | None = None
    speaker_of: IntArray | None = None
    """Speaker of each recording."""
    seed: int = 0

    @property
    def units(self) -> int:
        """What a number of degrees of freedom is counted from."""
        return self.speakers.n

    @property
    def columns(self) -> tuple[str, ...]:
        """What each chunk must carry."""
        more = self.recordings.columns if self.recordings is not None else ()
        return tuple(dict.fromkeys((*self.speakers.columns, *more)))

    def sides(self, chunk: Scores, class_index: int) -> Sides:
        """The speakers and recordings of the trials of one class of a chunk."""
        recordings = self.recordings.of(chunk, class_index) if self.recordings is not None else ()
        return (*self.speakers.of(chunk, class_index), *recordings)

    def draw(self, replicate: int) -> Draw:
        """The multiplicities of one replicate; the same whatever else was drawn before."""
        # seeded by replicate, so replicates do not depend on how many are made in a pass
        rng = np.random.default_rng([self.seed, replicate])
        n = self.speakers.n
        times = np.bincount(rng.integers(n, size=n), minlength=n + 1)
        times[n] = 1  # nobody: the second speaker of a trial within one speaker
        if self.speaker_of is None:
            return Draw(n, times.astype(np.float64))
        return Draw(n, times.astype(np.float64), *_draw_recordings(times[:n], self.speaker_of, rng))


@dataclass(frozen=True)
class TrialResampling:
    """Draws as many targets as there are, and as many non-targets, with replacement.

    Examples
    --------
    >>> drawn = TrialResampling(2, 3).draw(0).speakers
    >>> drawn[:2].sum(), drawn[2:5].sum()
    (np.float64(2.0), np.float64(3.0))
    """

    n_target: int
    n_nontarget: int
    seed: int = 0
    columns: tuple[str, ...] = (POSITION,)

    @property
    def units(self) -> int:
        """What a number of degrees of freedom is counted from: the trials of the smaller class."""
        return min(self.n_target, self.n_nontarget)

    def sides(self, chunk: Scores, class_index: int) -> Sides:
        """The number of each trial of a class, targets coming first, and nobody."""
        # trials of both classes share one array of multiplicities, targets first
        first = chunk.columns[POSITION][class_index] + (self.n_target if class_index else 0)
        return first, np.full(len(first), self.n_target + self.n_nontarget)

    def draw(self, replicate: int) -> Draw:
        """How often each trial was drawn; the same whatever else was drawn before."""
        rng = np.random.default_rng([self.seed, replicate])
        sizes = (self.n_target, self.n_nontarget)
        times = [np.bincount(rng.integers(n, size=n), minlength=n) for n in sizes]
        # the last number is that of nobody, who counts once
        return Draw(sum(sizes), np.concatenate([*times, [1]]).astype(np.float64))


@dataclass(frozen=True)
class Draw:
    """How often each speaker was drawn, and each recording in each copy of its speaker."""

    n: int
    speakers: FloatArray
    recordings: FloatArray | None = None
    copies: tuple[FloatArray, ...] = ()

    def weights(self, sides: Sides) -> FloatArray:
        """How often each trial counts.

        Examples
        --------
        >>> Draw(2, np.array([2.0, 3.0, 1.0])).weights((np.array([0, 1]), np.array([1, 2])))
        array([6., 3.])
        """
        first, second, *recordings = sides
        if self.recordings is None or not recordings:
            weights = self.speakers[first]
            weights *= self.speakers[second]
            return weights
        left, right = recordings
        weights = self.recordings[left] * self.recordings[right]
        within = np.flatnonzero(second == self.n)
        left, right = left[within], right[within]
        # both sides of such a trial belong to the same copy of the speaker
        weights[within] = sum((copy[left] * copy[right] for copy in self.copies), np.zeros(len(within)))
        return weights


def _draw_recordings(
    times: IntArray, speaker_of: IntArray, rng: np.random.Generator
) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """Multiplicities of the recordings, for each copy of the speakers and together; 1 for nobody."""
    count = np.bincount(speaker_of, minlength=len(times))
    by_speaker = np.argsort(speaker_of, kind="stable")
    start = np.cumsum(count) - count
    copies = []
    # each copy of a speaker has recordings of its own, drawn
    # anew: copies are different people in the replicate
    for copy in range(int(times.max())):
        drawn = np.flatnonzero(times > copy)
        owner = np.repeat(drawn, count[drawn])
        picked = by_speaker[start[owner] + rng.integers(count[owner])]
        times_drawn = np.bincount(picked, minlength=len(speaker_of) + 1).astype(np.float64)
        times_drawn[-1] = 1.0  # a trial between a recording and itself, or with one column only
        copies.append(times_drawn)
    total = np.sum(copies, axis=0)
    total[-1] = 1.0
    # nobody's copy counts once for each speaker drawn, which is what a trial within a speaker needs
    return total, tuple(copies)


@dataclass(frozen=True, eq=False)
class _Owners(UnweightedSummary):
    keys: IntArray
    """Ascending: the number of each recording times that of all speakers, plus its speaker."""

    def __add__(self, other: _Owners) -> _Owners:
        return _Owners(np.union1d(self.keys, other.keys))


Resampling = SpeakerResampling | TrialResampling


@dataclass(frozen=True, eq=False)
class ReplicateCounts(FieldwiseSums):
    """Counts of several replicates (rows) on a common grid of scores, and their losses.

    ``at`` and ``cells`` are as in :class:`llrkit.core.cells.TrialCounts`; ``loss`` is the sum of the
    logarithmic losses of each class, ``below`` counts the trials of each class below each threshold.
    """

    at: FloatArray
    cells: FloatArray
    loss: FloatArray
    """By class and replicate."""
    below: FloatArray
    """By class, replicate and threshold."""


def _class_replicates(
    chunk: Scores, class_index: int, points: FloatArray, own: bool, thresholds: FloatArray,
    resampling: Resampling, draws: Sequence[Draw],
) -> tuple[FloatArray, FloatArray, FloatArray]:  # fmt: skip
    """Of one class, counts in the cells, sums of losses, counts below the thresholds; one row for each draw.

    The trials of the class that the grid is made of (``own``) are all at one of its points.
    """
    values = score_indexes(chunk)[class_index].values.astype(np.float64, copy=False)
    # sorted once; every replicate is then a few sums over runs of the sorted weights
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    left = np.searchsorted(ascending, points, side="left")
    if own:
        bounds = np.append(left, len(values))
    else:
        right = np.searchsorted(ascending, points, side="right")
        bounds = np.concatenate([[0], np.column_stack([left, right]).ravel(), [len(values)]])
    # reduceat over an empty run would repeat its first element, so only filled cells are summed
    filled = np.flatnonzero(np.diff(bounds) > 0)
    stops = np.searchsorted(ascending, thresholds, side="left")
    cells = np.zeros((len(draws), len(bounds) - 1))
    losses, below = np.zeros(len(draws)), np.zeros((len(draws), len(stops)))
    if len(values) == 0:
        return cells, losses, below
    sides = tuple(numbers[order] for numbers in resampling.sides(chunk, class_index))
    loss = np.asarray(softplus(-ascending if class_index == 0 else ascending))
    for i, draw in enumerate(draws):
        weights = draw.weights(sides)
        cells[i, filled] = np.add.reduceat(weights, bounds[filled])
        losses[i] = np.einsum("n,n->", weights, loss)
        if len(stops):
            below[i] = _sums_before(weights, stops)
    return cells, losses, below


def _sums_before(weights: FloatArray, stops: IntArray) -> FloatArray:
    """Sum of the weights before each of several ascending stops."""
    bounds = np.concatenate([[0], stops])
    filled = np.flatnonzero(np.diff(bounds) > 0)
    pieces = np.zeros(len(stops))
    if len(filled):
        # the last piece ends at the last stop, not at the end
        pieces[filled] = np.add.reduceat(weights[: stops[-1]], bounds[filled])
    return np.cumsum(pieces)
