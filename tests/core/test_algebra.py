"""Summaries as an algebra: any grouping, any order, the empty chunk, weights, plain dicts and back."""

import pickle

import numpy as np
import pytest
from algebra import assert_same
from hypothesis import given, settings
from hypothesis import strategies as st
from modules import import_all
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.core.cells import BelowCounts, Grid, TrialCounts
from llrkit.core.groups import (
    DistinctNumbers,
    GroupCells,
    JoinedNumbers,
    ValueCounts,
    grouped,
    positions_by_name,
)
from llrkit.core.histograms import CellSums, ClassHistogram, DensityGrid, ScoreHistogram
from llrkit.core.losses import ClassNewtonSums, LossSums, NewtonSums, ScoringRule
from llrkit.core.summaries import (
    ClassMoments,
    ClassSample,
    FieldwiseSums,
    Moments,
    Sample,
    SummaryBase,
    UnweightedSummary,
    both,
    subclasses_of,
)
from llrkit.metrics.costs import ScoresBetween

POINTS = np.array([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0])
VALUES = st.sampled_from(POINTS.tolist())

SUMMARIES = {
    "Moments": Moments.of,
    "Grid": Grid.of,
    "TrialCounts of targets": lambda chunk: TrialCounts.of(chunk, POINTS, "target"),
    "TrialCounts of nontargets": lambda chunk: TrialCounts.of(chunk, POINTS, "nontarget"),
    "BelowCounts": BelowCounts.at([0.3, -1.0, 0.0]),
    "LossSums": LossSums.at([0.0, -2.0, 3.0], [-1.0, 0.0, 0.3]),
    "NewtonSums": lambda chunk: NewtonSums.of(chunk, [0.5, -0.25], 0.7),
    "NewtonSums brier": lambda chunk: NewtonSums.of(chunk, [0.5, -0.25], -0.7, ScoringRule(2, 2)),
    "DensityGrid": DensityGrid.at(-2.0, 3.0, 16),
    "ScoreHistogram": ScoreHistogram.of,
    "GroupCells": GroupCells.at(["room"], {0: 0, 1: 1, 2: 2}, np.array([-1.0, 0.25])),
    "Both": both(Moments.of, LossSums.of),
    "Grouped": grouped(Moments.of, "room"),
    "ValueCounts": lambda chunk: ValueCounts.of(chunk, "room"),
    "DistinctNumbers": lambda chunk: DistinctNumbers.of(places(chunk)),
    "DistinctNumbers beyond the limit": lambda chunk: DistinctNumbers.of(places(chunk), limit=5),
    "JoinedNumbers": lambda chunk: JoinedNumbers.of(
        10, np.searchsorted(POINTS, chunk.target), 7 + chunk.columns["room"][0]
    ),
    "ClassHistogram": lambda chunk: ClassHistogram.of(chunk.target),
    "Grouped of Both": grouped(both(Grid.of, LossSums.of), "room"),
}


def places(chunk):
    """The place of every score in the list of values."""
    return np.searchsorted(POINTS, np.concatenate([chunk.target, chunk.nontarget]))


every = pytest.mark.parametrize("name", SUMMARIES)


def chunk_of(target, nontarget):
    """A chunk, possibly without trials; each carries a column that depends on its place."""
    t, n = np.array(target, dtype=np.float64), np.array(nontarget, dtype=np.float64)
    columns = {"room": (np.arange(len(t)) % 3, np.arange(len(n)) % 2)}
    return lk.Scores.part(t, n, columns)


def joined(*chunks):
    """One chunk with the trials of several."""
    return lk.Scores.part(
        np.concatenate([c.target for c in chunks]),
        np.concatenate([c.nontarget for c in chunks]),
        {"room": tuple(np.concatenate([c.columns["room"][side] for c in chunks]) for side in (0, 1))},
    )


# either class may be empty, not both: that chunk has a test of its own
CHUNKS = st.one_of(
    st.builds(chunk_of, st.lists(VALUES, min_size=1, max_size=8), st.lists(VALUES, max_size=8)),
    st.builds(chunk_of, st.lists(VALUES, max_size=8), st.lists(VALUES, min_size=1, max_size=8)),
)


@pytest.mark.slow
@every
@settings(max_examples=40)
@given(chunks=st.tuples(CHUNKS, CHUNKS, CHUNKS))
def test_grouping_and_order_do_not_matter(name, chunks):
    a, b, c = map(SUMMARIES[name], chunks)
    assert_same((a + b) + c, a + (b + c))
    assert_same(a + b, b + a)
    assert_same(a + (b + c), SUMMARIES[name](joined(*chunks)))


@every
@settings(max_examples=5)
@given(chunks=st.tuples(CHUNKS, CHUNKS))
def test_sum_of_summaries_is_summary_of_all(name, chunks):
    summarize = SUMMARIES[name]
    assert_same(summarize(chunks[0]) + summarize(chunks[1]), summarize(joined(*chunks)))


@every
@settings(max_examples=5)
@given(chunk=CHUNKS)
def test_empty_chunk_is_the_zero(name, chunk):
    summary, nothing = SUMMARIES[name](chunk), SUMMARIES[name](chunk_of([], []))
    assert_same(summary + nothing, summary)
    assert_same(nothing + summary, summary)
    assert_same(nothing + nothing, nothing, exact=True)


@every
@settings(max_examples=5)
@given(chunk=CHUNKS, times=st.integers(1, 5))
def test_whole_weight_is_repetition(name, chunk, times):
    summarize = SUMMARIES[name]
    if name in ("Grid", "Grouped of Both"):
        # a grid says which scores there are; how often they count is for the counts
        assert_array_equal((Grid.of(chunk) * times).target, Grid.of(joined(*[chunk] * times)).target)
    else:
        assert_same(summarize(chunk) * times, summarize(joined(*[chunk] * times)))


@every
@settings(max_examples=5)
@given(chunks=st.tuples(CHUNKS, CHUNKS), weight=st.sampled_from([0.5, 3.0, 0.125]))
def test_weight_distributes_over_sums(name, chunks, weight):
    a, b = map(SUMMARIES[name], chunks)
    assert_same((a + b) * weight, a * weight + b * weight)


@every
@settings(max_examples=5)
@given(chunk=CHUNKS)
def test_the_way_to_a_worker_and_back_is_exact(name, chunk):
    summary = SUMMARIES[name](chunk)
    for weighted in (summary, summary * 0.3):
        assert_same(pickle.loads(pickle.dumps(weighted)), weighted, exact=True)


@every
def test_adding_changes_something(name):
    a, b = chunk_of([1.0, 0.0, -0.5], [-1.0, 0.25]), chunk_of([3.0], [-2.0])
    summarize = SUMMARIES[name]
    with pytest.raises(AssertionError):
        assert_same(summarize(a) + summarize(b), summarize(a))


def test_every_summary_is_in_this_test():
    for room in ("llrkit.core", "llrkit.metrics"):
        import_all(room)
    tested = {type(make(chunk_of([1.0], [0.0]))) for make in SUMMARIES.values()}
    parts = {ClassHistogram, ClassMoments, ClassNewtonSums, CellSums, ClassSample}
    collections = {Sample, ScoresBetween}  # they hold trials, not counts: see the test below
    ours = {
        cls
        for cls in subclasses_of(SummaryBase)
        if cls not in (FieldwiseSums, UnweightedSummary)
        and cls.__module__.startswith(("llrkit.core", "llrkit.metrics"))
    }
    assert ours == tested | parts | collections


@settings(max_examples=30)
@given(CHUNKS, CHUNKS)
def test_scores_between_are_those_of_both_chunks(a, b):
    summarize = ScoresBetween.at(-1.0, 1.0)
    assert_array_equal((summarize(a) + summarize(b)).values, summarize(joined(a, b)).values)
    expected = sorted(x for c in (a, b) for x in [*c.target, *c.nontarget] if -1.0 <= x <= 1.0)
    assert_array_equal((summarize(a) + summarize(b)).values, expected)


def test_samples_are_spread_evenly_and_bounded():
    chunks = [chunk_of(np.arange(i * 3000.0, (i + 1) * 3000.0), [float(i)]) for i in range(20)]
    sample = Sample.of(chunks[0])
    for chunk in chunks[1:]:
        sample = sample + Sample.of(chunk)
    scores = sample.scores()
    assert 1 << 12 <= scores.n_target <= 1 << 13
    assert_array_equal(scores.nontarget, np.arange(20.0))
    assert_allclose(scores.target.mean(), 30000.0, rtol=0.01)
    assert np.diff(scores.target).max() <= 16


def test_grouped_in_the_order_of_the_values_with_their_names():
    chunk = lk.Scores(
        [1.0, 2.0, 3.0], [0.0, -1.0], {"sex": ([2, 0, 2], [1, 0])}, categories={"sex": ("a", "b", "c")}
    )
    parts = grouped(Grid.of, "sex")(chunk).groups
    assert list(parts) == ["a", "b", "c"]
    assert_array_equal(parts["a"].target, [2.0])
    assert_array_equal(parts["a"].nontarget, [-1.0])
    assert_array_equal(parts["b"].target, [])
    assert_array_equal(parts["c"].target, [1.0, 3.0])
    assert_array_equal(parts["c"].nontarget, [])


def test_none_and_nan_among_the_names_of_a_column_are_one_missing_value():
    column, names = np.array([2, 1, 0, 2]), ("a", float("nan"), None)
    found = positions_by_name(column, names)
    assert {key: at.tolist() for key, at in found.items()} == {"a": [2], None: [0, 1, 3]}
    chunk = lk.Scores([1.0, 2.0, 3.0, 4.0], [0.0], {"room": (column, [1])}, categories={"room": names})
    parts = grouped(Grid.of, "room")(chunk).groups
    assert_array_equal(parts[None].target, [1.0, 2.0, 4.0])
    assert_array_equal(parts[None].nontarget, [0.0])
    assert_array_equal(parts["a"].target, [3.0])
