"""Pictures as plotly figures: the only module that knows plotly."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict

import numpy as np

from llrkit.base.arguments import FloatArray
from llrkit.base.files import write_atomically
from llrkit.base.text import Json
from llrkit.plot.picture import Axis, Band, Cells, Drawn, HoverValues, Line, Picture, Points, Stairs, Text

SYMBOLS = {
    "circle": "circle", "square": "square", "triangle": "triangle-up", "diamond": "diamond",
    "cross": "x-thin", "plus": "cross-thin",
}  # fmt: skip
LINE_WIDTH, MARKER_SIZE, FONT = 2.0, 8.0, 13
GROUND = "#FFFFFF"
PAGE_POLICY = (
    # 'unsafe-inline' for scripts, since a page in one file has nothing but inline ones; no address is
    # allowed at all.
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
"""The content security policy of every page: what is in it may run, and nothing may be fetched or sent."""


Plain = dict[str, Json]
"""A trace or a layout, in plotly's own words."""


class PlainFigure(TypedDict):
    """A figure as plotly's JavaScript takes it."""

    data: list[Plain]
    layout: Plain


def figure(picture: Picture) -> Drawn:
    """A plotly Figure, for notebooks."""
    from plotly.graph_objects import Figure

    return Figure(plain_figure(picture))


def plain_figure(picture: Picture) -> PlainFigure:
    """A plotly figure as plain dicts and lists: what ``Plotly.newPlot`` takes.

    Every trace and annotation says in ``meta`` or ``name`` whose color it has, so that a page can change
    the palette. Texts are escaped: plotly reads a little HTML in them.
    """
    traces = [_trace(mark) for mark in picture.marks if not isinstance(mark, Text)]
    layout: Plain = {
        "title": {"text": escaped(picture.title), "font": {"size": FONT + 2}},
        "font": {"size": FONT, "family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"},
        "xaxis": _axis(picture, picture.x),
        "yaxis": _axis(picture, picture.y),
        "annotations": [
            {
                "x": mark.x,
                "y": mark.y,
                "text": escaped(mark.text),
                "showarrow": False,
                "yanchor": "bottom",
                "font": {"color": mark.ink.color},
                # Annotations have no meta field, so the name carries whose color it is.
                "name": str(mark.ink.whose),
            }
            for mark in picture.marks
            if isinstance(mark, Text)
        ],
        "margin": {"l": 60, "r": 20, "t": 50, "b": 50},
        "showlegend": picture.legend != "none" and any(picture.labels()),
        "legend": {"orientation": "h", "x": 0.0, "y": -0.16, "yanchor": "top"},
        "hovermode": "closest",
        "plot_bgcolor": GROUND,
        "paper_bgcolor": GROUND,
    }
    return {"data": traces, "layout": layout}


def write_page(pictures: Sequence[Picture], path: str | Path) -> None:
    """Interactive figures as one page that opens without a network."""
    figures = [
        # The JavaScript goes in once, with the first figure. MathJax, for formulas, would come from the
        # network.
        figure(picture).to_html(full_html=False, include_plotlyjs=i == 0, include_mathjax=False)
        for i, picture in enumerate(pictures)
    ]
    head = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{PAGE_POLICY}">',
        # Without an icon in the page, browsers ask the server for one.
        '<link rel="icon" href="data:,">',
        f"<title>{html.escape(pictures[0].title)}</title></head><body>",
    ]
    write_atomically(path, "\n".join([*head, *figures, "</body></html>", ""]))


def plotly_javascript() -> str:
    """The JavaScript that plotly brings with it, for pages that open without a network."""
    package = find_spec("plotly")
    if package is None or package.origin is None:
        raise ImportError("plotly is not installed")
    # read as a file: importing all of plotly takes longer than the rest of a report
    return (Path(package.origin).parent / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def escaped(text: str) -> str:
    """Text that plotly shows as it is: no tags, no entities, no templates, no formulas.

    Examples
    --------
    >>> escaped("<b>50 %{x}</b> & $x$")
    '&lt;b&gt;50 &#37;{x}&lt;/b&gt; &amp; &#36;x&#36;'
    """
    # The ampersand first, or the entities that follow would be escaped again.
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # plotly reads %{...} as a template and $...$ as a formula.
    return text.replace("%", "&#37;").replace("$", "&#36;")


def _trace(mark: Line | Points | Band | Stairs | Cells) -> Plain:
    if isinstance(mark, Cells):
        return {
            "type": "heatmap", "z": [_numbers(row) for row in mark.values],
            "text": [list(row) for row in mark.texts], "texttemplate": "%{text}", "colorscale": "Cividis",
            "hoverinfo": "x+y+text",
            "colorbar": {"title": {"text": escaped(mark.label), "side": "right"}, "thickness": 14},
        }  # fmt: skip
    meta: Plain = {"ink": mark.ink.whose, "group": mark.group}
    trace: Plain = {
        "type": "scatter", "name": escaped(mark.label), "showlegend": bool(mark.label), "meta": meta,
    }  # fmt: skip
    if mark.group:
        trace["legendgroup"] = f"group {escaped(mark.group)}"  # a name may be one of JavaScript's own
    color = mark.ink.color
    match mark:
        case Line():
            ink: Plain = {"color": color, "dash": mark.ink.dash, "width": LINE_WIDTH * mark.ink.width}
            trace |= {"mode": "lines", **_places(mark.x, mark.y), "line": ink}
            trace |= _hover(mark.label, mark.hover)
        case Points():
            symbol = SYMBOLS[mark.marker]
            # Thin symbols have lines and no area, so only their outline has a color.
            meta["hollow"] = hollow = not mark.filled or symbol.endswith("thin")
            trace |= {"mode": "markers", **_places(mark.x, mark.y)}
            trace["marker"] = {
                "symbol": symbol, "size": MARKER_SIZE * mark.size,
                "color": GROUND if hollow else color,
                "line": {"width": 2 if hollow else 0, "color": color},
            }  # fmt: skip
            trace |= _hover(mark.label, mark.hover)
        case Band():
            # One closed polygon, there along the upper limit and back along the lower one.
            x, y = np.concatenate([mark.x, mark.x[::-1]]), np.concatenate([mark.high, mark.low[::-1]])
            trace |= {"mode": "lines", **_places(x, y), "fill": "toself"}
            trace |= {"line": {"width": 0, "color": color}, "hoverinfo": "skip"}
            trace["fillcolor"], meta["fill"] = _translucent(color, 0.25), 0.25
        case Stairs():
            y = np.append(mark.heights, mark.heights[-1:])  # the last edge is of the last height
            trace |= {"mode": "lines", **_places(mark.edges, y), "fill": "tozeroy"}
            # Pointing at an edge shows its bar; the area as a whole has nothing to tell.
            trace |= {"line": {"shape": "hv", "width": 0.5, "color": color}, "hoveron": "points"}
            trace |= _hover(mark.label, mark.hover, repeat_last=True)
            trace["fillcolor"], meta["fill"] = _translucent(color, 0.4), 0.4
    return trace


def _translucent(color: str, opacity: float) -> str:
    """The color of an area; the page finds the opacity in ``meta`` when it changes the color."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def _hover(label: str, hover: tuple[HoverValues, ...], *, repeat_last: bool = False) -> Plain:
    if not hover:
        return {"hoverinfo": "skip"}
    columns = [
        [escaped(text) if isinstance(line.values, tuple) else _shortest_number(text) for text in line.texts()]
        for line in hover
    ]
    lines = [
        f"{escaped(line.name)} %{{customdata[{i}]}}{' &#37;' if line.percent else ''}"
        for i, line in enumerate(hover)
    ]
    heading = [f"<b>{escaped(label)}</b>"] if label else []
    rows = [list(row) for row in zip(*columns, strict=True)]
    return {
        "customdata": [*rows, *(rows[-1:] if repeat_last else [])],
        # An empty extra removes plotly's box with the name of the trace, which the heading has already.
        "hovertemplate": "<br>".join([*heading, *lines]) + "<extra></extra>",
    }


def _shortest_number(text: str) -> float | int | str:
    """A rounded number as the number it is: shorter than the text, and shown the same."""
    value = float(text) if text != "-" else math.nan
    if not math.isfinite(value):
        return text
    return int(value) if value.is_integer() else value


def _axis(picture: Picture, axis: Axis) -> Plain:
    plain: Plain = {
        "title": {"text": escaped(axis.label), "standoff": 8}, "showgrid": picture.grid, "zeroline": False,
        "gridcolor": "#DDDDDD", "linecolor": "#333333", "showline": True, "ticks": "outside",
        "automargin": True,
    }  # fmt: skip
    if axis.limits is not None:
        plain["range"] = [float(limit) for limit in axis.limits]
    if axis.ticks is not None:
        plain["tickvals"] = [float(tick) for tick in axis.ticks]
        if axis.tick_labels is not None:
            plain["ticktext"] = [escaped(text) for text in axis.tick_labels]
    if picture.equal:
        # "domain" makes the axes smaller instead of showing a wider range where a unit is as long on
        # both.
        plain["constrain"] = "domain"
        if axis is picture.y:
            plain["scaleanchor"] = "x"
    return plain


def _places(x: FloatArray, y: FloatArray) -> Plain:
    return {"x": _numbers(x), "y": _numbers(y)}


def _numbers(values: FloatArray) -> list[float | None]:
    """Lists of floats; plotly leaves a gap where there is no number."""
    numbers = np.asarray(values, dtype=np.float64).tolist()
    # JSON has no NaN and no infinity; null is a gap.
    return [value if math.isfinite(value) else None for value in numbers]
