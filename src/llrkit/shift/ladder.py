"""The ladder: from "no shift" up to free densities, climbed only as far as the scores ask for.

A rung is adequate if its mixture is close to the scores, as a whole and in the part that each class explains.
If it is not, the next one is tried, and taken only if what it promises to gain is certain, also in the eyes
of the rungs above it. The likelihood alone would choose wrongly: a mixture of two free normal densities often
has the better one, and the worse LLRs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.score_histogram import ClassHistogram
from llrkit.shift.class_density import ClassDensity
from llrkit.shift.expected_loss import Llrs, best_line_before, expected_cllr, harm_interval
from llrkit.shift.moved_mixture import RUNGS, SHARES, MovableClasses, MovedMixture
from llrkit.shift.reasons_against_rungs import (
    MOST_APART,
    MOST_APART_OF_CLASS,
    hard_edge,
    reason_against,
    share_outside,
    too_few_of_class,
)

DRAWS = 200


@dataclass(frozen=True, eq=False)
class LadderStep:
    """A rung: its mixture, the map it leads to as a function, and what is expected of it, in bits."""

    mixture: MovedMixture
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
        return is_adequate(self.mixture)


def is_adequate(mixture: MovedMixture) -> bool:
    """Whether a mixture is close to the scores, as a whole and in the part that each class explains."""
    whole, *classes = mixture.distances()
    limits = class_limits(mixture)
    close = all(one <= max(MOST_APART_OF_CLASS, limit) for one, limit in zip(classes, limits, strict=True))
    return whole <= MOST_APART and close


def class_limits(mixture: MovedMixture) -> tuple[float, float]:
    """Distances that chance alone makes likely in the two parts of few scores."""
    n = float(mixture.counts.sum())
    return tuple(  # type: ignore[return-value]
        1.4 / math.sqrt(max(n * share, 1.0)) for share in (mixture.share, 1.0 - mixture.share)
    )


@dataclass(frozen=True, eq=False)
class Climb:
    """Where a climb ended, or why no rung can be trusted."""

    steps: tuple[LadderStep, ...]
    refusal: str = ""
    """Why none can be; empty otherwise."""
    free: FloatArray | None = None
    """At the top: LLRs by density ratio at the cells."""
    above: LadderStep | None = None
    """A rung that was looked at and is not needed, or may lose as well as gain."""
    harms: tuple[float, float] | None = None
    """Interval of the harm over all models that describe the scores; None where no move is made."""
    too_few: str = ""
    """Why no rung above was looked at where one was asked for: a class may be anywhere."""

    @property
    def last(self) -> LadderStep:
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
    edge: str = "",
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
    edge
        Why infinite scores, which are in no cell, speak against any move.
    """
    movable = MovableClasses.of(*classes, new, shares)
    n = new.total / inflation
    n_sure = 1.0 / (1.0 / n + inflation / n_training)

    def step(mixture: MovedMixture) -> LadderStep:
        return _step_of_ladder(llrs, movable, mixture, n_sure)

    steps = [step(movable.fitted(0))]
    if is_shifted and edge:
        return Climb(tuple(steps), edge)
    if not is_shifted or steps[0].adequate:
        if shares != SHARES:
            anywhere = MovableClasses.of(*classes, new).fitted(0)
            if refusal := share_outside(steps[0].mixture, anywhere, n):
                return Climb(tuple(steps), refusal)
        if not look_up:
            return Climb(tuple(steps))
        if too_few := too_few_of_class(steps[0].mixture, n):
            return Climb(tuple(steps), too_few=too_few)
        return Climb(tuple(steps), above=step(movable.fitted(1, steps[0].mixture)))
    if refusal := hard_edge(new):
        return Climb(tuple(steps), refusal)
    moved: list[MovedMixture] = [steps[0].mixture]
    for rung in (1, 2, 3):
        moved.append(movable.fitted(rung, moved[-1]))
    normal = None
    for rung in (1, 2, 3):
        mixture = moved[rung]
        if rung == 3:
            normal = movable.fitted(3, normal=True)
            mixture = max(mixture, normal, key=lambda one: one.log_likelihood)
        made = step(mixture)
        steps.append(made)
        if made.adequate and not _loses_by_move(llrs, made, moved[rung + 1 :]):
            break
    last = steps[-1]
    if refusal := reason_against(last.mixture, shares, n, adequate=last.adequate):
        return Climb(tuple(steps), refusal)
    if last.adequate and last.gain[0] <= 0.0:  # a gain that may be a loss is not taken
        return Climb(tuple(steps[:1]), above=last)
    rivals = [
        (one, best_line_before(llrs, one, movable.scale))
        for one in (*moved[1:], normal or movable.fitted(3, normal=True))
        if is_adequate(one) and not reason_against(one, shares, n, adequate=True)
    ]
    harms = harm_interval(llrs, (last.mixture, last.line), last.gain, rivals, n_sure)
    free = None if last.adequate else _free_shape(last.mixture)
    return Climb(tuple(steps), free=free, harms=harms)


def _loses_by_move(llrs: Llrs, step: LadderStep, above: list[MovedMixture]) -> bool:
    """Whether a rung above that describes the scores, too, expects a move to lose more than no move."""
    slope, offset = step.line
    for rival in above:
        before = expected_cllr(llrs(rival.at), rival.masses)
        after = expected_cllr(llrs(slope * rival.at + offset), rival.masses)
        if after > before and is_adequate(rival):
            return True
    return False


def _step_of_ladder(llrs: Llrs, movable: MovableClasses, mixture: MovedMixture, n: float) -> LadderStep:
    """What a rung promises, with an interval from the uncertainty of its parameters."""
    line = best_line_before(llrs, mixture, movable.scale)

    def losses(drawn: MovedMixture, line: tuple[float, float]) -> tuple[float, float]:
        moved = llrs(line[0] * drawn.at + line[1])
        return expected_cllr(llrs(drawn.at), drawn.masses), expected_cllr(moved, drawn.masses)

    old, new = losses(mixture, line)
    gains, shares = [], []
    # the gain of this very move, were the truth a neighbor of what was estimated
    for x in _neighbor_parameters(movable, mixture, n):
        drawn = movable.mixture(mixture.rung, x, normal=mixture.normal)
        before, after = losses(drawn, line)
        gains.append(before - after)
        shares.append(drawn.share)
    return LadderStep(
        mixture,
        line,
        old,
        new,
        _interval_of_promise(gains, old - new),
        _interval_of_promise(shares, mixture.share),
    )


def _interval_of_promise(drawn: list[float], estimate: float) -> tuple[float, float]:
    """The middle 95 % of what was drawn, with the estimate in it."""
    low, high = np.quantile([*drawn, estimate], [0.025, 0.975]).tolist()
    return min(low, estimate), max(high, estimate)


def _neighbor_parameters(movable: MovableClasses, mixture: MovedMixture, n: float) -> list[FloatArray]:
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


def _free_shape(mixture: MovedMixture) -> FloatArray:
    """LLRs at the cells from densities without a shape: the scores, shared out between the classes."""
    own = mixture.responsibility
    first, width = 0, float(mixture.at[1] - mixture.at[0])
    logs = []
    for part in (own, 1.0 - own):
        counts = ClassHistogram(0, first, mixture.counts * part)
        density = ClassDensity.of(counts)
        logs.append(density.log_pdf((mixture.at - mixture.at[0]) / width + 0.5)[0])
    ratio = logs[0] - logs[1]
    limit = [math.log1p(float((mixture.counts * part).sum())) for part in (own, 1.0 - own)]
    return np.clip(np.maximum.accumulate(ratio), -limit[0], limit[1])
