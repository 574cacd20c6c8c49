"""Tests of scale and offset, identities that hold for calibrated LLRs, and precision.

The test of scale and offset rests on counts alone, or on each speaker left out in turn. With speakers, theta
= (a, b) is the line fitted to all trials and theta_p the one without speaker p; the jackknife gives theta
corrected for bias and its covariance V; ``(theta - (1, 0))' V^-1 (theta - (1, 0))`` is compared with
Hotelling's distribution. Its degrees of freedom are fewer than speakers - 1 where few speakers make most of
V: with h_p the part of speaker p in V^-1 V (they add up to 2), ``1.5 x 4 / sum h_p^2 - 1``. Equal normal
deviations would have the factor 2; the smaller one makes up for heavier tails (benchmarks/sizes.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from llrkit.base.arguments import Array, FloatArray, IntArray
from llrkit.base.process import cached_property
from llrkit.base.text import Json
from llrkit.core.cells import score_indexes
from llrkit.core.numerics import sigmoid
from llrkit.core.summaries import Moments, SummaryBase
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.metrics import loss_parts
from llrkit.metrics.measure import Measurements
from llrkit.results.result import Result
from llrkit.scores import AnyTrials, Labels, Scores, ScoreSource, as_source
from llrkit.trust.influence import class_means
from llrkit.trust.jackknife import Jackknife
from llrkit.trust.null import JUDGED_CELLS, judged_range
from llrkit.trust.recalibration_line import Recalibration, as_rows, fit_line
from llrkit.trust.speakers import (
    NO_SUMS,
    CellSet,
    Contributions,
    SpeakerCells,
    Speakers,
    find_speakers,
    quantile,
    speaker_cells,
)

_FACTOR = 1.5
_FEWEST_DF = 2.0


def judged_edges(result: Measurements) -> FloatArray:
    """Even cells of the LLR, between whose ends LLRs are judged; narrow ones where all scores are equal."""
    low, high = judged_range(result.moments.extremes, result.summaries.blocks)
    edges = np.linspace(low, high, JUDGED_CELLS + 1)
    # linspace of a range of rounding size repeats edges; wider cells then hold the one score
    if (edges[1:] > edges[:-1]).all():
        return edges
    reach = 1e-6 * max(1.0, abs(low), abs(high))
    return np.linspace(low - reach, high + reach, JUDGED_CELLS + 1)


def middles(edges: FloatArray) -> FloatArray:
    """The middle of each cell."""
    return np.asarray(0.5 * (edges[:-1] + edges[1:]))


def effective_df(deviations: FloatArray) -> float:
    """Degrees of freedom of a covariance of two numbers, from the deviations of the speakers.

    Examples
    --------
    >>> around = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> effective_df(np.tile(around, (5, 1)))  # 20 speakers, all alike: no more than 19
    19.0
    >>> round(effective_df(np.vstack([np.tile(around, (4, 1)), 3.0 * around])), 1)
    10.9
    """
    n = len(deviations)
    products = deviations.T @ deviations
    # the pseudo-inverse: two numbers may move together when speakers are left out
    shares = np.einsum("pi,ij,pj->p", deviations, np.linalg.pinv(products), deviations)
    # equal speakers have equal shares h_p and the largest number of degrees of freedom
    squares = float(np.square(shares).sum())
    rank = float(shares.sum())
    terms = _FACTOR * rank**2 / squares if squares > 0.0 else 0.0
    return max(_FEWEST_DF, min(n - 1.0, terms - 1.0))


def loss_without_own(x: FloatArray, cells: SpeakerCells, lines: Jackknife) -> float:
    """What lines fitted to the trials of the others gain in Cllr on those of each speaker, in bits.

    ``x`` are the LLRs of the cells.
    """
    gain = 0.0
    for sign, by_speaker in zip((-1.0, 1.0), cells.counts, strict=True):
        mapped = lines.without[:, :1] * x + lines.without[:, 1:]
        # logaddexp(0, .) of both, before and after the line: overflow in neither
        saved = np.logaddexp(0.0, sign * x) - np.logaddexp(0.0, sign * mapped)
        gain += float((by_speaker * saved).sum() / by_speaker.sum())
    return gain / (2.0 * math.log(2.0))


@dataclass(frozen=True, eq=False)
class CalibrationTest:
    """A test of a = 1 and b = 0 for the map ``a x + b`` of LLRs x, and the line that is best."""

    result: Measurements
    test: loss_parts.IdentityTest
    null: loss_parts.NullMoments
    lost: float = 1.0
    """Trials that say as much as one independent trial, where they are weighted."""
    by_speaker: bool = False
    """Whether trials that share speakers were taken into account."""
    lines: Jackknife | None = None
    """The best line without each speaker, where there are any."""

    @cached_property
    def line(self) -> Recalibration | None:
        """The best line, fitted when first asked for; None where the classes do not overlap."""
        line, test = judged_line(self.result), self.test
        if line is None:
            return None
        spread = self.lost * np.array(line.covariance) if self.lines is None else self.lines.covariance
        # statistic and p-value are those of the test, whose variance
        # calibration implies; the covariance is that of the fit
        return Recalibration(line.a, line.b, as_rows(spread), test.statistic, test.p_value, test.df)


def check_cells(result: Measurements, weights: tuple[float, float] = (1.0, 1.0)) -> CalibrationTest:
    """The test from the counts of an evaluation, without another look at the trials.

    Parameters
    ----------
    weights
        Independent trials that say as much as one target, and as one non-target, where trials are weighted.
    """
    cells = result.summaries.cells.weighted(*weights)
    null = loss_parts.null_moments(cells)
    # what one trial says less, the errors of the line are larger
    lost = max((result.n_target + result.n_nontarget) / (cells.n_target + cells.n_nontarget), 1.0)
    return CalibrationTest(result, loss_parts.identity_test(null), null, lost)


def judged_line(result: Measurements) -> loss_parts.BestLine | None:
    """The best line; if LLRs that stand for certainty leave none, with these no further away than others."""
    if result.best_line is not None:
        return result.best_line
    # a line needs overlap; certainties moved to the nearest judged LLR may provide it
    cells = result.summaries.cells
    within = judged_range(result.moments.extremes, result.summaries.blocks)
    return loss_parts.best_line(replace(cells, llr=np.clip(cells.llr, *within)))


def count_in_judged_cells(
    source: ScoreSource, result: Measurements, speakers: Speakers, contributions: Contributions = NO_SUMS
) -> SpeakerCells:
    """Trials counted by speaker in even cells of the LLR; one pass. Many speakers are put into groups."""
    return speaker_cells(source, speakers.grouped(), judged_edges(result)[1:-1], contributions)


def check_speakers(result: Measurements, cells: SpeakerCells) -> CalibrationTest:
    """The test for trials that share speakers, from their counts in even cells of the LLR.

    Trials that share speakers say no more than independent ones: the p-value is never below theirs, which
    rests on the variance calibration implies and so holds where hardly a trial went wrong.
    """
    # independent trials first: their p-value is a lower limit of the one with speakers
    line, x = judged_line(result), middles(judged_edges(result))
    null = loss_parts.null_moments(result.summaries.cells)

    def fitted(kept: CellSet) -> tuple[float, float]:
        n = kept.n
        return fit_line(x, kept.counts[0] / n[0], kept.counts[1] / n[1], n[0], start)

    miss, alarm = 0.5 * np.asarray(sigmoid(-x)), 0.5 * np.asarray(sigmoid(x))

    def gradient(kept: CellSet) -> tuple[float, float]:
        """Of the cross-entropy by slope and offset at 1 and 0."""
        residual = kept.counts[1] / kept.n[1] * alarm - kept.counts[0] / kept.n[0] * miss
        return float((residual * x).sum()), float(residual.sum())

    start = (1.0, 0.0) if line is None else (line.a, line.b)
    # without overlap there is no line to refit; the gradient at (1, 0) is tested in its place
    left_out = Jackknife.of(cells, gradient if line is None else fitted, ("a", "b"))
    if not np.isfinite(left_out.without).all():
        raise TooFewTrialsError(
            "leaving out one of the speakers leaves a class without trials; "
            "a test with speakers needs targets and non-targets of several"
        )
    spread = left_out.covariance
    if line is None:  # the classes do not overlap, and no line is the best
        # expected to be 0 if calibrated, and linear in the counts: no bias to correct
        gap, covariance = left_out.values, spread
    else:
        gap = left_out.corrected - np.array([1.0, 0.0])
        # the covariance of (a, b) as one of gradients, which the power of the test is computed from
        covariance = null.curvature @ spread @ null.curvature
    df, statistic = effective_df(left_out.deviations), loss_parts.distance(gap, spread)
    independent = loss_parts.identity_test(null)
    p = max(loss_parts.hotelling_p_value(statistic, df), independent.p_value)
    return CalibrationTest(
        result,
        replace(independent, statistic=statistic, p_value=p, df=df),
        replace(null, covariance=np.asarray(covariance)),
        by_speaker=True,
        lines=None if line is None else left_out,
    )


MEANINGLESS_ABOVE = 3.0
"""Variance of the LLRs above which the mean of a likelihood ratio rests on trials that hardly ever occur."""
_LARGEST = 80.0  # e^80 says all there is to say, and its sums and squares stay finite


@dataclass(frozen=True)
class Expectation:
    """The mean likelihood ratio of non-targets, or its inverse for targets: 1 if calibrated."""

    name: str
    mean: float
    standard_error: float
    usable: bool
    """Whether the mean says anything: with well separated classes it rests on trials that hardly occur,
    and is usually well below 1 although nothing is wrong."""


@dataclass(frozen=True)
class Exceedance:
    """An error rate at a threshold, as the LLRs of the other class predict it and as it was counted.

    For calibrated LLRs ``Pfa(t) = mean_target e^-x [x >= t]`` and ``Pmiss(t) = mean_nontarget e^x [x < t]``.
    """

    kind: str
    """``"p_fa"`` or ``"p_miss"``."""
    threshold: float
    predicted: float
    counted: float
    standard_error: float
    """Of the difference."""

    @property
    def z(self) -> float:
        """Predicted less counted, in standard errors."""
        gap = self.predicted - self.counted
        return gap / self.standard_error if self.standard_error > 0.0 else math.copysign(math.inf, gap)


@dataclass(frozen=True)
class ClassShape:
    """Mean and variance of the LLRs of a class; ``variance / (2 |mean|)`` is 1 for calibrated Gaussians."""

    mean: float
    mean_error: float
    variance: float
    ratio: float
    ratio_error: float
    right_sign: bool
    """Targets must be positive on average, non-targets negative, whatever the distribution."""


@dataclass(frozen=True)
class Identities:
    """All of them."""

    expectations: tuple[Expectation, ...]
    exceedances: tuple[Exceedance, ...]
    target: ClassShape
    nontarget: ClassShape

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        return {
            "expectations": [asdict(one) for one in self.expectations],
            "exceedances": [{**asdict(one), "z": one.z} for one in self.exceedances],
            "target": asdict(self.target),
            "nontarget": asdict(self.nontarget),
        }


def identities(source: ScoreSource, moments: Moments, by_speaker: SpeakerCells | None = None) -> Identities:
    """Check the identities at thresholds on either side of 0; one pass.

    With ``by_speaker``, the sums of :data:`TERMS` by speaker, the errors are those of trials that share
    speakers, and there is no pass.
    """
    if by_speaker is None:
        both, n = class_means(source, _TERMS_AND_SQUARES)
        means, squares = np.split(both, 2, axis=1)
        errors = np.sqrt((np.maximum(squares - means**2, 0.0) / n[:, None]).sum(axis=0))
    else:
        means = by_speaker.total.means
        errors = Jackknife.of(by_speaker, lambda kept: kept.means.sum(axis=0)).standard_error
    usable = max(float(moments.target.variance[0]), float(moments.nontarget.variance[0])) <= MEANINGLESS_ABOVE
    k = len(_THRESHOLDS)
    expectations = tuple(
        Expectation(name, float(means[class_index, column]), float(errors[column]), usable)
        for name, class_index, column in (
            ("mean LR of non-targets", 1, 2 * k), ("mean 1/LR of targets", 0, 2 * k + 1)
        )
    )  # fmt: skip
    exceedances = []
    for kind, sign, own in (("p_fa", 1.0, 0), ("p_miss", -1.0, 1)):
        size = float((moments.nontarget if kind == "p_fa" else moments.target).count)
        for i, threshold in enumerate(_THRESHOLDS):
            column = own * k + i
            # "Counted" has the other sign, because the sums hold differences between predicted and counted
            predicted, counted = float(means[own, column]), 0.0 - float(means[1 - own, column])
            # few errors, or none, say too little about how many there might have been
            # the binomial variance at the predicted rate, where the counted errors show less than that
            missing = (predicted * (1.0 - predicted) - counted * (1.0 - counted)) / size
            error = math.sqrt(float(errors[column]) ** 2 + max(missing, 0.0))
            # + 0.0 turns -0.0 into 0.0
            exceedances.append(Exceedance(kind, sign * threshold + 0.0, predicted, counted, error))
    return Identities(
        expectations, tuple(exceedances), _shape_of_class(moments, True), _shape_of_class(moments, False)
    )


def _shape_of_class(moments: Moments, is_target: bool) -> ClassShape:
    own = moments.target if is_target else moments.nontarget
    mean, variance = float(own.mean[0]), float(own.variance[0])
    third, fourth = float(own.m3[0] / own.n), float(own.m4[0] / own.n)
    ratio = variance / (2.0 * abs(mean)) if mean != 0.0 else math.inf
    if mean == 0.0 or variance == 0.0:
        error = math.nan
    else:  # delta method of the logarithm, with the covariance of sample mean and sample variance
        sign = math.copysign(1.0, mean)
        spread = (fourth - variance**2) / variance**2 + variance / mean**2
        spread -= 2.0 * sign * third / (variance * abs(mean))
        error = ratio * math.sqrt(max(spread, 0.0) / own.n)
    right = mean >= 0.0 if is_target else mean <= 0.0
    return ClassShape(mean, math.sqrt(variance / own.n), variance, ratio, error, right)


_THRESHOLDS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0)
"""At these, and at their negatives, predicted errors are compared with counted ones."""


def _identity_terms(values: Array, class_index: int) -> list[FloatArray]:
    """Differences between predicted and counted errors, then the likelihood ratios themselves."""
    x = values.astype(np.float64, copy=False)
    # 1/LR of targets, LR of non-targets
    ratio = np.exp(np.minimum(-x if class_index == 0 else x, _LARGEST))
    if class_index == 0:
        columns = [ratio * (x >= t) for t in _THRESHOLDS]
        columns += [-(x < -t).astype(np.float64) for t in _THRESHOLDS]
    else:
        columns = [-(x >= t).astype(np.float64) for t in _THRESHOLDS]
        columns += [ratio * (x < -t) for t in _THRESHOLDS]
    return [*columns, ratio]


def _with_squares(terms: Contributions) -> Contributions:
    """Contributions, and behind them their squares."""

    def of(values: Array, class_index: int) -> list[FloatArray]:
        arrays = terms.of(values, class_index)
        return [*arrays, *(array * array for array in arrays)]

    columns = [(*own, *(terms.size + i for i in own)) for own in (terms.columns(0), terms.columns(1))]
    return Contributions(2 * terms.size, of, (columns[0], columns[1]))


_RATIOS = 2 * len(_THRESHOLDS)
TERMS = Contributions(
    _RATIOS + 2, _identity_terms, ((*range(_RATIOS), _RATIOS + 1), (*range(_RATIOS), _RATIOS))
)
"""What is summed up to check the identities; the ratios of targets come last, those of non-targets before."""
_TERMS_AND_SQUARES = _with_squares(TERMS)


@dataclass(frozen=True)
class LlrPrecision(Result):
    """Spread of the LLRs of the same pair of sources, pooled over all pairs with more than one trial."""

    sd: float
    """Pooled standard deviation within pairs, in nats."""
    n_trials: int
    """Number of trials of these pairs."""
    n_pairs: int
    """Number of pairs with more than one trial."""

    @property
    def df(self) -> int:
        """Degrees of freedom of the pooled standard deviation."""
        return self.n_trials - self.n_pairs

    def half_width(self, level: float = 0.95) -> float:
        """Half the width of the interval of one LLR: ``t sd``, in nats.

        Parameters
        ----------
        level
            Confidence level, between 0 and 1.
        """
        return quantile(level, self.df) * self.sd


def llr_precision(
    source: AnyTrials, labels: Labels | None = None, *, speakers: str | Sequence[str]
) -> LlrPrecision:
    """How far LLRs of the same two sources lie apart (the parametric procedure of Morrison 2011).

    Deviations from the mean of each pair of sources are pooled: a new LLR for a pair is expected within
    ``t sd`` of the mean of that pair.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    speakers
        The two columns with the speakers of the two sides of a trial.

    Examples
    --------
    >>> import llrkit as lk
    >>> sides = {"left": (["a", "a"], ["a", "b"]), "right": (["a", "a"], ["b", "a"])}
    >>> trials = lk.Scores([1.0, 3.0], [-4.0, -4.0], sides)
    >>> precision = lk.trust.llr_precision(trials, speakers=("left", "right"))
    >>> precision.sd, precision.df
    (1.0, 2)
    """
    source = as_source(source, labels)
    speaker_set = find_speakers(source, speakers)
    if len(speaker_set.columns) != 2:
        raise InputError("precision needs the speakers of both sides: two columns")
    wide = source.with_columns(*speaker_set.columns)
    moments = wide.reduce(lambda chunk: _PairMoments.of(chunk, speaker_set))
    repeated = moments.n > 1
    n_trials, n_pairs = int(moments.n[repeated].sum()), int(np.count_nonzero(repeated))
    if n_trials <= n_pairs:
        raise TooFewTrialsError("no pair of speakers was compared more than once")
    # sum of squares around the mean of each pair; each pair takes a degree of freedom
    within = moments.squares[repeated] - moments.sums[repeated] ** 2 / moments.n[repeated]
    return LlrPrecision(math.sqrt(max(float(within.sum()), 0.0) / (n_trials - n_pairs)), n_trials, n_pairs)


@dataclass(frozen=True, eq=False)
class _PairMoments(SummaryBase):
    """Number, sum and sum of squares of the scores of each pair of speakers, by ascending key."""

    keys: IntArray
    n: FloatArray
    sums: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, chunk: Scores, speakers: Speakers) -> _PairMoments:
        keys, scores = [], []
        for class_index, values in enumerate(index.values for index in score_indexes(chunk)):
            first, second = speakers.of(chunk, class_index)
            # a trial within a speaker is a pair of the speaker with itself
            second = np.where(second == speakers.n, first, second)
            keys.append(np.minimum(first, second) * speakers.n + np.maximum(first, second))
            scores.append(values.astype(np.float64, copy=False))
        x = np.concatenate(scores)
        return cls._grouped(np.concatenate(keys), np.ones(len(x)), x, x * x)

    @classmethod
    def _grouped(cls, keys: IntArray, *columns: FloatArray) -> _PairMoments:
        distinct, place = np.unique(keys, return_inverse=True)
        sums = [np.asarray(np.bincount(place, column, minlength=len(distinct)), float) for column in columns]
        return cls(distinct, *sums)

    def __add__(self, other: _PairMoments) -> _PairMoments:
        keys = np.concatenate([self.keys, other.keys])
        columns = ((self.n, other.n), (self.sums, other.sums), (self.squares, other.squares))
        return _PairMoments._grouped(keys, *(np.concatenate(pair) for pair in columns))

    def __mul__(self, weight: float) -> _PairMoments:
        return _PairMoments(self.keys, self.n * weight, self.sums * weight, self.squares * weight)
