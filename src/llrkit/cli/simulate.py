"""``llrkit simulate``: trials whose answers are known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from llrkit.base.process import stage
from llrkit.base.text import counted
from llrkit.cli.options import asking, parse_share
from llrkit.cli.output import write_json
from llrkit.cli.simulate_options import ToSimulate, ToWrite, size_options
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.base.text import Json
    from llrkit.simulate.trials import BlockSource, DurationPairs, ScorePair
    from llrkit.theory.calibrated_pairs import CalibratedPair


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
@asking(ToSimulate)
def gaussian_command(asked: ToSimulate, eer: str) -> None:
    """Calibrated Gaussian LLRs with a given EER.

    \b
    Examples:
      llrkit simulate gaussian --eer 5% --targets 1000 --nontargets 100000 --seed 1 -o trials.parquet
      llrkit simulate gaussian --eer 5% --scale 2 --offset 1 -o miscalibrated.csv
    """
    from llrkit.theory import GaussianLLR

    pair = GaussianLLR.from_eer(parse_share(eer, "--eer"))
    _write_independent_trials("gaussian", pair, pair, {"eer": pair.eer}, asked)


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
@asking(ToSimulate)
def mixture_command(asked: ToSimulate, weights: str, mu: str) -> None:
    """Calibrated LLRs of trials of different difficulty: a mixture of Gaussian pairs.

    \b
    Example:
      llrkit simulate mixture --weights 0.2,0.5,0.3 --mu 0.5,3,9 -o trials.csv
    """
    from llrkit.theory import MixtureLLR

    pair = MixtureLLR(numbers(weights, "--weights"), numbers(mu, "--mu"))
    _write_independent_trials(
        "mixture", pair, pair, {"weights": list(pair.weights), "mu": list(pair.mu)}, asked
    )


@simulate_command.command("gamma")
@click.option(
    "--shape", default=0.3, show_default=True, help="Shape of the gamma distributed likelihood ratio."
)
@size_options
@asking(ToSimulate)
def gamma_command(asked: ToSimulate, shape: float) -> None:
    """Calibrated LLRs whose likelihood ratios are gamma distributed.

    \b
    Example:
      llrkit simulate gamma --shape 0.3 -o trials.csv
    """
    from llrkit.theory import GammaLLR

    pair = GammaLLR(shape)
    _write_independent_trials("gamma", pair, pair, {"shape": pair.shape}, asked)


@simulate_command.command("unequal")
@click.option("--mean-target", default=5.0, show_default=True)
@click.option("--sd-target", default=1.6, show_default=True)
@click.option("--mean-nontarget", default=0.0, show_default=True)
@click.option("--sd-nontarget", default=1.0, show_default=True)
@size_options
@asking(ToSimulate)
def unequal_command(
    asked: ToSimulate, mean_target: float, sd_target: float, mean_nontarget: float, sd_nontarget: float
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
    _write_independent_trials("unequal", pair, None, given, asked)


@simulate_command.command("durations")
@click.option(
    "--eer-full", default="2.9%", show_default=True, metavar="E", help="EER for two of the longest segments."
)
@click.option(
    "--eer-short", default="26%", show_default=True, metavar="E", help="EER for two of the shortest segments."
)
@size_options
@asking(ToSimulate)
def durations_command(asked: ToSimulate, eer_full: str, eer_short: str) -> None:
    """Calibrated Gaussian LLRs that get weaker as the segments get shorter.

    \b
    Example:
      llrkit simulate durations --eer-full 2.9% --eer-short 26% -o trials.parquet
    """
    from llrkit.simulate.trials import DurationModel, DurationPairs

    seconds = numbers(asked.durations, "--durations")
    ends = [parse_share(eer_full, "--eer-full"), parse_share(eer_short, "--eer-short")]
    model = DurationModel.between(*ends, short=min(seconds), full=max(seconds))
    pairs = DurationPairs(model)
    given = {"eer_full": ends[0], "eer_short": ends[1], "noise": model.noise}
    _write_independent_trials("durations", pairs, pairs.mixture(seconds), given, asked)


def numbers(text: str, option: str) -> tuple[float, ...]:
    """Numbers between commas; each may have a percent sign."""
    return tuple(parse_share(field, option) for field in text.split(","))


def _count_of_trials(text: str | None, default: int, option: str) -> int:
    number = default if text is None else parse_share(text, option)
    if not (math.isfinite(number) and number >= 1 and number == int(number)):
        raise InputError(f"{option}: {text!r} is not a number of trials")
    return int(number)


def _sizes_of_classes(asked: ToSimulate) -> tuple[int, int]:
    if asked.trials is None:
        n_target = _count_of_trials(asked.targets, 1_000, "--targets")
        return n_target, _count_of_trials(asked.nontargets, 50_000, "--nontargets")
    if asked.targets is not None or asked.nontargets is not None:
        raise InputError("give --trials with --target-share, or --targets and --nontargets")
    total, share = (
        _count_of_trials(asked.trials, 0, "--trials"),
        parse_share(asked.target_share, "--target-share"),
    )
    if not 0.0 < share < 1.0 or total < 2:
        raise InputError("--trials must be at least 2, --target-share between 0 and 1")
    n_target = min(max(round(share * total), 1), total - 1)
    return n_target, total - n_target


def _write_independent_trials(
    kind: str,
    pair: ScorePair | DurationPairs | CalibratedPair,
    population: CalibratedPair | None,
    given: Mapping[str, Json],
    asked: ToSimulate,
) -> None:
    from llrkit.base.arguments import checked_seed
    from llrkit.simulate.trials import simulate_trials

    n_target, n_nontarget = _sizes_of_classes(asked)
    trials = simulate_trials(
        pair,
        n_target=n_target,
        n_nontarget=n_nontarget,
        rng=checked_seed(asked.seed),
        scale=asked.scale,
        offset=asked.offset,
        speakers=asked.speakers,
        durations=numbers(asked.durations, "--durations"),
        dtype="float32" if asked.float32 else "float64",
    )
    known: dict[str, float] = {}
    if population is not None:
        known["eer"] = population.eer
        if (trials.scale, trials.offset) == (1.0, 0.0):
            known["cllr"] = population.cllr
    about = {**given, "scale": trials.scale, "offset": trials.offset, "speakers": trials.people.n_speakers}
    write_simulated(trials, kind, (n_target, n_nontarget), about, known, asked)


def write_simulated(
    trials: BlockSource,
    kind: str,
    counts: tuple[int, int],
    about: Mapping[str, Json],
    population: Mapping[str, float],
    asked: ToWrite,
) -> None:
    """Write the trials, print what was written, and write the numbers as JSON."""
    output, total = asked.output, sum(counts)
    if output.endswith(("/", "\\")) or Path(output).is_dir():
        from llrkit.io.write import write_partitions

        names = [
            name
            for name in (asked.columns or ",".join(trials.columns)).split(",")
            if name not in ("score", "label")
        ]
        wide = trials.with_columns(*names)
        with stage("simulating", total) as advance:
            write_partitions(wide.block, wide.n_blocks, output, on_part=advance)
    else:
        from llrkit.io.write import write_trials

        if asked.columns:
            raise InputError("--columns needs a folder as output; files get all columns")
        write_trials(trials.trials(), output, format=asked.to, key=asked.key_output)
    said = "".join(f", {name} {value:.4f}" for name, value in population.items())
    click.echo(
        f"{counted(total, 'trial')} ({counted(counts[0], 'target')}) written to {output}"
        + (f"; expected{said[1:]}" if said else ""),
        err=asked.json_path == "-",
    )
    content: dict[str, Json] = {
        "kind": kind, "seed": asked.seed, "n_target": counts[0], "n_nontarget": counts[1],
        "parameters": about, "population": population, "output": output,
    }  # fmt: skip
    write_json(content, "simulate", asked.json_path)
