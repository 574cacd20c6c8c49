"""Folders of files whose types differ: nothing is changed in silence, and every way of reading agrees."""

import csv

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit.io.formats import files_of
from llrkit.io.table_columns import common_type

LABELS = ["target", "nontarget", "nontarget"]
IDS = ["m1", "m2", "m3"]


def write(folder, *tables, endings=("parquet", "arrow")):
    folder.mkdir(exist_ok=True)
    for i, table in enumerate(tables):
        frame = pl.DataFrame(table)
        ending = endings[i % len(endings)]
        writers = {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "csv": frame.write_csv}
        writers[ending](folder / f"{'abcdef'[i]}.{ending}")
    return folder


def converted(folder, tmp_path):
    """What ``llrkit convert`` makes of a folder, read by Python's own csv."""
    code, _, said = run("convert", folder, tmp_path / "one.csv")
    assert code == 0, said
    with (tmp_path / "one.csv").open(newline="") as file:
        return list(csv.DictReader(file))


UNSIGNED = pl.Series([1, 200, 3], dtype=pl.UInt8)
MIXED = {
    "scores whole, then not": ("score", [1, 2, -3], [0.9, 2.7, -3.5]),
    "scores of 32 bits, then of 64": ("score", np.float32([1.5, 2, -3]), [1e300, 0.1, -3.5]),
    "weights whole, then not": ("weight", [1, 2, 3], [0.5, 0.25, 0.125]),
    "ids that are numbers, then text": ("test", [1, 2, 3], ["001", "02", "x"]),
    "small integers, then large": ("n", pl.Series([1, -2, 3], dtype=pl.Int8), [2**62, 5, -(2**63)]),
    "unsigned, then signed": ("n", UNSIGNED, pl.Series([-1, 2, 3], dtype=pl.Int8)),
    "words coded, then not": ("room", pl.Series(["a", "b", "a"], dtype=pl.Categorical), ["c", "a", "b"]),
    "nothing, then something": ("room", [None, None, None], ["c", "a", "b"]),
}  # fmt: skip


def two_tables(name, first, second):
    base = {"test": IDS, "score": [0.5, -1.0, 0.25], "label": LABELS}
    return {**base, name: first}, {**base, name: second}


@pytest.mark.parametrize("case", MIXED)
@pytest.mark.parametrize("turned", [False, True])
def test_every_value_survives_in_either_order(case, turned, tmp_path):
    name, first, second = MIXED[case]
    tables = two_tables(name, first, second)
    rows = converted(write(tmp_path / "d", *(tables[::-1] if turned else tables)), tmp_path)
    values = [*second, *first] if turned else [*first, *second]
    for row, value in zip(rows, values, strict=True):
        if name in ("score", "weight"):
            assert float(row[name]) == float(value)
        else:
            assert row[name] == ("" if value is None else str(value))


REFUSED = {
    "labels true or false, then 1 or -1": ("label", [True, False, False], [1, -1, -1]),
    "labels true or false, then words": ("label", [True, False, False], LABELS),
    "fractions, then text": ("duration", [5.0, 2.5, 1.0], ["5", "2.5", "1.0"]),
    "dates, then text": ("day", pl.Series([0, 1, 2]).cast(pl.Date), ["1970-01-01", "x", "y"]),
    "lists, then numbers": ("parts", [[1], [2], [3]], [1, 2, 3]),
    "whole numbers too large for the floats of the other": ("n", [2**53 + 1, 1, 2], [0.5, 1.5, 2.5]),
    "the same with small floats": ("n", [2**53 + 1, 1, 2], np.float32([0.5, 1.5, 2.5])),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("turned", [False, True])
def test_what_has_no_common_type_is_refused_naming_both_files(case, turned, tmp_path):
    tables = two_tables(*REFUSED[case])
    folder = write(tmp_path / "d", *(tables[::-1] if turned else tables))
    code, _, said = run("convert", folder, tmp_path / "one.csv")
    assert (code, "a.parquet" in said, "b.arrow" in said) == (2, True, True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["d"]
    with pytest.raises(lk.errors.FileFormatError):
        lk.read_trials(folder)


def test_columns_in_another_order_are_put_in_order(tmp_path):
    first = {"test": IDS, "score": [1, 2, 3], "label": LABELS}
    second = {"label": LABELS, "score": [0.5, 1.5, 2.5], "test": IDS}
    rows = converted(write(tmp_path / "d", first, second), tmp_path)
    assert [row["score"] for row in rows] == ["1.0", "2.0", "3.0", "0.5", "1.5", "2.5"]
    assert [row["test"] for row in rows] == IDS * 2


def numbers(result):
    return [result.n_target, result.n_nontarget, result.eer, result.cllr, result.min_cllr]


def test_memory_and_batches_give_the_same_scores(tmp_path):
    folder = write(tmp_path / "d", *two_tables(*MIXED["scores whole, then not"]))
    whole, batches = lk.read_trials(folder).scores(), lk.scan_trials(folder)
    assert whole.target.tolist() == [1.0, 0.9]
    assert sorted(whole.nontarget) == [-3.5, -3.0, 2.0, 2.7]
    assert numbers(lk.evaluate(batches)) == pytest.approx(numbers(lk.evaluate(whole)), rel=1e-12)


def test_labels_of_two_files_that_do_not_fit_are_refused_in_memory_and_in_batches(tmp_path):
    first, second = two_tables("label", [1, 0, 0], [1, -1, -1])
    folder = write(tmp_path / "d", first, second)
    with pytest.raises(lk.errors.LabelError):
        lk.read_trials(folder)
    with pytest.raises(lk.errors.LabelError):
        lk.eer(lk.scan_trials(folder))


def test_any_two_types_give_the_same_common_type_in_both_orders():
    kinds = [pl.Null(), pl.Boolean(), pl.String(), pl.Categorical(), pl.Enum(["a"]), pl.Date(), pl.Time(),
             pl.Datetime("ms"), pl.Datetime("ns"), pl.Datetime("us", "UTC"), pl.Decimal(10, 2), pl.Binary(),
             pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64(), pl.Int128(), pl.UInt8(), pl.UInt16(), pl.UInt32(),
             pl.UInt64(), pl.Float32(), pl.Float64(), pl.List(pl.Int8())]  # fmt: skip
    for one in kinds:
        assert common_type(one, one) == one
        for other in kinds:
            assert common_type(one, other) == common_type(other, one), (one, other)
            if one.is_integer() and other.is_integer() and pl.UInt64() not in (one, other):
                both = common_type(one, other)
                limits = pl.select(low=both.min(), high=both.max()).row(0)
                for kind in (one, other):
                    low, high = pl.select(kind.min(), kind.max().alias("high")).row(0)
                    assert limits[0] <= low <= high <= limits[1], (one, other)


def test_the_same_files_are_chosen_by_every_way(tmp_path):
    folder = write(tmp_path / "d", *[{"score": [1.0, 0.0], "label": [1, 0]}] * 2, endings=("parquet",))
    for name in ("_odd.parquet", ".hidden.parquet"):
        pl.DataFrame({"score": [9.0, 8.0], "label": [0, 1]}).write_parquet(folder / name)
    assert [file.name for file in files_of(folder)] == ["a.parquet", "b.parquet"]
    assert [file.name for file in files_of(folder / "*.parquet")] == ["a.parquet", "b.parquet"]
    assert [file.name for file in files_of(folder / "_*.parquet")] == ["_odd.parquet"]


@pytest.fixture(scope="module")
def client(need):
    need("distributed")
    with lk.cluster(workers=1) as client:
        yield client


@pytest.mark.slow
class TestCluster:
    """The same folders on a cluster."""

    def test_the_same_files_are_chosen(self, client, tmp_path):
        folder = write(tmp_path / "d", *[{"score": [1.0, 0.0], "label": [1, 0]}] * 2, endings=("parquet",))
        for name in ("_odd.parquet", ".hidden.parquet"):
            pl.DataFrame({"score": [9.0, 8.0], "label": [0, 1]}).write_parquet(folder / name)
        for path in (folder, folder / "*.parquet"):
            there = {partition.origin for partition in lk.DaskSource.from_parquet(path, client).partitions}
            assert there == {str(file) for file in files_of(path)}

    @pytest.mark.parametrize("turned", [False, True])
    def test_mixed_types_give_the_numbers_of_memory(self, client, turned, tmp_path):
        first, second = two_tables("room", [1, 2, 1], ["1", "x", "2"])
        first["score"] = [1, 2, -3]
        tables = (second, first) if turned else (first, second)
        folder = write(tmp_path / "d", *tables, endings=("parquet",))
        there = lk.evaluate(lk.DaskSource.from_parquet(folder, client), by="room")
        here = lk.evaluate(lk.read_trials(folder), by="room")
        assert numbers(there) == pytest.approx(numbers(here), rel=1e-12)
        assert numbers(there.groups["1"]) == pytest.approx(numbers(here.groups["1"]), rel=1e-12)
        assert set(there.skipped_groups) | set(there.groups) == {"1", "2", "x"}

    def test_a_file_that_was_replaced_is_named(self, client, tmp_path):
        first, second = two_tables("room", ["a", "b", "c"], ["a", "b", "c"])
        folder = write(tmp_path / "d", first, second, endings=("parquet",))
        source = lk.DaskSource.from_parquet(folder, client)
        write(folder, {**first, "score": [3.0, 2.0, 1.0]}, second, endings=("parquet",))
        with pytest.raises(lk.errors.FileChangedError):
            lk.eer(source)
