"""What a map is expected to lose on scores whose two classes are known as masses in cells."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.densities.maximum_likelihood import maximize
from llrkit.core.special import softplus
from llrkit.shift.moved_mixture import Mixture

Llrs = Callable[[FloatArray], FloatArray]


def expected_cllr(llrs: FloatArray, masses: FloatArray) -> float:
    """Cllr of LLRs in cells, of the masses of targets and non-targets there.

    Examples
    --------
    >>> expected_cllr(np.array([0.0, 0.0]), np.array([[0.2, 0.8], [0.9, 0.1]]))
    1.0
    """
    return float(masses[0] @ softplus(-llrs) + masses[1] @ softplus(llrs)) / (2.0 * math.log(2.0))


def best_line_before(llrs: Llrs, mixture: Mixture, scale: float) -> tuple[float, float]:
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
