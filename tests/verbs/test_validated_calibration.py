"""What a validation makes of its calibration: applied or not, on whose trials, and what is said about it."""

import json

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit.verbs.given_calibration import use_calibration

TRAINED = "These trials trained the calibration"
IN_ROW = "measured on the trials that trained the calibration"
CRITERIA = """
[[criterion]]
characteristic = "accuracy"
at_most = 0.9

[[criterion]]
characteristic = "calibration"
metric = "verdict"
"""
ROWS = {"criterion": [{"characteristic": name, "at_most": 0.9} for name in ("accuracy", "generalization")]}


def write(path, seed, n=(120, 500)):
    rng = np.random.default_rng(seed)
    score = np.concatenate([rng.normal(0.6, 0.12, n[0]), rng.normal(0.2, 0.13, n[1])])
    label = np.repeat(["target", "nontarget"], n)
    ids = [f"t{i}" for i in range(sum(n))]
    pl.DataFrame({"enroll": ids, "test": ids, "score": score, "label": label}).write_csv(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Training trials and others of the same numbers, the LLRs of both, and two calibrations."""
    folder = tmp_path_factory.mktemp("validated")
    write(folder / "dev.csv", 1)
    write(folder / "eval.csv", 2)
    (folder / "criteria.toml").write_text(CRITERIA)
    for method, name in (("logistic", "dev.json"), ("cmlg", "other.json")):
        assert run("calibrate", folder / "dev.csv", "--method", method, "-o", folder / name)[0] == 0
    for name in ("dev", "eval"):
        llrs = folder / f"{name}_llrs.csv"
        assert run("apply", folder / "dev.json", folder / f"{name}.csv", "-o", llrs)[0] == 0
        pl.read_csv(llrs).drop("score").write_csv(folder / f"{name}_llrs_only.csv")
        single = pl.col("score").cast(pl.Float32)
        pl.read_csv(folder / f"{name}.csv").with_columns(single).write_parquet(
            folder / f"{name}_single.parquet"
        )
    return folder


@pytest.mark.parametrize("copy", [".csv", "_llrs.csv", "_single.parquet", "_llrs_only.csv"])
def test_training_trials_are_recognized_in_another_file(folder, copy):
    for name, flagged in (("dev", True), ("eval", False)):
        trials = lk.read_trials(folder / f"{name}{copy}")
        found = lk.validate(trials, criteria=ROWS, calibration=lk.load_map(folder / "dev.json"), replicates=0)
        assert [IN_ROW in row.note for row in found.rows] == [flagged] * 2
        assert (TRAINED in repr(found)) == flagged


def test_training_trials_are_recognized_where_the_classes_do_not_overlap():
    rng = np.random.default_rng(3)
    apart, others = (
        lk.Scores(rng.normal(9.0, 1.0, 40), rng.normal(-9.0, 1.0, 90)) for _ in range(2)
    )  # fmt: skip
    calibration = lk.fit_cmlg(apart)
    assert use_calibration(apart, calibration, apply=True).on_training_trials
    assert not use_calibration(others, calibration, apply=True).on_training_trials


def test_distances_and_logarithms_to_base_ten_are_compared_as_they_were_read(tmp_path):
    write(tmp_path / "plain.csv", 1)
    score = pl.col("score")
    for name, flag, held in (("distance", "--distance", -score), ("log10", "--log10", score)):
        pl.read_csv(tmp_path / "plain.csv").with_columns(held).write_csv(tmp_path / f"{name}.csv")
        file, fitted = tmp_path / f"{name}.csv", tmp_path / f"{name}.json"
        assert run("calibrate", file, flag, "--method", "cmlg", "-o", fitted)[0] == 0
        assert run("apply", fitted, file, "-o", tmp_path / "llrs.csv")[0] == 0
        loaded = lk.load_map(fitted)
        ways = (
            lk.read_trials(file),
            lk.read_trials(file, **{name: True}),
            lk.read_trials(tmp_path / "llrs.csv"),
        )
        for trials in ways:
            used = use_calibration(trials, loaded, None)
            assert used.on_training_trials
            assert used.outside == ""


def test_llrs_of_another_calibration_are_refused(folder, tmp_path):
    report = tmp_path / "report.md"
    arguments = ("--criteria", folder / "criteria.toml", "--map", folder / "other.json", "--md", report)
    assert run("validate", folder / "eval_llrs.csv", *arguments)[0] == 2
    assert not report.exists()


def test_llrs_that_a_calibration_does_not_make_of_their_scores_are_noticed_in_python(folder, tmp_path):
    # a maker without a hash does not tell whose LLRs they are, the scores beside them do
    unknown = pl.read_csv(folder / "eval_llrs.csv").with_columns(llr_map=pl.lit("mine"))
    unknown.write_csv(tmp_path / "llrs.csv")
    llrs = lk.read_trials(tmp_path / "llrs.csv")
    own, other = (lk.load_map(folder / name) for name in ("dev.json", "other.json"))
    assert lk.validate(llrs, criteria=ROWS, calibration=own, replicates=0).cautions == ()
    (said,) = lk.validate(llrs, criteria=ROWS, calibration=other, replicates=0).cautions
    dev = pl.read_csv(folder / "dev.csv")["score"]
    table = pl.read_csv(folder / "eval_llrs.csv").filter(pl.col("score").is_between(dev.min(), dev.max()))
    apart = np.abs(other(table["score"].to_numpy()) - table["llr"].to_numpy())
    assert int(said.split()[0]) == pytest.approx(np.count_nonzero(apart > 1e-3), abs=20)


def test_a_calibration_of_several_systems_is_not_applied_to_one(folder):
    rng = np.random.default_rng(4)
    fused = lk.fit_fusion(lk.Scores(rng.normal(1, 1, (50, 2)), rng.normal(-1, 1, (90, 2))))
    with pytest.raises(lk.errors.SystemCountError):
        lk.validate(lk.read_trials(folder / "eval.csv"), criteria=ROWS, calibration=fused)


def test_validation_counts_scores_outside_the_training_range(folder, tmp_path):
    table = pl.read_csv(folder / "eval.csv")
    low, high = pl.read_csv(folder / "dev.csv")["score"].min(), pl.read_csv(folder / "dev.csv")["score"].max()
    table[0, "score"] = 5.2
    table.write_csv(tmp_path / "far.csv")
    n = table.filter((pl.col("score") < low) | (pl.col("score") > high)).height
    fitted = lk.load_map(folder / "dev.json")
    for trials in (lk.read_trials(tmp_path / "far.csv"), lk.scan_trials(tmp_path / "far.csv")):
        (said,) = lk.validate(trials, criteria=ROWS, calibration=fitted, replicates=0).cautions
        assert said.startswith(f"{n} of 620 scores ")


def test_python_applies_a_calibration_to_raw_trials_as_the_command_does(folder):
    fitted = lk.load_map(folder / "dev.json")
    raw = lk.read_trials(folder / "eval.csv")
    wanted = lk.cllr(fitted(raw.scores()))
    for trials, apply in (
        (raw, None),
        (lk.read_trials(folder / "eval_llrs.csv"), None),
        (fitted.on(raw), None),
        (raw.scores(), True),
    ):
        found = lk.validate(trials, criteria=ROWS, calibration=fitted, apply=apply, replicates=0)
        assert found.evaluation.cllr == pytest.approx(wanted, abs=1e-12)
    for unknown in (raw.scores(), fitted(raw.scores())):
        with pytest.raises(lk.InputError):
            lk.validate(unknown, criteria=ROWS, calibration=fitted)
    with pytest.raises(lk.InputError):
        lk.validate(lk.read_trials(folder / "eval_llrs.csv"), criteria=ROWS, calibration=fitted, apply=True)
    with pytest.raises(lk.InputError):
        lk.validate(raw, criteria=ROWS, apply=True)


def test_a_change_is_counted_between_llrs_of_the_same_calibration(folder, tmp_path):
    row = {"characteristic": "robustness", "change_from": str(folder / "dev.csv"), "at_most": 1.0}
    fitted = lk.load_map(folder / "dev.json")
    trials = lk.read_trials(folder / "eval.csv")
    found = lk.validate(trials, criteria={"criterion": [row]}, calibration=fitted, replicates=0)
    before = lk.cllr(fitted.on(lk.read_trials(folder / "dev.csv")))
    assert found.rows[0].result == pytest.approx(lk.cllr(fitted.on(trials)) - before, abs=1e-12)


def validated(folder, name, *more, calibration="dev.json"):
    arguments = ("--criteria", folder / "criteria.toml", "--map", folder / calibration)
    return run("validate", folder / name, *arguments, *more)


@pytest.mark.slow
def test_training_trials_are_recognized_by_the_command(folder):
    for name, flagged in (("dev", True), ("eval", False)):
        code, out, err = validated(folder, f"{name}_llrs.csv", "--json", "-")
        assert code in (0, 1), err
        found = json.loads(out)
        assert any(TRAINED in caution for caution in found["cautions"]) == flagged
        assert [IN_ROW in row["note"] for row in found["matrix"]] == [flagged] * 2


@pytest.mark.slow
def test_raw_scores_may_be_taken_and_a_file_of_the_same_content_is_the_same_map(folder):
    asked = ("--score-column", "score")
    assert validated(folder, "eval_llrs.csv", *asked, calibration="other.json")[0] in (0, 1)
    (folder / "renamed.json").write_bytes((folder / "dev.json").read_bytes())
    assert validated(folder, "eval_llrs.csv", calibration="renamed.json")[0] in (0, 1)


@pytest.mark.slow
def test_a_calibration_of_llrs_is_applied_to_those_of_another_one(folder, tmp_path):
    second = tmp_path / "second.json"
    assert run("calibrate", folder / "dev_llrs.csv", "--method", "cmlg", "-o", second)[0] == 0
    code, _, err = validated(folder, "eval_llrs.csv", calibration=second)
    assert code in (0, 1), err
    fitted, llrs = lk.load_map(second), lk.read_trials(folder / "eval_llrs.csv")
    found = lk.validate(llrs, criteria=ROWS, calibration=fitted, replicates=0)
    assert found.applied
    # what was made of them in Python is not what the file says of its own LLRs
    same = lk.validate(fitted.on(llrs), criteria=ROWS, calibration=fitted, apply=False, replicates=0)
    assert not same.applied
    assert same.evaluation.cllr == found.evaluation.cllr
