"""A set of trials as many Parquet files in one folder, written by several threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from llrkit._atomic import replacing_folder
from llrkit.errors import InputError
from llrkit.io.write import write_trials
from llrkit.scores import Scores
from llrkit.scores.scores_to_trials import trials_of
from llrkit.scores.source import reduce_chunks


def write_partitions(
    make: Callable[[int], Scores],
    n_parts: int,
    folder: str | Path,
    *,
    on_part: Callable[[int], None] = lambda rows: None,
    threads: int | None = None,
) -> int:
    """Write ``make(0)``, ``make(1)``, ... as ``part-0000.parquet``, ...; gives the number of rows.

    Parts are made and written by a pool of threads; only as many are in memory as there are threads.
    The folder must be new or empty, and appears when it is complete.

    Parameters
    ----------
    on_part
        Called with the number of rows whenever a part is written, by the thread that wrote it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "trials"
    >>> write_partitions(lambda i: Scores([1.0 + i], [0.0, -1.0]), 2, folder)
    6
    >>> sorted(file.name for file in folder.iterdir())
    ['part-0.parquet', 'part-1.parquet']
    """
    target = Path(folder)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InputError(f"{target}: must be a new or an empty folder")
    digits = len(str(n_parts - 1))
    with replacing_folder(target) as parts:

        def write(number: int) -> float:
            trials = trials_of([make(number)])
            write_trials(trials, parts / f"part-{number:0{digits}d}.parquet")
            on_part(len(trials))
            return float(len(trials))

        return int(reduce_chunks(range(n_parts), write, threads=threads))
