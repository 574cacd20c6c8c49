"""What jobs are told besides the options of their verb: files that are read and written, words, clusters.

This module imports nothing that takes time: the help of a command needs it.
"""

from __future__ import annotations

from typing import Any

from llrkit.base.options import Options, opt
from llrkit.errors import InputError
from llrkit.io.read_options import Reading

WORDS = ("nist", "forensic", "biometrics")
"""The vocabularies of :mod:`llrkit.results.vocabulary`."""

TABLES = ("latex", "markdown", "csv")
SCALES = ("small", "paper", "25x")


def _words(usual: str) -> Any:
    return opt(
        usual, "The words of tables and plots: NIST's, forensic science's, or those of biometrics (FMR, "
        "FNMR).", choices=WORDS, flag="--vocabulary",
    )  # fmt: skip


def _accept_changed(**more: Any) -> Any:
    text = "Use a calibration file that was changed after it was saved."
    return opt(False, text, "flag", show="all", **more)


class Output(Options, title="Output"):
    """What is written."""


class ScoreFile(Options):
    """One file of scores."""

    scores: str = opt("", "The scores.", "read", argument=True, required=True, label="File")


class ScoreFiles(Options):
    """The files of one or several systems."""

    scores: tuple[str, ...] = opt((), "The scores.", "reads", argument=True, required=True)


class SystemChoice(Options, title="Systems"):
    """Several systems, and what they are called."""

    score_columns: tuple[str, ...] = opt(
        (), "Columns of a file that hold the scores of different systems.", "columns"
    )
    names: tuple[str, ...] = opt(
        (), "Names of the systems; by default the names of files or columns.", "names"
    )


class ClassChoice(Options, title="Several classes"):
    """Files with log-likelihoods of several classes."""

    prior: str | None = opt(None, "The prior; by default flat.", metavar="flat|counts|A=P,B=P", show="all")
    posteriors: bool = opt(
        False, "The scores are log-posteriors, or logits, at the proportions of the labels.", "flag",
        show="all",
    )  # fmt: skip


class CalibrationFile(Options, title="Calibration"):
    """The calibration that scores or LLRs belong to."""

    map: str | None = opt(
        None, "The calibration that wrote these LLRs, or is meant for these scores: say whether they have "
        "moved since its training. It is not applied.", "read",
    )  # fmt: skip
    accept_changed: bool = _accept_changed(needs=("map",))


class ClusterChoice(Options, title="Cluster"):
    """Which Dask cluster a job is to use, if any."""

    scheduler: str | None = opt(
        None, "Use a running Dask cluster, which is trusted (Parquet on paths it can read).",
        metavar="ADDRESS", against=("workers",), show="all",
    )  # fmt: skip
    workers: int | None = opt(
        None, "Start N Dask workers on this machine, for this command only (Parquet only).", "whole", low=1,
        show="all",
    )  # fmt: skip

    @property
    def any(self) -> bool:
        """Whether a cluster was asked for."""
        return self.scheduler is not None or self.workers is not None


class SayOptions(Options, title="Words"):
    """In which words and unit results are shown."""

    words: str = _words("nist")
    base_10: bool = opt(
        False, "Show LLRs, thresholds and log-odds to base ten: log10 LR instead of nats. JSON stays in "
        "nats.", "flag",
    )  # fmt: skip


class JsonOutput(Output):
    """What every job can write."""

    json: str | None = opt(
        None, "Write the numbers as JSON; '-' for standard output.", "write", metavar="PATH|-"
    )


class PageOutput(JsonOutput):
    """What jobs with a report write."""

    html: str | None = opt(None, "Also write a report: one HTML page that opens anywhere.", "write")
    full_paths: bool = opt(
        False, "Show full paths in the report, as they were typed, instead of file names.", "flag", show="all"
    )

    def check(self) -> None:
        """Paths are shown in reports only."""
        # subclasses have further kinds of reports
        if self.full_paths and not any(
            getattr(self, name, None) for name in ("html", "docx", "md", "output")
        ):
            raise self.error("{} needs a report ({})", "full_paths", "html")


class TableOutput(PageOutput):
    """What jobs with a table for papers write."""

    table: str | None = opt(None, "Print the numbers as a table for a paper instead.", choices=TABLES)


class KnownImpostors(Options, title="Known impostors"):
    """Costs that mix known and unknown impostors."""

    known: str | None = opt(
        None, "Column that marks known impostors, for costs that mix them; without a point, sre12.", "column",
        show="all",
    )  # fmt: skip
    p_known: float | None = opt(
        None, "Share of known impostors; by default that of the preset.", "share", needs=("known",),
        show="all",
    )  # fmt: skip


class ForensicWords(SayOptions):
    """The same for verbs of forensic science, which speak its words unless they are told otherwise."""

    words: str = _words("forensic")


class WordOutput(PageOutput):
    """What jobs write whose report is also a Word document."""

    docx: str | None = opt(None, "Also write a Word document, which can be edited.", "write")

    def check(self) -> None:
        """Refuse before any work is done what only Word could read, or what nothing here can write."""
        PageOutput.check(self)
        if self.docx is not None:
            if not self.docx.lower().endswith(".docx"):
                raise InputError(f"{self.docx}: a Word document ends in .docx")
            from llrkit.report.layouts import require_docx

            require_docx()


class DocumentOutput(WordOutput):
    """What jobs write whose result is a document."""

    md: str | None = opt(None, "Also write the report in Markdown.", "write")


class ReportOutput(WordOutput):
    """What ``report`` writes."""

    html: str | None = opt(
        None, "The page, usually report.html; needed unless --docx is given.", "write", flag="--output",
        short="-o",
    )  # fmt: skip
    title_text: str = opt(
        "Evaluation of detection scores", "The title of the report.", flag="--title", show="all"
    )

    def check(self) -> None:
        """There is something to write."""
        if self.html is None and self.docx is None:
            raise self.error(
                "the output is missing: {} report.html writes a page, {} a Word document", "html", "docx"
            )
        WordOutput.check(self)


class ReportParts(Options, title="Report"):
    """What ``report`` adds to evaluations."""

    train: str | None = opt(None, "Trials to train calibrators on, compared on SCORES.", "read")
    methods: tuple[str, ...] = opt(
        (), "The calibrators; by default a selection.", "names", needs=("train",), show="all"
    )
    check_llrs: bool = opt(
        False, "Also test the calibration and draw confidence bands.", "flag", flag="--check"
    )


class ValidatedFile(Options, title="Validation"):
    """The LLRs that are validated; a template of criteria needs none."""

    scores: str | None = opt(
        None, "The LLRs, or the raw scores of a calibration.", "read", argument=True, label="File"
    )
    init: str | None = opt(
        None, "Write a commented template of criteria and exit.", "write", metavar="[FILE]",
        bare="criteria.toml", default_text="criteria.toml",
    )  # fmt: skip
    verbal: bool = opt(False, "Also express the strength of evidence in words (ENFSI bands).", "flag")


class AppliedCalibration(CalibrationFile):
    """The calibration of a validation, which is applied."""

    map: str | None = opt(
        None, "The calibration: it is applied to raw scores; the report states how it was made, and its "
        "bounds.", "read",
    )  # fmt: skip


class QuestionedScores(Options, title="Questioned scores"):
    """The scores of a case, and the calibration that turns them into LLRs."""

    map: str = opt("", "The calibration.", "read", argument=True, required=True)
    score: tuple[float, ...] = opt(
        (), "A questioned score, as the recognizer gave it.", "numbers", label="Questioned scores"
    )
    scores: str | None = opt(
        None, "A file of questioned scores, without labels.", "read", against=("score",),
        label="or a file of them",
    )  # fmt: skip
    accept_changed: bool = _accept_changed()

    def check(self) -> None:
        """There is a score."""
        if not self.score and self.scores is None:
            raise self.error("give the questioned scores either with {} or as a file with {}", "score",
                             "scores")  # fmt: skip


class Demands(Options, title="Threshold"):
    """What thresholds are asked for: those of operating points, of error rates, of the EER."""

    points: tuple[str, ...] = opt(
        (), "For an operating point: a preset (sre08, sre10, sre12, ...) or a target prior with costs.",
        "points", flag="--point",
    )  # fmt: skip
    false_alarm_rates: tuple[float, ...] = opt(
        (), "The lowest threshold that accepts at most this share of non-targets.", "shares",
        flag="--false-alarm-rate", also=("--fmr", "--far"), metavar="RATE",
    )  # fmt: skip
    miss_rates: tuple[float, ...] = opt(
        (), "The highest threshold that misses at most this share of targets.", "shares", flag="--miss-rate",
        also=("--fnmr", "--frr"), metavar="RATE",
    )  # fmt: skip
    accept_rates: tuple[float, ...] = opt(
        (), "The highest threshold that accepts at least this share of targets.", "shares", flag="--tar",
        also=("--tmr",), metavar="RATE",
    )  # fmt: skip
    eer: bool = opt(False, "The threshold at which both error rates are equal.", "flag")


class DiagnosedFiles(Options, title="Methods"):
    """Scores that are looked at, or that train methods which other scores judge."""

    scores: str = opt("", "The scores.", "read", argument=True, required=True)
    evaluation: str | None = opt(None, "Other scores, for methods trained on the first.", "read",
                                 argument=True)  # fmt: skip
    methods: tuple[str, ...] = opt(
        (), "With EVALUATION: the calibrators, also 'best'; by default a good selection.", "names",
        needs=("evaluation",),
    )  # fmt: skip
    points: tuple[str, ...] = opt(
        (), "Operating point: a preset (sre08, sre10, sre12, ...) or a target prior with costs; with one "
        "file only one, at which CMLG and logistic regression are compared.", "points", flag="--point",
    )  # fmt: skip


class MapOutput(JsonOutput):
    """The calibration that a job makes."""

    output: str = opt("", "The calibration file (JSON).", "write", short="-o", required=True)


class MapFile(Options, title="Calibration"):
    """The calibration that a job uses."""

    calibration: str = opt("", "The calibration file.", "read", argument=True, required=True)
    accept_changed: bool = _accept_changed()


class FusionReading(Reading):
    """How the files of several systems are read."""

    missing: str = opt(
        "error", "What to do with trials that some system has not scored.",
        choices=("error", "drop", "subset"),
    )  # fmt: skip
    ids: tuple[str, ...] = opt(
        (), "Columns that identify a trial; by default all shared ones.", "names", show="all"
    )


class FusionPrior(Options, title="Fusion"):
    """The prior of a fusion, of two classes or of several."""

    prior: str | None = opt(
        None, "Target prior for which the fit is optimized (0.5); for several classes, flat.",
        metavar="P|flat|counts|A=P,B=P",
    )  # fmt: skip


class SasvChoice(Options, title="Speaker verification and spoofs"):
    """Speaker verification fused with a countermeasure."""

    sasv: bool = opt(
        False, "SCORES are of speaker verification and of a countermeasure: a spoofing-robust LLR. --method "
        "bayes, bayes-trained (default) or linear.", "flag",
    )  # fmt: skip
    asv_column: str | None = opt(
        None, "The scores of speaker verification, in one file with both; implies --sasv.", "column"
    )
    cm_column: str | None = opt(
        None, "The scores of the countermeasure, in one file with both; implies --sasv.", "column"
    )
    costs: str | None = opt(
        None, "With --sasv: the costs to decide for; asvspoof5 by default.",
        metavar="NAME|PTAR,PNON,PSPF[,CMISS,CFA,CFASPF]", show="all",
    )  # fmt: skip
    on: tuple[str, ...] = opt(
        (), "With --sasv: other trials for the table, given like SCORES (one file, or two).", "reads",
        show="all",
    )  # fmt: skip

    @property
    def wanted(self) -> bool:
        """Whether countermeasures are fused."""
        return self.sasv or self.asv_column is not None or self.cm_column is not None

    def check(self) -> None:
        """Costs and other trials say nothing without countermeasures."""
        for name in ("costs", "on"):
            if getattr(self, name) and not self.wanted:
                raise self.error("{} is for {}", name, "sasv")


class LlrOutput(Output):
    """Which LLRs are written, and where."""

    output: str = opt("", "File or folder to write the LLRs to.", "write", short="-o", required=True)
    to: str | None = opt(None, "Format to write; by default chosen by the ending of FILE.", metavar="NAME")
    key_output: str | None = opt(
        None, "File to write the labels to, for Kaldi, NIST and BOSARIS.", "write", show="all"
    )
    base_10: bool = opt(False, "Write LLRs to base ten, in the column 'log10_lr'.", "flag")
    posterior: float | None = opt(
        None, "Also write the probability of a target at this prior (column 'posterior').", "share",
        metavar="PRIOR",
    )  # fmt: skip
    decide: str | None = opt(
        None, "Also write whether to accept at this operating point (column 'decision').", "point"
    )
    force: bool = opt(
        False, "Calibrate even if the scores are LLRs that a calibration wrote.", "flag", show="all"
    )


class AdaptedOutput(JsonOutput):
    """The adapted calibration, if one is wanted."""

    output: str | None = opt(
        None, "Also adapt the calibration to these scores, and write it to this file.", "write", short="-o"
    )


class ConvertFiles(Output):
    """What is converted into what."""

    source: str = opt("", "The trials.", "read", argument=True, required=True, metavar="IN")
    target: str | None = opt(None, "The file to write.", "write", argument=True, metavar="[OUT|-]")
    output: str | None = opt(None, "The same as OUT.", "write", short="-o", metavar="FILE|-")
    to: str | None = opt(None, "Format to write; by default chosen by the ending of OUT.", metavar="NAME")
    key_output: str | None = opt(None, "File to write the labels to, for Kaldi, NIST and BOSARIS.", "write")
    compound: float | None = opt(
        None, "Write compound LLRs, as in SRE12, where this share of the impostors are other enrolled "
        "speakers.", "share",
    )  # fmt: skip


_OF_SCORES = ("det", "roc", "ape", "bayes-error", "cross-entropy", "tippett", "pav", "histogram")

_OF_TRIALS = ("idempotence", "reliability", "two-gaussians", "theory", "heat-map", "zoo", "cmc", "groups")

_OF_CLASSES = ("class-det", "confusion", "class-calibration", "pair-histogram", "class-idempotence")

_OF_RESULTS = ("fusion-weights", "mixing", "cllr-scatter", "prior-scan")

FIGURES = {"scores": _OF_SCORES, "trials": _OF_TRIALS, "classes": _OF_CLASSES, "results": _OF_RESULTS}
"""The figures by what they are made of: evaluations, trials, log-likelihoods, files of other commands."""

WITH_BANDS = ("det", "tippett", "cross-entropy")

WITH_GROUPS = tuple(kind for kind in _OF_SCORES if kind != "cross-entropy")  # groups have no ECE curve

FIGURES_WITH = {
    "points": ("det", "roc", "theory"),
    "by": (*WITH_GROUPS, "theory", "heat-map", "zoo", "cmc", "groups"),
    "shared": (*WITH_GROUPS, "heat-map"),
    "curve": ("det", "roc"),
    "style": ("tippett",),
    "axes": ("det",),
    "bands": WITH_BANDS,
    "speakers": (*WITH_BANDS, "idempotence", "groups"),
    "fmr": ("groups",),
    "value": ("heat-map",),
    "eer": ("two-gaussians",),
    "score_columns": (*_OF_SCORES, *_OF_TRIALS),
    "names": (*_OF_SCORES, "theory", "heat-map"),
    "classes": _OF_CLASSES,
    "prior": ("class-det", "confusion", "class-calibration"),
}
"""The figures that take an option; all others refuse it. What is not listed every figure takes."""


class FigureLook(Options, title="Figure"):
    """How a figure looks."""

    curve: str | None = opt(
        None, "det, roc: the exact steps or the convex hull.", choices=("steps", "hull"),
        default_text="steps", show="all",
    )  # fmt: skip
    style: str | None = opt(
        None, "tippett: both curves at or above, or targets below.", choices=("above", "crossing"),
        default_text="above", show="all",
    )  # fmt: skip
    axes: str | None = opt(
        None, "det: probit axes, or logarithmic ones down to 1e-6.", choices=("probit", "log"),
        default_text="probit", show="all",
    )  # fmt: skip
    width: str | None = opt(
        None, "Width of the figure; a column is 3.4 inches, a page 7.", metavar="column|page|INCHES",
        default_text="column",
    )  # fmt: skip
    heading: str | None = opt(None, "Title of the figure; '' for none.", flag="--title")
    no_legend: bool = opt(False, "Draw no legend.", "flag", show="all")


class PlotOptions(FigureLook):
    """What is drawn, and how."""

    kind: str = opt(
        "", "The figure.", argument=True, required=True,
        choices=(*(kind for kinds in FIGURES.values() for kind in kinds), "ece"),
    )  # fmt: skip
    scores: tuple[str, ...] = opt((), "The scores.", "reads", argument=True)
    output: str = opt("", "pdf, svg or png; html is interactive.", "write", short="-o", required=True)
    by: tuple[str, ...] = opt(
        (), "One curve for each value or combination; for zoo the speaker; for heat-map the rows and "
        "columns.", "columns",
    )  # fmt: skip
    shared: str | None = opt(
        None, "The class all groups share, target or nontarget.", metavar="CLASS", needs=("by",), show="all"
    )
    points: tuple[str, ...] = opt(
        (), "det, roc, theory: operating point, a preset (sre08, sre10, ...) or a target prior with costs.",
        "points", flag="--point",
    )  # fmt: skip
    bands: bool = opt(False, "det, tippett, cross-entropy: draw confidence bands.", "flag", against=("by",))
    speakers: tuple[str, ...] = opt(
        (), "Columns with the speakers of the two sides, for bands, idempotence and groups.", "columns"
    )
    value: str | None = opt(
        None, "heat-map: eer, cllr, min_cllr or cllr_cal.", default_text="eer", show="all"
    )
    fmr: float | None = opt(
        None, "groups: one threshold for all, at this false match rate.", "share", metavar="RATE",
        default_text="1e-3", show="all",
    )  # fmt: skip
    eer: float | None = opt(
        None, "two-gaussians: an EER such as 5%, instead of a score file.", "share", metavar="RATE",
        against=("scores",), show="all",
    )  # fmt: skip


class TheoryOptions(Options, title="Numbers"):
    """Numbers that fix calibrated Gaussian LLRs; each of them is one pair."""

    eer: tuple[float, ...] = opt((), "Equal error rate, 0.05 or 5%.", "numbers", metavar="E")
    d_prime: tuple[float, ...] = opt(
        (), "Separation of the classes in standard deviations.", "numbers", metavar="D"
    )
    mu: tuple[float, ...] = opt((), "Mean LLR of the targets, in nats.", "numbers", metavar="M")
    sigma: tuple[float, ...] = opt((), "Standard deviation of the LLRs, in nats.", "numbers", metavar="S")
    cllr: tuple[float, ...] = opt((), "Cllr in bits.", "numbers", metavar="C")
    points: tuple[str, ...] = opt(
        ("sre08", "sre10", "sre12", "sre16", "sre21"), "Operating point: a preset (sre08, sre10, sre12, ...) "
        "or a target prior with costs.", "points", flag="--point", default_text="sre08 to sre21",
    )  # fmt: skip
    allow_unconfirmed: bool = opt(
        False, "Accept presets whose definition could not be confirmed.", "flag", show="all"
    )

    def check(self) -> None:
        """At least one number is needed."""
        ways = ("eer", "d_prime", "mu", "sigma", "cllr")
        if not any(getattr(self, name) for name in ways):
            raise self.error("give at least one of {}, {}, {}, {}, {}", *ways)


class MateFile(Options, title="Searches"):
    """Candidate lists, which have their labels in a file of their own."""

    mates: str | None = opt(
        None, "SCORES are candidate lists of NIST FRTE (searchId, templateId, score); this file has the "
        "templateId of the mate of each searchId (a line for each template), or '-'.", "read",
    )  # fmt: skip


class SpoofColumns(Options, title="Systems"):
    """The scores of targets, non-targets and spoofs."""

    asv: str | None = opt(None, "Scores of the speaker verification system.", "column", flag="--asv-column")
    cm: str | None = opt(
        None, "Scores of the countermeasure, higher meaning bona fide.", "column", flag="--cm-column"
    )
    sasv: str | None = opt(None, "Scores of a system that does both.", "column", flag="--sasv-column")
    attack: str | None = opt(
        None, "The attack of each spoof; each is evaluated too.", "column", flag="--attack-column"
    )


class SpoofExtras(Options, title="Numbers"):
    """Further numbers of spoofing."""

    t_dcf: tuple[str, ...] = opt(
        (), "Also the minimum t-DCF with the best ASV threshold (free), or counting the trials that pass "
        "both systems (joint).", "texts", choices=("free", "joint"),
    )  # fmt: skip
    cm_threshold: float | None = opt(
        None, "Threshold of APCER and BPCER (vocabulary of biometrics); by default that of the CM-EER.",
        "number",
    )  # fmt: skip


class RecognizerFile(Options):
    """A recognizer."""

    model: str = opt("", "The recognizer.", "read", argument=True, required=True)


class EnrolledFile(RecognizerFile):
    """A recognizer, and models that were enrolled with it."""

    enrolled: str = opt("", "The enrolled models.", "read", argument=True, required=True)


class SpeechFile(Options):
    """What a recognizer is given."""

    speech: str = opt("", "The speech.", "read", argument=True, required=True, metavar="LIST|EMBEDDINGS")


class TrainingFile(Options):
    """What a recognizer is trained on."""

    speech: str | None = opt(None, "The speech.", "read", argument=True, metavar="[LIST|EMBEDDINGS]")


class KaldiModel(Options, title="Model"):
    """The PLDA of a Kaldi recipe, and what comes before it."""

    plda: str = opt("", "The model.", "read", argument=True, required=True)
    mean: str | None = opt(None, "The mean, subtracted first (mean.vec).", "read")
    transform: str | None = opt(None, "The transform, applied next (transform.mat).", "read")
    normalize_length: bool = opt(
        True, "Normalize the length, as Kaldi does by default.", "flag", flag="--no-length"
    )


class ModelOutput(JsonOutput):
    """One file of arrays."""

    output: str = opt("", "The file to write (NPZ).", "write", short="-o", required=True)


class RecognizerOutput(ModelOutput):
    """A recognizer, and the parts of its training."""

    stages: bool = opt(
        True, "Keep background model, statistics and i-vectors in the folder FILE.stages, from which an "
        "interrupted run continues.", "flag",
    )  # fmt: skip


class EnrolledOutput(ModelOutput):
    """Enrolled models."""

    each: bool = opt(False, "One model per utterance, named like it, not one per speaker.", "flag")


class ArrayOutput(JsonOutput):
    """Embeddings or frames."""

    output: str = opt(
        "", "File to write: .npz, or .ark with an .scp beside it.", "write", short="-o", required=True
    )


class ScoreOutput(JsonOutput):
    """Scored trials as a file of any format."""

    output: str = opt(
        "", "File to write the trials to: .parquet, .csv, .tsv, .kaldi, .nist, .h5, ...", "write",
        short="-o", required=True,
    )  # fmt: skip
    to: str | None = opt(
        None, "Format to write; by default chosen by the ending of FILE.", metavar="NAME", show="all"
    )
    key_output: str | None = opt(
        None, "File to write the labels to, for Kaldi, NIST and BOSARIS.", "write", show="all"
    )


class TrialChoice(Options, title="Trials"):
    """Which pairs of models and utterances are scored."""

    trials: str | None = opt(
        None, "Pairs of model and utterance to score; by default all pairs.", "read", metavar="LIST"
    )


class SeedChoice(Output):
    """The seed of a simulation."""

    seed: int = opt(0, "The same seed gives the same data.", "seed")


class SimulatedOutput(ScoreOutput):
    """Simulated trials as a file, or as the parts of a folder."""

    output: str = opt(
        "", "File to write the trials to (.parquet, .csv, .tsv, .kaldi, ...), or a new folder for Parquet "
        "parts.", "write", short="-o", required=True, metavar="FILE|DIR/",
    )  # fmt: skip
    columns: tuple[str, ...] = opt((), "For a folder: columns to write; by default all.", "names", show="all")


class FramesOutput(ArrayOutput):
    """Frames, and whose they are."""

    utt2spk: str | None = opt(None, "Also write the speakers, as Kaldi's utt2spk.", "write")


class SampleOutput(Output):
    """A table."""

    output: str = opt("", "A table: .csv, .tsv, .parquet, ...", "write", short="-o", required=True)


class SmallOptions(Options, title="All experiments, small"):
    """All experiments in a few seconds."""

    small: bool = opt(
        False, "Run small versions of the experiments, on data that they make themselves.", "flag"
    )
    seed: int = opt(2013, "First seed of the simulated corpora.", "seed", needs=("small",))
    output: str = opt(
        "out/demo", "Folder for the report, its figures and its numbers.", "folder", short="-o",
        needs=("small",),
    )  # fmt: skip


class DurationsOptions(Options, title="Experiment"):
    """25 trial lists of different durations."""

    scale: str = opt(
        "small", "small takes seconds; paper has as many trials as the paper; 25x has as many in every list.",
        choices=SCALES,
    )  # fmt: skip
    seed: int = opt(2013, "Seed; the same seed gives the same numbers.", "seed")
    start: str = opt(
        "embeddings", "Simulate embeddings, or simulate frames and train everything from them (minutes).",
        choices=("embeddings", "frames"), flag="--from",
    )  # fmt: skip
    seeds: int = opt(5, "Number of seeds, starting at --seed; results are means over seeds.", "whole", low=1)


class ScanOptions(Options, title="Experiment"):
    """What the training weight does to a cost."""

    scale: str = opt(
        "small", "small takes seconds; paper has as many trials as the paper; 25x has 25 times as many.",
        choices=SCALES, against=("scores",),
    )  # fmt: skip
    seed: int | None = opt(
        None, "Seed; the same seed gives the same numbers.", "seed", default_text="2013; with --scores 0"
    )
    scores: str | None = opt(None, "Scan these scored trials instead of simulations.", "read")
    test: str | None = opt(
        None, "Measure the cost on this file instead of by cross-validation.", "read", needs=("scores",)
    )
    point: str = opt("sre12", "The cost, a preset or a prior with costs.", "point", needs=("scores",))
    known: str | None = opt(None, "The column that marks known non-targets.", "column", needs=("scores",))
    p_known: float | None = opt(
        None, "Share of known impostors; by default that of the preset.", "share", needs=("known",)
    )
    groups: tuple[str, ...] = opt(
        (), "Columns whose values are kept in one fold.", "columns", needs=("scores",)
    )


class RealOptions(Options, title="Experiment"):
    """The comparison of calibrations on real data."""

    embeddings: str | None = opt(
        None, "NPZ or Kaldi file of embeddings with splits, durations, sides.", "read", against=("scores",)
    )
    vectors: str | None = opt(
        None, "Which matrix of the file of embeddings.", metavar="NAME", needs=("embeddings",)
    )
    scorer: str = opt(
        "plda", "How embeddings are scored.", choices=("plda", "plda-moments", "cosine"),
        needs=("embeddings",),
    )  # fmt: skip
    scores: str | None = opt(None, "Scored trials with conditions.", "read", needs=("by",))
    by: tuple[str, ...] = opt((), "The columns of the conditions.", "columns", needs=("scores",))
    training: str = opt(
        "folds", "Train on other folds, or on the same trials (optimistic).", choices=("folds", "same"),
        needs=("scores",),
    )  # fmt: skip
    groups: tuple[str, ...] = opt(
        (), "Columns whose values are kept in one fold.", "columns", needs=("scores",)
    )

    def check(self) -> None:
        """One kind of data."""
        if self.embeddings is None and self.scores is None:
            raise self.error("give either {} or {}", "embeddings", "scores")


class ExperimentOutput(JsonOutput):
    """The numbers, and a page."""

    output: str | None = opt(
        None, "Folder for a report page and the figures (SVG, PDF).", "folder", short="-o"
    )


class AppOptions(Options, title="Application"):
    """How the application is served."""

    files: tuple[str, ...] = opt((), "Score files to begin a project with.", "reads", argument=True)
    projects: str = opt("llrkit-projects", "Where projects are saved, each in a folder of its own.", "folder")
    port: int = opt(0, "Port.", "whole", low=0, high=65535, default_text="any that is free")
    browser: bool = opt(True, "Open a browser.", "flag")
    max_upload: str = opt("2G", "Largest file that a page may send.", metavar="SIZE")
    host: str = opt("127.0.0.1", "Where to listen.", metavar="NAME")
    allow_remote: bool = opt(
        False, "With --host: let other machines in, without encryption.", "flag", needs=("host",)
    )
