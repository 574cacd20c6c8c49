"""Why a description of unlabeled scores must not be trusted, however well it fits."""

from __future__ import annotations

import math

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.elementary_functions import logit
from llrkit.core.score_histogram import ClassHistogram
from llrkit.shift.class_density import ClassDensity
from llrkit.shift.moved_mixture import FARTHEST_OFFSET, FARTHEST_SPREAD, SHARES, MovedMixture, unpacked

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
    if far := _reason_out_of_reach(mixture):
        return far
    whole, target, nontarget = mixture.distances()
    low, high = shares
    at_end = mixture.share <= low * 1.02 or mixture.share >= 1.0 - (1.0 - high) * 1.02
    if low < high and at_end:
        given = "the range that was given" if shares != SHARES else "what is possible"
        return f"the estimated share of targets, {mixture.share:.3g}, is at the end of {given}"
    if too_few := too_few_of_class(mixture, n):
        return too_few
    if not adequate and (whole > MOST_APART or max(target, nontarget) > MOST_BEFORE_FREE):
        return (
            "no move of the training classes describes the scores "
            f"(distances: all {whole:.3f}, targets {target:.3f}, non-targets {nontarget:.3f}; "
            f"allowed are {MOST_APART}, {MOST_APART_OF_CLASS} and {MOST_APART_OF_CLASS})"
        )
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
    """That ``n`` independent scores hold too few of a class to show where it is; empty if they do not."""
    few = min(mixture.share, 1.0 - mixture.share) * n
    if few >= FEWEST_OF_CLASS:
        return ""
    rare = "targets" if mixture.share < 0.5 else "non-targets"
    return f"the scores hold about {few:.0f} independent {rare}; at least {FEWEST_OF_CLASS} are needed"


def _reason_out_of_reach(mixture: MovedMixture) -> str:
    """Why a search that ran into its limits says nothing: the scores may have moved farther."""
    log_spreads, offsets = unpacked(mixture.rung, mixture.x)
    spread_out = max(abs(one) for one in log_spreads) > 0.99 * math.log(FARTHEST_SPREAD)
    if not spread_out and max(abs(one) for one in offsets) <= 0.99 * FARTHEST_OFFSET:
        return ""
    return (
        f"they are too far from the training scores (spread more than {FARTHEST_SPREAD:g} times as large or "
        f"small, or offset more than {FARTHEST_OFFSET:g} standard deviations), perhaps on another scale"
    )


def infinite_edge(new: ClassHistogram, classes: tuple[ClassHistogram, ClassHistogram]) -> str:
    """Infinite scores where training had hardly any: no move of finite ones explains them.

    Examples
    --------
    >>> trained = ClassHistogram.of(np.arange(9.0))
    >>> infinite_edge(ClassHistogram.of(np.array([0.0, 1.0, 2.0, -np.inf])), (trained, trained))
    '25 % of the scores are -inf: a hard edge no move explains'
    """
    for name, seen, trained in (
        ("-inf", new.n_neg_inf, [one.n_neg_inf / _all_scores(one) for one in classes]),
        ("inf", new.n_pos_inf, [one.n_pos_inf / _all_scores(one) for one in classes]),
    ):
        share = float(seen) / _all_scores(new)
        if share > EDGE + max(trained):
            return f"{100.0 * share:.0f} % of the scores are {name}: a hard edge no move explains"
    return ""


def _all_scores(one: ClassHistogram) -> float:
    """Scores, infinite ones included."""
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
    share = 0.5 if mixture.rung <= 1 else mixture.share
    mixed = share * mixture.masses[0] + (1.0 - share) * mixture.masses[1]
    below = np.cumsum(mixture.masses, axis=1)
    target, nontarget = (int(np.searchsorted(part, 0.5)) for part in below)
    if target - nontarget < 3 or not _has_valley(mixed, nontarget, target):
        return False
    if not _has_valley(mixture.mixed, nontarget, target, DEEP):
        return True  # so shallow a one need not show in the scores themselves
    cells = np.arange(len(mixed), dtype=np.float64) + np.float64(0.5)
    seen = ClassDensity.of(ClassHistogram(0, 0, mixture.counts)).log_pdf(cells)[0]
    return _has_valley(np.exp(seen), nontarget, target)


def _has_valley(density: FloatArray, low: int, high: int, depth: float = VALLEY) -> bool:
    """Whether a density is lower somewhere between two cells than around both of them."""
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
        if share > EDGE and edge > 2.0 * (beside.mean() if len(beside) else 0.0):
            return f"{100.0 * share:.0f} % of the scores are at the {name} one: a hard edge no move explains"
    return ""
