"""The report in a real browser: Chromium opens the file, and nothing else."""

import json
import re

import numpy as np
import pytest
from drawn import some_scores

import llrkit as lk
from llrkit.base.text import number, percent
from llrkit.report.document import provenance
from llrkit.report.page import write_class_report

pytestmark = pytest.mark.slow
EVIL = "<img src=x onerror=document.title='broken'>"
NAMES = ("A", EVIL)
PATIENCE = 180_000
"""Milliseconds."""


def scores_of(name):
    made = some_scores(seed=3 + NAMES.index(name), scale=1.0 + NAMES.index(name))
    groups = {EVIL: ([EVIL, "</script>"] * 30, [EVIL, "</script>"] * 150)}
    return lk.Scores(made.target, made.nontarget, groups)


SCORES = {name: scores_of(name) for name in NAMES}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    systems = {
        name: lk.evaluate(scores, points=["sre08", 0.3], by=EVIL, ece=True) for name, scores in SCORES.items()
    }
    path = folder / "report.html"
    lk.write_report(systems, path, title=f"Report {EVIL}", by=EVIL, made_from=provenance(command=EVIL))
    return path


@pytest.fixture(scope="module")
def opened(chromium, report):
    """The page, all plots drawn, and everything it said and asked for meanwhile."""
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    page = context.new_page()
    heard = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url))
    page.on("dialog", lambda dialog: heard.append(dialog.message))
    yield load(page, report), heard
    context.close()


def load(page, report):
    """Open the report and wait until all plots are drawn; a busy machine may take its time."""
    page.set_default_timeout(PATIENCE)
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready=true]")
    return page


def panel(page, system):
    """The cells of a system's row in the operating-point panel."""
    row = page.locator("#panel-table tbody tr").nth(NAMES.index(system))
    return row.locator("td").all_text_contents()


def expected(system, point):
    """The same cells, from the scores and the library."""
    scores = SCORES[system]
    p_miss, p_fa = np.mean(point.threshold > scores.target), np.mean(point.threshold <= scores.nontarget)
    return [
        f"{point.threshold:.3f}",
        percent(p_miss),
        percent(p_fa),
        number(lk.act_dcf(scores, point=point)),
        number(lk.min_dcf(scores, point=point)),
        f"{1000 * (point.p_target * p_miss):.2f}",
        f"{1000 * ((1 - point.p_target) * p_fa):.2f}",
    ]


def test_it_loads_in_silence_and_asks_for_nothing(opened, report):
    _, heard = opened
    assert heard == [report.as_uri(), "data:,"] or heard == [report.as_uri()]


def of_calibrators(path):
    lk.write_report(lk.compare(some_scores(), some_scores(seed=6), "cmlg,pav"), path)


def of_classes(path):
    labels = np.arange(200) % 4
    loglik = np.random.default_rng(5).normal(size=(200, 4)) + 2.0 * np.eye(4)[labels]
    trials = lk.scores.ClassScores(loglik, labels, ("a", "b", "<b>c</b>", "d"))
    pairs, means = lk.multiclass.pair_histograms(trials), lk.multiclass.idempotence(trials)
    write_class_report(lk.multiclass.evaluate(trials), path, pairs=pairs, idempotence=means)


def with_checks(path):
    scores = some_scores()
    result = lk.evaluate(scores, ece=True, ci="trial")
    bands = {"A": lk.trust.curve_bands(scores, result=result)}
    lk.write_report({"A": result}, path, bands=bands, checks={"A": lk.check_calibration(scores)})


@pytest.mark.parametrize(("write", "kinds"), [
    (of_calibrators, {"pav"}),
    (of_classes, {"class_det", "confusion", "class_calibration", "pair_histogram", "class_idempotence"}),
    (with_checks, {"idempotence"}),
])  # fmt: skip
def test_every_other_kind_of_report_loads_in_silence_and_fits(chromium, tmp_path, write, kinds):
    path = tmp_path / "report.html"
    write(path)
    page = chromium.new_page(viewport={"width": 420, "height": 800})
    heard = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url))
    load(page, path)
    assert {url for url in heard if url != "data:,"} == {path.as_uri()}
    data = json.loads(re.search(r'id="report-data">(.*?)</script>', path.read_text(), re.DOTALL)[1])
    assert kinds <= {figure["kind"] for figure in data["figures"]}
    traces = page.evaluate("[...document.querySelectorAll('.plot')].map(p => p._fullData.length)")
    assert traces == [len(figure["data"]) for figure in data["figures"]]
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    page.close()


def test_every_plot_has_its_traces(opened, report):
    page, _ = opened
    data = json.loads(re.search(r'id="report-data">(.*?)</script>', report.read_text(), re.DOTALL)[1])
    found = page.evaluate(
        "[...document.querySelectorAll('.plot')].map(p => [p._fullData.length, "
        "p.querySelectorAll('.scatterlayer .trace').length, p.querySelectorAll('.xtick').length])"
    )
    assert len(found) == len(data["figures"]) == 7 + 2 + 2 * 4
    for (traces, drawn, ticks), figure in zip(found, data["figures"], strict=True):
        assert traces == len(figure["data"]) > 2
        assert drawn >= traces - 4  # legend entries without points draw nothing
        assert ticks > 1


def test_names_show_as_text(opened):
    page, _ = opened
    assert page.title() == f"Report {EVIL}"
    assert page.locator("img").count() == 0
    assert page.locator("h1").text_content() == f"Report {EVIL}"
    legend = page.locator("#figure0 .legendtext").all_text_contents()
    assert any(text.startswith(EVIL) for text in legend)
    assert page.locator("th", has_text="</script>").count() > 0


def test_presets_give_the_costs_of_the_library(opened):
    page, _ = opened
    for k, point in enumerate((lk.operating_point("sre08"), lk.OperatingPoint(0.3))):
        page.select_option("#preset", str(k))
        for name in NAMES:
            assert panel(page, name) == expected(name, point)


@pytest.mark.parametrize("index", [300, 771, 1000, 1234, 1999])
def test_moving_the_prior_gives_the_costs_of_the_library(opened, index):
    page, _ = opened
    page.fill("#c-miss", "1")
    page.fill("#c-fa", "1")
    page.evaluate(
        "i => { const s = document.getElementById('log-odds'); s.value = i; "
        "s.dispatchEvent(new Event('input', {bubbles: true})); }",
        index,
    )
    log_odds = np.linspace(-10, 10, 2001)[index]
    point = lk.OperatingPoint(float(1 / (1 + np.exp(-log_odds))))
    for name in NAMES:
        assert panel(page, name) == expected(name, point)


STEM = "report-img-src-x-onerror-document-title-broken"


@pytest.mark.parametrize(("button", "name", "start"), [
    ("[data-download=csv]", f"{STEM}.csv", b"system,n_target"),
    ("[data-download=json]", f"{STEM}.json", b'{\n  "schema": "llrkit.report/1"'),
    ("[data-figure=figure0][data-save=svg]", "detection-error-trade-off.svg", b"<svg"),
    ("[data-figure=figure0][data-save=png]", "detection-error-trade-off.png", b"\x89PNG"),
])  # fmt: skip
def test_downloads(opened, tmp_path, button, name, start):
    page, _ = opened
    with page.expect_download() as waiting:
        page.click(button)
    waiting.value.save_as(tmp_path / "file")
    assert waiting.value.suggested_filename == name
    assert (tmp_path / "file").read_bytes().startswith(start)


"""How many cells tables have, and usual words in them that stand on more than one line."""
"""Pixels between the margins of a printed page."""


def test_arrow_keys_read_the_points_of_a_plot(opened):
    page, _ = opened
    page.focus("#figure0")
    read = []
    for key in ("ArrowRight", "ArrowRight", "End", "ArrowDown", "Home"):
        page.keyboard.press(key)
        read.append(page.text_content("#spoken"))
        for word in ("threshold", "Pmiss", "Pfa", "prior"):
            assert word in read[-1]
    assert len(set(read)) == len(read)
    assert all(said.startswith("A: EER") for said in read[:3])
    assert read[3].startswith(EVIL)
    assert page.locator("img").count() == 0
