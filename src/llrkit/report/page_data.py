"""What a page computes and draws from: exact error rates, and pictures thinned and rounded.

Rates are counts over a whole number. The page gets the counts, as differences from one prior to the next,
and divides as we do, so its rates are ours to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._plain import Json
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.plot.picture import Picture
from llrkit.plot.plotly_renderer import Plain, PlainFigure, plain_figure
from llrkit.plot.thin_lines import TOLERANCE, thin_picture
from llrkit.report.templating import script_json


def exact_rates(evaluation: Evaluation) -> dict[str, Json]:
    """Actual and best error rates on the grid of log-odds and at the operating points."""
    curve, n_target, n_nontarget = evaluation.bayes_error, evaluation.n_target, evaluation.n_nontarget
    marks = evaluation.marks
    return {
        "actual_miss": encoded_counts(curve.actual_p_miss, n_target),
        "actual_fa": encoded_counts(curve.actual_p_fa, n_nontarget),
        "best_miss": encoded_counts(curve.minimum_p_miss, n_target),
        "best_fa": encoded_counts(curve.minimum_p_fa, n_nontarget),
        "points": [
            [float(rate) for rate in rates]
            for rates in zip(
                marks.actual_p_miss, marks.actual_p_fa, marks.best_p_miss, marks.best_p_fa, strict=True
            )
        ],
    }


def encoded_counts(rates: FloatArray, n: float) -> dict[str, Json]:
    """Counts as a first value and steps, where that gives the very same rates; else the rates.

    Examples
    --------
    >>> encoded_counts(np.array([0.5, 0.25, 0.25]), 4)
    {'n': 4, 'steps': [2, -1, 0]}
    >>> encoded_counts(np.array([0.5, 1 / 3]), 4)
    {'rates': [0.5, 0.3333333333333333]}
    """
    counts = np.rint(rates * n)
    if float(n).is_integer() and np.array_equal(counts / n, rates):
        steps = np.diff(counts, prepend=0.0).astype(np.int64)
        return {"n": int(n), "steps": steps.tolist()}
    return {"rates": rates.tolist()}


DIGITS = 4
"""Coordinates are rounded to 10^-4 of what an axis shows, less than a tenth of a pixel."""
PIXELS = 640
"""Width of a plot, to say in pixels what thinning may change."""
COARSEST = 0.01
STEP = 1.3


class PageFigure(PlainFigure):
    """A figure with what the page says of it."""

    kind: str
    title: str
    equal: bool
    labels: int


def page_figures(
    pictures: Sequence[Picture], *, n_systems: int = 1, room: int = 2_000_000
) -> tuple[list[PageFigure], float]:
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


def _page_figure(picture: Picture) -> PageFigure:
    figure = plain_figure(picture)
    for name, axis in (("x", picture.x), ("y", picture.y)):
        _rounded_figure(figure["data"], name, axis.limits)
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


def _rounded_figure(traces: list[Plain], name: str, limits: tuple[float, float] | None) -> None:
    places = [(trace, _trace_coordinates(trace[name])) for trace in traces if name in trace]
    values = [value for _, coordinates in places for value in coordinates if value is not None]
    width = limits[1] - limits[0] if limits else float(np.ptp(values)) if values else 0.0
    decimals = DIGITS - math.floor(math.log10(width)) if width > 0 and math.isfinite(width) else 12
    for trace, coordinates in places:
        trace[name] = [None if value is None else round(value, decimals) for value in coordinates]


def _trace_coordinates(values: Json) -> list[float | None]:
    """The numbers of a trace; None where there is a gap."""
    assert isinstance(values, list)
    return [value if isinstance(value, (int, float)) else None for value in values]
