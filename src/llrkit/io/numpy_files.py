"""NPZ files: one array per column, or one array per class. Nothing is ever unpickled."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from llrkit.errors import FileFormatError


def read_npz(file: Path, scores: Sequence[str], label: str | None) -> pl.DataFrame:
    """Read score and label arrays of equal length, or ``target`` and ``nontarget``."""
    try:
        # opened here: np.load leaves a broken file open
        with file.open("rb") as raw, np.load(raw, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise FileFormatError(f"{file}: cannot be read as NPZ without pickles ({error})") from None
    except AttributeError:
        raise FileFormatError(f"{file}: a single NumPy array, not an NPZ archive of named arrays") from None
    if label and scores and scores[0] not in arrays and {"target", "nontarget"} <= arrays.keys():
        both = [arrays["target"].ravel(), arrays["nontarget"].ravel()]
        is_target = np.repeat([True, False], [len(part) for part in both])
        return pl.DataFrame({scores[0]: np.concatenate(both), label: is_target})
    wanted = [*scores, *([label] if label else [])]
    for name in wanted:
        if name not in arrays:
            there = ", ".join(arrays) or "none"
            raise FileFormatError(f"{file}: no array {name!r}; there are: {there}")
        if arrays[name].ndim != 1:
            raise FileFormatError(f"{file}: array {name!r} has shape {arrays[name].shape}, expected (n,)")
    n = len(arrays[wanted[0]])
    for name in wanted[1:]:
        if len(arrays[name]) != n:
            what = "labels" if name == label else f"values in {name!r}"
            raise FileFormatError(f"{file}: {n} scores but {len(arrays[name])} {what}")
    return pl.DataFrame({name: array for name, array in arrays.items() if array.shape == (n,)})
