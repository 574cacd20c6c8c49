"""Saturating calibration: an affine map whose LLRs flatten at both ends."""
