"""Lists of speech files: a small table of who speaks in which file."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from llrkit._format import counted
from llrkit._inputs import existing_file, note_input
from llrkit.errors import FileFormatError
from llrkit.io.text.lines import open_text

SPEAKER_NAMES = ("speaker", "spk", "speaker_id", "spk_id", "model")
MADE_HERE = ("audio_seconds", "frames", "norm", "sessions", "speech_seconds")
"""Columns that enrollment and extraction make."""
FILE_NAMES = ("file", "path", "wav", "filename", "utterance", "utt", "segment", "id")

_MOST_DIGITS = 15
"""Longer numbers are codes, and a float would change them."""


@dataclass(frozen=True)
class SpeechList:
    """Files as they are written in the list, and their speakers if it has any."""

    origin: str
    files: tuple[str, ...]
    speakers: tuple[str, ...] | None
    lines: tuple[int, ...]
    columns: Mapping[str, tuple[str | float, ...]] = field(default_factory=dict)
    """What else the list says of each file; a column of numbers holds numbers."""

    def paths(self, folder: str | PathLike[str] | None = None, *, require: bool = True) -> list[Path]:
        """Where the files are: beside the list, or in another folder. One that is not there is refused."""
        root = Path(self.origin).parent if folder is None else Path(folder)
        paths = [root / file for file in self.files]
        for path, line in zip(paths, self.lines, strict=True):
            if path.is_file():
                note_input(path)
            elif require:
                raise FileFormatError(f"{self.origin}, line {line}: there is no file {path}")
        return paths


def read_speech_list(path: str | PathLike[str], *, known: Container[str] = ()) -> SpeechList:
    """Read a list of speech files: a column of speakers and one of files, or files alone.

    Columns are separated by tabs, commas, semicolons or blanks. A header with names such as ``speaker`` and
    ``file`` says which is which, in any order and among others; without one the speaker comes first, unless
    only the first column holds ``known`` ids (Kaldi's utt2spk). Other columns of a list with a header
    (gender, session, ...) are kept.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "list.tsv"
    >>> _ = file.write_text("anna\\tanna/1.wav\\nben\\tben/1.wav\\n")
    >>> speech_list = read_speech_list(file)
    >>> speech_list.speakers, speech_list.files
    (('anna', 'ben'), ('anna/1.wav', 'ben/1.wav'))
    """
    file = existing_file(path)
    rows = [row for piece in open_text(file).pieces() for row in piece.rows()]
    who, what = _speaker_and_file_columns(rows[0][1], f"{file}, line {rows[0][0]}")
    first = [field.strip() for field in rows[0][1]]
    if (
        (who, what) == (0, 1)
        and not _is_header_of_list(first)
        and first[0] in known
        and first[1] not in known
    ):
        who, what = 1, 0
    if _is_header_of_list(rows[0][1]):
        rows = rows[1:]
    if not rows:
        raise FileFormatError(f"{file}: a header, but no files")
    width = len(rows[0][1])
    seen: dict[str, int] = {}
    for line, fields in rows:
        where = f"{file}, line {line}"
        if len(fields) != width:
            held = counted(len(fields), "field")
            raise FileFormatError(f"{where}: {held}, but the line before has {width}")
        if not fields[what].strip() or (who is not None and not fields[who].strip()):
            raise FileFormatError(f"{where}: the file or the speaker is missing")
        name = fields[what].strip()
        if name in seen:
            raise FileFormatError(f"{where}: {name} is in line {seen[name]} already")
        seen[name] = line
    speakers = None if who is None else tuple(fields[who].strip() for _, fields in rows)
    more = {}
    for i, name in enumerate(first) if _is_header_of_list(first) else ():
        if i in (who, what):
            continue
        if name.lower() in MADE_HERE:
            raise FileFormatError(f"{file}: the column {name!r} would hide one that is made here; rename it")
        more[name] = _numbers_if_all([fields[i].strip() for _, fields in rows])
    return SpeechList(str(file), tuple(seen), speakers, tuple(line for line, _ in rows), more)


def _numbers_if_all(texts: list[str]) -> tuple[str | float, ...]:
    """Numbers if all are, whole ones as they are written; codes such as 007 remain texts.

    Examples
    --------
    >>> _numbers_if_all(["3", "10"]), _numbers_if_all(["3", "1.5"]), _numbers_if_all(["007", "10"])
    ((3, 10), (3.0, 1.5), ('007', '10'))
    """
    digits = [text.lstrip("+-") for text in texts]
    if any(text.isdecimal() and (len(text) > _MOST_DIGITS or text != str(int(text))) for text in digits):
        return tuple(texts)
    try:
        kind = int if all(map(str.isdecimal, digits)) else float
        return tuple(kind(text) for text in texts)
    except ValueError:
        return tuple(texts)


def _is_header_of_list(fields: list[str]) -> bool:
    return any(field.strip().lower() in FILE_NAMES for field in fields)


def _speaker_and_file_columns(fields: list[str], where: str) -> tuple[int | None, int]:
    """Places of the speakers and of the files."""
    if _is_header_of_list(fields):
        names = [field.strip().lower() for field in fields]
        who = next((names.index(name) for name in SPEAKER_NAMES if name in names), None)
        return who, next(names.index(name) for name in FILE_NAMES if name in names)
    if len(fields) > 2:
        raise FileFormatError(
            f"{where}: {len(fields)} columns; expected speaker and file, files alone, or a header that says "
            "which column is which"
        )
    return (0, 1) if len(fields) == 2 else (None, 0)
