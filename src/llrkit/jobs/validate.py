"""validate and case: LLRs against the criteria of a validation, and the LLRs of one case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from llrkit.base.files import write_atomically
from llrkit.base.text import printable
from llrkit.errors import InputError, ReversedScoresWarning
from llrkit.io.formats import sha256_of
from llrkit.io.joins import titles_of
from llrkit.io.read_options import Reading
from llrkit.jobs import options as of
from llrkit.jobs.evaluate import write_page
from llrkit.jobs.job import Run, unwarned
from llrkit.maps.files import load_map
from llrkit.report.document import Section
from llrkit.report.layouts import case_document, validation_document
from llrkit.report.sections import validation
from llrkit.results.vocabulary import llr_unit, vocabulary
from llrkit.verbs import validate as in_words
from llrkit.verbs.case import (
    CaseReport,
    all_remarks,
    case_report,
    comparison_rows,
    headline,
    statements,
    table_header,
)
from llrkit.verbs.criteria import criteria_template, read_criteria
from llrkit.verbs.given_calibration import as_it_was_trained, questioned_scores
from llrkit.verbs.options import CaseOptions, ValidateOptions


def validate_file(run: Run) -> None:
    """The validation matrix of a file; the exit code is 1 if a criterion is not met or not decided."""
    given, asked, documents = run.job[of.ValidatedFile], run.job[ValidateOptions], run.job[of.DocumentOutput]
    if given.init is not None:
        _write_template(run, given.init)
        return
    path, criteria_path = given.scores, asked.criteria
    if path is None or criteria_path is None:
        missing = "SCORES" if path is None else "--criteria FILE"
        raise InputError(f"validate needs {missing}; llrkit validate --init writes a template of criteria")
    of_map = run.job[of.AppliedCalibration]
    calibration = load_map(of_map.map, accept_changed=of_map.accept_changed) if of_map.map else None
    trials = run.open(path)
    criteria = read_criteria(str(criteria_path))
    trained = None if calibration is None else calibration.provenance.get("training_sha256")
    with unwarned(ReversedScoresWarning):  # the verdict says so
        run.result = checked = in_words.validate(
            trials, options=asked, criteria=criteria, calibration=calibration, reading=run.job[Reading],
            curves=bool(documents.html or documents.docx),
            trained_on_these=trained is not None and Path(path).exists() and trained == sha256_of(path),
        )  # fmt: skip
    if checked.applied:
        run.say(f"The calibration {of_map.map} is applied to the scores of {path}.")
    _say_validation(run, checked, path)
    (name,) = titles_of([path])
    changes = [
        str(in_words.change_path(criteria, row)) for row in criteria.rows if row.change_from is not None
    ]
    made_from = run.provenance(*changes)
    said, verbal = asdict(run.job[of.SayOptions]), given.verbal
    if documents.md is not None:
        text = checked.to_markdown(verbal=verbal, made_from=made_from.lines(), **said)
        write_atomically(documents.md, printable(text))
    run.say_reports(documents.md)
    if documents.html or documents.docx:
        write_page(
            run, {name: checked.evaluation}, documents.html, documents.docx, made_from=made_from,
            title="Validation report", llrs=True, first=validation(checked, verbal=verbal, **said),
            checks={name: checked.check}, bands={} if checked.bands is None else {name: checked.bands},
            cautions=checked.cautions,
        )  # fmt: skip

    def sections() -> Sequence[Section]:
        document = validation_document(name, checked, made_from=made_from, verbal=verbal, **said)
        return [*validation(checked, verbal=verbal, **said), *document.curves]

    run.sections = sections
    run.content = {"scores": path, "criteria": str(criteria_path), **checked.to_dict()}
    run.exit_code = 0 if checked.passed else 1


def _say_validation(run: Run, checked: in_words.Validation, title: str) -> None:
    """The matrix, the worst trials and the outcome, in the words of a vocabulary."""
    asked, unit = run.job[of.SayOptions], llr_unit(run.job[of.SayOptions].base_10)
    say = partial(vocabulary(asked.words).say_of_sources, keep=checked.names)

    def say_all(rows: Iterable[Sequence[str]]) -> list[list[str]]:
        return [[say(cell) for cell in row] for row in rows]

    run.say(*map(say, checked.cautions))
    verdict = checked.check.verdict.in_unit(unit)
    cells = [in_words.matrix_cells(row, unit) for row in checked.rows]
    run.table(in_words.HEADER, say_all(cells), title=title, left=tuple(range(len(in_words.HEADER))))
    if checked.evaluation.uncertainty is not None:
        run.say(say(f"\nIntervals: {in_words.how_intervals(checked.evaluation)}"))
    if checked.misleading:
        run.say(say("\nMost misleading trials:"))
        head, rows = in_words.misleading_rows(checked, run.job[of.ValidatedFile].verbal, unit)
        run.table(
            [say(cell) for cell in head], say_all(rows), left=(0, *range(head.index("trial"), len(head)))
        )
    # a row about the verdict has its words in the table
    told = any(verdict.text in cell for row in cells for cell in row)
    run.say("" if told else say(f"\n{verdict.sentence}"), say(in_words.outcome(checked)))


def _write_template(run: Run, path: str) -> None:
    """Write the template of criteria where there is no file yet."""
    for part in run.job.parts:
        for name, value in part.given().items():
            if name != "init":
                raise InputError(f"--init only writes a template of criteria; leave out {value!r}")
    if Path(path).exists():
        raise InputError(f"{path} exists already; name another file, or move it away")
    write_atomically(path, criteria_template())
    run.say(
        f"A template of criteria is in {path}: fill it in, then llrkit validate LLRS --criteria {path} "
        "(with --map CALIBRATION where the file holds raw scores)"
    )


# one case


def report_case(run: Run) -> None:
    """The LLRs of a case, the statement, and documents."""
    given, asked, documents = run.job[of.QuestionedScores], run.job[CaseOptions], run.job[of.DocumentOutput]
    if asked.train is None and asked.validation is None and run.job[Reading].given():
        raise InputError("reading options apply to the files of --train and --validation; give one of these")
    calibration = load_map(given.map, accept_changed=given.accept_changed)
    trained = run.open(str(asked.train), **as_it_was_trained(calibration)) if asked.train else None
    run.result = report = case_report(
        calibration,
        given.score or questioned_scores(str(given.scores), calibration),
        options=asked,
        train=trained,
        validation=run.open(str(asked.validation)) if asked.validation else None,
    )
    _say_case(run, report)
    made_from = run.provenance().lines()
    said = asdict(run.job[of.SayOptions])
    if documents.md is not None:
        write_atomically(documents.md, report.to_markdown(made_from, **said))
    document = partial(case_document, report, made_from, **said)
    if documents.html is not None:
        document().write_html(documents.html)
    if documents.docx is not None:
        document().write_word(documents.docx)
    run.say_reports(documents.md, documents.html, documents.docx)
    run.sections = lambda: document().sections[1:]  # the first is the statement
    run.content = {"map": given.map, **report.to_dict()}


def _say_case(run: Run, report: CaseReport) -> None:
    """The headline if the validation did not pass, the table, the statements and remarks."""
    unit, said = llr_unit(run.job[of.SayOptions].base_10), vocabulary(run.job[of.SayOptions].words)
    say = partial(said.say_of_sources, keep=report.names)

    if first := headline(report, unit):
        run.say(f"{say(first)}\n")
    run.table(table_header(unit), comparison_rows(report, unit))
    run.say("", *(say(line) for line in (*statements(report), *all_remarks(report))))
    if report.no_interval:
        run.say(f"There is no interval: {say(report.no_interval)}.")
