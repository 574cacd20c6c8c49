"""The LLR of the LLR as a line, and what a map's parameters are uncertain by."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from llrkit.base.arguments import Array, FloatArray, one_of
from llrkit.base.text import Json, as_number
from llrkit.core.losses import NewtonSums
from llrkit.core.numerics import LN2, logit, sigmoid, softplus
from llrkit.core.summaries import Moments
from llrkit.errors import InputError, LlrkitWarning
from llrkit.results.result import Result
from llrkit.scores import AnyTrials, Labels, ScoreSource, as_source
from llrkit.trust.influence import estimate_means
from llrkit.trust.jackknife import Jackknife
from llrkit.trust.speakers import (
    CellSet,
    Contributions,
    Speakers,
    find_speakers,
    quantile,
    speaker_cells,
    two_sided_p,
)


class LineErrors:
    """Standard errors of the slope and the offset of a line, from their covariance."""

    covariance: tuple[tuple[float, float], tuple[float, float]]

    @property
    def se_a(self) -> float:
        """Standard error of the slope."""
        return math.sqrt(max(self.covariance[0][0], 0.0))

    @property
    def se_b(self) -> float:
        """Standard error of the offset."""
        return math.sqrt(max(self.covariance[1][1], 0.0))


@dataclass(frozen=True)
class Recalibration(LineErrors):
    """The line ``a x + b`` that logistic regression makes of LLRs x, and how far it is from x itself.

    If the given LLR is ``factor`` times the right one plus ``bias``, then ``a = 1 / factor`` and
    ``b = -bias / factor``.
    """

    a: float
    b: float
    covariance: tuple[tuple[float, float], tuple[float, float]]
    statistic: float
    """Of the test of a = 1 and b = 0 together; about chi-square with 2 degrees of freedom if calibrated."""
    p_value: float
    df: float
    """Degrees of freedom: those of the speakers, or twice the effective trials."""

    @property
    def factor(self) -> float:
        """By how much the LLRs are too large; below 1 they are too small."""
        return 1.0 / self.a

    @property
    def bias(self) -> float:
        """By how much the LLRs are too high, in nats; below 0 they are too low."""
        return -self.b / self.a

    @property
    def se_bias(self) -> float:
        """Standard error of the bias, by the delta method.

        Far from zero, slope and offset of the line are nearly proportional and large terms cancel; what is
        left is then no smaller than their rounding errors.
        """
        slope = np.array([self.b / self.a**2, -1.0 / self.a])
        terms = np.outer(slope, slope) * np.array(self.covariance)
        return math.sqrt(max(float(terms.sum()), np.finfo(float).eps * float(np.abs(terms).sum())))

    @property
    def p_factor(self) -> float:
        """Two-sided test that the factor is 1 (of its logarithm)."""
        # a slope of 0 or below has no logarithm, and is certainly not 1
        return two_sided_p(math.log(self.a), self.se_a / self.a, self.df) if self.a > 0.0 else 0.0

    @property
    def p_bias(self) -> float:
        """Two-sided test that the bias is 0."""
        return two_sided_p(self.bias, self.se_bias, self.df)

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        names = ("a", "b", "se_a", "se_b", "factor", "bias", "se_bias", "statistic", "p_value")
        return {name: getattr(self, name) for name in (*names, "p_factor", "p_bias")}


def as_rows(matrix: FloatArray) -> tuple[tuple[float, float], tuple[float, float]]:
    """A covariance matrix of slope and offset as plain numbers."""
    return (float(matrix[0, 0]), float(matrix[0, 1])), (float(matrix[1, 0]), float(matrix[1, 1]))


SAFEGUARD = 0.01
"""``regularization`` of :func:`llrkit.fit_logistic`, which keeps the slope finite without overlap."""
FOLDS = 5
_MOST_CELLS = 256


def cross_validated_loss(
    llr: FloatArray,
    target: FloatArray,
    nontarget: FloatArray,
    rng: np.random.Generator,
    *,
    folds: int = FOLDS,
    start: tuple[float, float] = (1.0, 0.0),
) -> float:
    """What straight lines, each fitted to the other of several random parts, gain in Cllr, in bits."""
    every = -(-len(llr) // _MOST_CELLS)  # a line needs no finer cells
    if every > 1:
        # cells are even, so neighbors are joined in runs of equal length
        first = np.arange(0, len(llr), every)
        llr = np.add.reduceat(llr, first) / np.diff(np.append(first, len(llr)))
        target, nontarget = np.add.reduceat(target, first), np.add.reduceat(nontarget, first)
    parts = [
        # trials are dealt to the folds cell by cell, as independent trials would be
        rng.multinomial(np.round(counts).astype(np.int64), [1.0 / folds] * folds).T
        for counts in (target, nontarget)
    ]
    n, gain = (parts[0].sum(), parts[1].sum()), 0.0
    saved = softplus(-llr), softplus(llr)
    # the fit to everything is a close start for those without a fold
    start = fit_line(llr, parts[0].sum(axis=0) / n[0], parts[1].sum(axis=0) / n[1], float(n[0]), start)
    for held in zip(*parts, strict=True):
        t, d = (one.sum(axis=0) - own for one, own in zip(parts, held, strict=True))
        # a fold that holds all of a class leaves nothing to fit
        if not (t.any() and d.any()):
            return math.nan
        a, b = fit_line(llr, t / t.sum(), d / d.sum(), float(t.sum()), start)
        mapped = a * llr + b
        for own, before, after, size in zip(
            held, saved, (softplus(-mapped), softplus(mapped)), n, strict=True
        ):
            gain += float((own * (before - after)).sum() / size)
    return gain / (2.0 * LN2)


def fit_line(
    x: FloatArray,
    target: FloatArray,
    nontarget: FloatArray,
    df: float,
    start: tuple[float, float] = (1.0, 0.0),
) -> tuple[float, float]:
    """Logistic regression at prior 1/2 of weighted LLRs (weights of a class add up to 1).

    Careful Newton steps from ``start``; ``SAFEGUARD / df`` is the weight of copies of the trials with
    either label.

    Examples
    --------
    >>> x = np.array([-2.0, 2.0])
    >>> a, b = fit_line(x, np.array([0.25, 0.75]), np.array([0.75, 0.25]), 1e9)
    >>> round(2.0 * a, 6) == round(float(np.log(3.0)), 6), round(b, 6)
    (True, 0.0)
    """
    a, b = start
    # either label has half of the copies
    pull = 0.5 * SAFEGUARD / df
    # most of the cells of few trials are empty
    filled = np.flatnonzero(target + nontarget)
    if len(filled) < len(x):
        x, target, nontarget = x[filled], target[filled], nontarget[filled]
    both = pull * (target + nontarget)
    t, n = target + both, nontarget + both
    for _ in range(40):
        p = np.asarray(sigmoid(a * x + b))
        residual, weight = n * p - t * (1.0 - p), (t + n) * p * (1.0 - p)
        slope, offset = float((residual * x).sum()), float(residual.sum())
        weighted = weight * x
        # 1e-9 keeps the determinant above 0 where all weights vanish (certain LLRs)
        aa, ab, bb = float((weighted * x).sum()) + 1e-9, float(weighted.sum()), float(weight.sum()) + 1e-9
        # Newton's step by hand: LAPACK takes longer to be called than two equations to be solved
        scale = aa * bb - ab * ab
        steps = (bb * slope - ab * offset) / scale, (aa * offset - ab * slope) / scale
        largest = max(abs(steps[0]), abs(steps[1]))
        # no step is longer than 1 in slope or offset: far from the optimum the curvature is misleading
        short = min(1.0, 1.0 / max(largest, 1e-12))
        a, b = a - short * steps[0], b - short * steps[1]
        if largest < 1e-8:
            break
    return a, b


LINES = ("logistic", "cmlg")
"""Methods whose maps are straight lines, with standard errors of their own."""


@dataclass(frozen=True)
class MapUncertainty(LineErrors, Result):
    """An affine calibration ``llr = a score + b`` and the covariance of a and b."""

    a: float
    """Slope of the calibration."""
    b: float
    """Offset of the calibration."""
    covariance: tuple[tuple[float, float], tuple[float, float]]
    """Covariance matrix of slope and offset."""
    df: float
    """Effective degrees of freedom, at most speakers - 1; infinite for independent trials."""
    by_speaker: Jackknife | None = field(default=None, repr=False, compare=False)
    """Slope and offset without each speaker; None for independent trials."""

    def interval(self, score: float, level: float = 0.95) -> tuple[float, float, float]:
        """LLR of a score, and the ends of its interval: what the training trials leave open.

        Parameters
        ----------
        score
            The score, as the map was trained on.
        level
            Confidence level, between 0 and 1.
        """
        (aa, ab), (_, bb) = self.covariance
        error = math.sqrt(max(score * score * aa + 2.0 * score * ab + bb, 0.0))
        llr = self.a * score + self.b
        if self.by_speaker is None:
            reach = quantile(level, self.df) * error
            return llr, llr - reach, llr + reach
        without = self.by_speaker.without @ np.array([[score], [1.0]])
        # on the score asked for, so bootstrap-t sees how skewed this LLR is
        single = Jackknife(("llr",), np.array([llr]), without, blocks=self.by_speaker.blocks)
        whole = float(single.standard_error[0])
        # the covariance has the pairs taken out; the same share is given to the jackknife of this score
        share = min((error / whole) ** 2, 1.0) if whole > 0.0 else 1.0
        low, high = replace(single, counted_once=share).interval(level, center=single.values)
        return llr, float(low[0]), float(high[0])


def map_uncertainty(
    source: AnyTrials,
    labels: Labels | None = None,
    method: str = "logistic",
    *,
    speakers: str | Sequence[str] | None = None,
    **options: object,
) -> MapUncertainty:
    """Standard errors of an affine calibration, and with them of every LLR it gives.

    For independent trials the sandwich covariance ``H^-1 V H^-1`` of logistic regression, the delta method
    for CMLG. When speakers are given the map is fitted again without each of them (a Newton step from the fit
    to all trials; CMLG exactly), and trials between two speakers are not counted twice.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    method
        ``"logistic"`` or ``"cmlg"``, fitted here with ``options``: ``prior``, or ``alpha``.
    speakers
        The column, or the two columns, with the speakers of a trial.
    **options
        Keywords of the calibrator.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.1).rvs(200, 2000, np.random.default_rng(3)))
    >>> uncertainty = lk.trust.map_uncertainty(scores, method="cmlg")
    >>> abs(uncertainty.a - 1.0) < 4 * uncertainty.se_a
    True
    >>> [round(value, 2) for value in uncertainty.interval(3.0)]
    [2.86, 2.52, 3.2]
    """
    source = as_source(source, labels)
    # imported here: the tests of an evaluation use the line above and need no fits
    from llrkit.fits.cmlg import fit_cmlg
    from llrkit.fits.logistic import fit_logistic
    from llrkit.maps.map import AffineMap, Map

    one_of(method, LINES, "method")
    fit: Callable[..., Map] = fit_logistic if method == "logistic" else fit_cmlg
    groups = find_speakers(source, speakers).grouped() if speakers else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)
        fitted = fit(source, **options)
    if not isinstance(fitted, AffineMap):
        raise InputError(f"standard errors exist for straight lines only: leave out {', '.join(options)}")
    prior, alpha = as_number(options.get("prior", 0.5)), as_number(fitted.options.get("alpha", 0.5))
    line = (fitted.a, fitted.b)
    if method == "logistic":
        _, spread = estimate_means(source, _newton_terms(line, prior, hessian=False), groups)
        inverse = _inverse_hessian(source, line, prior)
    else:
        moments = source.reduce(Moments.of)
        _, spread = estimate_means(source, _cmlg_influences(moments, alpha), groups)
        inverse = np.eye(2)
    if groups is None:
        return MapUncertainty(*line, as_rows(inverse @ spread.independent @ inverse), math.inf)
    refitted = (
        _logistic_without(source, groups, line, prior)
        if method == "logistic"
        else _cmlg_without(source, groups, line, alpha, moments)
    )
    shares = np.array([spread.share_without_pairs(row) for row in inverse])
    # some 2/S of what pairs count twice stays in, as in other intervals
    refitted = replace(refitted, counted_once=np.minimum(1.0, shares * (1.0 + 2.0 / groups.n)))
    df = float(refitted.df.min())
    return MapUncertainty(*line, as_rows(refitted.covariance), df, refitted)


def _inverse_hessian(source: ScoreSource, line: tuple[float, float], prior: float) -> FloatArray:
    """Inverse of the second derivatives of the prior-weighted cross-entropy by slope and offset; one pass."""
    sums = source.reduce(lambda chunk: NewtonSums.of(chunk, line, float(logit(prior))))
    target, nontarget = sums.target, sums.nontarget
    hessian = prior * target.hessian / target.n + (1.0 - prior) * nontarget.hessian / nontarget.n
    try:
        return np.asarray(np.linalg.inv(hessian), dtype=np.float64)
    except np.linalg.LinAlgError:  # LLRs so far from zero that slope and offset cannot be told apart
        return np.asarray(np.linalg.pinv(hessian, hermitian=True), dtype=np.float64)


def _newton_terms(line: tuple[float, float], prior: float, *, hessian: bool) -> Contributions:
    """Gradient of the prior-weighted cross-entropy of ``a x + b``, and its second derivatives if wanted."""
    a, b = line

    def of(values: Array, class_index: int) -> list[FloatArray]:
        x = values.astype(np.float64, copy=False)
        sign, weight = (-1.0, prior) if class_index == 0 else (1.0, 1.0 - prior)
        z = a * x + b + float(logit(prior))
        residual = weight * sign * np.asarray(sigmoid(sign * z))
        if not hessian:
            return [residual * x, residual]
        p = np.asarray(sigmoid(z))
        curvature = weight * p * (1.0 - p)
        return [residual * x, residual, curvature * x * x, curvature * x, curvature]

    return Contributions(5 if hessian else 2, of)


def _logistic_without(
    source: ScoreSource, groups: Speakers, line: tuple[float, float], prior: float
) -> Jackknife:
    """Slope and offset without each speaker: one Newton step from the fit to all trials."""
    cells = speaker_cells(source, groups, contributions=_newton_terms(line, prior, hessian=True))
    at_all = cells.total.means.sum(axis=0)[:2]  # not zero where the fit is regularized

    def step(kept: CellSet) -> FloatArray:
        terms = kept.means.sum(axis=0)
        hessian = np.array([[terms[2], terms[3]], [terms[3], terms[4]]])
        # at a regularized fit the gradient of the trials is not 0; only its change moves the line
        return np.asarray(np.array(line) - np.linalg.solve(hessian, terms[:2] - at_all))

    return Jackknife.of(cells, step, ("a", "b"))


def _cmlg_influences(moments: Moments, alpha: float) -> Contributions:
    """Influence of each score on slope and offset of CMLG, through the means and variances."""
    means, variances = _means_of_classes(moments), (moments.target.variance[0], moments.nontarget.variance[0])
    v = alpha * float(variances[0]) + (1.0 - alpha) * float(variances[1])
    a = (means[0] - means[1]) / v

    def of(values: Array, class_index: int) -> list[FloatArray]:
        sign, weight = (1.0, alpha) if class_index == 0 else (-1.0, 1.0 - alpha)
        # influence functions of mean and variance, through the derivatives of a and b
        centered = values.astype(np.float64, copy=False) - means[class_index]
        slope = sign * centered / v - a / v * weight * (centered**2 - float(variances[class_index]))
        return [slope, -slope * (means[0] + means[1]) / 2.0 - a * centered / 2.0]

    return Contributions(2, of)


def _means_of_classes(moments: Moments) -> tuple[float, float]:
    return float(moments.target.mean[0]), float(moments.nontarget.mean[0])


def _cmlg_without(
    source: ScoreSource, groups: Speakers, line: tuple[float, float], alpha: float, moments: Moments
) -> Jackknife:
    """Slope and offset without each speaker, from means and variances."""
    centers = _means_of_classes(moments)

    def powers(values: Array, class_index: int) -> list[FloatArray]:
        # centered on the means of all trials, so that x * x - mean^2 does not cancel
        x = values.astype(np.float64, copy=False) - centers[class_index]
        return [x, x * x]

    cells = speaker_cells(source, groups, contributions=Contributions(2, powers))

    def fit(kept: CellSet) -> tuple[float, float]:
        first, second = kept.means[:, 0], kept.means[:, 1]
        mean, variance = first + np.array(centers), second - first**2
        a = (mean[0] - mean[1]) / (alpha * variance[0] + (1.0 - alpha) * variance[1])
        return a, -a * (mean[0] + mean[1]) / 2.0

    found = Jackknife.of(cells, fit, ("a", "b"))
    # variances may be divided by n - 1 in the fit to all trials
    return replace(found, values=np.array(line), without=found.without + np.array(line) - found.values)
