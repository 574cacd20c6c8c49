"""Text files: their first lines, and pieces of whole lines that fit into memory."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from llrkit._cached import cached_property
from llrkit._memory import at_once, memory_limit, require_memory
from llrkit.errors import FileFormatError
from llrkit.io.decompress import blocks_of
from llrkit.io.text.delimiter_and_decimals import COMMA_NUMBER, delimiter_of, with_point
from llrkit.io.text.encodings import as_utf8

HEAD_LINES, HEAD_BYTES, LONGEST_LINE = 200, 1 << 17, 1 << 20
BLOCK_BYTES = 1 << 24
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf|infinity|nan)\s*", re.I | re.A)
NO_SCORE = frozenset({"", "na", "-", "n/a", "#n/a", "null", "none"})
"""What stands for a missing score, in small letters; NaN is a number that no score may be."""
BLANK = " \t\r\n\v\f"  # what bytes.split takes for blank too
BOM, UTF_16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Piece:
    """Consecutive whole lines of a text, the first of them with this number."""

    file: str
    data: bytes
    delimiter: str
    first_line: int = 1
    decimal: str = "."

    @cached_property
    def quoted(self) -> bool:
        """Whether there are quotes anywhere."""
        return b'"' in self.data

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and fields of every line that is not blank."""
        data, delimiter, line = self.data, self.delimiter, 1
        before = self.first_line - 1
        try:
            if delimiter == " " and b'"' not in data:
                for line, raw in enumerate(data.split(b"\n"), 1):
                    if raw.strip():
                        yield before + line, [field.decode() for field in raw.split()]
                return
            with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="") as text:
                rows = csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter == " ")
                for fields in rows:
                    if delimiter == " ":
                        fields = [field for field in fields if field]
                    if any(field.strip(BLANK) for field in fields) or len(fields) > 1:
                        yield before + line, fields
                    line = rows.line_num + 1
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, _first_not_utf8(data)) + 1
            raise FileFormatError(
                f"{self.file}, line {before + line}: not UTF-8 text ({error.reason}); name its encoding with "
                "--encoding, for example latin-1 or cp1252"
            ) from None
        except csv.Error as error:
            raise FileFormatError(
                f"{self.file}, line {before + line}: cannot be read as a table ({error})"
            ) from None

    def lines(self, rows: list[int]) -> list[int]:
        """The lines on which these rows of the piece stand."""
        last, line_of = max(rows), {}
        for row, (line, _) in enumerate(self.rows()):
            line_of[row] = line
            if row == last:
                break
        return [line_of[row] for row in rows]


@dataclass(frozen=True)
class TextFile:
    """A text file and what stands between its columns; ``head`` are its first rows with their lines."""

    path: Path
    delimiter: str
    head: list[tuple[int, list[str]]]
    only_returns: bool = False
    """Lines end in carriage returns alone."""
    decimal: str = "."
    encoding: str | None = None
    """None for UTF-8."""

    @property
    def file(self) -> str:
        """The name, for messages."""
        return str(self.path)

    @property
    def first_row_ends(self) -> int:
        """The line on which the first row ends; a quoted name may go on for several."""
        line, fields = self.head[0]
        return line + sum(field.count("\n") for field in fields)

    def heads(self) -> list[list[str]]:
        """The first rows, in which numbers that may have a decimal comma have a point."""
        may_be = self.delimiter != "," or self.decimal == ","
        return [[with_point(field) for field in fields] if may_be else fields for _, fields in self.head]

    def pieces(self, skip: int = 0) -> Iterator[Piece]:
        """The text after its first lines, cut at ends of lines that are not inside quotes."""
        line, waiting, size, due = 1, [], 0, 0
        for block in self._blocks():
            waiting.append(block)
            size += len(block)
            require_memory(size, f"{self.file}, line {line}")
            if size < due:
                continue
            data = b"".join(waiting)
            cut = end_of_last_line(data)
            # nothing is copied where a block ends with a line
            waiting = [data[cut:]] if cut < len(data) else []
            size, due = len(data) - cut, 0 if cut else 2 * len(data)
            if cut:
                piece = _whole_lines(Piece(self.file, data[:cut], self.delimiter, line, self.decimal))
                yield from _after_first_lines(piece, skip)
                line += count_byte(piece.data, b"\n")
        rest = b"".join(waiting)
        if rest:
            piece = Piece(self.file, rest, self.delimiter, line, self.decimal)
            yield from _after_first_lines(_whole_lines(piece), skip)

    def _blocks(self) -> Iterator[bytes]:
        # a block of short lines takes ten times as much as columns, and several are worked on at a time
        size = min(at_once(BLOCK_BYTES), max(memory_limit() // 128, LONGEST_LINE))
        for i, block in enumerate(as_utf8(blocks_of(self.path, size), self.encoding, self.file)):
            data = block.removeprefix(BOM) if i == 0 else block
            yield data.replace(b"\r", b"\n") if self.only_returns else data


def open_text(file: Path, *, decimal: str = ".", encoding: str | None = None) -> TextFile:
    """Look at the first lines of a text file."""
    first = next(as_utf8(blocks_of(file, LONGEST_LINE), encoding, str(file)), b"")
    if first.startswith(UTF_16):
        raise FileFormatError(f"{file}, line 1: UTF-16 text; save it as UTF-8, or use --encoding utf-16")
    data = first.removeprefix(BOM)
    only_returns = b"\n" not in data and b"\r" in data
    if only_returns:
        data = data.replace(b"\r", b"\n")
    head = data[:HEAD_BYTES]
    if not head.strip():
        raise FileFormatError(f"{file}, line 1: empty; expected rows, or a header line with names of columns")
    if b"\x00" in head:
        raise FileFormatError(f"{file}, line 1: binary; expected text with a header line, or rows of scores")
    if len(data) > HEAD_BYTES:  # whole lines only
        head = head[: head.rfind(b"\n") + 1] or data[:LONGEST_LINE].split(b"\n")[0]
    delimiter = delimiter_of(head, decimal)
    rows = []
    for line, fields in _whole_lines(Piece(str(file), head, delimiter)).rows():
        rows.append((line, fields))
        if len(rows) == HEAD_LINES:
            break
    if not rows:
        raise FileFormatError(f"{file}, line 1: nothing but delimiters and blanks")
    return TextFile(file, delimiter, rows, only_returns, decimal, encoding)


def _whole_lines(piece: Piece) -> Piece:
    """The same piece; a carriage return in the middle of a line is an error: who knows what it ends."""
    if b"\r" not in piece.data:
        return piece
    raw = np.frombuffer(piece.data, dtype=np.uint8)
    at = np.flatnonzero(raw[:-1] == ord("\r"))
    at = at[raw[at + 1] != ord("\n")]
    if len(at) and b'"' in piece.data:
        at = at[np.searchsorted(np.flatnonzero(raw == ord('"')), at) % 2 == 0]
    if len(at):
        line = piece.first_line + piece.data.count(b"\n", 0, int(at[0]))
        raise FileFormatError(f"{piece.file}, line {line}: a carriage return in the middle of a line")
    return piece


def _after_first_lines(piece: Piece, skip: int) -> Iterator[Piece]:
    """What of a piece comes after the first lines of the file."""
    at = 0
    for _ in range(skip + 1 - piece.first_line):
        at = piece.data.find(b"\n", at) + 1
        if at == 0:
            return
    if at < len(piece.data):
        yield replace(piece, data=piece.data[at:], first_line=skip + 1) if at else piece


def end_of_last_line(data: bytes) -> int:
    """Where the last line ends whose end is not inside quotes; 0 if there is none.

    Examples
    --------
    >>> end_of_last_line(b'a,b' + b'\\n' + b'"c' + b'\\n')
    4
    """
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    raw = np.frombuffer(data, dtype=np.uint8)
    ends, quotes = np.flatnonzero(raw == ord("\n")), np.flatnonzero(raw == ord('"'))
    around = np.isin(raw, np.frombuffer(b'"\t\r\n ,;', dtype=np.uint8))
    before, after = around[np.maximum(quotes - 1, 0)], around[np.minimum(quotes + 1, len(raw) - 1)]
    if not (before | after | (quotes == 0)).all():  # quotes inside of fields: who knows which ones count
        return 0
    outside = np.flatnonzero(np.searchsorted(quotes, ends) % 2 == 0)
    return int(ends[outside[-1]]) + 1 if len(outside) else 0


def count_byte(data: bytes, byte: bytes) -> int:
    """How often a byte occurs; several times faster than ``bytes.count`` where it occurs often.

    Examples
    --------
    >>> count_byte(b"a b c", b" ")
    2
    """
    raw, step = np.frombuffer(data, dtype=np.uint8), 1 << 20
    return sum(int(np.count_nonzero(raw[i : i + step] == ord(byte))) for i in range(0, len(raw), step))


def _first_not_utf8(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


def not_a_number(where: str, field: str, decimal: str = ".") -> FileFormatError:
    """The error for a score that is not a number."""
    shown = field if len(field) <= 40 else field[:40] + "..."
    hint = ""
    if decimal == "." and COMMA_NUMBER.fullmatch(field):
        hint = "; numbers with a decimal comma are read with --decimal ,"
    elif decimal == "," and NUMBER.fullmatch(field):
        hint = "; numbers of this file have a decimal comma, unless --decimal . says otherwise"
    return FileFormatError(f"{where}: {shown!r} is not a number{hint}")
