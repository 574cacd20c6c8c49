"""Equal error rates as the organizers of ASVspoof take them: where both rates are nearest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array
from llrkit.core.score_bins import ScoreBins
from llrkit.core.summary import SummaryBase
from llrkit.core.trial_counts import count_trials
from llrkit.errors import InputError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.scores_and_labels import takes_labels


@dataclass(frozen=True)
class NearestPoint:
    """Where miss and false-alarm rate are nearest, going from trial to trial, targets first among ties."""

    p_miss: float
    p_fa: float
    bin: int
    """The bin of the last rejected trial; -1 if none is rejected."""
    n_rejected: tuple[int, int]
    """Targets and non-targets of that bin that are rejected."""

    @property
    def eer(self) -> float:
        """The mean of both rates."""
        return (self.p_miss + self.p_fa) / 2.0


@takes_labels
def eer_nearest(source: ScoreSource) -> float:
    """Equal error rate by the organizers' convention: the mean of both rates where they differ least.

    The programs of the ASVspoof challenges sort all trials, targets before non-targets of the same score, go
    from one to the next, and take the first place where the two rates are nearest. It depends on the order
    among ties and is a mean of two different rates; :func:`llrkit.eer_roc` has neither fault. For published
    numbers to the last digit.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])
    >>> eer_nearest(scores), lk.eer_roc(scores)
    (0.225, 0.25)
    """
    return nearest_point(count_trials(source).bins()).eer


def nearest_point(bins: ScoreBins) -> NearestPoint:
    """The nearest point of counted bins; every bin is one score, or a run of one class."""
    if bins.target.dtype.kind == "f" or bins.nontarget.dtype.kind == "f":
        raise InputError("the nearest-point EER walks from trial to trial; weighted trials have none")
    n_t, n_n = int(bins.n_target), int(bins.n_nontarget)
    missed, accepted = np.cumsum(bins.target), n_n - np.cumsum(bins.nontarget)
    # compared as whole numbers: miss rate >= false-alarm rate
    i = int(np.argmax(missed * n_n >= accepted * n_t))
    m, f = int(missed[i] - bins.target[i]), int(accepted[i] + bins.nontarget[i])
    own = int(bins.target[i])
    if (m + own) * n_n >= f * n_t:  # both meet while targets are being rejected
        x, y = -(-(f * n_t - m * n_n) // n_n), 0
    else:
        x, y = own, -(-(f * n_t - (m + own) * n_n) // n_t)
    places = [_before(bins, i, x, y), (i, x, y)]
    points = [_point(bins, m, f, place, i, (n_t, n_n)) for place in places]
    first, second = points
    return first if abs(first.p_miss - first.p_fa) <= abs(second.p_miss - second.p_fa) else second


def _before(bins: ScoreBins, i: int, x: int, y: int) -> tuple[int, int, int]:
    """The place one trial earlier."""
    if y > 0:
        return i, x, y - 1
    if x > 1 or (x == 1 and i == 0):
        return (i, x - 1, 0) if x > 1 else (-1, 0, 0)
    if i == 0:
        return -1, 0, 0
    return i - 1, int(bins.target[i - 1]), int(bins.nontarget[i - 1])


def _point(
    bins: ScoreBins, m: int, f: int, place: tuple[int, int, int], i: int, n: tuple[int, int]
) -> NearestPoint:
    where, x, y = place
    misses, false_alarms = (m + x, f - y) if where == i else (m, f)
    return NearestPoint(misses / n[0], false_alarms / n[1], where, (x, y))


def nearest_threshold(source: ScoreSource, bins: ScoreBins) -> float:
    """The threshold of the nearest point: the score of the last rejected trial; one pass.

    The organizers' programs accept what scores at or above it, that trial included.
    """
    point = nearest_point(bins)
    if point.bin < 0:
        return float(bins.low[0]) - 0.001
    low, high = float(bins.low[point.bin]), float(bins.high[point.bin])
    if low == high:
        return low
    x, y = point.n_rejected
    target, nontarget = source.reduce(lambda chunk: _Within.of(chunk, low, high)).sorted
    return float(nontarget[y - 1] if y else target[x - 1])


@dataclass(frozen=True, eq=False)
class _Within(SummaryBase):
    """The scores of both classes between two ends."""

    target: Array
    nontarget: Array

    @classmethod
    def of(cls, chunk: Scores, low: float, high: float) -> _Within:
        return cls(*(v[(v >= low) & (v <= high)] for v in (chunk.target, chunk.nontarget)))

    def __add__(self, other: _Within) -> _Within:
        return _Within(
            np.concatenate([self.target, other.target]), np.concatenate([self.nontarget, other.nontarget])
        )

    def __mul__(self, weight: float) -> _Within:
        return self

    @property
    def sorted(self) -> tuple[Array, Array]:
        return np.sort(self.target), np.sort(self.nontarget)
