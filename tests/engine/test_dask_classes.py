"""Several classes on a cluster: the answers of memory."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk

pytestmark = pytest.mark.slow
mc = lk.multiclass
CLASSES = ["en", "de", "nl"]


@pytest.fixture
def sources(tmp_path, client, monkeypatch):
    monkeypatch.setenv("LLRKIT_AT_ONCE", "4000")
    rng = np.random.default_rng(7)
    labels = rng.choice(3, 3000, p=[0.5, 0.3, 0.2])
    loglik = 2.0 * (rng.normal(size=(3000, 3)) + 1.3 * np.eye(3)[labels])
    speaker = np.arange(3000) // 10
    table = pl.DataFrame({c: loglik[:, i] for i, c in enumerate(CLASSES)}).with_columns(
        label=pl.Series([CLASSES[i] for i in labels]), speaker=pl.Series(speaker)
    )
    for i, part in enumerate(table.iter_slices(1100)):
        part.write_parquet(tmp_path / f"part{i}.parquet", row_group_size=300)
    memory = lk.scores.ClassScores(loglik, labels, CLASSES, columns={"speaker": speaker})
    return memory, mc.scatter_classes(tmp_path, CLASSES, client)


def test_metrics_and_fits_equal_those_of_memory(sources):
    memory, cluster = sources
    ours, theirs = mc.evaluate(cluster, detection=False), mc.evaluate(memory, detection=False)
    assert_allclose(ours.cllr, theirs.cllr, rtol=1e-12)
    assert_allclose(ours.refined_cllr, theirs.refined_cllr, rtol=1e-10)
    assert_allclose([one.actual for one in ours.cavgs], [one.actual for one in theirs.cavgs], rtol=1e-12)
    assert_array_equal(ours.confusion.counts, theirs.confusion.counts)
    assert_allclose(lk.eer(mc.detection(cluster, "de")), lk.eer(mc.detection(memory, "de")), rtol=1e-12)
    for fit in (mc.fit_scale_offset, mc.fit_gaussian, mc.fit_affine):
        assert_allclose(fit(cluster)(memory.loglik), fit(memory)(memory.loglik), rtol=1e-7, atol=1e-7)


def test_folds_by_place_and_by_group_equal_those_of_memory(sources):
    memory, cluster = sources
    for options in ({}, {"groups": "speaker"}):
        crossed = [
            mc.cllr(mc.cross_calibrate(one, mc.fit_gaussian, **options).source) for one in (cluster, memory)
        ]
        assert_allclose(crossed[0], crossed[1], rtol=1e-10)


def test_a_class_that_is_not_there_is_named(tmp_path, client):
    pl.DataFrame({"en": [1.0], "de": [0.0], "label": ["fr"]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(lk.errors.LabelError, match="fr"):
        mc.cllr(mc.scatter_classes(tmp_path, ["en", "de"], client))
    with pytest.raises(lk.errors.UnknownNameError):
        mc.scatter_classes(tmp_path, ["en", "nl"], client)
