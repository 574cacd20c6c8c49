"""
Is one system better than the other?
====================================

Two systems scored the same trials. Their differences have intervals and tests that take into account
that the trials are the same.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
labels = rng.random(6000) < 0.1
truth = np.where(labels, 2.0, -2.0)
common = rng.normal(size=6000)
systems = {
    "A": truth + 1.2 * common + 1.0 * rng.normal(size=6000),
    "B": truth + 1.2 * common + 1.3 * rng.normal(size=6000),
}
trials = lk.Trials(systems | {"label": labels}, score=["A", "B"])
lk.compare_systems(trials, ci="trial")

# %%
axes = lk.plot.det({name: lk.evaluate(lk.Trials(trials.table, score=name)) for name in systems})
