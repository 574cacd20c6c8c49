"""fit_mixture(components="grid"): the nonparametric maximum-likelihood estimate of w(mu)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

import llrkit as lk
from llrkit.fits.mixtures import MixingCurve, best_weights

PAIR = lk.theory.MixtureLLR([0.4, 0.6], [1.0, 9.0])


@pytest.fixture(scope="module")
def scores():
    return lk.Scores(*(2 * x - 3 for x in PAIR.rvs(2000, 4000, np.random.default_rng(1))))


@pytest.fixture(scope="module")
def fitted(scores):
    return lk.fits.fit_mixture(scores, components="grid", alpha=0.4)


def log_likelihoods(fitted, scores, mu):
    """Of each trial under each mu, and what each trial weighs; from the definition."""
    rows, weights = [], []
    for values, sign, share in ((scores.target, 1, 0.4), (scores.nontarget, -1, 0.6)):
        llr = fitted.a * values + fitted.b
        rows.append([norm.logpdf(llr, sign * m, np.sqrt(2 * m)) for m in mu])
        weights.append(np.full(len(values), share / len(values)))
    return np.concatenate(rows, axis=1), np.concatenate(weights)


@pytest.mark.slow
def test_weights_against_em_for_the_same_map(fitted, scores):
    mu = np.array(fitted.details["mu"])
    logs, w = log_likelihoods(fitted, scores, mu)
    likelihood = np.exp(logs - logs.max(0))
    shares = np.full(len(mu), 1 / len(mu))
    for _ in range(400):  # EM rises slowly, and never above the maximum
        joint = likelihood * shares[:, None]
        shares = (w * joint / joint.sum(0)).sum(1)
    by_em = float(w @ np.log((np.exp(logs) * shares[:, None]).sum(0))) + np.log(fitted.a)
    assert by_em < fitted.details["log_likelihood"] + 1e-6
    assert_allclose(by_em, fitted.details["log_likelihood"], atol=1e-3)
    # Lindsay's condition: no component would gain
    found = np.array(fitted.details["weights"])
    slopes = (w * np.exp(logs) / (np.exp(logs) * found[:, None]).sum(0)).sum(1)
    assert slopes.max() < 1.0 + 1e-3
    assert fitted.details["promised_gain"] < 1e-9


def test_it_finds_what_the_trials_are_made_of(fitted, scores):
    curve = lk.fits.mixing_curve(fitted)
    assert_allclose(fitted.a, 0.5, rtol=0.1)
    assert_allclose(curve.weights[curve.mu < 3].sum(), 0.4, atol=0.06)
    assert_allclose(curve.mean_eer, PAIR.eer, atol=0.012)
    assert_allclose(fitted.details["eer"], curve.mean_eer, rtol=1e-12)
    two = lk.fits.fit_mixture(scores, components=2, alpha=0.4)
    assert fitted.details["log_likelihood"] > two.details["log_likelihood"] - 2e-5  # a grid is not everything


def test_one_gaussian_pair_gives_weight_around_its_mu():
    pair = lk.theory.GaussianLLR.from_eer(0.05)
    found = lk.fits.fit_mixture(lk.Scores(*pair.rvs(3000, 9000, np.random.default_rng(2))), components="grid")
    curve = lk.fits.mixing_curve(found)
    near = np.abs(np.log(curve.mu / pair.mu)) < 0.5
    assert curve.weights[near].sum() > 0.9


def test_a_point_mass_is_a_share_that_says_nothing():
    rng = np.random.default_rng(3)
    t, n = PAIR.rvs(1500, 3000, rng)
    t[:300], n[:600] = 0.25, 0.25
    found = lk.fits.fit_mixture(lk.Scores(t, n), components="grid", point_mass=0.25)
    curve = lk.fits.mixing_curve(found)
    assert found(0.25) == 0.0
    assert curve.mu[0] == 0.0
    assert_allclose(curve.weights[0], 0.2, rtol=1e-9)


def test_the_convex_program_against_a_case_with_a_known_answer():
    # two components that see disjoint points: the weights are the shares of the points
    found = best_weights(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([0.2, 0.3, 0.5]))
    assert_allclose(found.x, [0.5, 0.5], atol=1e-6)
    assert found.converged


def test_saved_and_refused(fitted, tmp_path):
    fitted.save(tmp_path / "cal.json")
    again = lk.fits.mixing_curve(lk.load_map(tmp_path / "cal.json"))
    assert_allclose(again.weights, fitted.details["weights"], rtol=0)
    with pytest.raises(lk.InputError):
        lk.fits.mixing_curve(lk.maps.AffineMap(a=1.0, b=0.0, method="cmlg"))
    with pytest.raises(lk.InputError):
        lk.fits.fit_mixture(lk.Scores([1.0, 2.0], [0.0, 1.5]), components="mesh")


@pytest.mark.parametrize(
    ("mu", "weights"), [([2.0, 1.0], [0.5, 0.5]), ([1.0], [0.5]), ([1.0, 2.0], [1.0]), ([], [])]
)
def test_a_curve_that_is_none_is_refused(mu, weights):
    with pytest.raises(lk.InputError):
        MixingCurve(mu, weights)
