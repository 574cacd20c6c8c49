"""Evaluations by condition and of trials that come in batches."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from llrkit.base.arguments import Array, FloatArray, names_of, one_of
from llrkit.base.text import Json, counted
from llrkit.core.groups import natural_order
from llrkit.errors import EmptyClassError, InputError
from llrkit.metrics.discrimination import Curve, as_floats
from llrkit.metrics.measure import resolve_points
from llrkit.results.result import Result, text_table
from llrkit.scores import ScoreSource
from llrkit.scores.arrays import Scores, refuse_nan, score_array
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.scores.labels import as_numpy, expecting_scores_first, flat_labels, target_mask
from llrkit.scores.trials import Trials
from llrkit.theory.operating_points import Points
from llrkit.verbs.evaluate import (
    Evaluation,
    equalized,
    evaluate,
    group_name,
    group_rows,
    named_rows,
    over_groups,
)
from llrkit.verbs.options import EvaluateOptions


@dataclass(frozen=True, eq=False, repr=False)
class ConditionTable(Result):
    """The result of :func:`condition_table`."""

    by: str
    """Name of the column, or columns, that hold the conditions."""
    conditions: Mapping[Hashable, Evaluation]
    """Evaluation of each condition."""
    pooled: Evaluation
    """All trials together, as many as there are of each condition."""
    equalized: Evaluation
    """All trials together, with the same weight for each condition: one threshold, one scale for all."""
    averaged: Mapping[str, float]
    """Means of the numbers over the conditions: a best threshold or PAV map of its own for each."""
    skipped: Mapping[Hashable, str]
    """Conditions that were left out, with the reason."""

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        return {
            "by": self.by,
            "conditions": {group_name(name): one.to_dict() for name, one in self.conditions.items()},
            "pooled": self.pooled.to_dict(),
            "equalized": self.equalized.to_dict(),
            "averaged": dict(self.averaged),
            "skipped": {group_name(name): why for name, why in self.skipped.items()},
        }

    def _frame_rows(self) -> Sequence[Mapping[str, object]]:
        return named_rows(self.by, self.rows())

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""
        return group_rows(self.rows(), self.by)

    def rows(self) -> dict[str, Evaluation]:
        """The conditions by name, then all trials pooled, and with equal weight."""
        named = {group_name(key): one for key, one in self.conditions.items()}
        return {**named, "(pooled)": self.pooled, "(equalized)": self.equalized}

    def __repr__(self) -> str:
        return text_table(*self.table())


def condition_table(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    by: str | Sequence[str],
    points: Points = ("sre08", "sre10"),
    allow_unconfirmed: bool = False,
) -> ConditionTable:
    """Evaluate every condition, all of them pooled, and all of them with equal weight.

    A pooled number is dominated by the conditions with most trials, and is worse than the conditions when
    their scores are not on the same scale; a mean over conditions does not see that. Equalized, conditions
    weigh the same but share one scale and one threshold.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    by
        The column that says which condition a trial belongs to, or several: every combination is one.
    points
        Operating points: priors, ``(prior, c_miss, c_fa)``, or names of presets.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> model = lk.theory.GaussianLLR.from_eer(0.05)
    >>> target, nontarget = model.rvs(1000, 8000, rng)
    >>> room = (np.arange(1000) % 2, np.arange(8000) % 4 == 0)
    >>> shifted = lk.Scores(target + 3 * room[0], nontarget + 3 * room[1], {"room": room})
    >>> table = lk.condition_table(shifted, by="room", points=[0.1])
    >>> bool(table.averaged["eer"] < table.equalized.eer)  # the rooms disagree about the scale
    True
    """
    source = as_source(source, labels)
    title = ", ".join(names_of(by, "by"))
    pooled = evaluate(source, points=points, by=by, allow_unconfirmed=allow_unconfirmed)
    if not pooled.groups:
        raise EmptyClassError(f"no value of {title!r} has trials of both classes")
    # means over conditions follow from the groups, without another pass
    averaged, _ = over_groups(pooled.groups)
    asked = EvaluateOptions(equalize=by, points=points, allow_unconfirmed=allow_unconfirmed)
    return ConditionTable(
        title, pooled.groups, pooled, equalized(source, asked), averaged, pooled.skipped_groups
    )


VALUES = {"eer": "EER", "cllr": "Cllr (bits)", "min_cllr": "min Cllr (bits)", "cllr_cal": "Cllr − min (bits)"}


@dataclass(frozen=True, eq=False)
class HeatMap(Curve):
    """A number for each pair of conditions: enrollment by test duration, say.

    Examples
    --------
    >>> HeatMap([[0.26, 0.2], [0.2, 0.03]], ("5 s", "full"), ("5 s", "full"), value_name="EER").values.shape
    (2, 2)
    """

    values: FloatArray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_name: str = "enrollment"
    column_name: str = "test"
    value_name: str = ""
    percent: bool = False
    """Whether the values are rates, to be shown as percentages."""

    def __post_init__(self) -> None:
        as_floats(self, "values")
        if self.values.shape != (len(self.rows), len(self.columns)):
            raise InputError(
                f"values of shape {self.values.shape} do not fit {counted(len(self.rows), 'row')} and "
                f"{counted(len(self.columns), 'column')}"
            )
        super().__post_init__()


def condition_map(trials: Trials, rows: str, columns: str, *, value: str = "eer") -> HeatMap:
    """Evaluate every pair of values of two columns; NaN where a pair lacks trials of a class.

    Examples
    --------
    >>> trials = Trials({"score": [2.0, -1.0, 1.0, 1.5], "label": [1, 0, 1, 0],
    ...                  "enrollment": ["5 s", "5 s", "5 s", "5 s"], "test": ["5 s", "5 s", "full", "full"]})
    >>> condition_map(trials, "enrollment", "test", value="eer").values
    array([[0. , 0.5]])
    """
    one_of(value, tuple(VALUES), "value")
    by_row = {
        str(key): {
            group_name(key): float(getattr(group, value))
            for key, group in evaluate(row_trials, by=columns).groups.items()
        }
        for key, row_trials in trials.by(rows).items()
    }
    # in the order of the table, also where a row lacks some of them
    across = list(dict.fromkeys(str(key) for key in trials.by(columns)))
    values = np.array([[row.get(name, np.nan) for name in across] for row in by_row.values()])
    shown = VALUES[value]
    return HeatMap(values, tuple(by_row), tuple(across), rows, columns, shown, percent=value == "eer")


def group_map(
    systems: Mapping[str, ScoreSource], by: str, *, value: str = "eer", shared: str | None = None
) -> HeatMap:
    """Evaluate every group of every system: attacks by countermeasure, say.

    ``shared`` is the class that all groups share, as in :func:`llrkit.evaluate`.

    Examples
    --------
    >>> trials = Trials({"score": [2.0, -1.0, 3.0], "label": ["bonafide", "spoof", "spoof"],
    ...                  "attack": ["-", "A01", "A02"]})
    >>> attacks = group_map({"mine": trials}, "attack", shared="bonafide")
    >>> attacks.rows, attacks.values
    (('A01', 'A02'), array([[0. ],
           [0.5]]))
    """
    one_of(value, tuple(VALUES), "value")
    groups = {name: evaluate(source, by=by, shared=shared).groups for name, source in systems.items()}
    rows = sorted({key for of_system in groups.values() for key in of_system}, key=natural_order)
    if not rows:
        raise EmptyClassError(f"no value of {by!r} has trials of both classes")
    # a group that a system does not have becomes nan through the default of getattr
    by_system = [[getattr(of.get(row), value, np.nan) for of in groups.values()] for row in rows]
    values, names, shown = np.array(by_system, dtype=np.float64), tuple(map(group_name, rows)), VALUES[value]
    return HeatMap(values, names, tuple(groups), by, "system", shown, percent=value == "eer")


METER_OPTIONS = ("threshold_from", "ece", "allow_unconfirmed", "ci", "level", "replicates", "rng")
"""Options of :func:`evaluate` that need no columns besides scores and labels."""


class Meter:
    """All metrics of trials that come in batches, exactly those of :func:`evaluate` of all trials at once.

    The result has the same bits whatever the batches, their order, and the order in which meters are merged.
    Exactness needs every score: the meter keeps them, 8 bytes each (4 where they come as float32), and
    nothing else. A batch may hold trials of one class alone.

    Parameters
    ----------
    points
        Operating points, as for :func:`evaluate`.
    positive
        The label of the targets, if it is none of the usual ones.
    **options
        Further options of :func:`evaluate` that need nothing but scores (``ece``, ``ci``, ``level``, ...).

    Examples
    --------
    >>> meter = Meter(points=[0.01])
    >>> meter.update([2.0, -1.0, 0.5], [1, 0, 0])
    >>> meter.update([1.5, 3.0], [1, 1])
    >>> meter
    Meter(3 target, 2 nontarget trials)
    >>> meter.compute().eer
    0.0
    """

    def __init__(
        self, points: Points = ("sre08", "sre10"), *, positive: object = None, **options: Any
    ) -> None:
        # faults of the points show when the meter is made, not at the end of the first epoch
        resolve_points(points, bool(options.get("allow_unconfirmed", False)))
        for name in options:
            one_of(name, METER_OPTIONS, "option")
        self.points, self.positive, self.options = points, positive, options
        self.reset()

    def reset(self) -> None:
        """Forget all trials."""
        self._kept: dict[str, list[Array]] = {"target": [], "nontarget": []}

    def update(self, scores: object, labels: object) -> None:
        """Take a batch of trials, or one: scores, higher meaning more target-like, and as many labels.

        Parameters
        ----------
        scores
            Scores, higher meaning more target-like.
        labels
            Labels in any of the usual spellings, as many as scores.
        """
        batch = batch_by_class(scores, labels, self.positive)
        for kept, values in zip(self._kept.values(), batch, strict=True):
            kept.append(values)

    def compute(self) -> Evaluation:
        """Evaluate all trials so far."""
        return evaluate(self.scores(), points=self.points, **self.options)

    def scores(self) -> Scores:
        """All trials so far, as a source for any other function."""
        classes = self.state_dict()
        for name, values in classes.items():
            if len(values) == 0:
                raise EmptyClassError(f"there are no {name} trials yet; both classes need at least one")
        return Scores.from_classes(classes["target"], classes["nontarget"])

    def merge(self, other: Meter) -> Self:
        """Take all trials of another meter; points and options stay those of this one.

        Parameters
        ----------
        other
            The meter whose trials are taken.
        """
        if not isinstance(other, Meter):
            raise InputError(f"a meter can only be merged with another meter, got {type(other).__name__}")
        for name, kept in self._kept.items():
            kept += other._kept[name]
        return self

    def __add__(self, other: Meter) -> Meter:
        # points and options of the left one, as for merge
        merged = Meter(self.points, positive=self.positive, **self.options)
        return merged.merge(self).merge(other)

    def __radd__(self, other: object) -> Meter:
        """Let ``sum(meters)`` merge them: it begins with 0."""
        return self + Meter(self.points) if isinstance(other, int) and other == 0 else NotImplemented

    def state_dict(self) -> dict[str, Array]:
        """The trials so far as two arrays, for checkpoints."""
        return {name: np.concatenate(kept) if kept else np.empty(0) for name, kept in self._kept.items()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on from the trials of a checkpoint, in place of those so far.

        Parameters
        ----------
        state
            What ``state_dict`` returned.
        """
        if set(state) != set(self._kept):
            names = ", ".join(map(str, state))
            raise InputError(f"the state of a meter holds target and nontarget, got {names}")
        arrays = {name: np.array(score_array(state[name], f"{name} scores")) for name in state}
        for name, values in arrays.items():
            refuse_nan(values, f"{name} scores")
        self._kept = {name: [arrays[name]] for name in self._kept}

    def __len__(self) -> int:
        return sum(len(batch) for kept in self._kept.values() for batch in kept)

    def __repr__(self) -> str:
        n_target, n_nontarget = (sum(map(len, kept)) for kept in self._kept.values())
        return f"Meter({n_target:,} target, {n_nontarget:,} nontarget trials)"


def batch_by_class(scores: object, labels: object, positive: object = None) -> tuple[Array, Array]:
    """The target and the non-target scores of a batch, checked; either may be empty.

    Examples
    --------
    >>> batch_by_class([2.0, -1.0, 0.5], ["target", "nontarget", "nontarget"])
    (array([2.]), array([-1. ,  0.5]))
    """
    with expecting_scores_first(scores, labels):
        # a batch of one trial may have lost its dimension
        values = score_array(np.atleast_1d(as_numpy(scores, "scores")), "scores")
        if values.ndim != 1:
            raise InputError(f"a meter takes the scores of one system, got shape {values.shape}")
        refuse_nan(values, "scores")
        if len(values) == 0:
            return np.empty(0, values.dtype), np.empty(0, values.dtype)
        words = np.atleast_1d(flat_labels(labels))
        # with positive= a batch without any target is welcome, whatever the label of the targets is
        mask = target_mask(words) if positive is None else np.asarray(words == positive)
        if len(mask) != len(values):
            raise InputError(f"{counted(len(values), 'score')} but {counted(len(mask), 'label')}")
        return values[mask], values[~mask]  # copies: the batch may be overwritten
