"""Case: the LLRs of questioned scores, and the statement."""

from __future__ import annotations

from llrkit.app.choice_types import Told, ToReportCase
from llrkit.app.project import CALIBRATION
from llrkit.app.step_commands import case_commands
from llrkit.app.tasks.task import InWords, Task, in_documents, shown
from llrkit.base.files import write_atomically
from llrkit.errors import InputError
from llrkit.maps.files import load_map
from llrkit.maps.map import Map
from llrkit.report.document import Banner
from llrkit.report.layouts import case_document
from llrkit.verbs.case import as_it_was_trained, case_report, questioned_scores
from llrkit.verbs.case_words import all_remarks, headline, statements
from llrkit.verbs.validate import SHOWN


def case_task(task: Task[ToReportCase]) -> Told:
    """As ``llrkit case``."""
    asked = task.choices
    questioned, train, validation = (
        task.path(asked[use]) if asked[use] else "" for use in ("questioned", "train", "validation")
    )
    map_path = in_documents(CALIBRATION)
    calibration = load_map(map_path)
    if questioned:
        _require_read_as_trained(task, asked["questioned"], calibration)
    known = [asked[use] for use in ("train", "validation") if asked[use]]
    reading = task.require_one_reading(*known)
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
    how: InWords = {"words": task.words.name, "base_10": asked["base_10"]}
    document = case_document(report, made, **how)
    document.write_html(task.out / "case.html")
    document.write_word(task.out / "case.docx")
    write_atomically(task.out / "case.md", report.to_markdown(made, **how))
    task.write_json({"map": map_path, **report.to_dict()}, "case", "case.json")
    sections, pictures = shown(document.sections[1:], task)
    remarks = all_remarks(report)
    if report.no_interval:
        remarks.append(f"There is no interval: {report.no_interval}.")

    def say(text: str) -> str:
        return task.words.say_of_sources(text, keep=report.names)

    told: Told = {
        "statements": statements(report),
        "remarks": [say(text) for text in remarks],
        "sections": sections,
        "documents": [*(f"case.{ending}" for ending in ("html", "docx", "md", "json")), *pictures],
        "commands": commands,
    }
    if (first := headline(report, task.unit)) and report.validation_outcome:
        banner = Banner(SHOWN[report.validation_outcome])
        told["banner"] = {"word": banner.word, "grade": banner.grade, "text": say(first)}
    return told


_OPTIONS = {
    "score": "the column of the scores",
    "decimal": "the decimal sign",
    "columns": "names of columns",
    "missing_scores": "missing scores",
    "log10": "LLRs to base ten",
    "distance": "distances",
}
"""Options of reading on the page of the files that questioned scores do not obey."""


def _require_read_as_trained(task: Task[ToReportCase], name: str, calibration: Map) -> None:
    """Refuse options that were chosen for questioned scores, where they are not those of training."""
    chosen, trained = task.reading(name), as_it_was_trained(calibration)
    other = [
        text
        for option, text in _OPTIONS.items()
        if option in chosen.given() and getattr(chosen, option) != trained.get(option)
    ]
    if other:
        raise InputError(
            f"{name}: questioned scores are read with the options of the training scores, so those of this "
            f"file ({', '.join(other)}) cannot be used; remove them on the page Files, or type the scores"
        )
