"""Known and unknown impostors on the command line, and compound LLRs of a table."""

import json

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose

import llrkit as lk


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    rows = []
    for segment in range(150):
        truth = rng.integers(0, 12) if segment % 2 else -1  # half of the segments are of unknown speakers
        for model in range(10):
            same = model == truth
            rows.append(
                (f"m{model}", f"s{segment}", rng.normal(3.0 if same else -3.0, 2.0), same, 0 <= truth < 10)
            )
    return pl.DataFrame(rows, schema=["enroll", "test", "score", "target", "known"], orient="row")


def test_evaluate_mixes_known_and_unknown_non_targets(table, tmp_path):
    table.write_csv(tmp_path / "s.csv")
    code, out, err = run(
        "evaluate", tmp_path / "s.csv", "--point", "sre12", "--known", "known", "--json", "-"
    )
    assert code == 0, err
    (cost,) = json.loads(out)["known"]
    trials = lk.read_trials(tmp_path / "s.csv")
    assert cost["act"] == lk.c_primary(trials, evaluation="sre12", known="known")
    assert cost["min"] == lk.c_primary(trials, evaluation="sre12", known="known", actual=False)
    _, out, _ = run("evaluate", tmp_path / "s.csv", "--point", "0.01", "--known", "known", "--p-known", "20%")
    wanted = lk.c_primary(trials, evaluation=lk.OperatingPoint(0.01), known="known", p_known=0.2)
    assert f"actual {wanted:.4f}" in out


@pytest.mark.parametrize(
    "options",
    [
        "--point sre08 --known known", "--p-known 0.3", "--known known --equalize enroll",
        "--known nobody", "--known enroll",
    ],
)  # fmt: skip
def test_known_that_cannot_be_honored_is_refused(table, tmp_path, options):
    table.write_csv(tmp_path / "s.csv")
    assert run("evaluate", tmp_path / "s.csv", *options.split())[:2] == (2, "")


def test_compound_llrs_of_a_file_against_the_formula(table, tmp_path):
    table.write_csv(tmp_path / "s.csv")
    code, _, err = run("convert", tmp_path / "s.csv", tmp_path / "c.csv", "--compound", "0.3")
    assert code == 0, err
    made = pl.read_csv(tmp_path / "c.csv")
    assert made["test"].to_list() == table["test"].to_list()
    for segment in ("s3", "s10"):
        ratio = np.exp(table.filter(pl.col("test") == segment)["score"].to_numpy())
        others = (ratio.sum() - ratio) / 9
        found = made.filter(pl.col("test") == segment)["compound_llr"].to_numpy()
        assert_allclose(np.exp(found), ratio / (0.3 * others + 0.7), rtol=1e-9)
    asked = ("--score-column", "compound_llr", "--known", "known")
    assert run("evaluate", tmp_path / "c.csv", *asked)[0] == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: pl.concat([table, table.head(1)]), "s0"),
        (lambda table: table.filter((pl.col("test") != "s7") | (pl.col("enroll") == "m1")), "s7"),
        (lambda table: table.drop("enroll"), "models"),
        (lambda table: table.filter((pl.col("test") != "s7") | (pl.col("enroll") != "m3")), "'s7'"),
    ],
)
def test_tables_without_all_models_are_refused(table, tmp_path, change, said):
    change(table).write_csv(tmp_path / "s.csv")
    code, _, err = run("convert", tmp_path / "s.csv", tmp_path / "c.csv", "--compound", "0.5")
    assert (code, said in err, (tmp_path / "c.csv").exists()) == (2, True, False), err


def test_separate_lists_may_share_a_file(table, tmp_path):
    women = table.with_columns(pl.col("enroll") + "w", pl.col("test") + "w").filter(pl.col("enroll") != "m9w")
    pl.concat([table, women]).write_csv(tmp_path / "s.csv")
    code, _, err = run("convert", tmp_path / "s.csv", tmp_path / "c.csv", "--compound", "0.5")
    assert (code, pl.read_csv(tmp_path / "c.csv").height) == (0, 2850), err


def test_known_without_a_point_is_that_of_sre12(table, tmp_path):
    table.write_csv(tmp_path / "s.csv")
    code, out, _ = run("evaluate", tmp_path / "s.csv", "--known", "known", "--json", "-")
    assert (code, [cost["name"] for cost in json.loads(out)["known"]]) == (0, ["sre12"])
