"""What a case report reads from files: questioned scores, and the training trials of a calibration."""

from __future__ import annotations

import re
from pathlib import Path

from llrkit.calibrate.maps import Map
from llrkit.errors import InputError
from llrkit.io.reading_options import ReadingOptions
from llrkit.io.tables_of_paths import read_table
from llrkit.scores.roles import no_column

NAMES = ("name", "comparison")
"""Columns that name a comparison by themselves."""


def as_it_was_trained(calibration: Map) -> ReadingOptions:
    """Options of reading that a calibration states of its training file, for reading that file again.

    Examples
    --------
    >>> import llrkit as lk
    >>> as_it_was_trained(lk.fit_cmlg(lk.Scores([1.0, 3.0], [0.0, 2.0])))
    {}
    """
    known = calibration.reading or {}
    stated: ReadingOptions = {}
    if known.get("log10"):
        stated["log10"] = True
    if known.get("distance"):
        stated["distance"] = True
    if (names := known.get("score")) and not known.get("calibrated"):
        stated["score"] = tuple(names)
    if (positive := known.get("positive")) is not None:
        stated["positive"] = positive
    return stated


def questioned_scores(path: str | Path, calibration: Map) -> dict[str, float]:
    """The scores of a file without labels by name: of a column of names, else by ids of trials or by rows."""
    _refuse_decimal_commas(Path(path))
    table = read_table(Path(path)).table
    known = (calibration.reading or {}).get("score") or ["score"]
    column = next((name for name in (*known, "score") if name in table.columns), None)
    if column is None:
        raise InputError(no_column(known[0], table.columns, str(path), typed=False))
    names_of_trials = [name for name in NAMES if name in table.columns][:1]
    ids = names_of_trials or [name for name in ("enroll", "test") if name in table.columns]
    names: dict[str, float] = {}
    for i, row in enumerate(table.select(*ids, column).iter_rows(named=True)):
        name = " and ".join(str(row[one]) for one in ids) or f"row {i + 1}"
        if name in names:
            raise InputError(f"{path}: the comparison {name} occurs twice")
        try:
            names[name] = float(row[column])
        except (TypeError, ValueError):
            raise InputError(f"{path}: the score of {name}, {row[column]!r}, is not a number") from None
    return names


def _refuse_decimal_commas(path: Path) -> None:
    """Refuse a file that begins with ``2,5``: a name and a score, or a number with a decimal comma."""
    if not path.is_file():
        return  # said by its reader
    with path.open("rb") as raw:
        first = raw.readline(200)
    if re.fullmatch(rb"\s*[+-]?[0-9]+,[0-9]+\s*", first):
        shown = first.decode("ascii").strip()
        raise InputError(
            f"{path}, line 1: {shown!r} is a name and a score, or one number with a decimal comma; write "
            "numbers with a point, or a header such as test,score above the rows"
        )
