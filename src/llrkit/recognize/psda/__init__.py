"""Probabilistic spherical discriminant analysis: speakers and sessions on the unit sphere."""
