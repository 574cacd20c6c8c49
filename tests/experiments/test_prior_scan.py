"""The scan over the training weight: printed population values, and where nothing may depend on it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, ndtri

import llrkit as lk
from llrkit.experiments.prior_scan import (
    EQUAL,
    EVALUATION,
    UNEQUAL,
    ScanCase,
    population_c_primary,
    population_cmlg,
    population_logistic,
    run_prior_scan,
)
from llrkit.verbs.compare import LOG_ODDS, NAMES, alpha_scan


@pytest.fixture(scope="module")
def result():
    return run_prior_scan("small", seed=3)


def test_equal_variances_make_the_weight_irrelevant(result):
    case = result.cases[0]
    # printed in the theory digest: 0.2383 for every alpha and both methods
    for costs in case.curve.costs.values():
        assert_allclose(costs, 0.2383, atol=5e-5)
        assert np.ptp(costs) < 1e-9
    assert_allclose(case.curve.minimum, 0.2383, atol=5e-5)


PRINTED = {  # log-odds: CMLG, logistic regression; theory digest, targets N(5, 1.6^2), non-targets N(0, 1)
    -12: (0.2434, 0.2439), -8: (0.2434, 0.2430), -6: (0.2434, 0.2434), -4: (0.2439, 0.2464),
    -2: (0.2590, 0.2549), 0: (0.3932, 0.2728), 2: (0.5541, 0.3047), 4: (0.5952, 0.3541),
}  # fmt: skip


def test_unequal_variances_against_the_printed_values(result):
    curve = result.cases[1].curve
    for log_odds, printed in PRINTED.items():
        at = int(np.flatnonzero(curve.log_odds == log_odds)[0])
        assert_allclose([curve.costs[shown][at] for shown in NAMES.values()], printed, atol=6e-5)
    assert_allclose(curve.minimum, 0.2426, atol=5e-5)


@pytest.mark.parametrize("log_odds", [-4.0, 3.0])
def test_population_fits_against_fits_of_evenly_spaced_quantiles(log_odds):
    quantiles = ndtri((np.arange(200_000) + 0.5) / 200_000)
    sample = lk.Scores(5.0 + 1.6 * quantiles, quantiles)
    prior = float(expit(log_odds))
    with pytest.warns(lk.errors.ShapeWarning):
        cmlg = lk.fit_cmlg(sample, alpha=prior)
    logistic = lk.fit_logistic(sample, prior=prior)
    exact = population_cmlg(UNEQUAL, log_odds), population_logistic(UNEQUAL, log_odds)
    for fitted, population in zip((cmlg, logistic), exact, strict=True):
        assert_allclose([fitted.a, fitted.b], [population.a, population.b], rtol=2e-3)
        assert_allclose(
            lk.c_primary(fitted.on(sample), evaluation="sre12"),
            population_c_primary(UNEQUAL, population),
            atol=0.003,
        )


@pytest.mark.slow
def test_simulated_gaussian_trials_do_not_depend_on_the_weight_either():
    train, trials = (
        lk.simulate.simulate_trials(EQUAL, n_target=50_000, n_nontarget=400_000, rng=seed).scores()
        for seed in (1, 2)
    )
    case = ScanCase("sample", "", alpha_scan(train, test=trials, point=EVALUATION))
    costs = np.array(list(case.curve.costs.values()))
    assert np.ptp(costs[0]) < 0.01
    assert_allclose(costs[:, np.abs(LOG_ODDS) <= 6], 0.2383, atol=0.015)


def test_the_scan_of_the_corpora_has_costs_above_their_minimum(result):
    curve = result.cases[2].curve
    for costs in curve.costs.values():
        assert len(costs) == len(LOG_ODDS)
        assert np.nanmin(costs) >= curve.minimum - 1e-12


def test_a_refused_fit_is_a_gap_and_not_a_failure():
    apart = lk.Scores([2.0, 3.0, 4.0], [-1.0, 0.0, 1.0])
    case = ScanCase("apart", "", alpha_scan(apart, test=apart, point=EVALUATION))
    assert np.isnan(case.curve.costs["logistic regression"]).all()
    assert np.isfinite(case.curve.costs["CMLG"]).all()
