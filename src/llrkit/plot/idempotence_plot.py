"""The LLR of the LLR against the LLR: is the system calibrated?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from llrkit._format import percent
from llrkit.errors import InputError
from llrkit.plot.looks import Looks, with_looks
from llrkit.plot.picture import Axis, HoverValues, Ink, Line, Mark, Picture, band, system_ink
from llrkit.plot.render import Ax, Drawn, Renderer, render
from llrkit.plot.tippett_histogram_pav import OFF_THE_PICTURE, limits_around
from llrkit.trust.calibration.check_calibration import CalibrationCheck
from llrkit.trust.calibration.llr_curves import LlrCurve


@with_looks
def idempotence(
    curves: CalibrationCheck | LlrCurve | Sequence[LlrCurve],
    *,
    ax: Ax = None,
    renderer: Renderer = "matplotlib",
    **looks: Unpack[Looks],
) -> Drawn:
    """The LLR of the LLR against the LLR: on the diagonal where the LLRs are calibrated.

    The band is where 95 % of calibrated systems with as many trials have the first estimate; how much of
    each estimate is outside its own is in the description.

    Parameters
    ----------
    curves
        What :func:`llrkit.check_calibration` found, or some of its ``curves``.

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
    return render(
        Picture(
            "idempotence",
            "The LLR of the LLR",
            Axis("log-likelihood-ratio (nats)", limits),
            Axis("LLR of the LLR (nats)", limits),
            tuple(marks),
            f"The LLR of the LLR against the LLR. {'; '.join(told)}.",
            equal=True,
            legend="upper left",
        ),
        ax,
        renderer,
    )
