"""
Find a threshold and what it will cost
======================================

The threshold for a prior and costs, for a false-alarm rate, or for the EER, found on one set of trials
and tried on another.
"""

import numpy as np

import llrkit as lk

rng = np.random.default_rng(1)


def some_scores():
    """Scores without a scale."""
    target, nontarget = lk.theory.GaussianLLR.from_eer(0.05).rvs(1000, 20_000, rng)
    return lk.Scores(0.1 * target, 0.1 * nontarget)


development, evaluation = some_scores(), some_scores()
for criterion in ({"point": "sre08"}, {"false_alarm_rate": 0.01}, {}):
    found = lk.threshold_for(development, on=evaluation, **criterion)
    print(
        f"{criterion or 'EER'}: accept at {found.threshold:.3f}; "
        f"misses {100 * found.p_miss:.2f} %, false alarms {100 * found.p_fa:.2f} %"
    )

# %%
# The threshold of the operating point is the filled marker on the curve.

axes = lk.plot.det(lk.evaluate(evaluation, points=["sre08"]))
