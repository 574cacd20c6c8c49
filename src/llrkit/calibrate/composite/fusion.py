"""Fusion of several systems into one LLR, with or without side information."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import counted
from llrkit._plain import Json
from llrkit.calibrate.affine.linear_fit import Shrinkage, fit_linear
from llrkit.calibrate.composite.linear_map import LinearMap
from llrkit.calibrate.composite.side_information import quality
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.option_checks import class_weight, names_of, one_of
from llrkit.calibrate.training_checks import check_moments, provenance
from llrkit.core.elementary_functions import probability
from llrkit.core.loss_sums import LossSums
from llrkit.core.moments import Moments
from llrkit.core.summary_algebra import both
from llrkit.errors import InputError, SystemCountError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived_sources import DerivedSource
from llrkit.scores.roles import unnamed_systems
from llrkit.scores.source import as_source
from llrkit.theory import GaussianLLR, fuse_calibrated, fuse_moments

METHODS = ("logistic", "gaussian", "precalibrated")
MISSING = ("error", "drop", "subset")


@fits_map
def fit_fusion(
    source: ScoreSource,
    *,
    method: str = "logistic",
    prior: float = 0.5,
    alpha: float = 0.5,
    robust: float = 0.0,
    regularization: float = 0.0,
    quality_columns: Sequence[str] = (),
    features: str = "linear",
    scaled: bool = False,
    missing: str = "error",
    systems: Sequence[str] | None = None,
) -> LinearMap:
    """Fuse the scores of K systems into one calibrated LLR.

    Parameters
    ----------
    method
        ``logistic``: prior-weighted logistic regression (FoCal); ``gaussian``: closed form
        ``w = V^-1 (m_e - m_d)``, ``b = -w (m_e + m_d) / 2``, ``V = alpha V_e + (1 - alpha) V_d``, the
        multivariate CMLG; ``precalibrated``: each system is a calibrated LLR already, and the weights follow
        from their Cllr and their correlations, which are reported for both classes.
    prior
        Where the fit should be best: the prior of a target, costs included (:term:`training prior`).
    alpha
        For ``method="gaussian"`` and ``"precalibrated"``: weight of the covariance of the targets
        (:term:`alpha`).
    robust
        Weight of a mislabeled copy of every trial.
    regularization
        Weight of copies of the trials that say nothing and pull LLRs towards 0.
    quality_columns, features, scaled
        Side information by column name (logistic only), see :func:`fit_quality`.
    missing
        What to do with trials that lack the score of some system: ``error``; ``drop`` them from the
        training, refuse them later; ``subset``: train on complete trials, and give an incomplete trial the
        fusion of the systems it has.
    systems
        Names of the systems of arrays, in the order of the scores. Columns of tables and files, and files of
        one system each, have names already. New trials are matched with the map by these names.

    Examples
    --------
    >>> import llrkit as lk
    >>> target = [[2.0, 1.0], [3.0, 2.5], [1.0, 3.0]]
    >>> nontarget = [[-1.0, 0.0], [0.5, -2.0], [-2.0, 1.0], [0.0, -1.0]]
    >>> lk.fit_fusion(lk.Scores(target, nontarget), method="gaussian")
    LinearMap(gaussian: llr = 10.42 system1 +9.201 system2 -14.83)
    """
    one_of(method, METHODS, "fusion method")
    one_of(missing, MISSING, "policy for missing scores")
    prior, alpha = probability(prior, "prior"), class_weight(alpha)
    names = list(as_source(source).roles.score)
    if systems is not None:
        if names != list(unnamed_systems(len(names))):
            raise InputError(f"systems= is for arrays: these trials call their systems {', '.join(names)}")
        given = list(names_of(systems, "systems"))
        if len(given) != len(names):
            raise SystemCountError(f"{counted(len(given), 'name')} for {counted(len(names), 'system')}")
        names = given
    if missing != "error":
        from llrkit.scores import Trials

        if not isinstance(source, Trials):
            raise InputError(f"missing={missing!r} needs a table of trials; arrays always hold every score")
        source = source.complete_counted(of="the training" if missing == "subset" else "")
    side_information = quality(quality_columns, features, scaled)
    if (robust or regularization) and method != "logistic":
        raise InputError(f"robust and regularization need method='logistic', not {method!r}")
    if side_information.columns and method != "logistic":
        raise InputError(f"quality measures need method='logistic', not {method!r}")
    if side_information.columns and missing == "subset":
        raise InputError("missing='subset' and quality measures cannot be combined")
    options: dict[str, Json] = {
        "prior": prior,
        "alpha": alpha,
        "robust": robust,
        "regularization": regularization,
    }

    def fit(trials: ScoreSource) -> tuple[FloatArray, float, dict[str, object], Moments]:
        if method == "logistic":
            linear = fit_linear(
                side_information.source(trials), prior=prior, shrinkage=Shrinkage(robust, regularization)
            )
            return linear.slopes, linear.offset, {**linear.settled.details()}, linear.moments
        return (_gaussian_fusion if method == "gaussian" else _precalibrated_systems)(trials, alpha)

    weights, offset, details, moments = fit(source)
    k = len(names)
    fitted = LinearMap(
        weights=weights,
        offset=offset,
        systems=names,
        columns=list(side_information.columns),
        features=features,
        scaled=scaled,
        missing=missing,
        method=method,
        options=options,
        details=details,
        provenance=provenance(moments),
    )
    if missing != "subset" or k == 1:
        return fitted
    subsets = {}
    for size in range(1, k):
        for chosen in combinations(range(k), size):
            some = tuple(names[i] for i in chosen)
            slopes, b, _, _ = fit(DerivedSource(source, partial(_choose_systems, chosen=chosen), score=some))
            subsets["".join("01"[i in chosen] for i in range(k))] = np.append(slopes, b)
    return replace(fitted, subsets=subsets)


def _gaussian_fusion(
    source: ScoreSource, alpha: float
) -> tuple[FloatArray, float, dict[str, object], Moments]:
    moments = as_source(source).reduce(Moments.of)
    check_moments(source, moments)
    target, nontarget = moments.target, moments.nontarget
    fusion = fuse_moments(target.mean, nontarget.mean, target.covariance, nontarget.covariance, alpha=alpha)
    details: dict[str, object] = {
        "correlation_target": _correlation_of_systems(target.covariance),
        "passes": 1,
    }
    details["correlation_nontarget"] = _correlation_of_systems(nontarget.covariance)
    return np.asarray(fusion.weights), float(fusion.offset), details, moments


def _precalibrated_systems(
    source: ScoreSource, alpha: float
) -> tuple[FloatArray, float, dict[str, object], Moments]:
    moments = as_source(source).reduce(Moments.of)
    check_moments(source, moments)
    losses = source.reduce(both(*(_losses_of_systems(i) for i in range(len(moments.target.mean))))).summaries
    cllrs = [
        float(loss.target_loss[0] / loss.n_target + loss.nontarget_loss[0] / loss.n_nontarget)
        / (2 * np.log(2))
        for loss in losses
    ]
    for i, value in enumerate(cllrs):
        if not 0.0 < value < 1.0:
            raise InputError(f"system {i + 1} is not a calibrated LLR: its Cllr is {value:.3f}")
    by_class = [
        _correlation_of_systems(class_moments.covariance)
        for class_moments in (moments.target, moments.nontarget)
    ]
    fusion = fuse_calibrated(
        [GaussianLLR.from_cllr(value) for value in cllrs], (by_class[0] + by_class[1]) / 2
    )
    details: dict[str, object] = {
        "cllr": cllrs,
        "correlation_target": by_class[0],
        "correlation_nontarget": by_class[1],
        "predicted_eer": float(fusion.fused.eer),
        "predicted_cllr": float(fusion.fused.cllr),
        "passes": 2,
    }
    return np.asarray(fusion.weights), 0.0, details, moments


def _losses_of_systems(i: int) -> Callable[[Scores], LossSums]:
    return lambda chunk: LossSums.of(_choose_systems(chunk, (i,)))


def _correlation_of_systems(covariance: FloatArray) -> FloatArray:
    spread = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(spread, spread))


def _choose_systems(chunk: Scores, chosen: tuple[int, ...]) -> Scores:
    if chunk.n_systems == 1:
        return chunk
    pick = chosen[0] if len(chosen) == 1 else list(chosen)
    return Scores.part(chunk.target[:, pick], chunk.nontarget[:, pick], chunk.columns, chunk.categories)
