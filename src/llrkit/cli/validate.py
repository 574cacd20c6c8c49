"""``llrkit validate``: a score file against the criteria of a validation."""

from __future__ import annotations

import sys
from typing import Any

import click

from llrkit.cli.output import json_option, print_table, write_json
from llrkit.cli.reading import TrialInput, cluster_options, reading_options
from llrkit.cli.report import html_option, write_page


@click.command("validate")
@click.argument("scores")
@click.option("--criteria", required=True, metavar="FILE", help="TOML file with the criteria.")
@click.option(
    "--worst",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many of the most misleading trials of each class are listed.",
)
@click.option("--verbal", is_flag=True, help="Also say the strength of evidence in words (ENFSI bands).")
@click.option(
    "--map",
    "map_path",
    metavar="FILE",
    help="The calibration that made the LLRs: the report then states how, and its bounds.",
)
@click.option("--report", "report_path", metavar="PATH", help="Write a report in Markdown.")
@html_option
@reading_options
@cluster_options
@json_option
def validate_command(
    scores: str,
    criteria: str,
    worst: int,
    verbal: bool,
    map_path: str | None,
    report_path: str | None,
    html_path: str | None,
    json_path: str | None,
    **reading: Any,
) -> None:
    """Validate the LLRs of a score file against criteria; exit code 1 when one is not met.

    The criteria are a TOML file: a table [[criterion]] for each row of the validation matrix, with
    characteristic, metric, at_most or at_least, and optionally use = "interval", by, change_from, data;
    [options] for intervals, speakers and operating points; [report] for what a report states in words.

    \b
    Example:
      llrkit validate llrs.csv --criteria criteria.toml --report validation.md --html validation.html
    """
    from llrkit._atomic import write_atomically
    from llrkit.calibrate.map_files import load_map
    from llrkit.validation.validate import validate
    from llrkit.validation.validation_report import HEADER, matrix_cells, misleading_rows, outcome

    calibration = load_map(map_path) if map_path else None
    trials = TrialInput.of(reading).open(scores)
    checked = validate(
        trials, criteria, calibration=calibration, worst=worst, curves=html_path is not None
    )  # fmt: skip
    to_stderr = json_path == "-"
    cells = [matrix_cells(row) for row in checked.rows]
    print_table(HEADER, cells, to_stderr=to_stderr, title=scores, left=tuple(range(len(HEADER))))
    if checked.misleading:
        click.echo("\nMost misleading trials:", err=to_stderr)
        head, rows = misleading_rows(checked, verbal)
        print_table(head, rows, to_stderr=to_stderr, left=(0, 3, 4))
    click.echo(f"\n{checked.check.verdict.sentence}\n{outcome(checked)}", err=to_stderr)
    if report_path:
        write_atomically(report_path, checked.to_markdown(verbal=verbal))
    if html_path:
        from llrkit.io.systems import titles_of
        from llrkit.report.validation_sections import validation

        (name,) = titles_of([scores])
        write_page(
            {name: checked.evaluation}, html_path, files=[scores, criteria, map_path, reading.get("key")],
            title="Validation report", first=validation(checked, verbal=verbal), checks={name: checked.check},
            bands={name: checked.bands}, to_stderr=to_stderr,
        )  # fmt: skip
    write_json({"scores": scores, "criteria": criteria, **checked.to_dict()}, "validate", json_path)
    sys.exit(0 if checked.passed else 1)
