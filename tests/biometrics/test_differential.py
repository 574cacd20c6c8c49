"""Error rates of groups: against brute force, closed forms and simulated equality."""

import json

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit import biometrics
from llrkit.biometrics import people_groups
from llrkit.errors import InputError


def people(seed, shift=0.0, n=6000):
    rng = np.random.default_rng(seed)
    group, mated = rng.choice(["a", "b", "c"], n), rng.random(n) < 0.3
    score = np.where(mated, 2.0, -1.0) + rng.normal(size=n) + np.where((group == "a") & ~mated, shift, 0.0)
    return {"score": score, "label": mated, "group": group, "who": rng.integers(0, 60, n)}


def test_rates_of_groups_against_brute_force():
    table = people(1)
    result = biometrics.differential(lk.Trials(table), "group", threshold=0.5)
    for name, rate in result.groups.items():
        own = table["group"] == name
        mated, score = table["label"], table["score"]
        assert rate.fnmr == np.mean(score[own & mated] < 0.5)
        assert rate.fmr == np.mean(score[own & ~mated] >= 0.5)
        assert rate.fmr_interval[0] < rate.fmr < rate.fmr_interval[1]
        assert (rate.n_fmr, rate.n_fnmr) == (np.sum(own & ~mated), np.sum(own & mated))
    fmrs = [rate.fmr for rate in result.groups.values()]
    assert result.measures["fmr"]["max_over_min"].value == max(fmrs) / min(fmrs)
    np.testing.assert_allclose(
        result.measures["fmr"]["max_over_geometric_mean"].value, max(fmrs) / np.prod(fmrs) ** (1 / 3)
    )
    by_pairs = np.mean([abs(x - y) for i, x in enumerate(fmrs) for y in fmrs[i + 1 :]])
    np.testing.assert_allclose(result.measures["fmr"]["gini"].value, by_pairs / (2 * np.mean(fmrs)))


def test_the_gini_coefficient_of_one_group_with_all_errors_is_one():
    for n in (2, 3, 7):
        np.testing.assert_allclose(people_groups.gini([0.0] * (n - 1) + [0.2]), 1.0)
        np.testing.assert_allclose(people_groups.gini([0.1] * n), 0.0, atol=1e-12)


@pytest.mark.slow
def test_a_difference_is_found_and_equality_mostly_not():
    shifted = biometrics.differential(lk.Trials(people(2, 0.8)), "group", fmr=0.05)
    assert shifted.p_values["fmr"]["a"] < 0.001
    assert shifted.measures["fmr"]["max_over_min"].value > shifted.measures["fmr"]["max_over_min"].by_chance
    wrong = [
        min(
            biometrics.differential(lk.Trials(people(seed, n=1500)), "group", fmr=0.05)
            .p_values["fmr"]
            .values()
        )
        < 0.05
        for seed in range(60)
    ]
    assert np.mean(wrong) <= 0.12  # at most 5 %, and three standard errors


def test_two_columns_are_the_groups_of_the_two_sides():
    table = {"score": [1.0, 2.0, 0.0, 3.0, -1.0], "label": [1, 1, 0, 0, 0],
             "left": ["f", "m", "f", "m", "m"], "right": ["f", "m", "m", "f", "m"]}  # fmt: skip
    result = biometrics.differential(lk.Trials(table), ("left", "right"), threshold=0.5)
    assert list(result.groups) == ["f", "f | m", "m"]
    assert (result.groups["f | m"].n_fmr, result.groups["f | m"].fmr) == (2, 0.5)
    assert np.isnan(result.groups["f | m"].fnmr)


def test_shared_subjects_widen_intervals():
    table = people(3)
    effect = np.random.default_rng(4).normal(size=60)
    table["score"] = table["score"] + 1.5 * effect[table["who"]]
    alone, shared = (
        biometrics.differential(lk.Trials(table), "group", threshold=0.5, speakers=who)
        for who in (None, "who")
    )
    for name in alone.groups:
        ends = [one.groups[name].fmr_interval for one in (alone, shared)]
        assert ends[1][1] - ends[1][0] > ends[0][1] - ends[0][0]
        assert alone.groups[name].fmr == shared.groups[name].fmr


def test_a_group_without_errors_has_no_largest_ratio():
    table = {"score": [0.0] * 50 + [1.0] + [0.0] * 49 + [2.0] * 10, "label": [0] * 100 + [1] * 10,
             "group": (["a"] * 50 + ["b"] * 50) + ["a"] * 10}  # fmt: skip
    ratio = biometrics.differential(lk.Trials(table), "group", threshold=0.5).measures["fmr"]["max_over_min"]
    assert ratio.value == ratio.interval[1] == np.inf


def test_one_group_is_refused():
    with pytest.raises(InputError):
        biometrics.differential(lk.Trials({**people(1), "one": ["x"] * 6000}), "one")


def test_the_command(tmp_path):
    path = tmp_path / "scores.csv"
    pl.DataFrame(people(2, 0.8)).write_csv(path)
    code, out, err = run("biometrics", "differential", path, "--by", "group", "--fmr", "5%", "--json", "-")
    assert code == 0, err
    told, expected = json.loads(out), biometrics.differential(lk.Trials(people(2, 0.8)), "group", fmr=0.05)
    assert told["groups"]["a"]["fmr"] == expected.groups["a"].fmr
    code, _, err = run("biometrics", "differential", path, "--by", "group", "--fmr", "5%", "--threshold", "1")
    assert code == 2
