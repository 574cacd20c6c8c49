"""Saturating calibration: an affine map whose LLRs flatten at both ends."""

from llrkit.calibrate.affine.saturating.saturating_fit import SaturatingMap, fit_saturating

__all__ = ["SaturatingMap", "fit_saturating"]
