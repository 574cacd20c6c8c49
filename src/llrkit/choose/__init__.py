"""Which calibrator: diagnose the scores, compare methods, choose by cross-validation."""
