"""Advise: what the training scores look like, which methods suit them, and how well each does."""

from __future__ import annotations

from llrkit.app.choice_types import ToAdvise, Told
from llrkit.app.step_commands import advise_commands
from llrkit.app.tasks.task import Task, shown
from llrkit.base.text import number
from llrkit.fits.best import MethodRow, fit_best
from llrkit.report.document import Said, Section
from llrkit.report.tables import TextTable
from llrkit.verbs.diagnose import diagnose

HEADER = ("method", "Cllr in cross-validation", "more than the best (95 % interval)", "advice")
SIMPLEST = ("logistic", "cmlg", "gaussian", "saturating", "bigaussian", "tied-nig", "nig", "kde", "pav")
"""Methods of the form, the simplest first."""
NOTE = (
    "Each trial is judged by a calibration that has not seen it, nor anything of its speakers: the columns "
    "that are named, otherwise the ids of the two sides where the file has both. Where an interval holds 0, "
    "these trials do not tell the method from the best."
)


def advise_task(task: Task[ToAdvise]) -> Told:
    """As ``llrkit diagnose`` and the table of ``llrkit calibrate --method best``."""
    name, speakers = task.choices["file"], task.choices["speakers"]
    path = task.path(name)
    trials = task.open(name)
    diagnosis = diagnose(trials)
    task.write_json(diagnosis.to_dict(), "diagnose", "advice.json")
    advice = {
        method: f"{'advised' if good else 'not advised'}: {why}" for method, good, why in diagnosis.advice
    }
    best = fit_best(trials, groups=speakers or None)
    table = MethodRow.of_details(best.details)
    rows = [
        (row.method, number(row.cllr), _difference_from_best(row, table[0]), _advice_section(row, advice))
        for row in table
    ]
    remarks = [f"{problem[0].upper()}{problem[1:]}." for problem in diagnosis.problems]
    section = Section("Methods compared", (), [TextTable(HEADER, tuple(rows))], note=NOTE)
    sections, pictures = shown([Said(task.words, tuple(task.files), of_sources=True).section(section)], task)
    suggested, why = recommended(table, [method for method, good, _ in diagnosis.advice if good])
    return {
        "suggested": suggested,
        "why": task.say(why),
        "remarks": [task.say(text) for text in remarks],
        "sections": sections,
        "documents": ["advice.json", *pictures],
        "commands": advise_commands(path, task.reading(name), task.choices),
    }


def recommended(table: list[MethodRow], advised: list[str]) -> tuple[str, str]:
    """The simplest method that these trials do not tell from the best, and why it is that one.

    Examples
    --------
    >>> rows = [MethodRow("nig", 0.2), MethodRow("logistic", 0.21, standard_error=0.02)]
    >>> recommended(rows, ["nig", "logistic"])[0], recommended(rows[:1], [])[0]
    ('logistic', 'nig')
    """
    known = [row for row in table if row.reason is None and row.method in SIMPLEST]
    if not known:
        return SIMPLEST[0], "no method could be compared, and it asks for the least"
    best = known[0]
    close = [row for row in known if row is best or _may_be_as_good_as_best(row, best)]
    close = [row for row in close if row.method in advised] or close
    chosen = min(close, key=lambda row: SIMPLEST.index(row.method))
    if chosen is best:
        return best.method, f"its Cllr in cross-validation is the lowest, {number(best.cllr)} bits"
    return chosen.method, (
        f"it is the simplest method that these trials do not tell from the best ({best.method}): its "
        f"Cllr in cross-validation is {number(chosen.cllr)} bits instead of {number(best.cllr)}"
    )


def _may_be_as_good_as_best(row: MethodRow, best: MethodRow) -> bool:
    return row.standard_error is not None and row.cllr - best.cllr <= 1.96 * row.standard_error


def _difference_from_best(row: MethodRow, best: MethodRow) -> str:
    """The distance from the best, with an interval where its error is known."""
    error = row.standard_error
    if row is best or error is None or row.reason:
        return ""
    gap = row.cllr - best.cllr
    return f"{gap:+.4f} [{gap - 1.96 * error:+.4f}, {gap + 1.96 * error:+.4f}]"


def _advice_section(row: MethodRow, advice: dict[str, str]) -> str:
    said = [row.reason] if row.reason else []
    return "; ".join([*said, *row.flags, advice.get(row.method, "")]).strip("; ")
