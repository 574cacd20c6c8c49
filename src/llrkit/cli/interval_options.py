"""The options of intervals, and what they ask of the library as they were typed."""

from __future__ import annotations

from typing import TypedDict

import click

from llrkit.cli.options import Command, parse_share, split_names


class IntervalArguments(TypedDict):
    """How the library is asked for intervals."""

    ci: str | None
    speakers: list[str] | None
    recordings: list[str] | None
    level: float
    replicates: int
    rng: int


def interval_arguments(
    ci: str | None, speakers: str | None, recordings: str | None, level: str, replicates: int, seed: int
) -> IntervalArguments:
    """What the options of intervals, as they were typed, ask of the library.

    Examples
    --------
    >>> interval_arguments("bootstrap", "left,right", None, "90%", 200, 7)["level"]
    0.9
    """
    return {
        "ci": ci,
        "speakers": split_names(speakers),
        "recordings": split_names(recordings),
        "level": parse_share(level, "--level"),
        "replicates": replicates,
        "rng": seed,
    }


def interval_options(command: Command, otherwise: str = "none") -> Command:
    """The options that ask for intervals; ``otherwise`` is their kind without speakers."""
    ask = click.option(
        "--ci", type=click.Choice(["none", "trial", "speaker", "bootstrap"]),
        help="Intervals: as if trials were independent; for trials that share speakers; or by drawing "
        f"speakers with replacement. Default: speaker with --speakers, else {otherwise}.",
    )  # fmt: skip
    return ask(interval_details(command))


def interval_details(command: Command) -> Command:
    """The options that say how intervals are made."""
    for option in (
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
                     help="Seed of the bootstrap."),
        click.option("--replicates", type=int, default=1000, show_default=True,
                     help="Number of bootstrap samples."),
        click.option("--level", default="95%", show_default=True, help="Confidence level."),
        click.option("--recordings", metavar="COL,COL",
                     help="For the bootstrap: columns with the recordings, drawn within speakers."),
        click.option("--speakers", metavar="COL[,COL]",
                     help="The columns with the speakers of the two sides of a trial."),
    ):  # fmt: skip
        command = option(command)
    return command
