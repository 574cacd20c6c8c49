"""From speech to scores: embeddings, back-end models and score normalisation.

Used as a namespace, ``lk.recognize.train_plda(...)``; names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llrkit.recognize.embedding_files import read_embeddings, write_embeddings
    from llrkit.recognize.embeddings import Embeddings
    from llrkit.recognize.plda import PLDA
    from llrkit.recognize.plda_training import PLDATraining, train_plda
    from llrkit.recognize.sessions import pool_sessions

# Where each public name lives.
_HOME = {
    "llrkit.recognize.embedding_files": ("read_embeddings", "write_embeddings"),
    "llrkit.recognize.embeddings": ("Embeddings",),
    "llrkit.recognize.plda": ("PLDA",),
    "llrkit.recognize.plda_training": ("PLDATraining", "train_plda"),
    "llrkit.recognize.sessions": ("pool_sessions",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "PLDA",
    "Embeddings",
    "PLDATraining",
    "pool_sessions",
    "read_embeddings",
    "train_plda",
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
