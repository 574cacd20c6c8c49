"""Options of ``llrkit simulate``: how many trials, and where they go."""

from __future__ import annotations

from dataclasses import dataclass

import click

from llrkit.cli.options import Command
from llrkit.cli.output import json_option

_OUTPUT = click.option(
    "-o", "--output", required=True, metavar="FILE|DIR/",
    help="File to write the trials to (.parquet, .csv, .tsv, .kaldi, ...), or a new folder for "
    "Parquet parts.",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ToWrite:
    """Where simulated trials go, and how."""

    output: str
    seed: int
    to: str | None
    key_output: str | None
    columns: str | None
    json_path: str | None


@dataclass(frozen=True, kw_only=True)
class ToSimulate(ToWrite):
    """Options of kinds with independent trials."""

    targets: str | None
    nontargets: str | None
    trials: str | None
    target_share: str
    scale: float
    offset: float
    speakers: int | None
    durations: str
    float32: bool


def output_options(command: Command) -> Command:
    """Options of every kind: where the trials go, and how."""
    for option in (
        json_option,
        click.option("--columns", metavar="NAME,NAME", help="For a folder: columns to write; default all."),
        click.option("--key-output", metavar="FILE", help="File to write the labels to, for Kaldi, "
        "NIST and BOSARIS."),
        click.option("--to", metavar="NAME", help="Format to write; by default chosen by the "
        "ending of FILE."),
        click.option("--seed", default=0, show_default=True, help="The same seed gives the same trials."),
        _OUTPUT,
    ):  # fmt: skip
        command = option(command)
    return command


def size_options(command: Command) -> Command:
    """Options of kinds with independent trials."""
    for option in (
        click.option("--float32", is_flag=True, help="Write scores in single precision, which "
        "takes half the space."),
        click.option("--durations", default="5,10,20,40,100", show_default=True, metavar="S,S",
                     help="Seconds of speech of the segments."),
        click.option("--speakers", type=int, metavar="N", help="Number of speakers; by default one for "
        "every ten targets."),
        click.option("--offset", default=0.0, show_default=True, help="Number added to every score."),
        click.option("--scale", default=1.0, show_default=True, help="Factor of every score."),
        click.option("--target-share", default="2%", show_default=True, metavar="P",
                     help="With --trials: share of targets."),
        click.option("--trials", metavar="N", help="Total number of trials, e.g. 1e9."),
        click.option("--nontargets", metavar="N", help="Number of non-target trials  [default: 50000]"),
        click.option("--targets", metavar="N", help="Number of target trials  [default: 1000]"),
    ):  # fmt: skip
        command = option(command)
    return output_options(command)
