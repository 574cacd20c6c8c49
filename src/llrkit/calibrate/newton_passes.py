"""The loop of every fit by Newton steps over all trials, what is kept of it, and when it did not settle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.newton_minimizer import Minimum, Objective, newton
from llrkit.errors import SeparationError


@dataclass(frozen=True, eq=False)
class Settled:
    """How a fit ended: the objective, the largest component of its gradient, and the passes it took."""

    objective: float
    gradient: float
    passes: int

    @classmethod
    def of(cls, minimum: Minimum) -> Self:
        """What is worth keeping of a minimum; the look at the trials before the first step is a pass too."""
        largest = float(np.abs(minimum.gradient).max())
        return cls(float(minimum.value), largest, minimum.evaluations + 1)

    def details(self) -> dict[str, float]:
        """What is worth keeping in a map."""
        return {"objective": self.objective, "gradient": self.gradient, "passes": self.passes}


def settle(
    on_sample: Objective,
    on_all: Objective,
    start: FloatArray,
    unit: float,
    *,
    max_passes: int,
    chance: float = 0.0,
    negligible: float = 0.0,
) -> Minimum:
    """A first guess on a sample, then Newton steps on everything, each of which is one pass.

    ``unit`` is what the objective is measured in: at an extreme prior the whole of it is small, and so must
    be what counts as nothing. ``chance`` is a gain on the sample that others would not have, ``negligible``
    one on everything that is not worth a pass.
    """
    # a sample may be separable where the whole is not: stop before its weights run away
    guess = newton(on_sample, start, tolerance=1e-6 * unit, good_enough=1e-5 * unit, negligible=chance)
    return newton(on_all, guess.x, tolerance=1e-13 * unit, max_evaluations=max_passes, negligible=negligible)


def refuse_runaway(minimum: Minimum, blind: float, weights: str, remedy: str) -> None:
    """Refuse a fit that ran off to infinite weights; ``blind`` is the cost of scores that say nothing."""
    if minimum.value < 1e-7 * blind or float(np.abs(minimum.x).max()) > 1e5 or not minimum.converged:
        raise SeparationError(
            "the fit did not converge: the classes are separated without error (or nearly so), and the "
            f"best {weights} infinite; {remedy}"
        )
