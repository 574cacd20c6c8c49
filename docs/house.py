"""The rooms of llrkit: their order, the modules they hold, and what each module imports.

``LEVELS`` is the one table of the order; the import rule and the picture of the house come from it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import llrkit

SOURCE = Path(llrkit.__file__).parent

# A room imports only from rooms on earlier lines; rooms on one line do not import each other. The single
# modules of the first line may.
LEVELS: list[tuple[str, ...]] = [
    ("errors", "_version"),
    ("base",),
    ("results",),
    ("scores",),
    ("core",),
    ("theory",),
    ("metrics", "maps", "io"),
    ("fits", "engine"),
    ("speech",),
    ("simulate",),
    ("trust", "shift"),
    ("multiclass",),
    ("verbs",),
    ("spoof", "biometrics"),
    ("plot", "sklearn", "torch"),
    ("report",),
    ("experiments",),
    ("jobs",),
    ("app",),
    ("cli",),
    ("__main__",),
]
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


def is_type_checking(test: ast.expr) -> bool:
    """Whether a condition is ``TYPE_CHECKING``."""
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def imports_of(text: str, module: str, is_package: bool = False) -> Iterator[tuple[int, str]]:
    """(line, imported dotted name) of every import, also inside functions; not under TYPE_CHECKING."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    calls = "import_module" in text or "__import__" in text  # most files need no look into expressions
    looked_into = ast.AST if calls else (ast.stmt, ast.excepthandler, ast.match_case)
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and is_type_checking(node.test):
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module or "").split(".")] if node.module else base
            for alias in node.names:
                yield node.lineno, ".".join([*base, alias.name])
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("import_module", "__import__")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.lineno, str(node.args[0].value)
        waiting.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, looked_into))


def stub_of(room: str) -> Path:
    """The file that lists the public names of a room."""
    return SOURCE.joinpath(*room.split(".")[1:], "__init__.pyi")


@cache
def homes_of(room: str) -> dict[str, str]:
    """{public name: dotted module it is imported from}; a sub-room comes from the room itself."""
    homes: dict[str, str] = {}
    for node in ast.parse(stub_of(room).read_text(encoding="utf-8")).body:
        assert isinstance(node, ast.ImportFrom), f"{room}: line {node.lineno} of the stub is not an import"
        assert node.level == 1, f"{room}: line {node.lineno} of the stub leaves the room"
        for alias in node.names:
            # mypy hands out `y as y` only, and at run time a name keeps its own
            assert alias.asname == alias.name, f"{room}: {alias.name} is not imported as itself"
            assert alias.name not in homes, f"{room}: {alias.name} is there twice"
            homes[alias.name] = f"{room}.{node.module}" if node.module else room
    return homes


def room_of(name: str) -> str:
    """The room of an imported ``llrkit...`` name: ``from llrkit import eer`` imports from metrics."""
    parts = name.split(".")
    room = parts[1] if len(parts) > 1 else ""
    if room in LEVEL:
        return room
    return homes_of("llrkit").get(room, f".{room}").split(".")[1]


def our_files() -> dict[str, tuple[str, bool]]:
    """{dotted module: (text, whether it is a package)} of everything in src/llrkit."""
    files = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ["llrkit", *path.relative_to(SOURCE).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        files[".".join(parts[:-1] if is_package else parts)] = (path.read_text(encoding="utf-8"), is_package)
    return files
