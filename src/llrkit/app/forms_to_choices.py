"""Forms as choices: what a page sends is checked here, field by field, before any work begins."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import parse_qs

from starlette.requests import Request

from llrkit.app.choice_types import (
    CriterionRow,
    StepChoices,
    ToAdvise,
    ToCalibrate,
    ToEvaluate,
    ToReportCase,
    ToValidate,
)
from llrkit.app.criteria_form import ALL, CHOICES, SECONDARY
from llrkit.app.form_field_checks import LARGEST, Form, names_of, number_of, one_of, scores_of, text_of
from llrkit.app.project import USES, Project, ScoreFile
from llrkit.app.project_settings import UNITS, WORDS, Settings
from llrkit.app.safe_names import one_line
from llrkit.base.text import Json
from llrkit.errors import InputError
from llrkit.verbs.criteria import REPORT_FIELDS

MOST_FIELDS = 500
MOST_POINTS = 20
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
    "bayes",
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


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; the last where one comes twice."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise InputError("expected a form sent as application/x-www-form-urlencoded")
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


def reading_choices(form: Form, file: ScoreFile) -> tuple[str, dict[str, Json]]:
    """What a file is for, and the options of reading it."""
    use = one_of(form, "use", USES)
    reading: dict[str, Json] = {}
    for name in ("score", "label"):
        column = form.get(name, "")
        if column and column not in file.columns:
            raise InputError(f"there is no column {one_line(column, 60)!r}")
        if column:
            reading[name] = [column] if name == "score" else column
    if positive := text_of(form, "positive", "label that means same source", 100):
        reading["positive"] = positive
    kind = one_of(form, "kind", ("", "log10", "distance"))
    if kind:
        reading[kind] = True
    if decimal := one_of(form, "decimal", ("", ".", ",")):
        reading["decimal"] = decimal
    if one_of(form, "missing_scores", ("", "drop")):
        reading["missing_scores"] = "drop"
    if names := names_of(form.get("columns", "")):
        reading["columns"] = names
    return use, reading


def as_typed(form: Form) -> dict[str, str]:
    """What a form shows again after a refusal or a failure; only the scores of a case have lines."""
    return {name: text if name == "scores" else one_line(text, LARGEST) for name, text in form.items()}


def settings_choices(form: Form, project: Project) -> Settings:
    """What is chosen once for the whole project."""
    columns = columns_of(project)
    speakers = tuple(dict.fromkeys(name for name in (form.get("speaker1"), form.get("speaker2")) if name))
    for name in speakers:
        if name not in columns:
            raise InputError(f"there is no column {one_line(name, 60)!r}")
    return Settings(one_of(form, "words", WORDS), one_of(form, "base_10", UNITS) == "on", speakers)


def columns_of(project: Project) -> list[str]:
    """All columns of files of known origin, each once."""
    files = [file for file in project.files.values() if file.labeled]
    return list(dict.fromkeys(name for file in files for name in file.columns))


def _intervals_chosen(form: Form, project: Project) -> tuple[str, list[str]]:
    """The kind of intervals, with the speakers where they are for trials that share them."""
    ci = one_of(form, "ci", ("", "trial", "speaker"))
    speakers = list(project.settings.speakers)
    if ci == "speaker" and not speakers:
        raise InputError("choose the speaker columns first, on the page Files")
    return ci, speakers if ci == "speaker" else []


def evaluate_choices(form: Form, project: Project) -> ToEvaluate:
    """Of the evaluation."""
    file = labeled_file(form, project, "file")
    points = [one_line(point, 40) for point in re.split(r"[\s;]+", form.get("points", "")) if point]
    if len(points) > MOST_POINTS:
        raise InputError(f"got {len(points)} operating points; at most {MOST_POINTS} are accepted")
    ci, speakers = _intervals_chosen(form, project)
    return {
        **project.settings.to_dict(), "ci": ci, "speakers": speakers, "file": file.name, "points": points,
        "by": one_line(form.get("by", ""), 100),
    }  # fmt: skip


def advise_choices(form: Form, project: Project) -> ToAdvise:
    """Of the advice."""
    return {**project.settings.to_dict(), "file": _training_file(project).name}


def calibrate_choices(form: Form, project: Project) -> ToCalibrate:
    """Of the calibration; fixed bounds are given in the unit of the project."""
    bound = one_of(form, "bound", BOUNDS)
    if bound == "fixed":
        low, high = (number_of(form, name, what) for name, what in (("low", "lower"), ("high", "upper")))
        nats = project.settings.unit.nats
        bound = f"fixed:{low * nats!r},{high * nats!r}"
    method = one_of(form, "method", METHODS)
    return {
        **project.settings.to_dict(),
        "file": _training_file(project).name,
        "method": method,
        "bound": bound,
    }


def validate_choices(form: Form, project: Project) -> ToValidate:
    """Of the validation: the criteria that are switched on."""
    _require_calibration_first(project)
    rows: list[CriterionRow] = []
    for i, characteristic in enumerate(ALL):
        if not form.get(f"on{i}"):
            continue
        metric, limit = (
            one_of(form, f"metric{i}", CHOICES),
            one_of(form, f"limit{i}", ("at_most", "at_least")),
        )
        row: CriterionRow = {"characteristic": characteristic, "metric": metric, "limit": limit}
        if metric != "verdict":
            row["value"] = number_of(form, f"value{i}", f"limit of {characteristic}")
        if characteristic in SECONDARY:
            _comparison_chosen(row, form, i, project)
        rows.append(row)
    if not rows:
        raise InputError("choose at least one criterion")
    report = {name: text_of(form, f"report_{name}", name, 1000) for name in REPORTED}
    ci, speakers = _intervals_chosen(form, project)
    if form.get("interval") and not ci:
        raise InputError("to judge by whole intervals, choose a kind of interval")
    return {
        **project.settings.to_dict(), "ci": ci, "speakers": speakers, "rows": rows, "report": report,
        "file": labeled_file(form, project, "file").name, "interval": bool(form.get("interval")),
        "verbal": bool(form.get("verbal")),
    }  # fmt: skip


def _comparison_chosen(row: CriterionRow, form: Form, i: int, project: Project) -> None:
    """What a secondary characteristic is about: the values of a column, or the change from another file."""
    by, before = one_line(form.get(f"by{i}", ""), 100), form.get(f"change{i}", "")
    characteristic = row["characteristic"]
    if characteristic == "generalization" and not (by or before):
        return  # the file itself holds data of another kind
    if bool(by) == bool(before):
        raise InputError(
            f"{characteristic}: choose either a column, every value of which must meet the limit, or a file "
            "to measure the change from"
        )
    if before:
        row["change_from"] = labeled_file(form, project, f"change{i}").name
    elif by in columns_of(project):
        row["by"] = by
    else:
        raise InputError(f"{characteristic}: there is no column {one_line(by, 60)!r}")


REPORTED = tuple(name for name in REPORT_FIELDS if name not in ("calibration", "bounds"))
"""What is stated in words; calibration and bounds are known."""


def case_choices(form: Form, project: Project) -> ToReportCase:
    """Of the case report."""
    _require_calibration_first(project)
    h1 = text_of(form, "h1", "first proposition", 1000)
    h2 = text_of(form, "h2", "second proposition", 1000)
    for text, which in ((h1, "first"), (h2, "second")):
        if not text:
            raise InputError(
                f"the {which} proposition is missing: an LLR says nothing without the two propositions it "
                'compares, in words that can follow "if"'
            )
    scores, questioned = scores_of(form.get("scores", "")), ""
    if form.get("questioned"):
        questioned = project.file(form["questioned"]).name
    if bool(scores) == bool(questioned):
        raise InputError("give the questioned scores either as numbers or as a file")
    train = _training_file(project).name if form.get("train") else ""
    validation = labeled_file(form, project, "validation").name if form.get("validation") else ""
    return {
        **project.settings.to_dict(), "scores": scores, "questioned": questioned, "h1": h1, "h2": h2,
        "train": train,
        "speakers": list(project.settings.speakers) if train else [], "validation": validation,
        "conditions": text_of(form, "conditions", "recordings", 2000),
        "verbal": bool(form.get("verbal")),
    }  # fmt: skip


CHOICES_OF: dict[str, Callable[[Form, Project], StepChoices]] = {
    "evaluate": evaluate_choices,
    "advise": advise_choices,
    "calibrate": calibrate_choices,
    "validate": validate_choices,
    "case": case_choices,
}


def files_in(choices: StepChoices) -> list[str]:
    """The files that a step rests on, by name."""
    named = [name for field in FILE_FIELDS if isinstance(name := choices.get(field), str) and name]
    if "rows" in choices:
        named += [before for row in choices["rows"] if (before := row.get("change_from"))]
    return named


def labeled_file(form: Form, project: Project, field: str) -> ScoreFile:
    """A file of known origin that a form names."""
    file = project.file(form.get(field, ""))
    if not file.labeled:
        raise InputError(f"{file.name} has no labeled trials; see the page Files")
    return file


def _training_file(project: Project) -> ScoreFile:
    file = project.with_use("train")
    if file is None or not file.labeled:
        raise InputError("no file is for calibration yet; choose one on the page Files")
    return file


def _require_calibration_first(project: Project) -> None:
    if "calibrate" not in project.results:
        raise InputError("there is no calibration yet; make one first")
