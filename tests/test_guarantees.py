"""Every promise of docs/reference/guarantees.md names tests, and they exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference" / "guarantees.md").read_text(encoding="utf-8")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
SECTIONS = ("Exactness", "Atomicity", "Isolation", "Privacy", "Limits")


def promises(page):
    """The promise of each row of the tables, and the text of the cell that names its tests."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("| ") else []
        if cells and cells != ["promise", "tested by"]:
            assert len(cells) == 2, line
            yield cells[0], cells[1].rstrip(" |")


def missing(tests):
    """Of tests as pairs of a file and a name, those that are not there."""
    known = {}
    for file, name in tests:
        if file not in known and (ROOT / file).is_file():
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            known[file] = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        if not name.startswith("test_") or name not in known.get(file, ()):
            yield f"{file}::{name}"


ROWS = list(promises(PAGE))


def test_there_are_promises_of_every_kind():
    assert len(ROWS) > 25
    for section in SECTIONS:
        text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
        assert list(promises(text)), section


@pytest.mark.parametrize(("promise", "held_by"), ROWS, ids=[promise[:50] for promise, _ in ROWS])
def test_every_promise_is_held_by_tests_that_exist(promise, held_by):
    tests = TEST.findall(held_by)
    assert tests, f"no test holds: {promise}"
    assert list(missing(tests)) == []
    assert TEST.sub("", held_by).replace(",", "").strip() == ""  # nothing that only looks like a test


def test_a_test_that_is_not_there_is_found():
    here = "tests/test_guarantees.py"
    assert list(missing([(here, "test_there_are_promises_of_every_kind")])) == []
    assert (
        len(list(missing([(here, "test_nothing"), ("tests/nowhere.py", "test_a"), (here, "promises")]))) == 3
    )
