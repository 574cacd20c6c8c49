"""The page as text: everything escaped, numbers as the library writes them, small whatever the trials."""

import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import numpy as np
import pytest
from drawn import some_evaluation, some_scores
from numpy.testing import assert_array_equal

import llrkit as lk
from llrkit.base.text import number, percent
from llrkit.report.document import Provenance, Section, provenance
from llrkit.report.page import encoded_counts
from llrkit.report.tables import TextTable
from llrkit.verbs.conditions import HeatMap

EVIL = "</script><img src=x onerror=alert(1)>&\"'"


class Reader(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.text, self.inside = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inside.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.inside):
            self.text.append(data)


def page_of(results, folder, **options):
    lk.write_report(results, folder / "report.html", **options)
    return (folder / "report.html").read_text(encoding="utf-8")


def data_of(page):
    return json.loads(re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)[1])


def test_numbers_are_those_of_the_library(tmp_path):
    systems = {"A": some_evaluation(), "B": some_evaluation(seed=4, scale=2.0)}
    page = page_of(systems, tmp_path)
    text = " ".join(Reader(page).text)
    for result in systems.values():
        assert result.sentence in text
        for value in (result.cllr, result.min_cllr, result.cllr_cal, result.points[0].act_dcf):
            assert number(value) in text
        assert percent(result.eer).replace(" %", "") in text
    found = data_of(page)
    assert found["json"]["systems"]["B"]["cllr"] == systems["B"].cllr
    assert found["csv"] == lk.format_table(systems, "csv")


def test_the_panel_has_the_exact_rates(tmp_path):
    result = some_evaluation()
    stored = data_of(page_of(result, tmp_path))["rates"][0]
    curve = result.bayes_error
    for name, rates in (
        ("actual_miss", curve.actual_p_miss), ("actual_fa", curve.actual_p_fa),
        ("best_miss", curve.minimum_p_miss), ("best_fa", curve.minimum_p_fa),
    ):  # fmt: skip
        assert_array_equal(np.cumsum(stored[name]["steps"]) / stored[name]["n"], rates)
    assert stored["points"][0][:2] == [result.points[0].p_miss, result.points[0].p_fa]
    weighted = np.array([0.1234567, 1 / 3])
    assert encoded_counts(weighted, 7.5) == {"rates": weighted.tolist()}


def test_names_are_escaped_everywhere(tmp_path):
    scores = some_scores()
    columns = {EVIL: ([EVIL, "m"] * 30, [EVIL, "m"] * 150)}
    result = lk.evaluate(lk.Scores(scores.target, scores.nontarget, columns), by=EVIL)
    extra = Section(EVIL, (EVIL,), [TextTable((EVIL,), ((EVIL,),), EVIL)],
                    [lk.plot.heat_map(HeatMap([[0.1]], (EVIL,), (EVIL,), value_name=EVIL), renderer="none")],
                    note=EVIL)  # fmt: skip
    page = page_of({EVIL: result}, tmp_path, title=EVIL, by=EVIL, sections=[extra], cautions=[EVIL],
                   made_from=Provenance(EVIL, EVIL))  # fmt: skip
    reader = Reader(page)
    assert "img" not in reader.tags
    assert reader.tags.count("script") == 3
    assert sum(EVIL in text for text in reader.text) > 10
    outside = page.replace(page[page.index("<script>") : page.index('<script type="application/json"')], "")
    assert "<img" not in outside
    data = re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)[1]
    assert not set("<>&") & set(data)
    assert data_of(page)["systems"] == [EVIL]


def test_nothing_is_fetched(tmp_path):
    page = page_of(some_evaluation(), tmp_path)
    reader = Reader(page)
    assert {link for link in reader.links if not link.startswith("#")} == {"data:,"}
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_provenance_hashes_files(tmp_path):
    (tmp_path / "a.csv").write_text("abc")
    (tmp_path / "b.csv").write_text("")
    made = provenance([tmp_path / "*.csv"], command="llrkit report", now=datetime(2026, 1, 2, tzinfo=UTC))
    assert [file.sha256[:6] for file in made.files] == ["ba7816", "e3b0c4"]  # SHA-256 of "abc" and of nothing
    assert [file.size for file in made.files] == [3, 0]
    assert made.date == "2026-01-02 00:00:00 +0000"
    assert provenance([tmp_path]).files == made.files
    page = page_of(some_evaluation(), tmp_path, made_from=made)
    text = " ".join(Reader(page).text)
    assert made.files[0].sha256 in text
    assert "llrkit report" in text


@pytest.mark.slow
def test_comparison_and_sections(tmp_path):
    found = lk.compare(some_scores(), some_scores(seed=6), "cmlg,pav")
    text = " ".join(Reader(page_of(found, tmp_path)).text)
    assert found.sentence in text
    beside = page_of(some_evaluation(), tmp_path, comparison=lk.compare(
        some_scores(), some_scores(), "cmlg", points=["sre08", 0.5]))  # fmt: skip
    assert "Calibrators compared" in beside
    kinds = [figure["kind"] for figure in data_of(beside)["figures"]]
    assert kinds.count("pav") == 2


def test_curves_without_cross_entropy_and_infinite_llrs(tmp_path):
    page = page_of(lk.evaluate(lk.Scores([float("-inf"), 1.0, 2.0], [-1.0, 0.5])), tmp_path)
    kinds = [figure["kind"] for figure in data_of(page)["figures"]]
    assert "cross_entropy" not in kinds
    assert data_of(page)["json"]["systems"]["scores"]["cllr"] == "inf"
    perfect = page_of(lk.evaluate(lk.Scores([1.0, 2.0], [-1.0, -2.0]), ece=True), tmp_path)
    assert "histogram" in [figure["kind"] for figure in data_of(perfect)["figures"]]
    constant = page_of(lk.evaluate(lk.Scores([1.0, 1.0], [1.0]), ece=True), tmp_path)
    assert "uninformative" in constant


@pytest.mark.slow
def test_25_systems_stay_below_8_megabytes(tmp_path):
    rng = np.random.default_rng(1)
    systems = {}
    for i in range(25):
        pair = lk.theory.GaussianLLR.from_eer(0.02 + 0.01 * i)
        systems[f"system {i}"] = lk.evaluate(lk.Scores(*pair.rvs(1000, 10_000, rng)), ece=True)
    page = page_of(systems, tmp_path)
    assert len(page.encode()) < 8_000_000
    moved = float(re.search(r"more than ([0-9.]+) pixels", page)[1])
    assert moved < 1.0


def test_bad_input_is_refused_and_nothing_is_written(tmp_path):
    mixed = {"A": some_evaluation(), "B": lk.evaluate(some_scores())}
    for results, words in (
        ({}, "needs an Evaluation"),
        ({"A": 1}, "'A': expected an Evaluation, got int"),
        (mixed, "different operating points"),
    ):
        with pytest.raises(lk.InputError, match=words):
            lk.write_report(results, tmp_path / "report.html")
    with pytest.raises(FileNotFoundError):
        lk.write_report(some_evaluation(), tmp_path / "nowhere" / "report.html")
    assert list(tmp_path.iterdir()) == []
