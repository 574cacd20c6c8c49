"""Pages: templates with everything escaped, and what each of them is told."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from starlette.responses import HTMLResponse, Response

from llrkit._llr_units import LN10
from llrkit._memory import in_words
from llrkit._version import __version__
from llrkit.app import saving
from llrkit.app.criteria_form import ALL, CHOICES, METRICS, SHOWN
from llrkit.app.forms import BOUNDS, METHODS, REPORTED
from llrkit.app.project import DOCUMENTS, STEPS, USES, Project
from llrkit.app.session import Session
from llrkit.validation.criteria import CHARACTERISTICS

FOLDER = Path(__file__).with_name("templates")
HTML = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True)
HTML.filters["size"] = in_words
HTML.filters["command"] = shlex.join
HTML.filters["pair"] = lambda name: (name, name)
HTML.filters["method_title"] = lambda name: (name, "best blend of several" if name == "best" else name)
STEP_TITLES = {
    "files": "Files",
    "evaluate": "Evaluate",
    "calibrate": "Calibrate",
    "validate": "Validate",
    "case": "Case",
    "documents": "Documents",
}
"""Pages of a project, in order."""
DOCUMENT_TITLES = {
    "evaluation.html": "Evaluation: report with interactive plots",
    "evaluation.json": "Evaluation: all numbers",
    "evaluation.csv": "Evaluation: table for a spreadsheet",
    "advice.json": "Advice on calibration: all numbers",
    "calibration.json": "The calibration, for llrkit apply and case",
    "criteria.toml": "Validation: the criteria",
    "validation.html": "Validation: report with interactive plots",
    "validation.docx": "Validation: report to edit",
    "validation.md": "Validation: report as plain text",
    "validation.json": "Validation: all numbers",
    "case.html": "Case report: page",
    "case.docx": "Case report: document to edit and sign",
    "case.md": "Case report: plain text",
    "case.json": "Case report: all numbers",
}
KINDS = {
    ".html": ("Page (HTML)", "text/html; charset=utf-8"),
    ".docx": ("Word", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ".json": ("JSON", "application/json"),
    ".csv": ("CSV", "text/csv; charset=utf-8"),
    ".md": ("Markdown", "text/markdown; charset=utf-8"),
    ".toml": ("TOML", "application/toml"),
    ".svg": ("Picture", "image/svg+xml"),
}


def refused(status: int, text: str) -> Response:
    """The page of a request that cannot be answered."""
    page = HTML.get_template("refused.html.j2").render(text=text, version=__version__)
    return HTMLResponse(page, status)


def start_page(session: Session, *, error: str = "", status: int = 200) -> Response:
    """All projects: those that are open, and those that are saved."""
    with session.lock:
        opened = list(session.projects.values())
    names = {project.name for project in opened}
    saved = [name for name in saving.saved_projects(session.place) if name not in names]
    page = HTML.get_template("start.html.j2").render(
        opened=opened, saved=saved, place=str(session.place), error=error, version=__version__
    )
    return HTMLResponse(page, status)


def project_page(
    session: Session,
    project: Project,
    step: str,
    *,
    error: str = "",
    values: dict[str, str] | None = None,
    status: int = 200,
) -> Response:
    """One step of a project; ``values`` are those of a form that was refused."""
    steps = list(STEP_TITLES)
    at = steps.index(step)
    with project.lock:
        jobs = {name: job.to_dict() for name, job in session.jobs_of(project).items()}
        context: dict[str, Any] = {
            "version": __version__, "project": project, "step": step, "titles": STEP_TITLES, "error": error,
            "before": steps[at - 1] if at else None, "after": steps[at + 1] if at + 1 < len(steps) else None,
            "jobs": jobs, "results": project.results, "stale": {s: project.is_stale(s) for s in STEPS},
            "stamps": {s: project.results.get(s, {}).get("made", "") for s in STEPS},
            "labeled": [file.name for file in project.files.values() if file.labeled],
            "train": project.with_use("train"), "validation": project.with_use("validation"),
            "questioned": project.with_use("questioned"), "uses": USES, "max_upload": session.max_upload,
            "running": any(job["state"] in ("waiting", "running") for job in jobs.values()),
            "place": str(session.place), "document_titles": DOCUMENT_TITLES,
        }  # fmt: skip
        context["values"] = values if values is not None else _values(project, step)
        context |= _FURTHER.get(step, lambda _: {})(project)
        page = HTML.get_template(f"{step}.html.j2").render(context)
    return HTMLResponse(page, status)


def _values(project: Project, step: str) -> dict[str, str]:
    """What the form of a step shows: what was chosen last, or what is usual."""
    chosen = project.results.get(step, {}).get("choices")
    speakers = ",".join((chosen or {}).get("speakers", ()))
    validation, train = project.with_use("validation"), project.with_use("train")
    first = next((file.name for file in project.files.values() if file.labeled), "")
    if step == "evaluate":
        asked = chosen or {"file": first, "points": [], "ci": "trial", "by": ""}
        return {"file": asked["file"], "points": " ".join(asked["points"]), "ci": asked["ci"],
                "by": asked["by"], "speakers": speakers}  # fmt: skip
    if step == "calibrate":
        suggested = project.results.get("advise", {}).get("suggested", "logistic")
        asked = chosen or {"method": suggested, "bound": "sources"}
        kind, _, limits = asked["bound"].partition(":")
        ends = [float(end) / LN10 for end in limits.split(",")] if limits else [-2.0, 2.0]
        low, high = (f"{end:g}" for end in ends)
        return {"method": asked["method"], "bound": kind, "low": low, "high": high, "speakers": speakers}
    if step == "validate":
        return _criteria_values(
            chosen, validation.name if validation else train.name if train else "", speakers
        )
    if step == "case":
        questioned = project.with_use("questioned")
        asked = chosen or {
            "scores": [], "questioned": questioned.name if questioned else "", "h1": "", "h2": "",
            "train": train.name if train else "", "validation": validation.name if validation else "",
            "conditions": "", "verbal": False, "base_10": False,
        }  # fmt: skip
        return {"scores": "\n".join(map(repr, asked["scores"])), "questioned": asked["questioned"],
                "h1": asked["h1"], "h2": asked["h2"], "train": asked["train"], "speakers": speakers,
                "validation": asked["validation"], "conditions": asked["conditions"],
                **_switches(asked)}  # fmt: skip
    return {}


def _switches(chosen: dict[str, Any]) -> dict[str, str]:
    """How documents are written; a project of an earlier version does not have them all."""
    return {name: "on" if chosen.get(name) else "" for name in ("verbal", "base_10")}


def _criteria_values(chosen: dict[str, Any] | None, file: str, speakers: str) -> dict[str, str]:
    values = {"file": file, "ci": "trial", "speakers": speakers, "interval": "", **_switches({})}
    for i, name in enumerate(ALL):
        metric, limit, value = METRICS.get(name, (CHARACTERISTICS[name][0], "at_most", ""))
        values |= {f"metric{i}": metric, f"limit{i}": limit or "at_most", f"value{i}": value}
        values[f"on{i}"] = "on" if name in SHOWN else ""
    if chosen is None:
        return values
    values |= {"file": chosen["file"], "ci": chosen["ci"], "interval": "on" if chosen["interval"] else "",
               **_switches(chosen)}  # fmt: skip
    values |= {f"report_{name}": text for name, text in chosen["report"].items()}
    rows = {row["characteristic"]: row for row in chosen["rows"]}
    for i, name in enumerate(ALL):
        values[f"on{i}"] = "on" if name in rows else ""
        if name in rows:
            row = rows[name]
            values |= {f"metric{i}": row["metric"], f"limit{i}": row["limit"]}
            values[f"value{i}"] = f"{row['value']:g}" if "value" in row else ""
    return values


def _documents(project: Project) -> dict[str, Any]:
    """All documents with kind and size, and all command lines in order."""
    rows = []
    for name, step in project.documents().items():
        if name in DOCUMENT_TITLES:
            size = (project.folder / DOCUMENTS / name).stat().st_size
            kind = KINDS[Path(name).suffix][0]
            rows.append({"name": name, "kind": kind, "size": size, "stale": project.is_stale(step)})
    return {"documents": rows, "commands": all_commands(project)}


def all_commands(project: Project) -> list[list[str]]:
    """The command lines of all steps that were taken, in order."""
    return [command for step in STEPS for command in project.results.get(step, {}).get("commands", ())]


_FURTHER: dict[str, Any] = {
    "documents": _documents,
    "calibrate": lambda _: {"methods": METHODS, "bounds": BOUNDS},
    "validate": lambda _: {"characteristics": ALL, "metrics": CHOICES, "reported": REPORTED},
}
