"""Pictures as matplotlib Axes: the only module that knows matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from llrkit._atomic import replacing
from llrkit.plot.picture import Band, Cells, Line, Picture, Points, Stairs, Words

STYLE = Path(__file__).with_name("llrkit.mplstyle")

DASHES: dict[str, Any] = {
    "solid": "-",
    "dash": (0, (5, 2)),
    "dot": (0, (1.2, 1.4)),
    "dashdot": (0, (5, 1.6, 1.2, 1.6)),
}
MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "x", "plus": "+"}
LINE_WIDTH, MARKER_SIZE = 1.2, 4.0
WIDTHS = {"column": 3.4, "page": 7.0}
"""Widths of a figure in inches: one column and the full width of a two-column page."""
MANY_LABELS = 9


def draw(picture: Picture, ax: Axes | None = None) -> Axes:
    """Draw a picture into ``ax``, or into a new figure of one column's width."""
    with matplotlib.rc_context(fname=STYLE):
        if ax is None:
            _, ax = plt.subplots(figsize=size(picture))
        for order, mark in enumerate(picture.marks):
            _draw_mark(ax, mark, 2.0 + 0.01 * order)
        _dress(ax, picture)
    return ax


def size(picture: Picture, width: str | float = "column") -> tuple[float, float]:
    """Width and height in inches that suit a picture."""
    inches = WIDTHS[width] if isinstance(width, str) else width
    crowded = len(list(picture.labels())) >= MANY_LABELS
    share = 0.95 if picture.equal and not crowded else 0.78
    return inches, inches * min(share, share * 4.6 / inches if inches > 4.6 else share)


def save(picture: Picture, path: str | Path, *, width: str | float = "column") -> None:
    """Draw a picture and write it to a file whose ending says how: pdf, svg or png."""
    with matplotlib.rc_context(fname=STYLE):
        figure = Figure(figsize=size(picture, width), layout="constrained")
        draw(picture, figure.subplots())
        kind = Path(path).suffix[1:].lower()
        undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind, {})
        with replacing(path) as temporary:
            figure.savefig(temporary, format=kind, metadata={"Title": picture.title, **undated})


def _plain(text: str) -> str:
    """Text that matplotlib takes as it is: no formulas, and not hidden for a leading underscore."""
    text = text.replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{text}" if text.startswith("_") else text


def _draw_mark(ax: Axes, mark: Any, order: float) -> None:
    match mark:
        case Line():
            ax.plot(mark.x, mark.y, color=mark.ink.colour, linestyle=DASHES[mark.ink.dash], zorder=order,
                    linewidth=LINE_WIDTH * mark.ink.width, label=_plain(mark.label) or None)  # fmt: skip
        case Points():
            hollow = not mark.filled and MARKERS[mark.marker] not in "x+"
            ax.plot(mark.x, mark.y, linestyle="none", marker=MARKERS[mark.marker], zorder=order + 0.5,
                    markersize=MARKER_SIZE * mark.size, color=mark.ink.colour, markeredgewidth=1.0,
                    markerfacecolor="white" if hollow else mark.ink.colour,
                    label=_plain(mark.label) or None)  # fmt: skip
        case Band():
            ax.fill_between(mark.x, mark.low, mark.high, color=mark.ink.colour, alpha=0.18, linewidth=0,
                            zorder=order, label=_plain(mark.label) or None)  # fmt: skip
        case Stairs():
            ax.stairs(mark.heights, mark.edges, fill=True, color=mark.ink.colour, alpha=0.35, zorder=order,
                      label=_plain(mark.label) or None)  # fmt: skip
        case Cells():
            _draw_cells(ax, mark)
        case Words():
            ax.text(mark.x, mark.y, _plain(mark.text), color=mark.ink.colour, zorder=order + 1,
                    fontsize=6.5, ha="center", va="bottom", clip_on=True)  # fmt: skip


def _draw_cells(ax: Axes, mark: Cells) -> None:
    image = ax.imshow(mark.values, origin="lower", cmap="cividis", aspect="auto")
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.05, pad=0.02)
    bar.set_label(_plain(mark.label))
    bar.outline.set_visible(False)
    for (row, column), value in np.ndenumerate(mark.values):
        light = float(np.dot(image.to_rgba(np.array([value]))[0, :3], (0.299, 0.587, 0.114))) > 0.5
        ax.text(column, row, mark.texts[row][column], ha="center", va="center", fontsize=6.5,
                color="black" if light else "white")  # fmt: skip


def _dress(ax: Axes, picture: Picture) -> None:
    """Axes, grid, title and legend."""
    ax.set_title(_plain(picture.title))
    for name, axis in (("x", picture.x), ("y", picture.y)):
        getattr(ax, f"set_{name}label")(_plain(axis.label))
        if axis.limits is not None:
            getattr(ax, f"set_{name}lim")(axis.limits)
        if axis.ticks is not None:
            labels = None if axis.tick_labels is None else [_plain(text) for text in axis.tick_labels]
            getattr(ax, f"set_{name}ticks")(axis.ticks, labels)
    if picture.equal:
        ax.set_aspect("equal", adjustable="box")
    ax.grid(picture.grid)
    handles, labels = ax.get_legend_handles_labels()
    if picture.legend == "none" or not handles:
        return
    if len(handles) < MANY_LABELS:
        ax.legend(loc=picture.legend)
    else:  # beside the picture, where it covers nothing
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize=5.5)
