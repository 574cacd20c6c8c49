"""Files with scores of targets and non-targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from llrkit.cli.kinds.asked_options import ToApply, ToCalibrate, ToCompare, ToEvaluate, ToFuse, ToReport
from llrkit.cli.kinds.score_files import ScoreFiles


@dataclass(frozen=True)
class TwoClassFiles(ScoreFiles):
    """Scores of targets and non-targets, or of targets and all others pooled."""

    holds: ClassVar[str] = "scores of two classes"

    # the modules of the commands import this one: theirs are looked up when a command runs

    def evaluate(self, asked: ToEvaluate) -> None:
        """EER, Cllr, detection costs."""
        from llrkit.cli.evaluate import evaluate_scores

        evaluate_scores(self, asked)

    def report(self, asked: ToReport) -> None:
        """A page on one or several systems."""
        from llrkit.cli.report import report_scores

        report_scores(self, asked)

    def calibrate(self, asked: ToCalibrate) -> None:
        """A map from score to LLR."""
        from llrkit.cli.calibrate import calibrate_scores

        calibrate_scores(self, asked)

    def fuse(self, asked: ToFuse) -> None:
        """One LLR from several systems."""
        from llrkit.cli.fuse import fuse_scores

        fuse_scores(self, asked)

    def apply(self, asked: ToApply) -> None:
        """LLRs in a column of their own."""
        from llrkit.cli.apply import apply_to_scores

        apply_to_scores(self, asked)

    def compare(self, asked: ToCompare) -> None:
        """Calibrators by Cllr and detection costs."""
        from llrkit.cli.compare import compare_on_scores

        compare_on_scores(self, asked)
