"""Calibrators that model the scores of both classes and take the ratio of the densities."""
