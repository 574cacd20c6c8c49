"""check_calibration(): how far LLRs are what they claim to be, and what the trials can tell about it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from llrkit._format import agreeing, counted, number
from llrkit._plain import Json
from llrkit._random import RNG, seed_of
from llrkit._results import Result
from llrkit.calibrate.training_checks import training_moments
from llrkit.core.density_grid import DensityGrid
from llrkit.core.elementary_functions import probability
from llrkit.core.moments import Moments
from llrkit.metrics.measure import measure
from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.trust.calibration.calibrated_cells import JUDGED_CELLS, CalibratedCells, JudgedCells
from llrkit.trust.calibration.calibration_loss import CalibrationLoss
from llrkit.trust.calibration.devpav import dev_pav_from_blocks
from llrkit.trust.calibration.identities import TERMS, Identities, identities
from llrkit.trust.calibration.llr_curves import LlrCurve, llr_curves
from llrkit.trust.calibration.null_distribution import (
    LOSSES,
    WIDER,
    CalibrationNull,
    Sets,
    draw_sets,
    draw_speaker_sets,
    losses_of_counts,
    null_of_sets,
)
from llrkit.trust.calibration.recalibration_line import FOLDS, Recalibration, cross_validated_loss
from llrkit.trust.calibration.scale_and_offset_test import (
    CalibrationTest,
    SpeakersInCells,
    check_cells,
    check_speakers,
    judged_edges,
    loss_without_own,
)
from llrkit.trust.calibration.verdict import LEVEL, Verdict, judge
from llrkit.trust.intervals.bootstrap import checked_replicates
from llrkit.trust.intervals.speakers import find_speakers

WIDE_DEV_PAV = "the p-value of devPAV is conservative: rather too large"
_FEWEST = 5
"""Trials of a class below which no null distribution is drawn."""


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCheck(Result):
    """What :func:`check_calibration` found."""

    evaluation: Measurements
    """Metrics of the LLRs."""
    verdict: Verdict
    """The outcome of the test, in words too."""
    recalibration: Recalibration | None
    """None where the classes do not overlap, or Cllr is infinite."""
    identities: Identities
    """Quantities that calibration fixes, observed and expected."""
    dev_pav: float
    """Mean distance between the PAV curve and the identity, in log10."""
    loss: CalibrationLoss | None
    """Cross-validated: five random parts or, if speakers are known, each judged by the line of the others.
    None where it could not be made."""
    null: CalibrationNull | None
    """What calibrated LLRs of the same distribution, and of the same speakers if known, show by chance."""
    in_cells: Mapping[str, float]
    """The losses of the trials counted in cells, as those of the null distributions are."""
    curves: tuple[LlrCurve, ...]
    """The LLR of the LLR, estimated in several ways."""
    notes: tuple[str, ...]
    """Remarks, in words."""

    def p_value(self, name: str) -> float:
        """Chance that a calibrated system shows as much: ``"cllr_cal"``, ``"dev_pav"`` or ``"cv_loss"``.

        nan where there is no null distribution: that of ``cv_loss`` is known for independent trials only.

        Parameters
        ----------
        name
            ``"cllr_cal"``, ``"dev_pav"`` or ``"cv_loss"``.
        """
        observed = self.in_cells[name]
        return math.nan if self.null is None else self.null.p_value(name, observed)

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, lists and words."""
        result = self.evaluation
        return {
            "verdict": self.verdict.to_dict(),
            "cllr": result.cllr,
            "min_cllr": result.min_cllr,
            "cllr_cal": result.cllr_cal,
            "dev_pav": self.dev_pav,
            "cv_loss": self.loss.loss if self.loss is not None else None,
            "p_values": {name: self.p_value(name) for name in LOSSES},
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
            if self.null is not None and len(self.null.known(name)):
                usual = self.null.to_dict()[name]["mean"]
                chance = f"; by chance {number(usual)}, p = {self.p_value(name):.2g}"
            lines.append(f"{words} {number(value)}{chance}")
        return "\n".join([*lines, *self.notes])


@takes_labels
def check_calibration(
    source: ScoreSource,
    *,
    speakers: str | Sequence[str] | None = None,
    level: float = LEVEL,
    replicates: int = 200,
    rng: RNG = 0,
    curves: bool = True,
) -> CalibrationCheck:
    """Test whether LLRs are what they claim to be: whether the LLR of the LLR is the LLR.

    A line is fitted to the LLRs by logistic regression; its slope and offset are tested together against 1
    and 0. Cllr - min Cllr, devPAV and the cross-validated loss come with what perfectly calibrated LLRs
    of the same distribution show by chance. Expectations, exceedances, signs and spreads are compared with
    what must hold. The verdict says no more than the trials do. Infinite LLRs do not enter means and spreads.
    If one is for the wrong side, the verdict is ``"infinite"``, and no line or null distribution is given.

    Parameters
    ----------
    speakers
        The column, or the two columns, with the speakers of the two sides: trials that share one are not
        independent, which every test then takes into account: slope and offset by a jackknife over
        speakers, the shape by sets in which speakers count more or less.
    level
        Of the test of slope and offset.
    replicates
        Sets drawn for the null distributions; 0 leaves them out.
    rng
        Seed of the random numbers; the same seed gives the same result.
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
    'biased towards targets by 0.8 nats (p < 0.0001 at a level of 3 %, if trials are independent)'
    """
    seed = seed_of(rng)
    probability(level, "level")
    checked_replicates(replicates, 0)
    moments = training_moments(source, finite=False)
    result = measure(source)
    trials = _CheckedTrials.of(source, result, moments, speakers)
    if math.isinf(result.cllr):
        return _check_of_infinite_loss(result, trials, level)
    cells, tested = trials.cells, trials.tested
    null: CalibrationNull | None = None
    estimates: tuple[LlrCurve, ...] = ()
    notes = trials.notes
    if replicates and min(cells.size) >= _FEWEST:
        calibrated = CalibratedCells.relabeled(cells)
        sets = trials.draw(calibrated, replicates, seed)
        null = null_of_sets(calibrated.llr, sets, seed, FOLDS if trials.counted is None else 0)
        if trials.counted is not None:
            wide = trials.draw(calibrated, replicates, seed, WIDER)
            null = replace(null, dev_pav=null_of_sets(calibrated.llr, wide).dev_pav)
            notes = (*notes, WIDE_DEV_PAV)
        estimates = llr_curves(cells, calibrated.llr, sets) if curves else ()
    loss, dev_pav, _ = losses_of_counts(cells.llr, cells.target, cells.nontarget)
    crossed = trials.cross_validated(seed)
    in_cells = {"cllr_cal": loss, "dev_pav": dev_pav, "cv_loss": math.nan if crossed is None else crossed}
    p_shape = null.p_value("cllr_cal", loss) if null is not None else None
    words = judge(result, tested, p_shape=p_shape, level=level)
    return CalibrationCheck(
        result, words, tested.line, trials.identities, dev_pav_from_blocks(result.summaries.blocks),
        None if crossed is None else CalibrationLoss(result.cllr, result.cllr - crossed),
        null, MappingProxyType(in_cells), estimates, notes,
    )  # fmt: skip


def _note_on_infinite_llrs(moments: Moments) -> tuple[str, ...]:
    n = int(moments.n_infinite)
    are = agreeing(n, "is", "are")
    return (f"{counted(n, 'LLR')} {are} infinite: means and spreads are those of the others",) if n else ()


def _check_of_infinite_loss(result: Measurements, trials: _CheckedTrials, level: float) -> CalibrationCheck:
    """No line and no chance explain an infinite LLR for the wrong side; the cells do not even hold it."""
    in_cells = {"cllr_cal": math.inf, "dev_pav": math.inf, "cv_loss": math.nan}
    return CalibrationCheck(
        result, judge(result, level=level), None, trials.identities,
        dev_pav_from_blocks(result.summaries.blocks), None, None, MappingProxyType(in_cells), (),
        (*trials.notes, "Cllr is infinite: no line and no null distribution is given"),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _CheckedTrials:
    """Trials as a check looks at them: independent, or counted by speaker."""

    cells: JudgedCells
    tested: CalibrationTest
    identities: Identities
    notes: tuple[str, ...]
    counted: SpeakersInCells | None = None

    @classmethod
    def of(
        cls,
        source: ScoreSource,
        result: Measurements,
        moments: Moments,
        speakers: str | Sequence[str] | None,
    ) -> _CheckedTrials:
        notes: tuple[str, ...]
        infinite = _note_on_infinite_llrs(moments)
        if not speakers:
            edges = judged_edges(result)
            grid = source.reduce(DensityGrid.at(float(edges[0]), float(edges[-1]), JUDGED_CELLS))
            counts = (np.asarray(one.count, dtype=np.float64) for one in (grid.target, grid.nontarget))
            notes = ("trials are taken as independent: give speakers if they share some", *infinite)
            return cls(JudgedCells(edges, *counts), check_cells(result), identities(source, moments), notes)
        known = find_speakers(source, speakers)
        by_speaker = SpeakersInCells.of(source, result, known, TERMS)
        target, nontarget = by_speaker.cells.effective_speakers
        notes = (
            f"{known.n_speakers:,} speakers, as uneven as {target:.0f} equal ones with targets and "
            f"{nontarget:.0f} with non-targets",
            *infinite,
        )
        checked = identities(source, moments, by_speaker.cells)
        return cls(by_speaker.judged, check_speakers(result, by_speaker), checked, notes, by_speaker)

    def draw(self, calibrated: CalibratedCells, replicates: int, seed: int, stretch: float = 1.0) -> Sets:
        """Calibrated sets like these trials; ``stretch`` makes their speakers differ more."""
        if self.counted is None:
            return draw_sets(calibrated, self.cells.size, replicates, seed)
        df = self.tested.test.df
        return draw_speaker_sets(self.counted.cells, calibrated, df, replicates, seed, stretch)

    def cross_validated(self, seed: int) -> float | None:
        """What straight lines fitted to other trials gain in Cllr; None if there are too few."""
        line = self.tested.line
        if line is None or min(self.cells.size) < _FEWEST:
            return None
        if self.counted is not None and self.tested.lines is not None:
            return loss_without_own(self.counted, self.tested.lines)
        rng = np.random.default_rng([seed, 3])
        cells = self.cells
        gain = cross_validated_loss(cells.llr, cells.target, cells.nontarget, rng, start=(line.a, line.b))
        return None if math.isnan(gain) else gain
