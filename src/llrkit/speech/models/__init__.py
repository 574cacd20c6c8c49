"""The models of speaker recognition, and the names that options accept.

The names are here since this module imports nothing: a help text that lists them needs no NumPy.
"""

BACKENDS = ("plda", "cosine", "lda-cosine", "svm", "ubm-gmm")
ADAPTATIONS = ("center", "coral", "coral+", "kaldi", "interpolate")
NORMS = ("none", "z", "t", "zt", "tz", "s", "as1", "as2")
"""Normalizations of scores by those of a cohort."""
NORMALIZATIONS = ("utterance", "sliding", "none")
"""Normalizations of frames by their mean and variance."""
BAD_FILES = ("error", "skip")
