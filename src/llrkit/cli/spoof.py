"""``llrkit spoof``: the numbers of targets, non-targets and spoofs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from llrkit.cli.kinds.asked_options import ToEvaluate
from llrkit.cli.kinds.spoof_files import SpoofFiles, open_spoof_trials, speaking_of_kinds
from llrkit.cli.options import asking, parse_share, split_names
from llrkit.cli.output import json_option, print_table, write_json
from llrkit.cli.shared_options import vocabulary_option
from llrkit.cli.shown_warnings import unwarned
from llrkit.cli.trial_input import TrialInput, cluster_options, reading_options
from llrkit.errors import InputError, PooledClassesWarning

if TYPE_CHECKING:
    from llrkit.base.text import Json
    from llrkit.spoof.costs import Costs
    from llrkit.spoof.evaluation import SpoofEvaluation
    from llrkit.spoof.trials import SpoofTrials


@click.command("spoof")
@click.argument("scores")
@click.option("--asv-column", metavar="NAME", help="Scores of the speaker verification system.")
@click.option("--cm-column", metavar="NAME", help="Scores of the countermeasure, higher meaning bona fide.")
@click.option("--sasv-column", metavar="NAME", help="Scores of a system that does both.")
@click.option("--attack-column", metavar="NAME", help="The attack of each spoof; each is evaluated too.")
@click.option(
    "--costs",
    multiple=True,
    metavar="NAME|PTAR,PNON,PSPF[,CMISS,CFA,CFASPF]",
    help="Costs of the a-DCF: asvspoof5, a-dcf1, or priors and costs. Repeatable. Default: both presets.",
)
@click.option(
    "--eer",
    "convention",
    type=click.Choice(["roc", "hull", "nearest"]),
    default="roc",
    show_default=True,
    help="EERs on the ROC, on its convex hull, or as the organizers of ASVspoof compute them.",
)
@click.option(
    "--asv-threshold",
    metavar="eer|NUMBER",
    default="eer",
    show_default=True,
    help="Threshold of the ASV system in the tandem.",
)
@click.option(
    "--t-dcf",
    "variants",
    multiple=True,
    type=click.Choice(["free", "joint"]),
    help="Also the minimum t-DCF with the best ASV threshold (free), or counting the trials that pass both "
    "systems (joint). Repeatable.",
)
@click.option(
    "--speakers",
    metavar="COL[,COL]",
    help="The columns with the speakers of the two sides of a trial: intervals for all numbers.",
)
@vocabulary_option
@click.option("--cm-threshold", metavar="NUMBER",
              help="Threshold of APCER and BPCER (vocabulary of biometrics); default: CM-EER.")  # fmt: skip
@click.option("--level", default="95%", show_default=True, help="Confidence level.")
@reading_options
@cluster_options
@json_option
@asking(ToEvaluate)
def spoof_command(
    asked: ToEvaluate,
    scores: str,
    asv_column: str | None,
    cm_column: str | None,
    sasv_column: str | None,
    attack_column: str | None,
    costs: tuple[str, ...],
    convention: Literal["roc", "hull", "nearest"],
    asv_threshold: str,
    variants: tuple[str, ...],
    cm_threshold: str | None,
    **reading: Any,
) -> None:  # fmt: skip
    """Evaluate spoofing detection and robust verification.

    Computes EERs, a-DCF, t-DCF and t-EER.

    SCORES is a table with a column of labels (target, nontarget, spoof) and one column of scores for each
    system: ASV, CM, SASV, any of them. Without options the columns asv, cm and sasv are looked for.

    \b
    Examples:
      llrkit spoof scores.tsv --asv-column ecapa --cm-column aasist --attack-column attack
      llrkit spoof sasv.tsv --sasv-column score --costs 0.9,0.05,0.05,1,10,20 --json -
      llrkit spoof scores.tsv --speakers speaker,claimed
      llrkit spoof scores.tsv --eer nearest
      llrkit spoof scores.tsv --cm-column pad --attack-column species --vocabulary biometrics
    """
    given = TrialInput.of(reading)
    SpoofFiles(
        (scores,),
        given,
        columns={"asv": asv_column, "cm": cm_column, "sasv": sasv_column},
        attack=attack_column,
        costs=costs,
        convention=convention,
        asv_threshold=asv_threshold,
        cm_threshold=cm_threshold,
        variants=variants,
    ).evaluate(asked)


def evaluate_spoofs(files: SpoofFiles, asked: ToEvaluate) -> None:
    """The numbers of a file of targets, non-targets and spoofs."""
    from llrkit.spoof.attacks import attack_detection
    from llrkit.spoof.evaluation import evaluate

    if files.cm_threshold is not None and asked.words != "biometrics":
        raise InputError("--cm-threshold is for APCER and BPCER (--vocabulary biometrics)")

    (scores,) = files.paths
    trials = open_spoof_trials(scores, files.columns, files.attack, files.given)
    if files.cm_threshold is not None and "cm" not in trials.systems:
        raise InputError("--cm-threshold is for the scores of a countermeasure (--cm-column)")
    with unwarned(PooledClassesWarning), speaking_of_kinds():
        result = evaluate(
            trials,
            [parse_costs(text) for text in files.costs] or ("asvspoof5", "a-dcf1"),
            eer=files.convention,
            asv_threshold="eer"
            if files.asv_threshold == "eer"
            else parse_share(files.asv_threshold, "--asv-threshold"),
            speakers=split_names(asked.speakers),
            level=parse_share(asked.level, "--level"),
        )
        others = _other_t_dcfs(trials, files.variants, result)
        pad = None
        if asked.words == "biometrics" and result.cm_eer is not None:
            pad = attack_detection(
                trials,
                threshold=None
                if files.cm_threshold is None
                else parse_share(files.cm_threshold, "--cm-threshold"),
                asv_threshold=result.asv_threshold,
                speakers=split_names(asked.speakers),
                level=parse_share(asked.level, "--level"),
            )
    print_spoof(result, title=scores, to_stderr=asked.to_stderr, words=asked.words)
    for row in others:
        how = "best ASV threshold" if row.variant == "free" else "trials that pass both systems counted"
        click.echo(f"min t-DCF {row.name}, {how}: {row.min:.4f}", err=asked.to_stderr)
    if pad is not None:
        click.echo("", err=asked.to_stderr)
        print_table(("", "", ""), pad.rows(), to_stderr=asked.to_stderr, left=(0, 2))
        click.echo(f"Note: {pad.note}", err=asked.to_stderr)
    more: dict[str, Json] = {} if pad is None else {"attack_detection": pad.to_dict()}
    if others:
        more["t_dcf_variants"] = [asdict(row) for row in others]
    write_json({"scores": scores, **result.to_dict(), **more}, "spoof", asked.json_path)


@dataclass(frozen=True)
class OtherTDCF:
    """The minimum t-DCF of another definition."""

    name: str
    variant: str
    min: float


def _other_t_dcfs(trials: SpoofTrials, variants: tuple[str, ...], result: SpoofEvaluation) -> list[OtherTDCF]:
    """The minimum t-DCFs of other definitions that were asked for; without intervals."""
    from llrkit.spoof.costs import FREE_2019, min_t_dcf, spoof_costs

    if variants and result.asv_threshold is None:
        raise InputError("--t-dcf is for a tandem of ASV and CM scores with all three kinds of trials")
    rows: list[OtherTDCF] = []
    for variant in dict.fromkeys(variants):
        for name in result.tandem_names:
            if variant == "free" and spoof_costs(name).form == "asvspoof2019":
                click.echo(f"Left out: {FREE_2019}", err=True)
                continue
            if variant == "free":
                least = min_t_dcf(trials, name, asv_threshold="free")
            else:
                assert result.asv_threshold is not None
                least = min_t_dcf(trials, name, asv_threshold=result.asv_threshold, counting="joint")
            rows.append(OtherTDCF(name, variant, least))
    return rows


def parse_costs(text: str) -> Costs:
    """Costs of the a-DCF as given on the command line: a name, or priors and costs.

    Examples
    --------
    >>> parse_costs("0.9,0.05,0.05,1,10,20").c_fa_spoof, parse_costs("asvspoof5")
    (20.0, 'asvspoof5')
    """
    from llrkit.spoof.costs import SpoofCosts

    if not text[:1].isdigit() and text[:1] != ".":
        return text
    fields = [parse_share(field, "--costs") for field in text.split(",")]
    if len(fields) not in (3, 6):
        raise InputError(f"--costs {text}: expected a name, or PTAR,PNON,PSPF[,CMISS,CFA,CFASPF]")
    return SpoofCosts(text, *fields)  # type: ignore[arg-type]


def print_spoof(result: SpoofEvaluation, *, title: str, to_stderr: bool, words: str = "nist") -> None:
    """The table of an evaluation, and one of its attacks."""
    from llrkit.results.vocabulary import vocabulary

    say = vocabulary(words).say
    rows = [(say(name), say(value), say(note)) for name, value, note in result.rows()]
    print_table(("", "", ""), rows, to_stderr=to_stderr, title=title, left=(0, 2))
    if result.attacks:
        click.echo("", err=to_stderr)
        header, by_attack = result.attack_rows()
        print_table(header, by_attack, to_stderr=to_stderr)
    for reason in dict.fromkeys(result.reasons.values()):
        click.echo(f"Left out: {say(reason)}", err=True)
    for note in result.interval_notes:
        click.echo(f"\nIntervals: {say(note)}", err=to_stderr)
