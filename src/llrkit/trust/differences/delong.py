"""DeLong's test: do two systems have the same area under the ROC?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from llrkit._plain import Json
from llrkit._results import Result
from llrkit.errors import TooFewTrialsError
from llrkit.metrics.measure import measure
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.trust.differences.paired_errors import PairedInfluences, one_system
from llrkit.trust.intervals.dyadic_covariance import covariance
from llrkit.trust.intervals.influence_functions import StepTable


@dataclass(frozen=True)
class DeLong(Result):
    """Areas under two ROCs on the same trials, their covariance, and the test of their difference."""

    auc: tuple[float, float]
    """Areas under the two ROCs."""
    covariance: tuple[tuple[float, float], tuple[float, float]]
    """Covariance matrix of the two areas."""

    @property
    def z(self) -> float:
        """Difference of the areas in standard errors."""
        (aa, ab), (_, bb) = self.covariance
        variance, gap = aa + bb - 2.0 * ab, self.auc[0] - self.auc[1]
        if variance > 0.0:
            return gap / math.sqrt(variance)
        return 0.0 if gap == 0.0 else math.copysign(math.inf, gap)

    @property
    def p_value(self) -> float:
        """Two-sided."""
        return 2.0 * float(ndtr(-abs(self.z)))

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        covariance = [list(row) for row in self.covariance]
        return {"auc": list(self.auc), "covariance": covariance, "z": self.z, "p_value": self.p_value}


@takes_labels
def delong_test(source: ScoreSource) -> DeLong:
    """Test whether two systems that scored the same trials have the same AUC.

    The variance of the placements, as in DeLong, DeLong & Clarke-Pearson (1988): for each target the share
    of non-targets below it, for each non-target the share of targets above it, ties counting one half;
    sample covariances with n - 1. Trials are taken as independent.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([[1.0, 0.2], [2.0, 1.0], [3.0, 3.0]], [[0.0, 1.5], [1.5, 0.1], [0.5, 0.7]])
    >>> test = lk.delong_test(scores)
    >>> [round(area, 4) for area in test.auc], round(test.p_value, 4)
    ([0.8889, 0.6667], 0.4795)
    """
    source = as_source(source)
    tables, areas = [], []
    for k in (0, 1):
        result = measure(one_system(source, k), [])
        table = StepTable(result, [])
        table.add_placements()
        tables.append(table.influences())
        areas.append(result.auc)
    bins = result.summaries.bins
    n = float(bins.n_target), float(bins.n_nontarget)
    if min(n) < 2:
        raise TooFewTrialsError("DeLong's test needs at least two trials of each class")
    both = PairedInfluences((tables[0], tables[1]))
    products = covariance(source, both).independent
    # each system has four sums: losses and placements, of targets and of non-targets
    rows = np.array(
        [[products[4 * i + 2 : 4 * i + 4, 4 * j + 2 : 4 * j + 4] for j in (0, 1)] for i in (0, 1)]
    )
    spread = rows[:, :, 0, 0] / (n[0] * (n[0] - 1.0)) + rows[:, :, 1, 1] / (n[1] * (n[1] - 1.0))
    return DeLong(
        (areas[0], areas[1]),
        ((float(spread[0, 0]), float(spread[0, 1])), (float(spread[1, 0]), float(spread[1, 1]))),
    )
