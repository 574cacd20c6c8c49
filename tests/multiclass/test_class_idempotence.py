"""Idempotence of several classes, and calibration loss by cross-validation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest, multivariate_normal

import llrkit as lk
from llrkit.multiclass.choose import make_class_folds

mc = lk.multiclass


def covariance(d, seed=0, size=1.0):
    root = np.random.default_rng(seed).normal(size=(d, d + 2))
    return size * (root @ root.T)


def calibrated(rng, s, counts, factor=1.0):
    """Log-likelihoods whose LLRs over the last class are Gaussian and calibrated."""
    means = mc.calibrated_means(s)
    z = np.concatenate([rng.multivariate_normal(mean, s, n) for mean, n in zip(means, counts, strict=True)])
    loglik = factor * np.column_stack([z, np.zeros(len(z))])
    return lk.scores.ClassScores(loglik, np.repeat(np.arange(len(counts)), counts))


@pytest.mark.parametrize("k", [2, 3, 6])
def test_the_condition_makes_the_llr_of_the_llr_the_llr(k):
    s = covariance(k - 1)
    means = mc.calibrated_means(s)
    z = np.random.default_rng(1).normal(size=(20, k - 1)) * 3
    density = np.column_stack([multivariate_normal(mean, s).logpdf(z) for mean in means])
    assert_allclose(density[:, :-1] - density[:, -1:], z, rtol=1e-9, atol=1e-9)


def test_two_classes_give_plus_and_minus_half_the_variance():
    assert_array_equal(mc.calibrated_means(np.array([[6.0]])), [[3.0], [-3.0]])


def test_a_gaussian_backend_is_calibrated_and_fitting_again_changes_nothing():
    rng = np.random.default_rng(2)
    labels = rng.choice(4, 800)
    vectors = lk.scores.ClassVectors(
        rng.normal(size=(4, 5))[labels] + rng.normal(size=(800, 5)), labels, range(4)
    )
    fitted = mc.fit_gaussian(vectors)
    scores = fitted(vectors)
    found = mc.idempotence(scores)
    assert_allclose(found.observed, found.expected, atol=1e-11)
    assert_allclose(found.slopes, np.eye(3), atol=1e-10)
    assert_allclose(found.offsets, 0.0, atol=1e-10)
    again = mc.fit_gaussian(scores)(scores)
    differences = [one.loglik - one.loglik[:, -1:] for one in (scores, again)]
    assert_allclose(differences[0], differences[1], atol=1e-10)


@pytest.mark.slow
def test_the_test_is_fair_to_calibrated_llrs_and_finds_uncalibrated_ones():
    rng, s, counts = np.random.default_rng(3), covariance(3, size=0.5), [150, 400, 200, 300]
    found = [mc.idempotence(calibrated(rng, s, counts)) for _ in range(150)]
    assert kstest([one.p_value for one in found], "uniform").pvalue > 0.001
    standardized = np.array([(one.observed - one.expected) / one.standard_errors for one in found])
    assert_allclose(standardized.std(axis=0), 1.0, atol=0.2)
    assert found[0].degrees == 12
    wrong = mc.idempotence(calibrated(rng, s, counts, factor=1.5))
    assert wrong.p_value < 1e-6
    # LLRs that are 1.5 times too large are shrunk by as much
    assert_allclose(np.diag(wrong.slopes), 1 / 1.5, atol=0.15)
    assert wrong.largest_deviation > found[0].largest_deviation


def test_the_test_is_left_out_for_many_classes_and_refused_for_vectors():
    labels = np.arange(900) % 45
    loglik = np.random.default_rng(0).normal(size=(900, 45)) + 2.0 * np.eye(45)[labels]
    assert np.isnan(mc.idempotence(lk.scores.ClassScores(loglik, labels)).p_value)
    with pytest.raises(lk.InputError):
        mc.idempotence(lk.scores.ClassVectors(loglik, labels))


def gaussian_set(rng, n_target=100, n_nontarget=1000, factor=1.0):
    model = lk.theory.GaussianLLR.from_eer(0.05)
    llr = np.concatenate([model.target.rvs(n_target, rng), model.nontarget.rvs(n_nontarget, rng)])
    labels = np.repeat([0, 1], [n_target, n_nontarget])
    return lk.scores.ClassScores(factor * np.column_stack([llr, np.zeros(len(llr))]), labels)


@pytest.mark.slow
def test_calibration_loss_of_calibrated_scores_is_slightly_below_zero():
    """Ferrer & Ramos: no bias upwards. -0.005 with a spread of 0.0066, at EER 5 % and 100 + 1000 trials."""
    rng = np.random.default_rng(4)
    losses = [mc.calibration_loss(gaussian_set(rng), rng=i).loss for i in range(60)]
    mean, error = np.mean(losses), np.std(losses) / np.sqrt(60)
    assert abs(mean + 0.005) < 4 * error + 0.001
    assert mean < 0.0
    assert 0.004 < np.std(losses) < 0.012  # heavy tails: 60 sets do not tell it better


def test_calibration_loss_recovers_a_known_loss():
    """LLRs twice too large: what is lost follows from a large set."""
    rng = np.random.default_rng(5)
    large = gaussian_set(rng, 40_000, 40_000)
    doubled = lk.scores.ClassScores(2.0 * large.loglik, large.codes, large.classes)
    known = mc.cllr(doubled) - mc.cllr(large)
    found = mc.calibration_loss(gaussian_set(rng, 4_000, 4_000, factor=2.0))
    assert_allclose(found.loss, known, rtol=0.15)
    assert_allclose(found.relative, found.loss / found.raw, rtol=1e-12)


def test_folds_by_place_by_group_and_by_name():
    labels = np.arange(300) % 3
    rng = np.random.default_rng(6)
    loglik = rng.normal(size=(300, 3)) + 2.0 * np.eye(3)[labels]
    columns = {"speaker": np.arange(300) // 10, "fold": np.arange(300) % 4}
    scores = lk.scores.ClassScores(loglik, labels, columns=columns)
    dealt = make_class_folds(scores).of_rows(scores.with_columns("position")) % 5
    for c in range(3):  # every class in equal parts
        assert_array_equal(np.bincount(dealt[labels == c]), [20] * 5)
    grouped = make_class_folds(scores, "speaker").of_rows(scores) % 5
    assert all(len(set(grouped[columns["speaker"] == one])) == 1 for one in range(30))
    assert_array_equal(np.bincount(grouped), [60] * 5)
    assert_array_equal(make_class_folds(scores, folds="fold").of_rows(scores) % 4, columns["fold"])
    # each trial gets the map of the other folds
    crossed = mc.cross_calibrate(scores, folds="fold").source
    parts = crossed.reduce(lambda chunk: _Kept(chunk.loglik))
    for f in range(4):
        fitted = mc.fit_scale_offset(scores.take(columns["fold"] != f))
        assert_allclose(parts.values[columns["fold"] == f], fitted(loglik[columns["fold"] == f]), rtol=1e-9)


class _Kept:
    def __init__(self, values):
        self.values = values

    def __add__(self, other):
        return _Kept(np.concatenate([self.values, other.values]))


@pytest.mark.parametrize(
    "options",
    [
        {"folds": 1},
        {"groups": "speaker", "folds": "fold"},
        {"groups": "speaker", "folds": 99},
        {"folds": "same"},
    ],
)
def test_folds_that_cannot_be_made_are_refused(options):
    columns = {"speaker": np.arange(30), "fold": np.arange(30) % 2, "same": np.zeros(30)}
    scores = lk.scores.ClassScores(
        np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 3, columns=columns
    )
    with pytest.raises(lk.InputError):
        mc.cross_calibrate(scores, **options)
    with pytest.raises(lk.errors.UnknownNameError):
        mc.cross_calibrate(scores, groups="noise")
