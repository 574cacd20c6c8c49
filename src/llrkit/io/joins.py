"""Files joined by their trials: keys, systems, countermeasures and quality measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from llrkit.base.process import require_memory, warn_caller
from llrkit.base.text import agreeing, counted, left_out, printable
from llrkit.errors import FileFormatError, InputError, LabelError, LeftOutWarning
from llrkit.io.array_files import read_hdf5_quality
from llrkit.io.formats import detect, read_table
from llrkit.io.read_options import PLAIN, PathArg, Reading
from llrkit.io.table_columns import ENROLL_NAMES, TEST_NAMES, Scan, TrialTable, first_true, named
from llrkit.io.trial_checks import SHOWN, by_policy_on_repeated, refuse_two_labels, require_roles, with_scores
from llrkit.scores.labels import classify_words
from llrkit.scores.source import require_column

_ROW, _OWN, _KEYED = "_row_of_the_key", "_label_of_the_scores", "_label_of_the_key"
_CHANNELS = ("side", "channel", "chan")


def join_key(scores: TrialTable, key: TrialTable, *, missing: str, duplicates: str) -> TrialTable:
    """Scores with the labels of a key that is in another file, joined on the ids of the trials.

    Rows keep the order of the scores. What ``missing`` and ``duplicates`` accept is in ``Reading``. The
    labels come from the key whatever columns the scores have: one of the same name is left out.
    """
    if key.label is None:
        names = ", ".join(key.table.columns)
        raise FileFormatError(f"{key.file}: a key without labels; its columns: {names}")
    name, own_label = key.label, scores.label
    if own_label is not None:
        # Renamed out of the way, so that the label of the key cannot collide with one of the scores.
        scores = scores.with_table(scores.table.rename({own_label: _OWN}), label=_OWN)
    key = key.with_table(key.table.rename({name: _KEYED}), label=_KEYED)
    key, ids = _ids_shared_with_key(scores, key)
    left, right = scores.table, key.table
    # Text in one file and numbers in the other: ids are compared as text.
    differ = [one for one in ids if left.schema[one] != right.schema[one] and one not in _CHANNELS]
    same = [pl.col(differ).cast(pl.String)]
    # channels are a and b in one file and A and B in another
    same += [pl.col(one).cast(pl.String).str.to_lowercase() for one in ids if one in _CHANNELS]
    left, right = left.with_columns(same), right.with_columns(same)
    scores, key = replace(scores, table=left), replace(key, table=right)
    # polars puts the ids of a trial together to compare them: they count once more
    sides = [table[one] for table in (left, right) for one in ids]
    texts = sum(int(one.str.len_bytes().sum()) if one.dtype == pl.String else 9 * len(one) for one in sides)
    both = f"{scores.file} and {key.file}"
    require_memory(float(left.estimated_size() + right.estimated_size() + texts), both)
    table = _join_on_ids(left, right, ids)
    # every row of one side met exactly one of the other, unless something is missing or repeated
    one_to_one = table.height == left.height == right.height and not table[_ROW].has_nulls()
    # Row indices are counted because equal heights alone could hide a repeated row beside a missing one.
    if not (one_to_one and (np.bincount(table[_ROW].to_numpy()) == 1).all()):
        # The slow path, which finds out what is wrong and applies the policies; the common case above
        # costs one join.
        refuse_two_labels(key, ids)
        scores = by_policy_on_repeated(scores, duplicates, ids)
        if duplicates == "error":
            by_policy_on_repeated(key, duplicates, ids)
        # Only the first of equal rows, whatever the policy: two rows of the key would multiply the
        # score.
        key = key.only(key.table.select(pl.struct(ids).is_first_distinct()).to_series())
        if missing == "error":
            refuse_unmatched_trials(scores, key, ids, "no label")
            refuse_unmatched_trials(key, scores, ids, "no score")
        table = _join_on_ids(scores.table, key.table, ids).filter(pl.col(_ROW).is_not_null())
        unlabeled, unscored = scores.table.height - table.height, key.table.height - table[_ROW].n_unique()
        if not table.height and scores.table.height:
            none = f"none of its {counted(unlabeled, 'trial')} is in {key.file}"
            raise FileFormatError(f"{scores.file}: {none}")
        say_left_out(scores, unlabeled, f"no label in {key.file}")
        say_left_out(key, unscored, f"no score in {scores.file}")
        # Rows no longer stand where they stood in the file.
        scores = replace(scores, lines=None)
    taken = {*ids, *scores.score}
    label = next(one for one in (name, "label", "label_of_key") if one not in taken)
    table = table.select(pl.exclude(_ROW, label)).rename({_KEYED: label})
    joined = scores.with_table(table, label=label)
    if own_label is None:
        return joined
    # The labels of the key alone; it is an error if the scores came with labels that say otherwise. By
    # meaning and not by word: tgt in the scores and 1 in the key agree.
    ours, theirs = (_meaning_of_key_labels(table[name]) for name in (_OWN, label))
    differs = (ours != theirs).fill_null(False)
    row, n = first_true(differs), int(differs.sum())
    if row is not None:
        here, there = (str(table[name][row]) for name in (_OWN, label))
        raise FileFormatError(
            f"{joined.place(row)}: the label here is {here!r}, but {there!r} in {key.file}; "
            f"{counted(n, 'trial')} {agreeing(n, 'differs', 'differ')}. "
            "Leave the key out, or the labels in this file"
        )
    return replace(joined, table=table.drop(_OWN))


def say_left_out(trials: TrialTable, n: int, lacks: str) -> None:
    """Warn that trials of a table are left out because of what they lack, if there are any."""
    if n:
        said = left_out(n, trials.table.height, f"has {lacks}", f"have {lacks}")
        warn_caller(LeftOutWarning(f"{trials.file}: {said}", n))


def _meaning_of_key_labels(labels: pl.Series) -> pl.Series:
    """True for targets, false for non-targets, null where a label is missing or no known word."""
    words = labels.cast(pl.String)
    known = [word for word in words.unique().to_list() if word is not None]
    meaning = classify_words([word.removesuffix(".0") for word in known])
    return words.replace_strict(known, meaning, default=None, return_dtype=pl.Boolean)


def _ids_shared_with_key(scores: TrialTable, key: TrialTable) -> tuple[TrialTable, list[str]]:
    """The key with its ids named as in the scores, and the names that both share."""
    pairs = [(scores.enroll, key.enroll), (scores.test, key.test)]
    both = [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
    names = [name for name in key.table.columns if name in scores.table.columns]
    # Roles are trusted only if both files have the same ones; otherwise columns of the same name
    # identify a trial.
    if both and all((ours is None) == (theirs is None) for ours, theirs in pairs):
        other = {theirs: ours for ours, theirs in both}
        free = [name for name in key.table.columns if name in other or name not in other.values()]
        table = key.table.select(free).rename(other)
        wanted = [*other.values(), *(name for name in _CHANNELS if name in names)]
        return replace(key, table=table), wanted
    ids = [name for name in scores.table.columns if name in names and name not in scores.score]
    if not ids:
        raise InputError(f"{key.file}: shares no column with {scores.file} that would identify the trials")
    return key, ids


def _join_on_ids(left: pl.DataFrame, right: pl.DataFrame, ids: list[str]) -> pl.DataFrame:
    wanted = [*ids, *(name for name in right.columns if name not in left.columns)]
    # The row of the key tells which trials met, also where a label itself is null.
    right = right.select(wanted).with_row_index(_ROW)
    # polars joins in any order unless told; the order of the scores is part of the result.
    return left.join(right, on=ids, how="left", maintain_order="left", nulls_equal=True)


def refuse_unmatched_trials(here: TrialTable, there: TrialTable, ids: Sequence[str], what: str) -> None:
    """Raise an error that shows the first trials that only one of two files has."""
    left = here.table.select(ids).with_row_index(_ROW)
    gone = left.join(there.table, on=ids, how="anti", nulls_equal=True, maintain_order="left")
    if gone.height:
        first = gone.head(SHOWN)
        shown = "; ".join(" ".join(map(str, row)) for row in first.select(ids).rows())
        where = here.places(first[_ROW].to_list())
        trials = counted(gone.height, "trial")
        raise FileFormatError(f"{there.file}: {what} for {trials}: {shown} ({here.file}, {where})")


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
    # score and label would be mistaken for roles in the joined table.
    reserved = {"score", "label"} if len(files) > 1 else set()
    for folders in range(max(len(file.parts) for file in files)):
        for ending in (False, True):
            # The shortest names that differ: first without endings, then with, then with one folder
            # more.
            names = []
            for file in files:
                name = file.name if ending else file.name.split(".")[0] or file.name
                names.append(printable("/".join([*file.parts[-1 - folders : -1], name])))
            if len({*names}) == len(names) and not reserved & {*names}:
                return names
    return [printable(str(file)) for file in files]


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
    titles = files = system_names(paths)
    if columns:
        titles = [column if len(files) == 1 else f"{file} {column}" for file in files for column in columns]
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
                for key in keys:
                    # As text, since two files of the same ids may have been read with different types.
                    ours, theirs = head.table[key].cast(pl.String), one.table[key].cast(pl.String)
                    # Rows are compared as they come: files in another order are joined in memory instead
                    # (NotAlignedError).
                    if not ours.eq_missing(theirs).all():
                        raise NotAlignedError
            scores = (one.table[one.score[0]] for one in others)
            table = head.table.rename({head.score[0]: names[0]})
            table = table.with_columns(map(pl.Series.alias, scores, names[1:]))
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
            if waiting[i] is None:
                # Empty batches must not be taken for the end of a file.
                waiting[i] = next((one for one in stream if one.table.height), None)
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
    scored = [one_score(one, missing=allowed or unscored) for one in files]
    scored = [scored[0], *(named_alike(scored[0], one) for one in scored[1:])]
    keys = trial_columns(scored, ids)
    differs = [key for key in keys if len({one.table.schema[key] for one in scored}) > 1]
    as_text = pl.col(differs).cast(pl.String)
    first, *others = (replace(one, table=one.table.with_columns(as_text)) for one in scored)
    for one in (first, *others):
        by_policy_on_repeated(one, "error", keys)
    joined, label = first.table.rename({first.score[0]: names[0]}), first.label
    for name, one in zip(names[1:], others, strict=True):
        wanted = [pl.col(keys), pl.col(one.score[0]).alias(name)]
        if labeled and one.label is not None:
            wanted.append(pl.col(one.label).alias(_OTHER))
        if not allowed:
            refuse_unmatched_trials(first, one, keys, "no score")
            refuse_unmatched_trials(one, first, keys, "no score")
        # nothing is missing on either side unless that was allowed, so "full" adds rows only then
        joined = joined.join(
            # coalesce merges the ids of both sides into one column, which a full join leaves apart.
            one.table.select(wanted), on=keys, how="full", coalesce=True, maintain_order="left",
            nulls_equal=True,
        )  # fmt: skip
        if _OTHER in joined.columns:
            joined, label = _labels_of_all_systems(joined, label, keys, one)
    return replace(first.with_table(joined, score=tuple(names), label=label), lines=None)


def _labels_of_all_systems(
    joined: pl.DataFrame, label: str | None, keys: list[str], trials: TrialTable
) -> tuple[pl.DataFrame, str]:
    """The labels so far completed by those of one more file, which must agree."""
    if label is None:
        name = trials.label or "label"
        return joined.rename({_OTHER: name}), name
    # As text, since one file may hold 1 and the other "1".
    ours, theirs = pl.col(label).cast(pl.String), pl.col(_OTHER).cast(pl.String)
    differs = joined.filter(ours.is_not_null() & theirs.is_not_null() & (ours != theirs))
    if differs.height:
        row = " ".join(map(str, differs.select(keys).row(0)))
        raise FileFormatError(f"{trials.file}: trial {row} has another label than in the first file")
    if joined.schema[label] != joined.schema[_OTHER]:
        joined = joined.with_columns(pl.col(label, _OTHER).cast(pl.String))
    return joined.with_columns(pl.coalesce(label, _OTHER).alias(label)).drop(_OTHER), label


def join_countermeasure(
    asv: TrialTable,
    cm: TrialTable,
    ids: Sequence[str] = (),
    names: Sequence[str] = ("asv", "cm"),
    *,
    labeled: bool = True,
) -> TrialTable:
    """The trials of the first file with the CM scores of their segments, in two columns of these names.

    Files are joined on the columns ``ids``, or all they share but score and label; the second file may have
    segments that no trial needs, and its labels are not looked at. Those of the first are needed if
    ``labeled``.
    """
    asv = one_score(asv)
    cm = named_alike(asv, one_score(cm))
    if labeled and asv.label is None:
        raise LabelError(f"{asv.file}: there are no labels; target, nontarget and spoof are needed")
    keys = trial_columns([asv, cm], ids)
    # A countermeasure scores a segment, which may occur in many trials, so only its own side must be
    # unique.
    row = first_true(cm.table.select(keys).is_duplicated())
    if row is not None:
        segment = " ".join(map(str, cm.table.select(keys).row(row)))
        then = "name the columns that identify a segment with --ids"
        raise FileFormatError(f"{cm.file}: {segment} has more than one score; {then}")
    cm = replace(cm, table=cm.table.with_columns(pl.col(key).cast(asv.table.schema[key]) for key in keys))
    refuse_unmatched_trials(asv, cm, keys, "no score")
    # A column of that name in the trials makes room for the scores of the countermeasure.
    left = asv.table.rename({asv.score[0]: names[0]}).drop(names[1], strict=False)
    right = cm.table.select(*keys, pl.col(cm.score[0]).cast(pl.Float64).alias(names[1]))
    joined = left.join(right, on=keys, how="left", maintain_order="left", nulls_equal=True)
    return replace(asv.with_table(joined, score=tuple(names)), lines=None)


ID_NAMES = ("id", "ids", *TEST_NAMES, *ENROLL_NAMES)


def read_quality(path: PathArg, reading: Reading = PLAIN) -> pl.DataFrame:
    """A table with the id of a segment or model in the column ``id`` and numbers in all others.

    BOSARIS Seg_Quality files (HDF5: ``/ids`` and ``/values``) give ``quality_1``, ``quality_2``, ...; a table
    has a column with an id (``id``, ``segment``, ``utt``, ..., else the first one) and names of its own.
    """
    file = Path(path)
    if file.is_file() and detect(file) == "bosaris":
        ids, values = read_hdf5_quality(file)
        columns: dict[str, object] = {f"quality_{i}": row for i, row in enumerate(values, 1)}
        table = pl.DataFrame({"id": ids, **columns})
    else:
        measures = read_table(path, reading.for_other_file(score=()))
        name = named(measures.table.columns, ID_NAMES) or measures.table.columns[0]
        table = measures.table.rename({name: "id"}).select(pl.col("id").cast(pl.String), pl.exclude("id"))
        for column in table.columns[1:]:
            # Strings that are no numbers become null by the cast, and are refused with missing ones.
            numbers = table[column].cast(pl.Float64, strict=False)
            row = first_true(numbers.is_null() | numbers.is_nan())
            if row is not None:
                said = f"{table[column][row]!r} is not a number"
                raise FileFormatError(f"{measures.place(row)}, column {column!r}: {said}")
            table = table.with_columns(numbers)
    twice = first_true(table["id"].is_duplicated())
    if twice is not None:
        raise FileFormatError(f"{path}: {table['id'][twice]!r} occurs more than once")
    return table


def with_quality(
    trials: TrialTable, path: PathArg, *, missing: str = "error", reading: Reading = PLAIN
) -> TrialTable:
    """Trials with the measures of both sides, as far as their ids are in the file.

    The columns are named ``enroll_<name>`` and ``test_<name>``. A side none of whose ids is known gets none;
    if some are known and some are not, that is an error, or the trials are left out (``missing='drop'``).
    """
    quality = read_quality(path, reading)
    added: list[str] = []
    table = trials.table
    for side, name in (("enroll", trials.enroll), ("test", trials.test)):
        if name is None:
            continue
        renamed = {column: f"{side}_{column}" for column in quality.columns if column != "id"}
        wanted = table.select(pl.col(name).cast(pl.String).alias("id"))
        joined = wanted.join(quality.rename(renamed), on="id", how="left", maintain_order="left").drop("id")
        # Ids of one side may be models that the file does not know, so a side without any known id is
        # left out silently.
        if joined.width and joined[:, 0].null_count() < joined.height:
            table = table.with_columns(joined)
            added += joined.columns
    if not added:
        raise InputError(f"{path}: none of its ids occurs in {trials.file}")
    lacking = table.select(pl.any_horizontal(pl.col(added).is_null())).to_series()
    n, row = int(lacking.sum()), first_true(lacking)
    if row is not None and missing != "drop":
        some = f"{counted(n, 'trial')} {agreeing(n, 'has', 'have')}"
        raise FileFormatError(f"{trials.place(row)}: no quality measures in {path}; {some} none")
    say_left_out(trials, n, f"no quality measures in {path}")
    return replace(trials, table=table) if row is None else trials.without_lines(table.filter(~lacking))
