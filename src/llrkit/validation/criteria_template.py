"""A file of criteria to begin with: every field with what it is for, and limits to be replaced."""

TEMPLATE = """\
# Criteria of a validation: llrkit validate LLRS --criteria THIS-FILE --map CALIBRATION --report validation.md
#
# Set the limits before you look at the results, and say why you chose them. Those below are placeholders.
# Performance characteristics: Meuwly, Ramos and Haraksim, Forensic Science International 276 (2017) 142.
# What is stated and counted: Morrison et al., "Consensus on validation of forensic voice comparison",
# Science & Justice 61 (2021) 299.

[report]
# In your words; whatever is left out is reported as not stated.
# system = "name of the recognizer and its settings"
# version = "1.0"
# hypotheses = "H1: the suspect is the speaker; H2: another speaker of the relevant population is"
# population = "relevant population, and how its speakers were selected"
# conditions = "speaking style, channel, noise and duration of the questioned and the known recordings"
# calibration = "which data trained it, and that no speaker of the validation is among them"
# bounds = "why LLRs are bounded as they are"

[options]
# "trial" takes trials as independent. Trials that share speakers need ci = "speaker" and their columns.
ci = "trial"
# ci = "speaker"
# speakers = ["enroll_speaker", "test_speaker"]
# recordings = ["enroll_recording", "test_recording"]
# level = 0.95
# points = ["0.5"]

# Each [[criterion]] is a row: characteristic, metric, at_most or at_least. With use = "interval"
# the whole interval must be within the limit; where the limit lies inside, the row is not decided.

[[criterion]]
characteristic = "accuracy"          # how close LLRs are to what they should be, all errors together
metric = "cllr"                      # bits; 1 is as good as saying nothing
at_most = 0.5
use = "interval"

[[criterion]]
characteristic = "discriminating power"
metric = "eer"                       # a rate is between 0 and 1: 8 % is 0.08
at_most = 0.1
use = "interval"

[[criterion]]
characteristic = "calibration"       # no evidence of miscalibration; this metric takes no limit
metric = "verdict"

[[criterion]]
characteristic = "calibration"
metric = "cllr_cal"                  # bits lost to calibration
at_most = 0.1

# Robustness: the same in every condition, by a column of the trials.
# [[criterion]]
# characteristic = "robustness"
# metric = "cllr"
# at_most = 0.6
# by = "duration"

# Coherence: it gets better where it should; how much worse than the trials of another file it may be.
# [[criterion]]
# characteristic = "coherence"
# metric = "cllr"
# at_most = 0.0
# change_from = "short.csv"

# Generalization: on data of another kind than that it was developed on.
# [[criterion]]
# characteristic = "generalization"
# metric = "cllr"
# at_most = 0.05
# change_from = "development.csv"
"""
"""As ``llrkit validate --init`` writes it."""
