"""
A number for each pair of conditions
====================================

The EER for every pair of durations.
"""

import numpy as np

import llrkit as lk
from llrkit.verbs.conditions import HeatMap

model = lk.simulate.DurationModel.between()
durations = (5.0, 10.0, 20.0, 40.0, 100.0)
eers = np.array([[model.pair(enroll, test).eer for test in durations] for enroll in durations])
names = tuple(f"{seconds:g} s" for seconds in durations)
axes = lk.plot.heat_map(HeatMap(eers, names, names, value_name="EER", percent=True))
