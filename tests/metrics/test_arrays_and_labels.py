"""Scores and labels in two arrays wherever trials are taken, and batch by batch in a meter."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import llrkit as lk

RNG = np.random.default_rng(11)
LABELS = RNG.random(400) < 0.3
VALUES = RNG.normal(np.where(LABELS, 1.5, -1.5), 1.0)
SOURCE = lk.Scores.from_labels(VALUES, LABELS)


class OnlyDlpack:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class LikeTorch:
    """A tensor as torch makes them: gradients, a device, a type that NumPy does not know."""

    def __init__(self, array, dtype="torch.float64", ready=False):
        self.array, self.dtype, self.ready = array, dtype, ready

    def detach(self):
        return self

    def cpu(self):
        return LikeTorch(self.array, self.dtype, ready=True)

    def float(self):
        return LikeTorch(self.array.astype(np.float32), "torch.float32", self.ready)

    def __array__(self, dtype=None, copy=None):
        if not self.ready or self.dtype == "torch.bfloat16":
            raise TypeError("can't convert")
        return self.array


KINDS = {
    "numpy": lambda x: x,
    "list": list,
    "tuple": tuple,
    "pandas": pd.Series,
    "polars": pl.Series,
    "lazy": lambda x: pl.LazyFrame({"values": x}),
    "arrow": pa.array,
    "chunked": lambda x: pa.chunked_array([x[:100], x[100:]]),
    "column": lambda x: x[:, None],
    "dlpack": lambda x: OnlyDlpack(x) if x.dtype != bool else x,
    "tensor": LikeTorch,
    "pandas with an index of its own": lambda x: pd.Series(x, index=range(7, 7 + len(x))),
    "table of one column": lambda x: pd.DataFrame({"values": x}),
    "generator": iter,
}


def test_arrays_of_every_kind():
    for kind, convert in KINDS.items():
        assert lk.eer(convert(VALUES), convert(LABELS)) == lk.eer(SOURCE), kind


def test_half_precision_and_tensors_of_bfloat16():
    half = VALUES.astype(np.float16)
    assert lk.auc(half, LABELS) == lk.auc(half.astype(np.float64), LABELS)
    tensor = LikeTorch(half.astype(np.float64), "torch.bfloat16")
    assert lk.auc(tensor, LABELS) == lk.auc(half.astype(np.float32), LABELS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_tensors_of_torch(need, kind, shape):
    torch = need("torch")
    values = torch.tensor(VALUES).to(getattr(torch, kind)).reshape(shape).requires_grad_()
    expected = lk.auc(values.detach().double().numpy(), LABELS)
    for labels in (LABELS, torch.tensor(LABELS), torch.tensor(LABELS).int(), torch.tensor(LABELS).float()):
        assert lk.auc(values, labels) == expected
    assert lk.auc(values, torch.tensor(LABELS).reshape(shape)) == expected


SPELLINGS = [
    (True, False), (1, 0), (1, -1), (1.0, 0.0), ("1", "0"), ("TRUE", "False"), (" Target ", "Non-Target"),
    ("SS", "DS"), ("H_p", "H_d"), ("same speaker", "different speakers"), ("bona fide", "spoofed"),
    ("genuine", "impostor"), ("mated", "non-mated"), ("target", "nontarget"),
]  # fmt: skip


def test_labels_as_people_spell_them():
    for words in SPELLINGS:
        labels = np.where(LABELS, *words)
        for given in (labels, labels.astype(object), labels.tolist(), pd.Series(labels), pl.Series(labels)):
            assert lk.eer(VALUES, given) == lk.eer(SOURCE), words
        assert lk.eer(lk.Trials({"score": VALUES, "label": labels})) == lk.eer(SOURCE), words


def test_other_labels_need_the_one_of_the_targets():
    ones_and_twos = np.where(LABELS, 2, 1)
    with pytest.raises(lk.errors.LabelError):
        lk.eer(VALUES, ones_and_twos)
    assert lk.eer(lk.Scores.from_labels(VALUES, ones_and_twos, positive=2)) == lk.eer(SOURCE)
    assert lk.eer((VALUES, LABELS)) == lk.eer(SOURCE)
    with pytest.raises(lk.errors.LabelError):
        lk.Scores.from_labels(VALUES, ones_and_twos, positive=3)


def test_labels_come_second_and_further_arguments_after_them():
    assert lk.min_dcf(VALUES, LABELS, point=0.01) == lk.min_dcf(SOURCE, point=0.01)
    assert lk.evaluate(VALUES, LABELS, points=[0.01]).cllr == lk.evaluate(SOURCE, points=[0.01]).cllr
    assert lk.evaluate(VALUES, labels=LABELS).eer == lk.eer((VALUES, LABELS)) == lk.eer(SOURCE)
    assert lk.fit_logistic(VALUES, LABELS, prior=0.1).a == lk.fit_logistic(SOURCE, prior=0.1).a
    bounded = lk.calibrate(VALUES, LABELS, method="cmlg", bound="fixed:-1,1").map
    assert bounded([-9.0, 9.0], outside="ignore").tolist() == [-1.0, 1.0]


def test_functions_of_two_sources_take_pairs_of_arrays():
    pair = (VALUES, LABELS)
    assert lk.metrics.hter(pair, dev=(-VALUES, ~LABELS)) == lk.metrics.hter(
        SOURCE, dev=lk.Scores.from_labels(-VALUES, ~LABELS)
    )
    assert str(lk.compare(pair, pair, "cmlg")) == str(lk.compare(SOURCE, SOURCE, "cmlg"))
    fixed = lk.evaluate(*pair, threshold_from=pair).fixed
    assert fixed.threshold == lk.evaluate(SOURCE, threshold_from=SOURCE).fixed.threshold


def test_weights_count_trials():
    weights = RNG.integers(1, 4, len(VALUES))
    repeated = lk.Scores.from_labels(np.repeat(VALUES, weights), np.repeat(LABELS, weights))
    weighted = lk.scores.weigh(lk.Scores.from_labels(VALUES, LABELS, {"times": weights}), "times")
    assert lk.auc(weighted) == pytest.approx(lk.auc(repeated), abs=1e-12)


def test_what_is_neither_trials_nor_arrays_is_refused():
    for given in ((VALUES,), (VALUES, LABELS[:-1]), (np.c_[VALUES, VALUES], LABELS)):
        with pytest.raises(lk.InputError):
            lk.eer(*given)
    with pytest.raises(lk.InputError):
        lk.compare_systems((VALUES, LABELS))


def test_a_meter_is_the_evaluation_of_all_trials_at_once():
    meter = lk.Meter([0.01])
    for part in np.array_split(np.arange(len(VALUES)), 7):
        meter.update(VALUES[part], LABELS[part])
    assert meter.compute().to_dict() == lk.evaluate(SOURCE, points=[0.01]).to_dict()
    meter.update(np.empty(0), np.empty(0))
    assert len(meter) == len(VALUES)


def test_batches_of_one_class_and_buffers_that_are_reused():
    meter, buffer = lk.Meter([0.01]), np.empty(50)
    for is_target in (True, False):
        of_class = VALUES[is_target == LABELS]
        for start in range(0, len(of_class), 50):
            some = of_class[start : start + 50]
            buffer[: len(some)] = some
            meter.update(buffer[: len(some)], np.full(len(some), is_target))
    assert meter.compute().to_dict() == lk.evaluate(SOURCE, points=[0.01]).to_dict()


def test_meters_merge_travel_and_start_again():
    first, second = lk.Meter([0.01]), lk.Meter([0.01])
    first.update(VALUES[:150], LABELS[:150])
    second.update(VALUES[150:], LABELS[150:])
    whole = lk.evaluate(SOURCE, points=[0.01]).to_dict()
    assert (first + second).compute().to_dict() == whole
    assert len(first) == 150
    for travel in (copy.deepcopy, lambda meter: pickle.loads(pickle.dumps(meter))):
        assert travel(first).merge(second).compute().to_dict() == whole
    again = lk.Meter([0.01])
    again.load_state_dict((first + second).state_dict())
    assert again.compute().to_dict() == whole
    again.reset()
    with pytest.raises(lk.errors.EmptyClassError):
        again.compute()


def test_a_meter_refuses_what_it_cannot_count():
    meter = lk.Meter()
    for scores, labels in (([0.1, np.nan], [0, 1]), ([0.1, 0.2], [0]), (np.zeros((3, 2)), [0, 1, 1])):
        with pytest.raises(lk.InputError):
            meter.update(scores, labels)
    assert len(meter) == 0


@pytest.mark.parametrize("ci", ["none", "trial"])
def test_no_order_of_trials_batches_or_merges_changes_a_bit(ci):
    """700,000 trials make several chunks; every number and every end of an interval is the same."""
    for n in (900,) if ci == "trial" else (900, 700_000):
        rng = np.random.default_rng(n)
        labels = rng.random(n) < 0.3
        values = rng.normal(np.where(labels, 1.5, -1.5), 1.0).astype(np.float32 if n > 1000 else np.float64)
        at_once = lk.evaluate(values, labels, points=[0.01], ci=ci).to_dict()
        for seed in range(1 if n > 1000 else 3):
            order = np.random.default_rng(seed).permutation(n)
            first, second = (lk.Meter([0.01], ci=ci) for _ in range(2))
            for k, part in enumerate(np.array_split(order, 11)):
                (first if k % 3 else second).update(values[part], labels[part])
            assert (first + second).compute().to_dict() == at_once
            assert (second + first).compute().to_dict() == at_once


TABLES = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "arrow": pa.table,
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_with_scores_and_labels_is_a_source(kind):
    table = TABLES[kind]({"score": VALUES, "label": LABELS, "room": np.arange(400) % 2})
    assert lk.eer(table) == lk.eer(source=table) == lk.eer(VALUES, LABELS)
    assert lk.min_dcf(table, point=(0.01, 10, 1)) == lk.min_dcf(
        SOURCE, point="sre08"
    )  # three numbers are no labels
    assert list(lk.evaluate(table, by="room").groups) == [0, 1]
    assert lk.metrics.hter(table, dev=(VALUES, LABELS)) == lk.metrics.hter(SOURCE, dev=SOURCE)
    with pytest.raises(lk.InputError):
        lk.eer(TABLES[kind]({"cosine": VALUES, "label": LABELS}))


def test_what_a_mask_hides_is_not_counted():
    mask = np.arange(400) == 7
    assert lk.eer(np.ma.masked_array(VALUES), LABELS) == lk.eer(SOURCE)
    for scores, labels in (
        (np.ma.masked_array(VALUES, mask), LABELS),
        (VALUES, np.ma.masked_array(LABELS, mask)),
    ):
        with pytest.raises(lk.InputError):
            lk.eer(scores, labels)


def test_maps_go_onto_arrays():
    calibrate = lk.fit_logistic(VALUES, LABELS)
    expected = lk.cllr(calibrate(VALUES), LABELS)
    assert lk.cllr(calibrate.on(VALUES, LABELS)) == expected
    assert lk.cllr(calibrate.on((VALUES, LABELS))) == expected
    assert lk.cllr(calibrate.on(pd.DataFrame({"score": VALUES, "label": LABELS}))) == expected
    with pytest.raises(lk.InputError):
        calibrate.on(VALUES)
    assert lk.maps.class_gap([2.0, 3.0, 0.0, 1.5], [1, 1, 0, 0]) == (1.5, 2.0)
