"""A cluster as a source: the answers of memory and files."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sources import FITS, METRICS, NEEDS, trial_table

import llrkit as lk
from llrkit.core.cells import count_trials

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")]


@pytest.fixture(scope="module")
def table():
    return trial_table()


@pytest.fixture(scope="module")
def stored(table, tmp_path_factory):
    """Three files of several row groups each."""
    folder = tmp_path_factory.mktemp("trials")
    for i, part in enumerate(table.iter_slices(1_900)):
        part.write_parquet(folder / f"part{i}.parquet", row_group_size=450)
    return folder


@pytest.fixture
def small_partitions(monkeypatch):
    """Many partitions, although the files are small."""
    monkeypatch.setenv("LLRKIT_AT_ONCE", "7200")


def scattered(stored, client, **options):
    return lk.DaskSource.from_parquet(stored, client, **options)


def test_metrics_equal_those_of_memory_and_files(table, stored, client):
    for name, arguments in METRICS.items():
        metric = getattr(lk.metrics, name)
        found = metric(scattered(stored, client), **arguments)
        assert_allclose(found, metric(lk.Trials(table), **arguments), rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", FITS)
def test_calibrators_equal_those_of_memory_and_files(name, table, stored, client):
    score = ["score", "other"] if name == "fit_fusion" else "score"
    fit, options = getattr(lk.fits, name), NEEDS.get(name, {})
    trials, source = lk.Trials(table, score=score), scattered(stored, client, score=score)
    expected = lk.cllr(fit(trials, **options).on(trials))
    assert_allclose(lk.cllr(fit(source, **options).on(source)), expected, rtol=1e-7)


def assert_same_counts(a, b):
    for name in ("grid", "at", "cells", "low", "high"):
        assert_array_equal(getattr(a, name), getattr(b, name))


def test_counts_are_identical_to_the_last_bit_for_any_number_of_workers(
    table, stored, client, small_partitions
):
    expected = count_trials(lk.Trials(table))
    made = []
    for workers in (1, 4):
        with lk.cluster(workers=workers) as other:
            source = scattered(stored, other)
            made.append((count_trials(source), lk.evaluate(source).to_dict()))
    source = scattered(stored, client)
    assert len(source.partitions) > 6
    made.append((count_trials(source), lk.evaluate(source).to_dict()))
    for counts, evaluation in made:
        assert_same_counts(counts, expected)
        assert evaluation == made[0][1]  # the sums too: the tree of merges is the same


@pytest.mark.parametrize("name", ["evalita09_ru", "spkr_shift_psr.trn", "voxceleb1_o.resnet_aam"])
def test_real_scores_give_the_same_in_memory_in_files_and_on_a_cluster(
    name, reference_set, client, monkeypatch, tmp_path
):
    monkeypatch.setenv("LLRKIT_AT_ONCE", "80000")
    scores = reference_set(name)
    label = np.arange(scores.n_target + scores.n_nontarget) < scores.n_target
    table = pl.DataFrame({"score": np.concatenate([scores.target, scores.nontarget]), "label": label})
    for i, part in enumerate(table.sample(fraction=1.0, shuffle=True, seed=1).iter_slices(25_000)):
        part.write_parquet(tmp_path / f"part{i}.parquet", row_group_size=4_000)
    expected, numbers = count_trials(scores), lk.evaluate(scores).to_dict()
    for source in (lk.scan_trials(tmp_path), scattered(tmp_path, client)):
        assert_same_counts(count_trials(source), expected)
        assert_numbers(lk.evaluate(source).to_dict(), numbers)


def assert_numbers(found, expected):
    """Whole numbers are the same, others to 1e-12."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            assert_numbers(found[key], expected[key])
    elif isinstance(expected, list):
        for one, other in zip(found, expected, strict=True):
            assert_numbers(one, other)
    elif isinstance(expected, float):
        assert_allclose(found, expected, rtol=1e-12)
    else:
        assert found == expected


def test_conditions_and_places_of_trials(table, stored, client, small_partitions):
    source = scattered(stored, client)
    in_memory = lk.evaluate(lk.Trials(table), by="room").groups
    for room, found in lk.evaluate(source, by="room").groups.items():
        assert_allclose(found.cllr, in_memory[room].cllr, rtol=1e-12)
    rows = table.with_columns(
        score=pl.when(pl.int_range(5_000) == 3_210).then(np.inf).otherwise(pl.col("score"))
    )
    infinite = lk.DaskSource.from_delayed([rows[:2000], rows[2000:]], client)
    with pytest.raises(lk.errors.InfiniteScoreError, match="row 3210"):
        lk.fit_cmlg(infinite)


def test_arrays_frames_and_delayed_tables(table, client):
    import dask.array as da
    import dask.dataframe as dd

    expected = lk.cllr(lk.Trials(table))
    frame = dd.from_pandas(table.to_pandas(), npartitions=3)
    framed = lk.DaskSource.from_dataframe(frame, client)
    assert (framed.roles.enroll, framed.roles.test) == (None, "test")
    assert_allclose(lk.cllr(framed), expected, rtol=1e-12)
    scores, labels = table["score"].to_numpy(), (table["label"] == "target").to_numpy()
    arrays = lk.DaskSource.from_arrays(da.from_array(scores, chunks=800), da.from_array(labels), client)
    assert_allclose(lk.cllr(arrays), expected, rtol=1e-12)
    parts = [{"score": scores[:2500], "label": labels[:2500]}, table[2500:]]
    assert_allclose(lk.cllr(lk.DaskSource.from_delayed(parts, client)), expected, rtol=1e-12)


def test_speakers_are_kept_apart_on_a_cluster_too(table, client, tmp_path):
    named = table.with_columns(enroll=pl.Series([f"e{i % 90}" for i in range(len(table))]))
    named.write_parquet(tmp_path / "named.parquet")
    options = {"methods": "cmlg,gaussian", "folds": 3, "repeats": 1}
    sources = {
        "memory": lk.Trials(named, enroll="enroll", test="test"),
        "files": lk.scan_trials(tmp_path / "named.parquet"),
        "cluster": lk.DaskSource.from_parquet(tmp_path / "named.parquet", client),
        "weighted": lk.scores.weigh(lk.Trials(named.with_columns(w=1), enroll="enroll", test="test"), "w"),
    }
    found = {name: lk.fit_best(source, **options).details for name, source in sources.items()}
    for details in found.values():
        assert details["groups"] == ["enroll", "test"]
        assert_allclose(details["expected_cllr"], found["memory"]["expected_cllr"], rtol=1e-9)
        assert details["weights"].keys() == found["memory"]["weights"].keys()


def test_a_file_broken_inside_is_named_or_skipped(table, stored, client, tmp_path):
    for path in stored.glob("*.parquet"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    broken = tmp_path / "part2.parquet"
    content = bytearray(broken.read_bytes())
    content[100:2000] = bytes(1900)  # the footer still says that all is well
    broken.write_bytes(content)
    with pytest.raises(lk.errors.FileFormatError, match=r"part2\.parquet: cannot be read"):
        lk.cllr(lk.DaskSource.from_parquet(tmp_path, client))
    source = lk.DaskSource.from_parquet(tmp_path, client, unreadable="skip")
    with pytest.warns(lk.errors.UnreadableWarning, match=r"part2\.parquet"):
        found = lk.cllr(source)
    assert_allclose(found, lk.cllr(lk.Trials(table[:3800])), rtol=1e-12)


@pytest.mark.parametrize("options", [
    {"ci": "trial"}, {"ci": "speaker", "speakers": ("room", "test")},
    {"ci": "bootstrap", "speakers": "test", "replicates": 100},
], ids=lambda options: options["ci"])  # fmt: skip
def test_intervals_equal_those_of_memory(options, table, stored, client):
    wanted = lk.evaluate(lk.Trials(table), points=[0.3], **options).uncertainty
    found = lk.evaluate(scattered(stored, client), points=[0.3], **options).uncertainty
    assert set(found.intervals) == set(wanted.intervals)
    for name, ends in wanted.intervals.items():
        assert_allclose(found.intervals[name], ends, rtol=1e-6)


def test_a_shift_is_the_same_in_memory_files_and_on_a_cluster(table, stored, client, small_partitions):
    trained = lk.calibrate(lk.Trials(table), bound="none").map
    old = lk.Scores(*(1.3 * values + 1.0 for values in _classes(lk.Trials(table).scores())))
    before = lk.calibrate(old, bound="none").map
    expected, adapted = lk.check_shift(before, lk.Trials(table)), _adapted(before, lk.Trials(table))
    assert expected.is_shifted
    for source in (lk.scan_trials(stored), scattered(stored, client)):
        assert lk.calibrate(source, bound="none").map.densities == trained.densities
        assert lk.check_shift(before, source).to_dict() == expected.to_dict()
        assert _adapted(before, source) == adapted
    both = lk.Trials(table, score=["score", "other"])
    fused = lk.calibrate(both, method=lk.fit_fusion, bound="none").map
    expected = lk.check_shift(fused, both).to_dict()
    for read in (lk.scan_trials, partial(scattered, client=client)):
        assert lk.check_shift(fused, read(stored, score=["score", "other"])).to_dict() == expected


def _classes(scores):
    return scores.target, scores.nontarget


def _adapted(trained, source):
    """The adapted map, or why there is none."""
    try:
        return lk.fit_adapted(trained, source).to_dict()
    except lk.errors.AdaptationError as error:
        return str(error)
