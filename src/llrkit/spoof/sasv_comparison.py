"""Ways to make one SASV score compared: trained on one set of trials, their a-DCF on it and on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from llrkit._format import number
from llrkit._results import Result
from llrkit.calibrate.composite.linear_map import LinearMap
from llrkit.calibrate.maps import Map
from llrkit.spoof.detection_costs import Costs, a_dcf, min_a_dcf, spoof_costs
from llrkit.spoof.sasv_fusion import METHODS, SasvMethod, fit_sasv
from llrkit.spoof.spoof_trials import SpoofTrials

SUM = "sum of scores"


@dataclass(frozen=True, repr=False)
class SasvComparison(Result):
    """Detection costs (a-DCF) by method: minimum and actual, on the trials of the training and on others."""

    costs: str
    rows: tuple[dict[str, Any], ...]
    maps: Mapping[str, Map]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, as in the JSON of the command line."""
        return {"costs": self.costs, "methods": [dict(row) for row in self.rows]}

    def _frame_rows(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self.rows]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows."""
        keys = [key for key in self.rows[0] if key != "method"]
        header = ["", *(key.replace("_", " ") for key in keys)]
        shown = [
            [row["method"], *("-" if row[key] is None else number(row[key]) for key in keys)]
            for row in self.rows
        ]
        return header, shown

    def __repr__(self) -> str:
        header, rows = self.table()
        widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
        cells = [[cell.rjust(width) for cell, width in zip(line, widths, strict=True)] for line in rows]
        named = [[row[0].ljust(widths[0]), *line[1:]] for row, line in zip(rows, cells, strict=True)]
        first = [cell.rjust(width) for cell, width in zip(header, widths, strict=True)]
        lines = ["  ".join(line).rstrip() for line in (first, *named)]
        return "\n".join(lines)


def compare_sasv(
    dev: SpoofTrials,
    evaluation: SpoofTrials | None = None,
    *,
    costs: Costs = "asvspoof5",
    methods: Sequence[SasvMethod] = METHODS,
) -> SasvComparison:
    """Train every fusion on some trials; a-DCFs there and on others, beside the plain sum of scores.

    The sum is no LLR and has no actual a-DCF. See :func:`fit_sasv` for the methods.

    Parameters
    ----------
    dev
        Trials that the fusions are trained on.
    evaluation
        Other trials that they are evaluated on.
    costs
        Priors and prices: the name of a preset, or :class:`llrkit.spoof.SpoofCosts`.
    methods
        Names of fusions.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> labels = np.repeat(["target", "nontarget", "spoof"], 400)
    >>> asv, cm = np.repeat([3.0, -3.0, 2.5], 400), np.repeat([3.0, 3.0, -3.0], 400)
    >>> def draw():
    ...     scores = {"asv": asv + 2 * rng.normal(size=1200), "cm": cm + 2 * rng.normal(size=1200)}
    ...     return SpoofTrials(scores | {"label": labels})
    >>> compare_sasv(draw(), draw(), costs="a-dcf1")
                   dev min  dev act  eval min  eval act
    sum of scores   0.2953        -    0.3317         -
    bayes           0.2047   0.2233    0.2181    0.2389
    bayes-trained   0.2075   0.2183    0.2278    0.2514
    linear          0.2981   0.3044    0.3381    0.3481
    """
    chosen = spoof_costs(costs)
    sets = {"dev": dev} if evaluation is None else {"dev": dev, "eval": evaluation}
    names = [dev.systems["asv"], dev.systems["cm"]]
    maps: dict[str, Map] = {SUM: LinearMap(weights=np.ones(2), offset=0.0, systems=names, method="sum")}
    maps |= {method: fit_sasv(dev, method, costs=chosen) for method in methods}
    rows = []
    for method, fusion in maps.items():
        row: dict[str, Any] = {"method": method}
        for name, trials in sets.items():
            fused = trials.fused(fusion)
            row[f"{name}_min"] = min_a_dcf(fused, chosen)
            row[f"{name}_act"] = None if method == SUM else a_dcf(fused, chosen)
        rows.append(row)
    return SasvComparison(chosen.name, tuple(rows), MappingProxyType(maps))
