"""ShiftMonitor: its false alarms over whole runs, and how soon it sees a shift."""

import math
import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.shift.monitor import TrainedCells, log_predicted

pytestmark = pytest.mark.filterwarnings("ignore::llrkit.errors.ShiftWarning")


def batch(rng, n, share, slope=1.0):
    n_target = rng.binomial(n, share)
    return slope * np.append(rng.normal(4.0, 1.0, n_target), rng.normal(0.0, 1.0, n - n_target))


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(1)
    dev = lk.Scores(rng.normal(4.0, 1.0, 2_000), rng.normal(0.0, 1.0, 20_000))
    return lk.calibrate(dev, bound="none").map


def test_predicted_probabilities_of_all_sequences_sum_to_one_against_brute_force():
    total = sum(
        math.exp(log_predicted(np.bincount(sequence, minlength=3).astype(float)))
        for sequence in product(range(3), repeat=5)
    )
    assert_allclose(total, 1.0, rtol=1e-12)


def test_the_e_process_is_below_its_martingale_for_every_share_and_true_training_cells():
    """q / L(truth) has the mean 1; the e-process must not exceed it where the truth is allowed for."""
    rng = np.random.default_rng(2)
    truth = np.array([[0.1, 0.3, 0.6], [0.7, 0.2, 0.1]])
    for _ in range(20):
        cells = TrainedCells.of(np.array([rng.multinomial(300, row) for row in truth], dtype=float), 1e-3)
        shares = rng.random(4)
        mixed = shares[:, None] * truth[0] + (1.0 - shares[:, None]) * truth[1]
        batches = np.array([rng.multinomial(250, row) for row in mixed], dtype=float)
        martingale = log_predicted(batches.sum(axis=0)) - float((batches * np.log(mixed)).sum())
        assert cells.log_e(batches) <= martingale + 1e-6


@pytest.mark.slow
def test_no_false_alarm_while_the_share_changes_all_the_time():
    for seed in range(6):
        rng = np.random.default_rng([seed, 3])
        dev = lk.Scores(rng.normal(4.0, 1.0, 300), rng.normal(0.0, 1.0, 2_000))
        monitor = lk.ShiftMonitor(dev)
        for _ in range(20):
            monitor.update(batch(rng, 600, rng.choice([0.0, 0.01, 0.3, 0.9])))
        assert not monitor.alarm
        assert monitor.e_value < 1.0


def test_a_shift_gives_an_alarm_that_stays(trained):
    rng = np.random.default_rng(4)
    monitor = lk.ShiftMonitor(trained, level=0.01)
    for _ in range(8):
        monitor.update(batch(rng, 1_000, 0.05))
    assert not monitor.alarm
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for _ in range(5):
            monitor.update(batch(rng, 1_000, 0.05, slope=1.3))
    assert 8_000 < monitor.alarm_at <= 12_000
    assert [one.category for one in given] == [lk.errors.ShiftWarning]
    monitor.update(batch(rng, 1_000, 0.05))
    assert monitor.alarm
    monitor.reset()
    assert (monitor.alarm, monitor.n) == (False, 0)


def test_small_batches_are_gathered_and_sources_count_as_arrays_do(trained):
    scores = batch(np.random.default_rng(5), 2_000, 0.1, slope=1.5)
    whole, small = lk.ShiftMonitor(trained), lk.ShiftMonitor(trained)
    for start in range(0, 2_000, 500):
        part = scores[start : start + 500]
        whole.update(lk.Scores(part[:100], part[100:]))
        for piece in np.split(part, 5):
            small.update(piece)
    assert whole.n == small.n == 2_000
    assert whole.alarm
    one = lk.ShiftMonitor(trained)
    one.update(scores[:150])
    assert one.e_value == 1.0  # nothing is bet on so few


def spoken(rng, n_speakers, each, slope=1.0):
    """Scores of speakers who each move all of theirs, whose they are, and which are targets."""
    own, n = np.repeat(rng.normal(0.0, 0.8, n_speakers), each), n_speakers * each
    who = np.repeat([f"s{rng.integers(1 << 40)}" for _ in range(n_speakers)], each)
    is_target = rng.random(n) < 0.3
    return slope * (6.0 * is_target + own + rng.standard_normal(n)), who, is_target


def test_few_speakers_are_no_alarm_if_each_is_counted_once():
    rng = np.random.default_rng(6)
    scores, who, is_target = spoken(rng, 400, 10)
    train = lk.Scores(scores[is_target], scores[~is_target], {"who": (who[is_target], who[~is_target])})
    trained = lk.calibrate(train, speakers="who").map
    known, alone = lk.ShiftMonitor(trained), lk.ShiftMonitor(trained)
    for _ in range(12):
        scores, who, _ = spoken(rng, 5, 400)
        known.update(scores, speakers=who)
        alone.update(scores)
    assert alone.alarm
    assert not known.alarm
    assert known.n_speakers == 60
    for _ in range(12):
        scores, who, _ = spoken(rng, 50, 40, slope=2.0)
        known.update(scores, speakers=who)
    assert known.alarm


def test_scores_of_a_speaker_count_once_however_often_they_come(trained):
    rng = np.random.default_rng(7)
    scores, who = batch(rng, 400, 0.1, slope=1.5), [f"s{i}" for i in range(400)]
    once, often = lk.ShiftMonitor(trained), lk.ShiftMonitor(trained)
    once.update(scores, speakers=who)
    often.update(np.repeat(scores, 5), speakers=np.repeat(who, 5))
    assert once.e_value > 2.0
    assert_allclose(often.e_value, once.e_value, rtol=1e-9)
    before = once.e_value
    once.update(scores + 9.0, speakers=who)  # the same people: nothing is added
    assert once.e_value == before
    given = lk.ShiftMonitor(trained)
    given.update(lk.Scores(scores[:40], scores[40:], {"who": (who[:40], who[40:])}), speakers="who")
    assert_allclose(given.e_value, before, rtol=1e-9)


def test_what_does_not_fit_is_refused(trained):
    monitor = lk.ShiftMonitor(trained)
    with pytest.raises(lk.InputError):
        monitor.update([1.0, 2.0], speakers=["a", "b", "c"])
    monitor.reset()
    monitor.update([1.0, 2.0], speakers=["a", "b"])
    with pytest.raises(lk.InputError):  # speakers come with every batch or with none
        monitor.update([1.0, 2.0])
    for level in (0.0, 1.0, -0.1, "often"):
        with pytest.raises(lk.InputError):
            lk.ShiftMonitor(trained, level=level)
    with pytest.raises(lk.errors.NaNScoreError):
        lk.ShiftMonitor(trained).update([1.0, np.nan])
