"""
Score to LLR
============

The optimal monotone map (PAV) of each system; calibrated LLRs lie on the identity.
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

axes = lk.plot.pav(systems)
