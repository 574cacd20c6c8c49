"""Deltas, speech activity, normalization: against regression lines, loops and signals made for it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.speech.frames import FrontEnd, frame_levels, is_speech, normalized, with_deltas


def test_deltas_are_slopes_of_regression_lines():
    x = np.random.default_rng(1).normal(size=(30, 3))
    found = with_deltas(x, 2)
    assert found.shape == (30, 9)
    for i in range(4, 26):
        slopes = np.polyfit(np.arange(-2, 3), x[i - 2 : i + 3], 1)[0]
        assert_allclose(found[i, 3:6], slopes, atol=1e-12)
        again = np.polyfit(np.arange(-2, 3), found[i - 2 : i + 3, 3:6], 1)[0]
        assert_allclose(found[i, 6:], again, atol=1e-12)
    assert_array_equal(with_deltas(x, 0), x)


def test_normalization_over_the_utterance():
    x = np.random.default_rng(2).normal(size=(50, 4)) * [1, 10, 100, 0] + [0, 5, 1e4, 3]
    found = normalized(x)
    assert_allclose(found.mean(axis=0), 0.0, atol=1e-10)
    assert_allclose(found.std(axis=0)[:3], 1.0, rtol=1e-9)
    assert_array_equal(found[:, 3], 0.0)


@pytest.mark.parametrize("window", [5, 6, 49, 50, 301])
def test_sliding_normalization_against_a_loop(window):
    x = np.random.default_rng(3).normal(size=(50, 2)).cumsum(axis=0)
    size = min(window, 50)
    expected = np.empty_like(x)
    for t in range(50):
        start = min(max(t - size // 2, 0), 50 - size)
        part = x[start : start + size]
        expected[t] = (x[t] - part.mean(axis=0)) / part.std(axis=0)
    assert_allclose(normalized(x, window), expected, rtol=1e-7, atol=1e-9)


def test_levels_against_a_loop():
    x = np.random.default_rng(4).normal(size=500) * 0.1 + 0.02
    found = frame_levels(x, 100, 40)
    assert len(found) == 11
    for i, level in enumerate(found):
        part = x[40 * i : 40 * i + 100] - x.mean()
        assert_allclose(level, 10 * np.log10(np.mean(part**2)), rtol=1e-9)


def test_speech_is_found_clicks_are_dropped_and_short_gaps_kept():
    levels = np.full(400, -75.0)
    levels[50:150] = -20.0
    levels[100:104] = -65.0  # a gap of 40 ms
    levels[200:203] = -20.0  # a click
    levels[300:350] = -45.0  # soft, but within 30 dB
    levels[360:400] = -52.0  # too soft
    found = is_speech(levels, 30.0)
    expected = np.zeros(400, dtype=bool)
    expected[50:150] = expected[300:350] = True
    assert np.abs(np.flatnonzero(np.diff(found.astype(int))) - [49, 149, 299, 349]).max() <= 1
    assert (found != expected).sum() <= 4
    assert is_speech(levels, 40.0)[370]
    assert not is_speech(levels - 55.0, 60.0)[:50].any()  # below -70 dB nothing is speech


def test_first_seconds_of_speech_then_normalization():
    rng = np.random.default_rng(5)
    cepstra = (rng.normal(size=(1000, 20)) + np.arange(1000)[:, None] / 100).astype(np.float32)
    levels = np.where(np.arange(1000) % 200 < 100, -20.0, -90.0)  # one second on, one off
    whole = FrontEnd(normalize="none").frames(cepstra, levels)
    assert_allclose(len(whole), 500, atol=5)
    short = FrontEnd(normalize="none", seconds=2.5).frames(cepstra, levels)
    assert_array_equal(short, whole[:250])
    cut = FrontEnd(seconds=2.5).frames(cepstra, levels)
    assert_allclose(cut.mean(axis=0), 0.0, atol=1e-5)
    assert_allclose(cut, normalized(short), atol=1e-6)
    assert cut.dtype == np.float32
    assert cut.shape == (250, FrontEnd().n_dimensions)
    everything = FrontEnd(normalize="none", speech_range=None, deltas=0).frames(cepstra, levels)
    assert_array_equal(everything, cepstra)
    sliding = FrontEnd(normalize="sliding", window=100).frames(cepstra, levels)
    assert_allclose(sliding, normalized(whole, 100), atol=1e-5)


def test_silence_is_refused_by_name():
    cepstra = np.zeros((50, 20), dtype=np.float32)
    with pytest.raises(lk.InputError, match=r"a\.wav: "):
        FrontEnd().frames(cepstra, np.full(50, -90.0), "a.wav")
    levels = np.full(200, -71.0)
    levels[100] = -10.0  # one click in silence is no speech
    with pytest.raises(lk.InputError, match=r"a\.wav: "):
        FrontEnd().frames(np.zeros((200, 20), dtype=np.float32), levels, "a.wav")


@pytest.mark.parametrize(
    "options",
    [
        {"n_ceps": 0}, {"n_ceps": 30}, {"deltas": 3}, {"window": 1}, {"speech_range": 0.0}, {"seconds": 0.0},
        {"channel": -1},
    ],
)  # fmt: skip
def test_impossible_options(options):
    with pytest.raises(lk.InputError):
        FrontEnd(**options)
