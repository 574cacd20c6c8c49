"""
ROC curve
=========

Share of targets accepted against the false-alarm rate, on linear axes.
"""

import llrkit as lk

systems = {name: lk.evaluate(lk.sample_trials(system=name)) for name in ("plda", "cosine")}

axes = lk.plot.roc(systems)
