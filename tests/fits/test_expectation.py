"""Expectation calibration: the two means, scipy's solution, and what must hold."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import logsumexp

import llrkit as lk


def gaussian(n=2000, gap=2.0, sd=1.0, seed=3):
    rng = np.random.default_rng(seed)
    return lk.Scores(rng.normal(gap, sd, n), rng.normal(0, 1, 3 * n))


def log_means(a, b, scores):
    r, inverse = a * scores.nontarget + b, -a * scores.target - b
    return logsumexp(r) - math.log(len(r)), logsumexp(inverse) - math.log(len(inverse))


def test_both_means_are_one():
    scores = gaussian()
    fitted = lk.fits.fit_expectation(scores, regularization=0)
    assert_allclose(log_means(fitted.a, fitted.b, scores), [0, 0], atol=1e-10)
    assert fitted.a > 0.5
    assert_allclose([fitted.details["log_mean_r"], fitted.details["log_mean_inverse_r"]], [0, 0], atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [0.3, 1.0, 50.0])
def test_regularized_optimum_against_scipy(penalty):
    scores = gaussian(300, gap=3.0)
    fitted = lk.fits.fit_expectation(scores, regularization=penalty)
    cmlg = lk.fit_cmlg(scores)
    middle = (scores.target.mean() + scores.nontarget.mean()) / 2

    def effective(exponent):
        w = np.exp(exponent - exponent.max())
        return w.sum() ** 2 / (w**2).sum()

    n_d, n_e = effective(cmlg.a * scores.nontarget), effective(-cmlg.a * scores.target)

    def cost(p):
        a, b = math.exp(p[0]), p[1]
        d, e = log_means(a, b, scores)
        return n_d * d**2 + n_e * e**2 + penalty * (math.log(a / cmlg.a) ** 2 + (a * middle + b) ** 2)

    # a cost of about 1 is known to 1e-16, so it never stays within less
    rest = {"xatol": 1e-12, "fatol": 1e-12, "maxiter": 5000}
    best = minimize(cost, [math.log(cmlg.a), cmlg.b], method="Nelder-Mead", options=rest)
    assert cost([math.log(fitted.a), fitted.b]) <= best.fun * (1 + 1e-12)
    assert_allclose([math.log(fitted.a), fitted.b], best.x, atol=2e-6)


def test_much_regularization_is_cmlg():
    scores = gaussian(sd=1.1)
    cmlg = lk.fit_cmlg(scores)
    far = lk.fits.fit_expectation(scores, regularization=1e12)
    assert_allclose([far.a, far.b], [cmlg.a, cmlg.b], rtol=1e-6)
    some, much = (abs(lk.fits.fit_expectation(scores, regularization=w).a - cmlg.a) for w in (1e3, 1e5))
    assert 1e-6 < much < some / 10


def test_population_against_theory():
    # N(gap, 1) and N(0, 1): a = gap, b = -gap^2 / 2; only a wide overlap makes the means reliable
    fitted = lk.fits.fit_expectation(gaussian(200_000, gap=1.0), regularization=0)
    assert_allclose([fitted.a, fitted.b], [1.0, -0.5], atol=0.02)


def test_few_trials_dominate_a_good_system():
    poor, good = (lk.fits.fit_expectation(gaussian(2000, gap=gap)) for gap in (1.0, 5.0))
    assert poor.details["effective_target"] > 300
    assert good.details["effective_target"] < 20
    assert good.details["effective_nontarget"] < 20
    assert good.details["largest_share_nontarget"] > 0.05


def test_effective_size_against_its_definition():
    scores = gaussian(500)
    fitted = lk.fits.fit_expectation(scores)
    r = np.exp(fitted.a * scores.nontarget + fitted.b)
    assert_allclose(fitted.details["effective_nontarget"], r.sum() ** 2 / (r**2).sum(), rtol=1e-6)
    assert_allclose(fitted.details["largest_share_nontarget"], r.max() / r.sum(), rtol=1e-6)


def test_scores_far_beyond_the_range_of_exp():
    scores = lk.Scores(gaussian(300).target * 1e5, gaussian(300).nontarget * 1e5)
    fitted = lk.fits.fit_expectation(scores, regularization=0)
    assert_allclose(log_means(fitted.a, fitted.b, scores), [0, 0], atol=1e-9)


def test_reversed_scores_give_a_falling_map():
    scores = gaussian(300)
    with pytest.warns(lk.errors.ReversedScoresWarning):
        falling = lk.fits.fit_expectation(lk.Scores(-scores.target, -scores.nontarget), regularization=0)
    fitted = lk.fits.fit_expectation(scores, regularization=0)
    assert_allclose([-falling.a, falling.b], [fitted.a, fitted.b], rtol=1e-9)


def test_classes_that_do_not_overlap():
    apart = lk.Scores([5.0, 6.0, 7.0], [0.0, 1.0, 2.0])
    with pytest.raises(lk.errors.SeparationError):
        lk.fits.fit_expectation(apart, regularization=0)
    with pytest.warns(lk.errors.ShapeWarning, match="do not overlap"):
        fitted = lk.fits.fit_expectation(apart)
    assert 0 < fitted.a < 1e3
    assert fitted(6.0) > 0 > fitted(1.0)
    with pytest.raises(lk.errors.SeparationError):
        lk.fits.fit_expectation(lk.Scores([5.0, 5.0], [0.0, 0.0]))


def test_bad_input():
    with pytest.raises(lk.InputError):  # the means are equal
        lk.fits.fit_expectation(lk.Scores([0.0, 2.0], [1.0, 1.0]))
    for wrong in (-1.0, math.inf, "much"):
        with pytest.raises(lk.InputError):
            lk.fits.fit_expectation(gaussian(20), regularization=wrong)
