"""The options of jobs as keywords, written by .ci/keywords.py from their declarations."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypedDict

class ReadingKeywords(TypedDict, total=False):
    key_columns: str | Sequence[str] | None
    key_label: str | None
    score: str | Sequence[str] | None
    label: str | None
    format: str | None
    columns: str | Sequence[str] | None
    decimal: Literal[".", ","] | None
    encoding: str | None
    nontargets: str | PathLike[str] | None
    positive: str | None
    log10: bool
    distance: bool
    weight: str | None
    quality: str | PathLike[str] | None
    missing: Literal["error", "drop"]
    missing_scores: Literal["error", "drop", "reject"]
    where: str | Sequence[str]
    duplicates: Literal["keep", "error", "drop"] | None
    ids: str | Sequence[str]
    classes: str | Sequence[str] | None
    unreadable: Literal["error", "skip"] | None
