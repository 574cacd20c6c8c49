import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from scipy.special import gamma, kv

from llrkit.errors import InputError
from llrkit.theory import DensityMixtureLLR, GaussianLLR, HyperbolicLLR, MixtureLLR, cllr_from_sigma


def test_three_components_against_printed_value():
    pair = MixtureLLR((0.2, 0.5, 0.3), (0.5, 3.0, 9.0))
    assert_allclose(pair.eer, 0.12195957625386, atol=5e-15)
    assert_allclose(
        pair.cllr, np.dot(pair.weights, cllr_from_sigma(np.sqrt(2 * np.array(pair.mu)))), rtol=1e-14
    )


def test_one_component_is_the_gaussian_pair():
    one, gaussian = MixtureLLR((1.0,), (3.0,)), GaussianLLR.from_mu(3.0)
    x = np.linspace(-9, 9, 37)
    assert_allclose(one.target.logpdf(x), gaussian.target.logpdf(x), rtol=1e-12)
    assert_allclose([one.eer, one.cllr, one.auc], [gaussian.eer, gaussian.cllr, gaussian.auc], rtol=1e-13)


def test_uninformative_trials_add_a_point_mass():
    plain = GaussianLLR.from_mu(4.0)
    pair = MixtureLLR((0.25, 0.75), (0.0, 4.0))
    assert pair.point_mass == 0.25
    assert_allclose(pair.eer, 0.25 * 0.5 + 0.75 * plain.eer, rtol=1e-14)
    assert_allclose(pair.cllr, 0.25 + 0.75 * plain.cllr, rtol=1e-14)
    # LLR 0 is accepted at threshold 0: all those non-targets are false alarms, none of the targets is missed
    assert_allclose(pair.error_rates(0.0), (0.75 * plain.eer, 0.25 + 0.75 * plain.eer), rtol=1e-14)
    assert_allclose(pair.error_rates(1e-9), (0.25 + 0.75 * plain.eer, 0.75 * plain.eer), rtol=1e-8)
    assert_allclose(quad(pair.target.pdf, -30, 40, limit=200)[0], 0.75, atol=1e-9)
    assert pair.target.ppf(0.2) == pytest.approx(0.0, abs=1e-9)
    # ties count half: pairs of blank trials 1/2, one blank trial against an informative one Phi(mu/sigma)
    mixed = 0.0625 * 0.5 + 2 * 0.1875 * (1 - plain.eer) + 0.5625 * plain.auc
    assert_allclose(pair.auc, mixed, rtol=1e-12)
    assert_allclose(np.mean(pair.nontarget.rvs(100_000, rng=2) == 0.0), 0.25, atol=0.005)


@pytest.mark.parametrize(
    ("shape", "scale"),
    [(0.3, 4.0), *(pytest.param(*p, marks=pytest.mark.slow) for p in ((1.0, 1.0), (2.5, 1.3)))],
)
def test_variance_gamma_density_against_quadrature_over_mu(shape, scale):
    pair = HyperbolicLLR.from_variance_gamma(shape, scale)
    weight = stats.gamma(shape, scale=scale)
    for x in (-6.0, -0.7, 0.4, 3.0):

        def integrand(mu, x=x):
            return weight.pdf(mu) * stats.norm.pdf(x, -mu, np.sqrt(2 * mu))

        reference = sum(quad(integrand, a, b, epsabs=1e-14)[0] for a, b in ((0, 0.1), (0.1, 5), (5, np.inf)))
        assert_allclose(pair.nontarget.pdf(x), reference, rtol=1e-8)


@pytest.mark.parametrize(("shape", "scale"), [(0.3, 4.0), (2.5, 1.3)])
def test_variance_gamma_density_against_printed_formula(shape, scale):
    x = np.array([-4.0, -0.2, 0.6, 5.0])
    kappa = np.sqrt(0.25 + 1 / scale)
    bessel = (np.abs(x) / kappa) ** (shape - 0.5) * kv(shape - 0.5, kappa * np.abs(x))
    constant = (2 * scale) ** -shape / gamma(shape) * np.sqrt(2 / np.pi)
    pair = HyperbolicLLR.from_variance_gamma(shape, scale)
    assert_allclose(pair.nontarget.pdf(x), constant * np.exp(-x / 2) * bessel, rtol=1e-12)
    assert_allclose(pair.target.pdf(x), pair.nontarget.pdf(-x), rtol=1e-12)


@pytest.mark.parametrize("shape", [pytest.param(0.1, marks=pytest.mark.slow), 1.0, 6.0])
def test_two_routes_to_the_variance_gamma_pair(shape):
    closed = HyperbolicLLR.from_variance_gamma(shape, 2.0)
    mixed = DensityMixtureLLR(stats.gamma(shape, scale=2.0).logpdf)
    t = np.array([-12.0, -2.0, 0.0, 0.5, 9.0])
    assert_allclose(mixed.p_fa(t), closed.p_fa(t), rtol=1e-10)
    assert_allclose([mixed.eer, mixed.cllr, mixed.auc], [closed.eer, closed.cllr, closed.auc], rtol=1e-12)
    x = np.array([-5.0, 0.3, 4.0])
    assert_allclose(mixed.target.pdf(x), closed.target.pdf(x), rtol=1e-9)


def test_uniform_density_against_quad():
    pair = DensityMixtureLLR(lambda mu: np.full(mu.shape, -np.log(4.0)), support=(1.0, 5.0))
    reference = quad(lambda mu: stats.norm.cdf(-np.sqrt(mu / 2)) / 4, 1, 5)[0]
    assert_allclose(pair.eer, reference, rtol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda: MixtureLLR((0.5, 0.6), (1.0, 2.0)),
        lambda: MixtureLLR((1.0,), (1.0, 2.0)),
        lambda: MixtureLLR((1.0,), (-1.0,)),
        lambda: MixtureLLR((), ()),
        lambda: MixtureLLR("ab", (1.0, 2.0)),
        lambda: MixtureLLR((1.0,), (np.inf,)),
        lambda: DensityMixtureLLR(lambda mu: -2.0 * mu),
        lambda: DensityMixtureLLR(lambda mu: -mu, support=(-1.0, 1.0)),
        lambda: DensityMixtureLLR(stats.gamma),
        lambda: DensityMixtureLLR(stats.norm(2.0, 1.0)),
        lambda: HyperbolicLLR.from_variance_gamma(-1.0, 1.0),
    ],
)
def test_wrong_input_is_refused(call):
    with pytest.raises(InputError):
        call()
