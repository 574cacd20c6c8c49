"""calibrate, apply, compare, fuse and diagnose, as a person uses them."""

import json
import shlex

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.maps.training_range import REMEDY_TYPED

UNBOUNDED = ("--bound", "none")  # what the command line bounds by default, Python does not


def table(seed, n=900):
    """Two systems on the same trials by an even seed (dev, other), other trials by an odd one (eval)."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 3 == 0
    side = "e" if seed % 2 else ""
    return pl.DataFrame(
        {
            "enroll": [f"m{side}{i // 30}" for i in range(n)],
            "test": [f"t{side}{i}" for i in range(n)],
            "score": rng.normal(np.where(label, 4.0, -3.0), 3.0),
            "label": np.where(label, "target", "nontarget"),
            "room": np.where(np.arange(n) % 2 == 0, "quiet", "noisy"),
        }
    )


@pytest.fixture
def files(tmp_path):
    made = {}
    for i, name in enumerate(("dev", "eval", "other")):
        made[name] = tmp_path / f"{name}.csv"
        table(i).write_csv(made[name])
    return tmp_path, made


def test_calibrate_apply_evaluate_is_the_same_as_in_python(files):
    folder, made = files
    assert run("calibrate", made["dev"], *UNBOUNDED, "--method", "cmlg", "-o", folder / "cal.json")[0] == 0
    for ending in ("parquet", "csv", "tsv"):
        assert run("apply", folder / "cal.json", made["eval"], "-o", folder / f"llrs.{ending}")[0] == 0
        found = lk.read_trials(folder / f"llrs.{ending}")
        expected = lk.fit_cmlg(lk.read_trials(made["dev"]))(lk.read_trials(made["eval"]))
        assert_array_equal(found.score_array, expected)
        assert_array_equal(found.table["score"].cast(pl.Float64), table(1)["score"])
        assert found.table["enroll"].to_list() == table(1)["enroll"].to_list()
    kept = json.loads((folder / "cal.json").read_text())
    assert kept["provenance"]["training_file"] == "dev.csv"
    assert len(kept["provenance"]["training_sha256"]) == 64
    assert kept["provenance"]["training_cllr"] < kept["provenance"]["training_cllr_before"]


def test_apply_names_the_column_of_training_where_there_is_no_score(tmp_path):
    folder = tmp_path
    table(0).rename({"score": "raw"}).write_csv(folder / "raw.csv")
    code, _, _ = run("calibrate", folder / "raw.csv", "--score-column", "raw", "-o", folder / "cal.json")
    assert code == 0
    code, _, err = run("apply", folder / "cal.json", folder / "raw.csv", "-o", folder / "llrs.csv")
    assert code == 2
    assert "--score-column (in training it was 'raw')" in err
    assert not (folder / "llrs.csv").exists()


def test_options_of_a_method_and_conditions(files):
    folder, made = files
    asked = ("--method", "logistic", "--option", "prior=0.01", "-o", folder / "c.json")
    assert run("calibrate", made["dev"], *UNBOUNDED, *asked)[0] == 0
    assert lk.load_map(folder / "c.json").options["prior"] == 0.01
    code, _, _ = run(
        "calibrate", made["dev"], *UNBOUNDED, "--method", "cmlg", "--by", "room", "-o", folder / "by.json"
    )
    assert code == 0
    run("apply", folder / "by.json", made["eval"], "-o", folder / "by.csv")
    quiet = lk.read_trials(made["dev"]).by("room")["quiet"]
    found = lk.read_trials(folder / "by.csv").by("room")["quiet"]
    raw = lk.read_trials(made["eval"]).by("room")["quiet"]
    assert_allclose(found.score_array, lk.fit_cmlg(quiet)(raw), rtol=1e-12)


@pytest.mark.slow
def test_best_is_saved_with_its_weights_and_groups(files):
    folder, made = files
    arguments = ("--method", "best", "--option", "methods=cmlg,logistic", "--option", "folds=3")
    common = ("calibrate", made["dev"], *UNBOUNDED, *arguments, "-o", folder / "c.json")
    assert run(*common, "--groups", "enroll")[0] == 0
    fitted = lk.load_map(folder / "c.json")
    assert fitted.details["groups"] == ["enroll"]
    assert set(fitted.details["weights"]) <= {"cmlg", "logistic"}
    assert run(*common, "--option", "blend=false")[0] == 0
    single = lk.load_map(folder / "c.json")
    assert single.method == single.details["chosen"] == fitted.details["chosen"]


def test_fuse_joins_files_on_ids_whatever_their_order(files):
    folder, made = files
    other = table(2).with_columns(label=table(0)["label"])
    other.sample(fraction=1.0, shuffle=True, seed=1).write_csv(made["other"])
    assert run("fuse", *UNBOUNDED, made["dev"], made["other"], "-o", folder / "f.json")[0] == 0
    fitted = lk.load_map(folder / "f.json")
    assert fitted.systems == ["dev", "other"]
    both = np.column_stack([table(0)["score"], table(2)["score"]])
    label = table(0)["label"] == "target"
    expected = lk.fit_fusion(lk.Scores.from_labels(both, label.to_numpy()))
    assert_allclose(fitted.weights, expected.weights, rtol=1e-9)
    assert run("apply", folder / "f.json", made["dev"], made["other"], "-o", folder / "llrs.csv")[0] == 0
    assert_allclose(lk.read_trials(folder / "llrs.csv").score_array, expected(both), rtol=1e-9)
    for wrong in (["dev"], ["other", "dev"], ["dev", "eval", "other"]):  # too few, in another order, too many
        assert run("apply", folder / "f.json", *(made[one] for one in wrong), "-o", folder / "x.csv")[0] == 2
    assert not (folder / "x.csv").exists()


def test_systems_in_files_of_the_same_name_are_told_apart_by_their_folders(files):
    folder, made = files
    for i, part in enumerate(("one", "two")):
        (folder / part).mkdir()
        table(2 * i).with_columns(label=table(0)["label"]).write_csv(folder / part / "dev.csv")
    paths = [folder / "one" / "dev.csv", folder / "two" / "dev.csv"]
    assert run("fuse", *UNBOUNDED, *paths, "-o", folder / "f.json")[0] == 0
    assert lk.load_map(folder / "f.json").systems == ["one/dev", "two/dev"]
    assert run("apply", folder / "f.json", *paths, "-o", folder / "llrs.csv")[0] == 0
    assert run("apply", folder / "f.json", *paths[::-1], "-o", folder / "x.csv")[0] == 2
    assert run("fuse", *UNBOUNDED, made["dev"], made["dev"], "-o", folder / "x.json")[0] == 2


@pytest.mark.slow
def test_methods_are_listed_with_defaults_that_can_be_typed_as_they_stand(files):
    from llrkit.fits.folds import METHODS

    folder, made = files
    code, out, _ = run("calibrate", "--help-methods")
    assert code == 0
    assert [line.partition(":")[0] for line in out.splitlines() if line[0] != " "] == [*METHODS, "best"]
    name, given = "", 0
    for line in out.splitlines():
        if not line.startswith(" "):
            name = line.partition(":")[0]
        elif name in ("cmlg", "pav", "rule"):
            setting = line.split(maxsplit=1)[1]
            asked = ("--method", name, "--option", setting, "-o", folder / "m.json")
            assert run("calibrate", made["dev"], *UNBOUNDED, *asked)[0] == 0
            given += 1
    assert given > 3


def test_fuse_one_table_with_quality_and_missing_scores(files):
    folder, _ = files
    wide = (
        table(0)
        .rename({"score": "a"})
        .with_columns(b=table(2)["score"] + 0.5, seconds=np.linspace(3, 60, 900))
    )
    wide.write_parquet(folder / "wide.parquet")
    asked = ("--score-columns", "a,b", "--quality", "seconds", "-o", folder / "q.json")
    assert run("fuse", *UNBOUNDED, folder / "wide.parquet", *asked)[0] == 0
    assert run("apply", folder / "q.json", folder / "wide.parquet", "-o", folder / "q.parquet")[0] == 0
    gaps = wide.with_columns(b=pl.when(pl.int_range(900) % 7 == 0).then(None).otherwise(pl.col("b")))
    gaps.write_parquet(folder / "gaps.parquet")
    asked = ("fuse", *UNBOUNDED, folder / "gaps.parquet", "--score-columns", "a,b", "-o", folder / "g.json")
    assert run(*asked)[0] == 2
    assert run(*asked, "--missing", "subset")[0] == 0
    assert run("apply", folder / "g.json", folder / "gaps.parquet", "-o", folder / "g.csv")[0] == 0
    assert np.isfinite(lk.read_trials(folder / "g.csv").score_array).all()


def test_fuse_names_what_does_not_fit_together(files):
    folder, made = files
    table(2).head(800).with_columns(label=table(0)["label"].head(800)).write_csv(made["other"])
    code, _, err = run("fuse", *UNBOUNDED, made["dev"], made["other"], "-o", folder / "f.json")
    assert code == 2
    assert "no score for 100 trials" in err
    assert "t800" in err
    asked = ("fuse", *UNBOUNDED, made["dev"], made["other"], "-o", folder / "f.json")
    assert run(*asked, "--missing", "drop")[0] == 0
    pl.concat([table(2), table(2).head(1)]).write_csv(made["other"])
    assert run(*asked)[0] == 2  # a trial twice
    swapped = pl.when(pl.col("label") == "target").then(pl.lit("nontarget")).otherwise(pl.lit("target"))
    table(2).with_columns(label=swapped).write_csv(made["other"])
    assert run(*asked)[0] == 2  # other labels


def test_warnings_are_one_line_on_standard_error(tmp_path):
    rng = np.random.default_rng(0)
    label = np.arange(4000) % 2 == 0
    scores = np.where(label, 3 + rng.gamma(1.0, 2.0, 4000), rng.normal(0, 1, 4000))
    pl.DataFrame({"score": scores, "label": label}).write_csv(tmp_path / "s.csv")
    code, _, err = run("calibrate", tmp_path / "s.csv", "--method", "cmlg", "-o", tmp_path / "c.json")
    assert code == 0
    assert err.startswith("llrkit: warning: CMLG assumes")
    assert all(line.startswith("llrkit: warning: ") for line in err.splitlines())


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("calibrate DEV --method magic -o OUT", "magic"),
        ("calibrate DEV --method cmlg --option beta=1 -o OUT", "beta"),
        ("calibrate DEV --method best --by room -o OUT", "--by"),
        ("compare DEV DEV --methods ,", "method"),
        ("apply DEV DEV -o OUT.csv", "dev.csv"),
        ("apply CAL DEV -o OUT.xyz", "out.xyz"),
        ("apply CAL BAD -o OUT.csv", "bad.csv, line 3"),
        ("apply CAL EMPTY -o OUT.csv", "empty.csv, line 3"),
        ("fuse DEV DEV2 --ids nobody -o OUT", "nobody"),
    ],
)
def test_wrong_use_names_the_fault_and_leaves_nothing(files, typed, said):
    folder, made = files
    lk.fit_cmlg(lk.read_trials(made["dev"])).save(folder / "cal.json")
    (folder / "bad.csv").write_text("score\n1.0\nabc\n")
    (folder / "empty.csv").write_text("score,x\n1.0,1\n,2\n")
    places = {
        "DEV": made["dev"], "DEV2": made["other"], "CAL": folder / "cal.json", "BAD": folder / "bad.csv",
        "EMPTY": folder / "empty.csv", "OUT": folder / "out.json", "OUT.csv": folder / "out.csv",
        "OUT.xyz": folder / "out.xyz",
    }  # fmt: skip
    before = sorted(path.name for path in folder.iterdir())
    code, _, err = run(*(places.get(word, word) for word in typed.split()))
    assert code == 2
    assert said in err
    assert sorted(path.name for path in folder.iterdir()) == before


def write(path, target, nontarget):
    labels = ["target"] * len(target) + ["nontarget"] * len(nontarget)
    pl.DataFrame({"score": np.append(target, nontarget), "label": labels}).write_csv(path)
    return path


def test_the_advice_for_separate_classes_works_as_typed(tmp_path):
    path = write(tmp_path / "apart.csv", np.linspace(2.0, 3.0, 30), np.linspace(0.0, 1.0, 200))
    code, _, refused = run("calibrate", path, "-o", tmp_path / "c.json")
    assert code == 2
    assert REMEDY_TYPED in refused
    assert REMEDY_TYPED in run("diagnose", path)[1]
    typed = shlex.split(REMEDY_TYPED.partition(" keeps")[0])
    assert run("calibrate", path, *typed, "-o", tmp_path / "c.json")[0] == 0


def test_reversed_scores_are_told_once_by_each_command(tmp_path):
    rng = np.random.default_rng(1)
    path = write(tmp_path / "r.csv", rng.normal(-2, 2, 100), rng.normal(2, 2, 500))
    for command in (("calibrate", path, "-o", tmp_path / "c.json"), ("evaluate", path), ("diagnose", path)):
        _, out, err = run(*command)
        assert (out + err).count("really more target-like") == 1, command
