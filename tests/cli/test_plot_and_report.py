"""llrkit plot and report, --html and --table, as a person uses them."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import llrkit as lk
from llrkit.cli import cli
from llrkit.cli.plot import OF_CLASSES, OF_RESULTS, OF_SCORES, OTHERS
from llrkit.plot.all_plots import PLOTS


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
    commands = {plot.command for plot in PLOTS.values()}
    assert commands == {*OF_SCORES, *OTHERS, *OF_CLASSES, *OF_RESULTS}


@pytest.mark.parametrize("kind", OF_SCORES)
def test_plots_of_scores(folder, tmp_path, kind):
    run("plot", kind, folder / "a.csv", folder / "b.csv", "-o", tmp_path / "out.svg")
    drawn = (tmp_path / "out.svg").read_text()
    assert drawn.count("<path") > 20


@pytest.mark.parametrize(
    "arguments",
    [
        ("det", "--curve", "hull", "--point", "0.1"),
        ("roc", "--curve", "hull"),
        ("tippett", "--style", "crossing", "--base-10"),
        ("det", "--by", "sex"),
        ("zoo", "--by", "speaker"),
        ("heat-map", "--by", "sex,long", "--value", "cllr"),
        ("two-gaussians",),
        ("theory", "--by", "sex", "--point", "sre12"),
        ("idempotence", "--speakers", "speaker"),
        ("det", "--bands"),
        ("tippett", "--bands", "--speakers", "speaker"),
        ("bayes-error", "--width", "page"),
        ("bayes-error", "--width", "4.5", "--names", "mine"),
    ],
)
def test_options_of_plots(folder, tmp_path, arguments):
    kind, *options = arguments
    run("plot", kind, folder / "a.csv", "-o", tmp_path / "out.png", *options)
    assert (tmp_path / "out.png").read_bytes()[:4] == b"\x89PNG"


def test_two_gaussians_without_scores(tmp_path):
    run("plot", "two-gaussians", "--eer", "5%", "-o", tmp_path / "out.pdf")
    assert (tmp_path / "out.pdf").read_bytes()[:4] == b"%PDF"


def test_theory_says_how_far_the_lists_of_an_experiment_are_from_it(tmp_path):
    eers = (0.05, 0.2)
    lists = [
        {"enroll": f"{i}", "test": "full", "eer": eer, "min_cllr": lk.theory.cllr_from_eer(eer) + 0.004}
        for i, eer in enumerate(eers)
    ]
    (tmp_path / "d.json").write_text(json.dumps({"lists": lists}))
    done = run("plot", "theory", tmp_path / "d.json", "-o", tmp_path / "out.svg")
    assert "minimum of 2 lists: root mean square 0.0040" in done.output
    # means over seeds: the number is that of the experiment, which averages the seeds' own
    seeds = {"lists": lists, "seeds": [1, 2], "rms_cllr_from_eer": 0.0051}
    (tmp_path / "s.json").write_text(json.dumps(seeds))
    done = run("plot", "theory", tmp_path / "s.json", "-o", tmp_path / "out.svg")
    assert "root mean square (mean over seeds) 0.0051" in done.output
    alone = run("plot", "theory", "--point", "sre08", "-o", tmp_path / "alone.pdf")
    assert "minimum DCF (sre08)" in alone.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("theory {} --value cllr", "plot theory: --value is for heat-map"),
        ("theory --by sex", "plot theory: --by is for files of scores"),
        ("theory --log10", "plot theory: the option 'log10' of reading is for files of scores"),
        ("det {} --style crossing", "plot det: --style is for tippett"),
        ("tippett {} --curve hull", "plot tippett: --curve is for det, roc"),
        ("zoo {} --by sex --point 0.1", "plot zoo: --point is for det"),
        ("reliability {} --by sex", "plot reliability: --by is for det"),
        ("two-gaussians {} --eer 5%", "a file of scores or --eer, not both"),
        ("roc {} --bands", "plot roc: --bands is for det, tippett, cross-entropy"),
        ("mixing {} --score-column score", "plot mixing: the option 'score' of reading"),
    ],
)
def test_an_option_that_a_figure_would_ignore_is_refused(folder, tmp_path, arguments, said):
    words = arguments.format(folder / "a.csv").split()
    with pytest.raises(lk.InputError, match=re.escape(said)):
        run("plot", *words, "-o", tmp_path / "out.svg")


def test_a_report_has_the_curves_of_theory_with_every_group_on_them(folder, tmp_path):
    done = run("report", folder / "a.csv", "--by", "sex", "--theory", "-o", tmp_path / "r.html")
    assert done.exit_code == 0
    page = (tmp_path / "r.html").read_text()
    assert ">Theory</h2>" in page
    figures = [figure for figure in data_of(tmp_path / "r.html")["figures"] if figure["kind"] == "theory"]
    assert figures[0]["title"] == "Cllr that the EER implies"
    points = [trace for trace in figures[0]["data"] if trace["mode"] == "markers"]
    assert [len(trace["x"]) for trace in points] == [2]


def test_columns_are_systems_and_html_is_interactive(folder, tmp_path):
    run("plot", "det", folder / "both.csv", "--score-columns", "plda,cosine", "-o", tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text()
    assert "plda: EER" in page
    assert "cosine: EER" in page
    assert re.search(r'<script[^>]*src="', page) is None


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("det",), "at least one file"),
        (("zoo", "a.csv"), "--by COLUMN"),
        (("heat-map", "a.csv"), "two columns"),
        (("heat-map", "a.csv", "--by", "sex,long,sex"), "two columns"),
        (("heat-map", "a.csv", "--by", "sex,long", "--value", "auc"), "known are eer, cllr"),
        (("det", "a.csv", "--names", "x,y"), "2 names for 1 system"),
        (("det", "a.csv", "b.csv", "--names", "x,x"), "not all different"),
        (("ece", "a.csv", "--by", "sex"), "--by is not available"),
        (("roc", "a.csv", "--bands"), "--bands is for det, tippett, cross-entropy"),
        (("prior-scan", "a.csv"), "reproduce prior-scan --json"),
        (("theory", "absent.json"), "reproduce durations --json"),
        (("theory", "absent.json", "a.csv"), "cannot be combined with files of scores"),
        (("cllr-scatter", "a.csv"), "reproduce durations --json"),
        (("det", "both.csv", "--score-columns", "plda", "--score-column", "plda"), "cannot be combined"),
        (("det", "a.csv", "--width", "wide"), "is not a number"),
    ],
)
def test_wrong_use_of_plot(folder, tmp_path, arguments, words):
    kind, *rest = arguments
    rest = [folder / part if part.endswith(".csv") else part for part in rest]
    with pytest.raises(lk.LlrkitError, match=words):
        run("plot", kind, *rest, "-o", tmp_path / "out.svg")
    assert list(tmp_path.iterdir()) == []


def test_files_of_other_kinds_are_refused_before_anything_is_read(tmp_path):
    with pytest.raises(lk.InputError, match=r"x\.doc: expected a file that ends in pdf, svg, png or html"):
        run("plot", "det", tmp_path / "absent.csv", "-o", tmp_path / "x.doc")


def data_of(path):
    return json.loads(re.search(r'id="report-data">(.*?)</script>', path.read_text(), re.DOTALL)[1])


def test_report_of_several_files_equals_the_library(folder, tmp_path):
    out = tmp_path / "report.html"
    done = run("report", folder / "a.csv", folder / "b.csv", "-o", out, "--point", "0.2", "--by", "sex",
               "--title", "Two", "--json", tmp_path / "r.json")  # fmt: skip
    assert f"The report is in {out}" in done.output
    found = data_of(out)
    expected = lk.evaluate(lk.read_trials(folder / "b.csv"), [lk.OperatingPoint(0.2)], by="sex")
    assert found["systems"] == ["a", "b"]
    assert found["json"]["systems"]["b"] == json.loads(json.dumps(expected.to_dict()))
    assert json.loads((tmp_path / "r.json").read_text())["systems"]["a"]["n_target"] == 80
    page = out.read_text()
    assert "Conditions: sex, a" in page
    assert page.count("a.csv") >= 2  # the file with its hash, and the command line


def test_report_with_calibrators(folder, tmp_path):
    out = tmp_path / "report.html"
    run("report", folder / "b.csv", "--train", folder / "a.csv", "--methods", "cmlg,logistic", "-o", out)
    assert "Calibrators compared" in out.read_text()
    with pytest.raises(lk.InputError, match="--train takes one system"):
        run("report", folder / "a.csv", folder / "b.csv", "--train", folder / "a.csv", "-o", out)


def test_report_with_intervals_and_tests_of_calibration(folder, tmp_path):
    out = tmp_path / "report.html"
    run("report", folder / "a.csv", "--ci", "speaker", "--speakers", "speaker", "--check", "-o", out)
    page = out.read_text()
    result = lk.evaluate(lk.read_trials(folder / "a.csv"), ci="speaker", speakers=["speaker"])
    low, high = result.intervals["cllr"]
    assert f"[{low:.4f}, {high:.4f}]" in page
    assert "7 speakers" in page
    kinds = [figure["kind"] for figure in data_of(out)["figures"]]
    assert "idempotence" in kinds
    assert any("toself" in str(trace.get("fill")) for trace in data_of(out)["figures"][0]["data"])
    check = lk.check_calibration(lk.read_trials(folder / "a.csv"), speakers=["speaker"])
    assert check.verdict.text in page
    assert "Aronow" in page
    assert "devPAV, Forensic" in page
    assert f">{check.recalibration.a:.3f} ± {check.recalibration.se_a:.3f}</td>" in page


@pytest.mark.parametrize("how", ["report", "evaluate"])
def test_the_advice_of_a_report_knows_clipped_scores(tmp_path, how):
    rng = np.random.default_rng(3)
    label = np.arange(900) % 3 == 0
    score = np.clip(np.where(label, 6.0, -6.0) + 8.0 * rng.normal(size=900), -10.0, 10.0)
    rows = [
        f"{x!r},{'target' if same else 'nontarget'}" for x, same in zip(score.tolist(), label, strict=True)
    ]
    (tmp_path / "clipped.csv").write_text("\n".join(["score,label", *rows]) + "\n")
    page = tmp_path / "page.html"
    run(how, tmp_path / "clipped.csv", {"report": "-o", "evaluate": "--html"}[how], page)
    assert "the highest score: they are clipped or saturated" in page.read_text(encoding="utf-8")


def test_evaluate_html_and_table(folder, tmp_path):
    out = tmp_path / "report.html"
    done = run("evaluate", folder / "a.csv", "--html", out, "--table", "markdown")
    result = lk.evaluate(lk.read_trials(folder / "a.csv"))
    assert done.stdout == lk.format_table({"a": result}, "markdown")
    assert "The report is in" in done.stderr
    assert "cross_entropy" in [figure["kind"] for figure in data_of(out)["figures"]]
    by = run("evaluate", folder / "a.csv", "--by", "sex", "--table", "csv")
    assert by.stdout.splitlines()[1].startswith("all,80,160,")
    run("evaluate", folder / "a.csv", "--equalize", "sex", "--html", out)
    assert "cross_entropy" not in [figure["kind"] for figure in data_of(out)["figures"]]
    plain = run("evaluate", folder / "a.csv", "--html", out)
    assert result.sentence in plain.stdout


def test_compare_html_and_table(folder, tmp_path):
    out = tmp_path / "report.html"
    done = run(
        "compare", folder / "a.csv", folder / "b.csv", "--methods", "cmlg", "--html", out, "--table", "latex"
    )
    assert done.stdout.startswith(r"% \usepackage{booktabs}")
    assert "cmlg &" in done.stdout
    assert data_of(out)["systems"] == ["raw", "cmlg"]
    run("compare", folder / "a.csv", folder / "a.csv", "--methods", "cmlg", "--html", out)
    assert "Trained and evaluated on the same trials" in out.read_text()


def test_json_on_standard_output_stands_alone(folder, tmp_path):
    done = run("report", folder / "a.csv", "-o", tmp_path / "r.html", "--json", "-")
    assert json.loads(done.stdout)["schema"] == "llrkit.report/1"


def test_calibrate_by_takes_one_column(folder, tmp_path):
    with pytest.raises(lk.InputError, match="calibrate --by takes one column, got 'long,sex'"):
        run("calibrate", folder / "a.csv", "--by", "long,sex", "-o", tmp_path / "cal.json")


def test_title_and_legend_of_a_plot(folder, tmp_path):
    plain, own = tmp_path / "plain.html", tmp_path / "own.html"
    run("plot", "roc", folder / "a.csv", "-o", plain)
    run("plot", "roc", folder / "a.csv", "-o", own, "--title", "Mine alone", "--no-legend")
    hidden = [page.read_text().count('"showlegend":false') for page in (plain, own)]
    assert hidden[1] == hidden[0] + 1
    assert ["Mine alone" in page.read_text() for page in (plain, own)] == [False, True]


def test_bands_say_what_they_assume_and_where_there_is_none(folder, tmp_path):
    assumed = "Bands hold if trials are independent"
    out = ("-o", tmp_path / "out.svg")
    assert assumed in run("plot", "det", folder / "a.csv", "--bands", *out).stderr
    by_speaker = run("plot", "tippett", folder / "a.csv", "--bands", "--speakers", "speaker", *out)
    assert assumed not in by_speaker.stderr
    apart = tmp_path / "apart.csv"
    apart.write_text("score,label\n" + "".join(f"{i},1\n{-i},0\n" for i in range(1, 40)))
    assert "apart: no band, because" in run("plot", "det", apart, "--bands", *out).stderr
    infinite = tmp_path / "infinite.csv"
    infinite.write_text(apart.read_text() + "inf,0\n")
    assert "infinite: no band, because" in run("plot", "cross-entropy", infinite, "--bands", *out).stderr
