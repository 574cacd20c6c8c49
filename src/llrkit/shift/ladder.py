"""The ladder: from "no shift" up to free densities, climbed only as far as the scores ask for.

A rung is adequate if its mixture is close to the scores, as a whole and in the part that each class explains.
If it is not, the next one is tried, and taken only if what it promises to gain is certain. The likelihood
alone would choose wrongly: a mixture of two free normal densities often has the better one, and the worse
LLRs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.score_histogram import ClassHistogram
from llrkit.shift.class_density import ClassDensity
from llrkit.shift.expected_loss import Llrs, best_line_before, expected_cllr
from llrkit.shift.moved_mixture import RUNGS, SHARES, Mixture, Movable

MOST_APART = 0.055
"""Kolmogorov-Smirnov distance between a mixture and all scores up to which a rung is adequate."""
MOST_APART_OF_CLASS = 0.07
"""The same for the part of the scores that a class explains."""
MOST_BEFORE_FREE = 0.09
"""The same on the last parametric rung, up to which free shapes may follow."""
FEWEST_OF_CLASS = 50
"""Trials that the share of each class must stand for: fewer do not show where it is."""
EDGE = 0.02
"""Share of the scores in the outermost cell from which on scores have a hard edge."""
DRAWS = 200


@dataclass(frozen=True, eq=False)
class Step:
    """A rung: its mixture, the map it leads to as a function, and what is expected of it, in bits."""

    mixture: Mixture
    line: tuple[float, float]
    old: float
    """Expected Cllr of the map as it is."""
    new: float
    """Expected Cllr after the move."""
    gain: tuple[float, float]
    """Interval of what the move gains."""
    shares: tuple[float, float]
    """Interval of the share of targets."""

    @property
    def harm(self) -> float:
        """What the map as it is loses more than it need to."""
        return self.old - self.new

    @property
    def adequate(self) -> bool:
        """Whether the mixture is as close to the scores as it should be."""
        whole, *classes = self.mixture.distances()
        limits = class_limits(self.mixture)
        close = all(
            one <= max(MOST_APART_OF_CLASS, limit) for one, limit in zip(classes, limits, strict=True)
        )
        return whole <= MOST_APART and close


def class_limits(mixture: Mixture) -> tuple[float, float]:
    """Distances that chance alone makes likely in the two parts of few scores."""
    n = float(mixture.counts.sum())
    return tuple(  # type: ignore[return-value]
        1.4 / math.sqrt(max(n * share, 1.0)) for share in (mixture.share, 1.0 - mixture.share)
    )


@dataclass(frozen=True, eq=False)
class Climb:
    """Where a climb ended, or why no rung can be trusted."""

    steps: tuple[Step, ...]
    refusal: str = ""
    """Why none can be; empty otherwise."""
    free: FloatArray | None = None
    """At the top: LLRs by density ratio at the cells."""
    above: Step | None = None
    """A rung that was looked at and is not needed, or may lose as well as gain."""

    @property
    def last(self) -> Step:
        """The rung that was reached."""
        return self.steps[-1]

    @property
    def name(self) -> str:
        """Of the rung."""
        return RUNGS[4] if self.free is not None else RUNGS[self.last.mixture.rung]


def climb(
    llrs: Llrs,
    classes: tuple[ClassDensity, ClassDensity],
    new: ClassHistogram,
    *,
    inflation: float = 1.0,
    n_training: float = math.inf,
    shares: tuple[float, float] = SHARES,
    is_shifted: bool = True,
    look_up: bool = False,
) -> Climb:
    """Climb the ladder for scores in cells.

    Parameters
    ----------
    llrs
        The map that was trained, as a function of scores.
    inflation
        How many trials say as much as one that is independent of all others.
    n_training
        Trials of the training set; what these do not tell exactly no rung does.
    is_shifted
        Whether the test found a shift at all: without one the ladder is not climbed.
    look_up
        Where no move is needed, say all the same what the next rung would gain.
    """
    movable = Movable.of(*classes, new, shares)
    n = new.total / inflation
    n_sure = 1.0 / (1.0 / n + inflation / n_training)

    def step(mixture: Mixture) -> Step:
        return _step(llrs, movable, mixture, n_sure)

    steps = [step(movable.fitted(0))]
    if not is_shifted or steps[0].adequate:
        return Climb(tuple(steps), above=step(movable.fitted(1, steps[0].mixture)) if look_up else None)
    if refusal := _hard_edge(new):
        return Climb(tuple(steps), refusal)
    for rung in (1, 2, 3):
        mixture = movable.fitted(rung, steps[-1].mixture if steps[-1].mixture.rung == rung - 1 else None)
        if rung == 3:
            normal = movable.fitted(3, normal=True)
            mixture = max(mixture, normal, key=lambda one: one.log_likelihood)
        made = step(mixture)
        steps.append(made)
        if made.adequate:
            break
    last = steps[-1]
    if refusal := refusal_of(last, shares, n):
        return Climb(tuple(steps), refusal)
    if last.adequate:
        # a gain that may be a loss is not taken
        certain = last.gain[0] > 0.0
        return Climb(tuple(steps if certain else steps[:1]), above=None if certain else last)
    return Climb(tuple(steps), free=_free_shape(last.mixture))


def refusal_of(step: Step, shares: tuple[float, float], n: float) -> str:
    """Why a rung must not be trusted; empty if it may be."""
    mixture = step.mixture
    whole, target, nontarget = mixture.distances()
    low, high = shares
    at_end = mixture.share <= low * 1.02 or mixture.share >= 1.0 - (1.0 - high) * 1.02
    if low < high and at_end:
        given = "of what was given" if shares != SHARES else ""
        return f"the estimated share of targets, {mixture.share:.3g}, is at the end {given}".rstrip()
    if min(mixture.share, 1.0 - mixture.share) * n < FEWEST_OF_CLASS:
        few = "targets" if mixture.share < 0.5 else "non-targets"
        return (
            f"the scores hold about {min(mixture.share, 1.0 - mixture.share) * n:.0f} independent {few}; "
            f"at least {FEWEST_OF_CLASS} are needed"
        )
    if not step.adequate and (whole > MOST_APART or max(target, nontarget) > MOST_BEFORE_FREE):
        return (
            "no move of the training classes describes the scores "
            f"(distances: all {whole:.3f}, targets {target:.3f}, non-targets {nontarget:.3f}; "
            f"allowed are {MOST_APART}, {MOST_APART_OF_CLASS} and {MOST_APART_OF_CLASS})"
        )
    if not _has_two_modes(mixture):
        return "the two classes do not show as two modes in the scores"
    return ""


def _has_two_modes(mixture: Mixture) -> bool:
    """Whether the mixture has a valley between the middles of its classes."""
    mixed, below = mixture.mixed, np.cumsum(mixture.masses, axis=1)
    middle = [int(np.searchsorted(part, 0.5)) for part in below]
    low, high = min(middle), max(middle)
    if high - low < 3 or middle[0] < middle[1]:
        return False
    between = mixed[low : high + 1]
    tops = [mixed[max(i - 2, 0) : i + 3].max() for i in middle]
    return bool(between.min() < 0.9 * min(tops))


def _hard_edge(new: ClassHistogram) -> str:
    """Scores that pile up at their lowest or highest value have been clipped or saturate."""
    for name, edge, beside in (
        ("lowest", new.count[0], new.count[1:6]),
        ("highest", new.count[-1], new.count[-6:-1]),
    ):
        share = float(edge) / new.total
        if share > EDGE and edge > 2.0 * beside.mean():
            return f"{100.0 * share:.0f} % of the scores are at the {name} one: a hard edge no move explains"
    return ""


def _step(llrs: Llrs, movable: Movable, mixture: Mixture, n: float) -> Step:
    """What a rung promises, with an interval from the uncertainty of its parameters."""
    line = best_line_before(llrs, mixture, movable.scale)

    def losses(drawn: Mixture, line: tuple[float, float]) -> tuple[float, float]:
        moved = llrs(line[0] * drawn.at + line[1])
        return expected_cllr(llrs(drawn.at), drawn.masses), expected_cllr(moved, drawn.masses)

    old, new = losses(mixture, line)
    gains, shares = [], []
    # the gain of this very move, were the truth a neighbor of what was estimated
    for x in _neighbors(movable, mixture, n):
        drawn = movable.mixture(mixture.rung, x, normal=mixture.normal)
        before, after = losses(drawn, line)
        gains.append(before - after)
        shares.append(drawn.share)
    return Step(mixture, line, old, new, _interval(gains, old - new), _interval(shares, mixture.share))


def _interval(drawn: list[float], estimate: float) -> tuple[float, float]:
    """The middle 95 % of what was drawn, with the estimate in it."""
    low, high = np.quantile([*drawn, estimate], [0.025, 0.975]).tolist()
    return min(low, estimate), max(high, estimate)


def _neighbors(movable: Movable, mixture: Mixture, n: float) -> list[FloatArray]:
    """Parameters that are as good as the estimated ones, given so many independent scores."""
    if mixture.rung == 0:
        return []
    objective = movable._objective(mixture.rung, mixture.normal)
    size = len(mixture.x)
    steps = 1e-3 * np.eye(size)
    hessian = np.array([(objective(mixture.x + h)[1] - objective(mixture.x - h)[1]) / 2e-3 for h in steps])
    values, vectors = np.linalg.eigh(-0.5 * (hessian + hessian.T))
    width = 1.0 / np.sqrt(np.maximum(values, 1e-3) * n)
    normal = np.random.default_rng(0).standard_normal((DRAWS, size))
    return list(mixture.x + (normal * np.minimum(width, 1.0)) @ vectors.T)


def _free_shape(mixture: Mixture) -> FloatArray:
    """LLRs at the cells from densities without a shape: the scores, shared out between the classes."""
    own = mixture.share * mixture.masses[0] / np.maximum(mixture.mixed, 1e-300)
    first, width = 0, float(mixture.at[1] - mixture.at[0])
    logs = []
    for part in (own, 1.0 - own):
        counts = ClassHistogram(0, first, mixture.counts * part)
        density = ClassDensity.of(counts)
        logs.append(density.log_pdf((mixture.at - mixture.at[0]) / width + 0.5)[0])
    ratio = logs[0] - logs[1]
    limit = [math.log1p(float((mixture.counts * part).sum())) for part in (own, 1.0 - own)]
    return np.clip(np.maximum.accumulate(ratio), -limit[0], limit[1])
