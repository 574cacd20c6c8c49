"""From results to a folder: figures as files, and a page with tables, figures and one list in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from llrkit._format import counted
from llrkit.errors import InputError
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.experiments import experiment_figures
from llrkit.experiments.durations import DurationsResult
from llrkit.experiments.list_results import ListTable
from llrkit.experiments.paper_values import SOURCE
from llrkit.experiments.prior_scan import PriorScanResult
from llrkit.experiments.real_result import RealResult
from llrkit.experiments.result_tables import (
    Table,
    list_table,
    one_map_table,
    paper_table,
    scan_table,
    verdict,
)
from llrkit.plot.picture import Picture
from llrkit.report.html_page import write_report
from llrkit.report.interval_and_test_sections import section_of
from llrkit.report.provenance import Provenance
from llrkit.report.report_tables import TextTable
from llrkit.report.section_types import Section

PAGE = "index.html"
TITLE = "The experiments of van Leeuwen & Brümmer (2013)"
Shown = Mapping[str, Picture]


def write_experiments(
    folder: str | Path,
    *,
    durations: DurationsResult | None = None,
    scan: PriorScanResult | None = None,
    real: RealResult | None = None,
    brief: bool = False,
    made_from: Provenance | None = None,
) -> Path:
    """Write the page and figures of some experiments into a folder, which is made; gives the page.

    ``brief`` leaves out the figures as PDF and all heat maps but that of the EER; ``made_from`` is what the
    page says about files and command.
    """
    sections: list[tuple[Section, Shown]] = []
    closer: Mapping[str, Evaluation] = {}
    if real is not None:
        sections.append(_lists_section(real.table, "Real data", "real", _about_real(real), brief))
        closer = real.closer
    if scan is not None:
        sections.append(_scan_section(scan))
        closer = scan.closer
    if durations is not None:
        sections.insert(
            0, _lists_section(durations.table, "Durations", "durations", _about_durations(durations), brief)
        )
        sections.insert(1, _costs_section(durations.table, "durations"))
        sections.insert(0, _theory_section(durations))
        closer = durations.closer
    if not closer:
        raise InputError("a page needs at least one experiment")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for _, pictures in sections:
        experiment_figures.save_pictures(pictures, place, pdf=not brief)
    page = place / PAGE
    write_report(closer, page, title=TITLE, first=[section for section, _ in sections], made_from=made_from)
    return page


def _about_durations(result: DurationsResult) -> tuple[str, ...]:
    if result.start == "frames":
        return (
            f"{len(result.table.lists)} trial lists of simulated frames (scale {result.scale}): background "
            "model, statistics, total variability, i-vectors, length normalization, LDA and PLDA are trained "
            "on whole recordings of a background and score all durations; calibration is trained on one "
            f"corpus and evaluated on another. All numbers are means over {_seeds_in_words(result.seeds)}.",
        )
    return (
        f"{len(result.table.lists)} trial lists of two simulated corpora without a speaker in common (scale "
        f"{result.scale}): a PLDA recognizer trained on whole recordings scores length-normalized embeddings "
        "of all durations, calibration is trained on the first corpus and evaluated on the second. All "
        f"numbers are means over {_seeds_in_words(result.seeds)}. The second half of this page is about the "
        f"list in the middle, 20 s on both sides, of seed {result.seeds[0]}.",
    )


def _seeds_in_words(seeds: Sequence[int]) -> str:
    return f"the seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"the single seed {seeds[0]}"


def _about_real(result: RealResult) -> tuple[str, ...]:
    facts = ", ".join(f"{name}: {value}" for name, value in result.about.items())
    said = [f"{counted(len(result.table.lists), 'condition')} of real data ({facts})."]
    if result.regularized:
        said.append(
            "Where the training trials could be told apart without error, logistic regression was "
            f"regularized: {', '.join(result.regularized)}."
        )
    said += [f"Left out: {name} ({reason})." for name, reason in result.skipped.items()]
    return tuple(said)


def _theory_section(result: DurationsResult) -> tuple[Section, Shown]:
    eer = result.table.lists[-1].eer
    pictures = {"two-gaussians": experiment_figures.densities(min(max(eer, 1e-4), 0.49))}
    words = (
        "If calibrated log-likelihood-ratios are Gaussian, both classes have the same variance and opposite "
        "means, and the variance is twice the mean: the equal error rate says everything. Drawn for the EER "
        "of whole segments.",
    )
    return Section("Two Gaussians", words, pictures=list(pictures.values())), pictures


def _costs_section(table: ListTable, prefix: str) -> tuple[Section, Shown]:
    section = section_of(experiment_figures.theory_curves(table))
    names = (f"{prefix}-theory", f"{prefix}-theory-difference")
    return section, dict(zip(names, section.pictures, strict=True))


def _lists_section(
    table: ListTable, title: str, prefix: str, about: tuple[str, ...], brief: bool
) -> tuple[Section, Shown]:
    pictures = {f"{prefix}-cllr": experiment_figures.scatter(table)}
    for name, picture in experiment_figures.heat_maps(
        table, ("eer",) if brief else experiment_figures.HEAT_MAPS
    ).items():
        pictures[f"{prefix}-{name.replace('_', '-')}"] = picture
    tables = [
        _captioned_picture(paper_table(table), f"All lists together, beside {SOURCE}"),
        _captioned_picture(list_table(table), "Every list; Cllr in bits"),
    ]
    if not np.isnan(table.mean["conditioned_cmlg"]):
        tables.insert(
            1, _captioned_picture(one_map_table(table), "One calibration per list, or one for all; bits")
        )
    return Section(title, (*about, verdict(table)), tables, list(pictures.values())), pictures


def _scan_section(result: PriorScanResult) -> tuple[Section, Shown]:
    pictures = {f"prior-scan-{case.name}": experiment_figures.scan(case) for case in result.cases}
    words = (
        f"{result.cost_name[0].upper()}{result.cost_name[1:]} against the log-odds of alpha, the weight of "
        "targets in CMLG, or of the training prior of logistic regression.",
        *(f"{case.name}: {case.about}." for case in result.cases),
    )
    tables = [_captioned_picture(scan_table(result.cases), result.cost_name)]
    return Section("Prior scan", words, tables, list(pictures.values())), pictures


def _captioned_picture(table: Table, caption: str) -> TextTable:
    header, rows = table
    return TextTable(tuple(header), tuple(tuple(row) for row in rows), caption, numeric=True)
