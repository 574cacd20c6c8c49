"""From speech to scores: embeddings, back-end models and score normalization.

Used as a namespace, ``lk.recognize.train_plda(...)``; names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llrkit.recognize.backends.backend import Backend, normalized_scores, train_backend
    from llrkit.recognize.backends.cosine import cosine_scores
    from llrkit.recognize.backends.score_normalization import (
        as_norm,
        s_norm,
        t_norm,
        tz_norm,
        z_norm,
        zt_norm,
    )
    from llrkit.recognize.backends.sessions import pool_sessions
    from llrkit.recognize.backends.svm import LinearModels, train_svm
    from llrkit.recognize.backends.transform_training import (
        train_centering,
        train_chain,
        train_lda,
        train_wccn,
        train_whitening,
    )
    from llrkit.recognize.backends.transforms import Affine, Chain, LengthNorm, Transform
    from llrkit.recognize.backends.trial_sides import Side
    from llrkit.recognize.embedding_files import read_embeddings, write_embeddings
    from llrkit.recognize.embeddings import Embeddings
    from llrkit.recognize.frames.audio import audio_frames
    from llrkit.recognize.frames.frame_files import read_frames
    from llrkit.recognize.frames.front_end import FrontEnd
    from llrkit.recognize.frames.utterance_frames import Frames
    from llrkit.recognize.ivectors.baum_welch import Statistics, baum_welch
    from llrkit.recognize.ivectors.diagonal_gmm import DiagonalGMM
    from llrkit.recognize.ivectors.extractor import Extractor, train_extractor
    from llrkit.recognize.ivectors.ivector_training import train_ivectors
    from llrkit.recognize.ivectors.speaker_gmms import SpeakerGMMs, adapt_means, gmm_scores
    from llrkit.recognize.ivectors.total_variability import TotalVariability
    from llrkit.recognize.ivectors.ubm import train_ubm
    from llrkit.recognize.pair_trials import (
        listed_scores,
        listed_trials,
        matrix_scores,
        matrix_trials,
        trial_masks,
        write_matrix,
    )
    from llrkit.recognize.plda.plda_model import PLDA
    from llrkit.recognize.plda.plda_training import PLDATraining, moment_estimate, train_plda
    from llrkit.recognize.recognizer import Recognizer
    from llrkit.recognize.recognizer_training import train_recognizer
    from llrkit.recognize.speech_inputs import read_speech

# Where each public name lives.
_HOME = {
    "llrkit.recognize.frames.audio": ("audio_frames",),
    "llrkit.recognize.backends.backend": ("Backend", "normalized_scores", "train_backend"),
    "llrkit.recognize.backends.cosine": ("cosine_scores",),
    "llrkit.recognize.embedding_files": ("read_embeddings", "write_embeddings"),
    "llrkit.recognize.embeddings": ("Embeddings",),
    "llrkit.recognize.ivectors.extractor": ("Extractor", "train_extractor"),
    "llrkit.recognize.frames.frame_files": ("read_frames",),
    "llrkit.recognize.frames.utterance_frames": ("Frames",),
    "llrkit.recognize.frames.front_end": ("FrontEnd",),
    "llrkit.recognize.ivectors.diagonal_gmm": ("DiagonalGMM",),
    "llrkit.recognize.ivectors.speaker_gmms": ("SpeakerGMMs", "adapt_means", "gmm_scores"),
    "llrkit.recognize.speech_inputs": ("read_speech",),
    "llrkit.recognize.ivectors.total_variability": ("TotalVariability",),
    "llrkit.recognize.ivectors.ivector_training": ("train_ivectors",),
    "llrkit.recognize.backends.score_normalization": (
        "as_norm",
        "s_norm",
        "t_norm",
        "tz_norm",
        "z_norm",
        "zt_norm",
    ),
    "llrkit.recognize.plda.plda_model": ("PLDA",),
    "llrkit.recognize.plda.plda_training": ("PLDATraining", "moment_estimate", "train_plda"),
    "llrkit.recognize.recognizer": ("Recognizer",),
    "llrkit.recognize.recognizer_training": ("train_recognizer",),
    "llrkit.recognize.backends.sessions": ("pool_sessions",),
    "llrkit.recognize.backends.trial_sides": ("Side",),
    "llrkit.recognize.ivectors.baum_welch": ("Statistics", "baum_welch"),
    "llrkit.recognize.backends.svm": ("LinearModels", "train_svm"),
    "llrkit.recognize.backends.transform_training": (
        "train_centering",
        "train_chain",
        "train_lda",
        "train_wccn",
        "train_whitening",
    ),
    "llrkit.recognize.backends.transforms": ("Affine", "Chain", "LengthNorm", "Transform"),
    "llrkit.recognize.pair_trials": (
        "listed_scores",
        "listed_trials",
        "matrix_scores",
        "matrix_trials",
        "trial_masks",
        "write_matrix",
    ),
    "llrkit.recognize.ivectors.ubm": ("train_ubm",),
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
    "normalized_scores",
    "pool_sessions",
    "read_embeddings",
    "read_frames",
    "read_speech",
    "s_norm",
    "t_norm",
    "train_backend",
    "train_centering",
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
