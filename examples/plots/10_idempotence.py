"""
The LLR of the LLR
==================

The LLR of the LLR against the LLR, as ``llrkit.check_calibration`` finds it, and where it would lie by
chance if the LLRs were calibrated. These are twice too large.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
target, nontarget = lk.theory.GaussianLLR.from_eer(0.05).rvs(300, 3000, rng)
check = lk.check_calibration(lk.Scores(2 * target, 2 * nontarget))
axes = lk.plot.idempotence([curve for curve in check.curves if curve.method in ("logistic", "kde")])
