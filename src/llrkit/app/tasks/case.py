"""Case: the LLRs of questioned scores, and the statement."""

from __future__ import annotations

from typing import Any

from llrkit._atomic import write_atomically
from llrkit._vocabulary import VOCABULARIES
from llrkit.app.commands import case_commands
from llrkit.app.project import CALIBRATION
from llrkit.app.tasks.task import Task, in_documents, shown
from llrkit.calibrate.map_files import load_map
from llrkit.errors import InputError
from llrkit.io.reading import PLAIN, Reading
from llrkit.report.case_document import case_document
from llrkit.validation.case import case_report
from llrkit.validation.case_inputs import as_it_was_trained, questioned_scores
from llrkit.validation.case_words import all_remarks, statements

FORENSIC = VOCABULARIES["forensic"]


def case_task(task: Task) -> dict[str, Any]:
    """As ``llrkit case``."""
    asked = task.choices
    questioned, train, validation = (
        task.path(asked[use]) if asked[use] else "" for use in ("questioned", "train", "validation")
    )
    map_path = in_documents(CALIBRATION)
    calibration = load_map(map_path)
    reading = _one_reading(task)
    report = case_report(
        calibration,
        questioned_scores(questioned, calibration) if questioned else asked["scores"],
        h1=asked["h1"],
        h2=asked["h2"],
        train=task.open(asked["train"], **as_it_was_trained(calibration)) if train else None,
        validation=task.open(asked["validation"]) if validation else None,
        speakers=asked["speakers"] or None,
        conditions=asked["conditions"],
        verbal=asked["verbal"],
    )
    commands = case_commands(reading, asked, questioned=questioned, train=train, validation=validation)
    used = [path for path in (map_path, questioned, train, validation) if path]
    made = task.made_from(commands[0], *used).lines()
    document = case_document(report, made, base_10=asked["base_10"])
    document.write_html(task.out / "case.html")
    document.write_word(task.out / "case.docx")
    write_atomically(task.out / "case.md", report.to_markdown(made, base_10=asked["base_10"]))
    task.write_json({"map": map_path, **report.to_dict()}, "case", "case.json")
    sections, pictures = shown(document.sections[1:], task)
    remarks = all_remarks(report)
    if report.no_interval:
        remarks.append(f"There is no interval: {report.no_interval}.")
    return {
        "statements": statements(report),
        "remarks": [FORENSIC.say_of_sources(text, keep=report.names) for text in remarks],
        "sections": sections,
        "documents": [*(f"case.{ending}" for ending in ("html", "docx", "md", "json")), *pictures],
        "commands": commands,
    }


def _one_reading(task: Task) -> Reading:
    """How the files of known origin are read, which one command line can say only once."""
    names = [task.choices[use] for use in ("train", "validation") if task.choices[use]]
    readings = [task.reading(name) for name in names]
    if len(readings) == 2 and readings[0] != readings[1]:
        raise InputError(
            f"{names[0]} and {names[1]} are read with different options, which a case report cannot do; read "
            "both in the same way, or leave one of them out"
        )
    return readings[0] if readings else PLAIN
