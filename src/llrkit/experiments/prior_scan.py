"""What the weight alpha, or the training prior, does to a cost: where nothing, and where everything."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from llrkit._progress import tracked
from llrkit.choose.methods import fit_quietly
from llrkit.core.special import sigmoid
from llrkit.errors import InputError
from llrkit.evaluation.result import Evaluation
from llrkit.experiments.durations import SECONDS, make_corpora
from llrkit.experiments.list_results import calibrated, closer_look, fit_both
from llrkit.experiments.population_calibration import (
    population_c_primary,
    population_cmlg,
    population_logistic,
    population_minimum,
)
from llrkit.metrics.primary import c_primary
from llrkit.plot.paper_figures import PriorScan
from llrkit.scores import ScoreSource
from llrkit.theory.unequal_gaussians import UnequalGaussians

LOG_ODDS = np.arange(-12.0, 4.5)
"""Log-odds of alpha: from the variance of non-targets alone to almost that of targets alone."""
EVALUATION = "sre12"
EQUAL = UnequalGaussians(mean_target=4.5, std_target=1.0, mean_nontarget=0.0, std_nontarget=1.0)
UNEQUAL = UnequalGaussians(mean_target=5.0, std_target=1.6, mean_nontarget=0.0, std_nontarget=1.0)
NAMES = {"cmlg": "CMLG", "logistic": "logistic regression"}


@dataclass(frozen=True, eq=False)
class ScanCase:
    """One scan: C_primary of both methods at each of the log-odds, and the best that thresholds can do."""

    name: str
    about: str
    curve: PriorScan

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            "name": self.name,
            "about": self.about,
            "log_odds": self.curve.log_odds.tolist(),
            **{key: self.curve.costs[shown].tolist() for key, shown in NAMES.items()},
            "minimum": self.curve.minimum,
        }


@dataclass(frozen=True, eq=False)
class PriorScanResult:
    """All scans and how they were made."""

    cases: tuple[ScanCase, ...]
    scale: str
    seed: int
    seconds: float
    closer: Mapping[str, Evaluation]
    """The corpora: raw scores, and both calibrations with weight 1/2."""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            "cost": f"C_primary of {EVALUATION}",
            "cases": [case.to_dict() for case in self.cases],
            "seconds": self.seconds,
            "scale": self.scale,
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
    return ScanCase(name, about, PriorScan(LOG_ODDS, costs, population_minimum(scores, EVALUATION)))


def scan_trials_of(name: str, about: str, train: ScoreSource, evaluation: ScoreSource) -> ScanCase:
    """A scan of trials: calibration trained on one set at each weight, its cost on another.

    A fit that is refused (at an extreme prior the classes may not overlap any more) gives NaN.
    """
    costs: dict[str, Any] = {}
    for key, option in (("cmlg", "alpha"), ("logistic", "prior")):
        values = []
        for x in tracked(LOG_ODDS, f"scanning {NAMES[key]}", len(LOG_ODDS), "fits"):
            try:
                fitted = fit_quietly(key, train, {option: float(sigmoid(x))})
                values.append(c_primary(fitted.on(evaluation), EVALUATION))
            except InputError:
                values.append(float("nan"))
        costs[NAMES[key]] = np.array(values)
    return ScanCase(name, about, PriorScan(LOG_ODDS, costs, c_primary(evaluation, EVALUATION, actual=False)))


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
    return PriorScanResult(cases, scale, seed, time.perf_counter() - began, closer)
