"""Templates: HTML with everything escaped, and JSON that cannot end the script it stands in."""

from __future__ import annotations

import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from llrkit.report.section_types import GRADES

FOLDER = Path(__file__).with_name("templates")

HTML = Environment(
    loader=FileSystemLoader(FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
HTML.globals["grades"] = GRADES
TEXT = Environment(loader=FileSystemLoader(FOLDER), autoescape=False, undefined=StrictUndefined)
"""For plain text, which is escaped where it enters a page."""


def script_json(value: object) -> Markup:
    r"""JSON to stand inside a script element: no ``<``, ``>`` or ``&`` is left in it.

    Examples
    --------
    >>> print(script_json({"name": "</script><b>"}))
    {"name":"\u003c/script\u003e\u003cb\u003e"}
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e"))


def trusted(*names: str) -> Markup:
    """Style sheets or programs of ours, as they are, one after the other."""
    return Markup("\n".join((FOLDER / name).read_text(encoding="utf-8") for name in names))
