"""Compound LLRs of a table: every model of a test segment against the other models and the unknown."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from llrkit._arguments import share, takes
from llrkit._arrays import Counts
from llrkit.core.column_values import positions_by_value
from llrkit.errors import InputError
from llrkit.metrics.compound_llrs import compound_llr
from llrkit.scores.roles import require_column
from llrkit.scores.trials import Trials

COLUMN = "compound_llr"


@takes(trials=Trials)
def compound_trials(trials: Trials, *, p_known: float = 0.5, enroll: str = "", test: str = "") -> Trials:
    """LLRs against "another enrolled speaker or an unknown one", for a table with all models of each segment.

    The models that a test segment was compared with are the enrolled speakers; every one must occur once, and
    at least two must. Segments that share a model must share all of them: men may have been compared with men
    and women with women, but a missing pair is an error. The LLRs are in the new column
    ``compound_llr``, which becomes the score.

    Parameters
    ----------
    trials
        A table with the LLRs of every test segment against all models.
    p_known
        The share of known impostors among non-targets, as in :func:`llrkit.compound_llr`.
    enroll, test
        The columns with the models and the test segments; by default those of the table.

    Examples
    --------
    >>> table = {"score": [2.0, -1.0, -3.0], "label": [1, 0, 0], "model": ["a", "b", "c"], "test": ["x"] * 3}
    >>> trials = Trials(table, enroll="model", test="test")
    >>> compound_trials(trials).table["compound_llr"].round(3).to_list()
    [2.503, -1.859, -3.892]
    """
    share(p_known, "p_known")
    if trials.roles.n_systems != 1:
        raise InputError(f"compound LLRs are of one system, got {trials.roles.n_systems}")
    models, segments = enroll or trials.enroll, test or trials.test
    if models is None or segments is None:
        raise InputError("compound LLRs need the columns of the models and of the test segments")
    for name in (models, segments):
        require_column(name, trials.table.columns, trials.origin)
    score = np.asarray(trials.table[trials.score[0]].to_numpy(), dtype=np.float64)
    model = trials.table[models].to_list()
    llrs = np.empty(len(score))
    by_segment = positions_by_value(np.array(trials.table[segments].to_list(), dtype=object))
    enrolled: dict[Hashable, tuple[object, frozenset[Hashable]]] = {}  # of a model: first segment, its models
    for segment, rows in by_segment.items():
        seen: set[Hashable] = set()
        for row in rows.tolist():
            if model[row] in seen:
                raise InputError(
                    f"{trials.place(row)}: model {model[row]!r} was compared with segment {segment!r} more "
                    "than once; a compound LLR needs one LLR of each enrolled speaker"
                )
            seen.add(model[row])
        if len(rows) < 2:
            raise InputError(
                f"{trials.place(int(rows[0]))}: segment {segment!r} was compared with one model only; a "
                "compound LLR needs at least two enrolled speakers"
            )
        _refuse_missing(trials, segment, rows, frozenset(seen), enrolled)
        llrs[rows] = compound_llr(score[rows], p_known)
    columns = {name: trials.table[name] for name in trials.table.columns}
    return Trials(
        {**columns, COLUMN: llrs},
        score=COLUMN,
        label=trials.label,
        enroll=models,
        test=segments,
        origin=trials.origin,
    )


def _refuse_missing(
    trials: Trials,
    segment: object,
    rows: Counts,
    models: frozenset[Hashable],
    enrolled: dict[Hashable, tuple[object, frozenset[Hashable]]],
) -> None:
    """Refuse a segment that shares some models with an earlier one, but not all."""
    for model in models:
        other, expected = enrolled.setdefault(model, (segment, models))
        if expected == models:
            continue
        lacking, has = (segment, other) if expected - models else (other, segment)
        absent = min(map(str, (expected - models) or (models - expected)))
        raise InputError(
            f"{trials.place(int(rows[0]))}: segment {str(lacking)!r} was not compared with model {absent!r}, "
            f"segment {str(has)!r} was; a compound LLR needs one LLR of each enrolled speaker"
        )
