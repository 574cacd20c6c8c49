"""The figures of the paper this project starts from, and the heat map of its 25 trial lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import number, percent
from llrkit._llr_units import Amount
from llrkit.evaluation.alpha_scan import PriorScan
from llrkit.evaluation.condition_tables import HeatMap
from llrkit.metrics.curve_base import Curve, as_floats, same_length
from llrkit.plot.looks import Looks, with_looks
from llrkit.plot.picture import MARKERS, Axis, Cells, HoverValues, Ink, Line, Mark, Picture, Points, Text
from llrkit.plot.render import Ax, Drawn, Renderer, render
from llrkit.theory import CalibratedPair
from llrkit.theory.pair_curve import PairCurve, pair_curve


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


@with_looks
def two_gaussians(
    pair: CalibratedPair | PairCurve,
    *,
    ax: Ax = None,
    renderer: Renderer = "matplotlib",
    **looks: Unpack[Looks],
) -> Drawn:
    """The densities of calibrated LLRs: non-targets on the left, targets on the right.

    Any calibrated pair will do; for the Gaussian one the means are ``-mu`` and ``mu`` and the variance of
    both is ``2 mu``.

    Parameters
    ----------
    pair
        A calibrated pair of distributions.

    Examples
    --------
    >>> import llrkit as lk
    >>> axes = lk.plot.two_gaussians(lk.theory.GaussianLLR.from_eer(0.05))
    >>> axes.get_xlabel()
    'log-likelihood-ratio (nats)'
    """
    curve = pair_curve(pair) if isinstance(pair, CalibratedPair) else pair
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
    return render(
        Picture(
            "two_gaussians",
            f"Calibrated LLRs with an EER of {percent(curve.eer)}",
            Axis("log-likelihood-ratio (nats)", (float(curve.llr[0]), float(curve.llr[-1]))),
            Axis("density", (0.0, 1.45 * top)),
            tuple(marks),
            f"Densities of calibrated log-likelihood-ratios: non-targets around {means[0]}, targets around "
            f"{means[1]}, equal error rate {percent(curve.eer)}.",
            legend="upper right",
            density=True,
            amounts=means,
        ),
        ax,
        renderer,
    )


@with_looks
def cllr_scatter(
    curve: CllrScatter, *, ax: Ax = None, renderer: Renderer = "matplotlib", **looks: Unpack[Looks]
) -> Drawn:
    """Cllr by one calibration method against Cllr by another, one point for each trial list.

    Parameters
    ----------
    curve
        What is drawn.

    References
    ----------
    van Leeuwen & Brümmer, Interspeech 2013, figure 1.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.plot.paper_figures import CllrScatter
    >>> axes = lk.plot.cllr_scatter(CllrScatter("CMLG", "logistic regression", [0.1, 0.8], [0.11, 0.8]))
    >>> axes.get_ylabel()
    'Cllr, logistic regression (bits)'
    """
    both = np.concatenate([curve.x, curve.y])
    low, high = float(np.nanmin(both)), float(np.nanmax(both))
    margin = 0.06 * (high - low) or 0.1
    ends = np.array([low - margin, high + margin])
    shown = [HoverValues(curve.x_name, curve.x), HoverValues(curve.y_name, curve.y)]
    if curve.labels:
        shown.insert(0, HoverValues("list", curve.labels))
    n = len(curve.x)
    return render(
        Picture(
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
        ),
        ax,
        renderer,
    )


@with_looks
def prior_scan(
    curve: PriorScan, *, ax: Ax = None, renderer: Renderer = "matplotlib", **looks: Unpack[Looks]
) -> Drawn:
    """A cost against the log-odds of the weight alpha that calibration was trained with.

    Parameters
    ----------
    curve
        What is drawn.

    References
    ----------
    van Leeuwen & Brümmer, Interspeech 2013, figure 2.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.evaluation.alpha_scan import PriorScan
    >>> scan = PriorScan([-2.0, 0.0, 2.0], {"CMLG": [0.26, 0.39, 0.55], "logistic": [0.25, 0.27, 0.30]})
    >>> [line.get_label() for line in lk.plot.prior_scan(scan).lines if not line.get_label().startswith("_")]
    ['CMLG', 'logistic']
    """
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
        for name, c in ((name, costs[np.isfinite(costs)]) for name, costs in curve.costs.items())
        if len(c)
    )
    return render(
        Picture(
            "prior_scan",
            "What the training weight does to the cost",
            Axis("log α − log(1 − α)"),
            Axis(curve.cost_name),
            tuple(marks),
            f"{curve.cost_name} against the log-odds of the training weight: {ranges}.",
        ),
        ax,
        renderer,
    )


@with_looks
def heat_map(
    curve: HeatMap, *, ax: Ax = None, renderer: Renderer = "matplotlib", **looks: Unpack[Looks]
) -> Drawn:
    """A number for each pair of conditions, written into shaded cells.

    Parameters
    ----------
    curve
        What is drawn.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.evaluation.condition_tables import HeatMap
    >>> rates = HeatMap([[0.26, 0.2], [0.2, 0.03]], ("5 s", "full"), ("5 s", "full"), percent=True)
    >>> [text.get_text() for text in lk.plot.heat_map(rates).texts]
    ['26.0', '20.0', '20.0', '3.0']
    """
    scale, digits = (100.0, 1) if curve.percent else (1.0, 3)
    shown = np.asarray(curve.values)[np.isfinite(curve.values)]
    if curve.percent and ((shown > 0.0) & (shown < 0.01)).any():
        digits = 2  # below one per cent a single digit tells little apart
    texts = tuple(tuple(number(scale * value, digits) for value in row) for row in curve.values)
    unit = f"{curve.value_name} (%)" if curve.percent else curve.value_name
    rows, columns = range(len(curve.rows)), range(len(curve.columns))
    written = "; ".join(f"{row}: {', '.join(cells)}" for row, cells in zip(curve.rows, texts, strict=True))
    return render(
        Picture(
            "heat_map",
            curve.value_name,
            Axis(curve.column_name, None, tuple(columns), curve.columns),
            Axis(curve.row_name, None, tuple(rows), curve.rows),
            (Cells(scale * curve.values, texts, unit),),
            f"{unit} for each {curve.row_name} (rows) and {curve.column_name} "
            f"({', '.join(curve.columns)}). {written}.",
            legend="none",
            grid=False,
        ),
        ax,
        renderer,
    )
