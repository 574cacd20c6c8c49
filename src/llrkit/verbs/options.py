"""The options of every verb, declared once: Python's keywords, the command line, forms and schemas have them.

This module imports nothing that takes time: the help of a command needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from llrkit.base.options import Options, opt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from llrkit.base.arguments import RNG
    from llrkit.fits.folds import Fit
    from llrkit.io.read_options import Reading
    from llrkit.maps.map import Map
    from llrkit.scores.derived import AnyTrials
    from llrkit.spoof.costs import Costs
    from llrkit.theory.operating_points import AnyPoint, Point, Points
    from llrkit.verbs.criteria import Criteria

INTERVALS = ("none", "trial", "speaker", "bootstrap")
"""The kinds of intervals."""


class SpeakerOptions(Options, title="Speakers"):
    """Who speaks on the two sides of a trial."""

    speakers: tuple[str, ...] = opt(
        (), "Columns with the speakers of the two sides of a trial, or the one with its speaker.", "columns"
    )


class IntervalOptions(SpeakerOptions, title="Intervals"):
    """How far numbers can be trusted."""

    otherwise: ClassVar[str] = "none"
    """The kind of intervals without speakers."""

    ci: str | None = opt(
        None, "Intervals: none; as if trials were independent; for trials that share speakers; or by drawing "
        "speakers with replacement.", choices=INTERVALS, label="Intervals",
        default_text="speaker with speakers, else none",
    )  # fmt: skip
    level: float = opt(0.95, "Confidence level of the intervals.", "share", default_text="95%")
    recordings: tuple[str, ...] = opt(
        (), "For the bootstrap: columns with the recordings, drawn within speakers.", "columns", show="all"
    )
    replicates: int = opt(1000, "Number of bootstrap samples.", "whole", low=1, high=1_000_000, show="all")
    rng: RNG = opt(
        0, "Seed of the bootstrap.", "seed", flag="--seed", metavar="N", accepts="RNG", show="all",
        more="A random generator, or a seed.",
    )  # fmt: skip


class PointOptions(Options, title="Numbers"):
    """The operating points of numbers."""

    points: Points = opt(
        ("sre08", "sre10"), "Operating point: a preset (sre08, sre10, sre12, ...) or a target prior with "
        "costs.", "points", flag="--point", accepts="Points", label="Operating points",
        more="A preset that averages several points also gives a primary cost.",
    )  # fmt: skip
    allow_unconfirmed: bool = opt(
        False, "Accept presets whose definition could not be confirmed.", "flag", show="all"
    )


class EvaluateOptions(PointOptions, IntervalOptions):
    """What is measured."""

    by: tuple[str, ...] = opt(
        (), "Also evaluate each value of a column, or each combination of several.", "columns",
        label="Also for each value of",
    )  # fmt: skip
    shared: str | None = opt(
        None, "The class that all groups share: target (bonafide) or nontarget (spoof).", metavar="CLASS",
        needs=("by",),
    )  # fmt: skip
    threshold_from: AnyTrials | None = opt(
        None, "Development trials whose EER threshold gives the HTER.", "trials", metavar="DEV",
        accepts="AnyTrials", show="all",
    )  # fmt: skip
    equalize: tuple[str, ...] = opt(
        (), "Give each value of these columns (each combination) the same weight in each class, as NIST "
        "does.", "columns", against=("threshold_from", "ece"), show="all",
    )  # fmt: skip
    ece: bool = opt(False, "Also compute the ECE curve (one more pass).", "flag", show="python")


class TrialIntervalOptions(IntervalOptions):
    """Intervals that are there without being asked for: as if trials were independent."""

    otherwise: ClassVar[str] = "trial"

    ci: str | None = opt(
        None, "Intervals: none; as if trials were independent; for trials that share speakers; or by drawing "
        "speakers with replacement.", choices=INTERVALS, default_text="speaker with speakers, else trial",
    )  # fmt: skip


class ThresholdOptions(TrialIntervalOptions, title="Threshold"):
    """What a threshold is for."""

    point: Point | None = opt(
        None, "A prior and costs: the threshold with the lowest cost on these trials or, for calibrated "
        "LLRs, the Bayes threshold ``log(c_fa (1 - p) / (c_miss p))``, which needs no trials.", "point",
        accepts="Point", against=("false_alarm_rate", "miss_rate"), show="python",
    )  # fmt: skip
    false_alarm_rate: float | None = opt(
        None, "The lowest threshold with at most this false-alarm rate on these trials.", "share",
        against=("miss_rate",), show="python",
    )  # fmt: skip
    miss_rate: float | None = opt(
        None, "The highest threshold with at most this miss rate. With none of the three: where the rates "
        "are equal.", "share", show="python",
    )  # fmt: skip
    calibrated: bool | None = opt(
        None, "The scores are LLRs: use the Bayes threshold of the point. Implied for files that 'apply' "
        "wrote.", "flag",
    )  # fmt: skip
    on: AnyTrials | None = opt(
        None, "Other trials, on which errors and costs are counted instead.", "trials", metavar="EVAL",
        accepts="AnyTrials",
    )  # fmt: skip
    allow_unconfirmed: bool = opt(
        False, "Accept presets whose definition could not be confirmed.", "flag", show="all"
    )


class CompareOptions(PointOptions, TrialIntervalOptions, title="Comparison"):
    """How systems are compared; the keywords of :func:`llrkit.trust.compare_many_systems`."""

    all_pairs: bool = opt(False, "Compare every system with every other, not only the first.", "flag")
    ci: str | None = opt(
        None, "Intervals and tests: as if trials were independent; for trials that share speakers; or by "
        "drawing speakers with replacement.", choices=INTERVALS[1:],
        default_text="speaker with speakers, else trial",
    )  # fmt: skip


class DiagnoseOptions(SpeakerOptions, title="Advice"):
    """How scores are looked at."""

    point: AnyPoint | None = opt(
        None, "The operating point of the decision, if there is one: CMLG and logistic regression are "
        "compared there too.", "point", accepts="AnyPoint", show="python",
    )  # fmt: skip
    cross_validate: bool = opt(
        False, "Also try the methods by cross-validation, which takes a while, and suggest one.", "flag",
        more="The result has ``methods``.",
    )  # fmt: skip
    speakers: tuple[str, ...] = opt(
        (), "Columns with the speakers of a trial, whom cross-validation keeps apart.", "columns",
        needs=("cross_validate",),
    )  # fmt: skip


class ValidateOptions(Options, title="Validation"):
    """What LLRs are validated against, and how."""

    criteria: Criteria | Mapping[str, object] | str | Path | None = opt(
        None, "TOML file with the criteria.", "read",
        accepts="Criteria | Mapping[str, object] | str | PathLike[str]",
    )  # fmt: skip
    calibration: Map | None = opt(
        None, "The map that makes the LLRs: it is applied to raw scores, and the report says how it was "
        "trained, which bounds it puts on LLRs and why.", accepts="Map", show="python",
    )  # fmt: skip
    apply: bool | None = opt(
        None, "Apply the calibration also where the file does not say whether its numbers are raw scores.",
        "flag", show="all",
    )  # fmt: skip
    reading: Reading | None = opt(
        None, "How the trials were read: files that changes are counted from are read alike, without the "
        "key, the non-targets and the conditions, which are for the trials.", accepts="Reading",
        show="python",
    )  # fmt: skip
    curves: bool = opt(
        False, "Also find what a page shows: bands of the curves, and the LLR of the LLR estimated in "
        "several ways.", "flag", show="python",
    )  # fmt: skip
    worst: int = opt(
        10, "How many of the most misleading trials of each class are listed.", "whole", low=1, show="all"
    )
    replicates: int = opt(
        200, "Number of draws for the null distributions of the calibration losses.", "whole", low=0,
        show="python",
    )  # fmt: skip
    rng: RNG = opt(0, "Their random generator or seed.", "seed", accepts="RNG", show="python")
    trained_on_these: bool = opt(
        False, "Say that these trials trained the calibration, if you know it; trials with the counts, the "
        "moments and the range of its training scores are recognized anyway.", "flag", show="python",
    )  # fmt: skip
    cautions: tuple[str, ...] = opt(
        (), "Sentences that stand before the numbers wherever the result is shown.", "texts", show="python"
    )


PROPOSITIONS = ("h1", "h2")


class CaseOptions(SpeakerOptions, title="Case"):
    """What a case is about, and what its LLRs rest on."""

    h1: str = opt(
        "", "Proposition of same source, in words that can follow 'if'. Needed.", label="First proposition"
    )
    h2: str = opt(
        "", "Proposition of different sources, in words that can follow 'if'. Needed.",
        label="Second proposition",
    )  # fmt: skip
    train: AnyTrials | None = opt(
        None, "The trials that trained the calibration: LLRs then have intervals.", "trials",
        accepts="AnyTrials", more="Other trials are refused.",
    )  # fmt: skip
    validation: AnyTrials | None = opt(
        None, "Other trials of known origin: are LLRs calibrated, how many mislead?", "trials",
        accepts="AnyTrials",
    )  # fmt: skip
    speakers: tuple[str, ...] = opt(
        (), "Columns with the speakers of the training trials, or the one with the speaker.", "columns",
        needs=("train",),
    )  # fmt: skip
    level: float = opt(
        0.95, "Confidence level of the interval.", "share", needs=("train",), default_text="95%", show="all"
    )
    replicates: int | None = opt(
        None, "Random draws of the training trials, for methods fitted again.", "whole", low=100,
        needs=("train",), default_text="500, and 100 for methods that are slow to fit", show="all",
    )  # fmt: skip
    rng: RNG = opt(
        0, "Seed of the random draws.", "seed", flag="--seed", metavar="N", accepts="RNG", show="all",
        more="The same seed gives the same result.",
    )  # fmt: skip
    conditions: str = opt("", "For which recordings the calibration may be used, in your words.", show="all")
    verbal: bool = opt(False, "Also say the strength of evidence in words (ENFSI bands).", "flag", show="all")

    def check(self) -> None:
        """Both propositions are there, and they differ."""
        for name in (*PROPOSITIONS, "conditions"):
            if not isinstance(getattr(self, name), str):
                raise self.error("{} must be a text", name)
        for name in PROPOSITIONS:
            if not self.proposition(name):
                raise self.error(
                    "{} is missing: an LLR says nothing without the two propositions it compares, in words "
                    'that can follow "if"', name,
                )  # fmt: skip
        if self.proposition("h1") == self.proposition("h2"):
            raise self.error("{} and {} are the same proposition: an LLR compares two", *PROPOSITIONS)

    def proposition(self, name: str) -> str:
        """A proposition as reports have it: on one line, without its full stop."""
        text: str = getattr(self, name)
        return " ".join(text.split()).rstrip(".")


class BoundOptions(SpeakerOptions, title="Bounds"):
    """How strong the LLRs of a calibration may be."""

    bound: str = opt(
        "sources", "Bound the LLRs: by independent sources of the training trials, by ELUB, by invariance, "
        "or by two LLRs (natural logarithms).", metavar="none|elub|invariance|sources|fixed:LOW,HIGH",
    )  # fmt: skip

    def check(self) -> None:
        """A word nobody knows is refused before anything is read."""
        if self.bound != "sources":
            from llrkit.maps.bounds import parse_bound  # needs NumPy, which the help of a command does not

            parse_bound(self.bound)


class CalibrateOptions(BoundOptions, title="Calibration"):
    """How a map from score to LLR is made."""

    method: str | Fit[Map] = opt(
        "logistic", "cmlg, logistic, pav, ..., or 'best': several, weighted by cross-validation.",
        metavar="NAME", accepts="str | Fit[Map]",
        more="In Python also a fit function, such as :func:`llrkit.fit_fusion`.",
    )  # fmt: skip
    settings: Mapping[str, object] | None = opt(
        None, "An option of the method, see --help-methods.", "pairs", flag="--option",
        accepts="Mapping[str, object]",
        more="In Python they are keywords as well.",
    )  # fmt: skip
    by: str | None = opt(
        None, "One calibration for each value of this column.", "column", against=("groups",),
        more="See :func:`llrkit.fits.fit_by`.",
    )  # fmt: skip
    groups: tuple[str, ...] = opt(
        (), "Column of what may be new in use (attacks, devices): LLRs are bounded by the number of its "
        "values. With 'best', or cmlg and alpha=auto, a value is also never in two folds.", "columns",
    )  # fmt: skip


class FuseOptions(BoundOptions, title="Fusion"):
    """How one LLR is made of the scores of several systems."""

    method: str = opt(
        "logistic", "logistic, gaussian or precalibrated.", metavar="NAME",
        more="See :func:`llrkit.fit_fusion`.",
    )  # fmt: skip
    prior: float = opt(0.5, "Target prior for which the fit is optimized.", "share", show="python")
    quality_columns: tuple[str, ...] = opt(
        (), "Columns with side information of each trial.", "columns", flag="--quality"
    )
    features: str = opt(
        "linear", "What is made of side information: linear, durations or bilinear.", metavar="NAME",
        show="all",
    )  # fmt: skip
    regularization: float = opt(
        0.0, "Weight of a penalty that keeps the fit finite if the classes do not overlap, e.g. 0.01.",
        "number", show="all",
    )  # fmt: skip
    missing: str = opt(
        "error", "What to do with trials that some system has not scored.",
        choices=("error", "drop", "subset"), show="python",
    )  # fmt: skip
    alpha: float = opt(
        0.5, "Of Gaussian and precalibrated fusions: weight of the covariance of the targets.", "share",
        show="python",
    )  # fmt: skip
    robust: float = opt(0.0, "Weight of a mislabeled copy of every trial.", "number", show="python")
    scaled: bool = opt(False, "Let side information also scale the scores.", "flag", show="python")
    systems: Sequence[str] | None = opt(
        None, "Names of the systems of arrays, in the order of the scores.", "names", show="python"
    )


class ApplyOptions(Options, title="Other scores than in training"):
    """What becomes of scores that are unlike those of training."""

    outside: str = opt(
        "warn", "What to do with scores outside the range of the training scores: warn, refuse them, or use "
        "the nearest score of the range.", choices=("warn", "error", "bound"),
        more='``"warn"``, ``"error"`` or ``"bound"``.',
    )  # fmt: skip
    shift: str = opt(
        "warn", "What to do with scores so unlike those of training that the calibration suffers: do not "
        "check, warn, or refuse them.", choices=("ignore", "warn", "error"),
        more='``"ignore"``, ``"warn"`` or ``"error"``.',
    )  # fmt: skip


class AdaptOptions(SpeakerOptions, title="New domain"):
    """What is known of scores of a new domain."""

    share: float | Sequence[float] | None = opt(
        None, "The share of targets among the scores, or a range of it, if known.", metavar="P|LOW,HIGH",
        accepts="float | Sequence[float]",
    )  # fmt: skip
    labeled: AnyTrials | None = opt(
        None, "A few labeled trials of the new domain, at least about ten.", "trials", accepts="AnyTrials"
    )

    def check(self) -> None:
        """A share that is none is refused before anything is read."""
        _ = self.shares

    @property
    def shares(self) -> float | Sequence[float] | None:
        """The share of targets, or the two ends of a range, as numbers.

        Examples
        --------
        >>> AdaptOptions(share="0.1").shares, AdaptOptions(share="1%,5%").shares
        (0.1, (0.01, 0.05))
        """
        if not isinstance(self.share, str):
            return self.share
        words = self.share.replace(" ", "").split(",")
        try:
            ends = tuple(float(word[:-1]) / 100.0 if word.endswith("%") else float(word) for word in words)
        except ValueError:
            raise self.error(
                f"{{}} {self.share}: write a share of targets (0.01, 1%) or a range (0.01,0.1)", "share"
            ) from None
        return ends[0] if len(ends) == 1 else ends


class LevelOptions(Options, title="Intervals"):
    """How sure intervals are, where there is one kind of them."""

    level: float = opt(0.95, "Confidence level of the intervals.", "share", default_text="95%")


class SubjectOptions(LevelOptions):
    """Intervals for comparisons that share subjects."""

    speakers: tuple[str, ...] = opt(
        (), "Columns with the subjects of the two sides of a comparison; by default comparisons are taken as "
        "independent.", "columns", flag="--subjects",
    )  # fmt: skip


class RatesOptions(SubjectOptions, title="Numbers"):
    """Error rates at false match rates."""

    fmr: tuple[float, ...] = opt(
        (1e-2, 1e-3, 1e-4, 1e-5, 1e-6), "False match rate at which the FNMR and the threshold are found; 0 "
        "for ZeroFMR, the FNMR without any false match.", "shares", metavar="RATE",
        default_text="1e-2 to 1e-6",
    )  # fmt: skip
    failures: str | None = opt(
        None, "Column that marks failures to enroll (fte) and to acquire (fta): rejected at every threshold.",
        "column", more="Such comparisons need no score; see :func:`fold_failures`.",
    )  # fmt: skip


class DifferentialOptions(SubjectOptions, title="Groups"):
    """Error rates of groups of people at one threshold."""

    by: tuple[str, ...] = opt(
        (), "The group of a comparison, or the groups of its two sides.", "columns", required=True,
        more="A comparison between two groups is then a group of its own (``f | m``).",
    )  # fmt: skip
    fmr: float | None = opt(
        None, "One threshold for all, the lowest with at most this false match rate.", "share",
        metavar="RATE", default_text="1e-3", against=("threshold",),
        more="Over all comparisons; by default 1e-3.",
    )  # fmt: skip
    threshold: float | None = opt(None, "One threshold for all, fixed elsewhere.", "number")
    rng: RNG = opt(0, "Seed of the draws behind intervals.", "seed", accepts="RNG", show="python")

    def check(self) -> None:
        """Groups are in one column, or in two."""
        if len(self.by) > 2:
            raise self.error(
                f"{{}}: groups are in one column, or in two for the two sides; got {len(self.by)}", "by"
            )


class IdentifyOptions(LevelOptions, title="Searches"):
    """Searches of probes in a gallery."""

    probe: str | None = opt(
        None, "Column that names the search; by default the test side.", "column", flag="--probe-column"
    )
    subject: str | None = opt(
        None, "Column with the subjects of the probes: intervals leave out each in turn.", "column",
        flag="--subject-column", more="Without it searches are taken as independent.",
    )  # fmt: skip
    enrolled: str | None = opt(
        None, "For lists of candidates, from which a mate may be missing: column that says whether the "
        "subject is in the gallery.", "column", flag="--enrolled-column",
    )  # fmt: skip
    gallery: str | None = opt(
        None, "Column with the subjects of gallery entries, of which one may have several templates; by "
        "default the enrollment side.", "column", flag="--gallery-column",
        more="Without any, every comparison is one with another subject.",
    )  # fmt: skip
    ranks: tuple[int, ...] = opt(
        (1, 5, 10, 20), "Rank to report.", "wholes", flag="--rank", low=1, default_text="1, 5, 10, 20"
    )
    fpir: tuple[float, ...] = opt(
        (0.1, 0.01, 0.001), "FPIR at which to report the FNIR.", "shares", metavar="RATE",
        default_text="10%, 1%, 0.1%",
    )  # fmt: skip
    rank: int = opt(
        1, "Number of candidates among which the mate must be.", "whole", flag="--fnir-rank", low=1
    )


class SpoofOptions(SpeakerOptions, LevelOptions, title="Numbers"):
    """What is measured of targets, non-targets and spoofs."""

    costs: Sequence[Costs] | Costs = opt(
        ("asvspoof5", "a-dcf1"), "Costs of the a-DCF: a preset (asvspoof5, a-dcf1), or priors and costs.",
        "points", metavar="NAME|PTAR,PNON,PSPF[,CMISS,CFA,CFASPF]", default_text="both presets",
        accepts="Sequence[Costs] | Costs", more="Or :class:`SpoofCosts`.",
    )  # fmt: skip
    tandem: Sequence[Costs] | Costs = opt(
        ("asvspoof5", "asvspoof2019"), "Costs of the t-DCF, given likewise.", "points", show="python",
        accepts="Sequence[Costs] | Costs",
    )  # fmt: skip
    eer: str = opt(
        "roc", "EERs on the interpolated ROC, on its convex hull, or at the nearest observed point, as the "
        "organizers of ASVspoof compute them.", choices=("roc", "hull", "nearest"),
    )  # fmt: skip
    asv_threshold: float | str = opt(
        "eer", "Where the ASV system of the tandem decides: its equal-error threshold, or a number.",
        metavar="eer|NUMBER", accepts='float | Literal["eer"]',
    )  # fmt: skip
    rng: RNG = opt(0, "Seed of the intervals.", "seed", accepts="RNG", show="python")
