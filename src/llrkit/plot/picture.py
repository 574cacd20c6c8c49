"""A picture: what is to be seen, in words that are neither matplotlib's nor plotly's.

The plot functions turn curve objects into a :class:`Picture`; one renderer makes matplotlib Axes of it,
the other a plotly figure. So both show the same, and a new plot is written once. Marks are drawn in the
order in which they are listed. Colors are given by role, an :class:`Ink`; each renderer has its palette.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._llr_units import Amount
from llrkit._vocabulary import Vocabulary

Legend: TypeAlias = Literal["upper right", "upper left", "lower right", "lower left", "below", "best", "none"]
Dash: TypeAlias = Literal["solid", "dash", "dashdot", "longdash", "dot"]
Marker: TypeAlias = Literal["circle", "square", "triangle", "diamond", "cross", "plus"]
Role: TypeAlias = Literal["target", "nontarget", "reference", "guide"]

DASHES: tuple[Dash, ...] = ("solid", "dash", "dashdot", "longdash")
"""Of systems; dots are for what is not a system."""
MARKERS: tuple[Marker, ...] = ("circle", "square", "triangle", "diamond", "cross", "plus")

# Okabe and Ito (2008) without yellow, in an order whose lightness differs from one to the next
SYSTEM_COLORS = ("#0072B2", "#E69F00", "#000000", "#CC79A7", "#009E73", "#56B4E9", "#D55E00")
ROLE_COLORS = {"target": "#0072B2", "nontarget": "#D55E00", "reference": "#444444", "guide": "#9A9A9A"}
NOWHERE = np.array([np.nan])
"""Where a mark is that only the legend shows."""


@dataclass(frozen=True)
class Ink:
    """How a mark looks: whose color (the number of a system, or a role), which dashes, how wide."""

    whose: int | Role
    dash: Dash = "solid"
    width: float = 1.0
    """In multiples of the usual line width."""

    @property
    def color(self) -> str:
        """The color on a white ground."""
        if isinstance(self.whose, int):
            return SYSTEM_COLORS[self.whose % len(SYSTEM_COLORS)]
        return ROLE_COLORS[self.whose]


def system_ink(index: int, width: float = 1.0) -> Ink:
    """The ink of the i-th system: color and dashes differ, so that it can be told apart in gray too."""
    return Ink(index, DASHES[index % len(DASHES)], width)


@dataclass(frozen=True, eq=False)
class HoverValues:
    """One line of what pointing at a mark shows: a name and a value for each point of the mark."""

    name: str
    values: FloatArray | tuple[str, ...]
    digits: int = 4
    percent: bool = False
    per_nat: int = 0
    """1 for natural logarithms, which are divided by ln 10 for base ten; -1 for densities over them."""

    def texts(self) -> list[str]:
        """The values as they are shown, without the unit.

        Examples
        --------
        >>> import numpy as np
        >>> HoverValues("Pmiss", np.array([0.0285, 1.0]), percent=True).texts()
        ['2.85', '100']
        """
        if isinstance(self.values, tuple):
            return list(self.values)
        values = (100 * self.values if self.percent else self.values).tolist()
        return ["-" if value != value else f"{value:.{self.digits}g}" for value in values]


@dataclass(frozen=True, eq=False)
class Line:
    """Points joined by straight lines."""

    x: FloatArray
    y: FloatArray
    ink: Ink
    label: str = ""
    """For the legend; empty for none."""
    hover: tuple[HoverValues, ...] = ()
    group: str = ""
    """Marks of one group are switched on and off together."""
    marker: Marker | None = None
    """Where color and dashes are not enough, on paper: a sign here and there on the line."""


@dataclass(frozen=True, eq=False)
class Points:
    """Markers, filled or hollow."""

    x: FloatArray
    y: FloatArray
    ink: Ink
    marker: Marker = "circle"
    filled: bool = True
    size: float = 1.0
    label: str = ""
    hover: tuple[HoverValues, ...] = ()
    group: str = ""


@dataclass(frozen=True, eq=False)
class Band:
    """The area between two curves."""

    x: FloatArray
    low: FloatArray
    high: FloatArray
    ink: Ink
    label: str = ""
    group: str = ""


def band(
    x: FloatArray, low: FloatArray, high: FloatArray, ink: Ink, label: str = "", group: str = ""
) -> Band:
    """A band where both limits are known: where they are not, nothing is drawn."""
    known = np.isfinite(x) & np.isfinite(low) & np.isfinite(high)
    return Band(x[known], low[known], high[known], ink, label, group)


@dataclass(frozen=True, eq=False)
class Stairs:
    """A histogram: heights between edges, filled to zero."""

    edges: FloatArray
    heights: FloatArray
    ink: Ink
    label: str = ""
    hover: tuple[HoverValues, ...] = ()
    """A value for each height."""
    group: str = ""


@dataclass(frozen=True, eq=False)
class Cells:
    """A matrix of shaded cells with their values written in; row 0 is at the bottom."""

    values: FloatArray
    texts: tuple[tuple[str, ...], ...]
    label: str = ""


@dataclass(frozen=True, eq=False)
class Text:
    """Text at a place in the picture."""

    x: float
    y: float
    text: str
    ink: Ink
    amounts: tuple[Amount, ...] = ()
    """The LLRs in the text."""


Mark: TypeAlias = Line | Points | Band | Stairs | Cells | Text


@dataclass(frozen=True)
class Axis:
    """An axis: its label, what part of it is shown, and its ticks where they are not the usual ones."""

    label: str
    """What is written beside it."""
    limits: tuple[float, float] | None = None
    """The part that is shown; by default all of it."""
    ticks: tuple[float, ...] | None = None
    """Where ticks are, if not at the usual places."""
    tick_labels: tuple[str, ...] | None = None
    """What is written at the ticks, one text each."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Everything a renderer needs."""

    kind: str
    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    described: str
    """The picture in a sentence, for those who cannot see it."""
    equal: bool = False
    """Whether a unit is as long on both axes."""
    legend: Legend = "best"
    grid: bool = True
    density: bool = False
    """Whether the ordinate is a density over the abscissa."""
    amounts: tuple[Amount, ...] = ()
    """The LLRs in the title and, in the same order, in the description."""

    def labels(self) -> Iterator[str]:
        """What the legend lists."""
        return (mark.label for mark in self.marks if not isinstance(mark, Text | Cells) and mark.label)

    def said_in(self, words: Vocabulary, *, keep: Iterable[str] = ()) -> Picture:
        """The same picture in the words of a community; names of systems and those to ``keep`` stay."""
        groups = (getattr(mark, "group", "") for mark in self.marks)
        names = [name for name in (*keep, *groups) if name]

        def say(text: str) -> str:
            return words.say(text, keep=names)

        return replace(
            self,
            title=say(self.title),
            x=replace(self.x, label=say(self.x.label)),
            y=replace(self.y, label=say(self.y.label)),
            marks=tuple(_mark_said_in_unit(mark, say) for mark in self.marks),
            described=say(self.described),
        )


def _mark_said_in_unit(mark: Mark, say: Callable[[str], str]) -> Mark:
    if isinstance(mark, Text):
        return replace(mark, text=say(mark.text))
    said = replace(mark, label=say(mark.label))
    if isinstance(said, Line | Points | Stairs):
        said = replace(said, hover=tuple(replace(one, name=say(one.name)) for one in said.hover))
    return said
