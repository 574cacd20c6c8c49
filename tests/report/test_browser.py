"""The report in a real browser: Chromium opens the file, and nothing else."""

import json
import re

import numpy as np
import pytest
from drawn import some_scores

import llrkit as lk
from llrkit._format import number, percent
from llrkit.report.class_page import write_class_report
from llrkit.report.documents import Document
from llrkit.report.provenance import provenance
from llrkit.report.report_tables import TextTable
from llrkit.report.section_types import Section
from llrkit.validation.validation_words import FULL_HEADER

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
        name: lk.evaluate(scores, ["sre08", 0.3], by=EVIL, ece=True) for name, scores in SCORES.items()
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


def wait_until(page, expression):
    """Ask again and again; the policy of the page forbids it to ask itself."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {expression}")


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
        number(lk.act_dcf(scores, point)),
        number(lk.min_dcf(scores, point)),
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
    trials = lk.ClassScores(loglik, labels, ("a", "b", "<b>c</b>", "d"))
    pairs, means = lk.multiclass.pair_histograms(trials), lk.multiclass.idempotence(trials)
    write_class_report(lk.multiclass.evaluate(trials), path, pairs=pairs, idempotence=means)


def with_checks(path):
    scores = some_scores()
    result = lk.evaluate(scores, ece=True, ci="trial")
    bands = {"A": lk.curve_bands(scores, result)}
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


def test_typed_priors_and_costs_move_to_the_nearest_stored_prior(opened):
    page, _ = opened
    page.fill("#c-miss", "5")
    page.fill("#c-fa", "2,5")
    page.fill("#prior", "7 %")
    wanted = np.log(0.07 / 0.93) + np.log(2.0)
    nearest = round(wanted, 2)
    point = lk.OperatingPoint(float(1 / (1 + np.exp(-(nearest - np.log(2.0))))), 5, 2.5)
    assert_costs = expected("A", point)
    assert panel(page, "A") == assert_costs
    assert page.evaluate("llrkit.state().odds") == pytest.approx(nearest, abs=1e-9)
    page.fill("#prior", "0.00000001")
    assert "end of the stored range" in page.text_content("#panel-used")
    page.fill("#prior", "2")
    assert page.get_attribute("#prior", "aria-invalid") == "true"
    assert "between 0 and 1" in page.text_content("#panel-used")
    page.select_option("#preset", "0")


def test_numbers_are_rounded_as_python_does(opened):
    """Exact halves go to even; the panel shows 3.125 % of misses as 3.12 %."""
    page, _ = opened
    source = page.evaluate("[...document.scripts].at(-1).textContent")
    fixed = re.search(r"function fixed\(.*?\n}\n", source, re.DOTALL)[0]
    rng = np.random.default_rng(1)
    values = [0.125, 0.375, 3.125, 2.5, 1e-9, 0.0, -0.625, 999999.5, 1234567.0, *rng.normal(0, 3, 200)]
    values += (rng.integers(0, 64, 50) / 64).tolist()
    shown = page.evaluate(f"values => {{ {fixed} return values.map(v => [2, 4].map(d => fixed(v, d))); }}",
                          [float(v) for v in values])  # fmt: skip
    assert shown == [[number(float(v), 2), number(float(v), 4)] for v in values]


def test_keyboard_reaches_the_panel_and_moves_it(opened):
    page, _ = opened
    page.focus("#log-odds")
    before = page.input_value("#log-odds")
    page.keyboard.press("ArrowRight")
    assert int(page.input_value("#log-odds")) == int(before) + 1
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert page.get_attribute("html", "data-theme") == "dark"
    ink = page.evaluate("getComputedStyle(document.body).color")
    paper = page.evaluate("document.getElementById('figure0')._fullLayout.paper_bgcolor")
    assert ink == "rgb(230, 233, 237)"
    assert paper == "#14171b"
    page.keyboard.press("Enter")
    assert page.get_attribute("html", "data-theme") == "light"


def test_systems_can_be_hidden(opened):
    page, _ = opened
    page.uncheck("input[data-system='1']")
    wait_until(page, "document.getElementById('figure0')._fullData.filter(t => !t.visible).length > 0")
    shown = page.evaluate(
        "document.getElementById('figure0')._fullData.filter(t => t.visible === true).map(t => t.meta.group)"
    )
    assert "A" in shown
    assert EVIL not in shown
    page.click("#all-systems")
    wait_until(page, "document.getElementById('figure0')._fullData.every(t => t.visible)")


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


RATES = ("threshold", "Pmiss", "Pfa", "prior")
READ = {
    "det": RATES, "roc": RATES, "bayes_error": RATES, "ape": RATES, "cross_entropy": ("prior", "bits"),
    "tippett": ("LLR", "at or above"), "pav": ("score", "LLR"),
    "histogram": ("LLR from", "to", "trials", "density"),
}  # fmt: skip


def test_every_kind_of_plot_tells_its_values_when_pointed_at(opened, report):
    page, _ = opened
    data = json.loads(re.search(r'id="report-data">(.*?)</script>', report.read_text(), re.DOTALL)[1])
    kinds = [figure["kind"] for figure in data["figures"]]
    assert set(kinds) == set(READ)
    for kind, words in READ.items():
        i = kinds.index(kind)
        traces = data["figures"][i]["data"]
        k = next(k for k, trace in enumerate(traces) if "customdata" in trace and trace["name"])
        middle = len(traces[k]["x"]) // 2
        page.evaluate("([f, k, m]) => Plotly.Fx.hover(f, [{curveNumber: k, pointNumber: m}])",
                      [f"figure{i}", k, middle])  # fmt: skip
        shown = page.locator(f"#figure{i} .hoverlayer").text_content()
        assert [word for word in words if word not in shown] == [], kind


def test_the_page_is_as_wide_as_the_window(chromium, opened, report):
    narrow = load(chromium.new_page(viewport={"width": 420, "height": 800}, color_scheme="dark"), report)
    for page, width, scheme in ((opened[0], 1400, "light"), (narrow, 420, "dark")):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.get_attribute("html", "data-theme") == scheme
        widths = page.evaluate("[...document.querySelectorAll('.plot')].map(p => p._fullLayout.width)")
        assert max(widths) <= width
    narrow.close()


BROKEN_WORDS = r"""() => {
  const broken = [], cells = document.querySelectorAll("th, td");
  for (const cell of cells) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode())
    for (const word of texts.currentNode.data.matchAll(/[A-Za-z]{2,14}(?![A-Za-z])/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
      if (lines.size > 1) broken.push(word[0]);
    }
  }
  return [cells.length, broken];
}"""
"""How many cells tables have, and usual words in them that stand on more than one line."""
INSIDE = round((210 - 24) / 25.4 * 96)
"""Pixels between the margins of a printed page."""


def test_words_of_a_printed_validation_matrix_are_whole(chromium, tmp_path):
    """As many columns as it has, with the words of forensic science, which are the longest."""
    found = (
        "no evidence of miscalibration (p = 0.23 at a level of 3 %); a factor 1.32 or an offset of 0.56 nats "
    )
    found += "would have been found in about 80 % of such sets"
    row = ("discriminating power", "verdict", "ECE after PAV, DET", "<= 10 % with its whole interval",
           "these comparisons", found, "NOT DECIDED", "worst of 2: test_channel = microphone")  # fmt: skip
    table = TextTable(FULL_HEADER, (row, row))
    Document("Validation report", [Section("Validation", (), [table])]).write_html(tmp_path / "matrix.html")
    page = chromium.new_page(viewport={"width": INSIDE, "height": 900})
    page.goto((tmp_path / "matrix.html").as_uri())
    page.emulate_media(media="print")
    assert page.evaluate(BROKEN_WORDS) == [24, []]
    assert page.evaluate("document.documentElement.scrollWidth") <= INSIDE
    page.close()


def test_the_print_view_fits_a4(chromium, report):
    page = load(chromium.new_page(viewport={"width": 1400, "height": 900}, color_scheme="dark"), report)
    printed = page.pdf(prefer_css_page_size=True)
    boxes = {
        tuple(round(float(x)) for x in box.split()) for box in re.findall(rb"/MediaBox \[([^\]]*)\]", printed)
    }
    assert len(boxes) == 1
    left, bottom, right, top = boxes.pop()
    assert (right - left, top - bottom) in [(595, 842), (594, 842), (596, 842)]  # A4 in points
    page.set_viewport_size({"width": INSIDE, "height": 1000})
    page.emulate_media(media="print")
    wait_until(page, "document.getElementById('figure0')._fullLayout.width === 640")
    assert page.evaluate("document.documentElement.scrollWidth") <= INSIDE
    over = page.evaluate(
        "w => [...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > w + 1 "
        "&& e.getBoundingClientRect().width > 0 && !e.closest('svg')).map(e => e.outerHTML.slice(0, 80))",
        INSIDE,
    )
    assert over == []
    cells, broken = page.evaluate(BROKEN_WORDS)
    assert cells > 20
    assert broken == []
    assert page.evaluate("document.getElementById('figure0')._fullLayout.paper_bgcolor") == "#FFFFFF"
    assert page.locator("#panel-form").is_hidden()
    assert page.locator("main details:not([open])").count() == 0  # nothing on paper can be opened
    page.emulate_media(media="screen")
    wait_until(page, "document.querySelectorAll('main details:not([open])').length > 10")
    page.close()


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
