"""Trial sets, embeddings and frames whose answers are known, made block by block from a seed.

Used as a namespace, ``lk.simulate.Corpus(...)``; names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llrkit.simulate.corpus import Corpus, Recordings
    from llrkit.simulate.cross_trials import CrossTrials
    from llrkit.simulate.duration_model import DurationModel, DurationPairs
    from llrkit.simulate.independent_trials import SimulatedTrials, simulate_trials
    from llrkit.simulate.plda_trials import simulate_plda
    from llrkit.simulate.simulated_embeddings import simulate_embeddings
    from llrkit.simulate.simulated_frames import FrameModel
    from llrkit.simulate.speaker_population import Population

# Where each public name lives.
_HOME = {
    "llrkit.simulate.corpus": ("Corpus", "Recordings"),
    "llrkit.simulate.cross_trials": ("CrossTrials",),
    "llrkit.simulate.duration_model": ("DurationModel", "DurationPairs"),
    "llrkit.simulate.simulated_frames": ("FrameModel",),
    "llrkit.simulate.independent_trials": ("SimulatedTrials", "simulate_trials"),
    "llrkit.simulate.plda_trials": ("simulate_plda",),
    "llrkit.simulate.speaker_population": ("Population",),
    "llrkit.simulate.simulated_embeddings": ("simulate_embeddings",),
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
