"""
Normalized Bayes error
======================

Cost at every prior, relative to deciding without a system. The gap between solid and dashed is
calibration.
"""

import llrkit as lk

trials = lk.sample_trials()
systems = {
    "as they are": lk.evaluate(trials, ece=True),
    "calibrated": lk.evaluate(lk.fit_logistic(lk.sample_trials("dev")).on(trials), ece=True),
}

axes = lk.plot.bayes_error(systems)
