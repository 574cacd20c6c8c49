"""What the form of a step shows: what was typed last, what was chosen for its result, or what is usual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llrkit.app.criteria_form import ALL, METRICS, SECONDARY, SHOWN
from llrkit.app.jobs import Job
from llrkit.app.project import Project
from llrkit.validation.criteria import CHARACTERISTICS


def form_values(project: Project, step: str, job: Job | None) -> dict[str, str]:
    """The fields of a form; that of ``job``, the last work of the step, is shown again however it ended."""
    usual = _OF_STEP.get(step, _nothing)
    if job is not None and job.form:
        # boxes that were not checked are not in a form
        unchecked = dict.fromkeys(usual(project, None), "")
        return {**unchecked, **job.form}
    return usual(project, project.results.get(step, {}).get("choices"))


def _nothing(project: Project, chosen: dict[str, Any] | None) -> dict[str, str]:
    return {}


def _evaluate(project: Project, chosen: dict[str, Any] | None) -> dict[str, str]:
    first = next((file.name for file in project.files.values() if file.labeled), "")
    asked = chosen or {"file": first, "points": [], "ci": _usual_intervals(project), "by": ""}
    return {"file": asked["file"], "points": " ".join(asked["points"]), "ci": asked["ci"], "by": asked["by"]}


def _usual_intervals(project: Project) -> str:
    return "speaker" if project.settings.speakers else "trial"


def _calibrate(project: Project, chosen: dict[str, Any] | None) -> dict[str, str]:
    suggested = project.results.get("advise", {}).get("suggested", "logistic")
    asked = chosen or {"method": suggested, "bound": "sources"}
    unit = project.settings.unit
    kind, _, limits = asked["bound"].partition(":")
    ends = [float(end) / unit.nats for end in limits.split(",")] if limits else _usual_bounds(unit.base_10)
    low, high = (f"{end:g}" for end in ends)
    return {"method": asked["method"], "bound": kind, "low": low, "high": high}


def _usual_bounds(base_10: bool) -> list[float]:
    return [-2.0, 2.0] if base_10 else [-4.6, 4.6]


def _validate(project: Project, chosen: dict[str, Any] | None) -> dict[str, str]:
    file = project.with_use("validation") or project.with_use("train")
    values = {
        "file": file.name if file else "",
        "ci": _usual_intervals(project),
        "interval": "",
        "verbal": "",
    }
    for i, name in enumerate(ALL):
        metric, limit, value = METRICS.get(name, (CHARACTERISTICS[name][0], "at_most", ""))
        values |= {f"metric{i}": metric, f"limit{i}": limit or "at_most", f"value{i}": value}
        values[f"on{i}"] = "on" if name in SHOWN else ""
        if name in SECONDARY:
            values |= {f"by{i}": "", f"change{i}": ""}
    if chosen is None:
        return values
    values |= {"file": chosen["file"], "ci": chosen["ci"], "interval": "on" if chosen["interval"] else "",
               "verbal": "on" if chosen.get("verbal") else ""}  # fmt: skip
    values |= {f"report_{name}": text for name, text in chosen["report"].items()}
    rows = {row["characteristic"]: row for row in chosen["rows"]}
    for i, name in enumerate(ALL):
        values[f"on{i}"] = "on" if name in rows else ""
        if name in rows:
            row = rows[name]
            values |= {f"metric{i}": row["metric"], f"limit{i}": row["limit"]}
            values[f"value{i}"] = f"{row['value']:g}" if "value" in row else ""
            values |= {f"by{i}": row.get("by", ""), f"change{i}": row.get("change_from", "")}
    return values


def _case(project: Project, chosen: dict[str, Any] | None) -> dict[str, str]:
    train, validation, questioned = (
        file.name if (file := project.with_use(use)) else "" for use in ("train", "validation", "questioned")
    )
    asked = chosen or {
        "scores": [], "questioned": questioned, "h1": "", "h2": "", "train": train, "validation": validation,
        "conditions": "", "verbal": False,
    }  # fmt: skip
    values = {name: asked[name] for name in ("questioned", "h1", "h2", "train", "validation", "conditions")}
    return values | {
        "scores": "\n".join(map(repr, asked["scores"])),
        "verbal": "on" if asked["verbal"] else "",
    }


_OF_STEP: dict[str, Callable[[Project, dict[str, Any] | None], dict[str, str]]] = {
    "evaluate": _evaluate,
    "calibrate": _calibrate,
    "validate": _validate,
    "case": _case,
}
