"""The LLRs themselves: Tippett, histograms, score-to-LLR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Unpack

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import percent
from llrkit._llr_units import LOG10
from llrkit.errors import InputError, UnknownNameError
from llrkit.evaluation.compare import ScoreToLlr
from llrkit.metrics.curves import HistogramPair, PavCurve, TippettCurve
from llrkit.plot.base_ten import to_base_10
from llrkit.plot.looks import Looks, with_looks
from llrkit.plot.picture import NOWHERE, Axis, HoverValues, Ink, Line, Mark, Picture, Stairs, band, system_ink
from llrkit.plot.plotted_systems import Bands, Systems, bands_of, in_words, legend_of, systems_of
from llrkit.plot.render import Ax, Drawn, Renderer, render
from llrkit.theory.pair_curve import PairCurve
from llrkit.trust.intervals.curve_bands import TippettBand

OFF_THE_PICTURE = 1e3
PILED_UP = 2.0
"""A bar at the end of a histogram that is this much higher than all others is cut."""


@with_looks
def tippett(
    systems: Systems[TippettCurve], *, style: Literal["above", "crossing"] = "above",
    log10: bool = False, bands: Bands[TippettBand] = None, ax: Ax = None,
    renderer: Renderer = "matplotlib", **looks: Unpack[Looks],
) -> Drawn:  # fmt: skip
    """Cumulative distributions of the LLRs of both classes.

    With ``style="above"`` both curves are shares of trials with at least the LLR of the abscissa; with
    ``"crossing"`` the targets' curve is the share below it, so that the curves are Pmiss and Pfa and cross
    at the equal error rate. ``log10`` shows LLRs to base ten. ``bands`` are those of
    :func:`llrkit.curve_bands`, for one system or a dict by system.

    Parameters
    ----------
    systems
        An evaluation, a curve, or a dict of those by system.
    style
        Shares at or above an LLR for both classes, or curves that cross.
    log10
        Likelihood ratios to base ten.
    bands
        Confidence bands of :func:`llrkit.curve_bands`, for one system or a dict by system.

    Examples
    --------
    >>> import llrkit as lk
    >>> axes = lk.plot.tippett(lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])), log10=True)
    >>> axes.get_xlabel()
    'log10 likelihood ratio'
    """
    if style not in ("above", "crossing"):
        raise UnknownNameError(f"tippett: unknown style {style!r}; known are above and crossing")
    drawn = systems_of(systems, TippettCurve, lambda e: e.tippett, "tippett")
    limits_by_system = bands_of(bands, drawn, TippettBand, lambda curve_bands: curve_bands.tippett, "tippett")
    marks: list[Mark] = [Line(np.zeros(2), np.array([0.0, 1.0]), Ink("guide", width=0.6))]
    for i, system in enumerate(drawn):
        c = system.curve
        target = c.target_at_or_above if style == "above" else c.target_below
        shown = (
            HoverValues("LLR (nats)", c.llr, per_nat=1), HoverValues(LOG10.column, LOG10.of(c.llr)),
            HoverValues("targets at or above", c.target_at_or_above, percent=True),
            HoverValues("non-targets at or above", c.nontarget_at_or_above, percent=True),
        )  # fmt: skip
        alone = len(drawn) == 1
        inks = (Ink("target"), Ink("nontarget", "dash")) if alone else (Ink(i), Ink(i, "dash"))
        if system.name in limits_by_system:
            marks += _tippett_bands(limits_by_system[system.name], style, inks, system.name)
        direction = "at or above" if style == "above" else "below"
        labels = (f"targets {direction}", "non-targets at or above") if alone else (system.name, "")
        marks.append(Line(c.llr, target, inks[0], labels[0], shown, system.name))
        marks.append(Line(c.llr, c.nontarget_at_or_above, inks[1], labels[1], shown, system.name))
    if len(drawn) > 1:
        marks.append(
            Line(NOWHERE, NOWHERE, Ink("reference"), "targets" if style == "above" else "targets, below")
        )
        marks.append(Line(NOWHERE, NOWHERE, Ink("reference", "dash"), "non-targets"))
    misled = "; ".join(
        system.labeled(
            f"{percent(system.curve.misleading[0])} of the targets have an LLR below 0 and "
            f"{percent(system.curve.misleading[1])} of the non-targets one of at least 0"
        )
        for system in drawn
    )
    picture = Picture(
        "tippett",
        "Tippett plot",
        Axis("log-likelihood-ratio (nats)"),
        Axis("share of trials", (-0.01, 1.01)),
        tuple(marks),
        f"Cumulative distributions of the LLRs of both classes. {misled}.",
        legend="below",
    )
    return render(to_base_10(picture) if log10 else picture, ax, renderer)


@with_looks
def histogram(
    system: Systems[HistogramPair], *, predicted: bool | PairCurve = True, ax: Ax = None,
    renderer: Renderer = "matplotlib", **looks: Unpack[Looks],
) -> Drawn:  # fmt: skip
    """Histograms of the LLRs of one system, with the densities that its EER predicts.

    The lines are the Gaussian pair of van Leeuwen & Brümmer (2013): if the scores were calibrated
    Gaussian LLRs with this EER, their histograms would follow them.

    Parameters
    ----------
    system
        An evaluation or its histogram.
    predicted
        Draw the densities that the EER predicts, or those of another pair.

    Examples
    --------
    >>> import llrkit as lk
    >>> axes = lk.plot.histogram(lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])))
    >>> axes.get_legend_handles_labels()[1][0]
    'non-targets'
    """
    drawn = systems_of(system, HistogramPair, lambda e: e.histogram, "histogram")
    if len(drawn) > 1:
        raise InputError(f"histogram draws one system, got {len(drawn)}: {', '.join(s.name for s in drawn)}")
    c, evaluation = drawn[0].curve, drawn[0].evaluation
    marks: list[Mark] = [
        histogram_stairs(c, "nontarget", "non-targets"),
        histogram_stairs(c, "target", "targets"),
    ]
    if isinstance(predicted, PairCurve):
        pair: PairCurve | None = predicted
    else:
        pair = evaluation.predicted if predicted and evaluation else None
    if pair is not None:
        what = f"with EER {percent(pair.eer)}, Gaussian"
        llr = HoverValues("LLR", pair.llr, per_nat=1)
        of_nontargets, of_targets = (
            HoverValues("density", density, per_nat=-1) for density in (pair.nontarget, pair.target)
        )
        dashed, solid = Ink("nontarget", "dash"), Ink("target")
        marks.append(Line(pair.llr, pair.nontarget, dashed, f"non-targets {what}", (llr, of_nontargets)))
        marks.append(Line(pair.llr, pair.target, solid, f"targets {what}", (llr, of_targets)))
    name = f": {drawn[0].name}" if drawn[0].name else ""
    top, cut = _top_of_histogram(c, marks)
    return render(
        Picture(
            "histogram",
            f"Distribution of the LLRs{name}",
            Axis("log-likelihood-ratio (nats)"),
            Axis("density", (0.0, 1.1 * top)),
            (*marks, *(Line(NOWHERE, NOWHERE, Ink("guide"), label) for label in cut)),
            "Histograms of the LLRs of targets and non-targets. "
            + in_words(drawn, ("EER", lambda e: e.eer, "%"), ("Cllr", lambda e: e.cllr, " bits"))
            + "".join(f"; {label}" for label in cut),
            legend="below",
            density=True,
        ),
        ax,
        renderer,
    )


@with_looks
def pav(
    systems: Systems[PavCurve | ScoreToLlr], *, llrs: bool = False, ax: Ax = None,
    renderer: Renderer = "matplotlib", **looks: Unpack[Looks],
) -> Drawn:  # fmt: skip
    """Scores against LLRs: the optimal monotone map (PAV) or that of a calibrator, and the identity.

    On calibrated LLRs the PAV steps follow the identity. Blocks with one class only have an infinite LLR
    and run off the picture. ``llrs`` says that the scores are LLRs, for the words at the axes.

    Parameters
    ----------
    systems
        An evaluation, a curve, or a dict of those by system.
    llrs
        The scores are LLRs: name the axis so, and draw the identity.

    Examples
    --------
    >>> import llrkit as lk
    >>> axes = lk.plot.pav({"mine": lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]))})
    >>> axes.get_legend_handles_labels()[1]
    ['LLR = score', 'mine']
    """
    kinds: tuple[type[PavCurve | ScoreToLlr], ...] = (PavCurve, ScoreToLlr)
    drawn = systems_of(systems, kinds, lambda e: e.pav, "pav")
    lines = [
        _pav_steps(s.curve) if isinstance(s.curve, PavCurve) else (s.curve.score, s.curve.llr) for s in drawn
    ]
    scores = np.concatenate([x[np.isfinite(x) & np.isfinite(y)] for x, y in lines])
    values = np.concatenate([y[np.isfinite(y)] for _, y in lines])
    x_limits, y_limits = limits_around(scores), limits_around(values)
    ends = np.array([min(x_limits[0], y_limits[0]), max(x_limits[1], y_limits[1])])
    marks: list[Mark] = [Line(ends, ends, Ink("guide", width=0.8), "no change" if llrs else "LLR = score")]
    for i, (system, (x, y)) in enumerate(zip(drawn, lines, strict=True)):
        shown = (
            (HoverValues("LLR", x, per_nat=1), HoverValues("after PAV", y, per_nat=1))
            if llrs
            else (HoverValues("score", x), HoverValues("LLR", y, per_nat=1))
        )
        y = np.clip(y, -OFF_THE_PICTURE, OFF_THE_PICTURE)
        marks.append(Line(x, y, system_ink(i), system.name or "PAV", shown, system.name))
    return render(
        Picture(
            "pav",
            "LLRs after PAV" if llrs else "Score to LLR",
            Axis("log-likelihood-ratio (nats)" if llrs else "score", x_limits),
            Axis("LLR after PAV (nats)" if llrs else "log-likelihood-ratio (nats)", y_limits),
            tuple(marks),
            f"The best monotone map from {'LLR' if llrs else 'score'} to LLR. "
            + in_words(
                drawn, ("Cllr", lambda e: e.cllr, " bits"), ("min Cllr", lambda e: e.min_cllr, " bits")
            ),
            legend=legend_of(drawn, "upper left"),
        ),
        ax,
        renderer,
    )


def histogram_stairs(pair: HistogramPair, whose: Literal["target", "nontarget"], label: str) -> Stairs:
    """The histogram of one class; pointing at it shows how many trials are between two LLRs."""
    counts = pair.target if whose == "target" else pair.nontarget
    heights = pair.target_density if whose == "target" else pair.nontarget_density
    shown = (
        HoverValues("LLR from", pair.edges[:-1], per_nat=1),
        HoverValues("to", pair.edges[1:], per_nat=1),
        HoverValues("trials", np.asarray(counts, dtype=np.float64), digits=15),
        HoverValues("density", heights, per_nat=-1),
    )
    return Stairs(pair.edges, heights, Ink(whose), label, shown)


def _tippett_bands(limits: TippettBand, style: str, inks: tuple[Ink, Ink], group: str) -> list[Mark]:
    low, high = limits.target_lower, limits.target_upper
    if style == "crossing":
        low, high = 1.0 - high, 1.0 - low
    x = limits.llr
    return [
        band(x, low, high, inks[0], "", group),
        band(x, limits.nontarget_lower, limits.nontarget_upper, inks[1], "", group),
    ]


def _pav_steps(curve: PavCurve) -> tuple[FloatArray, FloatArray]:
    """Both ends of every block."""
    return np.column_stack([curve.low, curve.high]).ravel(), np.repeat(curve.llr, 2)


def _top_of_histogram(pair: HistogramPair, marks: list[Mark]) -> tuple[float, list[str]]:
    """The highest density to show, and labels of bars at either end that are cut.

    LLRs that are held within bounds pile up at them; bars of their height would flatten all the rest.
    """
    highest = _highest_density(marks)
    middle = [mark if isinstance(mark, Line) else replace(mark, heights=mark.heights[1:-1])
              for mark in marks if isinstance(mark, (Line, Stairs))]  # fmt: skip
    if len(pair.edges) < 4:
        return highest, []
    rest = _highest_density(middle)
    if highest <= PILED_UP * rest:
        return highest, []
    cut = []
    classes = (("targets", pair.target, pair.n_target, pair.target_density),
               ("non-targets", pair.nontarget, pair.n_nontarget, pair.nontarget_density))  # fmt: skip
    for name, counts, n, heights in classes:
        for i, end in ((0, "lowest"), (-1, "highest")):
            if heights[i] > 1.3 * rest:
                cut.append(f"bar cut: {percent(float(counts[i]) / n, 0)} of {name} at the {end} LLRs")
    return rest, cut


def _highest_density(marks: Sequence[Mark]) -> float:
    """The highest density; 1 where all scores are equal and there is none."""
    tops = [float(np.max(mark.heights if isinstance(mark, Stairs) else mark.y)) for mark in marks
            if isinstance(mark, (Stairs, Line))]  # fmt: skip
    return max(tops) or 1.0


def limits_around(values: FloatArray) -> tuple[float, float]:
    """The ends of an axis that shows all values, with a margin."""
    if len(values) == 0:
        return -1.0, 1.0
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 0.5
    return low - margin, high + margin
