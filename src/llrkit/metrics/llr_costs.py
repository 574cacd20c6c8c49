"""What depends on the values of the scores, read as natural-log LLRs: Cllr, actual costs, cross-entropy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.core.counting import in_order_if_kept
from llrkit.core.elementary_functions import LN2, binary_entropy, logit, probability, sigmoid
from llrkit.core.loss_sums import LossSums
from llrkit.core.score_index import score_indexes
from llrkit.core.scoring_rules import ScoringRule, scoring_rule
from llrkit.core.summary_algebra import FieldwiseSums
from llrkit.core.threshold_grid import require_both_classes
from llrkit.metrics.discrimination import min_cllr
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.theory.presets import Point, operating_point


def losses_at(source: ScoreSource, log_odds: npt.ArrayLike = 0.0, thresholds: npt.ArrayLike = ()) -> LossSums:
    """Losses of a source at given priors and thresholds; both classes must be there."""
    losses = in_order_if_kept(source).reduce(LossSums.at(log_odds, thresholds))
    require_both_classes(losses.n_target, losses.n_nontarget)
    return losses


@takes_labels
def cllr(source: ScoreSource) -> float:
    """Cost of the log-likelihood-ratio, in bits.

    ``1/2 [mean_target log2(1 + e^-x) + mean_nontarget log2(1 + e^x)]`` (Brümmer & du Preez 2006). 0 is
    perfect, 1 is what LLR = 0 everywhere gives; inf when an infinite LLR is wrong.

    Examples
    --------
    >>> import llrkit as lk
    >>> round(lk.cllr(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])), 13)
    0.7139542076921
    """
    return float(cross_entropy_from_losses(losses_at(source))[0] / LN2)


@takes_labels
def cllr_cal(source: ScoreSource) -> float:
    """The part of Cllr that is lost to calibration: ``cllr - min_cllr``.

    A perfectly calibrated system also shows a loss, since the minimum is taken on the same trials.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.cllr_cal(lk.Scores([0.0], [0.0]))
    0.0
    """
    return cllr(source) - min_cllr(source)


def cross_entropy_from_losses(losses: LossSums) -> FloatArray:
    """Prior-weighted cross-entropy in nats at each prior log-odds of the losses."""
    prior, other = sigmoid(losses.log_odds), sigmoid(-losses.log_odds)
    target = losses.target_loss / losses.n_target
    nontarget = losses.nontarget_loss / losses.n_nontarget
    return np.asarray(prior * target + other * nontarget)


@takes_labels
def cross_entropy(source: ScoreSource, prior: float, *, normalized: bool = True) -> float:
    """Empirical cross-entropy of the posteriors at any prior.

    ``p mean_target softplus(-x - logit p) + (1 - p) mean_nontarget softplus(x + logit p)``, by default
    divided by the same with x = 0, the entropy of the prior; otherwise in bits. At prior 1/2 it is Cllr.

    Parameters
    ----------
    prior
        Prior probability of a target.
    normalized
        Divide by the cross-entropy of the prior alone.

    Examples
    --------
    >>> import llrkit as lk
    >>> round(lk.cross_entropy(lk.Scores([0.0], [0.0]), 0.1), 12)
    1.0
    """
    prior = probability(prior, "prior")
    value = cross_entropy_from_losses(losses_at(source, logit(prior)))[0]
    return float(value / (binary_entropy(prior) if normalized else LN2))


@takes_labels
def act_dcf(source: ScoreSource, point: Point) -> float:
    """Normalized detection cost at the Bayes threshold, where calibrated LLRs should be cut.

    Parameters
    ----------
    point
        Operating point: a prior, ``(prior, c_miss, c_fa)``, an :class:`llrkit.OperatingPoint`, or the name
        of a preset.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.act_dcf(lk.Scores([0.0], [0.0]), "sre10")
    1.0
    """
    point = operating_point(point)
    losses = losses_at(source, thresholds=[point.threshold])
    return point.cost(float(losses.p_miss[0]), float(losses.p_fa[0]))


@takes_labels
def rule_cost(
    source: ScoreSource, rule: ScoringRule | str | tuple[float, float] = "log", prior: float = 0.5
) -> float:
    """Expected cost under a proper scoring rule of the Beta family, at a prior.

    ``p mean_target C_miss(q) + (1 - p) mean_nontarget C_fa(q)`` with ``q = sigmoid(x + logit p)``
    (Brümmer & Doddington 2013). ``rule`` is "log", "brier", "boosting", ..., or a pair ``(a, b)``.

    Parameters
    ----------
    rule
        Scoring rule: ``"log"``, ``"brier"``, another name, or a pair (a, b) of the Beta family.
    prior
        Prior probability of a target.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.rule_cost(lk.Scores([0.0], [0.0]), "brier", 0.5)
    0.75
    """
    rule, prior = scoring_rule(rule), probability(prior, "prior")
    sums = as_source(source).reduce(RuleSums.at(rule, float(logit(prior))))
    require_both_classes(sums.n_target, sums.n_nontarget)
    return prior * sums.target / sums.n_target + (1.0 - prior) * sums.nontarget / sums.n_nontarget


@dataclass(frozen=True, eq=False)
class RuleSums(FieldwiseSums):
    """Sums of the costs of a scoring rule."""

    n_target: float
    n_nontarget: float
    target: float
    nontarget: float

    @classmethod
    def at(cls, rule: ScoringRule, log_odds: float) -> Callable[[Scores], RuleSums]:
        """A summarizer for one rule and prior."""

        def make(chunk: Scores) -> RuleSums:
            target, nontarget = (index.values for index in score_indexes(chunk))
            return cls(
                chunk.n_target,
                chunk.n_nontarget,
                float(rule.miss(target.astype(np.float64, copy=False) + log_odds).sum()),
                float(rule.fa(nontarget.astype(np.float64, copy=False) + log_odds).sum()),
            )

        return make
