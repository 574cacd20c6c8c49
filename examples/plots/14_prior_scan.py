"""
Scan over the training weight
=============================

A cost against the log-odds of the weight that calibration was trained with: figure 2 of van Leeuwen and
Brümmer (2013), here with scores whose targets are wider.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
train, test = (lk.Scores(rng.normal(5, 1.6, 2000), rng.normal(0, 1, 40_000)) for _ in range(2))
axes = lk.plot.prior_scan(lk.alpha_scan(train, test=test))
