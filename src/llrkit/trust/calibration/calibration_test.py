"""The test of scale and offset with what it rests on: counts alone, or speakers as well."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.errors import InputError, ReversedScoresWarning
from llrkit.metrics.identity_test import IdentityTest, NullMoments, identity_test, null_moments
from llrkit.metrics.llr_cells import LlrCells
from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.trust.calibration.recalibration import (
    LineGradients,
    Recalibration,
    positive_covariance,
    recalibrate,
)
from llrkit.trust.intervals.centered_sums import estimate_sums
from llrkit.trust.intervals.speakers import Speakers


@dataclass(frozen=True, eq=False)
class CalibrationTest:
    """A test of a = 1 and b = 0 for the map ``a x + b`` of LLRs x, and the line that is best."""

    test: IdentityTest
    null: NullMoments
    fit: Callable[[], Recalibration | None]
    by_speaker: bool = False
    """Whether trials that share speakers were taken into account."""

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
    return CalibrationTest(test, null, lambda: _line_of_cells(result, test, cells))


def check_trials(source: ScoreSource, result: Measurements, speakers: Speakers | None) -> CalibrationTest:
    """The same with a line fitted to the trials, and with what shared speakers add to its errors."""
    null = null_moments(result.summaries.cells)
    df = math.inf
    if speakers is not None:
        null = replace(null, covariance=speaker_covariance(source, null, speakers))
        df = speakers.n - 1.0
    test = identity_test(null, df)

    def fit() -> Recalibration | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ReversedScoresWarning)  # the verdict says so
                return recalibrate(source, test, speakers)
        except InputError:  # separated classes, infinite or constant scores
            return None

    return CalibrationTest(test, null, fit, by_speaker=speakers is not None)


def speaker_covariance(source: ScoreSource, null: NullMoments, speakers: Speakers) -> FloatArray:
    """The covariance that calibration implies, and what shared speakers add to that of independent trials."""
    at_identity = estimate_sums(source, LineGradients(1.0, 0.0), speakers)
    together = null.covariance + at_identity.matrix - at_identity.covariance.independent
    positive = np.linalg.eigvalsh(together)[0] > 0.1 * np.linalg.eigvalsh(null.covariance)[0]
    return np.asarray(together if positive else positive_covariance(at_identity))


def _line_of_cells(result: Measurements, test: IdentityTest, cells: LlrCells) -> Recalibration | None:
    line = result.best_line
    if line is None:
        return None
    # what one trial says less, the errors are larger
    lost = max((result.n_target + result.n_nontarget) / (cells.n_target + cells.n_nontarget), 1.0)
    (aa, ab), (_, bb) = line.covariance
    spread = ((lost * aa, lost * ab), (lost * ab, lost * bb))
    return Recalibration(line.a, line.b, spread, test.statistic, test.p_value, test.df)
