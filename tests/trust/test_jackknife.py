"""Leaving out one speaker at a time: against the trials themselves, and against cases known otherwise."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from shared_speakers import sample

import llrkit as lk
from llrkit.trust.influence import score_cuts
from llrkit.trust.jackknife import (
    LOG_LOSS,
    Jackknife,
    count_by_speaker,
    from_scale,
    leave_out,
    resampled_times,
    to_scale,
)
from llrkit.trust.speakers import Speakers, find_speakers, speaker_cells

SIDES = ("left", "right")
POINTS = [lk.OperatingPoint(0.3), lk.OperatingPoint(0.1)]


def trials_without(trials, speaker):
    kept = (trials.column("left") != speaker) & (trials.column("right") != speaker)
    return lk.Trials({name: trials.column(name)[kept] for name in ("score", "label", *SIDES)})


@pytest.mark.parametrize("crossed", [False, True])
def test_numbers_without_a_speaker_are_evaluations_of_the_other_trials(crossed):
    trials = sample(crossed=crossed)
    result = lk.evaluate(trials, points=POINTS)
    speakers = find_speakers(trials, SIDES)
    found = leave_out(count_by_speaker(trials, result, speakers), result)
    for speaker, number in speakers.number_of.items():
        other = lk.evaluate(trials_without(trials, speaker), points=POINTS)
        row = dict(zip(found.names, found.without[number], strict=True))
        for name in ("cllr", "min_cllr", "eer", "eer_roc", "auc"):
            assert_allclose(row[name], getattr(other, name), rtol=1e-12)
        for i, point in enumerate(other.points):
            for name in ("min_dcf", "act_dcf", "p_miss", "p_fa"):
                assert_allclose(row[f"points.{i}.{name}"], getattr(point, name), rtol=1e-12, atol=1e-15)


def test_cells_are_close_to_exact_when_there_are_more_scores_than_cells():
    rng = np.random.default_rng(2)
    n = 20_000
    left, right = rng.integers(0, 30, n), rng.integers(0, 30, n)
    label = (left == right) | (rng.random(n) < 0.2)
    score = np.where(label, 2.0, -2.0) + rng.normal(0, 2, n)
    trials = lk.Trials({"score": score, "label": label, "left": left, "right": right})
    result = lk.evaluate(trials, points=POINTS)
    assert len(result.summaries.bins.low) > 2 * len(score_cuts(result))
    speakers = find_speakers(trials, SIDES)
    found = leave_out(count_by_speaker(trials, result, speakers), result)
    other = lk.evaluate(trials_without(trials, 7), points=POINTS)
    row = dict(zip(found.names, found.without[speakers.number_of[7]], strict=True))
    assert_allclose(row["cllr"], other.cllr, rtol=1e-12)
    assert_allclose(row["points.1.act_dcf"], other.points[1].act_dcf, rtol=1e-12)
    # what leaving the speaker out changes is known to a few percent
    for name in ("min_cllr", "eer", "auc"):
        exact = getattr(result, name)
        assert_allclose(row[name] - exact, getattr(other, name) - exact, rtol=0.05, atol=1e-5)


def test_chunks_add_up_and_weights_multiply():
    trials = sample()
    speakers = find_speakers(trials, SIDES)
    scores = trials.with_columns(*SIDES).scores()
    whole = speaker_cells(trials, speakers, [-1.0, 0.0, 2.0], LOG_LOSS)
    halves = [scores.select(slice(0, 10), slice(0, 100)), scores.select(slice(10, None), slice(100, None))]
    parts = [speaker_cells(half, speakers, [-1.0, 0.0, 2.0], LOG_LOSS) for half in halves]
    total = parts[0] + parts[1]
    np.testing.assert_array_equal(total.target, whole.target)
    np.testing.assert_array_equal(total.nontarget, whole.nontarget)
    assert_allclose(total.sums, whole.sums, rtol=1e-12)
    assert_allclose((whole * 2.5).nontarget, whole.nontarget * 2.5)
    assert_allclose((whole * 2.5).total.means, whole.total.means)


def test_groups_of_speakers_are_left_out_together():
    trials = sample()
    speakers = find_speakers(trials, SIDES)
    groups = speakers.grouped(most=5, groups=4)
    assert (groups.n, groups.n_speakers) == (4, 12)
    assert sorted(np.bincount(list(groups.number_of.values()))) == [3, 3, 3, 3]
    cells = speaker_cells(trials, groups)
    members = [name for name, number in groups.number_of.items() if number == 2]
    left_out = np.isin(trials.column("left"), members) | np.isin(trials.column("right"), members)
    assert cells.without(2).n == (
        np.count_nonzero(trials.is_target & ~left_out),
        np.count_nonzero(~trials.is_target & ~left_out),
    )


def jackknife_of(function, x):
    """By leaving out one of some numbers."""
    without = np.array([np.atleast_1d(function(np.delete(x, i))) for i in range(len(x))])
    return Jackknife(("value",), np.atleast_1d(function(x)), without)


def test_correction_makes_the_variance_unbiased_by_algebra():
    x = np.random.default_rng(0).gamma(1.0, size=25)
    assert_allclose(jackknife_of(np.var, x).corrected, np.var(x, ddof=1), rtol=1e-12)


def test_error_of_a_ratio_against_the_delta_method():
    rng = np.random.default_rng(1)
    pair = rng.gamma(20.0, size=(400, 2))
    value = pair[:, 0].sum() / pair[:, 1].sum()
    without = (pair[:, 0].sum() - pair[:, 0]) / (pair[:, 1].sum() - pair[:, 1])
    found = Jackknife(("ratio",), np.array([value]), without[:, None])
    residual = pair[:, 0] - value * pair[:, 1]
    wanted = np.sqrt((residual**2).sum()) / pair[:, 1].sum()
    assert_allclose(found.standard_error, wanted, rtol=0.01)
    assert_allclose(found.covariance[0, 0], found.standard_error[0] ** 2, rtol=1e-12)


def test_degrees_of_freedom_fall_when_few_speakers_make_the_variance():
    rng = np.random.default_rng(3)
    even = jackknife_of(np.mean, rng.normal(size=2000))
    assert_allclose(even.df, 1999, rtol=0.15)
    one_large = jackknife_of(np.mean, np.append(1e-3 * rng.normal(size=50), 10.0))
    assert one_large.df[0] < 3


@pytest.mark.parametrize(("blocks", "df", "compared"), [((), 5.0, 6.0), ((0, 0, 0, 1, 1, 1), 4.0, 3.0)])
def test_blocks_are_counted_alike_for_degrees_of_freedom_and_for_those_compared(blocks, df, compared):
    even = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])  # 18 terms, more than speakers - blocks
    jackknife = replace(jackknife_of(np.mean, even), blocks=blocks)
    assert_allclose(jackknife.df, df)
    speakers = Speakers(("who",), {name: i for i, name in enumerate("abcdef")}, False, blocks=blocks)
    assert_allclose(speakers.n_compared, compared)


def test_bootstrap_t_is_longer_on_the_side_where_the_mean_is_too_low_too_often():
    x = np.random.default_rng(4).gamma(0.5, size=30)
    found = jackknife_of(np.mean, x)
    low, high = found.interval(0.95)
    assert high[0] - x.mean() > 1.3 * (x.mean() - low[0])


@pytest.mark.parametrize("n", [2, 3])
def test_two_or_three_speakers_have_an_interval_against_student(n):
    # many draws hold one speaker only and have no spread: the interval is as long as it may be
    values = np.random.default_rng(n).normal(size=n)
    one = Jackknife(("mean",), np.array([values.mean()]), ((values.sum() - values) / (n - 1))[:, None])
    low, high = one.interval(0.95)
    reach = stats.t.ppf(0.975, 3) * values.std(ddof=1) / np.sqrt(n)
    assert_allclose([low[0], high[0]], values.mean() + np.array([-reach, reach]), rtol=1e-9)


def test_draws_are_those_of_drawing_with_replacement():
    times = resampled_times(7, 500, seed=3)
    assert times.shape == (500, 7)
    np.testing.assert_array_equal(times.sum(axis=1), 7)
    assert_allclose(times.var(), 6 / 7, rtol=0.1)  # of a binomial with 7 draws and chance 1/7


def test_differences_are_paired():
    x = np.random.default_rng(5).normal(size=20)
    first, second = jackknife_of(np.mean, x + 1.0), jackknife_of(np.mean, x)
    gap = first - second
    assert_allclose(gap.values, 1.0)
    assert_allclose(gap.standard_error, 0.0, atol=1e-12)


def test_scales_and_selection():
    without = np.array([[0.2, 0.3], [0.4, 0.1]])
    both = Jackknife(("a", "b"), np.array([0.3, 0.2]), without)
    on = both.select(["b"]).on_scales(["rate"])
    assert_allclose(on.without[:, 0], np.log(without[:, 1] / (1 - without[:, 1])))
    assert_allclose(from_scale(to_scale(without, "cost"), "cost"), without)


def test_a_speaker_with_all_targets_leaves_nothing_to_compare():
    columns = {"left": (["a", "a"], ["b", "a", "c"]), "right": (["a", "a"], ["c", "b", "a"])}
    scores = lk.Scores([1.0, 2.0], [0.0, 1.5, -1.0], columns)
    result = lk.evaluate(scores, points=POINTS)
    found = leave_out(count_by_speaker(scores, result, find_speakers(scores, SIDES)), result)
    assert np.isnan(found.without[0]).all()
    assert np.isfinite(found.without[1:]).all()
    assert np.isnan(found.standard_error).all()
