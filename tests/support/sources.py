"""What every kind of source is tried with: a table, metrics and calibrators with the arguments they need."""

import numpy as np
import polars as pl

import llrkit as lk

METRICS = {
    "act_dcf": {"point": "sre08"}, "auc": {}, "c_primary": {"evaluation": "sre16"}, "cllr": {},
    "cllr_cal": {},
    "cross_entropy": {"prior": 0.1}, "eer": {}, "eer_roc": {}, "eer_threshold": {}, "min_cllr": {},
    "min_dcf": {"point": "sre08"}, "prbep": {}, "rule_cost": {"rule": "brier", "prior": 0.2},
}  # fmt: skip
FITS = [name for name in lk.fits.__all__ if name.startswith("fit_")]
NEEDS = {
    "fit_by": {"column": "room", "method": lk.fit_cmlg},
    "fit_quality": {"columns": ["seconds"]},
    "fit_lineup": {"by": "test"},
    "fit_best": {"methods": "cmlg,logistic", "folds": 2, "groups": "test"},
}


def trial_table():
    """Two systems, a condition, a quality measure and test ids."""
    rng = np.random.default_rng(3)
    label = rng.random(5_000) < 0.2
    return pl.DataFrame(
        {
            "score": np.round(rng.normal(np.where(label, 2.0, -2.0), 1.8), 2),  # with ties
            "other": rng.normal(np.where(label, 1.0, 0.0), 1.0),
            "label": np.where(label, "target", "nontarget"),
            "room": rng.choice(["quiet", "noisy", "street"], 5_000),
            "seconds": rng.uniform(3, 60, 5_000),
            "test": [f"t{i % 400}" for i in range(5_000)],
        }
    )
