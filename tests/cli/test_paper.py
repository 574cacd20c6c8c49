"""``llrkit paper``: tables, figures, pages, JSON."""

import json

import commands
import pytest
from click.testing import CliRunner

import llrkit as lk
from llrkit.cli import cli
from llrkit.experiments import durations
from llrkit.experiments.folder import write_experiments
from llrkit.experiments.lists import ListResult, ListTable
from llrkit.experiments.real import RealResult


@pytest.fixture
def two_durations(monkeypatch):
    """Four lists instead of 25."""
    monkeypatch.setattr(durations, "SECONDS", durations.SECONDS[-2:])


def run(*arguments):
    done = CliRunner().invoke(cli, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.slow
def test_demo_ends_by_saying_where_the_report_is(tmp_path):
    done = run("paper", "--small", "-o", tmp_path / "demo")
    path = done.output.splitlines()[-1].removeprefix("The report is in ")
    assert (tmp_path / path).is_file()
    numbers = json.loads((tmp_path / "demo" / "numbers.json").read_text())
    assert numbers["schema"] == "llrkit.paper/1"
    assert len(numbers["durations"]["lists"]) == 25
    for name in ("two-gaussians", "durations-cllr", "durations-eer", "prior-scan-unequal"):
        assert (tmp_path / "demo" / f"{name}.svg").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.usefixtures("two_durations")
def test_durations_prints_tables_and_json_alone_goes_to_standard_output(tmp_path):
    done = run("paper", "durations", "--seed", 3, "--seeds", 2, "--json", "-", "-o", tmp_path / "out")
    found = json.loads(done.stdout)
    assert found["schema"] == "llrkit.paper.durations/1"
    assert found["experiment"] == "durations"
    assert found["mean"].keys() >= {"eer", "cmlg", "logistic", "min_cllr"}
    assert len(found["pooled"]["cmlg"]) == 4
    assert found["seeds"] == [3, 4]
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".html", ".svg", ".pdf"}
    again = json.loads(run("paper", "durations", "--seed", 3, "--seeds", 2, "--json", "-").stdout)
    assert {**again, "seconds": 0} == {**found, "seconds": 0}


def test_prior_scan_prints_all_three_cases(tmp_path):
    done = run("paper", "prior-scan", "--json", tmp_path / "scan.json")
    found = json.loads((tmp_path / "scan.json").read_text())
    assert found["schema"] == "llrkit.paper.prior-scan/1"
    assert [case["name"] for case in found["cases"]] == ["equal", "unequal", "corpora"]
    assert "0.3932" in done.output  # printed in the theory digest: unequal variances, CMLG, alpha 1/2
    assert done.output.count("0.2383") >= 34


@pytest.mark.slow
def test_real_scores_and_embeddings(tmp_path):
    trials = lk.simulate.simulate_trials(
        lk.theory.GaussianLLR.from_eer(0.1), n_target=300, n_nontarget=2000, rng=2
    ).trials()
    lk.write_trials(trials, tmp_path / "s.csv")
    done = run("paper", "real", "--scores", tmp_path / "s.csv", "--by", "gender,enroll_duration",
               "--training", "same", "--json", "-")  # fmt: skip
    found = json.loads(done.stdout)
    assert found["schema"] == "llrkit.paper.real/1"
    assert (found["experiment"], found["training"], len(found["lists"])) == ("real", "same", 10)
    assert found["lists"][0].keys() >= {"enroll", "test", "cmlg", "sd_ratio"}
    assert "pooled" not in done.stderr
    run("simulate", "embeddings", "--background", 60, "--speakers", 10, "--dim", 30, "-o", tmp_path / "e.npz")
    real = json.loads(run("paper", "real", "--embeddings", tmp_path / "e.npz", "--json", "-").stdout)
    assert real["schema"] == "llrkit.paper.real/1"
    assert (real["scorer"], len(real["lists"])) == ("plda", 25)


def test_wrong_use_is_refused():
    for typed in (
        "--small durations", "--seed 3",
        "durations --scale huge", "durations --seed -3", "durations --seeds 0", "prior-scan --scale huge",
        "real", "real --scores a --embeddings b", "real --scores a.csv", "real --embeddings nothing.npz",
    ):  # fmt: skip
        assert commands.run("paper", *typed.split())[0] == 2, typed


def a_list(**changes):
    plain = {
        "enroll": "<b>5</b>", "test": "full & more", "n_target": 10, "n_nontarget": 90, "eer": 0.1,
        "raw_cllr": 2.0, "cmlg": 0.36, "logistic": 0.37, "min_cllr": 0.35, "cllr_from_eer": 0.345,
        "det_slope": -1.0,
    }  # fmt: skip
    return ListResult(**{**plain, **changes})


@pytest.mark.slow
def test_names_of_conditions_are_escaped_on_the_page(tmp_path):
    table = ListTable((a_list(), a_list(enroll="<script>x</script>", cmlg=0.5)))
    scores = lk.evaluate(lk.Scores([1.0, 2.0], [0.0, 1.5]))
    result = RealResult(table, ({}, {}), {"by": ["<i>"]}, 1.0, {"raw": scores})
    page = write_experiments(tmp_path / "out", real=result, brief=True).read_text(encoding="utf-8")
    assert "<script>x" not in page
    assert "&lt;script&gt;x&lt;/script&gt;" in page
    assert "['<i>']" not in page
    assert "&lt;b&gt;5&lt;/b&gt;" in page
