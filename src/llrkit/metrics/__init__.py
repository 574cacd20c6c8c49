"""Metrics (the only definition of each) and the data of curves."""
