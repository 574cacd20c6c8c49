"""Calibration without labels, or with a few: two Gaussians found in the pooled scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import ParamSpec, TypeAlias, TypeVar, cast

import numpy as np

from llrkit._arrays import Array, BoolArray, FloatArray
from llrkit._warn import warn_caller
from llrkit.calibrate.densities.likelihood_maximizer import Objective, maximize
from llrkit.calibrate.densities.training_points import WeightedPoints
from llrkit.calibrate.fit_decorator import FitFunction, fits_map
from llrkit.calibrate.maps import AffineMap, Map
from llrkit.calibrate.poor_fit_guard import without_guard
from llrkit.calibrate.training_checks import check_moments, provenance
from llrkit.core.column_values import truth_of
from llrkit.core.density_grid import DensityGrid
from llrkit.core.elementary_functions import logit, probability, sigmoid
from llrkit.core.moments import Moments
from llrkit.core.summary_algebra import Both, Summarizer
from llrkit.errors import (
    ConstantScoreError,
    InputError,
    ReversedScoresWarning,
    ShapeWarning,
    SystemCountError,
    TooFewTrialsError,
)
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.checked_arrays import score_array
from llrkit.scores.scores_and_labels import is_array, is_pair
from llrkit.scores.source import as_source
from llrkit.theory import GaussianLLR

P = ParamSpec("P")
M_co = TypeVar("M_co", bound=Map, covariant=True)
TwoGrids: TypeAlias = Both[tuple[DensityGrid, DensityGrid]]
FEWEST = 4
_LOG_TWO_PI = float(np.log(2.0 * np.pi))
_LOG_SD = (-9.0, 1.0)


def takes_labels_or_none(fit: FitFunction[P, M_co]) -> FitFunction[P, M_co]:
    """A fit that does not look at labels, and so takes an array of scores alone as well."""

    fit_any = cast(Callable[..., Map], fit)

    @wraps(fit)
    def fitting(source: object, *labels: object, **options: object) -> Map:
        if labels or "labels" in options or not is_array(source) or is_pair(source):
            return fit_any(source, *labels, **options)
        values = score_array(source, "scores")
        if len(values) < FEWEST:
            raise TooFewTrialsError(f"this method needs at least {FEWEST} trials")
        # any two classes do, as long as nothing is concluded from them
        with without_guard():
            fitted = fit_any(Scores.from_classes(values[::2], values[1::2]), **options)
        return replace(fitted, densities=None)

    return cast("FitFunction[P, M_co]", fitting)


@takes_labels_or_none
@fits_map
def fit_unsupervised(
    source: ScoreSource, *, prior: float | None = None, supervised: str | None = None
) -> AffineMap:
    """Affine calibration from scores without labels: two Gaussians of one variance in their mixture.

    ``p(s) = P N(s | m1, v) + (1 - P) N(s | m0, v)`` with ``m1 > m0`` is fitted to the pooled scores by
    maximum likelihood, and ``a = (m1 - m0)/v``, ``b = -a (m1 + m0)/2``. The fit does not look at the labels
    of the source: any split into two classes gives the same map, and an array of scores alone is enough. Two
    passes.

    The map's ``details`` hold means, variance, prior, the log-likelihood per trial, and the EER and Cllr
    that two such Gaussians promise. Whether the scores *are* two Gaussians the fit cannot tell. If all
    labels are given, the map is judged by them afterwards, and a :class:`PoorFitWarning` says if it does
    badly; from scores alone, or with ``supervised``, nothing is checked.

    Parameters
    ----------
    prior
        Share ``P`` of targets among the trials, if known; ``None`` estimates it. It is no
        :term:`training prior`.
    supervised
        Name of a column of true/false values: where it is true, the label of the trial may be used.
        Such trials enter with the Gaussian of their class (and, when the prior is free, count for it).

    References
    ----------
    Brümmer & Garcia-Romero, "Generative modelling for unsupervised score calibration", ICASSP 2014.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.calibrate.affine.unsupervised import fit_unsupervised
    >>> rng = np.random.default_rng(1)
    >>> pair = lk.theory.GaussianLLR.from_eer(0.02)
    >>> pooled = np.append(pair.target.rvs(5_000, rng), pair.nontarget.rvs(45_000, rng))
    >>> calibrate = fit_unsupervised(pooled)
    >>> round(calibrate.a, 1), round(calibrate.details["prior"], 2)
    (1.0, 0.1)
    """
    known = None if prior is None else probability(prior, "prior")
    moments = as_source(source).reduce(Moments.of)
    if len(moments.target.mean) != 1:
        raise SystemCountError(f"one system expected, got {len(moments.target.mean)}")
    with warnings.catch_warnings():  # labels that may be anything can also be reversed
        warnings.simplefilter("ignore", ReversedScoresWarning)
        check_moments(source, moments)
    if moments.target.n + moments.nontarget.n < FEWEST:
        raise TooFewTrialsError(f"this method needs at least {FEWEST} trials")
    low, high = moments.extremes
    wide = source.with_columns(supervised) if supervised is not None else source
    free, labeled = wide.reduce(_grids_by_label(DensityGrid.at(low, high), supervised)).summaries
    by_label = (
        WeightedPoints.of(free.target + free.nontarget, low, high),
        WeightedPoints.of(labeled.target, low, high),
        WeightedPoints.of(labeled.nontarget, low, high),
    )
    options = {"prior": prior, "supervised": supervised}
    return unsupervised_from_points(by_label, moments, known, options)


def _grids_by_label(make: Callable[[Scores], DensityGrid], name: str | None) -> Summarizer[TwoGrids]:
    """Trials whose labels are not to be used, and those whose labels are."""

    def split(chunk: Scores) -> TwoGrids:
        none = Scores.part(chunk.target[:0], chunk.nontarget[:0])
        if name is None:
            return Both((make(chunk), make(none)))
        t, n = (_which_are_labeled(values, chunk, name) for values in chunk.columns[name])
        return Both(
            (
                make(Scores.part(chunk.target[~t], chunk.nontarget[~n])),
                make(Scores.part(chunk.target[t], chunk.nontarget[n])),
            )
        )

    return split


def _which_are_labeled(values: Array, chunk: Scores, name: str) -> BoolArray:
    if name in chunk.categories:  # codes, for true and false of a table, or for words of a text file
        meant = [truth_of(value) for value in chunk.categories[name]]
        if None in meant:
            shown = ", ".join(map(str, chunk.categories[name][:5]))
            raise InputError(f"column {name!r} must hold true and false, or 0 and 1, got {shown}")
        return np.asarray(np.asarray(meant, dtype=bool)[values])
    if values.dtype.kind not in "bui" or not np.isin(values, (0, 1)).all():
        raise InputError(f"column {name!r} must hold true and false, or 0 and 1")
    return values.astype(bool)


def unsupervised_from_points(
    by_label: tuple[WeightedPoints, WeightedPoints, WeightedPoints],
    moments: Moments,
    prior: float | None,
    options: Mapping[str, object],
) -> AffineMap:
    """The fit, from points without a label, of labeled targets, and of labeled non-targets."""
    pooled = moments.target + moments.nontarget
    center, scale = float(pooled.mean[0]), float(np.sqrt(pooled.variance[0]))
    t = tuple(
        weighted.standardized(center, scale) if len(weighted.points) else weighted for weighted in by_label
    )
    everything = WeightedPoints.joined(*t)
    starts = []
    for share in (0.5, 0.1, 0.01) if prior is None else (prior,):
        m0, m1 = everything.quantile(0.5 * (1.0 - share)), everything.quantile(1.0 - 0.5 * share)
        gap = max(m1 - m0, 0.1)
        sd = np.sqrt(max(1.0 - share * (1.0 - share) * gap**2, 0.05))
        starts.append([0.5 * (m0 + m1), float(np.log(gap)), float(np.log(sd)), float(logit(share))])
    low, high = (-20.0, 20.0) if prior is None else (float(logit(prior)), float(logit(prior)))
    bounds = [(-50.0, 50.0), (-12.0, 5.0), _LOG_SD, (low, high)]
    best = maximize(_unlabeled_objective(t, prior is None), starts, bounds)
    middle, log_gap, log_sd, log_odds = best.x.tolist()
    # with labeled trials, or a better fit than one Gaussian gives, there are two
    two = by_label[1].total + by_label[2].total > 0.0 or best.value + 0.5 * (1.0 + _LOG_TWO_PI) > 1e-9
    if not two:
        warn_caller("one Gaussian describes the scores as well as two: every LLR is 0", ShapeWarning)
    if log_sd <= _LOG_SD[0] + 0.1:
        raise ConstantScoreError("the scores pile up at two values: the slope would be infinite")
    gap, v = float(np.exp(log_gap)) * scale if two else 0.0, float(np.exp(2.0 * log_sd)) * scale**2
    a, mid = gap / v, center + scale * middle
    pair = GaussianLLR.from_mu(0.5 * a * gap) if two else None
    details = {
        "mean_target": mid + 0.5 * gap,
        "mean_nontarget": mid - 0.5 * gap,
        "variance": v,
        "prior": float(sigmoid(log_odds)),
        "n_labeled": by_label[1].total + by_label[2].total,
        "log_likelihood": best.value - float(np.log(scale)),
        "gradient_left": best.gradient,
        "eer": pair.eer if pair else 0.5,
        "cllr": pair.cllr if pair else 1.0,
    }
    # class means by labels that were not looked at do not belong into the file
    of_labels = ("mean", "std", "skewness", "kurtosis", "gap")  # the fit has not seen what they tell
    origin = {key: value for key, value in provenance(moments).items() if not key.startswith(of_labels)}
    return AffineMap(
        a=a, b=-a * mid, method="unsupervised", options=options, details=details, provenance=origin
    )


def _unlabeled_objective(by_label: tuple[WeightedPoints, ...], free_prior: bool) -> Objective:
    """Mean log-likelihood and gradient by middle, log gap, log sd and log-odds of the prior."""
    points = np.concatenate([weighted.points for weighted in by_label])
    weights = np.concatenate([weighted.weights for weighted in by_label])
    weights = weights / weights.sum()
    ends = np.cumsum([len(weighted.points) for weighted in by_label])

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        gap, sd, odds = float(np.exp(x[1])), float(np.exp(x[2])), float(x[3])
        z = (points - x[0]) / sd
        half = 0.5 * gap / sd
        up, down = z - half, z + half
        log_e, log_d = -0.5 * up * up + odds, -0.5 * down * down
        share = sigmoid(log_e - log_d)
        share[ends[0] : ends[1]], share[ends[1] :] = 1.0, 0.0
        top = np.logaddexp(log_e, log_d)
        top[ends[0] : ends[1]], top[ends[1] :] = log_e[ends[0] : ends[1]], log_d[ends[1] :]
        norm = np.logaddexp(0.0, odds) + 0.5 * _LOG_TWO_PI + x[2]
        toward = share * up + (1.0 - share) * down
        apart = share * up - (1.0 - share) * down
        square = share * up * up + (1.0 - share) * down * down
        gradient = np.array(
            [
                (weights * toward).sum() / sd,
                (weights * apart).sum() * half,
                (weights * square).sum() - 1.0,
                (weights * share).sum() - float(sigmoid(odds)) if free_prior else 0.0,
            ]
        )
        return float((weights * top).sum() - norm), gradient

    return objective
