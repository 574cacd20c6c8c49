"""Tests of calibration in words: every p-value with the level at which it is judged."""

from __future__ import annotations

import math

from llrkit._format import chance, number, p_words
from llrkit._llr_units import NATS, LlrUnit
from llrkit.trust.calibration.check_calibration import CalibrationCheck
from llrkit.trust.calibration.verdict import LEVEL, SHAPE_LEVEL

HEADER = ("", "value", "if calibrated", "p", "level")
LEGEND = (
    "± is followed by the standard error. The column 'if calibrated' has the mean of calibrated LLRs of the "
    "same distribution, drawn at random; p is the probability of a loss at least this large if the LLRs were "
    "calibrated; the verdict judges it at the level, if there is one."
)
_JUDGED = {"cllr_cal": SHAPE_LEVEL}
_NAMES = {"cllr_cal": "Cllr - min Cllr", "dev_pav": "devPAV", "cv_loss": "cross-validated loss"}


def rows_of_tests(check: CalibrationCheck, unit: LlrUnit = NATS) -> list[tuple[str, str, str, str, str]]:
    """Each number beside what calibrated LLRs have, its p-value, and the level of the verdict."""
    line, rows = check.recalibration, []
    if line is not None:
        rows.append(("slope of the LLR of the LLR", _number_with_error(line.a, line.se_a), "1", "", ""))
        offset = _number_with_error(unit.of(line.b), unit.of(line.se_b))
        rows.append((f"offset ({unit.short})", offset, "0", "", ""))
        rows.append(("slope and offset together", "", "", chance(line.p_value), _level_of_verdict(LEVEL)))
    losses = {"cllr_cal": check.evaluation.cllr_cal, "dev_pav": check.dev_pav}
    if check.loss is not None:
        losses["cv_loss"] = check.loss.loss
    usual = check.null.to_dict() if check.null is not None else None
    for key, value in losses.items():
        by_chance = ("", "", "")
        if usual is not None and not math.isnan(usual[key]["mean"]):
            level = _level_of_verdict(_JUDGED[key]) if key in _JUDGED else "not judged"
            by_chance = (number(usual[key]["mean"]), chance(check.p_value(key)), level)
        rows.append((_NAMES[key], number(value), *by_chance))
    return rows


def p_with_level(check: CalibrationCheck, name: str) -> str:
    """How often a calibrated system shows as much, and at which level that is judged; empty if not known."""
    p = check.p_value(name)
    if math.isnan(p):
        return ""
    level = (
        f"level {_level_of_verdict(_JUDGED[name])} in the verdict"
        if name in _JUDGED
        else "the limit decides, not p"
    )
    return f"{p_words(p)} if calibrated ({level})"


def _level_of_verdict(level: float) -> str:
    return f"{100 * level:g} %"


def _number_with_error(value: float, error: float) -> str:
    return f"{value:.3f} ± {error:.3f}"
