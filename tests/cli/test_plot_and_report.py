"""llrkit plot and report, --html and --table, as a person uses them."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import llrkit as lk
from llrkit.cli import cli
from llrkit.jobs.options import FIGURES, FIGURES_WITH
from llrkit.jobs.plot import PLOTS


def run(*arguments, ok=True):
    """Run a command in this process; exceptions of llrkit come through."""
    done = CliRunner().invoke(cli, list(map(str, arguments)), catch_exceptions=False)
    assert (done.exit_code == 0) == ok, done.output
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two systems on the same trials, with speakers and conditions."""
    place = tmp_path_factory.mktemp("scores")
    rng = np.random.default_rng(5)
    lines = {"a": ["score,label,speaker,sex,long"], "b": ["score,label,speaker,sex,long"]}
    for i in range(240):
        target = i % 3 == 0
        for name, scale in (("a", 1.0), ("b", 2.0)):
            score = scale * rng.normal(2 if target else -2, 2)
            row = (
                f"{score!r}",
                "target" if target else "nontarget",
                f"s{i % 7}",
                "fm"[i % 2],
                "xy"[i % 5 > 2],
            )
            lines[name].append(",".join(row))
    for name, text in lines.items():
        (place / f"{name}.csv").write_text("\n".join(text) + "\n")
    wide = [f"{x.split(',')[0]},{y}" for x, y in zip(lines["a"][1:], lines["b"][1:], strict=True)]
    (place / "both.csv").write_text("\n".join(["plda,cosine,label,speaker,sex,long", *wide]) + "\n")
    return place


def test_every_plot_has_a_command():
    commands = {name.replace("_", "-") for name in PLOTS}
    assert commands == {kind for kinds in FIGURES.values() for kind in kinds}
    assert commands >= {kind for kinds in FIGURES_WITH.values() for kind in kinds}


@pytest.mark.slow
def test_plots_of_scores(folder, tmp_path):
    for kind in FIGURES["scores"]:
        run("plot", kind, folder / "a.csv", folder / "b.csv", "-o", tmp_path / "out.svg")
        assert (tmp_path / "out.svg").read_text().count("<path") > 20, kind


OPTIONS = """
det --curve hull --point 0.1 --bands
tippett --style crossing --base-10 --bands --speakers speaker
det --by sex --width 4.5
zoo --by speaker
heat-map --by sex,long --value cllr
two-gaussians
theory --by sex --point sre12
idempotence --speakers speaker
bayes-error --width page --names mine --title Own --no-legend
""".strip().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("typed", OPTIONS)
def test_options_of_plots(folder, tmp_path, typed):
    kind, *options = typed.split()
    run("plot", kind, folder / "a.csv", "-o", tmp_path / "out.png", *options)
    assert (tmp_path / "out.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_theory_says_how_far_the_lists_of_an_experiment_are_from_it(tmp_path):
    lists = [
        {"enroll": f"{i}", "test": "full", "eer": eer, "min_cllr": lk.theory.cllr_from_eer(eer) + 0.004}
        for i, eer in enumerate((0.05, 0.2))
    ]
    (tmp_path / "d.json").write_text(json.dumps({"lists": lists}))
    done = run("plot", "theory", tmp_path / "d.json", "-o", tmp_path / "out.svg")
    assert "root mean square 0.0040" in done.output


@pytest.mark.slow
def test_plots_of_results(folder, tmp_path):
    run("fuse", folder / "both.csv", "--score-columns", "plda,cosine", "-o", tmp_path / "f.json")
    run("plot", "fusion-weights", tmp_path / "f.json", "-o", tmp_path / "f.svg")
    lists = [{"enroll": "5", "test": "full", "cmlg": 0.4, "logistic": 0.41, "eer": 0.1}]
    (tmp_path / "d.json").write_text(json.dumps({"lists": lists}))
    run("plot", "cllr-scatter", tmp_path / "d.json", "-o", tmp_path / "d.svg")
    case = {"log_odds": [-1, 1], "cmlg": [0.2, 0.3], "logistic": [0.2, 0.25], "minimum": 0.1}
    (tmp_path / "p.json").write_text(json.dumps({"cases": [case, case]}))
    run("plot", "prior-scan", tmp_path / "p.json", "-o", tmp_path / "p.svg")
    assert {path.name for path in tmp_path.glob("*.svg")} == {"f.svg", "d.svg", "p.svg"}


WRONG = """
det
zoo a.csv
heat-map a.csv --by sex,long,sex
heat-map a.csv --by sex,long --value auc
det a.csv --names x,y
det a.csv b.csv --names x,x
ece a.csv --by sex
roc a.csv --bands
tippett a.csv --curve steps
bayes-error a.csv --point 0.1
det a.csv --speakers speaker
det a.csv --bands --by sex
zoo a.csv --by speaker --names mine
heat-map a.csv --by sex,long --shared target
mixing a.csv --log10
two-gaussians --eer 5% --log10
theory --by sex
confusion a.csv --names mine
pair-histogram a.csv --prior flat
det a.csv --width wide
theory a.csv --value cllr
theory absent.json
prior-scan a.csv
two-gaussians a.csv --eer 5%
det both.csv --score-columns plda --score-column plda
""".strip().splitlines()


@pytest.mark.parametrize("typed", WRONG)
def test_wrong_use_of_plot(folder, tmp_path, monkeypatch, typed):
    monkeypatch.chdir(folder)
    with pytest.raises((lk.LlrkitError, FileNotFoundError)):
        run("plot", *typed.split(), "-o", tmp_path / "out.svg")
    assert list(tmp_path.iterdir()) == []


def data_of(path):
    return json.loads(re.search(r'id="report-data">(.*?)</script>', path.read_text(), re.DOTALL)[1])


@pytest.mark.slow
def test_report_of_several_files_equals_the_library(folder, tmp_path):
    out = tmp_path / "report.html"
    run("report", folder / "a.csv", folder / "b.csv", "-o", out, "--point", "0.2", "--by", "sex",
        "--title", "Two", "--json", tmp_path / "r.json")  # fmt: skip
    found = data_of(out)
    expected = lk.evaluate(lk.read_trials(folder / "b.csv"), points=[lk.OperatingPoint(0.2)], by="sex")
    assert found["systems"] == ["a", "b"]
    assert found["json"]["systems"]["b"] == json.loads(json.dumps(expected.to_dict()))
    assert json.loads((tmp_path / "r.json").read_text())["systems"]["a"]["n_target"] == 80


@pytest.mark.slow
def test_report_with_calibrators(folder, tmp_path):
    out = tmp_path / "report.html"
    run("report", folder / "b.csv", "--train", folder / "a.csv", "--methods", "cmlg,logistic", "-o", out)
    assert "Calibrators compared" in out.read_text()
    with pytest.raises(lk.InputError):  # one system only
        run("report", folder / "a.csv", folder / "b.csv", "--train", folder / "a.csv", "-o", out)


@pytest.mark.slow
def test_report_with_intervals_and_tests_of_calibration(folder, tmp_path):
    out = tmp_path / "report.html"
    run("report", folder / "a.csv", "--ci", "speaker", "--speakers", "speaker", "--check", "-o", out)
    page = out.read_text()
    result = lk.evaluate(lk.read_trials(folder / "a.csv"), ci="speaker", speakers=["speaker"])
    low, high = result.intervals["cllr"]
    assert f"[{low:.4f}, {high:.4f}]" in page
    assert "idempotence" in [figure["kind"] for figure in data_of(out)["figures"]]
    check = lk.check_calibration(lk.read_trials(folder / "a.csv"), speakers=["speaker"])
    assert check.verdict.text in page
    assert f">{check.recalibration.a:.3f} ± {check.recalibration.se_a:.3f}</td>" in page


@pytest.mark.slow
def test_evaluate_html_and_table(folder, tmp_path):
    out = tmp_path / "report.html"
    done = run("evaluate", folder / "a.csv", "--html", out, "--table", "markdown")
    result = lk.evaluate(lk.read_trials(folder / "a.csv"))
    assert done.stdout == lk.format_table({"a": result}, "markdown")
    assert "cross_entropy" in [figure["kind"] for figure in data_of(out)["figures"]]
    by = run("evaluate", folder / "a.csv", "--by", "sex", "--table", "csv")
    assert by.stdout.splitlines()[1].startswith("all,80,160,")
    run("evaluate", folder / "a.csv", "--equalize", "sex", "--html", out)
    assert "cross_entropy" not in [figure["kind"] for figure in data_of(out)["figures"]]


def test_bands_say_where_there_is_none(tmp_path):
    apart = tmp_path / "apart.csv"
    apart.write_text("score,label\n" + "".join(f"{i},1\n{-i},0\n" for i in range(1, 40)))
    done = run("plot", "det", apart, "--bands", "-o", tmp_path / "out.svg")
    assert "apart: no band, because" in done.stderr
