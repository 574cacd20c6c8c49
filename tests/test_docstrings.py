"""Every public function and method describes its parameters; numpydoc reads the docstrings."""

import ast
import importlib
import inspect
import re
from dataclasses import is_dataclass
from pathlib import Path

import pytest

from llrkit._docstrings import with_parameters

MODULES = (
    "llrkit", "llrkit.plot", "llrkit.theory", "llrkit.spoof", "llrkit.biometrics", "llrkit.multiclass",
    "llrkit.recognize", "llrkit.simulate", "llrkit.sklearn",
)  # fmt: skip
# what is missing or unknown among parameters, those without a description, and how descriptions are written;
# types are in the signatures (PR04), and parameters that belong together share a description (PR03)
CHECKS = {"GL08", "PR01", "PR02", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10", "SS01", "SS02", "SS03"}
SOURCES = Path(__file__).parents[1] / "src" / "llrkit"
INHERITED = {"ClassSource"}
"""Abstract: what numpydoc takes for its parameters are those of ``object``."""


def public_functions():
    """The path of every public function, method and class."""
    for path in MODULES:
        module = importlib.import_module(path)
        for name in sorted(module.__all__):
            thing = getattr(module, name)
            if inspect.ismodule(thing) or not callable(thing) or name in INHERITED:
                continue
            yield f"{path}.{name}", thing
            if inspect.isclass(thing):
                for member, value in vars(thing).items():
                    is_method = inspect.isfunction(value) or isinstance(value, (classmethod, staticmethod))
                    if is_method and not member.startswith("_"):
                        yield f"{path}.{name}.{member}", value


def faults(path, thing):
    """What numpydoc finds fault with; fields of a result are described where they stand."""
    validate = importlib.import_module("numpydoc.validate").validate
    has_fields = inspect.isclass(thing) and (is_dataclass(thing) or issubclass(thing, tuple))
    checks = CHECKS - {"PR01"} if has_fields else CHECKS
    return [f"{path}: {code} {text}" for code, text in validate(path)["errors"] if code in checks]


@pytest.mark.slow
def test_parameters_are_described(need):
    need("numpydoc")
    everything = list(public_functions())
    assert len(everything) > 500
    assert [fault for path, thing in everything for fault in faults(path, thing)] == []


def test_a_parameter_that_is_not_described_is_found(need, monkeypatch):
    need("numpydoc")
    import llrkit as lk

    def silent(point, other):
        """Say nothing of one of them.

        Parameters
        ----------
        point
            Where.
        """

    monkeypatch.setattr(lk.theory, "silent", silent, raising=False)
    assert faults("llrkit.theory.silent", silent) == [
        "llrkit.theory.silent: PR01 Parameters {'other'} not documented"
    ]


def test_a_decorator_describes_its_parameters_in_the_order_of_the_signature():
    text = """Add.

    More words.

    Parameters
    ----------
    b, c
        Both.

    Examples
    --------
    >>> 1 + 1
    2
    """
    more = {"d": "Last,\nand long.", "a": "First.", "b": "Not taken."}
    described = with_parameters(text, more, "abcd")
    assert described.split("----------\n")[1].split("\n\nExamples")[0].splitlines() == [
        "a", "    First.", "b, c", "    Both.", "d", "    Last,", "    and long.",
    ]  # fmt: skip
    assert described.startswith("Add.\n\nMore words.\n\nParameters\n")
    assert described.endswith(">>> 1 + 1\n2\n")
    # Python 3.13 and later give docstrings without their margin
    assert with_parameters(inspect.cleandoc(text), more, "abcd") == described


def described_parameters(docstring):
    """The names in the section of parameters of a docstring."""
    section = re.search(r"Parameters\n *-+\n(.*?)(?:\n\n *\w+\n *--|\Z)", docstring, re.DOTALL)
    lines = inspect.cleandoc(section[1]).splitlines() if section else []
    return {name for line in lines if not line.startswith(" ") for name in line.split(", ")}


def undescribed_fields(source, public):
    """Fields of public dataclasses and named tuples that nothing describes, read without importing them.

    A text that follows a field describes it, and so does the section of parameters of the class.
    """
    for node in ast.parse(source).body:
        if not (isinstance(node, ast.ClassDef) and node.name in public):
            continue
        head = [*map(ast.unparse, node.decorator_list), *map(ast.unparse, node.bases)]
        if not any("dataclass" in word or word == "NamedTuple" for word in head):
            continue
        described = described_parameters(ast.get_docstring(node) or "")
        for field, after in zip(node.body, [*node.body[1:], None], strict=True):
            if not isinstance(field, ast.AnnAssign) or "ClassVar" in ast.unparse(field.annotation):
                continue
            name = field.target.id
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if not (is_text or name in described or name.startswith("_")):
                yield f"{node.name}.{name}"


def test_every_field_of_a_public_class_is_described():
    stubs = [file.read_text(encoding="utf-8") for file in SOURCES.rglob("__init__.pyi")]
    public = {name for stub in stubs for name in re.findall(r"import \w+ as (\w+)", stub)}
    sources = sorted(SOURCES.rglob("*.py"))
    assert len(sources) > 400
    for file in sources:
        assert list(undescribed_fields(file.read_text(encoding="utf-8"), public)) == [], file


def test_a_field_that_is_not_described_is_found():
    source = '@dataclass(frozen=True)\nclass A:\n    x: int\n    """Text."""\n    y: int\n    z: int = 0\n'
    assert list(undescribed_fields(source, {"A"})) == ["A.y", "A.z"]
    text = '"""One.\n\n    Parameters\n    ----------\n    x\n        The x.\n    """'
    named = f"class A(NamedTuple):\n    {text}\n\n    x: int\n    y: int\n"
    assert list(undescribed_fields(named, {"A"})) == ["A.y"]
