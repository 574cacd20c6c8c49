"""From speech to scores: embeddings, back-end models and score normalisation.

Used as a namespace, ``lk.recognize.train_plda(...)``; names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llrkit.recognize.audio import audio_frames
    from llrkit.recognize.backend import Backend, normalised_scores, train_backend
    from llrkit.recognize.cosine import cosine_scores
    from llrkit.recognize.embedding_files import read_embeddings, write_embeddings
    from llrkit.recognize.embeddings import Embeddings
    from llrkit.recognize.extractor import Extractor, train_extractor
    from llrkit.recognize.frame_files import read_frames
    from llrkit.recognize.frames import Frames
    from llrkit.recognize.front_end import FrontEnd
    from llrkit.recognize.gaussians import DiagonalGMM
    from llrkit.recognize.gmm import SpeakerGMMs, adapt_means, gmm_scores
    from llrkit.recognize.inputs import read_speech
    from llrkit.recognize.ivector import TotalVariability
    from llrkit.recognize.ivector_training import train_ivectors
    from llrkit.recognize.normalise import as_norm, s_norm, t_norm, tz_norm, z_norm, zt_norm
    from llrkit.recognize.plda import PLDA
    from llrkit.recognize.plda_training import PLDATraining, moment_estimate, train_plda
    from llrkit.recognize.recognizer import Recognizer
    from llrkit.recognize.recognizer_training import train_recognizer
    from llrkit.recognize.sessions import pool_sessions
    from llrkit.recognize.sides import Side
    from llrkit.recognize.statistics import Statistics, baum_welch
    from llrkit.recognize.svm import LinearModels, train_svm
    from llrkit.recognize.transform_training import (
        train_centring,
        train_chain,
        train_lda,
        train_wccn,
        train_whitening,
    )
    from llrkit.recognize.transforms import Affine, Chain, LengthNorm, Transform
    from llrkit.recognize.trials import (
        listed_scores,
        listed_trials,
        matrix_scores,
        matrix_trials,
        trial_masks,
        write_matrix,
    )
    from llrkit.recognize.ubm import train_ubm

# Where each public name lives.
_HOME = {
    "llrkit.recognize.audio": ("audio_frames",),
    "llrkit.recognize.backend": ("Backend", "normalised_scores", "train_backend"),
    "llrkit.recognize.cosine": ("cosine_scores",),
    "llrkit.recognize.embedding_files": ("read_embeddings", "write_embeddings"),
    "llrkit.recognize.embeddings": ("Embeddings",),
    "llrkit.recognize.extractor": ("Extractor", "train_extractor"),
    "llrkit.recognize.frame_files": ("read_frames",),
    "llrkit.recognize.frames": ("Frames",),
    "llrkit.recognize.front_end": ("FrontEnd",),
    "llrkit.recognize.gaussians": ("DiagonalGMM",),
    "llrkit.recognize.gmm": ("SpeakerGMMs", "adapt_means", "gmm_scores"),
    "llrkit.recognize.inputs": ("read_speech",),
    "llrkit.recognize.ivector": ("TotalVariability",),
    "llrkit.recognize.ivector_training": ("train_ivectors",),
    "llrkit.recognize.normalise": ("as_norm", "s_norm", "t_norm", "tz_norm", "z_norm", "zt_norm"),
    "llrkit.recognize.plda": ("PLDA",),
    "llrkit.recognize.plda_training": ("PLDATraining", "moment_estimate", "train_plda"),
    "llrkit.recognize.recognizer": ("Recognizer",),
    "llrkit.recognize.recognizer_training": ("train_recognizer",),
    "llrkit.recognize.sessions": ("pool_sessions",),
    "llrkit.recognize.sides": ("Side",),
    "llrkit.recognize.statistics": ("Statistics", "baum_welch"),
    "llrkit.recognize.svm": ("LinearModels", "train_svm"),
    "llrkit.recognize.transform_training": (
        "train_centring",
        "train_chain",
        "train_lda",
        "train_wccn",
        "train_whitening",
    ),
    "llrkit.recognize.transforms": ("Affine", "Chain", "LengthNorm", "Transform"),
    "llrkit.recognize.trials": (
        "listed_scores",
        "listed_trials",
        "matrix_scores",
        "matrix_trials",
        "trial_masks",
        "write_matrix",
    ),
    "llrkit.recognize.ubm": ("train_ubm",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "PLDA",
    "Affine",
    "Backend",
    "Chain",
    "DiagonalGMM",
    "Embeddings",
    "Extractor",
    "Frames",
    "FrontEnd",
    "LengthNorm",
    "LinearModels",
    "PLDATraining",
    "Recognizer",
    "Side",
    "SpeakerGMMs",
    "Statistics",
    "TotalVariability",
    "Transform",
    "adapt_means",
    "as_norm",
    "audio_frames",
    "baum_welch",
    "cosine_scores",
    "gmm_scores",
    "listed_scores",
    "listed_trials",
    "matrix_scores",
    "matrix_trials",
    "moment_estimate",
    "normalised_scores",
    "pool_sessions",
    "read_embeddings",
    "read_frames",
    "read_speech",
    "s_norm",
    "t_norm",
    "train_backend",
    "train_centring",
    "train_chain",
    "train_extractor",
    "train_ivectors",
    "train_lda",
    "train_plda",
    "train_recognizer",
    "train_svm",
    "train_ubm",
    "train_wccn",
    "train_whitening",
    "trial_masks",
    "tz_norm",
    "write_embeddings",
    "write_matrix",
    "z_norm",
    "zt_norm",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
