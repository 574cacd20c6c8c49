"""``llrkit evaluate``: the numbers of a score file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.biometric_rates import (
    failures_option,
    fmr_option,
    open_with_failures,
    print_rates,
    rates_of,
    rates_section,
    scored_only,
)
from llrkit.cli.class_commands import (
    classes_option,
    evaluate_classes,
    has_classes,
    posteriors_option,
    prior_option,
    refuse_for_classes,
)
from llrkit.cli.known_costs import known_costs, words_on_known
from llrkit.cli.named_shift import map_option, named_shift
from llrkit.cli.output import (
    by_option,
    input_files,
    interval_options,
    json_option,
    parse_points,
    parse_share,
    point_option,
    print_table,
    split_names,
    unconfirmed_option,
    unwarned,
    vocabulary_option,
    write_json,
)
from llrkit.cli.reading import TrialInput, cluster_options, reading_options
from llrkit.cli.report import html_option, table_option, ties_of, write_page
from llrkit.errors import InputError, ReversedScoresWarning

if TYPE_CHECKING:
    from llrkit.evaluation.result import Evaluation
    from llrkit.scores.source import ScoreSource


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
@fmr_option
@failures_option
@interval_options
@reading_options
@cluster_options
@unconfirmed_option
@table_option
@html_option
@json_option
def evaluate_command(
    scores: str,
    points: tuple[str, ...],
    by: str | None,
    shared: str | None,
    threshold_from: str | None,
    threshold_key: str | None,
    classes: str | None,
    prior: str | None,
    posteriors: bool,
    allow_unconfirmed: bool,
    table_style: str | None,
    html_path: str | None,
    json_path: str | None,
    equalize: str | None,
    known: str | None,
    p_known: str | None,
    map_path: str | None,
    accept_changed: bool,
    words: str,
    fmrs: tuple[str, ...],
    failures: str | None,
    ci: str | None,
    speakers: str | None,
    recordings: str | None,
    level: str,
    replicates: int,
    seed: int,
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
    if has_classes(scores, classes, prior, given):
        refuse_for_classes(
            by=by, shared=shared, threshold_from=threshold_from, equalize=equalize, speakers=speakers,
            known=known, p_known=p_known, ci=None if ci == "none" else ci, fmr=fmrs or None,
            failures=failures, vocabulary=None if words == "nist" else words, map=map_path,
        )  # fmt: skip
        evaluate_classes(
            scores, classes=classes, prior=prior, posteriors=posteriors, points=points,
            allow_unconfirmed=allow_unconfirmed, html_path=html_path, json_path=json_path, given=given,
            table_style=table_style,
        )  # fmt: skip
        return
    from llrkit.evaluation.evaluate import evaluate
    from llrkit.io.systems import titles_of

    if shared is not None and by is None:
        raise InputError("--shared is for groups: name their column (--by)")
    if known is not None and equalize is not None:
        raise InputError("--known and --equalize do not go together")
    if known is None and p_known is not None:
        raise InputError("--p-known is for --known")
    comparisons = open_with_failures(given, scores, failures)
    trials = scored_only(comparisons, failures)
    mixed = []
    if known is not None:
        share = None if p_known is None else parse_share(p_known, "--p-known")
        mixed = known_costs(trials, parse_points(points) or ["sre12"], known, share, allow_unconfirmed)
    moved, of_shift = named_shift(map_path, trials, split_names(speakers), accept_changed=accept_changed)
    dev = given.open(threshold_from, key=threshold_key, nontargets=None) if threshold_from else None
    # the sentence below a table for the terminal says so itself
    with unwarned(ReversedScoresWarning, when=table_style is None):
        result = evaluate(
            trials,
            parse_points(points) or (("sre08", "sre10") if known is None else ("sre12",)),
            by=split_names(by),
            shared=shared,
            threshold_from=dev,
            ece=html_path is not None and equalize is None,
            allow_unconfirmed=allow_unconfirmed,
            equalize=split_names(equalize),
            ci=ci,
            speakers=split_names(speakers),
            recordings=split_names(recordings),
            level=parse_share(level, "--level"),
            replicates=replicates,
            rng=seed,
        )
    rates = rates_of(comparisons, fmrs, words, failures, split_names(speakers), parse_share(level, "--level"))
    to_stderr = json_path == "-"
    (name,) = titles_of([scores])
    chosen = " and ".join(given.reading.where)
    if table_style is not None:
        from llrkit.report.paper_tables import format_table

        rows = result if by else {name: result}
        shown = format_table(rows, table_style, row_title=", ".join(result.by) or "system", words=words)
        click.echo(shown, nl=False, err=to_stderr)
    else:
        title = f"{scores}, only {chosen}" if chosen else scores
        print_evaluation(result, title=title, to_stderr=to_stderr, words=words)
    if rates is not None and table_style is None:
        print_rates(rates, to_stderr=to_stderr)
    for cost in mixed:
        click.echo(words_on_known(cost), err=to_stderr)
    if moved:
        click.echo(f"\n{moved}", err=to_stderr or table_style is not None)
    if html_path is not None:
        beside = to_stderr or table_style is not None
        files = input_files(given.reading, scores, threshold_from, threshold_key, map_path)
        ties = ties_of({name: result}, {name: trials})
        sections = [] if rates is None else [rates_section({name: rates})]
        write_page(
            {name: result}, html_path, files=files, by=by, ties=ties, to_stderr=beside, words=words,
            cautions=[moved] if moved else [], sections=sections,
        )  # fmt: skip
    again = (
        _repeated(trials) if given.reading.repeated == "keep" else {}
    )  # else there are none, and looking takes seconds
    more: dict[str, Any] = {**({"known": mixed} if mixed else {}), **of_shift}
    if chosen:
        more["where"] = list(given.reading.where)
    if rates is not None:
        more["biometrics"] = rates.to_dict()
    write_json({"scores": scores, **result.to_dict(), **more, **again}, "evaluate", json_path)


def _repeated(trials: ScoreSource) -> dict[str, int | None]:
    """What is known of trials that occur more than once, which count each time; said if there are any."""
    from llrkit.scores.trials import Trials

    if trials.roles.test is None:
        return {}
    # ids are not held in memory for what is read in batches
    n = trials.n_repeated if isinstance(trials, Trials) else None
    if n:
        click.echo(f"{n:,} trials are repeated and count each time (--duplicates drop or error)", err=True)
    return {} if n == 0 else {"repeated_trials": n}


def print_evaluation(result: Evaluation, *, title: str, to_stderr: bool, words: str = "nist") -> None:
    """The table of an evaluation, its groups, and the sentence, in the words of a community."""
    from llrkit._vocabulary import vocabulary
    from llrkit.evaluation import words as in_words
    from llrkit.evaluation.over_groups import group_name

    by = ", ".join(result.by)
    keep = (
        *result.by,
        *map(group_name, result.groups),
        *(point.point.name for point in result.points),
    )

    def say(text: str) -> str:
        return vocabulary(words).say(text, keep=keep)

    table = [(say(name), value, say(note)) for name, value, note in in_words.rows(result)]
    print_table(("", "", ""), table, to_stderr=to_stderr, title=title, left=(0, 2))
    if result.groups:
        click.echo("", err=to_stderr)
        header, rows = in_words.group_rows(result.groups, by)
        print_table([header[0], *map(say, header[1:])], rows, to_stderr=to_stderr)
        click.echo(f"\n{say(in_words.on_groups(result.groups, by))}", err=to_stderr)
    if result.shared is not None:
        click.echo(say(result.shared.sentence(by)), err=to_stderr)
    skipped = list(result.skipped_groups.items())
    for name, reason in skipped[:5]:
        click.echo(f"{by} = {group_name(name)} left out: {reason}", err=True)
    if len(skipped) > 5:
        click.echo(f"... and {len(skipped) - 5:,} more values of {by} left out", err=True)
    for note in result.uncertainty.notes if result.uncertainty is not None else ():
        click.echo(f"\nIntervals: {say(note)}", err=to_stderr)
    click.echo(f"\n{say(result.sentence)}", err=to_stderr)
