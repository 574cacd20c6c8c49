"""llrkit shift, adapt, apply --shift and calibrate --groups."""

import json
import re

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose

import llrkit as lk


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
        assert got["schema"] == "llrkit.shift/1"
    assert "A shift" in err
    _, labeled, _ = run("shift", files / "cal.json", files / "moved.csv")
    _, unlabeled, _ = run("shift", files / "cal.json", files / "unlabeled.csv")
    assert labeled == unlabeled


def test_adapt_writes_a_calibration_that_apply_takes(files, tmp_path):
    code, out, err = run("adapt", files / "cal.json", files / "unlabeled.csv", "-o", tmp_path / "new.json")
    assert code == 0, err
    assert "adapted (common move)" in out
    code, _, err = run(
        "apply", tmp_path / "new.json", files / "moved.csv", "-o", tmp_path / "llrs.csv", "--shift", "error"
    )
    assert code == 0, err
    table = pl.read_csv(tmp_path / "llrs.csv")
    got = lk.Scores.from_labels(table["llr"].to_numpy(), (table["label"] == "target").to_numpy())
    moved = lk.read_trials(files / "moved.csv")
    assert lk.cllr(got) < lk.cllr(lk.fit_logistic(moved).on(moved)) + 0.01


def test_adapt_refuses_with_the_reason_and_writes_nothing(files, tmp_path):
    code, _, err = run("adapt", files / "cal.json", files / "one_mode.csv", "-o", tmp_path / "new.json")
    assert code == 2
    assert "two modes" in err
    assert not (tmp_path / "new.json").exists()
    code, _, err = run(
        "adapt", files / "cal.json", files / "moved.csv", "--share", "30%,50%", "-o", tmp_path / "new.json"
    )
    assert code == 2
    assert "the range that was given" in err
    code, _, err = run(
        "adapt", files / "cal.json", files / "moved.csv", "--share", "some", "-o", tmp_path / "new.json"
    )
    assert code == 2
    assert "--share some" in err


def test_adapt_with_a_few_labels(files, tmp_path):
    code, out, err = run(
        "adapt",
        files / "cal.json",
        files / "moved.csv",
        "--labeled",
        files / "few.csv",
        "-o",
        tmp_path / "new.json",
    )
    assert code == 0, err
    assert "40 labeled trials" in out
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
    assert "A shift: the 5,000 scores fit no mixture of the training classes" in err
    code, _, err = apply("moved", "--shift", "ignore")
    assert code == 0
    assert "A shift" not in err


def test_shift_error_is_refused_where_the_calibration_cannot_tell(files, tmp_path):
    plain = json.loads((files / "cal.json").read_text())
    del plain["parameters"]["map"]["densities"]  # the default bound holds the map that was fitted
    (tmp_path / "old.json").write_text(json.dumps(plain))
    arguments = (
        "apply",
        tmp_path / "old.json",
        files / "moved.csv",
        "--accept-changed",
        "-o",
        tmp_path / "l.csv",
    )
    code, _, err = run(*arguments, "--shift", "error")
    assert code == 2
    assert "does not hold the densities" in err
    assert run(*arguments)[0] == 0


def test_a_validation_names_the_shift(files, tmp_path):
    (tmp_path / "criteria.toml").write_text(
        '[[criterion]]\ncharacteristic = "accuracy"\nmetric = "cllr"\nat_most = 9.0\n'
    )
    for name, is_named in (("moved", True), ("same", False)):
        code, out, err = run(
            "validate", files / f"{name}.csv", "--criteria", tmp_path / "criteria.toml", "--map",
            files / "cal.json", "--report", tmp_path / "report.md",
        )  # fmt: skip
        assert code == 0, err
        assert ("A shift" in out) is is_named
        assert ("A shift" in (tmp_path / "report.md").read_text()) is is_named


def by_labels(trials, trained):
    """The moves of two classes as the sentence has them, from means and standard deviations."""
    said = []
    for new, old in zip((trials.target, trials.nontarget), (trained.target, trained.nontarget), strict=True):
        said += [f"{(new.mean() - old.mean()) / old.std():+.2f} standard deviations"]
        said += [f"their spread is {new.std() / old.std():.2f} times"]
    return said


def test_labels_tell_what_scores_of_one_mode_do_not(files, tmp_path):
    (tmp_path / "criteria.toml").write_text(
        '[[criterion]]\ncharacteristic = "accuracy"\nmetric = "cllr"\nat_most = 9.0\n'
    )
    one_mode, cal = files / "one_mode.csv", files / "cal.json"
    assert "cannot be known without labels" in run("shift", cal, one_mode)[1]  # it does not look at them
    hypotheses = ("--h1", "he spoke", "--h2", "another spoke")
    texts = [
        run("validate", one_mode, "--criteria", tmp_path / "criteria.toml", "--map", cal)[1],
        run("case", cal, "--score", "1", "--validation", one_mode, *hypotheses)[1],
        run("evaluate", one_mode, "--map", cal)[1],
    ]
    trials, trained = (lk.read_trials(path).scores() for path in (one_mode, files / "train.csv"))
    llrs = lk.evaluate(lk.load_map(cal).on(trials))
    loss = f"of Cllr = {llrs.cllr:.4f} bits, their LLRs lose {llrs.cllr_cal:.4f} to calibration"
    for text in texts:
        said = " ".join(text.split())
        assert "cannot be known without labels" not in said
        assert "Label some" not in said
        for words in (*by_labels(trials, trained), loss):
            assert words in said


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
    assert "A shift: the 5,000 scores fit no mixture" in (tmp_path / "page.html").read_text()
    code, out, err = run("evaluate", files / "same.csv", "--map", files / "cal.json")
    assert code == 0, err
    assert "No shift was found: the 3,300 scores" in out
    pl.read_csv(llrs).drop("score").write_csv(tmp_path / "bare.csv")
    code, _, err = run("evaluate", tmp_path / "bare.csv", "--map", files / "cal.json")
    assert code == 2
    assert "not the raw scores in the column of training (score)" in err


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
        "adapt", tmp_path / "fused.json", tmp_path / "moved.csv", "-o", tmp_path / "adapted.json"
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

    def calibrate(*more):
        code, out, err = run("calibrate", tmp_path / "attacks.csv", "-o", tmp_path / "cal.json", *more)
        return code, out + err

    code, said = calibrate("--method", "logistic", "--groups", "attack")
    assert code == 0, said
    assert "6 groups (attack) with non-target trials" in said
    fitted = lk.load_map(tmp_path / "cal.json")
    assert_allclose([fitted.low, fitted.high], [-np.log(1_001), np.log(7)])
    code, said = calibrate("--method", "logistic", "--groups", "attack", "--bound", "elub")
    assert code == 2
    assert "leave out --bound elub" in said
    best = (
        "--method",
        "best",
        "--option",
        "methods=cmlg,logistic",
        "--option",
        "repeats=1",
        "--groups",
        "attack",
    )
    code, said = calibrate(*best)
    assert code == 0, said
    assert "6 groups" in said
    assert lk.load_map(tmp_path / "cal.json").details["weights"]
    code, said = calibrate(*best, "--bound", "none")
    assert code == 0, said
    assert "LLRs are not bounded" in said or "6 groups" not in said


def test_calibrate_keeps_how_speakers_differ_so_that_others_are_no_shift(tmp_path):
    speakers = ("--speakers", "enroll_speaker,test_speaker")
    for split in ("eval", "dev"):
        assert run("simulate", "sample", "--split", split, "-o", tmp_path / f"{split}.csv")[0] == 0
    assert run("calibrate", tmp_path / "dev.csv", "-o", tmp_path / "plain.json")[0] == 0
    assert run("calibrate", tmp_path / "dev.csv", *speakers, "-o", tmp_path / "cal.json")[0] == 0
    fitted = lk.load_map(tmp_path / "cal.json")
    other = lk.fit_logistic(lk.sample_trials("dev"), bound="sources", speakers=speakers[1].split(","))
    assert fitted.map.densities["groups"]["df"] == other.map.densities["groups"]["df"]
    said = {}
    for name in ("plain", "cal"):
        code, said[name], err = run("shift", tmp_path / f"{name}.json", tmp_path / "eval.csv", *speakers)
        assert code == 0, err
    assert "those of training are not known" in said["plain"]
    assert "No shift was found: the 9,900 scores fit a mixture" in said["cal"]
    assert "speakers taken into account)" in said["cal"]
    # 400 target trials of 40 speakers: it is speakers, not scores, that are too few
    few = re.search(r"not estimated, because the scores hold about (\d+) independent targets", said["cal"])
    assert int(few[1]) <= 40


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
        by_map = run(
            "evaluate",
            spoken / f"{name}{form}.csv",
            "--map",
            spoken / "cal.json",
            *columns,
            "--ci",
            "speaker",
        )
        assert by_map[0] == 0, by_map[2]
        (p_value,) = re.findall(r"\(p .*?\)", alone)
        assert p_value.endswith(" at a level of 1 %, speakers taken into account)")
        assert p_value in by_map[1]
        cautions = said(name, speakers=SPEAKERS, ci="speaker")
        assert ("A shift" in cautions) is (head == "A shift")
        assert (p_value in cautions) is (head == "A shift")
    # without the speakers new people look like a shift, and the words say that they were not known
    assert "A shift" in said("eval")
    assert "but not those of the scores" in said("eval")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("eval", ""),
        ("eval_llrs", ""),
        ("moved", "at a level of 1 %, speakers taken into account)"),
        (
            "nobody",
            "at a level of 1 %, speakers of training taken into account, but not those of the scores)",
        ),
    ],
)
def test_a_case_judges_a_shift_of_its_validation_by_speakers_where_it_has_them(spoken, name, words):
    code, out, err = run(
        "case", spoken / "cal.json", "--score", "2.5", "--h1", "he spoke", "--h2", "another spoke", "--train",
        spoken / "dev.csv", "--speakers", ",".join(SPEAKERS), "--validation", spoken / f"{name}.csv",
    )  # fmt: skip
    assert code == 0, err
    assert ("A shift" in out) is bool(words)
    assert words in out


def test_llrs_beside_their_scores_are_judged_with_speakers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("simulate", "sample", "-o", "trials.csv")[0] == 0
    speakers = "enroll_speaker,test_speaker"
    assert run("calibrate", "trials.csv", "--speakers", speakers, "-o", "cal.json")[0] == 0
    assert run("apply", "cal.json", "trials.csv", "-o", "llrs.csv")[0] == 0
    code, out, err = run("evaluate", "llrs.csv", "--map", "cal.json", "--speakers", speakers)
    assert code == 0, err
    assert "speakers taken into account" in out
