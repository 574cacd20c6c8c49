"""Gamma-distributed likelihood ratios behind an affine map."""

from __future__ import annotations

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._plain import Json
from llrkit.calibrate.densities.likelihood_maximizer import Optimum, maximize
from llrkit.calibrate.densities.training_points import TrainingPoints, WeightedPoints, training_points
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.maps import AffineMap
from llrkit.calibrate.training_checks import provenance, training_moments
from llrkit.core.elementary_functions import probability
from llrkit.errors import InputError
from llrkit.scores import ScoreSource
from llrkit.theory import GammaLLR

SHAPE = (1e-3, 1e4)


@fits_map
def fit_gamma(source: ScoreSource, *, alpha: float = 0.5, mirror: bool | None = None) -> AffineMap:
    """Affine calibration with likelihood ratios that are gamma distributed.

    ``x = a s + b`` with ``e^x ~ Gamma(k, rate k)`` for non-targets and ``Gamma(k + 1, rate k)`` for targets:
    skewed to the left in both classes. In the mirrored model the same holds for ``e^-x`` with the classes
    exchanged: skewed to the right. ``a``, ``b`` and ``k`` (between 0.001 and 1e4) maximize the
    class-weighted log-likelihood; ``b`` has a closed form. Two passes.

    The map's ``details`` hold ``shape`` (k), ``mirror``, what the pair promises (EER, Cllr) and the
    log-likelihood.

    Parameters
    ----------
    alpha
        Weight of the targets (:term:`alpha`), strictly between 0 and 1.
    mirror
        Which of the two models; ``None`` takes the more likely one.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.calibrate.densities.gamma_ratio import fit_gamma
    >>> rng = np.random.default_rng(1)
    >>> pair = lk.theory.GammaLLR(0.3)
    >>> scores = lk.Scores(pair.target.rvs(20_000, rng), pair.nontarget.rvs(20_000, rng))
    >>> calibrate = fit_gamma(scores)
    >>> round(calibrate.a, 1), calibrate.details["mirror"], round(calibrate.details["shape"], 1)
    (1.0, False, 0.3)
    """
    share = probability(alpha, "alpha")
    if mirror not in (None, True, False):
        raise InputError(f"mirror must be True, False or None, got {mirror!r}")
    moments = training_moments(source, at_least=2)
    return gamma_from_training(training_points(source, moments), share, mirror)


def gamma_from_training(training: TrainingPoints, alpha: float, mirror: bool | None) -> AffineMap:
    """The fit, from points that stand for the scores."""
    target, nontarget = training.standardized()
    optima: dict[bool, tuple[Optimum, float]] = {}
    if mirror is not True:
        optima[False] = _fit_gamma_ratio(target, nontarget, alpha)
    if mirror is not False:
        optima[True] = _fit_gamma_ratio(
            nontarget.standardized(0.0, -1.0), target.standardized(0.0, -1.0), 1.0 - alpha
        )
    chosen = max(optima, key=lambda key: optima[key][0].value)
    best, level = optima[chosen]
    a = float(np.exp(best.x[0])) / training.scale
    b = (-level if chosen else level) - a * training.center
    shape = float(np.exp(best.x[1]))
    pair = GammaLLR(shape)
    details: dict[str, Json] = {
        "shape": shape,
        "mirror": chosen,
        "eer": pair.eer,
        "cllr": pair.cllr,
        "log_likelihood": best.value - float(np.log(abs(training.scale))),
        "gradient_left": best.gradient,
    }
    return AffineMap(
        a=a, b=b, method="gamma", options={"alpha": alpha, "mirror": mirror}, details=details,
        provenance=provenance(training.moments),
    )  # fmt: skip


def _fit_gamma_ratio(
    target: WeightedPoints, nontarget: WeightedPoints, alpha: float
) -> tuple[Optimum, float]:
    """Log a and log k at the largest likelihood, and the b that goes with them.

    The log-likelihood is ``log a + k log k - log Gamma(k) + k mean(x) + alpha mean_e(x) - k mean(e^x)``
    with class-weighted means; its maximum over b is at ``mean(e^x) = (k + alpha) / k``.
    """
    from scipy.special import gammaln, logsumexp, psi, softmax

    t = np.concatenate([target.points, nontarget.points])
    w = np.concatenate(
        [alpha * target.weights / target.total, (1.0 - alpha) * nontarget.weights / nontarget.total]
    )
    log_w, mean, mean_e = np.log(w), float((w * t).sum()), target.mean_of(target.points)
    gap = mean_e - nontarget.mean_of(nontarget.points)

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        a, k = float(np.exp(theta[0])), float(np.exp(theta[1]))
        tilted = log_w + a * t
        log_mean = float(logsumexp(tilted))
        # the likelihood of a point as shape goes up or down, b being at its best
        level = np.log1p(alpha / k) - log_mean
        value = theta[0] + k * theta[1] - gammaln(k) + a * (k * mean + alpha * mean_e)
        value += (k + alpha) * (level - 1.0)
        by_a = 1.0 / a + k * mean + alpha * mean_e - (k + alpha) * float((softmax(tilted) * t).sum())
        by_k = np.log(k + alpha) - psi(k) + a * mean - log_mean - alpha / k
        return float(value), np.array([a * by_a, k * by_k])

    # 1/k is the distance of the class means in LLRs
    starts = [[float(np.log(1.0 / (k * max(gap, 0.05)))), float(np.log(k))] for k in (0.03, 0.3, 3.0, 30.0)]
    best = maximize(objective, starts, [(-12.0, 12.0), (float(np.log(SHAPE[0])), float(np.log(SHAPE[1])))])
    a, k = np.exp(best.x).tolist()
    return best, float(np.log1p(alpha / k) - logsumexp(log_w + a * t))
