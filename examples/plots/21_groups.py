"""
Error rates of groups of people
===============================

FMR and FNMR of each group at one threshold, with intervals. Group C has more false matches.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(6)
group, mated = rng.choice(["A", "B", "C", "D"], 30_000), rng.random(30_000) < 0.1
score = np.where(mated, 4.0, 0.0) + np.where((group == "C") & ~mated, 0.5, 0.0) + rng.normal(size=30_000)
trials = lk.Trials({"score": score, "label": mated, "group": group})
axes = lk.plot.groups(lk.biometrics.differential(trials, "group", fmr=0.005))
