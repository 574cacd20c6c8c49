import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from llrkit.errors import InputError
from llrkit.theory import PLDALLR, GaussianLLR, HyperbolicLLR


def model_llrs(rho, n, seed, *, same):
    """LLRs from pairs of embeddings: bivariate normals of correlation rho against independent ones."""
    rng = np.random.default_rng(seed)
    llr = np.zeros(n)
    for r in rho:
        first = rng.standard_normal(n)
        second = rng.standard_normal(n)
        if same:
            second = r * first + np.sqrt(1 - r**2) * second
        joint = (first**2 - 2 * r * first * second + second**2) / (1 - r**2)
        llr += -0.5 * np.log(1 - r**2) - 0.5 * joint + 0.5 * (first**2 + second**2)
    return llr


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize("rho", [(0.4,) * 20, slow((0.1, 0.3, 0.3, 0.6, 0.8)), slow((0.5,))])
def test_distribution_against_scores_of_the_model(rho):
    pair = PLDALLR(rho)
    for same, distribution in ((True, pair.target), (False, pair.nontarget)):
        scores = model_llrs(rho, 3000, 11, same=same)
        assert stats.kstest(scores, distribution.cdf).pvalue > 1e-3
        assert_allclose(
            scores.mean(), distribution.mean(), atol=5 * distribution.std() / np.sqrt(scores.size)
        )


def test_moments_against_printed_formulas():
    rho, dim = 0.4, 20
    pair = PLDALLR.isotropic(rho, dim)
    assert_allclose(pair.target.mean(), -dim / 2 * np.log(1 - rho**2), rtol=1e-14)
    assert_allclose(pair.target.var(), dim * rho**2, rtol=1e-14)
    assert_allclose(pair.nontarget.var() / pair.target.var(), (1 + rho**2) / (1 - rho**2) ** 2, rtol=1e-13)
    assert pair.nontarget.cumulant(3) < 0.0
    assert_allclose(pair.target.cumulant(3), 0.0, atol=1e-15)


def test_moments_by_monte_carlo():
    pair = PLDALLR((0.2, 0.5, 0.7))
    _, nontarget = pair.rvs(1, 400_000, rng=5)
    assert_allclose(nontarget.var(), pair.nontarget.var(), rtol=0.03)
    third = np.mean((nontarget - nontarget.mean()) ** 3)
    assert_allclose(third, pair.nontarget.cumulant(3), rtol=0.1)


@pytest.mark.parametrize(("rho", "dim"), [(0.4, 20), (0.2, 100), slow(0.6, 2), slow(0.5, 1)])
def test_contour_inversion_against_variance_gamma(rho, dim):
    # with equal correlations both classes are variance-gamma, with another route to density and tails
    pair, closed = PLDALLR.isotropic(rho, dim), HyperbolicLLR(dim / 2, 1 / rho, -1.0, 0.0)
    assert_allclose(pair.offset, closed.location, rtol=1e-12)
    t = np.linspace(-30.0, 25.0, 23)
    assert_allclose(pair.target.pdf(t), closed.target.pdf(t), rtol=1e-10)
    assert_allclose(pair.nontarget.pdf(t), closed.nontarget.pdf(t), rtol=1e-10)
    assert_allclose(pair.p_miss(t), closed.p_miss(t), rtol=1e-10)
    assert_allclose(pair.p_fa(t), closed.p_fa(t), rtol=1e-10)
    assert_allclose([pair.eer, pair.cllr, pair.auc], [closed.eer, closed.cllr, closed.auc], rtol=1e-12)


@pytest.mark.slow
def test_characteristic_function_by_monte_carlo():
    pair = PLDALLR((0.2, 0.5, 0.7))
    t = np.array([0.3, 1.0])
    sample = pair.nontarget.rvs(400_000, rng=9)
    empirical = np.exp(1j * t[:, None] * sample).mean(axis=1)
    assert_allclose(pair.nontarget.characteristic_function(t), empirical, atol=0.006)


def test_det_slope_against_quoted_values():
    # quoted to two digits as -1.10 and -1.01, from simulations
    assert_allclose(PLDALLR.isotropic(0.4, 20).det_slope(), -1.10, atol=0.015)
    assert_allclose(PLDALLR.isotropic(0.2, 100).det_slope(), -1.01, atol=0.015)


def test_reference_model_against_quoted_values():
    pair = PLDALLR.isotropic(0.4, 20)
    assert_allclose([pair.cllr, pair.eer], [0.5412, 0.1706], atol=1e-4)


def test_many_dimensions_tend_to_the_gaussian_pair():
    gaussian = GaussianLLR(2.0)
    errors = []
    for dim in (100, 1000, 10_000):
        pair = PLDALLR.isotropic(2.0 / np.sqrt(dim), dim)
        assert_allclose(pair.limit_sigma, 2.0, rtol=1e-12)
        errors.append(abs(pair.cllr - gaussian.cllr) + abs(pair.eer - gaussian.eer))
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 3e-4


@pytest.mark.slow
def test_from_variances_and_distinct_against_grouped():
    pair = PLDALLR.from_variances([1.0, 2.0, 1.0], [1.0, 2.0, 1.0])
    assert pair.rho == (0.5, 0.5, 0.5)
    near = PLDALLR((0.5, 0.5 + 1e-9, 0.5 - 1e-9))
    assert_allclose(near.cllr, pair.cllr, rtol=1e-8)


@pytest.mark.parametrize(
    "call",
    [
        lambda: PLDALLR(()),
        lambda: PLDALLR((0.0, 0.5)),
        lambda: PLDALLR((1.0,)),
        lambda: PLDALLR(0.5),
        lambda: PLDALLR.isotropic(0.5, 0),
        lambda: PLDALLR.from_variances([1.0], [1.0, 2.0]),
        lambda: PLDALLR((0.5,)).target.cumulant(0),
    ],
)
def test_wrong_input_is_refused(call):
    with pytest.raises(InputError):
        call()
