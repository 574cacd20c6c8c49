"""One calibration for all trial lists, with and without knowing the durations of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from llrkit._cached import cached_property
from llrkit.calibrate.affine.conditions.condition_cells import ConditionCells, condition_cells
from llrkit.calibrate.affine.conditions.condition_fit import conditioned_from_cells
from llrkit.calibrate.affine.conditions.condition_map import ConditionedMap
from llrkit.calibrate.composite.fit_quality import fit_quality
from llrkit.calibrate.maps import AffineMap, Map
from llrkit.experiments.list_results import fit_both, pool_lists
from llrkit.scores import Scores

CONDITIONS = ("enroll_seconds", "test_seconds")
ALPHA = 0.5
Pair = tuple[float, float]


@dataclass(frozen=True)
class OneMap:
    """The maps that were trained on all lists together."""

    pooled: Mapping[str, Map]
    cells: ConditionCells
    quality: Map

    @cached_property
    def conditioned(self) -> ConditionedMap:
        """CMLG whose moments follow the durations."""
        return conditioned_from_cells(self.cells, ALPHA)

    def at(self, pair: Pair) -> dict[str, Map]:
        """Each of them for the durations of one list, by the field of the result it fills."""
        seconds: dict[str, float] = dict(zip(CONDITIONS, pair, strict=True))
        left_out = conditioned_from_cells(self.cells.without(**seconds), ALPHA)
        return {
            **{f"pooled_{name}": fitted for name, fitted in self.pooled.items()},
            "conditioned_cmlg": self.conditioned.at(**seconds),
            "left_out_cmlg": left_out.at(**seconds),
            "quality_logistic": line_at(self.quality, seconds),
        }


def fit_one_map(lists: Mapping[Pair, Scores]) -> OneMap:
    """Train on the trials of all lists: pooled, by conditions (CMLG), by quality measures (logistic)."""
    pooled = pool_lists([with_durations(trials, pair) for pair, trials in lists.items()])
    quality = fit_quality(pooled, columns=CONDITIONS, features="durations", scaled=True)
    return OneMap(fit_both(pooled), condition_cells(pooled, CONDITIONS, "log"), quality)


def with_durations(trials: Scores, pair: Pair) -> Scores:
    """The trials of a list, which remember their durations.

    Examples
    --------
    >>> with_durations(Scores([1.0], [0.0, 0.5]), (5.0, 40.0)).columns["test_seconds"]
    (array([40.], dtype=float32), array([40., 40.], dtype=float32))
    """
    sizes = trials.n_target, trials.n_nontarget
    columns = {  # few and round values: half the memory is enough
        name: (np.full(sizes[0], seconds, np.float32), np.full(sizes[1], seconds, np.float32))
        for name, seconds in zip(CONDITIONS, pair, strict=True)
    }
    return Scores.from_classes(trials.target, trials.nontarget, columns)


def line_at(fitted: Map, conditions: Mapping[str, float]) -> AffineMap:
    """The straight line that a map is at given conditions."""
    columns = {name: np.full(2, value) for name, value in conditions.items()}
    offset, one = fitted.llr(np.array([0.0, 1.0]), columns).tolist()
    return AffineMap(a=one - offset, b=offset, method=fitted.method)
