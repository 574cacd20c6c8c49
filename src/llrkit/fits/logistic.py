"""Logistic regression and the other proper scoring rules: a linear function that minimizes a sum of losses.

The fit itself is shared with fusion and quality measures. A linear function of K columns and an offset
minimizes a prior-weighted scoring rule: a first guess on a sample, then a few Newton steps on everything,
each of which is one pass over mergeable sums.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from llrkit import errors
from llrkit.base.arguments import Array, FloatArray, not_negative, positive
from llrkit.base.process import warn_caller
from llrkit.core.losses import LOGARITHMIC, NewtonSums, ScoringRule, scoring_rule
from llrkit.core.numerics import Minimum, Objective, binary_entropy, logit, newton, probability, softplus
from llrkit.core.summaries import FieldwiseSums, Moments, Sample, SummaryBase, both
from llrkit.fits.training_checks import check_moments, provenance
from llrkit.maps.map import AffineMap
from llrkit.maps.training_range import REMEDY
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source, weigh

MOST_JUDGED = 100_000
"""Trials of a class that are looked at; of more, every second, fourth, ... one."""
MOST_FITTED = 8_192
"""Trials of a class that logistic regression is fitted on to compare; its loss is right to about 1e-4."""
TOLERATED = 0.05
"""Bits that a map may lose against logistic regression on its training trials."""


def fit_logistic(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    prior: float = 0.5,
    robust: float = 0.0,
    regularization: float = 0.0,
    df: float | None = None,
) -> AffineMap:
    """Affine calibration by prior-weighted logistic regression (Brümmer & du Preez 2006; FoCal).

    Minimizes ``p mean_target softplus(-z) + (1 - p) mean_nontarget softplus(z)`` with
    ``z = a s + b + logit p``; the result is an LLR whatever the prior and the class sizes. A first guess
    on a sample is followed by three to five Newton steps, each one pass.

    Classes that do not overlap raise ``SeparationError`` unless ``robust`` or ``regularization`` is given.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    prior
        Where the fit should be best: the prior of a target, costs included (:term:`training prior`).
    robust
        Weight of a mislabeled copy of every trial, for instance 0.001.
    regularization, df
        Weight ``regularization / df`` of copies that say nothing and pull the LLR towards 0 (Morrison &
        Poh 2018); ``df`` is by default the number of targets. 0.01 is a numerical safeguard, 1 and more
        is deliberate shrinkage.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.fit_logistic(lk.Scores([1.0, 2.0, 4.0], [-1.0, 0.0, 1.5, -2.0]))
    AffineMap(logistic: llr = 1.93179 * score -1.97446)
    """
    source = as_source(source, labels)
    fit = fit_linear(source, prior=prior, shrinkage=Shrinkage(robust, regularization, df))
    options = {"prior": prior, "robust": robust, "regularization": regularization, "df": df}
    return _affine_map_of_fit(fit, "logistic", options).with_reading(source.roles)


def fit_rule(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    rule: ScoringRule | str | tuple[float, float] = "brier",
    prior: float = 0.5,
) -> AffineMap:
    """Affine calibration that minimizes another proper scoring rule (Brümmer & Doddington 2013).

    ``rule`` is "log", "brier", "boosting", "high-threshold", "low-threshold" or a pair (a, b) of the Beta
    family. The prior shifts, and the rule shapes, the range of thresholds for which the fit should be best.

    Some rules, Brier's among them, charge a gross error no more than a bound. Where a few labels are wrong
    and all other trials can be told apart, the best slope is then very large or without end. If the line
    loses twice as much as logistic regression on the training trials, and 0.05 bits more, 1 to 30 % of the
    logarithmic rule are mixed in, as few as it takes; ``details["log_share"]`` and a ``ShapeWarning`` say so.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    rule
        Scoring rule: ``"log"``, ``"brier"``, another name, or a pair (a, b) of the Beta family.
    prior
        Where the fit should be best: the prior of a target, costs included (:term:`training prior`).

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.fits.fit_rule(lk.Scores([1.0, 2.0, 4.0], [-1.0, 0.0, 1.5, -2.0]), rule="boosting")
    AffineMap(rule: llr = 2.73287 * score -3.04513)
    """
    source = as_source(source, labels)
    chosen_rule, prior = scoring_rule(rule), probability(prior, "prior")
    sample = source.reduce(both(Moments.of, TrainingSample.of))
    check_moments(source, sample.summaries[0])
    # the rule is chosen on the sample: a runaway slope shows there, and a fit on everything is many passes
    used = tempered(chosen_rule, sample.summaries[1], prior)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ReversedScoresWarning)  # said once, above
        fit = fit_linear(source, prior=prior, rule=used)
    options = {"rule": [chosen_rule.a, chosen_rule.b], "prior": prior}
    fitted = _affine_map_of_fit(fit, "rule", options).with_reading(source.roles)
    if not isinstance(used, TemperedRule):
        return fitted
    warn_caller(
        f"this rule hardly penalizes gross errors, and its slope diverged; adding {100 * used.share:g} % of "
        "the logarithmic rule kept it finite. Are some trials mislabeled?",
        errors.ShapeWarning,
    )
    return replace(fitted, details={**fitted.details, "log_share": used.share})


def _affine_map_of_fit(fit: LinearFit, method: str, options: Mapping[str, object]) -> AffineMap:
    if len(fit.slopes) != 1:
        raise errors.SystemCountError(f"one system expected, got {len(fit.slopes)}; use fit_fusion")
    about = provenance(fit.moments)
    line = AffineMap(a=float(fit.slopes[0]), b=fit.offset, method=method, options=options)
    return replace(line, details=fit.details, provenance=about)


# tried in order, so the smallest share that keeps the slope finite is taken
SHARES = (0.01, 0.03, 0.1, 0.3)


@dataclass(frozen=True)
class TemperedRule(ScoringRule):
    """``(1 - share)`` times a rule and ``share`` times the logarithmic rule.

    Examples
    --------
    >>> float(TemperedRule(2, 2, 0.5).miss(0.0))  # halfway between 3/4 and log 2
    0.7215735902799727
    """

    share: float = 0.0

    def miss(self, z: npt.ArrayLike) -> FloatArray:
        """Cost of posterior log-odds ``z`` for a target."""
        return (1.0 - self.share) * super().miss(z) + self.share * LOGARITHMIC.miss(z)

    def fa(self, z: npt.ArrayLike) -> FloatArray:
        """Cost of posterior log-odds ``z`` for a non-target."""
        return (1.0 - self.share) * super().fa(z) + self.share * LOGARITHMIC.fa(z)

    def miss_derivatives(self, z: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of :meth:`miss`."""
        return self._mixed(super().miss_derivatives(z), LOGARITHMIC.miss_derivatives(z))

    def fa_derivatives(self, z: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of :meth:`fa`."""
        return self._mixed(super().fa_derivatives(z), LOGARITHMIC.fa_derivatives(z))

    def _mixed(
        self, own: tuple[FloatArray, FloatArray], log: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        first, second = ((1.0 - self.share) * a + self.share * b for a, b in zip(own, log, strict=True))
        return first, second


def tempered(rule: ScoringRule, sample: TrainingSample, prior: float) -> ScoringRule:
    """The rule itself; or with as small a share of the logarithmic rule as keeps its line from running away.

    A bounded rule charges a mislabeled trial no more than its bound, so where all other trials can be told
    apart the best slope is without end, and so is the LLR of the mislabeled ones. A line that loses twice as
    much as logistic regression and 0.05 of the prior's entropy more (bits, at 1/2) has run away.
    """
    # the logarithmic rule charges without bound; its slope runs away only where classes separate
    if rule == LOGARITHMIC:
        return rule
    trials = sample.scores()
    # twice the loss, and 0.05 more: near 0, twice the loss is still nothing
    limit = 2.0 * sample.logistic_loss(prior) + TOLERATED
    for candidate in (rule, *(TemperedRule(rule.a, rule.b, share) for share in SHARES)):
        try:
            line = fit_linear(trials, prior=prior, rule=candidate)
        except errors.SeparationError:
            if candidate == rule:
                return rule  # refused by the fit itself, or only the sample separates
            continue
        if sample.loss(line.llrs, prior) <= limit:
            return candidate
    # even the largest share tried may lose more; it is the closest to logistic regression there is
    return TemperedRule(rule.a, rule.b, SHARES[-1])


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


def settled_details(minimum: Minimum) -> dict[str, float]:
    """How a fit ended: the objective, the largest component of its gradient, and the passes it took."""
    # the look at the trials before the first step is a pass too
    largest, passes = float(np.abs(minimum.gradient).max()), minimum.evaluations + 1
    return {"objective": float(minimum.value), "gradient": largest, "passes": passes}


def refuse_runaway(minimum: Minimum, blind: float, weights: str, remedy: str) -> None:
    """Refuse a fit that ran off to infinite weights; ``blind`` is the cost of scores that say nothing."""
    # three signs of the same thing: no loss left, weights far out in standardized units, or no end of steps
    if minimum.value < 1e-7 * blind or float(np.abs(minimum.x).max()) > 1e5 or not minimum.converged:
        raise errors.SeparationError(
            "the fit did not converge: the classes are separated without error (or nearly so), and the "
            f"best {weights} infinite; {remedy}"
        )


# each evaluation on everything is a pass over the data
_MAX_PASSES = 40


@dataclass(frozen=True)
class LinearFit:
    """What the fit found, in the units of the scores."""

    slopes: FloatArray
    offset: float
    details: dict[str, float]
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
        not_negative(self.robust, "robust")
        not_negative(self.regularization, "regularization")
        if self.df is not None:
            positive(self.df, "df")

    @property
    def present(self) -> bool:
        """Whether anything keeps the slope finite."""
        return self.robust > 0 or self.regularization > 0

    def weights(self, prior: float, n_target: float, n_nontarget: float) -> tuple[FloatArray, FloatArray]:
        """Weights of each trial with its own and with the other label, for (targets, non-targets)."""
        n, share = np.array([n_target, n_nontarget]), np.array([prior, 1.0 - prior])
        # both classes carry copies, hence the half: their total weight is regularization / df
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
        raise errors.InputError("robust and regularized fits are for the logarithmic rule only")
    # moments and sample come from the same pass; the sample gives the first guess without another one
    moments, sample = source.reduce(both(Moments.of, Sample.of)).summaries
    check_moments(source, moments, several=True)
    # with one score, separation shows in the extremes, before any Newton step
    if len(moments.target.mean) == 1 and not shrinkage.present:
        _refuse_separated_classes(moments)
    center, scale, start = _start_of_linear_fit(moments)

    def objective_on(trials: ScoreSource, n_target: float, n_nontarget: float, mean: FloatArray) -> Objective:
        own, flipped = shrinkage.weights(prior, n_target, n_nontarget)
        log_odds = float(logit(prior))

        def objective(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            sums = trials.reduce(lambda chunk: NewtonSums.of(chunk, x, log_odds, rule, center, scale))
            value, gradient, hessian = 0.0, np.zeros(len(x)), np.zeros((len(x), len(x)))
            for class_index, (sign, sum_) in enumerate(((1.0, sums.target), (-1.0, sums.nontarget))):
                value += own[class_index] * sum_.loss
                gradient += own[class_index] * sum_.gradient
                # softplus(z) and softplus(-z) have the same second
                # derivative, so own and flipped copies share the sum
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
    # the loss of LLRs that are all 0; at an extreme prior every loss is as small as this
    nothing = float(prior * rule.miss(logit(prior)) + (1.0 - prior) * rule.fa(logit(prior)))
    mean = np.array([moments.target.mean, moments.nontarget.mean])
    minimum = settle(
        objective_on(small, small.n_target, small.n_nontarget, mean_small),
        objective_on(source, moments.target.n, moments.nontarget.n, mean),
        start,
        # the unit falls with the prior's cost, but only at extreme priors: tolerances stay absolute elsewhere
        min(1.0, 20.0 * nothing),
        max_passes=_MAX_PASSES,
    )
    # with shrinkage a large slope is a choice of the user, and the objective has a finite minimum
    if not shrinkage.present:
        refuse_runaway(minimum, nothing, "slope is", REMEDY)
    # the search ran on centered and scaled columns; slopes and offset go back to the units of the scores
    slopes = minimum.x[:-1] / scale
    return LinearFit(slopes, float(minimum.x[-1] - slopes @ center), settled_details(minimum), moments)


def _start_of_linear_fit(moments: Moments) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Center and scale of the columns, and CMLG in those units."""
    center = (moments.target.mean + moments.nontarget.mean) / 2.0
    pooled = (moments.target.covariance + moments.nontarget.covariance) / 2.0
    scale = np.sqrt(np.diag(pooled))
    spread = np.maximum(moments.target.high, moments.nontarget.high) - np.minimum(
        moments.target.low, moments.nontarget.low
    )
    # a column that is nearly constant within classes is scaled by its range: division by 0 otherwise
    scale = np.where(scale > 1e-9 * spread, scale, np.where(spread > 0, spread, 1.0))
    gap = (moments.target.mean - moments.nontarget.mean) / scale
    # the pseudo-inverse bears systems that are copies of each other
    slopes = np.linalg.pinv(pooled / np.outer(scale, scale), rcond=1e-10, hermitian=True) @ gap
    # constant classes would give an endless slope; a modest one is a safe place to start from
    norm = float(np.abs(slopes).max())
    return center, scale, np.append(slopes if norm <= 20.0 else slopes * (20.0 / norm), 0.0)


def _refuse_separated_classes(moments: Moments) -> None:
    target, nontarget = moments.target, moments.nontarget
    for above, below, words in ((target, nontarget, "targets"), (nontarget, target, "non-targets")):
        if above.low[0] >= below.high[0]:
            raise errors.SeparationError(
                f"the classes do not overlap (all {words} score at least {above.low[0]:.6g}, all others at "
                f"most {below.high[0]:.6g}), so the best slope is infinite; {REMEDY}"
            )


@dataclass(frozen=True, eq=False)
class ClassTrials(SummaryBase):
    """Every ``stride``-th trial of one class, at most ``MOST_JUDGED`` of them, and how often each counts."""

    values: FloatArray
    weights: FloatArray
    stride: int

    @classmethod
    def of(cls, values: Array) -> ClassTrials:
        """Thin an array; scores that are missing are left out."""
        # doubling strides nest: every 4th trial is among every 2nd, so samples of chunks can be merged
        stride = 1
        while len(values) > MOST_JUDGED * stride:
            stride *= 2
        kept = values[::stride].astype(np.float64)
        whole = ~np.isnan(kept) if kept.ndim == 1 else ~np.isnan(kept).any(axis=1)
        kept = kept if whole.all() else kept[whole]
        return cls(kept, np.ones(len(kept)), stride)

    def __add__(self, other: ClassTrials) -> ClassTrials:
        stride = max(self.stride, other.stride)
        while True:
            steps = [stride // part.stride for part in (self, other)]
            own, more = self.values[:: steps[0]], other.values[:: steps[1]]
            if len(own) + len(more) <= MOST_JUDGED:
                break
            stride *= 2
        weights = np.concatenate([self.weights[:: steps[0]], other.weights[:: steps[1]]])
        return ClassTrials(np.concatenate([own, more]), weights, stride)

    @property
    def n(self) -> int:
        """Trials that were kept."""
        return len(self.values)

    def __mul__(self, weight: float) -> ClassTrials:
        return ClassTrials(self.values, self.weights * weight, self.stride)


@dataclass(frozen=True, eq=False)
class TrainingSample(FieldwiseSums):
    """The trials of both classes by which a map is judged: all, or a bounded and evenly spread part."""

    target: ClassTrials
    nontarget: ClassTrials

    @classmethod
    def of(cls, chunk: Scores) -> TrainingSample:
        """Of a chunk."""
        return cls(ClassTrials.of(chunk.target), ClassTrials.of(chunk.nontarget))

    @property
    def is_complete(self) -> bool:
        """Whether these are all trials, and each counts once."""
        classes = (self.target, self.nontarget)
        return all(part.stride == 1 and bool((part.weights == 1.0).all()) for part in classes)

    def scores(self) -> Scores:
        """The trials, each once."""
        return Scores.part(self.target.values, self.nontarget.values)

    def loss(self, llrs: Callable[[FloatArray], FloatArray], prior: float) -> float:
        """Cross-entropy at a prior as a share of the prior's entropy: Cllr at 1/2."""
        total, log_odds = 0.0, float(logit(prior))
        for part, share, sign in ((self.target, prior, -1.0), (self.nontarget, 1.0 - prior, 1.0)):
            losses = softplus(sign * (llrs(part.values) + log_odds))
            # weighted means, so classes and chunks of any size count as they should
            total += share * float((losses * part.weights).sum() / part.weights.sum())
        return total / float(binary_entropy(prior))

    def logistic_loss(self, prior: float) -> float:
        """The same of logistic regression on these trials, regularized where they do not overlap."""
        # every n-th of the kept trials, spread evenly
        some = [slice(None, None, -(-part.n // MOST_FITTED)) for part in (self.target, self.nontarget)]
        weights = self.target.weights[some[0]], self.nontarget.weights[some[1]]
        source: ScoreSource = Scores.part(
            self.target.values[some[0]], self.nontarget.values[some[1]], {"weight": weights}
        )
        if any((each != each[0]).any() for each in weights):
            source = weigh(source, "weight")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.LlrkitWarning)  # of reversed scores the fit has warned
            try:
                line = fit_linear(source, prior=prior)
            except errors.SeparationError:
                line = fit_linear(source, prior=prior, shrinkage=Shrinkage(regularization=1.0))
        return self.loss(line.llrs, prior)
