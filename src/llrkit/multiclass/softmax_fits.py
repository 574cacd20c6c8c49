"""Calibrators that minimize the prior-weighted cross-entropy: temperature to full affine, and fusion."""

from __future__ import annotations

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._plain import Json
from llrkit._warn import warn_caller
from llrkit.calibrate.saved_map import MapMetadata
from llrkit.errors import ConstantScoreError, ReversedScoresWarning, SystemCountError
from llrkit.multiclass.class_counts_and_priors import Prior
from llrkit.multiclass.class_map_forms import AffineClassMap, ScaleMap, VectorScaleMap
from llrkit.multiclass.class_training_checks import TrainingTrials, provenance, training_trials
from llrkit.multiclass.softmax_solver import Objective, SoftmaxFit, solve
from llrkit.multiclass.softmax_sums import Family, OwnWeights
from llrkit.scores.class_scores import ClassSource


def fit_temperature(
    source: ClassSource,
    *,
    prior: Prior = "flat",
    weights: Prior | None = None,
    regularization: float = 0.0,
    df: float | None = None,
) -> ScaleMap:
    """One scale for all log-likelihoods: ``l'_k = a l_k`` (temperature scaling, 1 / a being the temperature).

    Minimizes ``sum_k w_k mean_{trials of k} -log P(k)`` with posteriors at the prior; the class weights w
    are the prior unless given.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
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
    >>> scores = lk.ClassScores([[3.0, 0, 0], [0, 2.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> lk.multiclass.fit_temperature(scores)
    ScaleMap(temperature: 3 classes, scale 0.795272)
    """
    objective = Objective(prior, weights, regularization, df)
    training, fit = _softmax_fit(source, objective, "nothing")
    return _scale_map_of_fit(training, fit, "temperature", objective)


def fit_scale_offset(
    source: ClassSource,
    *,
    prior: Prior = "flat",
    weights: Prior | None = None,
    regularization: float = 0.0,
    df: float | None = None,
) -> ScaleMap:
    """One scale, and an offset for each class: ``l'_k = a l_k + b_k`` (FoCal Multi-class).

    Options are those of :func:`fit_temperature`. The offsets sum to 0. Two classes give
    :func:`llrkit.fit_logistic` of the difference of their log-likelihoods.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
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
    >>> scores = lk.ClassScores([[3.0, 0, 0], [0, 2.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> lk.multiclass.fit_scale_offset(scores, regularization=0.1)
    ScaleMap(scale-offset: 3 classes, scale 1.43377)
    """
    objective = Objective(prior, weights, regularization, df)
    training, fit = _softmax_fit(source, objective, "offset")
    return _scale_map_of_fit(training, fit, "scale-offset", objective)


def fit_fusion(
    source: ClassSource,
    *,
    prior: Prior = "flat",
    weights: Prior | None = None,
    regularization: float = 0.0,
    df: float | None = None,
) -> ScaleMap:
    """Fuse systems: ``l'_k = sum_s a_s l_ks + b_k``, one scale for each system (FoCal Multi-class).

    ``source`` holds the log-likelihoods of all systems, shape (n, K, systems);
    :meth:`llrkit.ClassScores.stack` makes it of several sets.
    Options are those of :func:`fit_temperature`.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
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
    >>> a = lk.ClassScores([[3.0, 0, 0], [0, 2.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> b = lk.ClassScores([[1.0, 0, 0], [0, 2.0, 3.0], [0.0, 0, 1.0], [0, 2.0, 0]], [0, 1, 2, 2])
    >>> lk.multiclass.fit_fusion(lk.ClassScores.stack([a, b]), regularization=0.1).shape
    (3, 2)
    """
    objective = Objective(prior, weights, regularization, df)
    training, fit = _softmax_fit(source, objective, "offset", fuse=True)
    return _scale_map_of_fit(training, fit, "fusion", objective)


def fit_vector(
    source: ClassSource,
    *,
    prior: Prior = "flat",
    weights: Prior | None = None,
    regularization: float = 0.0,
    df: float | None = None,
) -> VectorScaleMap:
    """A scale and an offset for each class: ``l'_k = a_k l_k + b_k`` (vector scaling).

    A constant added to all scores of a trial changes the result, as it does not for the other methods: give
    logits or normalized log-likelihoods. Options are those of :func:`fit_temperature`.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
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
    >>> scores = lk.ClassScores([[3.0, 0, 0], [0, 2.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> lk.multiclass.fit_vector(scores, regularization=0.1).scales.round(2)
    array([-0.24,  3.14,  3.79])
    """
    objective = Objective(prior, weights, regularization, df)
    training, fit = _softmax_fit(source, objective, "line")
    _, own = fit.family.split(fit.weights)
    scales = own[0] / fit.family.scale
    return VectorScaleMap(
        classes=list(training.classes),
        scales=scales,
        offsets=_centered_offsets(own[1] - scales * fit.family.center),
        **_softmax_map_metadata(training, fit, "vector", objective),
    )


def fit_affine(
    source: ClassSource,
    *,
    prior: Prior = "flat",
    weights: Prior | None = None,
    regularization: float = 0.0,
    df: float | None = None,
) -> AffineClassMap:
    """A weight for each class and dimension, and offsets: ``l' = W x + b`` (multinomial logistic regression).

    Takes scores or vectors, embeddings for instance. Only differences between the rows of W matter; they
    are made to sum to 0. Options are those of :func:`fit_temperature`.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
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
    >>> vectors = lk.ClassVectors([[0.0, 1], [1, 1], [2, 0], [3, 1], [2, 2], [0, 3]], list("aabbcc"))
    >>> lk.multiclass.fit_affine(vectors, regularization=0.1).weights.shape
    (3, 2)
    """
    objective = Objective(prior, weights, regularization, df)
    training, fit = _softmax_fit(source, objective, "plane")
    _, own = fit.family.split(fit.weights)
    matrix = (own[:-1] / fit.family.scale[:, None]).T
    return AffineClassMap(
        classes=list(training.classes),
        weights=matrix - matrix.mean(axis=0),
        offsets=_centered_offsets(own[-1] - matrix @ fit.family.center),
        **_softmax_map_metadata(training, fit, "affine", objective),
    )


def _softmax_fit(
    source: ClassSource, objective: Objective, own: OwnWeights, *, fuse: bool = False
) -> tuple[TrainingTrials, SoftmaxFit]:
    training = training_trials(source)
    values = training.sample().values
    if values.ndim == 3 and not fuse:
        raise SystemCountError(f"one system expected, got {values.shape[2]}; use fit_fusion")
    if own != "plane" and training.vectors:
        raise SystemCountError("vectors have no score for each class; use fit_affine or fit_gaussian first")
    family = _softmax_family(training, values, own)
    start = np.zeros(family.size)
    start[: family.shared] = 1.0
    if own == "line":
        start[: family.classes] = 1.0
    return training, solve(source, training, family, objective, start)


def _softmax_family(training: TrainingTrials, values: FloatArray, own: OwnWeights) -> Family:
    """Features in units of their spread in the sample."""
    k = len(training.classes)
    if own in ("plane", "line"):
        scale = values.std(axis=0)
        scale = np.where(
            scale > 0, scale, np.where(training.high > training.low, training.high - training.low, 1.0)
        )
        return Family(k, 0, own, values.mean(axis=0), scale)
    systems = values[:, :, None] if values.ndim == 2 else values
    # only differences between classes count
    scale = (systems - systems.mean(axis=1, keepdims=True)).std(axis=(0, 1))
    if not (scale > 0).any():
        raise ConstantScoreError("every trial has the same score for all classes: nothing to calibrate")
    return Family(k, systems.shape[2], own, np.zeros(0), np.where(scale > 0, scale, 1.0))


def _scale_map_of_fit(
    training: TrainingTrials, fit: SoftmaxFit, method: str, objective: Objective
) -> ScaleMap:
    shared, own = fit.family.split(fit.weights)
    scales = shared / fit.family.scale
    if (scales < 0).all():
        warn_caller("the scale is negative: is a higher score really more probable?", ReversedScoresWarning)
    offsets = _centered_offsets(own[0]) if len(own) else np.zeros(len(training.classes))
    return ScaleMap(
        classes=list(training.classes),
        scales=scales,
        offsets=offsets,
        **_softmax_map_metadata(training, fit, method, objective),
    )


def _centered_offsets(offsets: FloatArray) -> FloatArray:
    return np.asarray(offsets - offsets.mean())


def _softmax_map_metadata(
    training: TrainingTrials, fit: SoftmaxFit, method: str, objective: Objective
) -> MapMetadata:
    options: dict[str, Json] = {
        "prior": _plain_prior(objective.prior),
        "weights": _plain_prior(objective.weights),
        "regularization": objective.regularization,
        "df": objective.df,
    }
    return {
        "method": method,
        "options": options,
        "details": fit.settled.details(),
        "provenance": provenance(training),
    }


def _plain_prior(prior: Prior | None) -> Json:
    return np.asarray(prior).tolist() if isinstance(prior, (list, tuple, np.ndarray)) else prior
