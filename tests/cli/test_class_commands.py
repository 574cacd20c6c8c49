"""The commands on files of several classes: recognized, calibrated, applied, compared, fused."""

import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.cli.plot import OF_CLASSES

mc = lk.multiclass
CLASSES = ["english", "dutch", "thai"]


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


def test_evaluate_prints_a_table_and_a_sentence(files):
    code, out, _ = run("evaluate", files / "eval.tsv")
    assert code == 0
    assert "of 3 classes" in out
    assert "are lost to calibration: calibrate these scores." in out
    assert sum(line.startswith(name) for line in out.splitlines() for name in CLASSES) == 3


def test_calibrate_apply_evaluate_is_the_same_as_in_python(files):
    code, out, _ = run(
        "calibrate", files / "dev.tsv", "-o", files / "cal.json", "--prior", "english=0.2,dutch=0.3,thai=50%"
    )
    assert code == 0
    assert "scale-offset: 3 classes" in out
    dev, evaluation = (mc.read_classes(files / f"{name}.tsv") for name in ("dev", "eval"))
    fitted = mc.fit_scale_offset(dev, prior=[0.2, 0.3, 0.5])
    saved = mc.load_map(files / "cal.json")
    assert_allclose(saved.scales, fitted.scales, rtol=1e-12)
    assert len(saved.provenance["training_sha256"][0]) == 64
    for ending in (".parquet", ".csv"):
        code, out, _ = run("apply", files / "cal.json", files / "eval.tsv", "-o", files / f"llrs{ending}")
        assert code == 0
        assert "600 trials written" in out
        assert_allclose(
            mc.read_classes(files / f"llrs{ending}").loglik, fitted(evaluation).loglik, rtol=1e-12
        )
    table(1).drop("label").write_csv(files / "unlabeled.csv")
    assert run("apply", files / "cal.json", files / "unlabeled.csv", "-o", files / "u.csv")[0] == 0
    assert pl.read_csv(files / "u.csv").columns == ["segmentid", *CLASSES]


@pytest.mark.parametrize(
    "method", ["temperature", "scale-offset", "vector", "affine", "gaussian", "free-gaussian", "cmlg"]
)
def test_every_method_can_be_trained_saved_and_applied(files, method):
    code, _, err = run("calibrate", files / "dev.tsv", "--method", method, "-o", files / "cal.json")
    assert code == 0, err
    assert run("apply", files / "cal.json", files / "eval.tsv", "-o", files / "out.parquet")[0] == 0
    before, after = (mc.cllr(mc.read_classes(files / name)) for name in ("eval.tsv", "out.parquet"))
    assert after < before


def test_compare_trains_on_one_file_and_evaluates_on_the_other(files):
    code, out, _ = run(
        "compare",
        files / "dev.tsv",
        files / "eval.tsv",
        "--methods",
        "temperature,logistic,cmlg",
        "--json",
        "-",
    )
    assert code == 0
    rows = {row["method"]: row for row in json.loads(out)["rows"]}
    assert list(rows) == ["raw", "temperature", "scale-offset", "gaussian"]
    dev, evaluation = (mc.read_classes(files / f"{name}.tsv") for name in ("dev", "eval"))
    assert_allclose(rows["temperature"]["cllr"], mc.cllr(mc.fit_temperature(dev).on(evaluation)), rtol=1e-12)
    assert "The lowest Cllr is that of" in run("compare", files / "dev.tsv", files / "eval.tsv")[1]


def test_fuse_joins_on_ids_and_apply_takes_one_file_per_system(files):
    first = table(0)
    rng = np.random.default_rng(5)
    second = first.with_columns(pl.col(c) + 6.0 * pl.Series(rng.normal(size=600)) for c in CLASSES)
    second = second.sample(fraction=1.0, shuffle=True, seed=1)
    second.write_csv(files / "second.csv")
    code, out, _ = run("fuse", files / "dev.tsv", files / "second.csv", "-o", files / "fusion.json")
    assert code == 0
    assert "fusion: 3 classes" in out
    ordered = first.select("segmentid").join(second, on="segmentid", how="left", maintain_order="left")
    both = [
        lk.ClassScores(one.select(CLASSES).to_numpy(), first["label"].to_numpy(), CLASSES)
        for one in (first, ordered)
    ]
    fitted = mc.fit_fusion(lk.ClassScores.stack(both))
    assert_allclose(mc.load_map(files / "fusion.json").scales, fitted.scales, rtol=1e-10)
    code, _, _ = run(
        "apply", files / "fusion.json", files / "dev.tsv", files / "second.csv", "-o", files / "fused.csv"
    )
    assert code == 0
    expected = fitted(np.stack([one.loglik for one in both], axis=2))
    assert_allclose(mc.read_classes(files / "fused.csv").loglik, expected, rtol=1e-9, atol=1e-9)
    second.head(500).write_csv(files / "short.csv")
    code, _, err = run("fuse", files / "dev.tsv", files / "short.csv", "-o", files / "f.json")
    assert code == 2
    assert "short.csv: no scores for 100 trials" in err
    second.with_columns(label=pl.lit("thai")).write_csv(files / "other.csv")
    code, _, err = run("fuse", files / "dev.tsv", files / "other.csv", "-o", files / "f.json")
    assert code == 2
    assert "other labels" in err


def test_report_and_html_have_the_classes_the_pictures_and_the_numbers(files):
    assert run("evaluate", files / "eval.tsv", "--html", files / "a.html")[0] == 0
    code, out, _ = run("report", files / "eval.tsv", "-o", files / "b.html", "--json", "-")
    assert code == 0
    assert json.loads(out)["schema"] == "llrkit.report/1"
    found = mc.evaluate(mc.read_classes(files / "eval.tsv"))
    for name in ("a.html", "b.html"):
        page = (files / name).read_text()
        assert "Evaluation of several classes" in page
        for words in ("All classes together", "Pairs of classes", "Idempotence", *CLASSES):
            assert words in page
        assert f"{found.cllr:.4f}" in page
        assert f"{found.cavgs[1].actual:.4f}" in page
        assert page.index("All classes together") < page.index("Distributions")
    code, _, err = run("report", files / "eval.tsv", files / "dev.tsv", "-o", files / "c.html")
    assert code == 2
    assert "takes one file, got 2" in err


@pytest.mark.parametrize("kind", OF_CLASSES)
def test_plots_of_classes(files, kind):
    code, _, err = run("plot", kind, files / "eval.tsv", "-o", files / "out.svg")
    assert code == 0, err
    assert (files / "out.svg").read_text().startswith("<?xml")


def test_plots_of_two_classes_have_no_classes(files):
    code, _, err = run("plot", "det", files / "eval.tsv", "--classes", "a,b", "-o", files / "out.svg")
    assert code == 2
    assert "is for class-det" in err


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
    ("arguments", "words"),
    [
        (["evaluate", "eval.tsv", "--by", "label"], "--by is for scores of two classes"),
        (["evaluate", "eval.tsv", "--log10"], "--log10 is for scores of two classes"),
        (["evaluate", "eval.tsv", "--prior", "0.5"], "expected flat, counts, or CLASS=PROBABILITY"),
        (["evaluate", "eval.tsv", "--prior", "english=0.5,dutch=0.5"], "wrong: thai"),
        (["evaluate", "eval.tsv", "--classes", "english,french"], "there is no class 'french'"),
        (["evaluate", "eval.tsv", "--classes", "english,dutch"], "line .*unknown class 'thai'"),
        (
            ["evaluate", "eval.tsv", "--classes", "english,dutch", "--score-column", "thai"],
            "cannot be combined",
        ),
        (["evaluate", "eval.tsv", "--point", "lre11"], "not confirmed"),
        (["evaluate", "two.csv", "--prior", "flat"], "holds scores of two"),
        (["calibrate", "dev.tsv", "--method", "pav", "-o", "x.json"], "known are temperature"),
        (["calibrate", "dev.tsv", "--option", "foo=1", "-o", "x.json"], "scale-offset takes prior, weights"),
        (["calibrate", "dev.tsv", "--option", "prior=1", "-o", "x.json"], "with --prior"),
        (["calibrate", "dev.tsv", "--groups", "label", "-o", "x.json"], "--groups is for"),
        (["fuse", "dev.tsv", "eval.tsv", "--quality", "label", "-o", "x.json"], "--quality is for"),
        (["apply", "dev.json", "two.csv", "-o", "x.csv"], "there is no class 'english'"),
    ],
)
def test_wrong_use_is_named(files, monkeypatch, arguments, words):
    monkeypatch.chdir(files)
    (files / "two.csv").write_text("score,label\n1.5,target\n-0.5,nontarget\n")
    mc.fit_temperature(mc.read_classes(files / "dev.tsv")).save(files / "dev.json")
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert re.search(words, err)
    assert not (files / "x.json").exists()
    assert not (files / "x.csv").exists()


def lre07_rows(wide):
    """The same trials as rows of the LRE 2007 scorer, one for each class."""
    return "".join(
        f"general_lr {c} closed_set {row['segmentid']} t {row[c]} {row['label']}\n"
        for row in wide.iter_rows(named=True) for c in CLASSES
    )  # fmt: skip


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
        assert run("report", evaluation, "-o", files / "page.html")[0] == 0
        code, compared, _ = run("compare", dev, evaluation, "--methods", "temperature,cmlg", "--json", "-")
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


def bad_tables(folder):
    """Tables with one fault each, in the wide layout and as NPZ."""
    good = table(0, 60)
    loglik, codes = good.select(CLASSES).to_numpy(), np.array([CLASSES.index(c) for c in good["label"]])

    def write(name, values, labels):
        columns = {c: values[:, i] for i, c in enumerate(CLASSES)}
        pl.DataFrame({"segmentid": good["segmentid"][: len(values)], **columns}).with_columns(
            label=pl.Series(labels)
        ).write_csv(folder / f"{name}.csv")
        np.savez(folder / f"{name}.npz", logits=values, target=labels, classes=CLASSES)

    def with_row(values):
        changed = loglik.copy()
        changed[5] = values
        return changed

    names = good["label"].to_list()
    write("absent", loglik[codes < 2], [c for c in names if c != "thai"])
    write("single", loglik, ["dutch"] * 60)
    write("stranger", loglik, [*names[:5], "klingon", *names[6:]])
    write("nan", with_row([1.0, np.nan, 2.0]), names)
    write("hopeless", with_row([-np.inf] * 3), names)
    write("infinite", with_row([-np.inf if i == codes[5] else 0.0 for i in range(3)]), names)


@pytest.mark.parametrize("ending", ["csv", "npz"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent", "no trials of the class thai; .*--classes"),
        ("single", "no trials of the classes english, thai; .*--classes"),
        ("stranger", "unknown class 'klingon'.* the classes are english, dutch, thai"),
        ("nan", "NaN"),
        ("hopeless", "trial 5.*-inf"),
        ("infinite", "trial 5 has an infinite value"),
    ],
)
def test_bad_trials_are_named_by_every_command(files, name, words, ending):
    bad_tables(files)
    mc.fit_temperature(mc.read_classes(files / "dev.tsv")).save(files / "cal.json")
    bad, before = files / f"{name}.{ending}", sorted(path.name for path in files.iterdir())
    commands = [
        ("calibrate", bad, "-o", files / "x.json"),
        ("fuse", bad, bad, "-o", files / "x.json"),
        ("compare", bad, files / "eval.tsv"),
    ]
    if name == "infinite":
        code, out, _ = run("evaluate", bad)  # legal for metrics, and said in words
        assert code == 0
        assert "Cllr is infinite" in out
    else:
        commands += [("evaluate", bad), ("report", bad, "-o", files / "x.html")]
    if name in ("nan", "hopeless"):
        commands += [("apply", files / "cal.json", bad, "-o", files / "x.csv")]
    for command in commands:
        code, out, err = run(*command)
        assert (code, out) == (2, ""), command
        assert re.search(rf"{name}\.{ending}.*{words}", err), (command, err)
    assert sorted(path.name for path in files.iterdir()) == before


def test_one_column_and_no_labels_say_what_is_missing(files):
    table(0).select("segmentid", "dutch", "label").write_csv(files / "one.csv")
    table(0).drop("label").write_csv(files / "unlabeled.csv")
    for arguments, words in (
        (["one.csv"], "no column 'score'.*--classes"),
        (["one.csv", "--classes", "dutch"], "one.csv: 1 column with numbers, at least two classes"),
        (["unlabeled.csv"], "no column 'score'.*--classes"),
        (["unlabeled.csv", "--classes", ",".join(CLASSES)], "no column with the true classes; .*--key"),
    ):
        code, _, err = run("evaluate", files / arguments[0], *arguments[1:])
        assert code == 2
        assert re.search(words, err)


def test_names_of_classes_with_commas_can_be_applied(tmp_path):
    loglik, labels = table(0).select(CLASSES).to_numpy(), np.array(table(0)["label"])
    names = ["Dutch, Flemish", "English", "Thai"]
    codes = np.array([["dutch", "english", "thai"].index(c) for c in labels])
    np.savez(tmp_path / "n.npz", logits=loglik[:, [1, 0, 2]], target=codes, classes=names)
    assert run("calibrate", tmp_path / "n.npz", "-o", tmp_path / "c.json")[0] == 0
    code, _, err = run("apply", tmp_path / "c.json", tmp_path / "n.npz", "-o", tmp_path / "out.parquet")
    assert code == 0, err
    assert mc.read_classes(tmp_path / "out.parquet").classes == tuple(names)


def test_two_classes_are_evaluated_as_before(files):
    (files / "two.csv").write_text("score,label\n1.5,target\n-0.5,nontarget\n0.3,nontarget\n")
    code, out, _ = run("evaluate", files / "two.csv", "--json", "-")
    assert code == 0
    assert "eer" in json.loads(out)
    assert "classes" not in json.loads(out)


def test_help_stays_quick():
    program = (
        "import sys\nfrom llrkit.cli import cli\ncli(['evaluate', '--help'], standalone_mode=False)\n"
        "print('numpy' in sys.modules, 'polars' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("False False")
    assert "--classes" in done.stdout


def test_tables_for_papers(files):
    code, out, _ = run("evaluate", files / "eval.tsv", "--table", "markdown")
    assert code == 0
    assert out == lk.format_table(mc.evaluate(mc.read_classes(files / "eval.tsv")), "markdown")
    code, out, err = run(
        "compare", files / "dev.tsv", files / "eval.tsv", "--methods", "temperature", "--table", "csv"
    )
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()] == ["method", "raw", "temperature"]
    assert "The lowest Cllr is that of temperature" in err
