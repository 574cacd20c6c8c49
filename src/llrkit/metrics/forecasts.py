"""LLRs as those who forecast probabilities judge them: Brier score, its decomposition, and reliability.

A prior turns LLRs into posterior probabilities; by default it is the share of the targets among the trials,
so that every trial counts the same and the numbers are those of a list of forecasts and outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from llrkit.base.arguments import RNG, Counts, FloatArray, one_of, seed_of, whole_number
from llrkit.core.cells import require_both_classes, score_indexes
from llrkit.core.counting import count_blocks
from llrkit.core.losses import ScoringRule, scoring_rule
from llrkit.core.numerics import LN2, logit, probability, sigmoid
from llrkit.core.pav import PavBlocks, pooled_starts
from llrkit.errors import InputError
from llrkit.metrics.costs import rule_cost
from llrkit.metrics.discrimination import Curve
from llrkit.metrics.loss_parts import LlrCells
from llrkit.metrics.measure import measure
from llrkit.results.result import Result
from llrkit.scores import AnyTrials, Labels, Scores, ScoreSource, as_source

# Our Brier rule is the Beta(2, 2) member of the family, whose cost of a target is 3 (1 - q)^2.
UNITS = {"log": LN2, "brier": 3.0}
"""What our scoring rules are divided by: the log score is in bits, the Brier score a squared error."""


def brier_score(source: AnyTrials, labels: Labels | None = None, *, prior: float | None = None) -> float:
    """Mean squared difference between posterior and outcome, ``p mean_tar (1 - q)^2 + (1 - p) mean_non q^2``.

    ``q = sigmoid(llr + logit p)`` with the prior p, by default the share of the targets among the trials.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    prior
        Prior probability of a target; by default the share of targets.

    References
    ----------
    Brier, Monthly Weather Review 78 (1950) 1.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.metrics.brier_score([0.0, 0.0], [1, 0])
    0.25
    """
    return score_decomposition(source, labels, rule="brier", prior=prior).score


def expected_calibration_error(
    source: AnyTrials, labels: Labels | None = None, *, bins: int = 10, prior: float | None = None
) -> float:
    """Binned expected calibration error: mean distance between share of targets and posterior.

    The posteriors, at the prior, are put into ``bins`` of equal width, each with its lower end, the last with
    both; a bin counts by its trials. The number depends on the bins and is above 0 for calibrated LLRs too;
    the miscalibration of :func:`score_decomposition` needs no bins.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
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
    >>> round(lk.metrics.expected_calibration_error([2.0, 2.0, -2.0, -2.0], [1, 1, 0, 0]), 4)  # sigmoid(-2)
    0.1192
    """
    source = as_source(source, labels)
    whole_number(bins, 1, "bins")
    p = prior_of(source, prior)
    counts, sums = _in_posterior_bins(source, int(bins), float(logit(p)))
    # every class weighs as the prior says, whatever its number of trials
    target, nontarget = p / counts[0].sum(), (1.0 - p) / counts[1].sum()
    of_targets = target * counts[0]
    posteriors = target * sums[0] + nontarget * sums[1]
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


def score_decomposition(
    source: AnyTrials, labels: Labels | None = None, rule: str = "brier", *, prior: float | None = None
) -> ScoreDecomposition:
    """Mean score of posteriors, taken apart by recalibration with PAV (CORP).

    ``rule`` is ``"brier"`` or ``"log"``; the log score is in bits, so that at a prior of 1/2 the score is
    Cllr and, with an uncertainty of 1 bit, ``min Cllr = 1 - discrimination``.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    rule
        Scoring rule: ``"brier"`` or ``"log"``.
    prior
        Prior probability of a target; by default the share of targets.

    References
    ----------
    Dimitriadis, Gneiting & Jordan, PNAS 118 (2021) e2016191118.

    Examples
    --------
    >>> import llrkit as lk
    >>> found = lk.metrics.score_decomposition([2.0, 1.0, -1.0, -3.0], [1, 0, 1, 0], prior=0.5)
    >>> found.uncertainty, found.score == found.miscalibration - found.discrimination + found.uncertainty
    (0.25, True)
    """
    source = as_source(source, labels)
    one_of(rule, UNITS, "score")
    p, costs, unit = prior_of(source, prior), scoring_rule(rule), UNITS[rule]
    odds = float(logit(p))
    score = rule_cost(source, rule=costs, prior=p)
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
    counts, _ = _in_posterior_bins(source, 1, 0.0)  # one bin: counts only, weighted where trials are
    n_target, n_nontarget = float(counts[0].sum()), float(counts[1].sum())
    require_both_classes(n_target, n_nontarget)
    return n_target / (n_target + n_nontarget)


def _in_posterior_bins(source: ScoreSource, bins: int, log_odds: float) -> FloatArray:
    """By class and even bin of the posterior: numbers of trials, and the sums of their posteriors."""

    def summarize(chunk: Scores) -> FloatArray:
        counts, sums = [], []
        for index in score_indexes(chunk):
            q = np.asarray(sigmoid(index.values.astype(np.float64, copy=False) + log_odds))
            place = np.minimum((bins * q).astype(np.intp), bins - 1)  # a posterior of 1 is in the last bin
            counts.append(np.bincount(place, minlength=bins))
            sums.append(np.bincount(place, weights=q, minlength=bins))
        return np.array([counts, sums], dtype=np.float64)

    return source.reduce(summarize)


def _score_of_pav_posteriors(blocks: PavBlocks, rule: ScoringRule, p: float) -> float:
    """The cost of LLRs that PAV has made; an infinite one is on the right side and costs nothing."""
    odds = blocks.llr + float(logit(p))
    # 0 trials times an infinite cost would be nan
    target, nontarget = blocks.target > 0, blocks.nontarget > 0
    miss = float((blocks.target[target] * rule.miss(odds[target])).sum() / blocks.target.sum())
    fa = float((blocks.nontarget[nontarget] * rule.fa(odds[nontarget])).sum() / blocks.nontarget.sum())
    return p * miss + (1.0 - p) * fa


BANDS = ("consistency", "confidence", "none")
FEWEST_REPLICATES = 20


@dataclass(frozen=True, eq=False)
class ReliabilityCurve(Curve):
    """Posterior probabilities before and after recalibration with PAV: both ends of every block.

    ``band_at``, ``lower`` and ``upper`` are the band, empty without one.
    """

    predicted: FloatArray
    """Posterior probabilities of the system."""
    observed: FloatArray
    """Posterior probabilities after recalibration with PAV."""
    prior: float
    """Prior of a target at which posteriors were computed."""
    brier: ScoreDecomposition
    """The Brier score and its parts."""
    log: ScoreDecomposition
    """The logarithmic score and its parts."""
    band: Literal["consistency", "confidence", "none"]
    """Kind of the band."""
    level: float
    """Probability that the band holds the curve, at each point by itself."""
    band_at: FloatArray
    """Posterior probabilities at which the band is given."""
    lower: FloatArray
    """Lower end of the band."""
    upper: FloatArray
    """Upper end of the band."""

    @property
    def share_outside(self) -> float:
        """Share of the width of a consistency band in which the curve is outside of it; nan without one."""
        if self.band != "consistency" or len(self.band_at) < 2:
            return float("nan")
        y = np.interp(self.band_at, self.predicted, self.observed)
        # rounding of the interpolation is not outside
        outside = (y < self.lower - 1e-12) | (y > self.upper + 1e-12)
        width = np.gradient(self.band_at)
        return float(width[outside].sum() / width.sum()) if width.sum() > 0 else 0.0


def reliability_curve(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    prior: float | None = None,
    band: Literal["consistency", "confidence", "none"] = "consistency",
    level: float = 0.95,
    replicates: int = 200,
    rng: RNG = 0,
) -> ReliabilityCurve:
    """The reliability diagram of LLRs read as posterior probabilities, by PAV instead of bins (CORP).

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``. Scores are read as
        natural-log LLRs. Probabilities p that contain a prior are ``logit(p) - logit(prior)``.
    labels
        The label of each score, where the first argument is an array.
    prior
        What turns LLRs into posteriors; by default the share of the targets among the trials.
    band
        ``"consistency"``: where the curve is by chance if the posteriors are calibrated, around the diagonal.
        ``"confidence"``: where it is by chance if PAV is right, around the curve. Both draw the labels of the
        trials anew, as if trials were independent. Each holds at each abscissa by itself.
    level, replicates, rng
        Of the band.

    References
    ----------
    Dimitriadis, Gneiting & Jordan, PNAS 118 (2021) e2016191118.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.1).rvs(500, 1500, np.random.default_rng(1)))
    >>> curve = lk.metrics.reliability_curve(scores)
    >>> round(curve.brier.score, 3), curve.share_outside < 0.2
    (0.06, True)
    """
    source = as_source(source, labels)
    seed = seed_of(rng)
    one_of(band, BANDS, "band")
    probability(level, "level")
    if band != "none":
        whole_number(replicates, FEWEST_REPLICATES, "replicates")
    result = measure(source, ())
    p = prior_of(source, prior)
    odds, blocks = float(logit(p)), result.summaries.blocks
    share = sigmoid(blocks.llr + odds)
    # PAV is constant over a block: a point at either end
    scores = np.column_stack([blocks.low, blocks.high]).ravel()
    empty = np.empty(0)
    at, lower, upper = empty, empty, empty
    if band != "none":
        if source.roles.weight is not None:
            raise InputError("weighted trials have no band; use band='none'")
        at, lower, upper = _reliability_band(result.summaries.cells, p, band, level, replicates, seed)
    return ReliabilityCurve(
        np.asarray(sigmoid(scores + odds)), np.repeat(share, 2), p,
        score_decomposition(source, rule="brier", prior=p), score_decomposition(source, rule="log", prior=p),
        band, level, at, lower, upper,
    )  # fmt: skip


def _reliability_band(
    cells: LlrCells, prior: float, band: str, level: float, replicates: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Posteriors, and the quantiles of what PAV makes of labels that are drawn anew."""
    # numbers of a binomial draw; bands of weighted trials are refused before
    n = np.rint(cells.trials).astype(np.int64)
    total = float(cells.n_target + cells.n_nontarget)
    if band == "consistency":
        # at the share of targets in the trials, because labels are drawn for these trials, not at `prior`
        chance = np.asarray(sigmoid(cells.llr + float(logit(cells.n_target / total))))
    else:
        chance = _pooled_shares(cells.target, cells.nontarget, 1.0, 1.0)  # as if PAV were the truth
    weights = prior / cells.n_target, (1.0 - prior) / cells.n_nontarget
    rng = np.random.default_rng(seed)
    drawn = np.empty((replicates, len(n)))
    for replicate in range(replicates):
        target = rng.binomial(n, chance)
        drawn[replicate] = _pooled_shares(target, n - target, *weights)
    lower, upper = np.quantile(drawn, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return np.asarray(sigmoid(cells.llr + float(logit(prior)))), lower, upper


def _pooled_shares(
    target: Counts, nontarget: Counts, target_weight: float, nontarget_weight: float
) -> FloatArray:
    """The share of targets that PAV gives each cell, with weighted classes."""
    # weights of whole classes do not change which neighbors are violators
    start = pooled_starts(target, nontarget)
    t = target_weight * np.add.reduceat(target, start)
    n = nontarget_weight * np.add.reduceat(nontarget, start)
    return np.repeat(t / (t + n), np.diff(np.append(start, len(target))))
