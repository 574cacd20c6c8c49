"""Scores stay what they were when they were given: counts are kept, so nobody may write to them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import llrkit as lk

RNG = np.random.default_rng(7)
TARGET, NONTARGET = RNG.normal(2.0, 1.0, 300), RNG.normal(-2.0, 1.0, 400)
METRICS = {"eer": lk.eer, "cllr": lk.cllr, "min_cllr": lk.min_cllr, "auc": lk.auc}


def numbers(scores):
    return {name: metric(scores) for name, metric in METRICS.items()}


def given_as(kind, values):
    """The scores as a user may hold them, and a function that changes them in place."""
    array = values.copy()
    if kind == "array":
        return array, lambda: array.fill(0.0)
    if kind == "view":
        wide = np.repeat(array, 2)
        return wide[::2], lambda: wide.fill(0.0)
    if kind == "read-only view":
        view = array.view()
        view.flags.writeable = False
        return view, lambda: array.fill(0.0)
    if kind == "column":
        return array[:, None], lambda: array.fill(0.0)
    if kind == "pandas":
        series = pd.Series(array, copy=False)
        return series, lambda: array.fill(0.0)
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(array)
    return tensor, lambda: tensor.zero_()


KINDS = ["array", "view", "read-only view", "column", "pandas", "tensor"]


@pytest.mark.parametrize("when", ["before any metric", "after all metrics"])
@pytest.mark.parametrize("kind", KINDS)
def test_changing_the_arrays_in_place_changes_no_answer(kind, when):
    (target, change_target), (nontarget, change_nontarget) = (
        given_as(kind, values) for values in (TARGET, NONTARGET)
    )
    scores = lk.Scores(target, nontarget)
    if when == "after all metrics":
        numbers(scores)
    change_target()
    change_nontarget()
    assert numbers(scores) == numbers(lk.Scores(TARGET.tolist(), NONTARGET.tolist()))
    assert lk.evaluate(scores).to_dict()["eer"] == lk.eer(lk.Scores(TARGET.tolist(), NONTARGET.tolist()))


def test_weights_changed_in_place_change_no_answer():
    weights = np.ones(300), np.ones(400)
    weighed = lk.weigh(lk.Scores(TARGET, NONTARGET, {"times": weights}), "times")
    before = lk.eer(weighed)
    weights[0][:] = np.arange(300)
    assert lk.eer(weighed) == before
    assert lk.min_cllr(weighed) == lk.min_cllr(lk.Scores(TARGET, NONTARGET))


def test_arrays_given_with_labels_are_copied_once():
    both, labels = np.concatenate([TARGET, NONTARGET]), np.repeat([1, 0], [300, 400])
    scores = lk.Scores.from_labels(both, labels)
    both[:] = 0.0
    assert numbers(scores) == numbers(lk.Scores(TARGET, NONTARGET))
    assert scores.target.base is None or not scores.target.base.flags.writeable


@pytest.mark.parametrize("values", [pl.Series(TARGET), np.frombuffer(TARGET.tobytes())])
def test_what_nobody_can_write_to_is_not_copied(values):
    scores = lk.Scores(values, NONTARGET)
    assert np.shares_memory(scores.target, np.asarray(values))
    assert not scores.target.flags.writeable
