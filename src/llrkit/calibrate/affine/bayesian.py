"""Bayesian calibration for scarce data: the parameters are integrated out."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from llrkit._arguments import yes_or_no
from llrkit.calibrate.densities.density_ratio import (
    held_between,
    interval_details,
    monotone_interval,
)
from llrkit.calibrate.densities.student_t import StudentRatioMap
from llrkit.calibrate.densities.training_points import TrainingPoints, WeightedPoints
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.training_checks import provenance, training_moments
from llrkit.core.moments import ClassMoments, Moments
from llrkit.errors import ConstantScoreError, InputError, TooFewTrialsError
from llrkit.scores import ScoreSource


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


@fits_map
def fit_bayes(
    source: ScoreSource,
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
    >>> from llrkit.calibrate.affine.bayesian import fit_bayes
    >>> calibrate = fit_bayes(lk.Scores([0.0, 1.0, 2.0], [-1.0, 0.0, 1.0]))
    >>> calibrate([0.5, 2.0, 1e9]).round(3)
    array([0.   , 0.969, 0.   ])
    """
    shared_variance = yes_or_no(shared_variance, "shared_variance")
    monotone = yes_or_no(monotone, "monotone")
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
        np.array([2.0 * shape, mean, float(np.sqrt(rate * (kappa + 1.0) / (shape * kappa)))])
        for mean, kappa, shape, rate in posterior
    ]
    raw = StudentRatioMap(target=predictive[0], nontarget=predictive[1])
    interval = monotone_interval(raw.slope, _gaussian_training(moments, raw))
    return StudentRatioMap(
        target=predictive[0], nontarget=predictive[1], **held_between(interval, monotone),
        method="bayes",
        options={
            "shared_variance": shared_variance, "monotone": monotone,
            "prior": None if prior is None else [asdict(belief) for belief in prior],
        },
        details=interval_details(interval),
        provenance=provenance(moments),
    )  # fmt: skip


Belief = tuple[float, float, float, float]


def _beliefs_of_classes(prior: tuple[NormalGamma, NormalGamma] | None, shared: bool) -> tuple[Belief, Belief]:
    """Mean, kappa, shape and rate of both classes; the reference prior is the improper end of the family."""
    if prior is None:
        # p(means, precision) ~ 1/precision: each mean takes half a degree away from the shape
        reference = (0.0, 0.0, -1.0 if shared else -0.5, 0.0)
        return reference, reference
    if not (
        isinstance(prior, (tuple, list))
        and len(prior) == 2
        and all(isinstance(belief, NormalGamma) for belief in prior)
    ):
        raise InputError("prior must be two NormalGamma, of the targets and of the non-targets")
    e, d = prior
    if shared and (e.shape, e.rate) != (d.shape, d.rate):
        raise InputError("with a shared variance both priors need the same shape and rate")
    return (e.mean, e.kappa, e.shape, e.rate), (d.mean, d.kappa, d.shape, d.rate)


def _update_belief(belief: Belief, class_moments: ClassMoments) -> Belief:
    mean, kappa, shape, rate = belief
    n, seen, squares = float(class_moments.n), float(class_moments.mean[0]), float(class_moments.m2[0, 0])
    total = kappa + n
    shift = kappa * n * (seen - mean) ** 2 / total if kappa > 0.0 else 0.0
    return (
        seen + (mean - seen) * kappa / total,
        total,
        shape + 0.5 * n,
        rate + 0.5 * (squares + shift),
    )


def _gaussian_training(moments: Moments, raw: StudentRatioMap) -> TrainingPoints:
    """Points that stand for Gaussian classes: the interval is found without a second pass."""
    z = np.linspace(-4.0, 4.0, 321)
    weights = np.exp(-0.5 * z * z)
    points = []
    for class_moments, density in ((moments.target, raw.target), (moments.nontarget, raw.nontarget)):
        points.append(WeightedPoints(float(class_moments.mean[0]) + float(density[2]) * z, weights))
    # the search needs a scale also where each class is constant
    return _ScaledTrainingPoints(
        moments, points[0], points[1], max(float(raw.target[2]), float(raw.nontarget[2]))
    )


@dataclass(frozen=True, eq=False)
class _ScaledTrainingPoints(TrainingPoints):
    size: float

    @property
    def scale(self) -> float:
        """The scale of the predictive densities."""
        return -self.size if self.moments.target.mean[0] < self.moments.nontarget.mean[0] else self.size
