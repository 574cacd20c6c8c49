import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from llrkit.errors import InputError
from llrkit.theory import Axis, DensityDistribution, GammaLLR, GaussianLLR, HyperbolicLLR, tilt


@pytest.mark.parametrize("shift", [-40.0, 0.0, 3.0])
def test_tilted_normal_is_the_gaussian_pair(shift):
    pair, gaussian = tilt(stats.norm(shift, 2.5)), GaussianLLR(2.5)
    x = np.linspace(-8, 8, 33)
    assert_allclose(pair.log_m1, shift + 2.5**2 / 2, rtol=1e-12)
    assert_allclose(pair.target.logpdf(x), gaussian.target.logpdf(x), atol=1e-10)
    assert_allclose(pair.p_fa(x), gaussian.p_fa(x), rtol=1e-9)
    assert_allclose(pair.cllr, gaussian.cllr, rtol=1e-11)


def test_tilted_log_gamma_is_the_gamma_pair():
    pair, gamma = tilt(stats.loggamma(0.3)), GammaLLR(0.3)
    assert_allclose([pair.eer, pair.cllr, pair.auc], [gamma.eer, gamma.cllr, gamma.auc], rtol=1e-10)


def test_tilted_nig_is_the_tied_nig_pair():
    pair = tilt(stats.norminvgauss(3.0, -0.4, scale=2.0))
    tied = HyperbolicLLR.from_nig(1.5, -0.2, 2.0)
    assert_allclose([pair.eer, pair.cllr], [tied.eer, tied.cllr], rtol=1e-9)
    assert_allclose(pair.eer_threshold, tied.eer_threshold, rtol=1e-8)


def test_tilted_exponential_by_hand():
    # q(y) = 2 e^-2y: M(1) = 2, so d lives above -log 2 and e(x) = e^-(x + log 2)
    pair = tilt(stats.expon(scale=0.5))
    assert_allclose(pair.log_m1, np.log(2), rtol=1e-12)
    x = np.array([-0.5, 0.0, 1.0])
    assert_allclose(pair.p_miss(x), 1 - np.exp(-x) / 2, rtol=1e-11)
    assert_allclose(pair.p_fa(x), np.exp(-2 * x) / 4, rtol=1e-11)
    assert_allclose(pair.auc, 2 / 3, rtol=1e-12)
    assert np.isnan(pair.log_ratio(-1.0))


def test_tilted_uniform_by_hand():
    pair = tilt(stats.uniform(-2.0, 4.0))
    m1 = (np.exp(2) - np.exp(-2)) / 4
    assert_allclose(pair.log_m1, np.log(m1), rtol=1e-12)
    assert_allclose(pair.p_miss(0.0), (1 - np.exp(-2) / m1) / 4, rtol=1e-11)
    assert_allclose(pair.p_fa(0.0), (2 - np.log(m1)) / 4, rtol=1e-11)


@pytest.mark.parametrize(
    "density", [stats.t(5), stats.cauchy(), stats.logistic(), stats.expon(scale=1.0), stats.lognorm(1.0)]
)
def test_infinite_m1_is_refused(density):
    with pytest.raises(InputError):
        tilt(density)


def test_unnormalized_and_unresolved_densities_are_refused():
    with pytest.raises(InputError):
        tilt(lambda x: -(x**2))
    narrow = stats.norm(1e6, 1.0)
    with pytest.raises(InputError):
        tilt(narrow.logpdf)
    assert_allclose(tilt(narrow.logpdf, center=1e6).cllr, GaussianLLR(1.0).cllr, rtol=1e-8)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tilt(3.0),
        lambda: tilt(lambda x: np.full(x.shape, np.nan)),
        lambda: tilt(stats.norm().logpdf, support=(1.0, -1.0)),
        lambda: tilt(stats.norm().logpdf, scale=-1.0),
    ],
)
def test_wrong_input_is_refused(call):
    with pytest.raises(InputError):
        call()


@pytest.mark.parametrize(
    "law",
    [stats.norm(2.0, 3.0), stats.gamma(0.2), stats.beta(0.5, 2.0), stats.laplace(), stats.weibull_max(2.0)],
    ids=lambda law: law.dist.name,
)
def test_density_distribution_against_scipy(law):
    ours = DensityDistribution(law.logpdf, Axis(tuple(map(float, law.support()))))
    q = np.array([1e-4, 0.1, 0.5, 0.8, 0.999])
    assert_allclose(ours.cdf(law.ppf(q)), q, rtol=1e-9)
    assert_allclose(ours.sf(law.ppf(q)), 1 - q, rtol=1e-9)
    assert_allclose(ours.ppf(q), law.ppf(q), rtol=1e-7, atol=1e-12)
    assert_allclose([ours.mean(), ours.var()], law.stats("mv"), rtol=1e-9)
    low, high = law.support()
    assert_allclose([ours.cdf(low - 1), ours.sf(high + 1)], 0.0)
