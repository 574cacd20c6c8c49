"""``__all__`` is what can be imported and what the stub lists, and little is imported for it."""

import json
import subprocess
import sys
from importlib import import_module

import pytest
from stubs import ROOMS_WITH_STUB

from house import homes_of

NEEDS = {"llrkit.sklearn": "sklearn", "llrkit.torch": "torchmetrics"}


@pytest.mark.parametrize(
    "room",
    [pytest.param(room, marks=pytest.mark.slow) if "torch" in room else room for room in ROOMS_WITH_STUB],
)
def test_all_is_the_stub_and_can_be_imported(room, need):
    if room in NEEDS:
        need(NEEDS[room])
    module, homes = import_module(room), homes_of(room)
    assert module.__all__ == dir(module) == sorted(homes)
    for name, home in homes.items():
        value = import_module(f"{room}.{name}") if home == room else getattr(import_module(home), name)
        assert value is getattr(module, name), name
    with pytest.raises(AttributeError, match="eerr"):
        _ = module.eerr


# what each line adds must not load the packages beside it
LIGHT = {
    "import llrkit": ("numpy", "scipy", "polars", "matplotlib", "plotly", "click", "pandas", "sklearn"),
    "import llrkit as lk; lk.evaluate(lk.Scores([1.0], [0.0]))": ("polars", "matplotlib", "click", "pandas"),
    "import llrkit as lk; lk.fit_best(lk.sample_trials())": ("scipy.optimize", "matplotlib", "click"),
}


@pytest.mark.slow
@pytest.mark.parametrize("line", LIGHT)
def test_little_is_imported(line):
    program = f"import json, sys\n{line}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) & set(LIGHT[line]) == set()


SHUFFLED = """
import importlib, pkgutil, random
import llrkit as lk
modules = sorted(found.name for found in pkgutil.walk_packages(lk.__path__, "llrkit."))
modules.remove("llrkit.__main__")
random.Random(1).shuffle(modules)
for name in modules:
    try:
        importlib.import_module(name)
    except (ModuleNotFoundError, lk.MissingPackageError) as error:
        missing = error.__context__ if isinstance(error, lk.MissingPackageError) else error
        if missing.name.startswith("llrkit"):
            raise
for name in lk.__all__:
    assert getattr(lk, name) is not None
assert lk.eer(lk.Scores([2.0, 3.5], [-1.0])) == 0.0
"""


@pytest.mark.slow
def test_every_name_works_after_importing_all_modules_in_random_order():
    done = subprocess.run([sys.executable, "-W", "error", "-c", SHUFFLED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
