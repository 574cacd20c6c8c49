"""From one format to another, with or without labels."""

from __future__ import annotations

from typing import Any

from llrkit.io import read_found, read_trials
from llrkit.io.roles import as_trials_checked
from llrkit.io.write import write_found, write_trials


def convert(
    source: str, target: str, *, key: str | None = None, to: str | None = None,
    key_output: str | None = None, **reading: Any
) -> int:  # fmt: skip
    """Read ``source`` as ``read_trials`` does and write it; gives the number of trials.

    A file of scores without labels is converted as it is, as long as nothing is asked that needs labels or
    changes the scores.
    """
    plain = {name: reading.get(name) for name in ("format", "columns", "label")}
    changing = any(
        reading.get(name) for name in ("nontargets", "positive", "log10", "distance", "duplicates")
    )
    score = reading.get("score")
    if key is None and not changing:
        found = read_found(source, score=[score] if isinstance(score, str) else score, **plain)
        if found.label is None and found.score:
            as_trials_checked(found, labelled=False)
            write_found(found, target, format=to, key=key_output)
            return found.table.height
    trials = read_trials(source, key, **reading)
    write_trials(trials, target, format=to, key=key_output)
    return len(trials)
