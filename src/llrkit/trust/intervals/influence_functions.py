"""Influence functions: what each trial adds to every number of an evaluation.

Every number is, to first order, a sum over trials. The threshold of a minimum cost and the PAV map of the
minimum Cllr are taken as fitted: moving them a little changes nothing to first order, since they are where
the cost is smallest. The equal error rate moves along the ROC: with w the share of false alarms in a short
piece of the ROC around it, ``dEER = w dPmiss + (1 - w) dPfa``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray
from llrkit.core.elementary_functions import softplus
from llrkit.core.pav_and_hull import ErrorPath, PavBlocks, error_path
from llrkit.core.score_bins import ScoreBins
from llrkit.core.score_index import CellFinder
from llrkit.metrics.measurements import Measurements

LARGEST_LOSS = 1e100
"""Squares of losses beyond it, and sums of them, overflow."""


@dataclass(frozen=True, eq=False)
class StepInfluences:
    """Sums to which each trial adds its logarithmic loss, or a value that depends on its cell only.

    Sums come in pairs, one for each class: sum ``2 k`` is that of the targets, ``2 k + 1`` that of the
    non-targets. All are centered: what a class adds is zero on average. Pair 0 is the logarithmic loss.
    """

    finder: CellFinder
    steps: tuple[FloatArray, FloatArray]
    """For each class, values by (step function, cell)."""
    mean_loss: tuple[float, float]

    @property
    def size(self) -> int:
        """Number of sums."""
        return 2 * (len(self.steps[0]) + 1)

    def columns(self, class_index: int) -> tuple[int, ...]:
        """The sums of a class."""
        return tuple(range(class_index, self.size, 2))

    def cut_also(self, cuts: npt.ArrayLike) -> StepInfluences:
        """The same sums with more cells: those between its own cuts and these."""
        finer = CellFinder(np.union1d(self.finder.cuts, np.asarray(cuts, dtype=np.float64)))
        left = np.concatenate([[-np.inf], finer.cuts])
        within = np.searchsorted(self.finder.cuts, left, side="right")
        within[0] = 0
        return replace(self, finder=finer, steps=(self.steps[0][:, within], self.steps[1][:, within]))

    def of(self, values: Array, class_index: int) -> list[FloatArray]:
        """What each score adds."""
        cell = self.finder(values)
        return [self.loss(values, class_index), *(table[cell] for table in self.steps[class_index])]

    def loss(self, values: Array, class_index: int) -> FloatArray:
        """The logarithmic loss of each score in nats, less the mean of its class."""
        if not max(self.mean_loss) < LARGEST_LOSS:  # Cllr has no variance
            return np.zeros(len(values))
        x = values.astype(np.float64, copy=False)
        signed = -x if class_index == 0 else x
        # as exact as softplus where it counts, and three times as fast
        if len(x) and signed.max() < 700.0:
            loss = np.exp(signed)
            np.log1p(loss, out=loss)
        else:
            loss = softplus(signed)
        loss -= self.mean_loss[class_index]
        return loss


class StepTable:
    """Collects step functions of the score on the cells between all places where any of them steps.

    ``cuts`` are the places if they are given: scores in one cell are then taken as equal. The thresholds and
    the ends of the PAV blocks must be among them.
    """

    def __init__(
        self, result: Measurements, thresholds: npt.ArrayLike, cuts: FloatArray | None = None
    ) -> None:
        exact = result.summaries.bins
        self.bins: ScoreBins = exact if cuts is None else _joined_bins(exact, cuts)
        self.blocks: PavBlocks = result.summaries.blocks
        self.roc: ErrorPath = error_path(self.bins)
        self.hull: ErrorPath = error_path(self.blocks)
        at = np.asarray(thresholds, dtype=np.float64)
        self.cuts: FloatArray = np.unique(np.concatenate([self.bins.low, at])) if cuts is None else cuts
        # the bin of every cell; no trial is below the first bin
        left = np.concatenate([[-np.inf], self.cuts])
        self._bin = np.maximum(np.searchsorted(self.bins.low, left, side="right") - 1, 0)
        self._rows: tuple[list[FloatArray], list[FloatArray]] = ([], [])
        losses = result.summaries.at_llrs
        self._mean_loss = (
            float(losses.target_loss[0] / losses.n_target),
            float(losses.nontarget_loss[0] / losses.n_nontarget),
        )

    def add(self, target: FloatArray, nontarget: FloatArray) -> int:
        """Add a function by its values in each bin for each class; its number."""
        b = self.bins
        for rows, values, count in zip(self._rows, (target, nontarget), (b.target, b.nontarget), strict=True):
            used = count > 0
            mean = float((values[used] * count[used]).sum() / count.sum())
            # where a class has no trials its value does not matter, and may be infinite; otherwise it is
            # kept, so that errors at a threshold have one step
            finite = used | np.isfinite(values)
            rows.append(np.where(finite, np.where(finite, values, 0.0) - mean, 0.0)[self._bin])
        return len(self._rows[0])

    def add_threshold(self, threshold: float, p_miss: float, p_fa: float) -> int:
        """Add the errors at a threshold that is among the cuts, given their rates; the number."""
        rejected = np.arange(len(self.cuts) + 1) <= np.searchsorted(self.cuts, threshold)
        self._rows[0].append(rejected.astype(np.float64) - p_miss)
        self._rows[1].append((~rejected).astype(np.float64) - p_fa)
        return len(self._rows[0])

    def add_vertex(self, vertex: int) -> int:
        """Add the errors at a vertex of the convex hull."""
        below = (self.bins.low < self.hull.threshold[vertex]).astype(np.float64)
        return self.add(below, 1.0 - below)

    def add_crossing(self, path: ErrorPath) -> int:
        """Add the errors where a path meets Pmiss = Pfa: a mixture of the two vertices around it."""
        gap = path.p_miss - path.p_fa
        after = int(np.argmax(gap >= 0))
        share = float(gap[after - 1] / (gap[after - 1] - gap[after]))  # the first gap is -1, so after > 0
        start, stop = path.threshold[after - 1], path.threshold[after]
        low = self.bins.low
        below = np.where(low < start, 1.0, np.where(low < stop, share, 0.0))
        return self.add(below, 1.0 - below)

    def add_pav_loss(self) -> int:
        """Add the logarithmic loss of the PAV LLRs."""
        block = np.searchsorted(self.blocks.low, self.bins.low, side="right") - 1
        llr = self.blocks.llr[block]
        return self.add(np.asarray(softplus(-llr)), np.asarray(softplus(llr)))

    def add_placements(self) -> int:
        """Add the share of the other class that each trial is on the right side of, ties counting half."""
        b = self.bins
        below = (np.cumsum(b.nontarget) - 0.5 * b.nontarget) / b.n_nontarget
        above = 1.0 - (np.cumsum(b.target) - 0.5 * b.target) / b.n_target
        return self.add(below, above)

    def influences(self) -> StepInfluences:
        """All functions together."""
        tables = [np.array(rows).reshape(len(rows), len(self.cuts) + 1) for rows in self._rows]
        return StepInfluences(CellFinder(self.cuts), (tables[0], tables[1]), self._mean_loss)


def false_alarm_share(roc: ErrorPath, rate: float) -> float:
    """Share of false alarms in the piece of the ROC where Pmiss and Pfa differ by at most the EER.

    Examples
    --------
    >>> equal = ScoreBins(np.array([0, 1, 1]), np.array([1, 1, 0]), np.arange(3.0), np.arange(3.0))
    >>> false_alarm_share(error_path(equal), 0.25)
    0.5
    """
    gap = roc.p_miss - roc.p_fa
    low, high = np.interp([-rate, rate], gap, roc.p_fa)
    return float(low - high) / (2.0 * rate)


def _joined_bins(bins: ScoreBins, cuts: FloatArray) -> ScoreBins:
    """Bins joined where no cut lies between them."""
    cell = np.searchsorted(cuts, bins.low, side="right")
    start = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
    return ScoreBins(
        np.add.reduceat(bins.target, start), np.add.reduceat(bins.nontarget, start), bins.low[start],
        bins.high[np.append(start[1:], len(cell)) - 1],
    )  # fmt: skip
