"""Evaluations and validations as documents: the sections of their pages, for Word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llrkit.evaluation import words
from llrkit.evaluation.compare import Comparison
from llrkit.evaluation.result import Evaluation
from llrkit.report import certainty, page_contents
from llrkit.report.document import Document
from llrkit.report.method_text import methods_text
from llrkit.report.page import NOTHING
from llrkit.report.sections import Section, TextTable
from llrkit.report.validation_sections import validation
from llrkit.trust.calibration.check import CalibrationCheck
from llrkit.trust.intervals.bands import CurveBands
from llrkit.validation.validate import Validation


@dataclass(frozen=True, eq=False)
class EvaluationDocument(Document):
    """A document on systems, whose curves can be shown by themselves."""

    curves: Sequence[Section] = ()


def evaluation_document(
    systems: Mapping[str, Evaluation],
    *,
    title: str = "Evaluation of detection scores",
    by: str = "condition",
    first: Sequence[Section] = (),
    bands: Mapping[str, CurveBands] = NOTHING,
    checks: Mapping[str, CalibrationCheck] = NOTHING,
    comparison: Comparison | None = None,
    sections: Sequence[Section] = (),
    cautions: Sequence[str] = (),
    made_from: Sequence[tuple[str, str]] = (),
) -> EvaluationDocument:
    """The report on systems as a document; see :func:`llrkit.write_report`.

    Examples
    --------
    >>> import llrkit as lk
    >>> result = lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]))
    >>> [section.title for section in evaluation_document({"A": result}).sections][:2]
    ['Summary', 'Numbers of A']
    """
    told = page_contents.verdicts(systems, checks)
    said = [f"{one.name}: {one.said}" if len(systems) > 1 else one.said for one in told]
    summary = Section("Summary", (*cautions, page_contents.headline(systems, checks), *said))
    numbers = [
        Section(f"Numbers of {name}", (), [TextTable(("number", "value", "meaning"), tuple(words.rows(one)))])
        for name, one in systems.items()
    ]
    curves = [page_contents.curves(systems, bands), page_contents.distributions(systems)]
    rest = [*certainty.calibration(checks), *page_contents.conditions(systems, by)]
    if comparison is not None:
        rest.append(page_contents.calibrators(comparison, alone=False))
    trained = () if comparison is None else list(comparison.maps)
    methods = methods_text(systems, trained, checked=bool(checks))
    rest += [*sections, Section("Methods", tuple(methods.split("\n\n")))]
    return EvaluationDocument(title, [summary, *first, *numbers, *curves, *rest], made_from, curves)


def validation_document(
    name: str, checked: Validation, *, verbal: bool = False, made_from: Sequence[tuple[str, str]] = ()
) -> EvaluationDocument:
    """A validation report as a document."""
    return evaluation_document(
        {name: checked.evaluation}, title="Validation report", first=validation(checked, verbal=verbal),
        bands=NOTHING if checked.bands is None else {name: checked.bands}, checks={name: checked.check},
        cautions=checked.cautions, made_from=made_from,
    )  # fmt: skip
