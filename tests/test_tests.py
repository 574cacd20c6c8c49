"""Tests that cannot fail are worse than none: our own tests are searched for them."""

import ast
from pathlib import Path

COMPARES = {"approx", "isclose", "allclose", "array_equal", "equal", "is_close"}


def name_of(node):
    """The last part of what is called: ``approx`` of ``pytest.approx``."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def statements(tree):
    """Every statement, also those inside others."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield child
            yield from statements(child)


def asserts_something(function):
    """Whether a test can fail by its own word."""
    if any(isinstance(node, ast.Assert) for node in statements(function)):
        return True
    called = {name_of(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    return any(name.startswith(("assert", "check")) for name in called) or called & {
        "raises",
        "warns",
        "fail",
    }


def faults(text):
    """Comparisons thrown away, assertions always true, tests that assert nothing or never run."""
    names = set()
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.Expr):
            value = node.value
            called = isinstance(value, ast.Call) and name_of(value.func) in COMPARES
            if called or isinstance(value, (ast.Compare, ast.BoolOp)):
                yield f"line {node.lineno}: a comparison is thrown away"
        elif isinstance(node, ast.Assert):
            if isinstance(node.test, ast.Tuple) or (isinstance(node.test, ast.Constant) and node.test.value):
                yield f"line {node.lineno}: always true"
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
            if not asserts_something(node):
                yield f"line {node.lineno}: {node.name} asserts nothing"
            if node.name in names:
                yield f"line {node.lineno}: {node.name} is defined twice, the first never runs"
            names.add(node.name)


def test_no_test_without_assertion_and_no_bare_check():
    planted = "def test_a():\n    a == b\n    approx(1, 2)\n    assert (a, 'b')\ndef test_a():\n    f()\n"
    assert len(list(faults(planted))) == 5
    files = sorted(Path(__file__).parent.rglob("*.py"))
    assert len(files) > 100
    found = {str(file): list(faults(file.read_text(encoding="utf-8"))) for file in files}
    assert {file: some for file, some in found.items() if some} == {}
