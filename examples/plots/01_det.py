"""
DET curve
=========

Misses against false alarms on probit axes whose range follows the data. Filled: the best threshold of an
operating point; hollow: the Bayes threshold. Dotted: 30 errors. ``curve="hull"`` draws the convex hull.
"""

import llrkit as lk

systems = {name: lk.evaluate(lk.sample_trials(system=name)) for name in ("plda", "cosine")}

axes = lk.plot.det(systems)
