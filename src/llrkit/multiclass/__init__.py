"""More than two classes: metrics, calibration and fusion of log-likelihood vectors.

Everything takes a :class:`llrkit.scores.ClassSource`: :class:`llrkit.scores.ClassScores` in memory, files, a
cluster. For two classes every number equals that of the binary code; the first class is then the target.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
