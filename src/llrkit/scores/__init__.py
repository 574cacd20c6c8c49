"""Scores, trials, and the one abstraction between data and mathematics: the score source."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
