"""What follows for calibration where scores saturate or tie: nothing, unless a straight line loses by it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import told_apart
from llrkit.calibrate.tied_scores import TiedScores
from llrkit.core.elementary_functions import LN2, softplus
from llrkit.core.pav_and_hull import PavBlocks
from llrkit.evaluation.advice import Advice

LOSS = 0.02
"""Share of Cllr that a straight line may cost more than PAV before PAV is advised for tied scores."""
_SHAPED = ("cmlg", "gaussian", "nig", "bayes")


@dataclass(frozen=True)
class CostOfTies:
    """Cllr, in bits, of the best straight line and of PAV on trials that it has not seen."""

    line: float
    pav: float
    fewest: float
    """Trials of the smaller class."""

    @property
    def measurable(self) -> bool:
        """Whether PAV gains more than ``LOSS``, and more than chance: 5 / n nats, as for CMLG."""
        return self.line - self.pav > max(LOSS * self.line, 5.0 / (self.fewest * LN2))

    @property
    def sentence(self) -> str:
        """Both in words."""
        line, pav = told_apart(self.line, self.pav, 3)
        said = f"the best straight line has a Cllr of {line}, PAV one of {pav} on trials left out"
        return said if self.measurable else f"{said}: no measurable loss"


def cost_of_ties(line: float | None, blocks: PavBlocks) -> CostOfTies | None:
    """What PAV gains over the best straight line, whose Cllr is given; None if no line was measured.

    Examples
    --------
    >>> two = PavBlocks(np.array([10, 90]), np.array([90, 10]), *np.array([[0.0, 1.0]] * 2))
    >>> cost_of_ties(0.5, two).measurable, cost_of_ties(None, two)
    (False, None)
    """
    if line is None or not math.isfinite(line):
        return None
    fewest = float(min(blocks.target.sum(), blocks.nontarget.sum()))
    return CostOfTies(line, held_out_cllr(blocks), fewest)


def held_out_cllr(blocks: PavBlocks) -> float:
    """Cllr of the LLRs of PAV, in bits, where every trial is left out of the counts of its block.

    Half a trial of each class is added to every block, so no LLR is infinite. The blocks themselves have seen
    the trials, so the value is a little low where blocks are many.

    Examples
    --------
    >>> round(held_out_cllr(PavBlocks(np.array([1, 3]), np.array([3, 1]), *np.array([[0.0, 1.0]] * 2))), 3)
    1.063
    """
    counts = blocks.target.astype(np.float64), blocks.nontarget.astype(np.float64)
    lost = 0.0
    for own, other in (counts, counts[::-1]):
        odds = np.log((np.maximum(own - 1.0, 0.0) + 0.5) / (other + 0.5)) + _log_ratio_of_counts(own, other)
        lost += float((own * np.asarray(softplus(-odds))).sum() / own.sum())
    return lost / (2.0 * LN2)


def _log_ratio_of_counts(own: FloatArray, other: FloatArray) -> float:
    return math.log(float(other.sum()) / max(float(own.sum()) - 1.0, 0.5))


def advice_for_ties(
    tied: TiedScores | None, cost: CostOfTies | None, advice: Sequence[Advice]
) -> list[Advice]:
    """The advice for continuous scores, changed where scores are clipped, saturated or tied.

    Densities that have no steps are never advised for such scores; PAV takes the place of a straight line
    only if that loses by it.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> tied = TiedScores.of(Scores([1.0] * 9, [0.0] * 9 + [1.0]))
    >>> advice_for_ties(tied, None, [("nig", True, "skewed classes"), ("logistic", True, "a line")])
    [('nig', False, 'saturated or tied scores have no such density'), ('logistic', True, 'a line')]
    """
    if tied is None or not tied.sentences():
        return list(advice)
    costly = cost is not None and cost.measurable
    before = "log-odds instead of probabilities" if tied.within_0_and_1 else "the scores before they were cut"
    changed: list[Advice] = []
    for name, advised, why in advice:
        if name == "nig" or (costly and name in _SHAPED):
            if advised or costly:
                advised, why = False, "saturated or tied scores have no such density"
        elif costly and name == "pav":
            advised, why = True, "follows saturated and tied scores, whatever their scale"
        elif costly and name == "logistic":
            advised, why = False, f"no straight line fits saturated or tied scores: use {before}, or PAV"
        changed.append((name, advised, why))
    return changed
