"""How far the difference of two systems may be off, and whether it may be chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, stdtr

from llrkit._arrays import FloatArray
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.trust.intervals.interval_formulas import quantile
from llrkit.trust.intervals.jackknife import Jackknife

FLIPS = 3999
"""Random choices of the signs of all speakers."""


@dataclass(frozen=True, eq=False)
class DifferenceError(ReadOnlyArrays):
    """The standard error of a difference, and what the difference is compared with.

    Student's t suits most numbers. Where few speakers make the errors it is too cautious: those who make most
    of the difference make most of its standard error too. If both systems are equally good, either could
    have been the better one for each speaker; so the difference is compared with those that have random signs
    of the speakers in place of theirs. Such a test keeps its level however unequal the speakers are.

    Examples
    --------
    >>> round(DifferenceError(0.1).p_value(0.2), 4)
    0.0455
    >>> DifferenceError(0.1, 0.0, np.array([0.1, 0.2, 0.3])).p_value(0.25)
    0.5
    """

    standard_error: float
    df: float = math.inf
    flipped: FloatArray | None = None
    """Sizes of the difference with random signs of the speakers, ascending; None for Student's t."""

    def p_value(self, gap: float) -> float:
        """Two-sided test that there is no difference."""
        if self.flipped is not None:
            as_large = len(self.flipped) - int(np.searchsorted(self.flipped, abs(gap) * (1.0 - 1e-12)))
            return (1.0 + as_large) / (1.0 + len(self.flipped))
        if self.standard_error == 0.0:
            return 1.0 if gap == 0.0 else 0.0
        z = -abs(gap) / self.standard_error
        return 2.0 * float(ndtr(z) if math.isinf(self.df) else stdtr(self.df, z))

    def reach(self, level: float) -> float:
        """Half the width of the interval, which excludes 0 where the test rejects."""
        if self.flipped is None:
            return quantile(level, self.df) * self.standard_error
        most = math.floor((1.0 - level) * (1.0 + len(self.flipped)) + 1e-9) - 1
        return float(self.flipped[min(len(self.flipped) - 1 - most, len(self.flipped) - 1)])


def flipped_sizes(gap: Jackknife) -> FloatArray:
    """Sizes that the first difference would have with random signs of the speakers, ascending.

    Pseudo-values around the difference itself, uncorrected for bias. What pairs of speakers count twice is
    taken out (``counted_once``).

    Examples
    --------
    >>> means = np.array([1.0, 2.0, 3.0])  # of three speakers: their signs give 0, 2/3, 4/3 or 2
    >>> left_out = (means.sum() - means) / 2
    >>> np.unique(flipped_sizes(Jackknife(("mean",), np.array([2.0]), left_out[:, None])).round(6))
    array([0.      , 0.666667, 1.333333, 2.      ])
    """
    around = gap.deviations[:, 0] + gap.values[0]
    share = float(np.broadcast_to(gap.counted_once, 1)[0])
    sizes = np.abs(_random_signs(gap.n_speakers) @ around) / gap.n_speakers * math.sqrt(share)
    return np.asarray(np.sort(sizes))


@lru_cache(maxsize=2)
def _random_signs(n: int) -> FloatArray:
    """Random signs of n speakers, one row for each flip."""
    heads = np.random.default_rng([7, n]).integers(0, 2, size=(FLIPS, n)).astype(np.float64)
    signs = heads * 2.0 - 1.0
    signs.flags.writeable = False
    return signs
