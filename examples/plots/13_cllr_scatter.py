"""
Cllr of two methods
===================

One point for each list of trials: figure 1 of van Leeuwen and Brümmer (2013), here with simulated lists.
"""

import numpy as np

import llrkit as lk
from llrkit.plot.cost_plots import CllrScatter

rng = np.random.default_rng(1)
lists = {f"EER {eer:.0%}": lk.theory.GaussianLLR.from_eer(eer) for eer in (0.03, 0.06, 0.1, 0.15, 0.2, 0.25)}
cmlg, logistic = [], []
for pair in lists.values():
    train, test = (lk.Scores(*(3 * part + 5 for part in pair.rvs(400, 4000, rng))) for _ in range(2))
    cmlg.append(lk.cllr(lk.fit_cmlg(train).on(test)))
    logistic.append(lk.cllr(lk.fit_logistic(train).on(test)))
axes = lk.plot.cllr_scatter(CllrScatter("CMLG", "logistic regression", cmlg, logistic, tuple(lists)))
