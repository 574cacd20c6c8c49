"""Scores of another day: whether they still are what a calibration was trained on, and what to do if not."""
