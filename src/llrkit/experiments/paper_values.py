"""What the paper reports, to be put beside what is measured here.

D. A. van Leeuwen and N. Brümmer, "The distribution of calibrated likelihood-ratios in speaker recognition",
Interspeech 2013. Where each number stands:

- section 4.1: 25 trial lists from durations of 5, 10, 20, 40 s and whole recordings on both sides; EER 2.9
  to 26 % (SRE10 det 5); calibration trained on 427,375 trials of SRE08, evaluated on 10,007,900 of SRE10
  (both are multiples of 25: 17,095 and 400,316 a list); mean Cllr 0.375 for CMLG with alpha 1/2, 0.376
  for logistic regression, mean minimum Cllr 0.370, "highly correlated".
- section 5, footnote: slope of the DET between 0.1 and 50 %, mean -0.99, standard deviation 0.06.
- section 5, equation 12: Cllr computed from the EER is 0.006 from the minimum Cllr, root mean square.
- figure 2 is drawn between 0.27 and 0.60; its data are not in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SOURCE = "van Leeuwen & Brümmer, Interspeech 2013"
N_LISTS = 25
TRAIN_TRIALS, EVAL_TRIALS = 427_375, 10_007_900

PAPER: Mapping[str, float] = MappingProxyType(
    {
        "eer_min": 0.029,
        "eer_max": 0.26,
        "cmlg": 0.375,
        "logistic": 0.376,
        "min_cllr": 0.370,
        "rms_cllr_from_eer": 0.006,
        "det_slope": -0.99,
        "det_slope_std": 0.06,
        "train_trials": TRAIN_TRIALS,
        "eval_trials": EVAL_TRIALS,
    }
)
