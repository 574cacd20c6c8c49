"""The verbs of llrkit: what options each takes, and the function that does it.

Commands, forms and study files are made from this table. It imports declarations only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llrkit.base.options import Option, Options, declared, parameter_of
from llrkit.io.read_options import Reading
from llrkit.jobs import options as of
from llrkit.simulate import options as simulated
from llrkit.speech import options as of_speech
from llrkit.verbs import options as asks


@dataclass(frozen=True)
class Verb:
    """A verb: the parts of its options, and where it is done."""

    parts: tuple[type[Options], ...]
    does: str
    """``module:function`` in ``llrkit.jobs``, which takes a :class:`llrkit.jobs.job.Run`; empty if the
    command does it."""
    without: tuple[str, ...] = ()
    """Options of these parts that mean nothing here, as they are typed, with underscores."""
    rare: tuple[str, ...] = ()
    """Options that only the whole help of this command shows, spelled alike."""
    version: int = 1
    """Of what its JSON holds."""

    def options(self) -> Iterator[tuple[type[Options], str, Option]]:
        """Every option of the verb: the part it belongs to, its name, and its declaration."""
        for part in self.parts:
            for name, option in declared(part).items():
                if option.show != "python" and parameter_of(part, name) not in self.without:
                    yield part, name, option


_SPEECH = (of_speech.SpeechInput, of_speech.FrontEndOptions)
_TRAINED = ("rate", "normalize")
"""What a trained recognizer has decided."""

VERBS = {
    "evaluate": Verb(
        (of.ScoreFile, asks.EvaluateOptions, of.KnownImpostors, of.CalibrationFile, Reading,
         of.ClassChoice, of.ClusterChoice, of.SayOptions, of.TableOutput),
        "evaluate:evaluate_file", without=("ids",),
    ),
    "report": Verb(
        (of.ScoreFiles, of.ReportParts, asks.EvaluateOptions, of.SystemChoice, of.CalibrationFile, Reading,
         of.ClassChoice, of.ClusterChoice, of.SayOptions, of.ReportOutput),
        "report:report_files", without=("ids", "shared", "threshold_from", "equalize"),
        rare=("level", "names"),
    ),
    "compare": Verb(
        (of.ScoreFiles, asks.CompareOptions, of.SystemChoice, Reading, of.ClusterChoice, of.JsonOutput),
        "diagnose:compare_files", without=("names", "classes"),
        version=2,  # version 1 compared calibrators
    ),
    "diagnose": Verb(
        (of.DiagnosedFiles, asks.DiagnoseOptions, Reading, of.ClassChoice, of.ClusterChoice, of.TableOutput),
        "diagnose:diagnose_files", without=("ids", "posteriors"),
    ),
    "threshold": Verb(
        (of.ScoreFile, of.Demands, asks.ThresholdOptions, Reading, of.ClusterChoice, of.SayOptions,
         of.JsonOutput),
        "diagnose:find_thresholds", without=("ids", "classes", "base_10"),
    ),
    "validate": Verb(
        (of.ValidatedFile, asks.ValidateOptions, of.AppliedCalibration, Reading, of.ClusterChoice,
         of.ForensicWords, of.DocumentOutput),
        "validate:validate_file", without=("ids", "classes"),
    ),
    "case": Verb(
        (of.QuestionedScores, asks.CaseOptions, Reading, of.ForensicWords, of.DocumentOutput),
        "validate:report_case", without=("ids", "classes", "unreadable"),
    ),
    "calibrate": Verb(
        (of.ScoreFile, asks.CalibrateOptions, Reading, of.ClassChoice, of.ClusterChoice, of.MapOutput),
        "calibrate:calibrate_file", without=("ids", "posteriors"),
    ),
    "fuse": Verb(
        (of.ScoreFiles, asks.FuseOptions, of.FusionPrior, of.SystemChoice, of.SasvChoice, of.FusionReading,
         of.MapOutput),
        "calibrate:fuse_files", without=("unreadable", "names"),
    ),
    "apply": Verb(
        (of.MapFile, of.ScoreFiles, asks.ApplyOptions, of.LlrOutput, Reading, of.ClusterChoice),
        "apply:apply_to_files", without=("classes", "unreadable"),
    ),
    "shift": Verb(
        (of.MapFile, of.ScoreFile, asks.AdaptOptions, Reading, of.ClusterChoice, of.AdaptedOutput),
        "apply:check_file", without=("ids", "classes"),
    ),
    "convert": Verb(
        (of.ConvertFiles, Reading), "apply:convert_file", without=("ids", "classes", "unreadable"),
    ),
    "plot": Verb(
        (of.PlotOptions, of.SystemChoice, of.SayOptions, Reading, of.ClassChoice, of.ClusterChoice),
        "plot:draw_figure", without=("ids", "posteriors"),
    ),
    "theory": Verb((of.TheoryOptions, of.JsonOutput), "simulate:describe_pairs"),
    "spoof": Verb(
        (of.ScoreFile, of.SpoofColumns, asks.SpoofOptions, of.SpoofExtras, of.SayOptions, Reading,
         of.ClusterChoice, of.JsonOutput),
        # of three kinds of trials, read in batches
        "biometrics:evaluate_spoofs", without=(
            "ids", "classes", "base_10", "score_column", "positive", "nontargets", "duplicates",
            "key", "key_columns", "key_label_column", "quality_file",
        ),
    ),
    "biometrics rates": Verb(
        (of.ScoreFile, asks.RatesOptions, Reading, of.ClusterChoice, of.PageOutput),
        "biometrics:rates_of_file", without=("ids", "classes"),
    ),
    "biometrics differential": Verb(
        (of.ScoreFile, asks.DifferentialOptions, Reading, of.ClusterChoice, of.JsonOutput),
        "biometrics:differential_of_file", without=("ids", "classes"),
    ),
    "biometrics identify": Verb(
        (of.ScoreFile, asks.IdentifyOptions, of.MateFile, Reading, of.ClusterChoice, of.JsonOutput),
        "biometrics:identification_of_file", without=("ids", "classes"),
    ),
    "speech train": Verb(
        (of.TrainingFile, of_speech.TrainOptions, *_SPEECH, of_speech.AdaptInput, of.RecognizerOutput),
        "speech:train",
    ),
    "speech extract": Verb(
        (of.RecognizerFile, of.SpeechFile, *_SPEECH, of.ArrayOutput), "speech:extract", without=_TRAINED
    ),
    "speech enroll": Verb(
        (of.RecognizerFile, of.SpeechFile, *_SPEECH, of.EnrolledOutput), "speech:enroll", without=_TRAINED
    ),
    "speech cohort": Verb(
        (of.RecognizerFile, of.SpeechFile, *_SPEECH, of.ModelOutput), "speech:cohort", without=_TRAINED
    ),
    "speech score": Verb(
        (of.EnrolledFile, of.SpeechFile, of.TrialChoice, of_speech.ScoreOptions, *_SPEECH,
         of_speech.CohortInput, of.ScoreOutput),
        "speech:score", without=_TRAINED,
    ),
    "speech import-kaldi": Verb((of.KaldiModel, of.ModelOutput), "speech:import_kaldi", without=("json",)),
    "simulate scores": Verb(
        (simulated.ScoreModel, simulated.TrialList, of.SeedChoice, of.SimulatedOutput), "simulate:scores"
    ),
    "simulate plda": Verb(
        (simulated.Space, simulated.CrossedRecordings, of.SeedChoice, of.SimulatedOutput), "simulate:plda"
    ),
    "simulate embeddings": Verb(
        (simulated.Space, simulated.SplitSpeakers, of.SeedChoice, of.ArrayOutput), "simulate:embeddings"
    ),
    "simulate frames": Verb((simulated.FrameOptions, of.SeedChoice, of.FramesOutput), "simulate:frames"),
    "simulate sample": Verb((simulated.SampleChoice, of.SampleOutput), "simulate:sample"),
    "paper": Verb((of.SmallOptions,), "paper:small"),
    "paper durations": Verb((of.DurationsOptions, of.ExperimentOutput), "paper:durations"),
    "paper prior-scan": Verb((of.ScanOptions, Reading, of.ExperimentOutput), "paper:prior_scan"),
    "paper real": Verb((of.RealOptions, Reading, of.ExperimentOutput), "paper:real"),
    "app": Verb((of.AppOptions,), ""),
}  # fmt: skip
"""By the words of the command."""
