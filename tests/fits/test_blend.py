"""The blend of methods: its weights against another minimizer, its loss against a loop, what it is for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pieces import Pieces, collected, speaker_trials
from scipy.optimize import minimize
from scipy.stats import norm

import llrkit as lk
from llrkit.maps.bounds import BoundedMap
from llrkit.maps.composite import MeanMap

METHODS = ("cmlg", "logistic", "gaussian", "kde", "pav")
GROUPS = ("one", "two")


def softplus(z):
    return np.logaddexp(0.0, z)


class Criterion:
    """What the weights have to minimize, from the cross-validated LLRs of each method, trial by trial."""

    def __init__(self, trials, best, prior):
        rows = {row["method"]: row for row in best.details["cross_validation"]}
        self.names = [name for name in METHODS if name in rows]
        self.correction = np.array([rows[name]["cllr"] - rows[name]["cllr_crossed"] for name in self.names])
        self.prior = prior
        deals = range(best.details["repeats"])
        self.limits = best.details["low"], best.details["high"]
        crossed = [[self.crossed(trials, name, seed) for name in self.names] for seed in deals]
        self.llrs = [[np.array([llrs[side] for llrs in deal]) for deal in crossed] for side in (0, 1)]

    def crossed(self, trials, name, seed):
        llrs = collected(lk.cross_calibrate(trials, method=name, groups=GROUPS, rng=seed).source)
        return [np.clip(side, *self.limits) for side in llrs]

    def losses(self, llrs):
        """Of every trial, targets first, in shares of the prior's entropy; ``llrs`` of the two classes."""
        p, odds = self.prior, np.log(self.prior / (1 - self.prior))
        entropy = -p * np.log(p) - (1 - p) * np.log(1 - p)
        sides = softplus(-llrs[0] - odds), softplus(llrs[1] + odds)
        return [
            side * share / side.shape[-1] / entropy for side, share in zip(sides, (p, 1 - p), strict=True)
        ]

    def loss(self, weights):
        """The cross-entropy of the blend as a share of the prior's entropy, corrected."""
        deals = [
            [weights @ target, weights @ nontarget] for target, nontarget in zip(*self.llrs, strict=True)
        ]
        plain = np.mean([sum(side.sum() for side in self.losses(llrs)) for llrs in deals])
        return plain + weights**2 @ self.correction


@pytest.mark.parametrize(
    ("prior", "repeats"),
    [(0.5, 1), *(pytest.param(prior, 2, marks=pytest.mark.slow) for prior in (0.5, 0.1))],
)
def test_the_weights_against_another_minimizer(prior, repeats):
    trials = speaker_trials()
    best = lk.fit_best(trials, methods=METHODS, groups=GROUPS, repeats=repeats, prior=prior)
    criterion = Criterion(trials, best, prior)
    n = len(criterion.names)
    found = minimize(
        criterion.loss,
        np.full(n, 1.0 / n),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        options={"ftol": 1e-13, "maxiter": 500},
    )
    weights = np.array([best.details["weights"].get(name, 0.0) for name in criterion.names])
    assert_allclose(weights.sum(), 1.0, rtol=1e-12)
    assert_allclose(criterion.loss(weights), found.fun, rtol=1e-5)
    assert_allclose(weights, found.x, atol=0.02)  # shares below one in a hundred are left out
    assert_allclose(best.details["expected_cllr"], criterion.loss(weights), rtol=1e-6)
    for name, vertex in zip(criterion.names, np.eye(n), strict=True):  # a single method is a blend too
        (row,) = (row for row in best.details["cross_validation"] if row["method"] == name)
        assert_allclose(criterion.loss(vertex), row["cllr"], rtol=1e-10)
        assert best.details["expected_cllr"] <= row["cllr"]


def skewed():
    """No method is right: kernels and logistic regression share the weight."""
    rng = np.random.default_rng(9)
    return lk.Scores(3 + rng.gamma(2.0, 2.0, 3000), rng.normal(1, 1, 9000))


def test_a_blend_is_the_mean_of_its_methods_fitted_on_everything():
    scores = skewed()
    best = lk.fit_best(scores, methods="logistic,kde", folds=3, repeats=1)
    assert isinstance(best, MeanMap)
    assert best.method == "blend"
    x = np.linspace(-2.0, 12.0, 9)
    limits = best.details["low"], best.details["high"]
    singles = {name: np.clip(getattr(lk.fits, f"fit_{name}")(scores)(x), *limits) for name in best.weights}
    assert_allclose(best(x), sum(best.weights[name] * llr for name, llr in singles.items()), rtol=1e-12)
    assert_allclose(best.inverse(best(3.2)), 3.2, rtol=1e-6)  # bounded maps have a mean that can be undone


@pytest.mark.slow
def test_any_source_gives_the_same_weights():
    options = {"methods": "logistic,kde", "folds": 3, "repeats": 1}
    whole = lk.fit_best(skewed(), **options).details["weights"]
    pieces = lk.fit_best(Pieces(skewed(), 90), **options).details["weights"]
    assert len(whole) > 1
    assert whole.keys() == pieces.keys()
    assert_allclose(list(whole.values()), list(pieces.values()), rtol=1e-6)


@pytest.mark.slow
def test_no_worse_in_cross_validation_than_any_method_alone():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        scores = lk.Scores(rng.normal(2, 1.4, 40), np.round(rng.standard_t(4, 90), 1))
        details = lk.fit_best(scores, methods=METHODS, folds=3, repeats=1).details
        assert details["expected_cllr"] <= min(row["cllr"] for row in details["cross_validation"])


def test_llrs_are_held_to_four_times_as_many_trials():
    rng = np.random.default_rng(3)
    apart = lk.Scores(rng.normal(30, 1, 50), rng.normal(0, 1, 200))
    for blend in (True, False):
        best = lk.fit_best(apart, methods=METHODS, folds=3, repeats=1, blend=blend)
        llrs = best(np.linspace(-50.0, 80.0, 99))
        assert llrs.min() >= -np.log(201.0) - 1e-12
        assert llrs.max() <= np.log(801.0) + 1e-12


@pytest.mark.slow
def test_what_is_wrong_with_a_method_stands_in_its_row():
    rng = np.random.default_rng(4)
    sure = lk.Scores(np.append(np.ones(150), rng.uniform(0, 1, 50)),
                     np.append(np.ones(20), rng.uniform(0, 1, 380) ** 3))  # fmt: skip
    details = lk.fit_best(sure, methods="logistic,nig,pav,gamma", folds=3, repeats=1).details
    rows = {row["method"]: row for row in details["cross_validation"]}
    assert rows["nig"]["flags"]
    assert "flags" not in rows["pav"]
    assert details["tied"]
    assert details["expected_cllr"] <= rows["logistic"]["cllr"]
    apart = lk.Scores(rng.normal(9, 1, 40), rng.normal(0, 1, 90))
    details = lk.fit_best(apart, methods="logistic,cmlg,saturating", folds=3, repeats=1).details
    rows = {row["method"]: row for row in details["cross_validation"]}
    assert len(rows["logistic"]["flags"]) >= 2  # it is regularized, in three of three folds
    assert rows["saturating"]["reason"]


def test_one_fold_that_separates_does_not_rule_a_method_out():
    # the only two trials that overlap are in the same fold of the deal with seed 0
    target, nontarget = np.linspace(1.0, 3.0, 30), np.linspace(-3.0, 0.9, 30)
    target[0], nontarget[0] = 0.5, 1.5
    details = lk.fit_best(lk.Scores(target, nontarget), methods="logistic,cmlg", repeats=1).details
    (row,) = (row for row in details["cross_validation"] if row["method"] == "logistic")
    assert np.isfinite(row["cllr"])
    assert row["flags"]


def test_methods_that_find_the_same_map():
    # without tails and skewness the tied NIG is CMLG: the variance of the difference is rounding alone
    rng = np.random.default_rng(2)
    half = rng.uniform(-1.0, 1.0, 100)
    scores = lk.Scores(1.0 + np.append(half, -half), np.append(half, -half))
    best = lk.fit_best(scores, methods="cmlg,tied-nig,gaussian", repeats=1)
    assert_allclose(best(0.7), lk.fit_cmlg(scores)(0.7), rtol=0.2)


def test_a_hopeless_method_gets_nothing():
    # reversed scores, which bi-Gaussianized calibration takes the wrong way round
    rng = np.random.default_rng(1)
    scores = lk.Scores(-rng.normal(2, 1, 300), rng.normal(0, 1, 900))
    with pytest.warns(lk.errors.ReversedScoresWarning, match="more target-like"):
        best = lk.fit_best(scores, methods="cmlg,logistic,bigaussian", repeats=1)
    assert set(best.details["weights"]) <= {"cmlg", "logistic"}
    inside = best.map if isinstance(best, BoundedMap) else best
    assert inside.inverse(inside(-1.0)) == pytest.approx(-1.0)


@pytest.mark.slow
def test_on_new_trials_a_blend_loses_no_more_than_a_choice():
    # small sets of a population on which all maps are then evaluated
    rng = np.random.default_rng(11)
    p = (np.arange(1_000) + 0.5) / 1_000
    population = lk.Scores(norm.ppf(p, 2.0, 1.3), norm.ppf(p, 0.0, 1.0))
    found = []
    for _ in range(40):
        scores = lk.Scores(rng.normal(2.0, 1.3, 40), rng.normal(0.0, 1.0, 80))
        both = [
            lk.fit_best(scores, methods=METHODS, folds=3, repeats=1, blend=blend) for blend in (True, False)
        ]
        found.append([lk.cllr(fitted.on(population)) for fitted in both])
    blended, chosen = np.array(found).T
    gain = chosen - blended
    assert gain.mean() > 0.0


def test_without_blend_the_best_method_itself():
    trials = speaker_trials()
    single = lk.fit_best(trials, methods="cmlg,logistic", groups=GROUPS, repeats=1, blend=False)
    assert single.method == single.details["chosen"]
    assert single.details["weights"] == {single.method: 1.0}
