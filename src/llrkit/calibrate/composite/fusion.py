"""Fusion of several systems into one LLR, with or without side information."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.affine.linear_fit import Shrinkage, fit_linear
from llrkit.calibrate.composite.side_information import Quality, quality
from llrkit.calibrate.maps import Columns, Map
from llrkit.calibrate.option_checks import class_weight, names_of, one_of
from llrkit.calibrate.training_checks import check_moments, provenance
from llrkit.core.loss_sums import LossSums
from llrkit.core.moments import Moments
from llrkit.core.special import probability
from llrkit.core.summary import both
from llrkit.errors import InputError, NaNScoreError, SystemCountError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import DerivedSource
from llrkit.scores.source import as_source
from llrkit.theory import GaussianLLR, fuse_calibrated, fuse_moments

METHODS = ("logistic", "gaussian", "precalibrated")
MISSING = ("error", "drop", "subset")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LinearMap(Map):
    """``llr = weights . (scores, features) + offset`` for K systems.

    With ``missing="subset"`` a trial without a score (NaN) of some systems gets the fusion of the others.
    """

    weights: FloatArray
    offset: float
    systems: list[str]
    columns: list[str] = field(default_factory=list)
    features: str = "linear"
    scaled: bool = False
    missing: str = "error"
    subsets: Mapping[str, Any] = field(default_factory=dict)
    """For each set of systems that are there, "101" say: its weights followed by its offset."""

    kind: ClassVar[str] = "linear"

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return len(self.systems)

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns of the side information."""
        return tuple(self.columns)

    @property
    def accepts_missing(self) -> bool:
        """With ``missing="subset"``."""
        return self.missing == "subset"

    @property
    def system_names(self) -> list[str]:
        """Names of the systems in the order of training."""
        return list(self.systems)

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The weighted sum, of the systems that are there."""
        if self.accepts_missing and np.isnan(scores).any():
            return self._by_pattern(scores, columns)
        wide = Quality(tuple(self.columns), self.features, self.scaled).widen(scores, columns)
        with np.errstate(invalid="ignore"):  # looked at in the next line
            llrs = _weighted_sum(wide, self.weights, self.offset)
        if np.isnan(llrs).any():
            row = int(np.argmax(np.isnan(llrs)))
            raise NaNScoreError(f"trial {row}: infinite scores of systems that contradict each other")
        return llrs

    def _by_pattern(self, values: FloatArray, columns: Columns) -> FloatArray:
        """Each trial by the fusion of the systems it has."""
        present = ~np.isnan(values)
        llrs = np.empty(len(values))
        patterns, which = np.unique(present, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            rows = np.flatnonzero(which.ravel() == i)
            if pattern.all():
                llrs[rows] = self.llr(values[rows], {name: column[rows] for name, column in columns.items()})
                continue
            key = "".join("01"[int(flag)] for flag in pattern)
            if key not in self.subsets:
                raise NaNScoreError(f"trial {rows[0]}: no fusion was trained for the systems {key}")
            fitted = np.asarray(self.subsets[key])
            llrs[rows] = _weighted_sum(values[rows][:, pattern], fitted[:-1], fitted[-1])
        return llrs

    def __repr__(self) -> str:
        terms = " + ".join(f"{w:.4g} {name}" for w, name in zip(self.weights, self.systems, strict=False))
        return f"LinearMap({self.method}: llr = {terms} {self.offset:+.4g})"


def _weighted_sum(values: FloatArray, weights: FloatArray, offset: float) -> FloatArray:
    """Column by column: the last bits of a BLAS product may depend on how many rows come at once."""
    total = weights[0] * values[:, 0]
    for column in range(1, len(weights)):
        total += weights[column] * values[:, column]
    return np.asarray(total + offset)


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
    quality_columns, features, scaled
        Side information by column name (logistic only), see :func:`fit_quality`.
    missing
        What to do with trials that lack the score of some system: ``error``; ``drop`` them from the
        training, refuse them later; ``subset``: train on complete trials, and give an incomplete trial the
        fusion of the systems it has.
    systems
        Names of the systems, in the order of the scores; by default those of the table.

    Examples
    --------
    >>> import llrkit as lk
    >>> target = [[2.0, 1.0], [3.0, 2.5], [1.0, 3.0]]
    >>> nontarget = [[-1.0, 0.0], [0.5, -2.0], [-2.0, 1.0], [0.0, -1.0]]
    >>> lk.fit_fusion(lk.Scores(target, nontarget), method="gaussian")
    LinearMap(gaussian: llr = 10.42 system1 + 9.201 system2 -14.83)
    """
    one_of(method, METHODS, "fusion method")
    one_of(missing, MISSING, "policy for missing scores")
    prior, alpha = probability(prior, "prior"), class_weight(alpha)
    names = list(names_of(systems, "systems") if systems is not None else as_source(source).roles.score)
    if missing != "error":
        from llrkit.scores import Trials

        if not isinstance(source, Trials):
            raise InputError(f"missing={missing!r} needs a table of trials; arrays always hold every score")
        source = source.complete()
    side_information = quality(quality_columns, features, scaled)
    if (robust or regularization) and method != "logistic":
        raise InputError(f"robust and regularization need method='logistic', not {method!r}")
    if side_information.columns and method != "logistic":
        raise InputError(f"quality measures need method='logistic', not {method!r}")
    if side_information.columns and missing == "subset":
        raise InputError("missing='subset' and quality measures do not go together")
    options: dict[str, Any] = {
        "prior": prior,
        "alpha": alpha,
        "robust": robust,
        "regularization": regularization,
    }

    def fit(trials: ScoreSource) -> tuple[FloatArray, float, dict[str, Any], Moments]:
        if method == "logistic":
            linear = fit_linear(
                side_information.source(trials), prior=prior, shrinkage=Shrinkage(robust, regularization)
            )
            return linear.slopes, linear.offset, linear.details(), linear.moments
        return (_gaussian if method == "gaussian" else _precalibrated)(trials, alpha)

    weights, offset, details, moments = fit(source)
    k = side_information.n_systems(len(moments.target.mean))
    if len(names) != k:
        raise SystemCountError(f"{len(names)} names for {k} systems")
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


def fit_quality(
    source: ScoreSource,
    *,
    columns: Sequence[str] | str,
    features: str = "linear",
    scaled: bool = False,
    prior: float = 0.5,
    regularization: float = 0.0,
) -> LinearMap:
    """Calibrate with side information: logistic regression on the score and functions of columns.

    ``features`` is ``linear`` (each column as it is), ``durations`` (two columns in seconds) or
    ``bilinear`` (qualities of one side, then of the other); ``scaled`` lets the slope depend on them too.
    The result is ``w_0 + w_1 s + Q(columns)`` (Mandasari et al. 2013; BOSARIS).

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([1.0, 2.0, 4.0], [-1.0, 0.0, 1.5, -2.0], {"snr": ([9, 20, 11], [15, 8, 21, 9])})
    >>> lk.fit_quality(scores, columns="snr", regularization=1).needs
    ('snr',)
    """
    wanted = names_of(columns, "columns")
    if not wanted:
        raise InputError("columns must name at least one column")
    fitted = fit_fusion(
        source,
        prior=prior,
        quality_columns=wanted,
        features=features,
        scaled=scaled,
        regularization=regularization,
    )
    return replace(fitted, method="quality")


def _gaussian(source: ScoreSource, alpha: float) -> tuple[FloatArray, float, dict[str, Any], Moments]:
    moments = as_source(source).reduce(Moments.of)
    check_moments(source, moments)
    target, nontarget = moments.target, moments.nontarget
    fusion = fuse_moments(target.mean, nontarget.mean, target.covariance, nontarget.covariance, alpha=alpha)
    details = {"correlation_target": _correlation(target.covariance), "passes": 1}
    details["correlation_nontarget"] = _correlation(nontarget.covariance)
    return np.asarray(fusion.weights), float(fusion.offset), details, moments


def _precalibrated(source: ScoreSource, alpha: float) -> tuple[FloatArray, float, dict[str, Any], Moments]:
    moments = as_source(source).reduce(Moments.of)
    check_moments(source, moments)
    losses = source.reduce(both(*(_system_losses(i) for i in range(len(moments.target.mean))))).summaries
    cllrs = [
        float(loss.target_loss[0] / loss.n_target + loss.nontarget_loss[0] / loss.n_nontarget)
        / (2 * np.log(2))
        for loss in losses
    ]
    for i, value in enumerate(cllrs):
        if not 0.0 < value < 1.0:
            raise InputError(f"system {i + 1} is not a calibrated LLR: its Cllr is {value:.3f}")
    by_class = [
        _correlation(class_moments.covariance) for class_moments in (moments.target, moments.nontarget)
    ]
    fusion = fuse_calibrated(
        [GaussianLLR.from_cllr(value) for value in cllrs], (by_class[0] + by_class[1]) / 2
    )
    details = {
        "cllr": cllrs,
        "correlation_target": by_class[0],
        "correlation_nontarget": by_class[1],
        "predicted_eer": float(fusion.fused.eer),
        "predicted_cllr": float(fusion.fused.cllr),
        "passes": 2,
    }
    return np.asarray(fusion.weights), 0.0, details, moments


def _system_losses(i: int) -> Callable[[Scores], LossSums]:
    return lambda chunk: LossSums.of(_choose_systems(chunk, (i,)))


def _correlation(covariance: FloatArray) -> FloatArray:
    spread = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(spread, spread))


def _choose_systems(chunk: Scores, chosen: tuple[int, ...]) -> Scores:
    if chunk.n_systems == 1:
        return chunk
    pick: Any = chosen[0] if len(chosen) == 1 else list(chosen)
    return Scores.part(chunk.target[:, pick], chunk.nontarget[:, pick], chunk.columns, chunk.categories)
