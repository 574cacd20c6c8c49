"""
Empirical cross-entropy
=======================

Cross-entropy in bits at every prior (the ECE plot of forensic science): the system, after PAV, and
without evidence. It needs ``evaluate(..., ece=True)``.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
systems = {}
for name, eer, scale, offset in [
    ("calibrated", 0.03, 1.0, 0.0),
    ("twice too large", 0.06, 2.0, 1.0),
    ("too small, shifted", 0.12, 0.4, -1.0),
]:
    target, nontarget = lk.theory.GaussianLLR.from_eer(eer).rvs(800, 16_000, rng)
    systems[name] = lk.evaluate(lk.Scores(scale * target + offset, scale * nontarget + offset), ece=True)

axes = lk.plot.cross_entropy({name: systems[name] for name in ("calibrated", "twice too large")})
