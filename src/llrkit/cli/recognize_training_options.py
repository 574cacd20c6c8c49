"""Options of ``llrkit recognize train``, and what of them does not go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from llrkit.cli.recognize_input_options import OfSpeech, SecondList, was_given
from llrkit.errors import InputError

_OF_BACKENDS = {"relevance": "ubm-gmm", "top_gaussians": "ubm-gmm", "cost": "svm"}
_WITHOUT_EM = ("cosine", "lda-cosine", "svm")


@dataclass(frozen=True, kw_only=True)
class ToTrain(OfSpeech):
    """Options of ``recognize train``."""

    speech: str | None
    backend: str
    gaussians: int | None
    factors: int | None
    iterations: int
    steps: str | None
    rank: int | None
    uncertainty: bool
    relevance: float
    top_gaussians: int
    cost: float
    rate: int | None
    normalize: str
    seed: int
    no_stages: bool
    adapt: str | None
    adapt_where: tuple[str, ...]
    adapt_from: str | None
    adapt_segments: str | None
    adapt_utt2spk: str | None
    adapt_vad: str | None
    adaptation: str
    adaptation_weight: float | None

    @property
    def domain(self) -> SecondList:
        """The list of the domain that is meant."""
        return SecondList(
            name="adapt", path=self.adapt, where=self.adapt_where, source=self.adapt_from,
            segments=self.adapt_segments, speaker_file=self.adapt_utt2spk, vad=self.adapt_vad,
        )  # fmt: skip


class OfExtractor(TypedDict, total=False):
    """Sizes of what makes embeddings of speech; none where that is there already."""

    n_gaussians: int | None
    n_factors: int | None


def check_options(asked: ToTrain, backend: str, steps: list[str] | None) -> None:
    """Refuse what does not go together, before a file is read."""
    from llrkit.speech.recognizer import require_options

    for name, owner in _OF_BACKENDS.items():
        if was_given(name) and backend != owner:
            raise InputError(f"--{name.replace('_', '-')} is an option of {owner}, not of {backend}")
    asked.domain.require()
    if asked.adapt is None and (was_given("adaptation") or asked.adaptation_weight is not None):
        raise InputError("--adaptation and --adaptation-weight need --adapt")
    require_options(
        backend, steps, uncertainty=asked.uncertainty, adapted=asked.adapt is not None,
        adaptation=asked.adaptation, weight=asked.adaptation_weight, rank=asked.rank,
    )  # fmt: skip


def refuse_sizes(asked: ToTrain) -> None:
    """What says nothing where embeddings are given."""
    for name, value in (("gaussians", asked.gaussians), ("factors", asked.factors)):
        if value is not None:
            raise InputError(f"--{name} is for training from speech; the input holds embeddings")


def refuse_idle(asked: ToTrain, backend: str) -> None:
    """What says nothing where only a back-end is trained."""
    if asked.no_stages:
        raise InputError("--no-stages is for training a background model; here only the back-end is trained")
    if was_given("iterations") and backend in _WITHOUT_EM:
        raise InputError(f"--iterations is for EM, which {backend} does not use")
