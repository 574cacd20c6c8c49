"""How the difficulty of trials is distributed: w(mu), and the share of trials up to each mu."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import numpy as np
from scipy.special import ndtri

from llrkit._format import number, percent
from llrkit._llr_units import Amount
from llrkit.evaluation.mixing_curve import MixingCurve
from llrkit.plot.looks import Looks, with_looks
from llrkit.plot.picture import Axis, HoverValues, Ink, Line, Mark, Picture, Points
from llrkit.plot.render import Ax, Drawn, Renderer, render

EERS = (0.48, 0.45, 0.4, 0.3, 0.2, 0.1, 0.02, 0.001, 1e-6)
SMALL = 1e-4
"""Shares below this are not drawn as a stem."""


@with_looks
def mixing(
    curve: MixingCurve, *, ax: Ax = None, renderer: Renderer = "matplotlib", **looks: Unpack[Looks]
) -> Drawn:
    """Shares of trials by their difficulty, and how many are at least that difficult.

    The axis is logarithmic in mu, and labeled by the EER of trials with that mu. A share at ``mu = 0``
    stands at the left end.

    Parameters
    ----------
    curve
        What is drawn.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.evaluation.mixing_curve import MixingCurve
    >>> axes = lk.plot.mixing(MixingCurve([1.0, 9.0], [0.4, 0.6]))
    >>> axes.get_ylabel()
    'share of trials'
    """
    shown = curve.mu > 0.0
    positive = curve.mu[shown] if shown.any() else np.ones(1)
    left, right = float(np.log(positive.min())), float(np.log(positive.max()))
    margin = max(0.06 * (right - left), 0.4)
    place = np.where(shown, np.log(np.where(shown, curve.mu, 1.0)), left - margin)
    hover = (
        HoverValues("mu", curve.mu, per_nat=1), HoverValues("EER", curve.eer, percent=True),
        HoverValues("share", curve.weights), HoverValues("up to here", curve.cumulative),
    )  # fmt: skip
    low, high = left - 1.5 * margin, right + margin
    steps_x = np.concatenate([[low], np.repeat(place, 2), [high]])
    steps_y = np.concatenate([[0.0, 0.0], np.repeat(curve.cumulative, 2)])
    marks: list[Mark] = [Line(steps_x, steps_y, Ink("nontarget", "dash"), "at least as difficult")]
    large = curve.weights > SMALL
    for x, weight in zip(place[large], curve.weights[large], strict=True):
        marks.append(Line(np.full(2, x), np.array([0.0, weight]), Ink("target", width=1.4)))
    picked = tuple(replace(one, values=np.asarray(one.values)[large]) for one in hover)
    marks.append(
        Points(place[large], curve.weights[large], Ink("target"), label="share of trials", hover=picked)
    )
    ticks = [(float(np.log(2.0 * ndtri(rate) ** 2)), f"{100 * rate:g}") for rate in EERS]
    inside = [(x, text) for x, text in ticks if low <= x <= high]
    amounts = tuple(Amount(float(mu), ".3f") for mu in curve.mu[large])
    told = "; ".join(
        f"{number(100 * weight, 1)} % with mu {mu}"
        for mu, weight in zip(amounts, curve.weights[large], strict=True)
    )
    return render(
        Picture(
            "mixing",
            f"Trials of different difficulty, EER {percent(curve.mean_eer)} together",
            Axis("EER of trials of this difficulty (%)", (low, high), tuple(x for x, _ in inside),
                 tuple(text for _, text in inside)),
            Axis("share of trials", (-0.02, 1.05)),
            tuple(marks),
            f"Shares of trials by the mu of their calibrated Gaussian LLRs: {told}.",
            legend="upper left",
            amounts=amounts,
        ),
        ax,
        renderer,
    )  # fmt: skip
