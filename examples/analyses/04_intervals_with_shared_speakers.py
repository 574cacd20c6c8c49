"""
Intervals when trials share speakers
====================================

Ten thousand trials of forty speakers say less than ten thousand independent trials. With
``ci="speaker"`` each speaker is left out in turn; intervals for independent trials are too narrow here.
"""

import llrkit as lk
from llrkit.simulate import Population, simulate_plda

population = Population.between_eers(0.05, 0.3, dim=20)
trials = simulate_plda(population, n_speakers=40, n_models=80, n_tests=120, rng=1)
speakers = ("enroll_speaker", "test_speaker")
for ci, options in [("trial", {}), ("speaker", {"speakers": speakers})]:
    result = lk.evaluate(trials, ci=ci, **options)
    low, high = result.intervals["eer"]
    print(f"{ci:8} EER {100 * result.eer:.2f} %, 95 % interval {100 * low:.2f} to {100 * high:.2f} %")

# %%
# The band of a DET curve takes speakers, too.

bands = lk.trust.curve_bands(trials, result=result, speakers=speakers)
axes = lk.plot.det({"40 speakers": result}, points=False, bands={"40 speakers": bands})
