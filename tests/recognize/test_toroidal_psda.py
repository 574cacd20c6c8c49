"""Toroidal PSDA against integrals over circles, and against what its data were drawn from."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ive

import llrkit as lk
from llrkit.recognize import PSDA, ToroidalPSDA, train_toroidal_psda


def turned(rng, dim):
    return np.linalg.qr(rng.normal(size=(dim, dim)))[0]


@pytest.fixture(scope="module")
def three_circles():
    """Two circles of the speaker, one of the channel, in seven dimensions."""
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(3, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    weights = np.array([0.7, 0.5, np.sqrt(1.0 - 0.74)])
    return ToroidalPSDA(
        turned(rng, 7)[:, :6], [2, 2, 2], weights, directions.ravel(), [1.3, 0.0, 2.0], 9.0, 2
    )


def test_llrs_against_integrals_over_all_circles(three_circles):
    """Sums over even grids of angles are exact to rounding for such smooth periodic functions."""
    model, rng = three_circles, np.random.default_rng(2)
    x = rng.normal(size=(3, 7))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    angles = 2.0 * np.pi * np.arange(40) / 40
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = [w * circle @ model.basis[:, part].T for w, part in zip(model.weights, model.parts, strict=True)]
    priors = []
    for i, part in enumerate(model.parts):
        k = float(model.priors[i])
        priors.append(np.exp(k * circle @ model.directions[part]) / (2.0 * np.pi * ive(0.0, k) * np.exp(k)))
    cell = 2.0 * np.pi / 40
    mean = points[0][:, None, None] + points[1][None, :, None] + points[2][None, None]
    assert_allclose(np.linalg.norm(mean, axis=-1), 1.0)

    def given_speaker(session):
        """Up to the normalizer, which cancels: integrated over the channel, on the grid of the speaker."""
        return (np.exp(9.0 * (mean @ session)) * priors[2]).sum(axis=-1) * cell

    def marginal(*sessions):
        values = np.prod([given_speaker(session) for session in sessions], axis=0)
        return float(priors[0] @ values @ priors[1]) * cell**2

    expected = np.log(marginal(x[0], x[2]) / (marginal(x[0]) * marginal(x[2])))
    assert_allclose(model.scores(x[:1], x[2:])[0, 0], expected, rtol=1e-9)
    several = np.log(marginal(x[0], x[1], x[2]) / (marginal(x[0], x[1]) * marginal(x[2])))
    assert_allclose(model.scores([x[:2].mean(axis=0)], x[2:], [2])[0, 0], several, rtol=1e-9)


def test_one_factor_of_all_dimensions_is_psda():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    basis = turned(rng, 5)
    model = ToroidalPSDA(basis, [5], [1.0], np.eye(5)[0], [2.0], 11.0, 1)
    assert_allclose(model.scores(x, x), PSDA(basis[:, 0], 2.0, 11.0).scores(x, x), rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module")
def population():
    """Two spheres of the speaker and one of the channel; sessions nearly without further noise."""
    rng = np.random.default_rng(4)
    basis, sizes, weights = turned(rng, 16), (4, 3, 5), np.array([0.6, 0.5, np.sqrt(1.0 - 0.61)])
    who, parts = np.repeat(np.arange(500), 4), (slice(0, 4), slice(4, 7), slice(7, 12))
    means = np.zeros((len(who), 16))
    for i, (size, part) in enumerate(zip(sizes, parts, strict=True)):
        points = rng.normal(size=(500 if i < 2 else len(who), size))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        means += weights[i] * (points[who] if i < 2 else points) @ basis[:, part].T
    x = means + 0.08 * rng.normal(size=means.shape)
    return basis, weights, x / np.linalg.norm(x, axis=1, keepdims=True), who


@pytest.fixture(scope="module")
def trained(population):
    _, _, x, who = population
    return train_toroidal_psda(x[:1200], who[:1200], speaker_dims=[4, 3], channel_dims=[5], iterations=30)


def test_training_finds_the_spheres(population, trained):
    basis, weights, _, _ = population
    model, history = trained
    assert (np.diff(history) > -1e-6).all()
    assert_allclose(model.weights[2], weights[2], atol=0.05)
    for columns, truth in ((slice(0, 7), slice(0, 7)), (slice(7, 12), slice(7, 12))):
        overlap = np.linalg.svd(model.basis[:, columns].T @ basis[:, truth])[1]
        assert overlap.min() > 0.95  # the same space, whatever the coordinates in it


def test_llrs_are_better_than_those_of_psda_where_the_channel_has_a_sphere(population, trained):
    _, _, x, who = population
    rest = x[1200:].reshape(200, 4, 16)
    plain = lk.recognize.train_psda(x[:1200], who[:1200]).model
    same, costs = np.eye(200, dtype=bool), []
    for model in (trained.model, plain):
        scores = model.scores(rest[:, 0], rest[:, 1])
        costs.append(lk.cllr(lk.Scores(scores[same], scores[~same])))
    assert costs[0] < 0.5 * costs[1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sizes": [2, 1, 3]}, "whole numbers of at least 2"),
        ({"weights": [1.0, 1.0, 1.0]}, "add up to one"),
        ({"basis": np.ones((7, 6))}, "orthonormal"),
        ({"directions": np.ones(6)}, "vector of length one"),
        ({"priors": [1.0, -1.0, 0.0]}, "3 numbers of at least 0"),
        ({"within": 0.0}, "positive"),
        ({"n_speaker": 4}, "of 3 factors 1 to 3 belong to the speaker"),
    ],
)
def test_impossible_models_are_refused(three_circles, change, words):
    arrays = {**three_circles.arrays(), **change}
    with pytest.raises(lk.InputError, match=words):
        ToroidalPSDA(**arrays)


def test_impossible_factors_are_refused(population):
    _, _, x, who = population
    for factors in ({"speaker_dims": [1]}, {"speaker_dims": [10], "channel_dims": [8]}, {"speaker_dims": []}):
        with pytest.raises(lk.InputError, match="together at most the 16"):
            train_toroidal_psda(x[:40], who[:40], **factors)
    with pytest.raises(lk.InputError, match="normalize the length first"):
        train_toroidal_psda(2.0 * x[:40], who[:40])
