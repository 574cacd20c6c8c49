"""Operating points: what an error costs and how often a target comes.

An operating point is mathematics without data, so it lives here, where both the closed forms and the
metrics can reach it. Presets are data: each carries its source, and one whose definition could not be
confirmed is refused unless asked for with ``allow_unconfirmed=True``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from llrkit.core.elementary_functions import probability
from llrkit.errors import InputError


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The prior of a target and the costs of the two errors.

    ``Cdet = c_miss * p_target * Pmiss + c_fa * (1 - p_target) * Pfa``; only the effective prior matters
    for decisions: accept when ``llr >= threshold`` with ``threshold = -logit(effective_prior)``.

    Examples
    --------
    >>> point = OperatingPoint(p_target=0.01, c_miss=10, c_fa=1)
    >>> round(point.effective_prior, 4), round(point.threshold, 4), round(point.beta, 4)
    (0.0917, 2.2925, 9.9)
    >>> point.default_cost
    0.1
    """

    p_target: float
    """Prior probability of a target."""
    c_miss: float = 1.0
    """Cost of a miss."""
    c_fa: float = 1.0
    """Cost of a false alarm."""
    name: str = ""
    """Name of the point in tables."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "p_target", probability(self.p_target, "p_target"))
        for field in ("c_miss", "c_fa"):
            try:
                cost = float(getattr(self, field))
            except (TypeError, ValueError):
                cost = math.nan
            if not (0.0 < cost < math.inf):
                raise InputError(f"{field} must be a positive number, got {getattr(self, field)!r}")
            object.__setattr__(self, field, cost)
        if not self.name:
            label = f"P={self.p_target:g}"
            if (self.c_miss, self.c_fa) != (1.0, 1.0):
                label += f",Cmiss={self.c_miss:g},Cfa={self.c_fa:g}"
            object.__setattr__(self, "name", label)

    @property
    def miss_weight(self) -> float:
        """What Pmiss is multiplied by in the cost: ``c_miss * p_target``."""
        return self.c_miss * self.p_target

    @property
    def fa_weight(self) -> float:
        """What Pfa is multiplied by in the cost: ``c_fa * (1 - p_target)``."""
        return self.c_fa * (1.0 - self.p_target)

    @property
    def default_cost(self) -> float:
        """Cost of the better of "always reject" and "always accept"; the normalizer of DCFs."""
        return min(self.miss_weight, self.fa_weight)

    @property
    def beta(self) -> float:
        """``(c_fa / c_miss) (1 - p_target) / p_target``, the odds against a target, costs included."""
        return self.c_fa / self.c_miss * ((1.0 - self.p_target) / self.p_target)

    @property
    def effective_prior(self) -> float:
        """The prior that, with unit costs, leads to the same decisions."""
        return self.miss_weight / (self.miss_weight + self.fa_weight)

    @property
    def log_odds(self) -> float:
        """Logit of the effective prior (``plo`` in BOSARIS)."""
        return -math.log(self.beta)

    @property
    def threshold(self) -> float:
        """The Bayes threshold: accept when the LLR is at least this."""
        return math.log(self.beta)

    def cost(self, p_miss: float, p_fa: float, *, normalized: bool = True) -> float:
        """Detection cost of a pair of error rates, by default divided by ``default_cost``.

        Parameters
        ----------
        p_miss
            Miss rate, between 0 and 1.
        p_fa
            False-alarm rate, between 0 and 1.
        normalized
            Divide by the cost of deciding without scores.

        Examples
        --------
        >>> OperatingPoint(0.001).cost(0.5, 0.0001)
        0.5999
        """
        if not normalized:
            return self.miss_weight * p_miss + self.fa_weight * p_fa
        # dividing first keeps "reject all" at exactly 1
        return p_miss + self.beta * p_fa if self.beta >= 1.0 else p_miss / self.beta + p_fa
