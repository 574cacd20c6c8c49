"""What the weight alpha, or the training prior, does to a cost: populations, simulated corpora, scores."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from llrkit._blas import one_blas_thread
from llrkit._plain import Json
from llrkit.evaluation.alpha_scan import LOG_ODDS, NAMES, PriorScan, alpha_scan
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.experiments.durations import SECONDS, make_corpora
from llrkit.experiments.list_results import calibrated, closer_look, fit_both
from llrkit.experiments.population_calibration import (
    population_c_primary,
    population_cmlg,
    population_logistic,
    population_minimum,
)
from llrkit.scores import ScoreSource
from llrkit.theory.operating_points import OperatingPoint
from llrkit.theory.unequal_gaussians import UnequalGaussians

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


def scan_trials_of(name: str, about: str, train: ScoreSource, evaluation: ScoreSource) -> ScanCase:
    """A scan of trials: calibration trained on one set at each weight, its cost on another."""
    return ScanCase(name, about, alpha_scan(train, evaluation, point=EVALUATION))


@one_blas_thread()
def run_prior_scan(scale: str = "small", *, seed: int = 2013) -> PriorScanResult:
    """Scan two populations and whole segments of the corpora of the duration experiment."""
    began = time.perf_counter()
    corpora = make_corpora(scale, seed=seed)
    full = SECONDS[-1]
    train, evaluation = (
        make_list(full, full).scores() for make_list in (corpora.train_list, corpora.evaluation_list)
    )
    cases = (
        scan_population("equal", "targets N(4.5, 1), non-targets N(0, 1), no sampling error", EQUAL),
        scan_population("unequal", "targets N(5, 1.6²), non-targets N(0, 1), no sampling error", UNEQUAL),
        scan_trials_of("corpora", "whole segments of the simulated corpora", train, evaluation),
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
    >>> scores = lk.simulate_trials(EQUAL, n_target=900, n_nontarget=9000, rng=1).scores()
    >>> result = run_scan_of_scores(scores, point="sre08")
    >>> result.cost_name, bool(np.ptp(result.cases[0].curve.costs["CMLG"]) < 0.05)
    ('cost at sre08', True)
    """
    began = time.perf_counter()
    curve = alpha_scan(train, test, point=point, known=known, p_known=p_known, groups=groups, rng=seed)
    measured = evaluate(train if test is None else test)
    about = f"{measured.n_target:,} target and {measured.n_nontarget:,} non-target trials, {curve.how}"
    closer = MappingProxyType({"raw scores": measured})
    return PriorScanResult((ScanCase("scores", about, curve),), seed, time.perf_counter() - began, closer)
