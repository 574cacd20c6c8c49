"""
Histogram of LLRs
=================

With the Gaussian pair that the EER predicts: these LLRs are twice too large.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
target, nontarget = lk.theory.GaussianLLR.from_eer(0.05).rvs(500, 10_000, rng)
axes = lk.plot.histogram(lk.evaluate(lk.Scores(2 * target, 2 * nontarget)))
