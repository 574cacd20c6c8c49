"""The guard of every fit: what it says of, what it leaves alone, and that it sees the same in any source."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pieces import Pieces
from scipy.optimize import minimize

import llrkit as lk
from llrkit.calibrate import poor_fit_guard as guard
from llrkit.calibrate.bounds.named_bounds import OWN_SHAPES as OWN_SHAPES_OF_MAPS
from llrkit.calibrate.few_training_trials import few_to_train
from llrkit.calibrate.maps import AffineMap
from llrkit.calibrate.poor_fit_guard import TrainingSample, problem_of, without_guard
from llrkit.choose.methods import METHODS


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


def test_a_map_worse_than_a_constant_is_warned_of_with_the_reason():
    with pytest.warns(lk.PoorFitWarning) as caught:
        fitted = lk.fit_nig(saturated())
    said = str(caught[0].message)
    assert lk.cllr(fitted.on(saturated())) > 1.0
    assert f"a Cllr of {lk.cllr(fitted.on(saturated())):.4g}, worse than the 1 of LLRs that are all 0" in said
    assert "75.0 % of the target and 11.1 % of the non-target scores are exactly 1" in said
    assert "fit_pav" in said
    assert caught[0].filename == __file__


def test_a_map_clearly_worse_than_logistic_regression_is_warned_of():
    scores = saturated()
    line = logistic_cllr_by_brute_force(scores)
    with pytest.warns(lk.PoorFitWarning, match=f"logistic regression one of {line:.4g}"):
        fitted = lk.fit_tied_nig(scores)
    assert lk.cllr(fitted.on(scores)) > line + 0.05


@pytest.mark.parametrize("method", ["pav", "kde", "logistic", "saturating"])
def test_methods_that_suit_saturated_scores_are_silent(method):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        METHODS[method](saturated())
    assert not [one for one in caught if issubclass(one.category, lk.PoorFitWarning)]


def test_no_fit_of_scores_that_suit_it_is_warned_of():
    for n in (30, 300, 3_000):
        scores = gaussian(n, 3 * n, seed=n)
        for method in ("cmlg", "gaussian", "tied-nig", "nig", "kde", "bigaussian", "pav", "saturating"):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                METHODS[method](scores)
            assert not [one for one in caught if issubclass(one.category, lk.PoorFitWarning)], method


def test_just_below_and_just_above_the_limit():
    scores = gaussian()
    line, fitted = logistic_cllr_by_brute_force(scores), lk.fit_logistic(scores)

    def off(shift):
        moved = AffineMap(a=fitted.a, b=fitted.b + shift, method="moved")
        return lk.cllr(moved.on(scores)) - line, problem_of(moved, scores)

    shifts = np.linspace(0.0, 1.2, 25)
    found = [off(shift) for shift in shifts]
    assert {lost > guard.TOLERATED for lost, _ in found} == {True, False}
    for lost, problem in found:
        assert bool(problem) == (lost > guard.TOLERATED)


def test_the_loss_is_that_of_the_prior_the_fit_was_made_for():
    scores = gaussian()
    fitted = lk.fit_logistic(scores, prior=0.01)
    sample = TrainingSample.of(scores)
    assert_allclose(
        sample.loss(lambda s: fitted(s), 0.01), lk.cross_entropy(fitted.on(scores), 0.01), rtol=1e-12
    )
    assert_allclose(sample.logistic_loss(0.01), logistic_cllr_by_brute_force(scores, 0.01), rtol=1e-6)


def test_pieces_are_judged_like_the_whole_and_without_a_pass_more():
    scores = saturated()
    said, passes = [], []
    for source in (scores, Pieces(scores, pieces=5, seed=3)):
        with pytest.warns(lk.PoorFitWarning) as caught:
            lk.fit_tied_nig(source)
        said.append(str(caught[0].message))
        passes.append(len(getattr(source, "passes", [])))
    assert said[0] == said[1]
    assert passes[1] == 2


def test_weights_count():
    rng = np.random.default_rng(2)
    good = gaussian()
    wrong = rng.normal(-6.0, 1.0, 100)  # targets that do not count
    weights = np.append(np.ones(good.n_target), np.zeros(100)), np.ones(good.n_nontarget)
    scores = lk.Scores(np.append(good.target, wrong), good.nontarget, {"w": weights})
    weighed = lk.weigh(scores, "w").reduce(TrainingSample.of)
    assert_allclose(weighed.logistic_loss(0.5), logistic_cllr_by_brute_force(good), rtol=1e-6)
    twice = {"w": (np.where(np.arange(400) < 300, 2.0, 1.0), np.ones(900))}
    half = lk.weigh(lk.Scores(scores.target, scores.nontarget, twice), "w").reduce(TrainingSample.of)
    repeated = lk.Scores(np.append(scores.target, good.target), good.nontarget)
    assert_allclose(half.logistic_loss(0.5), logistic_cllr_by_brute_force(repeated), rtol=1e-6)


def test_a_sample_is_bounded_and_spread_over_all_trials():
    n = 450_000
    position = np.arange(float(n))
    sample = Pieces(lk.Scores(position, position[:10]), pieces=7).reduce(TrainingSample.of)
    kept = sample.target.values
    assert guard.MOST_JUDGED / 4 < len(kept) <= guard.MOST_JUDGED
    assert_allclose(np.quantile(kept, [0.1, 0.5, 0.9]), np.array([0.1, 0.5, 0.9]) * n, rtol=0.02)


@pytest.mark.parametrize("how", ["thinned", "weighted"])
def test_shares_of_tied_scores_are_those_of_all_trials(monkeypatch, how):
    scores = saturated()
    target = np.sort(scores.target)  # of every second, fourth, ... one another share is tied
    weights = np.where(np.arange(len(target)) < 1, 101.0, 1.0), np.ones(scores.n_nontarget)
    source = lk.Scores(target, scores.nontarget, {"w": weights})
    tied, total = float((target == 1.0).sum()), float(len(target))
    if how == "thinned":
        monkeypatch.setattr(guard, "MOST_JUDGED", 3)
    else:
        source, total = lk.weigh(source, "w"), total + 100.0
    said = problem_of(AffineMap(a=99.0, b=0.0, method="steep"), source)
    assert f"{100 * tied / total:.1f} % of the target" in said


def test_tied_llrs_of_a_calibration_are_not_called_scores(tmp_path):
    lines = [f"{llr},{label},dev.json" for llr in (2, -2) for label in (1, 0) for _ in range(25)]
    (tmp_path / "llrs.csv").write_text("\n".join(["llr,label,llr_map", *lines]))
    llrs = lk.read_trials(tmp_path / "llrs.csv")
    assert llrs.roles.calibrated
    said = problem_of(AffineMap(a=9.0, b=0.0, method="steep"), llrs)
    assert "exactly 2, the highest LLR: a bound of the calibration" in said


def test_the_guard_can_be_put_aside_and_comes_back():
    with without_guard():
        lk.fit_nig(saturated())
    with pytest.warns(lk.PoorFitWarning):
        lk.fit_nig(saturated())


def far_outliers():
    """A few non-targets so low that two Gaussians find them, and not the targets."""
    rng = np.random.default_rng(0)
    nontarget = np.append(rng.normal(0.0, 1.0, 1_960), rng.normal(-30.0, 1.0, 40))
    return lk.Scores(rng.normal(2.0, 1.0, 200), nontarget)


@pytest.mark.parametrize("prior", [None, 0.9])
def test_a_fit_without_labels_is_judged_by_them_if_they_are_known(prior):
    scores = far_outliers()
    with pytest.warns(lk.PoorFitWarning) as caught:
        fitted = lk.fit_unsupervised(scores, prior=prior)
    assert len(caught) == 1
    lost = lk.cllr(fitted.on(scores))
    assert f"has a Cllr of {lost:.4g}, worse than the 1 of LLRs that are all 0" in str(caught[0].message)
    assert fitted.densities is None  # of classes that the fit has not seen
    with pytest.warns(lk.PoorFitWarning) as of_pieces:
        lk.fit_unsupervised(Pieces(scores, pieces=5, seed=3), prior=prior)
    assert str(of_pieces[0].message) == str(caught[0].message)


def test_a_fit_without_labels_is_not_judged_by_labels_that_are_not_known():
    scores = far_outliers()
    unknown = np.zeros(scores.n_target, dtype=bool), np.zeros(scores.n_nontarget, dtype=bool)
    with warnings.catch_warnings(action="error"):
        alone = lk.fit_unsupervised(np.append(scores.target, scores.nontarget))
        some = lk.fit_unsupervised(
            lk.Scores(scores.target, scores.nontarget, {"known": unknown}), supervised="known"
        )
    assert_allclose([alone.a, alone.b], [some.a, some.b], rtol=1e-9)
    assert alone.densities is None


def test_a_fit_without_labels_that_suits_the_scores_is_silent():
    llrs = lk.theory.GaussianLLR.from_eer(0.02).rvs(1_000, 4_000, np.random.default_rng(1))
    with warnings.catch_warnings(action="error"):
        fitted = lk.fit_unsupervised(lk.Scores(*llrs))
    assert_allclose(fitted.a, 1.0, atol=0.2)


def test_fits_that_are_not_judged_exist():
    assert set(guard.NOT_JUDGED) | guard.OTHER_AIMS | guard.WITHOUT_LABELS <= set(lk.__all__)


def test_a_bounded_rule_does_not_run_away_from_mislabeled_trials():
    rng = np.random.default_rng(3)
    target, nontarget = rng.normal(6.0, 1.0, 100), rng.normal(0.0, 1.0, 1_000)
    target[0], nontarget[:10] = 0.1, rng.normal(6.0, 1.0, 10)  # one in a hundred of each class
    scores = lk.Scores(target, nontarget)
    with pytest.warns(lk.ShapeWarning, match="mislabeled"):
        fitted = lk.fit_rule(scores, rule="brier")
    assert fitted.details["log_share"] in (0.01, 0.03, 0.1, 0.3)
    assert lk.cllr(fitted.on(scores)) < 2 * logistic_cllr_by_brute_force(scores) + 0.06


def test_a_rule_that_does_not_run_away_is_left_alone():
    scores = gaussian()
    fitted = lk.fit_rule(scores, rule="brier")
    assert "log_share" not in fitted.details

    def brier(x):
        p, q = (1 / (1 + np.exp(-(x[0] * s + x[1]))) for s in (scores.target, scores.nontarget))
        return ((1 - p) ** 2).mean() + (q**2).mean()

    found = minimize(brier, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-13}).x
    assert_allclose([fitted.a, fitted.b], found, rtol=1e-4)


OWN_SHAPES = ("gaussian", "nig", "student-t")


@pytest.mark.parametrize("method", OWN_SHAPES)
@pytest.mark.parametrize(("sizes", "few"), [((9, 200), "9 target"), ((200, 29), "29 non-target")])
def test_densities_of_classes_with_few_trials_are_warned_of_in_the_words_of_the_command(method, sizes, few):
    with pytest.warns(lk.ShapeWarning) as caught:
        METHODS[method](gaussian(*sizes))
    told = [str(one.message) for one in caught]
    assert told.count(few_to_train(*sizes)) == 1
    assert told[0].startswith(f"only {few} trials: ")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("method", OWN_SHAPES)
def test_few_trials_are_not_warned_of_where_they_are_enough_or_limit_the_llrs(method):
    with warnings.catch_warnings(action="error"):
        assert not METHODS[method](gaussian(30, 30)).has_bounds
        assert METHODS[method](gaussian(9, 200), bound="sources").has_bounds
        with without_guard():
            assert not METHODS[method](gaussian(9, 200)).has_bounds


def test_comparisons_of_methods_do_not_warn_of_few_trials():
    with warnings.catch_warnings(action="error"):
        rows = lk.compare(gaussian(20, 60), gaussian(200, 600), methods="nig,gaussian")
        fitted = lk.fit_best(gaussian(20, 60), methods="logistic,nig")
    assert "nig" in repr(rows)
    assert fitted.has_bounds


def test_a_linear_fusion_of_the_same_name_does_not_warn_of_few_trials():
    rng = np.random.default_rng(1)
    scores = lk.Scores(rng.normal(1.0, 1.0, (20, 2)), rng.normal(-1.0, 1.0, (60, 2)))
    with warnings.catch_warnings(action="error"):
        assert lk.fit_fusion(scores, method="gaussian").method == "gaussian"


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
