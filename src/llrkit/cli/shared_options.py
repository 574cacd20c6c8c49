"""Options that several commands have: operating points, groups, the words of a community, bounds of LLRs."""

from __future__ import annotations

from collections.abc import Callable

import click

from llrkit.cli.options import Command


def words_option(default: str) -> Callable[[Command], Command]:
    """The option that chooses the words of tables, plots and reports, with its default."""
    from llrkit.results.vocabulary import VOCABULARIES

    return click.option(
        "--vocabulary", "words", type=click.Choice(list(VOCABULARIES)), default=default, show_default=True,
        help="The words of tables and plots: NIST's, forensic science's, or those of biometrics (FMR, FNMR).",
    )  # fmt: skip


def bound_options(command: Command) -> Command:
    """The options that bound the LLRs of a calibration by what its training trials can show."""
    for option in (
        click.option("--speakers", metavar="COL[,COL]",
                     help="For --bound sources: the columns with the speakers of the two sides of a trial."),
        click.option("--bound", default="sources", show_default=True,
                     metavar="none|elub|invariance|sources|fixed:LOW,HIGH",
                     help="Bound the LLRs: by independent sources of the training trials, by ELUB, by "
                     "invariance, or by two LLRs (natural logarithms)."),
    ):  # fmt: skip
        command = option(command)
    return command


point_option = click.option(
    "--point", "points", multiple=True, metavar="NAME|P[,CMISS,CFA]",
    help="Operating point: a preset (sre08, sre10, sre12, ...) or a target prior with costs. Repeatable.",
)  # fmt: skip


by_option = click.option(
    "--by",
    metavar="COL[,COL]",
    help="Also evaluate each value of a column, or each combination of several.",
)


unconfirmed_option = click.option(
    "--allow-unconfirmed", is_flag=True, help="Accept presets whose definition could not be confirmed."
)


vocabulary_option = words_option("nist")


base_10_option = click.option(
    "--base-10", "base_10", is_flag=True,
    help="Show LLRs, thresholds and log-odds to base ten: log10 LR instead of nats. JSON stays in nats.",
)  # fmt: skip
