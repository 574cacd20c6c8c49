"""Scores stay what they were when they were given: counts are kept, so nobody may write to them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import llrkit as lk

RNG = np.random.default_rng(7)
TARGET, NONTARGET = RNG.normal(2.0, 1.0, 300), RNG.normal(-2.0, 1.0, 400)
METRICS = {"eer": lk.eer, "cllr": lk.cllr, "min_cllr": lk.min_cllr, "auc": lk.auc}


def numbers(scores):
    return {name: metric(scores) for name, metric in METRICS.items()}


def given_as(kind, values):
    """Scores as a user may hold them, and the memory that the user can still write to."""
    array = values.copy()
    if kind == "view":
        wide = np.repeat(array, 2)
        return wide[::2], wide
    if kind == "read-only view":
        view = array.view()
        view.flags.writeable = False
        return view, array
    if kind == "pandas":
        return pd.Series(array, copy=False), array
    if kind == "arrow":
        return pa.array(array), array
    if kind == "tensor":
        return pytest.importorskip("torch").from_numpy(array), array
    return (array[:, None] if kind == "column" else array), array


KINDS = ["array", "view", "read-only view", "pandas", "arrow", pytest.param("tensor", marks=pytest.mark.slow)]


@pytest.mark.parametrize("kind", [*KINDS, "column"])
def test_changing_the_arrays_in_place_changes_no_answer(kind):
    (target, memory), (nontarget, other) = (given_as(kind, values) for values in (TARGET, NONTARGET))
    columns = {"snr": (target, nontarget)}
    before, after = lk.Scores(target, nontarget, columns), lk.Scores(target, nontarget)
    labeled = lk.Scores.from_labels(target, np.arange(300) % 2, {"snr": target})
    expected = numbers(lk.Scores(TARGET.tolist(), NONTARGET.tolist()))
    assert numbers(after) == expected
    memory[:], other[:] = 0.0, 0.0
    assert numbers(before) == numbers(after) == expected
    assert lk.evaluate(after).eer == expected["eer"]
    assert_array_equal(before.columns["snr"][0].ravel(), TARGET)
    for values in (labeled.target, labeled.columns["snr"][0].ravel()):
        assert_array_equal(values, TARGET[1::2])


@pytest.mark.parametrize("kind", KINDS)
def test_changing_arrays_in_place_changes_no_trials(kind):
    scores, memory = given_as(kind, TARGET)
    trials = lk.Trials({"score": scores, "label": np.arange(300) % 2})
    memory[:] = 0.0
    assert_array_equal(trials.score_array, TARGET)


TABLES = {
    "pandas": lambda values: pd.DataFrame({"score": values, "label": 1}, copy=False),
    "pandas, one block": lambda values: pd.DataFrame(np.stack([values, values]).T, copy=False).set_axis(
        ["score", "label"], axis=1
    ),
    "arrow": lambda values: pa.table({"score": pa.array(values), "label": np.ones(len(values))}),
    "numpy": lambda values: {"score": values, "label": np.ones(len(values))},
}


@pytest.mark.parametrize("values", [TARGET, TARGET[:1], TARGET.astype(np.float32), np.arange(1, 9),
                                    np.where(TARGET > 2, np.nan, TARGET)],
                         ids=["float64", "one row", "float32", "int64", "missing"])  # fmt: skip
@pytest.mark.parametrize("kind", TABLES)
def test_changing_a_table_in_place_changes_no_trials(kind, values):
    array = values.copy()
    table = TABLES[kind](array)
    trials = lk.Trials(table)
    array[:] = 0
    if isinstance(table, pd.DataFrame):
        table.loc[:, "score"] = 0
    assert_array_equal(trials.score_array_or_nan, values)


def test_changing_a_table_in_place_changes_no_spoofing_trials():
    scores = TARGET.copy()
    trials = lk.spoof.SpoofTrials({"cm": scores, "label": ["target", "nontarget", "spoof"] * 100})
    scores[:] = 0.0
    assert_array_equal(trials.ascending_kinds("cm")[0], np.sort(TARGET[::3]))


def test_what_polars_holds_is_not_copied():
    table = pl.DataFrame({"score": TARGET.tolist(), "label": 1})
    column = table["score"].to_numpy()
    for given in (table, {"score": table["score"], "label": table["label"]}):
        assert np.shares_memory(lk.Trials(given).score_array, column)


def test_weights_changed_in_place_change_no_answer():
    weights = np.ones(300), np.ones(400)
    weighed = lk.scores.weigh(lk.Scores(TARGET, NONTARGET, {"times": weights}), "times")
    before = lk.eer(weighed)
    weights[0][:] = np.arange(300)
    assert lk.eer(weighed) == before
    assert lk.min_cllr(weighed) == lk.min_cllr(lk.Scores(TARGET, NONTARGET))


@pytest.mark.parametrize("values", [pl.Series(TARGET.tolist()), np.frombuffer(TARGET.tobytes())])
def test_what_nobody_can_write_to_is_not_copied(values):
    scores = lk.Scores(values, NONTARGET)
    assert np.shares_memory(scores.target, np.asarray(values))
    assert not scores.target.flags.writeable
