"""Files with log-likelihoods of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from llrkit.cli.class_commands import compare_on_classes, evaluate_classes, report_classes
from llrkit.cli.class_map_commands import apply_to_classes, calibrate_classes, fuse_classes
from llrkit.cli.kinds.asked_options import ToApply, ToCalibrate, ToCompare, ToEvaluate, ToFuse, ToReport
from llrkit.cli.kinds.score_files import ScoreFiles, refuse_options
from llrkit.cli.plotted_trials import class_curves

if TYPE_CHECKING:
    from llrkit.plot.all_plots import Shown

FOR_TWO = "is for scores of two classes"


@dataclass(frozen=True)
class SeveralClassFiles(ScoreFiles):
    """Log-likelihoods of several classes; ``classes`` and ``prior`` as they were typed."""

    classes: str | None = None
    prior: str | None = None
    posteriors: bool = False

    holds: ClassVar[str] = "log-likelihoods of several classes"

    def evaluate(self, asked: ToEvaluate) -> None:
        """Multi-class Cllr, errors, Cavg, each class."""
        refuse_options(
            ("by", "shared", "threshold_from", "equalize", "speakers", "known", "p_known", "fmrs",
             "failures", "words", "map_path", "base_10"), FOR_TWO,
        )  # fmt: skip
        if asked.ci != "none":
            refuse_options(("ci",), FOR_TWO)
        evaluate_classes(self, asked)

    def report(self, asked: ToReport) -> None:
        """A page on one file."""
        refuse_options(
            ("by", "train", "check", "theory", "docx_path", "words", "map_path", "base_10"), FOR_TWO
        )
        report_classes(self, asked)

    def calibrate(self, asked: ToCalibrate) -> None:
        """A map from log-likelihoods to log-likelihoods."""
        refuse_options(("by", "groups", "speakers", "bound"), FOR_TWO)
        calibrate_classes(self, asked)

    def fuse(self, asked: ToFuse) -> None:
        """Log-likelihoods from several systems."""
        refuse_options(("quality", "ids", "speakers", "bound"), FOR_TWO)
        fuse_classes(self, asked)

    def apply(self, asked: ToApply) -> None:
        """Log-likelihoods in the columns of the classes."""
        refuse_options(("key_output", "base_10", "force", "posterior", "decide", "shift"), FOR_TWO)
        apply_to_classes(self, asked)

    def compare(self, asked: ToCompare) -> None:
        """Calibrators by multi-class Cllr."""
        refuse_options(("html_path",), FOR_TWO)
        compare_on_classes(self, asked)

    def curves(self, figure: str) -> Sequence[Shown]:
        """One curve object of each file, or one for each pair of its classes."""
        return [curve for path in self.paths for curve in class_curves(self, path, figure)]
