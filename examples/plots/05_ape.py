"""
Applied probability of error
============================

Probability of error at every prior: the APE curve.
"""

import llrkit as lk

trials = lk.sample_trials()
systems = {
    "as they are": lk.evaluate(trials, ece=True),
    "calibrated": lk.evaluate(lk.fit_logistic(lk.sample_trials("dev")).on(trials), ece=True),
}

axes = lk.plot.ape(systems)
