"""Anti-spoofing: trials of three kinds, the costs and error rates of ASV, CM and SASV systems, and fusion.

Everything takes :class:`SpoofTrials`: targets, non-targets and spoofs with the scores of a speaker
verification system (ASV), of a spoofing countermeasure (CM), of both in one (SASV), any of them missing.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
