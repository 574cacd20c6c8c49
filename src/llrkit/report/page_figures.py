"""Pictures as the page gets them: thinned, rounded, with everything a screen reader needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from llrkit.plot.picture import Picture
from llrkit.plot.plotly_renderer import plain_figure
from llrkit.plot.thin_lines import TOLERANCE, thin_picture
from llrkit.report.templating import script_json

DIGITS = 4
"""Coordinates are rounded to 10^-4 of what an axis shows, less than a tenth of a pixel."""
PIXELS = 640
"""Width of a plot, to say in pixels what thinning may change."""
COARSEST = 0.01
STEP = 1.3


def page_figures(
    pictures: Sequence[Picture], *, n_systems: int = 1, room: int = 2_000_000
) -> tuple[list[dict[str, Any]], float]:
    """Pictures for the page, and by how many pixels thinning may have moved a line.

    That is a quarter of a pixel. Where the figures would take more than ``room`` characters, what is left
    is thinned a second time, as little as it takes.
    """
    at_least = max(12, min(100, 400 // n_systems))
    once = [thin_picture(picture, tolerance=TOLERANCE, at_least=at_least) for picture in pictures]
    figures, again = [_page_figure(picture) for picture in once], 0.0
    while len(script_json(figures)) > room and again < COARSEST:
        again = STEP * again or TOLERANCE
        twice = [thin_picture(picture, tolerance=again, at_least=at_least) for picture in once]
        figures = [_page_figure(picture) for picture in twice]
    return figures, PIXELS * (TOLERANCE + again)  # the shifts add up


def _page_figure(picture: Picture) -> dict[str, Any]:
    figure = plain_figure(picture)
    for name in ("x", "y"):
        _round(figure["data"], name, figure["layout"][f"{name}axis"].get("range"))
    layout = figure["layout"]
    del layout["title"]
    layout["margin"] = {"l": 60, "r": 15, "t": 15, "b": 50}
    return {
        "kind": picture.kind,
        "title": picture.title,
        "equal": picture.equal,
        "labels": len(list(picture.labels())) if layout["showlegend"] else 0,
        **figure,
    }


def _round(traces: list[dict[str, Any]], name: str, limits: list[float] | None) -> None:
    values = [value for trace in traces for value in trace.get(name, ()) if value is not None]
    width = limits[1] - limits[0] if limits else float(np.ptp(values)) if values else 0.0
    decimals = DIGITS - math.floor(math.log10(width)) if width > 0 and math.isfinite(width) else 12
    for trace in traces:
        if name in trace:
            trace[name] = [None if value is None else round(value, decimals) for value in trace[name]]
