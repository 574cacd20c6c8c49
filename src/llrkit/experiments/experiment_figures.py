"""The figures of the experiments as pictures; what draws them is the plot room."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from llrkit._progress import tracked
from llrkit.evaluation.condition_tables import HeatMap
from llrkit.experiments.list_results import ListTable
from llrkit.experiments.prior_scan import ScanCase
from llrkit.experiments.result_tables import several_seeds
from llrkit.metrics.theory_costs import CLLR, TheoryCosts, theory_costs
from llrkit.plot.paper_figures import CllrScatter, cllr_scatter, heat_map, prior_scan, two_gaussians
from llrkit.plot.picture import Picture
from llrkit.theory.gaussian_pair import GaussianLLR

PAPER_RANGE = (0.27, 0.60)
HEAT_MAPS = {
    "eer": "EER",
    "cmlg": "Cllr, CMLG",
    "logistic": "Cllr, logistic regression",
    "min_cllr": "minimum Cllr",
}


def densities(eer: float) -> Picture:
    """The two Gaussians of calibrated LLRs with an EER."""
    picture: Picture = two_gaussians(GaussianLLR.from_eer(eer), renderer="none")
    return picture


def scatter(table: ListTable) -> Picture:
    """Figure 1 of the paper: Cllr of both methods, one point a list."""
    labels = tuple(f"{result.enroll} / {result.test}".strip(" /") for result in table.lists)
    curve = CllrScatter("CMLG", "logistic regression", table.column("cmlg"), table.column("logistic"), labels)
    picture: Picture = cllr_scatter(curve, renderer="none")
    return picture


def theory_curves(table: ListTable) -> list[TheoryCosts]:
    """Cllr against the EER: families of calibrated LLRs, and one point a list (equation 12 of the paper)."""
    names = [f"{result.enroll} / {result.test}".strip(" /") for result in table.lists]
    rows = zip(table.column("eer").tolist(), table.column("min_cllr").tolist(), strict=True)
    several = table.rms_cllr_from_eer if several_seeds(table) else float("nan")
    cllrs = theory_costs(CLLR, dict(zip(names, rows, strict=True)), rms_of_runs=several)
    return [cllrs, cllrs.beyond_gaussian()]


def scan(case: ScanCase) -> Picture:
    """A cost against the log-odds of the training weight, as in figure 2 of the paper."""
    picture: Picture = prior_scan(case.curve, renderer="none")
    costs = np.concatenate([*case.curve.costs.values(), [case.curve.minimum or np.nan]])
    if not np.isfinite(costs).any():
        return picture
    low, high = min(np.nanmin(costs), PAPER_RANGE[0]), max(np.nanmax(costs), PAPER_RANGE[1])
    # at least the range of the paper's figure, so that a constant looks like one
    limits = float(low) - 0.02, float(high) + 0.02
    return replace(picture, title=f"{picture.title}: {case.name}", y=replace(picture.y, limits=limits))


def heat_maps(table: ListTable, names: Iterable[str] = HEAT_MAPS) -> dict[str, Picture]:
    """A matrix of numbers for every pair of conditions; none where a pair is missing."""
    rows = tuple(dict.fromkeys(result.enroll for result in table.lists))
    columns = tuple(dict.fromkeys(result.test for result in table.lists))
    cells = {(result.enroll, result.test): result for result in table.lists}
    if len(cells) != len(rows) * len(columns) or columns == ("",):
        return {}
    pictures = {}
    for name in names:
        values = np.array([[getattr(cells[row, column], name) for column in columns] for row in rows])
        curve = HeatMap(values, rows, columns, value_name=HEAT_MAPS[name], percent=name == "eer")
        pictures[name] = heat_map(curve, renderer="none")
    return pictures


def save_pictures(pictures: Mapping[str, Picture], folder: Path, *, pdf: bool = True) -> None:
    """Every picture as SVG, and as PDF for papers."""
    from llrkit.plot.matplotlib_renderer import save_each

    for name, picture in tracked(pictures.items(), "drawing", len(pictures), "figures"):
        endings = ("svg", "pdf") if pdf else ("svg",)
        save_each(picture, [folder / f"{name}.{ending}" for ending in endings], width=4.5)
