import itertools

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from own_source import OwnSource

import llrkit as lk
from llrkit.base.process import reduce_chunks, thread_count
from llrkit.core.cells import count_trials
from llrkit.core.losses import LossSums
from llrkit.core.summaries import Moments
from llrkit.scores.labels import classify_words, target_mask

METRICS = {
    "eer": lk.eer,
    "eer_roc": lk.metrics.eer_roc,
    "prbep": lk.metrics.prbep,
    "auc": lk.auc,
    "min_cllr": lk.min_cllr,
    "cllr": lk.cllr,
    "cllr_cal": lk.cllr_cal,
    "eer_threshold": lk.metrics.eer_threshold,
    "det_slope": lk.metrics.det_slope,
    "evaluate": lk.evaluate,
    "min_dcf": lambda s: lk.min_dcf(s, point="sre08"),
    "act_dcf": lambda s: lk.act_dcf(s, point="sre08"),
    "cross_entropy": lambda s: lk.metrics.cross_entropy(s, prior=0.1),
    "rule_cost": lambda s: lk.metrics.rule_cost(s, rule="brier"),
    "hter": lambda s: lk.metrics.hter(s, dev=s),
    "c_primary actual": lambda s: lk.c_primary(s, evaluation="sre16"),
    "c_primary minimum": lambda s: lk.c_primary(s, evaluation="sre16", actual=False),
}
every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


def test_empty_class_is_named():
    for target, nontarget, missing in (([], [1.0], "target"), ([1.0], [], "nontarget"), ([], [], "target")):
        with pytest.raises(lk.errors.EmptyClassError, match=f"no {missing} trials"):
            lk.Scores(target, nontarget)
    for labels, missing in (([1, 1], "nontarget"), (["imp", "imp"], "target"), ([], "target")):
        with pytest.raises(lk.errors.EmptyClassError, match=f"no {missing} trials"):
            lk.Scores.from_labels([1.0, 2.0][: len(labels)], labels)


class OnlyNontargets(OwnSource):
    """A source that turns out to have no targets."""

    def reduce(self, summarize):
        return summarize(lk.Scores.part(np.array([]), np.array([0.5, 1.0])))

    def with_columns(self, *names):
        return self


@every_metric
def test_an_empty_class_and_several_systems_are_refused_and_nothing_is_modified(metric):
    with pytest.raises(lk.errors.EmptyClassError):
        metric(OnlyNontargets())
    with pytest.raises(lk.InputError):
        metric(lk.Scores([[1.0, 2.0], [0.5, 0.1]], [[0.0, 1.0], [-1.0, 0.2]]))
    rng = np.random.default_rng(0)
    target, nontarget = rng.standard_normal(50).astype(np.float32), rng.standard_normal(60)
    kept = target.copy(), nontarget.copy()
    metric(lk.Scores(target, nontarget))
    assert_array_equal(target, kept[0])
    assert_array_equal(nontarget, kept[1])


def test_large_arrays_are_copied_and_searched_for_nan_piece_by_piece():
    rows = 700_001  # more than a thread copies at a time, and no multiple of it
    values = np.arange(float(2 * rows)).reshape(rows, 2)
    assert_array_equal(lk.Scores(values, values[:3]).target, values)
    values[rows - 2, 1] = np.nan
    with pytest.raises(lk.errors.NaNScoreError, match=f"index {rows - 2}, system 1"):
        lk.Scores(values, values[:3])


def test_nan_is_refused_with_its_place():
    nothing = pl.Series([1.0, None, 2.0])
    for target, nontarget, place in (
        ([1.0, 2.0, np.nan, np.nan], [0.0], "target scores: NaN at index 2;"),
        ([1.0], [np.nan, 1.0], "nontarget scores: NaN at index 0;"),
        ([[1.0, 2.0], [np.nan, 0.0]], [[0.0, 1.0]], "target scores: NaN at index 1, system 0;"),
        (nothing, [0.0], "NaN at index 1;"),
    ):
        with pytest.raises(lk.errors.NaNScoreError, match=place):
            lk.Scores(target, nontarget)
    with pytest.raises(lk.errors.NaNScoreError, match="NaN at index 3;"):
        lk.Scores.from_labels([1.0, 2.0, 0.0, np.nan], [1, 0, 1, 0])


@pytest.mark.parametrize(
    "labels", [[0, 1, 2], [0.0, 0.5, 1.0], ["target", "maybe", "nontarget"], [1, None, 0]]
)
def test_labels_that_are_not_two_classes(labels):
    with pytest.raises(lk.errors.LabelError):
        lk.Scores.from_labels([1.0, 2.0, 3.0], labels)


def test_booleans_are_labels_and_not_negated():
    scores = lk.Scores.from_labels(np.array([3.0, 1.0, 2.0]), np.array([True, False, True]))
    assert_array_equal(scores.target, [3.0, 2.0])
    assert_array_equal(scores.nontarget, [1.0])


def test_wrong_shapes_and_text_are_refused():
    for bad in (5.0, np.zeros((2, 2, 2)), np.zeros((3, 0)), [[1.0, 2.0], [3.0]], [1j], [{}]):
        for target, nontarget in ((bad, [0.0]), ([0.0], bad)):
            with pytest.raises(lk.InputError):
                lk.Scores(target, nontarget)
    for target in ([[1.0, 2.0]], [1.0]):  # other numbers of systems
        with pytest.raises(lk.InputError):
            lk.Scores(target, [[1.0, 2.0, 3.0]])
    with pytest.raises(lk.InputError, match="target scores: 'abc' at index 1 is not a number"):
        lk.Scores([1.0, "abc"], [0.0])


def test_digits_as_text_are_numbers():
    assert_array_equal(lk.Scores(["1.5", "-inf"], ["2"]).target, [1.5, -np.inf])


def test_columns_from_labels_are_split_like_the_scores():
    scores = lk.Scores.from_labels([1.0, 2.0, 3.0, 4.0], [1, 0, 0, 1], {"room": ["a", "b", "c", "d"]})
    assert_array_equal(scores.columns["room"][0], ["a", "d"])
    assert_array_equal(scores.columns["room"][1], ["b", "c"])
    with pytest.raises(lk.InputError):
        lk.Scores.from_labels([1.0, 2.0, 3.0, 4.0], [1, 0, 0, 1], {"room": [1, 2]})


def test_chunks_carry_their_columns():
    scores = lk.Scores(np.arange(10.0), np.arange(7.0), {"row": (np.arange(10), np.arange(7))})
    for chunk in scores.chunks(3):
        assert_array_equal(chunk.target, chunk.columns["row"][0])
        assert_array_equal(chunk.nontarget, chunk.columns["row"][1])


def test_threads_are_a_positive_number_or_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("LLRKIT_THREADS", "3")
    assert (thread_count(), thread_count(2)) == (3, 2)
    for wrong in ("many", "0"):
        monkeypatch.setenv("LLRKIT_THREADS", wrong)
        with pytest.raises(lk.InputError):
            thread_count()
    monkeypatch.delenv("LLRKIT_THREADS")
    assert thread_count() >= 1
    for threads in (0, -1):
        with pytest.raises(lk.InputError):
            lk.Scores([1.0], [0.0]).reduce(Moments.of, threads=threads)


def test_merging_is_in_the_order_of_the_chunks():
    class Names:
        def __init__(self, text):
            self.text = text

        def __add__(self, other):
            return Names(self.text + other.text)

    chunks = [lk.Scores.part(np.array([float(i)]), np.array([])) for i in range(26)]
    for threads, known in itertools.product((1, 2, 7, 26), (None, 26)):
        merged = reduce_chunks(
            chunks, lambda c: Names(chr(97 + int(c.target[0]))), n_chunks=known, threads=threads
        )
        assert merged.text == "abcdefghijklmnopqrstuvwxyz"


def test_an_error_in_a_thread_reaches_the_caller():
    def fail(chunk):
        raise RuntimeError("in the thread")

    with pytest.raises(RuntimeError, match="in the thread"):
        reduce_chunks([lk.Scores([1.0], [0.0])] * 9, fail, threads=2)


def test_words():
    assert all(classify_words(["target", "TGT", " tar", "Bona-Fide", "client", "same-source"]))
    assert classify_words(["non", "imposter", "SPOOF", "nonmated", "diff"]) == [False] * 5
    assert lk.Scores.from_labels([1.0, 2.0, 3.0], ["spf", "bonafide", "spf"]).n_nontarget == 2
    assert lk.Scores.from_labels([1.0, 2.0, 3.0], ["live", "replay", "live"]).n_nontarget == 1
    assert classify_words(["maybe", "", "2", "targets"]) == [None] * 4
    assert_array_equal(target_mask([1, 1]), [True, True])
    assert_array_equal(target_mask(np.array([], dtype=bool)), [])


# What other tools get wrong


def test_very_large_llrs_give_a_finite_and_right_cllr():
    # log2(1 + e^-800) is 0 and log2(1 + e^800) is 800 / ln 2
    assert lk.cllr(lk.Scores([800.0], [-800.0])) == pytest.approx(0.0, abs=1e-300)
    np.testing.assert_allclose(lk.cllr(lk.Scores([-800.0], [-800.0])), 400 / np.log(2), rtol=1e-15)
    np.testing.assert_allclose(lk.cllr(lk.Scores([800.0], [800.0, -800.0])), 200 / np.log(2), rtol=1e-15)


@pytest.mark.parametrize(
    ("target", "nontarget", "wanted"),
    [
        ([np.inf], [-np.inf], 0.0),
        ([np.inf], [0.0], 0.5),
        ([0.0], [-np.inf], 0.5),
        ([-np.inf], [0.0], np.inf),
        ([0.0], [np.inf], np.inf),
        ([np.inf, -np.inf], [-np.inf], np.inf),
        ([np.inf], [np.inf], np.inf),
        ([-np.inf], [np.inf], np.inf),
    ],
)
def test_infinite_llrs_are_right_or_infinitely_wrong_never_nan(target, nontarget, wanted):
    scores = lk.Scores(target, nontarget)
    assert lk.cllr(scores) == wanted
    assert lk.evaluate(scores).cllr == wanted
    assert lk.metrics.cross_entropy(scores, prior=0.5) == wanted
    np.testing.assert_allclose(
        lk.metrics.rule_cost(scores, rule="log", prior=0.5) / np.log(2), wanted, rtol=1e-15
    )
    assert not np.isnan(lk.cllr_cal(scores))
    assert 0 <= lk.min_cllr(scores) <= 1


def test_negative_zero_is_zero():
    scores = lk.Scores([-0.0, 0.0], [0.0])
    assert len(count_trials(scores).bins().target) == 1
    assert lk.auc(scores) == 0.5


@pytest.mark.parametrize("size", [1e100, 1e200, 1e308, np.finfo(float).max])
def test_huge_scores_are_scores(size):
    scores = lk.Scores([size, size, -1.0], [-size, 0.5, -size, -size])
    result = lk.evaluate(scores)
    np.testing.assert_allclose(result.auc, 11 / 12, rtol=1e-15)
    assert np.isfinite(result.eer)
    assert np.isfinite(result.cllr)


def test_losses_of_float32_are_summed_in_float64():
    values = np.full(100_000, 0.1, dtype=np.float32)
    losses = LossSums.of(lk.Scores(values, values))
    np.testing.assert_allclose(
        losses.nontarget_loss, 1e5 * np.log1p(np.exp(float(np.float32(0.1)))), rtol=1e-13
    )
