"""Evaluations and validations as documents: the words, tables and pictures of their pages, for Word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llrkit._llr_units import LlrUnit, llr_unit
from llrkit.calibrate.tied_scores import TiedScores
from llrkit.evaluation.compare import Comparison
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.evaluation_words import rows
from llrkit.report import page_contents
from llrkit.report.document import Document
from llrkit.report.method_text import methods_text
from llrkit.report.page import NOTHING, by_name, said_of, system_sections
from llrkit.report.paper_tables import same_points
from llrkit.report.provenance import Provenance, provenance
from llrkit.report.section_types import Section, TextTable
from llrkit.report.validation_sections import validation
from llrkit.trust.calibration.check_calibration import CalibrationCheck
from llrkit.trust.intervals.bands import CurveBands
from llrkit.validation.validate import Validation


@dataclass(frozen=True, eq=False)
class EvaluationDocument(Document):
    """A document on systems, whose curves can be shown by themselves."""

    curves: Sequence[Section] = ()


def evaluation_document(
    results: Evaluation | Comparison | Mapping[str, Evaluation],
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
    words: str = "nist",
    base_10: bool = False,
    made_from: Provenance | None = None,
) -> EvaluationDocument:
    """What :func:`llrkit.write_report` shows on a page, without what only a screen can do.

    Examples
    --------
    >>> import llrkit as lk
    >>> document = evaluation_document(lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])))
    >>> [section.title for section in document.sections]
    ['Summary', 'Numbers', 'Curves', 'Distributions', 'Methods']
    """
    unit = llr_unit(base_10)
    comparison = results if isinstance(results, Comparison) else comparison
    systems = by_name(results)
    same_points(systems)
    alone = isinstance(results, Comparison) and bool(results.maps)
    headline = comparison.sentence if alone and comparison else page_contents.headline(systems, checks)
    shown: list[Section] = [Section("Read this first", tuple(cautions))] if cautions else []
    shown += [
        *first,
        Section("Summary", (headline, *_verdicts(systems, checks, ties, advise=not alone, unit=unit))),
    ]
    said = said_of(systems, words, unit)
    numbers = []
    for name, one in systems.items():
        cells = tuple(tuple(map(said.text, row)) for row in rows(one, unit))
        numbers.append(TextTable(("number", "value", "meaning"), cells, name if len(systems) > 1 else ""))
    shown.append(Section("Numbers", (), numbers))
    tested = any(section.banner for section in first)
    own = system_sections(
        results, systems, comparison, by, bands, checks, llrs=llrs, tested=tested, unit=unit
    )
    methods = methods_text(
        systems, list(comparison.maps) if comparison else (), checked=bool(checks), unit=unit
    )
    shown += [*own, *sections, Section("Methods", tuple(filter(None, methods.split("\n\n"))))]
    shown = [section if section in first else said.section(section) for section in shown]
    curves = [section for section in shown if section.title in ("Curves", "Distributions")]
    return EvaluationDocument(title, shown, (made_from or provenance()).lines(), curves)


def validation_document(
    name: str,
    checked: Validation,
    *,
    verbal: bool = False,
    words: str = "forensic",
    base_10: bool = False,
    made_from: Provenance | None = None,
) -> EvaluationDocument:
    """A validation report as a document."""
    return evaluation_document(
        {name: checked.evaluation}, title="Validation report",
        first=validation(checked, verbal=verbal, words=words, base_10=base_10),
        bands=NOTHING if checked.bands is None else {name: checked.bands}, checks={name: checked.check},
        cautions=checked.cautions, llrs=True, words=words, base_10=base_10, made_from=made_from,
    )  # fmt: skip


def _verdicts(
    systems: Mapping[str, Evaluation],
    checks: Mapping[str, CalibrationCheck],
    ties: Mapping[str, TiedScores],
    *,
    advise: bool,
    unit: LlrUnit,
) -> list[str]:
    """What is said about each system, and what to do, a paragraph each."""
    told = page_contents.verdicts(systems, checks, ties, advise=advise, unit=unit)
    names = [f"{one.name} ({one.word}): " if len(systems) > 1 else "" for one in told]
    return [name + " ".join((one.said, *one.todo)) for name, one in zip(names, told, strict=True)]
