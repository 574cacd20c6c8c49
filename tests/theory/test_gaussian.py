import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from llrkit.errors import InputError, LlrkitError, UnconfirmedPresetError
from llrkit.theory import (
    GaussianLLR,
    OperatingPoint,
    cllr_from_eer,
    cllr_from_sigma,
    eer_from_cllr,
    information_from_sigma,
    sigma_from_cllr,
    sigma_from_cllr_approx,
)


def mp_cllr(sigma):
    s = mp.mpf(sigma)
    edges = sorted({-30, *range(-12, 13, 2), 30, mp.mpf(-s / 2)})
    loss = mp.quad(lambda z: mp.npdf(z) * mp.log1p(mp.exp(-(s * s / 2 + s * z))), edges)
    return loss / mp.log(2)


@pytest.mark.parametrize(
    "sigma",
    [
        1e-3,
        2.0,
        4.01,
        *(pytest.param(sigma, marks=pytest.mark.slow) for sigma in (0.05, 0.5, 3.99, 7.5, 12.0)),
    ],
)
def test_cllr_and_information_against_mpmath(sigma):
    with mp.workdps(40):
        exact = mp_cllr(sigma)
        assert abs(mp.mpf(cllr_from_sigma(sigma)) / exact - 1) < 2e-15
        assert abs(mp.mpf(information_from_sigma(sigma)) / (1 - exact) - 1) < 2e-14


def test_eer_cllr_eer_round_trip():
    eer = np.concatenate((np.geomspace(1e-4, 0.49, 200), np.linspace(0.4, 0.49, 50)))
    back = eer_from_cllr(cllr_from_eer(eer))
    assert np.max(np.abs(back - eer)) < 1e-12
    assert np.max(np.abs(back / eer - 1.0)) < 1e-12


@pytest.mark.parametrize("cllr", [1e-300, 1e-30, 1e-6, 0.3, 0.5, 0.9, 1 - 1e-9, 1 - 2**-50])
def test_inverse_reaches_extremes(cllr):
    sigma = sigma_from_cllr(cllr)
    if cllr < 0.5:
        assert_allclose(cllr_from_sigma(sigma), cllr, rtol=1e-12)
    else:
        assert_allclose(information_from_sigma(sigma), 1.0 - cllr, rtol=1e-13)


def test_starting_value_is_as_good_as_claimed():
    eer = np.linspace(0.001, 0.45, 200)
    cllr = cllr_from_eer(eer)
    assert np.max(np.abs(cllr_from_sigma(sigma_from_cllr_approx(cllr)) - cllr)) < 1e-3


def test_ratio_of_cllr_to_eer_against_printed_values():
    eer = np.array([0.001, 0.01, 0.05, 0.10, 0.30])
    assert_allclose(cllr_from_eer(eer) / eer, [4.13, 3.95, 3.67, 3.46, 2.75], atol=0.005)


def test_large_sigma_limit():
    # Cllr <= sqrt(2 pi) e^{-sigma^2/8} / (sigma ln 2), tight as sigma grows, hence Cllr/EER -> pi/ln 2
    sigma = np.array([2.0, 10.0, 30.0, 60.0])
    bound = np.sqrt(2 * np.pi) * np.exp(-(sigma**2) / 8) / (sigma * np.log(2))
    ratio = cllr_from_sigma(sigma) / bound
    assert np.all(ratio < 1.0)
    assert ratio[-1] > 0.996
    wide = GaussianLLR(60.0)
    assert_allclose(wide.cllr / wide.eer, np.pi / np.log(2), rtol=5e-3)


def test_small_sigma_series():
    sigma = np.array([1e-4, 1e-2, 0.05])
    series = (sigma**2 / 8 - sigma**4 / 64) / np.log(2)
    assert_allclose(information_from_sigma(sigma), series, rtol=1e-6)
    assert_allclose(information_from_sigma(1e-4), series[0], rtol=1e-13)


def test_constructors_agree():
    pair = GaussianLLR.from_eer(0.07)
    for other in (
        GaussianLLR.from_mu(pair.mu),
        GaussianLLR.from_sigma(pair.sigma),
        GaussianLLR.from_d_prime(pair.d_prime),
        GaussianLLR.from_cllr(pair.cllr),
    ):
        assert_allclose(other.sigma, pair.sigma, rtol=1e-14)
    assert_allclose(pair.eer, 0.07, rtol=1e-14)
    assert_allclose(pair.sigma**2, 2 * pair.mu, rtol=1e-15)
    assert pair.eer_threshold == 0.0


def test_det_line_holds_at_every_threshold_against_mpmath():
    pair = GaussianLLR(3.0)
    line = pair.det_line()

    def probit(p):
        return mp.sqrt(2) * mp.erfinv(2 * mp.mpf(p) - 1)

    for t in (-3.0, 0.0, 1.5):
        miss, fa = pair.error_rates(t)
        assert abs(probit(miss) - (line.slope * probit(fa) + line.intercept)) < 1e-12
    assert line == (-1.0, -3.0)


def test_no_threshold_beats_the_bayes_threshold():
    pair = GaussianLLR.from_eer(0.08)
    assert_allclose(pair.bayes_error(0.0), 0.08, rtol=1e-14)  # at even odds it is the EER
    t = np.linspace(-10, 10, 4001)
    for point in (OperatingPoint(0.01), OperatingPoint(0.3, 2, 1), OperatingPoint(0.9)):
        costs = point.cost(*pair.error_rates(t))
        assert pair.act_dcf(point) == pair.min_dcf(point)
        assert pair.min_dcf(point) <= np.min(costs) + 1e-15
        assert np.min(costs) - pair.min_dcf(point) < 1e-5


def test_means_are_divergences_by_monte_carlo():
    pair = GaussianLLR(1.5)
    target, nontarget = pair.rvs(200_000, 200_000, rng=1)
    assert_allclose([target.mean(), -nontarget.mean()], pair.mu, atol=0.02)
    assert_allclose([target.std(), nontarget.std()], pair.sigma, atol=0.02)


@pytest.mark.parametrize(
    "call",
    [
        lambda: GaussianLLR.from_eer(0.5),
        lambda: GaussianLLR.from_eer(0.0),
        lambda: GaussianLLR.from_mu(-1.0),
        lambda: GaussianLLR.from_sigma(float("inf")),
        lambda: GaussianLLR.from_d_prime("wide"),
        lambda: GaussianLLR.from_cllr(1.0),
        lambda: GaussianLLR.from_cllr(0.0),
        lambda: cllr_from_eer(0.6),
        lambda: eer_from_cllr(1.2),
        lambda: cllr_from_sigma(-1.0),
        lambda: GaussianLLR(1.0).min_dcf("sre12"),
        lambda: GaussianLLR(1.0).p_miss(float("nan")),
    ],
)
def test_wrong_input_is_refused(call):
    with pytest.raises(InputError):
        call()


def test_unconfirmed_presets_must_be_asked_for():
    pair = GaussianLLR(2.0)
    with pytest.raises(UnconfirmedPresetError):
        pair.c_primary("sre24")
    assert pair.c_primary("sre24", allow_unconfirmed=True) == pair.c_primary("sre21")
    with pytest.raises(LlrkitError):
        pair.min_dcf("no such preset")
