"""Pictures as matplotlib Axes: the only module that knows matplotlib."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation
from matplotlib.typing import LineStyleType

from llrkit.base.files import replacing
from llrkit.errors import InputError
from llrkit.plot.picture import STYLE, Band, Cells, Dash, Line, Mark, Picture, Points, Stairs, Text

DASHES: dict[Dash, LineStyleType] = {
    "solid": "-", "dash": (0, (4, 1.8)), "dashdot": (0, (5, 1.5, 1.2, 1.5)), "longdash": (0, (9, 2)),
    "dot": (0, (1.2, 1.4)),
}  # fmt: skip
MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "x", "plus": "+"}
LINE_WIDTH, MARKER_SIZE = 1.2, 4.0
WIDTHS = {"column": 3.4, "page": 7.0}
"""Widths of a figure in inches: one column and the full width of a two-column page."""
# Dates would make two files of one picture differ.
FILES: dict[str, dict[str, None]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
"""Endings of files, and what is left out of them so that the same picture gives the same file."""
MANY_LABELS = 8
BELOW_AXES, LEGEND_ROW = 0.4, 0.13
"""Inches from the axes down to a legend under them, and of each of its rows."""
LETTERS_PER_INCH, HANDLE_LETTERS = 19, 6
"""Letters of a legend that fit into an inch, and how many the sign before a label takes."""
AROUND_AXES = 0.6
"""Inches that labels and title take beside axes."""


def draw(picture: Picture, ax: Axes | None = None) -> Axes:
    """Draw a picture into ``ax``, or into a new figure of one column's width."""
    # figures are made for whoever asks, however many; no style sheet may say so
    with matplotlib.rc_context({"figure.max_open_warning": 0}, fname=str(STYLE)):
        if ax is None:
            import matplotlib.pyplot as plt  # looks for a window system, which files do without

            _, ax = plt.subplots(figsize=size(picture))
        for order, mark in enumerate(picture.marks):
            # In the order of the list, whatever kind they are: matplotlib draws areas below lines by
            # default.
            _draw_mark(ax, mark, 2.0 + 0.01 * order)
        _dress_axes(ax, picture)
        interactive = matplotlib.is_interactive()
    # the first figure in a notebook loads its backend, which turns this on, and the context turns it off
    matplotlib.interactive(interactive)
    return ax


def size(picture: Picture, width: str | float = "column") -> tuple[float, float]:
    """Width and height in inches that suit a picture."""
    inches = WIDTHS[width] if isinstance(width, str) else width
    # Beyond this width axes do not become higher, or a wide figure would fill a page.
    broad = min(inches, 4.8)
    height = 0.75 * broad
    if picture.equal:
        shape = 1.0  # height over width of axes on which a unit is as long in both directions
        if picture.x.limits is not None and picture.y.limits is not None:
            wide, high = (abs(end - start) for start, end in (picture.x.limits, picture.y.limits))
            # Very flat or very high axes leave no room for labels.
            shape = min(max(high / wide, 0.5), 1.5)
        height = (broad - AROUND_AXES) * shape + AROUND_AXES
    labels = list(picture.labels())
    if picture.legend == "below" or len(labels) >= MANY_LABELS:
        told, columns = _labels_below(labels, inches)
        rows = sum(label.count("\n") + 1 for label in told)
        height += LEGEND_ROW * -(-rows // columns) + (0.1 if picture.equal else 0.0) * (3 - columns)
    return inches, height


def _labels_below(labels: Sequence[str], inches: float) -> tuple[list[str], int]:
    """The labels of a legend below the axes, and in how many columns they stand.

    Labels too long for two columns stand in one, and those too long for that are broken: a legend wider than
    the figure would leave the axes no room.

    Examples
    --------
    >>> _labels_below(["mine: EER 2.00 %", "yours: EER 1.00 %"], 3.4)
    (['mine: EER 2.00 %', 'yours: EER 1.00 %'], 2)
    >>> _labels_below(["no errors in 180 + 6,960 trials, 95 % upper limits Pmiss 1.65 %, Pfa 0.04 %"], 3.4)[1]
    1
    """
    half = -(-len(labels) // 2)  # matplotlib fills the first column first
    across = int(inches * LETTERS_PER_INCH)
    longest = [max(map(len, part), default=0) for part in (labels[:half], labels[half:])]
    if sum(longest) <= across - 2 * HANDLE_LETTERS:
        return list(labels), 2
    return ["\n".join(textwrap.wrap(label, across - HANDLE_LETTERS)) or label for label in labels], 1


TWO_ACROSS = 5.0
"""Inches from which panels stand side by side; in a column they stand below each other."""


def save(picture: Picture | Sequence[Picture], *paths: str | Path, width: str | float = "column") -> None:
    """Draw a picture, or several as panels, once into files whose endings say how: pdf, svg or png."""
    pictures = [picture] if isinstance(picture, Picture) else list(picture)
    for path in paths:
        if Path(path).suffix[1:].lower() not in FILES:
            raise InputError(f"{path}: expected a file that ends in pdf, svg or png")
    wide, high = size(pictures[0], width)
    across = 2 if len(pictures) > 1 and wide >= TWO_ACROSS else 1
    down = -(-len(pictures) // across)
    with matplotlib.rc_context(fname=STYLE):
        # A Figure of its own, not of pyplot, which would keep every figure until it is closed.
        figure = Figure(figsize=(wide, high * down / across), layout="constrained")
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for axes, one in zip(panels, pictures, strict=False):
            draw(one, axes)
        for axes in panels[len(pictures) :]:
            axes.set_axis_off()
        for path in paths:
            kind = Path(path).suffix[1:].lower()
            with replacing(path) as temporary:
                metadata = {"Title": pictures[0].title, **FILES[kind]}
                figure.savefig(temporary, format=kind, metadata=metadata)
            figure.set_layout_engine("none")  # which keeps the layout it has


def _plain_text(text: str) -> str:
    """Text that matplotlib takes as it is: no formulas, and not hidden for a leading underscore."""
    # $ would begin a formula, and labels that begin with an underscore are left out of legends.
    text = text.replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{text}" if text.startswith("_") else text


def _draw_mark(ax: Axes, mark: Mark, order: float) -> None:
    label = _plain_text(getattr(mark, "label", "")) or None
    match mark:
        case Line():
            sign = None if mark.marker is None else MARKERS[mark.marker]
            ax.plot(mark.x, mark.y, color=mark.ink.color, linestyle=DASHES[mark.ink.dash], zorder=order,
                    linewidth=LINE_WIDTH * mark.ink.width, label=label, marker=sign,
                    # Some eight markers on a line, however many points it has.
                    markevery=max(1, len(mark.x) // 8), markersize=0.8 * MARKER_SIZE,
                    markerfacecolor="white")  # fmt: skip
        case Points():
            # x and + have no face that could be white.
            hollow = not mark.filled and MARKERS[mark.marker] not in "x+"
            ax.plot(mark.x, mark.y, linestyle="none", marker=MARKERS[mark.marker], zorder=order + 0.5,
                    markersize=MARKER_SIZE * mark.size, color=mark.ink.color, markeredgewidth=1.0,
                    markerfacecolor="white" if hollow else mark.ink.color,
                    label=label)  # fmt: skip
        case Band():
            ax.fill_between(mark.x, mark.low, mark.high, color=mark.ink.color, alpha=0.18, linewidth=0,
                            zorder=order, label=label)  # fmt: skip
        case Stairs():
            ax.stairs(mark.heights, mark.edges, fill=True, color=mark.ink.color, alpha=0.35, zorder=order,
                      label=label)  # fmt: skip
        case Cells():
            _draw_cells(ax, mark)
        case Text():
            ax.text(mark.x, mark.y, _plain_text(mark.text), color=mark.ink.color, zorder=order + 1,
                    fontsize=6.5, ha="center", va="bottom", clip_on=True)  # fmt: skip


def _draw_cells(ax: Axes, mark: Cells) -> None:
    image = ax.imshow(mark.values, origin="lower", cmap="cividis", aspect="auto")
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.05, pad=0.02)
    bar.set_label(_plain_text(mark.label))
    bar.outline.set_visible(False)
    for (row, column), value in np.ndenumerate(mark.values):
        # Luma weights of ITU-R BT.601: text is black on light cells and white on dark ones.
        light = float(np.dot(image.to_rgba(np.array([value]))[0, :3], (0.299, 0.587, 0.114))) > 0.5
        ax.text(column, row, mark.texts[row][column], ha="center", va="center", fontsize=6.5,
                color="black" if light else "white")  # fmt: skip


def _dress_axes(ax: Axes, picture: Picture) -> None:
    """Axes, grid, title and legend."""
    ax.set_title(_plain_text(picture.title))
    for name, axis in (("x", picture.x), ("y", picture.y)):
        getattr(ax, f"set_{name}label")(_plain_text(axis.label))
        if axis.ticks is not None:
            texts = None if axis.tick_labels is None else list(map(_plain_text, axis.tick_labels))
            getattr(ax, f"set_{name}ticks")(axis.ticks, texts)
        if axis.limits is not None:  # after the ticks, which would widen them
            getattr(ax, f"set_{name}lim")(axis.limits)
    if picture.equal:
        ax.set_aspect("equal", adjustable="box")
    ax.grid(picture.grid)
    # Of what was drawn: marks without a label are not listed.
    handles, labels = ax.get_legend_handles_labels()
    if picture.legend == "none" or not handles:
        return
    if picture.legend != "below" and len(handles) < MANY_LABELS:
        ax.legend(loc=picture.legend)
        return
    # under the label of the abscissa, where it covers nothing
    below = ax.transAxes + ScaledTranslation(0.0, -BELOW_AXES, ax.figure.dpi_scale_trans)
    place = ax.get_subplotspec()
    # A panel has its share of the width of the figure.
    panels = 1 if place is None else place.get_gridspec().ncols
    told, columns = _labels_below(labels, ax.figure.bbox.width / ax.figure.dpi / panels)
    ax.legend(
        handles, told, loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=below, ncols=columns,
        borderaxespad=0.0,
    )  # fmt: skip
