"""All schemas by name, each complete in itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from llrkit.base.text import not_among
from llrkit.cli.schemas import files, judging_outputs, making_outputs, metric_outputs
from llrkit.cli.schemas.notation import Schema, members
from llrkit.cli.schemas.shared import DEFINITIONS, LEFT_OUT
from llrkit.errors import UnknownNameError

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Published:
    """A schema, its version, and the member of a document that holds both."""

    content: Schema
    version: int = 1
    marker: str | None = "schema"
    """``schema`` or ``format``; None for TOML files, which have no such member."""
    is_file: bool = False


OUTPUTS: dict[str, Schema] = {
    "adapt": making_outputs.MAP,
    "calibrate": making_outputs.CALIBRATE,
    "case": judging_outputs.CASE,
    "compare": metric_outputs.COMPARE,
    "compare-systems": metric_outputs.COMPARE_SYSTEMS,
    "demo": making_outputs.DEMO,
    "diagnose": judging_outputs.DIAGNOSE,
    "differential": metric_outputs.DIFFERENTIAL,
    "evaluate": metric_outputs.EVALUATE,
    "fuse": making_outputs.FUSE,
    "identify": metric_outputs.IDENTIFY,
    "recognize-cohort": making_outputs.RECOGNIZE_COHORT,
    "recognize-enroll": making_outputs.RECOGNIZE_ENROLL,
    "recognize-extract": making_outputs.RECOGNIZE_EXTRACT,
    "recognize-score": making_outputs.RECOGNIZE_SCORE,
    "recognize-train": making_outputs.RECOGNIZE_TRAIN,
    "report": metric_outputs.REPORT,
    "reproduce": making_outputs.REPRODUCE,
    "shift": judging_outputs.SHIFT,
    "simulate": making_outputs.SIMULATE,
    "spoof": metric_outputs.SPOOF,
    "theory": metric_outputs.THEORY,
    "threshold": metric_outputs.THRESHOLD,
    "validate": judging_outputs.VALIDATE,
}
"""What commands write with ``--json``; ``demo`` writes numbers.json beside its report."""
_NO_TRIALS = ("demo", "recognize", "reproduce", "simulate", "theory")
"""How the names of commands begin that read no trials."""


def _reading_trials(name: str, content: Schema) -> Schema:
    """What a command writes, with the trials that it was told to leave out if it reads any."""
    if name.startswith(_NO_TRIALS):
        return content
    if "anyOf" in content:
        return {**content, "anyOf": [_reading_trials(name, one) for one in content["anyOf"]]}
    return {**content, "properties": {**members(content), "left_out": LEFT_OUT}}


SCHEMAS: dict[str, Published] = {
    **{name: Published(_reading_trials(name, content)) for name, content in OUTPUTS.items()},
    "apply": Published(files.MANIFEST, version=2, is_file=True),
    "class_map": Published(files.CLASS_MAP_FILE, marker="format", is_file=True),
    "criteria": Published(files.CRITERIA, marker=None, is_file=True),
    "map": Published(files.MAP_FILE, version=2, marker="format", is_file=True),
    "project": Published(files.PROJECT, is_file=True),
}


def json_schema(name: str) -> Schema:
    """The schema of a command's ``--json`` or of a file, with everything it refers to.

    Examples
    --------
    >>> schema = json_schema("evaluate")
    >>> schema["title"], schema["properties"]["schema"]
    ('llrkit.evaluate/1', {'const': 'llrkit.evaluate/1'})
    """
    if name not in SCHEMAS:
        raise UnknownNameError(f"no schema {not_among(name, sorted(SCHEMAS), '; there are ')}")
    published = SCHEMAS[name]
    title = f"llrkit.{name}/{published.version}"
    content: Schema = {
        "$schema": DIALECT,
        "$id": f"urn:llrkit:{name}:{published.version}",
        "title": title,
        **published.content,
    }
    if published.marker == "schema":
        content["properties"] = {"schema": {"const": title}, **content.get("properties", {})}
        content["required"] = ["schema", *content.get("required", [])]
    used = _used_by(content)
    return {**content, "$defs": {known: DEFINITIONS[known] for known in sorted(used)}} if used else content


def _used_by(content: Schema) -> set[str]:
    """Definitions that a schema refers to, and those that these refer to in turn."""
    used: set[str] = set()
    waiting = list(_references(content))
    while waiting:
        if (name := waiting.pop()) not in used:
            used.add(name)
            waiting += _references(DEFINITIONS[name])
    return used


def as_text(name: str) -> str:
    """The schema as it is published."""
    return json.dumps(json_schema(name), indent=2) + "\n"


def _references(content: object) -> Iterator[str]:
    if isinstance(content, dict):
        if isinstance(reference := content.get("$ref"), str):
            yield reference.removeprefix("#/$defs/")
        for value in content.values():
            yield from _references(value)
    elif isinstance(content, list):
        for value in content:
            yield from _references(value)
