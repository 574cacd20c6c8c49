"""Plots of curve objects: matplotlib Axes for papers, plotly figures for notebooks and reports.

Each function takes a curve object, an :class:`~llrkit.verbs.evaluate.Evaluation`, or a dict
of those by system, and returns the Axes it drew into (``ax``, or new ones in one column's width). With
``renderer="plotly"`` it returns a plotly Figure instead. Nothing is computed here. ``STYLE`` is the style
sheet, for figures of several plots: ``with plt.style.context(lk.plot.STYLE): ...``.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
