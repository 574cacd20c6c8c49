"""The steps by their forms: the numbers of every document are those of the commands that are shown."""

import json
import re
import shutil
import zipfile

import numpy as np
import pytest
from app_server import Here, Visitor, score_table
from commands import run

import llrkit as lk
from llrkit.app.pages import DOCUMENT_TITLES

pytestmark = pytest.mark.slow  # 35 CPU seconds
H1, H2 = "the suspect is <b>the</b> speaker", "another man of the region's is the speaker"


@pytest.fixture(scope="module")
def project(tmp_path_factory, need):
    """The folder of a project in which every step was done, with columns to be named, and its pages."""
    need("starlette")
    need("docx")
    place = tmp_path_factory.mktemp("steps")
    server = Here(place)
    visitor = Visitor(server).log_in()
    address = visitor.new_project()
    reading = {"score": "cosine", "label": "origin", "positive": "same-source", "kind": "", "decimal": ""}
    for name, seed, use in (("dev.csv", 1, "train"), ("eval.csv", 2, "validation")):
        assert visitor.put(f"{address}/files", name, score_table(seed, label="origin")).status == 200
        assert "alert" in visitor.ask("GET", f"{address}/files").text  # it must be told what to read
        answer = visitor.post(f"{address}/files/read", file=name, use=use, **reading)
        assert answer.status == 303, answer.text
    chosen = {"words": "forensic", "base_10": "", "speaker1": "speaker", "speaker2": ""}
    assert visitor.post(f"{address}/settings", **chosen).status == 303
    assert visitor.post(f"{address}/settings", **chosen | {"speaker1": "no such"}).status == 400
    steps = {
        "evaluate": {"scores": "dev.csv", "ci": "speaker", "point": "sre08 0.01,10,1"},
        "advise": {},
        "calibrate": {"method": "logistic", "bound": "fixed", "low": "-4.6", "high": "3.5"},
        "validate": {
            "scores": "eval.csv", "ci": "trial", "on0": "on", "metric0": "cllr",
            "limit0": "at_most", "value0": "0.5", "on2": "on", "metric2": "verdict", "limit2": "at_most",
            "report_system": 'Cosine "2"', "on3": "on", "metric3": "cllr",
            "limit3": "at_most", "value3": "9", "by3": "speaker", "on4": "on", "metric4": "cllr",
            "limit4": "at_most", "value4": "0", "change4": "dev.csv",
        },
        "case": {"score": "0.52\n0.1", "h1": H1, "h2": H2, "train": "dev.csv", "validation": "eval.csv",
                 "verbal": "on", "conditions": "telephone"},
    }  # fmt: skip
    for step, fields in steps.items():
        answer = visitor.post(f"{address}/{step}", seen="", **fields)
        assert answer.status == 303, (step, answer.text)
        job = visitor.jobs(address)[step]
        assert job["state"] == "done", job
    shown = ("evaluate", "calibrate", "validate", "case", "documents")
    pages = {step: visitor.ask("GET", f"{address}/{step}").text for step in shown}
    assert visitor.post(f"{address}/save", name="Case 12").status == 303
    again = visitor.post(f"{address}/evaluate", seen="", **steps["evaluate"])
    assert again.status == 400  # it was done in another tab
    return place / "projects" / "Case 12", pages | later_pages(visitor, address, server.session.workers)


def later_pages(visitor, address, workers):
    """A page after work that failed, after work that was canceled, and after another choice of words."""

    def seen(step):
        return re.search(r'name="seen" value="([^"]*)"', visitor.ask("GET", f"{address}/{step}").text)[1]

    wrong = {"scores": "eval.csv", "ci": "", "point": "no-such-point"}
    assert visitor.post(f"{address}/evaluate", seen=seen("evaluate"), **wrong).status == 303
    pages = {"failed": visitor.ask("GET", f"{address}/evaluate").text}
    criteria = {"scores": "eval.csv", "ci": "trial", "on5": "on", "metric5": "eer", "limit5": "at_most",
                "value5": "1"}  # fmt: skip
    workers.held = True
    assert visitor.post(f"{address}/validate", seen=seen("validate"), **criteria).status == 303
    job = visitor.jobs(address)["validate"]["id"]
    assert visitor.post(f"{address}/cancel", job=job, page="validate").status == 303
    pages["canceled"] = visitor.ask("GET", f"{address}/validate").text
    other = {"words": "nist", "base_10": "on", "speaker1": "", "speaker2": ""}
    assert visitor.post(f"{address}/settings", **other).status == 303
    return pages | {"nist case": visitor.ask("GET", f"{address}/case").text}


def field_of(page, name):
    """The value of a text field, or the chosen option."""
    typed = re.search(rf'<input type="text" name="{name}" value="([^"]*)"', page)
    if typed:
        return typed[1]
    return re.search(r'value="([^"]*)" selected', re.search(rf'<select name="{name}".*?</select>', page)[0])[
        1
    ]


def test_what_was_given_stays_after_work_that_failed_or_was_canceled(project):
    _, pages = project
    failed, canceled = pages["failed"], pages["canceled"]
    assert "This did not work: " in failed
    assert [field_of(failed, name) for name in ("scores", "point", "ci")] == ["eval.csv", "no-such-point", ""]
    assert ">Result: dev.csv</h2>" in failed  # what is still below is named
    assert "Canceled; nothing was changed." in canceled
    assert [field_of(canceled, f"{name}5") for name in ("metric", "value")] == ["eer", "1"]
    boxes = re.findall(r'name="on(\d)" value="on"( checked)?', canceled)
    assert [on for on, checked in boxes if checked] == ["5"]


def test_steps_that_are_out_of_date_lose_their_mark(project):
    _, pages = project
    assert pages["case"].count("(done)") == 4
    assert "(out of date)" not in pages["case"]
    assert pages["nist case"].count("(out of date)") == 4  # the words have changed
    assert "(done)" not in pages["nist case"]


def test_robustness_is_by_column_and_coherence_from_another_file(project):
    """The change is that of the library, from a file whose columns have to be named."""
    folder, _ = project
    rows = json.loads((folder / "documents" / "validation.json").read_text())["matrix"]
    calibration = lk.load_map(folder / "documents" / "calibration.json")
    trials = [
        lk.read_trials(folder / "files" / name, score="cosine", label="origin", positive="same-source")
        for name in ("dev.csv", "eval.csv")
    ]
    before, after = (lk.cllr(calibration.on(one)) for one in trials)
    by_kind = {row["characteristic"]: row for row in rows}
    assert by_kind["coherence"]["result"] == pytest.approx(after - before, rel=1e-12)
    worst = lk.evaluate(calibration.on(trials[1]), by="speaker").groups
    assert by_kind["robustness"]["result"] == pytest.approx(
        max(one.cllr for one in worst.values()), rel=1e-12
    )


def commands_of(folder):
    project = json.loads((folder / "project.json").read_text())
    assert project["schema"] == "llrkit.project/2"
    results = project["results"]
    return {step: result["commands"] for step, result in results.items()}


def test_the_commands_that_are_shown_give_the_same_numbers(project, tmp_path, monkeypatch):
    folder, _ = project
    shutil.copytree(folder / "files", tmp_path / "files")
    (tmp_path / "documents").mkdir()
    shutil.copy(folder / "documents" / "criteria.toml", tmp_path / "documents")  # beside it are the files
    monkeypatch.chdir(tmp_path)
    for step, lines in commands_of(folder).items():
        for line in lines:
            assert line[0] == "llrkit"
            code, out, err = run(*line[1:])
            assert code in ((0, 1) if step == "validate" else (0,)), err
            if "--table" in line:
                assert out == (folder / "documents" / "evaluation.csv").read_text()
    for name in ("evaluation", "advice", "validation", "case"):
        made, here = (
            json.loads((at / "documents" / f"{name}.json").read_text()) for at in (tmp_path, folder)
        )
        assert made == here, name
    maps = [lk.load_map(at / "documents" / "calibration.json").to_dict() for at in (tmp_path, folder)]
    for one in maps:
        for key in ("created", "date", "hash", "sha256"):
            one.pop(key, None)
        one["provenance"] = {
            k: v for k, v in one["provenance"].items() if k not in ("created", "date", "seconds")
        }
    assert maps[0] == maps[1]
    for ending in ("md", "html"):
        texts = [(at / "documents" / f"case.{ending}").read_text() for at in (tmp_path, folder)]
        assert len(texts[0].splitlines()) == len(texts[1].splitlines())


def test_pages_and_documents_show_the_digits_of_the_library(project):
    folder, pages = project
    case = json.loads((folder / "documents" / "case.json").read_text())
    calibration = lk.load_map(folder / "documents" / "calibration.json")
    expected = [float(calibration(score)) for score in (0.52, 0.1)]
    with zipfile.ZipFile(folder / "documents" / "case.docx") as archive:
        word = archive.read("word/document.xml").decode()
    texts = {"page": pages["case"], "md": (folder / "documents" / "case.md").read_text(), "word": word}
    for llr, row in zip(expected, case["comparisons"], strict=True):
        assert row["llr"] == llr
        for name, text in texts.items():
            assert f"{llr:.3f}" in text, name
            assert f"{llr / np.log(10):.3f}" in text, name
    assert "times more probable if" in pages["case"]
    assert "&lt;b&gt;" in pages["case"]
    assert "<b>" not in pages["case"]
    assert case["h1"] == H1
    validation = json.loads((folder / "documents" / "validation.json").read_text())
    banner = {"passed": "PASS", "failed": "FAIL", "not decided": "NOT DECIDED"}[validation["outcome"]]
    assert f"<strong>{banner}</strong>" in pages["validate"]
    assert f"{validation['evaluation']['cllr']:.4f}" in pages["validate"]
    listed = {name for name in DOCUMENT_TITLES if f"/documents/{name}" in pages["documents"]}
    assert listed == set(DOCUMENT_TITLES)


def test_a_saved_project_opens_as_it_was(project, tmp_path):
    folder, pages = project
    shutil.copytree(folder, tmp_path / "projects" / "Case 12")
    visitor = Visitor(Here(tmp_path)).log_in()
    assert "Open Case 12" in visitor.ask("GET", "/").text
    address = visitor.post("/open", name="Case 12").headers["location"].rpartition("/")[0]
    page = visitor.ask("GET", f"{address}/case").text
    for text in ("times more probable", "Verbal equivalent"):
        assert page.count(text) == pages["case"].count(text) > 0
    other = visitor.post("/open", name="Case 12").headers["location"]
    assert other.startswith(address)  # it is not opened twice
    document = visitor.ask("GET", f"{address}/documents/case.html?view")
    assert document.headers["content-security-policy"].startswith("sandbox")
    changed = tmp_path / "projects" / "Case 12" / "files" / "dev.csv"
    changed.write_bytes(changed.read_bytes() + b"s1,0.5,same\n")
    visitor.post(f"{address}/close")
    assert visitor.post("/open", name="Case 12").status == 400
