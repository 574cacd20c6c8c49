"""How straight a DET curve is, beside DETs that are straight: those of two Gaussians with as many trials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit._arguments import whole_number
from llrkit._arrays import FloatArray
from llrkit._plain import Json
from llrkit._random import RNG
from llrkit._results import Result
from llrkit.core.counting import count_bins
from llrkit.errors import InputError
from llrkit.metrics.det_slope import DetSlope, det_slope_from_bins
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.scores_and_labels import takes_labels

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
    distance = _distances(line)
    if len(distance) < 3 or not np.isfinite(distance).all():
        raise InputError("the DET has too few points between 0.1 % and 50 % to tell whether it is straight")
    thirds = np.array_split(distance, 3)
    bend = float(thirds[1].mean() - 0.5 * (thirds[0].mean() + thirds[2].mean()))
    generator = np.random.default_rng(rng)
    n_target, n_nontarget = (int(min(n, MOST)) for n in (bins.n_target, bins.n_nontarget))
    null = [_simulated(line, n_target, n_nontarget, generator) for _ in range(simulations)]
    return DetStraightness(_rms(distance), bend, line, np.array(null))


def _distances(line: DetSlope) -> FloatArray:
    """From the line to each point of the DET; positive above it, where errors are more."""
    across = line.probit_miss - line.slope * line.probit_fa - line.intercept
    return np.asarray(across / np.hypot(1.0, line.slope))


def _rms(distance: FloatArray) -> float:
    return float(np.sqrt(np.mean(distance**2)))


def _simulated(line: DetSlope, n_target: int, n_nontarget: int, rng: np.random.Generator) -> float:
    # Pfa = Phi(-t) and Pmiss = Phi((t - m) / s): the DET has slope -1/s and intercept -m/s
    spread = -1.0 / line.slope
    mean = -line.intercept * spread
    target = mean + spread * rng.standard_normal(n_target)
    made = det_slope_from_bins(count_bins(Scores(target, rng.standard_normal(n_nontarget))))
    distance = _distances(made)
    return _rms(distance) if len(distance) > 2 and np.isfinite(distance).all() else 0.0
