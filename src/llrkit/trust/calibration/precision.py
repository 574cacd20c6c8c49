"""Precision: how much the LLR of the same two sources changes from one pair of recordings to the next."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit._results import Result
from llrkit.core.score_index import score_indexes
from llrkit.core.summary_algebra import SummaryBase
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.trust.intervals.interval_formulas import quantile
from llrkit.trust.intervals.speakers import Speakers, find_speakers


@dataclass(frozen=True)
class LlrPrecision(Result):
    """Spread of the LLRs of the same pair of sources, pooled over all pairs with more than one trial."""

    sd: float
    """Pooled standard deviation within pairs, in nats."""
    n_trials: int
    """Number of trials of these pairs."""
    n_pairs: int
    """Number of pairs with more than one trial."""

    @property
    def df(self) -> int:
        """Degrees of freedom of the pooled standard deviation."""
        return self.n_trials - self.n_pairs

    def half_width(self, level: float = 0.95) -> float:
        """Half the width of the interval of one LLR: ``t sd``, in nats.

        Parameters
        ----------
        level
            Confidence level, between 0 and 1.
        """
        return quantile(level, self.df) * self.sd


@takes_labels
def llr_precision(source: ScoreSource, speakers: str | Sequence[str]) -> LlrPrecision:
    """How far LLRs of the same two sources lie apart (the parametric procedure of Morrison 2011).

    Deviations from the mean of each pair of sources are pooled: a new LLR for a pair is expected within
    ``t sd`` of the mean of that pair.

    Parameters
    ----------
    speakers
        The two columns with the speakers of the two sides of a trial.

    Examples
    --------
    >>> import llrkit as lk
    >>> sides = {"left": (["a", "a"], ["a", "b"]), "right": (["a", "a"], ["b", "a"])}
    >>> precision = lk.llr_precision(lk.Scores([1.0, 3.0], [-4.0, -4.0], sides), ("left", "right"))
    >>> precision.sd, precision.df
    (1.0, 2)
    """
    source = as_source(source)
    speaker_set = find_speakers(source, speakers)
    if len(speaker_set.columns) != 2:
        raise InputError("precision needs the speakers of both sides: two columns")
    moments = source.with_columns(*speaker_set.columns).reduce(_PairMoments.at(speaker_set))
    repeated = moments.n > 1
    n_trials, n_pairs = int(moments.n[repeated].sum()), int(np.count_nonzero(repeated))
    if n_trials <= n_pairs:
        raise TooFewTrialsError("no pair of speakers was compared more than once")
    within = moments.squares[repeated] - moments.sums[repeated] ** 2 / moments.n[repeated]
    return LlrPrecision(math.sqrt(max(float(within.sum()), 0.0) / (n_trials - n_pairs)), n_trials, n_pairs)


@dataclass(frozen=True, eq=False)
class _PairMoments(SummaryBase):
    """Number, sum and sum of squares of the scores of each pair of speakers, by ascending key."""

    keys: npt.NDArray[np.int64]
    n: FloatArray
    sums: FloatArray
    squares: FloatArray

    @classmethod
    def at(cls, speakers: Speakers) -> Callable[[Scores], _PairMoments]:
        def make(chunk: Scores) -> _PairMoments:
            keys, scores = [], []
            for class_index, values in enumerate(index.values for index in score_indexes(chunk)):
                first, second = speakers.of(chunk, class_index)
                second = np.where(second == speakers.n, first, second)
                keys.append(np.minimum(first, second) * speakers.n + np.maximum(first, second))
                scores.append(values.astype(np.float64, copy=False))
            x = np.concatenate(scores)
            return cls._grouped(np.concatenate(keys), np.ones(len(x)), x, x * x)

        return make

    @classmethod
    def _grouped(cls, keys: npt.NDArray[np.int64], *columns: FloatArray) -> _PairMoments:
        distinct, place = np.unique(keys, return_inverse=True)
        sums = [np.asarray(np.bincount(place, column, minlength=len(distinct)), float) for column in columns]
        return cls(distinct, *sums)

    def __add__(self, other: _PairMoments) -> _PairMoments:
        keys = np.concatenate([self.keys, other.keys])
        columns = ((self.n, other.n), (self.sums, other.sums), (self.squares, other.squares))
        return _PairMoments._grouped(keys, *(np.concatenate(pair) for pair in columns))

    def __mul__(self, weight: float) -> _PairMoments:
        return _PairMoments(self.keys, self.n * weight, self.sums * weight, self.squares * weight)
