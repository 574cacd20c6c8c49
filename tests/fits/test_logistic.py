"""Logistic regression and other scoring rules."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, logit

import llrkit as lk
from llrkit.core.losses import ScoringRule

# Scale and offset printed by R: glm(y ~ s, binomial(logit), weights = prior / N_class, offset = logit(prior),
# epsilon = 1e-14); at sre08_tno, prior 0.5, R stopped early and the optimum is from extended precision.
# fmt: off
R_GLM = [
    ("evalita09_ru", 0.5, 0.743550808601, 0.10397631560207),
    ("evalita09_ru", 0.1, 0.71549557914047, 0.15607594629663),
    ("evalita09_ru", 0.001, 0.46896827566611, 0.49457185744925),
    ("spkr_shift_psr.trn", 0.5, 1.4086368892682, 4.6781857872697),
    ("spkr_shift_psr.trn", 0.1, 1.3413870765139, 4.514177912874),
    ("spkr_shift_psr.trn", 0.001, 1.1466276429859, 4.2285542499347),
    ("spkr_shift_psr.tst", 0.5, 2.1587051010586, -13.197718456235),
    ("spkr_shift_psr.tst", 0.1, 2.2730264760187, -14.2106038038),
    ("spkr_shift_psr.tst", 0.001, 3.199624504971, -21.460523301893),
    ("sre08_tno", 0.5, 0.8815552394187279, 0.6390181489943479),
    ("sre08_tno", 0.1, 0.78705408025421, 0.66754217791665),
    ("sre08_tno", 0.001, 0.42613068604284, 0.86308871092685),
    ("voxceleb1_o.ivector_cosine", 0.5, 0.064686176637499, -1.8533052477565),
    ("voxceleb1_o.ivector_cosine", 0.1, 0.070764768718294, -2.0223962626523),
    ("voxceleb1_o.ivector_cosine", 0.001, 0.082004088884545, -2.4451677350226),
    ("voxceleb1_o.ivector_lda", 0.5, 0.17497847510704, -3.6339138906958),
    ("voxceleb1_o.ivector_lda", 0.1, 0.17980820613601, -3.7350988038922),
    ("voxceleb1_o.ivector_lda", 0.001, 0.1894191777494, -4.0064032215636),
    ("voxceleb1_o.ivector_plda", 0.5, 0.37225605299472, 1.7722711026035),
    ("voxceleb1_o.ivector_plda", 0.1, 0.40500142082792, 1.9050708544571),
    ("voxceleb1_o.ivector_plda", 0.001, 0.47055130720912, 1.9259122290159),
    ("voxceleb1_o.resnet_aam", 0.5, 29.525139486527, -8.4307390778959),
    ("voxceleb1_o.resnet_aam", 0.1, 31.495307664891, -9.0166225150087),
    ("voxceleb1_o.resnet_aam", 0.001, 34.367131083633, -9.9896582088222),
]
# fmt: on
quiet = pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")


@pytest.mark.parametrize(
    ("name", "prior", "a", "b"),
    [pytest.param(*row, marks=[] if row[1] == 0.5 else [pytest.mark.slow]) for row in R_GLM],
)
def test_against_R(reference_set, name, prior, a, b):
    fitted = lk.fit_logistic(reference_set(name), prior=prior)
    assert_allclose([fitted.a, fitted.b], [a, b], rtol=1e-8)
    assert fitted.details["gradient"] < 1e-12
    assert fitted.details["passes"] <= 7


@pytest.fixture
def overlapping():
    rng = np.random.default_rng(3)
    return lk.Scores(rng.normal(2.0, 1.5, 80), rng.normal(-1.0, 1.0, 300))


def written_out(scores, prior, robust=0.0, pull=0.0):
    """The objective with every copy of every trial written out."""
    t, n = scores.target, scores.nontarget

    def loss(x):
        zt, zn = x[0] * t + x[1] + logit(prior), x[0] * n + x[1] + logit(prior)
        soft = np.logaddexp
        value = prior * (soft(0, -zt) + robust * soft(0, zt)).mean()
        value += (1 - prior) * (soft(0, zn) + robust * soft(0, -zn)).mean()
        for z in (zt, zn):
            value += 0.5 * pull * (prior * soft(0, -z) + (1 - prior) * soft(0, z)).mean()
        return value

    return loss


@pytest.mark.parametrize("prior", [0.5, 0.03])
@pytest.mark.parametrize(("robust", "regularization"), [(0.0, 0.0), (0.01, 0.0), (0.0, 3.0), (0.05, 1.0)])
def test_against_scipy_on_the_written_out_objective(overlapping, prior, robust, regularization):
    loss = written_out(overlapping, prior, robust, regularization / 80)
    best = minimize(loss, [1.0, 0.0], method="BFGS", options={"gtol": 1e-9})
    fitted = lk.fit_logistic(overlapping, prior=prior, robust=robust, regularization=regularization)
    assert_allclose([fitted.a, fitted.b], best.x, rtol=2e-5, atol=1e-5)
    assert_allclose(fitted.details["objective"], best.fun, rtol=1e-10)


def test_shrinkage_grows_with_regularization_and_goes_to_zero(overlapping):
    slopes = [lk.fit_logistic(overlapping, regularization=k).a for k in (0.0, 0.1, 1.0, 10.0, 1e4, 1e8)]
    assert np.all(np.diff(slopes) < 0)
    assert slopes[-1] < 1e-4


@pytest.mark.parametrize("prior", [0.5, 0.01])
def test_the_pull_is_towards_llr_zero_whatever_the_prior(overlapping, prior):
    fitted = lk.fit_logistic(overlapping, prior=prior, regularization=1e9)
    assert_allclose(fitted([-2.0, 0.0, 3.0]), 0.0, atol=1e-4)


def test_separable_scores_are_reported_not_looped_over():
    with pytest.raises(lk.errors.SeparationError):
        lk.fit_logistic(lk.Scores([2.0, 3.0], [0.0, 1.0]))
    with pytest.raises(lk.errors.SeparationError), pytest.warns(lk.errors.ReversedScoresWarning):
        lk.fit_logistic(lk.Scores([0.0, 1.0], [2.0, 3.0]))
    with pytest.raises(lk.errors.SeparationError):
        lk.fit_logistic(lk.Scores([1.0, 2.0], [0.0, 1.0]))  # touching is enough
    for options in ({"robust": 0.001}, {"regularization": 0.01}):
        fitted = lk.fit_logistic(lk.Scores([2.0, 3.0], [0.0, 1.0]), **options)
        assert 0 < fitted.a < 100
        assert_allclose(fitted(1.5), 0.0, atol=1e-6)


def test_scores_far_from_zero_lose_no_digits(overlapping):
    fitted = lk.fit_logistic(overlapping)
    far = lk.Scores(overlapping.target + 2.0**30, overlapping.nontarget + 2.0**30)
    assert_allclose(lk.fit_logistic(far).a, fitted.a, rtol=1e-7)


def test_a_separable_sample_of_overlapping_classes_is_not_taken_for_separation():
    rng = np.random.default_rng(5)
    target = np.append(rng.uniform(5.0, 6.0, 30_000), [0.0])  # one target among the non-targets
    nontarget = rng.uniform(0.5, 1.0, 200_000)
    fitted = lk.fit_logistic(lk.Scores(target, np.append(nontarget, 5.5)))
    assert fitted.a > 0
    assert fitted.details["gradient"] < 1e-12


RULES = ["log", "brier", "boosting", "high-threshold", "low-threshold", (1.5, 1.5), (1.0, 0.5), (0.7, 1.3)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("prior", [0.5, pytest.param(0.1, marks=pytest.mark.slow)])
def test_rules_against_scipy_on_the_metric(overlapping, rule, prior):
    def loss(x):
        return lk.metrics.rule_cost(lk.maps.AffineMap(a=x[0], b=x[1]).on(overlapping), rule=rule, prior=prior)

    fitted = lk.fits.fit_rule(overlapping, rule=rule, prior=prior)
    best = minimize(
        loss, [fitted.a * 1.2, fitted.b + 0.1], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15}
    )
    assert_allclose([fitted.a, fitted.b], best.x, rtol=1e-4, atol=1e-5)
    assert loss([fitted.a, fitted.b]) <= best.fun * (1 + 1e-12)


def test_the_logarithmic_rule_is_logistic_regression(overlapping):
    first, second = (
        lk.fits.fit_rule(overlapping, rule=ScoringRule(1, 1), prior=0.2),
        lk.fit_logistic(overlapping, prior=0.2),
    )
    assert (first.a, first.b) == (second.a, second.b)


def test_posteriors_of_a_logistic_population_come_back():
    # labels drawn from the model itself: P(target | s) = expit(1.5 s - 0.4 + logit of the class balance)
    rng = np.random.default_rng(6)
    s = rng.normal(0, 2, 400_000)
    label = rng.random(len(s)) < expit(1.5 * s - 0.4)
    share = label.mean()
    fitted = lk.fit_logistic(lk.Scores.from_labels(s, label), prior=share)
    assert_allclose([fitted.a, fitted.b], [1.5, -0.4 - logit(share)], atol=0.03)


@pytest.mark.parametrize(
    "bad", [{"prior": 0.0}, {"prior": 1.0}, {"robust": -1.0}, {"regularization": np.inf}, {"df": 0}]
)
def test_bad_options(overlapping, bad):
    with pytest.raises(lk.InputError):
        lk.fit_logistic(overlapping, **bad)
    with pytest.raises(lk.errors.UnknownNameError):
        lk.fits.fit_rule(overlapping, rule="spherical")


@pytest.mark.parametrize("prior", [1e-9, 1 - 1e-9])
def test_extreme_priors_are_not_taken_for_separation(overlapping, prior):
    loss = written_out(overlapping, prior)
    fitted = lk.fit_logistic(overlapping, prior=prior)
    here = loss([fitted.a, fitted.b])
    for step in ([1e-3, 0], [-1e-3, 0], [0, 1e-3], [0, -1e-3]):
        assert loss([fitted.a + step[0], fitted.b + step[1]]) > here
