"""What a job gives a page to show: the sections that its documents have, in its words."""

import pytest

import llrkit as lk
from llrkit.jobs.job import Job, run_job

SPEAKERS = "enroll_speaker,test_speaker"
CRITERIA = '[[criterion]]\ncharacteristic = "accuracy"\nat_most = 0.9\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sections")
    trials = {name: lk.sample_trials(name) for name in ("dev", "eval")}
    for name, one in trials.items():
        lk.write_trials(one, folder / f"{name}.csv")
    fitted = lk.calibrate(trials["dev"], method="logistic").map
    fitted.save(folder / "cal.json")
    (folder / "criteria.toml").write_text(CRITERIA)
    return folder


SHOWN = {
    "evaluate": ({"scores": "eval.csv", "by": "gender", "html": "page.html"},
                 ["Numbers", "Curves", "Conditions: gender"]),
    "validate": ({"scores": "eval.csv", "criteria": "criteria.toml", "map": "cal.json", "html": "page.html"},
                 ["Validation", "What was validated", "Most misleading comparisons", "Curves",
                  "Distributions"]),
    "case": ({"map": "cal.json", "score": ("2.5",), "h1": "he spoke", "h2": "another spoke",
              "train": "dev.csv"},
             ["Comparisons", "Comparisons of known origin with LLRs like these", "What the LLRs rest on"]),
    "diagnose": ({"scores": "dev.csv", "cross_validate": True, "speakers": SPEAKERS}, ["Methods compared"]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("verb", SHOWN)
def test_a_job_gives_the_sections_of_its_page(verb, folder, monkeypatch):
    monkeypatch.chdir(folder)
    typed, titles = SHOWN[verb]
    plda = {} if verb == "case" else {"score_column": "plda"}
    sections = run_job(Job.of(verb, {**typed, **plda})).sections()
    assert [section.title for section in sections] == titles
    assert all(section.tables or section.pictures for section in sections)
