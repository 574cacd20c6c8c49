"""Parts of a loss: discrimination, scale and offset, shape and chance; and a test of the identity.

The best straight line is fitted to the cells of :class:`LlrCells`, not to the trials: without another pass,
and with an error of the order of the square of the width of a cell.

Whether scale and offset of LLRs are right is a score test of the identity, with the variance that calibration
implies. The map ``a x + b`` of LLRs x has, at prior 1/2, the cross-entropy

    C(a, b) = 1/2 mean_tar log(1 + e^-(a x + b)) + 1/2 mean_non log(1 + e^(a x + b)).

If the LLRs are calibrated, its gradient at a = 1, b = 0 has expectation 0, because the densities of the
classes obey f_tar(x) = e^x f_non(x). The same equation gives its variance from all trials: a trial of either
class with LLR x stands for e^x / (n_tar e^x + n_non) of the distribution of targets and for 1 / (n_tar e^x +
n_non) of that of non-targets. With these weights and g = (x, 1), s = sigmoid, the second moments of both
classes add up to

    sum over all trials of s(x) s(-x) g g' / (4 n_tar n_non)

and both classes have the mean m = sum of e^x s(-x) g / (n_tar e^x + n_non), of which m m' (1/n_tar + 1/n_non)
/ 4 is subtracted. The variance within each class would be far too small where hardly any trial went wrong.

How many trials say something is ``n_effective``: a trial with LLR 0 counts as one, a certain one as nothing
(4 s(x) s(-x)), all times 4 n_tar n_non / (n_tar + n_non)^2 because the smaller class limits. The statistic is
compared with Hotelling's distribution with twice as many degrees of freedom; below 4 there is no test. Both
numbers were found by simulation (benchmarks/verdicts.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from llrkit.base.arguments import FloatArray
from llrkit.core.losses import LossSums
from llrkit.core.numerics import LN2, newton, sigmoid, softplus
from llrkit.core.order import Ranking
from llrkit.core.summaries import Moments, ReadOnlyArrays
from llrkit.results.result import Result
from llrkit.scores import Scores

FAR = np.concatenate([np.arange(-60.0, -10.0, 0.25), np.arange(10.25, 60.25, 0.25)])
"""Cuts beyond the prior log-odds of Bayes error plots: a calibrated LLR is never wrong by more than 60."""
_ENOUGH = 1 << 14
"""Scores that tell whether scores are rounded."""
_MANY_TRIALS, _MANY_BLOCKS = 1 << 16, 64
"""From so many trials and blocks on, the ends of blocks tell it: bins may not have been made."""


@dataclass(frozen=True, eq=False)
class LlrCells(ReadOnlyArrays):
    """Numbers of target and non-target trials by score, finite scores only, with the numbers of all trials.

    Between -10 and 10 a cell is at most 0.01 wide, to 60 at most 0.25, and never wider than 1/1024 of the
    range of the scores. An infinite score on the right side adds nothing to any loss and is left out.
    """

    llr: FloatArray
    target: FloatArray
    nontarget: FloatArray
    n_target: float
    n_nontarget: float

    @classmethod
    def of(cls, target: FloatArray, nontarget: FloatArray) -> LlrCells:
        """Every trial in a cell of its own.

        Examples
        --------
        >>> LlrCells.of(np.array([1.0]), np.array([-1.0, 0.0])).llr
        array([ 1., -1.,  0.])
        """
        n = len(target), len(nontarget)
        is_target = np.repeat([1.0, 0.0], n)
        return cls(np.concatenate([target, nontarget]), is_target, 1.0 - is_target, *map(float, n))

    @classmethod
    def from_counts(cls, losses: LossSums, moments: Moments, ranking: Ranking) -> LlrCells:
        """The cells between the thresholds at which errors were counted."""
        cuts, first = np.unique(losses.thresholds, return_index=True)
        below = (losses.n_miss[first], losses.n_nontarget - losses.n_fa[first])
        sizes = (float(losses.n_target), float(losses.n_nontarget))
        counts = []
        for under, n, one in zip(below, sizes, (moments.target, moments.nontarget), strict=True):
            in_cells = np.diff(np.concatenate([[one.n_neg_inf], under, [n - one.n_pos_inf]]))
            counts.append(np.maximum(in_cells, 0.0))  # weighted counts are not whole
        # the outermost cells have no other end: their scores are put at the extremes
        ends = np.clip(moments.extremes, cuts[0], cuts[-1]) if np.isfinite(moments.extremes).all() else (0, 0)
        inside = cuts[:-1] + _place_in_cell(cuts, _some_scores(ranking)) * np.diff(cuts)
        llr = np.concatenate([[ends[0]], inside, [ends[1]]])
        filled = np.flatnonzero(counts[0] + counts[1])
        return cls(llr[filled], counts[0][filled], counts[1][filled], *sizes)

    @property
    def trials(self) -> FloatArray:
        """Trials of either class by cell."""
        return self.target + self.nontarget

    def weighted(self, target: float, nontarget: float) -> LlrCells:
        """Count every target ``target`` times and every non-target ``nontarget`` times."""
        return LlrCells(
            self.llr, self.target * target, self.nontarget * nontarget,
            self.n_target * target, self.n_nontarget * nontarget,
        )  # fmt: skip

    def mapped(self, a: float, b: float) -> LlrCells:
        """The same trials with LLRs ``a x + b``."""
        return replace(self, llr=a * self.llr + b)


def _some_scores(ranking: Ranking) -> FloatArray:
    """Scores by which rounding shows: those at the ends of blocks where these are many, else of bins."""
    blocks = ranking.blocks
    if ranking.n_target + ranking.n_nontarget > _MANY_TRIALS and len(blocks.low) >= _MANY_BLOCKS:
        return np.concatenate([blocks.low, blocks.high])
    bins = ranking.bins
    return bins.low[:: 1 + len(bins.low) // _ENOUGH]


def _place_in_cell(cuts: FloatArray, some: FloatArray) -> float:
    """Where scores are in their cells on average: half-way, but at the start if scores are rounded."""
    known = some[(some >= cuts[0]) & (some < cuts[-1])]
    if not len(known):
        return 0.5
    cell = np.searchsorted(cuts, known, side="right") - 1
    return float(np.mean((known - cuts[cell]) / (cuts[cell + 1] - cuts[cell])))


# In-sample gain of PAV: (1.03 h I^-2/3)^-p + (2.1 loss)^-p, to the power -1/p with p = 3/4. The first term
# is the limit for many trials, the second bounds it by what there is to gain. The three numbers were fitted
# to simulated sets (30 + 300 to 3,000 + 30,000 trials, EER 1 to 20 %): 5 % off as a rule, 17 % at most.
_MANY, _ALL, _POWER = 1.03, 2.1, 0.75


@dataclass(frozen=True)
class BestLine:
    """The line ``a x + b`` with the lowest Cllr on these trials."""

    a: float
    b: float
    covariance: tuple[tuple[float, float], tuple[float, float]]
    """Of a and b, as if trials were independent."""
    cllr: float
    """In bits."""


@dataclass(frozen=True)
class LossSplit(Result):
    """Cllr in three parts, in bits; they add up to it."""

    discrimination: float
    """min Cllr."""
    scale_and_offset: float
    """What the best straight line recovers."""
    shape: float
    """What only a bent map recovers."""
    chance: float
    """The last two together, as calibrated LLRs that separate the classes as well show them on average."""


def loss_split(cells: LlrCells, line: BestLine | None, cllr: float, min_cllr: float) -> LossSplit | None:
    """Split Cllr; None where no line is best, or the cells are too wide beside the scores.

    Examples
    --------
    >>> import llrkit as lk
    >>> cells = LlrCells.of(*lk.theory.GaussianLLR.from_eer(0.05).rvs(500, 5000, np.random.default_rng(1)))
    >>> doubled = cells.mapped(2.0, 0.0)
    >>> split = loss_split(doubled, best_line(doubled), cells_cllr(doubled), min_cllr=0.15)
    >>> split.scale_and_offset > split.shape
    True
    """
    if line is None or not math.isfinite(cllr) or line.a <= 0.0:
        return None
    # the cells must tell the same as the trials, and no line can beat PAV by more than their width explains
    if abs(cells_cllr(cells) - cllr) > 0.001 + 0.01 * cllr or line.cllr < min_cllr - 0.001:
        return None
    recovered = min(max(cllr - line.cllr, 0.0), cllr - min_cllr)  # parts are never negative, and add up
    chance = chance_loss(cells.mapped(line.a, line.b))
    return LossSplit(min_cllr, recovered, cllr - min_cllr - recovered, chance)


def best_line(cells: LlrCells) -> BestLine | None:
    """Logistic regression at prior 1/2 on the cells; None if no finite line is best.

    Examples
    --------
    >>> cells = LlrCells.of(np.array([2.0, 2.0, 2.0, -2.0]), np.array([-2.0, -2.0, -2.0, 2.0]))
    >>> line = best_line(cells)
    >>> abs(2.0 * line.a - float(np.log(3.0))) < 1e-9, abs(line.b) < 1e-9
    (True, True)
    >>> best_line(LlrCells.of(np.array([1.0]), np.array([0.0]))) is None
    True
    """
    t, n = cells.target / cells.n_target, cells.nontarget / cells.n_nontarget
    with np.errstate(over="ignore", invalid="ignore"):
        # standardized, so that Newton's steps do not depend on the unit of the scores
        center = float(((t + n) * cells.llr).sum() / (t + n).sum()) if len(t) else math.nan
        unit = float(np.sqrt(((t + n) * (cells.llr - center) ** 2).sum() / (t + n).sum())) if len(t) else 0.0
    of_target, of_nontarget = cells.llr[cells.target > 0.0], cells.llr[cells.nontarget > 0.0]
    if not (0.0 < unit < math.inf and len(of_target) and len(of_nontarget)):  # also catches NaN
        return None
    # without overlap no finite slope is the best
    if of_target.min() >= of_nontarget.max() or of_target.max() <= of_nontarget.min():
        return None
    x = (cells.llr - center) / unit
    fitted = _line_of_cells(x, t, n)
    if fitted is None:
        return None
    a, b = fitted[0] / unit, fitted[1] - fitted[0] * center / unit
    spread = _sandwich_of_line(cells, a, b)
    if spread is None:
        return None
    return BestLine(a, b, spread, _loss_of_line(a * cells.llr + b, t, n) / LN2)


def cells_cllr(cells: LlrCells) -> float:
    """Cllr of the trials in cells, in bits; the exact one differs where the cells are too wide."""
    return _loss_of_line(cells.llr, cells.target / cells.n_target, cells.nontarget / cells.n_nontarget) / LN2


def chance_loss(cells: LlrCells) -> float:
    """Expected Cllr - min Cllr, in bits, of calibrated LLRs distributed as the trials of both classes.

    PAV follows chance: where the information per nat is I(x), over a length I^-1/3, and gains h I^-2/3
    with h the curvature of the cross-entropy. Trials count as independent.

    Examples
    --------
    >>> import llrkit as lk
    >>> pair = lk.theory.GaussianLLR.from_eer(0.05)
    >>> cells = LlrCells.of(*pair.rvs(100, 1000, np.random.default_rng(1)))
    >>> round(chance_loss(cells), 3)  # llrkit.trust.calibration_null, drawn: 0.034
    0.033
    """
    n_t, n_n = cells.n_target, cells.n_nontarget
    # of targets among the trials of an LLR, if calibrated; labels are not used, only the trials
    share = np.asarray(sigmoid(cells.llr + math.log(n_t / n_n)))
    target, nontarget = cells.trials * share / n_t, cells.trials * (1.0 - share) / n_n
    used = np.abs(cells.llr) < 60.0  # beyond, a density of one class is next to 0
    # cells of one nat: densities are taken to that power, and single trials are no densities
    cell = np.floor(cells.llr[used]).astype(np.intp)
    cell -= cell.min(initial=0)
    f_t, f_n = np.bincount(cell, target[used]), np.bincount(cell, nontarget[used])
    loss = np.bincount(cell, 0.5 * (target * softplus(-cells.llr) + nontarget * softplus(cells.llr))[used])
    both = (f_t > 1e-18) & (f_n > 1e-18) & (loss > 1e-18)  # powers of 0 would be infinite
    f_t, f_n, loss = f_t[both], f_n[both], loss[both]
    information = n_t * f_t * n_n * f_n / (n_t * f_t + n_n * f_n)
    gain = _MANY * 0.5 * f_t * f_n / (f_t + f_n) * information ** (-2.0 / 3.0)
    total = (gain**-_POWER + (_ALL * loss) ** -_POWER) ** (-1.0 / _POWER)
    return float(total.sum()) / LN2


def _loss_of_line(llr: FloatArray, t: FloatArray, n: FloatArray) -> float:
    return 0.5 * float((t * softplus(-llr)).sum() + (n * softplus(llr)).sum())


def _line_of_cells(x: FloatArray, t: FloatArray, n: FloatArray) -> tuple[float, float] | None:
    """Slope and offset; None if the scores leave one of them open."""

    def objective(line: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        llr = line[0] * x + line[1]
        p = np.asarray(sigmoid(llr))
        residual, weight = 0.5 * (n * p - t * (1.0 - p)), 0.5 * (t + n) * p * (1.0 - p)
        weighted = weight * x
        ab = weighted.sum()
        hessian = np.array([[(weighted * x).sum(), ab], [ab, weight.sum()]])
        return _loss_of_line(llr, t, n), np.array([(residual * x).sum(), residual.sum()]), hessian

    best = newton(objective, np.zeros(2))
    (aa, ab), (_, bb) = objective(best.x)[2].tolist()
    # a singular Hessian leaves slope and offset open along one direction
    if not (best.converged and aa * bb - ab * ab > 1e-14 * aa * bb):
        return None
    return float(best.x[0]), float(best.x[1])


def _sandwich_of_line(
    cells: LlrCells, a: float, b: float
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    g = np.stack([cells.llr, np.ones_like(cells.llr)])
    p = np.asarray(sigmoid(a * cells.llr + b))
    total, curvature = np.zeros((2, 2)), np.zeros((2, 2))
    for counts, n, residual in (
        (cells.target, cells.n_target, p - 1.0), (cells.nontarget, cells.n_nontarget, p),
    ):  # fmt: skip
        mean = g @ (counts * residual) / n
        second = _products_of_gradients(g, counts * residual**2) / n
        # about the mean: trials of a class are drawn with their number fixed
        total += (second - np.outer(mean, mean)) / n
        curvature += _products_of_gradients(g, counts * p * (1.0 - p)) / n
    with np.errstate(all="ignore"):
        try:
            inverse = np.linalg.inv(curvature)
        except np.linalg.LinAlgError:
            return None
        spread = inverse @ total @ inverse
    # the inverse of a nearly singular curvature may overflow
    if not (np.isfinite(spread).all() and spread[0, 0] > 0.0 and spread[1, 1] > 0.0):
        return None
    return (float(spread[0, 0]), float(spread[0, 1])), (float(spread[1, 0]), float(spread[1, 1]))


# found by simulation (benchmarks/verdicts.py)
FEWEST = 4.0
"""Effective trials below which the distribution of the statistic is not known well enough."""


@dataclass(frozen=True)
class IdentityTest:
    """A score test of a = 1 and b = 0, which needs no fitted line."""

    statistic: float
    p_value: float
    df: float
    gradient: tuple[float, float]
    """Of the cross-entropy by slope and offset, in standard errors: negative where more of it would help."""
    n_effective: float = math.inf
    """Trials in doubt: as many with LLR 0 would say as much."""


@dataclass(frozen=True, eq=False)
class NullMoments:
    """Gradient at the identity, and what calibration implies for it."""

    gradient: FloatArray
    covariance: FloatArray
    curvature: FloatArray
    """Expected second derivatives of the cross-entropy."""
    n_effective: float


def null_moments(cells: LlrCells) -> NullMoments:
    """Sums over the cells of both classes.

    Examples
    --------
    >>> moments = null_moments(LlrCells.of(np.array([0.0, 0.0]), np.array([0.0, 0.0])))
    >>> moments.n_effective
    4.0
    """
    x, n_t, n_n = cells.llr, cells.n_target, cells.n_nontarget
    p = np.asarray(sigmoid(x))
    q = np.asarray(sigmoid(-x))
    ones = np.ones_like(x)
    g = np.stack([x, ones])
    # p of a non-target and q of a target are what the posterior is off by
    gradient = 0.5 * (g @ (cells.nontarget * p / n_n) - g @ (cells.target * q / n_t))
    doubt = cells.trials * p * q
    share = np.asarray(sigmoid(x + math.log(n_t / n_n)))  # of targets among the trials of a cell
    covariance = np.zeros((2, 2))
    for weight, residual, n in ((share / n_t, q, n_t), ((1.0 - share) / n_n, p, n_n)):
        weight = cells.trials * weight
        terms = g * residual
        # about the mean, instead of subtracting its square: digits would be lost where all LLRs are near 0
        terms = terms - ((terms @ weight) / weight.sum())[:, None] if weight.any() else terms
        covariance += 0.25 * _products_of_gradients(terms, weight) / n
    # (e^x + 1) / (n_t e^x + n_n), both classes' share of the expected curvature
    curvature = 0.5 * _products_of_gradients(g, doubt * (share / n_t + (1.0 - share) / n_n))
    balance = 4.0 * n_t * n_n / (n_t + n_n) ** 2
    return NullMoments(gradient, covariance, curvature, 4.0 * float(doubt.sum()) * balance)


def identity_test(moments: NullMoments, df: float = math.inf) -> IdentityTest:
    """Test the gradient; ``df`` are the degrees of freedom of a covariance that was estimated from speakers.

    Examples
    --------
    >>> import llrkit as lk
    >>> llrs = lk.theory.GaussianLLR.from_eer(0.05).rvs(1000, 1000, np.random.default_rng(1))
    >>> round(identity_test(null_moments(LlrCells.of(*llrs))).p_value, 2)
    0.39
    >>> identity_test(null_moments(LlrCells.of(*llrs).mapped(1.3, 0.0))).p_value < 0.001
    True
    """
    statistic = distance(moments.gradient, moments.covariance)
    df = max(min(df, 2.0 * moments.n_effective), 2.0)  # at least 2: the F distribution needs df > 1
    # 1e-200: no division by 0, and no sign is lost
    z = moments.gradient / np.maximum(np.sqrt(np.maximum(np.diag(moments.covariance), 0.0)), 1e-200)
    slope, offset = float(z[0]), float(z[1])
    return IdentityTest(statistic, hotelling_p_value(statistic, df), df, (slope, offset), moments.n_effective)


def misleading_p_value(
    highest_nontarget: float, lowest_target: float, n_target: int, n_nontarget: int
) -> float:
    """Bound on the chance of so misleading an LLR: at most e^-t of non-targets reach t if calibrated.

    Examples
    --------
    >>> round(misleading_p_value(10.0, -1.0, 30, 300), 4)
    0.0272
    """
    # weights below one may round a class to no trial at all
    wrong = max(
        highest_nontarget - math.log(max(n_nontarget, 1)), -lowest_target - math.log(max(n_target, 1))
    )
    return min(1.0, 2.0 * math.exp(-max(wrong, 0.0)))  # times 2: either class may be the misleading one


def detectable(
    moments: NullMoments, test: IdentityTest, level: float, power: float = 0.8
) -> tuple[float, float]:
    """The smallest factor (above 1) and offset in nats that the test finds with a given power.

    Examples
    --------
    >>> import llrkit as lk
    >>> llrs = lk.theory.GaussianLLR.from_eer(0.05).rvs(1000, 10000, np.random.default_rng(1))
    >>> moments = null_moments(LlrCells.of(*llrs))
    >>> [round(value, 2) for value in detectable(moments, identity_test(moments), 0.03)]
    [1.13, 0.23]
    """
    df = test.df
    # the closed form of hotelling_p_value, solved for the statistic
    bound = -2.0 * math.log(level) if df > 1e6 else df * math.expm1(-2.0 / (df - 1.0) * math.log(level))
    needed = noncentrality(bound, power)
    sizes = []
    for column in moments.curvature.T:
        # squared distance of a unit of slope or offset, to first order
        effect = distance(column, moments.covariance)
        sizes.append(math.sqrt(needed / effect) if effect > 0.0 else math.inf)
    # LLRs f times too large have the slope 1 / f
    return (1.0 / (1.0 - sizes[0]) if sizes[0] < 1.0 else math.inf), sizes[1]


def noncentrality(bound: float, power: float) -> float:
    """Where a noncentral chi-square with two degrees of freedom exceeds a bound with a given probability.

    It exceeds the bound b as often as a Poisson number of mean b/2 does not exceed one of half the
    noncentrality; Newton's method in the root of the noncentrality.

    Examples
    --------
    >>> from scipy.special import chndtrinc
    >>> bool(abs(noncentrality(7.0, 0.8) / chndtrinc(7.0, 2.0, 0.2) - 1.0) < 1e-12)
    True
    """
    half = bound / 2.0
    n = int(half + 40.0 * math.sqrt(half) + 60.0)  # far beyond the last Poisson number with any probability
    numbers = np.arange(n)
    # logarithms: the factorials themselves overflow
    log_factorial = np.concatenate([[0.0], np.log(numbers[1:])]).cumsum()
    first = np.exp(numbers * math.log(half) - half - log_factorial)
    # summed from the small end, to keep its digits
    above = np.append(first[::-1].cumsum()[::-1][1:], 0.0)  # chance of more than each number
    root = math.sqrt(bound) + 0.84  # one-dimensional normal approximation; 0.84 is the normal quantile of 0.8
    for _ in range(50):
        mean = root * root / 2.0
        second = np.exp(numbers * math.log(mean) - mean - log_factorial)
        step = (float(second @ above) - (1.0 - power)) / (root * float(second[:-1] @ first[1:]))
        root = max(root + step, root / 2.0)  # never below 0
        if abs(step) <= 1e-13 * root:
            break
    return root * root


def distance(gradient: FloatArray, covariance: FloatArray) -> float:
    """``gradient' covariance^-1 gradient``; infinite where LLRs so strong would make no error at all."""
    first, second = math.sqrt(max(covariance[0, 0], 0.0)), math.sqrt(max(covariance[1, 1], 0.0))
    if not (first > 0.0 and second > 0.0):  # no variance left: any gradient is certain
        return math.inf if gradient.any() else 0.0
    correlation = float(covariance[0, 1]) / first / second
    x, y = float(gradient[0]) / first, math.copysign(1.0, correlation) * float(gradient[1]) / second
    # along the two axes of the ellipse; by hand, because LAPACK takes longer to be called
    along, across = 1.0 + abs(correlation), 1.0 - abs(correlation)
    # products of Python's numbers become infinite where powers are an error
    sum_squared, difference_squared = (x + y) * (x + y), (x - y) * (x - y)
    # fully correlated: the axis across holds nothing but rounding
    return sum_squared / (2.0 * along) + (difference_squared / (2.0 * across) if across > 1e-13 else 0.0)


def hotelling_p_value(statistic: float, df: float) -> float:
    """Chance of so large a squared distance of two numbers from 0, by Hotelling's distribution.

    Chi-square with two degrees of freedom and F with two in the numerator have closed forms.

    Examples
    --------
    >>> from scipy.special import chdtrc, fdtrc
    >>> bool(abs(hotelling_p_value(3.0, math.inf) / chdtrc(2.0, 3.0) - 1.0) < 1e-14)
    True
    >>> bool(abs(hotelling_p_value(3.0, 10.0) / fdtrc(2.0, 9.0, 3.0 * 9.0 / 20.0) - 1.0) < 1e-14)
    True
    """
    if math.isinf(statistic):
        return 0.0
    if df > 1e6:  # the limit of the form below
        return math.exp(-statistic / 2.0)
    # Hotelling's correction, as for an estimated covariance matrix
    return math.exp(-(df - 1.0) / 2.0 * math.log1p(statistic / df))


def _products_of_gradients(g: FloatArray, weight: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ik,jk,k->ij", g, g, weight))


_FURTHEST = 100.0
"""Scores beyond this are not looked at: their exponentials would overflow."""
_MOST = 1 << 13
"""Of more trials a sum takes longer than the counts that it may save; BLAS would begin to use threads."""
_STEPS = 30
_ROOT = 1e-10


def slope_may_be(scores: Scores, low: float, high: float) -> bool:
    """Whether the slope of the line with the lowest Cllr may be between two numbers; False is certain.

    Of large sets nothing is said, that is True.

    The Cllr of ``a x + b``, at the best ``b`` for each ``a``, is a convex function of ``a``. Where it rises
    the best ``a`` is below, where it falls the best ``a`` is above.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.05).rvs(500, 500, np.random.default_rng(1)))
    >>> slope_may_be(scores, 2.2, 2.4), slope_may_be(scores, 0.2, 0.4), slope_may_be(scores, 0.5, 2.0)
    (False, False, True)
    """
    if sum(scores.sizes) > _MOST:
        return True
    x = np.concatenate([scores.target, scores.nontarget]).astype(np.float64, copy=False)
    if not (x.min() > -_FURTHEST and x.max() < _FURTHEST):
        return True
    weight = np.repeat([1.0 / scores.n_target, 1.0 / scores.n_nontarget], scores.sizes)
    mean = float(weight[scores.n_target :] @ x[scores.n_target :])
    return not (_rise_at_slope(low, x, weight, mean) > 0.0 or _rise_at_slope(high, x, weight, mean) < 0.0)


def _rise_at_slope(slope: float, x: FloatArray, weight: FloatArray, mean: float) -> float:
    """The derivative by the slope, times 2, at the best offset; 0 where that was not found.

    ``y`` is the posterior of a non-target: the losses of both classes have the derivatives ``1 - y`` and
    ``-y`` by the LLR.
    """
    # one exponential of the scores; the offset only multiplies it
    odds, offset = np.exp(slope * x), 0.0
    for _ in range(_STEPS):
        y = 1.0 / (1.0 + odds * math.exp(offset))
        wrong = float(weight @ y)
        gradient, curvature = 1.0 - wrong, wrong - float(weight @ (y * y))
        if abs(gradient) < _ROOT:
            return mean - float(weight @ (x * y))
        if not curvature > 0.0:  # all trials decided: no best offset
            return 0.0
        # steps of at most 2: far out the curvature is next to 0
        offset -= max(-2.0, min(2.0, gradient / curvature))
    return 0.0
