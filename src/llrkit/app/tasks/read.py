"""What a file is: its format, columns, first rows, and how many trials of each class it has."""

from __future__ import annotations

from typing import Any

from llrkit.app.tasks.task import Task
from llrkit.core.moments import Moments
from llrkit.engine.open_trials import open_trials, open_unlabeled
from llrkit.errors import LlrkitError
from llrkit.io.files_to_trials import table_options
from llrkit.io.reading_options import Reading
from llrkit.io.tables import scan_tables

ROWS = 5
"""Shown of a file."""
WIDEST = 60
"""Characters of a cell that are shown, and columns."""


def read_task(task: Task) -> dict[str, Any]:
    """The facts about one file; what keeps it from being read is one of them."""
    name = task.choices["file"]
    path, reading = task.path(name), task.reading(name)
    facts: dict[str, Any] = _table_facts(path, reading)
    if "columns" not in facts:
        return {"facts": facts}
    try:
        trials = open_trials(path, reading)
        moments = trials.reduce(Moments.of)
        facts |= {"n_target": int(moments.target.n), "n_nontarget": int(moments.nontarget.n)}
        facts |= _range(moments)
    except LlrkitError as error:
        facts["problem"] = str(error)
        if reading.label is None:
            facts |= _without_labels(path, reading)
    return {"facts": facts}


def _table_facts(path: str, reading: Reading) -> dict[str, Any]:
    """Format, columns and first rows, as far as the file has any."""
    try:
        (scan, *_) = scan_tables(path, **table_options(reading))
        columns = scan.like.table.columns
        first = next(iter(scan.read(columns)), scan.like).table.head(ROWS)
    except (LlrkitError, OSError) as error:
        return {"problem": str(error), "lines": _first_lines(path)}
    roles = scan.like.roles
    return {
        "format": scan.like.format,
        "columns": columns[:WIDEST],
        "roles": {"score": list(roles.score), "label": roles.label, "enroll": roles.enroll,
                  "test": roles.test, "calibrated": roles.calibrated},
        "rows": [[str(cell)[:WIDEST] for cell in row[:WIDEST]] for row in first.rows()],
    }  # fmt: skip


def _range(moments: Moments) -> dict[str, Any]:
    low, high = moments.extremes
    return {"range": [float(low), float(high)]}


def _without_labels(path: str, reading: Reading) -> dict[str, Any]:
    """Scores alone: questioned ones."""
    try:
        trials = open_unlabeled(path, Reading(score=reading.score, columns=reading.columns))
        return {"n_questioned": int(trials.reduce(Moments.of).target.n)}
    except LlrkitError:
        return {}


def _first_lines(path: str) -> list[str]:
    with open(path, "rb") as file:
        text = file.read(2000).decode("utf-8", errors="replace")
    lines = ["".join(c if c.isprintable() else "·" for c in line)[:120] for line in text.splitlines()]
    return lines[:ROWS]
