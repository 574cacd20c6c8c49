"""Tests of two Gaussians of equal variance: values by another route, their size, and their power."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2, norm

import llrkit as lk
from llrkit.core.summaries import Moments
from llrkit.experiments.prior_scan import population_c_primary, population_cmlg, population_logistic
from llrkit.fits.cmlg import predicted_cost
from llrkit.fits.gaussian import LEVEL, gaussian_tests
from llrkit.theory import UnequalGaussians, cost_of
from llrkit.verbs.diagnose import check_trials


def found_in(target, nontarget):
    return gaussian_tests(lk.Scores(target, nontarget).reduce(Moments.of))


def test_equal_variances_against_likelihoods():
    rng = np.random.default_rng(1)
    t, n = rng.normal(3, 1.1, 300), rng.normal(0, 1, 800)
    pooled = np.sqrt((300 * t.var() + 800 * n.var()) / 1100)
    free = norm.logpdf(t, t.mean(), t.std()).sum() + norm.logpdf(n, n.mean(), n.std()).sum()
    tied = norm.logpdf(t, t.mean(), pooled).sum() + norm.logpdf(n, n.mean(), pooled).sum()
    found = found_in(t, n)[0]
    assert_allclose(found.statistic, 2 * (free - tied), rtol=1e-9)
    assert_allclose(found.p_value, chi2.sf(2 * (free - tied), 1), rtol=1e-9)
    assert_allclose(found.deviation, n.std() / t.std(), rtol=1e-12)


@pytest.mark.parametrize("flip", [1.0, -1.0])
def test_mixture_score_against_the_likelihood_of_two_close_components(flip):
    rng = np.random.default_rng(2)
    mu = rng.choice([2.0, 6.0], 900)
    x = np.append(rng.normal(mu[:300], np.sqrt(2 * mu[:300])), rng.normal(-mu[300:], np.sqrt(2 * mu[300:])))
    t, n = 2 * x[:300] + 1, 2 * x[300:] + 1
    v = (300 * t.var() + 600 * n.var()) / 900
    a = (t.mean() - n.mean()) / v
    middle, fitted = (t.mean() + n.mean()) / 2, a * (t.mean() - n.mean()) / 2

    def likelihood(delta):
        total = 0.0
        for scores, sign, center in ((t, 1, t.mean()), (n, -1, n.mean())):
            # the exact means of the classes, so that the starting point is the maximum
            llr = a * (scores - center) + sign * fitted
            assert_allclose(llr, a * (scores - middle), atol=1e-9)
            parts = [
                norm.pdf(llr, sign * m, np.sqrt(2 * m)) for m in (fitted * (1 - delta), fitted * (1 + delta))
            ]
            total += np.log(np.mean(parts, axis=0)).sum()
        return total

    slope = (likelihood(1e-3) - likelihood(0.0)) / 1e-6
    information = 900 * (0.75 * fitted + 0.375)
    found = found_in(flip * t, flip * n)[3]
    assert_allclose(found.statistic, slope**2 / information, rtol=1e-3)
    assert_allclose(found.p_value, norm.sf(slope / np.sqrt(information)), rtol=1e-2)


def draws(repetitions, make, sizes=(400, 1200)):
    rng = np.random.default_rng(7)
    return np.array([[test.p_value for test in found_in(*make(rng, *sizes))] for _ in range(repetitions)])


def gaussian(rng, n_target, n_nontarget, ratio=1.0):
    return rng.normal(3.0, 1.0, n_target), rng.normal(0.0, ratio, n_nontarget)


@pytest.mark.slow
def test_sizes_of_all_tests_by_repetition():
    rejected = (draws(1500, gaussian) < LEVEL).mean(0)
    # 15 of 1500 expected; the score tests of skewness and of the mixture are skewed themselves
    assert rejected[0] < 0.02
    assert np.all(rejected < 0.03)
    assert np.all(rejected > 0.001)


@pytest.mark.slow
def test_power_against_repetition():
    promised = found_in(*gaussian(np.random.default_rng(1), 100, 300))[0]
    assert promised.of_size == 1.2
    found = (draws(1500, lambda rng, t, n: gaussian(rng, t, n, 1.2), (100, 300))[:, 0] < LEVEL).mean()
    assert_allclose(found, promised.power, atol=0.04)


@pytest.mark.slow
def test_power_of_the_mixture_test_against_repetition():
    def mixed(rng, n_target, n_nontarget):
        mu = 4.0 * (1 + 0.3 * rng.choice([-1.0, 1.0], n_target + n_nontarget))
        sign = np.repeat([1.0, -1.0], [n_target, n_nontarget])
        x = rng.normal(sign * mu, np.sqrt(2 * mu))
        return x[:n_target], x[n_target:]

    p = draws(400, mixed, (100, 300))[:, 3]
    promised = np.mean([found_in(*mixed(np.random.default_rng(i), 100, 300))[3].power for i in range(20)])
    assert_allclose((p < LEVEL).mean(), promised, atol=0.1)


@pytest.mark.parametrize("ratio", [0.8, 1.0, 1.3])
def test_predicted_costs_against_integrals(ratio):
    population = UnequalGaussians(3.6, 1.0, 0.0, ratio)
    n = 40_000
    z = norm.ppf((np.arange(n) + 0.5) / n)
    moments = lk.Scores(3.6 + z, ratio * z).reduce(Moments.of)
    lines = population_cmlg(population, 0.0), population_logistic(population, 0.0)
    found = predicted_cost(moments, lines[0].a, lines[0].b, cost_of("sre12"))
    wanted = [population_c_primary(population, line) for line in lines]
    assert_allclose([found.dcf_cmlg, found.dcf_logistic], wanted, rtol=0.01)
    bits = [
        (np.logaddexp(0, -line(3.6 + z)).mean() + np.logaddexp(0, line(ratio * z)).mean()) / np.log(4)
        for line in lines
    ]
    assert_allclose([found.cllr_cmlg, found.cllr_logistic], bits, atol=2e-4)


@pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")
@pytest.mark.parametrize("name", ["sre08_tno", "voxceleb1_o.ivector_lda", "voxceleb1_o.resnet_aam"])
def test_predicted_costs_against_real_trials(reference_set, name):
    scores = reference_set(name)
    fitted = lk.fit_cmlg(scores, point="sre08")
    predicted = fitted.details["predicted_cost"]
    measured = [lk.cllr(line.on(scores)) for line in (fitted, lk.fit_logistic(scores))]
    # four moments do not know everything: half of the loss, or a hundredth of a bit
    lost = measured[0] - measured[1]
    assert_allclose(predicted["cllr_cmlg"] - predicted["cllr_logistic"], lost, atol=max(0.5 * lost, 0.01))


def test_no_cost_is_predicted_for_scores_that_saturate():
    llrs = lk.theory.GaussianLLR.from_eer(0.05).rvs(2000, 20_000, np.random.default_rng(5))
    for bend, told in ((np.tanh, False), (lambda x: np.tanh(x / 8), True), (lambda x: x.clip(-2, 2), False)):
        scores = lk.Scores(*map(bend, llrs))
        with pytest.warns(lk.errors.ShapeWarning):
            fitted = lk.fit_cmlg(scores)
        predicted = fitted.details["predicted_cost"]
        assert (predicted is not None, "no_predicted_cost" in fitted.details) == (told, not told)
        if told:
            lost = lk.cllr(fitted.on(scores)) - lk.cllr(lk.fit_logistic(scores).on(scores))
            assert 0.5 < lost / (predicted["cllr_cmlg"] - predicted["cllr_logistic"]) < 2.2


def test_one_pair_against_two_by_likelihood_on_trials():
    rng = np.random.default_rng(5)
    pair = lk.theory.MixtureLLR([0.5, 0.5], [1.0, 9.0])
    for model, found in ((pair, True), (lk.theory.GaussianLLR.from_eer(0.08), False)):
        scores = lk.Scores(*(3 * x - 1 for x in model.rvs(1500, 4000, rng)))
        test = check_trials(scores.reduce(Moments.of), scores).tests[3]
        assert (test.p_value < 1e-6) == found
        assert (test.p_value > 0.01) != found
    with pytest.warns(lk.errors.ShapeWarning):
        fitted = lk.fit_cmlg(lk.Scores(*pair.rvs(1500, 4000, rng)))
    assert fitted.details["gaussian_tests"][3]["p_value"] < 1e-6  # the closed form sees it too


@pytest.mark.filterwarnings("ignore::llrkit.errors.NoOverlapWarning")
def test_a_constant_class_has_no_tests():
    assert found_in(np.array([1.0, 1.0]), np.array([0.0, 0.5])) == []
    with pytest.warns(lk.errors.ShapeWarning, match="no spread"):
        fitted = lk.fit_cmlg(lk.Scores([1.0, 2.0], [0.0]))
    assert fitted.details["predicted_cost"] is None


def test_classes_with_the_same_mean_are_tested_as_those_whose_means_hardly_differ():
    target, nontarget = np.repeat([0.0, 1.0, 2.0, 3.0, 4.0], 12), np.repeat([0.0, 1.0, 2.0, 3.0, 4.0], 40)
    same = lk.fit_cmlg(lk.Scores(target, nontarget))
    close = lk.fit_cmlg(lk.Scores(target + 1e-7, nontarget))
    assert same.a == 0.0
    for one, other in zip(same.details["gaussian_tests"], close.details["gaussian_tests"], strict=True):
        assert one["power"] == pytest.approx(other["power"], rel=1e-5)
        assert one["p_value"] == pytest.approx(other["p_value"], rel=1e-5)
