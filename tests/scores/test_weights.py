"""Weighted trials give what trials give that are there as often as their weight says."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose
from sources import FITS, METRICS, NEEDS

import llrkit as lk
from llrkit.cli import cli

pytestmark = pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")
N = 900


def weighted_and_repeated():
    rng = np.random.default_rng(0)
    label = rng.random(N) < 0.3
    table = pl.DataFrame(
        {
            "score": np.round(rng.normal(np.where(label, 2.0, -2.0), 1.8), 2),  # with ties
            "other": rng.normal(np.where(label, 1.0, 0.0), 1.0),
            "label": label,
            "times": rng.integers(0, 4, N),
            "room": rng.choice(["a", "b"], N),
            "seconds": rng.uniform(3, 60, N),
            "test": [f"t{i % 40}" for i in range(N)],
        }
    )
    return table, table[np.repeat(np.arange(N), table["times"].to_numpy())]


TABLE, REPEATED = weighted_and_repeated()

SOURCES = {
    "trials": lambda folder: lk.Trials(TABLE, weight="times"),
    "any source": lambda folder: lk.scores.weigh(lk.Trials(TABLE), "times"),
    "parquet": lambda folder: lk.scan_trials(stored(folder, "t.parquet"), weight="times"),
    "text": lambda folder: lk.scan_trials(stored(folder, "t.csv"), weight="times"),
    "text in memory": lambda folder: lk.read_trials(stored(folder, "t.csv"), weight="times"),
}


def stored(folder, name):
    TABLE.write_csv(folder / name) if name.endswith("csv") else TABLE.write_parquet(folder / name)
    return folder / name


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] if kind == "text" else []) for kind in SOURCES]
)
def test_metrics(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("LLRKIT_AT_ONCE", "1600")
    source = SOURCES[kind](tmp_path)
    for name, arguments in METRICS.items():
        metric = getattr(lk.metrics, name)
        expected = metric(lk.Trials(REPEATED), **arguments)
        assert_allclose(metric(source, **arguments), expected, rtol=1e-12, err_msg=name)
        if name != "eer_threshold":
            assert metric(lk.Trials(TABLE), **arguments) != expected, name  # weights do matter


QUICK = (
    "fit_cmlg",
    "fit_logistic",
    "fit_pav",
    "fit_kde",
    "fit_gaussian",
    "fit_fusion",
    "fit_by",
    "fit_quality",
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow])
        for name in FITS
        if name != "fit_lineup"
    ],
)
def test_fits(name):
    score = ["score", "other"] if name == "fit_fusion" else "score"
    repeated = lk.Trials(REPEATED, score=score)
    fitted = [
        getattr(lk.fits, name)(trials, **NEEDS.get(name, {}))
        for trials in (lk.Trials(TABLE, score=score, weight="times"), repeated)
    ]
    assert_allclose(*(lk.cllr(one.on(repeated)) for one in fitted), rtol=1e-8)


def test_a_lineup_takes_no_weights():
    with pytest.raises(lk.InputError):
        lk.fits.fit_lineup(lk.Trials(TABLE, weight="times"), by="test")


def test_an_evaluation_with_conditions_and_parts_of_trials():
    weighted = lk.evaluate(lk.Trials(TABLE, weight="times"), by="room").to_dict()
    repeated = lk.evaluate(lk.Trials(REPEATED), by="room").to_dict()
    assert weighted["n_target"] == repeated["n_target"]
    assert_allclose(weighted["groups"]["a"]["cllr"], repeated["groups"]["a"]["cllr"], rtol=1e-13)
    half = lk.evaluate(lk.Trials(TABLE.with_columns(times=pl.col("times") / 2), weight="times"))
    assert half.n_target == round(repeated["n_target"] / 2)
    assert_allclose(half.cllr, repeated["cllr"], rtol=1e-13)


@pytest.mark.parametrize("share", [1.0, 0.013, 1e-4])  # the last adds up to less than a trial
def test_intervals_do_not_depend_on_the_scale_of_the_weights(share):
    scaled = lk.Trials(TABLE.with_columns(times=pl.col("times") * share), weight="times")
    widths = [
        lk.evaluate(lk.maps.AffineMap(a=0.9, b=0.1).on(trials), ci="trial").uncertainty.intervals["cllr"]
        for trials in (scaled, lk.Trials(TABLE, weight="times"))
    ]
    assert_allclose(*widths, rtol=1e-9)


def test_rates_of_weighted_trials_are_no_counts():
    """With a weight of 1000 for all, a rate is as uncertain as without weights."""
    many = TABLE.with_columns(times=pl.lit(1000))
    found = [
        lk.evaluate(trials, points=[0.5], ci="trial").uncertainty.intervals["points.0.p_miss"]
        for trials in (lk.Trials(many, weight="times"), lk.Trials(TABLE))
    ]
    assert_allclose(*found, atol=0.01)  # the one by the delta method, the other exact


def test_on_the_command_line(tmp_path):
    path = stored(tmp_path, "t.csv")
    done = CliRunner().invoke(cli, ["evaluate", str(path), "--weight-column", "times", "--json", "-"])
    assert_allclose(json.loads(done.stdout)["cllr"], lk.cllr(lk.Trials(REPEATED)), rtol=1e-13)


@pytest.mark.parametrize(
    ("weights", "row"), [([1.0, -1.0, 2.0], 1), ([1.0, None, 2.0], 1), (["1", "2", "many"], 2)]
)
def test_what_is_no_weight_is_named(weights, row):
    table = {"score": [1.0, 0.0, 2.0], "label": [1, 0, 1], "w": weights}
    with pytest.raises(lk.InputError, match=f"row {row} "):
        lk.eer(lk.Trials(table, weight="w"))
    with pytest.raises(lk.InputError):
        lk.eer(lk.scores.weigh(lk.Trials(table), "w"))


def test_too_many_weights_and_unknown_columns_are_refused():
    table = {"score": np.arange(3000.0), "label": np.arange(3000) % 2, "w": np.linspace(1, 2, 3000)}
    with pytest.raises(lk.InputError):
        lk.eer(lk.Trials(table, weight="w"))
    for wrong in (lambda: lk.Trials(table, weight="v"), lambda: lk.scores.weigh(lk.Trials(table), "v")):
        with pytest.raises(lk.errors.UnknownNameError):
            wrong()
