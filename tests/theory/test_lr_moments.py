"""Moments of the likelihood ratio of every pair: closed forms against quadrature in high precision."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import llrkit as lk
from llrkit.theory import (
    PLDALLR,
    DensityMixtureLLR,
    GammaLLR,
    GaussianLLR,
    HyperbolicLLR,
    MixtureLLR,
    lr_moment,
    lr_variance,
    tilt,
)
from llrkit.theory.mixtures import _moment_integrated

PAIRS = {
    "gaussian": GaussianLLR(1.5),
    "mixture": MixtureLLR((0.2, 0.5, 0.3), (0.5, 1.0, 2.0)),
    "density mixture": DensityMixtureLLR(stats.uniform(0.5, 1.0)),
    "gamma": GammaLLR(1.7),
    "gamma mirrored": GammaLLR(2.7).mirror(),
    "PLDA": PLDALLR.isotropic(0.3, 6),
    "NIG": HyperbolicLLR.from_nig(3.5, -0.5, 1.0),
    "variance-gamma": HyperbolicLLR(2.5, 3.5, -0.5, 0.0),
    "tilted": tilt(stats.skewnorm(3.0, scale=1.5)),
}
every_pair = pytest.mark.parametrize(
    "pair",
    [
        pytest.param(pair, id=name, marks=[pytest.mark.slow] if name == "PLDA" else [])
        for name, pair in PAIRS.items()
    ],
)


@every_pair
@pytest.mark.parametrize(
    "order", [-0.5, 1.5, *(pytest.param(order, marks=pytest.mark.slow) for order in (0.5, 2.0))]
)
def test_moments_against_the_trapezoid_rule_and_turing(pair, order):
    # trapezoid over a wide even grid of x: another route than closed forms and than the adaptive axis
    x = np.linspace(-45.0, 45.0, 6001)
    low, high = pair.nontarget.support()
    x = x[(x > low) & (x < high)]
    density = pair.nontarget.logpdf(x)
    wanted = np.trapezoid(np.exp(order * x + density), x)
    assert_allclose(lr_moment(pair, order), wanted, rtol=1e-3)
    assert lr_moment(pair, order) == lr_moment(pair, order - 1, given="target")


@every_pair
def test_the_first_moments_are_one(pair):
    assert lr_moment(pair, 1) == lr_moment(pair, -1, given="target") == lr_moment(pair, 0) == 1.0
    if not isinstance(pair, PLDALLR):  # whose density is not known far out in the tails
        assert_allclose(np.exp(_moment_integrated(pair, 1.0)), 1.0, rtol=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "gamma", "mixture"])
def test_closed_forms_against_quadrature(name):
    for order in (-0.4, 0.3, 1.7):
        assert_allclose(
            lr_moment(PAIRS[name], order), np.exp(_moment_integrated(PAIRS[name], order)), rtol=1e-9
        )


def test_gamma_and_plda_against_mpmath():
    a, n = mpmath.mpf("1.7"), mpmath.mpf("2.5")
    gamma = mpmath.quad(
        lambda r: r ** (a + n - 1) * mpmath.exp(-a * r) * a**a / mpmath.gamma(a), [0, 1, 20, 200]
    )
    assert_allclose(lr_moment(GammaLLR(1.7), 2.5), float(gamma), rtol=1e-12)
    # two dimensions of equal correlation: x is Laplace-like, with exponential tails
    pair, order = PLDALLR.isotropic(0.3, 2), 1.5
    d = pair.nontarget
    up, down, loc = (float(np.atleast_1d(value)[0]) for value in (d.up, d.down, d.loc))
    scale = mpmath.mpf(1) / (up + down)
    above = mpmath.quad(lambda y: scale * mpmath.exp((order - 1 / up) * y), [0, mpmath.inf])
    below = mpmath.quad(lambda y: scale * mpmath.exp(-(order + 1 / down) * y), [0, mpmath.inf])
    assert_allclose(lr_moment(pair, order), float(mpmath.exp(order * loc) * (above + below)), rtol=1e-10)


def test_nig_against_its_generating_function():
    pair, n = PAIRS["NIG"], 1.8
    alpha, beta, delta, loc = (getattr(pair.nontarget, name) for name in ("alpha", "beta", "delta", "loc"))
    wanted = np.exp(n * loc + delta * (np.sqrt(alpha**2 - beta**2) - np.sqrt(alpha**2 - (beta + n) ** 2)))
    assert_allclose(lr_moment(pair, n), wanted, rtol=1e-9)


def test_moments_that_do_not_exist_are_infinite():
    assert lr_moment(GammaLLR(0.5), -0.5) == np.inf
    assert lr_moment(PLDALLR.isotropic(0.9, 4), 40) == np.inf
    assert lr_moment(PAIRS["variance-gamma"], 30) == np.inf
    assert lr_moment(GaussianLLR(40.0), 5) == np.inf


@pytest.mark.slow
def test_variances_of_the_ratio_and_of_its_inverse():
    for pair in PAIRS.values():
        assert_allclose(lr_variance(pair), lr_moment(pair, 2) - 1.0, rtol=1e-9)
        assert_allclose(
            lr_variance(pair, given="target"), lr_moment(pair, -2, given="target") - 1.0, rtol=1e-9
        )


def test_an_order_that_is_no_number_is_refused():
    for order in ("two", None, np.nan, True):
        with pytest.raises(lk.InputError):
            lr_moment(GaussianLLR(1.0), order)


def test_density_mixtures_of_frozen_distributions():
    frozen = stats.lognorm(0.5, scale=3.0)
    assert DensityMixtureLLR(frozen).eer == DensityMixtureLLR(frozen.logpdf).eer
    uniform = DensityMixtureLLR(stats.uniform(1.0, 2.0))
    mu = np.linspace(1.0, 3.0, 20_001)
    assert_allclose(uniform.eer, stats.norm.cdf(-np.sqrt(mu / 2)).mean(), atol=1e-6)
    assert uniform.support == (1.0, 3.0)
    for wrong in (stats.norm(5.0, 1.0), stats.poisson(3.0), 3.0):
        with pytest.raises(lk.InputError):
            DensityMixtureLLR(wrong)
