"""``llrkit validate``: a score file against the criteria of a validation."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llrkit.base.text import printable
from llrkit.cli.output import input_files, json_option, made_by_command, print_table, write_json
from llrkit.cli.piped_inputs import as_given
from llrkit.cli.report import docx_option, html_option, require_word, write_page
from llrkit.cli.shared_options import base_10_option, words_option
from llrkit.cli.shown_warnings import unwarned
from llrkit.cli.trial_input import TrialInput, accept_changed_option, cluster_options, reading_options
from llrkit.errors import InputError, ReversedScoresWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llrkit.io.read_options import Reading
    from llrkit.maps.map import Map
    from llrkit.scores import ScoreSource
    from llrkit.verbs.validate import Validation

_HASH = re.compile(r" ([0-9a-f]{12})$")
"""Ends the name of a calibration in a file of its LLRs."""


@click.command("validate")
@click.argument("scores", required=False)
@click.option("--criteria", metavar="FILE", help="TOML file with the criteria.")
@click.option(
    "--init",
    "template_path",
    is_flag=False,
    flag_value="criteria.toml",
    metavar="[FILE]",
    help="Write a commented template of criteria (by default criteria.toml) and exit.",
)
@click.option(
    "--worst",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many of the most misleading trials of each class are listed.",
)
@words_option("forensic")
@base_10_option
@click.option("--verbal", is_flag=True, help="Also express the strength of evidence in words (ENFSI bands).")
@click.option(
    "--map",
    "map_path",
    metavar="FILE",
    help="The calibration: it is applied to raw scores; the report states how it was made, and its bounds.",
)
@accept_changed_option
@click.option("--report", "report_path", metavar="PATH", help="Write a report in Markdown.")
@html_option
@docx_option
@reading_options
@cluster_options
@json_option
def validate_command(
    scores: str | None,
    criteria: str | None,
    template_path: str | None,
    worst: int,
    words: str,
    base_10: bool,
    verbal: bool,
    map_path: str | None,
    accept_changed: bool,
    report_path: str | None,
    html_path: str | None,
    docx_path: str | None,
    json_path: str | None,
    **reading: Any,
) -> None:
    """Validate LLRs against criteria.

    The exit code is 1 if a criterion is not met or not decided.

    The criteria are a TOML file: a table [[criterion]] for each row of the validation matrix, with
    characteristic, metric, at_most or at_least, and optionally use = "interval", by, change_from, data;
    [options] for intervals, speakers and operating points; [report] for what a report states in words.
    Rates (eer, p_miss, p_fa) are between 0 and 1: 8 % is 0.08. With use = "interval" a criterion whose limit
    lies inside the interval is not decided.

    \b
    Examples:
      llrkit validate --init criteria.toml
      llrkit validate llrs.csv --criteria criteria.toml --report validation.md --html validation.html
    """
    if template_path is not None:
        _write_template(
            template_path,
            scores or criteria or map_path or report_path or html_path or docx_path or json_path,
        )
        return
    if scores is None or criteria is None:
        missing = "SCORES" if scores is None else "--criteria FILE"
        raise InputError(f"validate needs {missing}; llrkit validate --init writes a template of criteria")
    from llrkit.base.files import write_atomically
    from llrkit.engine.apply_files import refuse_other_scale
    from llrkit.maps.files import load_map
    from llrkit.verbs.criteria import read_criteria
    from llrkit.verbs.validate import change_path, validate

    if accept_changed and not map_path:
        raise InputError("--accept-changed needs a calibration file (--map)")
    require_word(docx_path)
    calibration = load_map(map_path, accept_changed=accept_changed) if map_path else None
    given = TrialInput.of(reading)
    trials = given.open(scores)
    # the key of the scores, their non-targets and what is chosen of them are not those of other files
    elsewhere = given.reading.with_files(key=None, nontargets=None, where=())
    asked = replace(read_criteria(criteria), reading=elsewhere)
    changes = [str(change_path(asked, row)) for row in asked.rows if row.change_from is not None]
    to_stderr = json_path == "-"
    apply = None if calibration is None else _is_to_be_applied(calibration, map_path or "", trials, scores)
    if apply and calibration is not None:
        refuse_other_scale(calibration, given.reading)
        click.echo(
            as_given(f"The calibration {map_path} is applied to the scores of {scores}."), err=to_stderr
        )
    with unwarned(ReversedScoresWarning):  # the verdict says so
        checked = validate(
            trials, criteria=asked, calibration=calibration, apply=apply, worst=worst,
            curves=bool(html_path or docx_path), cautions=_read_otherwise(given.reading, changes),
            trained_on_these=calibration is not None and _trained_on_this_file(calibration, scores),
        )  # fmt: skip
    _print_validation(checked, scores, verbal=verbal, words=words, base_10=base_10, to_stderr=to_stderr)
    files = input_files(given.reading, scores, criteria, map_path, *changes)
    if report_path:
        made_from = made_by_command(files).lines()
        text = checked.to_markdown(verbal=verbal, words=words, base_10=base_10, made_from=made_from)
        write_atomically(report_path, printable(text))
        click.echo(f"The report is in {report_path}", err=to_stderr)
    if html_path or docx_path:
        from llrkit.io.joins import titles_of
        from llrkit.report.sections import validation

        (name,) = titles_of([scores])
        write_page(
            {name: checked.evaluation}, html_path, docx_path, files=files, title="Validation report",
            llrs=True, words=words, base_10=base_10,
            first=validation(checked, verbal=verbal, words=words, base_10=base_10),
            checks={name: checked.check},
            bands={} if checked.bands is None else {name: checked.bands}, cautions=checked.cautions,
            to_stderr=to_stderr,
        )  # fmt: skip
    write_json({"scores": scores, "criteria": criteria, **checked.to_dict()}, "validate", json_path)
    sys.exit(0 if checked.passed else 1)


def _read_otherwise(reading: Reading, changes: Sequence[str]) -> tuple[str, ...]:
    """What is to be said of files that changes are counted from, and options that are not for them."""
    only = [f"--{name}" for name in ("key", "nontargets", "where") if name in reading.given()]
    if not only or not changes:
        return ()
    names = " and ".join(dict.fromkeys(Path(path).name for path in changes))
    which = "which is" if len(only) == 1 else "which are"
    return (
        f"{names}, from which a change is counted: read without {' and '.join(only)}, {which} for the scores "
        "that are validated.",
    )


def _print_validation(
    checked: Validation, scores: str, *, verbal: bool, words: str, base_10: bool, to_stderr: bool
) -> None:
    """The matrix, the worst trials and the outcome, in the words of a vocabulary."""
    from llrkit.results.vocabulary import llr_unit, vocabulary
    from llrkit.verbs.validate import HEADER, how_intervals, matrix_cells, misleading_rows, outcome

    def say(text: str) -> str:
        return vocabulary(words).say_of_sources(text, keep=checked.names)

    def say_all(rows: Iterable[Sequence[str]]) -> list[list[str]]:
        return [[say(cell) for cell in row] for row in rows]

    for caution in checked.cautions:
        click.echo(say(caution), err=to_stderr)
    unit = llr_unit(base_10)
    verdict = checked.check.verdict.in_unit(unit)
    cells = [matrix_cells(row, unit) for row in checked.rows]
    shown = say_all(cells)
    print_table(HEADER, shown, to_stderr=to_stderr, title=scores, left=tuple(range(len(HEADER))))
    if checked.evaluation.uncertainty is not None:
        click.echo(say(f"\nIntervals: {how_intervals(checked.evaluation)}"), err=to_stderr)
    if checked.misleading:
        click.echo(say("\nMost misleading trials:"), err=to_stderr)
        head, rows = misleading_rows(checked, verbal, unit)
        print_table(
            [say(cell) for cell in head],
            say_all(rows),
            to_stderr=to_stderr,
            left=(0, *range(head.index("trial"), len(head))),
        )
    # a row about the verdict has its words in the table
    told = any(verdict.text in cell for row in cells for cell in row)
    click.echo("" if told else say(f"\n{verdict.sentence}"), err=to_stderr)
    click.echo(say(outcome(checked)), err=to_stderr)


def _write_template(path: str, other: str | None) -> None:
    """Write the template of criteria where there is no file yet."""
    from llrkit.base.files import write_atomically
    from llrkit.verbs.criteria import criteria_template

    if other is not None:
        raise InputError(f"--init only writes a template of criteria; leave out {other!r}")
    if Path(path).exists():
        raise InputError(f"{path} exists already; name another file, or move it away")
    write_atomically(path, criteria_template())
    click.echo(
        f"A template of criteria is in {path}: fill it in, then llrkit validate LLRS --criteria {path} "
        "(with --map CALIBRATION where the file holds raw scores)"
    )


def _trained_on_this_file(calibration: Map, scores: str) -> bool:
    """Whether a calibration was trained on this very file."""
    from llrkit.cli.calibrate import sha256_of

    trained = calibration.provenance.get("training_sha256")
    return trained is not None and Path(scores).exists() and trained == sha256_of(scores)


def _is_to_be_applied(calibration: Map, map_path: str, trials: ScoreSource, scores: str) -> bool:
    """Whether a file holds raw scores for a calibration; LLRs that another one made are refused."""
    from llrkit.cli.calibrate import sha256_of
    from llrkit.verbs.given_calibration import makers_of

    if not trials.roles.calibrated:
        return True
    own = sha256_of(map_path)[:12]
    # a file may be renamed, its hash stays; a name without a hash says too little
    others = [name for name in makers_of(trials) if _HASH.search(name) and not name.endswith(f" {own}")]
    if others and (calibration.reading or {}).get("calibrated"):
        return True  # it was trained on LLRs that another one made
    if others:
        made_by = ", ".join(_HASH.sub(r" (\1)", name) for name in others)
        raise InputError(
            f"{scores}: these LLRs were made by {made_by}, not by {Path(map_path).name} ({own}); "
            "give the map that made them, or name the raw scores with --score-column to have this one applied"
        )
    return False
