"""How far the numbers can be trusted: intervals, tests of calibration, differences of systems."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
