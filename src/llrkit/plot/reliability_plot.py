"""The reliability diagram: how often it is a target, against how probable it was said to be."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from llrkit._format import number
from llrkit.errors import InputError
from llrkit.metrics.measurements import Measurements
from llrkit.metrics.reliability import ReliabilityCurve
from llrkit.plot.looks import Looks, with_looks
from llrkit.plot.picture import Axis, HoverValues, Ink, Line, Mark, Picture, Text, band, system_ink
from llrkit.plot.plotted_systems import PlottedSystem, Systems, legend_of, systems_of
from llrkit.plot.render import Ax, Drawn, Renderer, render

WORDS = {"consistency": "where {} are if calibrated", "confidence": "{} confidence"}


@with_looks
def reliability(
    systems: Systems[ReliabilityCurve],
    *,
    ax: Ax = None,
    renderer: Renderer = "matplotlib",
    **looks: Unpack[Looks],
) -> Drawn:
    """The share of targets after recalibration with PAV against the posterior, with its band.

    On the diagonal posteriors are calibrated. The parts of the Brier score are written beside it:
    miscalibration, discrimination and uncertainty. ``systems`` are what
    :func:`llrkit.reliability_curve` gives, one or a dict by system.

    Parameters
    ----------
    systems
        A reliability curve, or a dict of those by system.

    Examples
    --------
    >>> import llrkit as lk
    >>> curve = lk.reliability_curve([2.0, 1.0, -1.0, -3.0], [1, 0, 1, 0])
    >>> lk.plot.reliability(curve).get_ylabel()
    'share of targets'
    """
    drawn: list[PlottedSystem[ReliabilityCurve]] = systems_of(
        systems, ReliabilityCurve, _not_of_an_evaluation, "reliability"
    )
    ends = np.array([0.0, 1.0])
    marks: list[Mark] = [Line(ends, ends, Ink("guide", width=0.8), "calibrated")]
    told = []
    for i, system in enumerate(drawn):
        curve, parts = system.curve, system.curve.brier
        alone = i == 0 and len(drawn) == 1
        ink = system_ink(i)
        if curve.band != "none":
            label = WORDS[curve.band].format(f"{100 * curve.level:g} %") if alone else ""
            marks.append(band(curve.band_at, curve.lower, curve.upper, Ink(i), label, system.name))
        shown = (HoverValues("posterior", curve.predicted), HoverValues("share of targets", curve.observed))
        numbers = (
            f"miscalibration {number(parts.miscalibration)}",
            f"discrimination {number(parts.discrimination)}",
            f"uncertainty {number(parts.uncertainty)}",
        )
        label = system.labeled(*numbers[:1]) if system.name else "PAV"
        marks.append(Line(curve.predicted, curve.observed, ink, label, shown, system.name))
        if alone:
            marks += [
                Text(0.78, 0.06 * (2 - row), text, Ink("reference")) for row, text in enumerate(numbers)
            ]
        told.append(f"{system.labeled(f'Brier score {number(parts.score)}', *numbers)}")
    priors = ", ".join(dict.fromkeys(number(system.curve.prior, 3) for system in drawn))
    return render(
        Picture(
            "reliability",
            "Reliability diagram",
            Axis(f"posterior probability at a prior of {priors}", (-0.01, 1.01)),
            Axis("share of targets", (-0.01, 1.01)),
            tuple(marks),
            f"How often trials are targets against the posterior. {'; '.join(told)}.",
            equal=True,
            legend=legend_of(drawn, "upper left"),
        ),
        ax,
        renderer,
    )


def _not_of_an_evaluation(_: Measurements) -> ReliabilityCurve:
    raise InputError(
        "reliability draws what lk.reliability_curve(scores, labels) gives, which has a prior; "
        "an Evaluation has none"
    )
