"""Intervals by leaving speakers out: bounds where few err, corrected minima, groups, and their notes."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from shared_speakers import sample

import llrkit as lk
from llrkit.trust.influence import score_cuts
from llrkit.trust.jackknife import ErrorRates
from llrkit.trust.speakers import find_speakers, speaker_cells

SIDES = ("left", "right")
POINT = lk.OperatingPoint(0.1)


def with_one_wolf(n_speakers=40, per_pair=2, seed=0):
    """Every speaker against every other; only speaker 0 is taken for others at the threshold of P = 0.1."""
    rng = np.random.default_rng(seed)
    p, q = np.repeat(np.array(np.triu_indices(n_speakers)), per_pair, axis=1)
    same = p == q
    score = np.where(same, 6.0, -6.0) + rng.normal(0, 1.5, len(p))
    score[~same & (p == 0) & (rng.random(len(p)) < 0.5)] = 4.0
    score[same & (rng.random(len(p)) < 0.3)] = 1.0  # and misses, of many
    return lk.Trials({"score": score, "label": same, "left": p, "right": q})


def test_errors_of_one_speaker_give_a_bound_and_the_reason_not_an_interval():
    result = lk.evaluate(with_one_wolf(), points=[POINT], ci="speaker", speakers=SIDES)
    used = result.uncertainty
    for name in ("points.0.p_fa", "points.0.act_dcf"):
        assert name not in used.intervals
        assert "the false alarms come from few speakers" in used.no_interval[name]
        assert "only an upper bound" in used.no_interval[name]
    assert "points.0.p_miss" in used.intervals
    point = result.points[0]
    assert point.p_fa < used.upper_bound["points.0.p_fa"] < 1.0
    assert point.act_dcf < used.upper_bound["points.0.act_dcf"]
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))["points"][0]
    assert plain["upper_bound"]["p_fa"] == used.upper_bound["points.0.p_fa"]


def test_no_errors_at_all_give_a_bound_that_falls_with_the_number_of_speakers():
    bounds = []
    for n in (10, 40):
        trials = sample(n, 60 * n, seed=2)
        moved = np.where(trials.is_target, 9.0, -9.0) + trials.score_array / 20
        clean = lk.Trials({**trials.table.to_dict(), "score": moved})
        result = lk.evaluate(clean, points=[POINT], ci="speaker", speakers=SIDES)
        used = result.uncertainty
        assert used.no_interval["points.0.p_miss"].startswith("0 misses")
        bounds.append(used.upper_bound["points.0.p_miss"])
    assert 0.0 < bounds[1] < bounds[0] < 1.0


def test_bound_of_one_error_maker_against_a_poisson_count_of_few_events():
    trials = with_one_wolf()
    cells = speaker_cells(trials, find_speakers(trials, SIDES), [3.0])
    rates = ErrorRates.of(cells, 1, [0])
    # 39 partners with about one false alarm each, and speaker 0 with all of them
    assert 3.0 < rates.makers[0] < 4.0
    assert_allclose(rates.events, rates.makers / 2)
    found = rates.intervals(0.95)
    assert found.few[0]
    rate, k = rates.jackknife.values[0], float(rates.events[0])
    assert_allclose(found.bound[0] / rate, stats.gamma.ppf(0.95, k + 1) / k, rtol=0.1)


def test_bound_of_a_handful_of_errors_by_as_many_pairs_against_the_effective_trials():
    rng = np.random.default_rng(6)
    p, q = np.triu_indices(40, 0)
    p, q = np.repeat(p, 8), np.repeat(q, 8)
    same = p == q
    bad = rng.normal(size=40)
    score = np.where(same, 1.0, -3.0 + bad[p] + bad[q]) + rng.normal(0, 1.5, len(p))
    score = np.minimum(score, np.where(same, np.inf, 2.9))
    # three false alarms between six speakers: each of them makes as many as the others
    for k in range(3):
        score[np.flatnonzero((p == 2 * k) & (q == 2 * k + 1))[0]] = 4.0
    trials = lk.Trials({"score": score, "label": same, "left": p, "right": q})
    result = lk.evaluate(trials, points=[lk.OperatingPoint(1.0 / (1.0 + np.exp(3.0)))], speakers=SIDES)
    cuts = score_cuts(result)
    cells = speaker_cells(trials, find_speakers(trials, SIDES), cuts)
    rates = ErrorRates.of(cells, 1, [np.searchsorted(cuts, 3.0)])
    assert (rates.errors[0], rates.makers[0]) == (3, 6.0)
    rate = float(rates.jackknife.values[0])
    # so many independent trials know the rates of the curve as well: a Poisson count of them
    assert rates.effective < 0.5 * (~same).sum()
    wanted = stats.gamma.ppf(0.95, rate * rates.effective + 1.0) / rates.effective
    used = result.uncertainty
    assert used.no_interval["points.0.p_fa"].startswith("3 false alarms")
    assert_allclose(used.upper_bound["points.0.p_fa"], wanted, rtol=0.02)
    chosen = lk.threshold_for(trials, false_alarm_rate=rate, ci="speaker", speakers=SIDES)
    assert chosen.no_interval["p_fa"].startswith("there are only 3 false alarms: at most")
    assert "p_fa" not in chosen.intervals


def test_minima_are_corrected_upwards_and_end_at_one():
    for seed in range(5):
        trials = sample(15, 900, seed=seed)
        weak = lk.Trials({**trials.table.to_dict(), "score": trials.score_array - 3.5 * trials.is_target})
        result = lk.evaluate(weak, points=[0.3, 0.1], ci="speaker", speakers=SIDES)
        used = result.uncertainty
        assert used.corrected["min_cllr"] >= result.min_cllr
        assert_allclose(used.corrected["cllr_cal"], result.cllr - used.corrected["min_cllr"])
        for name, (_, high) in used.intervals.items():
            if "min" in name:
                assert high <= 1.0
    plain = result.to_dict()
    assert plain["bias_corrected"]["min_cllr"] == used.corrected["min_cllr"]
    assert plain["min_cllr"] == result.min_cllr


@pytest.mark.slow
def test_corrected_min_cllr_is_closer_to_that_of_a_large_set():
    model = lk.theory.GaussianLLR.from_eer(0.15)
    gaps = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        target, nontarget = model.rvs(90, 600, rng)
        who, left = rng.integers(0, 30, 90), rng.integers(0, 30, 600)
        right = (left + rng.integers(1, 30, 600)) % 30
        scores = lk.Scores(target, nontarget, {"left": (who, left), "right": (who, right)})
        result = lk.evaluate(scores, ci="speaker", speakers=SIDES)
        gaps.append((result.min_cllr - model.cllr, result.uncertainty.corrected["min_cllr"] - model.cllr))
    plug_in, corrected = np.mean(gaps, axis=0)
    assert plug_in < -0.02
    assert abs(corrected) < 0.6 * abs(plug_in)


def test_speakers_with_most_trials_count_for_few():
    trials = sample(60, 8000, seed=1)
    heavy = (trials.column("left") < 3) | (np.arange(8000) % 20 == 0)
    kept = lk.Trials({name: trials.column(name)[heavy] for name in ("score", "label", *SIDES)})
    cells = speaker_cells(kept, find_speakers(kept, SIDES))
    sizes = np.bincount(kept.column("left")[kept.is_target], minlength=60)
    assert_allclose(cells.effective_speakers[0], sizes.sum() ** 2 / (sizes**2).sum())
    assert cells.effective_speakers[0] < 20


@pytest.mark.slow
def test_many_speakers_are_left_out_in_groups_and_give_nearly_the_same():
    rng = np.random.default_rng(3)
    n = 30_000
    left, right = rng.integers(0, 600, n), rng.integers(0, 600, n)
    same = rng.random(n) < 0.1
    right[same] = left[same]
    ease = rng.normal(size=600)
    score = np.where(left == right, 2.0, -2.0) + ease[left] + ease[right] + rng.normal(0, 1.5, n)
    trials = lk.Trials({"score": score, "label": left == right, "left": left, "right": right})
    grouped = lk.evaluate(trials, points=[0.3], ci="speaker", speakers=SIDES).uncertainty
    assert "speakers are left out in 100 random groups" in grouped.notes
    assert grouped.n_speakers == 600
    fewer = lk.Trials({**trials.table.to_dict(), "left": left % 400, "right": right % 400})
    single = lk.evaluate(fewer, points=[0.3], ci="speaker", speakers=SIDES).uncertainty
    assert not any("groups" in note for note in single.notes)
    for name in ("cllr", "eer", "auc", "points.0.act_dcf"):
        assert 0.5 < grouped.standard_error[name] / single.standard_error[name] < 1.5


def test_trials_of_one_speaker_have_reasons_not_numbers():
    rng = np.random.default_rng(0)
    n = 200
    left, right = np.zeros(n, int), np.zeros(n, int)
    left[50:], right[50:] = rng.integers(0, 6, 150), rng.integers(6, 12, 150)
    score = np.where(left == right, 2.0, -2.0) + rng.normal(0, 2, n)
    trials = lk.Trials({"score": score, "label": left == right, "left": left, "right": right})
    used = lk.evaluate(trials, points=[0.3], ci="speaker", speakers=SIDES).uncertainty
    assert "of one speaker" in used.no_interval["cllr"]
    assert set(used.intervals) == {"points.0.p_fa"}  # false alarms are of many
