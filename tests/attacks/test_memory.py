"""What is read is bounded by what it allocates, not by what a file is packed to or says of itself."""

import gzip
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import llrkit as lk
from llrkit.base import process
from llrkit.errors import FileFormatError, InputError, MemoryLimitError

ROWS = 600_000
LIMIT = "12M"


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    """Small files that hold many rows of the same."""
    folder = tmp_path_factory.mktemp("bombs")
    table = pl.DataFrame({"score": np.zeros(ROWS), "label": np.tile(np.array([1, 0]), ROWS // 2)})
    table.write_parquet(folder / "a.parquet", row_group_size=ROWS)
    table.write_ipc(folder / "a.arrow", compression="zstd")
    lines = b"score,label\n" + b"0.25,1\n0.50,0\n" * (ROWS // 2)
    (folder / "a.csv.gz").write_bytes(gzip.compress(lines, 6))
    np.savez_compressed(folder / "a.npz", score=np.zeros(ROWS), label=np.tile([True, False], ROWS // 2))
    np.save(folder / "a.npy", np.zeros(ROWS))
    return folder


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv.gz", "a.npz", "a.npy"])
def test_what_would_not_fit_is_refused_before_it_is_held(bombs, name, monkeypatch):
    monkeypatch.setenv("LLRKIT_MAX_MEMORY", LIMIT)
    path = bombs / name
    with pytest.raises(InputError, match="LLRKIT_MAX_MEMORY"):
        lk.read_trials(path, nontargets=path if name == "a.npy" else None)
    monkeypatch.setenv("LLRKIT_MAX_MEMORY", "8G")
    assert len(lk.read_trials(path, nontargets=path if name == "a.npy" else None)) >= ROWS


@pytest.fixture(scope="module")
def matrices(tmp_path_factory, need):
    """HDF5 of 1,500 models and 1,000 segments, a trial in every cell or in every 50th, with keys."""
    h5py, folder = need("h5py"), tmp_path_factory.mktemp("matrices")
    cells = np.arange(1_500_000).reshape(1500, 1000)
    for name, step in (("full", 1), ("sparse", 50)):
        there = cells % step == 0
        label = np.where(cells // step % 10 == 0, 1, -1) * there
        arrays = {f"{name}.h5": {"scores": (cells % 7).astype(float), "score_mask": there.astype("i1")},
                  f"{name}.key.h5": {"trial_mask": label.astype("i1")}}  # fmt: skip
        for file, held in arrays.items():
            with h5py.File(folder / file, "w") as archive:
                for part, array in held.items():
                    archive.create_dataset(part, data=array, compression="gzip", chunks=(100, 500))
                for part, n in (("row_ids", 1500), ("column_ids", 1000)):
                    ids = [f"{part}-{i:08d}".encode() for i in range(n)]
                    archive[f"ID/{part}"] = np.array(ids, dtype=h5py.string_dtype())
    return folder


def test_trials_of_a_matrix_are_counted_and_not_its_cells(matrices, monkeypatch):
    monkeypatch.setenv("LLRKIT_MAX_MEMORY", "120M")
    trials = lk.read_trials(matrices / "sparse.h5", key=matrices / "sparse.key.h5")
    assert (len(trials), trials.is_target.sum()) == (30_000, 3_000)
    cells = np.arange(0, 1_500_000, 50)
    assert trials.table["score"].to_list() == (cells % 7).tolist()
    assert trials.table["enroll"].to_list() == [f"row_ids-{cell // 1000:08d}" for cell in cells]
    with pytest.raises(MemoryLimitError):
        lk.read_trials(matrices / "full.h5", key=matrices / "full.key.h5")
    monkeypatch.setenv("LLRKIT_MAX_MEMORY", "300M")  # each of both files fits, but not their join
    with pytest.raises(MemoryLimitError):
        lk.read_trials(matrices / "full.h5", key=matrices / "full.key.h5")


PEAK = """
import resource, sys
import llrkit as lk
from llrkit.engine.open import open_trials
from llrkit.io.read_options import Reading
lk.auc(lk.Scores([1.0], [0.0]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        path, _, key = path.partition("+")
        print(lk.auc(open_trials(path, Reading(key=key or None))))
    except lk.LlrkitError as error:
        print(type(error).__name__)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in kilobytes on Linux")
def test_the_peak_stays_below_the_limit(matrices, tmp_path):
    """A group of rows or a matrix too large to be decoded whole is decoded in pieces; the rest is refused."""
    rows = 8_000_000  # 96 MB of values in one group of rows
    scores = np.random.default_rng(1).integers(0, 50, size=rows) / 64.0
    table = pl.DataFrame({"score": scores, "label": np.tile(np.array([1, 0], np.int32), rows // 2)})
    table.write_parquet(tmp_path / "large.parquet", row_group_size=rows)
    equal = pl.DataFrame({"score": np.zeros(3_000_000), "label": np.tile(np.array([1, 0]), 1_500_000)})
    equal.write_ipc(tmp_path / "large.arrow", compression="zstd")
    paths = [str(tmp_path / f"large.{kind}") for kind in ("parquet", "arrow")]
    paths += [f"{matrices / kind}.h5+{matrices / kind}.key.h5" for kind in ("full", "sparse")]
    limited = {**os.environ, "LLRKIT_MAX_MEMORY": "120M", "LLRKIT_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", PEAK, *paths], env=limited, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    large, *others, sparse, peak = done.stdout.split()
    assert abs(float(large) - 0.5) < 0.01
    assert abs(float(sparse) - 0.5) < 0.01
    assert others == ["MemoryLimitError"] * 2
    assert int(peak) < 200  # megabytes, with what libraries need that are loaded on the way


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in kilobytes on Linux")
def test_short_texts_count_as_what_they_take(tmp_path):
    """22 MB of text become 112 MB: a number of 8 bytes and three texts, which take 16 each however short."""
    lines = b"score,label,a,b\n" + b"0.25,1,x,y\n0.50,0,x,y\n" * 1_000_000
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(lines, 1))
    limited = {**os.environ, "LLRKIT_MAX_MEMORY": "120M", "LLRKIT_THREADS": "2"}
    command = [sys.executable, "-c", PEAK, str(tmp_path / "a.csv.gz")]
    done = subprocess.run(command, env=limited, capture_output=True, text=True)
    refused, peak = done.stdout.split()
    assert refused == "MemoryLimitError", done.stderr
    assert int(peak) < 200  # megabytes, with what libraries need that are loaded on the way


def test_an_array_that_announces_more_than_it_holds(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("score.npy", header.getvalue())
    (tmp_path / "a.npy").write_bytes(header.getvalue())
    for name in ("a.npz", "a.npy"):
        with pytest.raises(FileFormatError):
            lk.read_trials(tmp_path / name)


def test_a_line_without_end_is_not_held(tmp_path, monkeypatch):
    monkeypatch.setenv("LLRKIT_MAX_MEMORY", "8M")
    (tmp_path / "a.csv").write_bytes(b"score,label\n1,1\n" + b'0,"' + b"x" * 8_000_000)
    with pytest.raises(InputError):
        lk.read_trials(tmp_path / "a.csv")


def test_a_limit_that_is_none_is_refused(monkeypatch):
    for text in ("x", "-1", "0", "1Q", "nan", "1e5G", "G", "9" * 40):
        monkeypatch.setenv("LLRKIT_MAX_MEMORY", text)
        with pytest.raises(InputError, match="LLRKIT_MAX_MEMORY"):
            process.memory_limit()


def test_by_default_a_share_of_what_there_is(monkeypatch):
    monkeypatch.delenv("LLRKIT_MAX_MEMORY", raising=False)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < process.memory_limit() <= 0.75 * total


def test_the_limit_of_a_cgroup_counts(monkeypatch, tmp_path):
    texts = {"/proc/self/cgroup": "0::/job/step\n", "/sys/fs/cgroup/job/memory.max": "1000000\n",
             "/sys/fs/cgroup/job/step/memory.max": "max\n"}  # fmt: skip

    def read_text(self, *args, **kwargs):
        if str(self) not in texts:
            raise FileNotFoundError(str(self))
        return texts[str(self)]

    monkeypatch.setattr(Path, "read_text", read_text)
    assert process._cgroup_limits() == [1_000_000]
