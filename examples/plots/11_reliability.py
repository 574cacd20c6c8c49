"""
Reliability diagram
===================

Share of targets against the posterior, by PAV instead of bins (CORP), and where it would lie by chance;
MCB, DSC and UNC are the parts of the Brier score.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
target, nontarget = lk.theory.GaussianLLR.from_eer(0.08).rvs(1200, 4800, rng)
axes = lk.plot.reliability(lk.metrics.reliability_curve(lk.Scores(2 * target, 2 * nontarget)))
