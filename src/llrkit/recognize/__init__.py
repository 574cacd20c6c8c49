"""From speech to scores: embeddings, back-end models and score normalisation.

Used as a namespace, ``lk.recognize.train_plda(...)``; names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llrkit.recognize.backend import Backend, normalised_scores, train_backend
    from llrkit.recognize.cosine import cosine_scores
    from llrkit.recognize.embedding_files import read_embeddings, write_embeddings
    from llrkit.recognize.embeddings import Embeddings
    from llrkit.recognize.normalise import as_norm, s_norm, t_norm, tz_norm, z_norm, zt_norm
    from llrkit.recognize.plda import PLDA
    from llrkit.recognize.plda_training import PLDATraining, moment_estimate, train_plda
    from llrkit.recognize.sessions import pool_sessions
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

# Where each public name lives.
_HOME = {
    "llrkit.recognize.backend": ("Backend", "normalised_scores", "train_backend"),
    "llrkit.recognize.cosine": ("cosine_scores",),
    "llrkit.recognize.embedding_files": ("read_embeddings", "write_embeddings"),
    "llrkit.recognize.embeddings": ("Embeddings",),
    "llrkit.recognize.normalise": ("as_norm", "s_norm", "t_norm", "tz_norm", "z_norm", "zt_norm"),
    "llrkit.recognize.plda": ("PLDA",),
    "llrkit.recognize.plda_training": ("PLDATraining", "moment_estimate", "train_plda"),
    "llrkit.recognize.sessions": ("pool_sessions",),
    "llrkit.recognize.svm": ("LinearModels", "train_svm"),
    "llrkit.recognize.transform_training": (
        "train_centring", "train_chain", "train_lda", "train_wccn", "train_whitening",
    ),
    "llrkit.recognize.transforms": ("Affine", "Chain", "LengthNorm", "Transform"),
    "llrkit.recognize.trials": (
        "listed_scores", "listed_trials", "matrix_scores", "matrix_trials", "trial_masks", "write_matrix",
    ),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "PLDA",
    "Affine",
    "Backend",
    "Chain",
    "Embeddings",
    "LengthNorm",
    "LinearModels",
    "PLDATraining",
    "Transform",
    "as_norm",
    "cosine_scores",
    "listed_scores",
    "listed_trials",
    "matrix_scores",
    "matrix_trials",
    "moment_estimate",
    "normalised_scores",
    "pool_sessions",
    "read_embeddings",
    "s_norm",
    "t_norm",
    "train_backend",
    "train_centring",
    "train_chain",
    "train_lda",
    "train_plda",
    "train_svm",
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
