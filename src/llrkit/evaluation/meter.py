"""Meter: an evaluation that is fed batch by batch, in training loops and by several processes."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Self

import numpy as np

from llrkit._arrays import Array
from llrkit._format import counted
from llrkit.errors import EmptyClassError, InputError, UnknownNameError
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.metrics.requested_points import resolve_points
from llrkit.scores.arrays import Scores
from llrkit.scores.arrays_of_other_libraries import as_numpy, flat_labels
from llrkit.scores.checked_arrays import refuse_nan, score_array
from llrkit.scores.target_labels import expecting_scores_first, target_mask
from llrkit.theory.presets import Points


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
        self,
        points: Points = ("sre08", "sre10"),
        *,
        positive: object = None,
        **options: object,
    ) -> None:
        resolve_points(
            points, bool(options.get("allow_unconfirmed", False))
        )  # now rather than after an epoch
        unknown = [name for name in options if name not in signature(evaluate).parameters]
        if unknown:
            raise UnknownNameError(f"evaluate has no option {unknown[0]!r}")
        self.points, self.positive, self.options = points, positive, options
        self.reset()

    def reset(self) -> None:
        """Forget all trials."""
        self._target: list[Array] = []
        self._nontarget: list[Array] = []

    def update(self, scores: object, labels: object) -> None:
        """Take a batch of trials, or one: scores, higher meaning more target-like, and as many labels.

        Parameters
        ----------
        scores
            Scores, higher meaning more target-like.
        labels
            Labels in any of the usual spellings, as many as scores.
        """
        target, nontarget = batch_by_class(scores, labels, self.positive)
        self._target.append(target)
        self._nontarget.append(nontarget)

    def compute(self) -> Evaluation:
        """Evaluate all trials so far."""
        return evaluate(self.scores(), self.points, **self.options)

    def scores(self) -> Scores:
        """All trials so far, as a source for any other function."""
        target, nontarget = (np.concatenate(kept) if kept else np.empty(0) for kept in self._kept)
        for name, values in (("target", target), ("nontarget", nontarget)):
            if len(values) == 0:
                raise EmptyClassError(f"there are no {name} trials yet; both classes need at least one")
        return Scores.from_classes(target, nontarget)

    def merge(self, other: Meter) -> Self:
        """Take all trials of another meter; points and options stay those of this one.

        Parameters
        ----------
        other
            The meter whose trials are taken.
        """
        if not isinstance(other, Meter):
            raise InputError(f"a meter can only be merged with another meter, got {type(other).__name__}")
        self._target += other._target
        self._nontarget += other._nontarget
        return self

    def __add__(self, other: Meter) -> Meter:
        merged = Meter(self.points, positive=self.positive, **self.options)
        return merged.merge(self).merge(other)

    def __radd__(self, other: object) -> Meter:
        """Let ``sum(meters)`` merge them: it begins with 0."""
        return self + Meter(self.points) if isinstance(other, int) and other == 0 else NotImplemented

    def state_dict(self) -> dict[str, Array]:
        """The trials so far as two arrays, for checkpoints."""
        return {
            name: np.concatenate(kept) if kept else np.empty(0)
            for name, kept in zip(("target", "nontarget"), self._kept, strict=True)
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on from the trials of a checkpoint, in place of those so far.

        Parameters
        ----------
        state
            What ``state_dict`` returned.
        """
        if set(state) != {"target", "nontarget"}:
            names = ", ".join(map(str, state))
            raise InputError(f"the state of a meter holds target and nontarget, got {names}")
        arrays = {name: np.array(score_array(state[name], f"{name} scores")) for name in state}
        for name, values in arrays.items():
            refuse_nan(values, f"{name} scores")
        self._target, self._nontarget = [arrays["target"]], [arrays["nontarget"]]

    @property
    def _kept(self) -> tuple[list[Array], list[Array]]:
        return self._target, self._nontarget

    def __len__(self) -> int:
        return sum(len(batch) for kept in self._kept for batch in kept)

    def __repr__(self) -> str:
        n_target, n_nontarget = (sum(map(len, kept)) for kept in self._kept)
        return f"Meter({n_target:,} target, {n_nontarget:,} nontarget trials)"


def batch_by_class(scores: object, labels: object, positive: object = None) -> tuple[Array, Array]:
    """The target and the non-target scores of a batch, checked; either may be empty.

    Examples
    --------
    >>> batch_by_class([2.0, -1.0, 0.5], ["target", "nontarget", "nontarget"])
    (array([2.]), array([-1. ,  0.5]))
    """
    with expecting_scores_first(scores, labels):
        return _batch_split_by_class(scores, labels, positive)


def _batch_split_by_class(scores: object, labels: object, positive: object) -> tuple[Array, Array]:
    values = score_array(_at_least_1d(as_numpy(scores, "scores")), "scores")
    if values.ndim != 1:
        raise InputError(f"a meter takes the scores of one system, got shape {values.shape}")
    refuse_nan(values, "scores")
    if len(values) == 0:
        return np.empty(0, values.dtype), np.empty(0, values.dtype)
    # with positive= a batch without any target is welcome, whatever the label of the targets is
    words = _at_least_1d(flat_labels(labels))
    mask = target_mask(words) if positive is None else np.asarray(words == positive)
    if len(mask) != len(values):
        raise InputError(f"{counted(len(values), 'score')} but {counted(len(mask), 'label')}")
    return values[mask], values[~mask]  # copies: the batch may be overwritten


def _at_least_1d(values: Array) -> Array:
    """A batch of one trial that has lost its dimension."""
    return values if values.ndim else values.reshape(1)
