"""What fits share: the checks of the training scores, and what is written down about them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import counted
from llrkit._plain import Json
from llrkit._version import __version__
from llrkit._warn import warn_caller
from llrkit.calibrate.gap_between_classes import gap_of_moments
from llrkit.core.moments import Moments
from llrkit.core.summary_algebra import SummaryBase
from llrkit.core.threshold_grid import require_both_classes
from llrkit.errors import (
    ConstantScoreError,
    InfiniteScoreError,
    InputError,
    ReversedScoresWarning,
    SystemCountError,
    TooFewTrialsError,
    UnknownNameError,
)
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.source import as_source

ROW = "row"
BEYOND_CHANCE = 3.0
"""Standard errors by which the mean of targets is below that of non-targets before a fit warns."""


def training_moments(source: ScoreSource, *, at_least: int = 1, finite: bool = True) -> Moments:
    """Moments of the training scores of one system, after the checks of :func:`check_moments`."""
    moments = as_source(source).reduce(Moments.of)
    check_moments(source, moments, at_least=at_least, finite=finite)
    if len(moments.target.mean) != 1:
        raise SystemCountError(f"one system expected, got {len(moments.target.mean)}; use fit_fusion")
    return moments


def check_moments(source: ScoreSource, moments: Moments, *, at_least: int = 1, finite: bool = True) -> None:
    """Refuse an empty class, too few trials and constant scores; warn of reversed ones.

    Infinite scores are refused if they must be ``finite``.
    """
    target, nontarget = moments.target, moments.nontarget
    require_both_classes(target.count, nontarget.count)
    if finite and (target.n_infinite or nontarget.n_infinite):
        raise InfiniteScoreError(f"{_first_infinite(source)}; a fit needs finite scores")
    for name, one in (("target", target), ("non-target", nontarget)):
        if one.n_infinite and one.n_infinite == one.count:
            every = counted(int(one.count), f"{name} score")
            raise InfiniteScoreError(
                f"{_first_infinite(source)}, like all of {every}; at least one must be finite: bound the "
                "LLRs when you calibrate (bound=, --bound)"
            )
    if not (np.isfinite(target.m4).all() and np.isfinite(nontarget.m4).all()):
        raise InputError("the scores are too large to calibrate: their fourth moment is beyond float64")
    spread = np.maximum(target.high, nontarget.high) - np.minimum(target.low, nontarget.low)
    if np.any((spread > 0) & (spread < 1e-70)):
        raise InputError("the scores are too close together to calibrate: their range is below 1e-70")
    for name, class_moments in (("target", target), ("nontarget", nontarget)):
        if class_moments.n < at_least:
            few = counted(class_moments.n, f"{name} trial")
            raise TooFewTrialsError(f"{few}; this method needs at least {at_least}")
    if np.all((target.low == nontarget.low) & (target.high == nontarget.high) & (target.low == target.high)):
        raise ConstantScoreError(f"all scores are {target.low[0]:g}: there is nothing to calibrate")
    chance = np.sqrt(target.variance / target.n + nontarget.variance / nontarget.n)
    if np.all(nontarget.mean - target.mean > BEYOND_CHANCE * chance):
        warn_caller(
            f"targets score {target.mean[0]:.4g} on average, non-targets {nontarget.mean[0]:.4g}: "
            "is a higher score really more target-like?",
            ReversedScoresWarning,
        )


def provenance(moments: Moments) -> dict[str, Json]:
    """What is written down about the training scores."""
    gap = gap_of_moments(moments)
    return {
        "llrkit": __version__,
        "n_target": int(moments.target.count),
        "n_nontarget": int(moments.nontarget.count),
        "mean_target": _one_system_or_all(moments.target.mean),
        "mean_nontarget": _one_system_or_all(moments.nontarget.mean),
        "std_target": _one_system_or_all(np.sqrt(moments.target.variance)),
        "std_nontarget": _one_system_or_all(np.sqrt(moments.nontarget.variance)),
        **{
            f"{name}_{of_class}": _one_system_or_all(np.nan_to_num(values))  # nan of equal scores: no shape
            for of_class, one in (("target", moments.target), ("nontarget", moments.nontarget))
            for name, values in (("skewness", one.skewness), ("kurtosis", one.excess_kurtosis))
        },
        "low": _one_system_or_all(np.minimum(moments.target.low, moments.nontarget.low)),
        "high": _one_system_or_all(np.maximum(moments.target.high, moments.nontarget.high)),
        **({} if gap is None else {"gap": list(gap)}),
    }


def _one_system_or_all(values: FloatArray) -> float | list[float]:
    return float(values[0]) if len(values) == 1 else values.tolist()


@dataclass(frozen=True, eq=False)
class FirstInfinite(SummaryBase):
    """The first infinite score of each class, by its position there; chunks are merged in order."""

    n: tuple[int, int]
    place: tuple[float, float]
    row: float

    @classmethod
    def of(cls, chunk: Scores) -> FirstInfinite:
        """The first infinite scores of a chunk, and the row of the first one where rows are known."""
        places, row = [], math.inf
        for class_index, values in enumerate((chunk.target, chunk.nontarget)):
            bad = np.flatnonzero(np.isinf(values) if values.ndim == 1 else np.isinf(values).any(axis=1))
            places.append(float(bad[0]) if len(bad) else math.inf)
            if len(bad) and ROW in chunk.columns:
                row = min(row, float(chunk.columns[ROW][class_index][bad].min()))
        return cls((chunk.n_target, chunk.n_nontarget), (places[0], places[1]), row)

    def __add__(self, other: FirstInfinite) -> FirstInfinite:
        return FirstInfinite(
            (self.n[0] + other.n[0], self.n[1] + other.n[1]),
            (
                min(self.place[0], self.n[0] + other.place[0]),
                min(self.place[1], self.n[1] + other.place[1]),
            ),
            min(self.row, other.row),
        )

    def __mul__(self, weight: float) -> FirstInfinite:
        return self


def _first_infinite(source: ScoreSource) -> str:
    try:
        first = source.with_columns(ROW).reduce(FirstInfinite.of)
        return f"{source.place(int(first.row))}: the score is infinite"
    except UnknownNameError:  # not a table: the position within the class must do
        first = source.reduce(FirstInfinite.of)
        name, class_index = ("target", 0) if math.isfinite(first.place[0]) else ("nontarget", 1)
        return f"the {name} score at index {first.place[class_index]:.0f} is infinite"
