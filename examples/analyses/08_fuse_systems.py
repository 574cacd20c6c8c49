"""
Fuse systems
============

Two systems that err differently are fused into one calibrated LLR.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)


def two_systems(n):
    """Scores of two systems for the same trials."""
    labels = rng.random(n) < 0.2
    truth = np.where(labels, 1.5, -1.5)
    table = {"A": truth + rng.normal(0, 1.5, n), "B": 10 * (truth + rng.normal(0, 1.7, n)), "label": labels}
    return lk.Trials(table, score=["A", "B"])


train, test = two_systems(5000), two_systems(5000)
fusion = lk.fuse(train).map
print(fusion)
for name in ("A", "B"):
    print(f"{name}: EER {100 * lk.eer(lk.Trials(test.table, score=name)):.2f} %")
fused = fusion.on(test)
print(f"fused: EER {100 * lk.eer(fused):.2f} %, Cllr {lk.cllr(fused):.4f}")

# %%
results = {name: lk.evaluate(lk.Trials(test.table, score=name)) for name in ("A", "B")}
axes = lk.plot.det(results | {"fused": lk.evaluate(fused)})
