"""
Evaluate a spoofing-robust system
=================================

Targets, non-targets and spoofs, scored by a speaker verification system and a countermeasure: equal
error rates, a-DCF, t-DCF and t-EER, and every attack.
"""

import numpy as np

import llrkit as lk
from llrkit import spoof

rng = np.random.default_rng(1)
kind = np.repeat(["target", "nontarget", "spoof"], [400, 800, 1200])
mean = {"target": (3, 3), "nontarget": (-3, 3), "spoof": (2, -3)}
asv, cm = (np.array([mean[k][i] for k in kind]) + 2 * rng.normal(size=2400) for i in (0, 1))
attack = np.where(kind == "spoof", rng.choice(["A01", "A02"], 2400), "-")
trials = spoof.SpoofTrials(
    {"asv": asv, "cm": cm, "label": kind, "attack": attack}, asv="asv", cm="cm", attack="attack"
)
print(spoof.evaluate(trials))

# %%
# One score from both systems:

fused = trials.fused(spoof.fit_sasv(trials, "bayes", costs="a-dcf1"))
for name, system in [("ASV alone", trials), ("fused", fused)]:
    print(f"{name}: min a-DCF {spoof.min_a_dcf(system, 'a-dcf1'):.3f}")

# %%
# How well the countermeasure tells bona fide from spoofed speech:

countermeasure = trials.pair("cm", ("target", "nontarget"), ("spoof",))
axes = lk.plot.histogram(lk.evaluate(countermeasure), labels=("bona fide", "spoofed"))
