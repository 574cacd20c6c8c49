"""Rooms import only from rooms below them; each framework is imported in one place (DESIGN.md section 2)."""

import sys

from house import LEVEL, imports_of, our_files, room_of

# framework -> modules (or rooms, with all they hold) that may import it
FRAMEWORKS = {
    "dask": {"engine.cluster", "engine.dask_source"},
    "distributed": {"engine.cluster", "engine.dask_source"},
    "sklearn": {"sklearn", "speech.models.svm"},
    "torch": {"torch"},
    "torchmetrics": {"torch"},
    "matplotlib": {"plot"},
    "plotly": {"plot"},
    "click": {"cli"},
    "h5py": {"io.array_files"},
    "soundfile": {"speech.audio"},
    "soxr": {"speech.audio"},
    "kaldi_native_fbank": {"speech.audio"},
    "polars": {"results.result", "scores", "io", "engine.dask_source"},
    "pandas": {"results.result"},
}
ONE_MODULE_ONLY = {"matplotlib", "plotly"}
ONLY_THESE = {"core": {"numpy", "scipy"}, "base": {"numpy", "threadpoolctl"}}
ONLY_THESE |= {module: set() for module in ("errors", "_version")}
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
    assert {"llrkit.errors", "llrkit.scores"} <= set(files)
    assert breaches(files) == []
    planted = "from ..metrics import eer\nimport polars"
    assert len(breaches({"llrkit.core.counts": (planted, False)})) == 3  # a room above, and twice polars
