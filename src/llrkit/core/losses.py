"""Sums of losses and of their derivatives, for the Beta family of proper scoring rules.

For a posterior ``q = sigmoid(z)`` the costs of a rule (Brümmer & Doddington 2013) are weighted over
thresholds eta by a Beta(a, b) density: ``C_miss = int_q^1 Beta(eta) / eta`` for a target and ``C_fa = int_0^q
Beta(eta) / (1 - eta)`` for a non-target. Everything is written in ``z`` so that neither q nor 1 - q loses
digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from llrkit.base.arguments import Array, ArrayLike, FloatArray
from llrkit.core.cells import BelowCounts, ScoreIndex, score_indexes
from llrkit.core.numerics import BLOCK, LN2, ScoreRows, blocks, score_rows, sigmoid, softplus
from llrkit.core.summaries import FieldwiseSums
from llrkit.errors import InputError, UnknownNameError
from llrkit.scores import Scores

# Above this, log(1 + e^x) equals x in float64; below it, 16 factors 1 + e^x still multiply without overflow.
LINEAR_ABOVE = 37.0
_FACTORS = 16
_WITHOUT_PRODUCTS = 1 << 10  # so few logarithms take no longer than the calls for products
_SHARED_UP_TO = 350.0  # for these shifts e^shift and e^x are within float64 wherever their product counts
_NONE = np.zeros(0, dtype=np.int64)
_NOWHERE = BelowCounts(np.zeros(0), _NONE, _NONE)


def softplus_sums(values: Array, shifts: ArrayLike) -> FloatArray:
    """``sum(log(1 + exp(x + shift)))`` over all ``x``, for each shift.

    Logarithms are taken of products of 16 factors instead of each factor, and the products are carried as
    ``product - 1`` so that small terms keep all their digits: (1+a)(1+b) - 1 = a + b + ab.

    Examples
    --------
    >>> softplus_sums(np.array([-np.inf, 0.0, 800.0]), [0.0]) - np.log(2.0)
    array([800.])
    """
    shifts = np.atleast_1d(np.asarray(shifts, dtype=np.float64))
    if len(values) == 0:
        return np.zeros(len(shifts))
    if np.abs(shifts).max() > _SHARED_UP_TO:
        return np.array([softplus(values + shift).sum() for shift in shifts])
    limit = LINEAR_ABOVE - float(shifts.max())  # for the largest shift; the others are then safe
    large = np.empty(0)
    if values.max() > limit:
        above = values > limit
        values, large = values[~above], values[above].astype(np.float64)
    sums = np.zeros(len(shifts))
    # exp(x + shift) is exp(x) times this, so one exponential serves all shifts
    factors = [float(np.exp(shift)) for shift in shifts]
    odds = np.empty(min(BLOCK, len(values)))
    for block in blocks(len(values)):
        block_odds = odds[: block.stop - block.start]
        np.exp(values[block], out=block_odds, dtype=np.float64)  # shared by all shifts
        for i, factor in enumerate(factors):
            sums[i] += log_of_products(block_odds, factor)
    for i, shift in enumerate(shifts if len(large) else ()):
        sums[i] += np.logaddexp(0.0, large + shift).sum()
    return sums


def log_of_products(odds: FloatArray, factor: float) -> float:
    """``sum(log(1 + factor * odds))``, by logarithms of products of 16; odds up to e^37."""
    if len(odds) <= _WITHOUT_PRODUCTS:
        return float(np.log1p(odds * factor).sum())
    whole = len(odds) // _FACTORS * _FACTORS
    total = float(np.log1p(odds[whole:] * factor).sum())
    if whole:
        u = odds[:whole] * factor if factor != 1.0 else odds[:whole]
        while len(u) > whole // _FACTORS:
            half = len(u) // 2
            # first half times second half, not neighbors: both are contiguous
            product = u[:half] * u[half:]
            product += u[:half]
            product += u[half:]
            u = product
        total += float(np.log1p(u).sum())
    return total


def _losses(rows: ScoreRows | None, index: ScoreIndex, shifts: FloatArray, *, negated: bool) -> FloatArray:
    """The sums over one class, of the negated scores if asked for."""
    # rows.rest and rows.softplus_sum together are all scores of the class, each once
    values = index.summands if rows is None else rows.rest
    sums = softplus_sums(-values if negated else values, shifts)
    if rows is not None:
        sums += [rows.softplus_sum(float(shift), negated=negated) for shift in shifts]
    return sums


@dataclass(frozen=True, eq=False)
class LossSums(FieldwiseSums):
    """Soft and hard losses of scores read as LLRs.

    ``target_loss[i]`` is the sum over targets of ``log(1 + exp(-(x + log_odds[i])))``, ``nontarget_loss``
    likewise of ``log(1 + exp(x + log_odds[i]))``; ``n_miss[j]`` counts targets below ``thresholds[j]`` and
    ``n_fa[j]`` non-targets at or above it.
    """

    n_target: float
    n_nontarget: float
    log_odds: FloatArray
    target_loss: FloatArray
    nontarget_loss: FloatArray
    thresholds: FloatArray
    n_miss: Array
    n_fa: Array
    _alike: ClassVar[tuple[str, ...]] = ("log_odds", "thresholds")

    @classmethod
    def of(cls, scores: Scores, log_odds: ArrayLike = 0.0, thresholds: ArrayLike = ()) -> LossSums:
        """The losses of a chunk."""
        log_odds = np.atleast_1d(np.asarray(log_odds, dtype=np.float64))
        thresholds = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
        below = BelowCounts.of(scores, thresholds) if len(thresholds) else _NOWHERE
        target, nontarget = score_indexes(scores)
        t_rows, n_rows = score_rows(scores)
        return cls(
            n_target=scores.n_target,
            n_nontarget=scores.n_nontarget,
            log_odds=log_odds,
            target_loss=_losses(t_rows, target, -log_odds, negated=True),
            nontarget_loss=_losses(n_rows, nontarget, log_odds, negated=False),
            thresholds=thresholds,
            n_miss=below.target,
            # a score at a threshold is accepted
            n_fa=scores.n_nontarget - below.nontarget if len(thresholds) else below.nontarget,
        )

    @classmethod
    def at(cls, log_odds: ArrayLike = 0.0, thresholds: ArrayLike = ()) -> Callable[[Scores], LossSums]:
        """A summarizer for given priors and thresholds.

        Examples
        --------
        >>> losses = Scores([2.0, -1.0], [-3.0]).reduce(LossSums.at(thresholds=[0.0]))
        >>> losses.n_miss, losses.n_fa
        (array([1]), array([0]))
        """
        return lambda chunk: cls.of(chunk, log_odds, thresholds)

    def weighted(self, target: float, nontarget: float) -> LossSums:
        """Count every target ``target`` times and every non-target ``nontarget`` times."""
        return LossSums(
            self.n_target * target,
            self.n_nontarget * nontarget,
            self.log_odds,
            self.target_loss * target,
            self.nontarget_loss * nontarget,
            self.thresholds,
            self.n_miss * target,
            self.n_fa * nontarget,
        )

    def with_errors(self, thresholds: FloatArray, target_below: Array, nontarget_below: Array) -> LossSums:
        """The same losses with the errors at other thresholds, from the trials below each of them."""
        n_fa = self.n_nontarget - nontarget_below
        return replace(self, thresholds=thresholds, n_miss=target_below, n_fa=n_fa)

    def slice_thresholds(self, start: int, stop: int | None) -> LossSums:
        """The same losses with only the thresholds from ``start`` to ``stop``."""
        chosen = slice(start, stop)
        return replace(
            self, thresholds=self.thresholds[chosen], n_miss=self.n_miss[chosen], n_fa=self.n_fa[chosen]
        )

    @property
    def p_miss(self) -> FloatArray:
        """Miss rate at each threshold."""
        return np.asarray(self.n_miss / self.n_target)

    @property
    def p_fa(self) -> FloatArray:
        """False-alarm rate at each threshold."""
        return np.asarray(self.n_fa / self.n_nontarget)


Cost = Callable[[FloatArray], FloatArray]


def _roots_of_posterior(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``sqrt(q)`` and ``sqrt(1 - q)``."""
    return np.exp(-0.5 * softplus(-z)), np.exp(-0.5 * softplus(z))


def _angle_of_posterior(z: FloatArray) -> FloatArray:
    """``arccos(sqrt(q))``, small for large z without cancellation."""
    # exp(700) is finite, and arctan has long reached pi / 2
    return np.asarray(np.arctan(np.exp(-0.5 * np.clip(z, -1400.0, None))))


def _low_threshold_miss(z: FloatArray) -> FloatArray:
    p = sigmoid(-z)  # 1 - q
    # -log(1 - p) - p cancels for small p; five terms of its series are exact below 1e-3
    small = np.minimum(p, 1e-3)
    series = small**2 * (1 / 2 + small * (1 / 3 + small * (1 / 4 + small * (1 / 5 + small / 6))))
    return np.asarray(2.0 * np.where(p > 1e-3, softplus(-z) - p, series))


def _artanh_miss(z: FloatArray) -> FloatArray:
    # artanh(sqrt(1-q)) = log((1 + sqrt(1-q)) / sqrt(q)) = asinh(e^(-z/2))
    # left of -1400, before e^(-z/2) overflows, asinh(y) is log(2 y)
    return np.asarray(np.where(z < -1400, -z / 2 + math.log(2.0), np.arcsinh(_boosting_loss(z))))


def _boosting_loss(z: FloatArray) -> FloatArray:
    """``sqrt((1 - q) / q) = exp(-z / 2)``; inf where that is beyond float64."""
    # exp(709) is finite, exp(710) is not
    return np.asarray(np.where(z < -1418.0, np.inf, np.exp(-0.5 * np.maximum(z, -1418.0))))


def _root_miss(z: FloatArray) -> FloatArray:
    # sqrt(1 + e^-z) - 1
    # left of -80 the 1s are lost beside e^-z
    return np.asarray(np.where(z < -80.0, _boosting_loss(z), np.expm1(0.5 * softplus(-np.maximum(z, -80.0)))))


def _three_halves_miss(z: FloatArray) -> FloatArray:
    theta = _angle_of_posterior(z)
    small = np.minimum(theta, 0.02)
    # theta - sin(2 theta) / 2, by series where it cancels
    series = small**3 * (2 / 3 - small**2 * (2 / 15 - small**2 * 4 / 315))
    return np.asarray(8 / np.pi * np.where(theta > 0.02, theta - 0.5 * np.sin(2 * theta), series))


def _half_two_miss(z: FloatArray) -> FloatArray:
    # q^(-1/2) + q^(1/2) - 2 = (1 - q^(1/2))^2 / q^(1/2)
    safe = np.maximum(z, -80.0)
    near = np.expm1(-0.5 * softplus(-safe)) ** 2 / _roots_of_posterior(safe)[0]
    return np.asarray(1.5 * np.where(z < -80.0, _boosting_loss(z), near))


def _half_three_halves_miss(z: FloatArray) -> FloatArray:
    tangent = _boosting_loss(z)
    theta = _angle_of_posterior(z)
    small = np.minimum(theta, 0.02)
    series = small**3 * (1 / 3 + small**2 * (2 / 15 + small**2 * 17 / 315))  # tan(theta) - theta
    return np.asarray(4 / np.pi * np.where(theta > 0.02, tangent - theta, series))


# C_miss for each (a, b) with a closed form; C_fa of (a, b) at z is C_miss of (b, a) at -z.
_CLOSED_MISS: dict[tuple[float, float], Cost] = {
    (1.0, 1.0): lambda z: np.asarray(softplus(-z)),
    (2.0, 2.0): lambda z: np.asarray(3.0 * sigmoid(-z) ** 2),
    (0.5, 0.5): lambda z: 2 / np.pi * _boosting_loss(z),
    (2.0, 1.0): lambda z: np.asarray(2.0 * sigmoid(-z)),
    (1.0, 2.0): _low_threshold_miss,
    (1.0, 0.5): _artanh_miss,
    (0.5, 1.0): _root_miss,
    (1.5, 1.5): _three_halves_miss,
    (2.0, 0.5): lambda z: 1.5 * _roots_of_posterior(z)[1],
    (0.5, 2.0): _half_two_miss,
    (1.5, 0.5): lambda z: 4 / np.pi * _angle_of_posterior(z),
    (0.5, 1.5): _half_three_halves_miss,
}

NAMED_RULES: dict[str, tuple[float, float]] = {
    "log": (1.0, 1.0),
    "brier": (2.0, 2.0),
    "boosting": (0.5, 0.5),
    "high-threshold": (2.0, 1.0),
    "low-threshold": (1.0, 2.0),
}


@dataclass(frozen=True)
class ScoringRule:
    """The proper scoring rule of a Beta(a, b) weighting of thresholds.

    Examples
    --------
    >>> rule = ScoringRule(2, 2)
    >>> float(rule.miss(0.0))  # 3 (1 - q)^2 at q = 1/2
    0.75
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and 0 < value < math.inf):
                raise InputError(f"{name} of a scoring rule must be a positive number, got {value!r}")
            object.__setattr__(self, name, float(value))

    def miss(self, z: ArrayLike) -> FloatArray:
        """Cost of posterior log-odds ``z`` for a target."""
        return _cost_miss(self.a, self.b, np.asarray(z, dtype=np.float64))

    def fa(self, z: ArrayLike) -> FloatArray:
        """Cost of posterior log-odds ``z`` for a non-target."""
        return _cost_miss(self.b, self.a, -np.asarray(z, dtype=np.float64))

    def miss_derivatives(self, z: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of :meth:`miss` with respect to ``z``."""
        from scipy.special import beta as beta_function

        z = np.asarray(z, dtype=np.float64)
        q, p = sigmoid(z), sigmoid(-z)
        if self.a == self.b == 1.0:  # the logarithmic rule, by far the most used
            return -p, p * q
        # as one exponential: powers of q and 1 - q could underflow and overflow apart
        first = -np.exp((1 - self.a) * softplus(-z) - self.b * softplus(z)) / beta_function(self.a, self.b)
        return first, first * ((self.a - 1) * p - self.b * q)

    def fa_derivatives(self, z: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of :meth:`fa` with respect to ``z``."""
        first, second = ScoringRule(self.b, self.a).miss_derivatives(-np.asarray(z, dtype=np.float64))
        return -first, second


def _cost_miss(a: float, b: float, z: FloatArray) -> FloatArray:
    closed = _CLOSED_MISS.get((a, b))
    cost = closed(z) if closed is not None else _any_miss(a, b, z)
    if a <= 1:  # the cost of a target at -inf is infinite for these rules, finite for a > 1
        cost = np.where(z == -np.inf, np.inf, cost)
    return np.where(z == np.inf, 0.0, cost)


def _any_miss(a: float, b: float, z: FloatArray) -> FloatArray:
    """``int_q^1 Beta(eta | a, b) / eta`` for any a and b, from whichever end of the integral is near."""
    from scipy.special import beta as beta_function
    from scipy.special import betainc, betaincc, betaln, hyp2f1

    q, p = sigmoid(z), sigmoid(-z)
    if a > 1:
        # two forms of one number: from q where q is the smaller one, from p = 1 - q elsewhere
        share = np.where(z < 0, betaincc(a - 1, b, q), betainc(b, a - 1, p))
        return np.asarray((a + b - 1) / (a - 1) * share)
    near = np.minimum(p, 0.5)
    total = near**b / b * hyp2f1(b, 2 - a, b + 1, near) / beta_function(a, b)
    # left of 0 add int_q^{1/2} eta^(a-2) (1-eta)^(b-1), by the power series of (1-eta)^(b-1)
    # finite, since 0 * inf is nan
    depth = np.minimum(np.maximum(softplus(-z) - LN2, 0.0), 1e300)  # log(1/2 / q)
    d = 1.0 - a
    exponent = np.minimum(d * depth, 600.0)  # further left nothing but the growth counts, which may overflow
    with np.errstate(over="ignore"):  # beyond float64 the cost is inf
        far = np.exp(d * (depth + LN2) - math.log(d or 1.0) - betaln(a, b))
        growth = np.exp(exponent)
        series = np.expm1(exponent) / d if d else depth.copy()
        coefficient, half, power = 1.0, 1.0, np.ones_like(z)
        rest = np.minimum(q, 0.5)
        for k in range(1, 60):  # rest is at most 1/2: 59 terms reach 2^-59
            coefficient *= (k - b) / k
            half /= 2.0
            power = power * rest
            series = series + coefficient / (k - d) * (half - power * growth)
    left = np.where(exponent < 600.0, 2.0**d * series / beta_function(a, b), far)
    return np.asarray(total + np.where(z < 0, left, 0.0))


def scoring_rule(rule: ScoringRule | str | tuple[float, float]) -> ScoringRule:
    """A scoring rule by name or by its ``(a, b)``.

    Examples
    --------
    >>> scoring_rule("brier")
    ScoringRule(a=2.0, b=2.0)
    """
    if isinstance(rule, ScoringRule):
        return rule
    if isinstance(rule, str):
        if rule.lower() not in NAMED_RULES:
            known = ", ".join(NAMED_RULES)
            raise UnknownNameError(f"unknown scoring rule {rule!r}; known are {known}, or a pair (a, b)")
        return ScoringRule(*NAMED_RULES[rule.lower()])
    try:
        a, b = rule
    except (TypeError, ValueError):
        raise InputError(f"a scoring rule is a name or a pair (a, b), got {rule!r}") from None
    return ScoringRule(a, b)


LOGARITHMIC = ScoringRule(1, 1)


def _blocks_for_sums(n: int) -> Iterator[slice]:
    """Blocks that stay in the cache, unless two threads would then wait for each other all the time."""
    return blocks(n, 1 << 15 if n < 1 << 19 else 1 << 17)


@dataclass(frozen=True, eq=False)
class ClassNewtonSums(FieldwiseSums):
    """Sums over the trials of one class at given parameters (K slopes, then the offset)."""

    n: float
    loss: float
    gradient: FloatArray
    hessian: FloatArray


@dataclass(frozen=True, eq=False)
class NewtonSums(FieldwiseSums):
    """One Newton step of logistic regression, or of another rule, from mergeable sums.

    The classes are kept apart; the objective at prior ``p`` is
    ``p * target.loss / target.n + (1 - p) * nontarget.loss / nontarget.n``.

    Examples
    --------
    >>> sums = NewtonSums.of(Scores([1.0, -1.0], [0.0]), [1.0, 0.0], log_odds=0.0)
    >>> sums.target.gradient  # d loss / d slope, d loss / d offset
    array([ 0.46211716, -1.        ])
    """

    target: ClassNewtonSums
    nontarget: ClassNewtonSums

    @classmethod
    def of(
        cls,
        scores: Scores,
        parameters: ArrayLike,
        log_odds: float = 0.0,
        rule: ScoringRule = LOGARITHMIC,
        center: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
    ) -> NewtonSums:
        """The sums of a chunk at ``z = slopes . (score - center) / scale + offset + log_odds``."""
        w = np.asarray(parameters, dtype=np.float64)
        k = len(w) - 1
        shift, unit = (np.broadcast_to(np.asarray(x, dtype=np.float64), (k,)) for x in (center, scale))
        line = _Line(w, log_odds, shift, unit)
        if rule == LOGARITHMIC:
            return cls(
                _sums_of_log_rule(scores.target, line, -1.0), _sums_of_log_rule(scores.nontarget, line, 1.0)
            )
        return cls(
            _sums_of_any_rule(scores.target, line, rule.miss, rule.miss_derivatives),
            _sums_of_any_rule(scores.nontarget, line, rule.fa, rule.fa_derivatives),
        )


@dataclass(frozen=True)
class _Line:
    """The linear function whose parameters are looked for."""

    w: FloatArray
    log_odds: float
    center: FloatArray
    scale: FloatArray

    def of(self, values: Array, block: slice, sign: float = 1.0) -> tuple[list[FloatArray], FloatArray]:
        """Standardized columns of a block, and the line (negated for sign -1)."""
        columns = [values[block]] if values.ndim == 1 else [values[block, k] for k in range(values.shape[1])]
        # standardized in the block: a copy of all scores would double the memory
        columns = [
            (column - center) * (1.0 / scale)
            if (center, scale) != (0.0, 1.0)
            else column.astype(np.float64, copy=False)
            for column, center, scale in zip(columns, self.center, self.scale, strict=True)
        ]
        z = columns[0] * (sign * self.w[0])
        for column, slope in zip(columns[1:], self.w[1:-1], strict=True):
            z += (sign * slope) * column
        z += sign * (self.w[-1] + self.log_odds)
        return columns, z


def _sums_of_log_rule(values: Array, line: _Line, sign: float) -> ClassNewtonSums:
    """Sums of softplus(sign * z) and its derivatives: one exponential for all of them."""
    total = _zero_sums(len(line.w))
    for block in _blocks_for_sums(len(values)):
        columns, z = line.of(values, block, sign)
        # before z is overwritten
        loss = float(np.logaddexp(0.0, z).sum()) if z.max() > LINEAR_ABOVE else None
        odds = np.exp(np.minimum(z, 700.0, out=z), out=z)  # exp(700) is finite, and p has long been 1
        if loss is None:
            loss = log_of_products(odds, 1.0)
        below = 1.0 + odds
        # buffers are reused: p takes the place of the odds, p (1 - p) that of 1 + odds
        p = np.divide(odds, below, out=odds)
        total += _block_sums(columns, p, np.divide(p, below, out=below), loss, sign)
    return total


def _sums_of_any_rule(
    values: Array,
    line: _Line,
    loss: Callable[[FloatArray], FloatArray],
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
) -> ClassNewtonSums:
    total = _zero_sums(len(line.w))
    for block in _blocks_for_sums(len(values)):
        columns, z = line.of(values, block)
        total += _block_sums(columns, *derivatives(z), float(loss(z).sum()))
    return total


def _zero_sums(size: int) -> ClassNewtonSums:
    return ClassNewtonSums(0, 0.0, np.zeros(size), np.zeros((size, size)))


def _block_sums(
    columns: list[FloatArray], first: FloatArray, second: FloatArray, loss: float, sign: float = 1.0
) -> ClassNewtonSums:
    # einsum, not dot: BLAS would start threads of its own inside our pool
    size = len(columns) + 1
    gradient, hessian = np.empty(size), np.empty((size, size))
    for i, column in enumerate(columns):
        gradient[i] = sign * np.einsum("i,i->", first, column)
        weighted = second * column
        for j in range(i + 1):
            hessian[i, j] = hessian[j, i] = np.einsum("i,i->", weighted, columns[j])
        hessian[i, -1] = hessian[-1, i] = weighted.sum()
    gradient[-1], hessian[-1, -1] = sign * first.sum(), second.sum()
    return ClassNewtonSums(len(first), loss, gradient, hessian)
