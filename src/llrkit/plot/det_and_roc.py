"""DET and ROC plots: Pmiss against Pfa."""

from __future__ import annotations

from typing import Literal, Unpack

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import number, percent
from llrkit._vocabulary import vocabulary
from llrkit.core.elementary_functions import sigmoid
from llrkit.errors import UnknownNameError
from llrkit.metrics.curves import ErrorCurve
from llrkit.metrics.measurements import Measurements, OperatingMarks
from llrkit.plot.det_axes import BEYOND, DET_AXES, Place
from llrkit.plot.looks import Looks, with_looks
from llrkit.plot.picture import (
    MARKERS,
    NOWHERE,
    Axis,
    HoverValues,
    Ink,
    Line,
    Mark,
    Picture,
    Points,
    band,
    system_ink,
)
from llrkit.plot.plotted_systems import (
    Bands,
    PlottedSystem,
    Systems,
    bands_of,
    in_words,
    legend_of,
    systems_of,
)
from llrkit.plot.render import Ax, Drawn, Renderer, render
from llrkit.trust.intervals.curve_bands import DetBand
from llrkit.trust.intervals.interval_formulas import clopper_pearson


@with_looks
def det(
    systems: Systems[ErrorCurve],
    *,
    curve: Literal["steps", "hull"] = "steps",
    points: bool = True,
    rule_of_30: bool = True,
    bands: Bands[DetBand] = None,
    axes: Literal["probit", "log"] = "probit",
    words: str = "nist",
    ax: Ax = None,
    renderer: Renderer = "matplotlib",
    **looks: Unpack[Looks],
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
        Confidence bands as :func:`llrkit.curve_bands` finds them, for one system or a dict by system.
    axes
        Probit axes, or logarithmic ones down to 10^-6, as biometric tests use them.
    words
        The vocabulary: 'nist', 'forensic' or 'biometrics' (FNMR against FMR).

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
    scale = DET_AXES[axes]
    limits = scale.limits([system.curve for system in drawn])
    ends = np.array([-BEYOND, BEYOND])
    marks: list[Mark] = [Line(ends, ends, Ink("guide", width=0.5))]
    if rule_of_30:
        marks += _rule_of_30_marks(drawn, ends, scale.place)
    limits_by_system = bands_of(bands, drawn, DetBand, lambda curve_bands: curve_bands.det, "det")
    for i, system in enumerate(drawn):
        if system.name in limits_by_system:
            limits_of = limits_by_system[system.name]
            x, low, high = (
                scale.place(rates) for rates in (limits_of.p_fa, limits_of.lower, limits_of.upper)
            )
            marks.append(band(x, low, high, Ink(i), "", system.name))
        path = system.curve.for_probit_axes() if axes == "probit" else system.curve
        label = system.labeled(*(f"EER {percent(e.eer)}" for e in _evaluation_of_system(system)))
        x, y = scale.place(path.p_fa), scale.place(path.p_miss)
        marks.append(Line(x, y, system_ink(i), label, _hover_of_error_curve(path), system.name))
    apart = [(i, system) for i, system in enumerate(drawn) if _has_no_errors(system.curve)]
    marks += [_mark_of_no_errors(system, i, scale.place) for i, system in apart]
    if points:
        marks += _operating_point_marks(drawn, scale.place, scale.place)
    return render(
        Picture(
            "det",
            "Detection error trade-off",
            scale.axis(scale.labels[0], limits[0]),
            scale.axis(scale.labels[1], limits[1]),
            tuple(marks),
            f"Misses against false alarms on {axes} axes. "
            + in_words(drawn, ("EER", lambda e: e.eer, "%"), ("min Cllr", lambda e: e.min_cllr, " bits")),
            equal=True,
            # on logarithmic axes a curve keeps to the upper right
            legend="below" if apart or axes == "log" else legend_of(drawn, "upper right"),
        ).said_in(vocabulary(words), keep=[system.name for system in drawn]),
        ax,
        renderer,
    )


@with_looks
def roc(
    systems: Systems[ErrorCurve],
    *,
    curve: Literal["steps", "hull"] = "steps",
    points: bool = True,
    words: str = "nist",
    ax: Ax = None,
    renderer: Renderer = "matplotlib",
    **looks: Unpack[Looks],
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
        label = system.labeled(*(f"AUC {number(e.auc, 5)}" for e in _evaluation_of_system(system)))
        marks.append(
            Line(path.p_fa, 1.0 - path.p_miss, system_ink(i), label, _hover_of_error_curve(path), system.name)
        )
    if points:
        marks += _operating_point_marks(drawn, lambda rates: rates, lambda rates: 1.0 - rates)
    return render(
        Picture(
            "roc",
            "Receiver operating characteristic",
            Axis("false-alarm rate", (-0.02, 1.02)),
            Axis("targets accepted", (-0.02, 1.02)),
            tuple(marks),
            "Share of targets accepted against the false-alarm rate. "
            + in_words(drawn, ("AUC", lambda e: e.auc, "")),
            equal=True,
            legend=legend_of(drawn, "lower right"),
        ).said_in(vocabulary(words), keep=[system.name for system in drawn]),
        ax,
        renderer,
    )


def _error_curves(systems: Systems[ErrorCurve], curve: str, plot: str) -> list[PlottedSystem[ErrorCurve]]:
    if curve not in ("steps", "hull"):
        raise UnknownNameError(f"{plot}: unknown curve {curve!r}; known are steps and hull")
    return systems_of(systems, ErrorCurve, lambda e: e.det if curve == "steps" else e.rocch, plot)


def _evaluation_of_system(system: PlottedSystem[ErrorCurve]) -> tuple[Measurements, ...]:
    return () if system.evaluation is None else (system.evaluation,)


def rates_shown(path: ErrorCurve) -> tuple[HoverValues, ...]:
    """What a point of an error curve tells when it is pointed at."""
    return (
        HoverValues("threshold", path.threshold, per_nat=1),
        HoverValues("Pmiss", path.p_miss, percent=True),
        HoverValues("Pfa", path.p_fa, percent=True),
    )


def _hover_of_error_curve(path: ErrorCurve) -> tuple[HoverValues, ...]:
    return (*rates_shown(path), HoverValues("prior", np.asarray(sigmoid(-path.threshold))))


def _has_no_errors(path: ErrorCurve) -> bool:
    """Whether a threshold divides the classes: no error of either kind there."""
    return bool(np.any((path.p_miss == 0.0) & (path.p_fa == 0.0)))


def _mark_of_no_errors(system: PlottedSystem[ErrorCurve], i: int, to_place: Place) -> Points:
    """A sign at the upper limits of both rates (95 %), for classes without overlap: their curve is off."""
    path = system.curve
    n_target, n_nontarget = round(path.n_target), round(path.n_nontarget)
    p_miss, p_fa = (clopper_pearson(0, n, 0.9)[1] for n in (n_target, n_nontarget))
    limits = f"95 % upper limits Pmiss {percent(p_miss)}, Pfa {percent(p_fa)}"
    label = system.labeled(f"no errors in {n_target:,} + {n_nontarget:,} trials, {limits}")
    shown = (
        HoverValues("Pmiss at most", np.array([p_miss]), percent=True),
        HoverValues("Pfa at most", np.array([p_fa]), percent=True),
    )
    x, y = (to_place(np.array([rate])) for rate in (p_fa, p_miss))
    return Points(x, y, Ink(i), "square", False, 1.5, label, shown, system.name)


def _rule_of_30_marks(
    drawn: list[PlottedSystem[ErrorCurve]], ends: FloatArray, to_place: Place
) -> list[Mark]:
    marks: list[Mark] = []
    rates = [system.curve.rule_of_30 for system in drawn]
    for which in (0, 1):
        for rate in sorted({pair[which] for pair in rates if pair[which] < 0.5}):
            place = np.full(2, to_place(np.array(rate)))
            label = "" if marks else "30 errors"
            x, y = (ends, place) if which == 0 else (place, ends)
            marks.append(Line(x, y, Ink("guide", "dot", 0.8), label))
    return marks


def _operating_point_marks(drawn: list[PlottedSystem[ErrorCurve]], to_x: Place, to_y: Place) -> list[Mark]:
    marks: list[Mark] = []
    names: dict[str, int] = {}
    for i, system in enumerate(drawn):
        for evaluation in _evaluation_of_system(system):
            operating: OperatingMarks = evaluation.marks
            for k, name in enumerate(operating.names):
                marker = MARKERS[names.setdefault(name, len(names)) % 4]
                for filled, miss, fa in (
                    (True, operating.best_p_miss[k : k + 1], operating.best_p_fa[k : k + 1]),
                    (False, operating.actual_p_miss[k : k + 1], operating.actual_p_fa[k : k + 1]),
                ):
                    what = "best threshold" if filled else "Bayes threshold"
                    shown = (
                        HoverValues("operating point", (f"{name}, {what}",)),
                        HoverValues("Pmiss", miss, percent=True),
                        HoverValues("Pfa", fa, percent=True),
                    )
                    x, y = to_x(fa), to_y(miss)
                    marks.append(Points(x, y, Ink(i), marker, filled, hover=shown, group=system.name))
    for name, k in names.items():
        label = f"{name} (hollow: actual)"
        marks.append(Points(NOWHERE, NOWHERE, Ink("reference"), MARKERS[k % 4], label=label))
    return marks
