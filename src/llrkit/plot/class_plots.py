"""Plots of several classes: DET of each, confusion, calibration, pairwise LLRs and idempotence."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from llrkit.base.text import number, percent
from llrkit.core.numerics import probit
from llrkit.multiclass.choose import Idempotence
from llrkit.multiclass.evaluation import ClassCalibration, ClassDets, ClassEvaluation, PairHistogram
from llrkit.multiclass.evaluation import class_calibration as calibration_of
from llrkit.multiclass.evaluation import class_dets as dets_of
from llrkit.multiclass.metrics import Confusion
from llrkit.plot.error_plots import BEYOND, det_limits, on_axis, probit_axis, rates_shown
from llrkit.plot.llr_plots import histogram_stairs
from llrkit.plot.picture import (
    Axis,
    Band,
    Cells,
    Drawn,
    HoverValues,
    Ink,
    Line,
    Look,
    Mark,
    Picture,
    Points,
    legend_of,
    require_kind,
    system_ink,
)
from llrkit.results.vocabulary import Amount

MOST_TEXTS = 30
"""A confusion matrix with more classes than this has no numbers in its cells."""


def class_det(result: ClassEvaluation | ClassDets, **look: Unpack[Look]) -> Drawn:
    """The DET curve of each class against the others, on probit axes.

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
    >>> scores = lk.scores.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> axes = lk.plot.class_det(lk.multiclass.evaluate(scores))
    >>> axes.get_legend_handles_labels()[1][2]
    '2: EER 0.00 %'
    """
    if isinstance(result, ClassEvaluation):
        result = dets_of(result)
    dets = require_kind(result, ClassDets, "class_det")
    ends = np.array([-BEYOND, BEYOND])
    marks: list[Mark] = [Line(ends, ends, Ink("guide", width=0.5))]
    labels = [f"{name}: EER {percent(eer)}" for name, eer in zip(dets.classes, dets.eers, strict=True)]
    for i, (name, curve, label) in enumerate(zip(dets.classes, dets.curves, labels, strict=True)):
        path = curve.for_probit_axes()
        x, y = on_axis(path.p_fa), on_axis(path.p_miss)
        marks.append(Line(x, y, system_ink(i), label, rates_shown(path), name))
    limits = det_limits(dets.curves)
    return Picture(
        "class_det",
        "Each class against the others",
        probit_axis("false alarms (%)", limits[0]),
        probit_axis("misses (%)", limits[1]),
        tuple(marks),
        f"Misses against false alarms on probit axes, one curve for each class. {'; '.join(labels)}.",
        equal=True,
        legend=legend_of(dets.curves, "upper right"),
        of_rate=probit,
    ).drawn(look)


def confusion(result: ClassEvaluation | Confusion, **look: Unpack[Look]) -> Drawn:
    """Which classes are taken for which: shares of each class in percent, the first class at the top.

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
    >>> scores = lk.scores.ClassScores([[1.0, 0.0], [0.0, 2.0], [3.0, 2.5]], ["a", "b", "b"], ["a", "b"])
    >>> [text.get_text() for text in lk.plot.confusion(lk.multiclass.confusion(scores)).texts]
    ['50', '50', '100', '0']
    """
    if isinstance(result, ClassEvaluation):
        result = result.confusion
    counted = require_kind(result, Confusion, "confusion")
    rates = 100.0 * counted.rates[::-1]  # row 0 of the cells is at the bottom
    few = len(counted.classes) <= MOST_TEXTS
    texts = tuple(tuple(_cell_text(value) if few else "" for value in row) for row in rates)
    places = tuple(float(i) for i in range(len(counted.classes)))
    wrong = "; ".join(
        f"{name}: {percent(error)} wrong"
        for name, error in zip(counted.classes, counted.error_rates, strict=True)
    )
    return Picture(
        "confusion",
        "Confusion of classes",
        Axis("most probable class", None, places, counted.classes),
        Axis("true class", None, places, counted.classes[::-1]),
        (Cells(rates, texts, "share of the true class (%)"),),
        f"For each true class the share of trials given to each class. {wrong}.",
        legend="none",
        grid=False,
    ).drawn(look)


def _cell_text(value: float) -> str:
    """A share in percent, with a digit after the point where it is below ten."""
    # 9.95 and more would be rounded to 10.0.
    return f"{value:.0f}" if value >= 9.95 or value == 0.0 else f"{value:.1f}"


def class_calibration(result: ClassEvaluation | ClassCalibration, **look: Unpack[Look]) -> Drawn:
    """The mean loss of each class, as the scores are and after refinement: what lies between is calibration.

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
    >>> scores = lk.scores.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> axes = lk.plot.class_calibration(lk.multiclass.evaluate(scores))
    >>> axes.get_legend_handles_labels()[1]
    ['guessing', 'actual', 'refined']
    """
    if isinstance(result, ClassEvaluation):
        result = calibration_of(result)
    losses = require_kind(result, ClassCalibration, "class_calibration")
    k = len(losses.classes)
    places = np.arange(float(k))
    # Guessing by the prior costs -log2 of it, drawn as a step over the place of each class.
    blind = np.repeat(-np.log2(losses.prior), 2)
    edges = np.repeat(np.arange(k + 1.0) - 0.5, 2)[1:-1]
    marks: list[Mark] = [Line(edges, blind, Ink("reference", "dash", 0.8), "guessing")]
    for at, one, other in zip(places, losses.actual, losses.refined, strict=True):
        marks.append(Line(np.array([at, at]), np.array([one, other]), Ink("guide", width=1.2)))
    shown = (
        HoverValues("class", losses.classes),
        HoverValues("actual (bits)", losses.actual),
        HoverValues("refined", losses.refined),
    )
    marks.append(Points(places, losses.actual, Ink("nontarget"), "circle", label="actual", hover=shown))
    marks.append(Points(places, losses.refined, Ink("target"), "diamond", label="refined", hover=shown))
    told = "; ".join(
        f"{name}: {number(one)} instead of {number(other)}"
        for name, one, other in zip(losses.classes, losses.actual, losses.refined, strict=True)
    )
    return Picture(
        "class_calibration",
        "Calibration of each class",
        Axis("class", (-0.5, k - 0.5), tuple(places.tolist()), losses.classes),
        Axis("mean loss (bits)"),
        tuple(marks),
        f"Mean loss of each class in bits, as it is and after refinement. {told}.",
    ).drawn(look)


def pair_histogram(curve: PairHistogram, **look: Unpack[Look]) -> Drawn:
    """Histograms of the LLRs of one class against another, of the trials of both.

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
    >>> scores = lk.scores.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> axes = lk.plot.pair_histogram(lk.multiclass.pair_histograms(scores, [("0", "2")])[0])
    >>> axes.get_title()
    '0 against 2: EER 0.00 %'
    """
    curve = require_kind(curve, PairHistogram, "pair_histogram")
    pair = curve.histogram
    top = float(max(pair.target_density.max(), pair.nontarget_density.max()))
    return Picture(
        "pair_histogram",
        f"{curve.target} against {curve.other}: EER {percent(curve.eer)}",
        Axis(f"LLR of {curve.target} against {curve.other} (nats)"),
        Axis("density", (0.0, 1.15 * top)),  # room for the legend
        (
            histogram_stairs(pair, "nontarget", f"trials of {curve.other}"),
            histogram_stairs(pair, "target", f"trials of {curve.target}"),
            Line(np.zeros(2), np.array([0.0, 1.15 * top]), Ink("guide", width=0.6)),
        ),
        f"Histograms of the log-likelihood-ratios of {curve.target} against {curve.other} for the trials "
        f"of both, with an equal error rate of {percent(curve.eer)}.",
        density=True,
    ).drawn(look)


def class_idempotence(curve: Idempotence, **look: Unpack[Look]) -> Drawn:
    """Means of the LLRs over the last class against what calibration wants of them; the band is two errors.

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
    >>> import numpy as np
    >>> labels = np.arange(90) % 3
    >>> loglik = np.random.default_rng(0).normal(size=(90, 3)) + 2.0 * np.eye(3)[labels]
    >>> axes = lk.plot.class_idempotence(lk.multiclass.idempotence(lk.scores.ClassScores(loglik, labels)))
    >>> axes.get_xlabel()
    'expected mean LLR (nats)'
    """
    means = require_kind(curve, Idempotence, "class_idempotence")
    # A band needs ascending places.
    order = np.argsort(means.expected, axis=None)
    x, errors = means.expected.ravel()[order], means.standard_errors.ravel()[order]
    both = np.concatenate([means.observed.ravel(), means.expected.ravel()])
    # All means equal: an axis still needs a width.
    margin = 0.06 * float(np.ptp(both)) or 1.0
    ends = np.array([both.min() - margin, both.max() + margin])
    marks: list[Mark] = [
        Band(x, x - 2.0 * errors, x + 2.0 * errors, Ink("reference"), "two standard errors"),
        Line(ends, ends, Ink("guide", width=0.8), "calibrated"),
    ]
    others = tuple(f"{other} over {means.classes[-1]}" for other in means.classes[:-1])
    for j, name in enumerate(means.classes):
        shown = (
            HoverValues("LLR", others),
            HoverValues("expected", means.expected[j], per_nat=1),
            HoverValues("observed", means.observed[j], per_nat=1),
        )
        marks.append(
            Points(means.expected[j], means.observed[j], Ink(j), label=f"trials of {name}", hover=shown)
        )
    verdict = f"p = {means.p_value:.2g}" if means.p_value >= 0.001 else "p < 0.001"
    if np.isnan(means.p_value):
        verdict = ""
    largest = Amount(means.largest_deviation, ".3f")
    return Picture(
        "class_idempotence",
        f"Is the LLR of the LLR the LLR? {verdict}".rstrip(),
        Axis("expected mean LLR (nats)", (float(ends[0]), float(ends[1]))),
        Axis("observed mean LLR (nats)", (float(ends[0]), float(ends[1]))),
        tuple(marks),
        "Means of the log-likelihood-ratios over the last class against those of calibrated Gaussian "
        f"ones; the largest difference is {largest}{', ' * bool(verdict)}{verdict}.",
        equal=True,
        legend="below",
        amounts=(largest,),
    ).drawn(look)
