"""I-vectors against the dense formula, the likelihood against joint Gaussians, and what duration does."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

import llrkit as lk
from llrkit.speech.models.gmm import DiagonalGMM, Statistics, baum_welch
from llrkit.speech.models.ivectors import FactorSums, TotalVariability, train_ivectors


def background(rng, spread=3.0):
    weights, means = rng.dirichlet(5 * np.ones(6)), spread * rng.normal(size=(6, 3))
    return DiagonalGMM(weights, means, rng.uniform(0.5, 2, (6, 3)))


def utterances(rng, gmm, matrix, n, frames=60):
    """Frames of utterances whose means are moved by T w."""
    made = []
    for _ in range(n):
        means = gmm.means + matrix @ rng.normal(size=matrix.shape[2])
        which = rng.choice(gmm.n_gaussians, size=frames, p=gmm.weights)
        made.append(
            means[which] + np.sqrt(gmm.variances[which]) * rng.normal(size=(frames, gmm.n_dimensions))
        )
    return made


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(1)
    gmm = background(rng)
    matrix = rng.normal(size=(6, 3, 4)) * 0.7
    offsets = 0.2 * rng.normal(size=(6, 3))
    model = TotalVariability(matrix, gmm.variances, offsets)
    statistics = baum_welch(utterances(rng, gmm, matrix, 40), gmm)
    return gmm, model, statistics


def dense_posterior(model, zeroth, first):
    """The formula as it stands in the papers, with the (C D) x (C D) matrices written out."""
    c, d, r = model.matrix.shape
    t = model.matrix.reshape(c * d, r)
    precision = np.linalg.inv(np.diag(model.variances.ravel()))
    n = np.kron(np.diag(zeroth), np.eye(d))
    deviations = first.ravel() - n @ model.offsets.ravel()
    covariance = np.linalg.inv(np.eye(r) + t.T @ precision @ n @ t)
    return covariance @ t.T @ precision @ deviations, covariance


def test_vectors_and_covariances_against_the_dense_formula(world):
    _, model, statistics = world
    found = model.extract(statistics, covariances=True)
    for u in range(len(statistics)):
        mean, covariance = dense_posterior(model, statistics.zeroth[u], statistics.first[u])
        assert_allclose(found.vectors[u], mean, rtol=1e-10, atol=1e-12)
        assert_allclose(found.covariances[u], covariance, rtol=1e-10, atol=1e-14)
    assert_array_equal(found.columns["frames"], 60)
    assert found.ids[3] == "utterance 3"
    plain = model.extract(statistics)
    assert plain.covariances is None
    assert_array_equal(plain.vectors, found.vectors)


def test_blocks_of_utterances_change_nothing(world, monkeypatch):
    _, model, statistics = world
    whole = model.extract(statistics).vectors
    monkeypatch.setenv("LLRKIT_AT_ONCE", str(7 * 8 * 16))
    assert_allclose(model.extract(statistics).vectors, whole, rtol=1e-12)


def test_likelihood_against_the_joint_gaussian_of_all_frames():
    """With one Gaussian the frames of an utterance are jointly Gaussian, whatever the i-vector is."""
    rng = np.random.default_rng(2)
    d, r, n = 2, 2, 5
    gmm = DiagonalGMM([1.0], rng.normal(size=(1, d)), rng.uniform(0.5, 2, (1, d)))
    model = TotalVariability(rng.normal(size=(1, d, r)), gmm.variances, rng.normal(size=(1, d)))
    frames = [rng.normal(size=(n, d)) for _ in range(3)]
    within = np.kron(np.eye(n), np.diag(gmm.variances[0]))
    between = np.kron(np.ones((n, n)), model.matrix[0] @ model.matrix[0].T)
    mean = np.tile(gmm.means[0] + model.offsets[0], n)
    expected = sum(multivariate_normal(mean, within + between).logpdf(x.ravel()) for x in frames)
    expected -= sum(gmm.log_density(x).sum() for x in frames)
    sums = FactorSums.of(baum_welch(frames, gmm), model)
    assert_allclose(sums.log_likelihood, expected, rtol=1e-10)


@pytest.mark.parametrize("min_divergence", [True, False])
@pytest.mark.parametrize("factors", [1, 7])
def test_the_likelihood_never_falls(world, min_divergence, factors):
    gmm, _, statistics = world
    seen = []
    model = train_ivectors(statistics, gmm, factors, iterations=25, min_divergence=min_divergence, rng=5,
                           report=lambda step, value: seen.append(value))  # fmt: skip
    assert np.diff(seen).min() >= -1e-9
    assert seen[-1] > seen[0] + 1.0
    assert_array_equal(model.log_likelihoods, seen)
    assert (model.offsets != 0).any() == min_divergence


@pytest.mark.slow
def test_minimum_divergence_gets_there_faster_and_leaves_a_standard_normal(world):
    gmm, _, statistics = world
    with_it, without = (
        train_ivectors(statistics, gmm, 4, iterations=12, min_divergence=use) for use in (True, False)
    )
    assert with_it.log_likelihoods[-1] > without.log_likelihoods[-1]
    long = train_ivectors(statistics, gmm, 4, iterations=300)
    found = long.extract(statistics, covariances=True)
    second = found.vectors.T @ found.vectors / len(found) + found.covariances.mean(axis=0)
    assert_allclose(found.vectors.mean(axis=0), 0.0, atol=1e-3)
    assert_allclose(second, np.eye(4), atol=1e-3)


@pytest.mark.slow
def test_the_subspace_is_found_again():
    """Where the Gaussians are so far apart that no frame is given to a wrong one."""
    rng = np.random.default_rng(3)
    gmm = background(rng, spread=100.0)
    matrix = rng.normal(size=(6, 3, 2))
    statistics = baum_welch(utterances(rng, gmm, matrix, 600, frames=100), gmm)
    model = train_ivectors(statistics, gmm, 2, iterations=20)
    true, found = (m.reshape(18, 2) @ m.reshape(18, 2).T for m in (matrix, model.matrix))
    assert np.linalg.norm(true - found) < 0.15 * np.linalg.norm(true)


def test_sums_of_parts_add_up(world):
    _, model, statistics = world
    whole = FactorSums.of(statistics, model)
    parts = FactorSums.of(statistics.subset(range(13)), model)
    parts = parts + FactorSums.of(statistics.subset(range(13, 40)), model)
    twice = FactorSums.of(statistics.subset([*range(40), *range(40)]), model)
    for name in FactorSums.__dataclass_fields__:
        assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9, atol=1e-9)
        assert_allclose(getattr(twice, name), getattr(whole * 2.0, name), rtol=1e-9, atol=1e-9)


def test_the_covariance_shrinks_with_duration(world):
    """Every further frame makes every direction surer: differences of covariances are positive definite."""
    gmm, model, _ = world
    rng = np.random.default_rng(4)
    frames = utterances(rng, gmm, model.matrix, 5, frames=640)
    spreads = [
        model.extract(baum_welch([part[:n] for part in frames], gmm), covariances=True).covariances
        for n in (10, 40, 160, 640)
    ]
    for shorter, longer in pairwise(spreads):
        assert np.linalg.eigvalsh(shorter - longer).min() > 0
    traces = [np.trace(spread, axis1=1, axis2=2).mean() for spread in spreads]
    assert_allclose(traces[3] / traces[2], 1 / 4, rtol=0.1)  # soon inversely to the number of frames


def test_models_are_saved_and_loaded(world, tmp_path):
    _, model, statistics = world
    model.save(tmp_path / "model.npz")
    again = TotalVariability.load(tmp_path / "model.npz")
    assert_array_equal(again.extract(statistics).vectors, model.extract(statistics).vectors)


def test_bad_input(world):
    gmm, model, statistics = world
    other = Statistics(("a",), np.ones((1, 2)), np.ones((1, 2, 3)), np.zeros(1))
    for call in (
        lambda: train_ivectors(statistics, gmm, 41),
        lambda: train_ivectors(statistics, gmm, 0),
        lambda: train_ivectors(statistics, gmm, 2, iterations=0),
        lambda: train_ivectors(other, gmm, 1),
        lambda: model.extract(other),
        lambda: TotalVariability([[1.0]], [[1.0]], [[0.0]]),
        lambda: TotalVariability([[[np.nan]]], [[1.0]], [[0.0]]),
    ):
        with pytest.raises(lk.InputError):
            call()
