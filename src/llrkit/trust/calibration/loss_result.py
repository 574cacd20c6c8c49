"""CalibrationLoss: a number before and after cross-validated calibration."""

from __future__ import annotations

from dataclasses import dataclass

from llrkit._results import Result


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
        """What is lost to calibration; slightly below zero when nothing is."""
        return self.raw - self.calibrated

    @property
    def relative(self) -> float:
        """The share of the metric that is lost to calibration."""
        return self.loss / self.raw
