"""
Tippett plot
============

Shares of trials at or above an LLR, or, with ``style="crossing"``, targets below and non-targets above.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
target, nontarget = lk.theory.GaussianLLR.from_eer(0.05).rvs(500, 10_000, rng)
result = lk.evaluate(lk.Scores(2 * target, 2 * nontarget))
axes = lk.plot.tippett(result)

# %%
# The other style, to base ten:

axes = lk.plot.tippett(result, style="crossing", log10=True)
