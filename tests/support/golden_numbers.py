"""Numbers that were frozen, to show that a rebuilt house still gives them.

``LLRKIT_FREEZE=1`` writes them anew instead of comparing.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[1] / "golden"
_OF_THE_RUN = {"provenance", "sha256", "seconds", "made", "date", "time", "version", "python", "peak_memory"}
"""Members that differ from run to run or from machine to machine."""


def numbers_of(value: Any, path: str = "") -> dict[str, float]:
    """Every number below a value, by its path; no text, since words may change and numbers may not."""
    if isinstance(value, Mapping):
        parts = [(str(name), part) for name, part in value.items() if str(name) not in _OF_THE_RUN]
    elif dataclasses.is_dataclass(value):
        parts = [
            (f.name, getattr(value, f.name)) for f in dataclasses.fields(value) if not f.name.startswith("_")
        ]
    elif isinstance(value, np.ndarray):
        return {path: float(value)} if value.ndim == 0 else numbers_of(value.tolist(), path)
    elif isinstance(value, (list, tuple)):
        parts = [(str(i), part) for i, part in enumerate(value)]
    elif isinstance(value, (bool, int, float, np.number)) or value in ("inf", "-inf"):
        return {path: float(value)}
    else:
        return {}
    flat: dict[str, float] = {}
    for name, part in parts:
        flat |= numbers_of(part, f"{path}.{name}" if path else name)
    return flat


def assert_golden(group: str, name: str, value: Any) -> None:
    """The numbers of ``value`` are those frozen under ``name`` in ``tests/golden/<group>.json``.

    Sums may be rounded differently on another processor and optimizers stop elsewhere by some 1e-10;
    ``LLRKIT_EXACT=1`` compares every bit, on the machine that froze them.
    """
    file = FOLDER / f"{group}.json"
    frozen = json.loads(file.read_text()) if file.exists() else {}
    found = numbers_of(value)
    if os.environ.get("LLRKIT_FREEZE") == "1":
        file.parent.mkdir(exist_ok=True)
        frozen[name] = found
        file.write_text(json.dumps(dict(sorted(frozen.items())), indent=0) + "\n")
        return
    wanted = frozen[name]
    assert found.keys() == wanted.keys()
    exact = os.environ.get("LLRKIT_EXACT") == "1"
    wrong = {
        path: (found[path], number)
        for path, number in wanted.items()
        if not (found[path] == number or (math.isnan(found[path]) and math.isnan(number)))
        and (exact or not math.isclose(found[path], number, rel_tol=1e-7, abs_tol=1e-9))
    }
    assert wrong == {}
