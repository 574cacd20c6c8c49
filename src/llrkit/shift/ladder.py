"""How scores may have moved: rungs from nothing to everything, and the loss to expect at each.

A rung is a mixture of the two training classes after a move, fitted to unlabeled scores. On every rung a
score of a class is ``center + offset + spread * (s - center)`` of a training score s of that class, or comes
from a normal distribution; the rungs differ in what may move. The share of targets is free, or held in a
range.

The ladder leads from "no shift" up to free densities and is climbed only as far as the scores ask for. A rung
is adequate if its mixture is close to the scores, as a whole and in the part that each class explains. If it
is not, the next one is tried, and taken only if what it promises to gain is certain, also in the eyes of the
rungs above it. The likelihood alone would choose wrongly: a mixture of two free normal densities often has
the better one, and the worse LLRs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit.base.arguments import FloatArray
from llrkit.core.histograms import ClassDensity, ClassHistogram, ScoreHistogram
from llrkit.core.numerics import logit, sigmoid, softplus
from llrkit.core.summaries import ReadOnlyArrays
from llrkit.fits.ratio import Objective, maximize

RUNGS = ("no shift", "common move", "a move per class", "free spread", "free shape")
"""From the bottom to the top of the ladder."""
SHARES = (1e-4, 1.0 - 1e-4)
"""The share of targets that is looked for by default; an estimate at an end says nothing."""
# where the search ends; a fit that reaches it is refused (reason_against)
FARTHEST_SPREAD = 8.0
"""Times that a class may spread more, or less, than in training: what moves are looked for."""
FARTHEST_OFFSET = 25.0
"""The same for offsets, in standard deviations."""


_MOVES = tuple(
    np.array(rows, dtype=np.float64).T
    for rows in (
        np.empty((0, 4)),
        [[1, 1, 0, 0], [0, 0, 1, 1]],
        [[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
        np.eye(4),
    )
)
"""Of each parametric rung, which parameter (column) is which of four: the logs of the spreads of targets and
non-targets, then their offsets. The share of targets is a parameter of every rung and comes before them."""


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
        # the floor keeps empty cells from dividing 0 by 0
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
            # mass of the mixture beyond all scores is as wrong as scores where it has none
            max(_distance_of_masses(self.counts, mixed), 1.0 - self.covered),
            _distance_of_masses(self.counts * own, mixed * own),
            _distance_of_masses(self.counts * (1.0 - own), mixed * (1.0 - own)),
        )

    @property
    def adequate(self) -> bool:
        """Whether it is close to the scores, as a whole and in the part that each class explains."""
        whole, *classes = self.distances()
        n = float(self.counts.sum())
        # in the part of few scores chance alone makes larger distances likely
        # 1.4 / sqrt(n): about the 96 % point of the Kolmogorov-Smirnov distance of n scores
        limits = [1.4 / math.sqrt(max(n * share, 1.0)) for share in (self.share, 1.0 - self.share)]
        return whole <= MOST_APART and all(
            one <= max(MOST_APART_OF_CLASS, limit) for one, limit in zip(classes, limits, strict=True)
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
    >>> found = MovableClasses((trained[0], trained[1]), ClassHistogram.of(new)).fitted(1)
    >>> round(found.share, 1), abs(found.target.spread - 1.5) < 0.1
    (0.1, True)
    """

    classes: tuple[ClassDensity, ClassDensity]
    cells: ClassHistogram
    shares: tuple[float, float] = SHARES

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
        # one unit for all moves, so the bounds of the search mean the same for both classes
        return 0.5 * (self.classes[0].sd + self.classes[1].sd)

    def moves(self, rung: int, x: FloatArray) -> tuple[Move, Move]:
        """The moves that parameters mean: log-odds of the share, then logs of spreads, then offsets."""
        middle = 0.5 * (self.classes[0].mean + self.classes[1].mean)
        # a common move has one center; a move per class turns around its
        # own mean, so spread and offset are nearly independent
        centers = (middle, middle) if rung <= 1 else (self.classes[0].mean, self.classes[1].mean)
        moves = _MOVES[rung] @ x[1:]
        target, nontarget = (Move(moves[2 + i] * self.scale, math.exp(moves[i]), centers[i]) for i in (0, 1))
        return target, nontarget

    def fitted(self, rung: int, below: MovedMixture | None = None, *, normal: bool = False) -> MovedMixture:
        """The most likely mixture of a rung; the one below is where the search begins."""
        ends = [float(end) for end in logit(np.array(self.shares))]
        moves = _MOVES[rung]
        # rare to common targets: the likelihood may have a hill for each
        starts = [
            [min(max(share, ends[0]), ends[1]), *np.zeros(moves.shape[1])] for share in (-4.0, -2.0, 0.0)
        ]
        if below is not None:  # what a parameter moves starts where it was, on average
            before = _MOVES[below.rung] @ below.x[1:]
            # a parameter that stands for several of the rung below starts at their mean
            starts = [[float(below.x[0]), *(moves.T @ before / moves.sum(axis=0))], *starts[:1]]
        if normal:
            starts = [*starts, *(self._split(share) for share in (0.01, 0.1, 0.5))]
        reach = np.repeat([math.log(FARTHEST_SPREAD), FARTHEST_OFFSET], 2)
        farthest = [float(reach[of > 0.0][0]) for of in moves.T]
        # a share that is given has equal ends; the search needs a little room
        bounds = [(ends[0], ends[1] + 1e-12), *((-far, far + 1e-12) for far in farthest)]
        best = maximize(self._objective(rung, normal), starts, bounds)
        return self.mixture(rung, best.x, normal=normal)

    def mixture(self, rung: int, x: FloatArray, *, normal: bool = False) -> MovedMixture:
        """The mixture with given parameters."""
        moves = self.moves(rung, x)
        logs, _ = self._log_densities(moves, normal)
        masses = np.exp(logs)
        share = float(sigmoid(x[0]))
        # densities at the centers times the width: what is missing lies beyond the cells
        covered = float(np.array([share, 1.0 - share]) @ masses.sum(axis=1)) * self.width
        masses /= np.maximum(masses.sum(axis=1, keepdims=True), 1e-300)
        value, _ = self._objective(rung, normal)(x)
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

    def _log_densities(self, moves: tuple[Move, Move], normal: bool) -> tuple[FloatArray, list[FloatArray]]:
        """Log density of each class at the cells, and its derivative by where a score would have been."""
        logs, slopes = [], []
        for density, move in zip(self.classes, moves, strict=True):
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
            moves = self.moves(rung, x)
            logs, slopes = self._log_densities(moves, normal)
            share = float(sigmoid(x[0]))
            # log1p(-share) keeps its digits where targets are rare
            log_own, log_other = math.log(share) + logs[0], math.log1p(-share) + logs[1]
            total = np.logaddexp(log_own, log_other)
            own = np.exp(log_own - total)
            by_spread, by_offset = [], []  # derivatives by those of each class
            for responsible, slope, move in zip((own, 1.0 - own), slopes, moves, strict=True):
                # chain rule through where the score would have been in training
                back = move.back(self.at)
                by_spread.append(float(weights @ (responsible * (-slope * (back - move.center) - 1.0))))
                by_offset.append(float(weights @ (responsible * -slope)) * self.scale / move.spread)
            by_move = _MOVES[rung].T @ np.array([*by_spread, *by_offset])
            return float(weights @ total), np.array([float(weights @ own) - share, *by_move])

        return objective


# the limits were set on 27 simulated shifts besides the 20 in docs/notes/shift-measured.md
MOST_APART = 0.055
"""Kolmogorov-Smirnov distance between a mixture and all scores up to which a rung is adequate."""
MOST_APART_OF_CLASS = 0.07
"""The same for the part of the scores that a class explains."""
MOST_BEFORE_FREE = 0.09
"""The same on the last parametric rung, up to which free shapes may follow."""
FEWEST_OF_CLASS = 50
"""Trials that the share of each class must stand for: fewer do not show where it is."""
MOST_UNEQUAL = 2.0
"""Times that one class may have spread more than the other: beyond it another shape is more likely."""
VALLEY = 0.9
"""A valley between two modes is lower than this part of the lower one."""
DEEP = 0.6
"""The same for a valley that must show in the scores, too."""
EDGE = 0.02
"""Share of the scores in the outermost cell from which on scores have a hard edge."""

CERTAINLY_LESS_LIKELY = 5.4
"""Difference of log-likelihoods with one parameter held that chance makes once in a thousand times."""
OTHER_ODDS = 1.5
"""Times that the odds of a target may differ from those given: shares are seldom known better."""


def reason_against(mixture: MovedMixture, shares: tuple[float, float], n: float, *, adequate: bool) -> str:
    """Why a fitted rung must not be trusted; empty if it may be.

    Parameters
    ----------
    shares
        The range that was allowed for the share of targets.
    n
        Independent scores.
    adequate
        Whether the mixture is close to the scores.
    """
    moves = np.abs(_MOVES[mixture.rung] @ mixture.x[1:])
    # a search that ran into its limits says nothing: the scores may have moved farther
    if max(moves[:2]) > 0.99 * math.log(FARTHEST_SPREAD) or max(moves[2:]) > 0.99 * FARTHEST_OFFSET:
        return (
            f"they are too far from the training scores (spread more than {FARTHEST_SPREAD:g} times as large "
            f"or small, or offset more than {FARTHEST_OFFSET:g} standard deviations), "
            "perhaps on another scale"
        )
    whole, target, nontarget = mixture.distances()
    low, high = shares
    # an estimate at the end of its range was stopped there, not found there
    at_end = mixture.share <= low * 1.02 or mixture.share >= 1.0 - (1.0 - high) * 1.02
    if low < high and at_end:
        given = "the range that was given" if shares != SHARES else "what is possible"
        return f"the estimated share of targets, {mixture.share:.3g}, is at the end of {given}"
    if too_few := too_few_of_class(mixture, n):
        return too_few
    # Just inadequate: free shapes may still follow. Far off: a mixture of other things.
    if not adequate and (whole > MOST_APART or max(target, nontarget) > MOST_BEFORE_FREE):
        return (
            "no move of the training classes describes the scores "
            f"(distances: all {whole:.3f}, targets {target:.3f}, non-targets {nontarget:.3f}; "
            f"allowed are {MOST_APART}, {MOST_APART_OF_CLASS} and {MOST_APART_OF_CLASS})"
        )
    # a skewed class looked like unequal spreads (0.23 to 0.59 bits lost, docs/notes/decisions-fits.md)
    unequal = mixture.target.spread / mixture.nontarget.spread
    if max(unequal, 1.0 / unequal) > MOST_UNEQUAL:
        return (
            f"the spread of targets would have changed {unequal:.2g} times as much as that of non-targets; "
            "a class of another shape would explain that as well"
        )
    if not _shows_two_modes(mixture):
        return "the two classes do not show as two modes in the scores"
    return ""


def too_few_of_class(mixture: MovedMixture, n: float) -> str:
    """Why ``n`` independent scores hold too few of a class to show where it is; empty if they do not."""
    few = min(mixture.share, 1.0 - mixture.share) * n
    if few >= FEWEST_OF_CLASS:
        return ""
    rare = "targets" if mixture.share < 0.5 else "non-targets"
    return f"the scores hold about {few:.0f} independent {rare}; at least {FEWEST_OF_CLASS} are needed"


def infinite_edge(new: ClassHistogram, classes: tuple[ClassHistogram, ClassHistogram]) -> str:
    """Infinite scores where training had hardly any: no move of finite ones explains them.

    Examples
    --------
    >>> trained = ClassHistogram.of(np.arange(9.0))
    >>> infinite_edge(ClassHistogram.of(np.array([0.0, 1.0, 2.0, -np.inf])), (trained, trained))
    '25 % of the scores are -inf: a hard edge no move explains'
    """
    for name, seen, trained in (
        ("-inf", new.n_neg_inf, [one.n_neg_inf / all_scores(one) for one in classes]),
        ("inf", new.n_pos_inf, [one.n_pos_inf / all_scores(one) for one in classes]),
    ):
        share = float(seen) / all_scores(new)
        if share > EDGE + max(trained):
            return f"{100.0 * share:.0f} % of the scores are {name}: a hard edge no move explains"
    return ""


def all_scores(one: ClassHistogram) -> float:
    """How many scores there are, infinite ones included."""
    return one.total + one.n_neg_inf + one.n_pos_inf


def share_outside(held: MovedMixture, free: MovedMixture, n: float) -> str:
    """Scores that need no move, but another share of targets than the range given allows.

    ``held`` has its share in the range, ``free`` anywhere; there are ``n`` independent scores.
    """
    between = abs(float(logit(free.share) - logit(held.share)))
    is_certain = n * (free.log_likelihood - held.log_likelihood) > CERTAINLY_LESS_LIKELY
    if not is_certain or between < math.log(OTHER_ODDS):
        return ""
    return (
        f"they are closest to the training classes with {100.0 * free.share:.3g} % targets, which is outside "
        "the range that was given"
    )


def _shows_two_modes(mixture: MovedMixture) -> bool:
    """Whether there is a valley between the middles of the two classes.

    If each class has a move of its own, the scores must show it: few targets on the slope of the non-targets
    look like other non-targets. One move for both classes also shows in the non-targets alone, and it is
    enough that the classes are apart.
    """
    # equal classes where one move serves both: the non-targets alone show it
    share = 0.5 if mixture.rung <= 1 else mixture.share
    mixed = share * mixture.masses[0] + (1.0 - share) * mixture.masses[1]
    below = np.cumsum(mixture.masses, axis=1)
    target, nontarget = (int(np.searchsorted(part, 0.5)) for part in below)
    # less than three cells apart, no valley could be seen
    if target - nontarget < 3 or not _has_valley(mixed, nontarget, target):
        return False
    if not _has_valley(mixture.mixed, nontarget, target, DEEP):
        return True  # so shallow a one need not show in the scores themselves
    cells = np.arange(len(mixed), dtype=np.float64) + np.float64(0.5)
    seen = ClassDensity.of(ClassHistogram(0, 0, mixture.counts)).log_pdf(cells)[0]
    return _has_valley(np.exp(seen), nontarget, target)


def _has_valley(density: FloatArray, low: int, high: int, depth: float = VALLEY) -> bool:
    """Whether a density is lower somewhere between two cells than around both of them."""
    # the neighborhood of the middle, because a median need not be the mode
    tops = [density[max(i - 2, 0) : i + 3].max() for i in (low, high)]
    return bool(density[low : high + 1].min() < depth * min(tops))


def hard_edge(new: ClassHistogram) -> str:
    """Scores that pile up at their lowest or highest value have been clipped or saturate.

    Examples
    --------
    >>> clipped = np.minimum(np.random.default_rng(0).normal(size=1_000), 1.0)
    >>> hard_edge(ClassHistogram.of(clipped))
    '15 % of the scores are at the highest one: a hard edge no move explains'
    """
    for name, edge, beside in (
        ("lowest", new.count[0], new.count[1:6]),
        ("highest", new.count[-1], new.count[-6:-1]),
    ):
        share = float(edge) / new.total
        # the outermost cell of a smooth density holds about as much as those beside it
        if share > EDGE and edge > 2.0 * (beside.mean() if len(beside) else 0.0):
            return f"{100.0 * share:.0f} % of the scores are at the {name} one: a hard edge no move explains"
    return ""


Llrs = Callable[[FloatArray], FloatArray]


def expected_cllr(llrs: FloatArray, masses: FloatArray) -> float:
    """Cllr of LLRs in cells, of the masses of targets and non-targets there.

    Examples
    --------
    >>> expected_cllr(np.array([0.0, 0.0]), np.array([[0.2, 0.8], [0.9, 0.1]]))
    1.0
    """
    return float(masses[0] @ softplus(-llrs) + masses[1] @ softplus(llrs)) / (2.0 * math.log(2.0))


def losses_with_line(
    llrs: Llrs, line: tuple[float, float], at: FloatArray, masses: FloatArray
) -> tuple[float, float]:
    """Expected Cllr of a map as it is, and of the map after a line."""
    slope, offset = line
    return expected_cllr(llrs(at), masses), expected_cllr(llrs(slope * at + offset), masses)


def best_line_before(llrs: Llrs, mixture: MovedMixture, scale: float) -> tuple[float, float]:
    """The line ``a s + b`` after which a map loses least on the classes of a mixture.

    On the rungs with one move for both classes it is that move; with a move per class none undoes both, and
    this one is the best for what the map is used for.
    """
    spread = math.sqrt(mixture.target.spread * mixture.nontarget.spread)
    middle = 0.5 * (mixture.target.center + mixture.nontarget.center)
    moved = middle + 0.5 * (mixture.target.offset + mixture.nontarget.offset)
    # with one move for both, its inverse is exact
    if mixture.rung <= 1:
        return 1.0 / spread, middle - moved / spread

    def loss(x: FloatArray) -> float:
        slope = math.exp(x[0]) / spread
        return -expected_cllr(llrs(middle + slope * (mixture.at - moved) + x[1] * scale), mixture.masses)

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        # central differences: the map may be anything, so there is no gradient to derive
        steps = 1e-4 * np.eye(2)
        return loss(x), np.array([(loss(x + step) - loss(x - step)) / 2e-4 for step in steps])

    best = maximize(objective, [[0.0, 0.0]], [(-3.0, 3.0), (-10.0, 10.0)]).x
    slope = math.exp(best[0]) / spread
    return slope, middle + best[1] * scale - slope * moved


Moved = tuple[MovedMixture, tuple[float, float]]
"""A description of the scores, and the line that undoes its move."""


def harm_interval(
    llrs: Llrs, best: Moved, gain: tuple[float, float], rivals: Sequence[Moved], n: float
) -> tuple[float, float]:
    """Between which values the harm is, whichever of several descriptions of the scores is true.

    Each description is asked twice: for the classes as it has them, and for the scores that were seen, shared
    out between the classes. ``gain`` is what the uncertain parameters of the best one leave open; that and
    the error of a mean over ``n`` trials is put at both ends.
    """
    harms = []
    for mixture, line in (best, *rivals):
        # the mixture may be wrong in shape; the scores that were seen, shared out, are another look
        for masses in (mixture.masses, mixture.shared_out):
            old, new = losses_with_line(llrs, line, mixture.at, masses)
            harms.append(old - new)
    mixture, line = best
    before, after = llrs(mixture.at), llrs(line[0] * mixture.at + line[1])
    lost = softplus(-before) - softplus(-after), softplus(before) - softplus(after)
    variance = sum(
        (float(masses @ each**2) - float(masses @ each) ** 2) / max(n * share, 1.0)
        for masses, each, share in zip(
            mixture.shared_out, lost, (mixture.share, 1.0 - mixture.share), strict=True
        )
    )
    error = 1.96 * math.sqrt(max(variance, 0.0)) / (2.0 * math.log(2.0))
    low, high = (
        # uncertain parameters and a finite mean are independent errors, added in squares
        min(harms) - math.hypot(harms[0] - gain[0], error),
        max(harms) + math.hypot(gain[1] - harms[0], error),
    )
    # harm of a map that could be left as it is is not negative
    return max(low, 0.0), high


DRAWS = 200


@dataclass(frozen=True, eq=False)
class LadderStep:
    """A rung: its mixture, the map it leads to as a function, and what is expected of it, in bits."""

    mixture: MovedMixture
    line: tuple[float, float]
    harm: float
    """What the map as it is loses more than it need to: its expected Cllr less that after the move."""
    gain: tuple[float, float]
    """Interval of what the move gains."""
    shares: tuple[float, float]
    """Interval of the share of targets."""


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
    trained: ScoreHistogram,
    new: ClassHistogram,
    *,
    inflation: float,
    shares: tuple[float, float],
    is_shifted: bool,
    look_up: bool,
) -> Climb:
    """Climb the ladder for scores in cells.

    Parameters
    ----------
    llrs
        The map that was trained, as a function of scores.
    trained
        The training scores; what these do not tell exactly no rung does.
    inflation
        How many trials say as much as one that is independent of all others.
    is_shifted
        Whether the test found a shift at all: without one the ladder is not climbed.
    look_up
        Where no move is needed, say all the same what the next rung would gain.
    """
    classes = ClassDensity.of(trained.target), ClassDensity.of(trained.nontarget)
    movable = MovableClasses(classes, new, shares)
    # scores that share speakers count as fewer independent ones
    n = new.total / inflation
    # the training trials are uncertain as well: both numbers combine as variances do
    n_sure = 1.0 / (1.0 / n + inflation / (trained.target.total + trained.nontarget.total))

    def step(mixture: MovedMixture) -> LadderStep:
        line = best_line_before(llrs, mixture, movable.scale)
        unmoved, moved = losses_with_line(llrs, line, mixture.at, mixture.masses)
        gains, drawn_shares = [], []
        # the gain of this very move, were the truth a neighbor of what was estimated
        for x in _neighbor_parameters(movable, mixture, n_sure):
            drawn = movable.mixture(mixture.rung, x, normal=mixture.normal)
            before, after = losses_with_line(llrs, line, drawn.at, drawn.masses)
            gains.append(before - after)
            drawn_shares.append(drawn.share)
        harm = unmoved - moved
        ends = _interval_of_promise(gains, harm), _interval_of_promise(drawn_shares, mixture.share)
        return LadderStep(mixture, line, harm, *ends)

    def loses(made: LadderStep, rival: MovedMixture) -> bool:
        before, after = losses_with_line(llrs, made.line, rival.at, rival.masses)
        # a rival that does not describe the scores has no say
        return after > before and rival.adequate

    steps = [step(movable.fitted(0))]
    # infinite scores are in no cell, and speak against any move
    if is_shifted and (edge := infinite_edge(new, (trained.target, trained.nontarget))):
        return Climb(tuple(steps), edge)
    # a shift beyond chance may still be too small to matter
    if not is_shifted or steps[0].mixture.adequate:
        if shares != SHARES:
            anywhere = MovableClasses(classes, new).fitted(0)
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
    # all rungs are fitted before any is judged: those above are asked whether a move would lose
    for rung in (1, 2, 3):
        moved.append(movable.fitted(rung, moved[-1]))
    normal = None
    for rung in (1, 2, 3):
        mixture = moved[rung]
        if rung == 3:
            normal = movable.fitted(3, normal=True)
            # normal classes compete with moved training classes where each has a spread of its own
            mixture = max(mixture, normal, key=lambda one: one.log_likelihood)
        made = step(mixture)
        steps.append(made)
        if mixture.adequate and not any(loses(made, rival) for rival in moved[rung + 1 :]):
            break
    last = steps[-1]
    adequate = last.mixture.adequate
    if refusal := reason_against(last.mixture, shares, n, adequate=adequate):
        return Climb(tuple(steps), refusal)
    if adequate and last.gain[0] <= 0.0:  # a gain that may be a loss is not taken
        return Climb(tuple(steps[:1]), above=last)
    # rungs that would be refused are no rivals: one of them promised 36 bits (docs/notes/decisions-fits.md)
    rivals = [
        (one, best_line_before(llrs, one, movable.scale))
        for one in (*moved[1:], normal or movable.fitted(3, normal=True))
        if one.adequate and not reason_against(one, shares, n, adequate=True)
    ]
    harms = harm_interval(llrs, (last.mixture, last.line), last.gain, rivals, n_sure)
    free = None if adequate else _free_shape(last.mixture)
    return Climb(tuple(steps), free=free, harms=harms)


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
    # directions that the likelihood leaves open get a bounded width
    width = 1.0 / np.sqrt(np.maximum(values, 1e-3) * n)
    # a fixed seed: the same scores give the same interval
    normal = np.random.default_rng(0).standard_normal((DRAWS, size))
    return list(mixture.x + (normal * np.minimum(width, 1.0)) @ vectors.T)


def _free_shape(mixture: MovedMixture) -> FloatArray:
    """LLRs at the cells from densities without a shape: the scores, shared out between the classes."""
    own = mixture.responsibility
    cells = (mixture.at - mixture.at[0]) / float(mixture.at[1] - mixture.at[0]) + 0.5
    logs, limits = [], []
    for part in (own, 1.0 - own):
        counts = mixture.counts * part
        logs.append(ClassDensity.of(ClassHistogram(0, 0, counts)).log_pdf(cells)[0])
        limits.append(math.log1p(float(counts.sum())))
    # monotone, and no further than the scores of a class can support
    return np.clip(np.maximum.accumulate(logs[0] - logs[1]), -limits[0], limits[1])
