#!/usr/bin/env python3
"""Count modules, code lines, import lines and classes of src/llrkit, in all and by room.

A code line holds code: blank lines, comments and docstrings of every kind (also those after the fields of a
dataclass) do not count. `python .ci/size.py` prints the table; `--modules` adds a line for every module.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "llrkit"
KINDS = ("modules", "code", "imports", "classes")
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
}  # fmt: skip


def size_of(path: Path) -> Counter[str]:
    """What one module counts for."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    strings, imports, classes = set(), set(), 0
    for node in ast.walk(tree):
        lines = range(getattr(node, "lineno", 0), (getattr(node, "end_lineno", 0) or 0) + 1)
        match node:
            case ast.Expr(value=ast.Constant(value=str())):  # a docstring, or one of a field
                strings.update(lines)
            case ast.Import() | ast.ImportFrom():
                imports.update(lines)
            case ast.ClassDef():
                classes += 1
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return Counter(modules=1, code=len(code - strings), imports=len(imports), classes=classes)


def sizes() -> dict[str, Counter[str]]:
    """The size of every module, by its path below src/llrkit."""
    return {str(path.relative_to(SOURCE)): size_of(path) for path in sorted(SOURCE.rglob("*.py"))}


def main() -> None:
    """Print the table."""
    of_module = sizes()
    of_room: dict[str, Counter[str]] = {}
    for name, size in of_module.items():
        of_room.setdefault(name.split("/")[0].removesuffix(".py"), Counter()).update(size)
    shown = dict(of_module) if "--modules" in sys.argv else {}
    shown |= {f"{room}/": size for room, size in of_room.items()} | {"all": sum(of_room.values(), Counter())}
    print(f"{'':50}" + "".join(f"{kind:>9}" for kind in KINDS))
    for name, size in shown.items():
        print(f"{name:50}" + "".join(f"{size[kind]:9,}" for kind in KINDS))


if __name__ == "__main__":
    main()
