"""``__all__`` is what can be imported, whatever was imported before, and little is imported for it."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest
from stubs import ROOMS_WITH_STUB, sub_rooms_of

import llrkit as lk
from house import homes_of, stub_of

ROOMS = {
    "errors", "scores", "theory", "core", "engine", "metrics", "calibrate", "choose", "trust", "recognize",
    "simulate", "io", "plot", "report", "experiments", "sklearn", "torch", "cli",
}  # fmt: skip
every_room = pytest.mark.parametrize("room", ROOMS_WITH_STUB)


@pytest.fixture
def run(pytestconfig):
    """``run(program)`` gives what a fresh Python prints, as JSON; it warns as pytest was told to."""
    filters = ["error", *(pytestconfig.getoption("pythonwarnings") or ())]

    def start(program):
        done = subprocess.run(
            [sys.executable, *(f"-W{one}" for one in filters), "-c", program],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return start


def test_every_room_that_is_a_namespace_has_a_stub():
    rooms = {
        "biometrics",
        "multiclass",
        "plot",
        "recognize",
        "scores",
        "simulate",
        "sklearn",
        "spoof",
        "theory",
        "torch",
    }
    assert set(ROOMS_WITH_STUB) == {"llrkit"} | {f"llrkit.{room}" for room in rooms}


@every_room
def test_all_is_the_stub_and_can_be_imported(room, need):
    if room in ("llrkit.sklearn", "llrkit.torch"):
        need({"sklearn": "sklearn", "torch": "torchmetrics"}[room.rpartition(".")[2]])
    module, homes = import_module(room), homes_of(room)
    assert module.__all__ == sorted(homes)
    assert dir(module) == sorted(homes)
    for name, home in homes.items():
        value = getattr(module, name)
        assert value is not None
        assert value is getattr(module, name)
        assert value is (
            import_module(f"{room}.{name}") if home == room else getattr(import_module(home), name)
        )


# its names are known to scikit-learn from then on
IMPORTED_AT_ONCE = {"llrkit.sklearn": ["from llrkit.sklearn import scorers as scorers"]}


@every_room
def test_a_room_with_a_stub_does_nothing_else(room):
    """Type checkers read the stub in its place: code beside it would go unchecked."""
    source = stub_of(room).with_suffix(".py").read_text(encoding="utf-8")
    docstring, *rest = ast.parse(source).body
    assert isinstance(docstring.value, ast.Constant)
    assert [ast.unparse(node) for node in rest] == [
        "import lazy_loader as lazy",
        *IMPORTED_AT_ONCE.get(room, ()),
        "__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)",
    ]


@pytest.mark.slow
def test_star_import_gives_exactly_all(run):
    found = run(
        "import json\nspace = {}\nexec('from llrkit import *', space)\nspace.pop('__builtins__')\n"
        "print(json.dumps(sorted(space)))"
    )
    assert found == sorted(lk.__all__)


def test_names_come_from_where_they_are_defined():
    for name, module in homes_of("llrkit").items():
        if name != "__version__" and module != "llrkit":
            assert getattr(lk, name).__module__.startswith(module)


@every_room
def test_unknown_names_are_refused(room):
    with pytest.raises(AttributeError, match=rf"{room}\b.*\beerr\b"):
        _ = import_module(room).eerr


@every_room
def test_no_public_function_has_the_name_of_a_room(room):
    folder = stub_of(room).parent
    there = {p.stem for p in folder.glob("*.py")} | {
        p.name for p in folder.iterdir() if (p / "__init__.py").exists()
    }
    rooms = (there | ROOMS if room == "llrkit" else there) - {"__init__"}
    assert set(homes_of(room)) & rooms == sub_rooms_of(room)
    for name in sub_rooms_of(room):
        assert isinstance(getattr(import_module(room), name), ModuleType)


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
    except (ModuleNotFoundError, lk.MissingPackageError) as error:
        missing = error.__context__ if isinstance(error, lk.MissingPackageError) else error
        if missing.name.split(".")[0] == "llrkit":
            raise
        absent.append(missing.name)
for name in lk.__all__:
    value = getattr(lk, name)
    assert isinstance(value, types.ModuleType) == (name in {rooms}), name
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
@pytest.mark.parametrize("seed", [1])
def test_every_name_works_after_importing_all_modules_in_random_order(run, seed):
    modules, absent = run(USE_EVERYTHING.format(seed=seed, rooms=sub_rooms_of("llrkit")))
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
        "torch",
        "torchmetrics",
    }


def test_import_alone_imports_nothing_heavy(run):
    loaded = run("import json, sys\nimport llrkit\nprint(json.dumps(sorted(sys.modules)))")
    for name in ("numpy", "scipy", "polars", "matplotlib", "plotly", "click", "rich", "pandas", "sklearn"):
        assert name not in loaded
    assert "llrkit" in loaded


def test_metrics_of_arrays_do_not_import_polars(run):
    loaded = run(
        "import json, sys\nimport llrkit as lk\nlk.evaluate(lk.Scores([1.0], [0.0]))\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    assert "numpy" in loaded
    for name in ("polars", "matplotlib", "click", "rich", "pandas"):
        assert name not in loaded


def test_the_choice_among_all_methods_does_without_optimizers_of_others(run):
    # scipy.optimize takes as long to import as NumPy and polars together
    loaded = run(
        "import json, sys\nimport llrkit as lk\nlk.fit_best(lk.sample_trials())\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    assert "scipy.special" in loaded
    assert "scipy.optimize" not in loaded


def test_version():
    assert lk.__version__.count(".") >= 1
    assert lk.__version__[0].isdigit()
