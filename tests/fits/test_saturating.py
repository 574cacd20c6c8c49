"""Saturating calibration: its limits, scipy's optimum, and what must hold."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pieces import reloaded
from scipy.optimize import minimize

import llrkit as lk
from llrkit.fits.saturating import SaturatingMap


def mislabeled(n=6000, share=0.02, seed=4):
    """LLRs of the Gaussian pair of d' = 3, with some trials of each class under the wrong label."""
    rng = np.random.default_rng(seed)
    t, n_ = rng.normal(4.5, 3, n), rng.normal(-4.5, 3, 2 * n)
    k = int(share * n)
    t[:k], n_[: 2 * k] = rng.normal(-4.5, 3, k), rng.normal(4.5, 3, 2 * k)
    return lk.Scores(t, n_)


def by_definition(x, r, s):
    ex = np.exp(x)
    return np.log(ex + np.exp(r)) + np.log(1 + np.exp(-s)) - np.log(ex + np.exp(-s)) - np.log(1 + np.exp(r))


def cross_entropy(p, scores, prior):
    a, b, r, s = p
    theta = math.log(prior / (1 - prior))
    if r + s >= 0:
        return np.inf
    t = by_definition(a * scores.target + b, r, s) + theta
    n = by_definition(a * scores.nontarget + b, r, s) + theta
    return prior * np.logaddexp(0, -t).mean() + (1 - prior) * np.logaddexp(0, n).mean()


@pytest.mark.parametrize(("r", "s"), [(-4.0, -6.0), (-1.0, -0.5), (0.5, -3.0), (-25.0, -2.0)])
def test_the_function_against_its_definition(r, s):
    fitted = SaturatingMap(a=1.0, b=0.0, r=r, s=s)
    x = np.linspace(-30, 30, 601)
    assert_allclose(fitted(x), by_definition(x, r, s), atol=1e-12)
    assert fitted(0.0) == pytest.approx(0.0, abs=1e-15)
    inner = np.linspace(r - 5, 5 - s, 601)
    assert np.all(np.diff(fitted(inner)) > 0)
    low = math.log(math.exp(r) * (1 + math.exp(s)) / (1 + math.exp(r)))
    high = math.log((1 + math.exp(-s)) / (1 + math.exp(r)))
    assert_allclose(fitted.limits, [low, high], rtol=1e-12)
    assert_allclose(fitted([-math.inf, -1e9, 1e9, math.inf]), [low, low, high, high], rtol=1e-12)
    middle = np.linspace(max(r, -9) + 1, min(-s, 9) - 1, 50)
    assert_allclose(fitted.inverse(fitted(middle)), middle, atol=1e-9)
    assert_allclose(fitted.inverse([low - 1e-9, high + 1e-9]), [-math.inf, math.inf])
    assert_allclose(fitted.inverse.inverse(middle), fitted(middle))
    assert_array_equal(reloaded(fitted.inverse)(middle), fitted.inverse(middle))


def test_identity_in_the_limit():
    x = np.linspace(-9, 9, 19)
    assert_allclose(SaturatingMap(a=1.0, b=0.0, r=-40.0, s=-40.0)(x), x, atol=1e-12)
    straight = SaturatingMap(a=1.0, b=0.0, r=-math.inf, s=-math.inf)
    assert_array_equal(straight([-math.inf, -2.0, 2.0, math.inf]), [-math.inf, -2.0, 2.0, math.inf])
    assert_allclose(straight.inverse(x), x)
    with pytest.raises(lk.errors.NotInvertibleError):
        _ = SaturatingMap(a=0.0, b=0.0, r=-1.0, s=-1.0).inverse


@pytest.mark.parametrize("prior", [0.5, pytest.param(0.1, marks=pytest.mark.slow)])
def test_optimum_against_scipy(prior):
    scores = mislabeled()
    fitted = lk.fits.fit_saturating(scores, prior=prior)
    p = np.array([fitted.a, fitted.b, fitted.r, fitted.s])
    start = [1.2, 0.1, -3.0, -3.0]
    rest = {"xatol": 1e-10, "fatol": 1e-15, "maxiter": 20_000, "maxfev": 20_000}
    best = minimize(cross_entropy, start, (scores, prior), method="Nelder-Mead", options=rest)
    assert cross_entropy(p, scores, prior) <= best.fun + 1e-12
    assert_allclose(p, best.x, atol=2e-5)
    entropy = -prior * math.log(prior) - (1 - prior) * math.log(1 - prior)
    assert_allclose(fitted.details["cross_entropy"], best.fun / entropy, rtol=1e-9)


def test_population_against_theory():
    # 2 % wrong labels on each side: LR = (.98 e + .02 d) / (.98 d + .02 e), limits +-log 49
    fitted = lk.fits.fit_saturating(mislabeled(60_000))
    assert_allclose(fitted.limits, [-math.log(49), math.log(49)], atol=0.15)
    x = np.linspace(-6, 6, 13)
    true = np.log(0.98 * np.exp(x) + 0.02) - np.log(0.98 + 0.02 * np.exp(x))
    assert_allclose(fitted(x), true, atol=0.15)


def test_clean_scores_give_the_straight_line():
    rng = np.random.default_rng(0)
    fitted = lk.fits.fit_saturating(lk.Scores(rng.normal(2, 2, 50_000), rng.normal(-2, 2, 50_000)))
    x = np.linspace(-5, 5, 11)
    assert_allclose(fitted(x), x, atol=0.2)
    assert fitted.details["converged"]


def test_one_wild_outlier_does_not_spoil_it():
    scores = mislabeled()
    wild = lk.Scores(np.append(scores.target, 1e6), np.append(scores.nontarget, 1e6))
    fitted, with_wild = lk.fits.fit_saturating(scores), lk.fits.fit_saturating(wild)
    x = np.linspace(-9, 9, 19)
    assert_allclose(with_wild(x), fitted(x), atol=0.1)
    p = np.array([with_wild.a, with_wild.b, with_wild.r, with_wild.s])
    clean = np.array([fitted.a, fitted.b, fitted.r, fitted.s])
    with np.errstate(over="ignore", invalid="ignore"):
        kept = lk.Scores(scores.target, scores.nontarget)
        assert abs(cross_entropy(p, kept, 0.5) - cross_entropy(clean, kept, 0.5)) < 1e-3


def test_bad_input():
    with pytest.raises(lk.errors.SeparationError):
        lk.fits.fit_saturating(lk.Scores([2.0, 3.0], [0.0, 1.0]))
    with pytest.raises(lk.errors.TooFewTrialsError):
        lk.fits.fit_saturating(lk.Scores([1.0], [0.0, 2.0]))
    for options in ({"prior": 0.0}, {"max_passes": 0}):
        with pytest.raises(lk.InputError):
            lk.fits.fit_saturating(mislabeled(300), **options)


def test_reversed_scores_give_a_falling_map():
    scores = mislabeled(500)
    turned = lk.Scores(-scores.target, -scores.nontarget)
    with pytest.warns(lk.errors.ReversedScoresWarning):
        falling = lk.fits.fit_saturating(turned)
    x = np.linspace(-9, 9, 19)
    assert_allclose(falling(-x), lk.fits.fit_saturating(scores)(x), atol=1e-6)


def test_a_step_is_said_to_be_one():
    scores = lk.Scores([-1.0, 2.0, 2.5, 3.0] * 5, [-3.0, -2.0, -1.5, 0.0, 4.0] * 5)
    with pytest.warns(lk.errors.ShapeWarning):
        lk.fits.fit_saturating(scores)
    clean = mislabeled()
    heavy = lk.Scores(np.sinh(clean.target), np.sinh(clean.nontarget))
    with pytest.warns(lk.errors.ShapeWarning):
        fitted = lk.fits.fit_saturating(heavy, max_passes=2)
    assert not fitted.details["converged"]
