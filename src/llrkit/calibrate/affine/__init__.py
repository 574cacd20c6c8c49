"""Calibrators whose map is affine, or affine until it saturates."""
