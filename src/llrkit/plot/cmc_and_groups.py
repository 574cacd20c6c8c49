"""Plots of biometric tests: the CMC, and error rates of groups of people."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np

from llrkit._format import percent
from llrkit.biometrics.differential_result import DifferentialPerformance
from llrkit.biometrics.identification_result import Cmc
from llrkit.errors import InputError
from llrkit.plot.det_axes import log_axis
from llrkit.plot.looks import Looks, with_looks
from llrkit.plot.picture import Axis, HoverValues, Ink, Line, Mark, Picture, Points, Role
from llrkit.plot.render import Ax, Drawn, Renderer, render


@with_looks
def cmc(curve: Cmc, *, ax: Ax = None, renderer: Renderer = "matplotlib", **looks: Unpack[Looks]) -> Drawn:
    """Cumulative match characteristic: the share of mated searches whose mate is within each rank.

    Parameters
    ----------
    curve
        What is drawn.

    Examples
    --------
    >>> from llrkit.biometrics import Cmc
    >>> axes = cmc(Cmc(np.array([1, 2, 3]), np.array([0.8, 0.9, 1.0])))
    >>> axes.get_ylabel()
    'mated searches identified (%)'
    """
    if not isinstance(curve, Cmc):
        raise InputError(f"cmc draws a Cmc, got {type(curve).__name__}")
    ranks, rates = curve.rank.astype(np.float64), 100.0 * curve.rate
    hover = (HoverValues("rank", ranks), HoverValues("identified", curve.rate, percent=True))
    highest = float(ranks[-1])
    return render(
        Picture(
            "cmc",
            "Cumulative match characteristic",
            Axis("rank", (0.5, highest + 0.5)),
            Axis("mated searches identified (%)", (min(float(rates[0]), 99.0) - 1.0, 100.5)),
            (Line(ranks, rates, Ink(0), hover=hover, marker="circle"),),
            f"Mated searches identified within each rank: {percent(float(curve.rate[0]))} at rank 1.",
            legend="none",
        ),
        ax,
        renderer,
    )


@with_looks
def groups(
    result: DifferentialPerformance,
    *,
    ax: Ax = None,
    renderer: Renderer = "matplotlib",
    **looks: Unpack[Looks],
) -> Drawn:
    """FMR and FNMR of each group of people at one threshold, with intervals, on a logarithmic axis.

    Parameters
    ----------
    result
        The result to draw, or its curve.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([2, 1, 3, -1], [0, 1.5, -1, 2], {"sex": (list("fmfm"), list("fmfm"))})
    >>> axes = groups(lk.biometrics.differential(scores, "sex", threshold=1.2))
    >>> [text.get_text() for text in axes.get_yticklabels()]
    ['m', 'f']
    """
    if not isinstance(result, DifferentialPerformance):
        raise InputError(f"groups draws a DifferentialPerformance, got {type(result).__name__}")
    names = list(result.groups)[::-1]
    marks: list[Mark] = []
    ends: list[float] = []
    drawn: tuple[tuple[str, str, Role, float], ...] = (
        ("fmr", "FMR", "nontarget", 0.15), ("fnmr", "FNMR", "target", -0.15)
    )  # fmt: skip
    for rate, word, role, offset in drawn:
        label = word
        for place, name in enumerate(names):
            one = result.groups[name]
            interval = getattr(one, f"{rate}_interval")
            if interval is None:
                continue
            value, y = getattr(one, rate), np.array([place + offset])
            low, high = (math.log10(max(end, 1e-9)) for end in interval)
            ends += [low if interval[0] > 0.0 else math.log10(max(interval[1], 1e-9)) - 1.0, high]
            marks.append(Line(np.array([low, high]), np.repeat(y, 2), Ink(role)))
            shown = (HoverValues("group", (name,)), HoverValues(word, np.array([value])))
            x = np.array([math.log10(value) if value > 0.0 else np.nan])
            marks.append(Points(x, y, Ink(role), label=label, hover=shown))
            label = ""
    limits = (max(math.floor(min(ends)), -7) - 0.05, 0.05)
    return render(
        Picture(
            "groups",
            "Error rates of groups",
            log_axis("error rate", limits),
            Axis("", (-0.6, len(names) - 0.4), tuple(map(float, range(len(names)))), tuple(names)),
            tuple(marks),
            f"FMR and FNMR of {len(names)} groups at one threshold, with intervals. {result.sentence}",
            legend="below",
        ),
        ax,
        renderer,
    )
