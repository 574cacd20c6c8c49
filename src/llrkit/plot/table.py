"""All plots in one table: what each draws, which renderers draw it, and which test looks at it.

Both renderers draw pictures, whatever they show, so the two columns are the same everywhere; a test draws
every row with both and compares the lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llrkit.metrics.curves import (
    BayesErrorCurve,
    CrossEntropyCurve,
    ErrorCurve,
    HistogramPair,
    PavCurve,
    TippettCurve,
)
from llrkit.metrics.pictures import (
    CllrScatter,
    FusionWeights,
    HeatMap,
    PriorScan,
    ScoreToLlr,
)
from llrkit.metrics.zoo import ZooCurve
from llrkit.multiclass.idempotent import Idempotence
from llrkit.multiclass.metrics import Confusion
from llrkit.multiclass.pictures import ClassCalibration, ClassDets, PairHistogram
from llrkit.plot import bayes, classes, detection, llrs, paper, people
from llrkit.theory.pair_curve import PairCurve
from llrkit.trust.llr_curves import LlrCurve


@dataclass(frozen=True)
class Plot:
    """One kind of plot."""

    draw: Callable[..., Any]
    curves: tuple[type[Any], ...]
    """The curve objects it draws."""
    attribute: str | None
    """Where an Evaluation has the curve; None where it comes from elsewhere."""
    test: str
    """The test that compares what is drawn with what was given."""
    many: bool = False
    """Whether several systems share a picture."""
    renderers: tuple[str, str] = ("llrkit.plot.axes:draw", "llrkit.plot.figures:figure")

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.draw.__name__

    @property
    def command(self) -> str:
        """Its name on the command line."""
        return self.name.replace("_", "-")


PLOTS: dict[str, Plot] = {
    plot.name: plot
    for plot in (
        Plot(detection.det, (ErrorCurve,), "det", "test_det_lines_are_probits_of_the_rates", many=True),
        Plot(detection.roc, (ErrorCurve,), "roc", "test_roc_lines_are_the_rates", many=True),
        Plot(bayes.ape, (BayesErrorCurve,), "bayes_error", "test_ape_lines_are_errors", many=True),
        Plot(bayes.bayes_error, (BayesErrorCurve,), "bayes_error", "test_bayes_error_lines", many=True),
        Plot(bayes.ece, (CrossEntropyCurve,), "ece", "test_ece_lines_are_cross_entropies", many=True),
        Plot(llrs.tippett, (TippettCurve,), "tippett", "test_tippett_lines_are_shares_of_trials", many=True),
        Plot(llrs.pav, (PavCurve, ScoreToLlr), "pav", "test_pav_steps_are_the_blocks", many=True),
        Plot(llrs.histogram, (HistogramPair,), "histogram", "test_histogram_areas_and_prediction"),
        Plot(llrs.idempotence, (LlrCurve,), None, "test_idempotence_lines_and_band"),
        Plot(paper.two_gaussians, (PairCurve,), None, "test_two_gaussians_are_normal_densities"),
        Plot(paper.cllr_scatter, (CllrScatter,), None, "test_scatter_draws_the_points_and_the_diagonal"),
        Plot(paper.prior_scan, (PriorScan,), None, "test_prior_scan_draws_each_method"),
        Plot(paper.heat_map, (HeatMap,), None, "test_heat_map_writes_the_values"),
        Plot(people.fusion_weights, (FusionWeights,), None, "test_fusion_weights_and_intervals"),
        Plot(people.zoo, (ZooCurve,), None, "test_zoo_points_quartiles_and_animals"),
        Plot(classes.class_det, (ClassDets,), None, "test_class_det_lines_are_probits_of_the_rates"),
        Plot(classes.confusion, (Confusion,), None, "test_confusion_cells_are_shares_of_the_true_class"),
        Plot(classes.class_calibration, (ClassCalibration,), None, "test_class_calibration_points"),
        Plot(classes.pair_histogram, (PairHistogram,), None, "test_pair_histogram_areas_are_one"),
        Plot(classes.class_idempotence, (Idempotence,), None, "test_class_idempotence_points_and_band"),
    )
}  # fmt: skip
