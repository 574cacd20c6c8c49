"""The options of jobs as keywords, written by .ci/keywords.py from their declarations."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

from llrkit.base.arguments import RNG
from llrkit.io.read_options import Reading
from llrkit.maps.map import Map
from llrkit.scores.derived import AnyTrials
from llrkit.speech.embeddings import Embeddings
from llrkit.speech.frames import Frames
from llrkit.spoof.costs import Costs
from llrkit.theory.operating_points import AnyPoint, Point, Points
from llrkit.verbs.criteria import Criteria

class ReadingKeywords(TypedDict, total=False):
    key_columns: str | Sequence[str] | None
    key_label: str | None
    format: str | None
    columns: str | Sequence[str] | None
    decimal: Literal[".", ","] | None
    encoding: str | None
    nontargets: str | PathLike[str] | None
    quality: str | PathLike[str] | None
    missing: Literal["error", "drop"]
    duplicates: Literal["keep", "error", "drop"] | None
    ids: str | Sequence[str] | None
    unreadable: Literal["error", "skip"] | None
    score: str | Sequence[str] | None
    label: str | None
    positive: str | None
    log10: bool
    distance: bool
    weight: str | None
    missing_scores: Literal["error", "drop", "reject"]
    where: str | Sequence[str] | None
    classes: str | Sequence[str] | None

class EvaluateKeywords(TypedDict, total=False):
    speakers: str | Sequence[str] | None
    ci: Literal["none", "trial", "speaker", "bootstrap"] | None
    level: float
    recordings: str | Sequence[str] | None
    replicates: int
    rng: RNG
    points: Points
    allow_unconfirmed: bool
    by: str | Sequence[str] | None
    shared: str | None
    threshold_from: AnyTrials | None
    equalize: str | Sequence[str] | None
    ece: bool

class RatesKeywords(TypedDict, total=False):
    level: float
    speakers: str | Sequence[str] | None
    fmr: float | Sequence[float]
    failures: str | None

class DifferentialKeywords(TypedDict, total=False):
    level: float
    speakers: str | Sequence[str] | None
    fmr: float | None
    threshold: float | None
    rng: RNG

class IdentifyKeywords(TypedDict, total=False):
    level: float
    subject: str | None
    enrolled: str | None
    gallery: str | None
    ranks: int | Sequence[int]
    fpir: float | Sequence[float]
    rank: int

class SpoofKeywords(TypedDict, total=False):
    level: float
    speakers: str | Sequence[str] | None
    tandem: Sequence[Costs] | Costs
    eer: Literal["roc", "hull", "nearest"]
    asv_threshold: float | Literal["eer"]
    rng: RNG

class ThresholdKeywords(TypedDict, total=False):
    speakers: str | Sequence[str] | None
    ci: Literal["none", "trial", "speaker", "bootstrap"] | None
    level: float
    recordings: str | Sequence[str] | None
    replicates: int
    rng: RNG
    point: Point | None
    false_alarm_rate: float | None
    miss_rate: float | None
    calibrated: bool | None
    on: AnyTrials | None
    allow_unconfirmed: bool

class DiagnoseKeywords(TypedDict, total=False):
    speakers: str | Sequence[str] | None
    point: AnyPoint | None
    cross_validate: bool

class ValidateKeywords(TypedDict, total=False):
    criteria: Criteria | Mapping[str, object] | str | PathLike[str] | None
    calibration: Map | None
    apply: bool | None
    reading: Reading | None
    curves: bool
    worst: int
    replicates: int
    rng: RNG
    trained_on_these: bool
    cautions: str | Sequence[str] | None

class CaseKeywords(TypedDict, total=False):
    speakers: str | Sequence[str] | None
    h1: str
    h2: str
    train: AnyTrials | None
    validation: AnyTrials | None
    level: float
    replicates: int | None
    rng: RNG
    conditions: str
    verbal: bool

class SpeechInputKeywords(TypedDict, total=False):
    where: str | Sequence[str] | None
    source: str | PathLike[str] | None
    segments: str | PathLike[str] | None
    utt2spk: str | PathLike[str] | None
    vad: str | PathLike[str] | None
    vectors: str | None
    folder: str | PathLike[str] | None
    bad_files: Literal["error", "skip"]

class TrainKeywords(TypedDict, total=False):
    uncertainty: bool
    relevance: float
    top_gaussians: int | None
    cost: float
    steps: str | Sequence[str] | None
    n_gaussians: int | None
    n_factors: int | None
    iterations: int
    rank: int | None
    rng: RNG
    adapt: Frames | Embeddings | None
    adaptation: Literal["center", "coral", "coral+", "kaldi", "interpolate"]
    adaptation_weight: float | None

class FuseKeywords(TypedDict, total=False):
    speakers: str | Sequence[str] | None
    bound: str
    method: str
    prior: float
    quality_columns: str | Sequence[str] | None
    features: str
    regularization: float
    missing: Literal["error", "drop", "subset"]
    alpha: float
    robust: float
    scaled: bool
    systems: str | Sequence[str] | None

class ApplyKeywords(TypedDict, total=False):
    outside: Literal["warn", "error", "bound"]
    shift: Literal["ignore", "warn", "error"]

class AdaptKeywords(TypedDict, total=False):
    speakers: str | Sequence[str] | None
    share: float | Sequence[float] | None
    labeled: AnyTrials | None
