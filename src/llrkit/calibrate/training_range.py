"""Scores and conditions outside the range that a calibration was trained on: counted, refused, or held."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import counted, not_among
from llrkit._warn import warn_caller
from llrkit.errors import InputError, TrainingRangeWarning, UnknownNameError

POLICIES = ("warn", "error", "bound")
"""What may become of scores outside the range."""


@dataclass
class ConditionWatch:
    """Counts the trials whose conditions are outside their range in training, where they count as its ends.

    Examples
    --------
    >>> watch = ConditionWatch({"seconds": [5.0, 40.0]})
    >>> watch.saw({"seconds": np.array([3.0, 10.0, 90.0])})
    >>> watch.note
    'of 3 trials, 2 have a condition outside its training range (seconds [5, 40]: from 3 to 90): held at ...'
    """

    ranges: Mapping[str, Sequence[float]]
    n_trials: int = 0
    n_outside: int = 0
    seen: dict[str, tuple[float, float]] = field(default_factory=dict)

    def saw(
        self,
        columns: Mapping[str, object],
        place: Callable[[int], str] | None = None,
        *,
        refuse: bool = False,
    ) -> None:
        """Look at the conditions of some trials; values that are no numbers are left to the map to refuse."""
        outside = np.zeros(0, dtype=np.bool_)
        for name, (low, high) in self.ranges.items():
            try:
                values = np.asarray(columns[name], dtype=np.float64)
            except (KeyError, TypeError, ValueError):
                return
            beyond = (values < low) | (values > high)
            outside = beyond if len(outside) == 0 else outside | beyond
            if not beyond.any():
                continue
            if refuse:
                first = int(np.argmax(beyond))
                where = f"{place(first)}: " if place is not None else ""
                limits = f"[{low:g}, {high:g}]"
                raise InputError(f"{where}{name} {values[first]:g} is outside the training range {limits}")
            least, most = self.seen.get(name, (math.inf, -math.inf))
            self.seen[name] = min(least, float(values.min())), max(most, float(values.max()))
        self.n_trials += len(outside)
        self.n_outside += int(outside.sum())

    @property
    def note(self) -> str:
        """What is to be said; empty where all conditions were inside."""
        if self.n_outside == 0:
            return ""
        shown = "; ".join(
            f"{name} [{self.ranges[name][0]:g}, {self.ranges[name][1]:g}]: from {low:g} to {high:g}"
            for name, (low, high) in self.seen.items()
        )
        have = "has" if self.n_outside == 1 else "have"
        return (
            f"of {counted(self.n_trials, 'trial')}, {self.n_outside:,} {have} a condition outside its "
            "training range "
            f"({shown}): held at its ends"
        )


@dataclass
class RangeWatch:
    """Looks at scores before they are mapped; it remembers how many lay outside, and how far the furthest.

    ``limits`` are the lowest and highest training score of each system, as the training file held them; None
    where nobody knows. ``policy`` is what becomes of scores outside: ``"warn"`` leaves them as they are,
    ``"bound"`` makes them the nearest score of the range, ``"error"`` refuses them, ``"ignore"`` does not
    look.

    Examples
    --------
    >>> watch = RangeWatch((np.array([-1.0]), np.array([2.0])), "bound")
    >>> watch.seen(np.array([0.5, 5.2]))
    array([0.5, 2. ])
    >>> watch.note
    '1 of 2 scores is outside the training range [-1, 2], the furthest is 5.2: held at its ends'
    """

    limits: tuple[FloatArray, FloatArray] | None
    policy: str = "warn"
    n_outside: int = 0
    n_trials: int = 0
    furthest: float = 0.0
    furthest_by: float = -math.inf
    conditions: ConditionWatch | None = None
    """Looks at the conditions of the trials, where the map has some."""

    def __post_init__(self) -> None:
        if self.policy not in (*POLICIES, "ignore"):
            raise UnknownNameError(
                f"outside={not_among(self.policy, POLICIES, ': expected one of ')}, ignore"
            )

    def seen(self, scores: FloatArray, place: Callable[[int], str] | None = None) -> FloatArray:
        """The scores that are to be mapped; ``place`` says where a row is, for messages."""
        if self.limits is None or self.policy == "ignore":
            return scores
        low, high = self.limits
        with np.errstate(invalid="ignore"):  # a missing score is neither inside nor outside
            beyond = np.maximum(low - scores, scores - high)
        far = beyond if beyond.ndim == 1 else np.nanmax(beyond, axis=1, initial=-np.inf)
        outside = np.flatnonzero(far > 0)
        self.n_trials += len(far)
        if len(outside) == 0:
            return scores
        if self.policy == "error":
            first = int(outside[0])
            where = f"{place(first)}: " if place is not None else ""
            score = ", ".join(f"{value:g}" for value in np.atleast_1d(scores[first]))
            raise InputError(f"{where}the score {score} is outside the training range {self._range}")
        worst = int(outside[np.argmax(far[outside])])
        if far[worst] > self.furthest_by:
            values = np.atleast_1d(scores[worst])
            self.furthest_by = float(far[worst])
            self.furthest = float(values[np.argmax(np.maximum(low - values, values - high))])
        self.n_outside += len(outside)
        return np.clip(scores, low, high) if self.policy == "bound" else scores

    @property
    def _range(self) -> str:
        assert self.limits is not None
        return ", ".join(f"[{low:.6g}, {high:.6g}]" for low, high in zip(*self.limits, strict=True))

    @property
    def note(self) -> str:
        """What is to be said; empty where all scores were inside or the range is not known."""
        if self.n_outside == 0:
            return ""
        are = "is" if self.n_outside == 1 else "are"
        what = "the calibration was not trained on such scores"
        if self.policy == "bound":
            what = "held at its ends"
        if 2 * self.n_outside > self.n_trials > 1:
            what += "; most are outside: are these the scores it was made for?"
        return (
            f"{self.n_outside:,} of {counted(self.n_trials, 'score')} {are} outside the training range "
            f"{self._range}, the furthest is {self.furthest:g}: {what}"
        )

    def saw(self, columns: Mapping[str, object], place: Callable[[int], str] | None = None) -> None:
        """Look at the conditions of trials whose scores were seen."""
        if self.conditions is not None and self.policy != "ignore":
            self.conditions.saw(columns, place, refuse=self.policy == "error")

    @property
    def condition_note(self) -> str:
        """What is to be said of conditions; empty where all were inside."""
        return "" if self.conditions is None else self.conditions.note

    def warn(self) -> None:
        """Give the notes as warnings to whoever called a map."""
        for note in (self.note, self.condition_note):
            if note:
                warn_caller(note, TrainingRangeWarning)
