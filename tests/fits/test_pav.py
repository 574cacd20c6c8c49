"""PAV maps: printed values, brute force, and what must hold for new scores."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pieces import Pieces, moved, reloaded, swapped
from scipy.optimize import isotonic_regression

import llrkit as lk
from llrkit.core.losses import LossSums

TOY = lk.Scores([-1.0, 0.5, 2.0, 3.0], [-3.0, -2.0, -1.0, 0.0, 1.0])
INF = math.inf


def gaussian(n_t=300, n_n=2000, seed=1, digits=None):
    rng = np.random.default_rng(seed)
    t, n = rng.normal(1, 1, n_t), rng.normal(-1, 1, n_n)
    return lk.Scores(t, n) if digits is None else lk.Scores(t.round(digits), n.round(digits))


def brute_llrs(scores, laplace):
    """PAV on sorted labels with pseudo-trials, the way BOSARIS' scripts do it, ties averaged first."""
    t, n = scores.target, scores.nontarget
    x = np.concatenate([t, n])
    y = np.concatenate([np.ones(len(t)), np.zeros(len(n))])
    offset = math.log(len(t) / len(n))
    far = np.abs(x).max() + 1.0
    if laplace == "pairs":
        x = np.concatenate([[-far - 1, -far], x, [far, far + 1]])
        y = np.concatenate([[1, 0], y, [1, 0]])
    elif laplace == "misleading":
        x, y = np.concatenate([[-far], x, [far]]), np.concatenate([[1], y, [0]])
        offset = math.log((len(t) + 1) / (len(n) + 1))
    inverse = np.unique(x, return_inverse=True)[1]
    weight = np.bincount(inverse)
    p = isotonic_regression(np.bincount(inverse, y) / weight, weights=weight).x[inverse]
    with np.errstate(divide="ignore"):
        llr = np.log(p) - np.log1p(-p) - offset
    core = llr if laplace == "none" else llr[2:-2] if laplace == "pairs" else llr[1:-1]
    return core[: len(t)], core[len(t) :]


def test_toy_values_against_bosaris():
    plain, pairs = lk.fit_pav(TOY, laplace="none"), lk.fit_pav(TOY, laplace="pairs")
    assert_allclose(plain(TOY.target), [-0.4700036, 0.2231436, INF, INF], atol=2e-6)
    assert_allclose(plain(TOY.nontarget), [-INF, -INF, -0.4700036, -0.4700036, 0.2231436], atol=2e-6)
    assert_allclose(pairs(TOY.target), [-0.4700036, 0.2231436, 1.3217558, 1.3217558], atol=2e-6)
    assert_allclose(
        pairs(TOY.nontarget), [-0.8754687, -0.8754687, -0.4700036, -0.4700036, 0.2231436], atol=2e-6
    )


@pytest.mark.parametrize("n_t", [1, 3, 40])
@pytest.mark.parametrize("n_n", [1, 7])
def test_laplace_extremes_of_separable_data_against_theory(n_t, n_n):
    scores = lk.Scores(np.arange(n_t) + 10.0, -np.arange(n_n))
    pairs, misleading = lk.fit_pav(scores, laplace="pairs"), lk.fit_pav(scores, laplace="misleading")
    assert_allclose(pairs(10.0), math.log(n_n * (n_t + 1) / n_t), atol=2e-6)
    assert_allclose(pairs(0.0), -math.log(n_t * (n_n + 1) / n_n), atol=2e-6)
    assert_allclose(misleading(10.0), math.log((n_n + 1) * n_t / (n_t + 1)), atol=2e-6)
    assert_allclose(misleading(0.0), -math.log((n_t + 1) * n_n / (n_n + 1)), atol=2e-6)


@pytest.mark.parametrize("laplace", ["none", "pairs", "misleading"])
@pytest.mark.parametrize("digits", [None, 1, 0])
def test_training_scores_against_brute_force(laplace, digits):
    scores = gaussian(digits=digits)
    fitted = lk.fit_pav(scores, laplace=laplace)
    target, nontarget = brute_llrs(scores, laplace)
    assert_allclose(fitted(scores.target), target, atol=1.001e-6)
    assert_allclose(fitted(scores.nontarget), nontarget, atol=1.001e-6)


def test_reverse_ends_with_laplace():
    # the lowest score is a target and the highest a non-target: the added trials stand alone there
    scores = lk.Scores([-5.0, 3.0, 4.0, 6.0], [-3.0, -2.0, -1.0, 7.0])
    for laplace in ("pairs", "misleading"):
        fitted = lk.fit_pav(scores, laplace=laplace)
        assert_allclose(fitted(scores.target), brute_llrs(scores, laplace)[0], atol=1.001e-6)


def test_min_cllr_of_bob_nonsep(shared):
    folder = shared / "data" / "bob_testdata" / "bob.measure"
    scores = lk.Scores(
        np.loadtxt(folder / "nonsep-positives.txt"), np.loadtxt(folder / "nonsep-negatives.txt")
    )
    fitted = lk.fit_pav(scores, laplace="none", tilt=0)
    sums = fitted.on(scores).reduce(LossSums.of)
    cllr = (sums.target_loss[0] / 50 + sums.nontarget_loss[0] / 50) / 2 / math.log(2)
    assert_allclose(cllr, 0.4030620, atol=5e-8)


@pytest.mark.parametrize(
    ("name", "min_cllr"), [("evalita09_ru", 0.271322920768182), ("spkr_shift_psr.trn", 0.0494709540153141)]
)
def test_min_cllr_against_bosaris(reference_set, name, min_cllr):
    scores = reference_set(name)
    sums = lk.fit_pav(scores, laplace="none").on(scores).reduce(LossSums.of)
    cllr = (sums.target_loss[0] / sums.n_target + sums.nontarget_loss[0] / sums.n_nontarget) / 2 / math.log(2)
    assert_allclose(cllr, min_cllr, atol=5e-8)  # BOSARIS adds up to 1e-6 to its LLRs


@pytest.mark.parametrize("laplace", ["none", "pairs", "misleading"])
def test_new_scores_get_strictly_increasing_llrs(laplace):
    scores = gaussian()
    fitted = lk.fit_pav(scores, laplace=laplace)
    new = np.linspace(fitted.x[0], fitted.x[-1], 100_003)[1:-1]
    llrs = fitted(new)
    assert np.all(np.diff(llrs) > 0)
    assert_allclose(fitted.inverse(llrs), new, atol=1e-6)
    # between two blocks the LLR is on the straight line between their edges
    low, high = fitted.x[10:12], fitted.y[10:12]
    assert_allclose(fitted(low.mean()), high.mean(), rtol=1e-12)


def test_policies_outside():
    scores = gaussian()
    low, high = min(scores.nontarget), max(scores.target.max(), scores.nontarget.max())
    far = np.array([low - 9, low - 1, high + 1, high + 9])
    clip = lk.fit_pav(scores, laplace="pairs")(far)
    assert clip[0] == clip[1]
    assert clip[2] == clip[3]
    tilted = lk.fit_pav(scores, laplace="pairs", outside="tilt")
    assert np.all(np.diff(tilted(far)) > 0)
    assert_allclose(tilted(far), clip, atol=1e-6)
    assert_allclose(tilted([-INF, INF]), clip[[0, 3]], atol=1.001e-6)
    refusing = lk.fit_pav(scores, laplace="none", outside="refuse")
    assert refusing(low) == -INF
    with pytest.raises(lk.InputError, match="index 1 is outside the training range"):
        refusing([low, low - 1])


def test_policies_for_pure_ends():
    nearest = lk.fit_pav(TOY, laplace="none", ends="nearest")
    assert_allclose(
        nearest([-3.0, -2.0, 2.0, 3.0]), [-0.4700036, -0.4700036, 0.2231436, 0.2231436], atol=3e-6
    )
    infinite = lk.fit_pav(TOY, laplace="none")
    assert_allclose(
        infinite([-9.0, -2.0, -1.9, 1.9, 2.0, 9.0]), [-INF, -INF, -0.47, 0.2231, INF, INF], atol=1e-4
    )
    separable = lk.Scores([2.0, 3.0], [0.0, 1.0])
    assert_allclose(lk.fit_pav(separable, laplace="none")([1.0, 1.5, 2.0]), [-INF, 0.0, INF], atol=1e-6)
    with pytest.raises(lk.errors.SeparationError, match="laplace"):
        lk.fit_pav(separable, laplace="none", ends="nearest")


def test_plateaus_without_tilt_have_no_inverse():
    flat = lk.fit_pav(TOY, laplace="pairs", tilt=0)
    assert flat(-3.0) == flat(-2.0)
    with pytest.raises(lk.errors.NotInvertibleError):
        _ = flat.inverse


def test_thinning_states_its_error():
    scores = gaussian(20_000, 60_000)
    full, thinned = (lk.fit_pav(scores, laplace="none", **more) for more in ({}, {"max_knots": 20}))
    assert full.details["thinning_error"] == 0.0
    assert len(thinned.x) <= 20 < len(full.x) <= 4096
    new = np.linspace(full.x[0], full.x[-1], 50_001)[1:-1]
    found = np.abs(full(np.union1d(new, full.x[1:-1])) - thinned(np.union1d(new, full.x[1:-1]))).max()
    assert_allclose(thinned.details["thinning_error"], found, rtol=1e-9)
    assert 0.001 < found < 1.0
    assert np.all(np.diff(thinned.y) > 0)


def test_population_against_theory():
    fitted = lk.fit_pav(gaussian(60_000, 60_000), laplace="misleading")
    x = np.linspace(-1.5, 1.5, 13)
    assert_allclose(fitted(x), 2 * x, atol=0.25)  # N(+-1, 1): the LLR is 2 x


@pytest.mark.parametrize("laplace", ["none", "pairs", "misleading"])
def test_equivariance_chunks_and_files(laplace):
    scores = gaussian(digits=2)
    fitted = lk.fit_pav(scores, laplace=laplace)
    new = np.linspace(-6, 6, 1001)
    c, f = 0.25, 8.0  # exact in binary
    assert_allclose(lk.fit_pav(moved(scores, c, f), laplace=laplace)(c * new + f), fitted(new), atol=1e-12)
    assert_allclose(-lk.fit_pav(swapped(scores), laplace=laplace)(-new), fitted(new), atol=1e-12)
    pieces = Pieces(scores)
    assert_array_equal(lk.fit_pav(pieces, laplace=laplace)(new), fitted(new))
    assert len(pieces.passes) == 2 == fitted.details["passes"]
    again = reloaded(fitted)
    assert_array_equal(again(new), fitted(new))
    assert_array_equal(again.inverse(new), fitted.inverse(new))
    assert_array_equal(lk.maps.AffineMap(a=2.0, b=0.0).then(again)(new / 2), fitted(new))
    with pytest.raises(ValueError, match="read-only"):
        fitted.x[0] = 0.0


def test_bad_input():
    with pytest.warns(lk.errors.ReversedScoresWarning):
        assert_allclose(lk.fit_pav(lk.Scores([0.0, 1.0], [2.0, 3.0]))([-1.0, 1.0, 4.0]), 0.0, atol=1e-6)
    names = [{name: "sometimes"} for name in ("laplace", "ends", "outside")]
    for options in (*names, {"tilt": -1.0}, {"tilt": 1.0}, {"max_knots": 3}):
        with pytest.raises(lk.LlrkitError):
            lk.fit_pav(TOY, **options)
