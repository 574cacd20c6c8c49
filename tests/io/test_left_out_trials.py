"""Trials that are left out because an option asks for it are counted: in messages, JSON and files."""

import json

import polars as pl
import pytest
from commands import run

import llrkit as lk

LINES = [(f"m{i % 4}", f"s{i}", 0.25 * (i % 7) + (i % 4 == 0), "target" if i % 4 == 0 else "nontarget")
         for i in range(40)]  # fmt: skip
NO_LABEL, NO_SCORE = {"m0 s0", "m1 s1", "m2 s2"}, {"m3 s39"}
SAID = [
    "scores.csv: 3 of 39 trials have no label in key.csv and are left out",
    "key.csv: 1 of 37 trials has no score in scores.csv and is left out",
]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores = [f"{e},{t},{s}" for e, t, s, _ in LINES if f"{e} {t}" not in NO_SCORE]
    labels = [f"{e},{t},{k}" for e, t, _, k in LINES if f"{e} {t}" not in NO_LABEL]
    (tmp_path / "scores.csv").write_text("\n".join(["enroll,test,score", *scores]) + "\n")
    (tmp_path / "key.csv").write_text("\n".join(["enroll,test,label", *labels]) + "\n")
    return "scores.csv", "--key", "key.csv", "--missing", "drop"


def test_trials_that_only_one_file_has_are_counted(files):
    code, out, err = run("evaluate", *files, "--json", "-")
    assert code == 0
    document = json.loads(out)
    assert document["n_target"] + document["n_nontarget"] == 36
    assert [err.count(text) for text in SAID] == [1, 1]
    assert document["left_out"] == [{"trials": n, "text": text} for n, text in zip((3, 1), SAID, strict=True)]


def test_nothing_is_said_where_nothing_is_left_out(files, tmp_path):
    complete = [f"{e},{t},{k}" for e, t, _, k in LINES if f"{e} {t}" not in NO_SCORE]
    (tmp_path / "key.csv").write_text("\n".join(["enroll,test,label", *complete]) + "\n")
    code, out, err = run("evaluate", *files, "--json", "-")
    assert (code, "left_out" in json.loads(out), "left out" in err) == (0, False, False)


def test_a_calibration_records_how_many_training_trials_were_left_out(files):
    code, _, err = run("calibrate", *files, "-o", "cal.json")
    assert code == 0
    assert all(text in err for text in SAID)
    assert lk.load_map("cal.json").provenance["training_left_out"] == 4


def test_a_report_says_it_without_folders(files, tmp_path):
    absolute = [tmp_path / "scores.csv", "--key", tmp_path / "key.csv", "--missing", "drop"]
    assert run("report", *absolute, "-o", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert all(text in page for text in SAID)


def test_files_without_a_trial_in_common_are_an_error(files, tmp_path):
    (tmp_path / "key.csv").write_text("enroll,test,label\nx,y,target\n")
    with pytest.raises(lk.errors.FileFormatError):
        lk.read_trials("scores.csv", key="key.csv", missing="drop")


def test_trials_without_quality_measures_are_counted(files, tmp_path):
    (tmp_path / "q.csv").write_text("id,snr\n" + "".join(f"s{i},{i}\n" for i in range(38)))
    (tmp_path / "t.csv").write_text(
        "enroll,test,score,label\n" + "".join(f"{e},{t},{s},{k}\n" for e, t, s, k in LINES)
    )
    with pytest.warns(lk.errors.LeftOutWarning, match="2 of 40"):
        assert len(lk.read_trials("t.csv", quality="q.csv", missing="drop")) == 38


def test_trials_that_a_system_of_a_fusion_lacks_are_counted(files, tmp_path):
    for name, without in (("a", set()), ("b", {"s4", "s7"})):
        rows = [f"{e},{t},{s + hash_of(name + t)},{k}" for e, t, s, k in LINES if t not in without]
        (tmp_path / f"{name}.csv").write_text("\n".join(["enroll,test,score,label", *rows]) + "\n")
    for policy, of_what in (("drop", "left out"), ("subset", "left out of the training")):
        code, out, err = run("fuse", "a.csv", "b.csv", "--missing", policy, "-o", "f.json", "--json", "-")
        assert code == 0, err
        assert err.count(f"2 of 40 trials have no score of some system and are {of_what}\n") == 1
        assert json.loads(out)["left_out"][0]["trials"] == 2
        assert lk.load_map("f.json").provenance["training_left_out"] == 2


def hash_of(text):
    """A number below 1 that depends on the text only."""
    return sum(map(ord, text)) * 0.618 % 1


@pytest.mark.parametrize("side", ["enroll", "test"])
def test_the_ids_of_one_side_do_not_identify_a_trial(side, tmp_path):
    rows = pl.DataFrame(LINES, schema=[side, "other", "score", "label"], orient="row")
    rows.write_csv(tmp_path / "t.csv")
    assert lk.read_trials(tmp_path / "t.csv").n_repeated is None
    code, out, err = run("evaluate", tmp_path / "t.csv", "--json", "-")
    assert (code, "repeated" in out + err) == (0, False)
    for policy in ("drop", "error"):
        code, _, err = run("evaluate", tmp_path / "t.csv", "--duplicates", policy)
        assert (code, "--duplicates" in err) == (2, True)
