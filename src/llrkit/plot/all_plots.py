"""All plots in one table: what each draws. Both renderers draw every one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from llrkit._results import Result
from llrkit.biometrics.differential_result import DifferentialPerformance
from llrkit.biometrics.identification_result import Cmc
from llrkit.evaluation.alpha_scan import PriorScan
from llrkit.evaluation.compare import ScoreToLlr
from llrkit.evaluation.condition_tables import HeatMap
from llrkit.evaluation.mixing_curve import MixingCurve
from llrkit.metrics.curve_base import Curve
from llrkit.metrics.curves import (
    BayesErrorCurve,
    CrossEntropyCurve,
    ErrorCurve,
    HistogramPair,
    PavCurve,
    TippettCurve,
)
from llrkit.metrics.reliability import ReliabilityCurve
from llrkit.metrics.theory_costs import TheoryCosts
from llrkit.metrics.zoo import ZooCurve
from llrkit.multiclass.class_curves import ClassCalibration, ClassDets, PairHistogram
from llrkit.multiclass.class_idempotence import Idempotence
from llrkit.multiclass.class_metrics import Confusion
from llrkit.plot import (
    class_plots,
    cmc_and_groups,
    costs_by_prior,
    det_and_roc,
    idempotence_plot,
    mixing_plot,
    paper_figures,
    reliability_plot,
    theory_plot,
    tippett_histogram_pav,
    weights_and_speakers,
)
from llrkit.plot.paper_figures import CllrScatter
from llrkit.plot.picture import Picture
from llrkit.plot.render import Drawn
from llrkit.plot.weights_and_speakers import FusionWeights
from llrkit.theory.calibrated_pair import CalibratedPair
from llrkit.theory.pair_curve import PairCurve
from llrkit.trust.calibration.llr_curves import LlrCurve

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
        Plot(det_and_roc.det, (ErrorCurve,), "det", many=True),
        Plot(det_and_roc.roc, (ErrorCurve,), "roc", many=True),
        Plot(costs_by_prior.ape, (BayesErrorCurve,), "bayes_error", many=True),
        Plot(costs_by_prior.bayes_error, (BayesErrorCurve,), "bayes_error", many=True),
        Plot(costs_by_prior.cross_entropy, (CrossEntropyCurve,), "ece", many=True),
        Plot(tippett_histogram_pav.tippett, (TippettCurve,), "tippett", many=True),
        Plot(tippett_histogram_pav.pav, (PavCurve, ScoreToLlr), "pav", many=True),
        Plot(tippett_histogram_pav.histogram, (HistogramPair,), "histogram"),
        Plot(idempotence_plot.idempotence, (LlrCurve,), None),
        Plot(reliability_plot.reliability, (ReliabilityCurve,), None),
        Plot(paper_figures.two_gaussians, (PairCurve,), None),
        Plot(paper_figures.cllr_scatter, (CllrScatter,), None),
        Plot(paper_figures.prior_scan, (PriorScan,), None),
        Plot(paper_figures.heat_map, (HeatMap,), None),
        Plot(mixing_plot.mixing, (MixingCurve,), None),
        Plot(theory_plot.theory, (TheoryCosts,), None),
        Plot(weights_and_speakers.fusion_weights, (FusionWeights,), None),
        Plot(weights_and_speakers.zoo, (ZooCurve,), None),
        Plot(cmc_and_groups.cmc, (Cmc,), None),
        Plot(cmc_and_groups.groups, (DifferentialPerformance,), None),
        Plot(class_plots.class_det, (ClassDets,), None),
        Plot(class_plots.confusion, (Confusion,), None),
        Plot(class_plots.class_calibration, (ClassCalibration,), None),
        Plot(class_plots.pair_histogram, (PairHistogram,), None),
        Plot(class_plots.class_idempotence, (Idempotence,), None),
    )
}  # fmt: skip
