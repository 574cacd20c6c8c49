"""The reliability diagram: how often it is a target, against how probable it was said to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from llrkit._arguments import whole_number
from llrkit._arrays import Counts, FloatArray
from llrkit._format import not_among
from llrkit._random import RNG, seed_of
from llrkit.core.elementary_functions import logit, probability, sigmoid
from llrkit.core.pav_pooling import pooled_starts
from llrkit.errors import InputError, UnknownNameError
from llrkit.metrics.curve_base import Curve
from llrkit.metrics.llr_cells import LlrCells
from llrkit.metrics.measure import measure
from llrkit.metrics.probability_scores import ScoreDecomposition, prior_of, score_decomposition
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels

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
        outside = (y < self.lower - 1e-12) | (y > self.upper + 1e-12)
        width = np.gradient(self.band_at)
        return float(width[outside].sum() / width.sum()) if width.sum() > 0 else 0.0


@takes_labels
def reliability_curve(
    source: ScoreSource,
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
        Scores read as natural-log LLRs. Probabilities p that contain a prior are ``logit(p) - logit(prior)``.
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
    >>> curve = lk.reliability_curve(scores)
    >>> round(curve.brier.score, 3), curve.share_outside < 0.2
    (0.06, True)
    """
    seed = seed_of(rng)
    if band not in BANDS:
        raise UnknownNameError(f"unknown band {not_among(band, BANDS)}")
    probability(level, "level")
    if band != "none":
        whole_number(replicates, FEWEST_REPLICATES, "replicates")
    result = measure(source, ())
    p = prior_of(source, prior)
    odds, blocks = float(logit(p)), result.summaries.blocks
    share = sigmoid(blocks.llr + odds)
    scores = np.column_stack([blocks.low, blocks.high]).ravel()
    empty = np.empty(0)
    at, lower, upper = empty, empty, empty
    if band != "none":
        if source.roles.weight is not None:
            raise InputError("weighted trials have no band; use band='none'")
        at, lower, upper = _reliability_band(result.summaries.cells, p, band, level, replicates, seed)
    return ReliabilityCurve(
        np.asarray(sigmoid(scores + odds)), np.repeat(share, 2), p,
        score_decomposition(source, "brier", prior=p), score_decomposition(source, "log", prior=p),
        band, level, at, lower, upper,
    )  # fmt: skip


def _reliability_band(
    cells: LlrCells, prior: float, band: str, level: float, replicates: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Posteriors, and the quantiles of what PAV makes of labels that are drawn anew."""
    n = np.rint(cells.trials).astype(np.int64)
    total = float(cells.n_target + cells.n_nontarget)
    if band == "consistency":
        chance = np.asarray(sigmoid(cells.llr + float(logit(cells.n_target / total))))
    else:
        chance = _pooled_shares(cells.target, cells.nontarget, 1.0, 1.0)
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
    start = pooled_starts(target, nontarget)
    t = target_weight * np.add.reduceat(target, start)
    n = nontarget_weight * np.add.reduceat(nontarget, start)
    return np.repeat(t / (t + n), np.diff(np.append(start, len(target))))
