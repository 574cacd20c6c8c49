"""Text is read piece by piece: the same rows, lines and columns as at once, wherever it is cut."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import llrkit as lk
from llrkit.io.formats import read_table, scan_tables
from llrkit.io.text_lines import end_of_last_line, open_text

ROWS = 200
NUMBERS = [round(1.5 * i - 7, 2) for i in range(ROWS)]
FORMS = {
    "comma": lambda i, x: f"m{i},t{i},{x},{i % 2}",
    "tab": lambda i, x: f"m{i}\tt{i}\t{x}\t{i % 2}",
    "blank": lambda i, x: f"m{i} t{i} {x} {i % 2}",
    "two blanks": lambda i, x: f"m{i}  t{i} {x} {i % 2}",
    "quoted": lambda i, x: f'"m{i}","t, {i}",{x},{i % 2}',
    "quoted line ends": lambda i, x: f'"m{i}","t\n{i}",{x},{i % 2}',
    "empty last": lambda i, x: f"m{i},t{i},{x},{i % 2},{'' if i % 3 else 'x'}",
}


def content(form, end="\n", last=True):
    header = {"tab": "enroll\ttest\tscore\tlabel", "blank": "enroll test score label"}.get(
        form.removeprefix("two ").removesuffix("s"), "enroll,test,score,label"
    )
    if form == "empty last":
        header += ",note"
    lines = [header, *(FORMS[form](i, x) for i, x in enumerate(NUMBERS))]
    return (end.join(lines) + (end if last else "")).encode()


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 40, 1000, 1 << 24])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("form", FORMS)
def test_every_cut_gives_the_same_table(tmp_path, monkeypatch, form, end, size):
    data = content(form, end, last=form != "tab")
    (tmp_path / "t").write_bytes(data if form != "comma" else gzip.compress(data))
    monkeypatch.setenv("LLRKIT_AT_ONCE", str(size))
    trials = lk.read_trials(tmp_path / "t")
    assert_array_equal(trials.score_array, NUMBERS)
    assert_array_equal(trials.is_target, np.arange(ROWS) % 2 == 1)
    assert trials.table["enroll"].to_list() == [f"m{i}" for i in range(ROWS)]
    (scan,) = scan_tables(tmp_path / "t")
    some = pl.concat([batch.table for batch in scan.read(["label", "score"])])
    assert some.columns == ["label", "score"]
    assert_array_equal(some["score"], NUMBERS)


@pytest.mark.parametrize("fault", ["abc,0", ",0", "nan,0", "1.5,?", "1.5", "1.5,0,0"])
def test_a_fault_in_a_late_piece_is_named_by_its_line(tmp_path, monkeypatch, fault):
    lines = content("comma").decode().split("\n")
    lines[150] = f"m9,t9,{fault}"
    (tmp_path / "t.csv").write_text("\n".join(lines))
    monkeypatch.setenv("LLRKIT_AT_ONCE", "1000")
    for read in (lk.read_trials, lambda path: lk.cllr(lk.scan_trials(path))):
        with pytest.raises(lk.LlrkitError, match="line 151"):
            read(tmp_path / "t.csv")


def test_lines_of_rows_are_those_of_the_file(tmp_path, monkeypatch):
    lines = ["score,label", "1,1", "", "2,0", "   ", "3,1", *(f"{i},0" for i in range(100))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    monkeypatch.setenv("LLRKIT_AT_ONCE", "50")
    trials = lk.read_trials(tmp_path / "t.csv")
    assert trials.lines([0, 1, 2, 50, 102]) == [2, 4, 6, 54, 106]
    assert trials.place(1).endswith("t.csv, line 4")


PARTS = st.lists(st.sampled_from([b"a", b",", b"\n", b'"', b'"x"', b"bc\n", b'"\n"']), max_size=30)


@pytest.mark.slow
@settings(max_examples=300)
@given(PARTS)
def test_cuts_are_never_inside_quotes_against_counting(parts):
    data = b"".join(parts)
    cut = end_of_last_line(data)
    assert cut == 0 or data[cut - 1 : cut] == b"\n"
    assert data[:cut].count(b'"') % 2 == 0


def test_pieces_are_all_of_the_text_and_know_their_lines(tmp_path, monkeypatch):
    data = content("quoted line ends")
    (tmp_path / "t").write_bytes(data)
    monkeypatch.setenv("LLRKIT_AT_ONCE", "100")
    pieces = list(open_text(tmp_path / "t").pieces())
    assert len(pieces) > 10
    assert b"".join(piece.data for piece in pieces) == data
    for piece in pieces:
        assert piece.first_line == data[: data.index(piece.data)].count(b"\n") + 1


def test_a_text_without_rows_is_a_table_without_rows(tmp_path):
    (tmp_path / "t.csv").write_text("score,label\n")
    assert read_table(tmp_path / "t.csv").table.height == 0
    with pytest.raises(lk.errors.EmptyClassError):
        lk.eer(lk.scan_trials(tmp_path / "t.csv"))
