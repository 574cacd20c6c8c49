"""Intervals on the command line."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose
from shared_speakers import sample

import llrkit as lk
from llrkit.cli import cli


@pytest.fixture
def trial_file(tmp_path):
    path = tmp_path / "trials.csv"
    lk.write_trials(sample(15, 1500, names=True), path)
    return path


def run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.mark.parametrize("kind", ["none", "trial", "speaker", "bootstrap"])
def test_intervals_in_table_and_json_equal_the_library(trial_file, kind):
    options = {"speaker": ["--speakers", "left,right"]}
    options["bootstrap"] = [*options["speaker"], "--replicates", "100", "--seed", "4"]
    done = run("evaluate", trial_file, "--point", "0.3", "--ci", kind, "--json", "-", *options.get(kind, []))
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    keywords = {"speakers": ("left", "right")} if kind in options else {}
    keywords |= {"replicates": 100, "rng": 4} if kind == "bootstrap" else {}
    wanted = lk.evaluate(lk.read_trials(trial_file), [0.3], ci=kind, **keywords).to_dict()
    assert ("intervals" in found) == (kind != "none")
    if kind == "none":
        return
    assert_allclose(found["intervals"]["eer"], wanted["intervals"]["eer"], rtol=1e-12)
    assert_allclose(found["points"][0]["intervals"]["act_dcf"], wanted["points"][0]["intervals"]["act_dcf"])
    assert found["no_interval"] == wanted["no_interval"]
    assert ("design_effect" in found) == (kind in options)
    assert "Intervals:" in done.stderr
    low, high = found["intervals"]["cllr"]
    assert f"[{low:.4f}, {high:.4f}]" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ci", "speaker"], "give speakers"),
        (["--ci", "speaker", "--speakers", "left,nobody"], "there is no column 'nobody'"),
        (["--ci", "trial", "--level", "2"], "level must be strictly between 0 and 1"),
        (["--ci", "none", "--speakers", "left"], "ignores speakers"),
    ],
)
def test_wrong_use_is_one_line(trial_file, options, said):
    done = run("evaluate", trial_file, *options)
    assert isinstance(done.exception, lk.LlrkitError)
    assert said in str(done.exception)


def test_an_unknown_kind_is_refused_by_the_command_line(trial_file):
    done = run("evaluate", trial_file, "--ci", "perhaps")
    assert done.exit_code == 2
    assert "perhaps" in done.stderr


def test_numbers_without_interval_are_told_with_their_reason(tmp_path):
    nontarget = np.random.default_rng(5).normal(-1.0, 1.0, 400)
    lk.write_trials(
        lk.Trials({"score": np.append([0.5, 1.0, 2.0], nontarget), "label": np.arange(403) < 3}),
        tmp_path / "few.csv",
    )
    done = run("evaluate", tmp_path / "few.csv", "--ci", "trial", "--point", "sre08")
    assert done.exit_code == 0, done.output
    names = "EER, EER (ROC), AUC, Cllr, min Cllr, min DCF sre08 and act DCF sre08"
    assert f"no interval for {names}: 3 targets" in done.output
    assert "check_calibration" not in done.output  # what never has an interval needs no reason
