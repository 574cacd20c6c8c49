import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from llrkit.errors import InputError
from llrkit.theory import GammaLLR, cllr_from_eer

TABLE = [
    (0.3, 0.217416, 0.3242, 0.641700),
    (1.0, 0.317844, 0.1364, 0.846547),
    (2.5, 0.378542, 0.0613, 0.931983),
    (7.0, 0.425639, 0.0231, 0.974727),
]


@pytest.mark.parametrize(("shape", "eer", "threshold", "cllr"), TABLE)
def test_values_against_table(shape, eer, threshold, cllr):
    for pair, sign in ((GammaLLR(shape), 1.0), (GammaLLR(shape).mirror(), -1.0)):
        assert abs(pair.eer - eer) <= 0.5e-6
        assert abs(pair.eer_threshold - sign * threshold) <= 0.5e-4
        assert abs(pair.cllr - cllr) <= 0.5e-6
    # 1/r is gamma distributed given target
    x = np.array([-1.0, 0.2, 1.1])
    assert_allclose(pair.target.cdf(x), stats.gamma(shape, scale=1 / shape).sf(np.exp(-x)), rtol=1e-12)


def test_small_shape_and_the_gaussian_relation_is_no_bound():
    assert abs(GammaLLR(0.02).eer - 0.048) < 5e-4
    pair = GammaLLR(0.3)
    assert abs(cllr_from_eer(pair.eer) - 0.6601) < 5e-5
    assert pair.cllr < cllr_from_eer(pair.eer)


@pytest.mark.parametrize("shape", [0.02, 0.3, 2.5])
def test_distribution_against_mpmath(shape):
    pair = GammaLLR(shape)
    for x in (-900.0, -45.0, -3.0, 0.5, 2.0):
        r = shape * mp.exp(x)
        below = mp.gammainc(shape, 0, r, regularized=True)
        assert_allclose(pair.nontarget.cdf(x), float(below), rtol=1e-11)
        assert_allclose(pair.p_fa(x), float(1 - below), rtol=1e-9, atol=1e-14)
    assert_allclose(pair.target.mean(), float(mp.digamma(shape + 1) - mp.log(shape)), rtol=1e-13)
    assert_allclose(pair.nontarget.mean(), float(mp.digamma(shape) - mp.log(shape)), rtol=1e-13)


def test_small_shapes_neither_underflow_nor_overflow():
    pair = GammaLLR(0.01)
    sample = pair.nontarget.rvs(2000, rng=3)
    assert np.all(np.isfinite(sample))
    assert stats.kstest(sample, pair.nontarget.cdf).pvalue > 1e-3
    assert pair.nontarget.pdf(800.0) == 0.0
    assert_allclose(pair.nontarget.cdf(pair.nontarget.ppf(1e-8)), 1e-8, rtol=1e-9)


def test_wrong_shape_is_refused():
    for shape in (0.0, -1.0, float("nan"), "x"):
        with pytest.raises(InputError):
            GammaLLR(shape)
