"""Scores outside the range that a calibration was trained on: counted, refused, or held at its ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit.calibrate.maps import Columns, Map
from llrkit.errors import InputError, UnknownNameError
from llrkit.io.trial_table import TrialTable

POLICIES = ("warn", "error", "bound")


@dataclass
class RangeWatch:
    """A map that looks at its scores first; it remembers how many lay outside, and how far the furthest.

    ``policy`` is what becomes of them: ``"warn"`` maps them as they are, ``"bound"`` as the nearest score of
    the training range, ``"error"`` refuses them.
    """

    fitted: Map
    policy: str = "warn"
    n_outside: int = 0
    n_trials: int = 0
    furthest: float = 0.0
    furthest_by: float = -math.inf
    batch: TrialTable | None = None
    """The trials that are mapped now, for messages."""

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise UnknownNameError(f"outside={self.policy!r}: expected one of {', '.join(POLICIES)}")

    def __call__(self, scores: Array, columns: Columns) -> Any:
        """LLRs of scores as a file holds them."""
        limits = self.fitted.training_range
        if limits is None:
            return self.fitted(scores, columns)
        low, high = limits
        with np.errstate(invalid="ignore"):  # a missing score is neither inside nor outside
            beyond = np.maximum(low - scores, scores - high)
        far = beyond if beyond.ndim == 1 else np.nanmax(beyond, axis=1, initial=-np.inf)
        outside = np.flatnonzero(far > 0)
        self.n_trials += len(far)
        if len(outside) == 0:
            return self.fitted(scores, columns)
        self._remember(scores, far, outside)
        return self.fitted(np.clip(scores, low, high) if self.policy == "bound" else scores, columns)

    def _remember(self, scores: Array, far: FloatArray, outside: Any) -> None:
        worst = int(outside[np.argmax(far[outside])])
        values = np.atleast_1d(scores[worst])
        if self.policy == "error":
            where = f"{self.batch.place(int(outside[0]))}: " if self.batch is not None else ""
            first = ", ".join(f"{value:g}" for value in np.atleast_1d(scores[outside[0]]))
            raise InputError(f"{where}the score {first} is outside the training range {self.range_in_words}")
        if far[worst] > self.furthest_by:
            self.furthest_by = float(far[worst])
            self.furthest = float(values[np.argmax(np.abs(values))])
        self.n_outside += len(outside)

    @property
    def range_in_words(self) -> str:
        """The ends of the training range, as the training file held them."""
        assert self.fitted.training_range is not None
        ends = zip(*(np.atleast_1d(end) for end in self.fitted.training_range), strict=True)
        return ", ".join(f"[{low:.6g}, {high:.6g}]" for low, high in ends)

    @property
    def note(self) -> str:
        """What is to be said; empty where all scores were inside or the range is not known."""
        if self.n_outside == 0:
            return ""
        what = "held at its ends" if self.policy == "bound" else "their LLRs are extrapolated"
        return (
            f"{self.n_outside:,} of {self.n_trials:,} scores are outside the training range "
            f"{self.range_in_words}, the furthest is {self.furthest:g}: {what}"
        )
