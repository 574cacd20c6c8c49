"""Pages: templates with everything escaped, and what each of them is told."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, pass_context
from jinja2.runtime import Context
from starlette.responses import HTMLResponse, Response

from llrkit._version import __version__
from llrkit.app import saved_projects
from llrkit.app.forms import (
    ALL,
    BOUNDS,
    METHODS,
    METRICS,
    REPORTED,
    SECONDARY,
    columns_of,
    fields_of,
    usual_criteria,
)
from llrkit.app.project import DOCUMENTS, ORDER, UNITS, USES, WORDS, Project, said_in
from llrkit.app.session import Session
from llrkit.app.steps import STEPS
from llrkit.app.worker import Job
from llrkit.base.process import in_words
from llrkit.base.text import table_beside
from llrkit.verbs.criteria import LLRS

FOLDER = Path(__file__).with_name("templates")
HTML = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True)
HTML.filters["size"] = in_words
HTML.filters["command"] = shlex.join
HTML.filters["pair"] = lambda name: (name, name)


@pass_context
def _page_text(context: Context, text: str) -> str:
    """A text of a page in the words of its project."""
    said: str = context["project"].settings.vocabulary.say_of_sources(text)
    return said


@pass_context
def _library_text(context: Context, text: str) -> str:
    """What the library said, in the words of the project."""
    project: Project = context["project"]
    return said_in(project.settings.vocabulary, text, (*project.files, *project.columns))


HTML.filters["say"] = _page_text
HTML.filters["told"] = _library_text
STEP_TITLES = dict(table_beside(__file__, "steps.txt"))
"""Pages of a project, in order."""
DOCUMENT_TITLES = dict(table_beside(__file__, "documents.txt"))
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
    all_saved = saved_projects.saved_projects(session.place)
    saved = [name for name in all_saved if name not in names]
    page = HTML.get_template("start.html.j2").render(
        opened=opened,
        saved=saved,
        all_open=bool(all_saved),
        place=str(session.place),
        error=error,
        version=__version__,
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
        last = session.jobs_of(project)
        jobs = {name: job.to_dict() for name, job in last.items()}
        context: dict[str, object] = {
            "version": __version__, "project": project, "step": step, "titles": STEP_TITLES, "error": error,
            "before": steps[at - 1] if at else None, "after": steps[at + 1] if at + 1 < len(steps) else None,
            "jobs": jobs, "results": project.results, "stale": {s: project.is_stale(s) for s in ORDER},
            "stamps": {s: project.made(s) for s in ORDER},
            "labeled": [file.name for file in project.files.values() if file.labeled],
            "train": project.with_use("train"), "validation": project.with_use("validation"),
            "questioned": project.with_use("questioned"), "uses": USES, "max_upload": session.max_upload,
            "running": any(job["state"] in ("waiting", "running") for job in jobs.values()),
            "place": str(session.place), "document_titles": DOCUMENT_TITLES, "settings": project.settings,
            "columns": columns_of(project),
        }  # fmt: skip
        context["values"] = values if values is not None else form_values(project, step, last.get(step))
        if step in STEPS:
            context["fields"] = fields_of(STEPS[step].verb, STEPS[step].shown, project)
        if step in _FURTHER:
            context |= _FURTHER[step](project)
        page = HTML.get_template(f"{step}.html.j2").render(context)
    return HTMLResponse(page, status)


def form_values(project: Project, step: str, job: Job | None) -> dict[str, str]:
    """What a form shows: what was typed last, what was chosen for its result, or what is usual."""
    if job is not None and job.form:
        return job.form
    if step in project.results:
        form: dict[str, str] = project.results[step]["form"]
        return form
    return _usual_values(project, step)


def _usual_values(project: Project, step: str) -> dict[str, str]:
    used = {use: file.name if (file := project.with_use(use)) else "" for use in USES}
    if step == "evaluate":
        return {"scores": next((file.name for file in project.files.values() if file.labeled), "")}
    if step == "calibrate":
        ends = ("-2", "2") if project.settings.base_10 else ("-4.6", "4.6")
        method = project.results.get("advise", {}).get("suggested", "logistic")
        return {"method": method, "bound": "sources", "low": ends[0], "high": ends[1]}
    if step == "validate":
        return {"scores": used["validation"] or used["train"], **usual_criteria()}
    return {"scores": used["questioned"], "train": used["train"], "validation": used["validation"]}


def _documents_and_commands(project: Project) -> dict[str, object]:
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
    return [command for _, result in project.in_order() for command in result.get("commands", ())]


def _method_titles(project: Project) -> list[tuple[str, str]]:
    advised = project.results.get("advise")
    suggested = None if advised is None else advised.get("suggested")
    titles = {name: "best blend of several" if name == "best" else name for name in METHODS}
    return [
        (name, f"{title} (recommended)" if name == suggested else title) for name, title in titles.items()
    ]


def _metric_titles(project: Project) -> dict[str, str]:
    unit = project.settings.unit.short
    return {name: f"{title} ({unit})" if name in LLRS else title for name, title in METRICS.items()}


_FURTHER: dict[str, Callable[[Project], dict[str, object]]] = {
    "documents": _documents_and_commands,
    "files": lambda _: {"vocabularies": WORDS, "units": UNITS},
    "calibrate": lambda project: {"methods": _method_titles(project), "bounds": BOUNDS},
    "validate": lambda project: {
        "characteristics": ALL,
        "metrics": _metric_titles(project),
        "reported": REPORTED,
        "secondary": SECONDARY,
    },
}
