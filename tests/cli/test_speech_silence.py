"""``llrkit speech`` takes nothing in silence: a warning or an error names every doubtful input."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner
from espeak import command_to_speak

import llrkit as lk
from llrkit.cli import cli

RATE = 8000
SMALL = ["--gaussians", 2, "--factors", 2, "--iterations", 2, "--no-stages"]


def run(*arguments):
    return CliRunner().invoke(cli, ["speech", *(str(argument) for argument in arguments)])


def warned(*arguments):
    """What a command that goes well says on standard error."""
    result = run(*arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stderr


def refused(*arguments):
    result = run(*arguments)
    assert isinstance(result.exception, lk.LlrkitError), result.output
    return str(result.exception)


def voice(rng, color, seconds=1.0):
    """Noise of one color, low and high in turn like vowels and hisses, up and down as syllables do."""
    n = int(seconds * RATE)
    white, time = rng.normal(size=n + 9), np.arange(n) / RATE
    low, high = (
        np.convolve(white, np.convolve(color, [1.0, slope]), mode="valid")[:n] for slope in (0.8, -0.8)
    )
    noise = np.where(np.sin(2.0 * np.pi * 2.0 * time) > 0.0, low, high)
    syllables = 0.05 + np.abs(np.sin(2.0 * np.pi * 2.0 * time)) ** 2
    return 0.2 * noise * syllables / np.abs(noise).max()


@pytest.fixture(scope="module")
def home(tmp_path_factory, need):
    """Four training and two other voices, three recordings each, with a model and two enrolled speakers."""
    soundfile = need("soundfile")
    need("kaldi_native_fbank")
    folder, rng = tmp_path_factory.mktemp("voices"), np.random.default_rng(1)
    rows = {"train": [], "enroll": [], "test": []}
    for person in range(6):
        color = rng.normal(size=9)
        for take in range(3):
            name = f"p{person}-{take}.wav"
            soundfile.write(folder / name, voice(rng, color), RATE)
            part = "train" if person < 4 else ("enroll" if take < 2 else "test")
            rows[part].append(f"p{person}\t{name}\t{'fm'[person % 2]}\n")
    for part, lines in rows.items():
        (folder / f"{part}.tsv").write_text("speaker\tfile\tgender\n" + "".join(lines))
    assert run("train", folder / "train.tsv", *SMALL, "-o", folder / "model.npz").exit_code == 0
    enrolled = ("enroll", folder / "model.npz", folder / "enroll.tsv", "-o", folder / "enrolled.npz")
    assert warned(*enrolled) == ""
    return folder


def listed(home, name, *lines, header="speaker\tfile"):
    (home / name).write_text("\n".join([header, *lines]) + "\n")
    return home / name


def score(home, test="test.tsv", *options):
    return ("score", home / "model.npz", home / "enrolled.npz", home / test, *options, "-o", home / "s.csv")


def test_a_clean_run_warns_of_nothing_and_its_scores_carry_the_lists(home):
    assert warned(*score(home)) == ""
    table = lk.read_trials(home / "s.csv").table
    seconds = table.select("enroll_speech_seconds", "test_speech_seconds").cast(float).row(0)
    assert seconds[0] > seconds[1] > 0.5
    assert set(table["enroll_sessions"].cast(int)) == {2}
    assert warned(*score(home, "test.tsv", "--where", "enroll_gender = test_gender")) == ""
    kept = lk.read_trials(home / "s.csv").table.select("enroll_gender", "test_gender")
    assert set(kept.rows()) == {("f", "f"), ("m", "m")}
    assert refused(*score(home, "test.tsv", "--where", "gender = x"))


def test_every_doubtful_recording_is_named(home, need):
    rng = np.random.default_rng(5)
    need("soundfile").write(home / "hiss.wav", 0.1 * rng.normal(size=RATE), RATE)
    for name, original in (("copy", "p4-2"), ("again", "p4-0")):
        (home / f"{name}.wav").write_bytes((home / f"{original}.wav").read_bytes())
    train = (home / "train.tsv").read_text().splitlines()[1:4]
    known = listed(home, "known.tsv", *train, header="speaker\tfile\tgender")
    for words, command in (
        ("p4-2.wav", score(home, "test.tsv", "--seconds", 10)),  # less speech than was asked for
        ("hiss.wav", score(home, listed(home, "hiss.tsv", "x\thiss.wav"))),
        ("copy.wav", score(home, listed(home, "twice.tsv", "p4\tp4-2.wav", "p4\tcopy.wav"))),
        ("again.wav", score(home, listed(home, "again.tsv", "p4\tagain.wav"))),  # enrolled, too
        ("p4-2.wav", score(home, "test.tsv", "--norm", "s", "--cohort", home / "test.tsv")),
        ("p0-0.wav", ("enroll", home / "model.npz", known, "-o", home / "known.npz")),
    ):
        assert words in warned(*command)
    assert warned(*score(home, "test.tsv", "--norm", "s", "--cohort", home / "train.tsv")) == ""
    words = refused(*score(home, listed(home, "mixed.tsv", "p4\tp4-2.wav", "p5\tcopy.wav")))
    assert "copy.wav" in words  # of two speakers


@pytest.mark.slow
def test_noise_whose_level_changes(home, need):
    """Up and down as syllables do, or at random: the shape of its spectrum stays the same."""
    rng, n = np.random.default_rng(6), 3 * RATE
    frequencies = np.fft.rfftfreq(n)
    frequencies[0] = frequencies[1]
    pink = np.fft.irfft(np.fft.rfft(rng.normal(size=n)) * frequencies**-0.5, n)
    time = np.arange(n) / RATE
    knots = np.exp(rng.normal(size=12))
    for gain in (0.1 + np.abs(np.sin(4.0 * np.pi * time)), np.interp(time, np.linspace(0.0, 3.0, 12), knots)):
        need("soundfile").write(home / "wind.wav", 0.2 * pink * gain / np.abs(pink * gain).max(), RATE)
        assert "wind.wav" in warned(*score(home, listed(home, "wind.tsv", "x\twind.wav")))


@pytest.mark.slow
def test_speech_in_noise_is_no_noise(home, need, need_program, tmp_path):
    """As loud as the noise, telephone rate: no warning that it might not be speech."""
    soundfile, soxr = need("soundfile"), need("soxr")
    spoken = tmp_path / "spoken.wav"
    rng = np.random.default_rng(7)
    subprocess.run(command_to_speak(need_program("espeak-ng"), spoken, "m3", rng), check=True)
    clean, rate = soundfile.read(spoken)
    speech = soxr.resample(clean, rate, RATE)
    for decibels in (40.0, 0.0):
        noise = rng.normal(size=len(speech)) * speech.std() * 10.0 ** (-decibels / 20.0)
        soundfile.write(home / "street.wav", 0.3 * (speech + noise), RATE)
        assert warned(*score(home, listed(home, "street.tsv", "x\tstreet.wav"))) == ""


@pytest.mark.slow
def test_a_saved_cohort_gives_the_same_scores(home):
    norm = ("--norm", "as1", "--top", 5, "--cohort")
    assert warned(*score(home, "test.tsv", *norm, home / "train.tsv")) == ""
    expected = (home / "s.csv").read_text()
    assert warned("cohort", home / "model.npz", home / "train.tsv", "-o", home / "cohort.npz") == ""
    assert warned(*score(home, "test.tsv", *norm, home / "cohort.npz")) == ""
    assert (home / "s.csv").read_text() == expected


def test_bad_files_are_skipped_by_name_or_stop_the_run(home, need):
    need("soundfile").write(home / "silent.wav", np.zeros(RATE), RATE)
    (home / "cut.wav").write_bytes((home / "p4-2.wav").read_bytes()[:-1000])
    rows = ["p4\tp4-2.wav", "p5\tsilent.wav", "p5\tcut.wav", "p5\tp5-2.wav"]
    path = listed(home, "bad.tsv", *rows)
    assert "cut.wav" in refused(*score(home, path))
    path = listed(home, "bad.tsv", *rows, "p5\tgone.wav")
    assert "bad.tsv, line 6" in refused(*score(home, path))
    words = warned(*score(home, path, "--bad-files", "skip"))
    for name in ("gone.wav", "cut.wav", "silent.wav"):
        assert name in words
    assert set(lk.read_trials(home / "s.csv").table["test"]) == {"p4-2.wav", "p5-2.wav"}


@pytest.mark.slow
def test_stereo_and_other_rates_at_every_stage(home, need):
    soundfile = need("soundfile")
    need("soxr")
    rng = np.random.default_rng(9)
    left, right = voice(rng, rng.normal(size=9)), soundfile.read(home / "p4-2.wav")[0]
    soundfile.write(home / "call.wav", np.stack([left, right], axis=1), RATE)
    path = listed(home, "call.tsv", "p4\tcall.wav")
    for command in (score(home, path), ("enroll", home / "model.npz", path, "-o", home / "e.npz")):
        assert "call.wav" in refused(*command)
        assert warned(*command, "--channel", 1) == ""
    run(*score(home, path, "--channel", 1))
    of_channel = lk.read_trials(home / "s.csv").score_array
    run(*score(home, listed(home, "one.tsv", "p4\tp4-2.wav")))
    np.testing.assert_allclose(of_channel, lk.read_trials(home / "s.csv").score_array, atol=1e-6)
    soundfile.write(home / "wide.wav", np.repeat(right, 2), 2 * RATE)
    path = listed(home, "wide.tsv", "p4\twide.wav")
    assert warned(*score(home, path))
    assert refused(*score(home, path, "--no-resample"))


@pytest.mark.slow
def test_kaldi_lists_segments_and_voice_activity(home, need):
    need("kaldiio")
    from llrkit.speech.kaldi import write_kaldi

    (home / "wav.scp").write_text(f"rec1 {home / 'p4-2.wav'}\nrec2 p5-2.wav\n")
    (home / "utt2spk").write_text("rec1 p4\nrec2 p5\n")
    kaldi = ("--utt2spk", home / "utt2spk")
    assert warned(*score(home, "test.tsv")) == ""
    expected = lk.read_trials(home / "s.csv").score_array
    assert warned(*score(home, "wav.scp", *kaldi)) == ""
    np.testing.assert_array_equal(lk.read_trials(home / "s.csv").score_array, expected)
    (home / "segments").write_text("a rec1 0.0 0.5\nb rec1 0.5 1.0\n")
    (home / "two").write_text("a p4\nb p4\n")
    assert warned(*score(home, "wav.scp", "--segments", home / "segments", "--utt2spk", home / "two")) == ""
    assert set(lk.read_trials(home / "s.csv").table["test"]) == {"a", "b"}
    (home / "x.rttm").write_text(
        "SPEAKER rec1 1 0.2 0.3 <NA> <NA> p4 <NA> <NA>\nSPEAKER rec2 1 0 1 <NA> <NA> q\n"
    )
    numbers = json.loads(run(*score(home, "wav.scp", *kaldi, "--vad", home / "x.rttm"), "--json", "-").stdout)
    assert numbers["speech_seconds"] == {"rec1": 0.3, "rec2": 0.98}
    write_kaldi(home / "vad.ark", [("rec1", np.repeat([1.0, 0.0], 49)), ("rec2", np.ones(98))])
    numbers = json.loads(
        run(*score(home, "wav.scp", *kaldi, "--vad", home / "vad.scp"), "--json", "-").stdout
    )
    assert numbers["speech_seconds"] == {"rec1": 0.49, "rec2": 0.98}
    (home / "wav.scp").write_text("rec1 sox x.wav -t wav - |\n")  # commands are not run
    assert refused(*score(home, "wav.scp", *kaldi))


@pytest.mark.slow
def test_what_a_second_list_says_about_recordings_is_used(home, need):
    """--adapt-segments, --adapt-utt2spk, --adapt-vad: the means of parts are those of files cut like them."""
    soundfile = need("soundfile")
    (home / "new.scp").write_text("n1 p4-0.wav\nn2 p5-0.wav\n")
    (home / "new.segments").write_text("a n1 0.0 0.5\nb n2 0.0 0.5\n")
    (home / "new.utt2spk").write_text("a p4\nb p5\n")
    turns = (f"SPEAKER n{i} 1 0 0.5 <NA> <NA> x <NA> <NA>\n" for i in (1, 2))
    (home / "new.rttm").write_text("".join(turns))
    for name in ("p4-0", "p5-0"):
        samples, rate = soundfile.read(home / f"{name}.wav")
        soundfile.write(home / f"half-{name}.wav", samples[: rate // 2], rate)
    cut = listed(home, "halves.tsv", "p4\thalf-p4-0.wav", "p5\thalf-p5-0.wav")
    means = {}
    for key, adapt in (
        ("cut", [cut]),
        ("segments", [home / "new.scp", "--adapt-segments", home / "new.segments",
                      "--adapt-utt2spk", home / "new.utt2spk"]),
        ("vad", [home / "new.scp", "--adapt-vad", home / "new.rttm"]),
        ("whole", [home / "new.scp"]),
    ):  # fmt: skip
        warned("train", home / "train.tsv", *SMALL, "--adapt", *adapt, "-o", home / "adapted.npz")
        steps = lk.speech.Recognizer.load(home / "adapted.npz").backend.chain.steps
        means[key] = steps[0].mean
    np.testing.assert_allclose(means["segments"], means["cut"], rtol=1e-6)
    assert np.abs(means["whole"] - means["cut"]).max() > 1e-3
    assert np.abs(means["vad"] - means["whole"]).max() > 1e-3


def test_options_that_would_do_nothing_are_refused(splits, monkeypatch):
    monkeypatch.chdir(splits)
    for typed in (
        "--backend cosine --rank 2", "--steps centre,length", "--adapt-vad x", "--gaussians 8",
    ):  # fmt: skip
        assert refused("train", "all.npz", "--where", "split = dev", *typed.split(), "-o", "no.npz")
    assert not (splits / "no.npz").exists()


def test_embeddings_of_two_lists_come_from_one_file_or_two(splits):
    """``--from`` holds for the list of ``--adapt`` and ``--cohort`` too, unless another file is named."""
    rows = {name: range(*ends) for name, ends in (("dev", (0, 32)), ("eval", (32, 48)))}
    for name, places in rows.items():
        (splits / f"{name}.tsv").write_text("".join(f"s{i // 4}\tu{i}\n" for i in places))
    everything, model = splits / "all.npz", splits / "m.npz"
    common = ("train", splits / "dev.tsv", "--from", everything, "--adapt")
    new = splits / "eval.tsv"
    assert warned(*common, new, "-o", model) == ""
    expected = lk.speech.Recognizer.load(model).backend.chain.steps[0].mean
    with np.load(everything) as arrays:
        np.testing.assert_allclose(expected, arrays["vectors"][32:].mean(axis=0))
        moved = {**arrays, "vectors": arrays["vectors"] + 1.0}
    np.savez(splits / "moved.npz", **moved)
    assert warned(*common, new, "--adapt-from", splits / "moved.npz", "-o", model) == ""
    found = lk.speech.Recognizer.load(model).backend.chain.steps[0].mean
    np.testing.assert_allclose(found, expected + 1.0)


@pytest.mark.slow
def test_embeddings_extracted_once_serve_like_the_recordings(home, need):
    need("kaldiio")
    assert warned(*score(home)) == ""
    expected = lk.read_trials(home / "s.csv").score_array
    assert warned("extract", home / "model.npz", home / "test.tsv", "-o", home / "test.npz") == ""
    assert warned(*score(home, "test.npz")) == ""
    np.testing.assert_allclose(lk.read_trials(home / "s.csv").score_array, expected, rtol=1e-12)
    assert warned("extract", home / "model.npz", home / "test.tsv", "-o", home / "test.ark") == ""
    (home / "who").write_text("p4-2.wav p4\np5-2.wav p5\n")
    assert warned(*score(home, "test.ark", "--utt2spk", home / "who"))  # extracted by an unknown recognizer
    np.testing.assert_allclose(lk.read_trials(home / "s.csv").score_array, expected, rtol=1e-5)


@pytest.fixture
def splits(tmp_path):
    """Embeddings of 12 speakers in two splits, of length 10 or so."""
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(12), 4)
    vectors = 5.0 * rng.normal(size=(12, 5))[who] + rng.normal(size=(48, 5))
    np.savez(tmp_path / "all.npz", vectors=vectors, ids=[f"u{i}" for i in range(48)],
             speakers=[f"s{i}" for i in who], split=np.where(who < 8, "dev", "eval"))  # fmt: skip
    return tmp_path


def test_all_splits_used_for_training(splits):
    assert "dev, eval" in warned("train", splits / "all.npz", "-o", splits / "m.npz")
    assert warned("train", splits / "all.npz", "--where", "split = dev", "-o", splits / "m.npz") == ""
    assert len(lk.speech.Recognizer.load(splits / "m.npz").training) == 32


def test_processed_embeddings_used_as_raw(splits):
    model, rest = splits / "m.npz", ("--where", "split = eval")
    assert warned("train", splits / "all.npz", "--where", "split = dev", "-o", model) == ""
    assert warned("enroll", model, splits / "all.npz", *rest, "-o", splits / "e.npz") == ""
    assert refused("score", model, splits / "e.npz", splits / "e.npz", "-o", splits / "s.csv")
    with np.load(splits / "all.npz") as arrays:
        unit = arrays["vectors"] / np.linalg.norm(arrays["vectors"], axis=1, keepdims=True)
        np.savez(splits / "unit.npz", **{**arrays, "vectors": unit, "ids": [f"v{i}" for i in range(48)]})
    assert warned("enroll", model, splits / "unit.npz", *rest, "-o", splits / "e2.npz")
