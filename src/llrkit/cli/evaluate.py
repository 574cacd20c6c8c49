"""``llrkit evaluate``: the numbers of a score file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from llrkit.base.process import warn_caller
from llrkit.cli.biometrics import (
    failures_option,
    fmr_option,
    open_with_failures,
    print_rates,
    rates_of,
    rates_section,
    scored_only,
)
from llrkit.cli.class_options import classes_option, posteriors_option, prior_option
from llrkit.cli.interval_options import interval_arguments, interval_options
from llrkit.cli.kinds.asked_options import ToEvaluate
from llrkit.cli.kinds.two_classes import TwoClassFiles
from llrkit.cli.kinds.which_kind import score_files
from llrkit.cli.known_costs import KnownCost, known_costs, words_on_known
from llrkit.cli.options import asking, parse_points, parse_share, split_names
from llrkit.cli.output import input_files, json_option, print_table, write_json
from llrkit.cli.report import html_option, table_option, ties_of, write_page
from llrkit.cli.shared_options import (
    base_10_option,
    by_option,
    point_option,
    unconfirmed_option,
    vocabulary_option,
)
from llrkit.cli.shift import map_option, named_shift
from llrkit.cli.shown_warnings import unwarned
from llrkit.cli.trial_input import TrialInput, cluster_options, reading_options
from llrkit.errors import InputError, PooledClassesWarning, ReversedScoresWarning, ShapeWarning

if TYPE_CHECKING:
    from llrkit.base.text import Json
    from llrkit.scores.source import ScoreSource
    from llrkit.verbs.evaluation_result import Evaluation


@click.command("evaluate")
@click.argument("scores")
@point_option
@by_option
@click.option(
    "--shared",
    metavar="CLASS",
    help="For --by: the class all groups share, target (bonafide) or nontarget (spoof).",
)
@click.option("--threshold-from", metavar="DEV", help="Development file whose EER threshold gives the HTER.")
@click.option("--threshold-key", metavar="KEY", help="Labels of DEV, if they are in a separate file.")
@classes_option
@prior_option
@posteriors_option
@click.option(
    "--equalize",
    metavar="COL[,COL]",
    help="Give each value of these columns (each combination) the same weight, as NIST does.",
)
@click.option(
    "--known",
    metavar="COLUMN",
    help="Column that marks known impostors, for costs that mix them; without --point, sre12.",
)
@click.option(
    "--p-known",
    metavar="SHARE",
    help="With --known: share of known impostors; by default that of the preset.",
)
@map_option
@vocabulary_option
@base_10_option
@fmr_option
@failures_option
@interval_options
@reading_options
@cluster_options
@unconfirmed_option
@table_option
@html_option
@json_option
@asking(ToEvaluate)
def evaluate_command(
    asked: ToEvaluate,
    scores: str,
    classes: str | None,
    prior: str | None,
    posteriors: bool,
    **reading: Any,
) -> None:
    """Evaluate a file of scores: EER, Cllr, detection costs.

    SCORES is a file of any usual format (table, Kaldi, VoxCeleb, NIST, BOSARIS, ASVspoof, bob, NumPy,
    Parquet, ...), recognized by its content, a directory or a glob. Scores are read as natural-log LLRs,
    higher meaning more target-like. Large tables are read in batches, so their size does not matter.

    A file with log-likelihoods of several classes (a column per class, a row per trial and class, NIST LRE
    rows, NPZ with logits and target) is evaluated as such: multi-class Cllr, errors, Cavg, each class.

    \b
    Examples:
      llrkit evaluate scores.csv
      llrkit evaluate scores.parquet --point sre12 --point 0.05 --by gender
      llrkit evaluate cm.tsv --by attack --shared bonafide
      llrkit evaluate scores.tsv --key key.tsv
      llrkit evaluate targets.txt --nontargets nontargets.txt --log10
      llrkit evaluate eval.tsv --threshold-from dev.tsv --json -
      llrkit evaluate scores.csv --html report.html --table latex
      llrkit evaluate sre12.tsv --point sre12 --known known
      llrkit evaluate languages.tsv --key utt2lang --point lre22
      llrkit evaluate face.csv --vocabulary biometrics --fmr 1e-3 --fmr 1e-4 --failures status
      llrkit evaluate llrs.csv --map cal.json
      llrkit evaluate eval.parquet --ci speaker --speakers enroll_speaker,test_speaker
    """
    given = TrialInput.of(reading)
    files = score_files((scores,), given, classes=classes, prior=prior, posteriors=posteriors)
    files.evaluate(asked)


def evaluate_scores(files: TwoClassFiles, asked: ToEvaluate) -> None:
    """The numbers of a file of targets and non-targets."""
    from llrkit.core.groups import bona_fide_and_spoofs, speaks_of_spoofs
    from llrkit.io.joins import titles_of
    from llrkit.verbs.evaluate import evaluate
    from llrkit.verbs.evaluation_result import saturation

    (scores,), given = files.paths, files.given
    if asked.shared is not None and asked.by is None:
        raise InputError("--shared needs groups: name their column (--by)")
    if asked.known is not None and asked.equalize is not None:
        raise InputError("--known and --equalize cannot be combined")
    if asked.known is None and asked.p_known is not None:
        raise InputError("--p-known needs --known")
    if asked.base_10 and (asked.fmrs or asked.words == "biometrics"):
        raise InputError(
            "--base-10 is about LLRs; the thresholds of --fmr and of --vocabulary biometrics are scores as "
            "the file has them"
        )
    of_kinds = speaks_of_spoofs(asked.shared)
    with unwarned(PooledClassesWarning, when=of_kinds):
        comparisons = open_with_failures(given, scores, asked.failures)
    trials = scored_only(comparisons, asked.failures)
    mixed: list[KnownCost] = []
    if asked.known is not None:
        share = None if asked.p_known is None else parse_share(asked.p_known, "--p-known")
        mixed = known_costs(
            trials, parse_points(asked.points) or ["sre12"], asked.known, share, asked.allow_unconfirmed
        )
    moved, of_shift = named_shift(
        asked.map_path, trials, split_names(asked.speakers), accept_changed=asked.accept_changed
    )
    dev = (
        given.open(asked.threshold_from, key=asked.threshold_key, nontargets=None)
        if asked.threshold_from
        else None
    )
    # the sentence below a table for the terminal says so itself
    with (
        unwarned(ReversedScoresWarning, when=asked.table_style is None),
        unwarned(PooledClassesWarning, when=of_kinds),
    ):
        result = evaluate(
            trials,
            points=parse_points(asked.points) or (("sre08", "sre10") if asked.known is None else ("sre12",)),
            by=split_names(asked.by),
            shared=asked.shared,
            threshold_from=dev,
            ece=asked.html_path is not None and asked.equalize is None,
            allow_unconfirmed=asked.allow_unconfirmed,
            equalize=split_names(asked.equalize),
            **interval_arguments(
                asked.ci, asked.speakers, asked.recordings, asked.level, asked.replicates, asked.seed
            ),
        )
        rates = rates_of(
            bona_fide_and_spoofs(comparisons, asked.shared),
            asked.fmrs,
            asked.words,
            asked.failures,
            split_names(asked.speakers),
            parse_share(asked.level, "--level"),
        )
    (name,) = titles_of([scores])
    chosen = " and ".join(given.reading.where)
    if asked.table_style is not None:
        from llrkit.report.tables import format_table

        rows = result if asked.by else {name: result}
        shown = format_table(
            rows, asked.table_style, row_title=", ".join(result.by) or "system", words=asked.words
        )
        click.echo(shown, nl=False, err=asked.to_stderr)
    else:
        title = f"{scores}, only {chosen}" if chosen else scores
        print_evaluation(
            result, title=title, to_stderr=asked.to_stderr, words=asked.words, base_10=asked.base_10
        )
    if rates is not None and asked.table_style is None:
        print_rates(rates, to_stderr=asked.to_stderr)
    for cost in mixed:
        click.echo(words_on_known(cost), err=asked.to_stderr)
    if moved:
        click.echo(f"\n{moved}", err=asked.to_stderr or asked.table_style is not None)
    if asked.html_path is not None:
        beside = asked.to_stderr or asked.table_style is not None
        read = input_files(given.reading, scores, asked.threshold_from, asked.threshold_key, asked.map_path)
        ties = ties_of({name: result}, {name: trials})
        sections = [] if rates is None else [rates_section({name: rates})]
        write_page(
            {name: result}, asked.html_path, files=read, by=asked.by, ties=ties, to_stderr=beside,
            words=asked.words, base_10=asked.base_10, cautions=[moved] if moved else [], sections=sections,
        )  # fmt: skip
    saturated = saturation(result, trials)
    for said in saturated:
        warn_caller(said, ShapeWarning)
    again = (
        _repeated_trials(trials) if given.reading.repeated == "keep" else {}
    )  # else there are none, and looking takes seconds
    more: dict[str, Json] = {**({"known": [asdict(cost) for cost in mixed]} if mixed else {}), **of_shift}
    if chosen:
        more["where"] = list(given.reading.where)
    if saturated:
        more["saturated"] = [*saturated]
    if rates is not None:
        more["biometrics"] = rates.to_dict()
    write_json({"scores": scores, **result.to_dict(), **more, **again}, "evaluate", asked.json_path)


def _repeated_trials(trials: ScoreSource) -> dict[str, int | None]:
    """What is known of trials that occur more than once, which count each time; said if there are any."""
    from llrkit.base.text import agreeing, counted
    from llrkit.scores.trials import repeated_trials

    known = repeated_trials(trials)
    if n := known.get("repeated_trials"):
        again = agreeing(n, "is repeated and counts", "are repeated and count")
        click.echo(f"{counted(n, 'trial')} {again} each time (--duplicates drop or error)", err=True)
    return known


def print_evaluation(
    result: Evaluation, *, title: str, to_stderr: bool, words: str = "nist", base_10: bool = False
) -> None:
    """The table of an evaluation, its groups, and the sentence, in the words of a community."""
    from llrkit.results.vocabulary import llr_unit, vocabulary
    from llrkit.trust.influence import REASONS
    from llrkit.verbs import evaluation_result as in_words
    from llrkit.verbs.evaluation_result import group_name

    by, unit = ", ".join(result.by), llr_unit(base_10)
    keep = (
        *result.by,
        *map(group_name, result.groups),
        *(point.point.name for point in result.points),
    )

    def say(text: str) -> str:
        return vocabulary(words).say(text, keep=keep)

    table = [(say(name), value, say(note)) for name, value, note in in_words.rows(result, unit)]
    print_table(("", "", ""), table, to_stderr=to_stderr, title=title, left=(0, 2))
    if result.groups:
        click.echo("", err=to_stderr)
        of_spoofs = result.shared is not None and result.shared.of_kinds
        header, rows = in_words.group_rows(result.groups, by, of_spoofs=of_spoofs)
        print_table([header[0], *map(say, header[1:])], rows, to_stderr=to_stderr)
        click.echo(f"\n{say(in_words.on_groups(result.groups, by))}", err=to_stderr)
    if result.shared is not None:
        click.echo(say(result.shared.sentence(by)), err=to_stderr)
    skipped = list(result.skipped_groups.items())
    for name, reason in skipped[:5]:
        click.echo(f"{by} = {group_name(name)} left out: {reason}", err=True)
    if len(skipped) > 5:
        click.echo(f"... and {len(skipped) - 5:,} more values of {by} left out", err=True)
    if result.uncertainty is not None:
        shown = in_words.numbers_of_table(result, unit)
        missing = in_words.without_interval(result.uncertainty, shown, but=REASONS)
        for note in (*result.uncertainty.notes, *missing):
            click.echo(f"\nIntervals: {say(note)}", err=to_stderr)
    told = in_words.sentence(result, result.verdict.in_unit(unit))
    click.echo(f"\n{vocabulary(words).say_of_sources(told, keep=keep)}", err=to_stderr)
