"""
Score to LLR
============

The optimal monotone map (PAV) of each system; calibrated LLRs lie on the identity.
"""

import llrkit as lk

trials = lk.sample_trials()
systems = {
    "as they are": lk.evaluate(trials, ece=True),
    "calibrated": lk.evaluate(lk.fit_logistic(lk.sample_trials("dev")).on(trials), ece=True),
}

axes = lk.plot.pav(systems)
