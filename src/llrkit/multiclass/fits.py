"""Calibrators and fusion of several classes: softmax fits and Gaussian back-ends.

Softmax fits minimize the prior-weighted cross-entropy of linear scores, ``z_k = sum_s a_s f_sk + sum_u c_uk
h_uk``, with weights ``a`` that all classes share and weights ``c`` that each class has of its own; a
:class:`Family` says what the features are. A first guess on a sample, then steps on everything, each of which
is one pass over mergeable sums: Newton steps (:func:`llrkit.fits.logistic.settle`) for few weights,
else L-BFGS in the units of the sample's Hessian.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from llrkit.base.arguments import Array, FloatArray, IntArray, not_negative, share, yes_or_no
from llrkit.base.process import one_blas_thread, warn_caller
from llrkit.base.text import Json
from llrkit.core.numerics import Minimum, newton
from llrkit.core.summaries import FieldwiseSums, ReadOnlyArrays
from llrkit.errors import (
    ConstantScoreError,
    InputError,
    ReversedScoresWarning,
    SystemCountError,
    TooFewTrialsError,
)
from llrkit.fits.folds import fit_of, method_name
from llrkit.fits.logistic import refuse_runaway, settle, settled_details
from llrkit.multiclass import maps
from llrkit.multiclass.metrics import Prior, by_class, class_prior, entropy, gram, trial_blocks
from llrkit.scores.classes import ClassSource, ClassVectors

OwnWeights = Literal["nothing", "offset", "line", "plane"]


@dataclass(frozen=True, eq=False)
class Family(ReadOnlyArrays):
    """Which weights there are, and how the features are made of the trials.

    ``shared`` is the number of weights common to all classes, one for each system's scores, or none. What
    each class has of its own is ``nothing``, an ``offset``, a ``line`` (the weight of its own score, and an
    offset) or a ``plane`` (a weight for each dimension, and an offset). ``center`` and ``scale`` put the
    features into units in which the weights are of order 1.
    """

    classes: int
    shared: int
    own: OwnWeights
    center: FloatArray
    scale: FloatArray

    @property
    def own_features(self) -> int:
        """How many weights of its own each class has."""
        return {"nothing": 0, "offset": 1, "line": 2, "plane": len(self.scale) + 1}[self.own]

    @property
    def size(self) -> int:
        """The number of weights."""
        return self.shared + self.own_features * self.classes

    def features(self, values: Array) -> tuple[FloatArray, FloatArray]:
        """Shared features (shared, K, m) and own features without the offset (u, K or 1, m) of a block."""
        m, k = len(values), self.classes
        if self.own == "plane":
            # One feature for all classes: the axis of the classes has length 1 and broadcasts.
            return np.empty((0, k, m)), (by_class((values - self.center) / self.scale))[:, None, :]
        if self.own == "line":
            return np.empty((0, k, m)), by_class((values - self.center) / self.scale)[None]
        systems = values[:, :, None] if values.ndim == 2 else values
        shared = np.array([by_class(systems[:, :, s] / self.scale[s]) for s in range(self.shared)])
        # a constant per trial makes no difference; taking the largest away keeps the digits of the others
        shared -= shared.max(axis=1, keepdims=True)
        return shared, np.empty((0, k, m))

    def split(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Shared weights (shared,) and own weights (own_features, K)."""
        return weights[: self.shared], weights[self.shared :].reshape(self.own_features, self.classes)


@dataclass(frozen=True, eq=False)
class SoftmaxSums(FieldwiseSums):
    """Objective, its gradient and, where asked for, its Hessian at given weights.

    The objective is ``sum_i w_i [-log p_i(own class)] + v_i [-sum_k prior_k log p_i(k)]`` with posteriors
    ``p_i`` at the prior, and weights ``w`` and ``v`` of each trial that depend on its class.
    """

    value: float
    gradient: FloatArray
    hessian: FloatArray

    @property
    def derivatives(self) -> tuple[float, FloatArray, FloatArray]:
        """All three, as Newton's method takes them."""
        return self.value, self.gradient, self.hessian

    @classmethod
    def at(
        cls,
        family: Family,
        weights: FloatArray,
        log_prior: FloatArray,
        own: FloatArray,
        pull: FloatArray,
        *,
        hessian: bool = True,
    ) -> Callable[[ClassVectors], SoftmaxSums]:
        """A summarizer; ``own`` and ``pull`` are the weights w and v of the trials of each class."""

        def sums_of_block(values: Array, codes: IntArray) -> SoftmaxSums:
            shared, features = family.features(values)
            a, c = family.split(weights)
            z = np.einsum("s,skm->km", a, shared)
            if family.own == "plane":
                z += c[:-1].T @ features[:, 0, :]
            elif family.own == "line":
                z += c[0][:, None] * features[0]
            if family.own != "nothing":
                z += c[-1][:, None]
            z += log_prior[:, None]
            # The largest is taken away before the exponential, which then cannot overflow.
            top = z.max(axis=0)
            p = np.exp(z - top)
            total = p.sum(axis=0)
            p /= total
            log_sum = np.log(total) + top
            trials, w, v = np.arange(len(codes)), own[codes], pull[codes]
            value = float((w * (log_sum - z[codes, trials])).sum())
            # The gradient of -log p is p minus the indicator of the own class, each trial with its weight.
            residual = p * (w + v)
            residual[codes, trials] -= w
            # Without regularization there is no pull, and this term is left out.
            if v.any():
                prior = np.exp(log_prior)
                value += float((v * (log_sum - np.einsum("k,km->m", prior, z))).sum())
                residual -= np.multiply.outer(prior, v)
            gradient = [np.einsum("skm,km->s", shared, residual)]
            if family.own == "plane":
                gradient.append((features[:, 0, :] @ residual.T).ravel())
            elif family.own == "line":
                gradient.append(np.einsum("km,km->k", features[0], residual))
            if family.own != "nothing":
                gradient.append(residual.sum(axis=1))
            second = _softmax_hessian(family, shared, features, p, w + v) if hessian else np.zeros((0, 0))
            return cls(value, np.concatenate(gradient), second)

        def make(chunk: ClassVectors) -> SoftmaxSums:
            size = family.size
            total = cls(0.0, np.zeros(size), np.zeros((size, size) if hessian else (0, 0)))
            values, codes = chunk.values, chunk.codes
            # Numbers that a trial takes in the arrays of a block.
            width = int(np.prod(values.shape[1:])) + family.classes
            # a large Hessian is best made of few products
            least = size if hessian else 64
            for block in trial_blocks(len(values), width, least):
                total += sums_of_block(values[block], codes[block])
            return total

        return make


def _softmax_hessian(
    family: Family, shared: FloatArray, own_features: FloatArray, p: FloatArray, weight: FloatArray
) -> FloatArray:
    """``sum_i w_i J_i' (diag p_i - p_i p_i') J_i`` with the features as the Jacobian J."""
    k, m, n_shared, n_own = family.classes, len(weight), family.shared, family.own_features
    weighted = p * weight
    hessian = np.zeros((family.size, family.size))
    # a shared feature over its mean under the posterior: the products need no second term then
    spread = shared - np.einsum("skm,km->sm", shared, p)[:, None, :]
    for s in range(n_shared):
        along = weighted * spread[s]
        hessian[s, :n_shared] = np.einsum("skm,km->s", spread, along)
        if n_own:
            hessian[s, n_shared:] = hessian[n_shared:, s] = along.sum(axis=1)
    if n_own == 0:
        return hessian
    if n_own == 1:  # offsets alone
        own = np.diag(weighted.sum(axis=1)) - gram(weighted, p)
    else:
        features = np.ones((n_own, 1 if family.own == "plane" else k, m))
        features[:-1] = own_features
        rows = (features * (p * np.sqrt(weight))).reshape(n_own * k, m)
        own = -(rows @ rows.T)  # half the work of a product of two matrices
        for c in range(k):
            mine, at = features[:, c % features.shape[1], :], np.arange(n_own) * k + c
            own[np.ix_(at, at)] += (mine * weighted[c]) @ mine.T
    hessian[n_shared:, n_shared:] = own
    return hessian


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
        not_negative(self.regularization, "regularization")
        if self.df is not None and not self.df > 0:
            raise InputError(f"df must be positive, got {self.df!r}")

    @property
    def options(self) -> dict[str, Json]:
        """What is written into a map."""
        prior, weights = (
            np.asarray(given).tolist() if isinstance(given, (list, tuple, np.ndarray)) else given
            for given in (self.prior, self.weights)
        )
        return {"prior": prior, "weights": weights, "regularization": self.regularization, "df": self.df}


def solve(
    source: ClassSource,
    training: maps.TrainingTrials,
    family: Family,
    objective: Objective,
    start: FloatArray,
) -> Minimum:
    """Minimize ``sum_k w_k mean_{trials of k} -log p(k)`` over the weights of a family."""
    prior = class_prior(objective.prior, training)
    weights = prior if objective.weights is None else class_prior(objective.weights, training)
    # as in the binary fit: copies of every trial that say nothing, of the same total weight in each class
    pull = objective.regularization / (len(training.n) * (objective.df or float(training.n.min())))

    def at(x: FloatArray, counts: Array, hessian: bool) -> Callable[[ClassVectors], SoftmaxSums]:
        return SoftmaxSums.at(family, x, np.log(prior), weights / counts, pull / counts, hessian=hessian)

    blind = entropy(prior)
    # Tolerances follow the cost of knowing nothing, so that very skewed priors are solved as well.
    unit = min(1.0, 20.0 * blind)
    sample = training.sample()
    # fewer trials where the Hessian is large
    work = max(_HESSIAN_WORK, min(_TRIALS_PER_WEIGHT * family.size**3, _MOST_WORK))
    # Every n-th trial: the sample is sorted by class, so each class keeps its share.
    sample = sample.take(slice(None, None, max(1, math.ceil(len(sample) * family.size**2 / work))))
    # A class may have lost all its trials to the thinning.
    counts = np.maximum(sample.counts, 1)

    def on_sample(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        # One thread: the sample is small, and the pool would cost more than it saves.
        return sample.reduce(at(x, counts, True), threads=1).derivatives

    def on_all(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        return source.reduce(at(x, training.n, True)).derivatives

    # what a sample promises beyond this is chance: half a unit of likelihood for each weight and trial
    chance = 0.5 * unit * family.size / len(sample)
    # a large Hessian costs more than a last look at the gradient is worth
    negligible = _NEGLIGIBLE * unit if family.size > _EXACT_UP_TO else 0.0
    # BLAS threads would fight those of the pool (docs/notes/decisions-models.md).
    with one_blas_thread():
        if family.size <= NEWTON_UP_TO:
            best = settle(
                on_sample, on_all, start, unit,
                max_passes=_MAX_PASSES, chance=chance, negligible=negligible,
            )  # fmt: skip
        else:
            guess, curvature = start, None
            if family.size <= _PRECONDITION_UP_TO:
                # units for the search are all that is needed; where there are many weights one look must do
                steps = 12 if family.size <= _STEPS_UP_TO else 1
                guess = newton(
                    on_sample, start,
                    tolerance=1e-6 * unit, max_evaluations=steps, good_enough=1e-5 * unit, negligible=chance,
                ).x  # fmt: skip
                curvature = on_sample(guess)[2]
            best = _quasi_newton(lambda x: source.reduce(at(x, training.n, False)), guess, curvature, unit)
    if not objective.regularization:
        # Without regularization, classes that can be told apart without error have no finite optimum.
        refuse_runaway(best, blind, "weights are", "use regularization=0.01")
    return best


def _quasi_newton(
    sums_of: Callable[[FloatArray], SoftmaxSums], guess: FloatArray, curvature: FloatArray | None, unit: float
) -> Minimum:
    """L-BFGS in units in which the sample's Hessian is the identity, then steps with that Hessian."""
    if curvature is not None:
        size, axes = np.linalg.eigh(curvature)
        # A constant added to all offsets changes nothing, so the Hessian is singular; such directions
        # get a large unit, not an infinite one.
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
        objective, np.zeros(len(guess)), jac=True, method="L-BFGS-B",
        # ftol is near the last bit, so that the gradient decides when to stop.
        options={"maxcor": 20, "ftol": 1e-15, "gtol": 1e-9 * unit, "maxiter": _MAX_STEPS,
                 "maxfun": _MAX_STEPS},
    ).x  # fmt: skip
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


def fit_temperature(
    source: ClassSource,
    *,
    prior: Prior = "flat",
    weights: Prior | None = None,
    regularization: float = 0.0,
    df: float | None = None,
) -> maps.ScaleMap:
    """One scale for all log-likelihoods: ``l'_k = a l_k`` (temperature scaling, 1 / a being the temperature).

    Minimizes ``sum_k w_k mean_{trials of k} -log P(k)`` with posteriors at the prior; the class weights w
    are the prior unless given.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    prior
        Where the fit should be best: "flat", "counts" (proportions of the labels) or a probability for
        each class. The result is a log-likelihood whatever the prior and the class sizes.
    weights
        Weights of the classes in the objective, like ``prior``; by default the prior itself.
    regularization, df
        Weight ``regularization / df`` of copies of the trials that say nothing, as for
        :func:`llrkit.fit_logistic`; ``df`` is by default the number of trials of the smallest class.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[3.0, 0, 0], [0, 2.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> lk.multiclass.fit_temperature(scores)
    ScaleMap(temperature: 3 classes, scale 0.795272)
    """
    return _fit_scales(source, "temperature", Objective(prior, weights, regularization, df), "nothing")


def fit_scale_offset(
    source: ClassSource,
    *,
    prior: Prior = "flat",
    weights: Prior | None = None,
    regularization: float = 0.0,
    df: float | None = None,
) -> maps.ScaleMap:
    """One scale, and an offset for each class: ``l'_k = a l_k + b_k`` (FoCal Multi-class).

    Options are those of :func:`fit_temperature`. The offsets sum to 0. Two classes give
    :func:`llrkit.fit_logistic` of the difference of their log-likelihoods.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.
    weights
        Weights of the classes in training; by default those of the prior.
    regularization
        Weight of copies of the trials that say nothing and pull LLRs towards 0.
    df
        What ``regularization`` is divided by; by default the number of trials of the rarest class.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[3.0, 0, 0], [0, 2.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> lk.multiclass.fit_scale_offset(scores, regularization=0.1)
    ScaleMap(scale-offset: 3 classes, scale 1.43377)
    """
    return _fit_scales(source, "scale-offset", Objective(prior, weights, regularization, df), "offset")


def fit_fusion(
    source: ClassSource,
    *,
    prior: Prior = "flat",
    weights: Prior | None = None,
    regularization: float = 0.0,
    df: float | None = None,
) -> maps.ScaleMap:
    """Fuse systems: ``l'_k = sum_s a_s l_ks + b_k``, one scale for each system (FoCal Multi-class).

    ``source`` holds the log-likelihoods of all systems, shape (n, K, systems);
    :meth:`llrkit.scores.ClassScores.stack` makes it of several sets.
    Options are those of :func:`fit_temperature`.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.
    weights
        Weights of the classes in training; by default those of the prior.
    regularization
        Weight of copies of the trials that say nothing and pull LLRs towards 0.
    df
        What ``regularization`` is divided by; by default the number of trials of the rarest class.

    Examples
    --------
    >>> import llrkit as lk
    >>> a = lk.scores.ClassScores([[3.0, 0, 0], [0, 2.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> b = lk.scores.ClassScores([[1.0, 0, 0], [0, 2.0, 3.0], [0.0, 0, 1.0], [0, 2.0, 0]], [0, 1, 2, 2])
    >>> lk.multiclass.fit_fusion(lk.scores.ClassScores.stack([a, b]), regularization=0.1).shape
    (3, 2)
    """
    return _fit_scales(source, "fusion", Objective(prior, weights, regularization, df), "offset")


def fit_vector(
    source: ClassSource,
    *,
    prior: Prior = "flat",
    weights: Prior | None = None,
    regularization: float = 0.0,
    df: float | None = None,
) -> maps.VectorScaleMap:
    """A scale and an offset for each class: ``l'_k = a_k l_k + b_k`` (vector scaling).

    A constant added to all scores of a trial changes the result, as it does not for the other methods: give
    logits or normalized log-likelihoods. Options are those of :func:`fit_temperature`.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.
    weights
        Weights of the classes in training; by default those of the prior.
    regularization
        Weight of copies of the trials that say nothing and pull LLRs towards 0.
    df
        What ``regularization`` is divided by; by default the number of trials of the rarest class.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[3.0, 0, 0], [0, 2.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> lk.multiclass.fit_vector(scores, regularization=0.1).scales.round(2)
    array([-0.24,  3.14,  3.79])
    """
    objective = Objective(prior, weights, regularization, df)
    classes, family, best, about = _softmax_fit(source, "vector", objective, "line")
    _, own = family.split(best)
    scales = own[0] / family.scale
    offsets = own[1] - scales * family.center
    # Only differences between classes matter: the sum of the offsets is free, and set to 0.
    return maps.VectorScaleMap(classes=classes, scales=scales, offsets=offsets - offsets.mean(), **about)


def fit_affine(
    source: ClassSource,
    *,
    prior: Prior = "flat",
    weights: Prior | None = None,
    regularization: float = 0.0,
    df: float | None = None,
) -> maps.AffineClassMap:
    """A weight for each class and dimension, and offsets: ``l' = W x + b`` (multinomial logistic regression).

    Takes scores or vectors, embeddings for instance. Only differences between the rows of W matter; they
    are made to sum to 0. Options are those of :func:`fit_temperature`.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.
    weights
        Weights of the classes in training; by default those of the prior.
    regularization
        Weight of copies of the trials that say nothing and pull LLRs towards 0.
    df
        What ``regularization`` is divided by; by default the number of trials of the rarest class.

    Examples
    --------
    >>> import llrkit as lk
    >>> vectors = lk.scores.ClassVectors([[0.0, 1], [1, 1], [2, 0], [3, 1], [2, 2], [0, 3]], list("aabbcc"))
    >>> lk.multiclass.fit_affine(vectors, regularization=0.1).weights.shape
    (3, 2)
    """
    objective = Objective(prior, weights, regularization, df)
    classes, family, best, about = _softmax_fit(source, "affine", objective, "plane")
    _, own = family.split(best)
    matrix = (own[:-1] / family.scale[:, None]).T
    offsets = own[-1] - matrix @ family.center
    return maps.AffineClassMap(
        classes=classes, weights=matrix - matrix.mean(axis=0), offsets=offsets - offsets.mean(), **about
    )


def _fit_scales(source: ClassSource, method: str, objective: Objective, own: OwnWeights) -> maps.ScaleMap:
    """One scale for each system, with or without offsets."""
    classes, family, best, about = _softmax_fit(source, method, objective, own)
    shared, offsets = family.split(best)
    scales = shared / family.scale
    # All of them: with several systems a single negative weight is no sign of reversed scores.
    if (scales < 0).all():
        warn_caller("the scale is negative: is a higher score really more probable?", ReversedScoresWarning)
    centered = offsets[0] - offsets[0].mean() if len(offsets) else np.zeros(len(classes))
    return maps.ScaleMap(classes=classes, scales=scales, offsets=centered, **about)


def _softmax_fit(
    source: ClassSource, method: str, objective: Objective, own: OwnWeights
) -> tuple[list[str], Family, FloatArray, dict[str, Any]]:
    """The classes, the family, its best weights, and what the map says of how they were found."""
    training = maps.training_trials(source)
    values, k = training.sample().values, len(training.classes)
    if values.ndim == 3 and method != "fusion":
        raise SystemCountError(f"one system expected, got {values.shape[2]}; use fit_fusion")
    if own != "plane" and training.vectors:
        raise SystemCountError("vectors have no score for each class; use fit_affine or fit_gaussian first")
    # features in units of their spread in the sample
    if own in ("plane", "line"):
        scale, spread = values.std(axis=0), training.high - training.low
        # A dimension may be constant in the sample and still vary in the rest.
        scale = np.where(scale > 0, scale, np.where(spread > 0, spread, 1.0))
        family = Family(k, 0, own, values.mean(axis=0), scale)
    else:
        systems = values[:, :, None] if values.ndim == 2 else values
        # only differences between classes count
        scale = (systems - systems.mean(axis=1, keepdims=True)).std(axis=(0, 1))
        if not (scale > 0).any():
            raise ConstantScoreError("every trial has the same score for all classes: nothing to calibrate")
        family = Family(k, systems.shape[2], own, np.zeros(0), np.where(scale > 0, scale, 1.0))
    start = np.zeros(family.size)
    # Scores as they come, in units of their spread: a better start than weights of 0.
    start[: k if own == "line" else family.shared] = 1.0
    best = solve(source, training, family, objective, start)
    about: dict[str, Any] = {
        "method": method,
        "options": objective.options,
        "details": settled_details(best),
        "provenance": maps.provenance(training),
    }
    return list(training.classes), family, best.x, about


def fit_gaussian(
    source: ClassSource, *, weights: Prior = "flat", shared: bool = True, shrinkage: float = 0.0
) -> maps.ClassMap:
    """A Gaussian for each class, with one covariance matrix or with one each: closed form, two passes.

    With ``shared`` the log-likelihoods are affine, ``l_k = m_k' S^-1 x - m_k' S^-1 m_k / 2``, where
    ``S = sum_k w_k S_k`` is the class-weighted mean of the 1/N covariance matrices: the multi-class form of
    CMLG (van Leeuwen & Brümmer 2013), to which two classes lead. Its log-likelihood-ratios are calibrated in
    the sense of :func:`idempotence`; fitting again changes nothing. Without ``shared`` they are quadratic.

    Vectors, embeddings for instance, are taken as they are; of scores, the log-likelihood-ratios over the
    last class are taken, since a constant per trial says nothing.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    weights
        Weights w of the classes in the shared covariance: "flat", "counts" (then it is linear
        discriminant analysis) or a number for each class.
    shared
        One covariance matrix for all classes.
    shrinkage
        Share of a multiple of the identity, of the same trace, in every covariance matrix.

    Examples
    --------
    >>> import llrkit as lk
    >>> vectors = lk.scores.ClassVectors([[0.0, 1], [2, 1], [4, 0], [4, 2], [1, 5], [1, 7]], list("aabbcc"))
    >>> lk.multiclass.fit_gaussian(vectors).posteriors([[1.0, 1.0]]).round(3)
    array([[1., 0., 0.]])
    """
    yes_or_no(shared, "shared")
    share(shrinkage, "shrinkage")
    means = maps.class_means(source)
    prior = class_prior(weights, means)
    classes = list(means.classes)
    told = weights if isinstance(weights, str) else prior.tolist()
    about: dict[str, Any] = {
        "method": "gaussian" if shared else "free-gaussian",
        "options": {"weights": told, "shared": shared, "shrinkage": shrinkage},
        "provenance": maps.provenance(means),
    }
    if not shared:
        each = source.reduce(maps.Scatter.at(means.mean, None)).sums / means.n[:, None, None]
        usable = [_usable_covariance(*of, shrinkage) for of in zip(means.classes, each, strict=True)]
        return maps.QuadraticClassMap(
            classes=classes, means=means.mean, covariances=np.array(usable), differences=means.differences,
            **about,
        )  # fmt: skip
    pooled = _usable_covariance(None, shared_covariance(source, means, prior), shrinkage)
    weights_of, offsets = linear_discriminant(means.mean, pooled)
    if means.differences:  # the last class is what the others were compared with
        weights_of = np.column_stack([weights_of, -weights_of.sum(axis=1)])
    about["details"] = {"passes": 2}
    return maps.AffineClassMap(classes=classes, weights=weights_of, offsets=offsets, **about)


def shared_covariance(source: ClassSource, means: maps.ClassMeans, weights: FloatArray) -> FloatArray:
    """The weighted mean of the 1/N covariance matrices of the classes, in a second pass."""
    return source.reduce(maps.Scatter.at(means.mean, weights / means.n)).sums


def linear_discriminant(mean: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights (K, D) and offsets (K,) of Gaussian log-likelihoods with a common covariance matrix.

    Examples
    --------
    >>> linear_discriminant(np.array([[1.0], [-1.0]]), np.array([[2.0]]))
    (array([[ 0.5],
           [-0.5]]), array([-0.25, -0.25]))
    """
    weights = np.asarray(np.linalg.solve(covariance, mean.T).T, dtype=np.float64)
    return weights, np.asarray(-0.5 * (weights * mean).sum(axis=1))


def _usable_covariance(of_class: str | None, covariance: FloatArray, shrinkage: float) -> FloatArray:
    """A covariance matrix, of one class or of all, mixed with the identity; it must have an inverse."""
    what = "all classes" if of_class is None else f"class {of_class}"
    spread = np.diag(covariance)
    if not (spread > 0).any():
        raise ConstantScoreError(f"{what}: the trials of a class are all the same")
    mixed = (1.0 - shrinkage) * covariance + shrinkage * spread.mean() * np.eye(len(covariance))
    # correlations, so that the units of the dimensions do not matter
    scale = np.sqrt(np.diag(mixed))
    # Judged by eigenvalues of the correlations: what counts is how close dimensions are to following
    # from each other.
    if (scale == 0).any() or np.linalg.eigvalsh(mixed / np.outer(scale, scale))[0] < 1e-12:
        raise TooFewTrialsError(
            f"the covariance matrix of {what} has no inverse: some dimensions are constant or follow from "
            "others, or there are too few trials; use shrinkage=0.01, say"
        )
    return np.asarray(mixed)


METHODS: Mapping[str, Callable[..., maps.ClassMap]] = {
    "temperature": fit_temperature,
    "scale-offset": fit_scale_offset,
    "vector": fit_vector,
    "affine": fit_affine,
    "gaussian": fit_gaussian,
    "free-gaussian": partial(fit_gaussian, shared=False),
    "fusion": fit_fusion,
}
CANDIDATES = ("temperature", "scale-offset", "vector", "gaussian")
_NO_PRIOR = ("gaussian", "free-gaussian")


def fit_named(method: str, source: ClassSource, *, prior: Prior = "flat", **options: object) -> maps.ClassMap:
    """Fit a calibrator by name; the prior goes to those that have one.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[3.0, 0, 0], [0, 2.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> fit_named("temperature", scores).method
    'temperature'
    """
    return fit_of(method, METHODS)(source, **options, **prior_option(method, prior))


def prior_option(method: str | Callable[..., maps.ClassMap], prior: Prior) -> dict[str, Prior]:
    """The prior as an option of a method, if it is one of those that have it.

    Examples
    --------
    >>> prior_option("vector", "counts"), prior_option("gaussian", "counts")
    ({'prior': 'counts'}, {})
    """
    return {} if method_name(method, METHODS) in _NO_PRIOR else {"prior": prior}
