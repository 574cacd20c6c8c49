"""Calibrate: fit the chosen method to the training trials, bound its LLRs, save the map."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from llrkit import plot
from llrkit.app.choice_types import ToCalibrate, Told
from llrkit.app.project import CALIBRATION
from llrkit.app.step_commands import calibrate_commands
from llrkit.app.tasks.task import Task, shown
from llrkit.base.files import file_sha256
from llrkit.maps.bounds import bound_sentence
from llrkit.maps.map import Map
from llrkit.report.document import Said, Section
from llrkit.report.tables import TextTable
from llrkit.verbs.calibrate import calibrate
from llrkit.verbs.compare import ScoreToLlr
from llrkit.verbs.evaluation_result import Evaluation


def calibrate_task(task: Task[ToCalibrate]) -> Told:
    """As ``llrkit calibrate``."""
    asked, name = task.choices, task.choices["file"]
    path = task.path(name)
    trials = task.open(name)
    speakers = asked["speakers"] or None
    made = calibrate(
        trials,
        method=asked["method"],
        bound=asked["bound"],
        speakers=speakers if asked["bound"] == "sources" else None,
        groups=speakers if asked["method"] == "best" else None,  # no speaker is in two folds
    )
    before, after = made.before, made.after
    assert before is not None  # the methods are of one system
    fitted = made.map.with_provenance(training_file=Path(path).name, training_sha256=file_sha256(path))
    fitted.save(task.out / CALIBRATION)
    said = Said(task.words, (), task.unit, of_sources=True)
    own = [said.section(section) for section in _calibration_sections(fitted, before, after)]
    sections, pictures = shown(own, task)
    bounds = bound_sentence(fitted, base_10=task.unit.base_10)
    return {
        "banner": {"word": "calibrated", "grade": "good", "text": said.text(bounds)},
        "remarks": [],
        "sections": sections,
        "documents": [CALIBRATION, *pictures],
        "commands": calibrate_commands(path, task.reading(name), asked),
    }


def _calibration_sections(fitted: Map, before: Evaluation, after: Evaluation) -> list[Section]:
    rows = tuple(
        (name, f"{old:.4f}", f"{new:.4f}")
        for name, old, new in (
            ("Cllr (bits)", before.cllr, after.cllr),
            ("of it lost to discrimination", before.min_cllr, after.min_cllr),
            ("of it lost to calibration", before.cllr_cal, after.cllr_cal),
        )
    )
    table = TextTable(("on the training trials", "scores as they are", "calibrated"), rows, numeric=True)
    note = "On the trials that trained it a calibration looks better than on others: validate it on others."
    low, high = before.moments.extremes
    pictures = []
    if not fitted.needs and np.isfinite(low) and np.isfinite(high):
        scores = np.linspace(low, high, 257)
        factor = fitted.input_factor  # the map takes scores as the file has them
        curve = ScoreToLlr(scores, np.asarray(fitted(scores / factor, outside="ignore")))
        pictures.append(plot.pav({fitted.method or fitted.kind: curve}, renderer="none"))
    return [Section("What the calibration does", (), [table], pictures, note=note)]
