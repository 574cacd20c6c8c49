"""What every plot can be told about its looks: title, legend, limits, names of the classes, base of logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from inspect import Parameter, signature
from typing import TypedDict, TypeVar, cast, get_args

import numpy as np
from scipy.special import ndtri

from llrkit._docstrings import with_parameters
from llrkit._plain import unchecked
from llrkit.errors import InputError, UnknownNameError
from llrkit.plot.base_ten import to_base_10
from llrkit.plot.picture import Axis, Legend, Line, Mark, Picture, Points, Stairs, Text
from llrkit.plot.render import Ax, Drawn, Renderer, render

PROBIT_AXES = ("det", "class_det")
CLASS_WORDS = re.compile(r"\b(non-?targets?|targets?)\b")
OPTIONS = {
    "ax": "Axes to draw into; by default new ones.",
    "renderer": '``"matplotlib"``, or ``"plotly"`` for an interactive figure.',
    "title": "Another title.",
    "legend": 'A place such as ``"upper left"``, ``"below"`` or ``"best"``, or ``False`` for none.',
    "xlim": "Lowest and highest value of the x axis; rates on a DET. ``None`` leaves an end as it is.",
    "ylim": "Lowest and highest value of the y axis; rates on a DET. ``None`` leaves an end as it is.",
    "labels": 'Names of the two classes, as ``("same speaker", "different speakers")``.',
    "base": "10 for logarithms to base ten, where something shown is a natural logarithm.",
}
"""What every plot takes besides its own options."""
Limits = tuple[float | None, float | None]
F = TypeVar("F", bound=Callable[..., Drawn])


class Looks(TypedDict, total=False):
    """The same as keywords, which every plot takes as ``**looks``: fields of :class:`Look`."""

    title: str | None
    legend: str | bool | None
    xlim: Limits | None
    ylim: Limits | None
    labels: Sequence[str] | None
    base: float | None


@dataclass(frozen=True)
class Look:
    """How a picture is to be changed; None leaves it as it is."""

    title: str | None = None
    legend: str | bool | None = None
    xlim: Limits | None = None
    ylim: Limits | None = None
    labels: Sequence[str] | None = None
    base: float | None = None

    def of(self, picture: Picture) -> Picture:
        """The picture with these looks."""
        if self.base is not None:
            picture = _picture_to_base(picture, self.base)
        if self.labels is not None:
            picture = _with_class_names(picture, self.labels)
        if self.title is not None:
            picture = replace(picture, title=str(self.title))
        if self.legend is not None:
            picture = replace(picture, legend=_legend_place(self.legend, picture))
        rates = picture.kind in PROBIT_AXES
        x = _axis_limited(picture.x, self.xlim, "xlim", rates=rates)
        y = _axis_limited(picture.y, self.ylim, "ylim", rates=rates)
        return replace(picture, x=x, y=y)


def with_looks(draw: F) -> F:
    """A plot function that takes the options of :class:`Look` besides its own.

    Examples
    --------
    >>> import llrkit as lk
    >>> result = lk.evaluate([2.0, 1.0, -1.0, -3.0], [1, 0, 1, 0])
    >>> axes = lk.plot.histogram(result, title="Mine", labels=("same speaker", "different speakers"), base=10)
    >>> axes.get_title(), axes.get_xlabel(), axes.get_legend_handles_labels()[1][0]
    ('Mine', 'log10 likelihood ratio', 'different speakers')
    """
    own = signature(draw)
    parameters = {name: one for name, one in own.parameters.items() if one.kind is not Parameter.VAR_KEYWORD}

    @wraps(draw)
    def drawing(*args: object, ax: Ax = None, renderer: Renderer = "matplotlib", **options: object) -> Drawn:
        looks = {name: options.pop(name) for name in Look.__dataclass_fields__ if name in options}
        return render(unchecked(Look)(**looks).of(draw(*args, renderer="none", **options)), ax, renderer)

    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=field.type)
        for name, field in Look.__dataclass_fields__.items()
    ]
    drawing.__signature__ = own.replace(parameters=[*parameters.values(), *added])  # type: ignore[attr-defined]
    if draw.__doc__:  # there is none with python -OO
        drawing.__doc__ = with_parameters(draw.__doc__, OPTIONS, [*parameters, *OPTIONS])
    return cast(F, drawing)


def _legend_place(legend: str | bool, picture: Picture) -> Legend:
    if legend is True:
        return picture.legend if picture.legend != "none" else "best"
    place = "none" if legend is False else legend
    if place not in get_args(Legend):
        raise UnknownNameError(
            f"unknown legend {legend!r}; known are {', '.join(get_args(Legend))} and False"
        )
    return cast(Legend, place)


def _axis_limited(axis: Axis, limits: Limits | None, name: str, *, rates: bool) -> Axis:
    """An axis with these ends, as the axis counts, or rates on probit axes; a missing end stays as it is."""
    if limits is None:
        return axis
    if not (isinstance(limits, (tuple, list)) and len(limits) == 2):
        raise InputError(f"{name} is a pair of numbers, got {limits!r}")
    if rates:
        if not all(end is None or 0.0 < end < 1.0 for end in limits):
            raise InputError(f"{name} on the axes of a DET are rates between 0 and 1, got {limits!r}")
        low, high = (None if end is None else float(ndtri(end)) for end in limits)
    else:
        low, high = limits
    if axis.limits is not None:
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

    def named(text: str) -> str:
        return CLASS_WORDS.sub(lambda found: nontarget if found[0].startswith("non") else target, text)

    marks: list[Mark] = []
    for mark in picture.marks:
        if isinstance(mark, Text):
            mark = replace(mark, text=named(mark.text))
        else:
            # the name of a system is the user's own, whatever words it is made of
            system = getattr(mark, "group", "")
            own, rest = (
                (system, mark.label[len(system) :]) if mark.label.startswith(system) else ("", mark.label)
            )
            mark = replace(mark, label=own + named(rest))
        if isinstance(mark, (Line, Points, Stairs)):
            mark = replace(mark, hover=tuple(replace(shown, name=named(shown.name)) for shown in mark.hover))
        marks.append(mark)
    x, y = (replace(axis, label=named(axis.label)) for axis in (picture.x, picture.y))
    title, described = named(picture.title), named(picture.described)
    return replace(picture, marks=tuple(marks), title=title, described=described, x=x, y=y)


def _picture_to_base(picture: Picture, base: float) -> Picture:
    """Natural logarithms to base ten."""
    if base not in (10, float(np.e)):
        raise InputError(f"base is 10, or e for natural logarithms, got {base!r}")
    if base != 10:
        return picture
    converted = to_base_10(picture)
    if converted is picture and "log10" not in f"{picture.x.label}{picture.y.label}":
        raise InputError(f"{picture.kind} shows no natural logarithm: base has no effect on it")
    return converted
