"""The commands on files of several classes: recognized, calibrated, applied, compared, fused."""

import json

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose

import llrkit as lk

mc = lk.multiclass
CLASSES = ["english", "dutch", "thai"]


def slowly(*values):
    """Parameters that are left to the slow tests."""
    several = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*value, marks=pytest.mark.slow) for value in several]


def table(seed, n=600):
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    loglik = 4.0 * (rng.normal(size=(n, 3)) + 1.4 * np.eye(3)[labels]) + np.array([2.0, 0.0, -3.0])
    columns = {c: loglik[:, i] for i, c in enumerate(CLASSES)}
    return pl.DataFrame(
        {"segmentid": [f"lid{i}" for i in range(n)], **columns, "label": [CLASSES[i] for i in labels]}
    )


@pytest.fixture
def files(tmp_path):
    for i, name in enumerate(("dev", "eval")):
        table(i).write_csv(tmp_path / f"{name}.tsv", separator="\t")
    return tmp_path


def test_evaluate_recognizes_the_file_and_gives_the_numbers_of_the_library(files):
    code, out, _ = run("evaluate", files / "eval.tsv", "--prior", "counts", "--point", "lre22", "--json", "-")
    assert code == 0
    plain = json.loads(out)
    found = mc.evaluate(mc.read_classes(files / "eval.tsv"), prior="counts", cavg="lre22")
    assert plain["schema"] == "llrkit.evaluate/1"
    assert plain["classes"] == CLASSES
    assert plain["n"] == 600
    for name in ("cllr", "cllr_normalized", "refined_cllr", "cavg"):
        assert_allclose(plain[name], getattr(found, name), rtol=1e-12)
    assert plain["error_rate"] == found.error_rate.actual
    assert [one["class"] for one in plain["per_class"]] == CLASSES
    assert_allclose(plain["per_class"][1]["detection"]["eer"], found.per_class[1].detection.eer)
    assert plain["prior"]["dutch"] == pytest.approx(found.prior[1])


def test_calibrate_apply_evaluate_is_the_same_as_in_python(files):
    prior = ("--prior", "english=0.2,dutch=0.3,thai=50%")
    code, _, _ = run("calibrate", files / "dev.tsv", "-o", files / "cal.json", *prior)
    assert code == 0
    dev, evaluation = (mc.read_classes(files / f"{name}.tsv") for name in ("dev", "eval"))
    fitted = mc.fit_scale_offset(dev, prior=[0.2, 0.3, 0.5])
    saved = mc.load_map(files / "cal.json")
    assert_allclose(saved.scales, fitted.scales, rtol=1e-12)
    assert len(saved.provenance["training_sha256"][0]) == 64
    for ending in (".parquet", ".csv"):
        assert run("apply", files / "cal.json", files / "eval.tsv", "-o", files / f"llrs{ending}")[0] == 0
        assert_allclose(
            mc.read_classes(files / f"llrs{ending}").loglik, fitted(evaluation).loglik, rtol=1e-12
        )
    table(1).drop("label").write_csv(files / "unlabeled.csv")
    assert run("apply", files / "cal.json", files / "unlabeled.csv", "-o", files / "u.csv")[0] == 0
    assert pl.read_csv(files / "u.csv").columns == ["segmentid", *CLASSES]


@pytest.mark.parametrize(
    "method",
    ["scale-offset", *slowly("temperature", "vector", "affine", "gaussian", "free-gaussian", "cmlg")],
)
def test_every_method_can_be_trained_saved_and_applied(files, method):
    code, _, err = run("calibrate", files / "dev.tsv", "--method", method, "-o", files / "cal.json")
    assert code == 0, err
    assert run("apply", files / "cal.json", files / "eval.tsv", "-o", files / "out.parquet")[0] == 0
    before, after = (mc.cllr(mc.read_classes(files / name)) for name in ("eval.tsv", "out.parquet"))
    assert after < before


def test_compare_trains_on_one_file_and_evaluates_on_the_other(files):
    asked = ("--methods", "temperature,logistic,cmlg", "--json", "-")
    code, out, _ = run("diagnose", files / "dev.tsv", files / "eval.tsv", *asked)
    assert code == 0
    rows = {row["method"]: row for row in json.loads(out)["rows"]}
    assert list(rows) == ["raw", "temperature", "scale-offset", "gaussian"]
    dev, evaluation = (mc.read_classes(files / f"{name}.tsv") for name in ("dev", "eval"))
    assert_allclose(rows["temperature"]["cllr"], mc.cllr(mc.fit_temperature(dev).on(evaluation)), rtol=1e-12)


def test_fuse_joins_on_ids_and_apply_takes_one_file_per_system(files):
    first = table(0)
    rng = np.random.default_rng(5)
    second = first.with_columns(pl.col(c) + 6.0 * pl.Series(rng.normal(size=600)) for c in CLASSES)
    second = second.sample(fraction=1.0, shuffle=True, seed=1)
    second.write_csv(files / "second.csv")
    assert run("fuse", files / "dev.tsv", files / "second.csv", "-o", files / "fusion.json")[0] == 0
    ordered = first.select("segmentid").join(second, on="segmentid", how="left", maintain_order="left")
    both = [
        lk.scores.ClassScores(one.select(CLASSES).to_numpy(), first["label"].to_numpy(), CLASSES)
        for one in (first, ordered)
    ]
    fitted = mc.fit_fusion(lk.scores.ClassScores.stack(both))
    assert_allclose(mc.load_map(files / "fusion.json").scales, fitted.scales, rtol=1e-10)
    code, _, _ = run(
        "apply", files / "fusion.json", files / "dev.tsv", files / "second.csv", "-o", files / "fused.csv"
    )
    assert code == 0
    expected = fitted(np.stack([one.loglik for one in both], axis=2))
    assert_allclose(mc.read_classes(files / "fused.csv").loglik, expected, rtol=1e-9, atol=1e-9)
    second.head(500).write_csv(files / "short.csv")
    assert run("fuse", files / "dev.tsv", files / "short.csv", "-o", files / "f.json")[0] == 2
    second.with_columns(label=pl.lit("thai")).write_csv(files / "other.csv")
    assert run("fuse", files / "dev.tsv", files / "other.csv", "-o", files / "f.json")[0] == 2


@pytest.mark.slow
def test_names_of_classes_are_escaped_in_the_report(tmp_path):
    nasty = ["<script>alert(1)</script>", "a&b", "c"]
    labels = np.arange(60) % 3
    loglik = np.random.default_rng(0).normal(size=(60, 3)) + np.eye(3)[labels]
    np.savez(tmp_path / "n.npz", logits=loglik, target=labels, classes=nasty)
    assert run("report", tmp_path / "n.npz", "-o", tmp_path / "n.html")[0] == 0
    page = (tmp_path / "n.html").read_text()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_posteriors_are_read_as_such(shared):
    path = shared / "data/multiclass_expected_cost/iemocap_wav2vec_pt.npz"
    code, out, _ = run("evaluate", path, "--prior", "counts", "--posteriors", "--json", "-")
    assert code == 0
    assert round(json.loads(out)["cllr_normalized"], 3) == 0.635  # as printed by luferrer/expected_cost


@pytest.mark.parametrize(
    "typed",
    [
        "evaluate eval.tsv --by label",
        "evaluate eval.tsv --prior 0.5",
        "evaluate eval.tsv --prior english=0.5,dutch=0.5",
        "evaluate eval.tsv --classes english,dutch",
        "evaluate two.csv --prior flat",
        "evaluate unlabeled.csv --classes english,dutch,thai",
        "calibrate dev.tsv --method pav -o x.json",
        "fuse dev.tsv eval.tsv --quality label -o x.json",
        "apply dev.json two.csv -o x.csv",
    ],
)
def test_wrong_use_is_refused_and_leaves_nothing(files, monkeypatch, typed):
    monkeypatch.chdir(files)
    (files / "two.csv").write_text("score,label\n1.5,target\n-0.5,nontarget\n")
    table(0).drop("label").write_csv(files / "unlabeled.csv")
    mc.fit_temperature(mc.read_classes(files / "dev.tsv")).save(files / "dev.json")
    assert run(*typed.split())[:2] == (2, "")
    assert not list(files.glob("x.*"))


def lre07_rows(wide):
    """The same trials as rows of the LRE 2007 scorer, one for each class."""
    return "".join(
        f"general_lr {c} closed_set {row['segmentid']} t {row[c]} {row['label']}\n"
        for row in wide.iter_rows(named=True) for c in CLASSES
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["long.csv", "lre07.txt", "logits.npz"])
def test_every_layout_goes_through_every_command_like_the_wide_table(files, layout):
    for i, part in enumerate(("dev", "eval")):
        wide, path = table(i), files / f"{part}-{layout}"
        if layout == "long.csv":
            wide.unpivot(CLASSES, index=["segmentid", "label"], variable_name="language",
                         value_name="score").write_csv(path)  # fmt: skip
        elif layout == "lre07.txt":
            path.write_text(lre07_rows(wide))
        else:
            codes = [CLASSES.index(c) for c in wide["label"]]
            ids = wide["segmentid"].to_list()
            np.savez(path, logits=wide.select(CLASSES).to_numpy(), target=codes, classes=CLASSES, ids=ids)
    answers = {}
    for name in ("wide", layout):
        dev, evaluation = (
            files / (f"{part}.tsv" if name == "wide" else f"{part}-{layout}") for part in ("dev", "eval")
        )
        maps, applied = [files / f"{name}{i}.json" for i in (0, 1)], files / "applied.csv"
        assert run("calibrate", dev, "-o", maps[0])[0] == 0
        assert run("apply", maps[0], evaluation, "-o", applied)[0] == 0
        assert run("fuse", dev, files / "dev.tsv", "-o", maps[1])[0] == 0
        code, compared, _ = run("diagnose", dev, evaluation, "--methods", "temperature,cmlg", "--json", "-")
        assert code == 0
        code, evaluated, _ = run("evaluate", evaluation, "--json", "-")
        assert code == 0
        plain = json.loads(evaluated)
        answers[name] = [
            plain["cllr"], plain["refined_cllr"], plain["error_rate"], plain["cavg"],
            *(row["cllr"] for row in json.loads(compared)["rows"]), mc.cllr(mc.read_classes(applied)),
            *(value for file in maps for value in mc.load_map(file).scales),
        ]  # fmt: skip
    assert_allclose(answers[layout], answers["wide"], rtol=1e-9)


@pytest.mark.parametrize("fault", ["klingon", "NaN"])
def test_bad_trials_are_named_by_every_command(files, fault):
    bad, sixth = files / "bad.csv", pl.int_range(pl.len()) == 5
    column = "label" if fault == "klingon" else "dutch"
    value = pl.when(sixth).then(pl.lit(fault)).otherwise(pl.col(column).cast(pl.String))
    table(0, 60).with_columns(value.alias(column)).write_csv(bad)
    for command in (
        ("calibrate", bad, "-o", files / "x.json"),
        ("fuse", bad, bad, "-o", files / "x.json"),
        ("diagnose", bad, files / "eval.tsv"),
        ("evaluate", bad),
        ("report", bad, "-o", files / "x.html"),
    ):
        code, out, err = run(*command)
        assert (code, out) == (2, ""), command
        assert "bad.csv" in err
        assert fault in err
    assert not list(files.glob("x.*"))


def test_names_of_classes_with_commas_can_be_applied(tmp_path):
    loglik, labels = table(0).select(CLASSES).to_numpy(), np.array(table(0)["label"])
    names = ["Dutch, Flemish", "English", "Thai"]
    codes = np.array([["dutch", "english", "thai"].index(c) for c in labels])
    np.savez(tmp_path / "n.npz", logits=loglik[:, [1, 0, 2]], target=codes, classes=names)
    assert run("calibrate", tmp_path / "n.npz", "-o", tmp_path / "c.json")[0] == 0
    code, _, err = run("apply", tmp_path / "c.json", tmp_path / "n.npz", "-o", tmp_path / "out.parquet")
    assert code == 0, err
    assert mc.read_classes(tmp_path / "out.parquet").classes == tuple(names)


def test_rows_of_probabilities_are_asked_about():
    rng = np.random.default_rng(7)
    labels = np.arange(300) % 3
    loglik = rng.normal(size=(300, 3)) + 2.0 * np.eye(3)[labels]
    rows = np.exp(loglik) / np.exp(loglik).sum(axis=1, keepdims=True)
    with pytest.warns(lk.errors.ScaleWarning):
        mc.evaluate(lk.scores.ClassScores(rows, labels), refine_by=None, detection=False)
    # logarithms are no reason to ask, and warnings are errors here
    assert mc.evaluate(lk.scores.ClassScores(np.log(rows), labels), refine_by=None, detection=False).cllr > 0
