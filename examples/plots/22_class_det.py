"""
DET curve of each class
=======================

Each class against the others.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)
near = np.array([[3.2, 0, 0, 0], [0, 3.2, 1.6, 0], [0, 1.6, 3.2, 0], [0, 0, 0, 3.2]])
labels = np.repeat(np.arange(4), 250)
loglik = 3.2 * (near[labels] + rng.normal(0, 1.4, (1000, 4)))
trials = lk.scores.ClassScores(loglik, labels, ("Dutch", "Danish", "Swedish", "Thai"))
axes = lk.plot.class_det(lk.multiclass.evaluate(trials))
