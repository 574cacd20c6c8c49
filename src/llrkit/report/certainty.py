"""Sections of a report on how sure its numbers are, and whether the LLRs pass tests of calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from llrkit import plot
from llrkit._format import chance, number
from llrkit.evaluation.result import Evaluation
from llrkit.evaluation.words import numbers
from llrkit.plot.picture import Picture
from llrkit.report.sections import Section, TextTable
from llrkit.trust.calibration.check import CalibrationCheck
from llrkit.trust.intervals.uncertainty import Uncertainty

INTERVALS = {
    "trial": "Intervals as if trials were independent; they are too short where trials share speakers.",
    "speaker": "Intervals for trials that share speakers (dyadic-robust variance, Student t).",
    "bootstrap": "Intervals by drawing speakers with replacement.",
}


def intervals(systems: Mapping[str, Evaluation]) -> list[Section]:
    """The intervals of the numbers, if they were asked for."""
    tables: list[TextTable] = []
    said: dict[str, None] = {}
    for name, result in systems.items():
        uncertainty = result.uncertainty
        if uncertainty is None:
            continue
        whose = f"{name}: " if len(systems) > 1 else ""
        shown = numbers(result)
        cells = tuple((row.name, row.value, row.interval) for row in shown if row.interval)
        header = ("number", "value", f"{100 * uncertainty.level:g} % interval")
        tables.append(TextTable(header, cells, name, numeric=True))
        said |= dict.fromkeys(
            [INTERVALS[uncertainty.kind], *(f"{whose}{line}." for line in _about(uncertainty))]
        )
        said |= {
            f"{whose}No interval for {row.name}: {uncertainty.no_interval[row.key]}.": None
            for row in shown
            if row.key in uncertainty.no_interval
        }
    return [Section("How sure", tuple(said), tables)] if tables else []


def _about(uncertainty: Uncertainty) -> list[str]:
    """What the intervals rest on; the number of speakers is stated once."""
    counted = any("speakers" in note for note in uncertainty.notes)
    speakers = [] if counted or not uncertainty.n_speakers else [f"{uncertainty.n_speakers:,} speakers"]
    return [*uncertainty.notes, *speakers]


def calibration(checks: Mapping[str, CalibrationCheck]) -> list[Section]:
    """Whether the LLR of the LLR is the LLR, system by system."""
    if not checks:
        return []
    said, tables, pictures = [], [], []
    for name, check in checks.items():
        said.append(f"{name}: {check.verdict.text}.")
        tables.append(
            TextTable(("", "value", "if calibrated", "p"), tuple(_tests(check)), name, numeric=True)
        )
        if check.curves:
            picture: Picture = plot.idempotence(check, renderer="none")
            pictures.append(replace(picture, title=f"{picture.title}: {name}"))
    notes = dict.fromkeys(
        f"{note[0].upper()}{note[1:]}." for check in checks.values() for note in check.notes
    )
    note = (
        "± is followed by the standard error. The third column has the mean of calibrated LLRs of the same "
        "distribution, drawn at random; p: probability of a value at least this far from it if the LLRs were "
        "calibrated."
    )
    return [Section("Calibration tested", (*said, *notes), tables, pictures, note=note)]


def _tests(check: CalibrationCheck) -> list[tuple[str, str, str, str]]:
    """Each number beside what calibrated LLRs have, and the chance that they show as much."""
    line, rows = check.recalibration, []
    if line is not None:
        rows.append(("slope of the LLR of the LLR", _with_error(line.a, line.se_a), "1", ""))
        rows.append(("offset (nats)", _with_error(line.b, line.se_b), "0", ""))
        rows.append(("slope and offset together", "", "", chance(line.p_value)))
    losses = {"cllr_cal": check.evaluation.cllr_cal, "dev_pav": check.dev_pav}
    if check.loss is not None:
        losses["cv_loss"] = check.loss.loss
    names = {"cllr_cal": "Cllr - min Cllr", "dev_pav": "devPAV", "cv_loss": "cross-validated loss"}
    usual = check.null.to_dict() if check.null is not None else None
    for key, value in losses.items():
        by_chance = ("", "") if usual is None else (number(usual[key]["mean"]), chance(check.p_value(key)))
        rows.append((names[key], number(value), *by_chance))
    return rows


def _with_error(value: float, error: float) -> str:
    return f"{value:.3f} ± {error:.3f}"
