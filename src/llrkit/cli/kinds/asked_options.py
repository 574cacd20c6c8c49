"""What commands were asked for, besides how files are read: the options of each, with their types."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Options of a command; the names are those of its parameters."""

    json_path: str | None = None

    """Where to write the numbers, ``-`` for standard output."""

    @property
    def to_stderr(self) -> bool:
        """Whether words go to standard error, because standard output holds JSON."""
        return self.json_path == "-"


@dataclass(frozen=True, kw_only=True)
class WithIntervals(Asked):
    """Options of commands that give intervals."""

    points: tuple[str, ...] = ()
    by: str | None = None
    words: str = "nist"
    ci: str | None = None
    speakers: str | None = None
    recordings: str | None = None
    level: str = "95%"
    replicates: int = 0
    seed: int = 0
    map_path: str | None = None
    accept_changed: bool = False
    allow_unconfirmed: bool = False
    base_10: bool = False


@dataclass(frozen=True, kw_only=True)
class ToEvaluate(WithIntervals):
    """Options of ``evaluate``."""

    shared: str | None = None
    threshold_from: str | None = None
    threshold_key: str | None = None
    equalize: str | None = None
    known: str | None = None
    p_known: str | None = None
    fmrs: tuple[str, ...] = ()
    failures: str | None = None
    table_style: str | None = None
    html_path: str | None = None


@dataclass(frozen=True, kw_only=True)
class ToReport(WithIntervals):
    """Options of ``report``."""

    output: str | None = None
    docx_path: str | None = None
    title: str
    score_columns: str | None = None
    names: str | None = None
    train: str | None = None
    train_key: str | None = None
    methods: str | None = None
    check: bool = False
    theory: bool = False


@dataclass(frozen=True, kw_only=True)
class ToCompare(Asked):
    """Options of ``compare``; the files are those to train on and to evaluate."""

    methods: str | None = None
    evaluation_key: str | None = None
    points: tuple[str, ...] = ()
    table_style: str | None = None
    html_path: str | None = None


@dataclass(frozen=True, kw_only=True)
class ToCalibrate(Asked):
    """Options of ``calibrate``."""

    method: str
    output: str
    settings: tuple[str, ...] = ()
    by: str | None = None
    groups: str | None = None
    bound: str
    speakers: str | None = None


@dataclass(frozen=True, kw_only=True)
class ToFuse(Asked):
    """Options of ``fuse``."""

    output: str
    method: str
    prior: str | None = None
    score_columns: str | None = None
    quality: str | None = None
    features: str
    regularization: float
    bound: str
    speakers: str | None = None


@dataclass(frozen=True, kw_only=True)
class ToApply(Asked):
    """Options of ``apply``."""

    calibration: str
    output: str
    to: str | None = None
    key_output: str | None = None
    outside: str
    shift: str
    base_10: bool
    force: bool
    posterior: str | None = None
    decide: str | None = None
    accept_changed: bool
