"""Documents to base ten and in each vocabulary: no number in nats, and no word of another community."""

import html
import json
import math
import re

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit.report.layouts import case_document, evaluation_document, validation_document
from llrkit.report.sections import SystemReport, validation
from llrkit.report.tables import TextTable, text_tables

H1, H2 = "the suspect is the speaker", "another man of the region is the speaker"
NIST = r"targets?|non-?targets?|trials?|miss(es)?|false[- ]alarms?|Pmiss|Pfa"
FORENSIC = r"same-source|different-source|false (ex|in)clusions?"
BIOMETRIC = r"(non-)?mated|false (non-)?match(es)?|FN?MR"
OTHERS = {
    "nist": rf"{FORENSIC}|{BIOMETRIC}|subjects?",
    "forensic": rf"{NIST}|{BIOMETRIC}",
    "biometrics": rf"{NIST}|{FORENSIC}|speakers?",
}
"""Words that belong to the other communities."""
REFERENCES = re.compile(r"References.*?(Provenance|$)|Validation matrix: D\. Meuwly.*?482-491\.", re.DOTALL)


CRITERIA = {
    "options": {"ci": "speaker", "speakers": ["left", "right"]},
    "report": {"system": "a target recognizer"},
    "criterion": [
        {"characteristic": "accuracy", "at_most": 0.5, "use": "interval"},
        {"characteristic": "discriminating power", "metric": "eer", "at_most": 0.1},
        {"characteristic": "calibration", "metric": "verdict"},
        {"characteristic": "robustness", "metric": "misleading_nontarget", "at_most": 4.5},
        {"characteristic": "robustness", "metric": "cllr", "by": "room", "at_most": 0.9},
    ],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A case, a validation and an evaluation, with all there is to say."""
    rng = np.random.default_rng(4)
    train, check = (some_trials(rng) for _ in range(2))
    line = lk.calibrate(train, speakers=["left", "right"]).map
    case = lk.case_report(
        line, [0.31, 9.0], h1=H1, h2=H2, train=train, validation=check, speakers=["left", "right"]
    )
    checked = lk.validate(check, criteria=CRITERIA, calibration=line, apply=True, curves=True, replicates=20)
    biased = lk.fit_logistic(train).then(lk.maps.AffineMap(a=1.0, b=1.0)).on(check)
    evaluated = lk.evaluate(biased, by="room", ece=True, ci="trial")
    tested = lk.check_calibration(biased, speakers=["left", "right"], replicates=20)
    return {
        "case": case,
        "validate": checked,
        "report": (evaluated, tested),
        "folder": tmp_path_factory.mktemp("d"),
    }


def some_trials(rng):
    n_target, n = 150, 1050
    label = np.arange(n) < n_target
    left = np.arange(n) % 20
    right = np.where(label, left, (left + 1 + np.arange(n) % 7) % 20)
    table = {
        "score": rng.normal(np.where(label, 0.5, 0.0), 0.2), "label": label, "left": [f"s{i}" for i in left],
        "right": [f"s{i}" for i in right], "room": np.where(np.arange(n) % 2, "a", "b"),
    }  # fmt: skip
    return lk.Trials(table)


def documents(results, command, words, base_10=False):
    """The documents of a command as text that a reader sees; what goes into Word is that of its sections."""
    page, how = results["folder"] / "page.html", {"words": words, "base_10": base_10}
    if command == "case":
        document = case_document(results["case"], **how)
        document.write_html(page)
        return {"html": seen(page), "word": in_word(document), "markdown": results["case"].to_markdown(**how)}
    if command == "report":
        evaluated, tested = results["report"]
        parts = {"checks": {"mine": tested}, "by": "room", **how}
        lk.write_report({"mine": evaluated}, page, **parts)
        return {
            "html": seen(page),
            "word": in_word(evaluation_document(SystemReport({"mine": evaluated}, **parts))),
        }
    checked = results["validate"]
    document = validation_document("mine", checked, **how)
    parts = {"checks": {"mine": checked.check}, "bands": {"mine": checked.bands}, "llrs": True, **how}
    lk.write_report({"mine": checked.evaluation}, page, first=validation(checked, **how), **parts)
    return {
        "html": seen(page),
        "word": in_word(document),
        "markdown": html.unescape(checked.to_markdown(**how)),
    }


def in_word(document):
    """What a Word document says, in its headings, paragraphs, tables and captions."""
    said = [document.title]
    for section in document.sections:
        said += [section.title, *section.paragraphs, section.note, *(p.title for p in section.pictures)]
        for picture in section.pictures:
            said += [picture.x.label, picture.y.label, *picture.labels()]
        for table in section.tables:
            for part in [table] if isinstance(table, TextTable) else text_tables(table):
                said += [part.caption, *part.header, *(cell for row in part.rows for cell in row)]
    return " \n".join(said)


def seen(page):
    """What a page shows, to the eye and to a screen reader, also by its plots."""
    body = page.read_text()
    body = body[body.index("<body") :]
    figures = ""
    if data := re.search(r'<script[^>]*id="report-data"[^>]*>(.*?)</script>', body, re.DOTALL):
        stored = json.loads(data[1])
        figures = " ".join(_strings(stored["figures"])) + " ".join(stored["words"])
    spoken = " ".join(re.findall(r'aria-label="([^"]*)"', body))
    body = re.sub(r"<script.*?</script>|<style.*?</style>", " ", body, flags=re.DOTALL)
    return html.unescape(" ".join((re.sub(r"<[^>]+>", " ", body), spoken, figures)))


def _strings(value):
    if isinstance(value, dict):
        for key, one in value.items():
            if key not in ("ink", "group", "meta", "kind"):
                yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
    elif isinstance(value, str):
        yield re.sub(r"<[^>]+>", " ", value)


def llrs_of(results, command):
    """Every LLR that the documents state, from the results, which are in nats, and with how many digits."""
    if command == "case":
        case = results["case"]
        return {".3f": [one.llr for one in case.comparisons], ".2f": list(case.bounds)}
    if command == "report":
        evaluated, tested = results["report"]
        offset = tested.recalibration.b
        return {".3f": [offset, *(one.point.threshold for one in evaluated.points)]}
    checked = results["validate"]
    scope = checked.setting
    spans = [*scope.supported, scope.lowest, scope.highest, scope.bounds.low, scope.bounds.high]
    return {".3f": [checked.check.recalibration.b, *(one.llr for one in checked.misleading)], ".2f": spans}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["case", "validate", "report"])
def test_documents_to_base_ten_have_no_number_in_nats(results, command):
    natural, ten = (documents(results, command, "forensic", base_10) for base_10 in (False, True))
    stated = 0
    for kind, before in natural.items():
        after = ten[kind]
        assert "nats" in before
        assert not re.search(r"\bnats\b|[Pp]rior log-odds", after), kind
        assert "log10 LR" in after
        for form, llrs in llrs_of(results, command).items():
            for llr in llrs:
                once, now = (written(x, form) for x in (llr, llr / math.log(10)))
                if re.search(once, before):
                    stated += 1
                    assert re.search(now, after), (kind, llr, form)
    assert stated >= {"case": 10, "validate": 40, "report": 3}[command]


def written(llr, form):
    return rf"(?<![\d.]){re.escape(f'{llr:{form}}')}(?![\d.])"


@pytest.mark.slow
@pytest.mark.parametrize("words", ["nist", "forensic", "biometrics"])
@pytest.mark.parametrize("command", ["case", "validate", "report"])
def test_no_word_of_another_community_is_left(results, command, words):
    for kind, text in documents(results, command, words).items():
        said = REFERENCES.sub(" ", text)
        for own in (H1, H2, "misleading_nontarget", "a target recognizer"):
            said = said.replace(own, " ")
        found = re.finditer(rf"(?<![\w./=-])(?:{OTHERS[words]})(?![\w=-]|\.\w|/\w)", said, re.IGNORECASE)
        left = [said[max(0, m.start() - 50) : m.end() + 30] for m in found]
        assert left == [], (kind, left[:10])


def test_evaluate_on_the_command_line_shows_thresholds_to_base_ten(tmp_path):
    table = pl.DataFrame({"score": [2.0, -0.5, 1.0, -2.0, 0.6, -1.0], "label": [1, 1, 1, 0, 0, 0]})
    table.write_csv(tmp_path / "s.csv")
    asked = ("evaluate", tmp_path / "s.csv", "--point", "0.01", "--html", tmp_path / "page.html")
    code, out, err = run(*asked, "--base-10")
    assert code == 0, err
    threshold = math.log(0.99 / 0.01)
    assert f"threshold {threshold / math.log(10):.3f} in log10 LR" in out
    assert f"{threshold:.3f}" in run(*asked)[1]
    assert f"{threshold:.3f}" not in out
