"""Who weighs how much: systems in a fusion, speakers in the zoo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import counted, number
from llrkit._llr_units import Amount
from llrkit.metrics.curve_base import Curve, as_floats, same_length
from llrkit.metrics.zoo import ZooCurve
from llrkit.plot.looks import Looks, with_looks
from llrkit.plot.picture import Axis, HoverValues, Ink, Line, Mark, Picture, Points, Text
from llrkit.plot.render import Ax, Drawn, Renderer, render

ANIMALS = ("worm", "chameleon", "phantom", "dove")


@dataclass(frozen=True, eq=False)
class FusionWeights(Curve):
    """What each system weighs in a fusion, with an interval where there is one.

    Examples
    --------
    >>> FusionWeights(("A", "B"), [0.889, 0.333], offset=0.0).weights.sum()
    np.float64(1.222)
    """

    systems: tuple[str, ...]
    weights: FloatArray
    offset: float = 0.0
    low: FloatArray | None = None
    high: FloatArray | None = None

    def __post_init__(self) -> None:
        limits = () if self.low is None else ("low", "high")
        as_floats(self, "weights", *limits)
        same_length(self, "systems", "weights", *limits)
        super().__post_init__()


@with_looks
def fusion_weights(
    curve: FusionWeights, *, ax: Ax = None, renderer: Renderer = "matplotlib", **looks: Unpack[Looks]
) -> Drawn:
    """What each system weighs in a fusion, with its interval where there is one.

    Parameters
    ----------
    curve
        What is drawn.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.plot.weights_and_speakers import FusionWeights
    >>> axes = lk.plot.fusion_weights(FusionWeights(("A", "B"), [0.9, 0.3], offset=-0.1))
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['B', 'A']
    """
    n = len(curve.systems)
    places = np.arange(n, dtype=np.float64)[::-1]  # the first on top
    marks: list[Mark] = [Line(np.zeros(2), np.array([-0.6, n - 0.4]), Ink("guide", width=0.7))]
    for i, place in enumerate(places):
        ends = (
            [0.0, curve.weights[i]]
            if curve.low is None or curve.high is None
            else [curve.low[i], curve.high[i]]
        )
        marks.append(Line(np.array(ends), np.full(2, place), Ink("target", width=1.6)))
    shown = (HoverValues("system", curve.systems), HoverValues("weight", curve.weights))
    marks.append(Points(curve.weights, places, Ink("target"), size=1.5, hover=shown))
    offsets = Amount(curve.offset, "+.3f", bare=True), Amount(curve.offset, ".3f")
    told = ", ".join(f"{name} {number(w, 3)}" for name, w in zip(curve.systems, curve.weights, strict=True))
    return render(
        Picture(
            "fusion_weights",
            f"Weights of the fusion (offset {offsets[0]})",
            Axis("weight"),
            Axis("", (-0.6, n - 0.4), tuple(places[::-1].tolist()), curve.systems[::-1]),
            tuple(marks),
            f"Weights of the systems in the fusion: {told}; offset {offsets[1]}.",
            legend="none",
            amounts=offsets,
        ),
        ax,
        renderer,
    )


@with_looks
def zoo(
    curve: ZooCurve, *, ax: Ax = None, renderer: Renderer = "matplotlib", **looks: Unpack[Looks]
) -> Drawn:
    """Mean non-target score against mean target score of each speaker, with the quartiles.

    Parameters
    ----------
    curve
        What is drawn.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.metrics.zoo import zoo_curve
    >>> scores = lk.Scores([4.0, 2.0], [-1.0, 0.0], {"who": (["a", "b"], ["a", "b"])})
    >>> lk.plot.zoo(zoo_curve(scores, "who")).get_xlabel()
    'mean target score'
    """
    x_limits, y_limits = (
        _limits_with_margin(curve.target_mean),
        _limits_with_margin(curve.nontarget_mean),
    )
    marks: list[Mark] = []
    for place in curve.target_quartiles:
        marks.append(Line(np.full(2, place), np.array(y_limits), Ink("guide", "dot", 0.8)))
    for place in curve.nontarget_quartiles:
        marks.append(Line(np.array(x_limits), np.full(2, place), Ink("guide", "dot", 0.8)))
    animals = curve.animals
    shown = (
        HoverValues("speaker", curve.speakers), HoverValues("mean target score", curve.target_mean),
        HoverValues("mean non-target score", curve.nontarget_mean), HoverValues("is", animals),
    )  # fmt: skip
    marks.append(
        Points(curve.target_mean, curve.nontarget_mean, Ink("target"), size=0.7,
               label=f"{counted(len(curve.speakers), 'speaker')}", hover=shown)
    )  # fmt: skip
    width, height = x_limits[1] - x_limits[0], y_limits[1] - y_limits[0]
    for name, x, y in zip(ANIMALS, (0.12, 0.85, 0.12, 0.85), (0.93, 0.93, 0.02, 0.02), strict=True):
        count = animals.count(name)
        text = f"{count} {name}{'' if count == 1 else 's'}"
        marks.append(Text(x_limits[0] + x * width, y_limits[0] + y * height, text, Ink("reference")))
    counts = ", ".join(f"{animals.count(name)} {name}s" for name in ANIMALS)
    return render(
        Picture(
            "zoo",
            "The zoo",
            Axis("mean target score", x_limits),
            Axis("mean non-target score", y_limits),
            tuple(marks),
            f"Mean non-target against mean target score of {len(curve.speakers):,} speakers: {counts}.",
            legend="none",
        ),
        ax,
        renderer,
    )


def _limits_with_margin(values: FloatArray) -> tuple[float, float]:
    low, high = float(np.min(values)), float(np.max(values))
    margin = 0.1 * (high - low) or 0.5
    return low - margin, high + margin
