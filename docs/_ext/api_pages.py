"""The pages that list the public names: those at the top of ``llrkit`` by subject, then each namespace.

Sphinx's autosummary makes a page of each name from the docstring.
"""

import importlib
import inspect
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.autodoc.mock import mock

from llrkit.base.public_names import namespaces

TOP = {
    "top-trials": ("Trials", "Arrays, tables, files, a cluster.", ("scores", "io", "engine", "simulate")),
    "top-numbers": ("Metrics", "Numbers of one set of trials.", ("metrics", "theory")),
    "top-evaluation": (
        "Evaluations and validation",
        "All numbers together, thresholds, criteria, reports of a case and of systems.",
        ("verbs", "report", "trust"),
    ),
    "top-calibration": ("Calibration", "From score to log-likelihood-ratio.", ("maps", "fits")),
    "top-shift": ("Shift", "Scores that are no longer those of training.", ("shift",)),
    "top-errors": ("Errors to catch", "What every error and warning derives from.", ("errors",)),
}
"""Page -> (title, what it is about, rooms whose names at the top of ``llrkit`` it lists)."""
MODULES = {
    "scores": "Sources of trials, also of several classes.",
    "metrics": "Every metric and its curves.",
    "fits": "Every calibrator.",
    "maps": "Maps from score to log-likelihood-ratio, and bounds of what they say.",
    "trust": "Intervals and tests: how far a number can be trusted.",
    "errors": "Everything llrkit raises on purpose.",
    "theory": "Calibrated LLRs without data, operating points.",
    "simulate": "Trials whose answers are known.",
    "plot": "Pictures of curves and evaluations.",
    "spoof": "Three kinds of trials: targets, non-targets and spoofs.",
    "biometrics": "FMR and FNMR, groups of people, 1:N search.",
    "multiclass": "More than two classes.",
    "speech": "From speech and embeddings to scores.",
    "sklearn": "Estimators and scorers for scikit-learn.",
    "torch": "A metric for torchmetrics and Lightning.",
}
"""Namespace -> what it is about."""


ABSENT = [package for package in ("torch", "torchmetrics") if find_spec(package) is None]
"""Torch is too large to be asked of everybody who builds the pages."""


def names_of(space: str) -> list[str]:
    """The public names of a namespace, or of a module that users import themselves; none is a module."""
    module = importlib.import_module(f"llrkit.{space}")
    names = namespaces().get(space) or module.__all__
    return sorted((name for name in names if not inspect.ismodule(getattr(module, name))), key=str.lower)


def top_by_room() -> dict[str, list[str]]:
    """The names at the top of ``llrkit`` by the room they are defined in."""
    llrkit = importlib.import_module("llrkit")
    rooms: dict[str, list[str]] = {}
    for name in llrkit.__all__:
        if name not in namespaces() and not name.startswith("_"):
            defined_in = getattr(llrkit, name).__module__.split(".")[1]
            rooms.setdefault(defined_in, []).append(name)
    return rooms


def _kinds(module: ModuleType, names: list[str]) -> Iterator[tuple[str, list[str]]]:
    members = {name: getattr(module, name) for name in names}
    classes = [name for name in names if inspect.isclass(members[name])]
    functions = [name for name in names if name not in classes and callable(members[name])]
    data = [name for name in names if name not in classes and name not in functions]
    for title, chosen in (("Functions", functions), ("Classes", classes), ("Constants", data)):
        if chosen:
            yield title, chosen


def _page(
    title: str, about: str, module: ModuleType, names: list[str], pages_of_names: dict[object, str]
) -> str:
    """The list of the names of a module; what has its page elsewhere is linked to, the rest gets one here."""
    lines = [title, "=" * len(title), "", about, "", f".. currentmodule:: {module.__name__}", ""]
    members = {name: getattr(module, name) for name in names}
    new = [name for name, member in members.items() if not callable(member) or member not in pages_of_names]
    linked = [pages_of_names[members[name]] for name in names if name not in new]
    if linked:
        listed = ", ".join(f":py:obj:`{place}`" for place in linked)
        lines += [f"Also in this namespace: {listed}.", ""]
    pages_of_names.update(
        (members[name], f"{module.__name__}.{name}") for name in new if callable(members[name])
    )
    for kind, chosen in _kinds(module, new):
        lines += [kind, "-" * len(kind), "", ".. autosummary::", "   :toctree: generated", ""]
        lines += [f"   {name}" for name in chosen] + [""]
    return "\n".join(lines)


def write_api_pages(folder: Path, *, only: Sequence[str] | None = None) -> None:
    """Write a page for each subject at the top and each namespace, or only for some, and their index."""
    llrkit, rooms = importlib.import_module("llrkit"), top_by_room()
    if missing := set(rooms) - {room for *_, members in TOP.values() for room in members}:
        raise SystemExit(f"docs/_ext/api_pages.py lists no page for the public names of {sorted(missing)}")
    if missing := set(namespaces()) - set(MODULES):
        raise SystemExit(f"docs/_ext/api_pages.py does not describe the namespaces {sorted(missing)}")
    pages, titles, pages_of_names = {}, {}, {}
    for page, (title, about, members) in TOP.items():
        names = sorted((name for room in members for name in rooms.get(room, ())), key=str.lower)
        pages[page], titles[page] = _page(title, about, llrkit, names, pages_of_names), about
    for space, about in MODULES.items():
        with mock(ABSENT):  # names are imported when they are first asked for
            module = importlib.import_module(f"llrkit.{space}")
            pages[space] = _page(module.__name__, about, module, names_of(space), pages_of_names)
            titles[space] = about
    folder.mkdir(parents=True, exist_ok=True)
    shown = [page for page in pages if only is None or page in only]
    for page in shown:
        (folder / f"{page}.rst").write_text(pages[page], encoding="utf-8")
    lines = ["Python", "======", "", "Every public name, with its parameters and an executed example.", ""]
    for title, part in (
        ("At the top: ``import llrkit as lk``", [page for page in shown if page in TOP]),
        ("Namespaces: ``lk.fits``, ``lk.metrics``, ...", [page for page in shown if page in MODULES]),
    ):
        if not part:
            continue
        lines += [title, "-" * len(title), ""]
        for page in part:
            lines += [f":doc:`{page}`", f"    {titles[page]}"]
        lines += ["", ".. toctree::", "   :hidden:", ""] + [f"   {page}" for page in part] + [""]
    (folder / "index.rst").write_text("\n".join(lines), encoding="utf-8")


def page_at_the_top(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.TextElement
) -> nodes.Element | None:
    """``llrkit.fits.fit_pav`` has its page as ``llrkit.fit_pav``."""
    space, _, name = node["reftarget"].removeprefix("llrkit.").partition(".")
    if space not in namespaces() or name not in importlib.import_module("llrkit").__all__:
        return None
    domain, builder = env.domains["py"], app.builder
    return domain.resolve_xref(env, node["refdoc"], builder, node["reftype"], f"llrkit.{name}", node, content)


def setup(app: Sphinx) -> dict[str, bool]:
    """Ask to be told of references without a target."""
    app.connect("missing-reference", page_at_the_top)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
