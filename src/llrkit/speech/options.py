"""The options of speaker recognition, declared once: Python's keywords and the command line have them.

This module imports nothing that takes time: the help of a command needs it.
"""

from __future__ import annotations

from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any

from llrkit.base.options import Options, declared, defaults, flag_of, opt
from llrkit.errors import InputError
from llrkit.speech.models import ADAPTATIONS, BACKENDS, BAD_FILES, NORMALIZATIONS, NORMS

if TYPE_CHECKING:
    from os import PathLike

    from llrkit.base.arguments import RNG
    from llrkit.speech.embeddings import Embeddings
    from llrkit.speech.frames import Frames
    from llrkit.speech.sides import Side


class ListInput(Options, title="Speech"):
    """What is told of one list of speech, or file of embeddings."""

    where: tuple[str, ...] = opt(
        (), "Only utterances that satisfy a condition such as 'split = eval'; all must hold.", "texts",
        metavar="COND",
    )  # fmt: skip
    source: str | PathLike[str] | None = opt(
        None, "Frames or embeddings (NPZ, Kaldi ark or scp) whose ids are in the list; in training also "
        "a recognizer.", "read",
        flag="--from", more="Without it, a list holds audio files.",
    )  # fmt: skip
    segments: str | PathLike[str] | None = opt(None, "Kaldi's segments: parts of recordings.", "read")
    utt2spk: str | PathLike[str] | None = opt(None, "The speaker of each utterance.", "read")
    vad: str | PathLike[str] | None = opt(
        None, "Voice activity: RTTM or Kaldi's (ark, scp); by default found from the level.", "read"
    )


class SpeechInput(ListInput):
    """What is told of one list, and of every list: where its speech is."""

    vectors: str | None = opt(
        None, "Matrix of an NPZ file that holds the embeddings, if there are several.", metavar="NAME"
    )
    folder: str | PathLike[str] | None = opt(
        None, "Folder of the audio files, if not that of the list; applies to every list.", metavar="DIR",
        accepts="str | PathLike[str]",
    )  # fmt: skip
    bad_files: str = opt(
        "error", "What to do with audio files that cannot be used.", choices=BAD_FILES,
        more='``"error"``, or ``"skip"``: they are left out, with a warning that names them.', show="all",
    )  # fmt: skip


def second_list(name: str) -> type[ListInput]:
    """The options of one list again, for a second one that is given as ``--NAME``.

    Examples
    --------
    >>> flag_of(second_list("cohort"), "source"), declared(second_list("cohort"))["source"].help
    ('--cohort-from', 'As --from, for --cohort.')
    """
    again: dict[str, Any] = {}
    for one in fields(ListInput):
        flag = flag_of(ListInput, one.name)
        option = replace(
            declared(ListInput)[one.name], flag=f"--{name}-{flag.strip('-')}", show="all", more="",
            help=f"As {flag}, for --{name}.",
        )  # fmt: skip
        default = defaults(ListInput)[one.name]
        again[one.name] = field(default=default, metadata={"option": option})
    types = {"__annotations__": {one.name: one.type for one in fields(ListInput)}}
    return type(f"{name.title()}Input", (ListInput,), {"title": f"Speech of --{name}", **types, **again})


AdaptInput = second_list("adapt")
CohortInput = second_list("cohort")


class FrontEndOptions(Options, title="Audio"):
    """How audio becomes frames."""

    sample_rate: int | None = opt(
        None, "Sample rate in Hz; by default that of most files.", "whole", flag="--rate", metavar="HZ",
        low=1, show="all",
    )  # fmt: skip
    channel: int | None = opt(
        None, "Channel of stereo files, counted from 0; a trained recognizer takes that of its training.",
        "whole", low=0, more="None expects files with one channel.",
    )  # fmt: skip
    n_ceps: int = opt(20, "Cepstral coefficients, with the zeroth.", "whole", low=1, show="python")
    n_bands: int = opt(24, "Mel bands.", "whole", low=1, show="python")
    deltas: int = opt(2, "How many time derivatives are appended.", "whole", low=0, high=2, show="python")
    normalize: str = opt(
        "utterance", "How mean and variance of the cepstra are normalized.", choices=NORMALIZATIONS,
        show="all", more='``"utterance"``: mean 0 and variance 1 over the frames that are kept; '
        '``"sliding"``: over ``window`` frames around each; ``"none"``.',
    )  # fmt: skip
    window: int = opt(301, "Frames of the sliding normalization.", "whole", low=2, show="python")
    speech_range: float | None = opt(
        30.0, "Frames are speech when they are at most this many dB below the loud ones.", "number",
        low=1e-9, show="python", more="None keeps all frames.",
    )  # fmt: skip
    seconds: float | None = opt(
        None, "Use only the first seconds of speech; a trained recognizer takes those of its training.",
        "number", metavar="S", low=0.01,
    )  # fmt: skip
    resample: bool = opt(
        True, "Resample files of another sample rate.", "flag", show="all",
        more="By soxr; if not, they are refused.",
    )  # fmt: skip

    def check(self) -> None:
        """No more cepstra than bands."""
        if self.n_ceps > self.n_bands:
            raise InputError(f"{self.n_ceps} cepstra from {self.n_bands} mel bands: give 1 to {self.n_bands}")


class RecognizerOptions(Options, title="Back-end"):
    """What is decided before scoring."""

    backend: str = opt("plda", "How embeddings are scored; ubm-gmm scores frames.", choices=BACKENDS)
    uncertainty: bool = opt(
        False, "PLDA trusts short utterances less (posterior covariance).", "flag", show="all",
        only=("backend", "plda"),
        more="It adds the posterior covariance of an i-vector to the covariance within speakers.",
    )  # fmt: skip
    relevance: float = opt(
        16.0, "Relevance factor of ubm-gmm.", "number", low=1e-9, show="all", only=("backend", "ubm-gmm")
    )
    top_gaussians: int | None = opt(
        5, "Gaussians used in each frame by ubm-gmm; 0 for all.", "whole", low=0, show="all",
        accepts="int | None", only=("backend", "ubm-gmm"),
    )  # fmt: skip
    cost: float = opt(
        1.0, "Cost parameter of the svm.", "number", low=1e-9, show="all", only=("backend", "svm")
    )


class TrainOptions(RecognizerOptions, title="Training"):
    """How a recognizer is trained."""

    steps: tuple[str, ...] | None = opt(
        None, "Before scoring: center, whiten[:DIM], lda[:DIM], wccn, length. By default what suits the "
        "back-end.", "names", more="See :func:`train_chain`. Embeddings are centered, whitened and brought "
        "to one length for 'plda' and 'svm', centered for 'cosine', and projected by LDA for 'lda-cosine'.",
    )  # fmt: skip
    n_gaussians: int | None = opt(
        None, "Number of Gaussians of the background model; by default chosen from the amount of data.",
        "whole", flag="--gaussians", low=1,
    )  # fmt: skip
    n_factors: int | None = opt(
        None, "Dimensions of an i-vector; by default chosen from the amount of data.", "whole",
        flag="--factors",
    )  # fmt: skip
    iterations: int = opt(10, "Steps of each EM.", "whole", low=0, show="all")
    rank: int | None = opt(None, "Dimensions of the speaker space of plda; by default all.", "whole",
                           only=("backend", "plda"))  # fmt: skip
    rng: RNG = opt(
        0, "The same seed gives the same recognizer.", "seed", flag="--seed", metavar="N", accepts="RNG",
        show="all", more="A random generator, or a seed.",
    )  # fmt: skip
    adapt: Frames | Embeddings | None = opt(
        None, "Speech of the new domain, to which the back-end is adapted; its speakers are used only by "
        "interpolate.", "trials", metavar="LIST|EMBEDDINGS", accepts="Frames | Embeddings",
    )  # fmt: skip
    adaptation: str = opt(
        "center", "Method of adaptation: means, CORAL; for PLDA also CORAL+, Kaldi's, or interpolation with "
        "a PLDA of the new domain.", choices=ADAPTATIONS, needs=("adapt",),
        more="See :func:`train_adapted_backend`.",
    )  # fmt: skip
    adaptation_weight: float | None = opt(
        None, "Weight of the new domain, for coral+ (default 0.8) and interpolate (0.5).", "share",
        needs=("adapt",), show="all",
    )  # fmt: skip

    def check(self) -> None:
        """Refuse what the back-end does not have, before anything is read."""
        if self.backend == "ubm-gmm":
            for name in ("steps", "adapt"):
                if getattr(self, name) is not None:
                    raise self.error("the ubm-gmm back-end has no embeddings, so no {}", name)
        if self.steps is not None:
            from llrkit.speech.models.transforms import parsed_step  # needs NumPy, which a help does not

            for step in self.steps:
                parsed_step(step)
        if self.adapt is not None:
            from llrkit.speech.backends import require_adaptation

            require_adaptation(self.adaptation, self.backend, self.adaptation_weight)


class ScoreOptions(Options, title="Normalization"):
    """How scores are normalized by a cohort; the keywords of :meth:`Recognizer.scores`."""

    normalize: str = opt(
        "none", "Score normalization by a cohort.", flag="--norm", choices=NORMS, needs=("cohort",)
    )
    cohort: Side | None = opt(
        None, "Impostors for score normalization; also a file that 'speech cohort' saved.", "trials",
        metavar="LIST|EMBEDDINGS|COHORT", needs=("normalize",),
    )  # fmt: skip
    top: int | None = opt(
        None,
        "Number of cohort members that as1 and as2 select.",
        "whole",
        low=2,
        only=("normalize", "as1", "as2"),
    )
