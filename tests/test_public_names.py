"""``__all__`` is what can be imported, whatever was imported before, and little is imported for it."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import llrkit as lk

ROOMS = {
    "errors", "scores", "theory", "core", "engine", "metrics", "calibrate", "choose", "trust", "recognize",
    "simulate", "io", "plot", "report", "experiments", "sklearn", "cli",
}  # fmt: skip


def run(program):
    """What a fresh Python prints, as JSON."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_all_is_what_can_be_imported():
    assert sorted(lk.__all__) == sorted(set(lk.__all__))
    assert sorted(dir(lk)) == sorted(lk.__all__)
    for name in lk.__all__:
        assert getattr(lk, name) is not None
    assert set(lk._MODULE_OF) == set(lk.__all__) - {"__version__", *lk._ROOMS}


@pytest.mark.slow
def test_star_import_gives_exactly_all():
    found = run(
        "import json\nspace = {}\nexec('from llrkit import *', space)\nspace.pop('__builtins__')\n"
        "print(json.dumps(sorted(space)))"
    )
    assert found == sorted(lk.__all__)


def test_names_for_type_checkers_are_the_same():
    tree = ast.parse(Path(lk.__file__).read_text(encoding="utf-8"))
    block = next(
        n for n in tree.body if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING"
    )
    homes = {alias.name: node.module for node in block.body for alias in node.names}
    assert [homes.pop(room) for room in lk._ROOMS] == ["llrkit"] * len(lk._ROOMS)
    assert homes == lk._MODULE_OF


def test_names_come_from_where_they_are_defined():
    for name, module in lk._MODULE_OF.items():
        assert getattr(lk, name).__module__.startswith(module)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="module 'llrkit' has no attribute 'eerr'"):
        _ = lk.eerr


def test_no_public_function_has_the_name_of_a_room():
    folder = Path(lk.__file__).parent
    there = {p.stem for p in folder.glob("*.py")} | {
        p.name for p in folder.iterdir() if (p / "__init__.py").exists()
    }
    rooms = (ROOMS | there) - {"__init__"}
    for name in set(lk.__all__) & rooms:
        assert isinstance(getattr(lk, name), ModuleType)


USE_EVERYTHING = """
import importlib, json, pkgutil, random, types
import llrkit as lk

modules = sorted(
    found.name
    for found in pkgutil.walk_packages(lk.__path__, "llrkit.")
    if not found.name.endswith("__main__")
)
random.Random({seed}).shuffle(modules)
absent = []
for name in modules:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] == "llrkit":
            raise
        absent.append(error.name)
for name in lk.__all__:
    value = getattr(lk, name)
    assert isinstance(value, types.ModuleType) == (name in lk._ROOMS), name
s = lk.Scores([2.0, 3.5, 0.4], [-1.0, 0.5])
for metric in (lk.eer, lk.eer_roc, lk.auc, lk.prbep, lk.min_cllr, lk.cllr, lk.cllr_cal, lk.eer_threshold):
    assert isinstance(metric(s), float)
assert isinstance(lk.min_dcf(s, "sre08") + lk.act_dcf(s, lk.OperatingPoint(0.1)), float)
assert isinstance(lk.cross_entropy(s, 0.1) + lk.rule_cost(s, "brier") + lk.hter(s, s), float)
assert isinstance(lk.c_primary(s, "sre16"), float)
assert isinstance(lk.evaluate(s), lk.Evaluation)
assert lk.preset("sre10").points[0] == lk.operating_point("sre10")
assert lk.Trials({{"score": [1, 0], "label": [1, 0]}}).scores().n_target == 1
print(json.dumps([modules, absent]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_name_works_after_importing_all_modules_in_random_order(seed):
    modules, absent = run(USE_EVERYTHING.format(seed=seed))
    assert {"llrkit.core.trial_counts", "llrkit.metrics.measure", "llrkit.theory.operating_points"} <= set(
        modules
    )
    assert set(absent) <= {
        "dask",
        "distributed",
        "sklearn",
        "h5py",
        "soundfile",
        "kaldi_native_fbank",
        "kaldiio",
    }


def test_import_alone_imports_nothing_heavy():
    loaded = run("import json, sys\nimport llrkit\nprint(json.dumps(sorted(sys.modules)))")
    for name in ("numpy", "scipy", "polars", "matplotlib", "plotly", "click", "rich", "pandas", "sklearn"):
        assert name not in loaded
    assert "llrkit" in loaded


def test_metrics_of_arrays_do_not_import_polars():
    loaded = run(
        "import json, sys\nimport llrkit as lk\nlk.evaluate(lk.Scores([1.0], [0.0]))\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    assert "numpy" in loaded
    for name in ("polars", "matplotlib", "click", "rich", "pandas"):
        assert name not in loaded


def test_version():
    assert lk.__version__.count(".") >= 1
    assert lk.__version__[0].isdigit()
