"""``llrkit fuse --sasv``: one score from speaker verification and a countermeasure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.calibrate import sha256_of
from llrkit.cli.output import print_table, split_names, unwarned, write_json
from llrkit.cli.reading import TrialInput
from llrkit.cli.spoof import open_spoof_trials, parse_costs, speaking_of_kinds
from llrkit.errors import InputError, PooledClassesWarning

if TYPE_CHECKING:
    from llrkit.spoof.spoof_trials import SpoofTrials


def sasv_options(command: Any) -> Any:
    """The options of ``fuse`` that are about spoofing."""
    for option in (
        click.option("--on", "evaluation", multiple=True, metavar="FILE",
                     help="With --sasv: other trials for the table, given like SCORES (one file, or two)."),
        click.option("--costs", metavar="NAME|PTAR,PNON,PSPF[,CMISS,CFA,CFASPF]",
                     help="With --sasv: the costs to decide for; asvspoof5 by default."),
        click.option("--cm-column", metavar="NAME", help="With --sasv: the scores of the countermeasure."),
        click.option("--asv-column", metavar="NAME", help="With --sasv: those of speaker verification."),
        click.option("--sasv", is_flag=True,
                     help="SCORES are of speaker verification and of a countermeasure: a spoofing-robust "
                     "LLR. --method bayes, bayes-trained (default) or linear."),
    ):  # fmt: skip
        command = option(command)
    return command


def require_sasv(**given: Any) -> None:
    """Refuse what goes with --sasv only."""
    for name, value in given.items():
        if value:
            raise InputError(f"--{name.replace('_', '-')} is for --sasv")


def refuse_with_sasv(**given: Any) -> None:
    """Refuse what a fusion of speaker verification and countermeasure has no use for."""
    for name, value in given.items():
        if value:
            raise InputError(f"--{name.replace('_', '-')} does not go with --sasv")


def fuse_sasv(
    scores: tuple[str, ...],
    *,
    output: str,
    method: str,
    columns: dict[str, str | None],
    evaluation: tuple[str, ...],
    costs: str | None,
    regularization: float,
    ids: str | None,
    json_path: str | None,
    reading: dict[str, Any],
) -> None:
    """Train the fusion, save it, and print the a-DCF of every method."""
    from llrkit.spoof.sasv_comparison import compare_sasv
    from llrkit.spoof.sasv_fusion import RIDGE, fit_sasv

    chosen = parse_costs(costs or "asvspoof5")
    wanted: Any = "bayes-trained" if method == "logistic" else method
    with unwarned(PooledClassesWarning), speaking_of_kinds():
        dev, held = _trials(scores, columns, ids, reading)
        others = _trials(evaluation, columns, ids, reading)[0] if evaluation else None
        fusion = fit_sasv(dev, wanted, costs=chosen, regularization=regularization or RIDGE)
        compared = compare_sasv(dev, others, costs=chosen)
    # as the columns of the files are called, by which 'apply' finds them again
    fusion = replace(fusion, reading={**(fusion.reading or {}), "score": list(held)})
    joined_on = {"joined_on": split_names(ids)} if ids else {}
    fusion = fusion.with_provenance(
        training_files=list(scores), training_sha256=[sha256_of(path) for path in scores], **joined_on
    )
    fusion.save(output)
    to_stderr = json_path == "-"
    header, rows = compared.table()
    print_table(header, rows, to_stderr=to_stderr, title=f"a-DCF {compared.costs}")
    click.echo(f"\n{fusion!r}\nSaved in {output}", err=to_stderr)
    write_json({**compared.to_dict(), "chosen": wanted, "fusion": fusion.to_dict()}, "fuse", json_path)


def _trials(
    files: tuple[str, ...], columns: dict[str, str | None], ids: str | None, reading: dict[str, Any]
) -> tuple[SpoofTrials, tuple[str, ...]]:
    """The trials, and the columns of their files that hold the scores."""
    if len(files) == 1:
        trials = open_spoof_trials(files[0], columns, None, reading)
        return trials, tuple(trials.systems[system] for system in ("asv", "cm") if system in trials.systems)
    if len(files) != 2:
        raise InputError(f"--sasv takes one file with both scores, or ASV and CM files; got {len(files)}")
    from llrkit.io.countermeasures import join_countermeasure
    from llrkit.io.open import table_options
    from llrkit.io.reading import TANDEM
    from llrkit.io.tables import read_table
    from llrkit.spoof.spoof_trials import SpoofTrials

    given = TrialInput.of(reading).reading
    given.require(TANDEM)
    named = (replace(given, score=(name,)) if name else given for name in (columns["asv"], columns["cm"]))
    asv, cm = (read_table(file, **table_options(one)) for file, one in zip(files, named, strict=True))
    joined = join_countermeasure(asv, cm, split_names(ids) or ())
    asv_name, cm_name = joined.score
    trials = SpoofTrials(joined.table, asv=asv_name, cm=cm_name, label=joined.label or "")
    return trials, (asv.score[0], cm.score[0])
