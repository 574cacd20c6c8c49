"""Steps: the job of each, made from a form, and what its page shows of the run.

A step is a job of the same verb as a command: the form gives its options, the project its files and words,
and the documents of the project are its outputs. The command line that is shown says the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from llrkit.app.forms import BOUNDS, METHODS, Form, criteria_of, number_of, one_of, speakers_of, values_of
from llrkit.app.project import CALIBRATION, DOCUMENTS, FILES, Project, ScoreFile, said_in
from llrkit.base.files import write_atomically
from llrkit.base.options import parameter_of
from llrkit.core.summaries import Moments
from llrkit.engine.open import open_trials, open_unlabeled
from llrkit.errors import InputError, LlrkitError
from llrkit.io.formats import scan_tables
from llrkit.io.read_options import Reading
from llrkit.jobs.evaluate import for_paper
from llrkit.jobs.job import Job, Run, run_job
from llrkit.jobs.table import VERBS
from llrkit.maps.bounds import bound_sentence
from llrkit.maps.files import load_map
from llrkit.plot.plotly_renderer import plotly_javascript
from llrkit.report.document import Banner, Said, Section
from llrkit.report.sections import SystemReport
from llrkit.report.tables import format_table
from llrkit.results.vocabulary import VOCABULARIES, llr_unit
from llrkit.verbs.calibrate import Calibration
from llrkit.verbs.case import CaseReport, all_remarks, headline, statements
from llrkit.verbs.diagnose import Diagnosis
from llrkit.verbs.evaluate import Evaluation
from llrkit.verbs.given_calibration import as_it_was_trained
from llrkit.verbs.validate import SHOWN, Validation, outcome

PICTURE_WIDTH = 5.2
"""Inches."""
MOST_PICTURES = 6
"""Of a section."""
MAP = f"{DOCUMENTS}/{CALIBRATION}"


@dataclass(frozen=True)
class Step:
    """A step of a project."""

    verb: str
    shown: tuple[str, ...]
    """The options on its form, as they are typed."""
    writes: Mapping[str, str]
    """Its documents, by the option that names them."""
    calibrated: bool = False
    """Whether it rests on the calibration."""


def _report(name: str) -> dict[str, str]:
    return {ending: f"{name}.{ending}" for ending in ("md", "html", "docx", "json")}


STEPS = {
    "evaluate": Step(
        "evaluate", ("scores", "ci", "point", "by"),
        {"html": "evaluation.html", "json": "evaluation.json"},
    ),
    "advise": Step("diagnose", (), {"json": "advice.json"}),
    "calibrate": Step("calibrate", (), {"output": CALIBRATION}),
    "validate": Step("validate", ("scores", "verbal"), _report("validation"), calibrated=True),
    "case": Step(
        "case", ("score", "scores", "h1", "h2", "train", "validation", "conditions", "verbal"),
        _report("case"), calibrated=True,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """A piece of work as it goes through a pipe: a step, or finding out what a file is."""

    step: str
    folder: str
    out: str
    """Where documents are written until the work is done, seen from the folder of the project."""
    typed: dict[str, Any]
    """The options of the step's verb, as they are typed."""
    reading: dict[str, Any] = field(default_factory=dict)
    criteria: str = ""
    words: str = "forensic"
    keep: list[str] = field(default_factory=list)
    """Names of files and columns, which are said as they are."""

    def say(self, text: str) -> str:
        """A text of the library in the words of the project; names of files and columns stay."""
        return said_in(VOCABULARIES[self.words], text, self.keep)

    def job(self, changed: Mapping[str, Any] | None = None, copies: Mapping[str, str] | None = None) -> Job:
        """The job as a command line of the project says it; options that are changed to None are left out."""
        job = Job.of(STEPS[self.step].verb, {**self.typed, **(changed or {})}, copies)
        return job.having(Reading.of(None, self.reading))

    def job_here(self) -> Job:
        """The same job, whose documents wait in the folder of the work until it is done."""
        names = [*STEPS[self.step].writes, *(["criteria"] if self.criteria else [])]
        here = {name: f"{self.out}/{Path(self.typed[name]).name}" for name in names}
        return self.job(here, {path: self.typed[name] for name, path in here.items()})


def task_of(step: str, form: Form, project: Project, out: str) -> tuple[Task, list[str]]:
    """The work that a form asks for, and the files it rests on; what cannot be done is refused here."""
    one = STEPS[step]
    if one.calibrated and "calibrate" not in project.results:
        raise InputError("there is no calibration yet; make one first")
    typed = values_of(one.verb, one.shown, form, project)
    typed |= {name: f"{DOCUMENTS}/{document}" for name, document in one.writes.items()}
    known = {parameter_of(part, name) for part, name, _ in VERBS[one.verb].options()}
    settings = project.settings
    typed |= {"vocabulary": settings.words, "base_10": settings.base_10} if "vocabulary" in known else {}
    shares_speakers = step != "case" or "train" in typed
    if step == "calibrate":
        typed |= {"method": one_of(form, "method", METHODS), "bound": _bound(form, project)}
        # other bounds count no speakers, and only the folds of a choice keep them together
        shares_speakers = typed["bound"] == "sources" or typed["method"] == "best"
    if shares_speakers and "speakers" in known:
        typed["speakers"] = ",".join(speakers_of(form, project))
    named = (typed[name] for name in ("scores", "train", "validation") if name in typed)
    criteria, uses = "", [Path(str(path)).name for path in named]
    if step in ("advise", "calibrate"):
        uses = [project.training_file().name]
        typed["scores"] = f"{FILES}/{uses[0]}"
    if step == "advise":
        typed["cross_validate"] = True
    if step == "validate":
        criteria, others = criteria_of(form, project)
        typed["criteria"] = f"{DOCUMENTS}/criteria.toml"
        uses += others
    if one.calibrated:
        typed["map"] = MAP
    if step == "case" and "scores" in typed:
        _require_read_as_trained(project, project.file(uses[0]))
    files = [project.file(name) for name in uses]
    read_alike = [file for file in files if step != "case" or file.path != typed.get("scores")]
    for file in read_alike:
        project.labeled_file(file.name)
        if file.reading != read_alike[0].reading:
            raise InputError(
                f"{read_alike[0].name} and {file.name} are read with different options, which one command "
                "cannot do; read both in the same way, or leave one of them out"
            )
    reading = read_alike[0].reading if read_alike else {}
    keep = [*project.files, *project.columns]
    task = Task(step, str(project.folder), out, typed, reading, criteria, settings.words, keep)
    task.job()  # whose options are checked
    return task, uses


def _require_read_as_trained(project: Project, file: ScoreFile) -> None:
    """Refuse options that were chosen for questioned scores, where they are not those of training."""
    chosen, trained = Reading.of(None, file.reading), as_it_was_trained(load_map(project.folder / MAP))
    other = [name for name, value in chosen.given().items() if value != trained.get(name)]
    if other:
        raise InputError(
            f"{file.name}: questioned scores are read with the options of the training scores, so those of "
            f"this file ({', '.join(other)}) cannot be used; remove them (page Files), or type the scores"
        )


def _bound(form: Form, project: Project) -> str:
    """How LLRs are bounded; two numbers are given in the unit of the project."""
    bound = one_of(form, "bound", BOUNDS)
    if bound != "fixed":
        return bound
    nats = project.settings.unit.nats
    low, high = (number_of(form, name, what) for name, what in (("low", "lower"), ("high", "upper")))
    return f"fixed:{low * nats!r},{high * nats!r}"


# in the process of a worker


def prepare() -> None:
    """Import what every step needs before one is asked for."""
    for module in ("evaluate", "calibrate", "validate"):
        import_module(f"llrkit.jobs.{module}")
    import_module("llrkit.plot.matplotlib_renderer")
    plotly_javascript()


def do(task: Task) -> dict[str, Any]:
    """Do a step in the folder of its project: what its page shows, and the documents it made."""
    os.chdir(task.folder)
    if task.step == "read":
        return {"facts": facts_of(task.typed["file"], Reading.of(None, task.reading))}
    if task.criteria:
        write_atomically(f"{task.out}/criteria.toml", task.criteria)
    run = run_job(task.job_here())
    documents = [*STEPS[task.step].writes.values(), *(["criteria.toml"] if task.criteria else [])]
    commands = [task.job().words(full_paths=True)]
    if task.step == "evaluate":
        table = format_table(**for_paper(run.result, task.typed["scores"]), style="csv", words=task.words)
        write_atomically(f"{task.out}/evaluation.csv", table)
        documents.append("evaluation.csv")
        as_table = task.job({**dict.fromkeys(STEPS["evaluate"].writes), "table": "csv"})
        commands.append(as_table.words(full_paths=True))
    sections, pictures = shown(run.sections(), task)
    made = {"documents": [*documents, *pictures], "commands": commands}
    return {**told_of(run, task), "sections": sections, **made}


def told_of(run: Run, task: Task) -> dict[str, Any]:
    """What a page says before the sections: verdict, statements of a case, remarks, what is advised."""
    result, unit = run.result, llr_unit(bool(task.typed.get("base_10")))
    said = Said(VOCABULARIES[task.words], tuple(task.keep), unit, of_sources=True)
    if isinstance(result, Evaluation):
        (verdict,) = SystemReport({"": result}, base_10=unit.base_10).verdicts()
        todo = [text for text in verdict.todo if not text.startswith("llrkit ")]
        notes = [f"Intervals: {note}" for note in (result.uncertainty.notes if result.uncertainty else ())]
        return _told(said, verdict.word, verdict.grade, verdict.said, [*todo, *notes])
    if isinstance(result, Diagnosis):
        assert result.methods is not None  # the step compares them
        problems = [f"{problem[0].upper()}{problem[1:]}." for problem in result.problems]
        return {"suggested": result.methods.suggested, "why": said.text(result.methods.why),
                "remarks": list(map(said.text, problems))}  # fmt: skip
    if isinstance(result, Calibration):
        bounds = bound_sentence(result.map, base_10=unit.base_10)
        return _told(said, "calibrated", "good", bounds, [*result.remarks, *result.cautions])
    if isinstance(result, Validation):
        banner, tested = Banner(SHOWN[result.outcome]), result.check.verdict.in_unit(unit)
        said = replace(said, keep=tuple(result.names))
        return _told(said, banner.word, banner.grade, outcome(result), [*result.cautions, tested.sentence])
    assert isinstance(result, CaseReport)
    said = replace(said, keep=tuple(result.names))
    remarks = all_remarks(result)
    if result.no_interval:
        remarks.append(f"There is no interval: {result.no_interval}.")
    told = {"statements": statements(result), "remarks": list(map(said.text, remarks))}
    if (first := headline(result, unit)) and result.validation_outcome:
        banner = Banner(SHOWN[result.validation_outcome])
        return {**_told(said, banner.word, banner.grade, first, ()), **told}
    return told


def _told(said: Said, word: str, grade: str, text: str, remarks: Iterable[str]) -> dict[str, Any]:
    return {"banner": {"word": word, "grade": grade, "text": said.text(text)},
            "remarks": list(map(said.text, remarks))}  # fmt: skip


def shown(sections: Sequence[Section], task: Task) -> tuple[list[dict[str, Any]], list[str]]:
    """Sections as a page shows them, with their pictures in files, whose names are given too."""
    from llrkit.plot.matplotlib_renderer import save

    plain: list[dict[str, Any]] = []
    names: list[str] = []
    for section in sections:
        figures = []
        for picture in section.pictures[:MOST_PICTURES]:
            name = f"{task.step}-{len(names) + 1}.svg"
            save(picture, Path(task.out) / name, width=PICTURE_WIDTH)
            names.append(name)
            figures.append({"file": name, "title": picture.title, "told": picture.described})
        tables = [asdict(table) for table in section.text_tables]
        paragraphs = list(section.paragraphs)
        plain.append({"title": section.title, "paragraphs": paragraphs, "tables": tables, "figures": figures,
                      "note": section.note})  # fmt: skip
    return plain, names


ROWS = 5
"""Shown of a file."""
WIDEST = 60
"""Characters of a cell that are shown, and columns."""


def facts_of(path: str, reading: Reading) -> dict[str, Any]:
    """What a file is: format, columns, first rows, trials of each class; what keeps it from being read."""
    try:
        (scan, *_) = scan_tables(path, reading)
        columns = scan.like.table.columns
        first = next(iter(scan.read(columns)), scan.like).table.head(ROWS)
    except (LlrkitError, OSError) as error:
        return {"problem": str(error), "lines": _first_lines_of_file(path)}
    roles = scan.like.roles
    facts: dict[str, Any] = {
        "format": scan.like.format,
        "columns": columns[:WIDEST],
        "roles": {"score": list(roles.score), "label": roles.label, "enroll": roles.enroll,
                  "test": roles.test, "calibrated": roles.calibrated},
        "rows": [[str(cell)[:WIDEST] for cell in row[:WIDEST]] for row in first.rows()],
    }  # fmt: skip
    try:
        moments = open_trials(path, reading).reduce(Moments.of)
        facts |= {"n_target": int(moments.target.n), "n_nontarget": int(moments.nontarget.n)}
        facts["range"] = [float(end) for end in moments.extremes]
    except LlrkitError as error:
        facts["problem"] = str(error)
        if reading.label is None and (n := _count_questioned_scores(path, reading)) is not None:
            facts["n_questioned"] = n
    return facts


def _count_questioned_scores(path: str, reading: Reading) -> int | None:
    """How many scores there are, if they are nothing but scores: questioned ones."""
    try:
        trials = open_unlabeled(path, Reading(score=reading.score, columns=reading.columns))
        return int(trials.reduce(Moments.of).target.n)
    except LlrkitError:
        return None


def _first_lines_of_file(path: str) -> list[str]:
    with open(path, "rb") as file:
        text = file.read(2000).decode("utf-8", errors="replace")
    lines = ["".join(c if c.isprintable() else "·" for c in line)[:120] for line in text.splitlines()]
    return lines[:ROWS]
