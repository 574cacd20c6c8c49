"""Bands around curves and around maps."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from llrkit.base.arguments import Array, ArrayLike, FloatArray, of_kind
from llrkit.base.process import tracked
from llrkit.base.text import counted
from llrkit.core.numerics import LN2, probability, probit, sigmoid, softplus
from llrkit.core.pav import error_path
from llrkit.core.summaries import Moments
from llrkit.errors import InputError, LlrkitWarning, TooFewTrialsError
from llrkit.fits.folds import METHODS, fit_of
from llrkit.maps.map import Map
from llrkit.metrics.curves import ECE_LOG10_ODDS
from llrkit.metrics.discrimination import Curve, curve_columns
from llrkit.metrics.measure import Measurements
from llrkit.results.result import Column, Result
from llrkit.scores import AnyTrials, DerivedSource, Labels, Scores, ScoreSource, as_source
from llrkit.trust.bootstrap import FEWEST_SPEAKERS
from llrkit.trust.influence import estimate_means
from llrkit.trust.intervals import curve_rates, roc_slopes
from llrkit.trust.jackknife import Jackknife, from_scale
from llrkit.trust.speakers import GROUPS, Contributions, Speakers, find_speakers, quantile, speaker_cells

DET_POINTS = 201


@dataclass(frozen=True, eq=False)
class DetBand(Curve):
    """Pmiss between ``lower`` and ``upper`` at each Pfa, for points along the DET.

    ``nan`` where fewer than 5 misses or false alarms were seen, or few speakers made them.
    """

    level: float
    p_fa: FloatArray
    p_miss: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class TippettBand(Curve):
    """Bands of the two curves of ``Evaluation.tippett``, at the same LLRs."""

    level: float
    llr: FloatArray
    target_lower: FloatArray
    target_upper: FloatArray
    nontarget_lower: FloatArray
    nontarget_upper: FloatArray


@dataclass(frozen=True, eq=False)
class EceBand(Curve):
    """Band of the system's empirical cross-entropy in bits, at the priors of ``Evaluation.ece``.

    ``nan`` where an LLR is infinite for the wrong side: no chance makes that finite.
    """

    level: float
    log_odds: FloatArray
    system: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class CurveBands(Result):
    """What :func:`curve_bands` found; each holds at each point of the curve by itself."""

    det: DetBand
    """Band of the DET curve."""
    tippett: TippettBand
    """Band of the Tippett curves."""
    ece: EceBand
    """Band of the cross-entropy curve."""
    n_speakers: int | None
    """Number of speakers; None if trials are taken as independent."""
    notes: tuple[str, ...] = ()
    """Remarks, in words."""

    def _frame_columns(self) -> Mapping[str, Column]:
        """The bands side by side; shorter columns end with missing values."""
        bands = {"det": self.det, "tippett": self.tippett, "ece": self.ece}
        columns = {
            f"{name}.{key}": values
            for name, one in bands.items()
            for key, values in curve_columns(one).items()
        }
        n = max(map(len, columns.values()))
        return {name: [*v, *[None] * (n - len(v))] for name, v in columns.items()}


def curve_bands(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    result: Measurements,
    speakers: str | Sequence[str] | None = None,
    level: float = 0.95,
) -> CurveBands:
    """Pointwise bands of the DET, Tippett and ECE curves of an evaluation.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    result
        What :func:`llrkit.evaluate` found for these trials.
    speakers
        The column, or the two columns, with the speakers of the two sides of a trial. Without them
        trials are taken as independent.
    level
        Confidence level, between 0 and 1.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.1).rvs(300, 3000, np.random.default_rng(1)))
    >>> result = lk.evaluate(scores)
    >>> bands = lk.trust.curve_bands(scores, result=result)
    >>> middle = len(result.tippett.llr) // 2
    >>> at = result.tippett.target_at_or_above[middle]
    >>> bool(bands.tippett.target_lower[middle] < at < bands.tippett.target_upper[middle])
    True
    """
    of_kind(result, Measurements, "result")
    source = as_source(source, labels)
    probability(level, "level")
    speaker_set = find_speakers(source, speakers) if speakers else None
    llr, roc = result.tippett.llr, _roc_points(result)
    # one pass for both curves: their thresholds are counted together and looked up apart
    rates = curve_rates(source, np.concatenate([llr, roc]), speaker_set, level)
    miss, fa = rates.miss, rates.fa
    lower, upper = rates.along_roc(roc_slopes(result, rates.thresholds))
    at = np.searchsorted(rates.thresholds, roc)
    det = DetBand(level, fa.rate[at], miss.rate[at], lower[at], upper[at])
    at = np.searchsorted(rates.thresholds, llr)  # the LLRs of the curve may repeat
    # above a threshold is 1 - Pmiss, so the ends of the interval of Pmiss change places
    tippett = TippettBand(
        level, llr, (1.0 - miss.high)[at], (1.0 - miss.low)[at], fa.low[at], fa.high[at]
    )  # fmt: skip
    return CurveBands(
        det,
        tippett,
        _ece_band(source, result.cllr, speaker_set, level),
        speaker_set.n_speakers if speaker_set is not None else None,
    )


def _roc_points(result: Measurements) -> FloatArray:
    """Thresholds of some points of the ROC, evenly along the curve on probit axes."""
    roc = error_path(result.summaries.bins)
    # corners have no probit, and no errors to make an interval of
    inner = np.flatnonzero((roc.p_miss > 0.0) & (roc.p_fa > 0.0) & (roc.p_miss < 1.0) & (roc.p_fa < 1.0))
    if len(inner) > DET_POINTS:
        along = probit(roc.p_miss[inner]) - probit(roc.p_fa[inner])
        wanted = np.linspace(along[0], along[-1], DET_POINTS)
        inner = np.unique(inner[np.clip(np.searchsorted(along, wanted), 0, len(inner) - 1)])
    return np.unique(roc.threshold[inner]) if len(inner) else np.array([0.0])


def _ece_band(source: ScoreSource, cllr: float, speakers: Speakers | None, level: float) -> EceBand:
    log_odds = ECE_LOG10_ODDS * np.log(10.0)
    if not math.isfinite(cllr):  # and so is the cross-entropy at every prior
        nowhere = np.full(len(log_odds), np.nan)
        return EceBand(level, log_odds, np.full(len(log_odds), cllr), nowhere, nowhere.copy())

    def prior_losses(values: Array, class_index: int) -> list[FloatArray]:
        """The cross-entropy in bits at several priors is the sum of the class means of these."""
        x = values.astype(np.float64, copy=False)
        sign = -1.0 if class_index == 0 else 1.0
        # sigmoid(-odds) softplus(-x - odds): the prior's weight of
        # the class times the loss, both without overflow
        return [np.asarray(sigmoid(-sign * odds) * softplus(sign * (x + odds))) / LN2 for odds in log_odds]

    losses = Contributions(len(log_odds), prior_losses)
    # at most GROUPS groups: each of them gives another curve
    groups = speakers.grouped(most=GROUPS) if speakers is not None else None
    means, spread = estimate_means(source, losses, groups, diagonal=True)
    value, units = means.sum(axis=0), np.eye(len(log_odds))
    if groups is None:
        error = quantile(level) * np.sqrt([spread.variance(unit) for unit in units])
        # where the cross-entropy is 0 the relative error is not defined; exp is kept below its overflow
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.exp(np.minimum(error / value, 700.0))
        return EceBand(level, log_odds, value, value / factor, value * factor)
    cells = speaker_cells(source, groups, contributions=losses)
    shares = [spread.share_without_pairs(unit) for unit in units]
    numbers = Jackknife.of(cells, lambda kept: kept.means.sum(axis=0)).on_scales(["cost" for _ in units])
    # some 2/S of what pairs count twice stays in (docs/notes/decisions-statistics.md)
    few = np.minimum(1.0, np.array(shares) * (1.0 + 2.0 / groups.n))
    # around the curve itself: a band around bias-corrected values need not contain the curve that is drawn
    lower, upper = replace(numbers, counted_once=few).interval(level, center=numbers.values)
    return EceBand(level, log_odds, value, from_scale(lower, "cost"), from_scale(upper, "cost"))


@dataclass(frozen=True, eq=False)
class LlrBand(Curve):
    """The LLR a calibrator gives to scores, and between which values leaving speakers out says it lies."""

    method: str
    level: float
    score: FloatArray
    llr: FloatArray
    lower: FloatArray
    upper: FloatArray


def llr_band(
    source: AnyTrials,
    labels: Labels | None = None,
    method: str | Callable[[ScoreSource], Map] = "logistic",
    *,
    speakers: str | Sequence[str],
    at: ArrayLike | None = None,
    level: float = 0.95,
    **options: object,
) -> LlrBand:
    """Band around the score-to-LLR curve of any calibrator, fitted again without each speaker.

    More than 100 speakers are left out in 100 groups. The band lies around the curve; ``nan`` where an LLR is
    infinite.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    method
        A calibrator by name, or a function that makes a map of a source; ``options`` go to it.
    speakers
        The column, or the two columns, with the speakers of the two sides, as in :func:`llrkit.evaluate`.
    at
        Scores at which the curve is wanted; by default 101 even ones between the extremes.
    level
        Confidence level, between 0 and 1.
    **options
        Keywords of the calibrator.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> left, right = rng.integers(0, 30, 4000), rng.integers(0, 30, 4000)
    >>> trials = lk.Trials({"score": np.where(left == right, 2, -2) + 2 * rng.normal(size=4000),
    ...                     "label": left == right, "left": left, "right": right})
    >>> band = lk.trust.llr_band(trials, method="cmlg", speakers=("left", "right"), at=[2.0])
    >>> bool(band.lower[0] < band.llr[0] < band.upper[0])
    True
    """
    source = as_source(source, labels)
    probability(level, "level")
    fit = partial(fit_of(method, METHODS), **options)
    if at is None:
        low, high = source.reduce(Moments.of).extremes
        at = np.linspace(low, high, 101)
    scores = np.atleast_1d(np.asarray(at, dtype=np.float64))
    groups = find_speakers(source, speakers).grouped(most=GROUPS)
    if groups.n < FEWEST_SPEAKERS:
        raise TooFewTrialsError(
            f"there are only {counted(groups.n, 'speaker')} in {' and '.join(groups.columns)}; "
            f"a band needs at least {FEWEST_SPEAKERS}"
        )

    def kept(chunk: Scores, group: int) -> Scores:
        """The trials that do not involve one speaker, or a group of them."""
        sides = (groups.of(chunk, i) for i in (0, 1))
        # a speaker may be on either side of a trial
        return chunk.select(*((first != group) & (second != group) for first, second in sides))

    # every refit would repeat the warnings of the first one
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)
        llr = np.asarray(fit(source)(scores))
        without = []
        for group in tracked(range(groups.n), "fitting again", groups.n, "fits"):
            others = DerivedSource(source, partial(kept, group=group), groups.columns)
            try:
                without.append(np.asarray(fit(others)(scores)))
            except InputError as error:  # a class is gone, or the classes do not overlap
                raise TooFewTrialsError(
                    f"no map can be fitted when one of the speakers is left out: {error}"
                ) from None
    names = tuple(map(str, range(len(scores))))
    # no share of pairs is removed here, because there are no influences of an arbitrary fit: the band is
    # rather too wide (docs/notes/coverage.md)
    curve = Jackknife(names, llr, np.array(without), blocks=groups.blocks)
    lower, upper = curve.interval(level, center=llr)
    name = method if isinstance(method, str) else getattr(method, "__name__", "a function")
    return LlrBand(name, level, scores, llr, lower, upper)
