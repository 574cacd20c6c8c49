"""Costs against the EER: what families of calibrated LLRs must cost, and what lists were measured to."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from llrkit.core.elementary_functions import probit
from llrkit.metrics.theory_costs import CLLR, DIFFERENCE, EER_RANGE, TheoryCosts
from llrkit.plot.det_axes import on_axis, probit_axis
from llrkit.plot.looks import Looks, with_looks
from llrkit.plot.picture import Axis, HoverValues, Ink, Line, Mark, Picture, Points, system_ink
from llrkit.plot.render import Ax, Drawn, Renderer, render


@with_looks
def theory(
    curve: TheoryCosts, *, ax: Ax = None, renderer: Renderer = "matplotlib", **looks: Unpack[Looks]
) -> Drawn:
    """A cost against the EER: a line for each family of calibrated LLRs, a point for each measured list.

    For Gaussian LLRs the EER fixes every cost; other families show how much more a cost depends on than
    the EER.

    Parameters
    ----------
    curve
        What is drawn.

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
    return render(
        Picture(
            "theory",
            DIFFERENCE if curve.cost_name == DIFFERENCE else f"{curve.cost_name} that the EER implies",
            probit_axis("equal error rate (%)", limits),
            y,
            tuple(marks),
            f"{curve.cost_name} against the equal error rate for {len(curve.costs)} families of calibrated "
            f"log-likelihood-ratios. {curve.sentence}",
            legend="below",
        ),
        ax,
        renderer,
    )
