"""Reading: every option that says how trials are read, and which of them each way of reading can honor."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Self

from llrkit.base.options import Options, declared, flag_of, opt
from llrkit.base.text import printable
from llrkit.errors import InputError
from llrkit.scores.source import Roles

if TYPE_CHECKING:
    from llrkit.io.selection import Where

PathArg = str | PathLike[str]


class FileReading(Options, title="Reading"):
    """How files are written, and which of them are read together."""

    key: PathArg | None = opt(None, "A file with the labels, joined on the ids of the trials.", "read")
    key_columns: tuple[str, ...] | None = opt(
        None, "Names of the columns of a key without header.", "names", needs=("key",), show="all"
    )
    key_label: str | None = opt(
        None, "Column of the key with the labels; by default found by its name.",
        flag="--key-label-column", needs=("key",), show="all",
    )  # fmt: skip
    format: str | None = opt(
        None, "Insist on a format: table, kaldi, voxceleb, nist, asvspoof, bob, two-column, values, matrix, "
        "npz, npy, bosaris, parquet or arrow.", show="all",
    )  # fmt: skip
    columns: tuple[str, ...] | None = opt(
        None, "Names of the columns of a file without header.", "names", show="all"
    )
    decimal: str | None = opt(
        None,
        "Decimal mark in text files; by default recognized from the scores.",
        choices=(".", ","),
        show="all",
    )
    encoding: str | None = opt(None, "Encoding of text, like latin-1; by default UTF-8.", show="all")
    nontargets: PathArg | None = opt(
        None, "Scores of non-targets, one per line; the first file then holds targets only.", "read",
        against=("key",), show="all",
    )  # fmt: skip
    quality: PathArg | None = opt(
        None, "Quality measures of segments by id (BOSARIS, or a table), added as columns enroll_NAME and "
        "test_NAME.", "read", flag="--quality-file", show="all",
    )  # fmt: skip
    missing: str = opt(
        "error", "With a key: what to do with trials that only one of the files has.",
        choices=("error", "drop"), unspoken=("subset",), show="all",
    )  # fmt: skip
    duplicates: str | None = opt(
        None, "What to do with trials that occur more than once. Default: keep; when joining: error.",
        choices=("keep", "error", "drop"), show="all",
    )  # fmt: skip
    ids: tuple[str, ...] = opt(
        (), "Of several files: the columns that identify a trial.", "names", show="all"
    )
    unreadable: str | None = opt(
        None, "On a cluster: what to do with a Parquet file that cannot be read; by default an error.",
        choices=("error", "skip"), show="all",
    )  # fmt: skip


class Reading(FileReading):
    """How trials are read from files; the options of :func:`llrkit.read_trials` and of the command line.

    One object goes from whoever asks to whoever reads, so no option is lost on the way: what a way of
    reading cannot honor it refuses (:meth:`require`).

    Examples
    --------
    >>> Reading(score="llr", log10=True).to_dict()
    {'score': ['llr'], 'log10': True}
    >>> Reading.of(None, {"score": ["llr"], "log10": True}).factor
    2.302585092994046
    >>> Reading(quality="snr.csv").require(CLUSTER)
    Traceback (most recent call last):
    llrkit.errors.InputError: --quality-file does not go together with a cluster; convert to Parquet first
    """

    score: tuple[str, ...] | None = opt(
        None, "Column of the scores; by default found by its name.", "name", flag="--score-column",
        more="Of several systems, several columns.",
    )  # fmt: skip
    label: str | None = opt(
        None, "Column of the labels (of the key, if there is one); by default found by its name.",
        flag="--label-column",
    )  # fmt: skip
    positive: str | None = opt(
        None, "The label that means target; all other labels mean non-target.", metavar="WORD"
    )
    log10: bool = opt(False, "The scores are log10 LLRs.", "flag")
    distance: bool = opt(False, "The scores are distances: lower means more alike.", "flag")
    weight: str | None = opt(
        None, "Column that says how often each trial counts.", flag="--weight-column", show="all"
    )
    missing_scores: str = opt(
        "error", "What to do with trials whose score is empty, NA, '-' or NaN: leave them out, or reject "
        "them at every threshold.", choices=("error", "drop", "reject"), show="all",
    )  # fmt: skip
    where: tuple[str, ...] = opt(
        (), "Read only trials that satisfy a condition such as 'seconds >= 5' or 'room in a,b'. Of several "
        "conditions all must hold.", "texts", metavar="'COLUMN OP VALUE'",
    )  # fmt: skip
    classes: tuple[str, ...] | None = opt(
        None, "For log-likelihoods of several classes: their names, in order.", "names", show="all"
    )

    def check(self) -> None:
        """Conditions and encodings are refused before anything is read."""
        # A property that parses: its errors come here, before any file is opened.
        _ = self.selection
        try:
            _ = self.encoding is not None and "a".encode(self.encoding)
        except (LookupError, ValueError):
            raise self.error(
                f"{{}}={self.encoding!r}: not an encoding of text; for example utf-8, latin-1, cp1252, "
                "utf-16",
                "encoding",
            ) from None

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
        # Rejected at every threshold means the end that is least like a target: -inf, or +inf where the
        # factor turns distances round.
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
        # Not ``repeated``, whose default depends on the key: that counts by itself below.
        repeated = self.duplicates not in (None, "keep")
        return self.key is not None or self.nontargets is not None or repeated

    @property
    def needs_memory(self) -> bool:
        """Whether what is asked for needs all ids in memory at once."""
        return self.joins or self.quality is not None or self.missing == "subset"

    @property
    def own_label(self) -> str | None:
        """The column with labels in the file of the scores: ``label``, unless that is one of the key."""
        # With a key, ``label`` names its column; the scores have labels of their own only where
        # ``key_label`` tells the two apart.
        return self.label if self.key is None or self.key_label is not None else None

    def for_other_file(self, **options: Any) -> Reading:
        """How a file that comes with the scores is read: its text is written alike, all else is its own."""
        return Reading(decimal=self.decimal, encoding=self.encoding, **options)

    def with_files(self, **changed: Any) -> Self:
        """The same options for other files; those about a key go with it."""
        if "key" in changed and changed["key"] is None:
            changed = {"key_columns": None, "key_label": None, **changed}
        return replace(self, **changed)

    def given(self) -> dict[str, Any]:
        """The options that were asked for; to keep what is repeated asks for nothing."""
        asked = super().given()
        return {name: value for name, value in asked.items() if (name, value) != ("duplicates", "keep")}

    def require(self, way: Way) -> None:
        """Refuse the first option that a way of reading cannot honor."""
        for name in self.given():
            if name not in way.honors:
                # unreadable is an option of clusters alone, so what is refused is the same on every
                # other way of reading.
                refusal = MEMORY.refusal if name == "unreadable" else way.refusal
                raise InputError(f"{flag_of(Reading, name)} {refusal}")


def require_text_name(path: PathArg) -> None:
    """Refuse a file name that is not text, for readers and writers that take names as text only.

    Examples
    --------
    >>> require_text_name("scores.parquet")
    """
    # File names that are not UTF-8 hold surrogates in Python, which polars cannot take.
    if printable(fspath(path)) != fspath(path):
        raise InputError(f"{path}: the name is not UTF-8 text, which this format needs; rename the file")


PLAIN = Reading()
"""Nothing insisted on: everything is told from the files."""


@dataclass(frozen=True)
class Way:
    """A way of reading: the options it honors, and what is said of any other."""

    honors: frozenset[str]
    refusal: str

    @property
    def refused(self) -> frozenset[str]:
        """The options that it does not honor."""
        return frozenset(declared(Reading)) - self.honors


_TEXT = {"format", "columns", "decimal", "encoding"}
_TABLE = {"score", "label", "positive", "log10", "distance", "weight", "where"}
# The policy for missing trials is honored where nothing is joined: nothing can be missing.
_JOINED = {"key", "key_columns", "key_label", "nontargets", "duplicates", "quality", "ids"}
MEMORY = Way(
    frozenset({*_TABLE, *_TEXT, *_JOINED, "missing", "missing_scores"}),
    "is for a cluster (--scheduler, --workers)",
)
BATCHES = Way(
    frozenset({*_TABLE, *_TEXT, "missing", "missing_scores"}), "needs all trials in memory; use read_trials"
)
# Without labels, positive would have no effect.
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
