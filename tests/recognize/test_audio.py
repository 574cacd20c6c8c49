"""Audio files to frames: cepstra against their definition, and every kind of broken file by name."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.fft import dct

import llrkit as lk
from llrkit.recognize.frames.audio_frames import audio_frames, mfcc, read_audio_frames
from llrkit.recognize.frames.audio_headers_and_samples import read_samples
from llrkit.recognize.frames.front_end import FrontEnd
from llrkit.recognize.frames.recording import Recording

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


TWO_FIRST_FRAMES = """
import sys, threading, time
import numpy as np
import kaldi_native_fbank
from llrkit.recognize.frames.audio_frames import mfcc
from llrkit.recognize.frames.front_end import FrontEnd

class SlowImports:
    def find_spec(self, name, path=None, target=None):
        time.sleep(0.5 if name.startswith("numpy") else 0.0)

def work():
    at_once.wait()
    found.append(mfcc(np.ones(4000, dtype=np.float32), 16000, FrontEnd()).shape)

FrontEnd()
sys.meta_path.insert(0, SlowImports())
found, at_once = [], threading.Barrier(2)
threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(found)
"""


def test_two_threads_may_compute_their_first_frames_at_once(need):
    """Old versions of kaldi-native-fbank wait forever if importing takes a while."""
    need("kaldi_native_fbank")
    done = subprocess.run(
        [sys.executable, "-c", TWO_FIRST_FRAMES], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "[(23, 20), (23, 20)]\n", done.stderr


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
    assert_allclose(read_samples(Recording(file), FrontEnd(channel=1))[0], right, atol=1e-6)
    assert_allclose(read_samples(Recording(file), FrontEnd(channel=0))[0], left, atol=1e-6)
    with pytest.raises(lk.InputError, match=r"stereo\.wav: has 2 channels; say which, from 0 to 1"):
        read_samples(Recording(file), FrontEnd())
    with pytest.raises(lk.InputError, match=r"stereo\.wav: there is no channel 2; it has 2"):
        read_samples(Recording(file), FrontEnd(channel=2))


def test_another_rate_is_resampled_or_refused(write, need):
    """A tone keeps its pitch: the cepstra are those of a file written at the other rate."""
    need("soxr")
    tone = {rate: 0.3 * np.sin(2.0 * np.pi * 440.0 * np.arange(rate) / rate) for rate in (16000, 8000)}
    files = [write("a.wav", tone[16000]), write("b.wav", tone[16000]), write("c.wav", tone[8000], rate=8000)]
    with pytest.warns(lk.SpeechWarning, match="resampled to 16000 Hz: 1 of 8000 Hz; those of lower rates"):
        frames = audio_frames(files, FrontEnd(normalize="none", deltas=0), ids=["a", "b", "c"])
    samples, rate = read_samples(Recording(files[2]), FrontEnd(sample_rate=16000))
    assert (rate, len(samples)) == (16000, 16000)
    assert_allclose(samples[2000:-2000], tone[16000][2000:-2000], atol=1e-3)
    assert [len(one) for one in frames] == [98, 98, 98]
    with pytest.raises(lk.InputError, match=r"c\.wav: 8000 samples a second, expected 16000"):
        audio_frames(files, FrontEnd(resample=False))


def test_parts_of_files_are_those_samples(write):
    samples = noise(3.0)
    file = write("long.wav", samples)
    part, _ = read_samples(Recording(file, 0.5, 1.25), FrontEnd())
    assert_allclose(part, samples[8000:20000], atol=1e-4)
    with pytest.raises(lk.InputError, match=r"long\.wav from 2 s to 4 s: the file has 3\.00 s only"):
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
        with pytest.raises(lk.InputError, match=f"{name}: {words}"):
            audio_frames([good, tmp_path / name])[1]
    with pytest.raises(lk.InputError, match="no audio files"):
        audio_frames([])


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
    with pytest.raises(lk.LlrkitError, match=r"soundfile: pip install 'llrkit\[audio\]'"):
        read_samples(Recording(tmp_path / "a.wav"), FrontEnd())
