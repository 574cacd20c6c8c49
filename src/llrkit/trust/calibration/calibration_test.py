"""The test of scale and offset with what it rests on: counts alone, or speakers as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.metrics.identity_test import IdentityTest, NullMoments, identity_test, null_moments
from llrkit.metrics.llr_cells import LlrCells
from llrkit.metrics.loss_split import BestLine, best_line
from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.trust.calibration.calibrated_cells import judged_range
from llrkit.trust.calibration.recalibration import Recalibration, as_rows
from llrkit.trust.calibration.speaker_test import SpeakersInCells, speaker_test
from llrkit.trust.intervals.jackknife import Jackknife
from llrkit.trust.intervals.speakers import Speakers


@dataclass(frozen=True, eq=False)
class CalibrationTest:
    """A test of a = 1 and b = 0 for the map ``a x + b`` of LLRs x, and the line that is best."""

    test: IdentityTest
    null: NullMoments
    fit: Callable[[], Recalibration | None]
    by_speaker: bool = False
    """Whether trials that share speakers were taken into account."""
    lines: Jackknife | None = None
    """The best line without each speaker, where there are any."""

    @cached_property
    def line(self) -> Recalibration | None:
        """The best line, fitted when first asked for; None where the classes do not overlap."""
        return self.fit()


def check_cells(result: Measurements, weights: tuple[float, float] = (1.0, 1.0)) -> CalibrationTest:
    """The test from the counts of an evaluation, without another look at the trials.

    Parameters
    ----------
    weights
        Independent trials that say as much as one target, and as one non-target, where trials are weighted.
    """
    cells = result.summaries.cells.weighted(*weights)
    null = null_moments(cells)
    test = identity_test(null)
    return CalibrationTest(test, null, partial(_line_of_cells, result, test, cells))


def judged_line(result: Measurements) -> BestLine | None:
    """The best line; if LLRs that stand for certainty leave none, with these no further away than others."""
    if result.best_line is not None:
        return result.best_line
    cells = result.summaries.cells
    within = judged_range(result.moments.extremes, result.summaries.blocks)
    return best_line(replace(cells, llr=np.clip(cells.llr, *within)))


def check_trials(source: ScoreSource, result: Measurements, speakers: Speakers) -> CalibrationTest:
    """The test for trials that share speakers; one pass."""
    return check_speakers(result, SpeakersInCells.of(source, result, speakers))


def check_speakers(result: Measurements, counted: SpeakersInCells) -> CalibrationTest:
    """The same from trials that are counted already."""
    line = judged_line(result)
    test, null, lines = speaker_test(counted, null_moments(result.summaries.cells), line)
    fit = partial(_line_of_speakers, line, lines, test)
    return CalibrationTest(test, null, fit, by_speaker=True, lines=lines)


def _recalibration(a: float, b: float, spread: FloatArray, test: IdentityTest) -> Recalibration:
    return Recalibration(a, b, as_rows(spread), test.statistic, test.p_value, test.df)


def _line_of_speakers(
    line: BestLine | None, lines: Jackknife | None, test: IdentityTest
) -> Recalibration | None:
    if line is None or lines is None:
        return None
    return _recalibration(line.a, line.b, lines.covariance, test)


def _line_of_cells(result: Measurements, test: IdentityTest, cells: LlrCells) -> Recalibration | None:
    line = judged_line(result)
    if line is None:
        return None
    # what one trial says less, the errors are larger
    lost = max((result.n_target + result.n_nontarget) / (cells.n_target + cells.n_nontarget), 1.0)
    return _recalibration(line.a, line.b, lost * np.array(line.covariance), test)
