"""Reading tables: what is accepted, and how what is not gets named."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import llrkit as lk

ROWS = [
    (1.5, "target", "f"),
    (-0.25, "nontarget", "m"),
    (float("inf"), "target", "m"),
    (-2.0, "nontarget", "f"),
]


def text(delimiter: str) -> str:
    lines = [delimiter.join(("score", "label", "sex"))]
    lines += [delimiter.join((repr(score), label, sex)) for score, label, sex in ROWS]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("delimiter", [",", "\t", ";", " ", "   "])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_delimited_text_is_read_whatever_its_delimiter(tmp_path, delimiter, line_end, packed):
    path = tmp_path / ("scores.txt.gz" if packed else "scores.txt")
    content = text(delimiter).replace("\n", line_end).encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    trials = lk.read_trials(path)
    assert_array_equal(trials.score_array, [row[0] for row in ROWS])
    assert_array_equal(trials.is_target, [True, False, True, False])
    assert trials.columns == ["score", "label", "sex"]


def test_byte_order_mark_quotes_and_missing_last_newline(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_bytes(b'\xef\xbb\xbf"score","label"\n"1.5","TRUE"\n-1,FALSE')
    assert_array_equal(lk.read_trials(path).scores().target, [1.5])


def test_parquet_and_npz_give_the_same_bits_as_text(tmp_path):
    scores = np.array([0.1, -0.2, 1 / 3, 7e-300])
    labels = np.array([1, 0, 1, 0])
    table = pl.DataFrame({"score": scores, "label": labels})
    table.write_csv(tmp_path / "a.csv")
    table.write_parquet(tmp_path / "a.parquet")
    np.savez(tmp_path / "a.npz", score=scores, label=labels)
    np.savez(tmp_path / "classes.npz", target=scores[labels == 1], nontarget=scores[labels == 0])
    for name in ("a.csv", "a.parquet", "a.npz", "classes.npz"):
        read = lk.read_trials(tmp_path / name).scores()
        assert_array_equal(read.target, scores[labels == 1])
        assert_array_equal(read.nontarget, scores[labels == 0])


def test_columns_can_be_named(tmp_path):
    path = tmp_path / "s.tsv"
    path.write_text("key\tllr\nimp\t-1\ntgt\t2\n")
    assert_array_equal(lk.read_trials(path, score="llr", label="key").scores().target, [2.0])


# what is wrong with a text, and where
MALFORMED = {
    "\x00\x01\x02": "line 1",
    "model,test\n1,2\n": "line 1",
    "score,label\n1,target\nabc,nontarget\n": "line 3.*'abc'",
    "score,label\n1,target\n\n1.5x,nontarget\n": "line 4.*'1.5x'",
    "score,label\n1,target\nnan,nontarget\n": "line 3",
    "score,label\n1,target\n,nontarget\n": "line 3",
    "score,label\n1,target\n2,\n": "line 3",
    "score,label\n1,target\n2,perhaps\n": "line 3.*'perhaps'",
    "score,label\n1,target\n2,nontarget,5\n": "line 3",
    "score,label\n1,target\n2\n": "line 3",
    "score label\n1 target\n2 nontarget 7\n": "line 3",
    'score,label\n"a\nb",target\n': "line 2",
    "score,label\n": "",
    "score,label\n1,target\n": "nontarget",
}


def test_malformed_text_is_named_by_line(tmp_path):
    path = tmp_path / "bad.csv"
    for content, said in MALFORMED.items():
        path.write_text(content)
        for read in (lambda: lk.read_trials(path).scores(), lambda: lk.evaluate(lk.scan_trials(path))):
            with pytest.raises(lk.LlrkitError, match=f"(?s){said}"):
                read()


def test_broken_and_missing_files_are_named(tmp_path):
    for name, content in (
        ("x.parquet", b"PAR1 no"), ("x.npz", b"PK\x03\x04 no"), ("x.npz", b""),
        ("x.csv", b"score,label\n1,target\n\xff\xfe,nontarget\n"), ("x.csv", b"\x1f\x8b\x08\x00truncated"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(content)
        with pytest.raises(lk.LlrkitError, match=name):
            lk.read_trials(tmp_path / name)
    (tmp_path / "empty").mkdir()
    for missing in (tmp_path / "nothing.csv", tmp_path / "empty", tmp_path / "*.tsv"):
        for read in (lk.read_trials, lk.scan_trials):
            with pytest.raises(lk.errors.FileFormatError):
                read(missing)


def test_npz_with_pickles_is_refused_and_nothing_runs(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, score=np.array([1.0, "two"], dtype=object), label=np.array([0, 1]))
    with pytest.raises(lk.errors.FileFormatError, match="without pickles"):
        lk.read_trials(path)
    for arrays in (
        {"score": [1.0, 2.0]},
        {"loss": [1.0, 2.0]},
        {"score": [1.0, 2.0], "label": [1]},
        {"score": [[1.0, 2.0]], "label": [1]},
    ):
        np.savez(path, **arrays)
        with pytest.raises(lk.errors.FileFormatError):
            lk.read_trials(path)
