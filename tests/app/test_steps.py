"""The steps by their forms: the numbers of every document are those of the commands that are shown."""

import json
import shutil
import zipfile

import numpy as np
import pytest
from app_server import Visitor, score_table, served
from commands import run
from json_outputs import assert_fits_schema

import llrkit as lk
from llrkit.app.pages import DOCUMENT_TITLES

pytestmark = pytest.mark.xdist_group("app steps")  # what all tests here start from is made once

H1, H2 = "the suspect is <b>the</b> speaker", "another man of the region's is the speaker"


@pytest.fixture(scope="module")
def project(tmp_path_factory, need):
    """The folder of a project in which every step was done, with columns that must be named."""
    need("uvicorn")
    need("docx")
    place = tmp_path_factory.mktemp("steps")
    with served(place) as server:
        visitor = Visitor(server).log_in()
        address = visitor.new_project()
        reading = {"score": "cosine", "label": "origin", "positive": "same-source", "kind": "", "decimal": ""}
        for name, seed, use in (("dev.csv", 1, "train"), ("eval.csv", 2, "validation")):
            assert visitor.put(f"{address}/files", name, score_table(seed, label="origin")).status == 200
            visitor.wait(address)
            assert "alert" in visitor.ask("GET", f"{address}/files").text  # it must be told what to read
            answer = visitor.post(f"{address}/files/read", file=name, use=use, **reading)
            assert answer.status == 303, answer.text
            visitor.wait(address)
        steps = {
            "evaluate": {"file": "dev.csv", "ci": "speaker", "speakers": "speaker",
                         "points": "sre08 0.01,10,1"},
            "advise": {"speakers": ""},
            "calibrate": {"method": "logistic", "bound": "fixed", "low": "-2", "high": "1.5", "speakers": ""},
            "validate": {
                "file": "eval.csv", "ci": "trial", "speakers": "", "on0": "on", "metric0": "cllr",
                "limit0": "at_most", "value0": "0.5", "on2": "on", "metric2": "verdict", "limit2": "at_most",
                "report_system": 'Cosine "2"', "interval": "on",
            },
            "case": {"scores": "0.52\n0.1", "h1": H1, "h2": H2, "train": "dev.csv", "validation": "eval.csv",
                     "verbal": "on", "conditions": "telephone"},
        }  # fmt: skip
        for step, fields in steps.items():
            answer = visitor.post(f"{address}/{step}", seen="", **fields)
            assert answer.status == 303, (step, answer.text)
            jobs = {job["step"]: job for job in visitor.wait(address)}
            assert jobs[step]["state"] == "done", jobs[step]
        pages = {
            step: visitor.ask("GET", f"{address}/{step}").text for step in ("case", "documents", "validate")
        }
        assert visitor.post(f"{address}/save", name="Case 12").status == 303
        again = visitor.post(f"{address}/evaluate", seen="", **steps["evaluate"])
        assert again.status == 400
        assert "another tab" in again.text
    assert server.said == ""
    return place / "projects" / "Case 12", pages


def commands_of(folder):
    project = json.loads((folder / "project.json").read_text())
    assert assert_fits_schema(project) == "project"
    results = project["results"]
    return {step: result["commands"] for step, result in results.items()}


@pytest.mark.slow
def test_the_commands_that_are_shown_give_the_same_numbers(project, tmp_path, monkeypatch):
    folder, _ = project
    shutil.copytree(folder / "files", tmp_path / "files")
    (tmp_path / "documents").mkdir()
    shutil.copy(folder / "documents" / "criteria.toml", tmp_path / "documents")
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_saved_project_opens_as_it_was(project, tmp_path, need):
    need("uvicorn")
    folder, pages = project
    shutil.copytree(folder, tmp_path / "projects" / "Case 12")
    with served(tmp_path) as server:
        visitor = Visitor(server).log_in()
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
    with served(tmp_path) as server:
        refused = Visitor(server).log_in().post("/open", name="Case 12")
        assert refused.status == 400
        assert "was changed since" in refused.text
