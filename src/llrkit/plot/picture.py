"""What is to be seen, independent of who draws it: pictures, looks, and the choice of a renderer.

A picture is described in words that are neither matplotlib's nor plotly's. The plot functions turn curve
objects into a :class:`Picture`; one renderer makes matplotlib Axes of it, the other a plotly figure. So both
show the same, and a new plot is written once. Marks are drawn in the order in which they are listed. Colors
are given by role, an :class:`Ink`; each renderer has its palette.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypedDict, TypeVar, cast, get_args

import numpy as np

from llrkit.base.arguments import FloatArray
from llrkit.base.text import not_among, number
from llrkit.errors import InputError, UnknownNameError
from llrkit.metrics.measure import Measurements
from llrkit.results.vocabulary import LN10, LOG10, Amount, Vocabulary, in_unit
from llrkit.trust.bands import CurveBands

if TYPE_CHECKING:
    from matplotlib.axes import Axes


STYLE = Path(__file__).with_name("llrkit.mplstyle")


Legend: TypeAlias = Literal["upper right", "upper left", "lower right", "lower left", "below", "best", "none"]
Dash: TypeAlias = Literal["solid", "dash", "dashdot", "longdash", "dot"]
Marker: TypeAlias = Literal["circle", "square", "triangle", "diamond", "cross", "plus"]
Role: TypeAlias = Literal["target", "nontarget", "reference", "guide"]
OfRate: TypeAlias = Callable[[float], float]

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
            # After seven systems colors repeat; dashes repeat after four, so their combination lasts for
            # 28.
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
    # An area cannot be drawn through NaN.
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
    of_rate: OfRate | None = None
    """Where a rate is on the axes, if limits are to be given as rates."""

    def labels(self) -> Iterator[str]:
        """What the legend lists."""
        # Texts and cells have no entry in a legend.
        return (mark.label for mark in self.marks if not isinstance(mark, Text | Cells) and mark.label)

    def said_in(self, words: Vocabulary, *, keep: Iterable[str] = ()) -> Picture:
        """The same picture in the words of a community; names of systems and those to ``keep`` stay."""
        groups = (getattr(mark, "group", "") for mark in self.marks)
        # Groups are names of systems, which are not to be translated.
        names = [name for name in (*keep, *groups) if name]
        return self._retold(lambda text, _: words.say(text, keep=names))

    def drawn(self, look: Look) -> Drawn:
        """Matplotlib Axes, a plotly Figure, or with ``"none"`` the picture itself, looking as asked."""
        picture = with_look(self, look)
        ax, renderer = look.get("ax"), look.get("renderer", "matplotlib")
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

    def _retold(self, say: Callable[[str, str], str]) -> Picture:
        """The picture with other texts; ``say`` is given each text and the system whose label it is."""
        marks: list[Mark] = []
        for mark in self.marks:
            if isinstance(mark, Text):
                mark = replace(mark, text=say(mark.text, ""))
            else:
                mark = replace(mark, label=say(mark.label, getattr(mark, "group", "")))
            if isinstance(mark, Line | Points | Stairs):
                mark = replace(mark, hover=tuple(replace(one, name=say(one.name, "")) for one in mark.hover))
            marks.append(mark)
        return replace(
            self,
            title=say(self.title, ""),
            x=replace(self.x, label=say(self.x.label, "")),
            y=replace(self.y, label=say(self.y.label, "")),
            marks=tuple(marks),
            described=say(self.described, ""),
        )


C = TypeVar("C")
B = TypeVar("B")
Systems: TypeAlias = C | Measurements | Mapping[str, C | Measurements]
"""What a plot of a kind of curve is given: such a curve, an evaluation, or several by system."""
Bands: TypeAlias = B | CurveBands | Mapping[str, B | CurveBands] | None
"""Confidence bands of one system, or of several by system."""
NOT_OF_EVALUATIONS = {"reliability": "lk.metrics.reliability_curve(scores, labels) gives one"}
"""Plots of curves that an Evaluation does not have, and what makes them."""


@dataclass(frozen=True, eq=False)
class PlottedSystem(Generic[C]):
    """A curve to draw, of whom, and the evaluation it is from if there is one."""

    name: str
    curve: C
    evaluation: Measurements | None = None

    def labeled(self, *numbers: str) -> str:
        """The name followed by numbers, as the legend has it."""
        return ": ".join(text for text in (self.name, ", ".join(numbers)) if text)

    def labeled_by(self, told: Callable[[Measurements], str]) -> str:
        """The name followed by what is told of its evaluation; the name alone for a curve without one."""
        return self.labeled() if self.evaluation is None else self.labeled(told(self.evaluation))


def systems_of(
    data: Systems[C], kinds: type[C] | tuple[type[C], ...], of: Callable[[Measurements], C], plot: str
) -> list[PlottedSystem[C]]:
    """The systems to draw, whatever form they were given in; ``of`` takes the curve of an evaluation."""
    named = data if isinstance(data, Mapping) else {"": data}
    systems: list[PlottedSystem[C]] = []
    for name, value in named.items():
        if isinstance(value, kinds):
            systems.append(PlottedSystem(str(name), value))
        elif isinstance(value, Measurements):
            systems.append(PlottedSystem(str(name), of(value), value))
        else:
            words = [kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,))]
            raise InputError(
                f"{plot} draws {'a' if plot in NOT_OF_EVALUATIONS else 'an Evaluation,'} "
                f"{' or '.join(words)}, or a dict of those by system; got {type(value).__name__}"
                + (f" for {str(name)!r}" if name else "")
                + f"; {NOT_OF_EVALUATIONS.get(plot, 'lk.evaluate(scores, labels) gives an Evaluation')}"
            )
    if not systems:
        raise InputError(f"{plot}: there is nothing to draw, the dict of systems is empty")
    return systems


def bands_of(
    bands: Bands[B], systems: list[PlottedSystem[C]], kind: type[B], of: Callable[[CurveBands], B], plot: str
) -> dict[str, B]:
    """Confidence bands by system, whether given for one system or for several."""
    if bands is None:
        return {}
    # Bands without a name belong to the single system that is drawn.
    named = bands if isinstance(bands, Mapping) else {systems[0].name: bands}
    unknown = set(map(str, named)) - {system.name for system in systems}
    if unknown:
        raise InputError(
            f"{plot}: there are bands for systems that are not drawn: {', '.join(sorted(unknown))}"
        )
    by_system: dict[str, B] = {}
    for name, given in named.items():
        band = of(given) if isinstance(given, CurveBands) else given
        if not isinstance(band, kind):
            words = f"{kind.__name__} or CurveBands, got {type(band).__name__}"
            raise InputError(f"{plot}: bands of {str(name)!r} must be {words}")
        by_system[str(name)] = band
    return by_system


def require_kind(value: object, kind: type[C], plot: str) -> C:
    """What a plot of one kind of result was given, if it is one."""
    if not isinstance(value, kind):
        raise InputError(f"{plot} draws a {kind.__name__}, got {type(value).__name__}")
    return value


SAID: Mapping[str, Callable[[Measurements], str]] = {
    "EER": lambda e: f"{number(100 * e.eer, 2)} %",
    "AUC": lambda e: number(e.auc),
    "Cllr": lambda e: f"{number(e.cllr)} bits",
    "min Cllr": lambda e: f"{number(e.min_cllr)} bits",
}
"""Numbers of an evaluation as descriptions of pictures have them."""


def in_words(systems: list[PlottedSystem[C]], *names: str) -> str:
    """The systems with some of their numbers, for the description of a picture."""

    def told(evaluation: Measurements) -> str:
        return ", ".join(f"{name} {SAID[name](evaluation)}" for name in names)

    return "; ".join(system.labeled_by(told) or "one system" for system in systems)


def legend_of(systems: Sequence[object], place: Legend) -> Legend:
    """Where a legend covers no curve: beside a single one, under the plot of several."""
    return place if len(systems) == 1 else "below"


def limits_around(values: FloatArray, *, margin: float = 0.06) -> tuple[float, float]:
    """The ends of an axis that shows all values, with a margin on both sides as a share of their range."""
    if len(values) == 0:
        return -1.0, 1.0
    low, high = float(values.min()), float(values.max())
    # A range of zero, of one value, still needs an axis with a width.
    beside = margin * (high - low) or 0.5
    return low - beside, high + beside


Drawn: TypeAlias = Any
"""Axes of matplotlib, a Figure of plotly, which has no types, or a Picture: which one, the renderer says."""
Limits = tuple[float | None, float | None]


class Look(TypedDict, total=False):
    """Options that every plot takes besides its own, as keywords.

    Parameters
    ----------
    title
        Another title.
    legend
        A place such as ``"upper left"``, ``"below"`` or ``"best"``, or ``False`` for none.
    xlim, ylim
        Lowest and highest value of an axis; rates on a DET. ``None`` leaves an end as it is.
    labels
        Names of the two classes, as ``("same speaker", "different speakers")``.
    base
        10 for logarithms to base ten, where something shown is a natural logarithm.
    ax
        Axes of matplotlib to draw into; by default new ones.
    renderer
        ``"matplotlib"``, or ``"plotly"`` for an interactive figure; ``"none"`` gives the
        :class:`Picture` itself.

    Examples
    --------
    >>> import llrkit as lk
    >>> result = lk.evaluate([2.0, 1.0, -1.0, -3.0], [1, 0, 1, 0])
    >>> axes = lk.plot.histogram(result, title="Mine", labels=("same speaker", "different speakers"), base=10)
    >>> axes.get_title(), axes.get_xlabel(), axes.get_legend_handles_labels()[1][0]
    ('Mine', 'log10 likelihood ratio', 'different speakers')
    >>> lk.plot.histogram(result, titel="Mine")
    Traceback (most recent call last):
    llrkit.errors.UnknownNameError: histogram has no option 'titel' (did you mean 'title'?); every plot ...
    """

    title: str | None
    legend: str | bool | None
    xlim: Limits | None
    ylim: Limits | None
    labels: Sequence[str] | None
    base: float | None
    ax: Axes | None
    renderer: Literal["matplotlib", "plotly", "none"]


# Whole words only: "targeted" is something else.
CLASS_WORDS = re.compile(r"\b(non-?targets?|targets?)\b")


def with_look(picture: Picture, look: Look) -> Picture:
    """The picture with another title, legend and so on; what is None or missing stays as it is."""
    for name in look:
        if name not in Look.__annotations__:
            known = not_among(name, Look.__annotations__, "; every plot takes ")
            raise UnknownNameError(f"{picture.kind} has no option {known}")
    title, legend = look.get("title"), look.get("legend")
    base, labels = look.get("base"), look.get("labels")
    # The unit first, then words, then the user's own title, in which nothing is to be replaced.
    if base not in (None, 10, float(np.e)):
        raise InputError(f"base is 10, or e for natural logarithms, got {base!r}")
    if base == 10:
        converted = to_base_10(picture)
        # an option without any effect is a mistake, unless the axes are to base ten anyway
        if converted is picture and "log10" not in f"{picture.x.label}{picture.y.label}":
            raise InputError(f"{picture.kind} shows no natural logarithm: base has no effect on it")
        picture = converted
    if labels is not None:
        picture = _with_class_names(picture, labels)
    if title is not None:
        picture = replace(picture, title=str(title))
    if legend is not None:
        place = "none" if legend is False else legend
        if legend is True:  # wherever this plot has it
            place = picture.legend if picture.legend != "none" else "best"
        if place not in get_args(Legend):
            known = ", ".join(get_args(Legend))
            raise UnknownNameError(f"unknown legend {legend!r}; known are {known} and False")
        picture = replace(picture, legend=cast(Legend, place))
    x = _axis_limited(picture.x, look.get("xlim"), "xlim", picture.of_rate)
    y = _axis_limited(picture.y, look.get("ylim"), "ylim", picture.of_rate)
    return replace(picture, x=x, y=y)


def _axis_limited(axis: Axis, limits: Limits | None, name: str, of_rate: OfRate | None) -> Axis:
    """An axis with these ends, as the axis counts, or rates on a DET; a missing end stays as it is."""
    if limits is None:
        return axis
    if not (isinstance(limits, (tuple, list)) and len(limits) == 2):
        raise InputError(f"{name} is a pair of numbers, got {limits!r}")
    low, high = limits
    if of_rate is not None:
        # A rate of 1 has a place on logarithmic axes, but no probit.
        if not all(end is None or (0.0 < end <= 1.0 and np.isfinite(of_rate(end))) for end in limits):
            raise InputError(f"{name} on the axes of a DET are rates between 0 and 1, got {limits!r}")
        # Rates mean more to a user than their probits or logarithms, which these axes count in.
        low, high = (None if end is None else float(of_rate(end)) for end in limits)
    if axis.limits is not None:
        # A missing end is the one that the picture has.
        low, high = axis.limits[0] if low is None else low, axis.limits[1] if high is None else high
    if low is None or high is None:
        raise InputError(f"{name}: this axis has no fixed ends; give both limits")
    low, high = float(low), float(high)
    if not (np.isfinite([low, high]).all() and low < high):
        raise InputError(f"{name} must be two finite numbers, the smaller one first, got {limits!r}")
    return replace(axis, limits=(low, high))


def _with_class_names(picture: Picture, labels: Sequence[str]) -> Picture:
    """The words target and non-target, wherever they stand, replaced by the user's own."""
    if isinstance(labels, str) or len(labels) != 2:
        raise InputError(f"labels are two names, of the targets and of the others, got {labels!r}")
    target, nontarget = map(str, labels)

    def named(text: str, system: str) -> str:
        # the name of a system is the user's own, whatever words it is made of
        # Only at the beginning, where the legend has the name of the system.
        own = system if text.startswith(system) else ""
        return own + CLASS_WORDS.sub(
            lambda found: nontarget if found[0].startswith("non") else target, text[len(own) :]
        )

    return picture._retold(named)


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
    across, up = (axis.label in AXES or axis.label.endswith("(nats)") for axis in (picture.x, picture.y))
    shown = [one for mark in picture.marks for one in getattr(mark, "hover", ())]
    if not (across or up or picture.amounts or any(one.per_nat for one in shown)):
        return picture
    by_x, by_y = LN10 if across else 1.0, LN10 if up else 1.0
    if across and picture.density:  # per unit of the abscissa
        by_y = 1.0 / LN10
    return replace(
        picture,
        marks=tuple(_mark_to_base_10(mark, by_x, by_y) for mark in picture.marks),
        x=_axis_to_base_10(picture.x, by_x),
        y=_axis_to_base_10(picture.y, by_y),
        title=in_unit(picture.title, picture.amounts, LOG10),
        described=in_unit(picture.described, picture.amounts, LOG10),
        amounts=(),
    )


def _axis_to_base_10(axis: Axis, by: float) -> Axis:
    label = AXES.get(axis.label, axis.label.replace("(nats)", "(log10)"))
    limits = None if axis.limits is None else (axis.limits[0] / by, axis.limits[1] / by)
    ticks = None if axis.ticks is None else tuple(tick / by for tick in axis.ticks)
    return replace(axis, label=label, limits=limits, ticks=ticks)


def _mark_to_base_10(mark: Mark, by_x: float, by_y: float) -> Mark:
    scales = {"x": by_x, "edges": by_x, "y": by_y, "low": by_y, "high": by_y, "heights": by_y}
    # Marks have different fields; each is scaled by the axis it belongs to.
    changed: dict[str, Any] = {
        name: getattr(mark, name) / by for name, by in scales.items() if hasattr(mark, name)
    }
    if isinstance(mark, Text):
        changed |= {"text": in_unit(mark.text, mark.amounts, LOG10), "amounts": ()}
    else:
        changed["label"] = LABELS.get(mark.label, mark.label)
    if isinstance(mark, Line | Points | Stairs):
        converted: dict[str, HoverValues] = {}
        for one in mark.hover:
            if one.per_nat:
                name = NAMES.get(one.name, one.name if one.per_nat < 0 else f"{one.name} ({LOG10.short})")
                # A density is per nat, so it is multiplied where an LLR is divided.
                values = np.asarray(cast(FloatArray, one.values)) / LN10**one.per_nat
                one = replace(one, name=name, values=values, per_nat=0)
            converted.setdefault(one.name, one)  # what would now be shown twice is shown once
        changed["hover"] = tuple(converted.values())
    return replace(mark, **changed)
