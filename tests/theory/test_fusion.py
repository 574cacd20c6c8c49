import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from llrkit.errors import InputError
from llrkit.theory import GaussianLLR, fuse_calibrated, fuse_moments


def two(sigma1, sigma2, rho):
    return fuse_calibrated([GaussianLLR(sigma1), GaussianLLR(sigma2)], rho)


@pytest.mark.parametrize(
    ("sigma1", "sigma2", "rho", "weights", "single", "fused"),
    [
        (4.0, 1.0, 0.5, (1.167, -1.333), 2.28, 1.87),
        (3.0, 2.0, 0.5, (0.889, 0.333), 6.68, 6.33),
        (3.0, 3.0, 0.5, (0.667, 0.667), 6.68, 4.16),
    ],
)
def test_examples_against_table(sigma1, sigma2, rho, weights, single, fused):
    fusion = two(sigma1, sigma2, rho)
    assert_allclose(fusion.weights, weights, atol=5e-4)
    assert_allclose(100 * GaussianLLR(sigma1).eer, single, atol=5e-3)
    assert_allclose(100 * fusion.fused.eer, fused, atol=5e-3)
    assert fusion.offset == 0.0


@pytest.mark.parametrize(("sigma1", "sigma2", "rho"), [(3.0, 2.0, 0.3), (4.0, 1.0, -0.6), (2.0, 2.0, 0.9)])
def test_two_systems_against_closed_form(sigma1, sigma2, rho):
    fusion = two(sigma1, sigma2, rho)
    w1 = (1 - rho * sigma2 / sigma1) / (1 - rho**2)
    w2 = (1 - rho * sigma1 / sigma2) / (1 - rho**2)
    assert_allclose(fusion.weights, (w1, w2), rtol=1e-12)
    variance = (sigma1**2 + sigma2**2 - 2 * rho * sigma1 * sigma2) / (1 - rho**2)
    assert_allclose(fusion.fused.sigma**2, variance, rtol=1e-12)


def test_consequences():
    assert_allclose(two(3.0, 2.0, 0.0).weights, 1.0, rtol=1e-14)  # independent: add the LLRs
    assert_allclose(two(3.0, 3.0, 0.4).weights, 1 / 1.4, rtol=1e-13)  # equal: 1/(1 + rho)
    assert_allclose(two(4.0, 1.0, 0.25).weights, (1.0, 0.0), atol=1e-14)  # rho = sigma2/sigma1: no use
    negative = two(4.0, 1.0, 0.5)
    assert negative.weights[1] < 0.0
    assert negative.fused.eer < GaussianLLR(4.0).eer
    alone = fuse_calibrated([GaussianLLR(2.0)], 0.0)
    assert alone.weights == (1.0,)
    assert alone.fused == GaussianLLR(2.0)


def test_fused_llr_against_multivariate_densities():
    sigma = np.array([1.5, 2.0, 3.0])
    correlation = np.array([[1.0, 0.3, 0.2], [0.3, 1.0, 0.5], [0.2, 0.5, 1.0]])
    fusion = fuse_calibrated([GaussianLLR(s) for s in sigma], correlation)
    cov = correlation * np.outer(sigma, sigma)
    x = np.random.default_rng(0).normal(size=(50, 3)) * 3
    up = multivariate_normal(sigma**2 / 2, cov).logpdf(x)
    down = multivariate_normal(-(sigma**2) / 2, cov).logpdf(x)
    assert_allclose(fusion(x), up - down, rtol=1e-10, atol=1e-10)
    w = np.array(fusion.weights)
    assert_allclose([w @ cov @ w, w @ sigma**2], fusion.fused.sigma**2, rtol=1e-12)


def test_general_fusion_against_multivariate_densities():
    rng = np.random.default_rng(4)
    root = rng.normal(size=(3, 3))
    cov, up, down = root @ root.T + np.eye(3), rng.normal(size=3) + 2, rng.normal(size=3)
    fusion = fuse_moments(up, down, cov, cov)
    x = rng.normal(size=(40, 3)) * 2
    reference = multivariate_normal(up, cov).logpdf(x) - multivariate_normal(down, cov).logpdf(x)
    assert_allclose(fusion(x), reference, rtol=1e-9, atol=1e-9)
    means = np.array([fusion(up), fusion(down)])
    assert_allclose(means, [fusion.fused.mu, -fusion.fused.mu], rtol=1e-12)


def test_alpha_pools_the_covariances():
    up, down, wide = [2.0, 1.0], [0.0, 0.0], np.diag([4.0, 9.0])
    both = fuse_moments(up, down, wide, np.eye(2), alpha=0.25)
    assert_allclose(both.weights, (2.0 / 1.75, 1.0 / 3.0), rtol=1e-14)
    assert_allclose(fuse_moments(up, down, wide, np.eye(2), alpha=0.0).weights, (2.0, 1.0))
    assert_allclose(fuse_moments(3.0, -1.0, 2.0, 2.0).weights, (2.0,))


@pytest.mark.parametrize(
    "call",
    [
        lambda: fuse_calibrated([], 0.0),
        lambda: two(1.0, 1.0, 1.0),
        lambda: two(1.0, 1.0, [[1.0, 0.5], [0.4, 1.0]]),
        lambda: two(1.0, 1.0, [[2.0, 0.5], [0.5, 2.0]]),
        lambda: two(1.0, 1.0, np.eye(3)),
        lambda: two(1.0, 1.0, np.nan),
        lambda: two(1.0, 2.0, 0.1)([1.0, 2.0, 3.0]),
        lambda: fuse_moments([1.0, 2.0], [1.0], np.eye(2), np.eye(2)),
        lambda: fuse_moments([1.0, 2.0], [1.0, 2.0], np.eye(2), np.eye(2)),
        lambda: fuse_moments([1.0], [0.0], 1.0, 1.0, alpha=1.5),
    ],
)
def test_wrong_input_is_refused(call):
    with pytest.raises(InputError):
        call()
