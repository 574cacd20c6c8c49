"""Calibrators: every one is ``fit_<name>(source, **options)`` and returns a map; the choice among them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
