"""Scores in files of any size turned into LLRs, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit._format import counted
from llrkit._plain import as_list, as_text
from llrkit.calibrate.composite.sasv_map import SASV
from llrkit.calibrate.maps import Columns, Map
from llrkit.core.elementary_functions import probability
from llrkit.core.score_histogram import ClassHistogram
from llrkit.errors import InputError, SystemCountError, UnknownNameError
from llrkit.io.files_to_trials import open_batches
from llrkit.io.join_countermeasure import join_countermeasure
from llrkit.io.join_systems import NotAlignedError, join_systems, side_by_side, system_names
from llrkit.io.llr_columns import OWN_COLUMNS, kept_as, refuse_calibrated, with_llrs
from llrkit.io.reading_options import PLAIN, PathArg, Reading
from llrkit.io.separate_paths import require_separate
from llrkit.io.trial_table import Scan, TrialTable
from llrkit.io.write import HAS_OWN_KEY, write_batches, written_as
from llrkit.scores.roles import Roles
from llrkit.theory.odds import posterior
from llrkit.theory.operating_points import OperatingPoint

POSTERIOR, DECISION = "posterior", "decision"
"""Columns that are written beside LLRs on request."""


class Judge(Protocol):
    """Looks at the counts of all scores before their LLRs are in place."""

    def values(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """What is counted of the scores of a batch."""
        ...

    def __call__(self, counts: ClassHistogram) -> str:
        """A note, or a refusal."""
        ...


@dataclass(frozen=True)
class Applied:
    """How many LLRs the output holds, and what is to be said about it."""

    rows: int
    notes: tuple[str, ...] = ()
    rows_before: int = 0
    """Of these LLRs, those in files that an earlier run had finished."""
    files_before: int = 0
    """Number of files, if an earlier run had finished all of them; otherwise 0."""


@dataclass(frozen=True)
class ApplyOptions:
    """How LLRs are written."""

    name: str = "a map"
    """What the map is called in the column ``llr_map``."""
    outside: str = "warn"
    """Scores outside the training range: 'warn', 'error', or 'bound' (as the nearest score inside)."""
    base_10: bool = False
    """Write LLRs to base ten, in the column ``log10_lr``."""
    force: bool = False
    """Calibrate even if the scores are LLRs that a calibration wrote."""
    posterior: float | None = None
    """The prior of a target, for posterior probabilities in the column ``posterior``."""
    decide: OperatingPoint | None = None
    """Decisions at this operating point, in the column ``decision``: true where the LLR is high enough."""
    shift: str = "ignore"
    """What the ``judge`` does with scores that are unlike those of training; here for the record."""

    def more_columns(self) -> dict[str, Callable[[Array], Array]]:
        """The columns that are made of LLRs, beside these."""
        prior, point = self.posterior, self.decide
        columns: dict[str, Callable[[Array], Array]] = {}
        if prior is not None:
            columns[POSTERIOR] = partial(_posteriors, prior=probability(prior, "--posterior"))
        if point is not None:
            columns[DECISION] = partial(np.less_equal, point.threshold)
        return columns


def _posteriors(llrs: Array, prior: float) -> Array:
    return posterior(llrs, prior)


DEFAULTS = ApplyOptions()


def apply_map(
    fitted: Map,
    paths: Sequence[PathArg],
    output: PathArg,
    reading: Reading = PLAIN,
    options: ApplyOptions = DEFAULTS,
    *,
    to: str | None = None,
    key_output: PathArg | None = None,
    judge: Judge | None = None,
) -> Applied:
    """Write the LLRs of the scores in one file, or in one file per system.

    All columns are kept as they are; the LLRs are in the column ``llr``, and ``llr_map`` says which map made
    them. The map reads scores as its training file was read. Files of several systems with the same trials in
    the same order are read side by side; otherwise they are joined in memory on the ids of the trials. With a
    ``judge`` the scores are counted on the way.
    """
    require_separate([*paths, *reading.files], [output] if key_output is None else [output, key_output])
    given, (reading, notes) = reading, _read_as_trained(fitted, reading)
    more = options.more_columns()
    if more and (kind := written_as(Path(output), to)) in HAS_OWN_KEY:
        raise InputError(f"{output}: {kind} files hold scores only, not {' and '.join(more)}; write a table")
    missing, watch = fitted.accepts_missing, fitted.watch(options.outside)
    histogram = [ClassHistogram.of(np.empty(0))]
    judged: list[str] = []

    def change(batch: TrialTable) -> TrialTable:
        scale = _held_scale(fitted, batch.roles, given) if len(paths) == 1 else 1.0

        def llrs(scores: FloatArray, columns: Columns) -> FloatArray:
            scores = scores if scale == 1.0 else scores * scale
            held = watch.seen(scores, batch.place)
            watch.saw(columns, batch.place)
            try:
                llr: FloatArray = fitted(held, columns, outside="ignore")
            except InputError as error:
                raise _error_placed(error, fitted, held, columns, batch.place) from None
            if judge is not None:
                histogram[0] += ClassHistogram.of(judge.values(scores, columns))
            return llr

        return with_llrs(
            batch, llrs, made_by=options.name, needs=fitted.needs, missing=missing, base_10=options.base_10,
            more=more,
        )  # fmt: skip

    def write(scan: Scan) -> int:
        if not options.force and not (fitted.reading or {}).get("calibrated"):
            refuse_calibrated(scan)
        batches = changed(scan)
        return write_batches(batches, change(scan.like), output, format=to, key=key_output)

    def changed(scan: Scan) -> Iterator[TrialTable]:
        yield from map(change, scan.read(scan.columns))
        if judge is not None:  # before the file is in place: what is refused here leaves none
            judged.append(judge(histogram[0]))

    def applied(scan: Scan, *more: str) -> Applied:
        rows = write(scan)
        return Applied(
            rows, tuple(note for note in (*notes, *more, watch.note, watch.condition_note, *judged) if note)
        )

    takes = counted(fitted.n_systems, "system")
    if len(paths) == 1:
        systems = fitted.system_names if fitted.n_systems > 1 and reading.score is None else None
        columns = systems or reading.score
        if columns and (places := fitted.system_order(columns)):
            columns = [columns[place] for place in places]
        try:
            opened = replace(reading, score=tuple(columns)) if columns else reading
            scan = open_batches(paths[0], opened, held=True, trained=_trained_columns(fitted))
        except UnknownNameError as error:
            if systems is None:
                raise
            raise SystemCountError(
                f"the calibration takes {takes} ({', '.join(systems)}): give a file for "
                f"each in this order, or one with a column for each ({error})"
            ) from None
        return applied(
            scan, *_note_on_other_column(fitted, scan), *_note_on_moved_columns(scan, [*OWN_COLUMNS, *more])
        )
    if len(paths) != fitted.n_systems:
        raise SystemCountError(
            f"the calibration takes {takes} ({', '.join(fitted.system_names)}), "
            f"got {counted(len(paths), 'file')}"
        )
    names = system_names([str(path) for path in paths])
    said = _file_names_compared(names, fitted.system_names)
    tandem = fitted.method.startswith(SASV)
    scans = [
        open_batches(path, _read_as_named(fitted, reading, i) if tandem else reading)
        for i, path in enumerate(paths)
    ]
    try:
        return applied(side_by_side(scans, names, reading.ids, missing=missing), *said)
    except NotAlignedError:
        policy = "subset" if missing else "error"
        tables = [scan.whole() for scan in scans]
        if tandem:  # a countermeasure scores segments, of which a trial has one
            ids = reading.ids or tuple(map(as_text, as_list(fitted.provenance.get("joined_on", ()))))
            whole = join_countermeasure(tables[0], tables[1], ids, names, labeled=False)
        else:
            whole = join_systems(tables, names, ids=reading.ids, missing=policy, labeled=False)
        joined = Scan.of(whole)
        order = "the files do not have the same trials in the same order: joined in memory"
        watch = fitted.watch(options.outside)
        return applied(joined, *said, order)


def _read_as_named(fitted: Map, reading: Reading, place: int) -> Reading:
    """How a file of one system is read: the column of its scores as in training, unless one is named."""
    held = (fitted.reading or {}).get("score") or ()
    if reading.score is not None or len(held) != fitted.n_systems:
        return reading
    return replace(reading, score=(held[place],))


def _error_placed(
    error: InputError, fitted: Map, scores: FloatArray, columns: Columns, place: Callable[[int], str]
) -> InputError:
    """The same error with the place of the first trial that the map refuses because of its columns."""
    if not columns:
        return error
    good, bad = 0, len(scores)  # the first ``good`` trials are mapped, the first ``bad`` are not
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            fitted(scores[good:middle], {name: values[good:middle] for name, values in columns.items()},
                   outside="ignore")  # fmt: skip
            good = middle
        except InputError:
            bad = middle
    value = ", ".join(f"{name} {values[good]!s}" for name, values in columns.items())
    return type(error)(f"{place(good)} ({value}): {str(error).replace(' at index 0', '')}")


def _read_as_trained(fitted: Map, reading: Reading) -> tuple[Reading, tuple[str, ...]]:
    """How the scores are read: as the map was trained, whatever is said here must agree with that."""
    if fitted.reading is None:
        note = "the calibration does not say how its training scores were read; what is said here decides"
        return reading, (note,)
    refuse_other_scale(fitted, reading)
    trained = fitted.reading.get("positive")
    if reading.positive and trained and str(reading.positive).strip().lower() != str(trained).strip().lower():
        raise InputError(f"--positive {reading.positive}: in training targets were labeled {trained!r}")
    return replace(reading, distance=False, log10=False), ()  # the map does it


def refuse_other_scale(fitted: Map, reading: Reading) -> None:
    """Refuse what would turn or scale scores that the map takes as they are.

    Examples
    --------
    >>> from llrkit.calibrate.affine.cmlg import fit_cmlg
    >>> refuse_other_scale(fit_cmlg(([1.0, -0.5, -1.0, 0.0], [1, 1, 0, 0])), Reading(distance=True))
    Traceback (most recent call last):
    llrkit.errors.InputError: --distance: the calibration was trained on scores that were read without it
    """
    if fitted.reading is None:
        return
    for name, flag in (("distance", "--distance"), ("log10", "--log10")):
        if getattr(reading, name) and not fitted.reading.get(name):
            raise InputError(f"{flag}: the calibration was trained on scores that were read without it")


def _held_scale(fitted: Map, roles: Roles, reading: Reading) -> float:
    """What scores of a file are multiplied by to be what the map takes.

    A map takes what its training file held; one that does not know what that was obeys the options. Columns
    of LLRs say by themselves whether they are natural ones.
    """
    if fitted.reading is None:
        return reading.factor_for(roles)
    if roles.calibrated:
        return roles.factor / (fitted.input_factor if fitted.reading.get("calibrated") else 1.0)
    return 1.0


def _note_on_moved_columns(scan: Scan, new: Sequence[str]) -> tuple[str, ...]:
    """A note where columns of the file make room for new ones."""
    moved = ", ".join(f"{name!r} as {kept!r}" for name, kept in kept_as(scan.columns, new).items())
    return (f"columns that were there are kept under other names: {moved}",) if moved else ()


def _trained_columns(fitted: Map) -> tuple[str, ...]:
    """The columns of the training scores, where the map knows them."""
    return tuple((fitted.reading or {}).get("score") or ())


def _note_on_other_column(fitted: Map, scan: Scan) -> tuple[str, ...]:
    """A note where the scores are in a column of another name than in training."""
    trained = _trained_columns(fitted)
    given = scan.like.score
    if not trained or given == trained or len(given) != len(trained) or fitted.n_systems > 1:
        return ()
    return (f"the scores are in the column {given[0]!r}, in training they were in {trained[0]!r}",)


def _file_names_compared(names: Sequence[str], systems: Sequence[str]) -> tuple[str, ...]:
    """What is to be said about the names of the files; a system of training in another place is an error."""
    if list(names) == list(systems) or not systems:
        return ()
    if any(name in systems and name != system for name, system in zip(names, systems, strict=True)):
        raise InputError(
            f"the systems are in another order than in training, which was: {', '.join(systems)}"
        )
    pairs = ", ".join(f"{name} as {system}" for name, system in zip(names, systems, strict=True))
    return (f"the files are named differently from training; taken are {pairs}",)
