"""A picture to base ten: axes, marks, and what pointing at them shows."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._llr_units import LN10, LOG10, in_unit
from llrkit.plot.picture import Axis, Band, HoverValues, Line, Mark, Picture, Points, Stairs, Text

AXES = {
    "log-likelihood-ratio (nats)": "log10 likelihood ratio",
    "prior log-odds": "prior log10-odds",
    "log α − log(1 − α)": "log10 α − log10(1 − α)",
}
"""Labels of axes that are natural logarithms, and what they are to base ten; others end in ``(nats)``."""
NAMES = {
    "LLR": "log10 LR",
    "LLR (nats)": "log10 LR",
    "LLR from": "log10 LR from",
    "log-odds of alpha": "log10-odds of alpha",
}
"""Names of what pointing shows; others are followed by the unit."""
LABELS = {"LLR = score": "LR = exp(score)"}
"""Labels of lines that are true of natural logarithms only."""


def to_base_10(picture: Picture) -> Picture:
    """The picture with every natural logarithm in it to base ten; the same object where it shows none.

    Examples
    --------
    >>> import llrkit as lk
    >>> result = lk.evaluate([2.0, 1.0, -1.0, -3.0], [1, 0, 1, 0])
    >>> drawn = to_base_10(lk.plot.tippett(result, renderer="none"))
    >>> drawn.x.label, [shown.name for shown in drawn.marks[1].hover][:2]
    ('log10 likelihood ratio', ['log10 LR', 'targets at or above'])
    """
    across, up = _is_natural_log(picture.x), _is_natural_log(picture.y)
    if not (across or up or picture.amounts or any(one.per_nat for one in _all_hover_values(picture))):
        return picture
    by_x, by_y = LN10 if across else 1.0, LN10 if up else 1.0
    if across and picture.density:  # per unit of the abscissa
        by_y = 1.0 / LN10
    marks = tuple(_mark_scaled(mark, by_x, by_y) for mark in picture.marks)
    return replace(
        picture,
        marks=tuple(_words_to_base_ten(mark, picture) for mark in marks),
        x=_axis_rescaled(picture.x, by_x),
        y=_axis_rescaled(picture.y, by_y),
        title=in_unit(picture.title, picture.amounts, LOG10),
        described=in_unit(picture.described, picture.amounts, LOG10),
        amounts=(),
    )


def _all_hover_values(picture: Picture) -> list[HoverValues]:
    return [one for mark in picture.marks for one in getattr(mark, "hover", ())]


def _is_natural_log(axis: Axis) -> bool:
    return axis.label in AXES or axis.label.endswith("(nats)")


def _axis_rescaled(axis: Axis, by: float) -> Axis:
    if by == 1.0:
        return axis
    label = axis.label
    if _is_natural_log(axis):
        label = AXES.get(label, label.replace("(nats)", "(log10)"))
    limits = None if axis.limits is None else (axis.limits[0] / by, axis.limits[1] / by)
    ticks = None if axis.ticks is None else tuple(tick / by for tick in axis.ticks)
    return replace(axis, label=label, limits=limits, ticks=ticks)


def _mark_scaled(mark: Mark, by_x: float, by_y: float) -> Mark:
    def over(values: FloatArray, by: float) -> FloatArray:
        return np.asarray(values / by)

    match mark:
        case Line() | Points():
            return replace(
                mark, x=over(mark.x, by_x), y=over(mark.y, by_y), hover=_hover_to_base_ten(mark.hover)
            )
        case Band():
            return replace(mark, x=over(mark.x, by_x), low=over(mark.low, by_y), high=over(mark.high, by_y))
        case Stairs():
            edges, heights = over(mark.edges, by_x), over(mark.heights, by_y)
            return replace(mark, edges=edges, heights=heights, hover=_hover_to_base_ten(mark.hover))
        case Text():
            return replace(mark, x=mark.x / by_x, y=mark.y / by_y)
        case _:
            return mark


def _words_to_base_ten(mark: Mark, picture: Picture) -> Mark:
    if isinstance(mark, Text):
        return replace(mark, text=in_unit(mark.text, mark.amounts, LOG10), amounts=())
    return replace(mark, label=LABELS.get(mark.label, mark.label))


def _hover_to_base_ten(shown: tuple[HoverValues, ...]) -> tuple[HoverValues, ...]:
    """The same in log10 LR; what would then be shown twice is shown once."""
    converted: dict[str, HoverValues] = {}
    for one in shown:
        if one.per_nat:
            name = NAMES.get(one.name, one.name if one.per_nat < 0 else f"{one.name} ({LOG10.short})")
            values = np.asarray(cast(FloatArray, one.values)) / LN10**one.per_nat
            one = replace(one, name=name, values=values, per_nat=0)
        converted.setdefault(one.name, one)
    return tuple(converted.values())
