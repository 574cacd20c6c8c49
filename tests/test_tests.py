"""Tests that cannot fail are worse than none: our own tests are searched for them."""

import ast
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
COMPARES = {"approx", "isclose", "allclose", "array_equal", "equal", "is_close"}
RAISING = ("assert", "check")


def name_of(node):
    """The last part of what is called: ``approx`` of ``pytest.approx``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def bare_checks(tree):
    """Lines where a comparison is computed and thrown away."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Expr):
            continue
        value = node.value
        called = isinstance(value, ast.Call) and name_of(value.func) in COMPARES
        if called or isinstance(value, (ast.Compare, ast.BoolOp)):
            yield node.lineno


def asserts_something(function):
    """Whether a test can fail by its own word."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            if name.startswith(RAISING) or name in ("raises", "warns", "fail"):
                return True
    return False


def constant_asserts(tree):
    """Lines like ``assert True`` or ``assert (x == 1, "message")``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and (
            (isinstance(node.test, ast.Constant) and node.test.value) or isinstance(node.test, ast.Tuple)
        ):
            yield node.lineno


def imports_of_the_folder(tree):
    """Lines that import what tests share as ``tests.support``, which no old version of pytest can."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
            yield node.lineno


def functions_that_test(tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
            yield node


def faults(text):
    tree = ast.parse(text)
    found = [f"line {line}: a comparison is thrown away" for line in bare_checks(tree)]
    found += [f"line {line}: always true" for line in constant_asserts(tree)]
    found += [f"line {line}: tests is not a package" for line in imports_of_the_folder(tree)]
    names = []
    for test in functions_that_test(tree):
        if not asserts_something(test):
            found.append(f"line {test.lineno}: {test.name} asserts nothing")
        names.append(test.name)
    found += [
        f"{name} is defined twice, the first never runs"
        for name in sorted({n for n in names if names.count(n) > 1})
    ]
    return found


FILES = sorted(FOLDER.rglob("*.py"))


def test_there_are_tests_to_look_at():
    assert len(FILES) > 15
    assert (
        sum(len(list(functions_that_test(ast.parse(path.read_text(encoding="utf-8"))))) for path in FILES)
        > 200
    )


def test_tests_that_share_a_costly_fixture_are_in_one_file():
    """Files are what is given to processes; newer versions of pytest ignore groups without a word."""
    group = "xdist_" + "group"
    assert [path.name for path in FILES if group in path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(FOLDER)) for path in FILES])
def test_no_test_without_assertion_and_no_bare_check(path):
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("def test_a():\n    pytest.approx(1.0, 2.0)\n    assert x", "thrown away"),
        ("def test_a():\n    np.allclose(a, b)\n    assert x", "thrown away"),
        ("def test_a():\n    np.isclose(a, b)\n    assert x", "thrown away"),
        ("def test_a():\n    a == b\n    assert x", "thrown away"),
        ("def test_a():\n    lk.eer(s)", "test_a asserts nothing"),
        ("class TestB:\n    def test_a(self):\n        lk.eer(s)", "test_a asserts nothing"),
        ("def test_a():\n    assert True", "always true"),
        ("def test_a():\n    assert (a == b, 'message')", "always true"),
        ("from tests.support.commands import run", "not a package"),
        ("def test_a():\n    assert x\ndef test_a():\n    assert y", "defined twice"),
    ],
)
def test_faults_are_found(text, complaint):
    found = faults(text)
    assert len(found) == 1
    assert complaint in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "def test_a():\n    assert a == pytest.approx(b)",
        "def test_a():\n    assert_allclose(a, b)",
        "def test_a():\n    np.testing.assert_array_equal(a, b)",
        "def test_a():\n    with pytest.raises(ValueError):\n        f()",
        "def test_a():\n    check_everything(f)",
        "def helper():\n    return a == b",
        "class TestB:\n    def test_a(self):\n        for x in y:\n            assert x",
    ],
)
def test_good_tests_are_left_alone(text):
    assert faults(text) == []
