"""Types in signatures are links where the type has a page, and plain text where it has none.

Nitpicky Sphinx asks for a page for every type that an annotation names, those of NumPy and private ones too.
References that a person wrote are still checked.
"""

from dataclasses import fields, is_dataclass

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

MOST_FIELDS = 6


def plain_type(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.TextElement
) -> nodes.TextElement | None:
    """The text of a reference that stands in a signature."""
    parent = node.parent
    while parent is not None and not isinstance(parent, addnodes.desc_signature):
        parent = parent.parent
    if parent is None:
        return None
    for shown in node.findall(addnodes.pending_xref_condition):
        if shown.get("condition") == "resolved":  # the name without its module
            return nodes.inline("", "", *shown.children)
    return content


def without_long_results(
    app: Sphinx,
    what: str,
    name: str,
    obj: object,
    options: object,
    signature: str | None,
    returns: str | None,
) -> tuple[str, None] | None:
    """No signature for a result with many fields: functions make it, and its fields are listed below."""
    if what == "class" and is_dataclass(obj) and len(fields(obj)) > MOST_FIELDS:
        return "", None
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Ask to be told of references without a target, and of signatures."""
    app.connect("missing-reference", plain_type, priority=900)
    app.connect("autodoc-process-signature", without_long_results)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
