"""DET, ROC and CMC plots, and error rates of groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, Unpack

import numpy as np

from llrkit.base.arguments import FloatArray
from llrkit.base.text import number, percent
from llrkit.biometrics.people_groups import DifferentialPerformance
from llrkit.biometrics.searches import Cmc
from llrkit.core.numerics import probit, sigmoid
from llrkit.errors import UnknownNameError
from llrkit.metrics.curves import ErrorCurve
from llrkit.plot.picture import (
    MARKERS,
    NOWHERE,
    Axis,
    Bands,
    Drawn,
    HoverValues,
    Ink,
    Line,
    Look,
    Mark,
    Picture,
    PlottedSystem,
    Points,
    Role,
    Systems,
    band,
    bands_of,
    in_words,
    legend_of,
    require_kind,
    system_ink,
    systems_of,
)
from llrkit.results.vocabulary import vocabulary
from llrkit.trust.bands import DetBand
from llrkit.trust.speakers import clopper_pearson

# the more welcome a tick, the earlier it is listed; in percent
TICKS = (
    1, 10, 0.1, 40, 5, 0.01, 20, 2, 0.001, 0.5, 80, 0.0001, 0.2, 60, 90, 98, 0.05, 1e-5, 0.005, 99, 1e-6,
    99.9,
)  # fmt: skip
# The lowest rate that a probit axis reaches, where it usually ends, and where it must end.
SMALLEST, USUAL_END, LARGEST = 1e-8, 0.8, 0.999
FEWEST_ERRORS = 1.0
BEYOND = 9.0
"""Probits that no axis reaches: rates of 0 and 1 are drawn there, off the picture."""


def on_axis(rates: FloatArray) -> FloatArray:
    """Rates as places on the axis; 0 and 1, which are infinitely far away, off the picture."""
    # Clipped and not left out, so that a curve runs off the picture in the right direction.
    return np.asarray(np.clip(probit(rates), -BEYOND, BEYOND))


def det_limits(curves: Sequence[ErrorCurve]) -> tuple[tuple[float, float], tuple[float, float]]:
    """What part of a DET plot is worth showing, in probits of Pfa and of Pmiss.

    Down to the rates that one trial makes, and up to where the curves leave through the other end, or
    to 80 %.
    """
    # Below the rate of a single error a curve has no more points.
    low_fa = min(FEWEST_ERRORS / curve.n_nontarget for curve in curves)
    low_miss = min(FEWEST_ERRORS / curve.n_target for curve in curves)
    high_fa = max(float(curve.p_fa[np.searchsorted(curve.p_miss, low_miss)]) for curve in curves)
    high_miss = max(float(curve.p_miss[-1 - np.searchsorted(curve.p_fa[::-1], low_fa)]) for curve in curves)
    # beyond 80 % there is nothing to see, except of a system that is worse than chance
    worst = max(float(np.maximum(curve.p_fa, curve.p_miss).min()) for curve in curves)
    end = min(max(USUAL_END, 1.2 * worst), LARGEST)
    if worst == 0.0:  # room for the upper limits of rates without errors, about three trials
        high_fa, high_miss = max(high_fa, 10.0 * low_fa), max(high_miss, 10.0 * low_miss)
    fa, miss = _rate_limits(low_fa, min(high_fa, end)), _rate_limits(low_miss, min(high_miss, end))
    longer = max(fa[1] - fa[0], miss[1] - miss[0])
    # Axes on which a unit is equally long would be a thin strip otherwise: no side is longer than 1.5
    # times the other.
    return _limits_at_least(fa, longer / 1.5), _limits_at_least(miss, longer / 1.5)


def _rate_limits(low: float, high: float) -> tuple[float, float]:
    low = min(max(low, SMALLEST), 0.2)
    # Room for at least a factor of three, or a picture would show a single tick.
    high = max(high, min(3.0 * low, 0.5), 0.02)
    return float(probit(low)) - 0.05, float(probit(high)) + 0.05


def _limits_at_least(limits: tuple[float, float], span: float) -> tuple[float, float]:
    missing = max(0.0, span - (limits[1] - limits[0])) / 2.0
    return limits[0] - missing, limits[1] + missing


def probit_axis(label: str, limits: tuple[float, float]) -> Axis:
    """An axis of rates in percent, as far apart as their probits."""
    apart = (limits[1] - limits[0]) / 8.0
    places: list[tuple[float, float]] = []
    for tick in TICKS:
        place = float(probit(tick / 100.0))
        inside = limits[0] <= place <= limits[1]
        # At most some eight ticks, the most welcome ones first.
        if inside and all(abs(place - other) >= apart for other, _ in places):
            places.append((place, tick))
    places.sort()
    return Axis(
        label, limits, tuple(place for place, _ in places), tuple(f"{tick:.10g}" for _, tick in places)
    )


LOWEST_POWER = -6.0
"""Logarithmic axes go down to one in a million."""


def on_log_axis(rates: FloatArray) -> FloatArray:
    """Rates as powers of ten; 0, which is infinitely far away, off the picture.

    Examples
    --------
    >>> on_log_axis(np.array([0.0, 1e-6, 0.1]))
    array([-9., -6., -1.])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log10(rates), -BEYOND))


def log_limits(curves: Sequence[ErrorCurve]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Down to the rate that one trial makes, but at most 10^-6, and up to 1."""

    def lowest(n: float) -> float:
        return max(float(np.floor(np.log10(FEWEST_ERRORS / n))), LOWEST_POWER)

    fa = min(lowest(curve.n_nontarget) for curve in curves)
    miss = min(lowest(curve.n_target) for curve in curves)
    return (min(fa, -1.0) - 0.05, 0.05), (min(miss, -1.0) - 0.05, 0.05)


def log_axis(label: str, limits: tuple[float, float]) -> Axis:
    """An axis of rates with a tick at each power of ten."""
    powers = range(int(np.ceil(limits[0])), 1)
    ticks = tuple(f"{10.0**power:g}" for power in powers)
    return Axis(label, limits, tuple(float(power) for power in powers), ticks)


Place = Callable[[FloatArray], FloatArray]
"""From rates to places on an axis."""
DET_AXES = {
    "probit": (on_axis, det_limits, probit_axis, "false alarms (%)", "misses (%)"),
    "log": (on_log_axis, log_limits, log_axis, "Pfa", "Pmiss"),
}
"""Where rates are on the axes of a DET plot, which part is shown, and how the axes are written."""


def det(
    systems: Systems[ErrorCurve],
    *,
    curve: Literal["steps", "hull"] = "steps",
    points: bool = True,
    rule_of_30: bool = True,
    bands: Bands[DetBand] = None,
    axes: Literal["probit", "log"] = "probit",
    words: str = "nist",
    **look: Unpack[Look],
) -> Drawn:
    """Detection error trade-off: Pmiss against Pfa on probit axes.

    Classes without overlap have no curve; a hollow square stands at the upper limits of both rates, the
    largest at which no error is seen with a probability of 5 % if trials are independent.

    Parameters
    ----------
    systems
        An Evaluation, an ErrorCurve, or a dict of those by system.
    curve
        The exact steps, or the ROC convex hull.
    points
        Mark the operating points of an Evaluation: filled where the best threshold is, hollow at the
        Bayes threshold; one outside the axes is not shown.
    rule_of_30
        Dotted lines where 30 errors make the rate (+-30 % at 90 % confidence, Doddington).
    bands
        Confidence bands as :func:`llrkit.trust.curve_bands` finds them, for one system or a dict by system.
    axes
        Probit axes, or logarithmic ones down to 10^-6, as biometric tests use them.
    words
        The vocabulary: 'nist', 'forensic' or 'biometrics' (FNMR against FMR).
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> result = lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]))
    >>> axes = lk.plot.det({"mine": result})
    >>> axes.get_legend_handles_labels()[1][0]
    'mine: EER 23.08 %'
    """
    drawn = _error_curves(systems, curve, "det")
    if axes not in DET_AXES:
        raise UnknownNameError(f"det: unknown axes {axes!r}; known are probit and log")
    to_place, limits_of, axis_of, fa_label, miss_label = DET_AXES[axes]
    fa_limits, miss_limits = limits_of([system.curve for system in drawn])
    ends = np.array([-BEYOND, BEYOND])
    marks: list[Mark] = [Line(ends, ends, Ink("guide", width=0.5))]
    if rule_of_30:
        label = "30 errors"
        for which in (0, 1):
            # A rate of 1/2 or more that 30 errors make is of too few trials to be drawn.
            rates_of_30 = {system.curve.rule_of_30[which] for system in drawn}
            for rate in sorted(rate for rate in rates_of_30 if rate < 0.5):
                place = np.full(2, to_place(np.array(rate)))
                x, y = (ends, place) if which == 0 else (place, ends)
                marks.append(Line(x, y, Ink("guide", "dot", 0.8), label))
                label = ""
    bands_by_system = bands_of(bands, drawn, DetBand, lambda curve_bands: curve_bands.det, "det")
    for i, system in enumerate(drawn):
        if system.name in bands_by_system:
            rates = bands_by_system[system.name]
            x, low, high = map(to_place, (rates.p_fa, rates.lower, rates.upper))
            marks.append(band(x, low, high, Ink(i), "", system.name))
        # Straight lines between rates are curves on probit axes and need more points.
        path = system.curve.for_probit_axes() if axes == "probit" else system.curve
        label = system.labeled_by(lambda e: f"EER {percent(e.eer)}")
        x, y = to_place(path.p_fa), to_place(path.p_miss)
        marks.append(Line(x, y, system_ink(i), label, _hover_of_error_curve(path), system.name))
    apart = [
        _mark_of_no_errors(system, i, to_place)
        for i, system in enumerate(drawn)
        if np.any((system.curve.p_miss == 0.0) & (system.curve.p_fa == 0.0))
    ]
    marks += apart
    if points:
        marks += _operating_point_marks(drawn, to_place, to_place)
    picture = Picture(
        "det",
        "Detection error trade-off",
        axis_of(fa_label, fa_limits),
        axis_of(miss_label, miss_limits),
        tuple(marks),
        f"Misses against false alarms on {axes} axes. " + in_words(drawn, "EER", "min Cllr"),
        equal=True,
        # on logarithmic axes a curve keeps to the upper right
        legend="below" if apart or axes == "log" else legend_of(drawn, "upper right"),
        of_rate=probit if axes == "probit" else np.log10,
    ).said_in(vocabulary(words), keep=[system.name for system in drawn])
    return picture.drawn(look)


def roc(
    systems: Systems[ErrorCurve],
    *,
    curve: Literal["steps", "hull"] = "steps",
    points: bool = True,
    words: str = "nist",
    **look: Unpack[Look],
) -> Drawn:
    """Receiver operating characteristic: the share of targets accepted against Pfa.

    Parameters as for :func:`det`.

    Parameters
    ----------
    systems
        An evaluation, a curve, or a dict of those by system.
    curve
        The exact steps, or the ROC convex hull.
    points
        Mark the operating points of an evaluation.
    words
        The vocabulary: ``"nist"``, ``"forensic"`` or ``"biometrics"``.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> axes = lk.plot.roc(lk.evaluate(lk.Scores([1, 2], [0, 1])))
    >>> axes.get_legend_handles_labels()[1][0]
    'AUC 0.87500'
    """
    drawn = _error_curves(systems, curve, "roc")
    ends = np.array([0.0, 1.0])
    marks: list[Mark] = [Line(ends, ends, Ink("guide", width=0.5))]
    for i, system in enumerate(drawn):
        path = system.curve
        label = system.labeled_by(lambda e: f"AUC {number(e.auc, 5)}")
        shown = _hover_of_error_curve(path)
        marks.append(Line(path.p_fa, 1.0 - path.p_miss, system_ink(i), label, shown, system.name))
    if points:
        marks += _operating_point_marks(drawn, lambda rates: rates, lambda rates: 1.0 - rates)
    picture = Picture(
        "roc",
        "Receiver operating characteristic",
        Axis("false-alarm rate", (-0.02, 1.02)),
        Axis("targets accepted", (-0.02, 1.02)),
        tuple(marks),
        "Share of targets accepted against the false-alarm rate. " + in_words(drawn, "AUC"),
        equal=True,
        legend=legend_of(drawn, "lower right"),
    ).said_in(vocabulary(words), keep=[system.name for system in drawn])
    return picture.drawn(look)


def _error_curves(systems: Systems[ErrorCurve], curve: str, plot: str) -> list[PlottedSystem[ErrorCurve]]:
    if curve not in ("steps", "hull"):
        raise UnknownNameError(f"{plot}: unknown curve {curve!r}; known are steps and hull")
    return systems_of(systems, ErrorCurve, lambda e: e.det if curve == "steps" else e.rocch, plot)


def rates_shown(path: ErrorCurve) -> tuple[HoverValues, ...]:
    """What a point of an error curve tells when it is pointed at."""
    return (
        HoverValues("threshold", path.threshold, per_nat=1),
        HoverValues("Pmiss", path.p_miss, percent=True),
        HoverValues("Pfa", path.p_fa, percent=True),
    )


def _hover_of_error_curve(path: ErrorCurve) -> tuple[HoverValues, ...]:
    # A threshold t is the Bayes threshold of the prior whose log-odds are -t.
    return (*rates_shown(path), HoverValues("prior", np.asarray(sigmoid(-path.threshold))))


def _mark_of_no_errors(system: PlottedSystem[ErrorCurve], i: int, to_place: Place) -> Points:
    """A sign at the upper limits of both rates (95 %), for classes without overlap: their curve is off."""
    path = system.curve
    n_target, n_nontarget = round(path.n_target), round(path.n_nontarget)
    # The upper end of a two-sided interval at 90 % is a one-sided bound at 95 %.
    p_miss, p_fa = (clopper_pearson(0, n, 0.9)[1] for n in (n_target, n_nontarget))
    limits = f"95 % upper limits Pmiss {percent(p_miss)}, Pfa {percent(p_fa)}"
    label = system.labeled(f"no errors in {n_target:,} + {n_nontarget:,} trials, {limits}")
    shown = (
        HoverValues("Pmiss at most", np.array([p_miss]), percent=True),
        HoverValues("Pfa at most", np.array([p_fa]), percent=True),
    )
    x, y = (to_place(np.array([rate])) for rate in (p_fa, p_miss))
    return Points(x, y, Ink(i), "square", False, 1.5, label, shown, system.name)


def _operating_point_marks(drawn: list[PlottedSystem[ErrorCurve]], to_x: Place, to_y: Place) -> list[Mark]:
    marks: list[Mark] = []
    names: dict[str, int] = {}
    for i, system in enumerate(drawn):
        if system.evaluation is None:
            continue
        at = system.evaluation.marks
        for k, name in enumerate(at.names):
            # The first four markers: crosses cannot be hollow, which here means the actual threshold.
            marker = MARKERS[names.setdefault(name, len(names)) % 4]
            for what, misses, false_alarms in (
                ("best threshold", at.best_p_miss, at.best_p_fa),
                ("Bayes threshold", at.actual_p_miss, at.actual_p_fa),
            ):
                miss, fa, filled = misses[k : k + 1], false_alarms[k : k + 1], what == "best threshold"
                shown = (
                    HoverValues("operating point", (f"{name}, {what}",)),
                    HoverValues("Pmiss", miss, percent=True),
                    HoverValues("Pfa", fa, percent=True),
                )
                marks.append(
                    Points(to_x(fa), to_y(miss), Ink(i), marker, filled, hover=shown, group=system.name)
                )
    for name, k in names.items():
        label = f"{name} (hollow: actual)"
        # A point nowhere: it is in the legend only.
        marks.append(Points(NOWHERE, NOWHERE, Ink("reference"), MARKERS[k % 4], label=label))
    return marks


def cmc(curve: Cmc, **look: Unpack[Look]) -> Drawn:
    """Cumulative match characteristic: the share of mated searches whose mate is within each rank.

    Parameters
    ----------
    curve
        What is drawn.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> from llrkit.biometrics import Cmc
    >>> axes = cmc(Cmc(np.array([1, 2, 3]), np.array([0.8, 0.9, 1.0])))
    >>> axes.get_ylabel()
    'mated searches identified (%)'
    """
    curve = require_kind(curve, Cmc, "cmc")
    ranks, rates = curve.rank.astype(np.float64), 100.0 * curve.rate
    hover = (HoverValues("rank", ranks), HoverValues("identified", curve.rate, percent=True))
    return Picture(
        "cmc",
        "Cumulative match characteristic",
        Axis("rank", (0.5, float(ranks[-1]) + 0.5)),
        # One below the first rate and never above 98, so that a perfect curve is not at the edge.
        Axis("mated searches identified (%)", (min(float(rates[0]), 99.0) - 1.0, 100.5)),
        (Line(ranks, rates, Ink(0), hover=hover, marker="circle"),),
        f"Mated searches identified within each rank: {percent(float(curve.rate[0]))} at rank 1.",
        legend="none",
    ).drawn(look)


def groups(result: DifferentialPerformance, **look: Unpack[Look]) -> Drawn:
    """FMR and FNMR of each group of people at one threshold, with intervals, on a logarithmic axis.

    Parameters
    ----------
    result
        The result to draw, or its curve.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([2, 1, 3, -1], [0, 1.5, -1, 2], {"sex": (list("fmfm"), list("fmfm"))})
    >>> axes = groups(lk.biometrics.differential(scores, "sex", threshold=1.2))
    >>> [text.get_text() for text in axes.get_yticklabels()]
    ['m', 'f']
    """
    result = require_kind(result, DifferentialPerformance, "groups")
    # From the bottom up, so that the first group is at the top.
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
            # a rate of 0 has no logarithm: its interval starts off the picture, which goes on for a power of
            # ten below the other end
            low, high = (math.log10(max(end, 1e-9)) for end in interval)
            ends += [low if interval[0] > 0.0 else math.log10(max(interval[1], 1e-9)) - 1.0, high]
            marks.append(Line(np.array([low, high]), np.repeat(y, 2), Ink(role)))
            shown = (HoverValues("group", (name,)), HoverValues(word, np.array([value])))
            x = np.array([math.log10(value) if value > 0.0 else np.nan])
            marks.append(Points(x, y, Ink(role), label=label, hover=shown))
            label = ""
    limits = (max(math.floor(min(ends)), -7) - 0.05, 0.05)
    return Picture(
        "groups",
        "Error rates of groups",
        log_axis("error rate", limits),
        Axis("", (-0.6, len(names) - 0.4), tuple(map(float, range(len(names)))), tuple(names)),
        tuple(marks),
        f"FMR and FNMR of {len(names)} groups at one threshold, with intervals. {result.sentence}",
        legend="below",
    ).drawn(look)
