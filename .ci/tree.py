#!/usr/bin/env python3
"""Print every module of src/llrkit with its one idea: the first sentence of its docstring."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "llrkit"


def main() -> None:
    """Print the tree, room by room."""
    for path in sorted(SOURCE.rglob("*.py")):
        idea = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        name = str(path.relative_to(SOURCE)).removesuffix("__init__.py")
        if idea and name:
            print(f"{name:34}{' '.join(idea.split(chr(10) * 2)[0].split())}")


if __name__ == "__main__":
    main()
