"""
Choose a calibrator
===================

Several calibrators are trained on the same trials and evaluated on others. ``llrkit.fit_best`` blends
them by cross-validation.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)


def heavy_tailed(n_target, n_nontarget):
    """Scores whose tails are heavier than Gaussian ones."""
    return lk.Scores(3.0 + 1.4 * rng.standard_t(4, n_target), rng.standard_t(4, n_nontarget))


train, test = heavy_tailed(1000, 10_000), heavy_tailed(1000, 10_000)
compared = lk.compare(train, test, ["cmlg", "logistic", "student-t", "pav"])
compared

# %%
# What each calibrator makes of a score:

axes = lk.plot.pav(compared.map_curves())
