"""The options of simulations, declared once.

This module imports nothing that takes time: the help of a command needs it.
"""

from __future__ import annotations

from llrkit.base.options import Options, opt

EER_FULL = 2.9 / 100.0
"""As 2.9% is read, which is not 0.029 in the last bit."""


class ScoreModel(Options, title="Model"):
    """What independent scores are drawn from."""

    model: str = opt(
        "gaussian", "Calibrated Gaussian LLRs; mixtures of them; LLRs of gamma distributed ratios; "
        "Gaussian scores of unequal variances, which no straight line calibrates; LLRs that get weaker as "
        "segments get shorter.", choices=("gaussian", "mixture", "gamma", "unequal", "durations"),
    )  # fmt: skip
    eer: float = opt(
        0.05, "gaussian: equal error rate.", "share", default_text="5%", only=("model", "gaussian")
    )
    weights: tuple[float, ...] = opt(
        (0.2, 0.5, 0.3), "mixture: share of each part among the trials.", "shares", metavar="W,W",
        default_text="0.2,0.5,0.3", show="all", only=("model", "mixture"),
    )  # fmt: skip
    mu: tuple[float, ...] = opt(
        (0.5, 3.0, 9.0), "mixture: mean target LLR of each part.", "numbers", metavar="M,M",
        default_text="0.5,3,9", show="all", only=("model", "mixture"),
    )  # fmt: skip
    shape: float = opt(
        0.3, "gamma: shape of the gamma distributed likelihood ratio.", "number", show="all",
        only=("model", "gamma"),
    )  # fmt: skip
    mean_target: float = opt(
        5.0, "unequal: mean of the targets.", "number", show="all", only=("model", "unequal")
    )
    sd_target: float = opt(
        1.6, "unequal: standard deviation of the targets.", "number", show="all", only=("model", "unequal")
    )
    mean_nontarget: float = opt(
        0.0, "unequal: mean of the non-targets.", "number", show="all", only=("model", "unequal")
    )
    sd_nontarget: float = opt(
        1.0, "unequal: standard deviation of the non-targets.", "number", show="all",
        only=("model", "unequal"),
    )  # fmt: skip
    eer_full: float = opt(
        EER_FULL, "durations: EER for two of the longest segments.", "share", default_text="2.9%", show="all",
        only=("model", "durations"),
    )  # fmt: skip
    eer_short: float = opt(
        0.26, "durations: EER for two of the shortest segments.", "share", default_text="26%", show="all",
        only=("model", "durations"),
    )  # fmt: skip


class TrialList(Options, title="Trials"):
    """How many independent trials, of whom, and what is done to their LLRs."""

    n_target: int = opt(1_000, "Number of target trials.", "whole", flag="--targets", low=1)
    n_nontarget: int = opt(50_000, "Number of non-target trials.", "whole", flag="--nontargets", low=1)
    trials: int | None = opt(
        None, "Total number of trials, e.g. 1e9.", "whole", low=2, against=("n_target", "n_nontarget")
    )
    target_share: float = opt(0.02, "Share of targets.", "share", needs=("trials",), default_text="2%")
    scale: float = opt(1.0, "Factor of every score.", "number")
    offset: float = opt(0.0, "Number added to every score.", "number")
    speakers: int | None = opt(
        None, "Number of speakers; by default one for every ten targets.", "whole", show="all"
    )
    durations: tuple[float, ...] = opt(
        (5.0, 10.0, 20.0, 40.0, 100.0), "Seconds of speech of the segments.", "numbers", metavar="S,S",
        default_text="5,10,20,40,100", show="all",
    )  # fmt: skip
    float32: bool = opt(
        False, "Write scores in single precision, which takes half the space.", "flag", show="all"
    )

    def check(self) -> None:
        """Some of each class."""
        if self.target_share in (0.0, 1.0):
            raise self.error(f"{{}} must be between 0 and 1, got {self.target_share:g}", "target_share")

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of targets and of non-targets."""
        if self.trials is None:
            return self.n_target, self.n_nontarget
        n_target = min(max(round(self.target_share * self.trials), 1), self.trials - 1)
        return n_target, self.trials - n_target


class Space(Options, title="Embeddings"):
    """The space that embeddings live in."""

    eer_full: float = opt(
        EER_FULL, "EER of exact LLRs for two whole segments of 100 s.", "share", default_text="2.9%"
    )
    eer_short: float = opt(0.26, "EER of exact LLRs for two segments of 5 s.", "share", default_text="26%")
    dim: int = opt(100, "Number of dimensions.", "whole", low=1)
    shift: float = opt(0.0, "How far the mean has moved.", "number")
    rougher: float = opt(1.0, "Factor by which the variance within speakers grows.", "number")


class CrossedRecordings(Options, title="Recordings"):
    """The recordings whose pairs are all scored."""

    speakers: int = opt(100, "Number of speakers, half of each gender.", "whole")
    models: int = opt(200, "Total number of enrolled recordings.", "whole")
    tests: int = opt(400, "Total number of test recordings.", "whole")
    durations: tuple[float, ...] = opt(
        (100.0,), "Seconds of both sides; the model of the longest scores all of them.", "numbers",
        metavar="S,S", default_text="100",
    )  # fmt: skip


class SplitSpeakers(Options, title="Speakers"):
    """The speakers of the splits train, dev and eval."""

    background: int = opt(400, "Speakers that train a recognizer.", "whole")
    speakers: int = opt(40, "Speakers of dev and of eval.", "whole")
    sessions: int = opt(4, "Recordings of a speaker on each side.", "whole")


class FrameOptions(Options, title="Frames"):
    """Recordings, each from a Gaussian mixture of its own."""

    components: int = opt(16, "Gaussians of the universal mixture.", "whole")
    dim: int = opt(8, "Number of features per frame.", "whole")
    rank: int = opt(6, "Dimensions in which speakers differ.", "whole")
    strength: float = opt(0.4, "How much speakers differ.", "number")
    speakers: int = opt(20, "Number of speakers.", "whole")
    sessions: int = opt(4, "Recordings of each speaker.", "whole")
    seconds: float = opt(20.0, "Duration in seconds, at 100 frames per second.", "number")


class SampleChoice(Options, title="Sample"):
    """Which part of the sample."""

    split: str = opt(
        "eval", "Trials to evaluate, or trials of other speakers to train a calibration.",
        choices=("eval", "dev"),
    )  # fmt: skip
    system: str = opt("plda", "System whose scores are written.", choices=("plda", "cosine"))
