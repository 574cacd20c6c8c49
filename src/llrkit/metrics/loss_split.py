"""What a loss consists of: scale and offset, shape, discrimination; and what chance alone would cost.

The best straight line is fitted to the cells of :class:`LlrCells`, not to the trials: without another pass,
and with an error of the order of the square of the width of a cell.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.elementary_functions import LN2, sigmoid, softplus
from llrkit.core.newton_minimizer import newton
from llrkit.metrics.llr_cells import LlrCells

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
class LossSplit:
    """Cllr in three parts, in bits; they add up to it."""

    discrimination: float
    """min Cllr."""
    scale_and_offset: float
    """What the best straight line recovers."""
    shape: float
    """What only a bent map recovers."""
    chance: float
    """The last two together, as calibrated LLRs that separate the classes as well show them on average."""

    def to_dict(self) -> dict[str, float]:
        """Plain numbers."""
        return asdict(self)


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
    if abs(cells_cllr(cells) - cllr) > 0.001 + 0.01 * cllr or line.cllr < min_cllr - 0.001:
        return None
    recovered = min(max(cllr - line.cllr, 0.0), cllr - min_cllr)
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
        center = float(((t + n) * cells.llr).sum() / (t + n).sum()) if len(t) else math.nan
        unit = float(np.sqrt(((t + n) * (cells.llr - center) ** 2).sum() / (t + n).sum())) if len(t) else 0.0
    if not (0.0 < unit < math.inf) or _is_separated(cells):
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
    >>> round(chance_loss(cells), 3)  # llrkit.calibration_null, drawn: 0.034
    0.033
    """
    n_t, n_n = cells.n_target, cells.n_nontarget
    share = np.asarray(sigmoid(cells.llr + math.log(n_t / n_n)))
    target, nontarget = cells.trials * share / n_t, cells.trials * (1.0 - share) / n_n
    used = np.abs(cells.llr) < 60.0
    # cells of one nat: densities are taken to that power, and single trials are no densities
    cell = np.floor(cells.llr[used]).astype(np.intp)
    cell -= cell.min(initial=0)
    f_t, f_n = np.bincount(cell, target[used]), np.bincount(cell, nontarget[used])
    loss = np.bincount(cell, 0.5 * (target * softplus(-cells.llr) + nontarget * softplus(cells.llr))[used])
    both = (f_t > 1e-18) & (f_n > 1e-18) & (loss > 1e-18)
    f_t, f_n, loss = f_t[both], f_n[both], loss[both]
    information = n_t * f_t * n_n * f_n / (n_t * f_t + n_n * f_n)
    gain = _MANY * 0.5 * f_t * f_n / (f_t + f_n) * information ** (-2.0 / 3.0)
    total = (gain**-_POWER + (_ALL * loss) ** -_POWER) ** (-1.0 / _POWER)
    return float(total.sum()) / LN2


def _is_separated(cells: LlrCells) -> bool:
    """Whether a threshold, or a single cell of both classes, separates the classes."""
    t, n = cells.llr[cells.target > 0.0], cells.llr[cells.nontarget > 0.0]
    return not len(t) or not len(n) or t.min() >= n.max() or t.max() <= n.min()


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
        second = np.einsum("ik,jk,k->ij", g, g, counts * residual**2) / n
        total += (second - np.outer(mean, mean)) / n
        curvature += np.einsum("ik,jk,k->ij", g, g, counts * p * (1.0 - p)) / n
    with np.errstate(all="ignore"):
        try:
            inverse = np.linalg.inv(curvature)
        except np.linalg.LinAlgError:
            return None
        spread = inverse @ total @ inverse
    if not (np.isfinite(spread).all() and spread[0, 0] > 0.0 and spread[1, 1] > 0.0):
        return None
    return (float(spread[0, 0]), float(spread[0, 1])), (float(spread[1, 0]), float(spread[1, 1]))
