"""Sixty voices, eight recordings each: no decision of the user, a second back-end for nothing, and kills."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner
from espeak import MORE_VOICES, speak_corpus

import llrkit as lk
from llrkit.cli import cli

pytestmark = pytest.mark.slow


def done(*arguments):
    result = CliRunner().invoke(cli, ["speech", *map(str, arguments), "--json", "-"])
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout), result.stderr


@pytest.fixture(scope="module")
def spoken(tmp_path_factory, need, need_program):
    need("soundfile"), need("kaldi_native_fbank")
    folder = tmp_path_factory.mktemp("voices")
    speak_corpus(need_program("espeak-ng"), folder, n_train=8, n_enroll=3, n_test=5, voices=MORE_VOICES)
    return folder


@pytest.fixture(scope="module")
def trained(spoken):
    numbers, words = done("train", spoken / "train.tsv", "-o", spoken / "model.npz")
    return numbers, words


def eer(spoken, model):
    done("enroll", model, spoken / "enroll.tsv", "-o", spoken / "enrolled.npz")
    asked = (model, spoken / "enrolled.npz", spoken / "test.tsv", "-o", spoken / "s.csv")
    return done("score", *asked)[0]["eer"]


def test_defaults_follow_the_data_and_tell_voices_apart(spoken, trained):
    numbers, _ = trained
    assert (numbers["n_gaussians"], numbers["n_factors"], len(numbers["speech_seconds"])) == (64, 70, 240)
    assert eer(spoken, spoken / "model.npz") < 0.08  # 1.1 % was seen
    evaluated = lk.evaluate(lk.read_trials(spoken / "s.csv"), speakers=("enroll_speaker", "test_speaker"))
    assert evaluated.n_target == 150


def test_a_second_backend_makes_no_frames(spoken, trained, monkeypatch):
    """The recordings are not even read: their folder could be gone."""
    from llrkit.speech import audio as audio

    monkeypatch.setattr(audio, "read_samples", None)
    done("train", "--from", spoken / "model.npz", "--backend", "lda-cosine", "-o", spoken / "lda.npz")
    monkeypatch.undo()
    assert eer(spoken, spoken / "lda.npz") < 0.08
    first, second = (lk.speech.Recognizer.load(spoken / f"{name}.npz") for name in ("model", "lda"))
    assert first.extractor.fingerprint == second.extractor.fingerprint


STOPPED = """
import os, signal, sys
from llrkit.cli import main
from llrkit.speech.frames import Stages

stage, how, keep = sys.argv.pop(1), int(sys.argv.pop(1)), Stages.save

def stop_or_keep(stages, name, *rest):
    if name == stage:
        os.kill(os.getpid(), how)
    keep(stages, name, *rest)

Stages.save = stop_or_keep
main()
"""


def stopped(stage, how, *command):
    """Run until a stage is made but not yet kept, where the signal comes; what was said, and the code."""
    program = [sys.executable, "-c", STOPPED, stage, str(int(how)), "speech", *map(str, command)]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=600)
    return ended.stderr, ended.returncode


def test_stopped_twice_in_the_middle_and_run_again_ends_with_the_same_bytes(spoken, tmp_path):
    """Ctrl-C while the background model is made, a kill while the statistics are; eight voices will do."""
    few, output = spoken / "few.tsv", tmp_path / "model.npz"
    few.write_text("".join((spoken / "train.tsv").read_text().splitlines(keepends=True)[:64]))
    done("train", few, "-o", spoken / "few.npz")
    command, stages = ("train", few, "-o", output), tmp_path / "model.npz.stages"
    words, code = stopped("ubm", signal.SIGINT, *command)
    assert (words.splitlines()[-1], code) == ("Aborted!", 1)
    assert "Traceback" not in words
    assert [path.name for path in stages.iterdir()] == ["frames.npz"]
    _, code = stopped("statistics", signal.SIGKILL, *command)
    assert code == -signal.SIGKILL
    assert not output.exists()
    kept = stages / "ubm.npz"
    made = kept.stat().st_mtime_ns
    done(*command)
    assert kept.stat().st_mtime_ns == made  # taken from there, not made again
    assert output.read_bytes() == (spoken / "few.npz").read_bytes()
