"""Sections of a report: how sure its numbers are, tests of calibration, theory, a validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from llrkit import plot
from llrkit._llr_units import NATS, LlrUnit, llr_unit
from llrkit._vocabulary import vocabulary
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.evaluation_words import numbers_of_table, without_interval
from llrkit.evaluation.over_groups import group_name
from llrkit.metrics.theory_costs import TheoryCosts, theory_costs_of
from llrkit.plot.picture import Picture
from llrkit.plot.theory_plot import theory
from llrkit.report.report_tables import TextTable
from llrkit.report.report_vocabulary import Said
from llrkit.report.section_types import Banner, Section
from llrkit.trust.calibration.check_calibration import CalibrationCheck
from llrkit.trust.intervals.uncertainty_result import Uncertainty
from llrkit.validation.calibration_words import HEADER, LEGEND, rows_of_tests
from llrkit.validation.calibration_words import HEADER as TESTS_HEADER
from llrkit.validation.validate import Validation
from llrkit.validation.validation_words import (
    FULL_HEADER,
    SHOWN,
    full_cells,
    misleading_rows,
    misleading_shares,
    outcome,
    stated,
)

INTERVALS = {
    "trial": "Intervals as if trials were independent; they are too short where trials share speakers.",
    "speaker": "Intervals for trials that share speakers (each speaker left out in turn, bootstrap-t).",
    "bootstrap": "Intervals by drawing speakers with replacement.",
}


def intervals(systems: Mapping[str, Evaluation]) -> list[Section]:
    """The intervals of the numbers, if they were asked for; what holds for all systems is said once."""
    tables: list[TextTable] = []
    said: dict[str, list[str]] = {}
    for name, result in systems.items():
        uncertainty = result.uncertainty
        if uncertainty is None:
            continue
        shown = numbers_of_table(result)
        cells = tuple((row.name, row.value, row.interval) for row in shown if row.interval)
        header = ("number", "value", f"{100 * uncertainty.level:g} % interval")
        tables.append(TextTable(header, cells, name, numeric=True))
        about = [f"{line}." for line in _about_the_intervals(uncertainty)]
        missing = [f"{line[0].upper()}{line[1:]}." for line in without_interval(uncertainty, shown)]
        for line in (INTERVALS[uncertainty.kind], *about, *missing):
            said.setdefault(line, []).append(name)
    lines = [
        line if len(names) == len(systems) else f"{', '.join(names)}: {line[0].lower()}{line[1:]}"
        for line, names in said.items()
    ]
    return [Section("How sure", tuple(lines), tables)] if tables else []


def _about_the_intervals(uncertainty: Uncertainty) -> list[str]:
    """What the intervals rest on; the number of speakers is stated once."""
    counted = any("speakers" in note for note in uncertainty.notes)
    speakers = [] if counted or not uncertainty.n_speakers else [f"{uncertainty.n_speakers:,} speakers"]
    return [*uncertainty.notes, *speakers]


def calibration(
    checks: Mapping[str, CalibrationCheck], *, tested: bool = False, unit: LlrUnit = NATS
) -> list[Section]:
    """Whether the LLR of the LLR is the LLR, system by system; ``tested`` if the tests are shown already."""
    if not checks:
        return []
    said, tables, pictures = [], [], []
    for name, check in checks.items():
        said.append(f"{name}: {check.verdict.in_unit(unit).sentence}")
        if not tested:
            tables.append(TextTable(HEADER, tuple(rows_of_tests(check, unit)), name, numeric=True))
        if check.curves:
            picture: Picture = plot.idempotence(check, renderer="none")
            pictures.append(replace(picture, title=f"{picture.title}: {name}"))
    notes = dict.fromkeys(
        f"{note[0].upper()}{note[1:]}." for check in checks.values() for note in check.notes
    )
    return [Section("Calibration tested", (*said, *notes), tables, pictures, note=LEGEND)]


def theory_section(systems: Mapping[str, Evaluation]) -> Section:
    """Every system, or every group of it where there are groups, as a point on the curves of theory."""
    lists: dict[str, Evaluation] = {}
    for name, result in systems.items():
        several = len(systems) > 1
        groups = {
            f"{name} {group_name(key)}" if several else group_name(key): group
            for key, group in result.groups.items()
        }
        lists |= groups or {name: result}
    return section_of(theory_costs_of(lists))


def section_of(curves: Sequence[TheoryCosts]) -> Section:
    """Curves with the sentence of each."""
    words = (
        "What a perfectly calibrated system must cost at its equal error rate, if its LLRs are of one of "
        "these families; the points are minimum costs of what was measured. The families agree on Cllr and "
        "differ at rare priors: a point near the Gaussian line of Cllr does not show that LLRs are Gaussian.",
        " ".join(curve.sentence for curve in curves),
    )
    return Section("Theory", words, pictures=[theory(curve, renderer="none") for curve in curves])


REFERENCES = (
    "Validation matrix: D. Meuwly, D. Ramos and R. Haraksim, A guideline for the validation of likelihood "
    "ratio methods used for forensic evidence evaluation, Forensic Science International 276 (2017) 142-153. "
    "What a report states: G. S. Morrison et al., Consensus on validation of forensic voice comparison, "
    "Science & Justice 61 (2021) 299-309. Range that is supported: P. Vergeer, A. van Es, A. de Jongh, "
    "I. Alberink and R. Stoel, Numerical likelihood ratios outputted by LR systems are often based on "
    "extrapolation: when to stop extrapolating?, Science & Justice 56 (2016) 482-491."
)


def validation(
    result: Validation, *, verbal: bool = False, words: str = "forensic", base_10: bool = False
) -> list[Section]:
    """Outcome, validation matrix and tests of calibration; what was validated; the worst trials."""
    unit = llr_unit(base_10)
    said = Said(vocabulary(words), result.names, unit, of_sources=True)
    tested = tuple(rows_of_tests(result.check, unit))
    tests = TextTable(TESTS_HEADER, tested, "Tests of calibration", numeric=True)
    matrix = TextTable(FULL_HEADER, tuple(tuple(full_cells(row, unit)) for row in result.rows))
    header, cells = misleading_rows(result, verbal, unit)
    facts = tuple(stated(result, unit))
    about = "Whatever is not stated was not given with the criteria; the rest is counted."
    sections = [
        Section("Validation", (outcome(result),), [matrix, tests], banner=Banner(SHOWN[result.outcome])),
        Section(
            "What was validated", (about,), [TextTable(("", ""), facts)], note=REFERENCES
        ),
        Section(
            "Most misleading trials", (misleading_shares(result),),
            [TextTable(header, cells)] if cells else [],
        ),
    ]  # fmt: skip
    return [replace(said.section(section), note=section.note) for section in sections]  # references stay
