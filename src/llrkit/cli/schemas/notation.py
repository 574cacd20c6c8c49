"""A short way to write JSON Schemas (draft 2020-12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, Unpack

Schema = TypedDict(
    "Schema",
    {
        "$schema": str,
        "$id": str,
        "$defs": dict[str, "Schema"],
        "$ref": str,
        "title": str,
        "description": str,
        "type": "str | list[str]",
        "const": str,
        "enum": "list[str | None]",
        "pattern": str,
        "minimum": float,
        "maximum": float,
        "propertyNames": "Schema",
        "properties": dict[str, "Schema"],
        "required": list[str],
        "additionalProperties": "Schema | bool",
        "items": "Schema",
        "minItems": int,
        "maxItems": int,
        "anyOf": list["Schema"],
    },
    total=False,
)
"""A JSON Schema, with the words of the standard that are used here."""


class Limits(TypedDict, total=False):
    """How many things a list has."""

    minItems: int
    maxItems: int


def ref(name: str) -> Schema:
    """Something of :data:`~llrkit.cli.schemas.shared.DEFINITIONS`."""
    return {"$ref": f"#/$defs/{name}"}


def record(
    about: str, required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None
) -> Schema:
    """An object with known names. Others are allowed: a later version of llrkit may add some.

    Examples
    --------
    >>> record("A rate.", {"rate": NUMBER}, {"note": TEXT})["required"]
    ['rate']
    """
    return {
        "description": about,
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }


def members(schema: Schema) -> dict[str, Schema]:
    """What is known of the members of a record."""
    return schema.get("properties", {})


def mapping(values: Schema, about: str = "") -> Schema:
    """An object whose names are those of the data: groups, metrics, attacks."""
    return {**described(about), "type": "object", "additionalProperties": values}


def listed(items: Schema, about: str = "", **limits: Unpack[Limits]) -> Schema:
    """A list of things of one kind; ``minItems`` and ``maxItems`` limit their number."""
    return {**described(about), "type": "array", "items": items, **limits}


def described(about: str) -> Schema:
    """Words about something."""
    return {"description": about} if about else {}


def about(schema: Schema, words: str) -> Schema:
    """The same, with words of its own."""
    return {**schema, "description": words}


def maybe(schema: Schema, words: str = "") -> Schema:
    """The same, or null."""
    return {**described(words), "anyOf": [schema, {"type": "null"}]}


def one_of(*words: str | None) -> Schema:
    """One of these words."""
    return {"enum": list(words)}


def variants(*schemas: Schema) -> Schema:
    """One of several kinds of objects."""
    return {"anyOf": list(schemas)}


NUMBER = ref("number")
SHARE = ref("share")
COUNT = ref("count")
INTERVAL = ref("interval")
TEXT: Schema = {"type": "string"}
YES_OR_NO: Schema = {"type": "boolean"}
ANY_OBJECT: Schema = {"type": "object", "additionalProperties": True}
NUMBERS = listed(NUMBER)
TEXTS = listed(TEXT)
SCORES = about(TEXT, "The file with the scores, as it was given.")


def const(text: str) -> Schema:
    """Exactly this text."""
    return {"const": text}
