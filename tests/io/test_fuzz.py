"""Broken files: always an answer or an error that names the file, never another exception or a lost row."""

from __future__ import annotations

import gzip
import io
import random
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fuzz import DELIMITERS, ENDS, NUMBERS, WORDS, broken, outcome, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

import llrkit as lk

SHARDS, EACH, DRAWN = 4, 600, 200  # benchmarks/fuzz_readers.py tries as many as one likes
MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # files are made by the thousand


@pytest.fixture(scope="module")
def place():
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder) / "fuzzed.dat"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SHARDS))
def test_good_files_with_faults_and_files_of_known_pieces(place, seed):
    rng, good = random.Random(seed), seeds()
    seen = {"read": 0, "refused": 0}
    for _ in range(EACH):
        seen[outcome(place, broken(rng, good))] += 1
    assert min(seen.values()) > 50  # neither side is vacuous


FIELD = st.one_of(
    st.sampled_from(NUMBERS + WORDS), st.floats().map(lambda x: repr(x).encode()), st.binary(max_size=6)
)
ROWS = st.lists(st.lists(FIELD, min_size=1, max_size=5), max_size=5)


@pytest.mark.slow
@settings(max_examples=DRAWN)
@given(rows=ROWS, delimiter=st.sampled_from(DELIMITERS), end=st.sampled_from(ENDS), zipped=st.booleans())
def test_drawn_rows(rows, delimiter, end, zipped):
    content = end.join(delimiter.join(row) for row in rows)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        path = Path(folder) / "drawn.txt"
        assert outcome(path, gzip.compress(content, 1) if zipped else content) in ("read", "refused")


def test_kept_inputs_are_refused(place):
    """What fuzzing found."""
    for content in (
        b"\x1f",
        b"imp\tenroll\t-1\t0\nspk1\t1\t1\t1\nid1/x/1.wav\t1\t0\t1\n",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }   e': (6,), }\n",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', {fortran_order': F\r\nalse, 'shape': (6,), }   [",
        b"score\tlabel\ttest\n1\t0\ta\n\t\t\n",  # between tabs, a line of tabs is a row of empty fields
    ):
        assert outcome(place, content) == "refused", content


CORPUS = sorted((Path(__file__).parents[1] / "corpus").iterdir())


READ = {
    "lines_of_blanks.txt",
    "line_of_tabs.tsv",
    "lines_of_tabs_and_returns.tsv",
    "quotes_inside_fields.csv",
}


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_kept_files_are_read_or_refused_and_nothing_is_printed(place, path, capfd):
    """Files that once lost rows or raised something else."""
    assert outcome(place, path.read_bytes()) == ("read" if path.name in READ else "refused")
    assert capfd.readouterr().err == ""


BY_LINE = [
    (b"score,label\n1,target\n1e400,target\n0,imp\n", None),
    (b"score,label\r1,target\r0,imp\r", None),
    (b"\xef\xbb\xbfscore,label\r\n1,target\r\n0,imp\r\n", None),
    (b"score;label\n1;target\n1,500;imp\n", "line 3"),
    (b"score,label\n" + b"1,target\n" * 10 + b"x" * 3_000_000 + b",imp\n", "line 12"),
    (b"y" * 5_000_000, "line 1"),
    ("score,label\n1,target\n0,imp\n".encode("utf-16"), "UTF-16"),
    ("score,label,name\n1,target,M\xfcller\n0,imp,x\n".encode("latin-1"), "line 2"),
    (b"\n\n\n", ""),
    (b"score\n1\n2\n", "one class"),
    (b"a b 1.5\nc  2.5\n", "line 2"),
    (b"a b 1.5\na b\tc 2.5\n", "line 2"),
    (b'score,label\n1,target\n"0,imp\n', "line 3"),
    (b"score,label\n1,target\r2,imp\n0,imp\n", "line 2"),
    (b'score,label\n1,"tar\rget"\n0,imp\n', "line 2"),
    (b"score,label,Score\n1,target,2\n0,imp,3\n", "line 1"),
    (b"score,label,score\n1,target,2\n0,imp,3\n", "line 1"),
]


def test_what_is_wrong_is_named_by_line(tmp_path):
    path = tmp_path / "file.txt"
    for content, said in BY_LINE:
        path.write_bytes(content)
        if said is None:
            assert lk.read_trials(path).scores().n_target >= 1
        else:
            with pytest.raises(lk.LlrkitError, match=f"file.txt.*{said}"):
                lk.read_trials(path)


def zstd_bomb() -> bytes:
    """Two gigabytes of the letter a: blocks that say 'this byte, 128 KB of it' (RFC 8878)."""
    block = lambda last: ((1 << 17) << 3 | 1 << 1 | last).to_bytes(3, "little") + b"a"  # noqa: E731
    return b"\x28\xb5\x2f\xfd" + b"\x00\x58" + block(0) * 16_383 + block(1)


def zip_bomb() -> bytes:
    made, head = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (1 << 23,)})
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("score.npy", head.getvalue() + bytes(1 << 26))
    return made.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("b.gz", lambda: gzip.compress((b"1." + b"0" * 4000 + b"\n") * 40_000, 3)),
        ("b.zst", zstd_bomb),
        ("b.npz", zip_bomb),
    ],
)
def test_bombs_are_refused(tmp_path, name, make):
    (tmp_path / name).write_bytes(make())
    with pytest.raises(lk.errors.FileFormatError, match="unpacks to more than"):
        lk.read_trials(tmp_path / name)
