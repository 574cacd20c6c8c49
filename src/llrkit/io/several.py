"""Trials of several systems: a column of scores each in one file, or a file each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from llrkit.errors import InputError
from llrkit.io import factor_of, read_found
from llrkit.io.checks import repeated, require_roles, target_mask_of, with_positive, with_scores
from llrkit.io.join import join_found
from llrkit.io.quality import with_quality
from llrkit.io.systems import join_systems, named_alike, system_names, trial_columns
from llrkit.io.trial_table import Found
from llrkit.scores.trials import Trials


def read_systems(
    paths: Sequence[str],
    key: str | None = None,
    *,
    ids: Sequence[str] = (),
    missing: str = "error",
    duplicates: str | None = None,
    positive: str | None = None,
    log10: bool = False,
    distance: bool = False,
    quality: str | None = None,
    weight: str | None = None,
    **reading: Any,
) -> Trials:
    """Trials scored by several systems; a score that is missing stays so unless ``missing`` is 'error'.

    One file has a column per system (``score`` names them); several files have one score each and are
    joined on the ids of the trials, that is on ``ids`` or all columns they share. The other options are those
    of ``read_trials``.
    """
    label = reading.pop("label", None)
    of_key = None if key is None else read_found(key, score=[], label=label)
    parts = [read_found(path, label=None if key else label, **reading) for path in paths]
    if len(parts) == 1:
        found = repeated(parts[0], duplicates or "keep")
    else:
        found = _joined(parts, paths, ids, missing, duplicates)
    if of_key is not None:
        policy = "error" if missing == "error" else "drop"
        found = join_found(found, of_key, missing=policy, duplicates=duplicates or "error")
    if quality is not None:
        found = with_quality(found, quality, missing="error" if missing == "error" else "drop")
    require_roles(found)
    found = with_scores(found, missing=missing != "error")
    if positive is not None:
        found = with_positive(found, positive)
    target_mask_of(found)
    trials = Trials(
        found.table, score=found.score, label=found.label or "", enroll=found.enroll, test=found.test,
        origin=found.file, lines=found.lines,
    )  # fmt: skip
    if weight is not None:
        trials = trials.weighed_by(weight)
    factor = factor_of(log10=log10, distance=distance)
    return trials if factor == 1.0 else trials.rescaled(factor)


def _joined(
    parts: Sequence[Found], paths: Sequence[str], ids: Sequence[str], missing: str, duplicates: str | None
) -> Found:
    if duplicates == "keep":
        raise InputError("trials that occur more than once cannot be joined; use --duplicates error or drop")
    if duplicates == "drop":
        alike = [parts[0], *(named_alike(parts[0], part) for part in parts[1:])]
        keys = trial_columns(alike, ids)
        parts = [repeated(part, "drop", keys) for part in alike]
    joined = join_systems(parts, system_names(paths), ids=ids, missing=missing)
    return replace(joined, file=" + ".join(paths))
