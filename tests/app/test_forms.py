"""What forms send: nothing is cut, ignored or told in other words than those of the project."""

import io
import json

import pytest
from app_server import score_table

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
from llrkit.app.tasks.task import Task
from llrkit.app.worker_process import Telling, _do_work
from llrkit.errors import InputError
from llrkit.validation.criteria import REPORT_FIELDS

H1, H2 = "the suspect is the speaker", "another man is the speaker"


@pytest.fixture
def project(tmp_path):
    """With a file of known origin, and a calibration."""
    project = Project.new("a", tmp_path / "a")
    facts = {"n_target": 1, "n_nontarget": 1, "columns": ["score", "label"]}
    project.files["dev.csv"] = ScoreFile("dev.csv", 1, "0", "train", facts=facts)
    project.results["calibrate"] = {"made": "now"}
    return project


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"h1": H1 * 40}, "first proposition: 1,040 characters are too many"),
        ({"h2": H2 * 41}, "second proposition: 1,066 characters"),
        ({"conditions": "telephone " * 201}, "recordings: 2,009 characters"),
    ],
)
def test_a_text_of_a_case_is_never_cut(project, fields, message):
    form = {"scores": "0.5", "h1": H1, "h2": H2, "conditions": "telephone", **fields}
    with pytest.raises(InputError, match=message):
        case_choices(form, project)
    assert as_typed(form) == {name: " ".join(text.split()) for name, text in form.items()}
    whole = case_choices(form | {"h1": "a" * 1000, "h2": H2, "conditions": "b" * 2000}, project)
    assert [len(whole[name]) for name in ("h1", "conditions")] == [1000, 2000]


def test_more_points_or_columns_than_are_taken_are_refused(project):
    form = {"file": "dev.csv", "ci": "", "points": " ".join(f"0.{i:02}" for i in range(1, 22))}
    with pytest.raises(InputError, match="got 21 operating points; at most 20"):
        evaluate_choices(form, project)
    with pytest.raises(InputError, match="at most 60 column names"):
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
    with pytest.raises(InputError, match="choose a kind of interval"):
        validate_choices(form | {"ci": "", "interval": "on"}, project)


def task_of(folder, kind, files, **choices):
    names = {name: {"path": f"files/{name}", "reading": reading, "columns": ["score", "cosine"]}
             for name, reading in files.items()}  # fmt: skip
    return {"kind": kind, "folder": str(folder), "out": str(folder / "documents"), "files": names,
            "choices": {"words": "forensic", "base_10": False, **choices}}  # fmt: skip


def said_by(task):
    """What a worker answers."""
    out = io.StringIO()
    _do_work(json.dumps(task), Telling(out))
    return json.loads(out.getvalue().splitlines()[-1])


def test_options_that_questioned_scores_do_not_obey_are_refused(tmp_path, monkeypatch):
    """The file has two columns of scores: the one that was chosen is not taken for the other in silence."""
    for folder in ("files", "documents"):
        (tmp_path / folder).mkdir()
    (tmp_path / "files" / "asked.csv").write_text("name,score,cosine\nA,0.5,0.1\n")
    trained = lk.fit_cmlg(lk.Scores([1.0, 3.0, 2.0], [0.0, 2.0, 0.5]))
    trained.save(tmp_path / "documents" / "calibration.json")
    case = {"questioned": "asked.csv", "train": "", "validation": "", "scores": [], "h1": H1, "h2": H2,
            "speakers": [], "conditions": "", "verbal": False}  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for reading, what in (
        ({"score": ["cosine"]}, "the column of the scores"),
        ({"decimal": ",", "missing_scores": "drop"}, "the decimal sign, missing scores"),
    ):
        answer = said_by(task_of(tmp_path, "case", {"asked.csv": reading}, **case))
        assert f"so those of this file ({what})" in answer["error"]
    answer = said_by(task_of(tmp_path, "case", {"asked.csv": {}}, **case))
    assert f"{float(trained(0.5)):.3f}" in json.dumps(answer["result"]["sections"])


def test_errors_are_told_in_the_words_of_the_project(tmp_path):
    (tmp_path / "files").mkdir()
    table = score_table(1, score="score").decode().splitlines()
    (tmp_path / "files" / "target.csv").write_text("\n".join(table[:5]) + "\n")  # one class alone
    task = task_of(tmp_path, "evaluate", {"target.csv": {}}, file="target.csv", points=[], by="", ci="",
                   speakers=[])  # fmt: skip
    said = {}
    for words in ("nist", "forensic"):
        task["choices"]["words"] = words
        said[words] = said_by(task)["error"]
    assert "no nontarget trials" in said["nist"]
    assert "no different-source comparisons" in said["forensic"]
    assert Task.from_dict(task).say("target.csv: the label 'target' of 2 trials") == (
        "target.csv: the label 'target' of 2 comparisons"
    )


def test_every_method_that_the_pages_advise_can_be_chosen():
    few = lk.diagnose(lk.Scores([1.0, 3.0, 2.0, 2.5], [0.0, 2.0, 0.5, -1.0, 0.2]))
    assert "bayes" in [method for method, good, _ in few.advice if good]
    assert {method for method, _, _ in few.advice} <= set(METHODS)
