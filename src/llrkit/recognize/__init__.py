"""From speech to scores: embeddings, back-end models and score normalisation.

Used as a namespace, ``lk.recognize.train_plda(...)``; names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llrkit.recognize.audio import audio_frames
    from llrkit.recognize.embedding_files import read_embeddings, write_embeddings
    from llrkit.recognize.embeddings import Embeddings
    from llrkit.recognize.extractor import Extractor, train_extractor
    from llrkit.recognize.frame_files import read_frames
    from llrkit.recognize.frames import Frames
    from llrkit.recognize.front_end import FrontEnd
    from llrkit.recognize.gaussians import DiagonalGMM
    from llrkit.recognize.gmm import SpeakerGMMs, adapt_means, gmm_scores
    from llrkit.recognize.ivector import TotalVariability
    from llrkit.recognize.ivector_training import train_ivectors
    from llrkit.recognize.plda import PLDA
    from llrkit.recognize.plda_training import PLDATraining, train_plda
    from llrkit.recognize.sessions import pool_sessions
    from llrkit.recognize.statistics import Statistics, baum_welch
    from llrkit.recognize.ubm import train_ubm

# Where each public name lives.
_HOME = {
    "llrkit.recognize.audio": ("audio_frames",),
    "llrkit.recognize.embedding_files": ("read_embeddings", "write_embeddings"),
    "llrkit.recognize.embeddings": ("Embeddings",),
    "llrkit.recognize.extractor": ("Extractor", "train_extractor"),
    "llrkit.recognize.frame_files": ("read_frames",),
    "llrkit.recognize.frames": ("Frames",),
    "llrkit.recognize.front_end": ("FrontEnd",),
    "llrkit.recognize.gaussians": ("DiagonalGMM",),
    "llrkit.recognize.gmm": ("SpeakerGMMs", "adapt_means", "gmm_scores"),
    "llrkit.recognize.ivector": ("TotalVariability",),
    "llrkit.recognize.ivector_training": ("train_ivectors",),
    "llrkit.recognize.plda": ("PLDA",),
    "llrkit.recognize.plda_training": ("PLDATraining", "train_plda"),
    "llrkit.recognize.sessions": ("pool_sessions",),
    "llrkit.recognize.statistics": ("Statistics", "baum_welch"),
    "llrkit.recognize.ubm": ("train_ubm",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "PLDA",
    "DiagonalGMM",
    "Embeddings",
    "Extractor",
    "Frames",
    "FrontEnd",
    "PLDATraining",
    "SpeakerGMMs",
    "Statistics",
    "TotalVariability",
    "adapt_means",
    "audio_frames",
    "baum_welch",
    "gmm_scores",
    "pool_sessions",
    "read_embeddings",
    "read_frames",
    "train_extractor",
    "train_ivectors",
    "train_plda",
    "train_ubm",
    "write_embeddings",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
