"""Names that come from a page: what a file or a project may be called on this machine."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from pathlib import PurePosixPath

from llrkit.errors import InputError

LONGEST = 80
"""Characters of a name; the longest in UTF-8 then still fits into what file systems take."""
_NOT_IN_FILES = re.compile(r"[^\w .+@=,()-]")
_PROJECT = re.compile(r"\w[\w .()-]*", re.UNICODE)
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices."""


def file_name(given: str, taken: Container[str] = ()) -> str:
    """What an uploaded file is called here: its last part, without odd characters, and new.

    Examples
    --------
    >>> file_name("../../etc/passwd"), file_name("C:\\\\x\\\\dev set.csv"), file_name("a.csv", {"a.csv"})
    ('passwd', 'dev set.csv', 'a-2.csv')
    >>> file_name("\\x00/"), file_name(".bashrc"), file_name("con.csv")
    ('scores', 'bashrc', 'file con.csv')
    """
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", given))[-1]
    name = _NOT_IN_FILES.sub("", last).strip(" ._-") or "scores"
    if _RESERVED.fullmatch(name):
        name = f"file {name}"
    suffix = "".join(PurePosixPath(name).suffixes[-2:])
    suffix = suffix if len(suffix) <= 20 else ""
    stem = name[: len(name) - len(suffix)][: LONGEST - len(suffix) - 4].rstrip(" .") or "scores"
    tried, number = f"{stem}{suffix}", 1
    while tried in taken:
        number += 1
        tried = f"{stem}-{number}{suffix}"
    return tried


def is_file_name(name: object) -> bool:
    """Whether a name is one that :func:`file_name` gives.

    Examples
    --------
    >>> is_file_name("dev-2.csv"), is_file_name("../x"), is_file_name(".saved"), is_file_name(7)
    (True, False, False, False)
    """
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST + 8:
        return False
    return not (
        _NOT_IN_FILES.search(name) or name[0] in " ._-" or name[-1] in " ." or _RESERVED.fullmatch(name)
    )


def project_name(given: str) -> str:
    """The name of a project, which is that of its folder; anything that is no plain name is refused.

    Examples
    --------
    >>> project_name(" Case 12-b ")
    'Case 12-b'
    >>> project_name("../x")
    Traceback (most recent call last):
    llrkit.errors.InputError: a project name has letters, digits, spaces, dots, hyphens and brackets, at
    most 80 of them, and begins with a letter or digit
    """
    name = unicodedata.normalize("NFC", given).strip().rstrip(" .")
    if not _PROJECT.fullmatch(name) or len(name) > LONGEST or _RESERVED.fullmatch(name):
        raise InputError(
            "a project name has letters, digits, spaces, dots, hyphens and brackets, at most "
            f"{LONGEST} of them, and begins with a letter or digit"
        )
    return name


def one_line(text: str, longest: int = 500) -> str:
    """Text of a form as one line without control characters.

    Examples
    --------
    >>> one_line(" the suspect\\r\\n is\\x00 the speaker ")
    'the suspect is the speaker'
    """
    words = "".join(c if c.isprintable() else " " for c in text).split()
    return " ".join(words)[:longest]
