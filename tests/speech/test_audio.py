"""Audio files to frames: cepstra against their definition, and every kind of broken file by name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.fft import dct

import llrkit as lk
from llrkit.speech.audio import Recording, audio_frames, mfcc, read_samples
from llrkit.speech.frames import FrontEnd

RATE = 16000


def noise(seconds=1.0, level=0.1, seed=1):
    """Noise whose color changes all the time."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=round(seconds * RATE))
    return level * x * (1.5 + np.sin(np.arange(len(x)) / 1500))


@pytest.fixture
def write(need, tmp_path):
    soundfile, _ = need("soundfile"), need("kaldi_native_fbank")

    def save(name, samples, rate=RATE, **options):
        soundfile.write(tmp_path / name, samples, rate, **options)
        return tmp_path / name

    return save


def cepstra_by_definition(samples, n_bands, n_ceps):
    """Mean removed, pre-emphasis, Povey's window, power spectrum, mel bands, logarithm, cosines, lifter."""
    samples = np.asarray(samples, dtype=np.float64) * 32768
    frames = np.lib.stride_tricks.sliding_window_view(samples, 400)[::160]
    frames = frames - frames.mean(axis=1, keepdims=True)
    frames = frames - 0.97 * np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    frames = frames * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 399)) ** 0.85
    power = np.abs(np.fft.rfft(frames, 512)) ** 2
    mel = 1127 * np.log(1 + np.arange(257) * RATE / 512 / 700)
    low, high = (1127 * np.log(1 + f / 700) for f in (20, RATE / 2))
    edges = np.linspace(low, high, n_bands + 2)
    bands = np.array(
        [
            np.clip(np.minimum((mel - a) / (b - a), (c - mel) / (c - b)), 0, None)
            for a, b, c in zip(edges, edges[1:], edges[2:], strict=False)
        ]
    )
    bands[:, 256] = 0.0  # Kaldi leaves out the highest bin
    found = dct(np.log(power @ bands.T), norm="ortho")[:, :n_ceps]
    return found * (1 + 11 * np.sin(np.pi * np.arange(n_ceps) / 22))


def test_cepstra_against_their_definition(need):
    need("kaldi_native_fbank")
    samples = noise(0.3).astype(np.float32)
    found = mfcc(samples, RATE, FrontEnd())
    assert found.shape == (28, 20)
    assert_allclose(found, cepstra_by_definition(samples, 24, 20), atol=2e-2)


def test_wav_and_flac_give_the_same_frames(write):
    samples = (noise() * 32768).round().clip(-32768, 32767).astype(np.int16)
    wav, other = write("ref.wav", samples), write("a.flac", samples)
    expected = audio_frames([wav], FrontEnd())[0]
    assert_array_equal(audio_frames([other], FrontEnd())[0], expected)
    assert expected.shape[1] == 60
    assert expected.dtype == np.float32


def test_loudness_does_not_matter(write):
    loud, soft = (write(f"{level}.wav", noise(level=level), subtype="FLOAT") for level in (0.2, 0.01))
    assert_allclose(audio_frames([loud], FrontEnd())[0], audio_frames([soft], FrontEnd())[0], atol=2e-3)


def test_pauses_are_left_out(write):
    parts = [noise(0.5, seed=2), np.zeros(RATE), noise(0.5, seed=3)]
    file = write("gap.wav", np.concatenate(parts))
    assert_allclose(len(audio_frames([file], FrontEnd())[0]), 100, atol=8)
    assert len(audio_frames([file], FrontEnd(speech_range=None))[0]) == 198
    assert len(audio_frames([file], FrontEnd(seconds=0.7))[0]) == 70


def test_channels(write):
    left, right = noise(seed=4), noise(seed=5)
    file = write("stereo.wav", np.stack([left, right], axis=1), subtype="FLOAT")
    assert_allclose(read_samples(Recording(file), FrontEnd(channel=1))[0], right, atol=1e-6)
    assert_allclose(read_samples(Recording(file), FrontEnd(channel=0))[0], left, atol=1e-6)
    with pytest.raises(lk.InputError):
        read_samples(Recording(file), FrontEnd())
    with pytest.raises(lk.InputError):
        read_samples(Recording(file), FrontEnd(channel=2))


def test_another_rate_is_resampled_or_refused(write, need):
    """A tone keeps its pitch: the cepstra are those of a file written at the other rate."""
    need("soxr")
    tone = {rate: 0.3 * np.sin(2.0 * np.pi * 440.0 * np.arange(rate) / rate) for rate in (16000, 8000)}
    files = [write("a.wav", tone[16000]), write("b.wav", tone[16000]), write("c.wav", tone[8000], rate=8000)]
    with pytest.warns(lk.errors.SpeechWarning):
        frames = audio_frames(files, FrontEnd(normalize="none", deltas=0), ids=["a", "b", "c"])
    samples, rate = read_samples(Recording(files[2]), FrontEnd(sample_rate=16000))
    assert (rate, len(samples)) == (16000, 16000)
    assert_allclose(samples[2000:-2000], tone[16000][2000:-2000], atol=1e-3)
    assert [len(one) for one in frames] == [98, 98, 98]
    with pytest.raises(lk.InputError, match=r"c\.wav"):
        audio_frames(files, FrontEnd(resample=False))


def test_parts_of_files_are_those_samples(write):
    samples = noise(3.0)
    file = write("long.wav", samples)
    part, _ = read_samples(Recording(file, 0.5, 1.25), FrontEnd())
    assert_allclose(part, samples[8000:20000], atol=1e-4)
    with pytest.raises(lk.InputError, match=r"long\.wav from 2 s"):
        audio_frames([Recording(file, 2.0, 4.0)])


def test_broken_files_are_named(write, tmp_path):
    good = write("good.wav", noise())
    (tmp_path / "text.wav").write_text("this is not sound")
    (tmp_path / "cut.flac").write_bytes(write("whole.flac", noise()).read_bytes()[:30])
    (tmp_path / "folder.wav").mkdir()
    samples = noise()
    samples[70] = np.nan
    write("nan.wav", samples, subtype="FLOAT")
    write("empty.wav", np.zeros(0))
    write("silent.wav", np.zeros(RATE))
    write("short.wav", noise(0.02))
    for name in ("missing", "folder", "text", "nan", "empty", "silent", "short"):
        with pytest.raises(lk.InputError, match=rf"{name}\.wav: "):
            audio_frames([good, tmp_path / f"{name}.wav"])[1]
    with pytest.raises(lk.InputError, match=r"cut\.flac: "):
        audio_frames([good, tmp_path / "cut.flac"])[1]
    with pytest.raises(lk.InputError):
        audio_frames([])
