"""Gaussian classes with uncertain parameters, and tests whether scores are Gaussian.

Few trials leave the parameters of a Gaussian uncertain, which :func:`fit_bayes` integrates out. Whether
scores are like two Gaussians of equal variance is measured and tested here too. The tests take trials to be
independent. Trials that share speakers say less than their number, so p-values are too small then; what a
deviation costs (:mod:`llrkit.fits.cmlg`) does not depend on that.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

import numpy as np

from llrkit.base.arguments import yes_or_no
from llrkit.base.text import Json, p_at_level, told_apart
from llrkit.core.summaries import ClassMoments, Moments
from llrkit.errors import ConstantScoreError, InputError, TooFewTrialsError
from llrkit.fits.densities import StudentRatioMap
from llrkit.fits.ratio import held_where_monotone
from llrkit.fits.training_checks import TrainingPoints, WeightedPoints, provenance, training_moments
from llrkit.maps.map import reading_of
from llrkit.scores.derived import AnyTrials, Labels, as_source


@dataclass(frozen=True)
class NormalGamma:
    """What is believed of a class beforehand: ``kappa`` scores with this mean, ``2 shape`` of its spread.

    The precision (1 / variance) is ``Gamma(shape, rate)``; given it, the mean of the class is
    ``N(mean, 1 / (kappa precision))``.

    Examples
    --------
    >>> NormalGamma(mean=2.0, kappa=5.0, shape=3.0, rate=3.0)
    NormalGamma(mean=2.0, kappa=5.0, shape=3.0, rate=3.0)
    """

    mean: float
    kappa: float
    shape: float
    rate: float

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not (np.isfinite(self.mean) and min(self.kappa, self.shape, self.rate) > 0.0):
            raise InputError(f"kappa, shape and rate must be above 0 and the mean finite, got {self}")
        if not np.isfinite([self.kappa, self.shape, self.rate]).all():
            raise InputError(f"the parameters must be finite, got {self}")


def fit_bayes(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    shared_variance: bool = True,
    prior: tuple[NormalGamma, NormalGamma] | None = None,
    monotone: bool = False,
) -> StudentRatioMap:
    """Calibration with Gaussian classes whose parameters are integrated out, not estimated.

    ``llr = log t(s | df, m_e, r_e) - log t(s | df, m_d, r_d)``: each class predicts a new score by
    Student's t. With the reference prior and one variance, ``df = N_e + N_d - 2`` and
    ``r_c^2 = S/df (1 + 1/N_c)`` with ``S`` the pooled sum of squares; with separate variances
    ``df = N_c - 1`` and ``S_c`` in each class. LLRs shrink by themselves when trials are few, and tend to
    ``fit_cmlg`` (``alpha`` the share of targets) or ``fit_gaussian`` when they are many. One pass.

    The map's ``details`` hold the monotone interval and the share of the (Gaussian) classes outside it.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    shared_variance
        Whether both classes have the same variance.
    prior
        Beliefs about (targets, non-targets) in place of the reference prior; with a shared variance their
        shape and rate must be the same. Only the reference prior follows every affine map of the scores.
    monotone
        A score far outside both classes loses its weight: the LLR turns back, towards
        ``df log(r_e/r_d)``. With ``True`` it is held constant outside the monotone interval instead.

    References
    ----------
    Brümmer & Swart, "Bayesian calibration for forensic evidence reporting", Interspeech 2014.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.fits.gaussian import fit_bayes
    >>> calibrate = fit_bayes(lk.Scores([0.0, 1.0, 2.0], [-1.0, 0.0, 1.0]))
    >>> calibrate([0.5, 2.0, 1e9]).round(3)
    array([0.   , 0.969, 0.   ])
    """
    source = as_source(source, labels)
    shared_variance = yes_or_no(shared_variance, "shared_variance")
    monotone = yes_or_no(monotone, "monotone")
    # a class of one trial adds nothing to a variance, but a shared variance can come from the other class
    moments = training_moments(source, at_least=1 if shared_variance or prior else 2)
    beliefs = _beliefs_of_classes(prior, shared_variance)
    by_class = (moments.target, moments.nontarget)
    posterior = [_update_belief(belief, seen) for belief, seen in zip(beliefs, by_class, strict=True)]
    if shared_variance:
        # one precision: every class adds its trials and its squares to the same gamma law
        start = beliefs[0]
        shape = start[2] + sum(p[2] - b[2] for p, b in zip(posterior, beliefs, strict=True))
        rate = start[3] + sum(p[3] - b[3] for p, b in zip(posterior, beliefs, strict=True))
        posterior = [(mean, kappa, shape, rate) for mean, kappa, _, _ in posterior]
    for _, _, shape, rate in posterior:
        if shape <= 0.0:
            raise TooFewTrialsError(
                "two trials of a class do not determine a variance; give at least three, or a prior"
            )
        if rate <= 0.0:
            raise ConstantScoreError("the scores of a class are constant: they have no variance")
    predictive = [
        # predictive density of a normal-gamma posterior: 2 shape degrees of freedom, and a scale widened by
        # the uncertainty of the mean, (kappa + 1) / kappa
        np.array([2.0 * shape, mean, float(np.sqrt(rate * (kappa + 1.0) / (shape * kappa)))])
        for mean, kappa, shape, rate in posterior
    ]
    raw = StudentRatioMap(target=predictive[0], nontarget=predictive[1])
    # Points that stand for Gaussian classes, so that the interval is found without a second pass: forty for
    # each standard deviation out to 4, where such classes have mass.
    z = np.linspace(-4.0, 4.0, 321)
    points = [
        WeightedPoints(float(seen.mean[0]) + float(density[2]) * z, np.exp(-0.5 * z * z))
        for seen, density in zip(by_class, predictive, strict=True)
    ]
    # the scale of the predictive densities, which is above 0 also where each class is constant
    scale = max(float(density[2]) for density in predictive)
    scale = -scale if moments.target.mean[0] < moments.nontarget.mean[0] else scale
    told = None if prior is None else [asdict(belief) for belief in prior]
    return replace(
        held_where_monotone(raw, TrainingPoints(moments, *points), scale, monotone),
        method="bayes",
        options={"shared_variance": shared_variance, "monotone": monotone, "prior": told},
        provenance=provenance(moments),
        reading=reading_of(source.roles),
    )


Belief = tuple[float, float, float, float]


def _beliefs_of_classes(prior: tuple[NormalGamma, NormalGamma] | None, shared: bool) -> tuple[Belief, Belief]:
    """Mean, kappa, shape and rate of both classes; the reference prior is the improper end of the family."""
    if prior is None:
        # p(means, precision) ~ 1/precision: each mean takes half a degree away from the shape
        # kappa 0: the prior mean has no weight, so its value does not matter
        reference = (0.0, 0.0, -1.0 if shared else -0.5, 0.0)
        return reference, reference
    of_both = isinstance(prior, (tuple, list)) and len(prior) == 2
    if not (of_both and all(isinstance(belief, NormalGamma) for belief in prior)):
        raise InputError("prior must be two NormalGamma, of the targets and of the non-targets")
    e, d = prior
    if shared and (e.shape, e.rate) != (d.shape, d.rate):
        raise InputError("with a shared variance both priors need the same shape and rate")
    return (e.mean, e.kappa, e.shape, e.rate), (d.mean, d.kappa, d.shape, d.rate)


def _update_belief(belief: Belief, class_moments: ClassMoments) -> Belief:
    mean, kappa, shape, rate = belief
    n, seen, squares = float(class_moments.n), float(class_moments.mean[0]), float(class_moments.m2[0, 0])
    total = kappa + n
    # the distance between prior and sample mean adds to the spread, as far as both are believed
    shift = kappa * n * (seen - mean) ** 2 / total if kappa > 0.0 else 0.0
    # written as a step from the sample mean: exact where kappa is 0
    between = seen + (mean - seen) * kappa / total
    return between, total, shape + 0.5 * n, rate + 0.5 * (squares + shift)


SKEWNESS, KURTOSIS, SD_RATIO = 0.5, 1.0, 1.1
"""Skewness, excess kurtosis and ratio of the spreads that CMLG bears; beyond them it is not recommended.

Gaussian classes at an EER of 2 to 5 % whose spreads differ by a factor of 1.1 cost 1 to 4 % more with CMLG
than with logistic regression at a prior of 0.001, those that differ by a factor of 1.2 already 4 to 14 %.
"""
CHANCE = 4.0
"""Standard errors that chance is given before a ratio of spreads counts as one."""


def shape_statistics(moments: Moments) -> dict[str, float]:
    """Skewness and excess kurtosis of each class, and the ratio of their standard deviations."""
    statistics = {}
    for name, class_moments in (("target", moments.target), ("nontarget", moments.nontarget)):
        constant = class_moments.n == 0 or class_moments.variance[0] == 0.0
        statistics[f"skewness_{name}"] = 0.0 if constant else float(class_moments.skewness[0])
        statistics[f"kurtosis_{name}"] = 0.0 if constant else float(class_moments.excess_kurtosis[0])
    v_e, v_d = (float(one.m2[0, 0] / max(one.n, 1)) for one in (moments.target, moments.nontarget))
    statistics["sd_ratio"] = math.sqrt(v_d / v_e) if v_e > 0 else math.inf
    return statistics


def spread_error(n_target: float, n_nontarget: float) -> float:
    """Standard error of the logarithm of the ratio of two Gaussians' spreads."""
    # the log of a Gaussian's sample spread has variance 1 / (2 n)
    return math.sqrt(0.5 / n_target + 0.5 / n_nontarget)


def spread_limit(n_target: float, n_nontarget: float) -> float:
    """The larger of ``SD_RATIO`` and exp of 4 standard errors of the log ratio of two Gaussians' spreads.

    Examples
    --------
    >>> spread_limit(10_000, 10_000), round(spread_limit(100, 100), 2)
    (1.1, 1.49)
    """
    return max(SD_RATIO, math.exp(CHANCE * spread_error(n_target, n_nontarget)))


def shape_problems(moments: Moments) -> list[str]:
    """In words, what about the scores is unlike two Gaussians of equal variance, beyond chance.

    Each limit is the larger of what CMLG bears and what chance does: ``SKEWNESS`` or 5 standard errors
    sqrt(6 / n), ``KURTOSIS`` or 6 standard errors sqrt(24 / n), and :func:`spread_limit`.
    """
    statistics, problems = shape_statistics(moments), []
    if min(moments.target.n, moments.nontarget.n) == 0:
        return ["all scores of a class are infinite"]
    n = {"target": moments.target.n, "nontarget": moments.nontarget.n}
    for name, count in n.items():
        scores = f"{'non-target' if name == 'nontarget' else name} scores"
        skewness, kurtosis = statistics[f"skewness_{name}"], statistics[f"kurtosis_{name}"]
        # sqrt(6 / n) and sqrt(24 / n) are the standard errors of skewness and kurtosis of Gaussian samples
        limit = max(SKEWNESS, 5.0 * math.sqrt(6.0 / count))
        if abs(skewness) > limit:
            problems.append(f"{scores} are skewed: skewness {_beyond_limit(skewness, limit)}")
        limit = max(KURTOSIS, 6.0 * math.sqrt(24.0 / count))
        if abs(kurtosis) > limit:
            tails = "heavy" if kurtosis > 0 else "light"
            said = f"excess kurtosis {_beyond_limit(kurtosis, limit)}"
            problems.append(f"{scores} are {tails}-tailed: {said}")
    ratio = statistics["sd_ratio"]
    widest = spread_limit(n["target"], n["nontarget"])
    if ratio in (0.0, math.inf):
        problems.append(f"all {'non-target' if ratio == 0.0 else 'target'} scores are the same: no spread")
    elif ratio > widest or ratio < 1.0 / widest:
        shown, limit_shown = told_apart(ratio, widest if ratio > 1.0 else 1.0 / widest, 2)
        limits = f"{'more' if ratio > 1.0 else 'less'} than {limit_shown}"
        problems.append(f"non-target scores spread {shown} times as much as target scores, {limits}")
    return problems


def _beyond_limit(value: float, limit: float) -> str:
    shown, _ = told_apart(abs(value), limit, 2)
    return f"{'-' if value < 0.0 else '+'}{shown} is beyond {limit:.3g}"


LEVEL = 0.01
"""Level of the tests for which their power is told."""
RATIO, SKEW, VARIATION = 1.2, 0.5, 0.3
"""The deviations for which it is told: ratio of the spreads, skewness, coefficient of variation of mu."""

SPREADS = "ratio of the spreads, non-target over target"


@dataclass(frozen=True)
class GaussianTest:
    """A test of one part of the assumption.

    ``power`` is the probability that the test at the level of 1 % finds a deviation of ``of_size``, with as
    many trials as there are.
    """

    name: str
    deviation: float
    """What was measured: a ratio of spreads, a skewness, a coefficient of variation."""
    statistic: float
    """Twice the gain in log-likelihood, or what equals it in large samples."""
    p_value: float
    of_size: float
    power: float

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.deviation:.2f}, {p_at_level(self.p_value, LEVEL)} "
            f"(would find {self.of_size:g} with probability {self.power:.2f})"
        )


def gaussian_tests(moments: Moments) -> list[GaussianTest]:
    """Equal variances, the skewness of each class, and one difficulty against a mixture of them.

    - Equal variances: twice the gain in log-likelihood of two variances over one,
      ``N log v - n_e log v_e - n_d log v_d``, is chi-square with one degree of freedom.
    - Skewness: ``n g^2 / 6``, the score test, which equals the likelihood-ratio test in large samples.
    - Mixture over mu: the score test of a coefficient of variation of 0, one-sided. With ``z`` the scores of
      each class, centered and divided by the root of the common variance, and ``c = 1`` for targets, -1 for
      non-targets, it sums ``c sqrt(mu/8) H3(z) + H4(z)/8`` (Hermite polynomials), whose variance is ``3 mu/4
      + 3/8`` a trial.

    Examples
    --------
    >>> import numpy as np
    >>> from llrkit.scores import Scores
    >>> rng = np.random.default_rng(3)
    >>> scores = Scores(rng.normal(3.3, 1.0, 2000), rng.normal(0.0, 1.2, 50_000))
    >>> for test in gaussian_tests(scores.reduce(Moments.of)):
    ...     print(test)
    ratio of the spreads, non-target over target: 1.20, p < 0.0001 at a level of 1 % (would ...
    skewness of target scores: -0.02, p = 0.66 at a level of 1 % (would find 0.5 with probability 1.00)
    skewness of non-target scores: -0.00, p = 0.75 at a level of 1 % (would find 0.5 with probability 1.00)
    variation of mu over trials: 0.02, p = 0.44 at a level of 1 % (would find 0.3 with probability 1.00)
    """
    target, nontarget = moments.target, moments.nontarget
    if min(target.n, nontarget.n) < 2 or min(target.variance[0], nontarget.variance[0]) <= 0.0:
        return []
    return [
        _test_equal_variances(target, nontarget),
        _test_skewness("skewness of target scores", target),
        _test_skewness("skewness of non-target scores", nontarget),
        _test_mixture_of_mus(target, nontarget),
    ]


def _test_equal_variances(target: ClassMoments, nontarget: ClassMoments) -> GaussianTest:
    from scipy.special import chdtrc

    v_e, v_d, n = float(target.variance[0]), float(nontarget.variance[0]), target.n + nontarget.n
    v = (target.n * v_e + nontarget.n * v_d) / n
    # not negative in exact arithmetic (concavity of log); rounding may make it so
    gain = max(n * math.log(v) - target.n * math.log(v_e) - nontarget.n * math.log(v_d), 0.0)
    error = spread_error(target.n, nontarget.n)
    return GaussianTest(
        SPREADS, math.sqrt(v_d / v_e), gain, float(chdtrc(1, gain)),
        RATIO, _two_sided_power(math.log(RATIO) / error),
    )  # fmt: skip


def _test_skewness(name: str, class_moments: ClassMoments) -> GaussianTest:
    from scipy.special import chdtrc

    value, n = float(class_moments.skewness[0]), class_moments.n
    statistic = n * value**2 / 6.0
    return GaussianTest(
        name, value, statistic, float(chdtrc(1, statistic)), SKEW, _two_sided_power(SKEW * math.sqrt(n / 6.0))
    )


def kurtosis_p_value(class_moments: ClassMoments) -> float:
    """Of the score test of an excess kurtosis of 0, ``n k^2 / 24``, beside chi-square with one degree."""
    from scipy.special import chdtrc

    return float(chdtrc(1, class_moments.n * float(class_moments.excess_kurtosis[0]) ** 2 / 24.0))


def _test_mixture_of_mus(target: ClassMoments, nontarget: ClassMoments) -> GaussianTest:
    from scipy.special import ndtr, ndtri

    n = target.n + nontarget.n
    v = float(target.m2[0, 0] + nontarget.m2[0, 0]) / n
    # with one variance v, the LLR of the pair has mean mu = gap^2 / (2 v) in targets
    mu = float(target.mean[0] - nontarget.mean[0]) ** 2 / (2.0 * v)
    direction = 1.0 if target.mean[0] >= nontarget.mean[0] else -1.0
    third = direction * float(target.m3[0] - nontarget.m3[0]) / v**1.5
    fourth = float(target.m4[0] + nontarget.m4[0]) / v**2 - 3.0 * n  # the sum of z^2 is n
    # variance of the score of one trial; the tail probability is
    # one-sided because a variation cannot be negative
    information = 0.75 * mu + 0.375
    score = math.sqrt(mu / 8.0) * third + fourth / 8.0
    z = score / math.sqrt(n * information)
    variation = math.sqrt(max(score / (n * information), 0.0))
    shift = math.sqrt(n / information) * _mean_score_of_mixture(mu)
    return GaussianTest(
        "variation of mu over trials", variation, max(z, 0.0) ** 2, float(ndtr(-z)), VARIATION,
        float(ndtr(shift + ndtri(LEVEL))),
    )  # fmt: skip


def _mean_score_of_mixture(mu: float) -> float:
    """The mean score of a trial where mu is ``m (1 ± VARIATION)`` and looks like ``mu`` on the whole.

    The variance is ``2 m + s`` then with ``s = (m VARIATION)^2``, the third central moment ``±6 s``, the
    fourth ``s^2 + 12 m s + 12 (m^2 + s)``.
    """
    if mu < 1e-100:  # classes with the same mean: the limit, where squares would be 0 / 0
        return 0.375 * VARIATION**2
    m = 2.0 * mu / max(2.0 - mu * VARIATION**2, 0.1)  # beyond that no such mixture looks like mu
    s = (m * VARIATION) ** 2
    v = 2.0 * m + s
    fourth = (s**2 + 12.0 * m * s + 12.0 * (m**2 + s)) / v**2 - 3.0
    return float(math.sqrt(mu / 8.0) * 6.0 * s / v**1.5 + fourth / 8.0)


def _two_sided_power(shift: float) -> float:
    """Power of a two-sided test whose statistic is normal and moved by ``shift`` standard errors."""
    from scipy.special import ndtr, ndtri

    limit = -float(ndtri(LEVEL / 2.0))
    return float(ndtr(shift - limit) + ndtr(-shift - limit))
