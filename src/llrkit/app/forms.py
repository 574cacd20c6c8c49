"""Forms as choices: what a page sends is checked here, field by field, before any work begins."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request

from llrkit.app.criteria_form import ALL, CHOICES, SECONDARY
from llrkit.app.names import one_line
from llrkit.app.project import USES, Project, ScoreFile
from llrkit.app.settings import UNITS, WORDS, Settings
from llrkit.errors import InputError

LARGEST = 256 << 10
"""Bytes of a form."""
MOST_FIELDS = 500
MOST_SCORES = 200
BOUNDS = {
    "sources": "by the number of independent sources",
    "elub": "by ELUB",
    "invariance": "by invariance",
    "fixed": "by two numbers",
    "none": "not bounded",
}
METHODS = (
    "best",
    "logistic",
    "cmlg",
    "saturating",
    "tied-nig",
    "gaussian",
    "nig",
    "kde",
    "bigaussian",
    "pav",
)
FILE_FIELDS = ("file", "train", "validation", "questioned")
"""Choices that are names of files."""
Form = Mapping[str, str]


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; the last where one comes twice."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise InputError("a form comes as application/x-www-form-urlencoded")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            raise InputError("the form is too large")
    try:
        fields = parse_qs(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
        )
    except ValueError:  # also of text that is no UTF-8
        raise InputError("the form cannot be read") from None
    return {name: values[-1] for name, values in fields.items()}


def reading_choices(form: Form, file: ScoreFile) -> tuple[str, dict[str, Any]]:
    """What a file is for, and the options of reading it."""
    use = _one_of(form, "use", USES)
    columns = (file.facts or {}).get("columns", ())
    reading: dict[str, Any] = {}
    for name in ("score", "label"):
        column = form.get(name, "")
        if column and column not in columns:
            raise InputError(f"there is no column {one_line(column, 60)!r}")
        if column:
            reading[name] = [column] if name == "score" else column
    if positive := one_line(form.get("positive", ""), 100):
        reading["positive"] = positive
    kind = _one_of(form, "kind", ("", "log10", "distance"))
    if kind:
        reading[kind] = True
    if decimal := _one_of(form, "decimal", ("", ".", ",")):
        reading["decimal"] = decimal
    if _one_of(form, "missing_scores", ("", "drop")):
        reading["missing_scores"] = "drop"
    if names := _names(form.get("columns", "")):
        reading["columns"] = names
    return use, reading


def as_typed(form: Form) -> dict[str, str]:
    """What a form shows again after a refusal or a failure; only the scores of a case have lines."""
    return {name: text[:4000] if name == "scores" else one_line(text, 4000) for name, text in form.items()}


def settings_choices(form: Form, project: Project) -> Settings:
    """What is chosen once for the whole project."""
    columns = columns_of(project)
    speakers = tuple(dict.fromkeys(name for name in (form.get("speaker1"), form.get("speaker2")) if name))
    for name in speakers:
        if name not in columns:
            raise InputError(f"there is no column {one_line(name, 60)!r}")
    return Settings(_one_of(form, "words", WORDS), _one_of(form, "base_10", UNITS) == "on", speakers)


def columns_of(project: Project) -> list[str]:
    """All columns of files of known origin, each once."""
    files = [file for file in project.files.values() if file.labeled and file.facts]
    return list(dict.fromkeys(name for file in files for name in (file.facts or {}).get("columns", ())))


def _said_by(project: Project) -> dict[str, Any]:
    """The settings, as choices of every step."""
    return project.settings.to_dict()


def _intervals(form: Form, project: Project) -> dict[str, Any]:
    """The kind of intervals, with the speakers where they are for trials that share them."""
    ci = _one_of(form, "ci", ("", "trial", "speaker"))
    speakers = list(project.settings.speakers)
    if ci == "speaker" and not speakers:
        raise InputError("choose the columns of the speakers first, on the page of the files")
    return {"ci": ci, "speakers": speakers if ci == "speaker" else []}


def evaluate_choices(form: Form, project: Project) -> dict[str, Any]:
    """Of the evaluation."""
    file = labeled_file(form, project, "file")
    points = [one_line(point, 40) for point in re.split(r"[\s;]+", form.get("points", "")) if point]
    return {
        **_said_by(project), **_intervals(form, project), "file": file.name, "points": points[:20],
        "by": one_line(form.get("by", ""), 100),
    }  # fmt: skip


def advise_choices(form: Form, project: Project) -> dict[str, Any]:
    """Of the advice."""
    return {**_said_by(project), "file": _training(project).name}


def calibrate_choices(form: Form, project: Project) -> dict[str, Any]:
    """Of the calibration; fixed bounds are given in the unit of the project."""
    bound = _one_of(form, "bound", BOUNDS)
    if bound == "fixed":
        low, high = (_number(form, name, what) for name, what in (("low", "lower"), ("high", "upper")))
        nats = project.settings.unit.nats
        bound = f"fixed:{low * nats!r},{high * nats!r}"
    method = _one_of(form, "method", METHODS)
    return {**_said_by(project), "file": _training(project).name, "method": method, "bound": bound}


def validate_choices(form: Form, project: Project) -> dict[str, Any]:
    """Of the validation: the criteria that are switched on."""
    _require_calibration(project)
    rows = []
    for i, characteristic in enumerate(ALL):
        if not form.get(f"on{i}"):
            continue
        metric, limit = (
            _one_of(form, f"metric{i}", CHOICES),
            _one_of(form, f"limit{i}", ("at_most", "at_least")),
        )
        row: dict[str, Any] = {"characteristic": characteristic, "metric": metric, "limit": limit}
        if metric != "verdict":
            row["value"] = _number(form, f"value{i}", f"limit of {characteristic}")
        if characteristic in SECONDARY:
            row |= _compared(form, i, characteristic, project)
        rows.append(row)
    if not rows:
        raise InputError("choose at least one criterion")
    report = {name: one_line(form.get(f"report_{name}", ""), 1000) for name in REPORTED}
    return {
        **_said_by(project), **_intervals(form, project), "rows": rows, "report": report,
        "file": labeled_file(form, project, "file").name, "interval": bool(form.get("interval")),
        "verbal": bool(form.get("verbal")),
    }  # fmt: skip


def _compared(form: Form, i: int, characteristic: str, project: Project) -> dict[str, str]:
    """What a secondary characteristic is about: the values of a column, or the change from another file."""
    by, before = one_line(form.get(f"by{i}", ""), 100), form.get(f"change{i}", "")
    if characteristic == "generalization" and not (by or before):
        return {}  # the file itself holds data of another kind
    if bool(by) == bool(before):
        raise InputError(
            f"{characteristic}: choose either a column, every value of which must meet the limit, or a file "
            "from which the change is counted"
        )
    if before:
        return {"change_from": labeled_file(form, project, f"change{i}").name}
    if by not in columns_of(project):
        raise InputError(f"{characteristic}: there is no column {one_line(by, 60)!r}")
    return {"by": by}


REPORTED = ("system", "version", "hypotheses", "population", "conditions")
"""What is stated in words; calibration and bounds are known."""


def case_choices(form: Form, project: Project) -> dict[str, Any]:
    """Of the case report."""
    _require_calibration(project)
    h1, h2 = (one_line(form.get(name, ""), 1000) for name in ("h1", "h2"))
    for text, which in ((h1, "first"), (h2, "second")):
        if not text:
            raise InputError(
                f"the {which} proposition is missing: an LLR says nothing without the two propositions it "
                'compares, in words that can follow "if"'
            )
    scores, questioned = _scores(form.get("scores", "")), ""
    if form.get("questioned"):
        questioned = project.file(form["questioned"]).name
    if bool(scores) == bool(questioned):
        raise InputError("give the questioned scores either as numbers or as a file")
    train = _training(project).name if form.get("train") else ""
    validation = labeled_file(form, project, "validation").name if form.get("validation") else ""
    return {
        **_said_by(project), "scores": scores, "questioned": questioned, "h1": h1, "h2": h2, "train": train,
        "speakers": list(project.settings.speakers) if train else [], "validation": validation,
        "conditions": one_line(form.get("conditions", ""), 2000), "verbal": bool(form.get("verbal")),
    }  # fmt: skip


CHOICES_OF: dict[str, Callable[[Form, Project], dict[str, Any]]] = {
    "evaluate": evaluate_choices,
    "advise": advise_choices,
    "calibrate": calibrate_choices,
    "validate": validate_choices,
    "case": case_choices,
}


def labeled_file(form: Form, project: Project, field: str) -> ScoreFile:
    """A file of known origin that a form names."""
    file = project.file(form.get(field, ""))
    if not file.labeled:
        raise InputError(f"{file.name} holds no trials of known origin; see the page of the files")
    return file


def _training(project: Project) -> ScoreFile:
    file = project.with_use("train")
    if file is None or not file.labeled:
        raise InputError("no file is for calibration yet; choose one on the page of the files")
    return file


def _require_calibration(project: Project) -> None:
    if "calibrate" not in project.results:
        raise InputError("there is no calibration yet; make one first")


def _scores(text: str) -> list[float]:
    """Numbers separated by spaces, lines or semicolons."""
    words = [word for word in re.split(r"[\s;]+", text) if word]
    if len(words) > MOST_SCORES:
        raise InputError(f"these are {len(words)} scores; more than {MOST_SCORES} come as a file")
    scores = []
    for word in words:
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or "_" in word:
            raise InputError(f"{one_line(word, 40)!r} is not a number; write scores like 0.52, with a point")
        scores.append(value)
    return scores


def _number(form: Form, field: str, what: str) -> float:
    try:
        value = float(form.get(field, ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{what}: {one_line(form.get(field, ''), 40)!r} is not a number")
    return value


def _names(text: str) -> list[str]:
    return [name for name in (one_line(part, 100) for part in text.split(",")) if name][:60]


def _one_of(form: Form, field: str, accepted: Any) -> str:
    value = form.get(field, "")
    if value not in accepted:
        raise InputError(f"{field}: {one_line(value, 40)!r} is not one of the choices")
    return value
