"""
The LLR of one comparison in a case
===================================

A score of a case becomes a likelihood ratio with an interval and a statement that names both
propositions.
"""

import llrkit as lk

population = lk.theory.GaussianLLR.from_eer(0.05)
train, held_out = (
    lk.simulate.simulate_trials(population, n_target=300, n_nontarget=3000, rng=seed).scores()
    for seed in (1, 2)
)
calibration = lk.calibrate(train).map
case = lk.case_report(
    calibration, 2.5, train=train, validation=held_out,
    h1="the suspect is the speaker", h2="another man of the region is the speaker",
)  # fmt: skip
print(case.to_dict()["statement"])

# %%
# Where LLRs of same-source and different-source trials lie in validation:

result = lk.evaluate(calibration.on(held_out))
axes = lk.plot.tippett(result, labels=("same speaker", "different speakers"), base=10)
