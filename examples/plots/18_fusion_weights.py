"""
Weights of a fusion
===================

The weight of each system, with intervals if there are any.
"""

import llrkit as lk
from llrkit.plot.llr_plots import FusionWeights

weights = FusionWeights(
    ("i-vector", "x-vector", "ResNet"), [0.21, -0.08, 0.93], -0.33, [0.1, -0.2, 0.8], [0.32, 0.04, 1.06]
)
axes = lk.plot.fusion_weights(weights)
