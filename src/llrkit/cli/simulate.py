"""``llrkit simulate``: trials whose answers are known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llrkit._progress import stage
from llrkit.cli.output import json_option, parse_share, write_json
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.simulate.block_source import BlockSource

_OUTPUT = click.option(
    "-o", "--output", required=True, metavar="FILE|DIR/",
    help="File to write the trials to (.parquet, .csv, .tsv, .kaldi, ...), or a new folder for "
    "Parquet parts.",
)  # fmt: skip


def output_options(command: Any) -> Any:
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


def size_options(command: Any) -> Any:
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


@click.group("simulate")
def simulate_command() -> None:
    """Simulate trials with known answers.

    Writes any format; the same seed gives the same trials.

    \b
    Examples:
      llrkit simulate gaussian --eer 5% -o trials.csv
      llrkit simulate durations --targets 5000 --nontargets 200000 -o trials.parquet
      llrkit simulate gaussian --eer 3% --trials 1e9 --columns score,label -o trials/
    """


@simulate_command.command("gaussian")
@click.option("--eer", default="5%", show_default=True, metavar="E", help="Equal error rate, 0.05 or 5%.")
@size_options
def gaussian_command(eer: str, **options: Any) -> None:
    """Calibrated Gaussian LLRs with a given EER.

    \b
    Examples:
      llrkit simulate gaussian --eer 5% --targets 1000 --nontargets 100000 --seed 1 -o trials.parquet
      llrkit simulate gaussian --eer 5% --scale 2 --offset 1 -o miscalibrated.csv
    """
    from llrkit.theory import GaussianLLR

    pair = GaussianLLR.from_eer(parse_share(eer, "--eer"))
    _independent("gaussian", pair, pair, {"eer": pair.eer}, options)


@simulate_command.command("mixture")
@click.option(
    "--weights",
    default="0.2,0.5,0.3",
    show_default=True,
    metavar="W,W",
    help="Share of each part among the trials.",
)
@click.option(
    "--mu", default="0.5,3,9", show_default=True, metavar="M,M", help="Mean target LLR of each share."
)
@size_options
def mixture_command(weights: str, mu: str, **options: Any) -> None:
    """Calibrated LLRs of trials of different difficulty: a mixture of Gaussian pairs.

    \b
    Example:
      llrkit simulate mixture --weights 0.2,0.5,0.3 --mu 0.5,3,9 -o trials.csv
    """
    from llrkit.theory import MixtureLLR

    pair = MixtureLLR(numbers(weights, "--weights"), numbers(mu, "--mu"))
    _independent("mixture", pair, pair, {"weights": list(pair.weights), "mu": list(pair.mu)}, options)


@simulate_command.command("gamma")
@click.option(
    "--shape", default=0.3, show_default=True, help="Shape of the gamma distributed likelihood ratio."
)
@size_options
def gamma_command(shape: float, **options: Any) -> None:
    """Calibrated LLRs whose likelihood ratios are gamma distributed.

    \b
    Example:
      llrkit simulate gamma --shape 0.3 -o trials.csv
    """
    from llrkit.theory import GammaLLR

    pair = GammaLLR(shape)
    _independent("gamma", pair, pair, {"shape": pair.shape}, options)


@simulate_command.command("unequal")
@click.option("--mean-target", default=5.0, show_default=True)
@click.option("--sd-target", default=1.6, show_default=True)
@click.option("--mean-nontarget", default=0.0, show_default=True)
@click.option("--sd-nontarget", default=1.0, show_default=True)
@size_options
def unequal_command(
    mean_target: float, sd_target: float, mean_nontarget: float, sd_nontarget: float, **options: Any
) -> None:
    """Gaussian scores of different variances: never calibrated, and no straight line makes them so.

    \b
    Example:
      llrkit simulate unequal --mean-target 5 --sd-target 1.6 -o trials.csv
    """
    from llrkit.theory import UnequalGaussians

    pair = UnequalGaussians(mean_target, sd_target, mean_nontarget, sd_nontarget)
    given = {"mean_target": mean_target, "sd_target": sd_target, "mean_nontarget": mean_nontarget,
             "sd_nontarget": sd_nontarget}  # fmt: skip
    _independent("unequal", pair, None, given, options)


@simulate_command.command("durations")
@click.option(
    "--eer-full", default="2.9%", show_default=True, metavar="E", help="EER for two of the longest segments."
)
@click.option(
    "--eer-short", default="26%", show_default=True, metavar="E", help="EER for two of the shortest segments."
)
@size_options
def durations_command(eer_full: str, eer_short: str, **options: Any) -> None:
    """Calibrated Gaussian LLRs that get weaker as the segments get shorter.

    \b
    Example:
      llrkit simulate durations --eer-full 2.9% --eer-short 26% -o trials.parquet
    """
    from llrkit.simulate.duration_model import DurationModel, DurationPairs

    seconds = numbers(options["durations"], "--durations")
    ends = [parse_share(eer_full, "--eer-full"), parse_share(eer_short, "--eer-short")]
    model = DurationModel.between(*ends, short=min(seconds), full=max(seconds))
    pairs = DurationPairs(model)
    given = {"eer_full": ends[0], "eer_short": ends[1], "noise": model.noise}
    _independent("durations", pairs, pairs.mixture(seconds), given, options)


def numbers(text: str, option: str) -> tuple[float, ...]:
    """Numbers between commas; each may have a percent sign."""
    return tuple(parse_share(field, option) for field in text.split(","))


def _count(text: str | None, default: int, option: str) -> int:
    number = default if text is None else parse_share(text, option)
    if not (math.isfinite(number) and number >= 1 and number == int(number)):
        raise InputError(f"{option}: {text!r} is not a number of trials")
    return int(number)


def _sizes(options: dict[str, Any]) -> tuple[int, int]:
    if options["trials"] is None:
        return _count(options["targets"], 1_000, "--targets"), _count(
            options["nontargets"], 50_000, "--nontargets"
        )
    if options["targets"] is not None or options["nontargets"] is not None:
        raise InputError("give --trials with --target-share, or --targets and --nontargets")
    total, share = (
        _count(options["trials"], 0, "--trials"),
        parse_share(options["target_share"], "--target-share"),
    )
    if not 0.0 < share < 1.0 or total < 2:
        raise InputError("--trials must be at least 2, --target-share between 0 and 1")
    n_target = min(max(round(share * total), 1), total - 1)
    return n_target, total - n_target


def _independent(
    kind: str, pair: Any, population: Any, given: dict[str, Any], options: dict[str, Any]
) -> None:
    from llrkit._random import checked_seed
    from llrkit.simulate.independent_trials import simulate_trials

    n_target, n_nontarget = _sizes(options)
    trials = simulate_trials(
        pair,
        n_target=n_target,
        n_nontarget=n_nontarget,
        rng=checked_seed(options["seed"]),
        scale=options["scale"],
        offset=options["offset"],
        speakers=options["speakers"],
        durations=numbers(options["durations"], "--durations"),
        dtype="float32" if options["float32"] else "float64",
    )
    known: dict[str, float] = {}
    if population is not None:
        known["eer"] = population.eer
        if (trials.scale, trials.offset) == (1.0, 0.0):
            known["cllr"] = population.cllr
    about = {**given, "scale": trials.scale, "offset": trials.offset, "speakers": trials.people.n_speakers}
    write_simulated(trials, kind, (n_target, n_nontarget), about, known, options)


def write_simulated(
    trials: BlockSource,
    kind: str,
    counts: tuple[int, int],
    about: dict[str, Any],
    population: dict[str, float],
    options: dict[str, Any],
) -> None:
    """Write the trials, say what was trials, and the numbers as JSON."""
    output, total = options["output"], sum(counts)
    if output.endswith(("/", "\\")) or Path(output).is_dir():
        from llrkit.io.write_partitions import write_partitions

        names = [
            name
            for name in (options["columns"] or ",".join(trials.columns)).split(",")
            if name not in ("score", "label")
        ]
        wide = trials.with_columns(*names)
        with stage("simulating", total) as advance:
            write_partitions(wide.block, wide.n_blocks, output, on_part=advance)
    else:
        from llrkit.io.write import write_trials

        if options["columns"]:
            raise InputError("--columns needs a folder as output; files get all columns")
        write_trials(trials.trials(), output, format=options["to"], key=options["key_output"])
    said = "".join(f", {name} {value:.4f}" for name, value in population.items())
    click.echo(
        f"{total:,} trials ({counts[0]:,} targets) written to {output}"
        + (f"; expected{said[1:]}" if said else ""),
        err=options["json_path"] == "-",
    )
    content = {
        "kind": kind, "seed": options["seed"], "n_target": counts[0], "n_nontarget": counts[1],
        "parameters": about, "population": population, "output": output,
    }  # fmt: skip
    write_json(content, "simulate", options["json_path"])
