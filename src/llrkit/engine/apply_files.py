"""LLRs of files and folders, written batch by batch; finished parts of a folder are kept."""

from __future__ import annotations

import hashlib
import json
import operator
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from llrkit._version import __version__
from llrkit.base.arguments import Array, FloatArray
from llrkit.base.files import file_sha256, locked_folder, unchanged, write_atomically
from llrkit.base.process import kept_warnings, stage
from llrkit.base.text import agreeing, as_list, as_text, counted
from llrkit.core.histograms import ClassHistogram
from llrkit.core.numerics import probability
from llrkit.errors import InputError, LeftOutWarning, SystemCountError, UnknownNameError
from llrkit.io.formats import files_of, is_taken, require_separate
from llrkit.io.joins import NotAlignedError, join_countermeasure, join_systems, side_by_side, system_names
from llrkit.io.read import open_batches
from llrkit.io.read_options import PLAIN, PathArg, Reading
from llrkit.io.table_columns import Scan, TrialTable
from llrkit.io.write import HAS_OWN_KEY, kept_as, refuse_calibrated, with_llrs, write_batches, written_as
from llrkit.maps.composite import SASV
from llrkit.maps.files import map_to_dict
from llrkit.maps.map import Columns, Map
from llrkit.theory.operating_points import OperatingPoint, posterior

POSTERIOR, DECISION = "posterior", "decision"
"""Columns that are written beside LLRs on request."""
MANIFEST = "_manifest.json"  # names with _ in front are not taken for trials
DONE = "_done"
"""Where it is noted which parts are finished, until all of them are."""
BEGUN = "_begun.json"
"""In there: all parts of the run, as they were known when it began."""
SCHEMA = "llrkit.apply/2"
MOST_NOTES = 5
"""Notes about parts that are shown."""


class Judge(Protocol):
    """Looks at the counts of all scores before their LLRs are in place."""

    def values(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """What is counted of the scores of a batch."""

    def __call__(self, counts: ClassHistogram) -> str:
        """A note, or a refusal."""


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
    given, notes = reading, list[str]()
    if fitted.reading is None:
        unknown = "the calibration does not say how its training scores were read"
        notes.append(f"{unknown}; what is said here decides")
    else:
        refuse_other_scale(fitted, reading)
        trained = fitted.reading.get("positive")
        # Compared as labels are read: without regard to case and blanks.
        if reading.positive and trained and reading.positive.strip().lower() != str(trained).strip().lower():
            raise InputError(f"--positive {reading.positive}: in training targets were labeled {trained!r}")
        reading = replace(reading, distance=False, log10=False)  # the map does it
    more: dict[str, Callable[[Array], Array]] = {}
    if options.posterior is not None:
        prior = probability(options.posterior, "--posterior")
        more[POSTERIOR] = lambda llrs: posterior(llrs, prior)
    if options.decide is not None:
        # less_equal(threshold, llr): the LLR is at least the threshold, as the decision rule accepts
        # ties.
        more[DECISION] = partial(np.less_equal, options.decide.threshold)
    if more and (kind := written_as(Path(output), to)) in HAS_OWN_KEY:
        raise InputError(f"{output}: {kind} files hold scores only, not {' and '.join(more)}; write a table")

    def write(scan: Scan) -> Applied:
        # A map trained on calibrated LLRs is meant for such files.
        if not options.force and not (fitted.reading or {}).get("calibrated"):
            refuse_calibrated(scan)
        watch, histogram = fitted.watch(options.outside), [ClassHistogram.of(np.empty(0))]
        judged = list[str]()

        def change(batch: TrialTable) -> TrialTable:
            # A map takes what its training file held; one that does not know what that was obeys the options.
            # Columns of LLRs say by themselves whether they are natural ones.
            scale, roles = 1.0, batch.roles
            if len(paths) == 1 and fitted.reading is None:
                scale = given.factor_for(roles)
            elif len(paths) == 1 and fitted.reading is not None and roles.calibrated:
                scale = roles.factor / (fitted.input_factor if fitted.reading.get("calibrated") else 1.0)

            def llrs(scores: FloatArray, columns: Columns) -> FloatArray:
                scores = scores if scale == 1.0 else scores * scale
                held = watch.seen(scores, batch.place)
                watch.saw(columns, batch.place)
                try:
                    llr: FloatArray = fitted(held, columns, outside="ignore")
                except InputError as error:
                    raise _error_placed(error, fitted, held, columns, batch.place) from None
                # The scores as they came, not ``held``, in which scores outside of the range may have
                # been moved to its ends.
                if judge is not None:
                    histogram[0] += ClassHistogram.of(judge.values(scores, columns))
                return llr

            return with_llrs(
                batch, llrs, made_by=options.name, needs=fitted.needs, missing=fitted.accepts_missing,
                base_10=options.base_10, more=more,
            )  # fmt: skip

        def changed() -> Iterator[TrialTable]:
            yield from map(change, scan.read(scan.columns))
            if judge is not None:  # before the file is in place: what is refused here leaves none
                judged.append(judge(histogram[0]))

        # The empty table is changed too: its schema is what the writer needs before the first batch.
        rows = write_batches(changed(), change(scan.like), output, format=to, key=key_output)
        said = (*notes, watch.note, watch.condition_note, *judged)
        return Applied(rows, tuple(note for note in said if note))

    if len(paths) == 1:
        scan = _opened_for_map(fitted, paths[0], reading)
        held, columns = scan.like.score, _trained_columns(fitted)
        if columns and held != columns and len(held) == len(columns) and fitted.n_systems == 1:
            notes.append(f"the scores are in the column {held[0]!r}, in training they were in {columns[0]!r}")
        renamed = kept_as(scan.columns, more).items()
        if renamed:
            told = ", ".join(f"{name!r} as {kept!r}" for name, kept in renamed)
            notes.append(f"columns that were there are kept under other names: {told}")
        return write(scan)
    names = system_names([str(path) for path in paths])
    notes += _file_names_compared(fitted, names)
    tandem, columns = fitted.method.startswith(SASV), _trained_columns(fitted)
    scans = []
    for i, path in enumerate(paths):
        # each file of a tandem is read by the column that its system had in training, unless one is named
        named = tandem and reading.score is None and len(columns) == fitted.n_systems
        scans.append(open_batches(path, replace(reading, score=(columns[i],)) if named else reading))
    missing = fitted.accepts_missing
    try:
        # First the cheap way: files in the same order need no join and no memory. The output is written
        # under a temporary name, so giving up on the way leaves nothing behind.
        return write(side_by_side(scans, names, reading.ids, missing=missing))
    except NotAlignedError:
        tables = [scan.whole() for scan in scans]
        if tandem:  # a countermeasure scores segments, of which a trial has one
            # The columns on which training joined the two files are kept in the calibration.
            ids = reading.ids or tuple(map(as_text, as_list(fitted.provenance.get("joined_on", ()))))
            whole = join_countermeasure(tables[0], tables[1], ids, names, labeled=False)
        else:
            policy = "subset" if missing else "error"
            whole = join_systems(tables, names, ids=reading.ids, missing=policy, labeled=False)
        notes.append("the files do not have the same trials in the same order: joined in memory")
        return write(Scan.of(whole))


def _opened_for_map(fitted: Map, path: PathArg, reading: Reading) -> Scan:
    """The batches of one file with the scores that a map takes, in the order in which it takes them."""
    systems = fitted.system_names if fitted.n_systems > 1 and reading.score is None else None
    columns = systems or reading.score
    if columns and (places := fitted.system_order(columns)):
        columns = [columns[place] for place in places]
    try:
        opened = replace(reading, score=tuple(columns)) if columns else reading
        return open_batches(path, opened, held=True, trained=_trained_columns(fitted))
    except UnknownNameError as error:
        if systems is None:
            raise
        raise SystemCountError(
            f"the calibration takes {counted(fitted.n_systems, 'system')} ({', '.join(systems)}): give a "
            f"file for each in this order, or one with a column for each ({error})"
        ) from None


def _trained_columns(fitted: Map) -> tuple[str, ...]:
    """The columns of the training scores, where the map knows them."""
    return tuple((fitted.reading or {}).get("score") or ())


def _file_names_compared(fitted: Map, names: Sequence[str]) -> list[str]:
    """What is to be said about the names of the files; a system of training in another place is an error."""
    systems = fitted.system_names
    if len(names) != fitted.n_systems:
        takes = f"{counted(fitted.n_systems, 'system')} ({', '.join(systems)})"
        raise SystemCountError(f"the calibration takes {takes}, got {counted(len(names), 'file')}")
    if list(names) == list(systems) or not systems:
        return []
    pairs = list(zip(names, systems, strict=True))
    if any(name in systems and name != system for name, system in pairs):
        raise InputError(
            f"the systems are in another order than in training, which was: {', '.join(systems)}"
        )
    taken = ", ".join(f"{name} as {system}" for name, system in pairs)
    return [f"the files are named differently from training; taken are {taken}"]


def _error_placed(
    error: InputError, fitted: Map, scores: FloatArray, columns: Columns, place: Callable[[int], str]
) -> InputError:
    """The same error with the place of the first trial that the map refuses because of its columns."""
    if not columns:
        return error
    # Bisection: the map refuses a whole batch and does not say which trial it was.
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


def refuse_other_scale(fitted: Map, reading: Reading) -> None:
    """Refuse what would turn or scale scores that the map takes as they are.

    Examples
    --------
    >>> from llrkit.fits.cmlg import fit_cmlg
    >>> refuse_other_scale(fit_cmlg(([1.0, -0.5, -1.0, 0.0], [1, 1, 0, 0])), Reading(distance=True))
    Traceback (most recent call last):
    llrkit.errors.InputError: --distance: the calibration was trained on scores that were read without it
    """
    for name in ("distance", "log10"):
        if getattr(reading, name) and fitted.reading is not None and not fitted.reading.get(name):
            raise InputError(f"--{name}: the calibration was trained on scores that were read without it")


@dataclass(frozen=True)
class Part:
    """One input file, what it becomes, and the hashes of both and of what decides how.

    A part is finished if a note says so whose hashes still fit: of its input, of everything that decides what
    it becomes (its recipe: the calibration, all options, the files that they name, the version), and of the
    part itself.
    """

    source: str
    name: str
    recipe: str = ""
    source_sha256: str = ""
    sha256: str = ""
    rows: int = -1
    notes: tuple[str, ...] = ()
    """What is to be said about it."""

    def is_finished(self, part: Part, folder: Path) -> bool:
        """Whether this note says that a part is finished; every byte is looked at."""
        return (
            self.recipe == part.recipe
            and (folder / self.name).is_file()
            # By hashes of contents, not by dates, which copying changes.
            and file_sha256(part.source) == self.source_sha256
            and file_sha256(folder / self.name) == self.sha256
        )


Run = Callable[[Callable[[Part], Part], Sequence[Part]], Iterable[Part]]


def apply_parts(
    fitted: Map,
    path: PathArg,
    folder: PathArg,
    reading: Reading = PLAIN,
    options: ApplyOptions = DEFAULTS,
    *,
    run: Run = map,
    judge: Judge | None = None,
) -> Applied:
    """Write the LLRs of every file of a directory or a pattern as a Parquet file of a folder.

    Each part appears when it is complete, and ``_manifest.json`` when all are. What was interrupted is taken
    up again by the same call: parts are kept if hashes say that their input, the calibration, every option
    and the part itself are what they were. Parts whose inputs are gone are removed. The folder is locked
    meanwhile.

    Parameters
    ----------
    run
        Does the parts and gives them back in any order; a cluster has its own way. By default one by one.
    judge
        Looks at the scores of every file by itself.
    """
    require_separate([path, *reading.files], [folder])
    target = Path(folder)
    settings = {
        "llrkit": __version__,
        # The content of the calibration, not its file: a copy under another name gives the same LLRs.
        "calibration_sha256": _sha256_of_json(map_to_dict(fitted)),
        "reading": reading.to_dict(),
        "options": asdict(options),
    }
    # A key or quality file that changed makes all parts outdated.
    named = {str(file): file_sha256(file) for one in reading.files for file in files_of(one)}
    recipe = _sha256_of_json({**settings, "files": named})
    parts: dict[str, Part] = {}
    for file in files_of(path):
        part = Part(str(file), f"{file.stem}.parquet", recipe)
        if part.name in parts:
            raise InputError(f"{parts[part.name].source} and {file} would both become {part.name}")
        parts[part.name] = part
    target.mkdir(parents=True, exist_ok=True)
    with locked_folder(target) as free:
        if not free:
            raise InputError(f"{target}: another run is writing into this folder; wait for it, or end it")
        noted = _noted_parts(target)
        removed = _remove_outdated(target, parts, noted)
        kept = [
            replace(noted[name], source=part.source)
            for name, part in parts.items()
            if name in noted and noted[name].is_finished(part, target)
        ]
        todo = [part for part in parts.values() if part.name not in {one.name for one in kept}]
        # What is finished and what is to come, so that both are known should this run be interrupted.
        (target / DONE).mkdir(exist_ok=True)
        begun = {"parts": [asdict(part) for part in (*kept, *todo)]}
        write_atomically(target / DONE / BEGUN, json.dumps(begun))
        # The manifest means that the folder is complete, so it goes before the first part changes.
        (target / MANIFEST).unlink(missing_ok=True)
        work = partial(
            _apply_to_one_part, fitted=fitted, folder=target, reading=reading, options=options, judge=judge
        )
        written = list(kept)
        with stage("files", len(todo), "files") as tick:
            for part in run(work, todo):
                written.append(part)
                tick(1)
        # A cluster returns parts in any order; the manifest must not depend on it.
        written.sort(key=lambda part: part.name)
        rows, rows_before = (sum(part.rows for part in some) for some in (written, kept))
        parts_written = [asdict(part) for part in written]
        manifest = {"schema": SCHEMA, "rows": rows, "settings": settings, "parts": parts_written}
        write_atomically(target / MANIFEST, json.dumps(manifest, indent=2, default=str) + "\n")
        # The notes go last: if the process dies before, the next one finds every part finished.
        shutil.rmtree(target / DONE)
    notes = _said_of_parts(written)
    if kept and todo:
        were = agreeing(len(kept), "was", "were")
        notes.append(f"{len(kept):,} of {counted(len(parts), 'file')} {were} finished already")
    if removed:
        notes.append(f"{counted(len(removed), 'file')} removed whose input is gone: {', '.join(removed[:5])}")
    return Applied(rows, tuple(notes), rows_before, files_before=0 if todo else len(kept))


def _apply_to_one_part(
    part: Part, *, fitted: Map, folder: Path, reading: Reading, options: ApplyOptions, judge: Judge | None
) -> Part:
    """Write one part, here or on a worker, and note that it is finished."""
    with ExitStack() as stack:
        # Watched from before the hash until the part is written, so that the hash is that of what was
        # read.
        for file in (Path(part.source), *(file for one in reading.files for file in files_of(one))):
            stack.enter_context(unchanged(file))
        source = file_sha256(part.source)
        with kept_warnings(LeftOutWarning) as left_out:  # a worker's are shown to nobody
            applied = apply_map(fitted, [part.source], folder / part.name, reading, options, judge=judge)
    notes = (*(text.removeprefix(f"{part.source}: ") for text in left_out), *applied.notes)
    made = file_sha256(folder / part.name)
    finished = replace(part, source_sha256=source, sha256=made, rows=applied.rows, notes=notes)
    # After the part itself is in place: a note without its part would be wrong, a part without its note
    # is only made again.
    write_atomically(folder / DONE / f"{part.name}.json", json.dumps(asdict(finished)))
    return finished


def _noted_parts(folder: Path) -> dict[str, Part]:
    """What is known of the parts, by name; what was noted last is taken, and what is damaged is not."""
    known: dict[str, Part] = {}
    notes = sorted(file for file in (folder / DONE).glob("*.json") if file.name != BEGUN)
    # Later files override earlier ones: the manifest of a former run, then the plan, then the notes of
    # single parts.
    for file in (folder / MANIFEST, folder / DONE / BEGUN, *notes):
        # What is damaged, or has other fields, is as if it were not there: the part is done again.
        with suppress(OSError, ValueError, RecursionError, TypeError, AttributeError):
            content = json.loads(file.read_text(encoding="utf-8"))
            for plain in content.get("parts", [content]):
                part = Part(**plain)
                # JSON has lists where the dataclass has tuples.
                rows, said = operator.index(part.rows), tuple(map(str, part.notes))
                known[part.name] = replace(part, rows=rows, notes=said)
    return known


def _remove_outdated(folder: Path, parts: Iterable[str], noted: Iterable[str]) -> list[str]:
    """Remove what an earlier run made of files that are no longer among the inputs; gives their names.

    Anything else in the folder would be read together with the parts later, so it is refused.
    """
    files = sorted(file for file in folder.iterdir() if is_taken(file.name) and not file.is_dir())
    others = [file for file in files if file.name not in parts]
    for file in others:
        if file.name not in noted:
            raise InputError(
                f"{file}: was not written by an earlier run of this command, and would be read with what it "
                "writes; choose a new folder, or move the file away"
            )
    # Removed only after all of them have been checked, so that a refusal leaves the folder as it was.
    for file in others:
        file.unlink()
        (folder / DONE / f"{file.name}.json").unlink(missing_ok=True)
    return [file.name for file in others]


def _said_of_parts(parts: Sequence[Part]) -> list[str]:
    """What is to be said about parts: once where it is the same for several, and not for very many."""
    names: dict[str, list[str]] = {}
    for part in parts:
        for text in part.notes:
            names.setdefault(text, []).append(part.name)
    said = [
        f"{of[0]}: {text}" if len(of) == 1 else f"{text} ({len(of):,} files)" for text, of in names.items()
    ]
    if len(said) <= MOST_NOTES:
        return said
    return [*said[:MOST_NOTES], f"... and {counted(len(said) - MOST_NOTES, 'more note')} like these"]


def _sha256_of_json(plain: object) -> str:
    # Sorted keys, so that equal settings have equal hashes.
    return hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()
