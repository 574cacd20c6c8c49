"""Fusion of ASV and CM scores: closed forms, finite differences, files, commands."""

import json
import math

import numpy as np
import polars as pl
import pytest
from commands import run
from scipy.optimize import minimize

import llrkit as lk
from llrkit import spoof
from llrkit.errors import InputError, UnknownNameError
from llrkit.maps.composite import SasvMap, combined

COSTS = spoof.spoof_costs("a-dcf1")
KIND = np.repeat(["target", "nontarget", "spoof"], [500, 900, 1200])
MEAN = {"target": (2.0, 2.0), "nontarget": (-2.0, 2.0), "spoof": (2.0, -2.0)}


def draw(seed):
    rng = np.random.default_rng(seed)
    asv, cm = (np.array([MEAN[k][i] for k in KIND]) + rng.normal(size=len(KIND)) for i in (0, 1))
    return {"asv": 0.5 * asv + 0.2, "cm": 3 * cm - 1, "label": KIND}


@pytest.fixture(scope="module")
def table():
    return draw(1)


@pytest.fixture(scope="module")
def trials(table):
    return spoof.SpoofTrials(table)


def test_combination_is_the_ratio_of_densities_by_hand():
    rng = np.random.default_rng(2)
    l_asv, l_cm = rng.normal(size=(2, 50)) * 5
    by_hand = [-math.log(0.3 * math.exp(-a) + 0.7 * math.exp(-c)) for a, c in zip(l_asv, l_cm, strict=True)]
    np.testing.assert_allclose(combined(l_asv, l_cm, 0.7), by_hand, rtol=1e-12)
    ends = combined(np.array([np.inf, np.inf, -np.inf]), np.array([np.inf, -np.inf, 3.0]), 0.5)
    np.testing.assert_array_equal(ends, [np.inf, -np.inf, -np.inf])


def test_the_closed_form_finds_the_true_llr(trials, table):
    """Unit-variance Gaussians two from zero: both LLRs are 4 times the deviation."""
    fitted = spoof.fit_sasv(trials, "bayes", costs=COSTS)
    asv, cm = (np.asarray(table["asv"]) - 0.2) / 0.5, (np.asarray(table["cm"]) + 1) / 3
    share = 2 / 3  # the prices of a-dcf1 count spoofs twice
    true = -np.logaddexp(np.log(1 - share) - 4 * asv, np.log(share) - 4 * cm)
    got = fitted(np.column_stack([table["asv"], table["cm"]]))
    assert np.corrcoef(true, got)[0, 1] > 0.99
    assert 0.8 < np.polyfit(true, got, 1)[0] < 1.25


@pytest.mark.parametrize("method", ["linear", "bayes-trained"])
def test_trained_fusions_have_the_lowest_loss_against_another_optimizer(trials, table, method):
    share, prior = 2 / 3, 1 / (1 + math.exp(COSTS.threshold))
    x = np.column_stack([table["asv"], table["cm"]])
    weight = {"target": prior, "nontarget": (1 - prior) * (1 - share), "spoof": (1 - prior) * share}
    spread = []
    for i in (0, 1):
        own = [np.var(x[KIND == "target", i]), np.var(x[KIND != "target", i])]
        spread.append(math.sqrt(np.mean(own)))

    def objective(theta):
        if method == "linear":
            score = x @ theta[:2] + theta[2]
        else:
            lines = theta[0] * x[:, 0] + theta[2], theta[1] * x[:, 1] + theta[3]
            score = -np.log((1 - share) * np.exp(-lines[0]) + share * np.exp(-lines[1]))
        z = score - COSTS.threshold
        loss = sum(
            w * np.mean(np.logaddexp(0, (-z if kind == "target" else z)[kind == KIND]))
            for kind, w in weight.items()
        )
        return loss + 0.5e-4 * np.sum(np.square(np.asarray(theta[:2]) * spread))

    fitted = spoof.fit_sasv(trials, method, costs=COSTS)
    if method == "linear":
        theta = np.append(fitted.weights, fitted.offset)
    else:
        theta = np.array([fitted.asv_slope, fitted.cm_slope, fitted.asv_offset, fitted.cm_offset])
    best = minimize(objective, theta, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    assert objective(theta) <= best.fun + 1e-7


def test_non_linear_fusion_beats_linear_and_the_sum(table):
    train, test = spoof.SpoofTrials(table), spoof.SpoofTrials(draw(3))
    compared = spoof.compare(train, test, costs="a-dcf1")
    rows = {row["method"]: row for row in compared.to_dict()["rows"]}
    for method in ("bayes", "bayes-trained"):
        assert rows[method]["min"] < rows["linear"]["min"] < rows["raw"]["min"]
        assert rows[method]["act"] < 1.3 * rows[method]["min"]
        fused = test.fused(compared.maps[method])
        assert rows[method]["act"] == spoof.a_dcf(fused, "a-dcf1")
        assert rows[method]["train_min"] == spoof.min_a_dcf(train.fused(compared.maps[method]), "a-dcf1")
    assert rows["raw"]["act"] is None
    assert compared.best == min(("bayes", "bayes-trained", "linear"), key=lambda name: rows[name]["act"])


def test_files_and_memory_agree(trials, table, tmp_path):
    path = tmp_path / "both.parquet"
    pl.DataFrame(table).write_parquet(path)
    scanned = spoof.SpoofTrials(
        lk.scan_trials(path, score=["asv", "cm"], positive="target"), asv="asv", cm="cm"
    )
    for method in ("linear", "bayes", "bayes-trained"):
        here, there = (spoof.fit_sasv(one, method) for one in (trials, scanned))
        np.testing.assert_allclose(here([[0.3, 2.0]]), there([[0.3, 2.0]]), rtol=1e-5)
        fused = [spoof.min_a_dcf(one.fused(here)) for one in (trials, scanned)]
        assert fused[0] == fused[1]


def test_a_saved_fusion_is_the_same(trials, tmp_path):
    fitted = spoof.fit_sasv(trials)
    fitted.save(tmp_path / "sasv.json")
    loaded = lk.load_map(tmp_path / "sasv.json")
    assert isinstance(loaded, SasvMap)
    assert loaded([[0.3, 2.0]]) == fitted([[0.3, 2.0]])
    assert loaded.system_names == ["asv", "cm"]


def test_wrong_use_is_refused(trials):
    with pytest.raises(UnknownNameError):
        spoof.fit_sasv(trials, "magic")
    with pytest.raises(InputError):
        spoof.fit_sasv(spoof.SpoofTrials({"asv": [1.0, 2.0, 3.0], "label": ["target", "nontarget", "spoof"]}))


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sasv")
    frame = pl.DataFrame(table).with_row_index("utt").with_columns(pl.col("utt").cast(pl.String))
    frame.write_csv(folder / "both.tsv", separator="\t")
    frame.select("utt", pl.col("asv").alias("score"), "label").write_csv(folder / "asv.tsv", separator="\t")
    cm = frame.select("utt", pl.col("cm").alias("score")).reverse()
    cm.write_csv(folder / "cm.tsv", separator="\t")
    cm.head(100).write_csv(folder / "few.tsv", separator="\t")
    return folder


def test_apply_reads_scores_per_segment_as_the_fusion_was_trained(table, tmp_path):
    """Two models score every segment; the countermeasure scores it once, in a file of its own."""
    frame = pl.DataFrame(table).with_row_index("utt").with_columns(pl.col("utt").cast(pl.String))
    frame = frame.with_columns(pl.lit(1.0).alias("other"))
    again = frame.with_columns(pl.lit("m2").alias("model"), pl.col("asv") - 0.25)
    trials = pl.concat([frame.with_columns(pl.lit("m1").alias("model")), again])
    trials.select("model", "utt", pl.col("asv").alias("plda"), "label").write_csv(tmp_path / "asv.csv")
    frame.reverse().select("utt", "other", pl.col("cm").alias("lcnn")).write_csv(tmp_path / "cm.csv")
    files = (tmp_path / "asv.csv", tmp_path / "cm.csv")
    named = ("--asv-column", "plda", "--cm-column", "lcnn", "--ids", "utt")
    code, _, err = run("fuse", "--sasv", *files, *named, "-o", tmp_path / "f.json")
    assert code == 0, err
    fusion = lk.load_map(tmp_path / "f.json")
    assert (fusion.reading["score"], fusion.provenance["joined_on"]) == (["plda", "lcnn"], ["utt"])
    code, _, err = run("apply", tmp_path / "f.json", *files, "-o", tmp_path / "llrs.csv")
    assert code == 0, err
    written = pl.read_csv(tmp_path / "llrs.csv", schema_overrides={"utt": pl.String})
    assert written["model"].to_list() == trials["model"].to_list()
    np.testing.assert_allclose(written["llr"], fusion(trials.select("asv", "cm").to_numpy()), rtol=1e-12)
    short = frame.head(5).select("utt", pl.col("cm").alias("lcnn"))
    short.write_csv(tmp_path / "short.csv")
    code, _, err = run(
        "apply", tmp_path / "f.json", files[0], tmp_path / "short.csv", "-o", tmp_path / "no.csv"
    )
    assert (code, (tmp_path / "no.csv").exists()) == (2, False)


def test_the_command_with_one_file_and_with_two(files, trials):
    code, out, err = run("fuse", "--sasv", files / "asv.tsv", files / "cm.tsv", "-o", files / "a.json",
                         "--json", "-")  # fmt: skip
    assert code == 0, err
    two = json.loads(out)
    code, out, err = run("fuse", "--sasv", files / "both.tsv", "--on", files / "both.tsv", "-o",
                         files / "b.json", "--json", "-")  # fmt: skip
    assert code == 0, err
    one = json.loads(out)
    for ours, theirs in zip(two["rows"], one["rows"], strict=True):
        assert ours["min"] == theirs["min"] == theirs["train_min"]
        assert "train_min" not in ours
    best = next(row for row in one["rows"] if row["method"] == "bayes-trained")
    assert best["min"] == spoof.min_a_dcf(trials.fused(spoof.fit_sasv(trials)))
    code, _, err = run("apply", files / "b.json", files / "both.tsv", "-o", files / "llrs.tsv")
    assert code == 0, err
    llrs = pl.read_csv(files / "llrs.tsv", separator="\t")["llr"].to_numpy()
    both = np.column_stack([pl.read_csv(files / "both.tsv", separator="\t")[c] for c in ("asv", "cm")])
    np.testing.assert_allclose(llrs, lk.load_map(files / "b.json")(both), rtol=1e-12)


@pytest.mark.parametrize(
    "arguments",
    [
        ("asv.tsv", "few.tsv", "--sasv"),
        ("asv.tsv", "cm.tsv", "cm.tsv", "--sasv"),
        ("asv.tsv", "cm.tsv", "--sasv", "--prior", "0.1"),
        ("asv.tsv", "cm.tsv", "--costs", "a-dcf1"),
        ("asv.tsv", "cm.tsv", "--sasv", "--method", "gaussian"),
        ("asv.tsv", "cm.tsv", "--sasv", "--distance"),
    ],
)
def test_wrong_use_of_the_command(files, tmp_path, arguments):
    paths = [files / part if part.endswith(".tsv") else part for part in arguments]
    code, _, _ = run("fuse", *paths, "-o", tmp_path / "out.json")
    assert code == 2
    assert not list(tmp_path.iterdir())
