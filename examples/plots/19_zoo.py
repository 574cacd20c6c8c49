"""
The zoo of speakers
===================

Mean target and non-target score of each speaker, with quartiles (Yager and Dunstone 2010).
"""

import numpy as np

import llrkit as lk
from llrkit.metrics.theory_costs import zoo_curve

rng = np.random.default_rng(1)
target, nontarget = np.repeat(np.arange(120), 10), np.repeat(np.arange(120), 40)
habits = rng.normal(0, 1, (120, 2))
scores = lk.Scores(
    5 + 1.2 * habits[target, 0] + rng.normal(0, 2, 1200),
    -5 + 0.7 * habits[nontarget, 1] + rng.normal(0, 2, 4800),
    {"speaker": (target, nontarget)},
)
axes = lk.plot.zoo(zoo_curve(scores, "speaker"))
