"""Training scores whose classes do not overlap: nothing between them says how strong evidence is."""

from __future__ import annotations

import math

from llrkit.core.moments import ClassMoments, Moments
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source

REMEDY = (
    "logistic regression with regularization=1 keeps the slope finite; then bound the LLRs "
    '(bound="sources"), or collect more trials'
)
"""What to do about classes that do not overlap, wherever it is said."""
REMEDY_TYPED = (
    "--method logistic --option regularization=1 keeps the slope finite; then bound the LLRs "
    "(--bound sources, the default), or collect more trials"
)
"""The same on the command line."""


@takes_labels
def class_gap(source: ScoreSource) -> tuple[float, float] | None:
    """The scores between which no trial lies, if all targets are above all non-targets (or below); else None.

    The two are equal if the classes meet in one score. One pass; one system.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.

    Examples
    --------
    >>> import llrkit as lk
    >>> class_gap(lk.Scores([2.0, 3.0], [0.0, 1.5]))
    (1.5, 2.0)
    >>> class_gap(lk.Scores([2.0, 3.0], [0.0, 2.5])) is None
    True
    """
    return gap_of_moments(as_source(source).reduce(Moments.of))


def gap_of_moments(moments: Moments) -> tuple[float, float] | None:
    """The gap, from the moments; None for several systems, of which none needs to separate the classes."""
    if len(moments.target.mean) != 1:
        return None
    for above, below in ((moments.target, moments.nontarget), (moments.nontarget, moments.target)):
        if above.count and below.count and lowest_score(above) >= highest_score(below):
            return highest_score(below), lowest_score(above)
    return None


def gap_sentence(gap: tuple[float, float] | None, of: str = "scores", *, bounded: bool = True) -> str:
    """Why the strength of evidence is not known from the training scores; empty for None.

    ``bounded`` is False for maps without bounds.

    Examples
    --------
    >>> gap_sentence((0.233, 0.647))
    'the classes do not overlap in the training scores (gap 0.233 to 0.647): the strength of evidence rests
    on the bounds alone'
    """
    if gap is None:
        return ""
    where = f"gap {gap[0]:.4g} to {gap[1]:.4g}" if gap[0] < gap[1] else f"they meet at {gap[0]:.4g}"
    rests_on = "the bounds" if bounded else "what the method assumes"
    return (
        f"the classes do not overlap in the training {of} ({where}): "
        f"the strength of evidence rests on {rests_on} alone"
    )


def lowest_score(moments: ClassMoments) -> float:
    """The smallest score of a class, infinite ones included."""
    return -math.inf if moments.n_neg_inf else math.inf if moments.n == 0 else float(moments.low[0])


def highest_score(moments: ClassMoments) -> float:
    """The largest score of a class, infinite ones included."""
    return math.inf if moments.n_pos_inf else -math.inf if moments.n == 0 else float(moments.high[0])
