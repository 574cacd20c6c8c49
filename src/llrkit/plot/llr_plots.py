"""Plots of LLRs: Tippett, histogram, PAV, reliability, mixing, weights and the zoo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Unpack

import numpy as np
from scipy.special import ndtri

from llrkit.base.arguments import FloatArray
from llrkit.base.text import counted, number, percent
from llrkit.errors import InputError, UnknownNameError
from llrkit.fits.mixtures import MixingCurve
from llrkit.metrics.curves import HistogramPair, PavCurve, TippettCurve
from llrkit.metrics.discrimination import Curve, as_floats, same_length
from llrkit.metrics.forecasts import ReliabilityCurve
from llrkit.metrics.measure import Measurements
from llrkit.metrics.theory_costs import ZooCurve
from llrkit.plot.picture import (
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
    Points,
    Stairs,
    Systems,
    Text,
    band,
    bands_of,
    in_words,
    legend_of,
    limits_around,
    require_kind,
    system_ink,
    systems_of,
    to_base_10,
)
from llrkit.results.vocabulary import LOG10, Amount
from llrkit.theory.calibrated_pairs import PairCurve
from llrkit.trust.bands import TippettBand
from llrkit.trust.calibration_check import CalibrationCheck
from llrkit.trust.null import LlrCurve
from llrkit.verbs.compare import ScoreToLlr

OFF_THE_PICTURE = 1e3
PILED_UP = 2.0
"""A bar at the end of a histogram that is this much higher than all others is cut."""


def tippett(
    systems: Systems[TippettCurve],
    *,
    style: Literal["above", "crossing"] = "above",
    log10: bool = False,
    bands: Bands[TippettBand] = None,
    **look: Unpack[Look],
) -> Drawn:
    """Cumulative distributions of the LLRs of both classes.

    With ``style="above"`` both curves are shares of trials with at least the LLR of the abscissa; with
    ``"crossing"`` the targets' curve is the share below it, so that the curves are Pmiss and Pfa and cross
    at the equal error rate. ``log10`` shows LLRs to base ten. ``bands`` are those of
    :func:`llrkit.trust.curve_bands`, for one system or a dict by system.

    Parameters
    ----------
    systems
        An evaluation, a curve, or a dict of those by system.
    style
        Shares at or above an LLR for both classes, or curves that cross.
    log10
        Likelihood ratios to base ten.
    bands
        Confidence bands of :func:`llrkit.trust.curve_bands`, for one system or a dict by system.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

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
        # One system: a color for each class. Several: a color for each system, and dashes for the class.
        inks = (Ink("target"), Ink("nontarget", "dash")) if alone else (Ink(i), Ink(i, "dash"))
        if system.name in limits_by_system:
            limits = limits_by_system[system.name]
            low, high = limits.target_lower, limits.target_upper
            if style == "crossing":
                # One minus a band: its limits change places.
                low, high = 1.0 - high, 1.0 - low
            marks.append(band(limits.llr, low, high, inks[0], "", system.name))
            low, high = limits.nontarget_lower, limits.nontarget_upper
            marks.append(band(limits.llr, low, high, inks[1], "", system.name))
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
    return (to_base_10(picture) if log10 else picture).drawn(look)


def histogram(
    system: Systems[HistogramPair], *, predicted: bool | PairCurve = True, **look: Unpack[Look]
) -> Drawn:
    """Histograms of the LLRs of one system, with the densities that its EER predicts.

    The lines are the Gaussian pair of van Leeuwen & Brümmer (2013): if the scores were calibrated
    Gaussian LLRs with this EER, their histograms would follow them.

    Parameters
    ----------
    system
        An evaluation or its histogram.
    predicted
        Draw the densities that the EER predicts, or those of another pair.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

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
    return Picture(
        "histogram",
        f"Distribution of the LLRs{name}",
        Axis("log-likelihood-ratio (nats)"),
        Axis("density", (0.0, 1.1 * top)),
        (*marks, *(Line(NOWHERE, NOWHERE, Ink("guide"), label) for label in cut)),
        "Histograms of the LLRs of targets and non-targets. "
        + in_words(drawn, "EER", "Cllr")
        + "".join(f"; {label}" for label in cut),
        legend="below",
        density=True,
    ).drawn(look)


def pav(systems: Systems[PavCurve | ScoreToLlr], *, llrs: bool = False, **look: Unpack[Look]) -> Drawn:
    """Scores against LLRs: the optimal monotone map (PAV) or that of a calibrator, and the identity.

    On calibrated LLRs the PAV steps follow the identity. Blocks with one class only have an infinite LLR
    and run off the picture. ``llrs`` says that the scores are LLRs, for the words at the axes.

    Parameters
    ----------
    systems
        An evaluation, a curve, or a dict of those by system.
    llrs
        The scores are LLRs: name the axis so, and draw the identity.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> axes = lk.plot.pav({"mine": lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]))})
    >>> axes.get_legend_handles_labels()[1]
    ['LLR = score', 'mine']
    """
    kinds: tuple[type[PavCurve | ScoreToLlr], ...] = (PavCurve, ScoreToLlr)
    drawn = systems_of(systems, kinds, lambda e: e.pav, "pav")
    lines: list[tuple[FloatArray, FloatArray]] = []
    for system in drawn:
        c = system.curve
        if isinstance(c, PavCurve):  # both ends of every block
            # A block is flat between its lowest and its highest score.
            lines.append((np.column_stack([c.low, c.high]).ravel(), np.repeat(c.llr, 2)))
        else:
            lines.append((c.score, c.llr))
    # Infinite LLRs have no place on the axes, and do not widen them.
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
        # Infinity cannot be drawn; a line to a place far off the picture looks the same.
        y = np.clip(y, -OFF_THE_PICTURE, OFF_THE_PICTURE)
        marks.append(Line(x, y, system_ink(i), system.name or "PAV", shown, system.name))
    return Picture(
        "pav",
        "LLRs after PAV" if llrs else "Score to LLR",
        Axis("log-likelihood-ratio (nats)" if llrs else "score", x_limits),
        Axis("LLR after PAV (nats)" if llrs else "log-likelihood-ratio (nats)", y_limits),
        tuple(marks),
        f"The best monotone map from {'LLR' if llrs else 'score'} to LLR. "
        + in_words(drawn, "Cllr", "min Cllr"),
        legend=legend_of(drawn, "upper left"),
    ).drawn(look)


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


def _top_of_histogram(pair: HistogramPair, marks: list[Mark]) -> tuple[float, list[str]]:
    """The highest density to show, and labels of bars at either end that are cut.

    LLRs that are held within bounds pile up at them; bars of their height would flatten all the rest.
    """
    highest = _highest_density(marks)
    middle = [mark if isinstance(mark, Line) else replace(mark, heights=mark.heights[1:-1])
              # Without the bars at both ends, in which bounded LLRs pile up.
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
            # A bar that is only slightly higher than the rest is not worth a remark.
            if heights[i] > 1.3 * rest:
                cut.append(f"bar cut: {percent(float(counts[i]) / n, 0)} of {name} at the {end} LLRs")
    return rest, cut


def _highest_density(marks: Sequence[Mark]) -> float:
    """The highest density; 1 where all scores are equal and there is none."""
    tops = [float(np.max(mark.heights if isinstance(mark, Stairs) else mark.y)) for mark in marks
            if isinstance(mark, (Stairs, Line))]  # fmt: skip
    return max(tops) or 1.0


def idempotence(curves: CalibrationCheck | LlrCurve | Sequence[LlrCurve], **look: Unpack[Look]) -> Drawn:
    """The LLR of the LLR against the LLR: on the diagonal where the LLRs are calibrated.

    The band is where 95 % of calibrated systems with as many trials have the first estimate; how much of
    each estimate is outside its own is in the description.

    Parameters
    ----------
    curves
        What :func:`llrkit.check_calibration` found, or some of its ``curves``.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.1).rvs(200, 500, np.random.default_rng(1)))
    >>> check = lk.check_calibration(scores, replicates=20)
    >>> lk.plot.idempotence(check.curves[:1]).get_legend_handles_labels()[1]
    ['calibrated', 'logistic: 95 % if calibrated', 'logistic']
    """
    llr_curves = curves.curves if isinstance(curves, CalibrationCheck) else curves
    several = llr_curves if isinstance(llr_curves, (list, tuple)) else [llr_curves]
    drawn = [curve for curve in several if isinstance(curve, LlrCurve)]
    if not drawn or len(drawn) < len(several):
        raise InputError(
            f"idempotence draws what lk.check_calibration(scores, labels) gives, or LlrCurves; got "
            f"{type(curves).__name__}"
        )
    limits = limits_around(np.concatenate([curve.llr for curve in drawn]))
    ends = np.array(limits)
    marks: list[Mark] = [Line(ends, ends, Ink("guide", width=0.8), "calibrated")]
    told = []
    for i, curve in enumerate(drawn):
        name = curve.method
        if i == 0:  # bands of several estimates hide each other
            low, high = (
                np.clip(limit, -OFF_THE_PICTURE, OFF_THE_PICTURE) for limit in (curve.lower, curve.upper)
            )
            marks.append(band(curve.llr, low, high, Ink(i), f"{name}: 95 % if calibrated", name))
        shown = (
            HoverValues("LLR", curve.llr, per_nat=1),
            HoverValues("LLR of the LLR", curve.estimate, per_nat=1),
        )
        y = np.clip(curve.estimate, -OFF_THE_PICTURE, OFF_THE_PICTURE)
        marks.append(Line(curve.llr, y, system_ink(i), name, shown, name))
        told.append(f"{name}: {percent(curve.share_outside, 0)} of the curve is outside its band")
    return Picture(
        "idempotence",
        "The LLR of the LLR",
        Axis("log-likelihood-ratio (nats)", limits),
        Axis("LLR of the LLR (nats)", limits),
        tuple(marks),
        f"The LLR of the LLR against the LLR. {'; '.join(told)}.",
        equal=True,
        legend="upper left",
    ).drawn(look)


EERS = (0.48, 0.45, 0.4, 0.3, 0.2, 0.1, 0.02, 0.001, 1e-6)
SMALL = 1e-4
"""Shares below this are not drawn as a stem."""


def mixing(curve: MixingCurve, **look: Unpack[Look]) -> Drawn:
    """Shares of trials by their difficulty, and how many are at least that difficult.

    The axis is logarithmic in mu, and labeled by the EER of trials with that mu. A share at ``mu = 0``
    stands at the left end.

    Parameters
    ----------
    curve
        What is drawn.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.fits.mixtures import MixingCurve
    >>> axes = lk.plot.mixing(MixingCurve([1.0, 9.0], [0.4, 0.6]))
    >>> axes.get_ylabel()
    'share of trials'
    """
    curve = require_kind(curve, MixingCurve, "mixing")
    shown = curve.mu > 0.0
    positive = curve.mu[shown] if shown.any() else np.ones(1)
    left, right = float(np.log(positive.min())), float(np.log(positive.max()))
    margin = max(0.06 * (right - left), 0.4)
    # mu = 0 has no logarithm and stands left of the others.
    place = np.where(shown, np.log(np.where(shown, curve.mu, 1.0)), left - margin)
    hover = (
        HoverValues("mu", curve.mu, per_nat=1), HoverValues("EER", curve.eer, percent=True),
        HoverValues("share", curve.weights), HoverValues("up to here", curve.cumulative),
    )  # fmt: skip
    low, high = left - 1.5 * margin, right + margin
    steps_x = np.concatenate([[low], np.repeat(place, 2), [high]])
    # Steps: each share is added where it stands.
    steps_y = np.concatenate([[0.0, 0.0], np.repeat(curve.cumulative, 2)])
    marks: list[Mark] = [Line(steps_x, steps_y, Ink("nontarget", "dash"), "at least as difficult")]
    large = curve.weights > SMALL
    for x, weight in zip(place[large], curve.weights[large], strict=True):
        marks.append(Line(np.full(2, x), np.array([0.0, weight]), Ink("target", width=1.4)))
    picked = tuple(replace(one, values=np.asarray(one.values)[large]) for one in hover)
    marks.append(
        Points(place[large], curve.weights[large], Ink("target"), label="share of trials", hover=picked)
    )
    # Calibrated Gaussian LLRs have sigma^2 = 2 mu, so the EER is the normal distribution at -sqrt(mu /
    # 2).
    ticks = [(float(np.log(2.0 * ndtri(rate) ** 2)), f"{100 * rate:g}") for rate in EERS]
    inside = [(x, text) for x, text in ticks if low <= x <= high]
    amounts = tuple(Amount(float(mu), ".3f") for mu in curve.mu[large])
    told = "; ".join(
        f"{number(100 * weight, 1)} % with mu {mu}"
        for mu, weight in zip(amounts, curve.weights[large], strict=True)
    )
    return Picture(
        "mixing",
        f"Trials of different difficulty, EER {percent(curve.mean_eer)} together",
        Axis(
            "EER of trials of this difficulty (%)",
            (low, high),
            tuple(x for x, _ in inside),
            tuple(text for _, text in inside),
        ),
        Axis("share of trials", (-0.02, 1.05)),
        tuple(marks),
        f"Shares of trials by the mu of their calibrated Gaussian LLRs: {told}.",
        legend="upper left",
        amounts=amounts,
    ).drawn(look)


WORDS = {"consistency": "where {} are if calibrated", "confidence": "{} confidence"}


def reliability(systems: Systems[ReliabilityCurve], **look: Unpack[Look]) -> Drawn:
    """The share of targets after recalibration with PAV against the posterior, with its band.

    On the diagonal posteriors are calibrated. The parts of the Brier score are written beside it:
    miscalibration, discrimination and uncertainty. ``systems`` are what
    :func:`llrkit.metrics.reliability_curve` gives, one or a dict by system.

    Parameters
    ----------
    systems
        A reliability curve, or a dict of those by system.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> curve = lk.metrics.reliability_curve([2.0, 1.0, -1.0, -3.0], [1, 0, 1, 0])
    >>> lk.plot.reliability(curve).get_ylabel()
    'share of targets'
    """
    drawn = systems_of(systems, ReliabilityCurve, _not_of_an_evaluation, "reliability")
    ends = np.array([0.0, 1.0])
    marks: list[Mark] = [Line(ends, ends, Ink("guide", width=0.8), "calibrated")]
    told = []
    for i, system in enumerate(drawn):
        curve, parts = system.curve, system.curve.brier
        # Bands and parts of the Brier score of several systems would hide each other.
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
            # In the lower right corner, which curves above the diagonal leave free.
            marks += [
                Text(0.78, 0.06 * (2 - row), text, Ink("reference")) for row, text in enumerate(numbers)
            ]
        told.append(system.labeled(f"Brier score {number(parts.score)}", *numbers))
    priors = ", ".join(dict.fromkeys(number(system.curve.prior, 3) for system in drawn))
    return Picture(
        "reliability",
        "Reliability diagram",
        Axis(f"posterior probability at a prior of {priors}", (-0.01, 1.01)),
        Axis("share of targets", (-0.01, 1.01)),
        tuple(marks),
        f"How often trials are targets against the posterior. {'; '.join(told)}.",
        equal=True,
        legend=legend_of(drawn, "upper left"),
    ).drawn(look)


def _not_of_an_evaluation(_: Measurements) -> ReliabilityCurve:
    raise InputError(
        "reliability draws what lk.metrics.reliability_curve(scores, labels) gives, which has a prior; "
        "an Evaluation has none"
    )


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


def fusion_weights(curve: FusionWeights, **look: Unpack[Look]) -> Drawn:
    """What each system weighs in a fusion, with its interval where there is one.

    Parameters
    ----------
    curve
        What is drawn.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.plot.llr_plots import FusionWeights
    >>> axes = lk.plot.fusion_weights(FusionWeights(("A", "B"), [0.9, 0.3], offset=-0.1))
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['B', 'A']
    """
    curve = require_kind(curve, FusionWeights, "fusion_weights")
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
    return Picture(
        "fusion_weights",
        f"Weights of the fusion (offset {offsets[0]})",
        Axis("weight"),
        # Ticks upwards, so names are reversed as places are.
        Axis("", (-0.6, n - 0.4), tuple(places[::-1].tolist()), curve.systems[::-1]),
        tuple(marks),
        f"Weights of the systems in the fusion: {told}; offset {offsets[1]}.",
        legend="none",
        amounts=offsets,
    ).drawn(look)


def zoo(curve: ZooCurve, **look: Unpack[Look]) -> Drawn:
    """Mean non-target score against mean target score of each speaker, with the quartiles.

    Parameters
    ----------
    curve
        What is drawn.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.metrics.theory_costs import zoo_curve
    >>> scores = lk.Scores([4.0, 2.0], [-1.0, 0.0], {"who": (["a", "b"], ["a", "b"])})
    >>> lk.plot.zoo(zoo_curve(scores, "who")).get_xlabel()
    'mean target score'
    """
    curve = require_kind(curve, ZooCurve, "zoo")
    x_limits, y_limits = (
        limits_around(mean, margin=0.1) for mean in (curve.target_mean, curve.nontarget_mean)
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
    # In the corners that these animals live in: worms have low target and high non-target scores.
    for name, x, y in zip(ANIMALS, (0.12, 0.85, 0.12, 0.85), (0.93, 0.93, 0.02, 0.02), strict=True):
        count = animals.count(name)
        text = f"{count} {name}{'' if count == 1 else 's'}"
        marks.append(Text(x_limits[0] + x * width, y_limits[0] + y * height, text, Ink("reference")))
    counts = ", ".join(f"{animals.count(name)} {name}s" for name in ANIMALS)
    return Picture(
        "zoo",
        "The zoo",
        Axis("mean target score", x_limits),
        Axis("mean non-target score", y_limits),
        tuple(marks),
        f"Mean non-target against mean target score of {len(curve.speakers):,} speakers: {counts}.",
        legend="none",
    ).drawn(look)
