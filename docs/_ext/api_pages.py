"""The pages that list the public names, written from ``llrkit.__all__`` and those of its public rooms.

Sphinx's autosummary makes a page of each name from the docstring.
"""

import importlib
import inspect
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from sphinx.ext.autodoc.mock import mock

ROOMS = {
    "scores": ("Trials", "Arrays, tables, files, a cluster.", ("scores", "io", "engine", "simulate")),
    "metrics": ("Metrics", "Numbers and curves of one set of trials.", ("metrics", "theory")),
    "evaluation": (
        "Evaluations and validation",
        "All numbers together, thresholds, criteria and one comparison.",
        ("verbs", "report"),
    ),
    "calibrate": ("Calibration", "From score to log-likelihood-ratio.", ("maps", "fits")),
    "trust": ("Intervals and tests", "How far a number can be trusted.", ("trust",)),
    "shift": ("Shift", "Scores that are no longer those of training.", ("shift",)),
    "errors": ("Errors and warnings", "Everything llrkit raises.", ("errors",)),
}
"""Page -> (title, what it is about, rooms whose names in ``llrkit`` it lists)."""
MODULES = {
    "theory": ("llrkit.theory", "Calibrated LLRs without data, operating points."),
    "simulate": ("llrkit.simulate", "Trials whose answers are known."),
    "plot": ("llrkit.plot", "Pictures of curves and evaluations."),
    "spoof": ("llrkit.spoof", "Three kinds of trials: targets, non-targets and spoofs."),
    "biometrics": ("llrkit.biometrics", "FMR and FNMR, groups of people, 1:N search."),
    "multiclass": ("llrkit.multiclass", "More than two classes."),
    "speech": ("llrkit.speech", "From speech and embeddings to scores."),
    "sklearn": ("llrkit.sklearn", "Estimators and scorers for scikit-learn."),
    "torch": ("llrkit.torch", "A metric for torchmetrics and Lightning."),
}
"""Page -> (module, what it is about)."""


ABSENT = [package for package in ("torch", "torchmetrics") if find_spec(package) is None]
"""Torch is too large to be asked of everybody who builds the pages."""


def public_names(module: ModuleType) -> list[str]:
    """What a module offers to users, without its modules."""
    return [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]


def names_by_room() -> dict[str, list[str]]:
    """The names of ``llrkit`` by the room they are defined in; those of public modules are listed there."""
    llrkit = importlib.import_module("llrkit")
    rooms: dict[str, list[str]] = {}
    for name in public_names(llrkit):
        if not name.startswith("_"):
            defined_in = getattr(llrkit, name).__module__.split(".")[1]
            rooms.setdefault(defined_in, []).append(name)
    return rooms


def _is_listed(module: ModuleType, name: str, llrkit: ModuleType) -> bool:
    """Whether ``llrkit`` has the same thing under the same name: it then has a page already."""
    return getattr(llrkit, name, None) is getattr(module, name)


def _kinds(module: ModuleType, names: list[str]) -> Iterator[tuple[str, list[str]]]:
    members = {name: getattr(module, name) for name in names}
    classes = [name for name in names if inspect.isclass(members[name])]
    functions = [name for name in names if name not in classes and callable(members[name])]
    data = [name for name in names if name not in classes and name not in functions]
    for title, chosen in (("Functions", functions), ("Classes", classes), ("Constants", data)):
        if chosen:
            yield title, chosen


def _page(title: str, about: str, module: ModuleType, names: list[str]) -> str:
    lines = [title, "=" * len(title), "", about, "", f".. currentmodule:: {module.__name__}", ""]
    for kind, chosen in _kinds(module, names):
        lines += [kind, "-" * len(kind), "", ".. autosummary::", "   :toctree: generated", ""]
        lines += [f"   {name}" for name in chosen] + [""]
    return "\n".join(lines)


def write_api_pages(folder: Path, *, only: Sequence[str] | None = None) -> None:
    """Write a list for each room, or only for some, and ``index.rst`` with all lists."""
    llrkit, rooms = importlib.import_module("llrkit"), names_by_room()
    folder.mkdir(parents=True, exist_ok=True)
    listed, rows = set(), []
    for page, (title, about, members) in ROOMS.items():
        names = sorted((name for room in members for name in rooms.get(room, ())), key=str.lower)
        listed |= set(members)
        (folder / f"{page}.rst").write_text(_page(title, about, llrkit, names), encoding="utf-8")
        rows.append((page, about))
    for page, (path, about) in MODULES.items():
        listed.add(page)
        with mock(ABSENT):  # names are imported when they are first asked for
            module = importlib.import_module(path)
            names = [name for name in public_names(module) if not _is_listed(module, name, llrkit)]
        (folder / f"{page}.rst").write_text(_page(path, about, module, names), encoding="utf-8")
        rows.append((page, about))
    if missing := set(rooms) - listed:
        raise SystemExit(f"docs/_ext/api_pages.py lists no page for the public names of {sorted(missing)}")
    lines = ["Python", "======", "", "Every public name, with its parameters and an executed example.", ""]
    if only is not None:
        for page, _ in rows:
            if page not in only:
                (folder / f"{page}.rst").unlink()
        rows = [(page, about) for page, about in rows if page in only]
    for page, about in rows:
        lines += [f":doc:`{page}`", f"    {about}"]
    lines += ["", ".. toctree::", "   :hidden:", ""] + [f"   {page}" for page, _ in rows] + [""]
    (folder / "index.rst").write_text("\n".join(lines), encoding="utf-8")
