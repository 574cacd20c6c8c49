import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from llrkit.errors import InputError
from llrkit.theory import Hyperbolic, HyperbolicLLR
from llrkit.theory.calibrated_pairs import log_bessel_k


@pytest.mark.parametrize("order", [0.5, 30.0, 200.0, -7.3])
def test_log_bessel_k_against_mpmath(order):
    z = np.array([1e-3, 0.7, 40.0, 3000.0])
    with mp.workdps(30):
        reference = [float(mp.log(mp.besselk(order, value))) for value in z]
    assert_allclose(log_bessel_k(order, z), reference, rtol=1e-12)


def test_generalized_hyperbolic_against_scipy():
    lam, alpha, beta, delta, loc = 0.7, 2.0, -0.6, 1.5, 0.4
    ours = Hyperbolic(lam, alpha, beta, delta, loc)
    theirs = stats.genhyperbolic(lam, alpha * delta, beta * delta, loc=loc, scale=delta)
    x = np.linspace(-5, 5, 21)
    assert_allclose(ours.logpdf(x), theirs.logpdf(x), rtol=1e-11, atol=1e-12)
    assert_allclose(ours.cdf([-2.0, 0.0, 1.0]), theirs.cdf([-2.0, 0.0, 1.0]), rtol=1e-7)
    assert_allclose([ours.mean(), ours.var()], theirs.stats("mv"), rtol=1e-10)


def test_nig_against_scipy_and_its_closed_location():
    alpha, beta, delta = 1.5, -0.2, 2.0
    pair = HyperbolicLLR.from_nig(alpha, beta, delta)
    location = delta * (np.sqrt(alpha**2 - (beta + 1) ** 2) - np.sqrt(alpha**2 - beta**2))
    assert_allclose(pair.location, location, rtol=1e-12)
    for b, ours in ((beta, pair.nontarget), (beta + 1, pair.target)):
        theirs = stats.norminvgauss(alpha * delta, b * delta, loc=location, scale=delta)
        x = np.linspace(-6, 6, 25)
        assert_allclose(ours.pdf(x), theirs.pdf(x), rtol=1e-10)
        assert_allclose([ours.mean(), ours.var()], theirs.stats("mv"), rtol=1e-10)


def test_location_against_printed_formula():
    lam, alpha, beta, delta = -1.3, 2.0, -0.6, 1.5
    with mp.workdps(30):
        psi0, psi1 = mp.mpf(alpha) ** 2 - mp.mpf(beta) ** 2, mp.mpf(alpha) ** 2 - (mp.mpf(beta) + 1) ** 2
        ratio = mp.besselk(lam, delta * mp.sqrt(psi1)) / mp.besselk(lam, delta * mp.sqrt(psi0))
        m = float(-mp.log((psi0 / psi1) ** (lam / 2) * ratio))
    assert_allclose(HyperbolicLLR(lam, alpha, beta, delta).location, m, rtol=1e-12)


def test_symmetric_at_beta_minus_one_half():
    pair = HyperbolicLLR(0.8, 1.4, -0.5, 1.1)
    x = np.linspace(-4, 4, 9)
    assert pair.location == 0.0
    assert pair.eer_threshold == 0.0
    assert_allclose(pair.target.pdf(x), pair.nontarget.pdf(-x), rtol=1e-13)


def test_density_at_the_singular_point():
    assert HyperbolicLLR.from_variance_gamma(0.4, 1.0).target.pdf(0.0) == np.inf
    smooth = HyperbolicLLR.from_variance_gamma(3.0, 1.0).target
    assert_allclose(smooth.pdf(0.0), smooth.pdf(1e-9), rtol=1e-7)


def test_far_tails_keep_their_digits_against_mpmath():
    pair = HyperbolicLLR.from_nig(1.5, -0.2, 2.0)
    with mp.workdps(18):
        a, b, d, m = mp.mpf(1.5), mp.mpf(-0.2), mp.mpf(2), mp.mpf(pair.location)

        def density(x):
            q = mp.sqrt(d * d + (x - m) ** 2)
            return (
                a * d * mp.besselk(1, a * q) / (mp.pi * q) * mp.exp(d * mp.sqrt(a * a - b * b) + b * (x - m))
            )

        reference = float(mp.quad(density, [*range(30, 52, 3), 60]))
    assert_allclose(pair.p_fa(30.0), reference, rtol=1e-9)


@pytest.mark.parametrize(
    "args", [(1.0, 0.4, -0.5, 1.0), (1.0, 2.0, -2.5, 1.0), (1.0, 2.0, 1.5, 1.0), (-1.0, 2.0, -0.5, 0.0)]
)
def test_parameters_without_a_calibrated_pair_are_refused(args):
    with pytest.raises(InputError):
        HyperbolicLLR(*args)
