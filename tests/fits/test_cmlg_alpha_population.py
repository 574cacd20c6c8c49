"""Population values of the scan over alpha: what alpha does, and when it does nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, ndtri
from scipy.stats import norm

import llrkit as lk
from llrkit.core.summaries import ClassMoments, Moments
from llrkit.fits.cmlg import cmlg_from_moments

pytestmark = pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")


def gaussian_moments(mean, sd):
    """Exact moments of a Gaussian population."""
    one = np.ones(1)
    return ClassMoments(1.0, mean * one, sd**2 * np.ones((1, 1)), 0 * one, 3 * sd**4 * one, -9 * one, 9 * one)


def c_primary(a, b, mean, sd):
    """C_primary of SRE12 of the map a s + b, targets N(mean, sd^2), non-targets N(0, 1), in closed form."""
    costs = []
    for beta in (99.0, 999.0):
        threshold = (np.log(beta) - b) / a
        costs.append(norm.cdf(threshold, mean, sd) + beta * norm.sf(threshold))
    return np.mean(costs)


@pytest.mark.parametrize("logit_alpha", [-12.0, -4.0, 0.0, 2.0, 4.0])
def test_equal_variances_make_alpha_irrelevant(logit_alpha):
    moments = Moments(gaussian_moments(4.5, 1.0), gaussian_moments(0.0, 1.0))
    fitted = cmlg_from_moments(moments, float(expit(logit_alpha)))
    assert_allclose([fitted.a, fitted.b], [4.5, -10.125], rtol=1e-12)
    assert_allclose(c_primary(fitted.a, fitted.b, 4.5, 1.0), 0.2383, atol=5e-5)


def test_unequal_variances_make_it_decisive_for_cmlg():
    moments = Moments(gaussian_moments(5.0, 1.6), gaussian_moments(0.0, 1.0))
    costs = []
    for logit_alpha in (-12, -8, -6, -4, -2, 0, 2, 4):
        fitted = cmlg_from_moments(moments, float(expit(logit_alpha)))
        costs.append(c_primary(fitted.a, fitted.b, 5.0, 1.6))
    assert_allclose(costs, [0.2434, 0.2434, 0.2434, 0.2439, 0.2590, 0.3932, 0.5541, 0.5952], atol=6e-5)


@pytest.fixture(scope="module")
def population():
    """Evenly spaced quantiles: a sample as close to the population as its size allows."""
    quantiles = ndtri((np.arange(400_000) + 0.5) / 400_000)
    return {
        "equal": lk.Scores(4.5 + quantiles, quantiles),
        "unequal": lk.Scores(5.0 + 1.6 * quantiles, quantiles),
    }


@pytest.mark.parametrize("logit_alpha", [-4.0, 0.0, 4.0])
def test_equal_variances_make_the_prior_of_logistic_regression_irrelevant(population, logit_alpha):
    fitted = lk.fit_logistic(population["equal"], prior=float(expit(logit_alpha)))
    assert_allclose(c_primary(fitted.a, fitted.b, 4.5, 1.0), 0.2383, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("logit_alpha", "logistic"),
    [(-6, 0.2434), (-4, 0.2464), (-2, 0.2549), (0, 0.2728), (2, 0.3047), (4, 0.3541)],
)
def test_unequal_variances_and_the_prior_of_logistic_regression(population, logit_alpha, logistic):
    fitted = lk.fit_logistic(population["unequal"], prior=float(expit(logit_alpha)))
    assert_allclose(c_primary(fitted.a, fitted.b, 5.0, 1.6), logistic, atol=2e-4)
