"""
Evaluate scores
===============

Two arrays, scores and labels, give every number at once. Here the scores are LLRs that are twice too
large: discrimination is good, calibration is not, and the verdict says so.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
labels = rng.random(12_000) < 0.05
pair = lk.theory.GaussianLLR.from_eer(0.05)
target, nontarget = pair.rvs(labels.sum(), (~labels).sum(), rng)
scores = np.empty(len(labels))
scores[labels], scores[~labels] = 2.0 * target, 2.0 * nontarget

result = lk.evaluate(scores, labels, points=["sre08", 0.05])
result

# %%
# What the numbers mean, in words:

print(result.verdict)

# %%
# The gap between the solid and the dashed line is what calibration costs at each prior.

axes = lk.plot.bayes_error({"raw": result})
