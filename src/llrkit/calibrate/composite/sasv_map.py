"""SasvMap: one LLR from those of speaker verification and of a spoofing countermeasure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.maps import Columns, Map

SASV = "sasv-"
"""How methods that fuse speaker verification with a countermeasure begin."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SasvMap(Map):
    """``llr = -log((1 - r) / LR_asv + r / LR_cm)``: targets against non-targets and spoofs, of share r.

    Both LRs come from a score by a straight line, ``log LR = slope * score + offset``. If non-targets sound
    as bona fide as targets, and spoofs are as hard for the ASV system as targets, this is the LLR of
    targets against the mixture (Wang et al., arXiv 2406.10836).

    Examples
    --------
    >>> fuse = SasvMap(asv_slope=1.0, asv_offset=0.0, cm_slope=1.0, cm_offset=0.0, spoof_share=0.5)
    >>> [round(float(llr), 3) for llr in fuse([[5.0, 5.0], [5.0, -5.0], [-5.0, 5.0]])]
    [5.0, -4.307, -4.307]
    """

    asv_slope: float
    asv_offset: float
    cm_slope: float
    cm_offset: float
    spoof_share: float
    asv_name: str = "asv"
    cm_name: str = "cm"

    kind: ClassVar[str] = "sasv"

    @property
    def n_systems(self) -> int:
        """The ASV and the CM system."""
        return 2

    @property
    def system_names(self) -> list[str]:
        """First the ASV system, then the CM system."""
        return [self.asv_name, self.cm_name]

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The LLR of both."""
        lines = ((self.asv_slope, self.asv_offset), (self.cm_slope, self.cm_offset))
        llrs = [line(scores[:, i], slope, offset) for i, (slope, offset) in enumerate(lines)]
        return combined(llrs[0], llrs[1], self.spoof_share)

    def __repr__(self) -> str:
        return (
            f"SasvMap({self.method or self.kind}: llr = -log({1.0 - self.spoof_share:.4g} / LR_asv + "
            f"{self.spoof_share:.4g} / LR_cm), log LR_asv = {self.asv_slope:.4g} {self.asv_name} "
            f"{self.asv_offset:+.4g}, log LR_cm = {self.cm_slope:.4g} {self.cm_name} {self.cm_offset:+.4g})"
        )


def line(scores: FloatArray, slope: float, offset: float) -> FloatArray:
    """A straight line; one without slope is constant also for infinite scores."""
    return np.full(len(scores), offset) if slope == 0.0 else slope * scores + offset


def combined(asv: FloatArray, cm: FloatArray, spoof_share: float) -> FloatArray:
    """LLRs of targets against non-targets and spoofs mixed by a share of spoofs.

    Examples
    --------
    >>> combined(np.array([2.0]), np.array([-1.0]), 0.0), combined(np.array([2.0]), np.array([-1.0]), 1.0)
    (array([2.]), array([-1.]))
    """
    if spoof_share in (0.0, 1.0):
        return np.asarray(cm if spoof_share else asv, dtype=np.float64)
    return np.asarray(-np.logaddexp(np.log1p(-spoof_share) - asv, np.log(spoof_share) - cm))
