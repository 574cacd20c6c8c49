"""One answer for every way of counting: cells or sorted ranges, whatever the chunks, ranges and threads."""

import errno
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import isotonic_regression

import llrkit as lk
from llrkit.base.process import reduce_chunks
from llrkit.core import counting
from llrkit.core.cells import Grid, count_trials
from llrkit.core.counting import FirstLook, count
from llrkit.core.order import Ranking, bins_of_sorted
from llrkit.core.pav import ScoreBins, pav_blocks, pooled_starts
from llrkit.core.summaries import Sample
from llrkit.metrics.discrimination import eer_roc_from_ranking

THRESHOLDS = np.array([-np.inf, -1e300, -1.0, 0.0, 1e-50, 0.1, 2.0, 1e300, np.inf])


class Pieces(lk.scores.ScoreSource):
    """Scores in chunks of any kind, one class empty at times; nothing is known beforehand."""

    def __init__(self, scores, size, threads=2):
        self.chunks, self.threads, self.passes = list(scores.chunks(size)), threads, 0
        none = scores.target[:0]
        self.chunks += [lk.Scores.part(none, none)]

    @property
    def roles(self):
        return self.chunks[0].roles

    def reduce(self, summarize):
        self.passes += 1
        return reduce_chunks(self.chunks, summarize, threads=self.threads)

    def with_columns(self, *names):
        return self

    def place(self, row):
        return f"row {row}"


class PiecesReadAgain(Pieces):
    """The same, as if every pass read them from files."""

    reads_again = True


def brute_force(target, nontarget):
    """Maximal runs of one class, and scores that both have, found one distinct score after another."""
    rows = []
    for value in np.unique(np.concatenate([target, nontarget]).astype(np.float64)):
        t, n = int((target == value).sum()), int((nontarget == value).sum())
        pure = (t == 0, n == 0)
        if rows and True in pure and rows[-1][4] == pure:
            rows[-1] = [rows[-1][0] + t, rows[-1][1] + n, rows[-1][2], value, pure]
        else:
            rows.append([t, n, value, value, pure])
    return [np.array(column) for column in list(zip(*rows, strict=True))[:4]]


def assert_bins(bins, expected):
    for name, column in zip(("target", "nontarget", "low", "high"), expected, strict=True):
        assert_array_equal(getattr(bins, name), column)
    assert bins.target.dtype == bins.nontarget.dtype == np.int64
    assert bins.low.dtype == bins.high.dtype == np.float64


VALUES = st.one_of(
    st.floats(-3.0, 3.0, width=32), st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, np.inf])
)


@st.composite
def score_sets(draw):
    """Both classes: spread or heavily tied, with infinities, as float32 or float64, also mixed."""
    values = draw(st.sampled_from([VALUES, st.sampled_from([-1.0, 0.0, 0.5]), st.floats(-3.0, 3.0)]))
    kinds = draw(st.tuples(*[st.sampled_from([np.float32, np.float64])] * 2))
    return [
        np.array(draw(st.lists(values, min_size=1, max_size=40)), dtype=kind).astype(kind) for kind in kinds
    ]


def assert_rankings_agree(classes, bins, sets):
    """What merged ranges give without bins is what bins give, and what comparing every pair gives."""
    target, nontarget = (values.astype(np.float64) for values in sets)
    for name in ("target", "nontarget", "low", "high"):
        assert_array_equal(getattr(classes.blocks, name), getattr(bins.blocks, name))
    wins = 2 * (target[:, None] > nontarget).sum() + (target[:, None] == nontarget).sum()
    assert classes.doubled_wins == bins.doubled_wins == wins
    shared = [(target == x).sum() + (nontarget == x).sum() for x in np.intersect1d(target, nontarget)]
    assert classes.tie_sum == bins.tie_sum == sum(m**3 - m for m in shared)
    assert eer_roc_from_ranking(classes) == eer_roc_from_ranking(bins)
    assert (classes.n_target, classes.n_nontarget) == (len(target), len(nontarget))


@settings(deadline=None, max_examples=80)
@given(score_sets(), st.integers(1, 12), st.integers(1, 4), st.integers(1, 3))
def test_counts_are_the_same_to_the_last_bit_against_brute_force(sets, size, ranges, threads):
    scores = lk.Scores.from_classes(*sets)
    expected = brute_force(*sets)
    below = [[int((values < cut).sum()) for cut in THRESHOLDS] for values in sets]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLRKIT_AT_ONCE", str(-(-8 * (len(sets[0]) + len(sets[1])) // ranges)))
        source = Pieces(scores, size, threads)
        look = FirstLook.of(source.reduce(Grid.of), source.reduce(Sample.of))
        made = []
        for always, passes in ((1 << 16, 10), (0, 0)):  # everything sorted; everything in cells
            patch.setattr(counting, "ALWAYS_SORTED", always)
            patch.setattr(counting, "MOST_PASSES", passes)
            assert look.sorts == (always > 0)
            for one in (source, PiecesReadAgain(scores, size, threads), scores):
                ranking, *counted = count(one, look, THRESHOLDS)
                assert_bins(ranking.bins, expected)
                assert_array_equal(counted, below)
                made.append(ranking.bins)
        in_ranges = Ranking(classes=tuple(map(np.sort, sets)), range_size=size)
        assert_rankings_agree(in_ranges, Ranking(made[0]), sets)
        starts = [bins.block_starts for bins in made]
    assert_bins(bins_of_sorted(*map(np.sort, sets)), expected)
    assert_bins(bins_of_sorted(*map(np.sort, sets), range_size=size, threads=threads), expected)
    assert_bins(count_trials(scores).bins(), expected)
    for one in starts:
        assert_array_equal(one, made[0].block_starts)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(any), min_size=1, max_size=400),
    st.integers(1, 60),
    st.integers(0, 20),
)
def test_blocks_of_ranges_pooled_again_are_the_blocks_of_the_whole(pairs, at_a_time, few):
    target, nontarget = np.array(pairs).T
    starts = pooled_starts(target, nontarget, at_a_time=at_a_time, few=few)
    # from another route: the lower hull of the cumulated counts, each slope compared with all others
    t, n = np.concatenate([[0], np.cumsum(target)]), np.concatenate([[0], np.cumsum(nontarget)])
    expected, at = [], 0
    while at < len(target):
        expected.append(at)
        stops = range(at + 1, len(target) + 1)
        at = min(stops, key=lambda s: ((t[s] - t[at]) / (t[s] - t[at] + n[s] - n[at]), -s))
    assert starts.tolist() == expected


def test_a_chain_that_pools_one_block_after_another_ends():
    n = 3000
    target, nontarget = np.arange(1, n + 1), np.full(n, n)
    nontarget[-1] = 10**11  # pools with all before it, one after another
    assert pooled_starts(target, nontarget).tolist() == [0]


def test_counts_beyond_products_of_64_bits():
    huge = np.array([1, 2, 1]) * 4_000_000_000
    assert pooled_starts(huge, np.array([3, 1, 1]) * 4_000_000_000).tolist() == [0, 1]


def test_a_score_that_most_trials_have_is_counted_not_collected(monkeypatch):
    rng = np.random.default_rng(3)
    target = np.where(rng.random(4000) < 0.7, 0.25, rng.normal(1.0, 1.0, 4000))
    nontarget = np.where(rng.random(6000) < 0.8, 0.25, rng.normal(0.0, 1.0, 6000))
    monkeypatch.setenv("LLRKIT_AT_ONCE", "8000")
    source = Pieces(lk.Scores(target, nontarget), 500)
    look = FirstLook.of(source.reduce(Grid.of), source.reduce(Sample.of))
    ranges = counting.score_ranges(look, look.sample, look.ranges)
    assert [one.low for one in ranges if one.single] == [0.25]
    kept = [counting._collected(source, one.low, one.high) for one in ranges if not one.single]
    largest = max(sum(map(len, classes)) for classes in kept)
    assert largest < 10_000 / 4
    for one in (source, PiecesReadAgain(lk.Scores(target, nontarget), 500)):
        assert_bins(count(one, look, THRESHOLDS)[0].bins, brute_force(target, nontarget))


def test_files_are_read_twice_however_many_ranges_there_are(monkeypatch):
    rng = np.random.default_rng(6)
    scores = lk.Scores(rng.normal(1.0, 1.0, 40_000), rng.normal(-1.0, 1.0, 60_000))
    monkeypatch.setenv("LLRKIT_AT_ONCE", "200000")  # in four ranges
    source = PiecesReadAgain(scores, 9_000)
    spilled = lk.evaluate(source)
    assert source.passes == 2
    assert spilled.min_cllr == lk.evaluate(scores).min_cllr
    # a disk without room: as many passes as ranges, and the same answer
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=0))
    source = PiecesReadAgain(scores, 9_000)
    collected_again = lk.evaluate(source)
    assert source.passes == 1 + 4
    assert collected_again.to_dict() == spilled.to_dict()


def test_a_disk_that_fills_up_costs_passes_not_the_answer(monkeypatch):
    rng = np.random.default_rng(7)
    scores = lk.Scores(rng.normal(1.0, 1.0, 4_000), rng.normal(-1.0, 1.0, 6_000))
    monkeypatch.setenv("LLRKIT_AT_ONCE", "20000")

    def full(self, which, i, piece):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(counting.SpilledScores, "_write", full)
    assert lk.evaluate(PiecesReadAgain(scores, 900)).min_cllr == lk.evaluate(scores).min_cllr


def test_a_large_set_takes_one_pass_for_each_range(monkeypatch):
    rng = np.random.default_rng(5)
    scores = lk.Scores(rng.normal(1.0, 1.0, 40_000), rng.normal(-1.0, 1.0, 60_000))
    expected = lk.evaluate(scores).to_dict()
    monkeypatch.setenv("LLRKIT_AT_ONCE", "300000")
    source = Pieces(scores, 9_000)
    made = lk.evaluate(source).to_dict()
    assert source.passes == 1 + 3
    assert {name: made[name] for name in ("eer", "eer_roc", "auc", "min_cllr")} == {
        name: expected[name] for name in ("eer", "eer_roc", "auc", "min_cllr")
    }
    assert_allclose(made["cllr"], expected["cllr"], rtol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "sorts"),
    [
        ((1000, 9000), True),  # few trials
        ((7_169, 10_000_000), False),  # few targets
        ((10_000_000, 7_169), False),
        ((5_000_000, 5_000_000), True),
        ((1_000_000, 999_000_000), False),
        ((400_000_000, 600_000_000), True),  # more cells than memory
    ],
)
def test_the_way_follows_from_the_numbers_of_trials(sizes, sorts):
    assert FirstLook(*sizes).sorts == sorts


def test_pooled_blocks_against_isotonic_regression():
    rng = np.random.default_rng(8)
    target, nontarget = rng.integers(0, 9, 5000), rng.integers(1, 9, 5000)
    at = np.arange(5000.0)
    blocks = pav_blocks(ScoreBins(target, nontarget, at, at))
    total = target + nontarget
    fitted = isotonic_regression(target / total, weights=total)
    assert_array_equal(blocks.low, fitted.blocks[:-1])
    share = blocks.target / (blocks.target + blocks.nontarget)
    assert_allclose(np.repeat(share, np.diff(fitted.blocks)), fitted.x)


@pytest.mark.parametrize("fall", [1, 7, 40, 700])
@pytest.mark.parametrize("noise", [0.0, 1e-3, 0.1])
def test_shares_that_rise_but_here_and_there_against_isotonic_regression(fall, noise):
    rng = np.random.default_rng(fall)
    log_odds = np.linspace(-4.0, 4.0, 9000) + noise * rng.normal(size=9000)
    for at in (0, 3000, 3020, 8999 - fall):
        log_odds[at : at + fall] -= np.linspace(0.0, 2.0, fall)
    share = 1.0 / (1.0 + np.exp(-log_odds))
    weights = rng.uniform(0.5, 2.0, 9000)
    starts = pooled_starts(share * weights, (1.0 - share) * weights)
    fitted = isotonic_regression(share, weights=weights)
    pooled = np.add.reduceat(share * weights, starts) / np.add.reduceat(weights, starts)
    assert_allclose(np.repeat(pooled, np.diff(np.append(starts, 9000))), fitted.x, rtol=1e-12)


@pytest.mark.parametrize("digits", [None, 2])
def test_large_classes_are_ranked_without_bins_as_with_them(digits):
    rng = np.random.default_rng(8)
    target, nontarget = rng.normal(1.0, 1.0, 300_000), rng.normal(-1.0, 1.0, 280_000).astype(np.float32)
    if digits is not None:
        target, nontarget = target.round(digits), nontarget.round(digits)
    target, nontarget = np.sort(target), np.sort(nontarget)
    classes, bins = Ranking(classes=(target, nontarget)), Ranking(bins_of_sorted(target, nontarget))
    for name in ("target", "nontarget", "low", "high"):
        assert_array_equal(getattr(classes.blocks, name), getattr(bins.blocks, name))
    assert (classes.doubled_wins, classes.tie_sum) == (bins.doubled_wins, bins.tie_sum)
    ranks = np.searchsorted(nontarget, target) + np.searchsorted(nontarget, target, side="right")
    assert classes.doubled_wins == ranks.sum()
    assert eer_roc_from_ranking(classes) == eer_roc_from_ranking(bins)
    scores = lk.Scores.from_classes(target, nontarget)
    result = lk.evaluate(scores)
    assert_array_equal(result.roc.p_fa, lk.evaluate(Pieces(scores, 70_001)).roc.p_fa)


@pytest.mark.parametrize("empty", [0, 1])
def test_a_large_class_without_another_in_its_range_is_one_bin(empty):
    scores = [np.sort(np.random.default_rng(1).normal(size=50))] * 2
    scores[empty] = np.empty(0)
    bins = bins_of_sorted(*scores, range_size=4)
    sizes = [50, 50]
    sizes[empty] = 0
    assert [bins.target.tolist(), bins.nontarget.tolist()] == [[sizes[0]], [sizes[1]]]
    assert (bins.low[0], bins.high[0]) == (scores[1 - empty][0], scores[1 - empty][-1])
