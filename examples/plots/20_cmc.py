"""
Cumulative match characteristic
===============================

The share of mated searches whose mate is within each rank.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(5)
probe, candidate = (index.ravel() for index in np.indices((300, 40)))
mate = candidate == probe % 40
table = {"score": 2.2 * mate + rng.normal(size=len(mate)), "label": mate, "probe": probe}
axes = lk.plot.cmc(lk.biometrics.identification(lk.Trials(table), "probe").cmc)
