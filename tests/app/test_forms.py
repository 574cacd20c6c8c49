"""What forms send: nothing is cut, ignored or told in other words than those of the project."""

import json
import tomllib

import pytest
from app_server import answer_of_worker, score_table

import llrkit as lk
from llrkit.app.forms import METHODS, as_shown_again, criteria_of, reading_choices
from llrkit.app.pages import form_values
from llrkit.app.project import Project, ScoreFile
from llrkit.app.steps import task_of
from llrkit.errors import InputError
from llrkit.verbs.criteria import REPORT_FIELDS, criteria_from_dict

H1, H2 = "the suspect is the speaker", "another man is the speaker"
CASE = {"score": "0.5", "h1": H1, "h2": H2, "conditions": "telephone"}


@pytest.fixture
def project(tmp_path):
    """With a file of known origin, and a calibration."""
    project = Project.new("a", tmp_path / "a")
    facts = {"n_target": 1, "n_nontarget": 1, "columns": ["score", "label"]}
    project.files["dev.csv"] = ScoreFile("dev.csv", 1, "0", "train", facts=facts)
    project.results["calibrate"] = {"made": "now"}
    return project


def test_a_text_of_a_case_is_never_cut(project):
    for fields in ({"h1": H1 * 80}, {"h2": H2 * 81}, {"conditions": "telephone " * 201}):
        form = CASE | fields
        with pytest.raises(InputError):
            task_of("case", form, project, "out")
        assert as_shown_again(form) == {name: " ".join(text.split()) for name, text in form.items()}
    task, _ = task_of("case", CASE | {"h1": "a" * 2000, "conditions": "b" * 2000}, project, "out")
    assert [len(task.typed[name]) for name in ("h1", "conditions")] == [2000, 2000]


def test_a_case_without_propositions_or_scores_is_refused(project):
    for missing in ("h1", "h2"):
        with pytest.raises(InputError, match=missing):
            task_of("case", CASE | {missing: ""}, project, "out")


def test_more_points_than_are_taken_and_columns_that_are_not_there_are_refused(project):
    form = {"scores": "dev.csv", "ci": "", "point": " ".join(f"0.{i:03}" for i in range(1, 222))}
    with pytest.raises(InputError):
        task_of("evaluate", form, project, "out")
    with pytest.raises(InputError, match="no column"):
        task_of("evaluate", {"scores": "dev.csv", "by": "room"}, project, "out")
    with pytest.raises(InputError, match="no column"):
        reading_choices({"score": "cosine"}, project.files["dev.csv"])


def test_everything_that_a_report_states_in_words_can_be_typed(project):
    typed = {name: f"about {name}" for name in REPORT_FIELDS if name not in ("calibration", "bounds")}
    form = {"scores": "dev.csv", "ci": "trial", "on0": "on", "metric0": "cllr", "limit0": "at_most",
            "value0": "0.5", **{f"report_{name}": text for name, text in typed.items()}}  # fmt: skip
    text, _ = criteria_of(form, project)
    criteria = criteria_from_dict(tomllib.loads(text))
    assert {name: criteria.report[name] for name in typed} == typed
    project.results["validate"] = {"form": form}
    shown = form_values(project, "validate", None)
    assert {name: shown[f"report_{name}"] for name in typed} == typed


def test_options_that_questioned_scores_do_not_obey_are_refused(project):
    """The file has two columns of scores: the one that was chosen is not taken for the other in silence."""
    trained = lk.fit_cmlg(lk.Scores([1.0, 3.0, 2.0], [0.0, 2.0, 0.5]))
    trained.save(project.folder / "documents" / "calibration.json")
    form = {"h1": H1, "h2": H2, "scores": "asked.csv"}
    for reading in ({"score": ["cosine"]}, {"decimal": ",", "missing_scores": "drop"}, {}):
        facts = {"n_questioned": 1, "columns": ["score", "cosine"]}
        project.files["asked.csv"] = ScoreFile("asked.csv", 1, "0", "questioned", reading, facts)
        if reading:
            with pytest.raises(InputError, match=r"asked\.csv"):
                task_of("case", form, project, "out")
        else:
            assert task_of("case", form, project, "out")[1] == ["asked.csv"]


def case_of(folder, reading, **typed):
    """The work of a case in a folder, as it is sent to a worker."""
    written = {ending: f"documents/case.{ending}" for ending in ("md", "html", "docx", "json")}
    typed = {
        "map": "documents/calibration.json",
        "h1": H1,
        "h2": H2,
        "vocabulary": "forensic",
        **written,
        **typed,
    }
    (folder / "out").mkdir(exist_ok=True)
    return {"step": "case", "folder": str(folder), "out": "out", "typed": typed, "reading": reading}


def test_the_result_of_a_case_begins_with_a_validation_that_failed(tmp_path, need):
    need("docx")
    for folder in ("files", "documents"):
        (tmp_path / folder).mkdir()
    (tmp_path / "files" / "eval.csv").write_bytes(score_table(2, score="score"))
    lk.maps.AffineMap(a=100.0, b=0.0).save(tmp_path / "documents" / "calibration.json")
    task = case_of(tmp_path, {}, score=["0.5"], validation="files/eval.csv", vocabulary="nist")
    answer = answer_of_worker(task | {"words": "nist"})
    numbers = json.loads((tmp_path / "out" / "case.json").read_text())
    assert numbers["validation_outcome"] == "failed"
    assert answer["result"]["banner"] == {"word": "FAIL", "grade": "poor", "text": numbers["headline"]}


def test_every_method_that_the_pages_advise_can_be_chosen():
    few = lk.diagnose(lk.Scores([1.0, 3.0, 2.0, 2.5], [0.0, 2.0, 0.5, -1.0, 0.2]))
    assert "bayes" in [method for method, good, _ in few.advice if good]
    assert {method for method, _, _ in few.advice} <= set(METHODS)
