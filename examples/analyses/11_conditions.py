"""
Results by condition
====================

Every condition by itself, all of them pooled, and all of them with equal weight.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
durations = rng.choice([5, 10, 20, 40], 8000)
labels = rng.random(8000) < 0.2
strength = np.sqrt(durations / 10)
scores = strength**2 * np.where(labels, 1.0, -1.0) + np.sqrt(2) * strength * rng.normal(size=8000)
trials = lk.Trials({"score": scores, "label": labels, "seconds": durations})
lk.condition_table(trials, by="seconds")

# %%
result = lk.evaluate(trials, by="seconds")
axes = lk.plot.det({f"{seconds} s": group for seconds, group in result.groups.items()}, points=False)
