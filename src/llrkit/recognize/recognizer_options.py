"""What is decided about a recognizer before it is trained, and options that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llrkit._arguments import whole_number
from llrkit._format import not_among
from llrkit.errors import InputError, UnknownNameError
from llrkit.recognize.backends.backend import refuse_of_others
from llrkit.recognize.backends.domain_adaptation import require_adaptation
from llrkit.recognize.backends.transform_training import parsed_step
from llrkit.recognize.option_names import BACKENDS


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
            raise UnknownNameError(f"unknown back-end {not_among(self.backend, BACKENDS, '; there are: ')}")
        if not (self.relevance > 0 and self.cost > 0):
            raise InputError(f"relevance and cost must be positive, got {self.relevance} and {self.cost}")
        if self.top_gaussians is not None:
            whole_number(self.top_gaussians, 1, "top_gaussians")


def require_options(
    backend: str,
    steps: Sequence[object] | None = None,
    *,
    uncertainty: bool = False,
    adapted: bool = False,
    adaptation: str = "center",
    weight: float | None = None,
    rank: int | None = None,
) -> None:
    """Refuse options that the back-end does not have, or that cannot be combined.

    Examples
    --------
    >>> require_options("cosine", rank=10)
    Traceback (most recent call last):
    llrkit.errors.InputError: rank is an option of plda, not of cosine
    """
    if steps is not None and backend == "ubm-gmm":
        raise InputError("the ubm-gmm back-end has no embeddings, so no steps")
    for step in steps or ():
        if isinstance(step, str):
            parsed_step(step)
    refuse_of_others(backend, rank=rank)
    if uncertainty and backend != "plda":
        raise InputError(f"uncertainty is for PLDA, not for {backend}")
    if adapted and backend == "ubm-gmm":
        raise InputError("the ubm-gmm back-end has no embeddings, so it is not adapted by them")
    if adapted:
        require_adaptation(adaptation, backend, weight)
    elif adaptation != "center" or weight is not None:
        raise InputError("adaptation and adaptation_weight are for embeddings to adapt to: give adapt=")
