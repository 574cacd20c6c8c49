"""check_calibration(): how far LLRs are what they claim to be, and what the trials can tell about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llrkit._format import number
from llrkit.calibrate.training_checks import training_moments
from llrkit.core.density_grid import DensityGrid
from llrkit.core.special import probability
from llrkit.errors import InputError
from llrkit.metrics.measure import measure
from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.trust.calibration.calibration_loss import calibration_loss
from llrkit.trust.calibration.calibration_test import check_trials
from llrkit.trust.calibration.devpav import dev_pav_from_blocks
from llrkit.trust.calibration.identities import Identities, identities
from llrkit.trust.calibration.line_fit import SAFEGUARD
from llrkit.trust.calibration.llr_curves import LlrCurve, llr_curves
from llrkit.trust.calibration.loss_result import CalibrationLoss
from llrkit.trust.calibration.null_distribution import (
    MOST_DRAWN,
    CalibratedCells,
    CalibrationNull,
    calibration_null,
    judged_range,
)
from llrkit.trust.calibration.recalibration import Recalibration
from llrkit.trust.calibration.verdict import LEVEL, Verdict, judge
from llrkit.trust.intervals.bootstrap import checked_replicates
from llrkit.trust.intervals.closed_form import closed_form
from llrkit.trust.intervals.speakers import find_speakers


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCheck:
    """What :func:`check_calibration` found."""

    evaluation: Measurements
    verdict: Verdict
    recalibration: Recalibration | None
    """None where the classes do not overlap."""
    identities: Identities
    dev_pav: float
    loss: CalibrationLoss | None
    """Cross-validated; None where it could not be made."""
    null: CalibrationNull | None
    """What calibrated LLRs of the same distribution show by chance."""
    curves: tuple[LlrCurve, ...]
    """The LLR of the LLR, estimated in several ways."""
    notes: tuple[str, ...]

    def p_value(self, name: str) -> float:
        """Chance that a calibrated system shows as much: ``"cllr_cal"``, ``"dev_pav"`` or ``"cv_loss"``."""
        observed = {
            "cllr_cal": self.evaluation.cllr_cal,
            "dev_pav": self.dev_pav,
            "cv_loss": self.loss.loss if self.loss is not None else math.nan,
        }[name]
        if self.null is None or math.isnan(observed):
            return math.nan
        return self.null.p_value(name, observed)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and words."""
        result = self.evaluation
        return {
            "verdict": self.verdict.to_dict(),
            "cllr": result.cllr,
            "min_cllr": result.min_cllr,
            "cllr_cal": result.cllr_cal,
            "dev_pav": self.dev_pav,
            "cv_loss": self.loss.loss if self.loss is not None else None,
            "p_values": {name: self.p_value(name) for name in ("cllr_cal", "dev_pav", "cv_loss")},
            "recalibration": self.recalibration.to_dict() if self.recalibration is not None else None,
            "null": self.null.to_dict() if self.null is not None else None,
            **self.identities.to_dict(),
            "curves": [curve.to_dict() for curve in self.curves],
            "notes": list(self.notes),
        }  # fmt: skip

    def __repr__(self) -> str:
        lines = [self.verdict.sentence]
        line = self.recalibration
        if line is not None:
            lines.append(
                f"LLR of the LLR: {line.a:.3f} x {line.b:+.3f} (errors {line.se_a:.3f}, {line.se_b:.3f}); "
                f"p = {line.p_value:.2g} for x itself"
            )
        rows = [
            ("Cllr - min Cllr", "cllr_cal", self.evaluation.cllr_cal),
            ("devPAV", "dev_pav", self.dev_pav),
        ]
        if self.loss is not None:
            rows.append(("cross-validated loss", "cv_loss", self.loss.loss))
        for words, name, value in rows:
            chance = ""
            if self.null is not None:
                usual = self.null.to_dict()[name]["mean"]
                chance = f"; by chance {number(usual)}, p = {self.p_value(name):.2g}"
            lines.append(f"{words} {number(value)}{chance}")
        return "\n".join([*lines, *self.notes])


def check_calibration(
    source: ScoreSource,
    *,
    speakers: str | Sequence[str] | None = None,
    level: float = LEVEL,
    replicates: int = 200,
    seed: int = 0,
    curves: bool = True,
) -> CalibrationCheck:
    """Are the LLRs what they claim to be: is the LLR of the LLR the LLR?

    A line is fitted to the LLRs by logistic regression; its slope and offset are tested together against 1
    and 0. Cllr - min Cllr, devPAV and the cross-validated loss come with what perfectly calibrated LLRs
    of the same distribution show by chance. Expectations, exceedances, signs and spreads are compared with
    what must hold. The verdict says no more than the trials do.

    Parameters
    ----------
    speakers
        The column, or the two columns, with the speakers of the two sides: trials that share one are not
        independent, which every test then takes into account.
    level
        Of the test of slope and offset.
    replicates
        Sets drawn for the null distributions; 0 leaves them out.
    curves
        Also estimate the LLR of the LLR as curves, with bands.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> model = lk.theory.GaussianLLR.from_eer(0.05)
    >>> target, nontarget = model.rvs(300, 3000, np.random.default_rng(2))
    >>> lk.check_calibration(lk.Scores(target, nontarget), curves=False).verdict.outcome
    'none_found'
    >>> lk.check_calibration(lk.Scores(target + 1, nontarget + 1), curves=False).verdict.text
    'biased towards same-source by 0.8 nats (p < 0.0001 at a level of 3 %, if trials are independent)'
    """
    probability(level, "level")
    checked_replicates(replicates, 0)
    moments = training_moments(source)
    result = measure(source)
    blocks = result.summaries.blocks
    grid = source.reduce(DensityGrid.at(*judged_range(moments.extremes, blocks)))
    cells = CalibratedCells.relabeled(grid)
    speaker_set = find_speakers(source, speakers) if speakers else None
    sizes, notes = _effective_sizes(source, result, speaker_set)
    notes += [] if speaker_set else ["trials are taken as independent: give speakers where they share some"]
    tested = check_trials(source, result, speaker_set)
    null = None
    if replicates and min(sizes) >= 5:
        null = calibration_null(cells, *sizes, replicates=replicates, seed=seed)
    checked = identities(source, moments, speaker_set)
    p_shape = null.p_value("cllr_cal", result.cllr_cal) if null is not None else None
    words = judge(result, tested, p_shape=p_shape, level=level)
    estimates = llr_curves(source, grid, cells, sizes, replicates=replicates, seed=seed) if curves else ()
    return CalibrationCheck(
        result, words, tested.line, checked, dev_pav_from_blocks(blocks),
        _loss(source, speakers, seed), null, estimates, tuple(notes),
    )  # fmt: skip


def _loss(source: ScoreSource, speakers: str | Sequence[str] | None, seed: int) -> CalibrationLoss | None:
    try:
        return calibration_loss(source, groups=speakers, seed=seed, regularization=SAFEGUARD)
    except InputError:  # too few trials or speakers for the folds
        return None


def _effective_sizes(
    source: ScoreSource, result: Measurements, speakers: Any
) -> tuple[tuple[int, int], list[str]]:
    """Numbers of independent trials that say as much as these, for the null distributions."""
    sizes = (min(result.n_target, MOST_DRAWN), min(result.n_nontarget, MOST_DRAWN))
    if speakers is None:
        return sizes, []
    effect = max(1.0, closed_form(source, result, speakers, 0.95).design_effect.get("cllr", 1.0))
    smaller = (
        min(round(result.n_target / effect), MOST_DRAWN), min(round(result.n_nontarget / effect), MOST_DRAWN)
    )  # fmt: skip
    return smaller, [f"null distributions are of 1/{effect:.2f} of the trials (design effect of Cllr)"]
