"""``llrkit simulate sample``: the sample of the package as a file."""

from __future__ import annotations

import click

from llrkit.base.text import counted


@click.command("sample")
@click.option("-o", "--output", required=True, metavar="FILE", help="A table: .csv, .tsv, .parquet, ...")
@click.option("--split", type=click.Choice(["eval", "dev"]), default="eval", show_default=True,
              help="Trials to evaluate, or trials of other speakers to train a calibration.")  # fmt: skip
@click.option("--system", type=click.Choice(["plda", "cosine"]), default="plda", show_default=True,
              help="System whose scores are written.")  # fmt: skip
def sample_command(output: str, split: str, system: str) -> None:
    """Write a small set of trials with speakers, durations and channels; always the same.

    \b
    Examples:
      llrkit simulate sample -o eval.csv
      llrkit simulate sample --split dev -o dev.csv
    """
    from llrkit.io.write import write_trials
    from llrkit.scores.trials import Trials
    from llrkit.simulate.trials import SYSTEMS, sample_trials

    trials = sample_trials(split, system=system)
    table = trials.table.rename({system: "score"}).drop(*(set(SYSTEMS) - {system}))
    write_trials(Trials(table, enroll="enroll", test="test"), output)
    n_target = int((table["label"] == "target").sum())
    written = f"{counted(len(table), 'trial')} ({counted(n_target, 'target')})"
    click.echo(f"{written} of {split} written to {output}")
