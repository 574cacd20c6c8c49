"""
Calibrate on development trials, apply to others
================================================

A calibration is trained on trials whose labels are known and applied to new scores. Its map, bounded by what
the trials can support, can be saved as JSON, and the evaluation on other trials says whether it holds.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)


def raw_scores(n_target, n_nontarget):
    """Cosine-like scores: neither scale nor offset of an LLR."""
    target, nontarget = lk.theory.GaussianLLR.from_eer(0.04).rvs(n_target, n_nontarget, rng)
    return lk.Scores(0.05 * target + 0.3, 0.05 * nontarget + 0.3)


development, evaluation = raw_scores(500, 10_000), raw_scores(500, 10_000)
calibration = lk.calibrate(development).map
print(calibration)

# %%
llrs = calibration.on(evaluation)
for name, trials in [("raw", evaluation), ("calibrated", llrs)]:
    print(f"{name:11} Cllr {lk.cllr(trials):.4f}, minimum {lk.min_cllr(trials):.4f}")

# %%
axes = lk.plot.tippett(lk.evaluate(llrs))
