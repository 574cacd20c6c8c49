"""What a file is: its format, columns, first rows, and how many trials of each class it has."""

from __future__ import annotations

from llrkit.app.choice_types import Facts, ReadFacts, ToRead
from llrkit.app.tasks.task import Task
from llrkit.core.summaries import Moments
from llrkit.engine.open import open_trials, open_unlabeled
from llrkit.errors import LlrkitError
from llrkit.io.formats import scan_tables
from llrkit.io.read_options import Reading

ROWS = 5
"""Shown of a file."""
WIDEST = 60
"""Characters of a cell that are shown, and columns."""


def read_task(task: Task[ToRead]) -> ReadFacts:
    """The facts about one file; what keeps it from being read is one of them."""
    name = task.choices["file"]
    path, reading = task.path(name), task.reading(name)
    facts = _facts_of_table(path, reading)
    if "columns" not in facts:
        return {"facts": facts}
    try:
        trials = open_trials(path, reading)
        moments = trials.reduce(Moments.of)
        low, high = moments.extremes
        facts["n_target"], facts["n_nontarget"] = int(moments.target.n), int(moments.nontarget.n)
        facts["range"] = [float(low), float(high)]
    except LlrkitError as error:
        facts["problem"] = str(error)
        if reading.label is None and (n := _count_questioned_scores(path, reading)) is not None:
            facts["n_questioned"] = n
    return {"facts": facts}


def _facts_of_table(path: str, reading: Reading) -> Facts:
    """Format, columns and first rows, as far as the file has any."""
    try:
        (scan, *_) = scan_tables(path, reading)
        columns = scan.like.table.columns
        first = next(iter(scan.read(columns)), scan.like).table.head(ROWS)
    except (LlrkitError, OSError) as error:
        return {"problem": str(error), "lines": _first_lines_of_file(path)}
    roles = scan.like.roles
    return {
        "format": scan.like.format,
        "columns": columns[:WIDEST],
        "roles": {"score": list(roles.score), "label": roles.label, "enroll": roles.enroll,
                  "test": roles.test, "calibrated": roles.calibrated},
        "rows": [[str(cell)[:WIDEST] for cell in row[:WIDEST]] for row in first.rows()],
    }  # fmt: skip


def _count_questioned_scores(path: str, reading: Reading) -> int | None:
    """How many scores there are, if they are nothing but scores: questioned ones."""
    try:
        trials = open_unlabeled(path, Reading(score=reading.score, columns=reading.columns))
        return int(trials.reduce(Moments.of).target.n)
    except LlrkitError:
        return None


def _first_lines_of_file(path: str) -> list[str]:
    with open(path, "rb") as file:
        text = file.read(2000).decode("utf-8", errors="replace")
    lines = ["".join(c if c.isprintable() else "·" for c in line)[:120] for line in text.splitlines()]
    return lines[:ROWS]
