"""From a picture to what the caller wants of it; the renderers are imported when used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from llrkit.errors import InputError, UnknownNameError
from llrkit.plot.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Renderer: TypeAlias = Literal["matplotlib", "plotly", "none"]
Ax: TypeAlias = "Axes | None"
"""Axes of matplotlib to draw into, or None for new ones."""
Drawn: TypeAlias = Any
"""Axes of matplotlib, a Figure of plotly, which has no types, or a Picture: which one, the renderer says."""


def render(picture: Picture, ax: Ax = None, renderer: Renderer = "matplotlib") -> Drawn:
    """Matplotlib Axes, a plotly Figure, or with ``"none"`` the picture itself."""
    if renderer == "matplotlib":
        from llrkit.plot.matplotlib_renderer import draw

        return draw(picture, ax)
    if ax is not None:
        raise InputError(f"ax is for matplotlib, the renderer is {renderer!r}")
    if renderer == "plotly":
        from llrkit.plot.plotly_renderer import figure

        return figure(picture)
    if renderer == "none":
        return picture
    raise UnknownNameError(f"unknown renderer {renderer!r}; known are matplotlib, plotly and none")
