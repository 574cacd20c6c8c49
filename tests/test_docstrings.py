"""Every public function, method and class describes its parameters."""

import inspect
import re
from dataclasses import is_dataclass
from importlib import import_module

import llrkit.plot

MODULES = (
    "llrkit", "llrkit.plot", "llrkit.theory", "llrkit.spoof", "llrkit.biometrics", "llrkit.multiclass",
    "llrkit.speech", "llrkit.simulate", "llrkit.sklearn", "llrkit.scores", "llrkit.metrics", "llrkit.maps",
    "llrkit.fits", "llrkit.trust",
)  # fmt: skip


def public_callables():
    """(path, thing) of every public function, class and method."""
    for path in MODULES:
        module = import_module(path)
        for name in module.__all__:
            thing = getattr(module, name)
            if not callable(thing):
                continue
            yield f"{path}.{name}", thing
            for member, value in vars(thing).items() if inspect.isclass(thing) else ():
                method = getattr(value, "__func__", value)
                if inspect.isfunction(method) and not member.startswith("_"):
                    yield f"{path}.{name}.{member}", method


def described_parameters(docstring):
    """The names in the section of parameters of a docstring."""
    section = re.search(r"^Parameters\n-+\n((?:(?!\w+\n---).*\n?)*)", docstring, re.MULTILINE)
    lines = section[1].splitlines() if section else []
    return {name.lstrip("*") for line in lines if line[:1].strip() for name in re.split(r", | : ", line)}


def undescribed(thing):
    """Parameters that the docstring does not describe; fields of a result are described where they stand."""
    if inspect.isclass(thing) and (is_dataclass(thing) or issubclass(thing, (tuple, Exception))):
        return set()
    given = inspect.signature(thing.__init__ if inspect.isclass(thing) else thing).parameters
    names = {name for name in given if not name.startswith("_")} - {"self", "cls", "args", "kwargs"}
    # options that are declared as fields of a job are described one by one
    names -= {name for name, one in given.items() if str(one.annotation).endswith("Keywords]")}
    return names - described_parameters(inspect.getdoc(thing) or "")


def test_what_every_plot_takes_is_described_once():
    look = llrkit.plot.Look
    assert described_parameters(inspect.getdoc(look)) == set(look.__annotations__)
    referring = [thing for _, thing in public_callables() if "look" in getattr(thing, "__annotations__", {})]
    assert len(referring) > 20
    assert all(":class:`llrkit.plot.Look`" in thing.__doc__ for thing in referring)


def test_parameters_are_described():
    everything = dict(public_callables())
    assert len(everything) > 400
    assert [path for path, thing in everything.items() if not inspect.getdoc(thing)] == []
    missing = {path: undescribed(thing) for path, thing in everything.items()}
    assert {path: names for path, names in missing.items() if names} == {}
