import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.optimize import minimize

from llrkit.errors import InputError
from llrkit.theory import GaussianLLR, UnequalGaussians, moment_solution


def test_quadratic_against_densities():
    scores = UnequalGaussians(3.0, 1.6, -1.0, 0.9)
    s = np.linspace(-6, 8, 29)
    reference = stats.norm.logpdf(s, 3.0, 1.6) - stats.norm.logpdf(s, -1.0, 0.9)
    assert_allclose(scores.llr(s), reference, rtol=1e-12, atol=1e-12)
    fit = np.polyfit(s, reference, 2)
    assert_allclose([scores.quadratic, scores.linear, scores.constant], fit, rtol=1e-9)


def test_unequal_variances_are_not_a_solution():
    rng = np.random.default_rng(2)
    for _ in range(50):
        me, md, se, sd = rng.normal(2, 1), rng.normal(-2, 1), *rng.uniform(0.5, 3.0, 2)
        assert not UnequalGaussians(me, se, md, sd).is_calibrated
    pair = GaussianLLR(1.7)
    assert UnequalGaussians(pair.mu, pair.sigma, -pair.mu, pair.sigma).is_calibrated
    # equal variances and symmetric means are not enough: the slope must be 1
    assert not UnequalGaussians(2.0, 1.7, -2.0, 1.7).is_calibrated
    # nor is the other root of md^2 = me^2
    assert not UnequalGaussians(pair.mu, pair.sigma, pair.mu, pair.sigma).is_calibrated


@pytest.mark.parametrize(("se", "sd"), [(2.0, 1.0), (1.0, 2.0)])
def test_vertex_is_the_extreme_and_clipping_makes_it_monotone(se, sd):
    scores = UnequalGaussians(2.0, se, -2.0, sd)
    s = np.linspace(scores.vertex - 10, scores.vertex + 10, 2001)
    values = scores.llr(s)
    extreme = np.argmin(values) if se > sd else np.argmax(values)
    assert_allclose(s[extreme], scores.vertex, atol=0.011)
    assert np.any(np.diff(values) < 0)
    assert np.all(np.diff(scores.llr(s, monotone=True)) >= 0)


def test_equal_variances_have_no_vertex():
    scores = UnequalGaussians(1.0, 2.0, -1.0, 2.0)
    assert scores.vertex is None
    assert scores.llr(3.0, monotone=True) == scores.llr(3.0)


def test_det_line_against_error_rates():
    scores = UnequalGaussians(3.0, 1.6, -1.0, 0.9)
    line = scores.det_line()
    for t in (-1.0, 0.5, 2.0):
        miss, fa = scores.target.cdf(t), scores.nontarget.sf(t)
        assert_allclose(stats.norm.ppf(miss), line.slope * stats.norm.ppf(fa) + line.intercept, rtol=1e-10)
    assert line.slope == -0.9 / 1.6


def test_moment_solution_solves_its_equations():
    me, md, ve, vd = 3.1, -0.7, 2.2, 0.8
    found = moment_solution(me, md, ve, vd)
    assert_allclose([found.a * me + found.b, -(found.a * md + found.b)], found.mu, rtol=1e-14)
    assert_allclose(found.a**2 * (ve + vd) / 2, 2 * found.mu, rtol=1e-14)
    assert_allclose(found.predicted.eer, stats.norm.cdf(-np.sqrt(found.mu / 2)), rtol=1e-13)


def test_moment_solution_is_the_equal_weight_likelihood_maximum():
    me, md, ve, vd = 3.1, -0.7, 2.2, 0.8

    def loss(p):  # minus the expected log likelihood of two normals with a common variance
        v = np.exp(p[2])
        return 0.5 * p[2] + 0.25 * ((ve + (me - p[0]) ** 2) + (vd + (md - p[1]) ** 2)) / v

    best = minimize(loss, (1.0, 0.0, 0.0), method="BFGS", options={"gtol": 1e-10}).x
    found = moment_solution(me, md, ve, vd)
    a = (best[0] - best[1]) / np.exp(best[2])
    assert_allclose([found.a, found.b], [a, -a * (best[0] + best[1]) / 2], rtol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: UnequalGaussians(1.0, 0.0, 0.0, 1.0),
        lambda: moment_solution(0.0, 1.0, 1.0, 1.0),
        lambda: moment_solution(1.0, 0.0, 0.0, 0.0),
        lambda: moment_solution(1.0, 0.0, -1.0, 2.0),
    ],
)
def test_wrong_input_is_refused(call):
    with pytest.raises(InputError):
        call()
