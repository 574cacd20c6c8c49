"""Tests of differences by Student's t and by random signs of the speakers."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from llrkit.trust.differences import FLIPS, DifferenceError, flipped_sizes
from llrkit.trust.jackknife import Jackknife


def mean_of(values, counted_once=1.0):
    """The jackknife of a mean, whose pseudo-values are the values themselves."""
    left_out = (values.sum() - values) / (len(values) - 1)
    return Jackknife(("mean",), np.array([values.mean()]), left_out[:, None], counted_once)


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_random_signs_against_all_signs(share):
    values = np.random.default_rng(5).standard_t(2, 10) + 0.7
    every = np.abs(np.array(list(product([-1, 1], repeat=10))) @ values) / 10 * np.sqrt(share)
    error = DifferenceError(1.0, 9.0, flipped_sizes(mean_of(values, share)))
    for gap in np.quantile(every, [0.1, 0.5, 0.9, 0.97]):
        assert_allclose(error.p_value(gap), np.mean(every >= gap * (1 - 1e-9)), atol=4 * 0.5 / np.sqrt(FLIPS))


@pytest.mark.slow
def test_level_with_heavy_tails_where_student_is_too_cautious():
    rng = np.random.default_rng(8)
    by_signs, by_student = [], []
    for _ in range(1500):
        values = rng.standard_t(1.2, 30)
        gap = mean_of(values)
        by_signs.append(DifferenceError(1.0, 29.0, flipped_sizes(gap)).p_value(values.mean()))
        by_student.append(stats.ttest_1samp(values, 0.0).pvalue)
    assert abs(np.mean(np.array(by_signs) <= 0.05) - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 1500)
    assert np.mean(np.array(by_student) <= 0.05) < 0.035


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_intervals_exclude_zero_where_the_test_rejects(level):
    values = np.random.default_rng(9).normal(0, 1, 20)
    sizes = flipped_sizes(mean_of(values))
    for error in (DifferenceError(0.3, 12.0), DifferenceError(0.3), DifferenceError(0.3, 12.0, sizes)):
        reach = error.reach(level)
        assert error.p_value(1.0001 * reach) <= 1 - level + 1e-9 < error.p_value(0.9999 * reach)


def test_few_speakers_cannot_be_significant():
    # all signs equal is the most that four speakers can show: 2 of 16 ways
    values = np.array([1.0, 2.0, 3.0, 4.0])
    error = DifferenceError(1.0, 3.0, flipped_sizes(mean_of(values)))
    assert_allclose(error.p_value(values.mean()), 2 / 16, atol=0.02)
    assert error.reach(0.95) == values.mean()


def test_no_spread_at_all():
    assert DifferenceError(0.0).p_value(0.0) == 1.0
    assert DifferenceError(0.0).p_value(0.1) == 0.0
    assert DifferenceError(0.0, 3.0, np.zeros(FLIPS)).p_value(0.0) == 1.0
