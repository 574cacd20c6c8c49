"""calibration_loss(): what calibrating again would gain, judged on trials the calibration has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llrkit._random import RNG, seed_of
from llrkit._results import Result
from llrkit.calibrate.maps import Map
from llrkit.choose.fit_best import cross_calibrate
from llrkit.choose.methods import Fit
from llrkit.metrics.llr_costs import cross_entropy
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels


@dataclass(frozen=True)
class CalibrationLoss(Result):
    """A metric of scores as they are and after cross-validated calibration.

    Examples
    --------
    >>> CalibrationLoss(raw=0.5, calibrated=0.4).relative
    0.19999999999999996
    """

    raw: float
    """The metric of the scores as they are."""
    calibrated: float
    """The metric after cross-validated calibration."""

    @property
    def loss(self) -> float:
        """The part of the metric lost to calibration; slightly below zero if nothing is lost."""
        return self.raw - self.calibrated

    @property
    def relative(self) -> float:
        """The share of the metric that is lost to calibration."""
        return self.loss / self.raw


@takes_labels
def calibration_loss(
    source: ScoreSource,
    method: str | Fit[Map] = "logistic",
    *,
    groups: str | Sequence[str] | None = None,
    folds: int | str = 5,
    prior: float = 0.5,
    rng: RNG = 0,
    **options: object,
) -> CalibrationLoss:
    """What calibrating the LLRs again would gain, by cross-validation (Ferrer & Ramos 2025).

    Unlike Cllr - min Cllr it is not too large by construction: for calibrated LLRs it is a little below
    zero, which is what fitting a map costs.

    Parameters
    ----------
    method, **options
        The calibrator that is cross-validated, and its options.
    groups
        Columns with the speakers: folds keep them apart, see :func:`cross_calibrate`.
    folds
        Number of folds of the cross-validation.
    prior
        Where the cross-entropy is taken, normalized by that of the prior; Cllr at 1/2.
    rng
        Seed of the random numbers; the same seed gives the same result.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> model = lk.theory.GaussianLLR.from_eer(0.1)
    >>> target, nontarget = model.rvs(1000, 5000, np.random.default_rng(1))
    >>> gain = lk.calibration_loss(lk.Scores(2 * target, 2 * nontarget))
    >>> round(gain.raw, 3), round(gain.calibrated, 3), f"{100 * gain.relative:.0f} %"
    (0.452, 0.359, '21 %')
    """
    seed = seed_of(rng)
    crossed = cross_calibrate(source, method, groups=groups, folds=folds, rng=seed, **options)
    return CalibrationLoss(cross_entropy(source, prior), cross_entropy(crossed.source, prior))
