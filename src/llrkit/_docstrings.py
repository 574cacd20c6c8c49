"""Parameters that decorators add to a function, described in its docstring."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from inspect import cleandoc

INDENT = "    "
TITLE = "Parameters\n----------\n"
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def with_parameters(doc: str, descriptions: Mapping[str, str], order: Sequence[str]) -> str:
    """A docstring whose section of parameters also has these, unless it has them already.

    Parameters
    ----------
    doc
        The docstring of a function: as it stands in the source, or, from Python 3.13 on, without its margin.
    descriptions
        What to say of each parameter; lines of a long text are given as they should be broken.
    order
        The names of all parameters, as the signature has them.

    Examples
    --------
    >>> text = "Add.\\n\\n    Parameters\\n    ----------\\n    b\\n        More.\\n    "
    >>> print(with_parameters(text, {"a": "First."}, ["a", "b"]))
    Add.
    <BLANKLINE>
    Parameters
    ----------
    a
        First.
    b
        More.
    <BLANKLINE>
    """
    before, entries, after = _split_docstring(cleandoc(doc))
    known = {name for names, _ in entries for name in names}
    for name, description in descriptions.items():
        if name not in known:
            lines = "".join(f"{INDENT}{line}\n" for line in description.splitlines())
            entries.append(([name], f"{name}\n{lines}"))
    place = {name: position for position, name in enumerate(order)}
    entries.sort(key=lambda entry: min(place.get(name.lstrip("*"), len(place)) for name in entry[0]))
    body = "".join(text for _, text in entries)
    return f"{before.rstrip()}\n\n{TITLE}{body}" + (f"\n{after}\n" if after.strip() else "")


def _split_docstring(doc: str) -> tuple[str, list[tuple[list[str], str]], str]:
    """What stands before the parameters, each of them, and what stands after."""
    sections = list(SECTION.finditer(doc))
    for number, section in enumerate(sections):
        if section[1] == "Parameters":
            end = sections[number + 1].start() if number + 1 < len(sections) else len(doc)
            text = doc[section.end() : end]
            return doc[: section.start()], _parameter_entries(text), doc[end:]
    start = sections[0].start() if sections else len(doc)
    return doc[:start], [], doc[start:]


def _parameter_entries(text: str) -> list[tuple[list[str], str]]:
    entries: list[tuple[list[str], str]] = []
    for line in text.rstrip().splitlines():
        if line.strip() and not line.startswith(INDENT):
            names = [name.strip() for name in line.split(" : ")[0].split(",")]
            entries.append((names, ""))
        names, so_far = entries[-1]
        entries[-1] = names, f"{so_far}{line}\n"
    return [(names, f"{so_far.rstrip()}\n") for names, so_far in entries]
