"""The rungs of the ladder: mixtures of the two training classes after a move, fitted to unlabeled scores.

On every rung a score of a class is ``center + offset + spread * (s - center)`` of a training score s of that
class, or comes from a normal distribution; the rungs differ in what may move. The share of targets is free,
or held in a range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.densities.likelihood_maximizer import Objective, maximize
from llrkit.core.elementary_functions import logit, sigmoid
from llrkit.core.score_histogram import ClassHistogram
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.shift.class_density import ClassDensity

RUNGS = ("no shift", "common move", "a move per class", "free spread", "free shape")
"""From the bottom to the top of the ladder."""
SHARES = (1e-4, 1.0 - 1e-4)
"""The share of targets that is looked for by default; an estimate at an end says nothing."""
FARTHEST_SPREAD = 8.0
"""Times that a class may spread more, or less, than in training: what moves are looked for."""
FARTHEST_OFFSET = 25.0
"""The same for offsets, in standard deviations."""


@dataclass(frozen=True)
class Move:
    """Where the scores of a class have gone: ``center + offset + spread * (s - center)``."""

    offset: float
    spread: float
    center: float

    def back(self, scores: FloatArray) -> FloatArray:
        """Where scores of the new domain would have been in training."""
        return (scores - self.center - self.offset) / self.spread + self.center


@dataclass(frozen=True, eq=False)
class MovedMixture(ReadOnlyArrays):
    """A fitted rung: the masses of both classes in the cells of the new scores."""

    rung: int
    share: float
    target: Move
    nontarget: Move
    at: FloatArray
    """The centers of the cells."""
    counts: FloatArray
    masses: FloatArray
    """By class, those of the density at the centers of the cells, with sum 1."""
    log_likelihood: float
    """Of a score, on average."""
    x: FloatArray
    covered: float = 1.0
    """The part of the mixture that is in the cells: scores should be wherever it is."""
    normal: bool = False
    """Whether the classes are normal distributions, not those of training."""

    @property
    def mixed(self) -> FloatArray:
        """The masses of the mixture."""
        return np.asarray(self.share * self.masses[0] + (1.0 - self.share) * self.masses[1])

    @property
    def responsibility(self) -> FloatArray:
        """The probability of a target in each cell, at the share of targets."""
        return np.asarray(self.share * self.masses[0] / np.maximum(self.mixed, 1e-300))

    @property
    def shared_out(self) -> FloatArray:
        """The scores that were seen, shared out between the classes; by class, with sum 1."""
        own = self.responsibility
        parts = self.counts * np.array([own, 1.0 - own])
        return np.asarray(parts / np.maximum(parts.sum(axis=1, keepdims=True), 1e-300))

    def distances(self) -> tuple[float, float, float]:
        """Kolmogorov-Smirnov distances: of all scores, and of the part that each class explains.

        What the mixture has beyond all scores is a distance as well.

        The last two weigh every score with the probability that the mixture gives a class there; what a
        small class does shows in its own distance, not in that of all scores.
        """
        mixed = np.maximum(self.mixed, 1e-300)
        own = self.responsibility
        return (
            max(_distance_of_masses(self.counts, mixed), 1.0 - self.covered),
            _distance_of_masses(self.counts * own, mixed * own),
            _distance_of_masses(self.counts * (1.0 - own), mixed * (1.0 - own)),
        )


def _distance_of_masses(counts: FloatArray, masses: FloatArray) -> float:
    seen, expected = np.cumsum(counts), np.cumsum(masses)
    if seen[-1] <= 0.0 or expected[-1] <= 0.0:
        return 1.0
    return float(np.abs(seen / seen[-1] - expected / expected[-1]).max())


@dataclass(frozen=True, eq=False)
class MovableClasses:
    """Both training classes, and new scores in cells, for every rung to be fitted.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> target, nontarget = rng.normal(3.0, 1.0, 5_000), rng.normal(0.0, 1.0, 5_000)
    >>> new = np.concatenate([rng.normal(7.0, 1.5, 1_000), rng.normal(2.5, 1.5, 9_000)])
    >>> trained = [ClassDensity.of(ClassHistogram.of(values)) for values in (target, nontarget)]
    >>> found = MovableClasses.of(*trained, ClassHistogram.of(new)).fitted(1)
    >>> round(found.share, 1), abs(found.target.spread - 1.5) < 0.1
    (0.1, True)
    """

    classes: tuple[ClassDensity, ClassDensity]
    cells: ClassHistogram
    shares: tuple[float, float] = SHARES

    @classmethod
    def of(
        cls,
        target: ClassDensity,
        nontarget: ClassDensity,
        new: ClassHistogram,
        shares: tuple[float, float] = SHARES,
    ) -> MovableClasses:
        """From training densities and the counts of new scores."""
        return cls((target, nontarget), new, shares)

    @property
    def at(self) -> FloatArray:
        """The centers of the cells."""
        return self.cells.centers

    @property
    def counts(self) -> FloatArray:
        """New scores in the cells."""
        return np.asarray(self.cells.count, dtype=np.float64)

    @property
    def width(self) -> float:
        """Of the cells."""
        return self.cells.width

    @property
    def scale(self) -> float:
        """The unit of moves: the mean standard deviation of the training classes."""
        return 0.5 * (self.classes[0].sd + self.classes[1].sd)

    def moves(self, rung: int, x: FloatArray) -> tuple[Move, Move]:
        """The moves that parameters mean: log-odds of the share, then logs of spreads, then offsets."""
        middle = 0.5 * (self.classes[0].mean + self.classes[1].mean)
        centers = (middle, middle) if rung <= 1 else (self.classes[0].mean, self.classes[1].mean)
        log_spread, offset = unpacked(rung, x)
        return tuple(  # type: ignore[return-value]
            Move(offset[i] * self.scale, math.exp(log_spread[i]), centers[i]) for i in (0, 1)
        )

    def fitted(self, rung: int, below: MovedMixture | None = None, *, normal: bool = False) -> MovedMixture:
        """The most likely mixture of a rung; the one below is where the search begins."""
        ends = [float(end) for end in logit(np.array(self.shares))]
        free = [[min(max(start, ends[0]), ends[1])] for start in (-4.0, -2.0, 0.0)]
        starts = [[*share, *_no_move(rung)] for share in free]
        if below is not None:
            starts = [_from_below(rung, below.x), *starts[:1]]
        if normal:
            starts = [*starts, *(self._split(share) for share in (0.01, 0.1, 0.5))]
        n_spreads = (0, 1, 1, 2)[rung]
        n_offsets = (0, 1, 2, 2)[rung]
        spread, offset = math.log(FARTHEST_SPREAD), FARTHEST_OFFSET
        bounds = [(ends[0], ends[1]), *[(-spread, spread)] * n_spreads, *[(-offset, offset)] * n_offsets]
        bounds = [(low, high + 1e-12) for low, high in bounds]
        best = maximize(self._objective(rung, normal), starts, bounds)
        return self.mixture(rung, best.x, normal=normal)

    def mixture(self, rung: int, x: FloatArray, *, normal: bool = False) -> MovedMixture:
        """The mixture with given parameters."""
        logs, _ = self._log_densities(rung, x, normal)
        masses = np.exp(logs)
        share = float(sigmoid(x[0]))
        covered = float(np.array([share, 1.0 - share]) @ masses.sum(axis=1)) * self.width
        masses /= np.maximum(masses.sum(axis=1, keepdims=True), 1e-300)
        value, _ = self._objective(rung, normal)(x)
        moves = self.moves(rung, x)
        return MovedMixture(
            rung, share, *moves, self.at, self.counts, masses, value, x, min(covered, 1.0), normal
        )

    def _split(self, share: float) -> list[float]:
        """Normal classes that cut the new scores at a quantile: a start that no class is too far from."""
        below = np.cumsum(self.counts) / self.counts.sum()
        cut = int(np.clip(np.searchsorted(below, 1.0 - share), 1, len(self.at) - 1))
        log_spread, offset = [], []
        for i, part in enumerate((slice(cut, None), slice(None, cut))):
            weight = self.counts[part] / max(self.counts[part].sum(), 1e-300)
            mean = float(weight @ self.at[part])
            sd = math.sqrt(max(float(weight @ (self.at[part] - mean) ** 2), self.width**2))
            log_spread.append(math.log(sd / self.classes[i].sd))
            offset.append((mean - self.classes[i].mean) / self.scale)
        return [float(logit(share)), *log_spread, *offset]

    def _log_densities(self, rung: int, x: FloatArray, normal: bool) -> tuple[FloatArray, list[FloatArray]]:
        """Log density of each class at the cells, and its derivative by where a score would have been."""
        logs, slopes = [], []
        for density, move in zip(self.classes, self.moves(rung, x), strict=True):
            back = move.back(self.at)
            if normal:
                z = (back - density.mean) / density.sd
                log_pdf = -0.5 * z * z - math.log(density.sd * math.sqrt(2.0 * math.pi))
                slope = -z / density.sd
            else:
                log_pdf, slope = density.log_pdf(back)
            logs.append(log_pdf - math.log(move.spread))
            slopes.append(slope)
        return np.array(logs), slopes

    def _objective(self, rung: int, normal: bool) -> Objective:
        """Mean log-likelihood and its gradient."""
        weights = self.counts / self.counts.sum()

        def objective(x: FloatArray) -> tuple[float, FloatArray]:
            logs, slopes = self._log_densities(rung, x, normal)
            share = float(sigmoid(x[0]))
            log_own, log_other = math.log(share) + logs[0], math.log1p(-share) + logs[1]
            total = np.logaddexp(log_own, log_other)
            own = np.exp(log_own - total)
            by_spread, by_offset = [], []
            for responsible, slope, move in zip((own, 1.0 - own), slopes, self.moves(rung, x), strict=True):
                back = move.back(self.at)
                by_spread.append(float(weights @ (responsible * (-slope * (back - move.center) - 1.0))))
                by_offset.append(float(weights @ (responsible * -slope)) * self.scale / move.spread)
            gradient = [float(weights @ own) - share, *_packed_derivatives(rung, by_spread, by_offset)]
            return float(weights @ total), np.array(gradient)

        return objective


def _no_move(rung: int) -> list[float]:
    return [0.0] * (0, 2, 3, 4)[rung]


def unpacked(rung: int, x: FloatArray) -> tuple[tuple[float, float], tuple[float, float]]:
    """Logs of spreads and offsets of both classes."""
    if rung == 0:
        return (0.0, 0.0), (0.0, 0.0)
    if rung == 1:
        return (x[1], x[1]), (x[2], x[2])
    if rung == 2:
        return (x[1], x[1]), (x[2], x[3])
    return (x[1], x[2]), (x[3], x[4])


def _packed_derivatives(rung: int, by_spread: Sequence[float], by_offset: Sequence[float]) -> list[float]:
    """The derivatives by the parameters of a rung."""
    if rung == 0:
        return []
    if rung == 1:
        return [sum(by_spread), sum(by_offset)]
    return [sum(by_spread), *by_offset] if rung == 2 else [*by_spread, *by_offset]


def _from_below(rung: int, x: FloatArray) -> list[float]:
    """Parameters of a rung that mean about what those of the rung below do."""
    if rung == 1:
        return [float(x[0]), 0.0, 0.0]
    if rung == 2:
        return [float(x[0]), float(x[1]), float(x[2]), float(x[2])]
    return [float(x[0]), float(x[1]), float(x[1]), float(x[2]), float(x[3])]
