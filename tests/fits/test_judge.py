"""How a fit is judged: what is said of it, what is left alone, and that any source shows the same."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pieces import Pieces
from scipy.optimize import minimize

import llrkit as lk
from llrkit.fits.folds import METHODS
from llrkit.fits.judge import OWN_SHAPES as OWN_SHAPES_OF_MAPS
from llrkit.fits.judge import judge_fit, keeping_sample, with_densities
from llrkit.fits.logistic import TOLERATED, TrainingSample

pytestmark = pytest.mark.filterwarnings("ignore::llrkit.errors.ScaleWarning")  # saturated() has probabilities


def saturated(n=400):
    """Probabilities of which three quarters of the targets, and some non-targets, are exactly 1."""
    rng = np.random.default_rng(4)
    target = np.append(np.ones(3 * n), rng.uniform(0.0, 1.0, n))
    return lk.Scores(target, np.append(np.ones(n // 2), rng.uniform(0.0, 1.0, 4 * n) ** 3))


def gaussian(n_target=300, n_nontarget=900, seed=1):
    rng = np.random.default_rng(seed)
    return lk.Scores(rng.normal(2.0, 1.0, n_target), rng.normal(0.0, 1.0, n_nontarget))


def logistic_cllr_by_brute_force(scores, prior=0.5):
    odds = np.log(prior / (1 - prior))
    entropy = -prior * np.log(prior) - (1 - prior) * np.log(1 - prior)

    def loss(x):
        target = np.logaddexp(0, -(x[0] * scores.target + x[1] + odds)).mean()
        nontarget = np.logaddexp(0, x[0] * scores.nontarget + x[1] + odds).mean()
        return (prior * target + (1 - prior) * nontarget) / entropy

    return minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12}).fun


def warnings_of(method, source, **options):
    """The warnings of poor fits that a calibration gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lk.calibrate(source, method=method, bound="none", **options)
    return [one for one in caught if issubclass(one.category, lk.errors.PoorFitWarning)]


def test_a_map_worse_than_a_constant_is_warned_of_where_it_was_asked_for():
    with pytest.warns(lk.errors.PoorFitWarning) as caught:
        fitted = lk.calibrate(saturated(), method="nig", bound="none").map
    assert lk.cllr(fitted.on(saturated())) > 1.0
    assert caught[0].filename == __file__


def test_a_map_clearly_worse_than_logistic_regression_is_warned_of():
    scores = saturated()
    line = logistic_cllr_by_brute_force(scores)
    with pytest.warns(lk.errors.PoorFitWarning, match=f"logistic regression one of {line:.4g}"):
        fitted = lk.calibrate(scores, method="tied-nig", bound="none").map
    assert lk.cllr(fitted.on(scores)) > line + 0.05


@pytest.mark.slow
def test_no_fit_of_scores_that_suit_it_is_warned_of():
    for method in ("pav", "kde", "logistic", "saturating"):
        assert warnings_of(method, saturated()) == [], method
    for n in (30, 1_000):
        scores = gaussian(n, 3 * n, seed=n)
        for method in ("cmlg", "gaussian", "tied-nig", "nig", "kde", "bigaussian", "pav", "saturating"):
            assert warnings_of(method, scores) == [], (method, n)


def test_just_below_and_just_above_the_limit():
    scores = gaussian()
    line, fitted = logistic_cllr_by_brute_force(scores), lk.fit_logistic(scores)

    def off(shift):
        moved = lk.maps.AffineMap(a=fitted.a, b=fitted.b + shift, method="moved")
        return lk.cllr(moved.on(scores)) - line, judge_fit(moved, scores)

    shifts = np.linspace(0.0, 1.2, 25)
    found = [off(shift) for shift in shifts]
    assert {lost > TOLERATED for lost, _ in found} == {True, False}
    for lost, problem in found:
        assert bool(problem) == (lost > TOLERATED)


def test_the_loss_is_that_of_the_prior_the_fit_was_made_for():
    scores = gaussian()
    fitted = lk.fit_logistic(scores, prior=0.01)
    sample = TrainingSample.of(scores)
    assert_allclose(
        sample.loss(lambda s: fitted(s), 0.01),
        lk.metrics.cross_entropy(fitted.on(scores), prior=0.01),
        rtol=1e-12,
    )
    assert_allclose(sample.logistic_loss(0.01), logistic_cllr_by_brute_force(scores, 0.01), rtol=1e-6)


def test_pieces_are_judged_like_the_whole_and_without_a_pass_more():
    scores = saturated()
    said, passes = [], []
    for source in (scores, Pieces(scores, pieces=5, seed=3)):
        kept = keeping_sample(source)
        fitted = lk.fits.fit_tied_nig(kept)
        said.append((judge_fit(fitted, kept), with_densities(fitted, kept).densities))
        passes.append(len(getattr(source, "passes", [])))
    assert said[0] == said[1]
    assert said[0][0]
    assert passes[1] == 2


def test_weights_count():
    rng = np.random.default_rng(2)
    good = gaussian()
    wrong = rng.normal(-6.0, 1.0, 100)  # targets that do not count
    weights = np.append(np.ones(good.n_target), np.zeros(100)), np.ones(good.n_nontarget)
    scores = lk.Scores(np.append(good.target, wrong), good.nontarget, {"w": weights})
    weighed = lk.scores.weigh(scores, "w").reduce(TrainingSample.of)
    assert_allclose(weighed.logistic_loss(0.5), logistic_cllr_by_brute_force(good), rtol=1e-6)
    twice = {"w": (np.where(np.arange(400) < 300, 2.0, 1.0), np.ones(900))}
    half = lk.scores.weigh(lk.Scores(scores.target, scores.nontarget, twice), "w").reduce(TrainingSample.of)
    repeated = lk.Scores(np.append(scores.target, good.target), good.nontarget)
    assert_allclose(half.logistic_loss(0.5), logistic_cllr_by_brute_force(repeated), rtol=1e-6)


def far_outliers():
    """A few non-targets so low that two Gaussians find them, and not the targets."""
    rng = np.random.default_rng(0)
    nontarget = np.append(rng.normal(0.0, 1.0, 1_960), rng.normal(-30.0, 1.0, 40))
    return lk.Scores(rng.normal(2.0, 1.0, 200), nontarget)


@pytest.mark.parametrize("prior", [None, 0.9])
def test_a_fit_without_labels_is_judged_by_them_if_they_are_known(prior):
    scores = far_outliers()
    with pytest.warns(lk.errors.PoorFitWarning):
        fitted = lk.calibrate(scores, method="unsupervised", prior=prior, bound="none").map
    assert lk.cllr(fitted.on(scores)) > 1.0
    assert fitted.densities is None  # of classes that the fit has not seen
    assert len(warnings_of("unsupervised", Pieces(scores, pieces=5, seed=3), prior=prior)) == 1


def test_a_bounded_rule_does_not_run_away_from_mislabeled_trials():
    rng = np.random.default_rng(3)
    target, nontarget = rng.normal(6.0, 1.0, 100), rng.normal(0.0, 1.0, 1_000)
    target[0], nontarget[:10] = 0.1, rng.normal(6.0, 1.0, 10)  # one in a hundred of each class
    scores = lk.Scores(target, nontarget)
    with pytest.warns(lk.errors.ShapeWarning):
        fitted = lk.fits.fit_rule(scores, rule="brier")
    assert fitted.details["log_share"] in (0.01, 0.03, 0.1, 0.3)
    assert lk.cllr(fitted.on(scores)) < 2 * logistic_cllr_by_brute_force(scores) + 0.06


def test_a_rule_that_does_not_run_away_is_left_alone():
    scores = gaussian()
    fitted = lk.fits.fit_rule(scores, rule="brier")
    assert "log_share" not in fitted.details

    def brier(x):
        p, q = (1 / (1 + np.exp(-(x[0] * s + x[1]))) for s in (scores.target, scores.nontarget))
        return ((1 - p) ** 2).mean() + (q**2).mean()

    found = minimize(brier, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-13}).x
    assert_allclose([fitted.a, fitted.b], found, rtol=1e-4)


OWN_SHAPES = ("gaussian", "nig", "student-t")


@pytest.mark.parametrize("method", OWN_SHAPES)
def test_few_trials_are_warned_of_unless_they_are_enough_or_limit_the_llrs(method):
    for sizes in ((9, 200), (200, 29)):
        with pytest.warns(lk.errors.ShapeWarning):
            lk.calibrate(gaussian(*sizes), method=method, bound="none")
    with warnings.catch_warnings(action="error"):
        assert not lk.calibrate(gaussian(30, 30), method=method, bound="none").map.has_bounds
        assert lk.calibrate(gaussian(9, 200), method=method).map.has_bounds


@pytest.mark.slow
def test_methods_that_are_warned_of_with_few_trials_are_those_that_run_away_with_them():
    strongest = {}
    for method in ("logistic", "cmlg", "bayes", "pav", "kde", "mixture", "tied-nig", "gamma", *OWN_SHAPES):
        llrs = []
        for seed in range(8):
            scores = gaussian(9, 300, seed=seed)
            with warnings.catch_warnings(action="ignore"):
                fitted = METHODS[method](scores)
            llrs.append(np.abs(fitted(np.append(scores.target, scores.nontarget))).max())
        strongest[method] = max(llrs)
    ran_away = {method for method, llr in strongest.items() if llr > 30.0}
    assert {method.replace("-", "_") for method in ran_away} == OWN_SHAPES_OF_MAPS
