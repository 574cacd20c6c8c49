"""CMLG: constrained maximum likelihood of Gaussian LLRs, the choice of alpha, and the cost it predicts.

The line follows in closed form from the means and variances of the classes. The weight alpha of the variances
can be chosen by what it costs on trials whose groups were left out: groups (speakers) are dealt into sets by
a hash of their names. The map for a trial between sets p and q is the closed form of the trials that touch
neither, which follows from sums over the blocks of trials between two sets: no map is ever fitted twice, so a
set can be small. Two passes, whatever the number of weights.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import overload

import numpy as np

from llrkit.base.arguments import FloatArray, IntArray, class_weight, names_of, one_of
from llrkit.base.process import warn_caller
from llrkit.base.text import Json
from llrkit.core.groups import numbered
from llrkit.core.numerics import newton, sigmoid, softplus
from llrkit.core.summaries import ClassMoments, FieldwiseSums, Moments
from llrkit.errors import ConstantScoreError, InputError, ShapeWarning, TooFewTrialsError
from llrkit.fits.conditions import condition_cells, conditioned_from_cells, residual_moments
from llrkit.fits.gaussian import gaussian_tests, shape_problems, shape_statistics
from llrkit.fits.training_checks import WeightedPoints, provenance, training_moments
from llrkit.maps.composite import BASES, ConditionedMap, condition_names
from llrkit.maps.map import AffineMap, reading_of
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.scores.source import POSITION
from llrkit.theory import GaussianLLR
from llrkit.theory.operating_points import AnyPoint, Preset, cost_of

# more sets leave less out of each fit; sums take SETS^2 cells, and lines as many at every weight tried
SETS = 32
"""Sets that groups are dealt into: trials between two of them are left out together."""
LOG_ODDS = np.arange(-8.0, 8.5, 0.5)
"""Log-odds of the weights that are tried; beyond them the variance of one class alone decides."""
# the margin of one standard error plus three errors was chosen from
# several on halves of the real sets (docs/notes/decisions-fits.md)
UNSEEN = 3.0
"""Errors that may be there although none was seen, with 95 % confidence: the rule of three."""


class _HashedSets(dict[Hashable, int]):
    """The set of a group, which depends on its name only: not on the order of the trials."""

    def __missing__(self, group: Hashable) -> int:
        # crc32 and not hash(), which differs between processes: workers must agree on the set of a speaker
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
        # alpha = 1/2 competes with a gain of 0: it needs no proof, so without a clear gain it wins
        sure[self.half] = 0.0
        best = np.flatnonzero(sure <= sure.min() + 1e-12)
        # costs are counts of errors and often equal over a range of weights; of those, the nearest to 1/2
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
    >>> from llrkit.theory.operating_points import cost_of
    >>> choice = choose_alpha(scores, scores.reduce(Moments.of), cost_of("sre12"))
    >>> choice.alpha < 0.2, bool(choice.costs[choice.chosen] < 0.8 * choice.costs[choice.half])
    (True, True)
    """
    columns = source.roles.ids if groups is None else names_of(groups, "groups")
    if len(columns) > 2 or (groups is not None and not columns):
        raise InputError(f"groups are one or two columns (the two sides of a trial), got {list(columns)}")
    wide = source.with_columns(*(columns or (POSITION,)))
    # scores on -1 ... 1: variances come from raw second moments
    # below, which would cancel for scores far from 0
    low, high = moments.extremes
    center, scale = (low + high) / 2.0, (high - low) / 2.0

    def scaled_and_blocks(chunk: Scores) -> Iterator[tuple[FloatArray, IntArray]]:
        for i, scores in enumerate((chunk.target, chunk.nontarget)):
            if columns:
                one, two = (numbered(chunk, columns[side], i, _HashedSets()) for side in (0, -1))
            else:
                one = two = np.asarray(chunk.columns[POSITION][i] % SETS, dtype=np.int64)
            # the block of a trial: the set of one side times SETS plus that of the other
            yield (scores.astype(np.float64) - center) / scale, one * SETS + two

    def powers_in_blocks(chunk: Scores) -> BlockSums:
        sums = np.zeros((3, 2, SETS * SETS))
        for i, (x, block) in enumerate(scaled_and_blocks(chunk)):
            for power in range(3):
                sums[power, i] = np.bincount(block, x**power, SETS * SETS)
        return BlockSums(sums)

    sums = wide.reduce(powers_in_blocks).sums
    slopes, offsets = _cmlg_lines_without(sums, sigmoid(LOG_ODDS))

    def errors_in_blocks(chunk: Scores) -> BlockSums:
        errors = np.zeros((2, len(slopes), len(cost.points), SETS * SETS))
        for i, (x, block) in enumerate(scaled_and_blocks(chunk)):
            for k, (a, b) in enumerate(zip(slopes, offsets, strict=True)):
                llr = a[block] * x + b[block]
                for j, point in enumerate(cost.points):
                    # ties at the threshold are accepted: a false alarm if they
                    # are non-targets, no miss if they are targets
                    wrong = llr < point.threshold if i == 0 else llr >= point.threshold
                    errors[i, k, j] = np.bincount(block[wrong], minlength=SETS * SETS)
        return BlockSums(errors)

    costs = _costs_of_alphas(sums[0], wide.reduce(errors_in_blocks).sums, cost)
    return AlphaChoice(LOG_ODDS, *costs, cost, columns)


def _cmlg_lines_without(sums: FloatArray, alphas: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slope and offset of CMLG at each weight, for each block from the trials that touch none of its sets."""
    square = sums.reshape(3, 2, SETS, SETS)
    inside = np.einsum("kcpp->kcp", square)
    touching = square.sum(2) + square.sum(3) - inside
    between = square + square.transpose(0, 1, 3, 2)
    total = square.sum((2, 3))[:, :, None, None]
    # inclusion and exclusion: trials between p and q touch both sets and were taken away twice
    without = total - touching[:, :, :, None] - touching[:, :, None, :] + between
    same = np.eye(SETS, dtype=bool)
    # for p = q that formula would take the set away twice; the trials of the others are total - touching
    without[:, :, same] = (total[..., 0] - touching).reshape(3, 2, SETS)
    n, first, second = without.reshape(3, 2, -1)
    # blocks without trials never use their line, so whatever is missing there must not raise
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
    # the variance is that of the difference from alpha = 1/2: on the same trials most of the noise cancels
    differs = lost - lost[:, LOG_ODDS == 0.0]
    mean = differs.sum(2, keepdims=True) / n[:, None, None]
    block = (differs - mean * counts[:, None]).sum(0).reshape(-1, SETS, SETS)
    within = np.einsum("kpp->kp", block)
    touching = block.sum(1) + block.sum(2) - within
    # the trials between two sets are in the sums of both, and would be counted twice
    # a block and its transpose are the same pair of sets; the pair is in the matrix twice, hence the half
    both = block + block.transpose(0, 2, 1)
    between = 0.5 * ((both**2).sum((1, 2)) - np.einsum("kpp->kp", both**2).sum(1))
    variance = (touching**2).sum(1) - between
    # of the two kinds of error, the one that costs more: the margin must cover either
    one_error = max(float(miss.sum() / n[0]), float(false_alarm.sum() / n[1]))
    return costs, np.sqrt(np.maximum(variance, 0.0)), one_error


# Points of a standard normal. Beyond 6.5 standard deviations there is 1e-10 of the mass.
_Z = np.linspace(-6.5, 6.5, 1301)
_WEIGHTS = np.exp(-0.5 * _Z**2) * (_Z[1] - _Z[0]) / np.sqrt(2.0 * np.pi)

ONE_SKEWED, BOTH_SKEWED = 2.5, 1.5
"""Skewness of one class, and of both, up to which four moments tell the costs.

Of some 150 clipped, saturating and exponentiated Gaussian pairs (EER 0.5 to 35 %) and five real sets, the
measured loss was 0.5 to 2.2 times the predicted one up to here, where it was above 0.001 bits; beyond, up to
310 times.
"""

Llrs = tuple[tuple[FloatArray, FloatArray], ...]
"""LLRs and their weights, of targets and of non-targets."""


@dataclass(frozen=True)
class PredictedCost:
    """Cllr in bits and normalized cost at an operating point, of CMLG and of logistic regression."""

    cllr_cmlg: float
    cllr_logistic: float
    point: str | None = None
    dcf_cmlg: float | None = None
    dcf_logistic: float | None = None

    def to_dict(self) -> dict[str, float | str | None]:
        """Plain numbers."""
        return asdict(self)

    def __str__(self) -> str:
        words = f"Cllr {self.cllr_cmlg:.3f} with CMLG, {self.cllr_logistic:.3f} with logistic regression"
        if self.point is None:
            return words
        return f"{words}; cost at {self.point} {self.dcf_cmlg:.3f} and {self.dcf_logistic:.3f}"


def predicted_cost(moments: Moments, a: float, b: float, cost: Preset | None = None) -> PredictedCost | None:
    """Costs of the line ``a s + b`` and of the line of logistic regression, on scores with these moments.

    Such scores are made of normal ones by the Cornish-Fisher expansion, ``s = m + sd (z + g (z^2 - 1)/6 + k
    (z^3 - 3z)/24 - g^2 (2z^3 - 5z)/36)`` with skewness g and excess kurtosis k, each cut off at 2. None
    if a class is constant or too skewed (:func:`why_unpredicted`), or if the line of logistic regression is
    not found.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> from llrkit.theory.operating_points import cost_of
    >>> rng = np.random.default_rng(3)
    >>> scores = Scores(rng.normal(3.3, 1.0, 2000), rng.normal(0.0, 1.2, 50_000)).reduce(Moments.of)
    >>> print(predicted_cost(scores, 3.3 / 1.22, -3.3**2 / 2.44, cost_of("sre10")))
    Cllr 0.238 with CMLG, 0.234 with logistic regression; cost at sre10 1.008 and 0.984
    """
    classes = (moments.target, moments.nontarget)
    if min(one.n for one in classes) < 2 or min(float(one.variance[0]) for one in classes) <= 0.0:
        return None
    if why_unpredicted(moments):
        return None
    return line_costs(_population_of_moments(classes[0]), _population_of_moments(classes[1]), a, b, cost)


def why_unpredicted(moments: Moments) -> str:
    """Why four moments do not determine the costs of these scores; empty if they do.

    The moments of a class that is clipped or saturates are those of a skewed one.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> rng = np.random.default_rng(3)
    >>> cut = Scores(np.minimum(rng.normal(3.3, 1.0, 2000), 2.0), rng.normal(0.0, 1.0, 2000))
    >>> why_unpredicted(cut.reduce(Moments.of))
    'with a skewness of -5.81 and -0.05, four moments do not determine the costs'
    """
    both = float(moments.target.skewness[0]), float(moments.nontarget.skewness[0])
    sizes = sorted(map(abs, both))
    if not (sizes[1] > ONE_SKEWED or sizes[0] > BOTH_SKEWED):  # nan, of a constant class, is not skewed
        return ""
    return f"with a skewness of {both[0]:+.2f} and {both[1]:+.2f}, four moments do not determine the costs"


def line_costs(
    target: WeightedPoints, nontarget: WeightedPoints, a: float, b: float, cost: Preset | None = None
) -> PredictedCost | None:
    """Costs of the line ``a s + b`` and of the line of logistic regression on scores given as points.

    Examples
    --------
    >>> points = [WeightedPoints(np.array(x), np.ones(2)) for x in ([1.0, 3.0], [0.0, 2.0])]
    >>> print(line_costs(*points, 2.0, -3.0))
    Cllr 0.982 with CMLG, 0.847 with logistic regression
    """
    # a flat line has no units of its own to work in
    if a == 0.0:
        return None
    # in units of the line itself, where the numbers are of the size of LLRs
    llrs = tuple((a * one.points + b, one.weights / one.total) for one in (target, nontarget))
    own = np.array([1.0, 0.0])
    best = newton(lambda x: _line_objective(x, llrs), own, tolerance=1e-9, max_evaluations=100)
    if not best.converged:
        return None
    lines = (own, best.x)
    bits = [_line_objective(line, llrs)[0] / (2.0 * math.log(2.0)) for line in lines]
    if cost is None:
        return PredictedCost(bits[0], bits[1])
    (targets, of_target), (nontargets, of_nontarget) = llrs
    dcfs = []
    for line in lines:
        target_llr, nontarget_llr = line[0] * targets + line[1], line[0] * nontargets + line[1]
        costs = []
        for point in cost.points:
            p_miss = float(of_target[target_llr < point.threshold].sum())
            costs.append(point.cost(p_miss, float(of_nontarget[nontarget_llr >= point.threshold].sum())))
        dcfs.append(float(np.mean(costs)))
    return PredictedCost(bits[0], bits[1], cost.name, dcfs[0], dcfs[1])


def _population_of_moments(class_moments: ClassMoments) -> WeightedPoints:
    # the expansion is a series in small deviations; moments beyond 2 would fold it back
    skewness = float(np.clip(class_moments.skewness[0], -2.0, 2.0))
    kurtosis = float(np.clip(class_moments.excess_kurtosis[0], -2.0, 2.0))
    z = _Z + skewness * (_Z**2 - 1.0) / 6.0 + kurtosis * (_Z**3 - 3.0 * _Z) / 24.0
    z -= skewness**2 * (2.0 * _Z**3 - 5.0 * _Z) / 36.0
    scores = float(class_moments.mean[0]) + math.sqrt(float(class_moments.variance[0])) * z
    return WeightedPoints(scores, _WEIGHTS)


def _line_objective(line: FloatArray, llrs: Llrs) -> tuple[float, FloatArray, FloatArray]:
    """Twice the cross-entropy at a prior of 1/2, in nats."""
    value, gradient, hessian = 0.0, np.zeros(2), np.zeros((2, 2))
    for (x, weights), sign in zip(llrs, (-1.0, 1.0), strict=True):
        z = sign * (line[0] * x + line[1])
        wrong, terms = sigmoid(z), np.stack([x, np.ones_like(x)])
        value += float((weights * softplus(z)).sum())
        gradient += sign * (terms * (weights * wrong)).sum(1)
        curved = terms * (weights * wrong * (1.0 - wrong))
        hessian += np.array([[(curved[i] * terms[j]).sum() for j in (0, 1)] for i in (0, 1)])
    return value, gradient, hessian


@overload
def fit_cmlg(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    alpha: float | str = 0.5,
    point: AnyPoint | None = None,
    groups: str | Sequence[str] | None = None,
    conditions: None = None,
    basis: None = None,
) -> AffineMap: ...
@overload
def fit_cmlg(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    alpha: float = 0.5,
    conditions: Sequence[str] | str,
    basis: str | None = None,
) -> ConditionedMap: ...
def fit_cmlg(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    alpha: float | str = 0.5,
    point: AnyPoint | None = None,
    groups: str | Sequence[str] | None = None,
    conditions: Sequence[str] | str | None = None,
    basis: str | None = None,
) -> AffineMap | ConditionedMap:
    """Affine calibration in closed form from means and variances (van Leeuwen & Brümmer 2013).

    ``a = (m_e - m_d) / v``, ``b = -a (m_e + m_d) / 2`` with the 1/N variance
    ``v = alpha v_e + (1 - alpha) v_d``: the maximum of the class-weighted Gaussian likelihood under the
    constraint that the result is calibrated. One pass, three with ``alpha="auto"``.

    The map's ``details`` hold the standard errors of a and b (for independent trials), the weighted
    log-likelihood, what the Gaussian pair promises (mu, EER, Cllr), the shape of the scores, tests of the
    assumption (``gaussian_tests``), the predicted cost beside logistic regression (``predicted_cost``, or why
    there is none in ``no_predicted_cost``), and with "auto" the cost at every weight (``alpha_choice``). A
    ``ShapeWarning`` says when the scores do not look Gaussian with equal variances: the method is not
    recommended then.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    alpha
        Weight of the targets (:term:`alpha`), from 0 to 1, both ends included. It matters only when the
        variances differ.
        "auto" chooses the weight with the lowest cross-validated cost at ``point``, and keeps 1/2 where the
        gain may be chance.
    point
        The operating point of "auto" and of the predicted cost: the name of a preset, an operating point, or
        a prior.
    groups
        For "auto": one column, or the two columns with the speakers of the two sides. No trial is decided by
        a map that has seen its groups. By default the enrollment and test ids of a table; without any,
        trials are taken to be independent.
    conditions
        Columns of numbers that say under which conditions a trial was made, such as ``("enroll_seconds",
        "test_seconds")``. The means and log-variances of the classes are then quadratics of the conditions,
        and every trial is calibrated by the closed form at its own: one map for all durations. Two passes.
        See :meth:`llrkit.maps.ConditionedMap.at` for the line of one set of conditions.
    basis
        What the quadratics are of: the 'log' of the conditions (the default), their 'inverse', or 'linear',
        the conditions themselves.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.fit_cmlg(lk.Scores([2.0, 4.0], [0.0, 2.0]))
    AffineMap(cmlg: llr = 2 * score -4)
    >>> rng = np.random.default_rng(1)
    >>> wide = lk.Scores(rng.normal(5.0, 1.6, 4000), rng.normal(0.0, 1.0, 40_000))
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     fitted = lk.fit_cmlg(wide, alpha="auto", point="sre12")
    >>> choice = fitted.details["alpha_choice"]
    >>> fitted.options["alpha"] < 0.2, round(choice["cost"], 2), round(choice["cost_at_half"], 2)
    (True, 0.25, 0.4)
    """
    source = as_source(source, labels)
    if conditions is None and basis is not None:
        raise InputError("basis needs conditions (conditions=...)")
    if conditions is not None:
        one_of(basis or BASES[0], BASES, "basis of the conditions")
        if isinstance(alpha, str) or point is not None or groups is not None:
            raise InputError("conditions need a number as alpha; alpha='auto', point and groups are refused")
        cells = condition_cells(source, condition_names(conditions), basis or BASES[0])
        conditioned = conditioned_from_cells(cells, class_weight(alpha))
        warn_of_shape(residual_moments(cells, conditioned), fixed_alpha=True)
        return conditioned.with_reading(source.roles)
    cost = None if point is None else cost_of(point)
    chosen: dict[str, Json] = {}
    if isinstance(alpha, str):
        if alpha != "auto" or cost is None:
            raise InputError(
                f'alpha must be between 0 and 1, or "auto" with an operating point (point=...); got {alpha!r}'
            )
        moments = training_moments(source)
        choice = choose_alpha(source, moments, cost, groups)
        weight, chosen["alpha_choice"] = choice.alpha, choice.to_dict()
    else:
        if groups is not None:
            raise InputError('groups need alpha="auto"')
        weight, moments = class_weight(alpha), training_moments(source)
    fitted = cmlg_from_moments(moments, weight)
    predicted = predicted_cost(moments, fitted.a, fitted.b, cost)
    found: dict[str, Json] = {
        "gaussian_tests": [test.to_dict() for test in gaussian_tests(moments)],
        "predicted_cost": None if predicted is None else predicted.to_dict(),
    }
    if reason := why_unpredicted(moments):
        found["no_predicted_cost"] = reason
    warn_of_shape(moments, predicted, fixed_alpha=bool(chosen))
    return replace(fitted, details={**fitted.details, **found, **chosen}, reading=reading_of(source.roles))


def cmlg_from_moments(moments: Moments, alpha: float = 0.5) -> AffineMap:
    """The closed form, from moments that were checked."""
    target, nontarget = moments.target, moments.nontarget
    m_e, m_d = float(target.mean[0]), float(nontarget.mean[0])
    v_e, v_d = float(target.variance[0]), float(nontarget.variance[0])
    v = alpha * v_e + (1.0 - alpha) * v_d
    if v == 0.0:
        which = {0.0: "the non-target scores are", 1.0: "the target scores are"}.get(alpha, "each class is")
        raise ConstantScoreError(f"{which} constant: the slope would be infinite")
    a = (m_e - m_d) / v
    b = -a * (m_e + m_d) / 2.0
    # the mean LLR of targets under the pair; from it follow EER and Cllr of calibrated Gaussian LLRs
    mu = a * (m_e - m_d) / 2.0
    # reversed or equal means have no Gaussian pair with mu > 0:
    # 50 % and 1 bit, as for scores that say nothing
    pair = GaussianLLR.from_mu(mu) if mu > 0 else None
    se_a, se_b = _cmlg_standard_errors(moments, alpha, a, v)
    details: dict[str, Json] = {
        "mean_target": m_e,
        "mean_nontarget": m_d,
        "variance": v,
        "se_a": se_a,
        "se_b": se_b,
        # at the maximum the mean of squares over v is 1, which leaves this closed form
        "log_likelihood": -0.5 * (math.log(2.0 * math.pi * v) + 1.0),
        "mu": mu,
        "eer": pair.eer if pair else 0.5,
        "cllr": pair.cllr if pair else 1.0,
        **shape_statistics(moments),
    }
    return AffineMap(
        a=a, b=b, method="cmlg", options={"alpha": alpha}, details=details, provenance=provenance(moments)
    )


def _cmlg_standard_errors(moments: Moments, alpha: float, a: float, v: float) -> tuple[float, float]:
    """Delta method: a and b are functions of two means and two variances, estimated on independent trials."""
    middle = (float(moments.target.mean[0]) + float(moments.nontarget.mean[0])) / 2.0
    var_a = var_b = 0.0
    for class_moments, sign, weight in ((moments.target, 1.0, alpha), (moments.nontarget, -1.0, 1.0 - alpha)):
        variance, n = float(class_moments.variance[0]), class_moments.n
        third, fourth = float(class_moments.m3[0] / n), float(class_moments.m4[0] / n)
        # the asymptotic covariance of mean and 1/N variance for any distribution; no normality is assumed
        covariance = np.array([[variance, third], [third, fourth - variance**2]]) / n
        grad_a = np.array([sign / v, -weight * a / v])
        # b = -a * middle: both factors move with a mean, only the slope with a variance
        grad_b = -middle * grad_a - np.array([a / 2.0, 0.0])
        var_a += float(grad_a @ covariance @ grad_a)
        var_b += float(grad_b @ covariance @ grad_b)
    return math.sqrt(max(var_a, 0.0)), math.sqrt(max(var_b, 0.0))


def warn_of_shape(
    moments: Moments, predicted: PredictedCost | None = None, *, fixed_alpha: bool = False
) -> None:
    """Warn when CMLG is not recommended for these scores.

    ``fixed_alpha``: alpha was chosen for a point already, or cannot be, so that nobody is told to do it.
    """
    problems = shape_problems(moments)
    if problems:
        costs = "" if predicted is None else f" Predicted: {predicted}."
        if reason := why_unpredicted(moments):
            costs = f" What that costs is not predicted: {reason}."
        other = "" if fixed_alpha else ', or choose alpha for the operating point: alpha="auto", point=...'
        warn_caller(
            f"CMLG assumes Gaussian scores of equal variance, but {'; '.join(problems)}.{costs} "
            f"Compare with fit_logistic{other}.",
            ShapeWarning,
        )
