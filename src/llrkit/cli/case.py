"""``llrkit case``: the LLR of a comparison in a case, and a report that states what it rests on."""

from __future__ import annotations

from typing import Any

import click

from llrkit.cli.options import parse_share, split_names
from llrkit.cli.output import input_files, json_option, made_by_command, print_table, write_json
from llrkit.cli.quoted_command import full_paths_option
from llrkit.cli.report import require_word
from llrkit.cli.shared_options import base_10_option, words_option
from llrkit.cli.trial_input import TrialInput, accept_changed_option, reading_options
from llrkit.errors import InputError


@click.command("case")
@click.argument("map_path", metavar="MAP")
@click.option("--score", "score_values", type=float, multiple=True, metavar="NUMBER",
              help="A questioned score, as the recognizer gave it; may be repeated.")  # fmt: skip
@click.option("--scores", metavar="FILE", help="A file of questioned scores, without labels.")
@click.option("--h1", metavar="TEXT", default="", help="Proposition of same source, after 'if'.")
@click.option("--h2", metavar="TEXT", default="", help="Proposition of different sources, after 'if'.")
@click.option("--train", metavar="FILE", help="The trials that trained MAP: LLRs then have intervals.")
@click.option("--speakers", metavar="COLUMN[,COLUMN]", help="Columns of the training speakers.")
@click.option("--validation", "evaluation", metavar="FILE",
              help="Other trials of known origin: are LLRs calibrated, how many mislead?")  # fmt: skip
@click.option("--level", metavar="SHARE", help="Confidence level of the interval.  [default: 95%]")
@click.option("--replicates", type=click.IntRange(min=100),
              help="Random draws of the training trials, for methods fitted again.  [default: 500, 100 for "
              "methods that are slow to fit]")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the random draws.  [default: 0]")
@click.option("--conditions", default="", metavar="TEXT", help="Recordings that MAP may be used for.")
@click.option("--verbal", is_flag=True, help="Also say the strength of evidence in words (ENFSI bands).")
@words_option("forensic")
@base_10_option
@accept_changed_option
@click.option("--report", "report_path", metavar="PATH", help="Write the report in Markdown.")
@click.option("--html", "html_path", metavar="PATH", help="Write the report as a page.")
@click.option("--docx", "docx_path", metavar="PATH", help="Write the report as a Word document.")
@full_paths_option
@reading_options
@json_option
def case_command(
    map_path: str,
    score_values: tuple[float, ...],
    scores: str | None,
    h1: str,
    h2: str,
    train: str | None,
    speakers: str | None,
    evaluation: str | None,
    level: str | None,
    replicates: int | None,
    seed: int | None,
    conditions: str,
    verbal: bool,
    words: str,
    base_10: bool,
    accept_changed: bool,
    report_path: str | None,
    html_path: str | None,
    docx_path: str | None,
    json_path: str | None,
    **reading: Any,
) -> None:
    """Report one comparison in a case: LLR and statement.

    The report also has the interval and bounds of the LLR, and its place among trials of known origin.

    The score is what the recognizer gave, and is read as the training scores of MAP were. Both propositions
    are needed: an LLR says nothing without them. The options of reading are for the files of --train and
    --validation.

    \b
    Example:
      llrkit case cal.json --score 0.52 --train dev.csv --speakers enroll_speaker,test_speaker \\
        --h1 "the suspect is the speaker" --h2 "another man of the region is the speaker" --docx case.docx
    """
    from llrkit.base.files import write_atomically
    from llrkit.maps.files import load_map
    from llrkit.report.layouts import case_document
    from llrkit.results.vocabulary import llr_unit, vocabulary
    from llrkit.verbs.case import as_it_was_trained, case_report, questioned_scores
    from llrkit.verbs.case_words import all_remarks, comparison_rows, headline, statements, table_header

    if bool(score_values) == bool(scores):
        raise InputError("give the questioned scores either with --score or as a file with --scores")
    for name, text in (("--h1", h1), ("--h2", h2)):
        if not text.strip():
            raise InputError(
                f"{name} is missing: an LLR says nothing without the two propositions it compares, in words "
                'that can follow "if"'
            )
    of_interval = {"--speakers": speakers, "--level": level, "--replicates": replicates, "--seed": seed}
    for name, value in of_interval.items():
        if value is not None and not train:
            raise InputError(
                f"{name} is an option of the interval, which needs the training trials (--train FILE)"
            )
    require_word(docx_path)
    given = TrialInput.of(reading)
    if not (train or evaluation) and given.reading.given():
        raise InputError("reading options apply to the files of --train and --validation; give one of these")
    calibration = load_map(map_path, accept_changed=accept_changed)
    report = case_report(
        calibration,
        questioned_scores(scores, calibration) if scores else score_values,
        h1=h1,
        h2=h2,
        train=given.open(train, **as_it_was_trained(calibration)) if train else None,
        validation=given.open(evaluation) if evaluation else None,
        speakers=split_names(speakers),
        level=None if level is None else parse_share(level, "--level"),
        replicates=replicates,
        rng=seed or 0,
        conditions=conditions,
        verbal=verbal,
    )
    to_stderr = json_path == "-"
    unit, said = llr_unit(base_10), vocabulary(words)
    if first := headline(report, unit):
        click.echo(f"{said.say_of_sources(first, keep=report.names)}\n", err=to_stderr)
    print_table(table_header(unit), comparison_rows(report, unit), to_stderr=to_stderr)
    click.echo("", err=to_stderr)
    for line in (*statements(report), *all_remarks(report)):
        click.echo(said.say_of_sources(line, keep=report.names), err=to_stderr)
    if report.no_interval:
        why = said.say_of_sources(report.no_interval, keep=report.names)
        click.echo(f"There is no interval: {why}.", err=to_stderr)
    made_from = made_by_command(input_files(given.reading, map_path, scores, train, evaluation)).lines()
    if report_path:
        write_atomically(report_path, report.to_markdown(made_from, words=words, base_10=base_10))
    document = None
    if html_path or docx_path:
        document = case_document(report, made_from, words=words, base_10=base_10)
    if document is not None and html_path:
        document.write_html(html_path)
    if document is not None and docx_path:
        document.write_word(docx_path)
    for path in filter(None, (report_path, html_path, docx_path)):
        click.echo(f"The report is in {path}", err=to_stderr)
    write_json({"map": map_path, **report.to_dict()}, "case", json_path)
