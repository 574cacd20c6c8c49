"""
Are these LLRs calibrated?
==========================

The LLR of a calibrated LLR is the LLR itself. ``llrkit.check_calibration`` fits it, tests scale and
offset, and draws what chance would show. These LLRs are 1.5 times too large.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
target, nontarget = lk.theory.GaussianLLR.from_eer(0.08).rvs(300, 3000, rng)
check = lk.check_calibration(lk.Scores(1.5 * target, 1.5 * nontarget))
print(check.verdict)

# %%
axes = lk.plot.idempotence([curve for curve in check.curves if curve.method == "logistic"])
