from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad

from llrkit.errors import InputError
from llrkit.theory import (
    GaussianLLR,
    llr_from_posterior,
    log_odds,
    lr_moment,
    lr_variance,
    misleading_bound,
    misleading_bound_gaussian,
    other_class_density,
    posterior,
    posterior_log_odds,
    probability_from_log_odds,
)


def test_posterior_against_bayes_rule_on_a_discrete_model():
    likelihoods = {"a": (Fraction(1, 2), Fraction(1, 10)), "b": (Fraction(1, 2), Fraction(9, 10))}
    for prior in (Fraction(1, 100), Fraction(1, 2), Fraction(4, 5)):
        for same, other in likelihoods.values():
            exact = prior * same / (prior * same + (1 - prior) * other)
            assert_allclose(posterior(np.log(float(same / other)), float(prior)), float(exact), rtol=1e-14)


@given(st.floats(1e-12, 1 - 1e-12))
def test_log_odds_round_trip(p):
    assert abs(probability_from_log_odds(log_odds(p)) - p) <= 1e-15


@given(st.floats(1e-6, 1 - 1e-6), st.floats(0.01, 0.99))
def test_posterior_round_trip(p, prior):
    llr = llr_from_posterior(p, prior)
    assert abs(posterior(llr, prior) - p) <= 2e-15
    assert abs(posterior_log_odds(llr, prior) - log_odds(p)) <= 1e-14


def test_certainty_is_infinite():
    assert_allclose(log_odds([0.0, 1.0]), [-np.inf, np.inf])
    assert posterior(np.inf, 0.01) == 1.0
    assert llr_from_posterior(0.0, 0.5) == -np.inf


def test_other_class_density_integrates_to_one():
    pair = GaussianLLR(1.7)
    target = other_class_density(pair.nontarget.logpdf)
    assert_allclose(quad(lambda x: np.exp(target(x)), -30, 40)[0], 1.0, atol=1e-9)
    back = other_class_density(target, given="target")
    x = np.array([-2.0, 0.0, 3.0])
    assert_allclose(back(x), pair.nontarget.logpdf(x), rtol=1e-13)


@pytest.mark.parametrize("order", [-1, 0.5, 1, 2, 3])
def test_moments_of_the_ratio_against_quad(order):
    pair = GaussianLLR(1.1)
    for name, law in (("nontarget", pair.nontarget), ("target", pair.target)):
        reference = quad(lambda x, law=law: np.exp(order * x) * law.pdf(x), -30, 40, limit=200)[0]
        assert_allclose(lr_moment(pair, order, given=name), reference, rtol=1e-8)
    assert_allclose(lr_moment(pair, order), lr_moment(pair, order - 1, given="target"), rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("eer", "trials", "median"),
    [(0.02, 1000, 0.28), (0.02, 10_000, 0.517), (0.05, 10_000, 0.83), (0.15, 10_000, 0.99)],
)
def test_median_of_the_mean_ratio_by_monte_carlo(eer, trials, median):
    # the second value has been quoted as 0.47 from a smaller simulation; 8000 repetitions give 0.517 +- 0.004
    x = GaussianLLR.from_eer(eer).nontarget.rvs((500, trials), rng=12)
    assert_allclose(np.median(np.exp(x).mean(axis=1)), median, atol=0.04)


def test_misleading_evidence_against_printed_values():
    k = np.array([2.0, 8.0, 10.0, 32.0, 100.0])
    worst = misleading_bound_gaussian(k)
    assert_allclose(worst, [0.1195, 0.0207, 0.0159, 0.00423, 0.00120], atol=5e-5)
    assert np.all(worst < misleading_bound(k))


def test_worst_case_against_a_scan_over_sigma():
    k = 10.0
    sigma = np.linspace(0.1, 8.0, 2000)
    rates = [GaussianLLR(s).p_fa(np.log(k)) for s in sigma]
    assert_allclose(max(rates), misleading_bound_gaussian(k), rtol=1e-5)
    assert_allclose(sigma[int(np.argmax(rates))], np.sqrt(2 * np.log(k)), atol=0.01)


def test_exceedance_far_below_counting_by_monte_carlo():
    pair = GaussianLLR.from_eer(0.05)
    x = pair.target.rvs(200_000, rng=3)
    assert_allclose(np.mean(np.exp(-x) * (x >= 8.0)), pair.p_fa(8.0), rtol=0.05)
    assert_allclose(pair.p_fa(8.0), 2.3e-5, rtol=0.03)


@pytest.mark.parametrize(
    "call",
    [
        lambda: posterior(1.0, 0.0),
        lambda: posterior(1.0, "x"),
        lambda: log_odds(1.5),
        lambda: llr_from_posterior(-0.1, 0.5),
        lambda: other_class_density(GaussianLLR(1.0).target.logpdf, given="both"),
        lambda: lr_moment(GaussianLLR(1.0), 1, given="both"),
        lambda: lr_moment(3, 1),
        lambda: lr_variance(GaussianLLR(1.0), given="both"),
        lambda: misleading_bound(0.5),
        lambda: misleading_bound_gaussian(float("nan")),
    ],
)
def test_wrong_input_is_refused(call):
    with pytest.raises(InputError):
        call()
