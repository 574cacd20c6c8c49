"""Calibrators that follow the order of the scores: PAV, bi-Gaussian, ranks in a line-up."""
