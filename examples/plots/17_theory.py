"""
A cost against the EER
======================

What a cost must be at an EER, for families of calibrated LLRs, beside measured lists.
"""

import numpy as np

import llrkit as lk
from llrkit.metrics.theory_costs import theory_costs

rng = np.random.default_rng(1)
measured = {}
for eer in (0.01, 0.02, 0.05, 0.1):
    scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(eer).rvs(1000, 20_000, rng))
    measured[f"Gaussian {eer:g}"] = (lk.eer(scores), lk.min_dcf(scores, point="sre10"))
axes = lk.plot.theory(theory_costs("sre10", measured))
