"""``llrkit demo``: the paper's experiments in a few seconds, on data that it makes itself."""

from __future__ import annotations

from pathlib import Path

import click

from llrkit.base.process import stage
from llrkit.cli.output import made_by_command, print_table, write_json

SEEDS = 3


@click.command("demo")
@click.option(
    "--out", default="out/demo", show_default=True, metavar="DIR", help="File to write the report to."
)
@click.option("--seed", default=2013, show_default=True, help="First seed of the simulated corpora.")
def demo_command(out: str, seed: int) -> None:
    """Run small versions of the experiments of the paper.

    Van Leeuwen & Brümmer (2013): 25 combinations of durations, and the prior scan.

    \b
    Example:
      llrkit demo --out out/demo
    """
    from llrkit.experiments.durations import run_durations
    from llrkit.experiments.folder import paper_table, verdict, write_experiments
    from llrkit.experiments.prior_scan import run_prior_scan

    click.echo(
        "Two simulated corpora, a PLDA recognizer, segments of 5, 10, 20, 40 s and whole recordings:\n"
        f"25 trial lists, calibrated on one corpus, evaluated on the other; means over {SEEDS} seeds.\n"
    )
    with stage("the experiments", total=3, unit="parts") as done:
        durations = run_durations("small", seed=seed, seeds=SEEDS)
        done(1)
        scan = run_prior_scan("small", seed=seed)
        done(1)
        page = write_experiments(out, durations=durations, scan=scan, brief=True, made_from=made_by_command())
        done(1)
    header, rows = paper_table(durations.table)
    print_table(header, rows, to_stderr=False)
    click.echo(f"\n{verdict(durations.table)}")
    numbers = {"durations": durations.to_dict(), "prior_scan": scan.to_dict()}
    write_json(numbers, "demo", str(Path(out) / "numbers.json"))
    click.echo(f"The report is in {page}")
