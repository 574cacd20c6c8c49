"""ClassScores and ClassVectors: what is accepted, what is refused and how it is named."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.scores.classes import positions

LOGLIK = [[2.0, -1.0, 0.5], [0.1, 0.3, -2.0]]


def test_labels_are_names_or_places():
    by_name = lk.scores.ClassScores(LOGLIK, ["de", "nl"], ["en", "de", "nl"])
    assert_array_equal(by_name.codes, [1, 2])
    assert_array_equal(lk.scores.ClassScores(LOGLIK, [1, 2], ["en", "de", "nl"]).codes, [1, 2])
    assert_array_equal(lk.scores.ClassScores(LOGLIK, np.array([1, 2], dtype=np.uint8)).codes, [1, 2])


def test_numbers_as_names_are_names():
    assert_array_equal(lk.scores.ClassScores(LOGLIK, [30, 10], [10, 20, 30]).codes, [2, 0])
    assert_array_equal(lk.scores.ClassScores(LOGLIK, [30.0, 10.0], ["10", "20", "30"]).codes, [2, 0])


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["de", "fr"], ["en", "de", "nl"]),
        (["de", None], ["en", "de", "nl"]),
        ([0.0, np.nan], [0, 1, 2]),
        ([0, 3], ["en", "de", "nl"]),
        ([-1, 0], ["en", "de", "nl"]),
        ([7, 0], None),
        ([0, 1], ["en", "de"]),
        ([0, 1], ["en", "en", "de"]),
        ([0, 1], ["en", "", "de"]),
    ],
)
def test_bad_labels_and_classes_are_named(labels, classes):
    with pytest.raises(lk.errors.LabelError):
        lk.scores.ClassScores(LOGLIK, labels, classes)


@pytest.mark.parametrize(
    ("loglik", "labels", "error"),
    [
        ([[1.0, np.nan], [0.0, 1.0]], [0, 1], lk.errors.NaNScoreError),
        ([[1.0, 0.0], [-np.inf, -np.inf]], [0, 1], lk.InputError),
        ([[np.inf, np.inf], [0.0, 1.0]], [0, 1], lk.InputError),
        ([[1.0], [2.0]], [0, 0], lk.errors.LabelError),
        ([1.0, 2.0], [0, 0], lk.InputError),
        ([[1.0, 2.0]], [0, 1], lk.InputError),
        (np.empty((0, 2)), [], lk.InputError),
        ([[1.0, "x"]], [0], lk.InputError),
        ([[1.0, 2.0]], [[0]], lk.InputError),
    ],
)
def test_bad_values_are_named(loglik, labels, error):
    with pytest.raises(error):
        lk.scores.ClassScores(loglik, labels)


def test_nothing_is_copied_changed_or_writable():
    loglik = np.array(LOGLIK, dtype=np.float32)
    before = loglik.copy()
    scores = lk.scores.ClassScores(loglik, [0, 2])
    assert np.shares_memory(scores.loglik, loglik)
    assert scores.loglik.dtype == np.float32
    lk.multiclass.evaluate(lk.scores.ClassScores(np.tile(LOGLIK, (3, 1)), [0, 1, 2, 0, 1, 2]))
    assert_array_equal(loglik, before)
    with pytest.raises(ValueError, match="read-only"):
        scores.loglik[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        scores.codes[0] = 1


def test_from_posteriors_takes_the_prior_away():
    posterior = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25]])
    prior = np.array([0.5, 0.3, 0.2])
    made = lk.scores.ClassScores.from_posteriors(np.log(posterior), [0, 2, 0], prior=prior)
    assert_allclose(np.exp(made.loglik), posterior / prior, rtol=1e-14)
    counted = lk.scores.ClassScores.from_posteriors(np.log(posterior), [0, 1, 0], prior=[2, 1, 1])
    assert_allclose(np.exp(counted.loglik), posterior / [0.5, 0.25, 0.25], rtol=1e-14)
    with pytest.raises(lk.InputError):
        lk.scores.ClassScores.from_posteriors(np.log(posterior), [0, 1, 0], prior="counts")  # none of class 2


def test_stack_wants_the_same_trials():
    one = lk.scores.ClassScores(LOGLIK, [0, 2], ids=["a", "b"])
    assert lk.scores.ClassScores.stack([one, one, one]).loglik.shape == (2, 3, 3)
    for other in (
        lk.scores.ClassScores(LOGLIK, [0, 1], ids=["a", "b"]),
        lk.scores.ClassScores(LOGLIK, [0, 2], ids=["b", "a"]),
        lk.scores.ClassScores(LOGLIK, ["a", "c"], ["a", "b", "c"]),
    ):
        with pytest.raises(lk.errors.LabelError):
            lk.scores.ClassScores.stack([one, other])
    with pytest.raises(lk.errors.SystemCountError):
        lk.scores.ClassScores.stack([])
    with pytest.raises(lk.errors.SystemCountError):
        lk.multiclass.cllr(lk.scores.ClassScores.stack([lk.scores.ClassScores(np.eye(2), [0, 1])] * 2))


def test_vectors_are_no_log_likelihoods():
    vectors = lk.scores.ClassVectors(np.eye(2), ["a", "b"])
    with pytest.raises(lk.InputError):
        lk.multiclass.cllr(vectors)


def test_columns_and_positions():
    scores = lk.scores.ClassScores(np.zeros((4, 2)), [0, 1, 0, 0], columns={"room": ["x", "y", "x", "z"]})
    assert_array_equal(scores.with_columns("position").columns["position"], [0, 0, 1, 2])
    with pytest.raises(lk.errors.UnknownNameError):
        scores.with_columns("noise")
    with pytest.raises(lk.InputError):
        lk.scores.ClassScores(np.zeros((4, 2)), [0, 1, 0, 0], columns={"room": ["x"]})
    assert_array_equal(positions(np.array([1, 1, 0]), np.array([5, 2])), [2, 3, 5])


@pytest.mark.slow
def test_a_thousand_classes_give_clear_answers():
    rng = np.random.default_rng(1)
    k = 1000
    labels = np.tile(np.arange(k), 2)
    loglik = rng.normal(size=(2 * k, k)).astype(np.float32)
    loglik[np.arange(2 * k), labels] += 4.0
    scores = lk.scores.ClassScores(loglik, labels)
    found = lk.multiclass.evaluate(scores)
    from scipy.special import log_softmax

    expected = -log_softmax(loglik.astype(np.float64), axis=1)[np.arange(2 * k), labels].mean() / np.log(2)
    assert_allclose(found.cllr, expected, rtol=1e-12)
    assert_allclose(found.error_rate.actual, (loglik.argmax(axis=1) != labels).mean(), rtol=1e-12)
    assert found.refined_cllr <= found.cllr
    assert all(one.detection is None for one in found.per_class)
    with pytest.raises(lk.errors.EmptyClassError):
        lk.multiclass.cllr(scores.take(labels < 980))
