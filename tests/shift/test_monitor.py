"""ShiftMonitor: its false alarms over whole runs, and how soon it sees a shift."""

import math
import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.shift.e_process import TrainedCells, log_predicted

pytestmark = pytest.mark.filterwarnings("ignore::llrkit.ShiftWarning")


def batch(rng, n, share, slope=1.0):
    n_target = rng.binomial(n, share)
    return slope * np.append(rng.normal(4.0, 1.0, n_target), rng.normal(0.0, 1.0, n - n_target))


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(1)
    return lk.fit_logistic(lk.Scores(rng.normal(4.0, 1.0, 2_000), rng.normal(0.0, 1.0, 20_000)))


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
    assert [one.category for one in given] == [lk.ShiftWarning]
    monitor.update(batch(rng, 1_000, 0.05))
    assert monitor.alarm
    assert f"Alarm after {monitor.alarm_at:,} of 14,000 scores" in monitor.text
    monitor.reset()
    assert not monitor.alarm
    assert repr(monitor) == "ShiftMonitor(0 scores, no alarm)"


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


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, "often"])
def test_impossible_levels_are_refused(trained, level):
    with pytest.raises(lk.InputError):
        lk.ShiftMonitor(trained, level=level)


def test_a_score_that_is_no_number_is_refused(trained):
    with pytest.raises(lk.NaNScoreError):
        lk.ShiftMonitor(trained).update([1.0, np.nan])
