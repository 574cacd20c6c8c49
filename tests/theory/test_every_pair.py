"""One contract for all calibrated pairs; the references integrate the densities by Simpson's rule."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import cumulative_simpson, simpson

from llrkit.theory import (
    PLDALLR,
    DensityMixtureLLR,
    GammaLLR,
    GaussianLLR,
    HyperbolicLLR,
    MixtureLLR,
    OperatingPoint,
    tilt,
)

PAIRS = {
    "gaussian": GaussianLLR(2.5),
    "mixture": MixtureLLR((0.2, 0.5, 0.3), (0.5, 3.0, 9.0)),
    "density mixture": DensityMixtureLLR(stats.lognorm(0.5, scale=3.0).logpdf),
    "variance-gamma": HyperbolicLLR.from_variance_gamma(2.5, 1.3),
    "NIG": HyperbolicLLR.from_nig(1.5, -0.2, 2.0),
    "GH": HyperbolicLLR(1.2, 2.0, -0.9, 1.5),
    "GH negative order": HyperbolicLLR(-2.0, 2.0, -0.3, 1.5),
    "gamma": GammaLLR(0.3),
    "gamma mirrored": GammaLLR(1.7).mirror(),
    "PLDA": PLDALLR.isotropic(0.4, 20),
    "PLDA distinct": PLDALLR((0.2, 0.3, 0.5, 0.5, 0.6, 0.7)),
    "tilted skew-normal": tilt(stats.skewnorm(3.0, scale=3.0)),
    "tilted callable": tilt(lambda x: -0.5 * (x / 1.5) ** 2 - np.log(1.5 * np.sqrt(2 * np.pi))),
    "tilted half-line": tilt(stats.gamma(3.0, scale=0.4)),
}
every_pair = pytest.mark.parametrize(
    "pair",
    [
        pytest.param(pair, id=name, marks=[pytest.mark.slow] if "PLDA" in name else [])
        for name, pair in PAIRS.items()
    ],
)


def grid(pair, n=3000):
    """Points dense around 0, where densities of LLRs have their cusps, split at the support's ends."""
    low, high = pair.nontarget.support()
    low, high = max(low, -120.0), min(high, 120.0)
    anchor = 0.5 * (low + high) if not low < 0.0 < high else 0.0
    if isinstance(pair, HyperbolicLLR):
        anchor = pair.location
    u = np.linspace(np.arcsinh((low - anchor) / 0.3), np.arcsinh((high - anchor) / 0.3), 2 * n + 1)
    return u, anchor + 0.3 * np.sinh(u), 0.3 * np.cosh(u)


@every_pair
def test_llr_of_the_llr_is_the_llr(pair):
    x = np.linspace(-8.0, 8.0, 161) + 0.003
    low, high = pair.nontarget.support()
    x = x[(x > low) & (x < high)]
    assert x.size > 20
    assert np.max(np.abs(pair.log_ratio(x) - x)) < 1e-10


@every_pair
def test_moments_cllr_auc_against_simpson(pair):
    u, x, slope = grid(pair)
    with np.errstate(over="ignore"):
        e, d = pair.target.pdf(x) * slope, pair.nontarget.pdf(x) * slope
    assert_allclose(simpson(e, x=u), 1.0, atol=2e-8)
    assert_allclose(simpson(d, x=u), 1.0, atol=2e-8)
    use = d > 0  # <r> = 1 given non-target
    assert_allclose(simpson(np.where(use, np.exp(np.minimum(x, 300.0)) * d, 0.0), x=u), 1.0, atol=2e-8)
    assert_allclose(simpson(x * e, x=u), pair.target.mean(), atol=1e-6)
    assert_allclose(simpson(x * d, x=u), pair.nontarget.mean(), atol=1e-6)
    assert_allclose(simpson((x - pair.target.mean()) ** 2 * e, x=u), pair.target.var(), rtol=1e-6)
    assert_allclose(simpson((x - pair.nontarget.mean()) ** 2 * d, x=u), pair.nontarget.var(), rtol=1e-6)
    bits = (simpson(np.logaddexp(0, -x) * e, x=u) + simpson(np.logaddexp(0, x) * d, x=u)) / 2 / np.log(2)
    assert_allclose(pair.cllr, bits, atol=2e-8)
    below = cumulative_simpson(d, x=u, initial=0.0)
    assert_allclose(pair.auc, simpson(below * e, x=u), atol=1e-6)


@every_pair
def test_error_rates_against_simpson(pair):
    u, x, slope = grid(pair)
    cumulative = [
        cumulative_simpson(p.pdf(x) * slope, x=u, initial=0.0) for p in (pair.target, pair.nontarget)
    ]
    at = np.searchsorted(x, [-3.0, -0.4, 0.0, 0.7, 2.5])
    at = at[(at > 0) & (at < x.size)]
    assert_allclose(pair.p_miss(x[at]), cumulative[0][at], atol=1e-6)
    assert_allclose(pair.p_fa(x[at]), 1.0 - cumulative[1][at], atol=1e-6)
    assert_allclose(pair.target.cdf(x[at]) + pair.target.sf(x[at]), 1.0, atol=1e-12)


@every_pair
def test_exceedance_identities_against_simpson(pair):
    # Pfa(t) = <e^-x 1(x >= t)> given target, which reaches far below what counting could
    u, x, slope = grid(pair)
    weighted = np.exp(-np.clip(x, -300.0, 300.0)) * pair.target.pdf(x) * slope
    keep = x >= 1.0
    start = int(np.argmax(keep))
    if keep.sum() > 100:
        assert_allclose(pair.p_fa(x[start]), simpson(weighted[start:], x=u[start:]), rtol=1e-5, atol=1e-12)
    assert np.all(pair.p_fa(np.arange(0.0, 30.0)) <= np.exp(-np.arange(0.0, 30.0)) + 1e-15)


@pytest.mark.slow
@every_pair
def test_samples_follow_the_distribution_by_monte_carlo(pair):
    # 28 comparisons in all: the level is low enough that chance alone fails none of them; over many seeds
    # the p-values of every pair are uniform
    target, nontarget = pair.rvs(1000, 1000, rng=7)
    for sample, distribution in ((target, pair.target), (nontarget, pair.nontarget)):
        assert stats.kstest(sample, distribution.cdf).pvalue > 1e-5
    assert pair.target.rvs((3, 2), rng=1).shape == (3, 2)
    assert_allclose(pair.target.rvs(5, rng=3), pair.target.rvs(5, rng=3))


@every_pair
def test_quantiles_invert_the_distribution(pair):
    q = np.array([1e-6, 1e-3, 0.2, 0.5, 0.7, 0.999])
    for distribution in (pair.target, pair.nontarget):
        assert_allclose(distribution.cdf(distribution.ppf(q)), q, rtol=1e-8)
        assert distribution.ppf(0.0) == distribution.support()[0]
        assert distribution.ppf(1.0) == distribution.support()[1]


@every_pair
def test_eer_and_costs(pair):
    miss, fa = pair.error_rates(pair.eer_threshold)
    assert_allclose([miss, fa], pair.eer, atol=1e-12)
    t = np.linspace(-8, 8, 81)
    for point in (OperatingPoint(0.05), OperatingPoint(0.5), OperatingPoint(0.2, 10.0, 1.0)):
        assert pair.min_dcf(point) == pair.act_dcf(point)
        assert pair.min_dcf(point) <= np.min(point.cost(*pair.error_rates(t))) + 1e-12
    assert 0.5 < pair.auc < 1.0
    assert 0.0 < pair.cllr < 1.0
    point = OperatingPoint(0.05)
    assert_allclose(pair.bayes_error(point.log_odds) / 0.05, pair.act_dcf(point), rtol=1e-12)


@every_pair
def test_mirror_swaps_everything(pair):
    other = pair.mirror()
    t = np.array([-2.0, 0.3, 1.0])
    assert_allclose(other.p_miss(t), pair.p_fa(-t), atol=1e-12)
    assert_allclose([other.eer, other.cllr, other.auc], [pair.eer, pair.cllr, pair.auc], rtol=1e-9)
    assert_allclose(other.eer_threshold, -pair.eer_threshold, atol=1e-9)
    assert_allclose(other.det_slope() * pair.det_slope(), 1.0, rtol=1e-4)
    assert_allclose(other.mirror().p_fa(t), pair.p_fa(t))


@every_pair
def test_infinite_thresholds_and_shapes(pair):
    assert pair.error_rates(-np.inf) == (0.0, 1.0)
    assert pair.error_rates(np.inf) == (1.0, 0.0)
    assert pair.target.pdf(np.inf) == 0.0
    assert isinstance(pair.p_miss(0.1), float)
    assert pair.p_fa(np.zeros((2, 3))).shape == (2, 3)
