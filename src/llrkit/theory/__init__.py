"""Mathematics of calibrated likelihood ratios, without data.

Pairs of distributions that are calibrated by construction, what they imply (error rates, costs, Cllr), and
how calibrated Gaussian systems fuse. LLRs are in nats, Cllr in bits, ``x >= threshold`` accepts.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
