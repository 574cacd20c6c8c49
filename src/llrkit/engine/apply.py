"""Scores in files of any size turned into LLRs, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llrkit.calibrate.maps import Map
from llrkit.errors import InputError, SystemCountError, UnknownNameError
from llrkit.io.llr_columns import with_llrs
from llrkit.io.open import open_batches
from llrkit.io.reading import PLAIN, PathArg, Reading
from llrkit.io.systems import NotAlignedError, join_systems, side_by_side, system_names
from llrkit.io.trial_table import Scan, TrialTable
from llrkit.io.write import write_batches


@dataclass(frozen=True)
class Applied:
    """How many LLRs were written, and what is to be said about it."""

    rows: int
    notes: tuple[str, ...] = ()


def apply_map(
    fitted: Map,
    paths: Sequence[PathArg],
    output: PathArg,
    reading: Reading = PLAIN,
    *,
    to: str | None = None,
    key_output: PathArg | None = None,
) -> Applied:
    """Write the LLRs of the scores in one file, or in one file per system.

    All columns are kept; the LLRs are in the column ``score``, what was there before in ``raw_score``.
    Files of several systems with the same trials in the same order are read side by side; otherwise they
    are joined in memory on the ids of the trials.
    """

    missing = fitted.accepts_missing

    def change(batch: TrialTable) -> TrialTable:
        return with_llrs(batch, fitted, needs=fitted.needs, missing=missing)

    def write(scan: Scan) -> int:
        batches = map(change, scan.read(scan.columns))
        return write_batches(batches, change(scan.like), output, format=to, key=key_output)

    if len(paths) == 1:
        systems = fitted.system_names if fitted.n_systems > 1 and reading.score is None else None
        try:
            scan = open_batches(paths[0], replace(reading, score=tuple(systems)) if systems else reading)
        except UnknownNameError as error:
            if systems is None:
                raise
            raise SystemCountError(
                f"the calibration takes {fitted.n_systems} systems ({', '.join(systems)}): give a file for "
                f"each in this order, or one with a column for each ({error})"
            ) from None
        return Applied(write(scan))
    if len(paths) != fitted.n_systems:
        raise SystemCountError(
            f"the calibration takes {fitted.n_systems} systems ({', '.join(fitted.system_names)}), "
            f"got {len(paths)} files"
        )
    names = system_names([str(path) for path in paths])
    notes = _compared(names, fitted.system_names)
    scans = [open_batches(path, reading) for path in paths]
    try:
        return Applied(write(side_by_side(scans, names, reading.ids, missing=missing)), notes)
    except NotAlignedError:
        policy = "subset" if missing else "error"
        parts = [scan.whole() for scan in scans]
        joined = Scan.of(join_systems(parts, names, ids=reading.ids, missing=policy, labeled=False))
        said = "the files do not have the same trials in the same order: joined in memory"
        return Applied(write(joined), (*notes, said))


def _compared(names: Sequence[str], systems: Sequence[str]) -> tuple[str, ...]:
    """What is to be said about the names of the files; those of training in another order are an error."""
    if list(names) == list(systems) or not systems:
        return ()
    if set(names) == set(systems):
        raise InputError(
            f"the systems are in another order than in training, which was: {', '.join(systems)}"
        )
    pairs = ", ".join(f"{name} as {system}" for name, system in zip(names, systems, strict=True))
    return (f"the files are named differently from training; taken are {pairs}",)
