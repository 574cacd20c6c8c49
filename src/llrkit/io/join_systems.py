"""Several systems, one file each: their scores side by side, row by row or joined on ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from llrkit._format import counted, printable
from llrkit.errors import FileFormatError, InputError
from llrkit.io.checked_trials import require_roles, with_scores
from llrkit.io.trial_table import Scan, TrialTable
from llrkit.scores.roles import require_column

_OTHER = "_label_of_another_file"


class NotAlignedError(Exception):
    """The files do not hold the same trials in the same order."""


def system_names(paths: Sequence[str]) -> list[str]:
    """A name for the system of each file: its name, with the ending or folders it takes to tell them apart.

    Examples
    --------
    >>> system_names(["dev/plda.csv", "dev/ecapa.csv.gz", "other/plda.csv"])
    ['dev/plda', 'dev/ecapa', 'other/plda']
    """
    files = [Path(path).absolute() for path in paths]
    for path, file in zip(paths, files, strict=True):
        if files.count(file) > 1:
            raise InputError(f"{path} is given more than once; each system needs a file of its own")
    reserved = {"score", "label"} if len(files) > 1 else set()
    for folders in range(max(len(file.parts) for file in files)):
        for ending in (False, True):
            names = [
                printable(
                    "/".join([*file.parts[-1 - folders : -1], file.name if ending else _stem_of_file(file)])
                )
                for file in files
            ]
            if len({*names}) == len(names) and not reserved & {*names}:
                return names
    return [printable(str(file)) for file in files]


def _stem_of_file(file: Path) -> str:
    return file.name.split(".")[0] or file.name


def titles_of(
    paths: Sequence[str], columns: Sequence[str] = (), names: Sequence[str] | None = None
) -> list[str]:
    """What to call the systems of some files, or of some columns of each; ``names`` insists.

    Examples
    --------
    >>> titles_of(["a/dev.csv", "b/dev.csv"])
    ['a/dev', 'b/dev']
    >>> titles_of(["dev.csv"], ["plda", "cosine"]), titles_of(["dev.csv", "eval.csv"], ["plda"])
    (['plda', 'cosine'], ['dev plda', 'eval plda'])
    """
    files = system_names(paths)
    if columns:
        titles = [column if len(files) == 1 else f"{file} {column}" for file in files for column in columns]
    else:
        titles = files
    if names is not None:
        if len(names) != len(titles):
            systems = f"{counted(len(titles), 'system')} ({', '.join(titles)})"
            raise InputError(f"--names: {counted(len(names), 'name')} for {systems}")
        titles = list(names)
    if len(set(titles)) < len(titles):
        raise InputError(f"the names of the systems are not all different: {', '.join(titles)}")
    return titles


def trial_columns(files: Sequence[TrialTable], ids: Sequence[str]) -> list[str]:
    """The columns that identify a trial: those asked for, or all that the files share but score and label."""
    for one in files:
        for name in ids:
            require_column(name, one.table.columns, one.file)
    roles = {name for one in files for name in (*one.score, one.label)}
    shared = [
        name for name in files[0].table.columns
        if name not in roles and all(name in one.table.columns for one in files)
    ]  # fmt: skip
    columns = list(ids) or shared
    if not columns:
        raise InputError(f"{files[0].file}: no columns that identify the trials; name them with --ids")
    return columns


def named_alike(first: TrialTable, other: TrialTable) -> TrialTable:
    """Another file with the columns of the ids named as in the first one."""
    for role in ("enroll", "test"):
        ours, theirs = getattr(first.roles, role), getattr(other.roles, role)
        if ours and theirs and ours != theirs and ours not in other.table.columns:
            other = other.with_table(other.table.rename({theirs: ours}), **{role: ours})
    return other


def one_score(trials: TrialTable, *, missing: bool = False) -> TrialTable:
    """A file with exactly one column of scores, all of them numbers."""
    require_roles(trials, labeled=False)
    if len(trials.score) != 1:
        raise InputError(f"{trials.file}: one column of scores expected, got {', '.join(trials.score)}")
    return with_scores(trials, missing=missing)


def side_by_side(
    scans: Sequence[Scan], names: Sequence[str], ids: Sequence[str], *, missing: bool = False
) -> Scan:
    """Files with the same trials in the same order as one: the first, with a column of scores for each file.

    Reading it raises :class:`NotAlignedError` as soon as that turns out not to be so.
    """
    likes = [scans[0].like, *(named_alike(scans[0].like, scan.like) for scan in scans[1:])]
    for like in likes:
        one_score(like)
    keys = trial_columns(likes, ids)
    first = likes[0]

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        streams = [scan.read(scan.columns) for scan in scans]
        for files in _batches_in_step(streams):
            head, *others = [one_score(one, missing=missing) for one in files]
            others = [named_alike(head, one) for one in others]
            for one in others:
                if not _same_rows_of_systems(head.table, one.table, keys):
                    raise NotAlignedError
            scores = [
                one.table[one.score[0]].alias(name)
                for name, one in zip(names[1:], others, strict=True)
            ]  # fmt: skip
            table = head.table.rename({head.score[0]: names[0]}).with_columns(scores)
            yield head.with_table(table.select(wanted), score=tuple(names))

    empty = first.table.rename({first.score[0]: names[0]}).with_columns(
        pl.lit(None, dtype=like.table.schema[like.score[0]]).alias(name)
        for name, like in zip(names[1:], likes[1:], strict=True)
    )
    return Scan(first.with_table(empty, score=tuple(names)), read)


def _batches_in_step(streams: Sequence[Iterator[TrialTable]]) -> Iterator[list[TrialTable]]:
    """Batches of several files cut to the same number of rows."""
    waiting: list[TrialTable | None] = [None] * len(streams)
    while True:
        for i, stream in enumerate(streams):
            one = waiting[i]
            while one is None or one.table.height == 0:
                one = next(stream, None)
                if one is None:
                    break
            waiting[i] = one
        ready = [one for one in waiting if one is not None]
        if len(ready) < len(streams):
            if ready:
                raise NotAlignedError
            return
        height = min(one.table.height for one in ready)
        yield [replace(one, table=one.table[:height]) for one in ready]
        waiting = [
            replace(one, table=one.table[height:], first_row=one.first_row + height, lines=None)
            if one.table.height > height else None
            for one in ready
        ]  # fmt: skip


def _same_rows_of_systems(left: pl.DataFrame, right: pl.DataFrame, keys: Sequence[str]) -> bool:
    return all(
        left[name].cast(pl.String).eq_missing(right[name].cast(pl.String)).all() for name in keys
    )  # fmt: skip


def join_systems(
    files: Sequence[TrialTable],
    names: Sequence[str],
    *,
    ids: Sequence[str] = (),
    missing: str = "error",
    labeled: bool = True,
    unscored: bool = False,
) -> TrialTable:
    """One row per trial with a column of scores for each file.

    Rows keep the order of the first file. A trial that some file lacks is an error, unless ``missing`` is
    something else: then its score is null. If they matter, labels come from any file and must agree. With
    ``unscored`` a file may have trials without a score.
    """
    allowed = missing != "error"
    first = one_score(files[0], missing=allowed or unscored)
    others = [named_alike(first, one_score(one, missing=allowed or unscored)) for one in files[1:]]
    keys = trial_columns([first, *others], ids)
    for one in (first, *others):
        _refuse_repeated_trials(one, keys)
    joined, label = first.table.rename({first.score[0]: names[0]}), first.label
    for name, one in zip(names[1:], others, strict=True):
        wanted = [pl.col(keys), pl.col(one.score[0]).alias(name)]
        if labeled and one.label is not None:
            wanted.append(pl.col(one.label).alias(_OTHER))
        right = one.table.select(wanted)
        differs = [key for key in keys if joined.schema[key] != right.schema[key]]
        joined, right = (
            table.with_columns(pl.col(differs).cast(pl.String)) for table in (joined, right)
        )  # fmt: skip
        if not allowed:
            _refuse_trials_missing_in_system(joined, right, keys, (first.file, one.file))
        # nothing is missing on either side unless that was allowed, so "full" adds rows only then
        joined = joined.join(
            right, on=keys, how="full", coalesce=True, maintain_order="left", nulls_equal=True
        )
        if _OTHER in joined.columns:
            joined, label = _labels_of_all_systems(joined, label, keys, one)
    return replace(first.with_table(joined, score=tuple(names), label=label), lines=None)


def _refuse_repeated_trials(trials: TrialTable, keys: list[str]) -> None:
    repeated = trials.table.select(keys).is_duplicated()
    if repeated.any():
        row = trials.table.select(keys).row(int(repeated.arg_max() or 0))
        raise FileFormatError(f"{trials.file}: trial {' '.join(map(str, row))} occurs more than once")


def _refuse_trials_missing_in_system(
    left: pl.DataFrame, right: pl.DataFrame, keys: list[str], files: tuple[str, str]
) -> None:
    for here, there, lacking in ((left, right, files[1]), (right, left, files[0])):
        gone = here.select(keys).join(there.select(keys), on=keys, how="anti", nulls_equal=True)
        if gone.height:
            shown = "; ".join(" ".join(map(str, row)) for row in gone.head(5).rows())
            raise FileFormatError(f"{lacking}: no score for {counted(gone.height, 'trial')}: {shown}")


def _labels_of_all_systems(
    joined: pl.DataFrame, label: str | None, keys: list[str], trials: TrialTable
) -> tuple[pl.DataFrame, str]:
    """The labels so far completed by those of one more file, which must agree."""
    if label is None:
        name = trials.label or "label"
        return joined.rename({_OTHER: name}), name
    ours, theirs = pl.col(label).cast(pl.String), pl.col(_OTHER).cast(pl.String)
    differs = joined.filter(ours.is_not_null() & theirs.is_not_null() & (ours != theirs))
    if differs.height:
        row = " ".join(map(str, differs.select(keys).row(0)))
        raise FileFormatError(f"{trials.file}: trial {row} has another label than in the first file")
    if joined.schema[label] != joined.schema[_OTHER]:
        joined = joined.with_columns(pl.col(label, _OTHER).cast(pl.String))
    return joined.with_columns(pl.coalesce(label, _OTHER).alias(label)).drop(_OTHER), label
