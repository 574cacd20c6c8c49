"""Validate: the calibrated trials of a file against criteria."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from llrkit.app.choice_types import Told, ToValidate
from llrkit.app.criteria_form import criteria_text
from llrkit.app.project import CALIBRATION, DOCUMENTS
from llrkit.app.step_commands import validate_commands
from llrkit.app.tasks.task import InWords, Task, in_documents, shown
from llrkit.base.files import file_sha256, write_atomically
from llrkit.base.text import printable
from llrkit.io.joins import titles_of
from llrkit.maps.files import load_map
from llrkit.report.document import Banner
from llrkit.report.layouts import validation_document
from llrkit.report.page import write_report
from llrkit.report.sections import validation
from llrkit.verbs.criteria import read_criteria
from llrkit.verbs.validate import SHOWN, outcome, validate


def validate_task(task: Task[ToValidate]) -> Told:
    """As ``llrkit validate``."""
    asked, name = task.choices, task.choices["file"]
    path, map_path = task.path(name), in_documents(CALIBRATION)
    criteria_path = task.out / "criteria.toml"
    write_atomically(criteria_path, criteria_text(asked))
    calibration, trials = load_map(map_path), task.open(name)
    others = [before for row in asked["rows"] if (before := row.get("change_from"))]
    task.require_one_reading(name, *others)
    criteria = replace(read_criteria(criteria_path), folder=Path(DOCUMENTS), reading=task.reading(name))
    checked = validate(
        trials, criteria=criteria, calibration=calibration, apply=not trials.roles.calibrated,
        curves=True, trained_on_these=calibration.provenance.get("training_sha256") == file_sha256(path),
    )  # fmt: skip
    commands = validate_commands(path, task.reading(name), asked)
    made = task.made_from(commands[0], path, map_path, str(criteria_path), *map(task.path, others))
    (title,) = titles_of([path])
    verbal = asked["verbal"]
    how: InWords = {"words": task.words.name, "base_10": asked["base_10"]}
    verdict = checked.check.verdict.in_unit(task.unit)
    write_report(
        {title: checked.evaluation}, task.out / "validation.html", title="Validation report",
        first=validation(checked, verbal=verbal, **how), checks={title: checked.check}, llrs=True,
        bands={} if checked.bands is None else {title: checked.bands}, cautions=checked.cautions,
        made_from=made, **how,
    )  # fmt: skip
    text = checked.to_markdown(made_from=made.lines(), verbal=verbal, **how)
    write_atomically(task.out / "validation.md", printable(text))
    document = validation_document(title, checked, made_from=made, verbal=verbal, **how)
    document.write_word(task.out / "validation.docx")
    content = {"scores": path, "criteria": in_documents("criteria.toml"), **checked.to_dict()}
    task.write_json(content, "validate", "validation.json")
    sections, pictures = shown([*validation(checked, verbal=verbal, **how), *document.curves], task)
    banner = Banner(SHOWN[checked.outcome])

    def say(text: str) -> str:
        return task.words.say_of_sources(text, keep=checked.names)

    written = ["criteria.toml", *(f"validation.{ending}" for ending in ("html", "docx", "md", "json"))]
    return {
        "banner": {"word": banner.word, "grade": banner.grade, "text": say(outcome(checked))},
        "remarks": [say(text) for text in (*checked.cautions, verdict.sentence)],
        "sections": sections,
        "documents": [*written, *pictures],
        "commands": commands,
    }
