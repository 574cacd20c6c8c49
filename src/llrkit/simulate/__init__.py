"""Trial sets, embeddings and frames whose answers are known, made block by block from a seed.

Used as a namespace, ``lk.simulate.Corpus(...)``; names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llrkit.simulate.corpus import Corpus, Recordings
    from llrkit.simulate.cross import CrossTrials
    from llrkit.simulate.durations import DurationModel, DurationPairs
    from llrkit.simulate.frames import FrameModel
    from llrkit.simulate.pairs import SimulatedTrials, simulate_trials
    from llrkit.simulate.plda import simulate_plda
    from llrkit.simulate.population import Population
    from llrkit.simulate.splits import simulate_embeddings

# Where each public name lives.
_HOME = {
    "llrkit.simulate.corpus": ("Corpus", "Recordings"),
    "llrkit.simulate.cross": ("CrossTrials",),
    "llrkit.simulate.durations": ("DurationModel", "DurationPairs"),
    "llrkit.simulate.frames": ("FrameModel",),
    "llrkit.simulate.pairs": ("SimulatedTrials", "simulate_trials"),
    "llrkit.simulate.plda": ("simulate_plda",),
    "llrkit.simulate.population": ("Population",),
    "llrkit.simulate.splits": ("simulate_embeddings",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Corpus",
    "CrossTrials",
    "DurationModel",
    "DurationPairs",
    "FrameModel",
    "Population",
    "Recordings",
    "SimulatedTrials",
    "simulate_embeddings",
    "simulate_plda",
    "simulate_trials",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
