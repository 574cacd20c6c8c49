"""What the form of a step shows: what was typed last, what was chosen for its result, or what is usual."""

from __future__ import annotations

from collections.abc import Callable

from llrkit.app.background_jobs import Job
from llrkit.app.choice_types import StepChoices, ToCalibrate, ToEvaluate, ToReportCase, ToValidate
from llrkit.app.criteria_form import ALL, METRICS, SECONDARY, SHOWN
from llrkit.app.project import Project
from llrkit.verbs.criteria import CHARACTERISTICS


def form_values(project: Project, step: str, job: Job | None) -> dict[str, str]:
    """The fields of a form; that of ``job``, the last work of the step, is shown again however it ended."""
    usual = _OF_STEP.get(step, _nothing_shown)
    if job is not None and job.form:
        # boxes that were not checked are not in a form
        unchecked = dict.fromkeys(usual(project, None), "")
        return {**unchecked, **job.form}
    return usual(project, project.results[step]["choices"] if step in project.results else None)


def _nothing_shown(project: Project, chosen: StepChoices | None) -> dict[str, str]:
    return {}


def _shown_to_evaluate(project: Project, chosen: ToEvaluate | None) -> dict[str, str]:
    if chosen is None:
        first = next((file.name for file in project.files.values() if file.labeled), "")
        return {"file": first, "points": "", "ci": _usual_intervals(project), "by": ""}
    points = " ".join(chosen["points"])
    return {"file": chosen["file"], "points": points, "ci": chosen["ci"], "by": chosen["by"]}


def _usual_intervals(project: Project) -> str:
    return "speaker" if project.settings.speakers else "trial"


def _shown_to_calibrate(project: Project, chosen: ToCalibrate | None) -> dict[str, str]:
    advised = project.results.get("advise")
    suggested = "logistic" if advised is None else advised.get("suggested", "logistic")
    method, bound = (suggested, "sources") if chosen is None else (chosen["method"], chosen["bound"])
    unit = project.settings.unit
    kind, _, limits = bound.partition(":")
    ends = [float(end) / unit.nats for end in limits.split(",")] if limits else _usual_bounds(unit.base_10)
    low, high = (f"{end:g}" for end in ends)
    return {"method": method, "bound": kind, "low": low, "high": high}


def _usual_bounds(base_10: bool) -> list[float]:
    return [-2.0, 2.0] if base_10 else [-4.6, 4.6]


def _shown_to_validate(project: Project, chosen: ToValidate | None) -> dict[str, str]:
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


def _shown_for_case(project: Project, chosen: ToReportCase | None) -> dict[str, str]:
    if chosen is None:
        uses = ("questioned", "train", "validation")
        files = {use: file.name if (file := project.with_use(use)) else "" for use in uses}
        return {**files, "h1": "", "h2": "", "conditions": "", "scores": "", "verbal": ""}
    return {
        "questioned": chosen["questioned"], "train": chosen["train"], "validation": chosen["validation"],
        "h1": chosen["h1"], "h2": chosen["h2"], "conditions": chosen["conditions"],
        "scores": "\n".join(map(repr, chosen["scores"])), "verbal": "on" if chosen["verbal"] else "",
    }  # fmt: skip


# each is given the choices of its own step
_OF_STEP: dict[str, Callable[..., dict[str, str]]] = {
    "evaluate": _shown_to_evaluate,
    "calibrate": _shown_to_calibrate,
    "validate": _shown_to_validate,
    "case": _shown_for_case,
}
