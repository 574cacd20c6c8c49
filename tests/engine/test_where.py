"""``--where``: the same trials in memory, in batches, on a cluster and in what is written."""

import json

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit.io.read_options import Reading
from llrkit.io.selection import Condition


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    n = 400
    is_target = np.arange(n) % 4 == 0
    return pl.DataFrame(
        {
            "enroll": [f"m{i % 20}" for i in range(n)],
            "test": [f"t{i}" for i in range(n)],
            "llr": np.where(is_target, 1.5, -1.0) + rng.normal(size=n),
            "target": is_target,
            "seconds": [None if i % 50 == 7 else float(i % 9) for i in range(n)],
            "room": [None if i % 40 == 3 else ("hall", "the kitchen", "attic")[i % 3] for i in range(n)],
            "known": np.arange(n) % 5 == 0,
            "times": np.arange(n) % 3,
        }
    )


# conditions, and the rows they keep by polars' own comparisons
CONDITIONS = {
    "seconds >= 5": pl.col("seconds") >= 5,
    "seconds<2.5": pl.col("seconds") < 2.5,
    "seconds != 3": pl.col("seconds") != 3,
    "times = 1": pl.col("times") == 1,
    "times in 1,2": pl.col("times") != 0,
    "room == hall": pl.col("room") == "hall",
    "room = 'the kitchen'": pl.col("room") == "the kitchen",
    "room != hall": pl.col("room").is_in(["the kitchen", "attic"]),
    'room in "the kitchen", attic': pl.col("room").is_in(["the kitchen", "attic"]),
    "room not in hall,attic": pl.col("room") == "the kitchen",
    "known = true": pl.col("known"),
    "known != yes": ~pl.col("known"),
    "llr > 0": pl.col("llr") > 0,
}


@pytest.mark.filterwarnings("ignore::llrkit.errors.ScaleWarning")  # scores above 0 look like ratios
def test_a_condition_keeps_the_same_trials_in_memory_in_batches_and_on_a_cluster(table, tmp_path, opened):
    table.write_parquet(tmp_path / "t.parquet")
    for text, kept in CONDITIONS.items():
        wanted = lk.evaluate(lk.Trials(table.filter(kept), score="llr", label="target"))
        found = lk.evaluate(opened(tmp_path / "t.parquet", Reading(where=text)))
        assert (found.n_target, found.n_nontarget) == (wanted.n_target, wanted.n_nontarget), text
        assert found.cllr == pytest.approx(wanted.cllr, abs=1e-12), text


def test_several_conditions_hold_together_and_weights_are_kept(table, tmp_path, opened):
    table.write_parquet(tmp_path / "t.parquet")
    reading = Reading(where=("seconds >= 2", "room in hall,attic"), weight="times")
    kept = table.filter((pl.col("seconds") >= 2) & pl.col("room").is_in(["hall", "attic"]))
    wanted = lk.evaluate(lk.Trials(kept, score="llr", label="target", weight="times"))
    found = lk.evaluate(opened(tmp_path / "t.parquet", reading))
    assert (found.n_target, found.cllr) == (wanted.n_target, pytest.approx(wanted.cllr, abs=1e-12))


def test_text_files_compare_numbers_as_numbers(table, tmp_path):
    table.write_csv(tmp_path / "t.csv")
    trials = lk.read_trials(tmp_path / "t.csv", where="seconds = 5")
    assert len(trials) == table.filter(pl.col("seconds") == 5).height
    assert lk.eer(lk.scan_trials(tmp_path / "t.csv", where=["seconds = 5"])) == lk.eer(trials)
    others = lk.read_trials(tmp_path / "t.csv", where=["seconds not in 5,6.00", "known = True"])
    wanted = ~pl.col("seconds").is_in([5.0, 6.0]) & pl.col("known")
    assert len(others) == table.filter(wanted).height


def test_a_key_and_quality_measures_can_be_asked_about(table, tmp_path):
    table.select("enroll", "test", "llr").write_csv(tmp_path / "s.csv")
    table.select("enroll", "test", "target", "room").write_csv(tmp_path / "key.csv")
    trials = lk.read_trials(tmp_path / "s.csv", key=tmp_path / "key.csv", where="room = hall")
    assert len(trials) == table.filter(pl.col("room") == "hall").height


def test_convert_and_apply_write_only_what_was_asked_for(table, tmp_path):
    table.write_csv(tmp_path / "t.csv")
    lk.maps.AffineMap(a=2.0, b=0.0).save(tmp_path / "cal.json")
    kept = table.filter(pl.col("seconds") > 5)
    code, _, err = run("convert", tmp_path / "t.csv", tmp_path / "o.parquet", "--where", "seconds > 5")
    assert code == 0, err
    assert pl.read_parquet(tmp_path / "o.parquet")["test"].to_list() == kept["test"].to_list()
    asked = ("apply", tmp_path / "cal.json", tmp_path / "t.csv", "--where", "seconds > 5", "--force")
    code, _, err = run(*asked, "-o", tmp_path / "llrs.csv", "--score-column", "llr")
    assert code == 0, err
    assert pl.read_csv(tmp_path / "llrs.csv")["test"].to_list() == kept["test"].to_list()


def test_a_folder_of_llrs_is_made_again_for_another_condition(table, tmp_path):
    (tmp_path / "in").mkdir()
    table.rename({"llr": "score"}).write_parquet(tmp_path / "in" / "a.parquet")
    lk.maps.AffineMap(a=2.0, b=0.0).save(tmp_path / "cal.json")
    rows = []
    for where in ("seconds > 5", "seconds > 6"):
        code, _, err = run("apply", tmp_path / "cal.json", f"{tmp_path}/in/", "-o", f"{tmp_path}/out/",
                           "--where", where)  # fmt: skip
        assert code == 0, err
        rows.append(pl.read_parquet(tmp_path / "out" / "a.parquet").height)
    assert rows == [table.filter(pl.col("seconds") > limit).height for limit in (5, 6)]


def test_commands_select_and_say_what_is_wrong(table, tmp_path):
    table.write_csv(tmp_path / "t.csv")
    kept = table.filter((pl.col("seconds") >= 5) & (pl.col("room") == "hall"))
    asked = ("evaluate", tmp_path / "t.csv", "--json", "-", "--where")
    code, out, err = run(*asked, "seconds >= 5", "--where", "room = hall")
    assert code == 0, err
    assert json.loads(out)["n_target"] == kept["target"].sum()
    for text in ("seconds", "seconds >", "__import__('os')", "minutes > 5", "seconds > long", "seconds < nan",
                 "room > 5", "seconds > 99", "times = true"):  # fmt: skip
        code, out, _ = run(*asked, text)
        assert (code, out) == (2, ""), text


def test_faults_name_the_place_in_the_file(tmp_path):
    rows = ["score,label,room", "1.0,1,a", "2.0,0,b", "x,1,b", "0.5,0,b"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    with pytest.raises(lk.LlrkitError, match="line 4"):
        lk.read_trials(tmp_path / "t.csv", where="room = b")
    table = pl.DataFrame(
        {"score": [1.0, 2.0, None, 0.5], "label": [1, 0, 1, 0], "room": ["a", "b", "b", "b"]}
    )
    table.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(lk.LlrkitError, match="row 2 "):
        lk.read_trials(tmp_path / "t.parquet", where="room = b")


def test_how_a_condition_is_read():
    for text, parts in (
        ("a == 1", ("a", "=", ("1",))),
        ("min seconds <= 5", ("min seconds", "<=", ("5",))),
        ('"a=b" != x', ("a=b", "!=", ("x",))),
        ("inside = out", ("inside", "=", ("out",))),
        ("room not  in a, b", ("room", "not in", ("a", "b"))),
        ("room in 'a, b',c", ("room", "in", ("a, b", "c"))),
    ):
        found = Condition.parse(text)
        assert (found.column, found.op, found.values) == parts
