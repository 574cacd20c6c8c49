"""Hostile names, and what a page or a table must not give away or let run."""

import csv
import io
import re
import socket

import numpy as np
import polars as pl
import pytest
from commands import run
from drawn import some_scores

import llrkit as lk
from llrkit.base.text import csv_text
from llrkit.jobs.job import Job
from llrkit.report.page import write_class_report

NAMES = ("constructor", "toString", "__proto__", "hasOwnProperty", "prototype", "valueOf")
FORMULAS = (
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    " =1",
    "\uff1d1",
    "=1",
    '=HYPERLINK("x")',
)
FOLDER = "the-folder-nobody-should-see"
PATIENCE = 180_000
"""Milliseconds."""


def said_by(chromium, path, ready):
    """Everything a page says or asks for until it is drawn, and how many plots it then has."""
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE)
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector(ready)
    plots = page.evaluate("[...document.querySelectorAll('.js-plotly-plot')].map(p => p._fullData.length)")
    page.close()
    return [words for words in said if words not in (path.as_uri(), "data:,")], plots


def systems():
    columns = {"__proto__": (np.array(NAMES)[np.arange(60) % 6], np.array(NAMES)[np.arange(300) % 6])}
    scores = some_scores()
    named = lk.Scores(scores.target, scores.nontarget, columns)
    return {name: lk.evaluate(named, points=["sre08"], by="__proto__", ece=True) for name in NAMES}


@pytest.mark.slow
def test_names_of_javascript_are_names_in_a_report(chromium, tmp_path):
    lk.write_report(systems(), tmp_path / "report.html", by="__proto__", title="constructor")
    said, plots = said_by(chromium, tmp_path / "report.html", "html[data-ready=true]")
    assert said == []
    assert len(plots) > 10
    assert all(plots)


@pytest.mark.slow
def test_names_of_javascript_are_names_in_a_report_on_classes(chromium, tmp_path):
    labels = np.arange(240) % 6
    loglik = np.random.default_rng(5).normal(size=(240, 6)) + 2.0 * np.eye(6)[labels]
    trials = lk.scores.ClassScores(loglik, labels, NAMES)
    result, pairs = lk.multiclass.evaluate(trials), lk.multiclass.pair_histograms(trials)
    write_class_report(result, tmp_path / "report.html", pairs=pairs)
    said, plots = said_by(chromium, tmp_path / "report.html", "html[data-ready=true]")
    assert said == []
    assert all(plots)


@pytest.mark.slow
def test_a_plot_as_a_page_has_the_policy_of_a_report_and_loads_in_silence(chromium, tmp_path):
    files = []
    for seed, name in enumerate(NAMES[:3]):
        scores, file = some_scores(seed=seed), tmp_path / f"{name}.csv"
        rows = [*((s, "target") for s in scores.target), *((s, "nontarget") for s in scores.nontarget)]
        pl.DataFrame(rows, schema=["score", "label"], orient="row").write_csv(file)
        files.append(file)
    code, _, complained = run("plot", "det", *files, "-o", tmp_path / "det.html")
    assert code == 0, complained
    lk.write_report(lk.evaluate(some_scores()), tmp_path / "report.html")
    drawn, report = ((tmp_path / name).read_text() for name in ("det.html", "report.html"))
    policy = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
    assert policy.search(drawn)[1] == policy.search(report)[1]
    assert "default-src 'none'" in policy.search(drawn)[1]
    assert drawn.index("Content-Security-Policy") < drawn.index("<script")
    said, plots = said_by(chromium, tmp_path / "det.html", ".js-plotly-plot .scatterlayer .trace")
    assert said == []
    assert len(plots) == 1


def test_no_cell_of_a_csv_table_is_a_formula():
    results = {name: lk.evaluate(some_scores(), points=["sre08"]) for name in (*FORMULAS, "-3.5", "plain")}
    rows = list(csv.reader(io.StringIO(lk.format_table(results, "csv", row_title="=1+1"))))
    assert rows[0][0] == "'=1+1"
    assert [row[0] for row in rows[1:]] == [*(f"'{name}" for name in FORMULAS), "-3.5", "plain"]
    for row in rows[1:]:
        assert float(row[1 + rows[0][1:].index("cllr")]) == results["plain"].cllr
        for cell in row[1:]:
            float(cell)


def test_the_download_of_a_report_has_no_formula(tmp_path):
    lk.write_report({FORMULAS[0]: lk.evaluate(some_scores())}, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    table = re.search(r'"csv":"(.*?)(?<!\\)"[,}]', page)[1]
    assert "\\n'=cmd|" in table


def test_numbers_and_plain_names_stay_as_they_are_in_csv():
    for text in ("-3", "+2.5e-7", "-inf", "plain", "a=b", "1-2", ""):
        assert csv_text(text) == text


@pytest.fixture
def folder(tmp_path):
    """A folder whose name is private, with scores and criteria."""
    place = tmp_path / FOLDER
    place.mkdir()
    for seed, name in enumerate(("dev", "eval")):
        scores = some_scores(seed=seed)
        rows = [*((s, "target") for s in scores.target), *((s, "nontarget") for s in scores.nontarget)]
        pl.DataFrame(rows, schema=["score", "label"], orient="row").write_csv(place / f"{name}.csv")
    (place / "criteria.toml").write_text(
        '[[criterion]]\ncharacteristic = "accuracy"\nmetric = "eer"\nat_most = 0.9\n'
    )
    return place


WRITERS = {
    "report": ("report", "{0}/eval.csv", "-o", "{0}/page", "--title", "A/B"),
    "evaluate": ("evaluate", "{0}/eval.csv", "--html", "{0}/page", "--json", "{0}/numbers.json"),
    "diagnose": ("diagnose", "{0}/dev.csv", "{0}/eval.csv", "--methods", "cmlg", "--html", "{0}/page"),
    "validate": ("validate", "{0}/eval.csv", "--criteria", "{0}/criteria.toml", "--html", "{0}/page"),
    "validate in Markdown": (
        "validate", "{0}/eval.csv", "--criteria", "{0}/criteria.toml", "--md", "{0}/page",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "kind", [name if name == "evaluate" else pytest.param(name, marks=pytest.mark.slow) for name in WRITERS]
)
def test_reports_show_names_of_files_and_paths_only_if_asked(folder, monkeypatch, kind):
    arguments = [word.format(folder) for word in WRITERS[kind]]
    for more, wanted in (([], False), (["--full-paths"], True)):
        monkeypatch.setattr("sys.argv", ["llrkit", *arguments, *more])
        code, _, complained = run(*arguments, *more)
        assert code == 0, complained
        page = (folder / "page").read_text()
        assert "eval.csv" in page
        assert f"llrkit {arguments[0]} " in page
        assert (FOLDER in page) == wanted


def test_command_lines_are_quoted_with_names():
    for verb, typed, shown in (
        ("report", {"scores": ("a/x.csv",), "output": "b/r.html", "names": "e/f,g"},
         "report x.csv --names e/f,g --output r.html"),
        ("evaluate", {"scores": "a/x/", "key": "k/y", "json": "-"}, "evaluate x/ --key y --json -"),
        ("evaluate", {"scores": "s/*.parquet", "scheduler": "tcp://h:1"},
         "evaluate '*.parquet' --scheduler tcp://h:1"),
    ):  # fmt: skip
        assert Job.of(verb, typed).command_line() == f"llrkit {shown}"


@pytest.mark.slow
def test_commands_open_no_connection(folder, monkeypatch):
    opened = []

    def refuse(channel, address):
        opened.append(address)
        raise OSError("no connection in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    dev, test = folder / "dev.csv", folder / "eval.csv"
    for arguments in (
        ("evaluate", test, "--html", folder / "evaluation.html"),
        ("calibrate", dev, "--method", "logistic", "-o", folder / "cal.json"),
        ("apply", folder / "cal.json", test, "-o", folder / "llrs.csv"),
        ("diagnose", dev, test, "--methods", "cmlg,pav"),
        ("report", test, "--train", dev, "-o", folder / "report.html"),
        ("plot", "det", test, "-o", folder / "det.pdf"),
        ("validate", test, "--criteria", folder / "criteria.toml"),
        ("theory", "--eer", "5%"),
    ):
        code, _, complained = run(*arguments)
        assert code == 0, complained
    assert opened == []
    with pytest.raises(OSError, match="in this test"):  # one would have been seen
        socket.create_connection(("127.0.0.1", 9))
