"""The names of the room: all can be imported, none twice, and arrays alone need no polars."""

import inspect
import subprocess
import sys

import llrkit as lk


def test_all_is_what_can_be_imported():
    names = lk.multiclass.__all__
    assert sorted(names) == sorted(set(names))
    for name in names:
        assert getattr(lk.multiclass, name) is not None


def test_options_are_keywords_and_every_function_has_an_example():
    for name in lk.multiclass.__all__:
        value = getattr(lk.multiclass, name)
        if not inspect.isfunction(value):
            continue
        assert "Examples" in inspect.getdoc(value), name
        if name.startswith("fit_"):
            parameters = list(inspect.signature(value).parameters.values())
            assert all(one.kind is one.KEYWORD_ONLY for one in parameters[1:]), name


def test_metrics_of_arrays_do_not_import_polars():
    program = (
        "import sys\nimport llrkit as lk\n"
        "lk.multiclass.evaluate(lk.ClassScores([[1.0, 0], [0, 1]], [0, 1]))\n"
        "print('polars' in sys.modules, 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"
