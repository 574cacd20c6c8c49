"""Errors of two systems on the same trials: of their difference, and DeLong's test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from llrkit.base.arguments import Array, FloatArray, IntArray
from llrkit.base.text import Json
from llrkit.core.summaries import ReadOnlyArrays
from llrkit.errors import SystemCountError, TooFewTrialsError
from llrkit.fits.folds import deal_folds
from llrkit.metrics.measure import Measurements, measure
from llrkit.results.result import Result
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import AnyTrials, DerivedSource, Labels, as_source
from llrkit.scores.source import POSITION
from llrkit.trust.influence import Functional, StepInfluences, StepTable
from llrkit.trust.jackknife import (
    MANY_MAKERS,
    Jackknife,
    count_by_speaker,
    leave_out,
    makers_of_errors,
)
from llrkit.trust.line import as_rows
from llrkit.trust.speakers import Contributions, Speakers, covariance, quantile, two_sided_p

FLIPS = 3999
"""Random choices of the signs of all speakers."""


@dataclass(frozen=True, eq=False)
class DifferenceError(ReadOnlyArrays):
    """The standard error of a difference, and what the difference is compared with.

    Student's t suits most numbers. Where few speakers make the errors it is too cautious: those who make most
    of the difference make most of its standard error too. If both systems are equally good, either could
    have been the better one for each speaker; so the difference is compared with those that have random signs
    of the speakers in place of theirs. Such a test keeps its level however unequal the speakers are.

    Examples
    --------
    >>> round(DifferenceError(0.1).p_value(0.2), 4)
    0.0455
    >>> DifferenceError(0.1, 0.0, np.array([0.1, 0.2, 0.3])).p_value(0.25)
    0.5
    """

    standard_error: float
    df: float = math.inf
    flipped: FloatArray | None = None
    """Sizes of the difference with random signs of the speakers, ascending; None for Student's t."""

    def p_value(self, gap: float) -> float:
        """Two-sided test that there is no difference."""
        if self.flipped is not None:
            as_large = len(self.flipped) - int(np.searchsorted(self.flipped, abs(gap) * (1.0 - 1e-12)))
            return (1.0 + as_large) / (1.0 + len(self.flipped))
        return two_sided_p(gap, self.standard_error, self.df)

    def reach(self, level: float) -> float:
        """Half the width of the interval, which excludes 0 where the test rejects."""
        if self.flipped is None:
            return quantile(level, self.df) * self.standard_error
        most = math.floor((1.0 - level) * (1.0 + len(self.flipped)) + 1e-9) - 1
        return float(self.flipped[min(len(self.flipped) - 1 - most, len(self.flipped) - 1)])


def flipped_sizes(gap: Jackknife) -> FloatArray:
    """Sizes that the first difference would have with random signs of the speakers, ascending.

    Pseudo-values around the difference itself, uncorrected for bias. What pairs of speakers count twice is
    taken out (``counted_once``).

    Examples
    --------
    >>> means = np.array([1.0, 2.0, 3.0])  # of three speakers: their signs give 0, 2/3, 4/3 or 2
    >>> left_out = (means.sum() - means) / 2
    >>> np.unique(flipped_sizes(Jackknife(("mean",), np.array([2.0]), left_out[:, None])).round(6))
    array([0.      , 0.666667, 1.333333, 2.      ])
    """
    around = gap.deviations[:, 0] + gap.values[0]
    share = float(np.broadcast_to(gap.counted_once, 1)[0])
    sizes = np.abs(_random_signs(gap.n_speakers) @ around) / gap.n_speakers * math.sqrt(share)
    return np.asarray(np.sort(sizes))


@lru_cache(maxsize=2)
def _random_signs(n: int) -> FloatArray:
    """Random signs of n speakers, one row for each flip."""
    heads = np.random.default_rng([7, n]).integers(0, 2, size=(FLIPS, n)).astype(np.float64)
    signs = heads * 2.0 - 1.0
    signs.flags.writeable = False
    return signs


Pairs = Sequence[tuple[Functional, Functional]]

MOST_GROUPS = 100
"""Groups of independent trials that are left out one after the other."""
RARE_SHARE = 0.25
"""Errors are rare if fewer than a quarter of the speakers make them, effectively."""
_FEW_COMPARED = 30.0
"""With more speakers, less of what pairs count twice has to stay in the errors of minimum costs."""
ONE_SPEAKER = "all trials of a class are of one speaker: without it there is nothing to compare"


def only_systems(source: ScoreSource, which: Sequence[int]) -> DerivedSource:
    """One system of a source that has several, or some of them."""
    columns = list(which) if len(which) > 1 else which[0]

    def select(chunk: Scores) -> Scores:
        if chunk.target.ndim != 2:
            raise SystemCountError("scores of two systems are needed, got one")
        target, nontarget = chunk.target[:, columns], chunk.nontarget[:, columns]
        return Scores.part(target, nontarget, chunk.columns, chunk.categories)

    return DerivedSource(source, select, score=tuple(source.roles.score[i] for i in which))


def side_by_side(first: StepInfluences, second: StepInfluences) -> Contributions:
    """What the trials add by their scores of two systems, so that the covariance of both is known."""
    one, other = first.contributions, second.contributions
    columns = [(*one.columns(i), *(one.size + column for column in other.columns(i))) for i in (0, 1)]

    def of(values: Array, class_index: int) -> list[FloatArray]:
        return [*one.of(values[:, 0], class_index), *other.of(values[:, 1], class_index)]

    return Contributions(one.size + other.size, of, (columns[0], columns[1]))


def class_sizes(result: Measurements) -> tuple[float, float]:
    """Numbers, or weights, of targets and of non-targets."""
    bins = result.summaries.bins
    return float(bins.n_target), float(bins.n_nontarget)


@dataclass(frozen=True)
class TrialGroups(Speakers):
    """Independent trials dealt out to groups, which are then left out as speakers are."""

    def of(self, chunk: Scores, class_index: int) -> tuple[IntArray, IntArray]:
        """The group of each trial of a class, and nobody."""
        place = np.asarray(chunk.columns[POSITION][class_index])
        group = deal_folds(place, self.n, 0) % self.n
        return group, np.full(len(group), self.n)


def trial_errors(
    source: ScoreSource,
    results: Sequence[Measurements],
    both: Contributions,
    pairs: Pairs,
    smaller_class: float,
) -> dict[str, DifferenceError]:
    """Errors for independent trials: unbiased variances of the influences of each class.

    The map of the minimum Cllr follows the trials it is fitted to, which influences at the fitted map do
    not show: there the larger of that error and of the one by leaving out groups of trials is taken.
    """
    spread = covariance(source, both).independent
    sizes = np.array(class_sizes(results[0]))
    # sums come in pairs, targets first; n - 1 because their means were taken off
    unbiased = np.sqrt(np.tile(sizes / np.maximum(sizes - 1.0, 1.0), both.size // 2))
    errors: dict[str, DifferenceError] = {}
    for a, b in pairs:
        weights = np.concatenate([a.coefficients, -b.coefficients]) * unbiased
        errors[a.name] = DifferenceError(math.sqrt(max(float(weights @ spread @ weights), 0.0)))
    groups, fitted = int(min(MOST_GROUPS, smaller_class)), "min_cllr"
    if fitted not in errors or source.roles.weight is not None:
        return errors
    dealt = TrialGroups((POSITION,), {}, targets_cross=False, n_groups=groups)
    first, second = (
        leave_out(count_by_speaker(only_systems(source, (k,)), result, dealt), result).select([fitted])
        for k, result in enumerate(results)
    )
    error = float((first - second).standard_error[0])
    if error > errors[fitted].standard_error:
        errors[fitted] = DifferenceError(error, groups - 1.0)
    return errors


def speaker_errors(
    source: ScoreSource,
    results: Sequence[Measurements],
    both: Contributions,
    pairs: Pairs,
    speakers: Speakers,
) -> dict[str, DifferenceError | str]:
    """Errors for trials that share speakers, both systems without the same speaker in turn, or why none.

    Rates, minima and the area above the ROC are compared by the logarithm of their ratio, and so are actual
    costs whose errors come from fewer than 8 effective speakers, or from fewer than a quarter of all: a few
    speakers make most of the errors, and the difference would be too skewed for a test. Its error is that of
    the logarithm times the logarithmic mean of the two. Rates and actual costs whose errors come from fewer
    than a quarter of all speakers are tested by changing the signs of speakers.

    Trials between two speakers are left out with either, and do not count twice. How much that is, influences
    at a fixed threshold say; some 2/S of it stays in, as in intervals. The threshold of a minimum cost moves
    with the trials, so there half of it stays in, and less with more than 30 speakers: without it tests at
    P = 0.01 rejected up to 11 % with 30, and with half of it only 1.4 % with 100 (benchmarks/sizes.py).
    """
    groups = speakers.grouped()
    names = [a.name for a, _ in pairs]
    spread = covariance(source, both, groups)
    shares = np.array(
        [spread.share_without_pairs(np.concatenate([a.coefficients, -b.coefficients])) for a, b in pairs]
    )
    cells = [count_by_speaker(only_systems(source, (k,)), result, groups) for k, result in enumerate(results)]
    first, second = (leave_out(one, result).select(names) for one, result in zip(cells, results, strict=True))
    made = [makers_of_errors(one, result) for one, result in zip(cells, results, strict=True)]
    few = {**made[1][1], **made[0][1]}
    errors: dict[str, DifferenceError | str] = {}
    for name, share in zip(names, shares, strict=True):
        a, b = first.select([name]), second.select([name])
        minimum = name.endswith((".min_dcf", ".min"))
        if minimum:
            share += (1.0 - share) * 0.5 * min(1.0, _FEW_COMPARED / groups.n_compared)
        else:
            share = min(1.0, share * (1.0 + 2.0 / groups.n_compared))
        if not np.isfinite(a.without + b.without).all():
            errors[name] = ONE_SPEAKER
        elif name in few:
            errors[name] = f"{few[name]}: no test of so few can be trusted"
        else:
            fewest = min(makers.get(name, math.inf) for makers, _ in made)
            rare = fewest < RARE_SHARE * groups.n
            many = fewest >= MANY_MAKERS and not rare
            plain = name == "cllr" or (name.endswith((".act_dcf", ".act")) and many)
            errors[name] = _error_of_difference(name, a, b, float(share), by_ratio=not plain, by_signs=rare)
    return errors


def _error_of_difference(
    name: str, a: Jackknife, b: Jackknife, share: float, *, by_ratio: bool, by_signs: bool
) -> DifferenceError | str:
    """The error of the difference of one number, or why there is none."""
    mean = 1.0
    if by_ratio:
        if name == "auc":
            a, b = (replace(one, values=1.0 - one.values, without=1.0 - one.without) for one in (a, b))
        mean = _logarithmic_mean(float(a.values[0]), float(b.values[0]))
        a, b = a.on_scales(["cost"]), b.on_scales(["cost"])
        if not np.isfinite(a.without + b.without).all():
            return "without one of the speakers it is 0: no test of so few errors can be trusted"
    gap = replace(a - b, counted_once=share)
    flipped = mean * flipped_sizes(gap) if by_signs else None
    return DifferenceError(mean * float(gap.standard_error[0]), float(gap.df[0]), flipped)


def _logarithmic_mean(a: float, b: float) -> float:
    """What a difference of logarithms is multiplied by to give the difference itself.

    Examples
    --------
    >>> round(_logarithmic_mean(0.2, 0.1) * math.log(0.2 / 0.1), 12)
    0.1
    """
    return (a - b) / math.log(a / b) if min(a, b) > 0.0 and a != b else a


@dataclass(frozen=True)
class DeLong(Result):
    """Areas under two ROCs on the same trials, their covariance, and the test of their difference."""

    auc: tuple[float, float]
    """Areas under the two ROCs."""
    covariance: tuple[tuple[float, float], tuple[float, float]]
    """Covariance matrix of the two areas."""

    @property
    def z(self) -> float:
        """Difference of the areas in standard errors."""
        (aa, ab), (_, bb) = self.covariance
        variance, gap = aa + bb - 2.0 * ab, self.auc[0] - self.auc[1]
        if variance > 0.0:
            return gap / math.sqrt(variance)
        return 0.0 if gap == 0.0 else math.copysign(math.inf, gap)

    @property
    def p_value(self) -> float:
        """Two-sided."""
        return 2.0 * float(ndtr(-abs(self.z)))

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        covariance = [list(row) for row in self.covariance]
        return {"auc": list(self.auc), "covariance": covariance, "z": self.z, "p_value": self.p_value}


def delong_test(source: AnyTrials, labels: Labels | None = None) -> DeLong:
    """Test whether two systems that scored the same trials have the same AUC.

    The variance of the placements, as in DeLong, DeLong & Clarke-Pearson (1988): for each target the share
    of non-targets below it, for each non-target the share of targets above it, ties counting one half;
    sample covariances with n - 1. Trials are taken as independent.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([[1.0, 0.2], [2.0, 1.0], [3.0, 3.0]], [[0.0, 1.5], [1.5, 0.1], [0.5, 0.7]])
    >>> test = lk.delong_test(scores)
    >>> [round(area, 4) for area in test.auc], round(test.p_value, 4)
    ([0.8889, 0.6667], 0.4795)
    """
    source = as_source(source, labels)
    results = [measure(only_systems(source, (k,)), []) for k in (0, 1)]
    tables = [StepTable(result, []) for result in results]
    for table in tables:
        table.add_placements()
    n = class_sizes(results[0])
    if min(n) < 2:
        raise TooFewTrialsError("DeLong's test needs at least two trials of each class")
    products = covariance(source, side_by_side(*(table.influences() for table in tables))).independent
    # each system has four sums: losses and placements, of targets and of non-targets
    rows = np.array(
        [[products[4 * i + 2 : 4 * i + 4, 4 * j + 2 : 4 * j + 4] for j in (0, 1)] for i in (0, 1)]
    )
    spread = rows[:, :, 0, 0] / (n[0] * (n[0] - 1.0)) + rows[:, :, 1, 1] / (n[1] * (n[1] - 1.0))
    return DeLong((results[0].auc, results[1].auc), as_rows(spread))
