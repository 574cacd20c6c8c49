"""Biometric testing (ISO/IEC 19795): error rates at given rates, failures, groups of people, identification.

Everything takes comparisons as other functions do: mated comparisons are targets, non-mated ones non-targets.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
