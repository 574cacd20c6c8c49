"""Rooms import only from rooms below them; each framework is imported in one place (DESIGN.md section 2)."""

import sys

import pytest

from house import LEVEL, imports_of, our_files, room_of

# framework -> modules (or rooms, with all they hold) that may import it
FRAMEWORKS = {
    "dask": {"engine.cluster", "engine.cluster_results", "engine.dask_source"},
    "distributed": {
        "engine.cluster",
        "engine.cluster_access",
        "engine.cluster_results",
        "engine.dask_source",
        "engine.cluster_worker_tasks",
    },
    "sklearn": {"sklearn", "recognize.backends.svm"},
    "torch": {"torch"},
    "torchmetrics": {"torch"},
    "matplotlib": {"plot"},
    "plotly": {"plot"},
    "click": {"cli"},
    "h5py": {"io.binary.bosaris_hdf5"},
    "soundfile": {"recognize.frames.audio_headers_and_samples"},
    "soxr": {"recognize.frames.audio_headers_and_samples"},
    "kaldi_native_fbank": {"recognize.frames.audio_frames"},
    "polars": {"_results", "scores", "io", "engine.scanned_files", "engine.partitions"},
    "pandas": {"_results"},
}
ONE_MODULE_ONLY = {"matplotlib", "plotly"}
ONLY_THESE = {"core": {"numpy", "scipy"}, "_arrays": {"numpy"}}
ONLY_THESE |= {module: set() for module in ("errors", "_version", "_atomic", "_plain")}
STANDARD = set(sys.stdlib_module_names)


def within(module, places):
    return any(module == place or module.startswith(place + ".") for place in places)


def breaches(files):
    """What breaks the rules in {dotted module: (text, is_package)}, one line each."""
    found, users = [], {}
    for module, (text, is_package) in sorted(files.items()):
        inside = module.removeprefix("llrkit").removeprefix(".")
        room = inside.split(".")[0]
        if room == "":
            continue  # llrkit/__init__.py: names are imported there when first used
        if room not in LEVEL:
            found.append(f"{module}: room {room!r} has no place in the order")
            continue
        for line, name in imports_of(text, module, is_package):
            place = f"{module}:{line} imports {name}"
            parts = name.split(".")
            if parts[0] != "llrkit":
                users.setdefault(parts[0], set()).add(inside)
                if parts[0] in FRAMEWORKS and not within(inside, FRAMEWORKS[parts[0]]):
                    found.append(f"{place}: {parts[0]} belongs in {sorted(FRAMEWORKS[parts[0]])}")
                if room in ONLY_THESE and parts[0] not in STANDARD | ONLY_THESE[room]:
                    found.append(f"{place}: {room} may use {sorted(ONLY_THESE[room])} only")
                continue
            other = room_of(name)
            if other not in LEVEL:
                found.append(f"{place}: not a room")
            elif LEVEL[other] > LEVEL[room]:
                found.append(f"{place}: {other} is above {room}")
            elif LEVEL[other] == LEVEL[room] > 0 and other != room:
                found.append(f"{place}: {room} and {other} do not know each other")
    for framework in ONE_MODULE_ONLY:
        if len(users.get(framework, ())) > 1:
            found.append(f"{framework} is imported in {sorted(users[framework])}: one renderer module only")
    return found


def test_the_order_of_imports_is_kept():
    files = our_files()
    assert {"llrkit.errors", "llrkit.core.trial_counts", "llrkit.metrics.measure", "llrkit.scores"} <= set(
        files
    )
    assert breaches(files) == []


@pytest.mark.parametrize(
    ("module", "text", "complaint"),
    [
        ("core.counts", "from llrkit.metrics.discrimination import eer", "metrics is above core"),
        ("core.counts", "import llrkit.theory.operating_points", "theory is above core"),
        ("core.counts", "def f():\n    from llrkit.io import read_trials", "io is above core"),
        ("core.counts", "from ..engine import files", "engine is above core"),
        (
            "core.counts",
            "from importlib import import_module\nimport_module('llrkit.cli')",
            "cli is above core",
        ),
        ("metrics.llrs", "import polars as pl", "polars belongs in"),
        ("core.counts", "import rich", "core may use ['numpy', 'scipy'] only"),
        ("errors", "import numpy", "errors may use [] only"),
        ("scores.arrays", "from llrkit.core.threshold_grid import Grid", "core is above scores"),
        ("scores.arrays", "from llrkit import eer", "metrics is above scores"),
        ("metrics.llrs", "from llrkit.calibrate import affine", "do not know each other"),
        ("calibrate.affine", "from llrkit.metrics.llr_costs import cllr", "do not know each other"),
        ("metrics.llrs", "from llrkit.engine import files", "engine is above metrics"),
        (
            "metrics.llrs",
            "try:\n    import matplotlib.pyplot\nexcept ImportError:\n    pass",
            "matplotlib belongs in",
        ),
        ("metrics.llrs", "import llrkit", "not a room"),
        ("io.tables", "from click import echo", "click belongs in"),
        ("engine.threads", "import dask.bag", "dask belongs in"),
        ("engine.dask_source", "import sklearn.svm", "sklearn belongs in"),
        ("plot.figures", "from llrkit.report import page", "report is above plot"),
        ("kitchen.sink", "x = 1", "room 'kitchen' has no place"),
    ],
)
def test_a_breach_is_caught(module, text, complaint):
    found = breaches({f"llrkit.{module}": (text, False)})
    assert len(found) == 1
    assert complaint in found[0]


def test_two_renderers_are_caught():
    files = {f"llrkit.plot.{name}": ("import matplotlib", False) for name in ("a", "b")}
    assert breaches(files) == ["matplotlib is imported in ['plot.a', 'plot.b']: one renderer module only"]


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (
            "core.counts",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from llrkit.cli import main",
        ),
        ("core.counts", "import typing\nif typing.TYPE_CHECKING:\n    import polars"),
        (
            "core.counts",
            "import numpy as np\nfrom scipy.special import expit\nfrom llrkit.scores import Scores",
        ),
        ("theory.points", "from llrkit.core.elementary_functions import logit"),
        (
            "metrics.llrs",
            "from llrkit.theory.operating_points import preset\nfrom llrkit.errors import InputError",
        ),
        (
            "cli.main",
            "import click\nfrom llrkit import __version__, evaluate\nfrom llrkit.metrics import measure",
        ),
        ("engine.dask_source", "import dask"),
        ("engine.scanned_files", "import polars"),
    ],
)
def test_what_is_allowed_is_not_caught(module, text):
    assert breaches({f"llrkit.{module}": (text, False)}) == []


def test_relative_imports_of_packages_and_modules():
    text = "from . import sibling\nfrom .. import theory\nfrom ..io import tables"
    module = [name for _, name in imports_of(text, "llrkit.metrics.llr_costs")]
    package = [name for _, name in imports_of(text, "llrkit.metrics", is_package=True)]
    assert sorted(module) == ["llrkit.io.tables", "llrkit.metrics.sibling", "llrkit.theory"]
    assert sorted(package) == ["llrkit.io.tables", "llrkit.metrics.sibling", "llrkit.theory"]
