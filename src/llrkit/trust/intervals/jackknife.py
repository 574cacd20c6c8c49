"""Jackknife: numbers, and what each of them is without each speaker in turn.

With ``theta`` a number of S speakers and ``theta_p`` the same number without the trials of speaker p, the
pseudo-values ``S theta - (S - 1) theta_p`` behave like S independent observations (Tukey 1958): their mean
is the number corrected for its bias to first order, their spread gives its standard error, and resampling
them shows how skewed it is (bootstrap-t, Efron 1981). Trials between two speakers are left out with either.
Speakers in blocks that are never compared, such as genders, are strata: the pseudo-values of each block
spread around their own mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray
from llrkit._cached import cached_property
from llrkit.core.elementary_functions import logit, probability, sigmoid, softplus
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.trust.intervals.compared_speakers import centered, count_blocks
from llrkit.trust.intervals.evaluation_numbers import decision_thresholds, evaluation_numbers, score_cuts
from llrkit.trust.intervals.speaker_cells import CellSet, SpeakerCells, speaker_cells
from llrkit.trust.intervals.speakers import Speakers

Scale = Literal["plain", "cost", "rate"]
DRAWS = 2000
"""Resampled sets of pseudo-values."""
_FEWEST_DF = 3.0
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
        cls, cells: SpeakerCells, function: Callable[[CellSet], npt.ArrayLike], names: Sequence[str] = ()
    ) -> Jackknife:
        """The jackknife of any function of a set of trials.

        Where no trials of a class are left without a speaker the values are nan; the function is not called.
        """
        values = np.atleast_1d(np.asarray(function(cells.total), dtype=np.float64))
        without = np.full((cells.n_speakers, len(values)), np.nan)
        for row, kept in zip(without, cells, strict=True):
            if min(kept.n) > 0:
                row[:] = function(kept)
        names = tuple(names) or tuple(map(str, range(len(values))))
        return cls(names, values, without, blocks=cells.blocks)

    def __sub__(self, other: Jackknife) -> Jackknife:
        """The differences between two systems on the same trials, without the same speakers."""
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
            terms = np.where(fourth > 0.0, 3.0 * squares**2 / fourth, 2.0)
        return np.asarray(np.clip(terms - means, 1.0, max(self.n_speakers - means, 1.0)))

    def studentized(self, *, draws: int = DRAWS, seed: int = 0) -> FloatArray:
        """Deviations over their standard errors in resampled sets of pseudo-values, by draw and number."""
        d, n = self.deviations, self.n_speakers
        times = resampled_times(n, draws, seed)
        mean = times @ d / n
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
        down, up = (np.minimum(np.maximum(side, student), furthest) for side in (high, -low))
        middle, error = self.corrected if center is None else center, self.standard_error
        return np.asarray(middle - down * error), np.asarray(middle + up * error)


def correlations(a: Jackknife, b: Jackknife) -> FloatArray:
    """Correlation of each number of one jackknife with that of another; zero where one does not vary."""
    left, right = a.deviations, b.deviations
    product = np.sqrt(np.square(left).sum(axis=0) * np.square(right).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(product > 0.0, (left * right).sum(axis=0) / product, 0.0)


@lru_cache(maxsize=4)
def resampled_times(n: int, draws: int, seed: int) -> FloatArray:
    """How often each of n is drawn in each of several draws of n with replacement."""
    rng = np.random.default_rng([seed, n])
    keys = rng.integers(n, size=(draws, n)) + n * np.arange(draws)[:, None]
    times = np.bincount(keys.ravel(), minlength=n * draws).reshape(draws, n).astype(np.float64)
    times.flags.writeable = False
    return times


def to_scale(values: npt.ArrayLike, scale: Scale) -> FloatArray:
    """Numbers on the scale on which their intervals are made."""
    x = np.asarray(values, dtype=np.float64)
    if scale == "plain":
        return x
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(logit(x) if scale == "rate" else np.log(x))


def from_scale(values: npt.ArrayLike, scale: Scale) -> FloatArray:
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


@dataclass(frozen=True)
class LogLoss:
    """The logarithmic loss of each trial in nats, the scores read as LLRs."""

    size: int = 1

    def columns(self, class_index: int) -> tuple[int, ...]:
        """The one sum."""
        return (0,)

    def of(self, values: Array, class_index: int) -> list[FloatArray]:
        """What each score adds."""
        x = values.astype(np.float64, copy=False)
        signed = -x if class_index == 0 else x
        # as exact as softplus where it counts, and three times as fast
        fast = len(x) > 0 and signed.max() < 700.0
        return [np.log1p(np.exp(signed)) if fast else np.asarray(softplus(signed))]


def count_by_speaker(source: ScoreSource, result: Measurements, speakers: Speakers) -> SpeakerCells:
    """What the numbers of an evaluation are made of, by speaker; one pass.

    Speakers beyond 500 should be in groups (:meth:`Speakers.grouped`).
    """
    return speaker_cells(source, speakers, score_cuts(result), LogLoss())


def leave_out(cells: SpeakerCells, result: Measurements) -> Jackknife:
    """The numbers of an evaluation without each speaker; those of all trials are the exact ones.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.trust.intervals.speakers import find_speakers
    >>> rng = np.random.default_rng(1)
    >>> left, right = rng.integers(0, 20, 900), rng.integers(0, 20, 900)
    >>> trials = lk.Trials({"score": np.where(left == right, 2, -2) + 2 * rng.normal(size=900),
    ...                     "label": left == right, "left": left, "right": right})
    >>> result = lk.evaluate(trials, [0.1])
    >>> cells = count_by_speaker(trials, result, find_speakers(trials, ("left", "right")).grouped())
    >>> numbers = leave_out(cells, result).select(["cllr", "min_cllr"])
    >>> bool(numbers.corrected[1] > result.min_cllr)  # what was fitted to these trials looks too good
    True
    """
    place = np.searchsorted(cells.cuts, decision_thresholds(result))

    def numbers(kept: CellSet) -> dict[str, float]:
        means = kept.means[:, 0]
        rates = kept.p_miss[place], kept.p_fa[place]
        return evaluation_numbers(kept.bins(), (float(means[0]), float(means[1])), rates, result)

    counted = numbers(cells.total)
    jackknife = Jackknife.of(cells, lambda kept: list(numbers(kept).values()), tuple(counted))
    exact = np.array([exact_number(result, name) for name in jackknife.names])
    finite = np.isfinite(exact)
    # within a cell scores are not told apart, neither in all trials nor in some of them
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
