"""Costs against the prior or the EER, and figures of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from llrkit.base.arguments import FloatArray
from llrkit.base.text import number, percent
from llrkit.core.numerics import probit, sigmoid
from llrkit.errors import InputError
from llrkit.metrics.curves import BayesErrorCurve, CrossEntropyCurve
from llrkit.metrics.discrimination import Curve, as_floats, same_length
from llrkit.metrics.measure import Measurements
from llrkit.metrics.theory_costs import CLLR, DIFFERENCE, EER_RANGE, TheoryCosts
from llrkit.plot.error_plots import on_axis, probit_axis
from llrkit.plot.picture import (
    MARKERS,
    NOWHERE,
    Axis,
    Bands,
    Cells,
    Drawn,
    HoverValues,
    Ink,
    Line,
    Look,
    Mark,
    Picture,
    PlottedSystem,
    Points,
    Systems,
    Text,
    band,
    bands_of,
    in_words,
    require_kind,
    system_ink,
    systems_of,
)
from llrkit.results.vocabulary import Amount
from llrkit.theory import CalibratedPair
from llrkit.theory.calibrated_pairs import PairCurve, pair_curve
from llrkit.trust.bands import EceBand
from llrkit.verbs.compare import PriorScan
from llrkit.verbs.conditions import HeatMap

CostAndHover = tuple[FloatArray, tuple[HoverValues, ...]]
"""A cost against the prior, and what pointing at its curve shows."""
MOST_BITS = 1.4
"""Of cross-entropy that a picture shows."""


def ape(systems: Systems[BayesErrorCurve], **look: Unpack[Look]) -> Drawn:
    """Applied probability of error: error probability against prior log-odds.

    Solid at the Bayes threshold, dashed at the best threshold, dotted without any system. The area
    under the curves is proportional to Cllr and min Cllr (Brümmer & du Preez 2006).

    Parameters
    ----------
    systems
        An evaluation, a curve, or a dict of those by system.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> axes = lk.plot.ape(lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])))
    >>> axes.get_ylabel()
    'probability of error'
    """
    drawn = systems_of(systems, BayesErrorCurve, lambda e: e.bayes_error, "ape")
    curve = drawn[0].curve
    marks: list[Mark] = [Line(curve.log_odds, curve.reference, Ink("reference", "dot", 0.9), "no system")]
    marks += _bayes_lines(drawn, normalized=False)
    marks += _legend_of_curves()
    top = max(float(system.curve.actual.max()) for system in drawn)
    return Picture(
        "ape",
        "Applied probability of error",
        Axis("prior log-odds", _ends_of_curve(curve.log_odds)),
        # without a system it is never above 0.5; LLRs that do more harm than that run off the picture
        Axis("probability of error", (0.0, 1.05 * min(top, 0.5) or 0.5)),
        tuple(marks),
        "Probability of error against the prior. " + in_words(drawn, "Cllr", "min Cllr"),
        legend="below",
    ).drawn(look)


def bayes_error(systems: Systems[BayesErrorCurve], *, rule_of_30: bool = True, **look: Unpack[Look]) -> Drawn:
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
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> axes = lk.plot.bayes_error(lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])))
    >>> axes.get_xlabel()
    'prior log-odds'
    """
    drawn = systems_of(systems, BayesErrorCurve, lambda e: e.bayes_error, "bayes_error")
    curve = drawn[0].curve
    ends = np.array(_ends_of_curve(curve.log_odds))
    marks: list[Mark] = [Line(ends, np.ones(2), Ink("reference", "dot", 0.9), "no system")]
    marks += _bayes_lines(drawn, normalized=True)
    # At least to 1, the cost of deciding without a system.
    top = max(1.0, *(float(system.curve.normalized_actual.max()) for system in drawn))
    if rule_of_30 and len(drawn) <= 3:  # more would hide the curves
        limits = {limit for system in drawn for limit in system.curve.rule_of_30 if np.isfinite(limit)}
        height = np.array([0.0, max(top, 2.0)])
        for i, place in enumerate(sorted(limits)):
            label = "" if i else "30 errors"
            marks.append(Line(np.full(2, place), height, Ink("guide", "dot", 0.8), label))
    marks += _legend_of_curves()
    return Picture(
        "bayes_error",
        "Normalized Bayes error",
        Axis("prior log-odds", (float(ends[0]), float(ends[1]))),
        # one badly calibrated system would flatten all others; beyond 1.5 it runs off the picture
        Axis("normalized Bayes error", (0.0, 1.08 * min(top, 1.5))),
        tuple(marks),
        "Normalized Bayes error against the prior. " + in_words(drawn, "Cllr", "min Cllr"),
        legend="below",
    ).drawn(look)


def cross_entropy(
    systems: Systems[CrossEntropyCurve], *, bands: Bands[EceBand] = None, **look: Unpack[Look]
) -> Drawn:
    """Empirical cross-entropy against prior log10-odds: the system, after PAV, and without evidence.

    At log-odds 0 the solid line is Cllr and the dashed one min Cllr (Ramos & Gonzalez-Rodriguez 2013).
    ``bands`` are those of :func:`llrkit.trust.curve_bands`, for one system or a dict by system.

    Parameters
    ----------
    systems
        An evaluation, a curve, or a dict of those by system.
    bands
        Confidence bands of :func:`llrkit.trust.curve_bands`, for one system or a dict by system.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> result = lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]), ece=True)
    >>> lk.plot.cross_entropy(result).get_xlabel()
    'prior log10-odds'
    """
    drawn = systems_of(systems, CrossEntropyCurve, _cross_entropy_of, "cross_entropy")
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
        of_system = c.system, (*prior, HoverValues("cross-entropy (bits)", c.system), after)
        if system.name in limits_by_system:
            limits = limits_by_system[system.name]
            # Bands are on natural log-odds, the axis is to base ten.
            odds = limits.log_odds / np.log(10.0)
            marks.append(band(odds, limits.lower, limits.upper, Ink(i), "", system.name))
            top = max(top, float(np.max(limits.upper)))
        marks += _pair_of_curves(drawn, i, c.log10_odds, of_system, (c.pav, (*prior, after)))
        top = max(top, float(np.max(c.system)))
    marks += _legend_of_curves("system", "after PAV")
    return Picture(
        "cross_entropy",
        "Empirical cross-entropy",
        Axis("prior log10-odds", _ends_of_curve(curve.log10_odds)),
        # the reference, 1 bit at even odds, is always seen; LLRs that do more harm run off the picture
        Axis("cross-entropy (bits)", (0.0, 1.05 * max(min(top, MOST_BITS), 1.0))),
        tuple(marks),
        "Empirical cross-entropy against the prior. " + in_words(drawn, "Cllr", "min Cllr"),
        legend="below",
    ).drawn(look)


ece = cross_entropy  # its name in the forensic literature, which elsewhere is that of a calibration error


def _cross_entropy_of(evaluation: Measurements) -> CrossEntropyCurve:
    if evaluation.ece is None:
        raise InputError("this evaluation has no cross-entropy curve: evaluate(..., ece=True) makes one")
    return evaluation.ece


def _ends_of_curve(x: FloatArray) -> tuple[float, float]:
    return float(x[0]), float(x[-1])


def _pair_of_curves(
    drawn: Sequence[PlottedSystem[Any]], i: int, x: FloatArray, actual: CostAndHover, best: CostAndHover
) -> list[Mark]:
    """Both curves of the i-th system in its color; where there are several, with its sign."""
    system, marker = drawn[i], MARKERS[i % len(MARKERS)] if len(drawn) > 1 else None
    label = system.labeled_by(lambda evaluation: f"Cllr {number(evaluation.cllr, 3)}")
    return [
        # The better curve first, so that the actual one lies on top of it.
        Line(x, best[0], Ink(i, "dash", 0.9), "", best[1], system.name),
        Line(x, actual[0], Ink(i), label, actual[1], system.name, marker),
    ]


def _legend_of_curves(actual: str = "Bayes threshold", best: str = "best threshold") -> list[Mark]:
    """Legend entries for the two kinds of line."""
    return [
        Line(NOWHERE, NOWHERE, Ink("reference"), actual),
        Line(NOWHERE, NOWHERE, Ink("reference", "dash", 0.9), best),
    ]


def _bayes_lines(drawn: list[PlottedSystem[BayesErrorCurve]], *, normalized: bool) -> list[Mark]:
    """The cost of each system at the Bayes threshold, and at the best one, which the curve does not have."""
    marks: list[Mark] = []
    for i, system in enumerate(drawn):
        curve = system.curve
        actual = curve.normalized_actual if normalized else curve.actual
        minimum = curve.normalized_minimum if normalized else curve.minimum
        prior = HoverValues("prior", np.asarray(sigmoid(curve.log_odds)))
        at_bayes = (
            prior,
            # 0.0 - x and not -x: the threshold at even odds is 0, not -0.
            HoverValues("threshold", 0.0 - curve.log_odds, per_nat=1),
            HoverValues("Pmiss", curve.actual_p_miss, percent=True),
            HoverValues("Pfa", curve.actual_p_fa, percent=True),
            HoverValues("actual", actual),
            HoverValues("minimum", minimum),
        )
        at_best = (
            prior,
            HoverValues("Pmiss", curve.minimum_p_miss, percent=True),
            HoverValues("Pfa", curve.minimum_p_fa, percent=True),
            HoverValues("minimum", minimum),
        )
        marks += _pair_of_curves(drawn, i, curve.log_odds, (actual, at_bayes), (minimum, at_best))
    return marks


def theory(curve: TheoryCosts, **look: Unpack[Look]) -> Drawn:
    """A cost against the EER: a line for each family of calibrated LLRs, a point for each measured list.

    For Gaussian LLRs the EER fixes every cost; other families show how much more a cost depends on than
    the EER.

    Parameters
    ----------
    curve
        What is drawn.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    References
    ----------
    van Leeuwen & Brümmer, Interspeech 2013, equation 12.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.metrics.theory_costs import theory_costs
    >>> axes = lk.plot.theory(theory_costs("Cllr", {"mine": (0.05, 0.19)}))
    >>> axes.get_ylabel()
    'Cllr (bits)'
    """
    curve = require_kind(curve, TheoryCosts, "theory")
    marks: list[Mark] = []
    shown: tuple[HoverValues, ...]
    for i, (name, costs) in enumerate(curve.costs.items()):
        eers = curve.eers[name]
        shown = (HoverValues("EER", eers, percent=True), HoverValues(curve.cost_name, costs))
        marks.append(Line(on_axis(eers), costs, system_ink(i), name, shown, group=name))
    if curve.lists:
        shown = (
            HoverValues("list", curve.lists),
            HoverValues("EER", curve.list_eers, percent=True),
            HoverValues("measured", curve.list_costs),
            HoverValues("Gaussian LLRs", curve.predicted),
        )
        several = f"{len(curve.lists)} measured lists"
        label = curve.lists[0] if len(curve.lists) == 1 else several
        places = on_axis(curve.list_eers)
        ink = Ink("nontarget")
        marks.append(Points(places, curve.list_costs, ink, size=0.8, filled=False, label=label, hover=shown))
    # Lists outside of the usual range of EERs widen it; rates of 0 and 1 are infinitely far away.
    lowest = min([EER_RANGE[0], *(rate for rate in curve.list_eers.tolist() if rate > 0.0)])
    highest = max([EER_RANGE[1], *(rate for rate in curve.list_eers.tolist() if rate < 1.0)])
    limits = float(probit(lowest)) - 0.05, float(probit(highest)) + 0.05
    if curve.cost_name == DIFFERENCE:
        y = Axis("difference (bits)")
    else:
        top = max(1.0, float(np.max(curve.list_costs, initial=0.0)))
        y = Axis(
            f"{curve.cost_name} (bits)" if curve.cost_name == CLLR else curve.cost_name, (0.0, 1.04 * top)
        )
    return Picture(
        "theory",
        DIFFERENCE if curve.cost_name == DIFFERENCE else f"{curve.cost_name} that the EER implies",
        probit_axis("equal error rate (%)", limits),
        y,
        tuple(marks),
        f"{curve.cost_name} against the equal error rate for {len(curve.costs)} families of calibrated "
        f"log-likelihood-ratios. {curve.sentence}",
        legend="below",
    ).drawn(look)


@dataclass(frozen=True, eq=False)
class CllrScatter(Curve):
    """One point for each trial list: Cllr by one calibration method against Cllr by another.

    Examples
    --------
    >>> CllrScatter("CMLG", "logistic regression", [0.11, 0.82], [0.11, 0.83]).x_name
    'CMLG'
    """

    x_name: str
    y_name: str
    x: FloatArray
    y: FloatArray
    labels: tuple[str, ...] = ()
    """What each point is, shown when pointed at."""

    def __post_init__(self) -> None:
        as_floats(self, "x", "y")
        same_length(self, "x", "y", *(("labels",) if self.labels else ()))
        super().__post_init__()


def two_gaussians(pair: CalibratedPair | PairCurve, **look: Unpack[Look]) -> Drawn:
    """The densities of calibrated LLRs: non-targets on the left, targets on the right.

    Any calibrated pair will do; for the Gaussian one the means are ``-mu`` and ``mu`` and the variance of
    both is ``2 mu``.

    Parameters
    ----------
    pair
        A calibrated pair of distributions.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    Examples
    --------
    >>> import llrkit as lk
    >>> axes = lk.plot.two_gaussians(lk.theory.GaussianLLR.from_eer(0.05))
    >>> axes.get_xlabel()
    'log-likelihood-ratio (nats)'
    """
    if isinstance(pair, CalibratedPair):
        pair = pair_curve(pair)
    curve = require_kind(pair, PairCurve, "two_gaussians")
    top = float(max(curve.target.max(), curve.nontarget.max()))
    shown = (
        HoverValues("LLR", curve.llr, per_nat=1),
        HoverValues("target density", curve.target, per_nat=-1),
        HoverValues("non-target density", curve.nontarget, per_nat=-1),
    )
    marks: list[Mark] = [Line(np.zeros(2), np.array([0.0, 1.12 * top]), Ink("guide", width=0.7))]
    for label, density, mean, ink in (
        ("different sources, d(x)", curve.nontarget, curve.mean_nontarget, Ink("nontarget", "dash")),
        ("same source, e(x)", curve.target, curve.mean_target, Ink("target")),
    ):
        marks.append(Line(curve.llr, density, ink, label, shown))
        marks.append(Line(np.full(2, mean), np.array([0.0, top]), Ink(ink.whose, "dot", 0.7)))
        written = Amount(mean, "+.2f", bare=True)
        marks.append(Text(mean, 1.02 * top, f"mean {written}", ink, (written,)))
    means = Amount(curve.mean_nontarget), Amount(curve.mean_target)
    return Picture(
        "two_gaussians",
        f"Calibrated LLRs with an EER of {percent(curve.eer)}",
        Axis("log-likelihood-ratio (nats)", (float(curve.llr[0]), float(curve.llr[-1]))),
        Axis("density", (0.0, 1.45 * top)),  # room for the means and the legend
        tuple(marks),
        f"Densities of calibrated log-likelihood-ratios: non-targets around {means[0]}, targets around "
        f"{means[1]}, equal error rate {percent(curve.eer)}.",
        legend="upper right",
        density=True,
        amounts=means,
    ).drawn(look)


def cllr_scatter(curve: CllrScatter, **look: Unpack[Look]) -> Drawn:
    """Cllr by one calibration method against Cllr by another, one point for each trial list.

    Parameters
    ----------
    curve
        What is drawn.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    References
    ----------
    van Leeuwen & Brümmer, Interspeech 2013, figure 1.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.plot.cost_plots import CllrScatter
    >>> axes = lk.plot.cllr_scatter(CllrScatter("CMLG", "logistic regression", [0.1, 0.8], [0.11, 0.8]))
    >>> axes.get_ylabel()
    'Cllr, logistic regression (bits)'
    """
    curve = require_kind(curve, CllrScatter, "cllr_scatter")
    both = np.concatenate([curve.x, curve.y])
    low, high = float(np.nanmin(both)), float(np.nanmax(both))
    # All points equal: an axis still needs a width.
    margin = 0.06 * (high - low) or 0.1
    ends = np.array([low - margin, high + margin])
    shown = [HoverValues(curve.x_name, curve.x), HoverValues(curve.y_name, curve.y)]
    if curve.labels:
        shown.insert(0, HoverValues("list", curve.labels))
    n = len(curve.x)
    return Picture(
        "cllr_scatter",
        "Cllr of two calibration methods",
        Axis(f"Cllr, {curve.x_name} (bits)", (ends[0], ends[1])),
        Axis(f"Cllr, {curve.y_name} (bits)", (ends[0], ends[1])),
        (
            Line(ends, ends, Ink("guide", width=0.8), "equal"),
            Points(curve.x, curve.y, Ink("target"), label=f"{n} trial lists", hover=tuple(shown)),
        ),
        f"Cllr with {curve.x_name} against Cllr with {curve.y_name} for {n} trial lists, "
        f"from {number(low, 3)} to {number(high, 3)} bits; the diagonal is where they agree.",
        equal=True,
        legend="upper left",
    ).drawn(look)


def prior_scan(curve: PriorScan, **look: Unpack[Look]) -> Drawn:
    """A cost against the log-odds of the weight alpha that calibration was trained with.

    Parameters
    ----------
    curve
        What is drawn.
    **look
        Axes to draw into, renderer, title, legend, limits, names of the classes, base ten: see
        :class:`llrkit.plot.Look`.

    References
    ----------
    van Leeuwen & Brümmer, Interspeech 2013, figure 2.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.verbs.compare import PriorScan
    >>> scan = PriorScan([-2.0, 0.0, 2.0], {"CMLG": [0.26, 0.39, 0.55], "logistic": [0.25, 0.27, 0.30]})
    >>> [line.get_label() for line in lk.plot.prior_scan(scan).lines if not line.get_label().startswith("_")]
    ['CMLG', 'logistic']
    """
    curve = require_kind(curve, PriorScan, "prior_scan")
    marks: list[Mark] = []
    if curve.minimum is not None:
        ends = np.array([curve.log_odds.min(), curve.log_odds.max()])
        marks.append(Line(ends, np.full(2, curve.minimum), Ink("guide", "dash"), "best threshold"))
    for i, (name, costs) in enumerate(curve.costs.items()):
        ink = Ink(i, "solid" if i == 0 else "dash")
        shown = (
            HoverValues("log-odds of alpha", curve.log_odds, per_nat=1),
            HoverValues(curve.cost_name, costs),
        )
        marks.append(Line(curve.log_odds, costs, ink, name, shown, group=name))
        marks.append(
            Points(curve.log_odds, costs, ink, MARKERS[i % len(MARKERS)], filled=False, size=0.9, group=name)
        )
    ranges = "; ".join(
        f"{name} from {number(c.min())} to {number(c.max())}"
        # A method may have been refused at every weight.
        for name, c in ((name, costs[np.isfinite(costs)]) for name, costs in curve.costs.items())
        if len(c)
    )
    return Picture(
        "prior_scan",
        "What the training weight does to the cost",
        Axis("log α − log(1 − α)"),
        Axis(curve.cost_name),
        tuple(marks),
        f"{curve.cost_name} against the log-odds of the training weight: {ranges}.",
    ).drawn(look)


def heat_map(curve: HeatMap, **look: Unpack[Look]) -> Drawn:
    """A number for each pair of conditions, written into shaded cells.

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
    >>> from llrkit.verbs.conditions import HeatMap
    >>> rates = HeatMap([[0.26, 0.2], [0.2, 0.03]], ("5 s", "full"), ("5 s", "full"), percent=True)
    >>> [text.get_text() for text in lk.plot.heat_map(rates).texts]
    ['26.0', '20.0', '20.0', '3.0']
    """
    curve = require_kind(curve, HeatMap, "heat_map")
    scale, digits = (100.0, 1) if curve.percent else (1.0, 3)
    shown = np.asarray(curve.values)[np.isfinite(curve.values)]
    if curve.percent and ((shown > 0.0) & (shown < 0.01)).any():
        digits = 2  # below one per cent a single digit tells little apart
    texts = tuple(tuple(number(scale * value, digits) for value in row) for row in curve.values)
    unit = f"{curve.value_name} (%)" if curve.percent else curve.value_name
    rows, columns = range(len(curve.rows)), range(len(curve.columns))
    written = "; ".join(f"{row}: {', '.join(cells)}" for row, cells in zip(curve.rows, texts, strict=True))
    return Picture(
        "heat_map",
        curve.value_name,
        # Rows and columns are numbered; their names are the labels of the ticks.
        Axis(curve.column_name, None, tuple(columns), curve.columns),
        Axis(curve.row_name, None, tuple(rows), curve.rows),
        (Cells(scale * curve.values, texts, unit),),
        f"{unit} for each {curve.row_name} (rows) and {curve.column_name} "
        f"({', '.join(curve.columns)}). {written}.",
        legend="none",
        grid=False,
    ).drawn(look)
