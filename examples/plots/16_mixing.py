"""
Shares of trials by difficulty
==============================

How difficult trials are, as ``fit_mixture(components="grid")`` finds it from the shape of the scores
alone.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
pair = lk.theory.MixtureLLR([0.3, 0.7], [1.0, 9.0])
fitted = lk.fits.fit_mixture(lk.Scores(*pair.rvs(1000, 2000, rng)), components="grid")
axes = lk.plot.mixing(lk.fits.mixing_curve(fitted))
