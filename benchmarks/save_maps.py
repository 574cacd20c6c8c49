"""Writes one calibration file per method into tests/saved_maps, with the LLRs it gives.

Run once for a new method; files that are there are never written again: they must load for ever.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np

import llrkit as lk

FOLDER = Path(__file__).parents[1] / "tests" / "saved_maps"


def training() -> tuple[lk.Scores, lk.Scores]:
    """Trials of one system, and of two, with the columns some methods need."""
    rng = np.random.default_rng(2013)
    columns = {
        "room": (np.arange(200) % 2, np.arange(600) % 2),
        "seconds": (rng.uniform(3, 60, 200), rng.uniform(3, 60, 600)),
        "test": (np.arange(200) % 40, np.arange(600) % 40),
    }
    target, nontarget = rng.normal(2.0, 1.5, (200, 2)), rng.normal(-1.5, 1.8, (600, 2))
    one = lk.Scores(target[:, 0].round(3), nontarget[:, 0].round(3), columns)
    return one, lk.Scores(target.round(3), nontarget.round(3))


def main() -> None:
    warnings.simplefilter("ignore", lk.LlrkitWarning)
    one, two = training()
    probe = np.linspace(-6.0, 7.0, 14)
    special = {
        "by": {"column": "room", "method": lk.fit_cmlg},
        "quality": {"columns": ["seconds"]},
        "lineup": {"by": "test"},
        "best": {"methods": "cmlg,logistic,gaussian,nig", "repeats": 1},
        "cmlg_conditions": {"conditions": ["seconds"]},
    }
    methods = {name.removeprefix("fit_"): name for name in lk.fits.__all__ if name.startswith("fit_")}
    for method, name in {**methods, "cmlg_conditions": "fit_cmlg"}.items():
        path = FOLDER / f"{method}.json"
        if path.exists():
            continue
        fitted = getattr(lk.fits, name)(two if method == "fusion" else one, **special.get(method, {}))
        kept = {"method": method, "map": fitted.to_dict(), "scores": probe.tolist()}
        if method == "fusion":
            kept["scores"] = np.column_stack([probe, probe[::-1]]).tolist()
        if method == "by":
            kept["columns"] = {"room": [0, 1] * 7}
        if method in ("quality", "cmlg_conditions"):
            kept["columns"] = {"seconds": np.linspace(3, 60, 14).tolist()}
        if method == "lineup":
            kept["scores"], kept["cohort"] = [1, 2, 3, 5, 8], [8, 8, 8, 8, 8]
            llrs = fitted.llr_of_rank(np.array(kept["scores"]), np.array(kept["cohort"]))
        else:
            given = {key: np.array(values) for key, values in kept.get("columns", {}).items()}
            llrs = fitted(np.array(kept["scores"]), given)
        kept["llrs"] = [value if np.isfinite(value) else str(value) for value in np.asarray(llrs).tolist()]
        path.write_text(json.dumps(kept, indent=1) + "\n")
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
