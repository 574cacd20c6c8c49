"""Simulated frames follow the mixture they were drawn from, and are the same for a seed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

import llrkit as lk
from llrkit.simulate.speakers import FrameModel

MODEL = FrameModel(n_components=5, dim=3, rank=2, seed=7)


def log_likelihood(model, frames, factor):
    """Mean log-likelihood of frames under the mixture of a factor, by the definition of a mixture."""
    weights, means, variances = model.universal
    own = means + model.loadings @ factor
    each = [
        np.log(w) - 0.5 * np.sum(np.log(2 * np.pi * v) + (frames - m) ** 2 / v, axis=1)
        for w, m, v in zip(weights, own, variances, strict=True)
    ]
    return float(logsumexp(each, axis=0).mean())


def test_mean_and_variance_of_the_frames_are_those_of_the_mixture():
    still = FrameModel(n_components=5, dim=3, rank=2, channel=0.0, seed=7)
    frames = still.recording(3, 0, seconds=2_000.0)
    weights, means, variances = still.universal
    own = means + still.loadings @ still.speaker_factor(3)
    mean = weights @ own
    variance = weights @ (variances + own**2) - mean**2
    deviation = np.sqrt(variance / len(frames))
    assert np.all(np.abs(frames.mean(axis=0) - mean) < 4.5 * deviation)
    assert_allclose(frames.var(axis=0), variance, rtol=0.03)


def test_frames_fit_their_speaker_best():
    frames = MODEL.recording(0, 0, seconds=60.0)
    own = log_likelihood(MODEL, frames, MODEL.speaker_factor(0))
    others = [log_likelihood(MODEL, frames, MODEL.speaker_factor(i)) for i in range(1, 12)]
    assert own > np.quantile(others, 0.8)
    assert own > log_likelihood(MODEL, frames, np.zeros(2))


def test_a_longer_recording_begins_with_the_shorter_one():
    long, short = MODEL.recording(4, 1, 5.0), MODEL.recording(4, 1, 2.0)
    assert_array_equal(long[:200], short)
    made = MODEL.frames(n_speakers=1, n_sessions=2, seconds=5.0, first_speaker=4)
    assert_array_equal(made.first(200)[1], short)
    assert (made.ids[1], made.speakers[1]) == ("spk4-1", "spk4")


def test_the_same_for_a_seed_and_different_for_every_recording():
    assert_array_equal(FrameModel(seed=3).recording(1, 2, 1.0), FrameModel(seed=3).recording(1, 2, 1.0))
    for other in (FrameModel(seed=4).recording(1, 2, 1.0), FrameModel(seed=3).recording(1, 3, 1.0),
                  FrameModel(seed=3).recording(2, 2, 1.0)):  # fmt: skip
        assert not np.allclose(FrameModel(seed=3).recording(1, 2, 1.0), other)


def test_bad_input_is_refused():
    for make in (
        lambda: FrameModel(rank=0),
        lambda: FrameModel(strength=0.0),
        lambda: FrameModel(seed=-2),
        lambda: MODEL.recording(0, 0, 0.0),
        lambda: MODEL.frames(n_speakers=0, n_sessions=1, seconds=1.0),
    ):
        with pytest.raises(lk.InputError):
            make()
