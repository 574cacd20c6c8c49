"""The scan of the training weight: of populations, of simulated corpora and of own scores."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
from scipy.optimize import minimize_scalar

from llrkit.base.arguments import FloatArray
from llrkit.base.process import one_blas_thread
from llrkit.base.text import Json
from llrkit.core.numerics import newton, sigmoid, softplus
from llrkit.core.summaries import ClassMoments, Moments
from llrkit.errors import InputError
from llrkit.experiments.durations import SECONDS, make_corpora
from llrkit.experiments.lists import calibrated, closer_look, fit_both
from llrkit.fits.cmlg import cmlg_from_moments
from llrkit.maps.map import AffineMap
from llrkit.scores import ScoreSource
from llrkit.theory.distributions import Normal
from llrkit.theory.gaussian import UnequalGaussians
from llrkit.theory.operating_points import OperatingPoint, preset
from llrkit.verbs.compare import LOG_ODDS, NAMES, PriorScan, alpha_scan
from llrkit.verbs.evaluate import Evaluation, evaluate

# Trapezoid rule in standard deviations: all digits for integrands as smooth as these
_Z = np.linspace(-12.0, 12.0, 2401)
_WEIGHTS = np.exp(-0.5 * _Z**2) * (_Z[1] - _Z[0]) / np.sqrt(2.0 * np.pi)


def population_cmlg(scores: UnequalGaussians, log_odds: float) -> AffineMap:
    """CMLG with weight alpha of given log-odds, from the exact moments.

    Examples
    --------
    >>> fitted = population_cmlg(UnequalGaussians(4.5, 1.0, 0.0, 1.0), log_odds=-3.0)
    >>> round(fitted.a, 9), round(fitted.b, 9)
    (4.5, -10.125)
    """
    moments = Moments(_population_moments(scores.target), _population_moments(scores.nontarget))
    return cmlg_from_moments(moments, float(sigmoid(log_odds)))


def population_logistic(scores: UnequalGaussians, log_odds: float) -> AffineMap:
    """Logistic regression whose training prior has given log-odds, on infinitely many trials.

    Examples
    --------
    >>> fitted = population_logistic(UnequalGaussians(4.5, 1.0, 0.0, 1.0), log_odds=-3.0)
    >>> round(fitted.a, 6), round(fitted.b, 6)
    (4.5, -10.125)
    """
    start = population_cmlg(scores, 0.0)
    prior = float(sigmoid(log_odds))
    # the rarer class has almost all its weight where the other has none: scale the whole cost up
    unit = 1.0 / min(prior, 1.0 - prior)

    def cost(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, gradient, hessian = 0.0, np.zeros(2), np.zeros((2, 2))
        for distribution, sign, share in ((scores.target, -1.0, prior), (scores.nontarget, 1.0, 1.0 - prior)):
            # The population as quadrature points, so that the same cost as for trials has no sampling
            # error.
            s = distribution.mean() + distribution.std() * _Z
            z = sign * (x[0] * s + x[1] + log_odds)
            weight = unit * share * _WEIGHTS
            wrong = sigmoid(z)
            terms = np.stack([s, np.ones_like(s)])
            value += float(weight @ softplus(z))
            gradient += sign * terms @ (weight * wrong)
            hessian += (terms * (weight * wrong * (1.0 - wrong))) @ terms.T
        return value, gradient, hessian

    # From CMLG, which is the solution itself where both variances are equal.
    minimum = newton(cost, np.array([start.a, start.b]), tolerance=1e-9, max_evaluations=200)
    if not minimum.converged:
        raise InputError(f"logistic regression at log-odds {log_odds:g} did not settle")
    return AffineMap(a=float(minimum.x[0]), b=float(minimum.x[1]), method="logistic")


def population_c_primary(scores: UnequalGaussians, fitted: AffineMap, evaluation: str = "sre12") -> float:
    """Primary cost of the mapped scores at the Bayes thresholds, with one kind of non-target.

    Examples
    --------
    >>> equal = UnequalGaussians(4.5, 1.0, 0.0, 1.0)
    >>> round(population_c_primary(equal, population_cmlg(equal, 0.0)), 4)
    0.2383
    """
    points = preset(evaluation).points
    thresholds = [(point.threshold - fitted.b) / fitted.a for point in points]
    return float(np.mean([_population_cost(scores, *pair) for pair in zip(points, thresholds, strict=True)]))


def population_minimum(scores: UnequalGaussians, evaluation: str = "sre12") -> float:
    """Primary cost at the best threshold of each operating point.

    Examples
    --------
    >>> round(population_minimum(UnequalGaussians(5.0, 1.6, 0.0, 1.0)), 4)
    0.2426
    """
    # Priors of the presets are below 1/2: the best thresholds lie above the middle of the non-targets.
    low, high = scores.mean_nontarget, scores.mean_target + 4.0 * scores.std_target
    best = []
    for point in preset(evaluation).points:
        cost = partial(_population_cost, scores, point)
        best.append(minimize_scalar(cost, bounds=(low, high), method="bounded").fun)
    return float(np.mean(best))


def _population_cost(scores: UnequalGaussians, point: OperatingPoint, threshold: float) -> float:
    return float(point.cost(scores.target.below(threshold), scores.nontarget.at_least(threshold)))


def _population_moments(distribution: Normal) -> ClassMoments:
    """Moments of a population, as if of one trial."""
    one, sd = np.ones(1), distribution.std()
    return ClassMoments(
        # As sums over one trial: the moments of the population are those of n = 1.
        n=1.0, mean=distribution.mean() * one, m2=sd**2 * np.ones((1, 1)), m3=0.0 * one, m4=3.0 * sd**4 * one,
        low=-np.inf * one, high=np.inf * one,
    )  # fmt: skip


EVALUATION = "sre12"
EQUAL = UnequalGaussians(mean_target=4.5, std_target=1.0, mean_nontarget=0.0, std_nontarget=1.0)
UNEQUAL = UnequalGaussians(mean_target=5.0, std_target=1.6, mean_nontarget=0.0, std_nontarget=1.0)


@dataclass(frozen=True, eq=False)
class ScanCase:
    """One scan: the cost of both methods at each of the log-odds, and the best that thresholds can do."""

    name: str
    about: str
    curve: PriorScan

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            "name": self.name,
            "about": self.about,
            "log_odds": self.curve.log_odds.tolist(),
            **{key: self.curve.costs[shown].tolist() for key, shown in NAMES.items()},
            "minimum": self.curve.minimum,
            **({"refused": dict(self.curve.refused)} if self.curve.refused else {}),
        }


@dataclass(frozen=True, eq=False)
class PriorScanResult:
    """All scans and how they were made."""

    cases: tuple[ScanCase, ...]
    seed: int
    seconds: float
    closer: Mapping[str, Evaluation]
    """The corpora: raw scores, and both calibrations with weight 1/2; of own scores, as they are."""
    scale: str | None = None
    """The size of the simulation; None for scores of a file."""

    @property
    def cost_name(self) -> str:
        """The cost that was measured."""
        return self.cases[-1].curve.cost_name

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        simulated = {} if self.scale is None else {"scale": self.scale}
        return {
            "cost": self.cost_name,
            "cases": [case.to_dict() for case in self.cases],
            "seconds": self.seconds,
            **simulated,
            "seed": self.seed,
        }


def scan_population(name: str, about: str, scores: UnequalGaussians) -> ScanCase:
    """A scan without sampling error.

    Examples
    --------
    >>> case = scan_population("equal", "", EQUAL)
    >>> [round(float(np.ptp(costs)), 6) for costs in case.curve.costs.values()]
    [0.0, 0.0]
    """
    costs = {
        shown: np.array([population_c_primary(scores, fit(scores, x), EVALUATION) for x in LOG_ODDS])
        for shown, fit in zip(NAMES.values(), (population_cmlg, population_logistic), strict=True)
    }
    minimum = population_minimum(scores, EVALUATION)
    return ScanCase(name, about, PriorScan(LOG_ODDS, costs, minimum, f"C_primary of {EVALUATION}"))


# Costs must not depend on the number of threads in their last bits.
@one_blas_thread()
def run_prior_scan(scale: str = "small", *, seed: int = 2013) -> PriorScanResult:
    """Scan two populations and whole segments of the corpora of the duration experiment."""
    began = time.perf_counter()
    corpora = make_corpora(scale, seed=seed)
    full = SECONDS[-1]
    # In memory, since the scan trains at every weight.
    train, evaluation = (
        make_list(full, full).scores() for make_list in (corpora.train_list, corpora.evaluation_list)
    )
    # Calibration is trained on one set at each weight, and costs are measured on another.
    curve = alpha_scan(train, test=evaluation, point=EVALUATION)
    cases = (
        scan_population("equal", "targets N(4.5, 1), non-targets N(0, 1), no sampling error", EQUAL),
        scan_population("unequal", "targets N(5, 1.6²), non-targets N(0, 1), no sampling error", UNEQUAL),
        ScanCase("corpora", "whole segments of the simulated corpora", curve),
    )
    closer = closer_look(evaluation, calibrated(evaluation, fit_both(train)))
    return PriorScanResult(cases, seed, time.perf_counter() - began, closer, scale)


def run_scan_of_scores(
    train: ScoreSource,
    test: ScoreSource | None = None,
    *,
    point: OperatingPoint | str = EVALUATION,
    known: str | None = None,
    p_known: float | None = None,
    groups: Sequence[str] | None = None,
    seed: int = 0,
) -> PriorScanResult:
    """Scan own scores: cross-validated, or trained on some and measured on others.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.simulate.simulate_trials(EQUAL, n_target=900, n_nontarget=9000, rng=1).scores()
    >>> result = run_scan_of_scores(scores, point="sre08")
    >>> result.cost_name, bool(np.ptp(result.cases[0].curve.costs["CMLG"]) < 0.05)
    ('cost at sre08', True)
    """
    began = time.perf_counter()
    curve = alpha_scan(train, test=test, point=point, known=known, p_known=p_known, groups=groups, rng=seed)
    # The raw scores that the page shows are those that the costs were measured on.
    measured = evaluate(train if test is None else test)
    about = f"{measured.n_target:,} target and {measured.n_nontarget:,} non-target trials, {curve.how}"
    closer = MappingProxyType({"raw scores": measured})
    return PriorScanResult((ScanCase("scores", about, curve),), seed, time.perf_counter() - began, closer)
