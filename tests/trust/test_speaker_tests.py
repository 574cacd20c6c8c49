"""Tests of calibration where trials share speakers, against brute force and simulations."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from programs import benchmark
from scipy import stats
from shared_speakers import sample

import llrkit as lk
from llrkit.metrics.measure import measure
from llrkit.trust.identity_tests import (
    check_cells,
    check_speakers,
    count_in_judged_cells,
    judged_edges,
    middles,
)
from llrkit.trust.null import CalibratedCells, JudgedCells, draw_speaker_sets, losses_of_counts
from llrkit.trust.speakers import find_speakers

SIDES = ("left", "right")
SIZES = benchmark("sizes")


def calibrated(speakers, seed, *, slope=1.0, heavy=False, unequal=True):
    design = SIZES.Design(speakers, unequal, heavy)
    return SIZES.calibrated(design.trials(np.random.default_rng(seed)), design, slope)


def without_each(trials):
    left, right = trials.column("left"), trials.column("right")
    mask, x = trials.is_target, trials.score_array
    for p in sorted(set(left) | set(right)):
        kept = (left != p) & (right != p)
        yield ~kept, lk.Scores(x[kept & mask], x[kept & ~mask])


def test_slope_and_offset_against_lines_fitted_without_each_speaker():
    trials = sample(15, 3000, seed=4)
    line = lk.check_calibration(trials, speakers=SIDES, replicates=0).recalibration
    whole = lk.fit_logistic(trials)
    assert_allclose([line.a, line.b], [whole.a, whole.b], atol=2e-3)
    lines = np.array([(fit.a, fit.b) for fit in (lk.fit_logistic(rest) for _, rest in without_each(trials))])
    around = lines - lines.mean(axis=0)
    covariance = 14 / 15 * around.T @ around
    assert_allclose(line.covariance, covariance, rtol=0.03)
    corrected = 15 * np.array([whole.a, whole.b]) - 14 * lines.mean(axis=0)
    away = corrected - [1, 0]
    statistic = away @ np.linalg.solve(covariance, away)
    assert_allclose(line.statistic, statistic, rtol=0.05)
    # each speaker's part of the distance, in the axes of the covariance
    parts = (around @ np.linalg.inv(around.T @ around) * around).sum(axis=1)
    df = min(14, 1.5 * 4 / np.square(parts).sum() - 1)
    assert_allclose(line.df, df, rtol=0.03)
    p = stats.f.sf(line.statistic * (line.df - 1) / (2 * line.df), 2, line.df - 1)
    assert_allclose(line.p_value, max(p, check_cells(measure(trials)).test.p_value), rtol=1e-6)


def test_trials_that_share_speakers_never_say_more_than_independent_ones():
    for seed in range(6):
        trials = sample(8, 200, seed)  # few trials of a pair: some variances come out too small
        result = measure(trials)
        known = check_speakers(
            result, count_in_judged_cells(trials, result, find_speakers(trials, SIDES))
        ).test
        assert known.p_value >= check_cells(result).test.p_value
        # an evaluation counts for its test while it counts for its intervals
        assert lk.evaluate(trials, speakers=SIDES).tested.test == known


def test_cross_validated_loss_against_lines_of_the_other_speakers():
    trials = sample(12, 2500, seed=1)
    mask, x = trials.is_target, trials.score_array
    gains = np.zeros(2)
    counts = np.zeros(2)
    for own, rest in without_each(trials):
        line = lk.fit_logistic(rest)
        for k, (chosen, sign) in enumerate(((own & mask, -1), (own & ~mask, 1))):
            before = np.logaddexp(0, sign * x[chosen])
            gains[k] += (before - np.logaddexp(0, sign * (line.a * x[chosen] + line.b))).sum()
            counts[k] += chosen.sum()
    found = lk.check_calibration(trials, speakers=SIDES, replicates=0)
    assert_allclose(found.loss.loss, (gains / counts).sum() / (2 * math.log(2)), rtol=0.02)
    assert_allclose(found.loss.raw, lk.cllr(trials), rtol=1e-12)


@pytest.mark.slow
def test_null_sets_are_calibrated_and_have_speakers_who_differ():
    scores = calibrated(30, 3)
    result = measure(scores)
    speakers = find_speakers(scores, SIDES)
    cells = count_in_judged_cells(scores, result, speakers)
    judged = JudgedCells(middles(judged_edges(result)), *(1.0 * one for one in cells.total.counts))
    pair = CalibratedCells.relabeled(judged)
    sets = draw_speaker_sets(cells, pair, 1e9, 200, seed=1)
    n = np.array(judged.size)
    assert_allclose(np.mean([(t.sum(), d.sum()) for t, d in sets], axis=0), n, rtol=0.05)
    # as calibrated on average as a pair that is exactly, and much further apart than independent sets
    means = np.array([[(t * pair.llr).sum() / t.sum(), (d * pair.llr).sum() / d.sum()] for t, d in sets])
    exact = [(pair.target * pair.llr).sum(), (pair.nontarget * pair.llr).sum()]
    assert_allclose(means.mean(axis=0), exact, atol=4 * means.std(axis=0).max() / math.sqrt(200))
    rng = np.random.default_rng(2)
    free = [pair.draw(tuple(n), rng)[0] for _ in range(200)]
    spread = np.std([(t * pair.llr).sum() / t.sum() for t in free])
    assert means[:, 0].std() > 1.5 * spread
    # the spread between sets is that of speakers: leaving them out says the same
    by_speaker = [(rest.target.mean() - scores.target.mean()) for rest in _each_left_out(scores)]
    assert_allclose(means[:, 0].std(), math.sqrt(29 / 30 * np.square(by_speaker).sum()), rtol=0.25)
    losses = [losses_of_counts(pair.llr, *one)[0] for one in sets]
    assert min(losses) > 0.0


@pytest.mark.slow
def test_scores_of_two_genders_are_mapped_to_calibrated_llrs():
    design = SIZES.Design(4, genders=2)
    mapped = SIZES.calibrated(design.population(np.random.default_rng(2)), design)
    # the mean LR of non-targets is 1 if LLRs are calibrated, at any cap of the same on both sides
    low = mapped.nontarget[mapped.nontarget < 0.0]
    share = np.exp(low).sum() / len(mapped.nontarget)
    assert_allclose(share, np.mean(mapped.target < 0.0), rtol=0.01)


def _each_left_out(scores):
    sides = scores.columns
    for p in range(30):
        kept = [(np.asarray(sides["left"][i]) != p) & (np.asarray(sides["right"][i]) != p) for i in (0, 1)]
        yield lk.Scores(scores.target[kept[0]], scores.nontarget[kept[1]])


@pytest.mark.slow
@pytest.mark.parametrize("heavy", [False, True])
def test_p_values_of_calibrated_sets_are_spread_evenly(heavy):
    # the null of independent trials, fewer by a design effect, gave 1 nearly always
    p_values = []
    for seed in range(30):
        found = lk.check_calibration(
            calibrated(20, seed, heavy=heavy), speakers=SIDES, replicates=39, curves=False
        )
        p_values.append((found.recalibration.p_value, found.p_value("cllr_cal"), found.p_value("dev_pav")))
    mean = np.mean(p_values, axis=0)
    assert np.all(abs(mean - 0.5) < 0.25)
    assert np.all((np.array(p_values) < 0.05).mean(axis=0) < 0.2)


@pytest.mark.slow
def test_a_wrong_slope_is_found_with_100_speakers():
    verdict = lk.check_calibration(calibrated(100, 5, slope=1.5), speakers=SIDES, replicates=0).verdict
    assert (verdict.outcome, verdict.kind) == ("evidence", "over-confident")
    assert "if trials are independent" not in verdict.text


@pytest.mark.slow
def test_a_wrong_shape_is_found_although_speakers_differ():
    scores = calibrated(60, 2)
    bent = lk.Scores(
        *(np.where(x > 0.0, 0.5 * x, 2.0 * x) for x in (scores.target, scores.nontarget)), scores.columns
    )
    found = lk.check_calibration(bent, speakers=SIDES, replicates=199, curves=False)
    assert found.p_value("cllr_cal") <= 0.01
    assert found.p_value("dev_pav") <= 0.01


def test_the_check_with_speakers_can_be_written_down_without_a_null_of_cross_validation():
    found = lk.check_calibration(sample(15, 1500, seed=6), speakers=SIDES, replicates=40)
    assert math.isnan(found.p_value("cv_loss"))
    assert 0.0 < found.p_value("dev_pav") <= 1.0
    assert found.dev_pav > 0.0
    assert {curve.method for curve in found.curves} == {"logistic", "pav", "gaussian", "kde"}
    assert json.dumps(found.to_dict())


def test_more_than_500_speakers_are_left_out_in_groups():
    rng = np.random.default_rng(3)
    left = rng.integers(0, 800, 6000)
    same = rng.random(6000) < 0.4
    right = np.where(same, left, (left + rng.integers(1, 800, 6000)) % 800)
    score = np.where(same, 2.0, -2.0) + 2.0 * rng.normal(size=6000)
    trials = lk.Trials({"score": score, "label": same, "left": left, "right": right})
    found = lk.check_calibration(trials, speakers=SIDES, replicates=20, curves=False)
    assert found.recalibration.df <= 99


def test_targets_of_one_speaker_only_are_refused_in_words():
    who = np.array(["a", "a", "b", "c"] * 5)
    x = np.random.default_rng(1).normal(size=20)
    trials = lk.Trials({"score": x, "label": who == "a", "left": who})
    with pytest.raises(lk.errors.TooFewTrialsError):
        lk.check_calibration(trials, speakers="left")
