"""Broken trial files, and what reading one must give: an answer, or an error that names the file."""

from __future__ import annotations

import gzip
import io
import re
import warnings
import zlib

import numpy as np
import polars as pl

import llrkit as lk
from llrkit.io import text_lines
from llrkit.io.formats import read_table, scan_tables
from llrkit.io.trial_checks import as_trials_checked, score_values, with_scores

try:  # without them the files of their formats are not made
    import h5py
except ImportError:
    h5py = None
try:
    import pyarrow
except ImportError:
    pyarrow = None

NUMBERS = [
    b"1.5", b"-2", b"0", b"1", b"1e400", b"-1e400", b"NaN", b"inf", b"-Infinity", b"1,5", b"1_000", b"0x1p3",
    b"", b"NA", b"+.5", b"5.", b"1e", b"--1", b" 3 ", b"\xd9\xa3", b"9" * 400, b"1e-400", b"1d5",
]  # fmt: skip
WORDS = [
    b"target", b"nontarget", b"tgt", b"imp", b"1", b"0", b"-1", b"TRUE", b"FALSE", b"bonafide", b"spoof",
    b"a", b"b", b"spk1", b"utt-1", b"id1/x/1.wav", b'"q"', b'"', b'a"b', b"", b"\xff", b"\xe9t\xe9", b"\x00",
    b"score", b"label", b"enroll", b"test", b"model", b"perhaps", b"x" * 5000,
]  # fmt: skip
DELIMITERS = [b",", b"\t", b" ", b";", b"  ", b" \t"]
ENDS = [b"\n", b"\r\n", b"\r", b"\n\n", b"\n \n"]


def seeds() -> list[bytes]:
    """One good file of each format."""
    rows = [("m1", "s1", 2.5, "target"), ("m1", "s2", -1.0, "nontarget"), ("m2", "s1", 0.25, "nontarget")] * 3
    table = pl.DataFrame(rows, schema=["enroll", "test", "score", "label"], orient="row")
    npz, npy, matrix = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(npz, score=np.arange(6.0), label=np.arange(6) % 2)
    np.save(npy, np.arange(6.0))
    np.savez_compressed(matrix, scores=np.eye(2), row_ids=["m1", "m2"], column_ids=["s1", "s2"])
    text = [
        table.write_csv(), table.write_csv(separator="\t"), table.write_csv(separator=" "),
        table.write_csv(include_header=False, separator=" "),
        "".join(f"{e} {t} {s}\n" for e, t, s, _ in rows), "".join(f"{e} {t} {k}\n" for e, t, _, k in rows),
        "".join(f"{int(k == 'target')} {e} {t}\n" for e, t, _, k in rows),
        "".join(f"{s} {e}.wav {t}.wav\n" for e, t, s, _ in rows),
        "".join(f"{e}\t{t}\ta\t{s}\n" for e, t, s, _ in rows),
        "".join(f"{e} {e if k == 'target' else 'x'} {t} {s}\n" for e, t, s, k in rows),
        "".join(f"{e} m {e if k == 'target' else 'x'} {t} {s}\n" for e, t, s, k in rows),
        "".join(f"{t} A01 {'bonafide' if k == 'target' else 'spoof'} {s}\n" for _, t, s, k in rows),
        "".join(f"{s}\n" for _, _, s, _ in rows),
        "".join(f"{int(k == 'target')} {s}\n" for _, _, s, k in rows),
        ",s1,s2\nm1,1.5,2\nm2,-1,0\n", '"score" "label"\n1.5 TRUE\n-2 FALSE\n',
        "".join(f"short2 n short3 f {e} {t} a t {s}\n" for e, t, s, _ in rows),
        "m,s,c,t,x,1,2,3,4,5\n" + "".join(f"{e},{t},a,{k},M,Y,N,N,N,N\n" for e, t, _, k in rows),
        "m,s,c,t,1,2,3,4,5,6,7,8\n" + "".join(f"{e},{t},a,{k},Y,N,N,N,N,N,N,N\n" for e, t, _, k in rows),
        "".join(f"{e},{t},a,{k},Y,Y,N,N,N,N,N,N,N,N\n" for e, t, _, k in rows),
        "".join(f"{'bonafide target' if k == 'target' else 'A07 spoof'} {s}\n" for _, _, s, k in rows),
        "".join(f"{e} {t} alaw ita_tx A07 {k} notrim eval\n" for e, t, _, k in rows),
        "".join(f"{'bonafide' if k == 'target' else 'spoof'} {k} {s}\n" for _, _, s, k in rows),
    ]  # fmt: skip
    packed = [gzip.compress(text[0].encode()), gzip.compress(text[4].encode())]
    packed += [] if pyarrow is None else [pyarrow.Codec("zstd").compress(text[0].encode(), asbytes=True)]
    made = [*(part.encode() for part in text), *packed, npz.getvalue(), npy.getvalue(), matrix.getvalue()]
    return [*made, *column_files(table), *hdf5_files()]


def column_files(table) -> list[bytes]:
    """The same table as Arrow, in several packings; polars itself may abort at a damaged Parquet file."""
    made = []
    for packing in ("uncompressed", "zstd", "lz4"):
        made.append(io.BytesIO())
        table.write_ipc(made[-1], compression=packing)
    made.append(io.BytesIO())
    table.write_ipc_stream(made[-1])
    return [file.getvalue() for file in made]


def hdf5_files() -> list[bytes]:
    """Scores and a key as BOSARIS writes them, a key of SIDEKIT, and an array of bob."""
    if h5py is None:
        return []
    ids = {f"ID/{side}_ids": np.array([b"a", b"b"], dtype="S") for side in ("row", "column")}
    contents = (
        {"scores": np.eye(2), "score_mask": np.ones((2, 2), np.uint8), "file_format": "2.0", **ids},
        {"trial_mask": np.array([[1, -1], [0, 1]], np.int8), **ids}, {"array": np.arange(6.0)},
        {"trial_mask": -np.eye(2, dtype=np.int8), "modelset": [b"a", b"b"], "segset": [b"c", b"d"]},
    )  # fmt: skip
    made = []
    for content in contents:
        made.append(io.BytesIO())
        with h5py.File(made[-1], "w") as archive:
            for name, values in content.items():
                archive[name] = values
    return [file.getvalue() for file in made]


def broken(rng, good) -> bytes:
    """A file made of known pieces, or a good one with faults."""
    if rng.random() < 0.4:
        return _made(rng)
    data = bytearray(rng.choice(good))
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        what = rng.randrange(10)
        if what == 0:
            del data[at:]
        elif what == 1 and data:
            data[at % len(data)] = rng.randrange(256)
        elif what == 2:
            data[at:at] = rng.choice(NUMBERS + WORDS)
        elif what == 3:
            data[at:at] = rng.choice(DELIMITERS + ENDS)
        elif what == 4:
            del data[at : at + rng.randrange(1, 9)]
        elif what == 5:
            data[at:at] = data[at : at + 40]
        elif what == 6:
            data = bytearray(bytes(data).replace(b"\n", rng.choice(ENDS)))
        elif what == 7 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif what == 8:  # the largest and the smallest numbers
            data[at : at + 4] = rng.choice((b"\xff" * 4, b"\xff\xff\xff\x7f", b"\0" * 4, b"\0\0\0\x80"))
        else:
            data[:0] = rng.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\n", b"PK\x03\x04", b"\x1f\x8b", b"#"))
    return bytes(data)


def _made(rng) -> bytes:
    delimiter, end, width = rng.choice(DELIMITERS), rng.choice(ENDS), rng.choice((1, 2, 2, 3, 3, 4, 5, 6, 9))
    columns = [
        rng.sample(rng.choice((NUMBERS, WORDS, WORDS[:2], NUMBERS[:4], WORDS[13:16])), 2)
        for _ in range(width)
    ]
    lines = []
    if rng.random() < 0.4:
        lines.append(
            delimiter.join(rng.sample([b"score", b"label", b"enroll", b"test", b"side", *WORDS[:9]], width))
        )
    for _ in range(rng.randrange(6)):
        ragged = width + (rng.random() < 0.05) - (rng.random() < 0.05)
        lines.append(delimiter.join(rng.choice(columns[i % width]) for i in range(ragged)))
    return end.join(lines) + (end if rng.random() < 0.8 else b"")


def outcome(path, content) -> str:
    """Read a file with this content: 'read' or 'refused'; anything else is an AssertionError."""
    path.write_bytes(content)
    try:
        found, scores = _read(path)
    except lk.LlrkitError as error:
        if path.name not in str(error):
            raise AssertionError(f"{content[:300]!r}: the file is not named: {error}") from error
        return "refused"
    except BaseException as error:  # panics of polars are no Exceptions
        raise AssertionError(f"{content[:300]!r}: {type(error).__name__}: {error}") from error
    if found.format not in ("npz", "npy", "parquet", "arrow", "bosaris"):
        _assert_nothing_lost_or_made(content, found, scores)
    if zlib.crc32(content) % 8 == 0:
        _assert_same_in_batches(path, content, found)
    return "read"


def _read(path):
    """A table and its scores, checked as ``read_trials`` does; a key has none, and labels may be missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.errors.PooledClassesWarning)
        found = read_table(path)
        if not found.score:
            return found, np.empty(0)
        if found.label is None:
            return found, score_values(with_scores(found))
        return found, as_trials_checked(found).score_array


def _assert_nothing_lost_or_made(content, found, scores) -> None:
    rows = _rows(content)
    expected = None if rows is None else rows - _has_header(content, found)
    if found.format != "matrix" and expected not in (None, found.table.height):
        raise AssertionError(f"{content[:300]!r}: {expected} rows became {found.table.height}")
    large = re.search(rb"(?i)inf|e\+?\d\d\d|\d{309}", _plain(content))
    if not np.isfinite(scores).all() and not large:
        raise AssertionError(f"{content[:300]!r}: an infinity that was not there")


def _assert_same_in_batches(path, content, found) -> None:
    """The same rows when the file is read a few lines at a time, and when only some columns are asked for."""
    whole, some = text_lines.BLOCK_BYTES, found.table.columns[-2:][::-1]
    text_lines.BLOCK_BYTES = 16
    try:
        assert _read(path)[0].table.equals(found.table), f"{content[:300]!r}: other rows in batches"
        parts = [part.table for scan in scan_tables(path) for part in scan.read(some)]
        assert pl.concat(parts).equals(found.table.select(some)), f"{content[:300]!r}: other columns"
    except lk.LlrkitError as error:
        if b'"' not in content:  # a quote inside a field may hide where lines end
            raise AssertionError(f"{content[:300]!r}: refused in batches only: {error}") from error
    finally:
        text_lines.BLOCK_BYTES = whole


def _has_header(content, found) -> bool:
    """Tables have one, and keys of SRE12 where the fourth field is no label."""
    fourth = _plain(content).lstrip(b"\xef\xbb\xbf \r\n").split(b",", 4)[3:4]
    return found.format == "table" or (
        found.table.columns[-1] in ("c5", "c8", "c9") and b"target" not in fourth[0]
    )


def _plain(content) -> bytes:
    if content[:4] == b"\x28\xb5\x2f\xfd":
        return pyarrow.CompressedInputStream(io.BytesIO(content), "zstd").read()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def _rows(content) -> int | None:
    """Lines that are not blank, counted in the simplest way; None where that cannot be known."""
    if b'"' in (plain := _plain(content)):
        return None  # they may hold the end of a line
    lines = plain.removeprefix(b"\xef\xbb\xbf").split(b"\n" if b"\n" in plain else b"\r")
    if any(b"\t" in line and not line.strip() for line in lines):
        return None  # empty fields between tabs, or a line of blanks
    return sum(bool(line.strip()) for line in lines)
