"""Thresholds for a demand: against brute force, against known distributions, and through the command line."""

from __future__ import annotations

import json
import pickle

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose
from scipy.stats import binom, binomtest, norm

import llrkit as lk
from llrkit.verbs.threshold import INDEPENDENT

POINT = lk.OperatingPoint(0.1, 5, 1)


@pytest.fixture(scope="module")
def trials():
    rng = np.random.default_rng(5)
    # rounded: ties within and between the classes
    return lk.Scores(np.round(rng.normal(1.0, 1.5, 60), 1), np.round(rng.normal(-1.0, 1.5, 150), 1))


def rates(scores, threshold):
    return np.mean(scores.target < threshold), np.mean(scores.nontarget >= threshold)


def all_thresholds(scores):
    return [*np.unique(np.concatenate([scores.target, scores.nontarget])), np.inf]


@pytest.mark.parametrize("rate", [0.0, 0.013, 0.1, 0.5, 1.0])
def test_rates_that_are_asked_for_against_brute_force(trials, rate):
    pairs = [rates(trials, threshold) for threshold in all_thresholds(trials)]
    chosen = lk.threshold_for(trials, false_alarm_rate=rate, ci="none")
    assert (chosen.p_miss, chosen.p_fa) == rates(trials, chosen.threshold)
    assert chosen.p_fa <= rate
    assert chosen.p_miss == min(p_miss for p_miss, p_fa in pairs if p_fa <= rate)
    chosen = lk.threshold_for(trials, miss_rate=rate, ci="none")
    assert (chosen.p_miss, chosen.p_fa) == rates(trials, chosen.threshold)
    assert chosen.p_miss <= rate
    assert chosen.p_fa == min(p_fa for p_miss, p_fa in pairs if p_miss <= rate)


@pytest.mark.parametrize("shift", [0.0, 9.0])  # 9: no overlap, so that each class is one run
@pytest.mark.parametrize("rate", [0.05, *(pytest.param(rate, marks=pytest.mark.slow) for rate in (0.0, 1.0))])
def test_thresholds_inside_a_run_of_one_class_against_brute_force(shift, rate, tmp_path):
    rng = np.random.default_rng(8)
    scores = lk.Scores(rng.normal(shift, 1.0, 90), np.append(rng.normal(-1.0, 1.0, 399), -0.0))
    table = [(s, 1) for s in scores.target.tolist()] + [(s, 0) for s in scores.nontarget.tolist()]
    pl.DataFrame(table, schema=["score", "label"], orient="row").write_parquet(tmp_path / "s.parquet")
    weighted = lk.scores.weigh(
        lk.Scores(scores.target, scores.nontarget, {"w": (np.ones(90), np.ones(400))}), "w"
    )
    every = all_thresholds(scores)
    for source in (scores, weighted, lk.scan_trials(tmp_path / "s.parquet")):
        chosen = lk.threshold_for(source, miss_rate=rate, ci="none")
        assert chosen.threshold == max(cut for cut in every if rates(scores, cut)[0] <= rate)
        assert (chosen.p_miss, chosen.p_fa) == rates(scores, chosen.threshold)
        chosen = lk.threshold_for(source, false_alarm_rate=rate, ci="none")
        assert chosen.threshold == min(cut for cut in every if rates(scores, cut)[1] <= rate)
        assert (chosen.p_miss, chosen.p_fa) == rates(scores, chosen.threshold)
    row = lk.biometrics.verification_rates(scores, fmr=[rate]).rows[0]
    assert (row.threshold, row.fnmr, row.fmr) == (chosen.threshold, chosen.p_miss, chosen.p_fa)
    low, high = lk.threshold_for(scores, false_alarm_rate=rate).interval
    assert low <= chosen.threshold <= high
    if 0.0 < rate < 1.0:
        spread = 1.96 * np.sqrt(rate * (1 - rate) / 400)
        assert rates(scores, high)[1] >= rate - spread
        assert rates(scores, np.nextafter(low, 99))[1] <= rate + spread < rates(scores, low)[1]


@pytest.mark.parametrize("point", [POINT, 0.5, "sre08", "sre10"])
def test_the_cheapest_threshold_against_brute_force(trials, point):
    chosen = lk.threshold_for(trials, point=point)
    costs = [chosen.point.cost(*rates(trials, threshold)) for threshold in all_thresholds(trials)]
    assert chosen.cost == pytest.approx(min(costs), abs=1e-15)
    assert chosen.lowest_cost == lk.min_dcf(trials, point=point)
    assert (chosen.p_miss, chosen.p_fa) == rates(trials, chosen.threshold)
    p_miss, p_fa = rates(trials, chosen.threshold)
    prior = chosen.point.p_target
    by_hand = prior * chosen.point.c_miss * p_miss + (1 - prior) * chosen.point.c_fa * p_fa
    assert chosen.cost_per_trial == pytest.approx(by_hand, rel=1e-14)


def test_the_threshold_of_the_equal_error_rate_is_the_one_of_eer_threshold(trials):
    assert lk.threshold_for(trials).threshold == lk.metrics.eer_threshold(trials)


def test_calibrated_llrs_are_cut_at_the_bayes_threshold_and_cost_the_actual_dcf(trials):
    chosen = lk.threshold_for(trials, point=POINT, calibrated=True)
    assert chosen.threshold == np.log(0.9 / (0.1 * 5))
    assert chosen.cost == pytest.approx(lk.act_dcf(trials, point=POINT), rel=1e-14)
    low, high = lk.evaluate(trials, points=[POINT], ci="trial").intervals["points.0.act_dcf"]
    assert chosen.intervals["cost"] == pytest.approx((low, high), rel=1e-12)
    assert chosen.interval is None
    assert chosen.notes == (INDEPENDENT,)
    assert not lk.threshold_for(trials, point=POINT, calibrated=True, ci="none").notes


def test_rates_have_the_intervals_of_an_evaluation_at_that_threshold(trials):
    chosen = lk.threshold_for(trials, false_alarm_rate=0.1)
    for name, p, n in (("p_miss", chosen.p_miss, 60), ("p_fa", chosen.p_fa, 150)):
        low, high = chosen.intervals[name]
        assert low < p < high
        # Clopper & Pearson: the ends are where so many errors have a chance of 2.5 %
        errors = round(p * n)
        assert binom.sf(errors - 1, n, low) == pytest.approx(0.025, rel=1e-6)
        assert binom.cdf(errors, n, high) == pytest.approx(0.025, rel=1e-6)


def coverage(truth, n_sets, **demand):
    rng, inside = np.random.default_rng(3), 0
    for _ in range(n_sets):
        scores = lk.Scores(rng.normal(1, 1, 300), rng.normal(-1, 1, 600))
        low, high = lk.threshold_for(scores, **demand).interval
        inside += low <= truth <= high
    return inside / n_sets


@pytest.mark.slow
@pytest.mark.parametrize(
    ("demand", "truth"),
    [
        ({"false_alarm_rate": 0.1}, norm.isf(0.1, -1, 1)),
        ({"miss_rate": 0.1}, norm.ppf(0.1, 1, 1)),
        ({}, 0.0),
        ({"point": lk.OperatingPoint(0.2)}, np.log(4) / 2),  # the LLR of a score x is 2 x
    ],
)
def test_intervals_of_thresholds_cover_the_true_one_of_gaussian_scores(demand, truth):
    # 100 sets at 95 %: fewer than 88 happen once in 500 times
    assert coverage(truth, 100, **demand) >= 0.88


def test_shared_speakers_widen_the_intervals():
    rng = np.random.default_rng(0)
    speaker = np.repeat(np.arange(20), 50)
    effect = rng.normal(0, 1, 20)[speaker]
    label = np.arange(1000) % 5 == 0
    table = {"score": np.where(label, 2, -1) + effect + rng.normal(size=1000), "label": label, "who": speaker}
    trials = lk.Trials(table)
    alone, shared = (lk.threshold_for(trials, **how) for how in ({}, {"speakers": "who"}))
    assert alone.threshold == shared.threshold
    for one, other in (
        (alone.interval, shared.interval),
        (alone.intervals["p_fa"], shared.intervals["p_fa"]),
    ):
        assert other[1] - other[0] > 1.3 * (one[1] - one[0])


def test_errors_can_be_counted_on_other_trials(trials):
    other = lk.Scores([3.0, 0.0, -5.0], [-2.0, 4.0])
    chosen = lk.threshold_for(trials, point=POINT, on=other)
    assert chosen.threshold == lk.threshold_for(trials, point=POINT).threshold
    assert (chosen.p_miss, chosen.p_fa) == rates(other, chosen.threshold)
    assert (chosen.n_target, chosen.n_nontarget, chosen.notes) == (3, 2, (INDEPENDENT,))
    assert chosen.lowest_cost == lk.min_dcf(other, point=POINT)


def test_a_threshold_that_rejects_everything_is_infinite():
    chosen = lk.threshold_for(lk.Scores([0.0], [1.0]), false_alarm_rate=0.0)
    assert (chosen.threshold, chosen.p_miss, chosen.p_fa) == (np.inf, 1.0, 0.0)


def test_two_demands_are_refused_and_so_are_impossible_ones(trials, file):
    for options in ({"point": 0.5, "miss_rate": 0.1}, {"miss_rate": 5}, {"calibrated": True}):
        with pytest.raises(lk.InputError):
            lk.threshold_for(trials, **options)
    for typed in ("--calibrated --eer", "--miss-rate x", "--ci speaker"):
        assert run("threshold", file, *typed.split())[:2] == (2, "")


def test_a_threshold_travels_and_decides(trials):
    chosen = lk.threshold_for(trials, point=POINT)
    assert pickle.loads(pickle.dumps(chosen)) == chosen
    assert json.loads(json.dumps(chosen.to_dict()))["threshold"] == chosen.threshold
    assert chosen.decide([chosen.threshold, chosen.threshold - 0.1]).tolist() == [True, False]
    arrays = np.concatenate([trials.target, trials.nontarget]), [1] * 60 + [0] * 150
    assert lk.threshold_for(*arrays, point=POINT) == chosen


@pytest.fixture
def file(trials, tmp_path):
    path = tmp_path / "s.csv"
    lines = [f"{s!r},1" for s in trials.target.tolist()] + [f"{s!r},0" for s in trials.nontarget.tolist()]
    path.write_text("\n".join(["score,label", *lines]) + "\n")
    return path


def test_the_command_gives_a_row_for_each_demand(trials, file):
    words = ["--point", "0.1,5,1", "--eer", "--false-alarm-rate", "10%", "--miss-rate", "0.05", "--json", "-"]
    code, out, _ = run("threshold", file, *words)
    assert code == 0
    demands = [{}, {"point": POINT}, {"false_alarm_rate": 0.1}, {"miss_rate": 0.05}]
    expected = [lk.threshold_for(trials, **demand) for demand in demands]
    assert [one["threshold"] for one in json.loads(out)["thresholds"]] == [one.threshold for one in expected]


def test_a_preset_of_several_points_gives_a_threshold_for_each(file):
    code, out, _ = run("threshold", file, "--point", "sre12", "--json", "-")
    assert code == 0
    assert [one["criterion"] for one in json.loads(out)["thresholds"]] == ["sre12:P=0.01", "sre12:P=0.001"]


@pytest.mark.parametrize(
    ("option", "factor", "side"), [("--distance", -1.0, "most"), ("--log10", 1.0, "least")]
)
def test_thresholds_are_in_the_units_of_the_file(trials, tmp_path, option, factor, side):
    path = tmp_path / "d.csv"
    lines = [f"{factor * s!r},{int(k)}" for s, k in [*((s, 1) for s in trials.target.tolist()),
             *((s, 0) for s in trials.nontarget.tolist())]]  # fmt: skip
    path.write_text("\n".join(["score,label", *lines]) + "\n")
    code, out, _ = run("threshold", path, option, "--false-alarm-rate", "10%", "--json", "-")
    assert code == 0
    found = json.loads(out)["thresholds"][0]
    expected = lk.threshold_for(trials, false_alarm_rate=0.1)
    assert found["threshold"] == pytest.approx(factor * expected.threshold, rel=1e-12)
    assert found["interval"] == pytest.approx(sorted(factor * end for end in expected.interval), rel=1e-12)
    assert f"at {side}" in found["rule"]
    assert found["p_fa"] == expected.p_fa


def test_llrs_of_a_calibration_are_known_as_such(file, tmp_path):
    lk.maps.AffineMap(a=1.0, b=0.5).save(tmp_path / "cal.json")
    assert run("apply", tmp_path / "cal.json", file, "-o", tmp_path / "llrs.csv")[0] == 0
    code, out, _ = run("threshold", tmp_path / "llrs.csv", "--point", "0.1,5,1", "--json", "-")
    assert code == 0
    assert json.loads(out)["thresholds"][0]["threshold"] == pytest.approx(np.log(1.8))


@pytest.mark.parametrize("shift", [0.0, 3.0, 5.0, 50.0])
def test_the_interval_of_a_rate_above_all_nontargets_against_clopper_pearson(shift):
    rng = np.random.default_rng(1)
    target, nontarget = rng.normal(3.0, 2.0, 300), rng.normal(0.0, 1.0, 3000)
    other = lk.Scores(target - shift, nontarget - shift)
    made = lk.threshold_for(lk.Scores(target, nontarget), false_alarm_rate=1e-3, on=other)
    missed = int((other.target < made.threshold).sum())
    expected = binomtest(missed, 300).proportion_ci(0.95, "exact")
    assert_allclose(made.intervals["p_miss"], (expected.low, expected.high), rtol=1e-6)


def test_a_threshold_of_scores_on_llrs_is_questioned(trials):
    scores = trials
    llrs = lk.fit_logistic(scores).on(scores)
    for source, on in ((scores, llrs), (llrs, scores)):
        with pytest.warns(lk.errors.ScaleWarning):
            lk.threshold_for(source, on=on)
    lk.threshold_for(llrs, on=llrs)
