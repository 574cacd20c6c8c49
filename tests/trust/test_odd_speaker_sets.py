"""Intervals with speakers on odd sets: few errors, one bad speaker, enormous scores."""

import warnings

import numpy as np
import pytest

import llrkit as lk

SIDES = ("left", "right")


def compared(rng, n_speakers=20, sessions=3, gap=3.0, spread=1.0):
    """Every recording with every other one: calibrated-looking scores, and a level for each speaker."""
    speaker = np.repeat(np.arange(n_speakers), sessions)
    left, right = np.triu_indices(len(speaker), 1)
    level = spread * rng.standard_t(3, n_speakers)
    same = speaker[left] == speaker[right]
    scores = rng.normal(np.where(same, gap, -gap), 1.5) + level[speaker[left]] + level[speaker[right]]
    return scores, same, speaker[left], speaker[right]


def as_trials(scores, same, left, right):
    return lk.Trials({"score": scores, "label": same, "left": left, "right": right})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_every_interval_holds_its_value_and_every_bound_is_above_it(seed):
    rng = np.random.default_rng([11, seed])
    trials = as_trials(*compared(rng, int(rng.integers(6, 25)), 3, rng.uniform(0.5, 5), rng.uniform(0.1, 2)))
    for ci, more in (("speaker", {}), ("bootstrap", {"replicates": 100})):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lk.LlrkitWarning)
            result = lk.evaluate(trials, points=[0.2, 0.01], ci=ci, speakers=SIDES, **more)
        used = result.uncertainty
        numbers = {"eer": result.eer, "eer_roc": result.eer_roc, "auc": result.auc, "cllr": result.cllr,
                   "min_cllr": result.min_cllr}  # fmt: skip
        for i, point in enumerate(result.points):
            numbers |= {f"points.{i}.{name}": getattr(point, name)
                        for name in ("min_dcf", "act_dcf", "p_miss", "p_fa")}  # fmt: skip
        for name, value in numbers.items():
            if name in used.intervals:
                low, high = used.intervals[name]
                assert 0.0 <= low <= value <= high < np.inf, (ci, name, low, value, high)
            else:
                assert used.no_interval[name], (ci, name)
            assert value <= used.upper_bound.get(name, np.inf) + 1e-12, (ci, name)
        for i in range(2):
            least, actual = (f"points.{i}.{name}" for name in ("min_dcf", "act_dcf"))
            if least in used.upper_bound:
                ends = {name: ends[1] for name, ends in used.intervals.items()} | dict(used.upper_bound)
                assert ends[least] <= max(ends[actual], numbers[least])
        for name, value in used.corrected.items():
            assert name == "cllr_cal" or value >= numbers.get(name, 0.0)


def test_a_minimum_that_is_zero_without_one_speaker_is_not_corrected_to_one():
    rng = np.random.default_rng(3)
    scores, same, left, right = compared(rng, gap=8.0, spread=0.1)
    scores[np.flatnonzero(same & (left == 0))[:2]] = -9.0  # the only errors are of the first speaker
    result = lk.evaluate(as_trials(scores, same, left, right), ci="speaker", speakers=SIDES)
    assert 0.0 < result.min_cllr < 0.2
    assert "min_cllr" not in result.uncertainty.corrected
    assert "min_cllr" in result.uncertainty.no_interval


def test_a_loss_that_one_speaker_makes_has_a_reason_in_place_of_an_absurd_interval():
    rng = np.random.default_rng(4)
    scores, same, left, right = compared(rng, gap=6.0, spread=0.1)
    scores[~same & ((left == 1) | (right == 1))] += 12.0  # a wolf: everybody is taken for him
    result = lk.evaluate(as_trials(scores, same, left, right), ci="speaker", speakers=SIDES)
    without = lk.evaluate(lk.Scores(scores[same & (left != 1)], scores[~same & (left != 1) & (right != 1)]))
    assert "cllr" not in result.intervals
    reason = result.uncertainty.no_interval["cllr"]
    assert reason.endswith(f" {without.cllr:.3g}")


def test_an_equal_error_rate_of_few_speakers_has_an_upper_bound():
    rng = np.random.default_rng(5)
    scores, same, left, right = compared(rng, n_speakers=30, sessions=6, gap=8.0, spread=0.1)
    scores[np.flatnonzero(same & (left < 2))[:14]] = -7.0
    scores[np.flatnonzero(~same & (left == 3))[:400]] = 8.0
    result = lk.evaluate(as_trials(scores, same, left, right), ci="speaker", speakers=SIDES)
    assert "eer" in result.uncertainty.no_interval
    assert result.eer < result.uncertainty.upper_bound["eer"] < 0.5


@pytest.mark.parametrize("options", [{"ci": "trial"}, {"ci": "speaker", "speakers": SIDES}])
def test_scores_near_the_largest_number_have_intervals_for_all_but_their_losses(options):
    rng = np.random.default_rng(7)
    scores, same, left, right = compared(rng, gap=1.0, spread=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", lk.LlrkitWarning)
        result = lk.evaluate(as_trials(scores * 1e299, same, left, right), **options)
        usual = lk.evaluate(as_trials(scores, same, left, right), **options)
    assert "cllr" in result.uncertainty.no_interval
    if options["ci"] == "trial":
        np.testing.assert_allclose(result.intervals["auc"], usual.intervals["auc"], rtol=1e-9)
