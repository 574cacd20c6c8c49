"""The fit shared by all calibrations that minimize the prior-weighted cross-entropy.

A first guess on a sample, then steps on everything, each of which is one pass over mergeable sums: Newton
steps where there are few weights, else L-BFGS in the units of the sample's Hessian.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit._blas import one_blas_thread
from llrkit.calibrate.newton_passes import Settled, refuse_runaway, settle
from llrkit.core.newton_minimizer import Minimum, newton
from llrkit.core.newton_minimizer import Objective as NewtonObjective
from llrkit.errors import InputError
from llrkit.multiclass.class_counts_and_priors import Prior, class_prior, entropy
from llrkit.multiclass.class_training_checks import TrainingTrials
from llrkit.multiclass.softmax_sums import Family, SoftmaxSums
from llrkit.scores.class_scores import ClassSource, ClassVectors

NEWTON_UP_TO = 600
"""With more weights than this the Hessian of all trials costs more than it gives."""

_STEPS_UP_TO = 400
_PRECONDITION_UP_TO = 1200
_HESSIAN_WORK, _MOST_WORK = 2e7, 5e8  # multiplications worth spending on one Hessian of the sample
_TRIALS_PER_WEIGHT = 8  # with fewer, the Hessian lacks directions that matter; for these more work is spent
_MAX_PASSES = 60
_EXACT_UP_TO = 64
_NEGLIGIBLE = 1e-12
"""A gain in the objective that is not worth another pass."""
_MAX_STEPS = 3000
_POLISHING = 6


@dataclass(frozen=True)
class Objective:
    """What a fit should be good at: class weights, prior, and what keeps the weights finite."""

    prior: Prior = "flat"
    weights: Prior | None = None
    """Weights of the classes in the objective; by default the prior."""
    regularization: float = 0.0
    df: float | None = None

    def __post_init__(self) -> None:
        weight = self.regularization
        if not (isinstance(weight, (int, float)) and 0.0 <= weight < math.inf):
            raise InputError(f"regularization must be a number of at least 0, got {weight!r}")
        if self.df is not None and not self.df > 0:
            raise InputError(f"df must be positive, got {self.df!r}")


@dataclass(frozen=True, eq=False)
class SoftmaxFit:
    """The result of a fit, in the units of the family."""

    family: Family
    weights: FloatArray
    settled: Settled


def solve(
    source: ClassSource, training: TrainingTrials, family: Family, objective: Objective, start: FloatArray
) -> SoftmaxFit:
    """Minimize ``sum_k w_k mean_{trials of k} -log p(k)`` over the weights of a family."""
    prior = class_prior(objective.prior, training.counts)
    weights = prior if objective.weights is None else class_prior(objective.weights, training.counts)
    # as in the binary fit: copies of every trial that say nothing, of the same total weight in each class
    pull = objective.regularization / (len(training.n) * (objective.df or float(training.n.min())))

    def at(x: FloatArray, counts: Array, hessian: bool) -> Callable[[ClassVectors], SoftmaxSums]:
        return SoftmaxSums.at(family, x, np.log(prior), weights / counts, pull / counts, hessian=hessian)

    blind = entropy(prior)
    unit = min(1.0, 20.0 * blind)
    sample = _thinned_sample(training.sample(), family.size)
    counts = np.maximum(sample.counts, 1)

    def on_sample(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        return _softmax_derivatives(sample.reduce(at(x, counts, True), threads=1))

    def on_all(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        return _softmax_derivatives(source.reduce(at(x, training.n, True)))

    # what a sample promises beyond this is chance: half a unit of likelihood for each weight and trial
    chance = 0.5 * unit * family.size / len(sample)
    # a large Hessian costs more than a last look at the gradient is worth
    negligible = _NEGLIGIBLE * unit if family.size > _EXACT_UP_TO else 0.0
    with one_blas_thread():
        if family.size <= NEWTON_UP_TO:
            best = settle(
                on_sample, on_all, start, unit,
                max_passes=_MAX_PASSES, chance=chance, negligible=negligible,
            )  # fmt: skip
        else:
            guess, curvature = _units_of_search(on_sample, start, unit, chance)
            best = _quasi_newton(lambda x: source.reduce(at(x, training.n, False)), guess, curvature, unit)
    if not objective.regularization:
        refuse_runaway(best, blind, "weights are", "use regularization=0.01")
    return SoftmaxFit(family, best.x, Settled.of(best))


def _softmax_derivatives(sums: SoftmaxSums) -> tuple[float, FloatArray, FloatArray]:
    return sums.value, sums.gradient, sums.hessian


def _thinned_sample(sample: ClassVectors, size: int) -> ClassVectors:
    """Fewer trials where the Hessian is large."""
    work = max(_HESSIAN_WORK, min(_TRIALS_PER_WEIGHT * size**3, _MOST_WORK))
    every = max(1, math.ceil(len(sample) * size**2 / work))
    return sample if every == 1 else sample.take(slice(None, None, every))


def _units_of_search(
    on_sample: NewtonObjective, start: FloatArray, unit: float, chance: float
) -> tuple[FloatArray, FloatArray | None]:
    """A first guess and the Hessian of the sample at it; no Hessian if there are too many weights."""
    if len(start) > _PRECONDITION_UP_TO:
        return start, None
    # units for the search are all that is needed; where there are many weights one look must do
    steps = 12 if len(start) <= _STEPS_UP_TO else 1
    guess = newton(
        on_sample,
        start,
        tolerance=1e-6 * unit,
        max_evaluations=steps,
        good_enough=1e-5 * unit,
        negligible=chance,
    )
    return guess.x, on_sample(guess.x)[2]


def _quasi_newton(
    sums_of: Callable[[FloatArray], SoftmaxSums], guess: FloatArray, curvature: FloatArray | None, unit: float
) -> Minimum:
    """L-BFGS in units in which the sample's Hessian is the identity, then steps with that Hessian."""
    if curvature is None:
        back = np.eye(1)
    else:
        size, axes = np.linalg.eigh(curvature)
        back = axes / np.sqrt(np.maximum(size, 1e-8 * size.max()))
    evaluations = 0

    def point(y: FloatArray) -> FloatArray:
        return np.asarray(guess + (y if curvature is None else back @ y))

    def objective(y: FloatArray, /) -> tuple[float, FloatArray]:
        nonlocal evaluations
        evaluations += 1
        sums = sums_of(point(y))
        return sums.value, sums.gradient if curvature is None else back.T @ sums.gradient

    from scipy.optimize import minimize  # takes longer to import than all of llrkit

    y = minimize(
        objective,
        np.zeros(len(guess)),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxcor": 20,
            "ftol": 1e-15,
            "gtol": 1e-9 * unit,
            "maxiter": _MAX_STEPS,
            "maxfun": _MAX_STEPS,
        },
    ).x
    value, slope = objective(y)
    # where the value is flat to the last bit a line search ends, but the gradient can still be halved
    for _ in range(_POLISHING if curvature is not None else 0):
        new_value, new_slope = objective(y - slope)
        if not np.linalg.norm(new_slope) < 0.5 * np.linalg.norm(slope):
            break
        y, value, slope = y - slope, new_value, new_slope
    gradient = sums_of(point(y)).gradient
    converged = float(np.abs(gradient).max()) <= 1e-6 * unit
    return Minimum(point(y), value, gradient, evaluations + 1, converged)
