"""Bounds of trials on a cluster: the speakers and pairs of memory."""

import pytest
from shared_speakers import sample

import llrkit as lk

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("speakers", [None, "left", ("left", "right")])
@pytest.mark.parametrize("crossed", [False, True])
def test_sources_equal_those_of_memory(speakers, crossed, client, tmp_path):
    trials = sample(n_speakers=30, n=900, names=True, crossed=crossed)
    for i, part in enumerate(trials.table.iter_slices(350)):
        part.write_parquet(tmp_path / f"part{i}.parquet", row_group_size=100)
    source = lk.DaskSource.from_parquet(tmp_path, client)
    line = lk.maps.AffineMap(a=1.0, b=0.0)
    bounded = lk.maps.bound_map(line, source, speakers=speakers)
    assert bounded.details == lk.maps.bound_map(line, trials, speakers=speakers).details
