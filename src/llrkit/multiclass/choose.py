"""Methods for several classes: compared, cross-validated, and tested for idempotence.

The readers of files pass through here, since a stub lists names of its own room only. No other module of the
room imports this one or polars, which arrays alone do not need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from llrkit.base.arguments import RNG, FloatArray, of_kind, seed_of
from llrkit.base.process import tracked
from llrkit.base.text import Json, number
from llrkit.core.groups import plain_value
from llrkit.core.summaries import Grouped
from llrkit.engine.open import scan_classes as scan_classes
from llrkit.engine.open import scatter_classes as scatter_classes
from llrkit.errors import InputError
from llrkit.fits import folds as crossval
from llrkit.fits.best import CrossCalibration
from llrkit.fits.folds import Compared, Fit, Folds, Methods, Pair
from llrkit.io.class_files import read_classes as read_classes
from llrkit.metrics.discrimination import Curve
from llrkit.multiclass.evaluation import ClassEvaluation, evaluate
from llrkit.multiclass.fits import CANDIDATES, METHODS, linear_discriminant, prior_option, shared_covariance
from llrkit.multiclass.maps import ClassMap, class_means
from llrkit.multiclass.metrics import Prior, as_classes, class_prior, cllr
from llrkit.scores.arrays import read_only
from llrkit.scores.classes import ClassScores, ClassSource, ClassVectors
from llrkit.scores.derived import ChangedChunks
from llrkit.trust.calibration_check import CalibrationLoss as CalibrationLoss

# The matrix of the test has k^2 (k - 1)^2 numbers.
_LARGEST_TEST = 40


@dataclass(frozen=True, eq=False)
class Idempotence(Curve):
    """Means of the log-likelihood-ratios over the last class, and where calibration wants them.

    Row j of ``observed`` holds the means of trials of class j, row j of ``expected`` is
    ``S e_j - diag(S) / 2`` with the shared covariance S (``e_j`` a unit vector, 0 for the last class).
    ``slopes`` and ``offsets`` are the map from the LLRs to the LLRs that a Gaussian back-end makes of them:
    the identity, when they are calibrated.
    """

    classes: tuple[str, ...]
    """Names of the classes."""
    observed: FloatArray
    """Mean LLRs over the last class, one row for each class."""
    expected: FloatArray
    """The means that calibrated LLRs with this covariance have."""
    standard_errors: FloatArray
    """Of ``observed - expected``, for independent Gaussian trials."""
    covariance: FloatArray
    """Covariance of the LLRs that all classes share."""
    slopes: FloatArray
    """Matrix of the map that a Gaussian back-end makes of the LLRs."""
    offsets: FloatArray
    """Offsets of that map."""
    statistic: float
    """Wald statistic of ``observed = expected``, chi-square distributed under calibration."""
    degrees: int
    """Degrees of freedom of the statistic."""
    p_value: float
    """Chance of a larger statistic under calibration; nan for more than 40 classes."""

    @property
    def largest_deviation(self) -> float:
        """Largest absolute difference between an observed and an expected mean, in nats."""
        return float(np.abs(self.observed - self.expected).max())


def idempotence(source: ClassSource, *, weights: Prior = "flat") -> Idempotence:
    """Whether Gaussian log-likelihood-ratios of several classes are calibrated: a test and a picture.

    Let z be the LLRs of all classes over the last one, Gaussian in every class with common covariance S.
    They are calibrated, that is, the LLRs of z are z itself, if and only if the mean of z for trials of
    class j is ``S e_j - diag(S) / 2``; two classes give means of plus and minus half the variance. The test
    asks whether the differences could be chance, for independent Gaussian trials.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    weights
        Weights of the classes in the shared covariance.

    References
    ----------
    van Leeuwen & Brümmer, "The distribution of calibrated likelihood-ratios in speaker recognition",
    Interspeech 2013; Noé et al., arXiv 2509.03365, 2025, for more than two hypotheses.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> z = np.concatenate([rng.normal(mean, 2.0, 2000) for mean in (2.0, -2.0)])
    >>> scores = lk.scores.ClassScores(np.column_stack([z, np.zeros(4000)]), np.repeat([0, 1], 2000))
    >>> test = lk.multiclass.idempotence(scores)
    >>> test.expected.round(1).ravel(), test.p_value > 0.01
    (array([ 2., -2.]), True)
    """
    means = class_means(source)
    if not means.differences:
        raise InputError("idempotence is about log-likelihoods; vectors need a back-end first")
    share = class_prior(weights, means)
    covariance = shared_covariance(source, means, share)
    # As in CMLG of two classes: calibrated LLRs are mapped to themselves.
    slopes, offsets = linear_discriminant(means.mean, covariance)
    expected = calibrated_means(covariance)
    # Of observed - expected: means vary by S / n_j, entries of S by cov(S_ab, S_cd) = (S_ac S_bd + S_ad S_bc)
    # pooled, and the expected means are linear in them.
    per_trial = 1.0 / means.n
    pooled = float((share**2 * per_trial).sum())
    k = len(means.classes)
    own = [np.diag(_covariance_of_expected_means(covariance, j, j)) for j in range(k)]
    variances = np.multiply.outer(per_trial, np.diag(covariance)) + pooled * np.array(own)
    statistic = p_value = math.nan
    if k <= _LARGEST_TEST:
        every = np.zeros((k, k - 1, k, k - 1))
        for j in range(k):
            every[j, :, j, :] += covariance * per_trial[j]
            for other in range(k):
                every[j, :, other, :] += pooled * _covariance_of_expected_means(covariance, j, other)
        difference = (means.mean - expected).ravel()
        # Least squares, since the matrix may be singular where LLRs follow from each other.
        solved = np.linalg.lstsq(every.reshape(len(difference), len(difference)), difference)[0]
        statistic = float(difference @ solved)
        from scipy.special import chdtrc  # takes longer to import than all of llrkit

        p_value = float(chdtrc(k * (k - 1), statistic))
    return Idempotence(
        classes=means.classes,
        observed=means.mean,
        expected=expected,
        standard_errors=np.sqrt(variances),
        covariance=covariance,
        # Rows over the last class, in the units of the LLRs that came in.
        slopes=slopes[:-1] - slopes[-1],
        offsets=offsets[:-1] - offsets[-1],
        statistic=statistic,
        degrees=k * (k - 1),
        p_value=p_value,
    )


def calibrated_means(covariance: FloatArray) -> FloatArray:
    """Means of calibrated Gaussian LLRs over the last class, one row for each class: ``S e_j - diag(S) / 2``.

    Parameters
    ----------
    covariance
        Covariance of the LLRs over the last class.

    Examples
    --------
    >>> calibrated_means(np.array([[4.0]])).ravel()
    array([ 2., -2.])
    """
    d = len(covariance)
    return np.asarray(np.vstack([covariance, np.zeros((1, d))]) - 0.5 * np.diag(covariance))


def _covariance_of_expected_means(s: FloatArray, j: int, other: int) -> FloatArray:
    """Covariance, times the number of trials, of ``S e_j - diag(S)/2`` and the same of another class."""
    d = len(s)
    covariance = 0.5 * s**2  # of the halves of the diagonals
    if j < d:
        covariance = covariance - s * s[j][None, :]  # S_aj with S_bb / 2
    if other < d:
        covariance = covariance - s * s[other][:, None]
    if j < d and other < d:
        covariance = covariance + s * s[j, other] + np.outer(s[:, other], s[j])
    return np.asarray(covariance)


def make_class_folds(
    source: ClassSource,
    groups: str | Sequence[str] | None = None,
    folds: int | str = 5,
    seed: int = 0,
    *,
    leave_one_out: bool = False,
) -> Folds:
    """Folds of each class by the place of a trial, of whole groups, or those that a column names."""
    columns = crossval.group_columns(groups, folds)
    if columns is None:
        # Without groups the place of a trial decides its fold, which needs no pass.
        return Folds(int(folds), seed=seed)
    if len(columns) != 1:
        raise InputError(f"groups are one column where there are several classes, got {list(columns)}")

    def counted(chunk: ClassVectors) -> Grouped[Hashable, float]:
        values, n = np.unique(chunk.columns[columns[0]], return_counts=True)
        return Grouped(dict(zip(map(plain_value, values), n.tolist(), strict=True)))

    groups_seen = source.with_columns(*columns).reduce(counted).groups
    return crossval.folds_of_values(columns, groups_seen, folds, seed, leave_one_out=leave_one_out)


def cross_calibrate(
    source: ClassSource,
    method: str | Fit[ClassMap] = "scale-offset",
    *,
    groups: str | Sequence[str] | None = None,
    leave_out: str | None = None,
    folds: int | str = 5,
    rng: RNG = 0,
    **options: object,
) -> CrossCalibration[ClassSource, ClassMap]:
    """Log-likelihoods for reporting: each trial is calibrated by a map that has not seen its fold.

    The result has the calibrated trials as its ``source``, like that of :func:`llrkit.cross_calibrate`.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    method, **options
        A calibrator of this room, by name or as a function, and its options.
    groups
        A column whose values never share two folds: the source or the speaker of a trial.
    leave_out
        In place of ``groups``: a column whose values are left out one at a time.
    folds
        How many folds each class is dealt into, or the name of a column whose values are the folds.
    rng
        Another seed assigns the folds differently.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> labels = np.arange(600) % 3
    >>> scores = lk.scores.ClassScores(9.0 * (rng.normal(size=(600, 3)) + 2.0 * np.eye(3)[labels]), labels)
    >>> crossed = lk.multiclass.cross_calibrate(scores)
    >>> round(lk.multiclass.cllr(scores), 2), round(lk.multiclass.cllr(crossed.source), 2)
    (1.11, 0.49)
    """
    seed = seed_of(rng)
    if leave_out is not None and groups is not None:
        raise InputError("give groups or leave_out, not both")
    left = groups if leave_out is None else leave_out
    source = as_classes(source)
    assigned = make_class_folds(source, left, folds, seed, leave_one_out=leave_out is not None)

    def training(pair: Pair) -> ClassSource:
        def kept(chunk: ClassVectors) -> ClassVectors:
            # A map is trained on what shares no fold with either side of the pair.
            return chunk.take(crossval.apart_from(assigned.of_rows(chunk), assigned.n, pair))

        return ChangedChunks(source, kept, assigned.carried)

    fit, name = crossval.fit_of(method, METHODS), crossval.method_name(method, METHODS)
    pairs = tracked(assigned.pairs, name, len(assigned.pairs), "fits")
    maps = {pair: crossval.quietly(fit, training(pair), options) for pair in pairs}

    def crossed(chunk: ClassVectors) -> ClassScores:
        fold = assigned.of_rows(chunk)
        # Every trial is in exactly one fold, so no row stays empty.
        loglik = np.empty((len(chunk.values), len(chunk.classes)))
        for (f, g), fitted in maps.items():
            # Folds of a pair are coded as one number.
            rows = fold == f * assigned.n + g
            loglik[rows] = fitted(chunk.values[rows])
        return ClassScores.part(read_only(loglik), chunk.codes, chunk.classes, chunk.columns)

    return CrossCalibration(
        ChangedChunks(source, crossed, assigned.carried), MappingProxyType(maps), assigned
    )


def calibration_loss(
    source: ClassSource,
    method: str | Fit[ClassMap] = "scale-offset",
    *,
    groups: str | Sequence[str] | None = None,
    folds: int | str = 5,
    prior: Prior = "flat",
    rng: RNG = 0,
    metric: Callable[..., float] = cllr,
    **options: object,
) -> CalibrationLoss:
    """How much of a metric of several classes calibration loses, by cross-validation (Ferrer & Ramos 2025).

    The trials are calibrated by maps that have not seen them. Unlike the difference to a calibration on
    the same trials it is not biased upwards: for perfectly calibrated scores it is slightly below 0 on
    average, the price of estimating the calibration.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    method, prior, **options
        The calibrator, the prior it and the metric get, and its other options.
    groups, folds, rng
        As for :func:`cross_calibrate`; trials of the same source must share a fold (``groups``).
    metric
        Called as ``metric(source, prior=prior)``; lower must be better.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> labels = np.arange(600) % 3
    >>> scores = lk.scores.ClassScores(9.0 * (rng.normal(size=(600, 3)) + 2.0 * np.eye(3)[labels]), labels)
    >>> round(lk.multiclass.calibration_loss(scores).relative, 2)
    0.56
    """
    seed = seed_of(rng)
    # Gaussian back-ends have no prior; the metric uses it in any case.
    options |= prior_option(method, prior)
    calibrate: Callable[..., CrossCalibration[ClassSource, ClassMap]] = cross_calibrate  # its own options too
    crossed = calibrate(source, method, groups=groups, folds=folds, rng=seed, **options)
    return CalibrationLoss(metric(source, prior=prior), metric(crossed.source, prior=prior))


@dataclass(frozen=True, eq=False, repr=False)
class ClassComparison(Compared[ClassEvaluation, ClassMap]):
    """The results of each calibrator on the evaluation set; the raw scores come first."""

    @property
    def sentence(self) -> str:
        """The comparison in plain words."""
        best = self.evaluations[self.best]
        raw = self.evaluations[crossval.RAW]
        return crossval.cllr_sentence(self.best, best.cllr, best.cllr_cal, raw.cllr)

    def _loss(self, name: str) -> float:
        return self.evaluations[name].cllr

    def _row(self, name: str) -> dict[str, Json]:
        result = self.evaluations[name]
        keys = ("cllr", "cllr_normalized", "refined_cllr", "cllr_cal")
        numbers = {key: getattr(result, key) for key in keys}
        cavgs = {cost.name: cost.actual for cost in result.cavgs}
        return {**numbers, "error_rate": result.error_rate.actual, "cavgs": cavgs}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""
        first = next(iter(self.evaluations.values()))
        header = ["method", "Cllr", "refined", "Cllr - refined", "error rate"]
        header += [f"Cavg {cost.name}" for cost in first.cavgs]
        rows = []
        for name, result in self.evaluations.items():
            values = [result.cllr, result.refined_cllr, result.cllr_cal, result.error_rate.actual]
            values += [one.actual for one in result.cavgs]
            rows.append([name, *map(number, values)])
        return header, rows


def compare(
    train: ClassSource,
    test: ClassSource,
    methods: Methods[ClassMap] = CANDIDATES,
    *,
    prior: Prior = "flat",
    options: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> ClassComparison:
    """Train calibrators of several classes on one set of trials, evaluate them on another, raw scores first.

    Parameters
    ----------
    train
        Trials that the calibrators are trained on.
    test
        Trials that they are evaluated on.
    methods
        Names of calibrators, separated by commas, or a list of names and of functions.
    prior
        Prior probabilities of the classes, for the fits that have one and for the metrics.
    options
        Options of single methods: name -> options.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> def draw(seed, labels=np.arange(900) % 3):
    ...     noise = np.random.default_rng(seed).normal(size=(900, 3))
    ...     return lk.scores.ClassScores(5.0 * (noise + 2.0 * np.eye(3)[labels]), labels)
    >>> lk.multiclass.compare(draw(1), draw(2), "temperature,gaussian").best
    'temperature'
    """
    of_kind(options, Mapping, "options")
    compared = crossval.compared_on(
        as_classes(train),
        methods,
        METHODS,
        lambda name: {**prior_option(name, prior), **options.get(name, {})},
        lambda fitted: evaluate(test if fitted is None else fitted.on(test), prior=prior, detection=False),
    )
    return ClassComparison(*compared)
