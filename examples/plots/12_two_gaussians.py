"""
Two Gaussians
=============

Calibrated Gaussian LLRs: means plus and minus mu, variance 2 mu.
"""

import llrkit as lk

axes = lk.plot.two_gaussians(lk.theory.GaussianLLR.from_eer(0.05))
