"""Files as a source: the same answers as in memory, whatever the format and the size of the batches."""

import json

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sources import FITS, METRICS, NEEDS, trial_table

import llrkit as lk

pytestmark = pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")


def small_batches(monkeypatch, scores=2_000):
    monkeypatch.setenv("LLRKIT_AT_ONCE", str(8 * scores))


@pytest.fixture(scope="module")
def table():
    return trial_table()


@pytest.fixture(params=["parquet", "csv", "directory", "list"])
def stored(request, table, tmp_path, monkeypatch):
    """The table in files, read in batches that do not match the files."""
    small_batches(monkeypatch)
    if request.param == "parquet":
        table.write_parquet(tmp_path / "t.parquet", row_group_size=900)
        return tmp_path / "t.parquet"
    if request.param == "csv":
        table.write_csv(tmp_path / "t.csv")
        return tmp_path / "t.csv"
    for i, part in enumerate(table.iter_slices(1_700)):
        part.write_parquet(tmp_path / f"part{i}.parquet")
    return sorted(tmp_path.iterdir()) if request.param == "list" else tmp_path


def assert_same(a, b):
    a, b = json.loads(json.dumps(a, default=str)), json.loads(json.dumps(b, default=str))
    assert a.keys() == b.keys()
    for key, value in a.items():
        if isinstance(value, dict):
            assert_same(value, b[key])
        elif isinstance(value, float):
            assert_allclose(value, b[key], rtol=1e-12, atol=1e-12)
        elif not isinstance(value, list):
            assert value == b[key]


def test_evaluation_with_conditions_equals_the_one_in_memory(stored, table):
    in_memory = lk.evaluate(lk.Trials(table), points=["sre08", "sre12"], by="room").to_dict()
    assert_same(
        lk.evaluate(lk.scan_trials(stored), points=["sre08", "sre12"], by="room").to_dict(), in_memory
    )


def test_metrics_equal_those_in_memory(table, tmp_path, monkeypatch):
    small_batches(monkeypatch)
    table.write_parquet(tmp_path / "t.parquet", row_group_size=300)
    for name, arguments in METRICS.items():
        metric = getattr(lk.metrics, name)
        found = metric(lk.scan_trials(tmp_path / "t.parquet"), **arguments)
        assert_allclose(found, metric(lk.Trials(table), **arguments), rtol=1e-12, err_msg=name)


def test_every_metric_of_a_source_is_here():
    takes_two_sets = {"hter"}
    found = {
        name for name in lk.metrics.__all__
        if name in ("auc", "cllr", "cllr_cal", "hter", "min_cllr", "prbep", "rule_cost", "cross_entropy")
        or name.startswith(("eer", "min_dcf", "act_dcf", "c_primary"))
    }  # fmt: skip
    assert found - takes_two_sets == set(METRICS)


COSTLY = {"fit_best", "fit_lineup", "fit_expectation"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in COSTLY else name for name in FITS]
)
def test_calibrators_equal_those_in_memory(name, table, tmp_path, monkeypatch):
    small_batches(monkeypatch)
    table.write_parquet(tmp_path / "t.parquet", row_group_size=300)
    score = ["score", "other"] if name == "fit_fusion" else "score"
    options = NEEDS.get(name, {})
    scanned = lk.scan_trials(tmp_path / "t.parquet", score=score)
    trials = lk.Trials(table, score=score)
    from_files, in_memory = (getattr(lk.fits, name)(one, **options) for one in (scanned, trials))
    assert_allclose(lk.cllr(from_files.on(scanned)), lk.cllr(in_memory.on(trials)), rtol=1e-7)


def test_very_large_sets_are_summarized_in_larger_chunks(table, tmp_path, monkeypatch):
    small_batches(monkeypatch, 700)
    table = table.with_columns(pl.col("score").cast(pl.Float32))  # so that two batches make a chunk
    table.write_parquet(tmp_path / "t.parquet")
    source = lk.scan_trials(tmp_path / "t.parquet")

    def sizes(of):
        found = []
        of.reduce(lambda chunk: found.append(chunk.n_target + chunk.n_nontarget) or len(found))
        return sorted(found)

    small, large = sizes(source.with_columns("room")), sizes(source)  # columns are not put together
    assert sum(large) == sum(small) == table.height
    assert large[1] >= 1400 > small[-1]  # the last chunk is what is left
    assert_same(lk.evaluate(source).to_dict(), lk.evaluate(lk.Trials(table)).to_dict())


def test_an_infinite_score_in_a_fit_is_named_by_row(table, tmp_path, monkeypatch):
    small_batches(monkeypatch)
    rows = table.with_columns(
        score=pl.when(pl.int_range(5_000) == 3_210).then(np.inf).otherwise(pl.col("score"))
    )
    for i, part in enumerate(rows.iter_slices(1_700)):
        part.write_parquet(tmp_path / f"part{i}.parquet")
    with pytest.raises(lk.errors.InfiniteScoreError, match=r"part1\.parquet, row 1510"):
        lk.fit_cmlg(lk.scan_trials(tmp_path))
