"""Options and tables of error rates as biometrics reports them; for ``llrkit evaluate`` and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.output import parse_share, print_table
from llrkit.cli.reading import TrialInput
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.biometrics.verification_result import VerificationRates
    from llrkit.report.section_types import Section
    from llrkit.scores import ScoreSource

fmr_option: Callable[[Any], Any] = click.option(
    "--fmr", "--far", "fmrs", multiple=True, metavar="RATE",
    help="FNMR and threshold at this false match rate, 1e-4 say. Repeatable; implied by the vocabulary "
    "of biometrics (1e-2 to 1e-6).",
)  # fmt: skip
failures_option: Callable[[Any], Any] = click.option(
    "--failures", metavar="COLUMN",
    help="Column that marks failures to enroll (fte) and to acquire (fta): rejected at every threshold. "
    "Such comparisons need no score.",
)  # fmt: skip


def open_with_failures(given: TrialInput, scores: str, failures: str | None) -> ScoreSource:
    """The trials of a file; those with a failure need no score."""
    if failures is None:
        return given.open(scores)
    from llrkit.cli.output import unwarned
    from llrkit.errors import MissingScoresWarning

    if given.reading.missing_scores == "drop":
        raise InputError("--failures counts trials without a score; --missing-scores drop leaves them out")
    # a cluster reads scores only where they are
    changed = {} if given.cluster.any else {"missing_scores": "reject"}
    with unwarned(MissingScoresWarning):
        return given.open(scores, **changed)


def scored_only(trials: ScoreSource, failures: str | None) -> ScoreSource:
    """The trials where nothing failed."""
    if failures is None:
        return trials
    from llrkit.biometrics.failures import without_failures

    return without_failures(trials, failures)


def rates_of(
    trials: ScoreSource,
    fmrs: Sequence[str],
    words: str,
    failures: str | None,
    speakers: Sequence[str] | None,
    level: float,
) -> VerificationRates | None:
    """The error rates at the false match rates that were asked for; None if none were."""
    if not fmrs and words != "biometrics" and failures is None:
        return None
    from llrkit.biometrics.fnmr_at_fmr import FMRS, verification_rates

    asked = [parse_share(text, "--fmr") for text in fmrs] or FMRS
    return verification_rates(trials, asked, failures=failures, speakers=speakers, level=level)


def rates_section(rates: Mapping[str, VerificationRates]) -> Section:
    """The tables of a report, by system."""
    from llrkit.report.section_types import Section, TextTable

    tables, notes = [], []
    for name, one in rates.items():
        header, rows = one.table()
        caption = name if len(rates) > 1 else ""
        for columns in (range(6), (0, *range(6, len(header)))):  # side by side they are wider than a page
            cells = tuple(tuple(row[i] for i in columns) for row in rows)
            tables.append(TextTable(tuple(header[i] for i in columns), cells, caption, numeric=True))
        notes += [
            f"{name}: {note}." if len(rates) > 1 else f"{note[0].upper()}{note[1:]}." for note in one.notes
        ]
    return Section("Error rates at false match rates", tuple(dict.fromkeys(notes)), tables)


def print_rates(rates: VerificationRates, *, to_stderr: bool) -> None:
    """The table of error rates, and what to know about it."""
    header, rows = rates.table()
    click.echo("", err=to_stderr)
    print_table(header, rows, to_stderr=to_stderr, left=(2, 4, 6, 9))
    for note in rates.notes:
        click.echo(f"Note: {note}", err=to_stderr)
