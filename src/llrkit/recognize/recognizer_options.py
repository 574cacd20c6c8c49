"""What is decided about a recognizer before it is trained."""

from __future__ import annotations

from dataclasses import dataclass

from llrkit._arguments import whole_number
from llrkit.errors import InputError, UnknownNameError

BACKENDS = ("plda", "htplda", "psda", "tpsda", "cosine", "lda-cosine", "svm", "ubm-gmm")


@dataclass(frozen=True)
class RecognizerOptions:
    """What is decided before scoring: see :func:`train_recognizer`."""

    backend: str = "plda"
    uncertainty: bool = False
    relevance: float = 16.0
    top_gaussians: int | None = 5
    cost: float = 1.0

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise UnknownNameError(f"unknown back-end {self.backend!r}; there are: {', '.join(BACKENDS)}")
        if not (self.relevance > 0 and self.cost > 0):
            raise InputError(f"relevance and cost must be positive, got {self.relevance} and {self.cost}")
        if self.top_gaussians is not None:
            whole_number(self.top_gaussians, 1, "top_gaussians")
