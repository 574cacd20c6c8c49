"""Scores outside the range that a calibration was trained on: counted, refused, or held at its ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._warn import warn_caller
from llrkit.errors import InputError, TrainingRangeWarning, UnknownNameError

POLICIES = ("warn", "error", "bound")
"""What may become of scores outside the range."""


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

    def __post_init__(self) -> None:
        if self.policy not in (*POLICIES, "ignore"):
            raise UnknownNameError(f"outside={self.policy!r}: expected one of {', '.join(POLICIES)}, ignore")

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
        what = "held at its ends" if self.policy == "bound" else "the calibration has seen none like them"
        if 2 * self.n_outside > self.n_trials > 1:
            what += "; most are outside: are these the scores it was made for?"
        return (
            f"{self.n_outside:,} of {self.n_trials:,} scores {are} outside the training range "
            f"{self._range}, the furthest is {self.furthest:g}: {what}"
        )

    def warn(self) -> None:
        """Give the note as a warning to whoever called a map."""
        if self.note:
            warn_caller(self.note, TrainingRangeWarning)
