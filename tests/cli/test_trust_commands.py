"""Intervals on the command line."""

import json

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


@pytest.mark.parametrize(
    "kind", ["none", "trial", "speaker", pytest.param("bootstrap", marks=pytest.mark.slow)]
)
def test_intervals_in_table_and_json_equal_the_library(trial_file, kind):
    options = {"speaker": ["--speakers", "left,right"]}
    options["bootstrap"] = [*options["speaker"], "--replicates", "100", "--seed", "4"]
    done = run("evaluate", trial_file, "--point", "0.3", "--ci", kind, "--json", "-", *options.get(kind, []))
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    keywords = {"speakers": ("left", "right")} if kind in options else {}
    keywords |= {"replicates": 100, "rng": 4} if kind == "bootstrap" else {}
    wanted = lk.evaluate(lk.read_trials(trial_file), points=[0.3], ci=kind, **keywords).to_dict()
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


def test_wrong_use_is_refused(trial_file):
    for options in ("--ci speaker", "--ci speaker --speakers left,nobody", "--ci trial --level 2",
                    "--ci none --speakers left"):  # fmt: skip
        assert isinstance(run("evaluate", trial_file, *options.split()).exception, lk.LlrkitError)
    assert run("evaluate", trial_file, "--ci", "perhaps").exit_code == 2
