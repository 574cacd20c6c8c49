"""Counting without sorting must count like sorting."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from llrkit.core.cells import ScoreIndex


def assert_counts_like_sorting(values, cuts):
    values, cuts = np.asarray(values), np.asarray(cuts, dtype=np.float64)
    wide = values.astype(np.float64)
    below = [(wide < cut).sum() for cut in cuts]
    at_or_below = [(wide <= cut).sum() for cut in cuts]
    left, right = ScoreIndex(values, sort_below=1).count_below(cuts)
    assert_array_equal(left, below)
    assert_array_equal(right, at_or_below)
    left, right, low, high = ScoreIndex(values, sort_below=1).between(cuts)
    assert_array_equal(left, below)
    assert_array_equal(right, at_or_below)
    edges = [-np.inf, *cuts, np.inf]
    for i, (a, b) in enumerate(pairwise(edges)):
        inside = wide[((wide > a) | (i == 0)) & ((wide < b) | (i == len(cuts)))]
        assert low[i] == inside.min(initial=np.inf)
        assert high[i] == inside.max(initial=-np.inf)


TIES = st.sampled_from([-3.0, -1.0, -0.0, 0.0, 0.5, 2.0, 2.0000001, 7.0, 1000.0])
ANY = st.floats(-1e6, 1e6, width=32)


@settings(max_examples=60)
@given(
    st.one_of(st.lists(TIES, min_size=24, max_size=60), st.lists(ANY, min_size=24, max_size=60)),
    st.data(),
    st.sampled_from([np.float32, np.float64]),
)
def test_against_counting(values, data, dtype):
    values = np.array(values, dtype=dtype)
    # few enough cuts that buckets are used: at the scores, between and beyond them
    cut = st.one_of(st.sampled_from(values.astype(float).tolist()), ANY, st.sampled_from([-2e6, 2e6]))
    cuts = sorted(set(data.draw(st.lists(cut, min_size=1, max_size=3))))
    assert_counts_like_sorting(values, cuts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e9, -1e5])
def test_many_scores_against_counting(dtype, offset):
    rng = np.random.default_rng(0)
    values = (offset + np.round(rng.standard_normal(3000), 2)).astype(dtype)
    cuts = np.unique(np.concatenate([rng.choice(values, 40), offset + rng.standard_normal(40)]).astype(float))
    assert_counts_like_sorting(values, cuts)


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(50),
        np.append(np.zeros(49), 1e-310),
        np.append(np.linspace(0, 1, 49), np.inf),
        np.append(np.linspace(0, 1, 49), -np.inf),
        np.append(np.linspace(0, 1, 49), 1e300),
        np.append(np.full(49, -1e308), 1e308),
    ],
    ids=["equal", "hardly different", "inf", "-inf", "outlier", "overflow"],
)
def test_difficult_ranges(values):
    for cuts in ([0.0], [0.5], [-1.0, 0.0, 2.0], [-np.inf, 0.25, np.inf]):
        assert_counts_like_sorting(values, cuts)


def test_buckets_are_used_at_all(monkeypatch):
    def refuse(self):
        raise AssertionError("sorted everything")

    values = np.random.default_rng(1).standard_normal(1000)
    monkeypatch.setattr(ScoreIndex, "ascending", property(refuse))
    left, right = ScoreIndex(values, sort_below=1).count_below(np.array([0.0, 0.5]))
    assert_array_equal(left, [(values < 0).sum(), (values < 0.5).sum()])
    assert_array_equal(right, left)


def test_no_scores_and_no_cuts():
    left, right, low, high = ScoreIndex(np.array([])).between(np.array([1.0]))
    assert_array_equal([left, right], [[0], [0]])
    assert_array_equal([low, high], [[np.inf] * 2, [-np.inf] * 2])
    left, right = ScoreIndex(np.array([3.0, 1.0])).count_below(np.array([]))
    assert (len(left), len(right)) == (0, 0)


def test_more_cuts_and_scores_than_fit_into_a_block():
    rng = np.random.default_rng(3)
    values, cuts = rng.normal(size=150_000), np.unique(rng.normal(size=40_000))
    left, right, low, high = ScoreIndex(values, sort_below=1).between(cuts)
    ascending = np.sort(values)
    assert_array_equal(left, np.searchsorted(ascending, cuts))
    assert_array_equal(right, np.searchsorted(ascending, cuts, side="right"))
    starts, stops = np.append(0, right), np.append(left, len(values))
    assert_array_equal(low, np.where(stops > starts, np.append(ascending, np.inf)[starts], np.inf))
    assert_array_equal(high, np.where(stops > starts, ascending[stops - 1], -np.inf))
