"""The public names of a room as its stub lists them, read without importing anything."""

import ast
from pathlib import Path

import llrkit

SOURCE = Path(llrkit.__file__).parent
ROOMS_WITH_STUB = sorted(
    ".".join(["llrkit", *path.parent.relative_to(SOURCE).parts]) for path in SOURCE.rglob("__init__.pyi")
)


def stub_of(room):
    """The file that lists the public names of a room."""
    return SOURCE.joinpath(*room.split(".")[1:], "__init__.pyi")


def homes_of(room):
    """{public name: dotted module it is imported from}; a sub-room comes from the room itself."""
    homes = {}
    for node in ast.parse(stub_of(room).read_text(encoding="utf-8")).body:
        assert isinstance(node, ast.ImportFrom), f"{room}: line {node.lineno} of the stub is not an import"
        assert node.level == 1, f"{room}: line {node.lineno} of the stub leaves the room"
        for alias in node.names:
            # mypy hands out `y as y` only, and at run time a name keeps its own
            assert alias.asname == alias.name, f"{room}: {alias.name} is not imported as itself"
            assert alias.name not in homes, f"{room}: {alias.name} is there twice"
            homes[alias.name] = f"{room}.{node.module}" if node.module else room
    return homes


def sub_rooms_of(room):
    """Public names that are rooms themselves: lk.theory, lk.plot."""
    return {name for name, home in homes_of(room).items() if home == room}
