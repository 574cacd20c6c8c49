"""The worked examples in docs/ run as they stand: every line of their shell blocks."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from espeak import speak_corpus

import llrkit as lk
from llrkit.cli import cli

DOCS = Path(__file__).parents[1] / "docs"
pytestmark = pytest.mark.slow


def commands(page):
    blocks = re.findall(r"^```sh\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def run_all(page, folder, monkeypatch):
    """Run every command of a page in a folder."""
    monkeypatch.chdir(folder)
    lines = commands(page)
    assert len(lines) > 8
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "llrkit"
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 0, (line, result.output, result.exception)
        if arguments[0] == "speech":  # so few trials may well have a warning of calibration
            assert "warning" not in result.stderr, (line, result.stderr)


def test_from_recordings_to_llrs(tmp_path, monkeypatch, need, need_program):
    need("soundfile"), need("kaldi_native_fbank")
    speak_corpus(need_program("espeak-ng"), tmp_path)
    for part in ("enroll", "test"):
        rows = [line.split("\t") for line in (tmp_path / f"{part}.tsv").read_text().splitlines()]
        voices = sorted({voice for voice, _ in rows})
        split = {voice: ("eval", "dev")[i % 2] for i, voice in enumerate(voices)}
        gender = {voice: "fm"[i // 2 % 2] for i, voice in enumerate(voices)}
        lines = (f"{voice}\t{file}\t{split[voice]}\t{gender[voice]}" for voice, file in rows)
        (tmp_path / f"{part}.tsv").write_text("speaker\tfile\tsplit\tgender\n" + "\n".join(lines) + "\n")
    run_all("tutorials/recordings-to-llrs.md", tmp_path, monkeypatch)
    llrs = lk.read_trials(tmp_path / "llrs.parquet", score="llr")
    assert lk.cllr(llrs) < 0.8
    assert lk.eer(llrs) < 0.15


def test_from_embeddings_to_llrs(tmp_path, monkeypatch):
    run_all("tutorials/embeddings-to-llrs.md", tmp_path, monkeypatch)
    llrs = lk.read_trials(tmp_path / "llrs.parquet", score="llr")
    assert lk.cllr(llrs) < 1.0
    recognizers = [lk.speech.Recognizer.load(tmp_path / f"{name}.npz") for name in ("plain", "model")]
    everything = lk.speech.read_embeddings(tmp_path / "all.npz").where(split="eval", duration="full")
    eers = []
    for recognizer in recognizers:
        models = recognizer.enroll(everything.where(side="A"))
        tests = recognizer.prepare(everything.where(side="B"))
        same = models.speakers[:, None] == tests.speakers
        scores = recognizer.scores(models, tests)
        eers.append(lk.eer(lk.Scores(scores[same], scores[~same])))
    assert eers[1] < eers[0]
