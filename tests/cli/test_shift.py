"""llrkit shift (with -o it adapts), apply --shift and calibrate --groups."""

import json
import re

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose

import llrkit as lk

pytestmark = pytest.mark.slow


def write(path, target, nontarget):
    label = ["target"] * len(target) + ["nontarget"] * len(nontarget)
    pl.DataFrame({"score": np.concatenate([target, nontarget]), "label": label}).write_csv(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A calibration, and scores: as in training, moved, without labels, of one mode."""
    folder, rng = tmp_path_factory.mktemp("shift"), np.random.default_rng(1)
    write(folder / "train.csv", rng.normal(4.0, 1.0, 1_000), rng.normal(0.0, 1.0, 8_000))
    write(folder / "same.csv", rng.normal(4.0, 1.0, 300), rng.normal(0.0, 1.0, 3_000))
    write(folder / "moved.csv", rng.normal(8.0, 1.5, 500), rng.normal(2.0, 1.5, 4_500))
    pl.read_csv(folder / "moved.csv").select("score").write_csv(folder / "unlabeled.csv")
    write(folder / "one_mode.csv", rng.normal(2.0, 2.2, 500), rng.normal(2.0, 2.2, 4_500))
    write(folder / "few.csv", rng.normal(8.0, 1.5, 20), rng.normal(2.0, 1.5, 20))
    code, _, err = run("calibrate", folder / "train.csv", "--method", "logistic", "-o", folder / "cal.json")
    assert code == 0, err
    return folder


def test_shift_says_what_the_library_says(files):
    fitted = lk.load_map(files / "cal.json")
    for name in ("same", "moved", "one_mode"):
        code, out, err = run("shift", files / "cal.json", files / f"{name}.csv", "--json", "-")
        assert code == 0, err
        got = json.loads(out)
        expected = lk.check_shift(fitted, lk.read_trials(files / f"{name}.csv"))
        assert got["text"] == expected.text
        assert expected.text in err
    _, labeled, _ = run("shift", files / "cal.json", files / "moved.csv")
    _, unlabeled, _ = run("shift", files / "cal.json", files / "unlabeled.csv")
    assert labeled == unlabeled


def test_adapt_writes_a_calibration_that_apply_takes(files, tmp_path):
    code, _, err = run("shift", files / "cal.json", files / "unlabeled.csv", "-o", tmp_path / "new.json")
    assert code == 0, err
    code, _, err = run(
        "apply", tmp_path / "new.json", files / "moved.csv", "-o", tmp_path / "llrs.csv", "--shift", "error"
    )
    assert code == 0, err
    table = pl.read_csv(tmp_path / "llrs.csv")
    got = lk.Scores.from_labels(table["llr"].to_numpy(), (table["label"] == "target").to_numpy())
    moved = lk.read_trials(files / "moved.csv")
    assert lk.cllr(got) < lk.cllr(lk.fit_logistic(moved).on(moved)) + 0.01


def test_adapt_refuses_and_writes_nothing(files, tmp_path):
    for asked in (["one_mode.csv"], ["moved.csv", "--share", "30%,50%"], ["moved.csv", "--share", "some"]):
        name, *options = asked
        assert run("shift", files / "cal.json", files / name, *options, "-o", tmp_path / "new.json")[0] == 2
    assert not (tmp_path / "new.json").exists()


def test_adapt_with_a_few_labels(files, tmp_path):
    asked = ("--labeled", files / "few.csv", "-o", tmp_path / "new.json")
    code, _, err = run("shift", files / "cal.json", files / "moved.csv", *asked)
    assert code == 0, err
    moved = lk.read_trials(files / "moved.csv")
    assert lk.cllr(lk.load_map(tmp_path / "new.json").on(moved)) < 0.2


@pytest.mark.parametrize("output", ["llrs.csv", "llrs/"])
def test_apply_warns_of_a_shift_by_default_and_refuses_it_if_asked(files, tmp_path, output):
    def apply(scores, *more):
        return run("apply", files / "cal.json", files / f"{scores}.csv", "-o", f"{tmp_path}/{output}", *more)

    code, _, err = apply("same")
    assert code == 0
    assert "shift" not in err
    code, _, err = apply("moved", "--shift", "error", "--outside", "bound")
    assert code == 2
    assert "A shift" in err
    left = [path.name for path in tmp_path.rglob("moved*.parquet")]
    assert not left
    if output == "llrs.csv":
        assert len(pl.read_csv(tmp_path / output)) == 3_300  # those of before
    code, _, err = apply("moved")
    assert code == 0
    assert "A shift" in err
    code, _, err = apply("moved", "--shift", "ignore")
    assert code == 0
    assert "A shift" not in err


def test_shift_error_is_refused_where_the_calibration_cannot_tell(files, tmp_path):
    plain = json.loads((files / "cal.json").read_text())
    del plain["parameters"]["map"]["densities"]  # the default bound holds the map that was fitted
    (tmp_path / "old.json").write_text(json.dumps(plain))
    output = ("-o", tmp_path / "l.csv")
    arguments = ("apply", tmp_path / "old.json", files / "moved.csv", "--accept-changed", *output)
    assert run(*arguments, "--shift", "error")[0] == 2
    assert run(*arguments)[0] == 0


def test_a_validation_names_the_shift(files, tmp_path):
    (tmp_path / "criteria.toml").write_text(
        '[[criterion]]\ncharacteristic = "accuracy"\nmetric = "cllr"\nat_most = 9.0\n'
    )
    for name, is_named in (("moved", True), ("same", False)):
        code, out, err = run(
            "validate", files / f"{name}.csv", "--criteria", tmp_path / "criteria.toml", "--map",
            files / "cal.json", "--md", tmp_path / "report.md",
        )  # fmt: skip
        assert code == 0, err
        assert ("A shift" in out) is is_named
        assert ("A shift" in (tmp_path / "report.md").read_text()) is is_named


def test_evaluate_and_report_name_the_shift_of_scores_and_of_llrs(files, tmp_path):
    llrs = tmp_path / "llrs.csv"
    code, _, err = run("apply", files / "cal.json", files / "moved.csv", "-o", llrs, "--shift", "ignore")
    assert code == 0, err
    expected = lk.check_shift(lk.load_map(files / "cal.json"), lk.read_trials(files / "moved.csv"))
    for scores in (llrs, files / "moved.csv"):
        code, out, err = run("evaluate", scores, "--map", files / "cal.json", "--json", "-")
        assert code == 0, err
        assert json.loads(out)["shift"]["text"] == expected.text
        assert expected.text in err
    code, out, err = run("report", llrs, "--map", files / "cal.json", "-o", tmp_path / "page.html")
    assert code == 0, err
    assert "A shift" in (tmp_path / "page.html").read_text()
    code, out, err = run("evaluate", files / "same.csv", "--map", files / "cal.json")
    assert code == 0, err
    assert "No shift was found" in out
    pl.read_csv(llrs).drop("score").write_csv(tmp_path / "bare.csv")
    assert run("evaluate", tmp_path / "bare.csv", "--map", files / "cal.json")[0] == 2


def test_apply_of_a_fusion_warns_of_a_shift(files, tmp_path):
    for name in ("train", "moved"):
        table = pl.read_csv(files / f"{name}.csv")
        noise = np.random.default_rng(2).standard_normal(len(table))
        table.with_columns(other=pl.col("score") + noise).write_csv(tmp_path / f"{name}.csv")
    code, _, err = run(
        "fuse", tmp_path / "train.csv", "--score-columns", "score,other", "-o", tmp_path / "fused.json"
    )
    assert code == 0, err
    for name, is_named in (("train", False), ("moved", True)):
        code, _, err = run(
            "apply", tmp_path / "fused.json", tmp_path / f"{name}.csv", "-o", tmp_path / "llrs.csv"
        )
        assert code == 0, err
        assert ("A shift" in err) is is_named
    # shift and adapt take the columns of the systems, too
    for option in ((), ("--score-column", "score,other")):
        code, out, err = run("shift", tmp_path / "fused.json", tmp_path / "moved.csv", *option)
        assert code == 0, err
        assert out.startswith("A shift")
    code, _, err = run(
        "shift", tmp_path / "fused.json", tmp_path / "moved.csv", "-o", tmp_path / "adapted.json"
    )
    assert code == 0, err
    moved = lk.read_trials(tmp_path / "moved.csv", score=["score", "other"])
    before, after = (lk.cllr(lk.load_map(tmp_path / f"{one}.json").on(moved)) for one in ("fused", "adapted"))
    assert after < 0.3 * before


def test_calibrate_bounds_by_groups_unless_another_bound_is_asked_for(files, tmp_path):
    table = pl.read_csv(files / "train.csv").with_columns(
        attack=pl.when(pl.col("label") == "target").then(pl.lit("-")).otherwise(
            pl.format("A{}", pl.int_range(pl.len()) % 6)
        )
    )  # fmt: skip
    table.write_csv(tmp_path / "attacks.csv")
    asked = ("calibrate", tmp_path / "attacks.csv", "-o", tmp_path / "cal.json", "--groups", "attack")
    assert run(*asked, "--method", "logistic")[0] == 0
    fitted = lk.load_map(tmp_path / "cal.json")
    assert_allclose([fitted.low, fitted.high], [-np.log(1_001), np.log(7)])
    assert run(*asked, "--method", "logistic", "--bound", "elub")[0] == 2
    best = ("--method", "best", "--option", "methods=cmlg,logistic", "--option", "repeats=1")
    assert run(*asked, *best)[0] == 0
    fitted = lk.load_map(tmp_path / "cal.json")
    assert_allclose([fitted.low, fitted.high], [-np.log(1_001), np.log(7)])


SPEAKERS = ["enroll_speaker", "test_speaker"]


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    """A calibration that knows its speakers, and trials of others: as they are, moved, without speakers."""
    folder, columns = tmp_path_factory.mktemp("spoken"), ("--speakers", ",".join(SPEAKERS))
    for split in ("eval", "dev"):
        assert run("simulate", "sample", "--split", split, "-o", folder / f"{split}.csv")[0] == 0
    table = pl.read_csv(folder / "eval.csv")
    table.with_columns(pl.col("score") * 1.5 + 3.0).write_csv(folder / "moved.csv")
    table.drop(SPEAKERS).write_csv(folder / "nobody.csv")
    cal = folder / "cal.json"
    assert run("calibrate", folder / "dev.csv", "--method", "logistic", *columns, "-o", cal)[0] == 0
    for name in ("eval", "moved"):
        asked = (cal, folder / f"{name}.csv", "-o", folder / f"{name}_llrs.csv", "--shift", "ignore")
        assert run("apply", *asked)[0] == 0
    return folder


def criteria_with(folder, **options):
    rows = '[[criterion]]\ncharacteristic = "accuracy"\nat_most = 9.0\n'
    (folder / "criteria.toml").write_text(
        "[options]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in options.items()) + rows
    )
    return folder / "criteria.toml"


@pytest.mark.parametrize("form", ["", "_llrs"])
def test_a_validation_judges_a_shift_by_the_speakers_of_its_criteria(spoken, tmp_path, form):
    def said(name, **options):
        asked = ("--criteria", criteria_with(tmp_path, **options), "--map", spoken / "cal.json")
        code, out, err = run("validate", spoken / f"{name}{form}.csv", *asked, "--json", "-")
        assert code == 0, err
        return " ".join(json.loads(out)["cautions"])

    columns = ("--speakers", ",".join(SPEAKERS))
    for name, head in (("eval", "No shift"), ("moved", "A shift")):
        alone = run("shift", spoken / "cal.json", spoken / f"{name}.csv", *columns)[1]
        assert alone.startswith(head)
        asked = ("--map", spoken / "cal.json", *columns, "--ci", "speaker")
        by_map = run("evaluate", spoken / f"{name}{form}.csv", *asked)
        assert by_map[0] == 0, by_map[2]
        (p_value,) = re.findall(r"\(p .*?\)", alone)
        assert p_value in by_map[1]
        cautions = said(name, speakers=SPEAKERS, ci="speaker")
        assert ("A shift" in cautions) is (head == "A shift")
        assert (p_value in cautions) is (head == "A shift")
    assert "A shift" in said("eval")  # without the speakers new people look like a shift
