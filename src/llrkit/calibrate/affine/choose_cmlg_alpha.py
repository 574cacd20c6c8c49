"""The weight alpha of CMLG, chosen by what it costs on trials whose groups were left out.

Groups (speakers) are dealt into sets by a hash of their names. The map for a trial between sets p and q is
the closed form of the trials that touch neither, which follows from sums over the blocks of trials between
two sets: no map is ever fitted twice, so a set can be small. Two passes, whatever the number of weights.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray, IntArray
from llrkit._plain import Json
from llrkit.calibrate.option_checks import names_of
from llrkit.core.column_values import numbered
from llrkit.core.elementary_functions import sigmoid
from llrkit.core.moments import Moments
from llrkit.core.summary_algebra import FieldwiseSums
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.roles import POSITION
from llrkit.scores.source import as_source
from llrkit.theory.presets import Preset

SETS = 32
"""Sets that groups are dealt into: trials between two of them are left out together."""
LOG_ODDS = np.arange(-8.0, 8.5, 0.5)
"""Log-odds of the weights that are tried; beyond them the variance of one class alone decides."""
UNSEEN = 3.0
"""Errors that may be there although none was seen, with 95 % confidence: the rule of three."""


class _HashedSets(dict[Hashable, int]):
    """The set of a group, which depends on its name only: not on the order of the trials."""

    def __missing__(self, group: Hashable) -> int:
        return zlib.crc32(str(group).encode()) % SETS


@dataclass(frozen=True, eq=False)
class BlockSums(FieldwiseSums):
    """Count, sum and sum of squares of centered scores; axes: class (targets first), block."""

    sums: FloatArray


@dataclass(frozen=True, eq=False)
class AlphaChoice:
    """The cost of each weight on trials whose groups were left out, and the one that is chosen."""

    log_odds: FloatArray
    costs: FloatArray
    standard_errors: FloatArray
    """Of the difference from the cost at alpha = 1/2; trials with a group in common are dependent."""
    cost_of_error: float
    """What one error more adds to the cost, of the kind that adds more."""
    cost: Preset
    groups: tuple[str, ...]

    @property
    def half(self) -> int:
        """Where alpha is 1/2."""
        return int(np.flatnonzero(self.log_odds == 0.0)[0])

    @property
    def chosen(self) -> int:
        """Where the gain over alpha = 1/2 that is not chance is largest; 1/2 if there is none.

        Off a gain goes its standard error, which says nothing where hardly an error was seen, and therefore
        also the cost of three errors.
        """
        sure = self.costs - self.costs[self.half] + self.standard_errors + UNSEEN * self.cost_of_error
        sure[self.half] = 0.0
        best = np.flatnonzero(sure <= sure.min() + 1e-12)
        return int(best[np.argmin(np.abs(self.log_odds[best]))])

    @property
    def alpha(self) -> float:
        """The chosen weight."""
        return float(sigmoid(self.log_odds[self.chosen]))

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, for the details of the map."""
        return {
            "alpha": self.alpha,
            "point": self.cost.name,
            "groups": list(self.groups),
            "log_odds": self.log_odds.tolist(),
            "costs": self.costs.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "cost": float(self.costs[self.chosen]),
            "cost_at_half": float(self.costs[self.half]),
        }


def choose_alpha(
    source: ScoreSource, moments: Moments, cost: Preset, groups: str | Sequence[str] | None = None
) -> AlphaChoice:
    """Try weights from one end to the other; a trial is decided by a map that has not seen its groups.

    Parameters
    ----------
    moments
        Those of the source, which were checked.
    groups
        One column, or the two columns with the speakers of the two sides. By default the enrollment and test
        ids of a table; without any, trials are taken to be independent.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> scores = Scores(rng.normal(5.0, 1.6, 4000), rng.normal(0.0, 1.0, 40_000))
    >>> from llrkit.theory.presets import cost_of
    >>> choice = choose_alpha(scores, scores.reduce(Moments.of), cost_of("sre12"))
    >>> choice.alpha < 0.2, bool(choice.costs[choice.chosen] < 0.8 * choice.costs[choice.half])
    (True, True)
    """
    source = as_source(source)
    columns = source.roles.ids if groups is None else names_of(groups, "groups")
    if len(columns) > 2 or (groups is not None and not columns):
        raise InputError(f"groups are one or two columns (the two sides of a trial), got {list(columns)}")
    wide = source.with_columns(*(columns or (POSITION,)))
    low, high = moments.extremes
    center, scale = (low + high) / 2.0, (high - low) / 2.0
    sums = wide.reduce(_block_sums_at(columns, center, scale)).sums
    lines = _cmlg_lines_without(sums, sigmoid(LOG_ODDS))
    errors = wide.reduce(_errors_at_alphas(columns, center, scale, lines, cost)).sums
    return AlphaChoice(LOG_ODDS, *_costs_of_alphas(sums[0], errors, cost), cost, columns)


def _blocks_of_groups(chunk: Scores, columns: tuple[str, ...]) -> tuple[IntArray, IntArray]:
    """The block of each trial: the set of one side times SETS plus that of the other."""
    codes = []
    for class_index in (0, 1):
        if not columns:
            one = two = np.asarray(chunk.columns[POSITION][class_index] % SETS, dtype=np.int64)
        else:
            one, two = (numbered(chunk, columns[i], class_index, _HashedSets()) for i in (0, -1))
        codes.append(one * SETS + two)
    return codes[0], codes[1]


def _block_sums_at(columns: tuple[str, ...], center: float, scale: float) -> Callable[[Scores], BlockSums]:
    def make(chunk: Scores) -> BlockSums:
        sums = np.zeros((3, 2, SETS * SETS))
        blocks = _blocks_of_groups(chunk, columns)
        for i, (scores, block) in enumerate(zip((chunk.target, chunk.nontarget), blocks, strict=True)):
            x = (scores.astype(np.float64) - center) / scale
            for power in range(3):
                sums[power, i] = np.bincount(block, x**power, SETS * SETS)
        return BlockSums(sums)

    return make


def _cmlg_lines_without(sums: FloatArray, alphas: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slope and offset of CMLG at each weight, for each block from the trials that touch none of its sets."""
    square = sums.reshape(3, 2, SETS, SETS)
    inside = np.einsum("kcpp->kcp", square)
    touching = square.sum(2) + square.sum(3) - inside
    between = square + square.transpose(0, 1, 3, 2)
    total = square.sum((2, 3))[:, :, None, None]
    without = total - touching[:, :, :, None] - touching[:, :, None, :] + between
    same = np.eye(SETS, dtype=bool)
    without[:, :, same] = (total[..., 0] - touching).reshape(3, 2, SETS)
    n, first, second = without.reshape(3, 2, -1)
    used = sums[0].sum(0) > 0
    n = np.where(used, n, 1.0)
    if np.any(n < 0.5):
        raise TooFewTrialsError(
            'alpha="auto": leaving out some groups leaves a class without trials; there are too few groups'
        )
    mean = first / n
    variance = np.maximum(second / n - mean**2, 0.0)
    v = alphas[:, None] * variance[0] + (1.0 - alphas[:, None]) * variance[1]
    if np.any(v[:, used] <= 0.0):
        raise TooFewTrialsError(
            'alpha="auto": leaving out some groups leaves a class whose scores are all equal'
        )
    a = (mean[0] - mean[1]) / np.where(used, v, 1.0)
    return a, -a * (mean[0] + mean[1]) / 2.0


def _errors_at_alphas(
    columns: tuple[str, ...], center: float, scale: float, lines: tuple[FloatArray, FloatArray], cost: Preset
) -> Callable[[Scores], BlockSums]:
    """Errors of each class in each block, at each weight and operating point."""

    def make(chunk: Scores) -> BlockSums:
        slopes, offsets = lines
        errors = np.zeros((2, len(slopes), len(cost.points), SETS * SETS))
        blocks = _blocks_of_groups(chunk, columns)
        for i, (scores, block) in enumerate(zip((chunk.target, chunk.nontarget), blocks, strict=True)):
            x = (scores.astype(np.float64) - center) / scale
            for k, (a, b) in enumerate(zip(slopes, offsets, strict=True)):
                llr = a[block] * x + b[block]
                for j, point in enumerate(cost.points):
                    wrong = llr < point.threshold if i == 0 else llr >= point.threshold
                    errors[i, k, j] = np.bincount(block[wrong], minlength=SETS * SETS)
        return BlockSums(errors)

    return make


def _costs_of_alphas(
    counts: FloatArray, errors: FloatArray, cost: Preset
) -> tuple[FloatArray, FloatArray, float]:
    """Cost at each weight, standard error of its difference from that at 1/2, and the cost of one error."""
    n = counts.sum(1)
    # what one miss and one false alarm add to the mean of the normalized costs
    miss, false_alarm = (
        np.array([point.cost(*rates) for point in cost.points]) / len(cost.points)
        for rates in ((1.0, 0.0), (0.0, 1.0))
    )
    lost = np.stack(
        [np.tensordot(miss / n[0], errors[0], (0, 1)), np.tensordot(false_alarm / n[1], errors[1], (0, 1))]
    )
    costs = lost.sum((0, 2))
    differs = lost - lost[:, LOG_ODDS == 0.0]
    mean = differs.sum(2, keepdims=True) / n[:, None, None]
    block = (differs - mean * counts[:, None]).sum(0).reshape(-1, SETS, SETS)
    within = np.einsum("kpp->kp", block)
    touching = block.sum(1) + block.sum(2) - within
    # the trials between two sets are in the sums of both, and would be counted twice
    both = block + block.transpose(0, 2, 1)
    between = 0.5 * ((both**2).sum((1, 2)) - np.einsum("kpp->kp", both**2).sum(1))
    variance = (touching**2).sum(1) - between
    one_error = max(float(miss.sum() / n[0]), float(false_alarm.sum() / n[1]))
    return costs, np.sqrt(np.maximum(variance, 0.0)), one_error
