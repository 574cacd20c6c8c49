"""Log-likelihood-ratios that can be trusted, and how far they can be trusted.

>>> import llrkit as lk
>>> scores = lk.Scores(target=[2.1, 3.5, 0.4, 1.7], nontarget=[-2.2, -0.3, 0.6, -1.9, -3.1])
>>> round(lk.eer(scores), 4), round(lk.cllr(scores), 4)
(0.1111, 0.4203)
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
