"""``llrkit convert``, and the reading options of the other commands."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

import llrkit as lk
from llrkit.cli import cli


def run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path):
    (tmp_path / "scores").write_text("a x 0.1\na y -2.5\nb x 1e-17\n")
    (tmp_path / "trials").write_text("b x nontarget\na x target\na y nontarget\n")
    return tmp_path


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "tsv"])
def test_scores_and_key_become_one_table(files, ending):
    out = files / f"out.{ending}"
    done = run("convert", files / "scores", out, "--key", files / "trials")
    assert done.exit_code == 0
    assert_array_equal(lk.read_trials(out).score_array, [0.1, -2.5, 1e-17])
    assert_array_equal(lk.read_trials(out).is_target, [True, False, False])


def test_scores_alone_and_labels_apart(files, need):
    need("h5py")
    assert run("convert", files / "scores", files / "s.parquet").exit_code == 0
    for to in ("kaldi", "nist", "bosaris"):
        done = run("convert", files / "scores", files / "s", "--key", files / "trials", "--to", to,
                   "--key-output", files / "k")  # fmt: skip
        assert done.exit_code == 0
        read = lk.read_trials(files / "s", files / "k")
        assert_array_equal(read.score_array, [0.1, -2.5, 1e-17])
        assert_array_equal(read.is_target, [True, False, False])


def test_options_reach_every_command(files):
    (files / "t").write_text("0.5\n1\n2\n")
    (files / "n").write_text("1.5\n3\n4\n")
    options = ["--nontargets", files / "n", "--distance", "--log10", "--format", "values"]
    found = json.loads(run("evaluate", files / "t", *options, "--json", "-").stdout)
    trials = lk.read_trials(files / "t", nontargets=files / "n", distance=True, log10=True)
    assert found["cllr"] == lk.cllr(trials)
    assert run("diagnose", files / "t", *options).exit_code == 0
    assert run("calibrate", files / "t", *options, "--method", "cmlg", "-o", files / "c.json").exit_code == 0


def test_wrong_use_leaves_nothing(files):
    before = sorted(path.name for path in files.iterdir())
    for arguments in (["out.xyz"], ["out", "--to", "word"], ["out.kaldi", "--format", "bob"]):
        done = run("convert", files / "scores", files / arguments[0], *arguments[1:])
        assert isinstance(done.exception, lk.LlrkitError)
    assert sorted(path.name for path in files.iterdir()) == before


def test_the_output_may_be_an_option(files):
    for arguments in ([files / "a.csv"], ["-o", files / "b.csv"]):
        assert run("convert", files / "scores", *arguments).exit_code == 0
    assert (files / "a.csv").read_bytes() == (files / "b.csv").read_bytes()
    for arguments in ([files / "c.csv", "-o", files / "d.csv"], []):
        assert isinstance(run("convert", files / "scores", *arguments).exception, lk.InputError)
