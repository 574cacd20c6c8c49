"""Scoring rules that forgive gross errors, held in check by a share of the logarithmic rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.calibrate.affine.linear_fit import fit_linear
from llrkit.calibrate.poor_fit_guard import TOLERATED, TrainingSample
from llrkit.core.newton_sums import LOGARITHMIC
from llrkit.core.scoring_rules import ScoringRule
from llrkit.errors import SeparationError

SHARES = (0.01, 0.03, 0.1, 0.3)


@dataclass(frozen=True)
class TemperedRule(ScoringRule):
    """``(1 - share)`` times a rule and ``share`` times the logarithmic rule.

    Examples
    --------
    >>> float(TemperedRule(2, 2, 0.5).miss(0.0))  # halfway between 3/4 and log 2
    0.7215735902799727
    """

    share: float = 0.0

    def miss(self, z: npt.ArrayLike) -> FloatArray:
        """Cost of posterior log-odds ``z`` for a target."""
        return (1.0 - self.share) * super().miss(z) + self.share * LOGARITHMIC.miss(z)

    def fa(self, z: npt.ArrayLike) -> FloatArray:
        """Cost of posterior log-odds ``z`` for a non-target."""
        return (1.0 - self.share) * super().fa(z) + self.share * LOGARITHMIC.fa(z)

    def miss_derivatives(self, z: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of :meth:`miss`."""
        return self._mixed(super().miss_derivatives(z), LOGARITHMIC.miss_derivatives(z))

    def fa_derivatives(self, z: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of :meth:`fa`."""
        return self._mixed(super().fa_derivatives(z), LOGARITHMIC.fa_derivatives(z))

    def _mixed(
        self, own: tuple[FloatArray, FloatArray], log: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        first, second = ((1.0 - self.share) * a + self.share * b for a, b in zip(own, log, strict=True))
        return first, second


def tempered(rule: ScoringRule, sample: TrainingSample, prior: float) -> ScoringRule:
    """The rule itself; or with as small a share of the logarithmic rule as keeps its line from running away.

    A bounded rule charges a mislabeled trial no more than its bound, so where all other trials can be told
    apart the best slope is without end, and so is the LLR of the mislabeled ones. A line that loses twice as
    much as logistic regression and 0.05 of the prior's entropy more (bits, at 1/2) has run away.
    """
    if rule == LOGARITHMIC:
        return rule
    trials = sample.scores()
    limit = 2.0 * sample.logistic_loss(prior) + TOLERATED
    for candidate in (rule, *(TemperedRule(rule.a, rule.b, share) for share in SHARES)):
        try:
            line = fit_linear(trials, prior=prior, rule=candidate)
        except SeparationError:
            if candidate == rule:
                return rule  # refused by the fit itself, or only the sample separates
            continue
        if sample.loss(line.llrs, prior) <= limit:
            return candidate
    return TemperedRule(rule.a, rule.b, SHARES[-1])
