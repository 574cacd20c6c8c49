"""Forms: their fields come from the declarations of options, and what is sent is checked before any work."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from llrkit.app.project import FILES, UNITS, USES, WORDS, Project, ScoreFile, Settings, one_line
from llrkit.base.options import FILES_READ, REPEATED, Option, Options, declared, defaults, parameter_of
from llrkit.base.text import Json, table_beside
from llrkit.errors import InputError
from llrkit.jobs.table import VERBS
from llrkit.results.vocabulary import llr_unit
from llrkit.verbs.criteria import CHARACTERISTICS, LLRS, REPORT_FIELDS

if TYPE_CHECKING:
    from starlette.requests import Request

LARGEST = 256 << 10
"""Bytes of a form."""
MOST_FIELDS = 500
MOST_VALUES = 200
"""Values of a field that takes several."""
LONGEST_TEXT = 2000
Form = Mapping[str, str]


@dataclass(frozen=True)
class Field:
    """A field of a form."""

    name: str
    label: str
    hint: str
    widget: str
    """``check``, ``choose``, ``text`` or ``lines``."""
    choices: tuple[tuple[str, str], ...] = ()
    """Values and their texts."""
    required: bool = False
    wide: bool = False


def field_of(
    part: type[Options], name: str, *, columns: Sequence[str] = (), files: Sequence[str] = ()
) -> Field:
    """The field of an option: a box, a choice among words, columns or files, or a text.

    Examples
    --------
    >>> from llrkit.verbs.options import EvaluateOptions
    >>> field_of(EvaluateOptions, "by", columns=["room"]).choices
    (('', 'none'), ('room', 'room'))
    """
    option, usual = declared(part)[name], defaults(part)[name]
    nothing = (("", option.default_text or ("none" if not usual else str(usual))),)
    choices: tuple[tuple[str, str], ...] = ()
    if option.choices:
        choices = (*nothing, *((word, word) for word in option.choices if word != usual))
    elif option.kind in ("column", "columns"):
        choices = (*nothing, *((column, column) for column in columns))
    elif option.kind in FILES_READ:
        choices = (*(() if option.required else nothing), *((file, file) for file in files))
    widget = "check" if option.kind == "flag" else "choose" if choices else "text"
    if option.kind == "numbers":
        widget = "lines"
    hint = option.help + (" Several are separated by spaces." if option.kind in REPEATED else "")
    label = option.label or name.replace("_", " ").capitalize()
    wide = widget == "lines" or (widget == "text" and option.kind == "text")
    return Field(parameter_of(part, name), label, hint, widget, choices, option.required, wide)


def fields_of(verb: str, names: Iterable[str], project: Project) -> list[Field]:
    """The fields of a step, by the names of its options as they are typed."""
    known = {parameter_of(part, name): (part, name) for part, name, _ in VERBS[verb].options()}
    columns, files = columns_of(project), [file.name for file in project.files.values() if file.is_understood]
    return [field_of(*known[name], columns=columns, files=files) for name in names]


def values_of(verb: str, names: Iterable[str], form: Form, project: Project) -> dict[str, object]:
    """What a form says of the options of a verb, as a command line would; what is left empty is not said."""
    known = {parameter_of(part, name): option for part, name, option in VERBS[verb].options()}
    asked: dict[str, object] = {}
    for name in names:
        option = known[name]
        text = _text_of(form, name, option.label or name)
        if not text:
            continue
        if option.kind == "flag":
            asked[name] = True
        elif option.kind in FILES_READ:
            path = f"{FILES}/{project.file(text).name}"
            asked[name] = (path,) if option.kind == "reads" else path
        elif option.kind in REPEATED:
            asked[name] = _several(text, option, name)
        elif option.kind in ("column", "columns") and text not in columns_of(project):
            raise InputError(f"there is no column {one_line(text, 60)!r}")
        else:
            asked[name] = text
    return asked


def _several(text: str, option: Option, name: str) -> tuple[str, ...]:
    words = tuple(word for word in re.split(r"[\s;]+", text) if word)
    if len(words) > MOST_VALUES:
        raise InputError(f"{option.label or name}: at most {MOST_VALUES} are accepted, got {len(words)}")
    return words


def _text_of(form: Form, name: str, what: str) -> str:
    """A text of one line; a longer one is refused, as nothing that is signed may be cut."""
    text = one_line(form.get(name, ""), LARGEST)
    if len(text) > LONGEST_TEXT:
        raise InputError(
            f"{what}: {len(text):,} characters are too many; at most {LONGEST_TEXT:,} are accepted"
        )
    return text


def one_of(form: Form, field: str, accepted: Container[str]) -> str:
    """One of the values that a form offers."""
    value = form.get(field, "")
    if value not in accepted:
        raise InputError(f"{field}: {one_line(value, 40)!r} is not one of the choices")
    return value


def number_of(form: Form, field: str, what: str) -> float:
    """A finite number."""
    try:
        value = float(form.get(field, ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{what}: {one_line(form.get(field, ''), 40)!r} is not a number")
    return value


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


def as_shown_again(form: Form) -> dict[str, str]:
    """What a form shows again; only the scores of a case have lines."""
    return {name: text if name == "score" else one_line(text, LARGEST) for name, text in form.items()}


# the page of the files


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
    if positive := _text_of(form, "positive", "label that means same source"):
        reading["positive"] = positive
    if kind := one_of(form, "kind", ("", "log10", "distance")):
        reading[kind] = True
    if decimal := one_of(form, "decimal", ("", ".", ",")):
        reading["decimal"] = decimal
    if one_of(form, "missing_scores", ("", "drop")):
        reading["missing_scores"] = "drop"
    if text := _text_of(form, "columns", "names of columns"):
        reading["columns"] = [name for part in text.split(",") if (name := part.strip())]
    return use, reading


def settings_choices(form: Form, project: Project) -> Settings:
    """What is chosen once for the whole project."""
    speakers = tuple(dict.fromkeys(name for name in (form.get("speaker1"), form.get("speaker2")) if name))
    for name in speakers:
        if name not in columns_of(project):
            raise InputError(f"there is no column {one_line(name, 60)!r}")
    return Settings(one_of(form, "words", WORDS), one_of(form, "base_10", UNITS) == "on", speakers)


def speakers_of(form: Form, project: Project) -> list[str]:
    """The columns of the speakers, unless the kind of intervals that was chosen has no use for them."""
    return [] if form.get("ci", "") in ("none", "trial") else list(project.settings.speakers)


def columns_of(project: Project) -> list[str]:
    """All columns of files of known origin, each once."""
    files = [file for file in project.files.values() if file.labeled]
    return list(dict.fromkeys(name for file in files for name in file.columns))


BOUNDS = dict(table_beside(__file__, "bounds.txt"))
METHODS = (
    "best", "logistic", "bayes", "cmlg", "saturating", "tied-nig", "gaussian", "nig", "kde", "bigaussian",
    "pav",
)  # fmt: skip
"""Of the form; the command line has more."""

# criteria by form, as the TOML file that ``llrkit validate`` reads

METRICS = dict(table_beside(__file__, "metrics.txt"))
"""Metrics of the form; a file of criteria can have more."""
USUAL = {"accuracy": ("cllr", "0.5"), "discriminating power": ("eer", "0.1"), "calibration": ("verdict", "")}
"""Criteria that are switched on at first: metric and value."""
SECONDARY = ("robustness", "coherence", "generalization")
"""How performance changes (Meuwly, Ramos & Haraksim 2017): over a column, or from another file."""
ALL = tuple(CHARACTERISTICS)
REPORTED = tuple(name for name in REPORT_FIELDS if name not in ("calibration", "bounds"))
"""What is stated in words; calibration and bounds are known."""


def usual_criteria() -> dict[str, str]:
    """The fields of the criteria before anything was chosen."""
    values: dict[str, str] = {}
    for i, name in enumerate(ALL):
        metric, value = USUAL.get(name, (CHARACTERISTICS[name][0], ""))
        values |= {f"metric{i}": metric, f"limit{i}": "at_most", f"value{i}": value}
        values[f"on{i}"] = "on" if name in USUAL else ""
    return values


def criteria_of(form: Form, project: Project) -> tuple[str, list[str]]:
    """The criteria that are switched on as TOML, and the files that they measure changes from."""
    asked = {"ci": form.get("ci", ""), "speakers": speakers_of(form, project)}
    stated: dict[str, Json] = {
        name: text for name in REPORTED if (text := _text_of(form, f"report_{name}", name))
    }
    tables: list[tuple[str, dict[str, Json]]] = [
        ("[options]", {name: value for name, value in asked.items() if value}),
        ("[report]", stated),
    ]
    others: list[str] = []
    for i, characteristic in enumerate(ALL):
        if not form.get(f"on{i}"):
            continue
        metric = one_of(form, f"metric{i}", METRICS)
        row: dict[str, Json] = {"characteristic": characteristic, "metric": metric}
        if metric != "verdict":
            nats = llr_unit(project.settings.base_10).nats if metric in LLRS else 1.0
            limit = one_of(form, f"limit{i}", ("at_most", "at_least"))
            row[limit] = number_of(form, f"value{i}", f"limit of {characteristic}") * nats
        if characteristic in SECONDARY:
            others += _change(row, form, i, project)
        tables.append(("[[criterion]]", row))
    if len(tables) == 2:
        raise InputError("choose at least one criterion")
    return "\n".join(line for head, values in tables for line in _toml_table(head, values)), others


def _change(row: dict[str, Json], form: Form, i: int, project: Project) -> Iterator[str]:
    """What a secondary characteristic is about: the values of a column, or the change from another file."""
    by, before, characteristic = form.get(f"by{i}", ""), form.get(f"change{i}", ""), row["characteristic"]
    if characteristic == "generalization" and not (by or before):
        return  # the file itself holds data of another kind
    if bool(by) == bool(before):
        raise InputError(
            f"{characteristic}: choose either a column, every value of which must meet the limit, or a file "
            "to measure the change from"
        )
    if before:
        file = project.labeled_file(before)
        row["change_from"] = f"../{FILES}/{file.name}"  # as seen from the documents
        yield file.name
    elif by in columns_of(project):
        row["by"] = by
    else:
        raise InputError(f"{characteristic}: there is no column {one_line(by, 60)!r}")


def _toml_table(head: str, values: Mapping[str, Json]) -> list[str]:
    if not values:
        return []
    # a text in JSON is one in TOML, if it has no control characters, which forms have not
    return [
        head,
        *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()),
        "",
    ]
