"""``llrkit paper prior-scan --scores``: the scan of anybody's scores."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import llrkit as lk
from llrkit.cli import cli


def run(*arguments):
    done = CliRunner().invoke(cli, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def scored(path, n=3000, seed=1):
    """Wide target scores of trials between models and segments; every third is of a known impostor."""
    rng = np.random.default_rng(seed)
    is_target = np.arange(n) % 4 == 0
    score = np.where(is_target, rng.normal(5.0, 1.6, n), rng.normal(0.0, 1.0, n))
    table = {"enroll": rng.integers(0, 40, n), "test": rng.integers(0, 60, n), "score": score}
    lk.write_trials(lk.Trials({**table, "label": is_target, "known": np.arange(n) % 3 == 0}), path)
    return path


@pytest.mark.slow
def test_prior_scan_of_own_scores_is_cross_validated_and_drawn(tmp_path):
    file = scored(tmp_path / "s.csv")
    run("paper", "prior-scan", "--scores", file, "--point", "sre08", "-o", tmp_path / "out",
        "--json", tmp_path / "scan.json")  # fmt: skip
    found = json.loads((tmp_path / "scan.json").read_text())
    assert found["schema"] == "llrkit.paper.prior-scan/1"
    (case,) = found["cases"]
    assert (found["cost"], case["name"]) == ("cost at sre08", "scores")
    trials = lk.read_trials(file)
    crossed = lk.cross_calibrate(trials, method="logistic", prior=float(1 / (1 + np.exp(4.0))))
    at = case["log_odds"].index(-4.0)
    assert case["logistic"][at] == pytest.approx(lk.act_dcf(crossed.source, point="sre08"), rel=1e-12)
    assert (tmp_path / "out" / "prior-scan-scores.svg").exists()
    run("plot", "prior-scan", tmp_path / "scan.json", "-o", tmp_path / "scan.svg")
    assert (tmp_path / "scan.svg").exists()


@pytest.mark.slow
def test_prior_scan_with_known_non_targets_and_with_a_file_to_test_on(tmp_path):
    train, test = scored(tmp_path / "a.csv"), scored(tmp_path / "b.csv", seed=2)
    run("paper", "prior-scan", "--scores", train, "--test", test, "--known", "known", "--json",
        tmp_path / "scan.json")  # fmt: skip
    found = json.loads((tmp_path / "scan.json").read_text())
    assert found["schema"] == "llrkit.paper.prior-scan/1"
    assert found["cost"] == "C_primary of sre12, known and unknown non-targets"
    fitted = lk.fit_logistic(lk.read_trials(train), prior=0.5)
    at = found["cases"][0]["log_odds"].index(0.0)
    wanted = lk.c_primary(fitted.on(lk.read_trials(test)), evaluation="sre12", known="known")
    assert found["cases"][0]["logistic"][at] == pytest.approx(wanted, rel=1e-12)


def test_prior_scan_refuses_what_it_cannot_honor(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scored(tmp_path / "s.csv", n=400)
    for typed in (
        "--known known", "--log10", "--scores s.csv --scale paper", "--scores nothing.csv",
        "--scores s.csv --known nobody", "--scores s.csv --p-known 0.3",
        "--scores s.csv --known known --point sre08",
    ):  # fmt: skip
        with pytest.raises(lk.LlrkitError):
            CliRunner().invoke(cli, ["paper", "prior-scan", *typed.split()], catch_exceptions=False)


@pytest.mark.slow
def test_a_fit_that_is_refused_has_its_reason_below_the_table(tmp_path):
    apart = lk.Scores(np.linspace(5.0, 6.0, 60), np.linspace(-1.0, 1.0, 90))
    is_target = np.repeat([True, False], [60, 90])
    lk.write_trials(lk.Trials({"score": np.append(*(apart.target, apart.nontarget)), "label": is_target}),
                    tmp_path / "s.csv")  # fmt: skip
    run("paper", "prior-scan", "--scores", tmp_path / "s.csv", "--json", tmp_path / "scan.json")
    (case,) = json.loads((tmp_path / "scan.json").read_text())["cases"]
    assert "logistic regression" in case["refused"]
    run("plot", "prior-scan", tmp_path / "scan.json", "-o", tmp_path / "scan.svg")
