"""MAP adaptation and UBM-GMM scores against loops over frames and Gaussians."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import norm

import llrkit as lk
from llrkit.speech.frames import Frames
from llrkit.speech.models.gmm import DiagonalGMM, SpeakerGMMs, adapt_means, baum_welch, gmm_scores


@pytest.fixture
def world():
    rng = np.random.default_rng(1)
    c, d = 9, 4
    gmm = DiagonalGMM(rng.dirichlet(np.ones(c)), rng.normal(size=(c, d)) * 2, rng.uniform(0.5, 2, (c, d)))
    enroll = [rng.normal(size=(n, d)) + 0.5 * rng.normal(size=d) for n in (20, 30, 50)]
    test = [rng.normal(size=(n, d)) for n in (5, 9)]
    return gmm, enroll, test


def joint_in_a_loop(x, gmm, means):
    return [
        np.log(gmm.weights[c]) + norm.logpdf(x, means[c], np.sqrt(gmm.variances[c])).sum()
        for c in range(gmm.n_gaussians)
    ]


def test_adapted_means_against_a_loop(world):
    gmm, enroll, _ = world
    found = adapt_means(baum_welch(enroll, gmm), gmm, relevance=16.0).means
    for frames, means in zip(enroll, found, strict=True):
        joint = np.array([joint_in_a_loop(x, gmm, gmm.means) for x in frames])
        posterior = np.exp(joint - logsumexp(joint, axis=1)[:, None])
        for c in range(gmm.n_gaussians):
            n = posterior[:, c].sum()
            expected = (posterior[:, c] @ frames) / n
            alpha = n / (n + 16.0)
            assert_allclose(means[c], alpha * expected + (1 - alpha) * gmm.means[c], rtol=1e-10)


@pytest.mark.parametrize("top", [1, 5, 100, None])
def test_scores_against_a_loop(world, top):
    gmm, enroll, test = world
    models = adapt_means(baum_welch(enroll, gmm), gmm)
    expected = np.zeros((3, 2))
    for s, means in enumerate(models.means):
        for u, frames in enumerate(test):
            for x in frames:
                background = np.array(joint_in_a_loop(x, gmm, gmm.means))
                speaker = np.array(joint_in_a_loop(x, gmm, means))
                best = np.argsort(-background)[: top or 9]
                expected[s, u] += (logsumexp(speaker[best]) - logsumexp(background[best])) / len(frames)
    assert_allclose(gmm_scores(models, test, gmm, top=top), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("top", [5, pytest.param(None, marks=pytest.mark.slow)])
def test_many_models_32_bits_and_long_utterances(world, top):
    gmm = world[0]
    rng = np.random.default_rng(2)
    models = SpeakerGMMs(tuple(map(str, range(70))), gmm.means + 0.3 * rng.normal(size=(70, 9, 4)))
    test = rng.normal(size=(5000, 4))
    found = gmm_scores(models, [test], gmm, top=top)
    some = gmm_scores(SpeakerGMMs(("68",), models.means[68:69]), [test[:4000], test[4000:]], gmm, top=top)
    assert_allclose(found[68, 0], some[0] @ [0.8, 0.2], rtol=1e-9)
    assert_allclose(gmm_scores(models, [test.astype(np.float32)], gmm, top=top), found, atol=2e-5)


def test_an_unadapted_model_scores_zero(world):
    gmm, _, test = world
    models = SpeakerGMMs(("nobody",), gmm.means[None])
    for top in (None, 2):
        assert_allclose(gmm_scores(models, test, gmm, top=top), 0.0, atol=1e-12)


def test_bad_input(world):
    gmm, enroll, test = world
    models = adapt_means(baum_welch(enroll, gmm), gmm)
    other = DiagonalGMM([1.0], [[0.0]], [[1.0]])
    for call in (
        lambda: gmm_scores(models, test, gmm, top=0),
        lambda: gmm_scores(models, test, other),
        lambda: gmm_scores(models, Frames.of([np.zeros((3, 2))], ids=["t.wav"]), gmm),
        lambda: adapt_means(baum_welch(enroll, gmm), other),
        lambda: adapt_means(baum_welch(enroll, gmm), gmm, relevance=0.0),
        lambda: SpeakerGMMs(("a", "b"), gmm.means[None]),
    ):
        with pytest.raises(lk.InputError):
            call()
