"""Evaluations as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Never

from markupsafe import Markup

from llrkit._arguments import takes
from llrkit._atomic import write_atomically
from llrkit._format import printable
from llrkit._llr_units import NATS, LlrUnit, llr_unit
from llrkit._plain import spelled
from llrkit._version import __version__
from llrkit._vocabulary import vocabulary
from llrkit.calibrate.tied_scores import TiedScores
from llrkit.errors import InputError
from llrkit.evaluation.compare import Comparison
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.metrics.curves import BAYES_LOG_ODDS
from llrkit.plot.picture import ROLE_COLORS, SYSTEM_COLORS, Picture
from llrkit.plot.plotly_renderer import PAGE_POLICY, plotly_javascript
from llrkit.report import interval_and_test_sections as certainty
from llrkit.report import verdict_and_curve_sections as about_systems
from llrkit.report.latex_markdown_csv import format_table
from llrkit.report.method_text import methods_text
from llrkit.report.page_data import exact_rates, page_figures
from llrkit.report.provenance import Provenance, provenance
from llrkit.report.report_parts import Parts, Results
from llrkit.report.report_tables import Table, TextTable, text_tables
from llrkit.report.report_vocabulary import AboutSystems, Said
from llrkit.report.section_types import Section
from llrkit.report.summary_table import same_points, summary_table
from llrkit.report.templating import HTML, script_json, trusted
from llrkit.trust.calibration.check_calibration import CalibrationCheck
from llrkit.trust.intervals.curve_bands import CurveBands

NOTHING: Mapping[str, Never] = MappingProxyType({})
LARGEST_DATA = 2_950_000
"""Characters of data in a page: with plotly's 4.8 million and the text it stays below 8 million."""


@takes(title=str, by=str, bands=Mapping, checks=Mapping, ties=Mapping)
def write_report(
    results: Evaluation | Comparison | Mapping[str, Evaluation],
    path: str | Path,
    *,
    title: str = "Evaluation of detection scores",
    by: str = "condition",
    comparison: Comparison | None = None,
    bands: Mapping[str, CurveBands] = NOTHING,
    checks: Mapping[str, CalibrationCheck] = NOTHING,
    ties: Mapping[str, TiedScores] = NOTHING,
    first: Sequence[Section] = (),
    sections: Sequence[Section] = (),
    cautions: Sequence[str] = (),
    llrs: bool = False,
    made_from: Provenance | None = None,
    words: str = "nist",
    base_10: bool = False,
) -> None:
    """Write evaluations as one HTML page: verdicts, numbers, interactive plots, methods, provenance.

    A path that ends in ``.docx`` gets a Word document instead, which can be edited (extra ``docx``).
    The page opens without a network and makes no request. Its size does not grow with the number of
    trials: lines are thinned for display, see ``thin``; all numbers are exact.

    Parameters
    ----------
    results
        An Evaluation, a Comparison of calibrators, or a dict of Evaluations by system.
    path
        Where the page is written.
    title
        Title of the page.
    by
        What the groups of the evaluations are, for headings.
    comparison
        Calibrators compared, as a section beside the systems.
    bands, checks
        By system: confidence bands (:func:`llrkit.curve_bands`) and tests of calibration
        (:func:`llrkit.check_calibration`).
    ties
        By system: which scores are clipped, saturated or tied, for the advice
        (``TiedScores.of_source(trials)``).
    first, sections
        More sections with words, tables and pictures: before the systems, and after their curves.
    cautions
        Sentences that a reader must not miss, shown above the verdicts.
    llrs
        Whether the scores are LLRs that a calibration made, for the words at the axes.
    made_from
        Files, command and date; see ``provenance``.
    words
        The vocabulary of text, tables and plots: 'nist', 'forensic' or 'biometrics'.
    base_10
        Show LLRs, thresholds and log-odds to base ten; the JSON that the page offers stays in nats.

    Examples
    --------
    >>> import tempfile
    >>> import llrkit as lk
    >>> file = Path(tempfile.mkdtemp()) / "report.html"
    >>> lk.write_report(lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])), file)
    >>> file.stat().st_size < 8_000_000
    True
    """
    parts: Parts = {
        "title": title, "by": by, "comparison": comparison, "bands": bands, "checks": checks, "ties": ties,
        "first": first, "sections": sections, "cautions": cautions, "llrs": llrs, "words": words,
        "base_10": base_10, "made_from": made_from,
    }  # fmt: skip
    if str(path).lower().endswith(".docx"):
        from llrkit.report.documents import evaluation_document

        evaluation_document(results, **parts).write_word(path)
        return
    write_atomically(path, report_page(results, **parts))


def report_page(
    results: Results,
    *,
    title: str,
    by: str,
    comparison: Comparison | None,
    first: Sequence[Section],
    sections: Sequence[Section],
    cautions: Sequence[str],
    made_from: Provenance | None,
    bands: Mapping[str, CurveBands] = NOTHING,
    checks: Mapping[str, CalibrationCheck] = NOTHING,
    ties: Mapping[str, TiedScores] = NOTHING,
    headline: str = "",
    what: str = "",
    llrs: bool = False,
    words: str = "nist",
    base_10: bool = False,
) -> str:
    """The page as text; ``headline`` and ``what`` are for evaluations that are not of systems."""
    unit = llr_unit(base_10)
    comparison = results if isinstance(results, Comparison) else comparison
    systems = evaluations_by_name(results)
    same_points(systems)
    what = what or ("method" if isinstance(results, Comparison) else "system")
    table = summary_table(systems, row_title=what)
    tested = any(section.banner for section in first)  # a validation shows the tests beside its matrix
    own = system_sections(
        results, systems, comparison, by, bands, checks, llrs=llrs, tested=tested, unit=unit
    )
    said = said_of(systems, words, unit)
    all_sections = [*first, *(said.section(section) for section in (*own, *sections))]
    pictures: list[Picture] = []
    shown = [_section_for_template(section, i, pictures) for i, section in enumerate(all_sections)]
    data = _data_of_page(systems, table, title)
    data["words"] = [said.text(text) for text in ("Target prior", "cost of a miss", "of a false alarm")]
    data["unit"] = {"nats": unit.nats, "suffix": f" {unit.suffix}" if base_10 else ""}
    about = _about_the_systems(results, systems, comparison, table, checks, ties, unit)
    about["headline"] = headline or about["headline"]
    about = said.about(about)
    room = LARGEST_DATA - len(script_json(data))
    data["figures"], moved = page_figures(pictures, n_systems=len(systems), room=room)
    page = HTML.get_template("page.html.j2").render(
        about,
        title=title,
        version=__version__,
        policy=Markup(PAGE_POLICY),
        what=what,
        base_10=base_10,
        say=said.text,
        several=f"{what}es" if what.endswith("s") else f"{what}s",
        cautions=[said.text(caution) for caution in cautions],
        first=shown[: len(first)],
        sections=shown[len(first) :],
        moved=moved,
        provenance=made_from or provenance(),
        style=trusted("report.css"),
        plotly=Markup(plotly_javascript()),
        program=trusted("plots.js", "panel.js", "page.js"),
        data=script_json(data),
    )
    return printable(page)


def system_sections(
    results: Results,
    systems: Mapping[str, Evaluation],
    comparison: Comparison | None,
    by: str,
    bands: Mapping[str, CurveBands],
    checks: Mapping[str, CalibrationCheck],
    *,
    llrs: bool,
    tested: bool,
    unit: LlrUnit = NATS,
) -> list[Section]:
    """Intervals, curves, distributions, tests, conditions and calibrators, where they are known."""
    sections = [
        *certainty.intervals(systems),
        about_systems.curves(systems, bands, llrs=llrs),
        about_systems.distributions(systems),
    ]
    sections += [
        *certainty.calibration(checks, tested=tested, unit=unit),
        *about_systems.conditions(systems, by),
    ]
    if comparison is not None:
        sections.append(about_systems.calibrators(comparison, alone=comparison is results))
    return sections


def _about_the_systems(
    results: Results,
    systems: Mapping[str, Evaluation],
    comparison: Comparison | None,
    table: Table,
    checks: Mapping[str, CalibrationCheck],
    ties: Mapping[str, TiedScores],
    unit: LlrUnit,
) -> AboutSystems:
    """What the template says about the systems."""
    first = next(iter(systems.values()))
    alone = results if isinstance(results, Comparison) and results.maps else None
    return {
        "systems": list(systems),
        "headline": about_systems.headline(systems, checks) if alone is None else alone.sentence,
        "verdicts": about_systems.verdicts(systems, checks, ties, advise=alone is None, unit=unit),
        "numbers": text_tables(table),
        "conventions": first.conventions,
        "points": [asdict(result.point) for result in first.points],
        "methods": methods_text(
            systems, list(comparison.maps) if comparison is not None else (), checked=bool(checks), unit=unit
        ),
        "counts": sorted({e.n_target + e.n_nontarget for e in systems.values()}),
    }


def said_of(systems: Mapping[str, Evaluation], words: str, unit: LlrUnit = NATS) -> Said:
    """A report in a vocabulary, its pictures in a unit; names of systems and points stay as they are."""
    points = (point.point.name for result in systems.values() for point in result.points)
    return Said(vocabulary(words), (*systems, *points), unit)


def evaluations_by_name(results: Results) -> dict[str, Evaluation]:
    """Evaluations by the name of their system, whatever form they were given in."""
    if isinstance(results, Comparison):
        return dict(results.evaluations)
    if isinstance(results, Evaluation):
        return {"scores": results}
    if not isinstance(results, Mapping) or not results:
        raise InputError("a report needs an Evaluation, a Comparison, or a dict of Evaluations by system")
    for name, value in results.items():
        if not isinstance(value, Evaluation):
            raise InputError(f"{name!r}: expected an Evaluation, got {type(value).__name__}")
    return {str(name): value for name, value in results.items()}


def _section_for_template(section: Section, i: int, pictures: list[Picture]) -> dict[str, object]:
    """A section as the template takes it; its pictures join the others."""
    drawn = []
    for picture in section.pictures:
        drawn.append({"id": f"figure{len(pictures)}", "title": picture.title, "told": picture.described})
        pictures.append(picture)
    tables: list[TextTable] = []
    for table in section.tables:
        tables += text_tables(table) if isinstance(table, Table) else [table]
    return {
        "id": f"section{i}", "title": section.title, "paragraphs": section.paragraphs, "tables": tables,
        "figures": drawn, "small": section.small, "note": section.note, "hint": section.hint,
        "banner": section.banner,
    }  # fmt: skip


def _data_of_page(systems: Mapping[str, Evaluation], table: Table, title: str) -> dict[str, object]:
    first = next(iter(systems.values()))
    return {
        "title": title,
        "systems": list(systems),
        "colors": {"systems": SYSTEM_COLORS, "roles": ROLE_COLORS},
        "grid": {"first": float(BAYES_LOG_ODDS[0]), "step": 0.01, "n": len(BAYES_LOG_ODDS)},
        "points": [{**asdict(r.point), "log_odds": r.point.log_odds} for r in first.points],
        "rates": [exact_rates(result) for result in systems.values()],
        "csv": format_table(table, "csv"),
        "json": {
            "schema": "llrkit.report/1",
            "systems": spelled({name: result.to_dict() for name, result in systems.items()}),
        },
    }
