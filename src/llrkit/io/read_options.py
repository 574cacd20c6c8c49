"""Reading: every option that says how trials are read, and which of them each way of reading can honor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Self

from llrkit.base.text import Json, not_among, printable
from llrkit.errors import InputError, UnknownNameError
from llrkit.scores.source import Roles

if TYPE_CHECKING:
    from llrkit.io.selection import Where

PathArg = str | PathLike[str]
_ACCEPTED: dict[str, tuple[str | None, ...]] = {
    "missing": ("error", "drop", "subset"),
    "missing_scores": ("error", "drop", "reject"),
    "decimal": (None, ".", ","),
    "duplicates": (None, "keep", "error", "drop"),
    "unreadable": (None, "error", "skip"),
}
"""The words that some options accept."""


@dataclass(frozen=True)
class Reading:
    """How trials are read from files; the options of :func:`llrkit.read_trials` and of the command line.

    One object goes from whoever asks to whoever reads, so no option is lost on the way: what a way of
    reading cannot honor it refuses (:meth:`require`).

    Examples
    --------
    >>> Reading(score="llr", log10=True).to_dict()
    {'score': ['llr'], 'log10': True}
    >>> Reading.from_dict({"score": ["llr"], "log10": True}).factor
    2.302585092994046
    >>> Reading(quality="snr.csv").require(CLUSTER)
    Traceback (most recent call last):
    llrkit.errors.InputError: --quality-file does not go together with a cluster; convert to Parquet first
    """

    key: PathArg | None = None
    """A file with the labels, joined on the ids of the trials."""
    score: tuple[str, ...] | None = None
    """The columns with the scores; by default those that have one of the usual names."""
    label: str | None = None
    """The column with the labels, of the key if there is one; by default the one with a usual name."""
    key_columns: tuple[str, ...] | None = None
    """Names for the columns of a key without header."""
    key_label: str | None = None
    """The column of the key with the labels, where ``label`` is one of the scores' own file."""
    format: str | None = None
    columns: tuple[str, ...] | None = None
    """Names for the columns of a text without header."""
    decimal: str | None = None
    """What numbers have before their fraction, '.' or ','; by default what the scores must have."""
    encoding: str | None = None
    """The encoding of text, as Python names it; by default UTF-8."""
    nontargets: PathArg | None = None
    """A second file with the scores of non-targets; the first then holds targets only."""
    positive: str | None = None
    """The label that means target; every other label then means non-target."""
    log10: bool = False
    distance: bool = False
    missing: str = "error"
    """Trials that only some of the files to be joined have: 'error', 'drop', or 'subset' (kept, without a
    score)."""
    missing_scores: str = "error"
    """Trials without a score, or with NaN for one: 'error', 'drop', or 'reject' (the worst score)."""
    duplicates: str | None = None
    """Trials that occur more than once: 'keep', 'error' or 'drop'; by default kept, an error when joining."""
    quality: PathArg | None = None
    """A file with quality measures of segments."""
    weight: str | None = None
    """The column that says how often each trial counts."""
    ids: tuple[str, ...] = ()
    """For several files: the columns that identify a trial."""
    classes: tuple[str, ...] | None = None
    """For log-likelihoods of several classes: their names, in order."""
    where: tuple[str, ...] = ()
    """Conditions such as ``seconds >= 5``: only trials that satisfy all of them are read."""
    unreadable: str | None = None
    """On a cluster: what to do with a file that cannot be read, 'error' or 'skip'."""

    def __post_init__(self) -> None:
        for name in ("score", "columns", "key_columns", "ids", "classes", "where"):
            names = getattr(self, name)
            if names is not None:
                object.__setattr__(self, name, (names,) if isinstance(names, str) else tuple(names))
        _ = self.selection  # a condition that is none is refused before anything is read
        for name, accepted in _ACCEPTED.items():
            value = getattr(self, name)
            if value not in accepted:
                words = ", ".join(word for word in accepted if word)
                raise UnknownNameError(f"{name}={value!r}: expected one of {words}")
        try:
            _ = self.encoding is not None and "a".encode(self.encoding)
        except (LookupError, ValueError):
            raise UnknownNameError(
                f"encoding={self.encoding!r}: not an encoding of text; for example utf-8, latin-1, cp1252, "
                "utf-16"
            ) from None
        if self.nontargets is not None and self.key is not None:
            raise InputError("a key and a file of non-targets cannot be combined")
        if self.key is None:
            for name in ("key_columns", "key_label"):
                if getattr(self, name) is not None:
                    raise InputError(f"{FLAGS[name]} is for a file with the labels (--key)")

    @property
    def selection(self) -> Where | None:
        """The conditions of ``where``, parsed; None if there are none."""
        if not self.where:
            return None
        from llrkit.io.selection import Where  # needs polars, which the help of a command does not

        return Where.parse(self.where)

    @property
    def factor(self) -> float:
        """What scores are multiplied by to become natural-log LLRs, or at least to grow with them."""
        return (math.log(10.0) if self.log10 else 1.0) * (-1.0 if self.distance else 1.0)

    def factor_for(self, roles: Roles) -> float:
        """The same for a file whose columns say how they are to be read (``log10_lr`` of a calibration)."""
        if self.log10 and roles.factor != 1.0:
            raise InputError(f"--log10: the column {roles.score[0]!r} is already read as log10 LLRs")
        return self.factor * roles.factor

    def instead_of_missing(self, roles: Roles) -> float | None:
        """What stands for a missing score, as the file would hold it; None if such trials are left out."""
        return None if self.missing_scores == "drop" else math.copysign(math.inf, -self.factor_for(roles))

    @property
    def files(self) -> tuple[PathArg, ...]:
        """The files that options name, which are read with the scores."""
        return tuple(file for file in (self.key, self.nontargets, self.quality) if file is not None)

    @property
    def repeated(self) -> str:
        """What becomes of trials that occur more than once: kept, and an error when joining with a key."""
        return self.duplicates or ("error" if self.key is not None else "keep")

    @property
    def joins(self) -> bool:
        """Whether files must be seen as a whole: to be joined, put together, or searched for repetitions."""
        repeated = self.duplicates not in (None, "keep")
        return self.key is not None or self.nontargets is not None or repeated

    @property
    def needs_memory(self) -> bool:
        """Whether what is asked for needs all ids in memory at once."""
        return self.joins or self.quality is not None or self.missing == "subset"

    @property
    def own_label(self) -> str | None:
        """The column with labels in the file of the scores: ``label``, unless that is one of the key."""
        return self.label if self.key is None or self.key_label is not None else None

    def for_other_file(self, **options: Any) -> Reading:
        """How a file that comes with the scores is read: its text is written alike, all else is its own."""
        return Reading(decimal=self.decimal, encoding=self.encoding, **options)

    def with_files(self, **changed: Any) -> Self:
        """The same options for other files; those about a key go with it."""
        if "key" in changed and changed["key"] is None:
            changed = {"key_columns": None, "key_label": None, **changed}
        return replace(self, **changed)

    def given(self) -> list[str]:
        """The options that were asked for; those at their defaults ask for nothing."""
        asked = [item.name for item in fields(self) if getattr(self, item.name) != item.default]
        return [name for name in asked if (name, self.duplicates) != ("duplicates", "keep")]

    def require(self, way: Way) -> None:
        """Refuse the first option that a way of reading cannot honor."""
        for name in self.given():
            if name not in way.honors:
                refusal = MEMORY.refusal if name == "unreadable" else way.refusal
                raise InputError(f"{FLAGS.get(name, '--' + name)} {refusal}")

    def to_dict(self) -> dict[str, Json]:
        """What was asked for, as plain values; :meth:`from_dict` is the way back."""
        plain: dict[str, Json] = {}
        for name in self.given():
            value = getattr(self, name)
            plain[name] = list(value) if isinstance(value, tuple) else value
            if isinstance(value, PathLike):
                plain[name] = fspath(value)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """What :meth:`to_dict` described; an option nobody knows is an error."""
        known = [item.name for item in fields(cls)]
        for name in plain:
            if name not in known:
                there = not_among(name, known, "; there are: ")
                raise UnknownNameError(f"there is no reading option {there}")
        return cls(**plain)


def require_text_name(path: PathArg) -> None:
    """Refuse a file name that is not text, for readers and writers that take names as text only.

    Examples
    --------
    >>> require_text_name("scores.parquet")
    """
    if printable(fspath(path)) != fspath(path):
        raise InputError(f"{path}: the name is not UTF-8 text, which this format needs; rename the file")


PLAIN = Reading()
"""Nothing insisted on: everything is told from the files."""


@dataclass(frozen=True)
class Way:
    """A way of reading: the options it honors, and what is said of any other."""

    honors: frozenset[str]
    refusal: str


FLAGS = {
    "score": "--score-column",
    "label": "--label-column",
    "quality": "--quality-file",
    "weight": "--weight-column",
    "key_columns": "--key-columns",
    "key_label": "--key-label-column",
    "missing_scores": "--missing-scores",
}
"""Options of the command line that are not called like their keyword."""

_TEXT = {"format", "columns", "decimal", "encoding"}
_TABLE = {"score", "label", "positive", "log10", "distance", "weight", "where"}
# The policy for missing trials is honored where nothing is joined: nothing can be missing.
_JOINED = {"key", "key_columns", "key_label", "nontargets", "duplicates", "quality", "ids"}
MEMORY = Way(
    frozenset({*_TABLE, *_TEXT, *_JOINED, "missing", "missing_scores"}),
    "is for a cluster (--scheduler, --workers)",
)
BATCHES = Way(
    frozenset({*_TABLE, *_TEXT, "missing", "missing_scores"}),
    "needs all trials in memory; use read_trials",
)
UNLABELED = Way(BATCHES.honors - {"positive"}, "is about labels, which are not looked at here")
THREE_KINDS = Way(
    BATCHES.honors - {"positive"},
    "is for trials of two classes; write one file with labels of three kinds (llrkit convert joins a key)",
)
"""Spoofing trials: labels stay as they are written."""
REWRITE = Way(MEMORY.honors - {"weight"}, "has no effect on what is written")
CLUSTER = Way(
    frozenset({*_TABLE, "missing", "unreadable"}),
    "does not go together with a cluster; convert to Parquet first",
)
CLASSES = Way(frozenset({"key", "classes", "label", "missing"}), "is for scores of two classes")
TANDEM = Way(
    frozenset({*_TEXT, "score", "label"}),
    "does not go with two files of --sasv; put both scores into one table",
)
