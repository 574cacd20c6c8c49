"""The shape of a DET curve: its slope, and how straight it is beside those of two Gaussians."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from llrkit._arguments import whole_number
from llrkit._arrays import FloatArray
from llrkit._plain import Json
from llrkit._random import RNG
from llrkit._results import Result
from llrkit.core.counting import count_bins
from llrkit.core.elementary_functions import probit
from llrkit.core.pav_and_hull import error_path
from llrkit.core.score_bins import ScoreBins
from llrkit.errors import InputError
from llrkit.metrics.curve_base import Curve
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.scores_and_labels import takes_labels

RANGE = (0.001, 0.5)
_LINES = 403
_STEPS = 60
_SETTLED = 1e-13
"""In probits; one more step of Newton's leaves rounding errors only."""
_ROOT_2_PI = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class DetSlope(Curve):
    """A straight line through a DET curve: ``probit Pmiss = slope * probit Pfa + intercept``.

    ``probit_fa`` and ``probit_miss`` are the points of the DET it was fitted to. -1 is what calibrated
    Gaussian LLRs give; ``nan`` when fewer than two points lie in the range.
    """

    slope: float
    intercept: float
    probit_fa: FloatArray
    probit_miss: FloatArray


@takes_labels
def det_slope(source: ScoreSource) -> DetSlope:
    """Slope of the DET curve where both error rates are between 0.1 % and 50 %.

    Total least squares over the crossings of the DET with the lines probit Pmiss - probit Pfa = c, c on
    an even grid; swapping the classes inverts the slope exactly.

    Examples
    --------
    >>> import llrkit as lk
    >>> from scipy.special import ndtri
    >>> quantiles = ndtri((np.arange(2000) + 0.5) / 2000)
    >>> round(lk.det_slope(lk.Scores(quantiles + 1, 0.5 * quantiles - 1)).slope, 2)
    -0.5
    """
    return det_slope_from_bins(count_bins(source))


def det_slope_from_bins(bins: ScoreBins) -> DetSlope:
    """DET slope of bins."""
    path = error_path(bins)
    p_miss, p_fa = path.p_miss, path.p_fa
    reach = float(probit(RANGE[1]) - probit(RANGE[0]))
    wanted = np.linspace(-reach, reach, _LINES)[1:-1]  # the end lines touch the range in a corner only
    # c rises along the path from -inf to inf, except where both rates are at an end (perfect separation)
    with np.errstate(invalid="ignore"):
        c = probit(p_miss) - probit(p_fa)
    good = ~np.isnan(c)
    p_miss, p_fa, c = p_miss[good], p_fa[good], np.maximum.accumulate(c[good])
    after = np.searchsorted(c, wanted)
    inside = (after > 0) & (after < len(c))
    wanted, after = wanted[inside], after[inside]
    m, f = _det_crossings(p_miss[after - 1], p_miss[after], p_fa[after - 1], p_fa[after], wanted)
    keep = (m >= RANGE[0]) & (m <= RANGE[1]) & (f >= RANGE[0]) & (f <= RANGE[1])
    x, y = np.asarray(probit(f[keep])), np.asarray(probit(m[keep]))
    slope = _total_least_squares(x, y)
    intercept = float(y.mean() - slope * x.mean()) if len(x) > 1 else float("nan")
    return DetSlope(slope, intercept, x, y)


def _det_crossings(
    m0: FloatArray, m1: FloatArray, f0: FloatArray, f1: FloatArray, wanted: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Where each segment of the path meets its line: the difference rises along it.

    Newton's steps, halving the bracket wherever one leaves it.
    """
    low, high = np.zeros(len(wanted)), np.ones(len(wanted))
    share = 0.5 * (low + high)
    for _ in range(_STEPS):
        at_m, at_f = probit(m0 + share * (m1 - m0)), probit(f0 + share * (f1 - f0))
        excess = at_m - at_f - wanted
        low, high = np.where(excess < 0.0, share, low), np.where(excess < 0.0, high, share)
        with np.errstate(over="ignore", invalid="ignore"):  # at the ends, where a rate is 0 or 1
            rise = _ROOT_2_PI * ((m1 - m0) * np.exp(0.5 * at_m**2) - (f1 - f0) * np.exp(0.5 * at_f**2))
            tried = share - excess / rise
        share = np.where((tried >= low) & (tried <= high), tried, 0.5 * (low + high))
        if not np.any(np.abs(excess) > _SETTLED):
            break
    return m0 + share * (m1 - m0), f0 + share * (f1 - f0)


def _total_least_squares(x: FloatArray, y: FloatArray) -> float:
    if len(x) < 2:
        return float("nan")
    dx, dy = x - x.mean(), y - y.mean()
    xx, yy, xy = float((dx * dx).sum()), float((dy * dy).sum()), float((dx * dy).sum())
    if abs(xy) <= 1e-12 * max(xx, yy):  # flat or upright: no slope to speak of
        return float("nan")
    gap = yy - xx
    root = float(np.hypot(gap, 2.0 * xy))
    # of the two equal forms take the one that adds
    return (gap + root) / (2.0 * xy) if gap >= 0 else 2.0 * xy / (root - gap)


MOST = 100_000
"""Simulated trials of a class. More trials vary less, so for larger sets the null is a little too wide."""


@dataclass(frozen=True, eq=False)
class DetStraightness(Result):
    """How far a DET is from the line through it, and how far straight ones are by chance.

    ``rms`` is the root mean square distance, at right angles, in probits. ``p_value`` is the probability that
    independent trials of two Gaussians, whose DET is the line, are at least that far from theirs.
    """

    rms: float
    bend: float
    """Mean distance in the middle third less that in the outer thirds; above 0 the DET bends outwards."""
    line: DetSlope
    null: FloatArray
    """The same distance of every simulated DET."""

    @property
    def p_value(self) -> float:
        """Share of the simulations, and of this one, that are as bent."""
        return float((1 + np.count_nonzero(self.null >= self.rms)) / (1 + len(self.null)))

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        return {
            "rms": self.rms,
            "bend": self.bend,
            "slope": self.line.slope,
            "p_value": self.p_value,
            "null_median": float(np.median(self.null)),
            "null_95": float(np.quantile(self.null, 0.95)),
        }

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value:.4g}" for name, value in self.to_dict().items())
        return f"DetStraightness({shown}, {len(self.null)} simulations)"


@takes_labels
def det_straightness(source: ScoreSource, *, simulations: int = 99, rng: RNG = 0) -> DetStraightness:
    """Whether a DET is a straight line, as that of two Gaussians of any spreads is.

    The line is that of :func:`llrkit.det_slope`. A DET depends on the order of the scores alone, so this
    says nothing about the scores themselves: every increasing map of them has the same DET. Straight with a
    slope of -1 means that *some* map makes them a calibrated Gaussian pair, not that a line does.

    Parameters
    ----------
    simulations
        Number of simulated sets.
    rng
        A NumPy generator, or a seed.

    Examples
    --------
    >>> import llrkit as lk
    >>> rng = np.random.default_rng(1)
    >>> gaussian = lk.Scores(rng.normal(2, 1, 1000), rng.normal(0, 1.5, 5000))
    >>> bent = lk.Scores(rng.normal(rng.choice([1.0, 5.0], 1000), 1), rng.normal(0, 1, 5000))
    >>> [lk.det_straightness(scores, simulations=19).p_value > 0.05 for scores in (gaussian, bent)]
    [True, False]
    """
    whole_number(simulations, 1, "simulations")
    bins = count_bins(source)
    line = det_slope_from_bins(bins)
    distance = _distances_from_line(line)
    if len(distance) < 3 or not np.isfinite(distance).all():
        raise InputError("the DET has too few points between 0.1 % and 50 % to tell whether it is straight")
    thirds = np.array_split(distance, 3)
    bend = float(thirds[1].mean() - 0.5 * (thirds[0].mean() + thirds[2].mean()))
    generator = np.random.default_rng(rng)
    n_target, n_nontarget = (int(min(n, MOST)) for n in (bins.n_target, bins.n_nontarget))
    null = [_simulated_distances(line, n_target, n_nontarget, generator) for _ in range(simulations)]
    return DetStraightness(_rms_distance(distance), bend, line, np.array(null))


def _distances_from_line(line: DetSlope) -> FloatArray:
    """From the line to each point of the DET; positive above it, where errors are more."""
    across = line.probit_miss - line.slope * line.probit_fa - line.intercept
    return np.asarray(across / np.hypot(1.0, line.slope))


def _rms_distance(distance: FloatArray) -> float:
    return float(np.sqrt(np.mean(distance**2)))


def _simulated_distances(line: DetSlope, n_target: int, n_nontarget: int, rng: np.random.Generator) -> float:
    # Pfa = Phi(-t) and Pmiss = Phi((t - m) / s): the DET has slope -1/s and intercept -m/s
    spread = -1.0 / line.slope
    mean = -line.intercept * spread
    target = mean + spread * rng.standard_normal(n_target)
    made = det_slope_from_bins(count_bins(Scores(target, rng.standard_normal(n_nontarget))))
    distance = _distances_from_line(made)
    return _rms_distance(distance) if len(distance) > 2 and np.isfinite(distance).all() else 0.0
