"""The fits that are compared: without warnings, bounded, and regularized where the classes do not overlap."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from llrkit._progress import tracked
from llrkit.calibrate.affine.logistic_and_rules import fit_logistic
from llrkit.calibrate.bounds.bounded_map import BoundedMap
from llrkit.calibrate.bounds.source_counts import SourceCounts
from llrkit.calibrate.maps import Map
from llrkit.calibrate.poor_fit_guard import without_guard
from llrkit.choose.folds import Pair
from llrkit.choose.methods import M, fit_quietly, method_name, quietly
from llrkit.core.moments import Moments
from llrkit.errors import SeparationError
from llrkit.scores import ScoreSource

BEYOND = 4.0
"""How many times as many trials as were seen an LLR may speak for; decided by ``benchmarks/regret.py``."""
REGULARIZATION = 1.0
"""Of logistic regression where the classes do not overlap."""


@dataclass(frozen=True)
class LlrLimits:
    """The LLRs that methods are held to before they are compared, blended and returned.

    The upper one is ``log(1 + 4 n)`` of n non-targets, the lower one ``-log(1 + 4 n)`` of n targets: had a
    trial in four times as many contradicted, no more could be said. What is beyond rests on the shape that a
    method assumes, and a single such trial may decide which method looks best.

    Examples
    --------
    >>> limits = LlrLimits(100, 1000)
    >>> round(limits.low, 2), round(limits.high, 2)
    (-5.99, 8.29)
    """

    n_target: float
    n_nontarget: float

    @classmethod
    def of(cls, moments: Moments) -> LlrLimits:
        """Those of the training trials."""
        return cls(float(moments.target.n), float(moments.nontarget.n))

    @classmethod
    def of_groups(cls, counts: SourceCounts) -> LlrLimits:
        """Those of groups (attacks, devices): no LLR speaks for more of them than were seen."""
        n_target, n_nontarget = (
            n / BEYOND if what.startswith("groups") else n
            for n, what in ((counts.n_target, counts.target), (counts.n_nontarget, counts.nontarget))
        )
        return cls(n_target, n_nontarget)

    @property
    def low(self) -> float:
        """The lowest LLR."""
        return -math.log1p(BEYOND * self.n_target)

    @property
    def high(self) -> float:
        """The highest LLR."""
        return math.log1p(BEYOND * self.n_nontarget)

    def around(self, fitted: Map) -> BoundedMap:
        """A map held to these limits."""
        return BoundedMap(
            map=fitted,
            low=self.low,
            high=self.high,
            method=fitted.method,
            options=fitted.options,
            provenance=fitted.provenance,
        )


@dataclass(frozen=True)
class FoldMaps:
    """The maps of one deal of the folds, and for how many of them the classes did not overlap."""

    maps: Mapping[Pair, BoundedMap]
    n_regularized: int


def fit_folds(
    fit: Callable[..., M],
    training: Callable[[Pair], object],
    pairs: Sequence[Pair],
    options: Mapping[str, object],
    name: str,
) -> dict[Pair, M]:
    """The map of every pair of folds, fitted on the trials that share neither."""
    return {pair: quietly(fit, training(pair), options) for pair in tracked(pairs, name, len(pairs), "fits")}


def fit_whole(method: Callable[..., Map], source: ScoreSource, limits: LlrLimits) -> tuple[BoundedMap, str]:
    """A method on all trials, and what was done where logistic regression finds no overlap."""
    with without_guard():
        try:
            return limits.around(fit_quietly(method, source, {})), ""
        except SeparationError:
            if method is not fit_logistic:
                raise
            fitted = fit_quietly(method, source, {"regularization": REGULARIZATION})
            return limits.around(fitted), "the classes do not overlap: regularized (regularization=1)"


def fit_bounded_folds(
    method: Callable[..., Map], training: Mapping[Pair, ScoreSource], limits: LlrLimits
) -> FoldMaps:
    """A method on each pair of folds left out; regularized logistic regression where it finds no overlap."""
    maps, n_regularized = {}, 0
    with without_guard():
        for pair, trials in tracked(training.items(), method_name(method), len(training), "fits"):
            try:
                fitted = fit_quietly(method, trials, {})
            except SeparationError:
                fitted = fit_quietly(fit_logistic, trials, {"regularization": REGULARIZATION})
                n_regularized += 1
            maps[pair] = limits.around(fitted)
    return FoldMaps(maps, n_regularized)
