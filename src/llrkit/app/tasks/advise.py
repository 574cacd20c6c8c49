"""Advise: what the training scores look like, which methods suit them, and how well each does."""

from __future__ import annotations

from typing import Any

from llrkit._format import number
from llrkit.app.commands import advise_commands
from llrkit.app.tasks.task import Task, shown
from llrkit.choose.best import fit_best
from llrkit.evaluation.diagnose import diagnose
from llrkit.report.sections import Section, TextTable

HEADER = ("method", "Cllr in cross-validation", "more than the best (95 % interval)", "advice")
NOTE = (
    "Each trial is judged by a calibration that has not seen it, nor anything of its speakers: the columns "
    "that are named, otherwise the ids of the two sides where the file has both. Where an interval holds 0, "
    "these trials do not tell the method from the best."
)


def advise_task(task: Task) -> dict[str, Any]:
    """As ``llrkit diagnose`` and the table of ``llrkit calibrate --method best``."""
    name, speakers = task.choices["file"], task.choices["speakers"]
    path = task.path(name)
    trials = task.open(name)
    diagnosis = diagnose(trials)
    task.write_json(diagnosis.to_dict(), "diagnose", "advice.json")
    advice = {
        method: f"{'advised' if good else 'not advised'}: {why}" for method, good, why in diagnosis.advice
    }
    best = fit_best(trials, groups=speakers or None)
    table = best.details["cross_validation"]
    rows = [
        (row["method"], number(row["cllr"]), _difference(row, table[0]), _advice(row, advice))
        for row in table
    ]
    remarks = [f"{problem[0].upper()}{problem[1:]}." for problem in diagnosis.problems]
    section = Section("Methods compared", (), [TextTable(HEADER, tuple(rows))], note=NOTE)
    sections, pictures = shown([section], task)
    advised = [method for method, good, _ in diagnosis.advice if good]
    ranked = [row["method"] for row in table if "reason" not in row]
    first = next((method for method in ranked if method in advised), ranked[0] if ranked else "logistic")
    return {
        "suggested": first,
        "remarks": remarks,
        "sections": sections,
        "documents": ["advice.json", *pictures],
        "commands": advise_commands(path, task.reading(name), task.choices),
    }


def _difference(row: dict[str, Any], best: dict[str, Any]) -> str:
    """The distance from the best, with an interval where its error is known."""
    error = row.get("standard_error")
    if row is best or error is None or row.get("reason"):
        return ""
    gap = row["cllr"] - best["cllr"]
    return f"{gap:+.4f} [{gap - 1.96 * error:+.4f}, {gap + 1.96 * error:+.4f}]"


def _advice(row: dict[str, Any], advice: dict[str, str]) -> str:
    said = [row["reason"]] if row.get("reason") else []
    said += [str(flag) for flag in row.get("flags", ())]
    return "; ".join([*said, advice.get(row["method"], "")]).strip("; ")
