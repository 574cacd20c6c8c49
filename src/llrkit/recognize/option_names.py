"""The names that options of recognition accept; nothing is imported here, so a help text needs little."""

from __future__ import annotations

BACKENDS = ("plda", "cosine", "lda-cosine", "svm", "ubm-gmm")
ADAPTATIONS = ("center", "coral", "coral+", "kaldi", "interpolate")
NORMS = ("none", "z", "t", "zt", "tz", "s", "as1", "as2")
"""Normalizations of scores by those of a cohort."""
NORMALIZATIONS = ("utterance", "sliding", "none")
"""Normalizations of frames by their mean and variance."""
BAD_FILES = ("error", "skip")
