"""What the assumption of CMLG costs on these trials: tests, and its cost beside logistic regression."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from llrkit._format import told_apart
from llrkit._plain import Json, as_list, as_number
from llrkit.calibrate.affine.cmlg import cmlg_from_moments
from llrkit.calibrate.affine.cmlg_predicted_cost import PredictedCost, line_costs, predicted_cost
from llrkit.calibrate.affine.gaussian_tests import GaussianTest, gaussian_tests
from llrkit.calibrate.densities.mixture import mixture_from_training
from llrkit.calibrate.densities.training_points import TrainingPoints, training_points
from llrkit.core.moments import Moments
from llrkit.scores import ScoreSource
from llrkit.theory.presets import Preset

LOSS = 0.02
"""Share of Cllr that CMLG may cost more than logistic regression."""


@dataclass(frozen=True)
class GaussianCheck:
    """Tests of two Gaussians of equal spread, and what CMLG costs."""

    tests: tuple[GaussianTest, ...] = ()
    costs: PredictedCost | None = None
    """On the trials themselves, or on scores with their moments."""

    def problems(self, fewest: float) -> list[str]:
        """In words, a cost that neither CMLG should have nor chance gives; ``fewest`` trials of a class.

        The gain of two fitted parameters is by chance more than 5 / n nats once in 150 times.
        """
        if self.costs is None:
            return []
        limit = max(LOSS * self.costs.cllr_logistic, 5.0 / (fewest * math.log(2.0)))
        lost = self.costs.cllr_cmlg - self.costs.cllr_logistic
        if not lost > limit:
            return []
        loses, more = told_apart(lost, limit, 3)
        return [f"CMLG loses {loses} bits against logistic regression, more than {more}"]

    def lines(self) -> list[str]:
        """For people: a line for each test, and one for the costs."""
        words = [f"test of the {test}" for test in self.tests]
        return words + ([f"on these trials: {self.costs}"] if self.costs is not None else [])

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        return {
            "gaussian_tests": [test.to_dict() for test in self.tests],
            "costs": None if self.costs is None else self.costs.to_dict(),
        }


def check_from_moments(moments: Moments, cost: Preset | None = None) -> GaussianCheck:
    """Without another look at the trials: score tests, and costs of scores with these moments.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> pair = lk.theory.GaussianLLR.from_eer(0.05)
    >>> scores = lk.Scores(*pair.rvs(3000, 30_000, np.random.default_rng(1)))
    >>> check = check_from_moments(scores.reduce(Moments.of))
    >>> len(check.tests), check.problems(3000)
    (4, [])
    """
    tests = gaussian_tests(moments)
    if not tests:
        return GaussianCheck()
    fitted = cmlg_from_moments(moments)
    return GaussianCheck(tuple(tests), predicted_cost(moments, fitted.a, fitted.b, cost))


def check_trials(source: ScoreSource, moments: Moments, cost: Preset | None = None) -> GaussianCheck:
    """With one more pass: the mixture over mu by its likelihood, and costs of the trials themselves."""
    tests = gaussian_tests(moments)
    if not tests:
        return GaussianCheck()
    training = training_points(source, moments)
    fitted = cmlg_from_moments(moments)
    costs = line_costs(training.target, training.nontarget, fitted.a, fitted.b, cost)
    return GaussianCheck((*tests[:-1], _mixture_against_one_pair(training, tests[-1])), costs)


def _mixture_against_one_pair(training: TrainingPoints, score_test: GaussianTest) -> GaussianTest:
    """One Gaussian pair against two: twice the gain in log-likelihood, beside chi-square with 2 degrees.

    Under one pair the weight and mu of the second are not both determined, so chi-square is an
    approximation; in simulations it is exceeded a little less often than it says.
    """
    from scipy.special import chdtrc

    moments = training.moments
    n = moments.target.n + moments.nontarget.n
    fitted = mixture_from_training(training, 2, None, float(moments.target.n / n), None)
    gain = max(2.0 * n * (fitted.detail("log_likelihood") - fitted.detail("log_likelihood_cmlg")), 0.0)
    weights, mus = (list(map(as_number, as_list(fitted.details[name]))) for name in ("weights", "mu"))
    mean = sum(w * mu for w, mu in zip(weights, mus, strict=True))
    spread = sum(w * (mu - mean) ** 2 for w, mu in zip(weights, mus, strict=True))
    variation = math.sqrt(spread) / mean if mean > 0 else 0.0
    return replace(score_test, deviation=variation, statistic=gain, p_value=float(chdtrc(2, gain)))
