"""All plots in one table: what draws each, and whether several systems share it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from llrkit.plot import class_plots, cost_plots, error_plots, llr_plots
from llrkit.plot.picture import Drawn, Picture
from llrkit.results.result import Result
from llrkit.theory.calibrated_pairs import CalibratedPair

Shown: TypeAlias = Result | CalibratedPair
"""What plots draw: curves, results that have some, and calibrated pairs."""


@dataclass(frozen=True)
class Plot:
    """One kind of plot."""

    draw: Callable[..., Drawn]
    many: bool = False
    """Whether several systems share a picture."""

    def picture(self, shown: Shown | Mapping[str, Shown], **options: object) -> Picture:
        """What it draws, before any renderer; ``options`` are those of its function."""
        drawn: Picture = self.draw(shown, renderer="none", **options)
        return drawn


OF_SYSTEMS = (
    error_plots.det, error_plots.roc, cost_plots.ape, cost_plots.bayes_error, cost_plots.cross_entropy,
    llr_plots.tippett, llr_plots.pav,
)  # fmt: skip
OF_ONE = (
    llr_plots.histogram, llr_plots.idempotence, llr_plots.reliability, cost_plots.two_gaussians,
    cost_plots.cllr_scatter, cost_plots.prior_scan, cost_plots.heat_map, llr_plots.mixing, cost_plots.theory,
    llr_plots.fusion_weights, llr_plots.zoo, error_plots.cmc, error_plots.groups, class_plots.class_det,
    class_plots.confusion, class_plots.class_calibration, class_plots.pair_histogram,
    class_plots.class_idempotence,
)  # fmt: skip
# By the name of the function, which is also the name of the plot on the command line.
PLOTS: dict[str, Plot] = {draw.__name__: Plot(draw, draw in OF_SYSTEMS) for draw in (*OF_SYSTEMS, *OF_ONE)}
