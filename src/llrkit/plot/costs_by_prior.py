"""What a system costs at every prior: APE, normalized Bayes error, empirical cross-entropy."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import number
from llrkit.core.elementary_functions import sigmoid
from llrkit.errors import InputError
from llrkit.metrics.curves import BayesErrorCurve, CrossEntropyCurve
from llrkit.metrics.measurements import Measurements
from llrkit.plot.looks import Looks, with_looks
from llrkit.plot.picture import MARKERS, NOWHERE, Axis, HoverValues, Ink, Line, Mark, Marker, Picture, band
from llrkit.plot.plotted_systems import Bands, PlottedSystem, Systems, bands_of, in_words, systems_of
from llrkit.plot.render import Ax, Drawn, Renderer, render
from llrkit.trust.intervals.curve_bands import EceBand

CLLR = ("Cllr", lambda e: e.cllr, " bits")
MIN_CLLR = ("min Cllr", lambda e: e.min_cllr, " bits")
Hover = tuple[HoverValues, ...]
MOST_BITS = 1.4
"""Of cross-entropy that a picture shows."""


@with_looks
def ape(
    systems: Systems[BayesErrorCurve],
    *,
    ax: Ax = None,
    renderer: Renderer = "matplotlib",
    **looks: Unpack[Looks],
) -> Drawn:
    """Applied probability of error: error probability against prior log-odds.

    Solid at the Bayes threshold, dashed at the best threshold, dotted without any system. The area
    under the curves is proportional to Cllr and min Cllr (Brümmer & du Preez 2006).

    Parameters
    ----------
    systems
        An evaluation, a curve, or a dict of those by system.

    Examples
    --------
    >>> import llrkit as lk
    >>> axes = lk.plot.ape(lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])))
    >>> axes.get_ylabel()
    'probability of error'
    """
    drawn = _bayes_curves(systems, "ape")
    curve = drawn[0].curve
    marks: list[Mark] = [Line(curve.log_odds, curve.reference, Ink("reference", "dot", 0.9), "no system")]
    top = 0.0
    for i, system in enumerate(drawn):
        c = system.curve
        marks += _pair_of_curves(
            system, i, len(drawn), c.log_odds, c.actual, c.minimum, _bayes_hover(c, False)
        )
        top = max(top, float(c.actual.max()))
    marks += _legend_of_curves()
    return render(
        Picture(
            "ape",
            "Applied probability of error",
            Axis("prior log-odds", _ends_of_curve(curve.log_odds)),
            Axis("probability of error", (0.0, 1.05 * min(top, 0.5) or 0.5)),
            tuple(marks),
            "Probability of error against the prior. " + in_words(drawn, CLLR, MIN_CLLR),
            legend="below",
        ),
        ax,
        renderer,
    )


@with_looks
def bayes_error(
    systems: Systems[BayesErrorCurve],
    *,
    rule_of_30: bool = True,
    ax: Ax = None,
    renderer: Renderer = "matplotlib",
    **looks: Unpack[Looks],
) -> Drawn:
    """Normalized Bayes error: the cost at each prior, divided by that of deciding without a system.

    Solid at the Bayes threshold (actual DCF), dashed at the best one (minimum DCF). Where the solid line
    is above 1, the scores read as LLRs do harm. Dotted vertical lines enclose the priors at which 30 or
    more errors of both kinds occur.

    Parameters
    ----------
    systems
        An evaluation, a curve, or a dict of those by system.
    rule_of_30
        Mark where 30 errors make the rates.

    Examples
    --------
    >>> import llrkit as lk
    >>> axes = lk.plot.bayes_error(lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])))
    >>> axes.get_xlabel()
    'prior log-odds'
    """
    drawn = _bayes_curves(systems, "bayes_error")
    curve = drawn[0].curve
    ends = np.array(_ends_of_curve(curve.log_odds))
    marks: list[Mark] = [Line(ends, np.ones(2), Ink("reference", "dot", 0.9), "no system")]
    top = 1.0
    for i, system in enumerate(drawn):
        c = system.curve
        actual, minimum = c.normalized_actual, c.normalized_minimum
        marks += _pair_of_curves(system, i, len(drawn), c.log_odds, actual, minimum, _bayes_hover(c, True))
        top = max(top, float(actual.max()))
    if rule_of_30 and len(drawn) <= 3:  # more would hide the curves
        marks += _thirty_errors([system.curve for system in drawn], top)
    marks += _legend_of_curves()
    return render(
        Picture(
            "bayes_error",
            "Normalized Bayes error",
            Axis("prior log-odds", (float(ends[0]), float(ends[1]))),
            Axis("normalized Bayes error", (0.0, 1.08 * min(top, 1.5))),
            tuple(marks),
            "Normalized Bayes error against the prior. " + in_words(drawn, CLLR, MIN_CLLR),
            legend="below",
        ),
        ax,
        renderer,
    )


@with_looks
def cross_entropy(
    systems: Systems[CrossEntropyCurve],
    *,
    bands: Bands[EceBand] = None,
    ax: Ax = None,
    renderer: Renderer = "matplotlib",
    **looks: Unpack[Looks],
) -> Drawn:
    """Empirical cross-entropy against prior log10-odds: the system, after PAV, and without evidence.

    At log-odds 0 the solid line is Cllr and the dashed one min Cllr (Ramos & Gonzalez-Rodriguez 2013).
    ``bands`` are those of :func:`llrkit.curve_bands`, for one system or a dict by system.

    Parameters
    ----------
    systems
        An evaluation, a curve, or a dict of those by system.
    bands
        Confidence bands of :func:`llrkit.curve_bands`, for one system or a dict by system.

    Examples
    --------
    >>> import llrkit as lk
    >>> result = lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]), ece=True)
    >>> lk.plot.cross_entropy(result).get_xlabel()
    'prior log10-odds'
    """
    drawn = systems_of(systems, CrossEntropyCurve, _bayes_curve_of, "cross_entropy")
    curve = drawn[0].curve
    limits_by_system = bands_of(bands, drawn, EceBand, lambda curve_bands: curve_bands.ece, "cross_entropy")
    marks: list[Mark] = [
        Line(curve.log10_odds, curve.reference, Ink("reference", "dot", 0.9), "no evidence (LLR = 0)")
    ]
    top = 0.0
    for i, system in enumerate(drawn):
        c = system.curve
        prior = (
            HoverValues("prior log10-odds", c.log10_odds),
            HoverValues("prior", np.asarray(sigmoid(c.log_odds))),
        )
        after = HoverValues("after PAV (bits)", c.pav)
        shown = (*prior, HoverValues("cross-entropy (bits)", c.system), after), (*prior, after)
        if system.name in limits_by_system:
            limits = limits_by_system[system.name]
            odds = limits.log_odds / np.log(10.0)
            marks.append(band(odds, limits.lower, limits.upper, Ink(i), "", system.name))
            top = max(top, float(np.max(limits.upper)))
        marks += _pair_of_curves(system, i, len(drawn), c.log10_odds, c.system, c.pav, shown)
        top = max(top, float(np.max(c.system)))
    marks += _legend_of_curves("system", "after PAV")
    return render(
        Picture(
            "cross_entropy",
            "Empirical cross-entropy",
            Axis("prior log10-odds", _ends_of_curve(curve.log10_odds)),
            # the reference, 1 bit at even odds, is always seen; LLRs that do more harm run off the picture
            Axis("cross-entropy (bits)", (0.0, 1.05 * max(min(top, MOST_BITS), 1.0))),
            tuple(marks),
            "Empirical cross-entropy against the prior. " + in_words(drawn, CLLR, MIN_CLLR),
            legend="below",
        ),
        ax,
        renderer,
    )


ece = cross_entropy  # its name in the forensic literature, which elsewhere is that of a calibration error


def _bayes_curves(systems: Systems[BayesErrorCurve], plot: str) -> list[PlottedSystem[BayesErrorCurve]]:
    return systems_of(systems, BayesErrorCurve, lambda e: e.bayes_error, plot)


def _bayes_curve_of(evaluation: Measurements) -> CrossEntropyCurve:
    if evaluation.ece is None:
        raise InputError("this evaluation has no cross-entropy curve: evaluate(..., ece=True) makes one")
    return evaluation.ece


def _ends_of_curve(x: FloatArray) -> tuple[float, float]:
    return float(x[0]), float(x[-1])


def _pair_of_curves(
    system: PlottedSystem[BayesErrorCurve] | PlottedSystem[CrossEntropyCurve],
    i: int,
    n: int,
    x: FloatArray,
    actual: FloatArray,
    best: FloatArray,
    shown: tuple[Hover, Hover],
) -> list[Mark]:
    """Both curves of a system in its color; where there are several, with its sign."""
    marker: Marker | None = MARKERS[i % len(MARKERS)] if n > 1 else None
    numbers = [] if system.evaluation is None else [f"Cllr {number(system.evaluation.cllr, 3)}"]
    label = system.labeled(*numbers)
    return [
        Line(x, best, Ink(i, "dash", 0.9), "", shown[1], system.name),
        Line(x, actual, Ink(i), label, shown[0], system.name, marker),
    ]


def _legend_of_curves(actual: str = "Bayes threshold", best: str = "best threshold") -> list[Mark]:
    """Legend entries for the two kinds of line."""
    return [
        Line(NOWHERE, NOWHERE, Ink("reference"), actual),
        Line(NOWHERE, NOWHERE, Ink("reference", "dash", 0.9), best),
    ]


def _bayes_hover(curve: BayesErrorCurve, normalized: bool) -> tuple[Hover, Hover]:
    """What to show at the Bayes threshold, and at the best one, which the curve does not have."""
    prior = HoverValues("prior", np.asarray(sigmoid(curve.log_odds)))
    minimum = HoverValues("minimum", curve.normalized_minimum if normalized else curve.minimum)
    actual = (
        prior,
        HoverValues("threshold", 0.0 - curve.log_odds, per_nat=1),
        HoverValues("Pmiss", curve.actual_p_miss, percent=True),
        HoverValues("Pfa", curve.actual_p_fa, percent=True),
        HoverValues("actual", curve.normalized_actual if normalized else curve.actual),
        minimum,
    )
    best = (
        prior,
        HoverValues("Pmiss", curve.minimum_p_miss, percent=True),
        HoverValues("Pfa", curve.minimum_p_fa, percent=True),
        minimum,
    )
    return actual, best


def _thirty_errors(curves: list[BayesErrorCurve], top: float) -> list[Mark]:
    marks: list[Mark] = []
    height = np.array([0.0, max(top, 2.0)])
    for place in sorted({limit for curve in curves for limit in curve.rule_of_30 if np.isfinite(limit)}):
        label = "" if marks else "30 errors"
        marks.append(Line(np.full(2, place), height, Ink("guide", "dot", 0.8), label))
    return marks
