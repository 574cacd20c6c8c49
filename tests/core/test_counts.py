from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from own_source import OwnSource

import llrkit as lk
from llrkit.base.process import reduce_chunks
from llrkit.core.cells import Grid, TrialCounts, collect_again, count_on, count_trials
from llrkit.core.histograms import DensityGrid
from llrkit.core.pav import crossing, error_path, pav_blocks

VALUES = st.lists(st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.5, 2.0, 3.0, np.inf]), min_size=1, max_size=12)


@settings(max_examples=50)
@given(VALUES, VALUES)
def test_cells_against_counting(target, nontarget):
    counts = count_trials(lk.Scores(target, nontarget))
    own, other = (target, nontarget) if len(target) <= len(nontarget) else (nontarget, target)
    assert counts.grid_class == ("target" if own is target else "nontarget")
    points = sorted(set(own))
    assert_array_equal(counts.grid, points)
    assert_array_equal(counts.at, [own.count(p) for p in points])
    edges = [None, *points, None]
    for i, (a, b) in enumerate(pairwise(edges)):
        inside = [x for x in other if (a is None or x > a) and (b is None or x < b)]
        assert counts.cells[2 * i] == len(inside)
        assert counts.low[i] == min(inside, default=np.inf)
        assert counts.high[i] == max(inside, default=-np.inf)
    assert_array_equal(counts.cells[1::2], [other.count(p) for p in points])
    assert (counts.n_target, counts.n_nontarget) == (len(target), len(nontarget))


def test_counts_are_whole_until_weighted():
    counts = count_trials(lk.Scores([1.0, 2.0], [0.0, 1.0, 3.0]))
    assert counts.at.dtype == counts.cells.dtype == np.int64
    assert isinstance(counts.n_target, int)
    weighted = counts.weighted(0.5, 2.0)
    assert (weighted.n_target, weighted.n_nontarget) == (1.0, 6.0)


def test_weights_of_either_grid_class():
    few, many = [1.0, 2.0], [0.0, 1.0, 3.0]
    for scores in (lk.Scores(few, many), lk.Scores(many, few)):
        bins = count_trials(scores).weighted(10, 1).bins()
        assert (bins.n_target, bins.n_nontarget) == (10 * scores.n_target, scores.n_nontarget)


@pytest.mark.parametrize("first", ["target", "nontarget"])
def test_third_pass_when_the_dropped_class_is_the_smaller(first, monkeypatch):
    monkeypatch.setenv("LLRKIT_AT_ONCE", "40")  # five scores
    big, small = np.arange(40.0), np.arange(40.0, 63.0) - 30.5
    none = np.array([])
    # a long run of the finally smaller class comes first, so it is dropped on the way
    chunks = [lk.Scores.part(small, none), lk.Scores.part(none, big)]
    if first == "nontarget":
        chunks = [lk.Scores.part(c.nontarget, c.target) for c in chunks]

    class Source(OwnSource):
        passes = 0

        def reduce(self, summarize):
            self.passes += 1
            return reduce_chunks(chunks, summarize, threads=1)

        def with_columns(self, *names):
            return self

    source = Source()
    grid = source.reduce(Grid.of)
    assert grid.smaller == first
    assert grid.points is None
    with pytest.raises(ValueError, match="collect_again"):
        count_on(grid)
    assert_array_equal(collect_again(source, grid).points, small)
    counts = count_trials(source)
    assert source.passes == 5
    assert counts.at.sum() == 23
    assert counts.cells.sum() == 40


def test_large_class_is_dropped_and_counts_stay_exact():
    rng = np.random.default_rng(0)
    scores = lk.Scores(rng.integers(0, 50, 300) / 8, rng.integers(-40, 40, 70_000) / 8)
    assert scores.reduce(Grid.of).nontarget is None
    counts = count_trials(scores)
    assert_array_equal(counts.grid, np.unique(scores.target))
    for i, point in enumerate(counts.grid):
        assert counts.cells[2 * i + 1] == (scores.nontarget == point).sum()


def test_paths_of_a_toy_set():
    # sorted: n n T(tie)n n T n T T
    bins = count_trials(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])).bins()
    roc = error_path(bins)
    assert_array_equal(roc.n_miss, [0, 0, 1, 1, 2, 2, 4])
    assert_array_equal(roc.n_fa, [5, 3, 2, 1, 1, 0, 0])
    assert_array_equal(roc.threshold, [-3, -1, 0, 0.5, 1, 2, np.inf])
    hull = error_path(pav_blocks(bins))
    assert_array_equal(hull.n_miss, [0, 0, 1, 2, 4])
    assert_array_equal(hull.n_fa, [5, 3, 1, 0, 0])
    assert_array_equal(hull.threshold, [-3, -1, 0.5, 2, np.inf])
    assert_allclose(hull.p_miss, [0, 0, 0.25, 0.5, 1])
    assert_allclose(hull.p_fa, [1, 0.6, 0.2, 0, 0])


def test_every_threshold_of_a_path_gives_its_errors():
    rng = np.random.default_rng(3)
    target, nontarget = rng.integers(0, 30, 40) / 4, rng.integers(-10, 20, 60) / 4
    bins = count_trials(lk.Scores(target, nontarget)).bins()
    for path in (error_path(bins), error_path(pav_blocks(bins))):
        for m, f, t in zip(path.n_miss[:-1], path.n_fa[:-1], path.threshold[:-1], strict=True):
            assert ((target < t).sum(), (nontarget >= t).sum()) == (m, f)
        assert (path.n_miss[-1], path.n_fa[-1], path.threshold[-1]) == (40, 0, np.inf)


def test_crossing_at_a_vertex_and_at_the_ends():
    assert crossing(np.array([0.0, 0.25, 1.0]), np.array([1.0, 0.25, 0.0])) == 0.25
    assert crossing(np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])) == 0.0
    assert crossing(np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0])) == 1.0


def test_density_cells_against_numpy_histogram():
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(2, 1, 500), rng.normal(-1, 2, 900)
    low, high = float(min(target.min(), nontarget.min())), float(max(target.max(), nontarget.max()))
    grid = DensityGrid.of(lk.Scores(target, nontarget), low, high, 64)
    edges = np.linspace(low, high, 65)
    assert_allclose(grid.edges, edges, rtol=1e-14, atol=1e-14)
    assert_allclose(grid.centers, (edges[1:] + edges[:-1]) / 2, rtol=1e-14, atol=1e-14)
    for cells, values in ((grid.target, target), (grid.nontarget, nontarget)):
        assert_array_equal(cells.count, np.histogram(values, edges)[0])
        # the two moments give back the sums of the scores and of their squares
        width = (high - low) / 64
        assert_allclose((cells.count * grid.centers + cells.first * width).sum(), values.sum(), rtol=1e-11)
        squares = (
            cells.count * grid.centers**2 + 2 * grid.centers * width * cells.first + width**2 * cells.second
        )
        assert_allclose(squares.sum(), (values**2).sum(), rtol=1e-11)
        assert (np.abs(cells.first) <= 0.5 * cells.count + 1e-9).all()
        assert (cells.second <= 0.25 * cells.count + 1e-9).all()


def test_density_of_equal_huge_and_infinite_scores():
    same = DensityGrid.of(lk.Scores([2.0, 2.0], [2.0]), 2.0, 2.0, 8)
    assert (same.target.count.sum(), same.nontarget.count.sum()) == (2, 1)
    huge = DensityGrid.of(lk.Scores([1e308], [-1e308, np.inf, -np.inf]), -1e308, 1e308, 8)
    assert_array_equal(huge.target.count, [0, 0, 0, 0, 0, 0, 0, 1])
    assert_array_equal(huge.nontarget.count, [1, 0, 0, 0, 0, 0, 0, 0])
    assert (huge.nontarget.n_neg_inf, huge.nontarget.n_pos_inf) == (1, 1)
    assert np.isfinite(huge.edges).all()


def test_counts_of_a_chunk_without_trials():
    empty = TrialCounts.of(lk.Scores.part(np.array([]), np.array([])), np.array([1.0, 2.0]), "target")
    assert_array_equal(empty.cells, np.zeros(5))
    assert_array_equal(empty.at, [0, 0])
