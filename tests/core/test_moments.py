from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import llrkit as lk
from llrkit.core.summaries import ClassMoments, Moments


def pieces(values, n, seed=0):
    """Merge the moments of ``values`` cut at random places, empty pieces included."""
    cuts = np.sort(np.random.default_rng(seed).integers(0, len(values) + 1, n - 1))
    parts = [ClassMoments.of(part) for part in np.split(values, cuts)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


@settings(max_examples=60)
@given(st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=40), st.integers(1, 9))
def test_one_system_against_fractions(values, n):
    values = np.array(values)
    found = pieces(values, n)
    assert found.n == len(values)
    scale = np.ptp(values) + 1e-3
    assert_allclose(found.mean, [values.mean()], rtol=1e-12, atol=1e-12 * np.abs(values).max() + 1e-300)
    assert_allclose(found.variance, [values.var()], rtol=1e-10, atol=1e-13 * scale**2)
    exact = [Fraction(x) for x in values]
    center = sum(exact) / len(exact)
    m3, m4 = (float(sum((x - center) ** k for x in exact)) for k in (3, 4))
    assert_allclose(found.m3, [m3], rtol=1e-9, atol=1e-10 * scale**3)
    assert_allclose(found.m4, [m4], rtol=1e-9, atol=1e-10 * scale**4)
    assert_array_equal([found.low[0], found.high[0]], [values.min(), values.max()])


def test_shape_against_scipy():
    values = np.random.default_rng(0).gamma(2.0, size=5000)
    found = pieces(values, 13)
    assert_allclose(found.skewness, [stats.skew(values)], rtol=1e-11)
    assert_allclose(found.excess_kurtosis, [stats.kurtosis(values)], rtol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_systems_against_numpy_covariance(dtype):
    rng = np.random.default_rng(1)
    values = (rng.standard_normal((800, 4)) @ rng.standard_normal((4, 4)) + [0, 5, -7, 100]).astype(dtype)
    found = pieces(values, 7)
    wide = values.astype(np.float64)
    assert_allclose(found.mean, wide.mean(axis=0), rtol=1e-13)
    assert_allclose(found.covariance, np.cov(wide.T, bias=True), rtol=1e-11, atol=1e-12)
    assert_allclose(found.variance, wide.var(axis=0), rtol=1e-12)
    assert_allclose(found.skewness, stats.skew(wide), rtol=1e-9, atol=1e-12)
    assert_array_equal(found.low, wide.min(axis=0))
    assert_array_equal(found.high, wide.max(axis=0))


@pytest.mark.parametrize("offset", [1e9, -1e9, 2.0**30])
def test_large_offset_keeps_the_digits(offset):
    # on sixteenths, so that adding the offset is exact and the centered moments are known
    small = np.round(16 * np.random.default_rng(2).standard_normal(4000)) / 16
    found, wanted = pieces(small + offset, 11), pieces(small, 1)
    assert_allclose(found.mean - offset, wanted.mean, rtol=0, atol=4 * np.spacing(abs(offset)))
    assert_allclose(found.variance, [small.var()], rtol=1e-9)
    assert_allclose(found.skewness, [stats.skew(small)], atol=1e-4)
    assert_allclose(found.excess_kurtosis, [stats.kurtosis(small)], atol=1e-4)


def test_infinite_scores_are_counted_apart():
    found = Moments.of(lk.Scores([1.0, np.inf, 3.0], [-np.inf, np.inf, -np.inf, 0.0]))
    assert (found.target.n, found.target.n_pos_inf, found.target.n_neg_inf) == (2, 1, 0)
    assert (found.nontarget.n, found.nontarget.n_pos_inf, found.nontarget.n_neg_inf) == (1, 1, 2)
    assert (found.nontarget.count, found.nontarget.n_infinite) == (4, 3)
    assert_array_equal(found.target.mean, [2.0])
    assert found.extremes == (0.0, 3.0)


def test_a_trial_with_any_infinite_system_is_left_out():
    values = np.array([[1.0, 2.0], [np.inf, 0.0], [0.0, -np.inf], [-np.inf, np.inf], [3.0, 6.0]])
    found = ClassMoments.of(values)
    assert (found.n, found.n_pos_inf, found.n_neg_inf) == (2, 2, 1)
    assert_array_equal(found.mean, [2.0, 4.0])
    assert_array_equal(found.covariance, [[1.0, 2.0], [2.0, 4.0]])


def test_all_infinite_is_empty():
    found = ClassMoments.of(np.array([np.inf, -np.inf])) + ClassMoments.of(np.array([2.0]))
    assert (found.n, found.count) == (1, 3)
    assert_array_equal(found.mean, [2.0])


@pytest.mark.parametrize("values", [[2.0], [2.0, 2.0, 2.0]])
def test_shape_of_equal_scores_is_nan_without_a_warning(values):
    found = ClassMoments.of(np.array(values))
    assert_array_equal(found.variance, [0.0])
    assert np.isnan(found.skewness[0])
    assert np.isnan(found.excess_kurtosis[0])
