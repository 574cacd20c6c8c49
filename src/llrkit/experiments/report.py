"""From results to a folder: numbers as JSON, figures, and a page that shows both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llrkit.choose.compare import Comparison
from llrkit.experiments import figures
from llrkit.experiments.durations import DurationsResult
from llrkit.experiments.lists import ListTable
from llrkit.experiments.page import PageFigure, PageTable, Paragraph, Part, write_page
from llrkit.experiments.paper import SOURCE
from llrkit.experiments.prior_scan import PriorScanResult
from llrkit.experiments.real import RealResult
from llrkit.experiments.wording import list_table, paper_table, scan_table, verdict
from llrkit.plot.picture import Picture

Section = tuple[str, Sequence[Part]]
PAGE = "index.html"


@dataclass(frozen=True)
class Drawing:
    """Where figures go, and how many."""

    folder: Path
    brief: bool


def write_report(
    folder: str | Path,
    *,
    durations: DurationsResult | None = None,
    scan: PriorScanResult | None = None,
    real: RealResult | None = None,
    example: Comparison | None = None,
    brief: bool = False,
    title: str = "The experiments of van Leeuwen & Brümmer (2013)",
) -> Path:
    """Write the page and figures of some experiments into a folder, which is made; gives the page.

    ``example`` is one list in all detail. ``brief`` leaves out the figures as PDF and all heat maps but
    that of the EER.
    """
    place = Drawing(Path(folder), brief)
    place.folder.mkdir(parents=True, exist_ok=True)
    sections: list[Section] = []
    if durations is not None:
        sections.append(_lists(durations.table, place, "Durations", "durations", _about(durations)))
    if scan is not None:
        sections.append(_scan(scan, place))
    if real is not None:
        sections.append(_lists(real.table, place, "Real data", "real", _about_real(real)))
    if durations is not None:
        sections.insert(0, _theory(durations, place))
    if example is not None:
        about = (
            "What follows is about one of the lists, with segments of 10 s on both sides, in all detail: the "
            "raw scores, CMLG and logistic regression."
        )
        sections.append(("One list in detail", [Paragraph(about)]))
    page = place.folder / PAGE
    write_page(page, title, sections, example)
    return page


def _about(result: DurationsResult) -> str:
    return (
        f"{len(result.table.lists)} trial lists of two simulated corpora without a speaker in common (scale "
        f"{result.scale}, seed {result.seed}): a PLDA recogniser trained on whole recordings scores segments "
        "of all durations, calibration is trained on the first corpus and evaluated on the second. "
    )


def _about_real(result: RealResult) -> str:
    facts = ", ".join(f"{name}: {value}" for name, value in result.about.items())
    said = f"{len(result.table.lists)} conditions of real data ({facts}). "
    if result.regularised:
        said += (
            "Where the training trials could be told apart without error, logistic regression was "
            f"regularised: {', '.join(result.regularised)}. "
        )
    if result.skipped:
        said += "Left out: " + "; ".join(f"{k} ({v})" for k, v in result.skipped.items()) + ". "
    return said


def _theory(result: DurationsResult, place: Drawing) -> Section:
    # the first list is of the shortest segments, the last of whole ones
    shown = result.table.lists[-1]
    picture = figures.densities(min(max(shown.eer, 1e-4), 0.49))
    parts: list[Part] = [
        Paragraph(
            "If calibrated log-likelihood-ratios are Gaussian, both classes have the same variance and "
            "opposite means, and the variance is twice the mean: the equal error rate says everything."
        ),
        _drawn(
            {
                "two-gaussians": (
                    picture,
                    "Calibrated Gaussian LLRs with the EER of the whole segments below.",
                )
            },
            place,
        ),
    ]
    return "Two Gaussians", parts


def _lists(table: ListTable, place: Drawing, heading: str, prefix: str, about: str) -> Section:
    shown = {
        f"{prefix}-cllr": (
            figures.scatter(table),
            "Cllr of the lists for CMLG and for logistic regression (figure 1 of the paper).",
        )
    }
    for name, picture in figures.heat_maps(table, ("eer",) if place.brief else figures.HEAT_MAPS).items():
        shown[f"{prefix}-{name.replace('_', '-')}"] = (picture, f"{picture.title} of every list.")
    header, rows = paper_table(table)
    parts: list[Part] = [
        Paragraph(about + verdict(table)),
        PageTable(f"All lists together, beside {SOURCE}", header, rows),
        _drawn(shown, place),
        PageTable("Every list; Cllr in bits", *list_table(table)),
    ]
    return heading, parts


def _scan(result: PriorScanResult, place: Drawing) -> Section:
    captions = {
        "equal": "Equal variances: the weight does nothing.",
        "unequal": "Wider target scores: the weight decides (compare figure 2 of the paper).",
        "corpora": "Whole segments of the simulated corpora.",
    }
    shown = {
        f"prior-scan-{case.name}": (figures.scan(case), f"{captions[case.name]} {case.about}.")
        for case in result.cases
    }
    header, rows = scan_table(result.cases)
    parts: list[Part] = [
        Paragraph(
            "C_primary of NIST SRE 2012 against the log-odds of alpha, the weight of targets in CMLG, or "
            "of the training prior of logistic regression."
        ),
        _drawn(shown, place),
        PageTable("C_primary", header, rows),
    ]
    return "Prior scan", parts


def _drawn(shown: dict[str, tuple[Picture, str]], place: Drawing) -> tuple[PageFigure, ...]:
    pictures = {name: picture for name, (picture, _) in shown.items()}
    files = figures.save_pictures(pictures, place.folder, pdf=not place.brief)
    return tuple(PageFigure(files[name], picture, words) for name, (picture, words) in shown.items())
