"""What scores may be if they are no LLRs in nats: questions, never a conversion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from llrkit._warn import warn_caller
from llrkit.calibrate.tied_scores import FEWEST_AT_AN_END, SHARE_AT_AN_END, TiedScores
from llrkit.errors import ReversedScoresWarning, ScaleWarning
from llrkit.metrics.separation import reversed_text

if TYPE_CHECKING:
    from llrkit.evaluation.evaluation_result import Evaluation
    from llrkit.metrics.measurements import Measurements
    from llrkit.scores import ScoreSource
    from llrkit.trust.calibration.verdict import Verdict

HUGE = 1000.0
"""Largest over smallest score from which on positive scores may be likelihood ratios."""
LN10_BETWEEN = (2.2, 2.4)
LN10_LOOKED_FOR = (2.1, 2.5)
"""Outside of this the best slope is not close to ln 10, whether it is found from trials or from cells."""


def suspicions(result: Measurements, verdict: Callable[[], Verdict]) -> tuple[str, ...]:
    """What the scores may be, if there is evidence that they are not LLRs.

    The verdict is asked for only if there is something to suspect: its test takes a good part of the time of
    a small evaluation.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> llrs = lk.theory.GaussianLLR.from_eer(0.05).rvs(500, 5000, np.random.default_rng(1))
    >>> posteriors = lk.Scores(*(1 / (1 + np.exp(-x)) for x in llrs))
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     lk.evaluate(posteriors).suspicions
    ('all scores are between 0 and 1: are they probabilities? See llrkit.theory.llr_from_posterior',)
    """
    other = other_quantity(*result.moments.extremes)
    if not other and not result.summaries.slope_may_be(*LN10_LOOKED_FOR):
        return ()
    if verdict().outcome != "evidence":
        return ()
    if other:
        return (other,)
    line = result.best_line
    if line is not None and LN10_BETWEEN[0] <= line.a <= LN10_BETWEEN[1]:
        scale = f"the best scale is {line.a:.2f}, close to ln 10 = 2.30"
        return (f"{scale}: are these log10 LLRs? Then multiply them by ln 10 (--log10)",)
    return ()


def other_quantity(low: float, high: float) -> str:
    """What scores in this range may be that no straight line makes LLRs of; empty if nothing is suspected.

    Examples
    --------
    >>> other_quantity(0.001, 4000.0)
    'all scores are positive, from 0.001 to 4e+03: are they likelihood ratios, not LLRs?'
    >>> other_quantity(-1.0, 4000.0)
    ''
    """
    if low >= 0.0 and high <= 1.0:
        return "all scores are between 0 and 1: are they probabilities? See llrkit.theory.llr_from_posterior"
    if low > 0.0 and high / low > HUGE:
        return f"all scores are positive, from {low:.3g} to {high:.3g}: are they likelihood ratios, not LLRs?"
    return ""


def saturation(result: Measurements, source: ScoreSource) -> list[str]:
    """Shares of the trials that have exactly the highest or the lowest score, in words; empty if few do.

    The trials are looked at again only if the first or the last of the cells that were counted holds many.
    LLRs that a calibration wrote lie at its bounds, and nothing is said of them.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> scores = lk.Scores([5.0] * 60 + [0.7, 0.9] * 20, np.linspace(-9.0, 4.0, 1001))
    >>> saturation(lk.evaluate(scores), scores)
    ['60.0 % of the target scores are exactly 5, the highest score: they are clipped or saturated']
    """
    if source.roles.calibrated:
        return []
    counts = result.summaries.at_llrs
    outermost = (
        (counts.n_miss[1], counts.n_target - counts.n_miss[-1], counts.n_target),
        (counts.n_nontarget - counts.n_fa[1], counts.n_fa[-1], counts.n_nontarget),
    )
    if not any(max(low, high) >= max(FEWEST_AT_AN_END, SHARE_AT_AN_END * n) for low, high, n in outermost):
        return []
    return TiedScores.of_source(source).at_the_ends()


def warn_of(result: Evaluation) -> None:
    """Warn of reversed scores, and of what the scores may be instead of LLRs."""
    if result.apart.reversed:
        text = reversed_text(result.summaries.bins, result.auc)
        warn_caller(text, ReversedScoresWarning)
    for text in result.suspicions:
        warn_caller(text, ScaleWarning)
