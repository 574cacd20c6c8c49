"""Sections of a report on how sure its numbers are, and whether the LLRs pass tests of calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from llrkit import plot
from llrkit._llr_units import NATS, LlrUnit
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.evaluation_words import Row, numbers
from llrkit.plot.picture import Picture
from llrkit.report.section_types import Section, TextTable
from llrkit.trust.calibration.check_calibration import CalibrationCheck
from llrkit.trust.intervals.uncertainty import Uncertainty
from llrkit.validation.calibration_words import HEADER, LEGEND, rows_of_tests

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
        shown = numbers(result)
        cells = tuple((row.name, row.value, row.interval) for row in shown if row.interval)
        header = ("number", "value", f"{100 * uncertainty.level:g} % interval")
        tables.append(TextTable(header, cells, name, numeric=True))
        about = [f"{line}." for line in _about(uncertainty)]
        for line in (INTERVALS[uncertainty.kind], *about, *_without(uncertainty, shown)):
            said.setdefault(line, []).append(name)
    lines = [
        line if len(names) == len(systems) else f"{', '.join(names)}: {line[0].lower()}{line[1:]}"
        for line, names in said.items()
    ]
    return [Section("How sure", tuple(lines), tables)] if tables else []


def _without(uncertainty: Uncertainty, shown: Sequence[Row]) -> list[str]:
    """The numbers that have no interval, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for row in shown:
        if row.key in uncertainty.no_interval:
            by_reason.setdefault(uncertainty.no_interval[row.key], []).append(row.name)
    return [f"No interval for {' and '.join(names)}: {why}." for why, names in by_reason.items()]


def _about(uncertainty: Uncertainty) -> list[str]:
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
