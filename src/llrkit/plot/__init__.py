"""Plots of curve objects: matplotlib Axes for papers, plotly figures for notebooks and reports.

Each function takes a curve object, an :class:`~llrkit.evaluation.result.Evaluation`, or a dict of those
by system, and returns the Axes it drew into (``ax``, or new ones in one column's width). With
``renderer="plotly"`` it returns a plotly Figure instead. Nothing is computed here. ``STYLE`` is the style
sheet, for figures of several plots: ``with plt.style.context(lk.plot.STYLE): ...``.
"""

from llrkit.plot.class_plots import class_calibration, class_det, class_idempotence, confusion, pair_histogram
from llrkit.plot.costs_by_prior import ape, bayes_error, ece
from llrkit.plot.error_curves import det, roc
from llrkit.plot.llr_plots import histogram, idempotence, pav, tippett
from llrkit.plot.paper_figures import cllr_scatter, heat_map, prior_scan, two_gaussians
from llrkit.plot.style import STYLE
from llrkit.plot.weights_and_speakers import fusion_weights, zoo

__all__ = [
    "STYLE",
    "ape",
    "bayes_error",
    "class_calibration",
    "class_det",
    "class_idempotence",
    "cllr_scatter",
    "confusion",
    "det",
    "ece",
    "fusion_weights",
    "heat_map",
    "histogram",
    "idempotence",
    "pair_histogram",
    "pav",
    "prior_scan",
    "roc",
    "tippett",
    "two_gaussians",
    "zoo",
]
