"""Damaged recognizers and recordings: refused by name, and no score is ever NaN."""

import json
import wave
from itertools import cycle

import numpy as np
import pytest

from llrkit.errors import FileFormatError, LlrkitError
from llrkit.speech.frames import Frames
from llrkit.speech.recognizer import Recognizer, train_recognizer

RNG = np.random.default_rng(1)
SPEECH = Frames.of(
    [RNG.normal(center, 1.0, size=(40, 3)) for center in np.repeat(RNG.normal(size=(12, 3)), 3, axis=0)],
    ids=[f"u{i}" for i in range(36)],
    speakers=[f"s{i // 3}" for i in range(36)],
)


@pytest.fixture(
    scope="module",
    params=["cosine", *(pytest.param(name, marks=pytest.mark.slow) for name in ("plda", "svm", "ubm-gmm"))],
)
def saved(request, tmp_path_factory):
    """The arrays of a recognizer as they were saved, and where to save others."""
    sizes = {} if request.param == "ubm-gmm" else {"n_factors": 3}
    recognizer = train_recognizer(SPEECH, request.param, n_gaussians=2, iterations=2, rng=1, **sizes)
    file = tmp_path_factory.mktemp(request.param) / "model.npz"
    recognizer.save(file)
    with np.load(file) as archive:
        return {name: archive[name] for name in archive.files}, file.with_name("damaged.npz")


def damages(array):
    if array.dtype.kind != "f":
        return [np.array(5), np.array("{"), np.array("[" * 5000), np.array(json.dumps({"backend": 5}))]
    whole = [np.full_like(array, value) for value in (0.0, -1.0, 1e300, 1e-300)]
    return [*whole, array[:0], array.ravel(), array[..., :1], array.astype(complex), np.array("x")]


@pytest.mark.filterwarnings(
    "ignore::llrkit.errors.SpeechWarning"
)  # what is enrolled and tested has trained it
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # damaged numbers may overflow
def test_a_damaged_recognizer_is_refused_or_scores_numbers(saved):
    arrays, file = saved
    for name, array in arrays.items():
        for damaged in damages(array):
            np.savez(file, **{**arrays, name: damaged})
            try:
                recognizer = Recognizer.load(file)
                models = recognizer.enroll(SPEECH.subset([0, 3]))
                scores = recognizer.scores(models, recognizer.prepare(SPEECH.subset([1, 4])))
            except LlrkitError:
                continue
            assert not np.isnan(scores).any(), (name, damaged)


def test_no_array_of_a_model_may_hold_what_is_not_finite(saved):
    arrays, file = saved
    for value, (name, array) in zip(cycle([np.nan, np.inf, -np.inf]), arrays.items(), strict=False):
        if array.dtype.kind == "f" and array.size:
            damaged = array.copy()
            damaged.flat[-1] = value
            np.savez(file, **{**arrays, name: damaged})
            with pytest.raises(FileFormatError, match=f"'{name}'"):
                Recognizer.load(file)


def recording(file, rate, n):
    samples = np.random.default_rng(1).normal(0.0, 3000.0, size=n).astype("<i2")
    with wave.open(str(file), "wb") as wav:
        wav.setparams((1, 2, rate, n, "NONE", ""))
        wav.writeframes(samples.tobytes())
    return file


@pytest.fixture
def audio(need):
    need("soundfile"), need("kaldi_native_fbank")
    from llrkit.speech.audio import audio_frames

    return audio_frames


def test_a_recording_that_ends_before_its_header_says_is_refused(tmp_path, audio):
    whole = recording(tmp_path / "a.wav", 16000, 16000).read_bytes()
    for length in (20_000, len(whole) - 2, len(whole) - 1):
        (tmp_path / "a.wav").write_bytes(whole[:length])
        with pytest.raises(FileFormatError):
            audio([tmp_path / "a.wav"])[0]
    (tmp_path / "a.wav").write_bytes(whole)
    assert audio([tmp_path / "a.wav"])[0].shape == (98, 60)


@pytest.mark.parametrize("length", [0xFFFFFFFF, 0x7FFFF000])
def test_a_recording_from_a_pipe_does_not_know_its_length(tmp_path, audio, length):
    whole = bytearray(recording(tmp_path / "a.wav", 16000, 16000).read_bytes())
    at = whole.index(b"data") + 4
    whole[at : at + 4] = length.to_bytes(4, "little")
    (tmp_path / "a.wav").write_bytes(whole)
    assert audio([tmp_path / "a.wav"])[0].shape == (98, 60)


def test_every_length_at_an_odd_rate_gives_frames(tmp_path, audio):
    for n in (*range(11_025 - 20, 11_025 + 200, 40), 11_165):  # the last one was an index error
        assert audio([recording(tmp_path / "a.wav", 11_025, n)])[0].shape[1] == 60


def test_absurd_rates_are_refused(tmp_path, audio):
    for rate in (1, 40, 999, 1_000_001):
        with pytest.raises(FileFormatError, match="samples a second"):
            audio([recording(tmp_path / "a.wav", rate, 4000)])


def test_a_recording_that_announces_more_than_memory_is_refused(tmp_path, audio, need):
    need("soundfile").write(tmp_path / "a.flac", np.zeros(16000), 16000)
    raw = bytearray((tmp_path / "a.flac").read_bytes())
    raw[21:26] = bytes([raw[21] | 0x0F, 0xFF, 0xFF, 0xFF, 0xFF])  # STREAMINFO: 36 bits of samples
    (tmp_path / "a.flac").write_bytes(raw)
    with pytest.raises(LlrkitError):
        audio([tmp_path / "a.flac"])[0]


def test_odd_places_in_an_scp_are_one_line(tmp_path, need):
    need("kaldiio")
    from llrkit.speech.kaldi import read_kaldi

    for place in ("a\0b.ark:3", "x.ark:" + "9" * 5000, "x.ark:" + "9" * 30):
        (tmp_path / "x.scp").write_text(f"utt {place}\n")
        with pytest.raises(FileFormatError, match=r"x\.scp, line 1: "):
            list(read_kaldi(tmp_path / "x.scp"))
