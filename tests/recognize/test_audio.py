"""Audio files to frames: cepstra against their definition, and every kind of broken file by name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.fft import dct

import llrkit as lk
from llrkit.recognize.frames.audio import audio_frames, mfcc, read_audio, read_audio_frames
from llrkit.recognize.frames.front_end import FrontEnd

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


@pytest.mark.parametrize("name", ["a.wav", "a.flac"])
def test_wav_and_flac_give_the_same_frames(write, name):
    samples = (noise() * 32768).round().clip(-32768, 32767).astype(np.int16)
    wav, other = write("ref.wav", samples), write(name, samples)
    expected = read_audio_frames(wav, FrontEnd())
    assert_array_equal(read_audio_frames(other, FrontEnd()), expected)
    assert expected.shape[1] == 60
    assert expected.dtype == np.float32


def test_loudness_does_not_matter(write):
    loud, soft = (write(f"{level}.wav", noise(level=level), subtype="FLOAT") for level in (0.2, 0.01))
    assert_allclose(read_audio_frames(loud, FrontEnd()), read_audio_frames(soft, FrontEnd()), atol=2e-3)


def test_pauses_are_left_out(write):
    parts = [noise(0.5, seed=2), np.zeros(RATE), noise(0.5, seed=3)]
    file = write("gap.wav", np.concatenate(parts))
    assert_allclose(len(read_audio_frames(file, FrontEnd())), 100, atol=8)
    assert len(read_audio_frames(file, FrontEnd(speech_range=None))) == 198
    assert len(read_audio_frames(file, FrontEnd(seconds=0.7))) == 70


def test_channels(write):
    left, right = noise(seed=4), noise(seed=5)
    file = write("stereo.wav", np.stack([left, right], axis=1), subtype="FLOAT")
    assert_allclose(read_audio(file, FrontEnd(channel=1))[0], right, atol=1e-6)
    assert_allclose(read_audio(file, FrontEnd(channel=0))[0], left, atol=1e-6)
    with pytest.raises(lk.InputError, match=r"stereo\.wav: has 2 channels; say which, from 0 to 1"):
        read_audio(file, FrontEnd())
    with pytest.raises(lk.InputError, match=r"stereo\.wav: there is no channel 2; it has 2"):
        read_audio(file, FrontEnd(channel=2))


def test_all_files_must_have_the_rate_of_the_first(write):
    files = [write("a.wav", noise()), write("b.wav", noise(), rate=8000)]
    frames = audio_frames(files, ids=["a", "b"], speakers=["s", "t"])
    assert frames[0].shape[1] == 60
    with pytest.raises(lk.InputError, match=r"b\.wav: 8000 samples a second, expected 16000"):
        frames[1]


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
    for name, words in {
        "missing.wav": "no such audio file",
        "folder.wav": "no such audio file",
        "text.wav": "cannot be read as audio",
        "cut.flac": "cannot be read as audio",
        "nan.wav": "sample 70 is not a finite number",
        "empty.wav": "there are no samples in it",
        "silent.wav": "silent",
        "short.wav": "320 samples are less than the 400 of one frame",
    }.items():
        frames = audio_frames([good, tmp_path / name])
        with pytest.raises(lk.InputError, match=f"{name}: {words}"):
            frames[1]
    with pytest.raises(lk.InputError, match="no audio files"):
        audio_frames([])


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
    with pytest.raises(lk.LlrkitError, match=r"soundfile: pip install 'llrkit\[audio\]'"):
        read_audio(tmp_path / "a.wav", FrontEnd())
