"""
DET curve with a confidence band
================================

The band of a system with few trials; Tippett and cross-entropy plots take one too. With ``speakers=`` it
holds for trials that share speakers.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
target, nontarget = lk.theory.GaussianLLR.from_eer(0.05).rvs(200, 4000, rng)
scores = lk.Scores(target, nontarget)
result = lk.evaluate(scores)
axes = lk.plot.det(
    {"few trials": result}, points=False, bands={"few trials": lk.trust.curve_bands(scores, result=result)}
)
