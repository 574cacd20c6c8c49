"""LLRs as people who forecast probabilities judge them: Brier score, calibration error, decomposition.

A prior turns LLRs into posterior probabilities; by default it is the share of the targets among the trials,
so that every trial counts the same and the numbers are those of a list of forecasts and outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arguments import whole_number
from llrkit._arrays import FloatArray
from llrkit._format import not_among
from llrkit._results import Result
from llrkit.core.counting import count_blocks
from llrkit.core.elementary_functions import LN2, logit, probability, sigmoid
from llrkit.core.pav_and_hull import PavBlocks
from llrkit.core.score_index import score_indexes
from llrkit.core.scoring_rules import ScoringRule, scoring_rule
from llrkit.core.summary_algebra import FieldwiseSums
from llrkit.core.threshold_grid import require_both_classes
from llrkit.errors import UnknownNameError
from llrkit.metrics.llr_costs import RuleSums
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source

UNITS = {"log": LN2, "brier": 3.0}
"""What our scoring rules are divided by: the log score is in bits, the Brier score a squared error."""


@takes_labels
def brier_score(source: ScoreSource, *, prior: float | None = None) -> float:
    """Mean squared difference between posterior and outcome, ``p mean_tar (1 - q)^2 + (1 - p) mean_non q^2``.

    ``q = sigmoid(llr + logit p)`` with the prior p, by default the share of the targets among the trials.

    Parameters
    ----------
    prior
        Prior probability of a target; by default the share of targets.

    References
    ----------
    Brier, Monthly Weather Review 78 (1950) 1.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.brier_score([0.0, 0.0], [1, 0])
    0.25
    """
    return score_decomposition(source, "brier", prior=prior).score


@takes_labels
def expected_calibration_error(source: ScoreSource, *, bins: int = 10, prior: float | None = None) -> float:
    """Binned expected calibration error: mean distance between share of targets and posterior.

    The posteriors, at the prior, are put into ``bins`` of equal width, each with its lower end, the last with
    both; a bin counts by its trials. The number depends on the bins and is above 0 for calibrated LLRs too;
    the miscalibration of :func:`score_decomposition` needs no bins.

    Parameters
    ----------
    bins
        Number of bins of equal width.
    prior
        Prior probability of a target; by default the share of targets.

    References
    ----------
    Naeini, Cooper & Hauskrecht, AAAI 2015.

    Examples
    --------
    >>> import llrkit as lk
    >>> round(lk.expected_calibration_error([2.0, 2.0, -2.0, -2.0], [1, 1, 0, 0]), 4)  # sigmoid(-2)
    0.1192
    """
    whole_number(bins, 1, "bins")
    p = prior_of(source, prior)
    sums = as_source(source).reduce(_PosteriorBins.at(int(bins), float(logit(p))))
    target, nontarget = p / sums.target.sum(), (1.0 - p) / sums.nontarget.sum()
    of_targets = target * sums.target
    posteriors = target * sums.target_posterior + nontarget * sums.nontarget_posterior
    return float(np.abs(of_targets - posteriors).sum())


@dataclass(frozen=True)
class ScoreDecomposition(Result):
    """A mean score as ``miscalibration - discrimination + uncertainty``."""

    rule: str
    """Name of the scoring rule: ``brier`` or ``log``."""
    prior: float
    """Prior of a target at which posteriors were computed."""
    score: float
    """Of the posteriors as they are."""
    miscalibration: float
    """What the best monotone recalibration (PAV) would save."""
    discrimination: float
    """What the recalibrated posteriors save of the uncertainty."""
    uncertainty: float
    """Score of the prior itself, without any system."""


@takes_labels
def score_decomposition(
    source: ScoreSource, rule: str = "brier", *, prior: float | None = None
) -> ScoreDecomposition:
    """Mean score of posteriors, taken apart by recalibration with PAV (CORP).

    ``rule`` is ``"brier"`` or ``"log"``; the log score is in bits, so that at a prior of 1/2 the score is
    Cllr and, with an uncertainty of 1 bit, ``min Cllr = 1 - discrimination``.

    Parameters
    ----------
    rule
        Scoring rule: ``"log"``, ``"brier"``, another name, or a pair (a, b) of the Beta family.
    prior
        Prior probability of a target; by default the share of targets.

    References
    ----------
    Dimitriadis, Gneiting & Jordan, PNAS 118 (2021) e2016191118.

    Examples
    --------
    >>> import llrkit as lk
    >>> found = lk.score_decomposition([2.0, 1.0, -1.0, -3.0], [1, 0, 1, 0], prior=0.5)
    >>> found.uncertainty, found.score == found.miscalibration - found.discrimination + found.uncertainty
    (0.25, True)
    """
    if rule not in UNITS:
        raise UnknownNameError(f"unknown score {not_among(rule, UNITS)}")
    p, costs, unit = prior_of(source, prior), scoring_rule(rule), UNITS[rule]
    odds = float(logit(p))
    sums = as_source(source).reduce(RuleSums.at(costs, odds))
    require_both_classes(sums.n_target, sums.n_nontarget)
    score = p * sums.target / sums.n_target + (1.0 - p) * sums.nontarget / sums.n_nontarget
    best = _score_of_pav_posteriors(count_blocks(source), costs, p)
    alone = p * float(costs.miss(np.array(odds))) + (1.0 - p) * float(costs.fa(np.array(odds)))
    uncertainty, discrimination = alone / unit, (alone - best) / unit
    miscalibration = (score - best) / unit
    whole = miscalibration - discrimination + uncertainty  # the parts add up to the last bit
    return ScoreDecomposition(rule, p, whole, miscalibration, discrimination, uncertainty)


def prior_of(source: ScoreSource, prior: float | None) -> float:
    """The prior that was given, or the share of the targets."""
    if prior is not None:
        return probability(prior, "prior")
    sums = as_source(source).reduce(_PosteriorBins.at(1, 0.0))
    n_target, n_nontarget = float(sums.target.sum()), float(sums.nontarget.sum())
    require_both_classes(n_target, n_nontarget)
    return n_target / (n_target + n_nontarget)


def _score_of_pav_posteriors(blocks: PavBlocks, rule: ScoringRule, p: float) -> float:
    """The cost of LLRs that PAV has made; an infinite one is on the right side and costs nothing."""
    odds = blocks.llr + float(logit(p))
    target, nontarget = blocks.target > 0, blocks.nontarget > 0
    miss = float((blocks.target[target] * rule.miss(odds[target])).sum() / blocks.target.sum())
    fa = float((blocks.nontarget[nontarget] * rule.fa(odds[nontarget])).sum() / blocks.nontarget.sum())
    return p * miss + (1.0 - p) * fa


@dataclass(frozen=True, eq=False)
class _PosteriorBins(FieldwiseSums):
    """Trials of both classes, and sums of their posteriors, in bins of the posterior."""

    target: FloatArray
    nontarget: FloatArray
    target_posterior: FloatArray
    nontarget_posterior: FloatArray

    @classmethod
    def at(cls, bins: int, log_odds: float) -> Callable[[Scores], _PosteriorBins]:
        """A summarizer for so many bins and a prior."""

        def make(chunk: Scores) -> _PosteriorBins:
            posteriors = [
                np.asarray(sigmoid(index.values.astype(np.float64, copy=False) + log_odds))
                for index in score_indexes(chunk)
            ]
            places = [np.minimum((bins * q).astype(np.intp), bins - 1) for q in posteriors]
            counts = [np.bincount(place, minlength=bins).astype(np.float64) for place in places]
            sums = [
                np.bincount(at, weights=q, minlength=bins) for at, q in zip(places, posteriors, strict=True)
            ]
            return cls(*counts, *sums)

        return make
