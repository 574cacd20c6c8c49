"""
DET curve
=========

Misses against false alarms.
"""

import numpy as np

import llrkit as lk

pair = lk.theory.GaussianLLR.from_eer(0.05)
scores = lk.Scores(*pair.rvs(500, 5000, np.random.default_rng(1)))
axes = lk.plot.det(lk.evaluate(scores))
