"""Writes one calibration file of several classes per method into tests/saved_class_maps, with what it gives.

Run once for a new method; files that are there are never written again: they must load for ever.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parents[1] / "tests"


def main() -> None:
    spec = importlib.util.spec_from_file_location("fits", TESTS / "multiclass" / "test_class_summaries.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = TESTS / "saved_class_maps"
    folder.mkdir(exist_ok=True)
    for name, fitted in module.FITS.items():
        path = folder / f"{name}.json"
        if path.exists():
            continue
        trials = np.random.default_rng(7).normal(size=(5, *fitted.shape)).round(3)
        kept = {"map": fitted.to_dict(), "trials": trials.tolist(), "loglik": fitted(trials).tolist()}
        path.write_text(json.dumps(kept, indent=1) + "\n")
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
