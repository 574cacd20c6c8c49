"""Monotone maps: PAV, and the bi-Gaussian map of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llrkit.base.arguments import FloatArray, one_of, whole_number
from llrkit.base.text import Json
from llrkit.core.cells import Grid, collect_again, count_on
from llrkit.core.histograms import CELLS, DensityGrid
from llrkit.core.numerics import LN2, probit, sigmoid, softplus
from llrkit.core.pav import PavBlocks, ScoreBins, crossing, error_path, pav_blocks
from llrkit.core.summaries import Moments, both
from llrkit.errors import InputError, NotInvertibleError, SeparationError
from llrkit.fits.training_checks import (
    DistinctScores,
    TrainingPoints,
    check_moments,
    points_of_grid,
    pooled_points,
    provenance,
)
from llrkit.maps.knots import CLOSE, MAX_KNOTS, KnotMap, thin_knots
from llrkit.maps.map import Columns, Map, reading_of
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.theory import sigma_from_cllr


def llr_blocks(bins: ScoreBins, laplace: str) -> tuple[PavBlocks, FloatArray]:
    """The PAV blocks and their LLRs; the trials Laplace added are counted but have no place."""
    # masses are shares of each class, so the log-odds of the class sizes come off the counts
    offset = np.log(bins.n_target) - np.log(bins.n_nontarget)
    if laplace == "none":
        blocks = pav_blocks(bins)
        return blocks, blocks.llr
    # a target before a non-target is always pooled with it, so a pair is one bin of both
    first, last = ((1, 1), (1, 1)) if laplace == "pairs" else ((1, 0), (0, 1))
    if laplace == "misleading":
        # the one added trial of each class counts in its size as well
        offset = np.log(bins.n_target + 1) - np.log(bins.n_nontarget + 1)
    target = np.concatenate([first[:1], bins.target, last[:1]])
    nontarget = np.concatenate([first[1:], bins.nontarget, last[1:]])
    ends = (np.concatenate([[-np.inf], each, [np.inf]]) for each in (bins.low, bins.high))
    blocks = pav_blocks(ScoreBins(target, nontarget, *ends))
    real = (blocks.high > -np.inf) & (blocks.low < np.inf)
    # bins of added trials lie at infinity; a block that joined one ends at the outermost real score
    low, high = np.maximum(blocks.low, bins.low[0]), np.minimum(blocks.high, bins.high[-1])
    blocks = PavBlocks(blocks.target[real], blocks.nontarget[real], low[real], high[real])
    return blocks, np.log(blocks.target) - np.log(blocks.nontarget) - offset


def tilted_knots(
    blocks: PavBlocks, llr: FloatArray, ends: str, tilt: float
) -> tuple[FloatArray, FloatArray, float, float]:
    """Scores and LLRs of the knots of tilted blocks, and the LLRs at and beyond the first and the last."""
    low, high = blocks.low.copy(), blocks.high.copy()
    finite = np.flatnonzero(np.isfinite(llr))
    pure_low, pure_high = llr[0] == -np.inf, llr[-1] == np.inf
    if len(finite) == 0:
        if ends == "nearest":
            raise SeparationError("the classes do not overlap: PAV has no finite LLR; use laplace=...")
        # two pure blocks have no finite LLR at all: a line between them keeps the order of scores in the gap
        x, y = np.array([high[0], low[-1]]), np.array([-tilt, tilt])
        return x, y, -np.inf, np.inf
    if ends == "nearest":
        low[finite[0]], high[finite[-1]] = low[0], high[-1]
        pure_low = pure_high = False
    inner = llr[finite]
    # a quarter of the distance to the neighbors: tilted blocks can never overlap
    room = np.diff(inner, prepend=-np.inf, append=np.inf) / 4.0
    # where blocks are close the tilt gives way, so the map stays strictly increasing
    lean = np.minimum(tilt, np.minimum(room[:-1], room[1:]))
    left, right = low[finite], high[finite]
    wide = right > left
    # a block of one score has one knot
    x = np.stack([left, right], axis=1)
    # a block of one score has no width to tilt over and keeps its LLR exactly
    y = np.stack([np.where(wide, inner - lean, inner), inner + lean], axis=1)
    keep = np.stack([np.full(len(wide), True), wide], axis=1)
    x, y = x[keep], y[keep]
    below, above = float(y[0]), float(y[-1])
    if pure_low:
        x, y, below = np.append(high[0], x), np.append(inner[0] - 2.0 * tilt, y), -np.inf
    if pure_high:
        x, y, above = np.append(x, low[-1]), np.append(y, inner[-1] + 2.0 * tilt), np.inf
    return x, y, below, above


LAPLACE = ("none", "pairs", "misleading")
ENDS = ("infinite", "nearest")
OUTSIDE = ("clip", "tilt", "refuse")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PavMap(Map):
    """Straight lines between knots ``(x, y)``, with a policy beyond them.

    Scores at or below ``x[0]`` get ``below``, scores at or above ``x[-1]`` get ``above`` (infinite for
    the pure end blocks of plain PAV). ``low`` and ``high`` are the range of the training scores.

    Examples
    --------
    >>> steps = PavMap(x=np.array([0.0, 2.0]), y=np.array([-1.0, 1.0]), below=-1.0, above=1.0,
    ...                low=0.0, high=2.0)
    >>> steps([-5.0, 1.5, 9.0]), steps.inverse(0.5)
    (array([-1. ,  0.5,  1. ]), 1.5)
    """

    x: FloatArray
    y: FloatArray
    below: float
    above: float
    low: float
    high: float
    outside: str = "clip"
    tilt: float = 0.0

    kind: ClassVar[str] = "pav"
    may_be_infinite: ClassVar[frozenset[str]] = frozenset({"y", "below", "above", "low", "high"})

    def __post_init__(self) -> None:
        """Check the knots, and keep them from being written to."""
        self._own_arrays("x", "y")
        paired = self.x.ndim == 1 and self.x.shape == self.y.shape and len(self.x) >= 2
        if not (paired and np.all(np.diff(self.x) > 0)):
            raise InputError("a PAV map needs at least two knots with increasing scores")

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The polyline, and the policy outside the training range."""
        if self.outside == "refuse":
            wrong = (scores < self.low) | (scores > self.high)
            if wrong.any():
                i = int(np.argmax(wrong))
                raise InputError(
                    f"the score {scores[i]:g} at index {i} is outside the training range, "
                    f"{self.low:g} to {self.high:g}"
                )
        llr = np.interp(scores, self.x, self.y)
        low, high = scores <= self.x[0], scores >= self.x[-1]
        llr[low], llr[high] = self.below, self.above
        if self.outside == "tilt":
            # rises for ever, but by less than one more tilt: u / (1 + u), u = 0 at the end of the range
            width = self.x[-1] - self.x[0]
            llr[low] -= self.tilt * (1.0 - 1.0 / (1.0 + (self.x[0] - scores[low]) / width))
            llr[high] += self.tilt * (1.0 - 1.0 / (1.0 + (scores[high] - self.x[-1]) / width))
        return llr

    def _tried(self, scores: FloatArray) -> FloatArray:
        # scores that are only tried must not raise under a policy that refuses
        return super()._tried(np.clip(scores, self.low, self.high))

    def back_to_scores(self) -> PavMap:
        """The polyline read the other way; LLRs beyond the ends give the scores at the ends."""
        if not np.all(np.diff(self.y) > 0):
            raise NotInvertibleError("the map is not strictly increasing (tilt = 0) and has no inverse")
        first, last = float(self.x[0]), float(self.x[-1])
        return PavMap(
            x=self.y, y=self.x, below=first, above=last, low=float(self.y[0]), high=float(self.y[-1]),
            method=f"inverse of {self.method}",
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"PavMap({len(self.x)} knots, llr from {self.below:.4g} to {self.above:.4g})"


def fit_pav(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    laplace: str = "misleading",
    ends: str = "infinite",
    outside: str = "clip",
    tilt: float = 1e-6,
    max_knots: int = MAX_KNOTS,
) -> PavMap:
    """Optimal non-decreasing calibration of the training scores, by pooling adjacent violators.

    Scores are pooled into blocks whose share of targets increases; the LLR of a block is
    ``log(targets / N_target) - log(nontargets / N_nontarget)``. Tied scores are pooled whatever their
    order. Exact, from two passes (a third where the larger class was guessed wrong).

    New scores must not tie where training scores were pooled: a block's LLR rises from ``-tilt`` to
    ``+tilt`` (less where blocks are closer), and blocks are joined by straight lines in the LLR. So
    training scores get their PAV LLR up to ``tilt``.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    laplace
        ``"none"``; ``"pairs"``: one extra target and one extra non-target at each end of the scores,
        the prior log-odds left as they are (``opt_loglr(..., 'laplace')`` of BOSARIS); ``"misleading"``:
        one extra target below and one extra non-target above all scores, both counted in the prior
        (``pav_calibration`` of BOSARIS). With either all LLRs are finite.
    ends
        What a block of one class gets, which only plain PAV has, at the ends: ``"infinite"`` LLRs (from
        the last pure score on; the empty gap before it belongs to the next block, or is neutral when the
        classes do not overlap), or the LLR of the ``"nearest"`` block with both classes.
    outside
        Scores beyond the training range: ``"clip"`` to the LLR at its end, ``"tilt"`` to keep rising by
        at most another ``tilt``, ``"refuse"``.
    tilt
        In nats; 0 leaves plateaus, and no inverse.
    max_knots
        More knots than this are thinned; ``details["thinning_error"]`` is the largest LLR error made.

    References
    ----------
    Brümmer & du Preez, Computer Speech & Language 20 (2006) 230; BOSARIS Toolkit 1.06.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> scores = Scores([-1.0, 0.5, 2.0, 3.0], [-3.0, -2.0, -1.0, 0.0, 1.0])
    >>> fit_pav(scores, laplace="none")([-2.0, 0.5, 2.0]).round(4)
    array([  -inf, 0.2231,    inf])
    >>> fit_pav(scores, laplace="pairs")([-2.0, 0.5, 2.0]).round(4)
    array([-0.8755,  0.2231,  1.3218])
    """
    source = as_source(source, labels)
    one_of(laplace, LAPLACE, "laplace")
    one_of(ends, ENDS, "ends")
    one_of(outside, OUTSIDE, "outside")
    if not (isinstance(tilt, (int, float)) and 0.0 <= tilt <= 0.1):
        raise InputError(f"tilt must be between 0 and 0.1, got {tilt!r}")
    whole_number(max_knots, 4, "max_knots")
    # the grid is collected on the same pass as the moments, so exact PAV takes two passes
    moments, grid = source.reduce(both(Moments.of, Grid.of)).summaries
    check_moments(source, moments)
    bins = source.reduce(count_on(collect_again(source, grid))).bins()
    blocks, llr = llr_blocks(bins, laplace)
    x, y, below, above = tilted_knots(blocks, llr, ends, float(tilt))
    x, y, error = thin_knots(x, y, max_knots)
    low, high = moments.extremes
    details: dict[str, Json] = {
        "blocks": len(llr), "knots": len(x), "thinning_error": error, "passes": 2 + (grid.points is None),
        "llr_lowest": float(llr[0]), "llr_highest": float(llr[-1]),
    }  # fmt: skip
    options = {"laplace": laplace, "ends": ends, "outside": outside, "tilt": tilt, "max_knots": max_knots}
    return PavMap(
        x=x, y=y, below=below, above=above, low=low, high=high, outside=outside,
        tilt=float(tilt), method="pav", options=options, details=details, provenance=provenance(moments),
        reading=reading_of(source.roles),
    )  # fmt: skip


# weight of the copies with either label: enough to keep the slope finite without overlap
_KAPPA = 0.01


def sigma_of_blocks(blocks: PavBlocks, sigma_from: str) -> float:
    """Sigma from the EER of the ROC convex hull, or from the Cllr after PAV."""
    if sigma_from == "eer":
        path = error_path(blocks)
        eer = crossing(path.p_miss, path.p_fa)
        if eer == 0.0:
            raise SeparationError("the classes do not overlap: an EER of 0 gives an infinite sigma")
        if eer >= 0.5:
            raise InputError("the EER is 50 %: the scores carry no information to calibrate")
        return -2.0 * float(probit(eer))
    llr = blocks.llr
    t, n = blocks.target > 0, blocks.nontarget > 0
    loss = float((blocks.target[t] * softplus(-llr[t])).sum()) / float(blocks.target.sum())
    # blocks without a class are left out: 0 trials times an infinite loss would be nan
    loss += float((blocks.nontarget[n] * softplus(llr[n])).sum()) / float(blocks.nontarget.sum())
    return _sigma_of_cllr(0.5 * loss / LN2)


def _sigma_of_cllr(cllr: float) -> float:
    if cllr <= 0.0:
        raise SeparationError("the classes do not overlap: a Cllr of 0 gives an infinite sigma")
    if cllr >= 1.0:
        raise InputError("the Cllr is 1 bit: the scores carry no information to calibrate")
    return float(sigma_from_cllr(cllr))


def sigma_of_logistic(training: TrainingPoints) -> float:
    """Sigma from the Cllr after regularized logistic regression.

    Every trial counts once with its label, and ``kappa / (2 N_e)`` times with either label.
    """
    target, nontarget = training.standardized()
    t = np.concatenate([target.points, nontarget.points])
    w = 0.5 * np.concatenate([target.weights / target.total, nontarget.weights / nontarget.total])
    is_target = np.repeat([1.0, 0.0], [len(target.points), len(nontarget.points)])
    share = 0.5 * _KAPPA / target.total
    w_e, w_d = w * (is_target + share), w * (1.0 - is_target + share)

    def loss(x: FloatArray) -> float:
        z = x[0] * t + x[1]
        return float((w_e * softplus(-z) + w_d * softplus(z)).sum())

    x = np.zeros(2)
    for _ in range(200):
        p = sigmoid(x[0] * t + x[1])
        slope = w_d * p - w_e * (1.0 - p)
        curve = (w_e + w_d) * p * (1.0 - p)
        gradient = np.array([(slope * t).sum(), slope.sum()])
        cross = (curve * t).sum()
        # two unknowns and a convex loss: plain Newton, halved while it overshoots
        step = np.linalg.solve(np.array([[(curve * t * t).sum(), cross], [cross, curve.sum()]]), -gradient)
        size, here = 1.0, loss(x)
        while loss(x + size * step) > here and size > 1e-9:
            size *= 0.5
        x = x + size * step
        if np.abs(step).max() < 1e-10 * (1.0 + np.abs(x).max()):
            break
    z = x[0] * t + x[1]
    # Cllr counts the trials with their labels only, not the copies that regularize the fit
    return _sigma_of_cllr(
        float((w * (is_target * softplus(-z) + (1.0 - is_target) * softplus(z))).sum()) / LN2
    )


SIGMA_FROM = ("cllr", "eer", "min_cllr")
_TABLE = 4001  # one line for each hundredth of a standard deviation, or a little more
_STEPS = 5
_ROOT_TWO_PI = float(np.sqrt(2.0 * np.pi))


def fit_bigaussian(source: AnyTrials, labels: Labels | None = None, *, sigma_from: str = "cllr") -> KnotMap:
    """Bi-Gaussianized calibration (Morrison 2024).

    ``llr(s) = G^-1(F(s))`` where ``F`` is the distribution function of the training scores, each class
    weighing one half, and ``G(x) = Phi((x + sigma^2/2)/sigma)/2 + Phi((x - sigma^2/2)/sigma)/2`` that of
    calibrated Gaussian LLRs. A non-target weighs ``0.5/(N_d + 1)`` and a target ``0.5/(N_e + 1)``; ``F``
    counts scores up to and including ``s``. Two passes, or three when the first dropped the class that
    turned out to be the smaller.

    The map is exact at up to 4,096 distinct scores, with straight lines in between and constant beyond.
    With more, scores sharing one of the 16,384 cells of the density grid are represented by two points
    per class; ``details`` hold the largest error in LLR that this may have caused
    (``discretization_error``), and that of thinning to 4,096 knots (``thinning_error``).

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    sigma_from
        Where sigma comes from: ``"cllr"`` (Cllr of the training scores after logistic regression with
        regularization 0.01), ``"eer"`` (of the ROC convex hull) or ``"min_cllr"`` (PAV); the Cllr is turned
        into sigma by the exact inverse, not by a regression formula.

    References
    ----------
    Morrison, "Bi-Gaussianized calibration of likelihood ratios", Law, Probability and Risk 23 (2024).

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.fits.monotone import fit_bigaussian
    >>> rng = np.random.default_rng(1)
    >>> pair = lk.theory.GaussianLLR.from_eer(0.1)
    >>> scores = lk.Scores(pair.target.rvs(20_000, rng), pair.nontarget.rvs(20_000, rng))
    >>> calibrate = fit_bigaussian(scores)
    >>> np.abs(calibrate([-3.0, 0.0, 3.0]) - [-3.0, 0.0, 3.0]).max() < 0.1
    np.True_
    """
    source = as_source(source, labels)
    one_of(sigma_from, SIGMA_FROM, "sigma_from")
    distinct_at = DistinctScores.at(MAX_KNOTS)
    grid: Grid | None = None
    if sigma_from != "cllr":  # ranks decide, which take a grid of the smaller class
        moments, distinct, grid = source.reduce(both(Moments.of, distinct_at, Grid.of)).summaries
    else:
        moments, distinct = source.reduce(both(Moments.of, distinct_at)).summaries
    check_moments(source, moments, at_least=2)
    low, high = moments.extremes
    density_at = DensityGrid.at(low, high)
    if grid is not None:
        count_again = count_on(collect_again(source, grid))
        density, counts = source.reduce(both(density_at, count_again)).summaries
        sigma = sigma_of_blocks(pav_blocks(counts.bins()), sigma_from)
        training = points_of_grid(density, moments)
    else:
        training = points_of_grid(source.reduce(density_at), moments)
        sigma = sigma_of_logistic(training)
    n_e, n_d = training.target.total, training.nontarget.total
    # up to MAX_KNOTS distinct scores the distribution function is exact
    if distinct.values is not None:
        score, w_e, w_d = distinct.values, distinct.target, distinct.nontarget
    else:
        t, n = training.target, training.nontarget
        no_t, no_n = np.zeros(len(t.points)), np.zeros(len(n.points))
        score, w_e, w_d = pooled_points((t.points, t.weights, no_t), (n.points, no_n, n.weights))
    weight = 0.5 * w_e / (n_e + 1.0) + 0.5 * w_d / (n_d + 1.0)
    # one trial per class is added that has no place, so F stays below 1 and the LLR finite
    missing = 0.5 / (n_e + 1.0) + 0.5 / (n_d + 1.0)
    below = np.cumsum(weight)
    # summed from above for the upper tail: 1 - below would lose its digits there
    above = missing + np.append(np.cumsum(weight[:0:-1])[::-1], 0.0)
    llr = _inverse_pair_cdf(below, above, sigma)
    error = 0.0
    if distinct.values is None:
        lowest = np.array([min(0.5 / (n_e + 1.0), 0.5 / (n_d + 1.0))])
        start = float(_inverse_pair_cdf(lowest, 1.0 - lowest, sigma)[0])
        cell = np.floor((score - low) / (high / CELLS - low / CELLS))
        first = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
        last = np.append(first[1:], len(score)) - 1
        # how much the LLR changes over a cell of which not every score is known: no error can be larger
        jump = llr[last] - np.append(start, llr[first[1:] - 1])
        # a cell with one trial per class has no error; only crowded ones can move a score
        crowded = np.logical_or.reduceat((w_e > 1.0) | (w_d > 1.0), first)
        error = float(jump[crowded].max(initial=0.0))
    enough = CLOSE if distinct.values is None else 0.0  # where scores are not exact, neither are lines
    score, llr_at, thinning = thin_knots(score, llr, MAX_KNOTS, enough=enough)
    details: dict[str, Json] = {
        "sigma": sigma,
        "cdf": "distinct scores" if distinct.values is not None else "two points per class and cell",
        "discretization_error": error,
        "thinning_error": thinning,
    }
    return KnotMap(
        score=score, llr_at=llr_at, method="bigaussian", options={"sigma_from": sigma_from}, details=details,
        provenance=provenance(moments), reading=reading_of(source.roles),
    )  # fmt: skip


def _inverse_pair_cdf(below: FloatArray, above: FloatArray, sigma: float) -> FloatArray:
    """``G^-1``, from the smaller of the probabilities below and above: neither tail loses digits."""
    p = np.minimum(below, above)
    # 40 standard deviations beyond the mean of the further class: log_ndtr is finite there
    half, reach = 0.5 * sigma, 0.5 * sigma + 40.0
    # where x / sigma is in a table, then Newton's method in log p, held between the lines of the table
    table = np.linspace(-reach, 0.0, _TABLE)
    log_p = np.log(p)
    # log G is increasing, so the table gives a bracket of one line for every score at once
    line = np.clip(np.searchsorted(_log_pair_cdf(table, half), log_p), 1, _TABLE - 1)
    a, b = table[line - 1], table[line]
    x = 0.5 * (a + b)
    for _ in range(_STEPS):
        value = _log_pair_cdf(x, half)
        # the bracket shrinks with every look, and a Newton step that leaves it is clipped to its end
        a, b = np.where(value < log_p, x, a), np.where(value < log_p, b, x)
        density = np.exp(-0.5 * (x + half) ** 2 - value) + np.exp(-0.5 * (x - half) ** 2 - value)
        x = np.clip(x - (value - log_p) * (2.0 * _ROOT_TWO_PI) / density, a, b)
    return np.asarray(np.where(below <= above, x, -x) * sigma)


def _log_pair_cdf(x: FloatArray, half: float) -> FloatArray:
    """``log G`` at ``sigma x``, for x up to 0."""
    from scipy.special import log_ndtr

    return np.asarray(np.logaddexp(log_ndtr(x + half), log_ndtr(x - half)) - LN2)
