"""Linear maps that minimize a sum of losses by Newton's method.

The fit shared by logistic regression, other scoring rules, fusion and quality measures. A linear function of
K columns and an offset that minimizes a prior-weighted scoring rule: a first guess on a sample, then a few
Newton steps on everything, each of which is one pass over mergeable sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from llrkit.base.arguments import FloatArray
from llrkit.core.functions import Minimum, Objective, logit, newton, probability
from llrkit.core.losses import LOGARITHMIC, NewtonSums, ScoringRule
from llrkit.core.summaries import Moments, Sample, both
from llrkit.errors import InputError, SeparationError
from llrkit.fits.training import check_moments
from llrkit.maps.training_range import REMEDY
from llrkit.scores import ScoreSource


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


_MAX_PASSES = 40


@dataclass(frozen=True)
class LinearFit:
    """What the fit found, in the units of the scores."""

    slopes: FloatArray
    offset: float
    settled: Settled
    """How the fit ended, in standardized units."""
    moments: Moments

    def llrs(self, scores: FloatArray) -> FloatArray:
        """The linear function of scores, one row for each trial, or of the scores of one system."""
        return np.asarray(scores.reshape(len(scores), -1) @ self.slopes + self.offset)


@dataclass(frozen=True)
class Shrinkage:
    """Copies of the trials that keep the slope finite: mislabeled ones, or ones that say nothing.

    ``robust`` gives every trial a mislabeled copy of that weight. ``regularization / df`` gives every
    trial copies of both labels in the proportion of the prior, which pull the LLR towards zero.
    """

    robust: float = 0.0
    regularization: float = 0.0
    df: float | None = None

    def __post_init__(self) -> None:
        for name in ("robust", "regularization"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and 0.0 <= value < math.inf):
                raise InputError(f"{name} must be a number of at least 0, got {value!r}")
        if self.df is not None and not (isinstance(self.df, (int, float)) and self.df > 0):
            raise InputError(f"df must be positive, got {self.df!r}")

    @property
    def present(self) -> bool:
        """Whether anything keeps the slope finite."""
        return self.robust > 0 or self.regularization > 0

    def weights(self, prior: float, n_target: float, n_nontarget: float) -> tuple[FloatArray, FloatArray]:
        """Weights of each trial with its own and with the other label, for (targets, non-targets)."""
        n, share = np.array([n_target, n_nontarget]), np.array([prior, 1.0 - prior])
        pull = 0.5 * self.regularization / (self.df or n_target)
        return (share + pull * share) / n, (self.robust * share + pull * share[::-1]) / n


def fit_linear(
    source: ScoreSource,
    *,
    prior: float = 0.5,
    rule: ScoringRule = LOGARITHMIC,
    shrinkage: Shrinkage | None = None,
) -> LinearFit:
    """Minimize ``p mean_target C_miss(z) + (1 - p) mean_nontarget C_fa(z)``, z = w . s + b + logit p."""
    prior = probability(prior, "prior")
    shrinkage = shrinkage or Shrinkage()
    if shrinkage.present and rule != LOGARITHMIC:
        raise InputError("robust and regularized fits are for the logarithmic rule only")
    moments, sample = source.reduce(both(Moments.of, Sample.of)).summaries
    check_moments(source, moments)
    if len(moments.target.mean) == 1 and not shrinkage.present:
        _refuse_separated_classes(moments)
    center, scale, start = _start_of_linear_fit(moments)

    def objective_on(trials: ScoreSource, n_target: float, n_nontarget: float, mean: FloatArray) -> Objective:
        own, flipped = shrinkage.weights(prior, n_target, n_nontarget)
        log_odds = float(logit(prior))

        def objective(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            sums = trials.reduce(NewtonSums.at(x, log_odds, rule, center, scale))
            value, gradient, hessian = 0.0, np.zeros(len(x)), np.zeros((len(x), len(x)))
            for class_index, (sign, sum_) in enumerate(((1.0, sums.target), (-1.0, sums.nontarget))):
                value += own[class_index] * sum_.loss
                gradient += own[class_index] * sum_.gradient
                hessian += (own[class_index] + flipped[class_index]) * sum_.hessian
                if flipped[class_index]:
                    # softplus(z) = softplus(-z) + z: the other label's sums follow from the sums of z
                    total = sum_.n * np.append((mean[class_index] - center) / scale, 1.0)
                    z_sum = float(total @ x) + sum_.n * log_odds
                    value += flipped[class_index] * (sum_.loss + sign * z_sum)
                    gradient += flipped[class_index] * (sum_.gradient + sign * total)
            return value, gradient, hessian

        return objective

    small = sample.scores()
    mean_small = np.array(
        [np.atleast_1d(small.target.mean(axis=0)), np.atleast_1d(small.nontarget.mean(axis=0))]
    )
    nothing = float(prior * rule.miss(logit(prior)) + (1.0 - prior) * rule.fa(logit(prior)))
    mean = np.array([moments.target.mean, moments.nontarget.mean])
    minimum = settle(
        objective_on(small, small.n_target, small.n_nontarget, mean_small),
        objective_on(source, moments.target.n, moments.nontarget.n, mean),
        start,
        min(1.0, 20.0 * nothing),
        max_passes=_MAX_PASSES,
    )
    if not shrinkage.present:
        refuse_runaway(minimum, nothing, "slope is", REMEDY)
    slopes = minimum.x[:-1] / scale
    return LinearFit(
        slopes=slopes,
        offset=float(minimum.x[-1] - slopes @ center),
        settled=Settled.of(minimum),
        moments=moments,
    )


def _start_of_linear_fit(moments: Moments) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Center and scale of the columns, and CMLG in those units."""
    center = (moments.target.mean + moments.nontarget.mean) / 2.0
    pooled = (moments.target.covariance + moments.nontarget.covariance) / 2.0
    scale = np.sqrt(np.diag(pooled))
    spread = np.maximum(moments.target.high, moments.nontarget.high) - np.minimum(
        moments.target.low, moments.nontarget.low
    )
    scale = np.where(scale > 1e-9 * spread, scale, np.where(spread > 0, spread, 1.0))
    gap = (moments.target.mean - moments.nontarget.mean) / scale
    slopes = np.linalg.pinv(pooled / np.outer(scale, scale), rcond=1e-10, hermitian=True) @ gap
    # constant classes would give an endless slope; a modest one is a safe place to start from
    norm = float(np.abs(slopes).max())
    return center, scale, np.append(slopes if norm <= 20.0 else slopes * (20.0 / norm), 0.0)


def _refuse_separated_classes(moments: Moments) -> None:
    target, nontarget = moments.target, moments.nontarget
    for above, below, words in ((target, nontarget, "targets"), (nontarget, target, "non-targets")):
        if above.low[0] >= below.high[0]:
            raise SeparationError(
                f"the classes do not overlap (all {words} score at least {above.low[0]:.6g}, all others at "
                f"most {below.high[0]:.6g}), so the best slope is infinite; {REMEDY}"
            )
