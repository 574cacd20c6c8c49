"""All plots in one table: what each draws. Both renderers draw every one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from llrkit.biometrics.people_groups import DifferentialPerformance
from llrkit.biometrics.searches import Cmc
from llrkit.fits.mixtures import MixingCurve
from llrkit.metrics.curves import (
    BayesErrorCurve,
    CrossEntropyCurve,
    ErrorCurve,
    HistogramPair,
    PavCurve,
    TippettCurve,
)
from llrkit.metrics.discrimination import Curve
from llrkit.metrics.forecasts import ReliabilityCurve
from llrkit.metrics.theory_costs import TheoryCosts, ZooCurve
from llrkit.multiclass.choose import Idempotence
from llrkit.multiclass.evaluation import ClassCalibration, ClassDets, PairHistogram
from llrkit.multiclass.metrics import Confusion
from llrkit.plot import class_plots, cost_plots, error_plots, llr_plots
from llrkit.plot.cost_plots import CllrScatter
from llrkit.plot.llr_plots import FusionWeights
from llrkit.plot.picture import Drawn, Picture
from llrkit.results.result import Result
from llrkit.theory.pairs import CalibratedPair, PairCurve
from llrkit.trust.null import LlrCurve
from llrkit.verbs.compare import PriorScan, ScoreToLlr
from llrkit.verbs.conditions import HeatMap

Shown: TypeAlias = Result | CalibratedPair
"""What plots draw: curves, results that have some, and calibrated pairs."""


@dataclass(frozen=True)
class Plot:
    """One kind of plot."""

    draw: Callable[..., Drawn]
    curves: tuple[type[Curve | PairCurve | ClassDets | PairHistogram], ...]
    """The curve objects it draws."""
    attribute: str | None
    """Where an Evaluation has the curve; None where it comes from elsewhere."""
    many: bool = False
    """Whether several systems share a picture."""

    def picture(self, shown: Shown | Mapping[str, Shown], **options: object) -> Picture:
        """What it draws, before any renderer; ``options`` are those of its function."""
        drawn: Picture = self.draw(shown, renderer="none", **options)
        return drawn

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
        Plot(error_plots.det, (ErrorCurve,), "det", many=True),
        Plot(error_plots.roc, (ErrorCurve,), "roc", many=True),
        Plot(cost_plots.ape, (BayesErrorCurve,), "bayes_error", many=True),
        Plot(cost_plots.bayes_error, (BayesErrorCurve,), "bayes_error", many=True),
        Plot(cost_plots.cross_entropy, (CrossEntropyCurve,), "ece", many=True),
        Plot(llr_plots.tippett, (TippettCurve,), "tippett", many=True),
        Plot(llr_plots.pav, (PavCurve, ScoreToLlr), "pav", many=True),
        Plot(llr_plots.histogram, (HistogramPair,), "histogram"),
        Plot(llr_plots.idempotence, (LlrCurve,), None),
        Plot(llr_plots.reliability, (ReliabilityCurve,), None),
        Plot(cost_plots.two_gaussians, (PairCurve,), None),
        Plot(cost_plots.cllr_scatter, (CllrScatter,), None),
        Plot(cost_plots.prior_scan, (PriorScan,), None),
        Plot(cost_plots.heat_map, (HeatMap,), None),
        Plot(llr_plots.mixing, (MixingCurve,), None),
        Plot(cost_plots.theory, (TheoryCosts,), None),
        Plot(llr_plots.fusion_weights, (FusionWeights,), None),
        Plot(llr_plots.zoo, (ZooCurve,), None),
        Plot(error_plots.cmc, (Cmc,), None),
        Plot(error_plots.groups, (DifferentialPerformance,), None),
        Plot(class_plots.class_det, (ClassDets,), None),
        Plot(class_plots.confusion, (Confusion,), None),
        Plot(class_plots.class_calibration, (ClassCalibration,), None),
        Plot(class_plots.pair_histogram, (PairHistogram,), None),
        Plot(class_plots.class_idempotence, (Idempotence,), None),
    )
}  # fmt: skip
