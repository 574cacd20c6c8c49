"""What must hold for calibrated LLRs: expectations, exceedances, signs and spreads, each with its error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.core.moments import Moments
from llrkit.scores import ScoreSource
from llrkit.trust.intervals.centered_sums import estimate_sums
from llrkit.trust.intervals.speakers import Speakers

MEANINGLESS_ABOVE = 3.0
"""Variance of the LLRs above which the mean of a likelihood ratio rests on trials that hardly ever occur."""
THRESHOLDS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0)
_LARGEST = 80.0  # e^80 says all there is to say, and its sums and squares stay finite


@dataclass(frozen=True)
class Expectation:
    """The mean likelihood ratio of non-targets, or its inverse for targets: 1 if calibrated."""

    name: str
    mean: float
    standard_error: float
    usable: bool
    """Whether the mean says anything: with well separated classes it rests on trials that hardly occur,
    and is usually well below 1 although nothing is wrong."""


@dataclass(frozen=True)
class Exceedance:
    """An error rate at a threshold, as the LLRs of the other class predict it and as it was counted.

    For calibrated LLRs ``Pfa(t) = mean_target e^-x [x >= t]`` and ``Pmiss(t) = mean_nontarget e^x [x < t]``.
    """

    kind: str
    """``"p_fa"`` or ``"p_miss"``."""
    threshold: float
    predicted: float
    counted: float
    standard_error: float
    """Of the difference."""

    @property
    def z(self) -> float:
        """Predicted less counted, in standard errors."""
        gap = self.predicted - self.counted
        return gap / self.standard_error if self.standard_error > 0.0 else math.copysign(math.inf, gap)


@dataclass(frozen=True)
class ClassShape:
    """Mean and variance of the LLRs of a class; ``variance / (2 |mean|)`` is 1 for calibrated Gaussians."""

    mean: float
    mean_error: float
    variance: float
    ratio: float
    ratio_error: float
    right_sign: bool
    """Targets must be positive on average, non-targets negative, whatever the distribution."""


@dataclass(frozen=True)
class Identities:
    """All of them."""

    expectations: tuple[Expectation, ...]
    exceedances: tuple[Exceedance, ...]
    target: ClassShape
    nontarget: ClassShape

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "expectations": [asdict(one) for one in self.expectations],
            "exceedances": [{**asdict(one), "z": one.z} for one in self.exceedances],
            "target": asdict(self.target),
            "nontarget": asdict(self.nontarget),
        }


def identities(
    source: ScoreSource,
    moments: Moments,
    speakers: Speakers | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
) -> Identities:
    """Check the identities; two passes, at thresholds on either side of 0."""
    up = tuple(sorted(abs(float(t)) for t in thresholds))
    terms = _IdentityTerms(up)
    sums = estimate_sums(source, terms, speakers)
    usable = max(float(moments.target.variance[0]), float(moments.nontarget.variance[0])) <= MEANINGLESS_ABOVE
    k = len(up)
    expectations = tuple(
        Expectation(name, float(sums.means[class_index, column]), sums.standard_error(column), usable)
        for name, class_index, column in (
            ("mean LR of non-targets", 1, 2 * k), ("mean 1/LR of targets", 0, 2 * k + 1)
        )
    )  # fmt: skip
    exceedances = []
    for kind, sign, own in (("p_fa", 1.0, 0), ("p_miss", -1.0, 1)):
        n = float((moments.nontarget if kind == "p_fa" else moments.target).count)
        for i, threshold in enumerate(up):
            column = own * k + i
            predicted, counted = float(sums.means[own, column]), 0.0 - float(sums.means[1 - own, column])
            # few errors, or none, say too little about how many there might have been
            missing = (predicted * (1.0 - predicted) - counted * (1.0 - counted)) / n
            error = math.sqrt(sums.standard_error(column) ** 2 + max(missing, 0.0))
            exceedances.append(Exceedance(kind, sign * threshold + 0.0, predicted, counted, error))
    return Identities(expectations, tuple(exceedances), _shape(moments, True), _shape(moments, False))


def _shape(moments: Moments, is_target: bool) -> ClassShape:
    own = moments.target if is_target else moments.nontarget
    mean, variance = float(own.mean[0]), float(own.variance[0])
    third, fourth = float(own.m3[0] / own.n), float(own.m4[0] / own.n)
    ratio = variance / (2.0 * abs(mean)) if mean != 0.0 else math.inf
    if mean == 0.0 or variance == 0.0:
        error = math.nan
    else:  # delta method of the logarithm, with the covariance of sample mean and sample variance
        sign = math.copysign(1.0, mean)
        spread = (fourth - variance**2) / variance**2 + variance / mean**2
        spread -= 2.0 * sign * third / (variance * abs(mean))
        error = ratio * math.sqrt(max(spread, 0.0) / own.n)
    right = mean >= 0.0 if is_target else mean <= 0.0
    return ClassShape(mean, math.sqrt(variance / own.n), variance, ratio, error, right)


@dataclass(frozen=True)
class _IdentityTerms:
    """Differences between predicted and counted errors, then the likelihood ratios themselves."""

    thresholds: tuple[float, ...]

    @property
    def size(self) -> int:
        return 2 * len(self.thresholds) + 2

    def columns(self, class_index: int) -> tuple[int, ...]:
        return (*range(self.size - 2), self.size - 1 if class_index == 0 else self.size - 2)

    def of(self, values: npt.NDArray[Any], class_index: int) -> list[FloatArray]:
        x = values.astype(np.float64, copy=False)
        # 1/LR of targets, LR of non-targets
        ratio = np.exp(np.minimum(-x if class_index == 0 else x, _LARGEST))
        if class_index == 0:
            columns = [ratio * (x >= t) for t in self.thresholds]
            columns += [-(x < -t).astype(np.float64) for t in self.thresholds]
        else:
            columns = [-(x >= t).astype(np.float64) for t in self.thresholds]
            columns += [ratio * (x < -t) for t in self.thresholds]
        return [*columns, ratio]
