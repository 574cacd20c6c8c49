"""What must hold for calibrated LLRs: expectations, exceedances, signs and spreads, each with its error."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit._plain import Json
from llrkit.core.moments import Moments
from llrkit.scores import ScoreSource
from llrkit.trust.intervals.centered_sums import ContributionSums
from llrkit.trust.intervals.jackknife import Jackknife
from llrkit.trust.intervals.speaker_cells import SpeakerCells

MEANINGLESS_ABOVE = 3.0
"""Variance of the LLRs above which the mean of a likelihood ratio rests on trials that hardly ever occur."""
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

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        return {
            "expectations": [asdict(one) for one in self.expectations],
            "exceedances": [{**asdict(one), "z": one.z} for one in self.exceedances],
            "target": asdict(self.target),
            "nontarget": asdict(self.nontarget),
        }


@dataclass(frozen=True, eq=False)
class _MeansWithErrors:
    """Means of both classes, and standard errors of their sums."""

    by_class: FloatArray
    errors: FloatArray

    @classmethod
    def of(cls, sums: ContributionSums) -> _MeansWithErrors:
        """From sums of values and of squares of independent trials."""
        means, squares = np.split(sums.means, 2, axis=1)
        variances = np.maximum(squares - means**2, 0.0) / sums.n[:, None]
        return cls(means, np.sqrt(variances.sum(axis=0)))


def identities(source: ScoreSource, moments: Moments, by_speaker: SpeakerCells | None = None) -> Identities:
    """Check the identities at thresholds on either side of 0; one pass.

    With ``by_speaker``, the sums of :data:`TERMS` by speaker, the errors are those of trials that share
    speakers, and there is no pass.
    """
    if by_speaker is None:
        sums = _MeansWithErrors.of(source.reduce(ContributionSums.at(_TermsWithSquares(TERMS))))
    else:
        without = Jackknife.of(by_speaker, lambda kept: kept.means.sum(axis=0))
        sums = _MeansWithErrors(by_speaker.total.means, without.standard_error)
    up = TERMS.thresholds
    usable = max(float(moments.target.variance[0]), float(moments.nontarget.variance[0])) <= MEANINGLESS_ABOVE
    k = len(up)
    expectations = tuple(
        Expectation(name, float(sums.by_class[class_index, column]), float(sums.errors[column]), usable)
        for name, class_index, column in (
            ("mean LR of non-targets", 1, 2 * k), ("mean 1/LR of targets", 0, 2 * k + 1)
        )
    )  # fmt: skip
    exceedances = []
    for kind, sign, own in (("p_fa", 1.0, 0), ("p_miss", -1.0, 1)):
        n = float((moments.nontarget if kind == "p_fa" else moments.target).count)
        for i, threshold in enumerate(up):
            column = own * k + i
            predicted, counted = (
                float(sums.by_class[own, column]),
                0.0 - float(sums.by_class[1 - own, column]),
            )
            # few errors, or none, say too little about how many there might have been
            missing = (predicted * (1.0 - predicted) - counted * (1.0 - counted)) / n
            error = math.sqrt(float(sums.errors[column]) ** 2 + max(missing, 0.0))
            exceedances.append(Exceedance(kind, sign * threshold + 0.0, predicted, counted, error))
    return Identities(
        expectations, tuple(exceedances), _shape_of_class(moments, True), _shape_of_class(moments, False)
    )


def _shape_of_class(moments: Moments, is_target: bool) -> ClassShape:
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
class IdentityTerms:
    """Differences between predicted and counted errors, then the likelihood ratios themselves."""

    thresholds: tuple[float, ...]

    @property
    def size(self) -> int:
        """Number of sums."""
        return 2 * len(self.thresholds) + 2

    def columns(self, class_index: int) -> tuple[int, ...]:
        """The sums of a class."""
        return (*range(self.size - 2), self.size - 1 if class_index == 0 else self.size - 2)

    def of(self, values: Array, class_index: int) -> list[FloatArray]:
        """What each score adds."""
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


TERMS = IdentityTerms((0.0, 1.0, 2.0, 3.0, 4.0, 6.0))
"""What is summed up to check the identities."""


@dataclass(frozen=True)
class _TermsWithSquares:
    """Contributions, and behind them their squares."""

    inner: IdentityTerms

    @property
    def size(self) -> int:
        return 2 * self.inner.size

    def columns(self, class_index: int) -> tuple[int, ...]:
        own = self.inner.columns(class_index)
        return (*own, *(self.inner.size + column for column in own))

    def of(self, values: Array, class_index: int) -> list[FloatArray]:
        arrays = self.inner.of(values, class_index)
        return [*arrays, *(array * array for array in arrays)]
