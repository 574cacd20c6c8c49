"""What forms send: nothing is cut, ignored or told in other words than those of the project."""

import json

import pytest
from app_server import answer_of_worker, score_table

import llrkit as lk
from llrkit.app.forms_to_choices import (
    METHODS,
    as_typed,
    case_choices,
    evaluate_choices,
    reading_choices,
    validate_choices,
)
from llrkit.app.project import Project, ScoreFile
from llrkit.app.shown_form_values import form_values
from llrkit.errors import InputError
from llrkit.verbs.criteria import REPORT_FIELDS

H1, H2 = "the suspect is the speaker", "another man is the speaker"


@pytest.fixture
def project(tmp_path):
    """With a file of known origin, and a calibration."""
    project = Project.new("a", tmp_path / "a")
    facts = {"n_target": 1, "n_nontarget": 1, "columns": ["score", "label"]}
    project.files["dev.csv"] = ScoreFile("dev.csv", 1, "0", "train", facts=facts)
    project.results["calibrate"] = {"made": "now"}
    return project


def test_a_text_of_a_case_is_never_cut(project):
    for fields in ({"h1": H1 * 40}, {"h2": H2 * 41}, {"conditions": "telephone " * 201}):
        form = {"scores": "0.5", "h1": H1, "h2": H2, "conditions": "telephone", **fields}
        with pytest.raises(InputError):
            case_choices(form, project)
        assert as_typed(form) == {name: " ".join(text.split()) for name, text in form.items()}
    whole = case_choices(form | {"h1": "a" * 1000, "h2": H2, "conditions": "b" * 2000}, project)
    assert [len(whole[name]) for name in ("h1", "conditions")] == [1000, 2000]


def test_more_points_or_columns_than_are_taken_are_refused(project):
    form = {"file": "dev.csv", "ci": "", "points": " ".join(f"0.{i:02}" for i in range(1, 22))}
    with pytest.raises(InputError):
        evaluate_choices(form, project)
    with pytest.raises(InputError):
        reading_choices({"columns": ",".join(f"c{i}" for i in range(61))}, project.files["dev.csv"])


def test_everything_that_a_report_states_in_words_can_be_typed(project):
    typed = {name: f"about {name}" for name in REPORT_FIELDS if name not in ("calibration", "bounds")}
    form = {"file": "dev.csv", "ci": "trial", "on0": "on", "metric0": "cllr", "limit0": "at_most",
            "value0": "0.5", **{f"report_{name}": text for name, text in typed.items()}}  # fmt: skip
    chosen = validate_choices(form, project)
    assert chosen["report"] == typed
    project.results["validate"] = {"choices": chosen}
    shown = form_values(project, "validate", None)
    assert {name: shown[f"report_{name}"] for name in typed} == typed
    with pytest.raises(InputError):
        validate_choices(form | {"ci": "", "interval": "on"}, project)


def task_of(folder, kind, files, **choices):
    names = {name: {"path": f"files/{name}", "reading": reading, "columns": ["score", "cosine"]}
             for name, reading in files.items()}  # fmt: skip
    return {"kind": kind, "folder": str(folder), "out": str(folder / "documents"), "files": names,
            "choices": {"words": "forensic", "base_10": False, **choices}}  # fmt: skip


def test_options_that_questioned_scores_do_not_obey_are_refused(tmp_path):
    """The file has two columns of scores: the one that was chosen is not taken for the other in silence."""
    for folder in ("files", "documents"):
        (tmp_path / folder).mkdir()
    (tmp_path / "files" / "asked.csv").write_text("name,score,cosine\nA,0.5,0.1\n")
    trained = lk.fit_cmlg(lk.Scores([1.0, 3.0, 2.0], [0.0, 2.0, 0.5]))
    trained.save(tmp_path / "documents" / "calibration.json")
    case = {"questioned": "asked.csv", "train": "", "validation": "", "scores": [], "h1": H1, "h2": H2,
            "speakers": [], "conditions": "", "verbal": False}  # fmt: skip
    for reading in ({"score": ["cosine"]}, {"decimal": ",", "missing_scores": "drop"}):
        answer = answer_of_worker(task_of(tmp_path, "case", {"asked.csv": reading}, **case))
        assert "asked.csv" in answer["error"]
    answer = answer_of_worker(task_of(tmp_path, "case", {"asked.csv": {}}, **case))
    assert f"{float(trained(0.5)):.3f}" in json.dumps(answer["result"]["sections"])
    assert "banner" not in answer["result"]


def test_the_result_of_a_case_begins_with_a_validation_that_failed(tmp_path):
    for folder in ("files", "documents"):
        (tmp_path / folder).mkdir()
    (tmp_path / "files" / "eval.csv").write_bytes(score_table(2, score="score"))
    lk.AffineMap(a=100.0, b=0.0).save(tmp_path / "documents" / "calibration.json")
    case = {"questioned": "", "train": "", "validation": "eval.csv", "scores": [0.5], "h1": H1, "h2": H2,
            "speakers": [], "conditions": "", "verbal": False}  # fmt: skip
    task = task_of(tmp_path, "case", {"eval.csv": {}}, **case)
    task["choices"]["words"] = "nist"
    answer = answer_of_worker(task)
    numbers = json.loads((tmp_path / "documents" / "case.json").read_text())
    assert numbers["validation_outcome"] == "failed"
    assert answer["result"]["banner"] == {"word": "FAIL", "grade": "poor", "text": numbers["headline"]}


def test_every_method_that_the_pages_advise_can_be_chosen():
    few = lk.diagnose(lk.Scores([1.0, 3.0, 2.0, 2.5], [0.0, 2.0, 0.5, -1.0, 0.2]))
    assert "bayes" in [method for method, good, _ in few.advice if good]
    assert {method for method, _, _ in few.advice} <= set(METHODS)
