"""Files with targets, non-targets and spoofs: how they are opened, and what commands do with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from llrkit.cli.kinds.asked_options import ToEvaluate, ToFuse
from llrkit.cli.kinds.score_files import ScoreFiles, refuse_options
from llrkit.cli.trial_input import TrialInput
from llrkit.errors import InputError, LabelError, UnknownNameError
from llrkit.io.read_options import CLUSTER

if TYPE_CHECKING:
    from llrkit.io.read_options import Reading
    from llrkit.spoof.trials import SpoofTrials


@dataclass(frozen=True)
class SpoofFiles(ScoreFiles):
    """Scores of targets, non-targets and spoofs, one column for each system; options as they were typed."""

    columns: Mapping[str, str | None] = field(default_factory=dict)
    """The column of each system, where it was named."""
    attack: str | None = None
    costs: tuple[str, ...] = ()
    convention: Literal["roc", "hull", "nearest"] = "roc"
    asv_threshold: str = "eer"
    cm_threshold: str | None = None
    variants: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """Other trials that a fusion is evaluated on."""

    holds: ClassVar[str] = "targets, non-targets and spoofs"

    def evaluate(self, asked: ToEvaluate) -> None:
        """EERs, a-DCF, t-DCF, t-EER."""
        from llrkit.cli.spoof import evaluate_spoofs

        evaluate_spoofs(self, asked)

    def fuse(self, asked: ToFuse) -> None:
        """One LLR from speaker verification and a countermeasure."""
        from llrkit.cli.fuse import fuse_sasv

        refuse_options(
            ("prior", "classes", "score_columns", "quality", "speakers", "features", "missing", "bound"),
            "cannot be combined with --sasv",
        )
        fuse_sasv(self, asked)


def open_spoof_trials(
    path: str, columns: Mapping[str, str | None], attack: str | None, given: TrialInput
) -> SpoofTrials:
    """The trials of a file, in batches or on a cluster; the columns by system."""
    from llrkit.engine.open import open_in_batches
    from llrkit.spoof.trials import SYSTEMS, SpoofTrials

    if given.reading.score:
        raise InputError("--score-column: name the columns of the systems (--asv-column, --cm-column, ...)")
    named = {system: name for system, name in columns.items() if name}
    if not named:
        named = {name: name for name in SYSTEMS if _has_column(path, given.reading, name)}
        if not named:
            raise InputError(
                f"{path}: there is no column asv, cm or sasv; name those of the systems (--asv-column, "
                "--cm-column, --sasv-column)"
            )
    reading_all = replace(given.reading, score=tuple(dict.fromkeys(named.values())))
    if given.cluster.any:
        reading_all.require(CLUSTER)  # before any worker is started
    source = open_in_batches(path, reading_all, client=given.client() if given.cluster.any else None)
    trials = SpoofTrials(source, **named, attack=attack)
    if given.reading.missing_scores != "drop" or len(named) == 1:
        return trials
    # a trial without a score of one system still counts for the others
    alone = {
        system: open_in_batches(path, replace(reading_all, score=(name,))) for system, name in named.items()
    }
    return trials.reading_apart(alone)  # type: ignore[arg-type]


@contextmanager
def speaking_of_kinds() -> Iterator[None]:
    """Say of a label that is none which kinds of trials there are."""
    from llrkit.scores.labels import KNOWN_KINDS

    try:
        yield
    except LabelError as error:
        label, known, _ = str(error).partition(" is not a label of two classes")
        raise LabelError(f"{label} is not a kind of trial; {KNOWN_KINDS}" if known else str(error)) from None


def _has_column(path: str, reading: Reading, name: str) -> bool:
    from llrkit.io.formats import scan_tables

    try:
        scan_tables([path], replace(reading, score=(name,)))
    except UnknownNameError:
        return False
    return True
