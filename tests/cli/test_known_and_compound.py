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
    assert cost["act"] == lk.c_primary(trials, "sre12", known="known")
    assert cost["min"] == lk.c_primary(trials, "sre12", known="known", actual=False)
    assert f"sre12, 50 % of non-targets known: minimum {cost['min']:.4f}, actual {cost['act']:.4f}" in err
    _, out, _ = run("evaluate", tmp_path / "s.csv", "--point", "0.01", "--known", "known", "--p-known", "20%")
    point = lk.OperatingPoint(0.01)
    wanted = lk.c_primary(trials, point, known="known", p_known=0.2)
    assert "P=0.01, 20 % of non-targets known: minimum" in out
    assert f"actual {wanted:.4f}" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--point", "sre08", "--known", "known"], "--known needs a cost that mixes"),
        (["--p-known", "0.3"], "--p-known needs --known"),
        (["--known", "known", "--equalize", "enroll"], "cannot be combined"),
        (["--known", "nobody"], "there is no column 'nobody'"),
        (["--known", "enroll"], "must hold true/false or known/unknown"),
    ],
)
def test_known_that_cannot_be_honored_is_refused(table, tmp_path, options, said):
    table.write_csv(tmp_path / "s.csv")
    code, _, err = run("evaluate", tmp_path / "s.csv", *options)
    assert (code, said in err) == (2, True), err


def test_compound_llrs_of_a_file_against_the_formula(table, tmp_path):
    table.write_csv(tmp_path / "s.csv")
    code, out, err = run("compound", tmp_path / "s.csv", "-o", tmp_path / "c.csv", "--p-known", "0.3")
    assert (code, "1,500 compound LLRs written" in out) == (0, True), err
    made = pl.read_csv(tmp_path / "c.csv")
    assert made["test"].to_list() == table["test"].to_list()
    for segment in ("s3", "s10"):
        ratio = np.exp(table.filter(pl.col("test") == segment)["score"].to_numpy())
        others = (ratio.sum() - ratio) / 9
        found = made.filter(pl.col("test") == segment)["compound_llr"].to_numpy()
        assert_allclose(np.exp(found), ratio / (0.3 * others + 0.7), rtol=1e-9)
    code, out, _ = run("evaluate", tmp_path / "c.csv", "--score-column", "compound_llr", "--known", "known")
    assert (code, "50 % of non-targets known" in out) == (0, True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: pl.concat([table, table.head(1)]), "more than once"),
        (lambda table: table.filter((pl.col("test") != "s7") | (pl.col("enroll") == "m1")), "one model only"),
        (lambda table: table.drop("enroll"), "need the columns of the models"),
        (
            lambda table: table.filter((pl.col("test") != "s7") | (pl.col("enroll") != "m3")),
            "segment 's7' was not compared with model 'm3', segment 's0' was",
        ),
        (lambda table: table[1:], "segment 's0' was not compared with model 'm0', segment 's1' was"),
    ],
)
def test_tables_without_all_models_are_refused(table, tmp_path, change, said):
    change(table).write_csv(tmp_path / "s.csv")
    code, _, err = run("compound", tmp_path / "s.csv", "-o", tmp_path / "c.csv")
    assert (code, said in err, (tmp_path / "c.csv").exists()) == (2, True, False), err
    assert err.count("s.csv") == 1


def test_separate_lists_may_share_a_file(table, tmp_path):
    women = table.with_columns(pl.col("enroll") + "w", pl.col("test") + "w").filter(pl.col("enroll") != "m9w")
    pl.concat([table, women]).write_csv(tmp_path / "s.csv")
    code, _, err = run("compound", tmp_path / "s.csv", "-o", tmp_path / "c.csv")
    assert (code, pl.read_csv(tmp_path / "c.csv").height) == (0, 2850), err


def test_known_without_a_point_is_that_of_sre12(table, tmp_path):
    table.write_csv(tmp_path / "s.csv")
    code, out, _ = run("evaluate", tmp_path / "s.csv", "--known", "known")
    assert (code, "C_primary sre12" in out, "sre08" in out) == (0, True, False)
    points = ("--point", "sre12", "--point", "sre08")
    _, out, _ = run("evaluate", tmp_path / "s.csv", "--known", "known", *points)
    assert "sre08 does not mix known and unknown non-targets (--p-known gives their share)" in out


def test_the_selection_stands_with_the_numbers(table, tmp_path):
    table.write_csv(tmp_path / "s.csv")
    chosen = ("--where", "known == 1", "--where", "enroll != m3")
    code, out, err = run("evaluate", tmp_path / "s.csv", *chosen)
    assert code == 0, err
    assert out.startswith(f"{tmp_path / 's.csv'}, only known == 1 and enroll != m3\n")
    _, out, _ = run("evaluate", tmp_path / "s.csv", *chosen, "--json", "-")
    assert json.loads(out)["where"] == ["known == 1", "enroll != m3"]
