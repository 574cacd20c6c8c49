"""Spoofing trials from memory, files and a cluster, with missing kinds and scores, in any order."""

import json

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit import spoof

RNG = np.random.default_rng(11)
N = (150, 200, 260)
KIND = np.repeat(["target", "nontarget", "spoof"], N)
TABLE = pl.DataFrame(
    {
        "asv": np.round(np.repeat([2.0, -2.0, 1.5], N) + 1.5 * RNG.normal(size=sum(N)), 1),
        "cm": np.round(np.repeat([2.0, 2.0, -2.0], N) + 1.5 * RNG.normal(size=sum(N)), 1),
        "label": KIND,
        "attack": np.where(KIND == "spoof", RNG.choice(["A01", "A02"], sum(N)), "-"),
        "speaker": [f"s{i:02}" for i in RNG.integers(0, 25, sum(N))],
    }
).with_columns((pl.col("asv") + pl.col("cm")).round(1).alias("sasv"))


def made(table, **changed):
    return spoof.SpoofTrials(table, **({"attack": "attack"} | changed))


WHOLE = spoof.evaluate(made(TABLE))


def assert_same(found, expected=WHOLE):
    assert set(found.numbers) == set(expected.numbers)
    for name, value in expected.numbers.items():
        assert found.numbers[name] == pytest.approx(value, rel=1e-12), name
    assert dict(found.n) == dict(expected.n)
    for attack in expected.attacks:
        assert_same(found.attacks[attack], expected.attacks[attack])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_give_the_numbers_of_memory(tmp_path, ending):
    path = tmp_path / f"scores.{ending}"
    if ending == "parquet":
        TABLE.write_parquet(path, row_group_size=100)
    else:
        TABLE.write_csv(path)
    source = lk.scan_trials(path, score=["asv", "cm", "sasv"], label="label", positive="target")
    assert_same(spoof.evaluate(made(source)))


@pytest.mark.slow
def test_joint_counting_and_intervals_of_files(tmp_path):
    TABLE.write_parquet(tmp_path / "scores.parquet", row_group_size=100)
    source = lk.scan_trials(tmp_path / "scores.parquet", score=["asv", "cm", "sasv"], positive="target")
    here, there = made(TABLE), made(source)
    joint = [spoof.min_t_dcf(trials, counting="joint") for trials in (here, there)]
    assert joint[0] == pytest.approx(joint[1], rel=1e-12)
    ends = [spoof.evaluate(trials, speakers="speaker").intervals for trials in (here, there)]
    assert set(ends[0]) == set(ends[1])
    for name, pair in ends[0].items():
        assert_allclose(ends[1][name], pair, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    ("kinds", "known"),
    [
        (("target", "nontarget"), {"sv_eer"}),
        (("target", "spoof"), {"spf_eer", "cm_eer"}),
        (("nontarget", "spoof"), {"cm_eer"}),
    ],
)
def test_a_missing_kind_leaves_out_what_needs_it(kinds, known):
    table = TABLE.filter(pl.col("label").is_in(kinds))
    result = spoof.evaluate(made(table, attack=None))
    assert set(result.numbers) == known
    assert result.to_dict()["sasv_eer"] is None
    assert result.sv_eer == (WHOLE.sv_eer if "sv_eer" in known else None)


def test_other_t_dcfs_on_the_command_line(tmp_path):
    path = tmp_path / "scores.tsv"
    TABLE.write_csv(path, separator="\t")
    columns = ("--asv-column", "asv", "--cm-column", "cm")
    code, out, told = run("spoof", path, *columns, "--t-dcf", "free", "--t-dcf", "joint", "--json", "-")
    assert code == 0, told
    rows = {(row["variant"], row["name"]): row["min"] for row in json.loads(out)["t_dcf_variants"]}
    trials = spoof.SpoofTrials(TABLE, asv="asv", cm="cm")
    free = spoof.min_t_dcf(trials, "asvspoof5", asv_threshold="free")
    assert rows["free", "asvspoof5"] == pytest.approx(free)
    for name in ("asvspoof5", "asvspoof2019"):
        assert rows["joint", name] == pytest.approx(spoof.min_t_dcf(trials, name, counting="joint"))


def test_systems_that_are_missing():
    cm_only = spoof.evaluate(made(TABLE, cm="cm"))
    assert set(cm_only.numbers) == {"cm_eer"}
    assert cm_only.cm_eer == WHOLE.cm_eer
    assert spoof.evaluate(made(TABLE, asv="asv")).t_dcf == ()
    with pytest.raises(lk.InputError):
        spoof.SpoofTrials(TABLE.select("label"))


def test_trials_without_a_score_count_only_where_it_is_not_needed():
    holes = TABLE.with_columns(
        pl.when(pl.col("label") == "nontarget").then(None).otherwise(pl.col("cm")).alias("cm")
    )
    result = spoof.evaluate(made(holes))
    assert result.sv_eer == WHOLE.sv_eer
    targets_only = lk.metrics.eer_roc(made(TABLE).pair("cm", ("target",), ("spoof",)))
    assert result.cm_eer == targets_only
    nan = holes.with_columns(pl.col("cm").fill_null(float("nan")))
    assert_same(spoof.evaluate(made(nan)), result)


def test_weighted_trials_count_as_often_as_their_weight(tmp_path):
    weight = RNG.integers(1, 4, len(TABLE))
    repeated = TABLE[np.repeat(np.arange(len(TABLE)), weight)]
    TABLE.with_columns(pl.Series("times", weight)).write_csv(tmp_path / "weighted.csv")
    source = lk.scan_trials(
        tmp_path / "weighted.csv", score=["asv", "cm", "sasv"], positive="target", weight="times"
    )
    found = spoof.evaluate(made(source), asv_threshold=0.5)
    expected = spoof.evaluate(made(repeated), asv_threshold=0.5).numbers
    for name in expected:
        assert found.numbers[name] == pytest.approx(expected[name], rel=1e-9), name
    with pytest.raises(lk.InputError):
        spoof.evaluate(made(source))  # the nearest point of the ASV system
    with pytest.raises(lk.InputError):
        spoof.t_eer_nearest(made(source))


def test_what_cannot_be_honored_is_refused():
    for options in ({"asv": "nothing"}, {"label": "speaker"}, {"asv": "cm", "cm": "cm"}):
        with pytest.raises(lk.LlrkitError):
            made(TABLE, **options)
    for options in ({"costs": "asvspoof6"}, {"eer": "best"}, {"asv_threshold": "free"}, {"level": 95}):
        with pytest.raises(lk.LlrkitError):
            spoof.evaluate(made(TABLE), **options)
    with pytest.raises(lk.InputError):
        spoof.SpoofCosts("mine", 0.5, 0.5, 0.5)


def test_the_command_gives_the_numbers_of_the_library(tmp_path):
    path = tmp_path / "scores.csv"
    TABLE.write_csv(path)
    options = ("--asv-column", "asv", "--cm-column", "cm", "--sasv-column", "sasv", "--label-column", "label",
               "--attack-column", "attack", "--json", "-")  # fmt: skip
    code, out, told = run("spoof", path, *options)
    assert code == 0, told
    found = json.loads(out)
    assert found["t_eer"] == pytest.approx(WHOLE.t_eer)
    assert found["t_dcf"][1]["min"] == pytest.approx(WHOLE.t_dcf[1].min)
    assert found["attacks"]["A02"]["spf_eer"] == pytest.approx(WHOLE.attacks["A02"].spf_eer)
    code, out, told = run(
        "spoof", path, "--speakers", "speaker", "--costs", "0.9,0.05,0.05,1,10,20", "--json", "-"
    )
    assert code == 0, told
    found = json.loads(out)
    low, high = found["a_dcf"][0]["intervals"]["min"]
    assert low < found["a_dcf"][0]["min"] < high


def test_the_command_refuses_wrong_options(tmp_path):
    path = tmp_path / "scores.csv"
    TABLE.write_csv(path)
    for options in (("--asv-column", "nothing"), ("--costs", "0.9,0.1"), ("--asv-threshold", "high")):
        assert run("spoof", path, *options)[:2] == (2, "")


def test_the_command_counts_trials_where_their_missing_scores_are_not_needed(tmp_path):
    few = (pl.col("label") == "nontarget") & (pl.int_range(pl.len()) % 2 == 0)
    holes = TABLE.with_columns(pl.when(few).then(None).otherwise(pl.col("cm")).alias("cm"))
    path = tmp_path / "holes.csv"
    holes.write_csv(path)
    options = ("--attack-column", "attack", "--json", "-")
    code, out, told = run("spoof", path, "--missing-scores", "drop", *options)
    assert code == 0, told
    found, expected = json.loads(out), spoof.evaluate(made(holes))
    for name in ("sv_eer", "cm_eer", "t_eer"):
        assert found[name] == pytest.approx(getattr(expected, name), rel=1e-12)
    assert run("spoof", path, *options)[0] == 2


def test_spoofs_without_the_name_of_an_attack_are_told_so():
    holes = TABLE.with_columns(
        pl.when(pl.col("attack") == "A01").then(None).otherwise(pl.col("attack")).alias("attack")
    )
    found = spoof.evaluate(made(holes))
    assert list(found.attacks) == ["(no name)", "A02"]
    assert found.attacks["(no name)"].numbers == WHOLE.attacks["A01"].numbers


@pytest.mark.slow
def test_pairs_of_speakers_are_not_counted_twice_against_independent_trials():
    """Where trials share speakers but nothing else, the error of a cost is that of independent trials."""
    n, own = 4000, np.arange(60).repeat(10)
    costs = spoof.SpoofCosts("even", 0.5, 0.25, 0.25, 1.0, 1.0, 1.0)
    ratios = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        left, right = rng.integers(0, 60, (2, n))
        right = np.where(left == right, (right + 1) % 60, right)
        wrong = rng.random(n) < 0.1
        table = {
            "sasv": np.concatenate([np.full(600, 3.0), np.where(wrong, 2.0, -3.0), np.full(600, -3.0)]),
            "label": np.repeat(["target", "nontarget", "spoof"], [600, n, 600]),
            "left": np.concatenate([own, left, own]), "right": np.concatenate([own, right, own]),
        }  # fmt: skip
        found = spoof.evaluate(spoof.SpoofTrials(table), costs, speakers=("left", "right"))
        rate = wrong.mean()
        expected = 0.25 / costs.default * np.sqrt(rate * (1 - rate) / n)
        ratios.append(found.uncertainty.standard_error["a_dcf.0.act"] / expected)
    # a jackknife that counts them twice has sqrt(2) times that
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.2)


@pytest.mark.slow
def test_pairs_are_not_counted_twice_in_eers_against_independent_trials():
    """Gaussian scores of equal variance: half of an EER's error is that of each rate."""
    sizes, ratios = {"target": 6000, "nontarget": 2000, "spoof": 1000}, []
    kinds = np.repeat(list(sizes), list(sizes.values()))
    for seed in range(8):
        rng = np.random.default_rng(seed)
        left, right = rng.integers(0, 60, (2, len(kinds)))
        right = np.where(kinds == "target", left, np.where(left == right, (right + 1) % 60, right))
        scores = np.where(kinds == "target", 1.0, -1.0) + rng.normal(size=len(kinds))
        table = {"sasv": scores, "label": kinds, "left": left, "right": right}
        found = spoof.evaluate(spoof.SpoofTrials(table), (), tandem=(), speakers=("left", "right"))
        for name, n in (("sv_eer", 2000), ("spf_eer", 1000), ("sasv_eer", 3000)):
            rate = found.numbers[name]
            expected = 0.5 * np.sqrt(rate * (1 - rate) * (1 / 6000 + 1 / n))
            ratios.append(found.uncertainty.standard_error[name] / expected)
    # counted twice: 1.32, 1.36 and 1.29 times that
    np.testing.assert_allclose(np.reshape(ratios, (8, 3)).mean(axis=0), 1.0, atol=0.15)
