"""``llrkit threshold``: where to cut scores, and what that will cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import click

from llrkit.cli.interval_options import interval_arguments, interval_options
from llrkit.cli.options import parse_points, parse_share
from llrkit.cli.output import json_option, print_table, write_json
from llrkit.cli.shared_options import point_option, unconfirmed_option, vocabulary_option
from llrkit.cli.trial_input import TrialInput, cluster_options, reading_options

if TYPE_CHECKING:
    from llrkit.theory.operating_points import OperatingPoint
    from llrkit.verbs.threshold import Threshold


class Demand(TypedDict, total=False):
    """What a threshold is for; nothing is the EER."""

    point: OperatingPoint | str
    false_alarm_rate: float
    miss_rate: float


@click.command("threshold")
@click.argument("scores")
@point_option
@click.option(
    "--false-alarm-rate",
    "--fmr",
    "--far",
    "false_alarm_rates",
    multiple=True,
    metavar="RATE",
    help="The lowest threshold that accepts at most this share of non-targets. Repeatable.",
)
@click.option(
    "--miss-rate",
    "--fnmr",
    "--frr",
    "miss_rates",
    multiple=True,
    metavar="RATE",
    help="The highest threshold that misses at most this share of targets. Repeatable.",
)
@click.option(
    "--tar", "--tmr", "accept_rates", multiple=True, metavar="RATE",
    help="The highest threshold that accepts at least this share of targets. Repeatable.",
)  # fmt: skip
@click.option("--eer", "at_eer", is_flag=True, help="The threshold at which both error rates are equal.")
@click.option(
    "--calibrated",
    is_flag=True,
    help="The scores are LLRs: use the Bayes threshold of the point. Implied for files that 'apply' wrote.",
)
@click.option(
    "--on",
    "evaluation",
    metavar="EVAL",
    help="Count errors and costs on this file, not on the one that gives the threshold.",
)
@click.option(
    "--on-key", "evaluation_key", metavar="KEY", help="Labels of EVAL, if they are in a separate file."
)
@vocabulary_option
@partial(interval_options, otherwise="trial")
@reading_options
@cluster_options
@unconfirmed_option
@json_option
def threshold_command(
    scores: str,
    points: tuple[str, ...],
    false_alarm_rates: tuple[str, ...],
    miss_rates: tuple[str, ...],
    accept_rates: tuple[str, ...],
    at_eer: bool,
    calibrated: bool,
    evaluation: str | None,
    evaluation_key: str | None,
    words: str,
    allow_unconfirmed: bool,
    json_path: str | None,
    ci: str | None,
    speakers: str | None,
    recordings: str | None,
    level: str,
    replicates: int,
    seed: int,
    **reading: Any,
) -> None:
    """Find a threshold for costs or an error rate.

    For a prior and costs, an error rate, or the EER.

    Without any of --point, --false-alarm-rate, --miss-rate and --eer: the EER and the points sre08 and sre10.
    The interval of a threshold holds all thresholds that the trials cannot distinguish from it.

    \b
    Examples:
      llrkit threshold dev.csv
      llrkit threshold dev.csv --false-alarm-rate 1% --miss-rate 5%
      llrkit threshold dev.csv --fmr 1e-4 --vocabulary biometrics
      llrkit threshold dev.csv --point 0.01,10,1 --on eval.csv
      llrkit threshold llrs.csv --point 0.05 --calibrated
      llrkit threshold dev.tsv --eer --speakers enroll_speaker,test_speaker --json -
    """
    from llrkit.errors import InputError
    from llrkit.theory.operating_points import PRESETS
    from llrkit.verbs.threshold import threshold_for

    if evaluation_key is not None and evaluation is None:
        raise InputError("--on-key is for --on")
    demands: list[Demand] = [{}] if at_eer else []
    for point in parse_points(points):
        averaged = (
            PRESETS[point.lower()].points if isinstance(point, str) and point.lower() in PRESETS else ()
        )
        demands += [Demand(point=one) for one in (averaged if len(averaged) > 1 else (point,))]
    for text in false_alarm_rates:
        demands.append({"false_alarm_rate": parse_share(text, "--false-alarm-rate")})
    demands += [Demand(miss_rate=parse_share(text, "--miss-rate")) for text in miss_rates]
    demands += [Demand(miss_rate=1.0 - parse_share(text, "--tar")) for text in accept_rates]
    if calibrated and demands and not points:
        raise InputError("--calibrated needs an operating point (--point)")
    demands = demands or [{}, {"point": "sre08"}, {"point": "sre10"}]
    given = TrialInput.of(reading)
    trials = given.open(scores)
    others = given.open(evaluation, key=evaluation_key, nontargets=None) if evaluation else None
    thresholds = [
        threshold_for(
            trials,
            on=others,
            calibrated=(calibrated or None) if "point" in demand else None,
            allow_unconfirmed=allow_unconfirmed,
            **interval_arguments(ci, speakers, recordings, level, replicates, seed),
            **demand,
        )
        for demand in demands
    ]
    to_stderr = json_path == "-"
    title = scores if evaluation is None else f"Errors and costs on {evaluation}, thresholds from {scores}"
    _print_threshold(thresholds, title, words, to_stderr=to_stderr)
    content = {"scores": scores, "on": evaluation, "thresholds": [one.to_dict() for one in thresholds]}
    write_json(content, "threshold", json_path)


def _print_threshold(thresholds: list[Threshold], title: str, words: str, *, to_stderr: bool) -> None:
    from llrkit.base.text import number
    from llrkit.results.vocabulary import vocabulary
    from llrkit.verbs.threshold import SAME_TRIALS, rate_in_words

    def say(text: str) -> str:
        return vocabulary(words).say(text, keep=[one.point.name for one in thresholds if one.point])

    def ends(pair: tuple[float, float] | None, shown: Callable[[float], str]) -> str:
        return "" if pair is None else f"[{shown(pair[0])}, {shown(pair[1])}]"

    rows = [
        (
            say(one.criterion), f"{one.in_file:.6g}", ends(one.in_file_interval, lambda end: f"{end:.4g}"),
            rate_in_words(one.p_miss), ends(one.intervals.get("p_miss"), rate_in_words),
            rate_in_words(one.p_fa), ends(one.intervals.get("p_fa"), rate_in_words),
            "" if one.cost is None else number(one.cost), ends(one.intervals.get("cost"), number),
        )
        for one in thresholds
    ]  # fmt: skip
    header = ("", "threshold", "", say("Pmiss"), "", say("Pfa"), "", "cost", "")
    print_table(header, rows, to_stderr=to_stderr, title=title, left=(0, 2, 4, 6, 8))
    click.echo("", err=to_stderr)
    for one in thresholds:
        click.echo(say(one.sentence), err=to_stderr)
    for note in dict.fromkeys(note for one in thresholds for note in one.notes):
        elsewhere = "; --on FILE counts them elsewhere" if note == SAME_TRIALS else ""
        click.echo(f"Note: {say(note)}{elsewhere}.", err=to_stderr)
