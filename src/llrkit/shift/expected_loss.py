"""What a map is expected to lose on scores whose two classes are known as masses in cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.densities.likelihood_maximizer import maximize
from llrkit.core.elementary_functions import softplus
from llrkit.shift.moved_mixture import MovedMixture

Llrs = Callable[[FloatArray], FloatArray]


def expected_cllr(llrs: FloatArray, masses: FloatArray) -> float:
    """Cllr of LLRs in cells, of the masses of targets and non-targets there.

    Examples
    --------
    >>> expected_cllr(np.array([0.0, 0.0]), np.array([[0.2, 0.8], [0.9, 0.1]]))
    1.0
    """
    return float(masses[0] @ softplus(-llrs) + masses[1] @ softplus(llrs)) / (2.0 * math.log(2.0))


def best_line_before(llrs: Llrs, mixture: MovedMixture, scale: float) -> tuple[float, float]:
    """The line ``a s + b`` after which a map loses least on the classes of a mixture.

    On the rungs with one move for both classes it is that move; with a move per class none undoes both, and
    this one is the best for what the map is used for.
    """
    spread = math.sqrt(mixture.target.spread * mixture.nontarget.spread)
    middle = 0.5 * (mixture.target.center + mixture.nontarget.center)
    moved = middle + 0.5 * (mixture.target.offset + mixture.nontarget.offset)
    if mixture.rung <= 1:
        return 1.0 / spread, middle - moved / spread

    def loss(x: FloatArray) -> float:
        slope = math.exp(x[0]) / spread
        return -expected_cllr(llrs(middle + slope * (mixture.at - moved) + x[1] * scale), mixture.masses)

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        steps = 1e-4 * np.eye(2)
        return loss(x), np.array([(loss(x + step) - loss(x - step)) / 2e-4 for step in steps])

    best = maximize(objective, [[0.0, 0.0]], [(-3.0, 3.0), (-10.0, 10.0)]).x
    slope = math.exp(best[0]) / spread
    return slope, middle + best[1] * scale - slope * moved


Moved = tuple[MovedMixture, tuple[float, float]]
"""A description of the scores, and the line that undoes its move."""


def harm_interval(
    llrs: Llrs, best: Moved, gain: tuple[float, float], rivals: Sequence[Moved], n: float
) -> tuple[float, float]:
    """Between which values the harm is, whichever of several descriptions of the scores is true.

    Each description is asked twice: for the classes as it has them, and for the scores that were seen, shared
    out between the classes. ``gain`` is what the uncertain parameters of the best one leave open; that and
    the error of a mean over ``n`` trials is put at both ends.
    """
    harms = []
    for mixture, line in (best, *rivals):
        before, after = llrs(mixture.at), llrs(line[0] * mixture.at + line[1])
        for masses in (mixture.masses, mixture.shared_out):
            harms.append(expected_cllr(before, masses) - expected_cllr(after, masses))
    mixture, line = best
    before, after = llrs(mixture.at), llrs(line[0] * mixture.at + line[1])
    lost = softplus(-before) - softplus(-after), softplus(before) - softplus(after)
    variance = sum(
        (float(masses @ each**2) - float(masses @ each) ** 2) / max(n * share, 1.0)
        for masses, each, share in zip(
            mixture.shared_out, lost, (mixture.share, 1.0 - mixture.share), strict=True
        )
    )
    error = 1.96 * math.sqrt(max(variance, 0.0)) / (2.0 * math.log(2.0))
    low, high = (
        min(harms) - math.hypot(harms[0] - gain[0], error),
        max(harms) + math.hypot(gain[1] - harms[0], error),
    )
    return max(low, 0.0), high
