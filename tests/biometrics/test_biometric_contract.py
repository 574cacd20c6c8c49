"""One contract for the numbers of biometric testing: what may not change them, and what must."""

import inspect
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pieces import Pieces

import llrkit as lk
from llrkit import biometrics

FMRS = [0.3, 0.1, 0.0]
# name of the public function -> how it is called here
RESULTS = {
    "verification_rates": lambda s: biometrics.verification_rates(s, fmr=FMRS).to_dict(),
    "verification_rates of subjects": lambda s: biometrics.verification_rates(
        s, fmr=FMRS, speakers="person"
    ).to_dict(),
    "verification_rates with failures": lambda s: biometrics.verification_rates(
        s, fmr=FMRS, failures="failed"
    ).to_dict(),
    "differential": lambda s: biometrics.differential(s, "group", fmr=0.2).to_dict(),
    "differential of subjects": lambda s: biometrics.differential(
        s, "group", threshold=0.25, speakers="person"
    ).to_dict(),
    "identification": lambda s: biometrics.identification(s, "probe", fpir=[0.3]).to_dict(),
    "identification of subjects": lambda s: biometrics.identification(
        s, "probe", subject="person", gallery="entry", fpir=[0.3]
    ).to_dict(),
    "fold_failures": lambda s: biometrics.fold_failures(s, "failed")[1].to_dict(),
    "without_failures": lambda s: {"eer": lk.eer(biometrics.without_failures(s, "failed"))},
}
everything = pytest.mark.parametrize("name", RESULTS)


def make_table(seed=0, n=240):
    """Overlapping classes with ties, on eighths, so that float32 holds them exactly."""
    rng = np.random.default_rng(seed)
    probe = rng.integers(0, 30, n)
    mated = (rng.random(n) < 0.3) & (probe < 20)
    score = np.round(8 * (np.where(mated, 1.5, -0.5) + 1.2 * rng.normal(size=n))) / 8
    return {
        "score": score, "label": mated, "probe": probe, "person": probe // 2, "entry": rng.integers(0, 8, n),
        "group": rng.choice(["a", "b"], n), "failed": rng.choice(["ok", "fta"], n, p=[0.95, 0.05]),
    }  # fmt: skip


def scores_of(table):
    own = [np.asarray(table["label"], dtype=bool), ~np.asarray(table["label"], dtype=bool)]
    columns = {name: tuple(values[side] for side in own) for name, values in table.items()
               if name not in ("score", "label")}  # fmt: skip
    return lk.Scores(table["score"][own[0]], table["score"][own[1]], columns)


TABLE = make_table()
SCORES = scores_of(TABLE)


def leaves(plain):
    if isinstance(plain, dict):
        return [x for value in plain.values() for x in leaves(value)]
    if isinstance(plain, (list, tuple)):
        return [x for value in plain for x in leaves(value)]
    return [float(plain)] if isinstance(plain, (int, float)) else []


def assert_same(found, wanted):
    assert len(leaves(found)) == len(leaves(wanted)) > 0
    assert_allclose(leaves(found), leaves(wanted), rtol=1e-9, atol=1e-12)


def test_no_function_is_forgotten():
    functions = {name for name in biometrics.__all__ if inspect.isfunction(getattr(biometrics, name))}
    assert functions == {name.split()[0] for name in RESULTS}


@everything
def test_order_partition_and_kind_of_input(name):
    wanted = RESULTS[name](SCORES)
    order = np.random.default_rng(3).permutation(len(TABLE["score"]))
    assert_same(RESULTS[name](scores_of({k: v[order] for k, v in TABLE.items()})), wanted)
    assert_same(RESULTS[name](Pieces(SCORES, 17)), wanted)
    assert_same(RESULTS[name](lk.Trials(TABLE)), wanted)
    assert_same(RESULTS[name](scores_of(TABLE | {"score": TABLE["score"].astype("f4")})), wanted)
    assert json.loads(json.dumps(wanted, default=list)) is not None


@everything
def test_other_data_give_another_value(name):
    assert leaves(RESULTS[name](scores_of(make_table(seed=4)))) != leaves(RESULTS[name](SCORES))


def test_rates_of_trials_that_occur_twice():
    twice = scores_of({name: np.tile(values, 2) for name, values in TABLE.items()})
    rates = [biometrics.verification_rates(s, fmr=FMRS).rows for s in (SCORES, twice)]
    assert [(row.fmr, row.fnmr, row.threshold) for row in rates[0]] == [
        (row.fmr, row.fnmr, row.threshold) for row in rates[1]
    ]
    groups = [biometrics.differential(s, "group", threshold=0.25).groups for s in (SCORES, twice)]
    for group, rate in groups[0].items():
        assert (rate.fmr, rate.fnmr) == (groups[1][group].fmr, groups[1][group].fnmr)
        assert groups[1][group].n_fmr == 2 * rate.n_fmr
    # an entry of the gallery that is compared twice is still one
    found = [biometrics.identification(s, "probe", gallery="entry").to_dict() for s in (SCORES, twice)]
    assert found[0] == found[1]


@pytest.mark.parametrize("form", [np.arctan, lambda x: x**3 + x])
def test_a_rising_map_of_scores(form):
    mapped = scores_of(TABLE | {"score": form(TABLE["score"])})
    rates = [biometrics.verification_rates(s, fmr=FMRS) for s in (SCORES, mapped)]
    assert [(row.fmr, row.fnmr) for row in rates[0].rows] == [(row.fmr, row.fnmr) for row in rates[1].rows]
    found = [biometrics.identification(s, "probe", gallery="entry", fpir=[0.3]) for s in (SCORES, mapped)]
    assert found[0].to_dict()["cmc"] == found[1].to_dict()["cmc"]
    assert found[0].open_set[0].fnir == found[1].open_set[0].fnir
