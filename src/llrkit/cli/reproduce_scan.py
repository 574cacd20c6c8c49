"""``llrkit reproduce prior-scan``: what the training weight does to a cost, simulated or on own scores."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from llrkit.cli.known_costs import NEEDS_SHARE
from llrkit.cli.options import asking, parse_points, parse_share, split_names
from llrkit.cli.output import input_files, json_option, made_by_command, print_table, write_json
from llrkit.cli.trial_input import TrialInput, reading_options
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.experiments.prior_scan import PriorScanResult

scale_option = click.option(
    "--scale", default="small", show_default=True, metavar="small|paper|25x",
    help="small takes seconds; paper has as many trials as the paper; 25x has as many in every list.",
)  # fmt: skip
seed_option = click.option(
    "--seed", default=2013, show_default=True, help="Seed; the same seed gives the same numbers."
)
out_option = click.option("--out", metavar="DIR", help="Folder for a report page and the figures (SVG, PDF).")


@dataclass(frozen=True, kw_only=True)
class ToScan:
    """Options of ``reproduce prior-scan`` that are about trials of a file."""

    scores: str | None
    test: str | None
    point: str | None
    known: str | None
    p_known: str | None
    groups: str | None


@click.command("prior-scan")
@scale_option
@seed_option
@click.option("--scores", metavar="FILE", help="Scan these scored trials instead of simulations.")
@click.option(
    "--test",
    metavar="FILE",
    help="With --scores: measure the cost on this file instead of by cross-validation.",
)
@click.option("--point", metavar="NAME|P[,CMISS,CFA]",
              help="With --scores: the cost, a preset or a prior with costs; by default sre12.")  # fmt: skip
@click.option("--known", metavar="COLUMN", help="With --scores: the column that marks known non-targets.")
@click.option(
    "--p-known",
    metavar="SHARE",
    help="With --known: share of known impostors; by default that of the preset.",
)
@click.option(
    "--groups", metavar="COL[,COL]", help="With --scores: columns whose values are kept in one fold."
)
@out_option
@reading_options
@json_option
@asking(ToScan)
def prior_scan_command(
    asked: ToScan,
    scale: str,
    seed: int,
    out: str | None,
    json_path: str | None,
    **reading: Any,
) -> None:
    """What the training weight does to a cost: simulated (figure 2), or on scores of a file.

    Without --scores: two populations, one where the weight has no effect and one where it decides, and the
    simulated corpora. With --scores, every trial is calibrated on trials that share no group with it; groups
    are models and test segments unless --groups names columns.

    \b
    Examples:
      llrkit reproduce prior-scan --scale paper --out out/scan
      llrkit reproduce prior-scan --scores scores.tsv --point sre08 --groups enroll_speaker,test_speaker
      llrkit reproduce prior-scan --scores sre12.tsv --known known
      llrkit reproduce prior-scan --scores dev.csv --test eval.csv --point 0.01
    """
    from llrkit.experiments.folder import scan_table
    from llrkit.experiments.prior_scan import run_prior_scan
    from llrkit.maps.training_range import REMEDY, REMEDY_TYPED

    given = TrialInput.of(reading)
    source_of = click.get_current_context().get_parameter_source
    if asked.scores is None:
        for name, value in asdict(asked).items():
            if value is not None:
                raise InputError(f"--{name.replace('_', '-')} is for --scores")
        for name in given.reading.given():
            raise InputError(f"the option {name!r} of reading is for --scores")
        scan = run_prior_scan(scale, seed=seed)
    else:
        if source_of("scale") is not ParameterSource.DEFAULT:
            raise InputError("--scale is for the simulation, not for --scores")
        seed = seed if source_of("seed") is not ParameterSource.DEFAULT else 0
        scan = _scan_of_scores(asked, asked.scores, given, seed)
    header, rows = scan_table(scan.cases)
    print_table(header, rows, to_stderr=json_path == "-", title=scan.cost_name)
    for case in scan.cases:
        click.echo(f"{case.name}: {case.about}", err=json_path == "-")
        for method, why in case.curve.refused.items():
            click.echo(f"-: {method}, {why.replace(REMEDY, REMEDY_TYPED)}", err=json_path == "-")
    if out:
        from llrkit.experiments.folder import write_experiments

        files = input_files(given.reading, asked.scores, asked.test)
        page = write_experiments(out, scan=scan, made_from=made_by_command(files))
        click.echo(f"The report is in {page}", err=json_path == "-")
    write_json({"experiment": "prior-scan", **scan.to_dict()}, "reproduce", json_path)


def _scan_of_scores(asked: ToScan, scores: str, given: TrialInput, seed: int) -> PriorScanResult:
    from llrkit.experiments.prior_scan import EVALUATION, run_scan_of_scores
    from llrkit.theory.operating_points import cost_of

    points = parse_points([asked.point]) if asked.point else [EVALUATION]
    share = asked.p_known
    if asked.known is None and share is not None:
        raise InputError("--p-known needs --known")
    if asked.known is not None and share is None and cost_of(points[0]).p_known is None:
        raise InputError(NEEDS_SHARE)
    return run_scan_of_scores(
        given.open(scores),
        None if asked.test is None else given.open(asked.test),
        point=points[0],
        known=asked.known,
        p_known=None if share is None else parse_share(share, "--p-known"),
        groups=split_names(asked.groups),
        seed=seed,
    )
