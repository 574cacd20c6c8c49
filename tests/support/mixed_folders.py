"""Tables and folders of tables from a grammar, and what reading them must give according to Python itself.

Every input is made together with its answer: what ``csv`` and ``float`` make of the text, or the values that
went into a column file. Nothing of llrkit is used to find the answer, also not whether there is one: types of
different kinds in one folder are to be refused, and whole numbers that a float cannot hold.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import shutil
import struct
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

import llrkit as lk
from llrkit.io.formats import read_table
from llrkit.io.read import convert, open_batches
from llrkit.io.read_options import PLAIN, Reading

NUMBERS = [
    "0", "-0", "-0.0", "1", "-1", "+1", "1.", ".5", "-.5", "+.5e-3", "1e5", "1E+5", "1e-400", "1e400",
    "-1e999", "inf", "-Infinity", "5e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "0.1",
    "0.30000000000000004", "9007199254740991", "1234567890.12345678901234567890", "1e22", "1e23", "8.5e-07",
    "00012.50", "4.35", "1.0000000000000002",
]  # fmt: skip
NO_NUMBERS = ["1,5e", "one", "0x10", "1_000", "--1", "1e", "e5", "1.2.3", "٣", "$1", "1 2", "tru", ".", "+"]
WORDS = [
    "a", "b c", "ü", "001", "1", "1.0", "-", "x" * 300, "a,b", 'say "x"', "two\nlines", "tab\there", "=1+1",
    "'", "日本",
]  # fmt: skip
TARGETS = [
    ("target", "nontarget"), ("1", "0"), ("1", "-1"), ("True", "False"), ("tgt", "imp"), ("TARGET", "Non"),
]  # fmt: skip
ENDS = ["\n", "\r\n"]
NO_SCORES = ["", "NA", "nan", "NaN"]
ENCODINGS = ["latin-1", "cp1252", "utf-16", "utf-16-be", "shift_jis"]
COLUMNS = ["enroll", "test", "n", "room", "weight", "day"]
IDS = ("enroll", "test")


def bits(value):
    """A float as its bytes, so that zeros of both signs differ and a NaN equals itself."""
    return "nan" if math.isnan(value) else struct.pack("<d", value)


class RefusedError(Exception):
    """What the answer is where there is none."""


def text_case(rng):
    """A delimited text, how it is to be read, and its rows as Python's csv and float read them.

    The rows are None if the text must be refused. Numbers may have a decimal comma, scores may be missing,
    and the text may be in another encoding than UTF-8, which then is told.
    """
    delimiter = rng.choice(",\t;")
    comma = delimiter != "," and rng.random() < 0.2
    names = ["score", "label", *rng.sample(COLUMNS, rng.randrange(4))]
    rng.shuffle(names)
    words, bad = rng.choice(TARGETS), rng.random() < 0.1
    rows = []
    for _ in range(rng.randrange(1, 9)):
        row = {name: rng.choice(WORDS) for name in names} | {"label": rng.choice(words)}
        row["score"] = rng.choice(NUMBERS)
        if rng.random() < 0.2:
            row["score"] = repr(rng.uniform(-9, 9) * 10 ** rng.randrange(-9, 9))
        if rng.random() < 0.1:
            row["score"] = rng.choice((" {}", "{} ", " {} ")).format(row["score"])
        if comma:  # which needs a digit after it
            row["score"] = re.sub(r"\.(?=\s|$)", "", row["score"]).replace(".", ",")
        if rng.random() < 0.02:
            row["score"] = rng.choice(NO_SCORES)
        for name in set(names) - {"score", "label"}:
            if rng.random() < 0.1:
                row[name] = rng.choice(("", "NA"))
        rows.append(row)
    if bad:
        rng.choice(rows)["score"] = rng.choice(NO_NUMBERS)
    out = io.StringIO()
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC))
    writer = csv.DictWriter(out, names, delimiter=delimiter, lineterminator=rng.choice(ENDS), quoting=quoting)
    writer.writeheader()
    writer.writerows(rows)
    text = out.getvalue()
    if rng.random() < 0.1:
        text = text.rstrip("\r\n")
    options = {"decimal": ","} if comma else {}
    data = (b"\xef\xbb\xbf" if rng.random() < 0.1 else b"") + text.encode()
    if rng.random() < 0.1:
        with suppress(UnicodeEncodeError):  # not every encoding has every word
            encoding = rng.choice(ENCODINGS)
            data = text.encode(encoding)
            options["encoding"] = encoding
    if rng.random() < 0.1:
        data = gzip.compress(data)
    return data, options, (None if bad else rows_of(text, delimiter, "," if comma else "."))


def rows_of(text, delimiter, point="."):
    """The rows of a text with a header, by ``csv`` and ``float`` alone."""
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return [{name: cell(name, field, point) for name, field in zip(header, row, strict=True)} for row in rows]


def cell(name, field, point="."):
    if name == "score":
        return None if field in ("", "NA") else float(field.replace(point, "."))
    return None if field == "" or (field == "NA" and name not in IDS) else field


def same_cell(name, found, expected):
    if name == "score" and found is not None and expected is not None:
        return bits(found) == bits(expected)
    return found == expected


def attempt(read):
    """What reading gives, or the error that llrkit raised on purpose."""
    try:
        return read()
    except lk.LlrkitError as error:
        return error


def check_text(path, data, options, expected):
    """'read' or 'refused', as it should be; anything else is an AssertionError."""
    path.write_bytes(data)
    table = attempt(lambda: read_table(path, Reading(**options)).table)
    if isinstance(table, Exception):
        assert expected is None, f"{data[:500]!r}: refused though it can be read: {table}"
        assert path.name in str(table), f"{data[:500]!r}: the file is not named: {table}"
        return "refused"
    assert expected is not None, f"{data[:500]!r}: read though a score is no number"
    assert table.height == len(expected), f"{data[:500]!r}: {len(expected)} rows became {table.height}"
    for name in table.columns:
        for found, row in zip(table[name], expected, strict=True):
            assert same_cell(name, found, row[name]), f"{data[:500]!r}: {name} {row[name]!r} became {found!r}"
    return "read"


INTEGERS = {pl.Int8: (-128, 127), pl.Int16: (-(2**15), 2**15 - 1), pl.Int32: (-(2**31), 2**31 - 1),
            pl.Int64: (-(2**63), 2**63 - 1), pl.UInt8: (0, 255), pl.UInt32: (0, 2**32 - 1),
            pl.UInt64: (0, 2**64 - 1)}  # fmt: skip
UNSIGNED = (pl.UInt8, pl.UInt32, pl.UInt64)
FLOATS = [0.5, -0.0, 1e300, -2.7, 0.1, 5e-324, 3.0, 1e22]


def integers(rng, n, kind, largest):
    low, high = max(INTEGERS[kind][0], -largest), min(INTEGERS[kind][1], largest)
    edges = [value for value in (low, high, 0, 1, 2, 2**53, 2**53 + 1) if low <= value <= high]
    usual = range(max(low, -99), min(high, 99) + 1)
    return [rng.choice(edges if rng.random() < 0.2 else usual) for _ in range(n)]


def column(rng, name, n):
    """A kind of values, a polars type that holds it, and some values."""
    choices = {
        "score": ["int", "float", "float32"],
        "label": ["words", "bool", "zero-one", "signs"],
        "weight": ["int", "float", "float32"],
        "enroll": ["int", "text", "coded"], "test": ["int", "text", "coded"],
        "room": ["text", "coded", "null", "int"], "n": ["int", "float", "bool", "null"],
        "day": ["date", "text", "int"],
    }[name]  # fmt: skip
    kind = rng.choice(choices)
    if kind == "int":
        dtype = rng.choice(list(INTEGERS))
        # scores become floats in the end, so that larger ones are refused wherever they are
        return "int", dtype, integers(rng, n, dtype, 2**53 - 1 if name == "score" else 2**64)
    if kind == "float":
        return "float", pl.Float64, [rng.choice(FLOATS) for _ in range(n)]
    if kind == "float32":
        return "float", pl.Float32, [float(np.float32(rng.choice((0.1, 1.5, -2.0, 1e30)))) for _ in range(n)]
    if kind in ("text", "coded"):
        return "text", pl.String if kind == "text" else pl.Categorical, [rng.choice(WORDS) for _ in range(n)]
    if kind == "bool":
        return "bool", pl.Boolean, [rng.random() < 0.5 for _ in range(n)]
    if kind == "null":
        return "null", pl.Null, [None] * n
    if kind == "date":
        return "date", pl.Date, [None] * n
    words = {"words": ("target", "nontarget"), "zero-one": (1, 0), "signs": (1, -1)}[kind]
    values = [rng.choice(words) for _ in range(n)]
    if kind == "words":
        return "text", pl.String, values
    return "int", rng.choice((pl.Int8, pl.Int64)), values


def folder_case(rng, folder):
    """Write two or three files of the same columns; the rows they hold together, or None if refused."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    names = ["score", "label", *rng.sample(COLUMNS, rng.randrange(4))]
    files, columns = [], {name: [] for name in names}
    alike = {name: column(rng, name, 1) for name in names if rng.random() < 0.6}
    for i in range(rng.choice((2, 2, 3))):
        n, ending = rng.randrange(1, 5), rng.choice(("parquet", "parquet", "arrow", "csv"))
        made = {}
        for name in names:
            kind, dtype, values = column(rng, name, n)
            while name in alike and (kind, dtype) != alike[name][:2]:
                kind, dtype, values = column(rng, name, n)
            made[name] = (kind, dtype, values)
        frame = pl.DataFrame([pl.Series(name, made[name][2], dtype=made[name][1]) for name in names])
        if rng.random() < 0.2:
            frame = frame.select(rng.sample(frame.columns, frame.width))
        file = folder / f"{i}.{ending}"
        if ending == "csv":
            write_text(frame, file)
        elif ending == "parquet":
            frame.write_parquet(file)
        else:
            (frame.write_ipc if rng.random() < 0.5 else frame.write_ipc_stream)(file)
        files.append(file)
        for name, (kind, dtype, values) in made.items():
            if ending == "csv" and name == "score":
                kind, dtype, values = "float", pl.Float64, [float(value) for value in values]
            elif ending == "csv":
                kind, dtype = "text", pl.String
                values = [shown(value) for value in values]
            columns[name].append((kind, dtype, values))
    try:
        return {name: together(parts) for name, parts in columns.items()}
    except RefusedError:
        return None


def write_text(frame, file):
    with file.open("w", newline="", encoding="utf-8") as raw:
        writer = csv.writer(raw, lineterminator="\n")
        writer.writerow(frame.columns)
        writer.writerows([shown(value) or "" for value in row] for row in frame.iter_rows())


def shown(value):
    """A value as text."""
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else repr(value)


def together(parts):
    """The values of a column in all files, or an error if no type holds them exactly."""
    everything = [value for _, _, values in parts for value in values]
    numbers = [value for value in everything if isinstance(value, (int, float))]
    types = {dtype for kind, dtype, _ in parts if kind == "int"}
    kinds = {kind for kind, _, _ in parts} - {"null"}
    if kinds == {"int", "text"}:
        return [shown(value) for value in everything]
    if kinds == {"int"} and len({dtype in UNSIGNED for dtype in types}) == 2 and max(numbers) >= 2**63:
        raise RefusedError
    if kinds == {"int", "float"}:
        if any(float(value) != value for value in numbers):  # Python compares these exactly
            raise RefusedError
    elif len(kinds) > 1:
        raise RefusedError
    return everything


def same(found, expected):
    """Whether a cell that Python's csv read is a value."""
    if expected is None or isinstance(expected, (str, bool)):
        return found == ("" if expected is None else shown(expected))
    if isinstance(expected, int):
        return (int(found) if found.lstrip("-").isdecimal() else float(found)) == expected
    return bits(float(found)) == bits(expected)


def check_folder(folder, expected, out):
    """Read a folder at once, in batches, and by converting it; all must agree with each other and Python."""
    ways = {"memory": in_memory, "batches": in_batches, "convert": converted}
    outcomes = {way: attempt(partial(read, folder, out)) for way, read in ways.items()}
    refused = {way for way, found in outcomes.items() if isinstance(found, Exception)}
    for way in refused:
        named = [file.name for file in folder.iterdir() if file.name in str(outcomes[way])]
        assert len(named) > 1, f"{way}: two files are to be named: {outcomes[way]}"
    if expected is None:
        assert refused == set(outcomes), f"{described(folder)}: not refused by {set(outcomes) - refused}"
        return "refused"
    assert not refused, f"{described(folder)}: refused by {refused}: {outcomes}"
    for way, rows in outcomes.items():
        for name, values in expected.items():
            assert len(rows[name]) == len(values), f"{way}: {described(folder)}"
            for found, value in zip(rows[name], values, strict=True):
                assert same(found, value), f"{way}, {described(folder)}: {name} {value!r} became {found!r}"
    return "read"


def in_memory(folder, _):
    return as_cells(read_table(folder).table)


def in_batches(folder, _):
    scan = open_batches(folder, PLAIN)
    return as_cells(pl.concat([batch.table for batch in scan.read(scan.columns)]))


def as_cells(table):
    return {name: [shown(value) or "" for value in table[name]] for name in table.columns}


def converted(folder, out):
    convert(folder, out / "one.csv")
    with (out / "one.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def described(folder: Path):
    """The types of the files, for messages."""
    shown = {}
    for file in sorted(folder.iterdir()):
        head = file.read_bytes()[:200]
        stream = file.suffix == ".arrow" and not head.startswith(b"ARROW1")
        reader = {".parquet": pl.read_parquet, ".arrow": pl.read_ipc_stream if stream else pl.read_ipc}
        frame = reader[file.suffix](file.read_bytes()) if file.suffix in reader else None
        shown[file.name] = head if frame is None else (dict(frame.schema), frame.rows())
    return shown
