"""Evaluate: the numbers of a file, a report, and pictures."""

from __future__ import annotations

from llrkit import plot
from llrkit.app.choice_types import ToEvaluate, Told
from llrkit.app.step_commands import evaluate_commands
from llrkit.app.tasks.task import Task, shown
from llrkit.base.files import write_atomically
from llrkit.fits.training_checks import TiedScores
from llrkit.io.joins import titles_of
from llrkit.report.document import Said, Section
from llrkit.report.page import write_report
from llrkit.report.sections import conditions, said_of, verdicts
from llrkit.report.tables import TextTable, format_table
from llrkit.scores.trials import repeated_trials
from llrkit.theory.operating_points import OperatingPoint, point_of_text
from llrkit.verbs import evaluation_result as words
from llrkit.verbs.evaluate import evaluate
from llrkit.verbs.evaluation_result import Evaluation

DEFAULT_POINTS = ("sre08", "sre10")


def evaluate_task(task: Task[ToEvaluate]) -> Told:
    """As ``llrkit evaluate``."""
    asked, name = task.choices, task.choices["file"]
    path = task.path(name)
    trials = task.open(name)
    points: list[OperatingPoint | str] = [point_of_text(text) or text for text in asked["points"]]
    result = evaluate(
        trials, points=points or DEFAULT_POINTS, by=asked["by"] or None, ece=True, ci=asked["ci"] or None,
        speakers=asked["speakers"] or None, replicates=1000,
    )  # fmt: skip
    (title,) = titles_of([path])
    commands = evaluate_commands(path, task.reading(name), asked)
    ties = {title: TiedScores.of_source(trials)} if result.verdict.outcome == "evidence" else {}
    by = asked["by"]
    write_report(
        {title: result}, task.out / "evaluation.html", by=by or "condition", ties=ties,
        made_from=task.made_from(commands[0], path), words=task.words.name, base_10=task.unit.base_10,
    )  # fmt: skip
    content = {"scores": path, **result.to_dict(), **repeated_trials(trials)}
    task.write_json(content, "evaluate", "evaluation.json")
    table = format_table(
        result if by else {title: result}, "csv", row_title=by or "system", words=task.words.name
    )
    write_atomically(task.out / "evaluation.csv", table)
    (told,) = verdicts({title: result}, {}, ties, unit=task.unit)
    todo = [text for text in told.todo if not text.startswith("llrkit ")]
    said = said_of({title: result}, task.words.name, task.unit)
    sections, pictures = shown(_evaluation_sections(title, result, by, said), task)
    return {
        "banner": {"word": said.text(told.word), "grade": told.grade, "text": said.text(told.said)},
        "remarks": [said.text(text) for text in (*todo, *_evaluation_notes(result))],
        "sections": sections,
        "documents": ["evaluation.html", "evaluation.json", "evaluation.csv", *pictures],
        "commands": commands,
    }


def _evaluation_notes(result: Evaluation) -> list[str]:
    return [f"Intervals: {note}" for note in (result.uncertainty.notes if result.uncertainty else ())]


def _evaluation_sections(title: str, result: Evaluation, by: str, said: Said) -> list[Section]:
    rows = tuple(tuple(map(said.text, row)) for row in words.rows(result, said.unit))
    numbers = TextTable(("", "", ""), rows)
    one = {title: result}
    drawn = [
        plot.det(one, renderer="none"), plot.tippett(one, renderer="none"),
        plot.histogram(one, renderer="none"), plot.ece(one, renderer="none"),
    ]  # fmt: skip
    sections = [Section("Numbers", (), [numbers]), Section("Curves", (), (), drawn), *conditions(one, by)]
    return [said.section(section) for section in sections]
