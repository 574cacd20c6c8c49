"""Plots of curve objects: matplotlib Axes for papers, plotly figures for notebooks and reports.

Each function takes a curve object, an :class:`~llrkit.metrics.evaluation.Evaluation`, or a dict of those
by system, and returns the Axes it drew into (``ax``, or new ones in one column's width). With
``renderer="plotly"`` it returns a plotly Figure instead. Nothing is computed here.
"""

from llrkit.plot.paper import cllr_scatter, heat_map, prior_scan, two_gaussians

__all__ = ["cllr_scatter", "heat_map", "prior_scan", "two_gaussians"]
