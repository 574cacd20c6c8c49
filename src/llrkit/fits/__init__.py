"""Calibrators: every one is ``fit_<name>(source, **options)`` and returns a map; the choice among them."""
