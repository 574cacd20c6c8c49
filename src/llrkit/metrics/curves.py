"""The data of curves: DET, ROC, Bayes error, cross-entropy, Tippett and histograms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from llrkit.base.arguments import Array, ArrayLike, FloatArray
from llrkit.core.counting import count_blocks
from llrkit.core.losses import LossSums
from llrkit.core.numerics import LN2, probit, sigmoid, softplus
from llrkit.core.pav import PavBlocks, ScoreBins, error_path
from llrkit.core.summaries import Moments
from llrkit.metrics.costs import cross_entropy_from_losses, losses_at
from llrkit.metrics.discrimination import Curve, best_errors, block_losses
from llrkit.scores import AnyTrials, Labels, ScoreSource, as_source

BAYES_LOG_ODDS = np.linspace(-10.0, 10.0, 2001)
"""Prior log-odds at which actual and minimum error rates are kept."""

LLR_STEPS = 1024
"""Steps of the even grid of LLRs, between the extremes, on which Tippett curves and histograms stand."""

ECE_LOG10_ODDS = np.linspace(-3.0, 3.0, 61)
"""Prior odds of the ECE curve, as powers of ten."""


@dataclass(frozen=True, eq=False)
class ErrorCurve(Curve):
    """Pmiss against Pfa: a DET, a ROC or the ROC convex hull; its points are joined by straight lines.

    Straight in rates, that is; on the probit axes of a DET plot only runs of one class are straight.
    """

    kind: Literal["roc", "rocch"]
    p_miss: FloatArray
    p_fa: FloatArray
    threshold: FloatArray
    n_target: float
    n_nontarget: float

    @property
    def probit_miss(self) -> FloatArray:
        """Pmiss on the axis of a DET plot."""
        return np.asarray(probit(self.p_miss))

    @property
    def probit_fa(self) -> FloatArray:
        """Pfa on the axis of a DET plot."""
        return np.asarray(probit(self.p_fa))

    def for_probit_axes(self, step: float = 0.05) -> ErrorCurve:
        """The same curve with points in between where a segment is not straight on probit axes.

        That is where both rates change: on the hull, and where scores of both classes are tied. The points
        added are no more than ``step`` probits apart in either rate between 10^-9 and 1 - 10^-9; each has
        the threshold of the segment's beginning.
        """
        from scipy.special import ndtr

        # 10^-9 is 6 probits out; the ends are infinite
        x, y = (np.clip(axis, -6.0, 6.0) for axis in (self.probit_fa, self.probit_miss))
        length = np.maximum(np.abs(np.diff(x)), np.abs(np.diff(y)))
        # where one rate alone changes, the segment is straight on any axes
        sloped = (np.diff(self.p_miss) > 0) & (np.diff(self.p_fa) < 0)
        where, shares = [np.empty(0, dtype=np.int64)], [np.empty(0)]
        for i in np.flatnonzero(sloped & (length > step)):  # few: the axes are only 12 probits long
            between = []
            for rate, place in ((self.p_fa, x), (self.p_miss, y)):
                n = int(np.ceil(abs(place[i + 1] - place[i]) / step))
                # even on the axis, then back to rates, in which segments are straight
                even = ndtr(np.linspace(place[i], place[i + 1], n + 1))
                between.append((even - rate[i]) / (rate[i + 1] - rate[i]))
            share = np.unique(np.concatenate(between))  # points of both axes, in order along the segment
            shares.append(share[(share > 0) & (share < 1)])
            where.append(np.full(len(shares[-1]), i))
        at, share = np.concatenate(where), np.concatenate(shares)
        p_miss, p_fa = (rate[at] + share * (rate[at + 1] - rate[at]) for rate in (self.p_miss, self.p_fa))
        return replace(
            self,
            p_miss=np.insert(self.p_miss, at + 1, p_miss),
            p_fa=np.insert(self.p_fa, at + 1, p_fa),
            threshold=np.insert(self.threshold, at + 1, self.threshold[at]),
        )

    @property
    def rule_of_30(self) -> tuple[float, float]:
        """Smallest (Pmiss, Pfa) backed by 30 errors, by Doddington's rule: +-30 % at 90 % confidence."""
        return 30.0 / self.n_target, 30.0 / self.n_nontarget


def error_curve(bins: ScoreBins | PavBlocks) -> ErrorCurve:
    """The ROC of bins or the convex hull of PAV blocks as a curve."""
    path = error_path(bins)
    kind: Literal["roc", "rocch"] = "rocch" if isinstance(bins, PavBlocks) else "roc"
    return ErrorCurve(kind, path.p_miss, path.p_fa, path.threshold, path.n_target, path.n_nontarget)


@dataclass(frozen=True, eq=False)
class BayesErrorCurve(Curve):
    """Error rates at the Bayes threshold and at the best threshold, for a range of prior log-odds.

    ``actual``, ``minimum`` and ``reference`` are the error probabilities of an APE plot; divided by the
    reference they are the normalized Bayes error rates.
    """

    log_odds: FloatArray
    actual_p_miss: FloatArray
    actual_p_fa: FloatArray
    minimum_p_miss: FloatArray
    minimum_p_fa: FloatArray
    rule_of_30: tuple[float, float]
    """Log-odds between which the actual errors number 30 or more (misses on the left, false alarms right)."""

    def _error(self, p_miss: FloatArray, p_fa: FloatArray) -> FloatArray:
        return np.asarray(sigmoid(self.log_odds) * p_miss + sigmoid(-self.log_odds) * p_fa)

    @property
    def actual(self) -> FloatArray:
        """Error probability at the Bayes threshold."""
        return self._error(self.actual_p_miss, self.actual_p_fa)

    @property
    def minimum(self) -> FloatArray:
        """Error probability at the best threshold."""
        return self._error(self.minimum_p_miss, self.minimum_p_fa)

    @property
    def reference(self) -> FloatArray:
        """Error probability of the better of "always accept" and "always reject"."""
        # the smaller of prior and 1 - prior, without cancellation
        return np.asarray(sigmoid(-np.abs(self.log_odds)))

    @property
    def normalized_actual(self) -> FloatArray:
        """Actual error over the reference."""
        return np.asarray(self.actual / self.reference)

    @property
    def normalized_minimum(self) -> FloatArray:
        """Minimum error over the reference."""
        return np.asarray(self.minimum / self.reference)


def bayes_error_curve(blocks: PavBlocks, log_odds: FloatArray, losses: LossSums) -> BayesErrorCurve:
    """The Bayes-error curve; ``losses`` holds the errors at the thresholds ``-log_odds``."""
    best_miss, best_fa = best_errors(blocks, log_odds)
    # thresholds fall as log-odds rise: misses become rarer to the right, false alarms to the left
    enough_fa, enough_miss = np.flatnonzero(losses.n_fa >= 30), np.flatnonzero(losses.n_miss >= 30)
    left = float(log_odds[enough_fa[0]]) if len(enough_fa) else np.inf  # no errors at all: the range is empty
    right = float(log_odds[enough_miss[-1]]) if len(enough_miss) else -np.inf
    return BayesErrorCurve(log_odds, losses.p_miss, losses.p_fa, best_miss, best_fa, (left, right))


@dataclass(frozen=True, eq=False)
class CrossEntropyCurve(Curve):
    """Empirical cross-entropy (ECE) in bits against prior log-odds: system, after PAV, and LLR = 0."""

    log_odds: FloatArray
    system: FloatArray
    pav: FloatArray
    reference: FloatArray

    @property
    def log10_odds(self) -> FloatArray:
        """The abscissa in powers of ten."""
        return np.asarray(self.log_odds / np.log(10.0))


def cross_entropy_from_blocks(
    source: ScoreSource, blocks: PavBlocks, log_odds: ArrayLike | None = None
) -> CrossEntropyCurve:
    """The ECE curve of a source; one more pass over the trials."""
    odds = ECE_LOG10_ODDS * np.log(10.0) if log_odds is None else np.asarray(log_odds, dtype=np.float64)
    prior, other = sigmoid(odds), sigmoid(-odds)
    target, nontarget = block_losses(blocks, odds)
    return CrossEntropyCurve(
        odds,
        cross_entropy_from_losses(losses_at(source, odds)) / LN2,
        (prior * target + other * nontarget) / LN2,
        # not of the prior alone, which rounds to 1 at log-odds of 37
        (prior * softplus(-odds) + other * softplus(odds)) / LN2,
    )


@dataclass(frozen=True, eq=False)
class TippettCurve(Curve):
    """Share of the trials of each class whose LLR is at or above the abscissa.

    ``misleading`` holds the rates of misleading evidence at LLR = 0: Pmiss(0) and Pfa(0).
    """

    llr: FloatArray
    target_at_or_above: FloatArray
    nontarget_at_or_above: FloatArray
    misleading: tuple[float, float]

    @property
    def target_below(self) -> FloatArray:
        """Share of targets below the abscissa, for the mirrored style."""
        return np.asarray(1.0 - self.target_at_or_above)


@dataclass(frozen=True, eq=False)
class PavCurve(Curve):
    """The optimal non-decreasing map: ``llr[i]`` for scores from ``low[i]`` to ``high[i]``."""

    low: FloatArray
    high: FloatArray
    llr: FloatArray
    n_target: Array
    n_nontarget: Array


@dataclass(frozen=True, eq=False)
class HistogramPair(Curve):
    """Histograms of the finite scores of both classes on the same even bins."""

    edges: FloatArray
    target: Array
    nontarget: Array
    n_target: float
    n_nontarget: float

    def _density(self, counts: Array, n: float) -> FloatArray:
        width = np.diff(self.edges)
        # equal scores make bins of no width
        return np.asarray(np.divide(counts, n * width, out=np.zeros(len(counts)), where=width > 0))

    @property
    def target_density(self) -> FloatArray:
        """Share of all targets per unit of score."""
        return self._density(self.target, self.n_target)

    @property
    def nontarget_density(self) -> FloatArray:
        """Share of all non-targets per unit of score."""
        return self._density(self.nontarget, self.n_nontarget)


def histogram_pair(losses: LossSums, moments: Moments, bins: int = 128) -> HistogramPair:
    """Histograms from the errors at evenly spaced thresholds; ``bins`` divides the number of their steps.

    The first and the last threshold are the extremes of the finite scores.
    """
    step = (len(losses.thresholds) - 1) // bins
    below = {"target": losses.n_miss, "nontarget": losses.n_nontarget - losses.n_fa}
    counts = {}
    # infinite scores are in no bin, so the finite ones are what the bins add up to
    for name, finite in (("target", moments.target.n), ("nontarget", moments.nontarget.n)):
        counts[name] = np.diff(below[name][::step])
        counts[name][-1] += finite - counts[name].sum()  # the last bin includes its upper edge
    return HistogramPair(
        losses.thresholds[::step], counts["target"], counts["nontarget"], losses.n_target, losses.n_nontarget
    )


def cross_entropy_curve(
    source: AnyTrials, labels: Labels | None = None, *, log_odds: ArrayLike | None = None
) -> CrossEntropyCurve:
    """Empirical cross-entropy in bits over prior log-odds: of the scores, after PAV, and of the prior alone.

    In the forensic literature it is called ECE (Ramos & Gonzalez-Rodriguez 2013), which elsewhere is the
    binned :func:`expected_calibration_error`. At log-odds 0 it is Cllr, and min Cllr after PAV. ``log_odds``
    are natural; by default 61 from -3 to 3 powers of ten.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    log_odds
        Prior log-odds in nats; by default 61 of them.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([2.1, 3.5, 0.4, 1.7], [-2.2, -0.3, 0.6, -1.9, -3.1])
    >>> lk.metrics.cross_entropy_curve(scores, log_odds=[0.0]).system == lk.cllr(scores)
    array([ True])
    """
    source = as_source(source, labels)
    return cross_entropy_from_blocks(source, count_blocks(source), log_odds)
