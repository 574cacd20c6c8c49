"""devPAV: how far the PAV map of LLRs is from saying "as you were"."""

from __future__ import annotations

import math

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._llr_units import LN10
from llrkit.core.counting import count_blocks
from llrkit.core.pav_and_hull import PavBlocks
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels


@takes_labels
def dev_pav(source: ScoreSource) -> float:
    """Mean distance between the PAV map of the LLRs and the identity, in log10 (Vergeer et al. 2021).

    ``1 / (x_K - x_1) ∫ |PAV(x) - x| dx`` over the LLRs whose PAV value is finite, straight lines between
    them. 0 is perfect; nan when the classes do not overlap (no PAV value is finite), inf when a finite PAV
    value belongs to an infinite LLR. A calibrated system shows more than 0 too: :func:`calibration_null`.

    References
    ----------
    Vergeer, van Schaik & Sjerps, Forensic Science International 321 (2021) 110722.

    Examples
    --------
    >>> import llrkit as lk
    >>> shifted = lk.Scores([1.0] * 3 + [-1.0], [1.0] + [-1.0] * 3)  # log(3) would be right
    >>> round(lk.dev_pav(shifted) * LN10, 6), round(0.5 * (math.log(3) - 1.0), 6)
    (0.049306, 0.049306)
    """
    return dev_pav_from_blocks(count_blocks(source))


def dev_pav_from_blocks(blocks: PavBlocks) -> float:
    """devPAV of pooled bins."""
    finite = np.flatnonzero(np.isfinite(blocks.llr))
    if len(finite) == 0:
        return math.nan
    x = np.column_stack([blocks.low[finite], blocks.high[finite]]).ravel()
    if not np.isfinite(x).all():
        return math.inf
    gap = np.repeat(blocks.llr[finite], 2) - x
    if x[-1] == x[0]:
        return abs(float(gap[0])) / LN10
    return _area_to_identity(x, gap) / float(x[-1] - x[0]) / LN10


def _area_to_identity(x: FloatArray, gap: FloatArray) -> float:
    """Area between a polyline and zero: trapezoids, two triangles where the line crosses."""
    width, a, b = np.diff(x), gap[:-1], gap[1:]
    same = a * b >= 0.0
    total = np.where(same, 1.0, np.abs(a) + np.abs(b))
    mean = np.where(same, 0.5 * np.abs(a + b), 0.5 * (a * a + b * b) / total)
    return float((mean * width).sum())
