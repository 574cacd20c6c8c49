"""NPZ files: one array per column, or one array per class. Nothing is ever unpickled."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np
import polars as pl

from llrkit.errors import FileFormatError
from llrkit.scores.trials import Trials


def read_npz(file: Path, *, score: str, label: str) -> Trials:
    """Read ``score`` and ``label`` arrays of equal length, or ``target`` and ``nontarget``."""
    try:
        # opened here: np.load leaves a broken file open
        with file.open("rb") as raw, np.load(raw, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise FileFormatError(f"{file}: cannot be read as NPZ without pickles ({error})") from None
    except AttributeError:
        raise FileFormatError(f"{file}: a single NumPy array, not an NPZ archive of named arrays") from None
    if score not in arrays and {"target", "nontarget"} <= arrays.keys():
        both = [arrays["target"].ravel(), arrays["nontarget"].ravel()]
        is_target = np.repeat([True, False], [len(part) for part in both])
        return Trials(
            {score: np.concatenate(both), label: is_target}, score=score, label=label, origin=str(file)
        )
    for name in (score, label):
        if name not in arrays:
            there = ", ".join(arrays) or "none"
            raise FileFormatError(f"{file}: no array {name!r}; there are: {there}")
        if arrays[name].ndim != 1:
            raise FileFormatError(f"{file}: array {name!r} has shape {arrays[name].shape}, expected (n,)")
    n = len(arrays[score])
    if len(arrays[label]) != n:
        raise FileFormatError(f"{file}: {n} scores but {len(arrays[label])} labels")
    columns = {name: array for name, array in arrays.items() if array.shape == (n,)}
    return Trials(pl.DataFrame(columns), score=score, label=label, origin=str(file))
