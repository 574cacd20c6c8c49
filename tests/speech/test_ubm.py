"""Training of the background model: the likelihood never falls, and what was drawn is found again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.speech.frames import Frames
from llrkit.speech.models.gmm import train_ubm


def cloud(rng, n=3000):
    """Frames of three well separated Gaussians, in utterances of different lengths."""
    means = np.array([[0.0, 0.0], [6.0, 1.0], [-5.0, 8.0]])
    scales = np.array([[1.0, 0.5], [0.7, 1.5], [2.0, 1.0]])
    which = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    frames = means[which] + scales[which] * rng.normal(size=(n, 2))
    return np.split(frames, [100, 101, 900]), means, scales


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_likelihood_never_falls(dtype):
    """In 64 bits to 1e-12 per frame, in 32 bits to the digits there are."""
    rng = np.random.default_rng(1)
    frames = [(part * 3 + 20).astype(dtype) for part in cloud(rng)[0]]
    seen = {}
    ubm = train_ubm(frames, 11, iterations=25, split_iterations=6, rng=3,
                    report=lambda n, step, value: seen.setdefault(n, []).append(value))  # fmt: skip
    assert sorted(seen) == [2, 4, 8, 11]
    tolerance = 1e-12 if dtype == np.float64 else 2e-6
    for values in seen.values():
        assert np.diff(values).min() >= -tolerance
    assert_array_equal(seen[11], ubm.log_likelihoods)
    assert ubm.log_likelihoods[-1] > seen[2][0] + 0.1


def test_a_floor_that_bites_keeps_the_likelihood_rising():
    rng = np.random.default_rng(2)
    frames = [np.repeat(rng.normal(size=(12, 2)), 50, axis=0) + 1e-3 * rng.normal(size=(600, 2))]
    ubm = train_ubm(frames, 12, iterations=30, variance_floor=0.05)
    floor = 0.05 * frames[0].var(axis=0)
    assert (ubm.variances >= floor * (1 - 1e-9)).all()
    assert_allclose(ubm.variances.min(axis=0), floor, rtol=1e-6)
    assert np.diff(ubm.log_likelihoods).min() >= -1e-12


@pytest.mark.slow
def test_what_was_drawn_is_found_again():
    frames, means, scales = cloud(np.random.default_rng(3), 20_000)
    ubm = train_ubm(frames, 3, iterations=40)
    order = [int(np.argmin(((ubm.means - mean) ** 2).sum(axis=1))) for mean in means]
    assert sorted(order) == [0, 1, 2]
    assert_allclose(ubm.means[order], means, atol=0.12)
    assert_allclose(np.sqrt(ubm.variances[order]), scales, rtol=0.05)
    assert_allclose(ubm.weights[order], [0.5, 0.3, 0.2], atol=0.02)


def test_one_gaussian_is_mean_and_variance():
    rng = np.random.default_rng(4)
    frames = rng.normal(size=(400, 3)) + 1e4
    ubm = train_ubm([frames[:5], frames[5:]], 1)
    assert_allclose(ubm.means[0], frames.mean(axis=0))
    assert_allclose(ubm.variances[0], frames.var(axis=0), rtol=1e-9)


def test_a_seed_gives_the_same_model_and_another_a_different_one():
    frames = cloud(np.random.default_rng(5))[0]
    one, same, other = (train_ubm(frames, 4, rng=seed) for seed in (1, 1, 2))
    assert_array_equal(one.means, same.means)
    assert not np.array_equal(one.means, other.means)


def test_bad_input():
    for frames, options in (
        ([np.zeros((50, 2))], {}),
        ([np.eye(3)], {"n_gaussians": 2}),
        ([np.eye(3)], {"n_gaussians": 0}),
        ([np.eye(3)], {"n_gaussians": 1, "variance_floor": 0.0}),
    ):
        with pytest.raises(lk.InputError):
            train_ubm(frames, **options)
    with pytest.raises(lk.InputError, match=r"b\.wav: .*a\.wav has 3"):
        train_ubm(Frames.of([np.eye(3), np.eye(4)], ids=["a.wav", "b.wav"]), 1)
