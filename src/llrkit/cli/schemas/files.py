"""Schemas of the files that llrkit keeps: calibrations, criteria, projects of the app, manifests."""

from __future__ import annotations

from llrkit.cli.schemas.notation import (
    ANY_OBJECT,
    COUNT,
    TEXT,
    TEXTS,
    Schema,
    about,
    listed,
    mapping,
    maybe,
    members,
    one_of,
    record,
    variants,
)
from llrkit.cli.schemas.shared import CLASS_MAP, DEFINITIONS

_CHECKSUM: Schema = {
    "type": "string",
    "pattern": "^sha256:[0-9a-f]{64}$",
    "description": "Of everything else in the file.",
}


def _saved_map_schema(content: Schema) -> Schema:
    return {**content, "properties": {**members(content), "checksum": _CHECKSUM}}


MAP_FILE = _saved_map_schema(DEFINITIONS["map"])
CLASS_MAP_FILE = _saved_map_schema(CLASS_MAP)
_LIMIT: Schema = {"type": "number"}
_NAMES = variants(TEXT, TEXTS)
CRITERIA: Schema = {
    **record(
        "A TOML file of validation criteria, as what it holds.",
        {
            "criterion": listed(
                {
                    **record(
                        "A row of the validation matrix.",
                        {
                            "characteristic": about(
                                TEXT, "accuracy, discriminating power, calibration, robustness, ..."
                            )
                        },
                        {
                            "metric": TEXT,
                            "at_most": _LIMIT,
                            "at_least": _LIMIT,
                            "use": one_of("estimate", "interval"),
                            "by": TEXT,
                            "change_from": about(TEXT, "A file of trials, beside the criteria."),
                            "graph": TEXT,
                            "data": TEXT,
                        },
                    ),
                    "additionalProperties": False,
                },
                minItems=1,
            )
        },
        {
            "report": mapping(TEXT, "What the report states in words."),
            "options": {
                **record(
                    "How the trials are evaluated.",
                    {},
                    {
                        "ci": TEXT,
                        "speakers": _NAMES,
                        "recordings": _NAMES,
                        "points": variants(TEXT, _LIMIT, listed(variants(TEXT, _LIMIT))),
                        "level": _LIMIT,
                        "seed": {"type": "integer"},
                        "replicates": {"type": "integer"},
                    },
                ),
                "additionalProperties": False,
            },
        },
    ),
    "additionalProperties": False,
}
PROJECT = record(
    "project.json, a project of the app; its files and documents are in folders beside it.",
    {
        "settings": record(
            "What is chosen once for the whole project.",
            {"words": TEXT, "base_10": {"type": "boolean"}, "speakers": TEXTS},
        ),
        "files": listed(
            record(
                "An uploaded file.",
                {
                    "name": TEXT,
                    "size": COUNT,
                    "sha256": TEXT,
                    "use": one_of("train", "validation", "questioned", ""),
                    "reading": about(ANY_OBJECT, "The options of reading."),
                },
                {"facts": maybe(ANY_OBJECT, "What was found when it was read.")},
            )
        ),
        "results": {
            "description": "By step; what a result shows depends on the step.",
            "type": "object",
            "propertyNames": one_of("evaluate", "advise", "calibrate", "validate", "case"),
            "additionalProperties": {
                **record(
                    "A result.", {"inputs": mapping(TEXT, "Hashes of what it rests on."), "documents": TEXTS}
                ),
                "additionalProperties": True,
            },
        },
    },
    {"written": mapping(TEXT, "Files that saving wrote, with their SHA-256.")},
)
MANIFEST = record(
    "_manifest.json in a folder of LLRs: its parts, what they were made from, and how.",
    {
        "rows": COUNT,
        "settings": ANY_OBJECT,
        "parts": listed(
            record(
                "One part.",
                {
                    "source": TEXT,
                    "name": TEXT,
                    "recipe": TEXT,
                    "source_sha256": TEXT,
                    "sha256": TEXT,
                    "rows": COUNT,
                    "notes": TEXTS,
                },
            )
        ),
    },
)
