"""One contract for all metrics: what may not change them, and what must."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from numpy.testing import assert_allclose
from own_source import OwnSource

import llrkit as lk
from llrkit.base.process import reduce_chunks
from llrkit.core.cells import Grid, TrialCounts, collect_again, count_on
from llrkit.core.losses import LossSums
from llrkit.core.summaries import Moments, both

DEV = lk.Scores([0.5, 1.25, 3.0], [-2.0, 0.75, -0.5, 1.0])
POINT = lk.OperatingPoint(0.1, 2, 1)

# name of the public function -> how it is called here
METRICS = {
    "eer": lk.eer,
    "eer_roc": lk.metrics.eer_roc,
    "prbep": lk.metrics.prbep,
    "auc": lk.auc,
    "min_dcf": lambda s: lk.min_dcf(s, point=POINT),
    "min_cllr": lk.min_cllr,
    "det_slope": lambda s: lk.metrics.det_slope(s).slope,
    "eer_threshold": lk.metrics.eer_threshold,
    "cllr": lk.cllr,
    "cllr_cal": lk.cllr_cal,
    "cross_entropy": lambda s: lk.metrics.cross_entropy(s, prior=0.1),
    "act_dcf": lambda s: lk.act_dcf(s, point=POINT),
    "rule_cost": lambda s: lk.metrics.rule_cost(s, rule="brier", prior=0.3),
    "brier_score": lambda s: lk.metrics.brier_score(s, prior=0.3),
    "expected_calibration_error": lambda s: lk.metrics.expected_calibration_error(s, prior=0.3),
    "score_decomposition": lambda s: [
        float(x) for x in _numbers(lk.metrics.score_decomposition(s, prior=0.3).to_dict())
    ],
    "hter": lambda s: lk.metrics.hter(s, dev=DEV),
    "c_primary": lambda s: lk.c_primary(s, evaluation="sre21"),
    "evaluate": lambda s: [
        float(x) for x in _numbers(lk.evaluate(s, points=("sre08", "sre21"), threshold_from=DEV).to_dict())
    ],
}
NOT_METRICS = {
    "cross_entropy_curve",
    "compound_llr",
    "compound_trials",
    "det_straightness",
    "reliability_curve",
    "ReliabilityCurve",
    "ScoreDecomposition",
}
ORDER_ONLY = ["eer", "eer_roc", "prbep", "auc", "min_dcf", "min_cllr", "det_slope"]
COUNTED = {"prbep"}  # in numbers of trials, not rates


def _numbers(plain):
    """All numbers in a nested result, in order."""
    if isinstance(plain, dict):
        for value in plain.values():
            yield from _numbers(value)
    elif isinstance(plain, (list, tuple)):
        for value in plain:
            yield from _numbers(value)
    elif isinstance(plain, np.ndarray):
        yield from plain.ravel().tolist()
    elif isinstance(plain, (int, float)):
        yield plain


def make_scores(seed=0, n_target=23, n_nontarget=41):
    """Overlapping classes with ties, on eighths, so that float32 holds them exactly."""
    rng = np.random.default_rng(seed)
    target = np.round(8 * rng.normal(1.5, 1.5, n_target)) / 8
    nontarget = np.round(8 * rng.normal(-1.5, 2.0, n_nontarget)) / 8
    nontarget[:4] = target[:4]
    return lk.Scores(target, nontarget)


SCORES = make_scores()
everything = pytest.mark.parametrize("name", METRICS)


def assert_same(found, wanted):
    assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


def test_no_metric_is_forgotten():
    # evaluate() with intervals is one room further up
    assert {*lk.metrics.__all__, "evaluate"} == set(METRICS) | NOT_METRICS


@everything
def test_order_of_trials_does_not_matter(name):
    metric = METRICS[name]
    wanted = metric(SCORES)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        shuffled = lk.Scores(rng.permutation(SCORES.target), rng.permutation(SCORES.nontarget))
        assert_same(metric(shuffled), wanted)


@everything
def test_repetition_of_all_trials(name):
    times = 3
    repeated = lk.Scores(np.tile(SCORES.target, times), np.repeat(SCORES.nontarget, times))
    if name == "evaluate":
        plain, again = lk.evaluate(SCORES).to_dict(), lk.evaluate(repeated).to_dict()
        for key in ("n_target", "n_nontarget", "prbep"):
            assert_same(again.pop(key), times * plain.pop(key))
        for one in (plain, again):  # more trials are surer, and leave less to chance
            del one["verdict"], one["loss_split"]["chance"]
        assert_same(list(_numbers(again)), list(_numbers(plain)))
    else:
        factor = times if name in COUNTED else 1
        assert_same(METRICS[name](repeated), factor * METRICS[name](SCORES))


class Cut(OwnSource):
    """A source that hands out its chunks cut in a given way, in a given order, some of them empty."""

    def __init__(self, scores, cuts_target, cuts_nontarget, order, threads):
        t, n = np.split(scores.target, cuts_target), np.split(scores.nontarget, cuts_nontarget)
        chunks = [lk.Scores.part(a, b) for a, b in zip(t, n, strict=True)]
        self.chunks, self.threads = [chunks[i] for i in order], threads

    def reduce(self, summarize):
        return reduce_chunks(self.chunks, summarize, threads=self.threads)

    def with_columns(self, *names):
        return self


def cuttings():
    rng = np.random.default_rng(5)
    for pieces, threads in [(1, 1), (7, 5), (64, 2)]:
        cuts = [np.sort(rng.integers(0, n + 1, pieces - 1)) for n in (SCORES.n_target, SCORES.n_nontarget)]
        yield Cut(SCORES, *cuts, rng.permutation(pieces), threads)
    # one chunk holds all targets, another all non-targets
    yield Cut(SCORES, [0], [SCORES.n_nontarget], [0, 1], 2)


@everything
def test_partition_into_chunks(name):
    wanted = METRICS[name](SCORES)
    for source in cuttings():
        assert_same(METRICS[name](source), wanted)


class Chunked(OwnSource):
    """A source that hands out the chunks of Scores, at most ``size`` scores of a class each."""

    def __init__(self, scores, size, threads=1):
        self.scores, self.size, self.threads = scores, size, threads

    def reduce(self, summarize):
        return reduce_chunks(self.scores.chunks(self.size), summarize, threads=self.threads)

    def with_columns(self, *names):
        return Chunked(self.scores.with_columns(*names), self.size, self.threads)


@everything
def test_dropping_the_larger_class_on_the_way(name, monkeypatch):
    # the class that looked larger at first may end up the smaller one: a third pass finds its scores again
    wanted = METRICS[name](SCORES)
    monkeypatch.setenv("LLRKIT_AT_ONCE", "24")  # three scores
    *_, last, one_class_after_the_other = cuttings()
    for source in (last, one_class_after_the_other):
        assert_same(METRICS[name](source), wanted)


MAPS = {
    "affine": lambda x: 3 * x + 60,
    "cube": lambda x: x**3 + x,
    "arctan": np.arctan,
    "exp": lambda x: np.exp(5 * x),
    "to -inf": lambda x: np.where(x <= min(SCORES.target.min(), SCORES.nontarget.min()), -np.inf, x),
}


@pytest.mark.parametrize("name", ORDER_ONLY)
def test_strictly_monotone_map(name):
    for form in MAPS.values():
        mapped = lk.Scores(form(SCORES.target), form(SCORES.nontarget))
        assert_same(METRICS[name](mapped), METRICS[name](SCORES))


@pytest.mark.parametrize("name", [n for n in METRICS if n not in (*ORDER_ONLY, "evaluate")])
def test_scale_matters_where_scores_are_llrs(name):
    assert METRICS[name](lk.Scores(3 * SCORES.target + 1, 3 * SCORES.nontarget + 1)) != METRICS[name](SCORES)


SWAPPED = lk.Scores(-SCORES.nontarget, -SCORES.target)


@pytest.mark.parametrize("name", ["eer", "eer_roc", "prbep", "auc", "min_cllr", "cllr", "cllr_cal"])
def test_class_and_sign_swap(name):
    assert_same(METRICS[name](SWAPPED), METRICS[name](SCORES))


def test_class_and_sign_swap_with_mirrored_prior():
    mirror = lk.OperatingPoint(1 - POINT.p_target, POINT.c_fa, POINT.c_miss)
    assert_same(lk.min_dcf(SWAPPED, point=mirror), lk.min_dcf(SCORES, point=POINT))
    # no score lies at the threshold, where >= would decide
    assert_same(lk.act_dcf(SWAPPED, point=mirror), lk.act_dcf(SCORES, point=POINT))
    assert_same(lk.metrics.cross_entropy(SWAPPED, prior=0.9), lk.metrics.cross_entropy(SCORES, prior=0.1))
    assert_same(
        lk.metrics.rule_cost(SWAPPED, rule=(1.5, 0.5), prior=0.7),
        lk.metrics.rule_cost(SCORES, rule=(0.5, 1.5), prior=0.3),
    )
    assert_same(1 / lk.metrics.det_slope(SWAPPED).slope, lk.metrics.det_slope(SCORES).slope)


KINDS = {
    "list": lambda x, need: x.tolist(),
    "float32": lambda x, need: x.astype(np.float32),
    "float16": lambda x, need: x.astype(np.float16),
    "big endian": lambda x, need: x.astype(">f8"),
    "strided column": lambda x, need: np.repeat(x, 3)[::3, None],
    "objects": lambda x, need: x.astype(object),
    "pandas": lambda x, need: need("pandas").Series(x),
    "polars": lambda x, need: need("polars").Series(x),
}


@everything
def test_kind_of_input(name, need):
    wanted = METRICS[name](SCORES)
    for kind, convert in KINDS.items():
        made = lk.Scores(convert(SCORES.target, need), convert(SCORES.nontarget, need))
        # the same numbers in the same order, so to the last bit
        assert METRICS[name](made) == wanted, kind
    assert METRICS[name](lk.Scores(SCORES.target.astype(np.float32), SCORES.nontarget)) == wanted


def test_integers_and_booleans_are_scores():
    # 12 pairs: targets 1, 2, 2, 3 against 0, 1, 1 win 1 + 3 + 3 + 3 and tie 2
    assert lk.auc(lk.Scores(np.array([1, 2, 2, 3], dtype=np.int8), [0, 1, 1])) == (10 + 2 / 2) / 12
    assert lk.auc(lk.Scores([True, True], [False, True])) == (2 + 2 / 2) / 4


@everything
def test_other_data_give_another_value(name):
    assert METRICS[name](make_scores(seed=11)) != METRICS[name](SCORES)


@everything
def test_plain_numbers_come_back(name):
    value = METRICS[name](SCORES)
    assert type(value) in (float, list)
    assert json.loads(json.dumps(value)) == value


BIG = make_scores(3, 3000, 20000)


def test_counts_to_the_last_bit_whatever_the_threads_and_chunks():
    grid = collect_again(BIG, BIG.reduce(Grid.of))
    summarize = count_on(grid)
    whole = TrialCounts.of(BIG, grid.points, grid.smaller)
    found = [BIG.reduce(summarize, threads=threads) for threads in (1, 2, 5)]
    found += [Chunked(BIG, size, threads).reduce(summarize) for size in (200, 999) for threads in (1, 2, 5)]
    for counts in found:
        for field in ("grid", "at", "cells", "low", "high"):
            np.testing.assert_array_equal(getattr(counts, field), getattr(whole, field))


def test_large_sets_are_divided_and_the_threads_do_not_matter():
    rng = np.random.default_rng(2)
    # float32 on a coarse grid: many ties across the two halves
    scores = lk.Scores(
        np.round(rng.normal(2, 1, 3000), 2), np.round(rng.normal(-2, 2, 600_000), 2).astype("f4")
    )
    assert len(list(scores.chunks())) > 1
    summarize = both(Moments.of, LossSums.at([0.0, 1.0], [0.5, 2.0]))
    one = _leaves(asdict(scores.reduce(summarize, threads=1)))
    for threads in (2, 5):
        np.testing.assert_array_equal(_leaves(asdict(scores.reduce(summarize, threads=threads))), one)
    assert_same(_leaves(asdict(summarize(scores))), one)
    target, nontarget = np.sort(scores.target), np.sort(scores.nontarget.astype(float))
    wins = np.searchsorted(nontarget, target, "left") + np.searchsorted(nontarget, target, "right")
    assert_allclose(lk.auc(scores), wins.sum() / 2 / len(target) / len(nontarget), rtol=1e-14)


def _leaves(plain):
    return np.array(list(_numbers(plain)), dtype=float)
