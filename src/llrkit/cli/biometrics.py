"""``llrkit differential`` and ``identify``, and error rates at an FMR for ``llrkit evaluate`` and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.options import parse_share, split_names
from llrkit.cli.output import json_option, print_table, write_json
from llrkit.cli.trial_input import TrialInput, cluster_options, reading_options
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.biometrics.verification import VerificationRates
    from llrkit.report.document import Section
    from llrkit.scores import ScoreSource


fmr_option = click.option(
    "--fmr", "--far", "fmrs", multiple=True, metavar="RATE",
    help="FNMR and threshold at this false match rate, 1e-4 say. Repeatable; implied by the vocabulary "
    "of biometrics (1e-2 to 1e-6).",
)  # fmt: skip
failures_option = click.option(
    "--failures", metavar="COLUMN",
    help="Column that marks failures to enroll (fte) and to acquire (fta): rejected at every threshold. "
    "Such comparisons need no score.",
)  # fmt: skip


def open_with_failures(given: TrialInput, scores: str, failures: str | None) -> ScoreSource:
    """The trials of a file; those with a failure need no score."""
    if failures is None:
        return given.open(scores)
    from llrkit.cli.shown_warnings import unwarned
    from llrkit.errors import MissingScoresWarning

    if given.reading.missing_scores == "drop":
        raise InputError(
            "--failures counts trials without a score, and --missing-scores drop removes them; give one of "
            "the two"
        )
    with unwarned(MissingScoresWarning):
        # a cluster reads scores only where they are
        return given.open(scores) if given.cluster.any else given.open(scores, missing_scores="reject")


def scored_only(trials: ScoreSource, failures: str | None) -> ScoreSource:
    """The trials where nothing failed."""
    if failures is None:
        return trials
    from llrkit.biometrics.verification import without_failures

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
    from llrkit.biometrics.verification import FMRS, verification_rates

    asked = [parse_share(text, "--fmr") for text in fmrs] or FMRS
    return verification_rates(trials, fmr=asked, failures=failures, speakers=speakers, level=level)


def rates_section(rates: Mapping[str, VerificationRates]) -> Section:
    """The tables of a report, by system."""
    from llrkit.report.document import Section
    from llrkit.report.tables import TextTable

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


level_option = click.option("--level", default="95%", show_default=True, help="Confidence level.")


@click.command("differential")
@click.argument("scores")
@click.option("--by", required=True, metavar="COL[,COL]",
              help="The group of a comparison, or the groups of its two sides.")  # fmt: skip
@click.option("--fmr", metavar="RATE", help="One threshold for all, at this false match rate. Default 1e-3.")
@click.option("--threshold", metavar="NUMBER", help="One threshold for all, fixed elsewhere.")
@click.option("--subjects", metavar="COL[,COL]", help="The subjects of the two sides of a comparison.")
@level_option
@reading_options
@cluster_options
@json_option
def differential_command(
    scores: str,
    by: str,
    fmr: str | None,
    threshold: str | None,
    subjects: str | None,
    level: str,
    json_path: str | None,
    **reading: Any,
) -> None:
    """Compare the error rates of groups of people.

    At one threshold (ISO/IEC 19795-10): FMR and FNMR of every group with intervals, worst-case ratios, Gini
    and other measures of inequity, and a test of each group against the others, corrected for their number.

    \b
    Examples:
      llrkit differential scores.csv --by sex --fmr 1e-3
      llrkit differential scores.csv --by enroll_country,test_country --threshold 2.5
      llrkit differential scores.csv --by age_group --subjects left,right --json -
    """
    from llrkit.biometrics.people_groups import differential

    if fmr is not None and threshold is not None:
        raise InputError("give --fmr or --threshold, not both")
    trials = TrialInput.of(reading).open(scores)
    cut = None if threshold is None else parse_share(threshold, "--threshold") * trials.roles.factor
    result = differential(
        trials,
        split_names(by) or [],
        fmr=1e-3 if fmr is None else parse_share(fmr, "--fmr"),
        threshold=cut,
        speakers=split_names(subjects),
        level=parse_share(level, "--level"),
    )
    to_stderr = json_path == "-"
    title = f"{scores}: threshold {result.threshold / result.factor:.6g}"
    print_table(*result.table(), to_stderr=to_stderr, title=title, left=(0, 3, 7))
    click.echo("", err=to_stderr)
    print_table(*result.measure_table(), to_stderr=to_stderr, left=(0, 2, 5))
    if result.joined:
        garbe, fdr, inequity = (result.joined[name] for name in ("garbe", "fdr", "inequity_rate"))
        click.echo(f"\nGARBE {garbe:.4f}, FDR {fdr:.4f}, inequity rate {inequity:.4g}", err=to_stderr)
    click.echo(f"\n{result.sentence}", err=to_stderr)
    write_json({"scores": scores, **result.to_dict()}, "differential", json_path)


@click.command("identify")
@click.argument("scores")
@click.option(
    "--probe-column", metavar="NAME", help="Column that identifies the search; by default the test side."
)
@click.option("--subject-column", metavar="NAME",
              help="The subjects of the probes: intervals leave out each in turn.")  # fmt: skip
@click.option("--enrolled-column", metavar="NAME",
              help="For lists of candidates: whether the subject is in the gallery.")  # fmt: skip
@click.option("--gallery-column", metavar="NAME",
              help="The subjects of gallery entries, of which one may have several templates; by default "
              "the enrollment side.")  # fmt: skip
@click.option("--mates", metavar="FILE",
              help="SCORES are candidate lists of NIST FRTE (searchId, templateId, score); this file has the "
              "templateId of the mate of each searchId (a line for each template), or '-'.")  # fmt: skip
@click.option("--rank", "ranks", multiple=True, type=click.IntRange(min=1),
              help="Rank to report. Repeatable. Default: 1, 5, 10, 20.")  # fmt: skip
@click.option("--fpir", "fpirs", multiple=True, metavar="RATE",
              help="FPIR at which to report the FNIR. Repeatable. Default: 10%, 1%, 0.1%.")  # fmt: skip
@click.option("--fnir-rank", type=click.IntRange(min=1), default=1, show_default=True,
              help="Number of candidates among which the mate must be.")  # fmt: skip
@level_option
@reading_options
@cluster_options
@json_option
def identify_command(
    scores: str,
    probe_column: str | None,
    subject_column: str | None,
    enrolled_column: str | None,
    gallery_column: str | None,
    mates: str | None,
    ranks: tuple[int, ...],
    fpirs: tuple[str, ...],
    fnir_rank: int,
    level: str,
    json_path: str | None,
    **reading: Any,
) -> None:
    """Evaluate identification (1:N): ranks, FNIR at FPIR.

    SCORES has the comparisons of every probe with the gallery, or the candidates each search returned, with
    labels: a target is a mate. Score matrices of bob and BOSARIS and bob's score files are read as they are.

    \b
    Examples:
      llrkit identify scores-dev --format bob
      llrkit identify candidates.csv --probe-column probe --enrolled-column mated --fpir 0.3%
      llrkit identify search.log --mates mates.txt --json -
    """
    from llrkit.biometrics.searches import FPIRS, RANKS, identification

    given = TrialInput.of(reading)
    if mates is not None:
        from llrkit.io.selection import read_candidates

        if given.reading.given() or probe_column or enrolled_column or given.cluster.any:
            raise InputError("--mates is for candidate lists of NIST FRTE; leave out other reading options")
        trials: ScoreSource = read_candidates(scores, mates)
        enrolled_column = "enrolled"
    else:
        trials = given.open(scores)
    result = identification(
        trials,
        probe_column,
        subject=subject_column,
        enrolled=enrolled_column,
        gallery=gallery_column,
        ranks=ranks or RANKS,
        fpir=[parse_share(text, "--fpir") for text in fpirs] or FPIRS,
        rank=fnir_rank,
        level=parse_share(level, "--level"),
    )
    to_stderr = json_path == "-"
    title = f"{scores}: {result.n_mated:,} mated and {result.n_nonmated:,} non-mated searches"
    print_table(*result.rank_table(), to_stderr=to_stderr, title=title, left=(2,))
    if result.open_set:
        click.echo("", err=to_stderr)
        print_table(*result.open_set_table(), to_stderr=to_stderr, left=(3, 5, 6))
    for note in result.notes:
        click.echo(f"Note: {note}", err=to_stderr)
    write_json({"scores": scores, **result.to_dict()}, "identify", json_path)
