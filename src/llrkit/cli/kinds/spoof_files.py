"""Files with targets, non-targets and spoofs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from llrkit.cli.kinds.asked_options import ToEvaluate, ToFuse
from llrkit.cli.kinds.score_files import ScoreFiles, refuse_options


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
            "does not go with --sasv",
        )
        fuse_sasv(self, asked)
