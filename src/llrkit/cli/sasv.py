"""``llrkit fuse --sasv``: one score from speaker verification and a countermeasure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.calibrate import sha256_of
from llrkit.cli.output import print_table, unwarned, write_json
from llrkit.cli.spoof import open_spoof_trials, parse_costs, speaking_of_kinds
from llrkit.errors import InputError, PooledClassesWarning

if TYPE_CHECKING:
    from llrkit.cli.kinds.asked import ToFuse
    from llrkit.cli.kinds.spoof_files import SpoofFiles
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


def fuse_sasv(files: SpoofFiles, asked: ToFuse) -> None:
    """Train the fusion, save it, and print the a-DCF of every method."""
    from llrkit.spoof.compare_fusions import compare
    from llrkit.spoof.sasv_fusion import RIDGE, fit_sasv

    costs = parse_costs(files.costs[0] if files.costs else "asvspoof5")
    wanted: Any = "bayes-trained" if asked.method == "logistic" else asked.method
    with unwarned(PooledClassesWarning), speaking_of_kinds():
        dev, held = _trials(files, files.paths)
        others = _trials(files, files.others)[0] if files.others else None
        fusion = fit_sasv(dev, wanted, costs=costs, regularization=asked.regularization or RIDGE)
        compared = compare(dev, dev if others is None else others, costs=costs)
    # as the columns of the files are called, by which 'apply' finds them again
    fusion = replace(fusion, reading={**(fusion.reading or {}), "score": list(held)})
    ids = files.given.reading.ids
    fusion = fusion.with_provenance(
        training_files=list(files.paths),
        training_sha256=[sha256_of(path) for path in files.paths],
        **({"joined_on": list(ids)} if ids else {}),
    )
    fusion.save(asked.output)
    print_table(*compared.table(), to_stderr=asked.to_stderr, title=f"a-DCF {compared.costs}")
    click.echo(f"\n{fusion!r}\nSaved in {asked.output}", err=asked.to_stderr)
    write_json({**compared.to_dict(), "chosen": wanted, "fusion": fusion.to_dict()}, "fuse", asked.json_path)


def _trials(files: SpoofFiles, paths: tuple[str, ...]) -> tuple[SpoofTrials, tuple[str, ...]]:
    """The trials, and the columns of their files that hold the scores."""
    ids, given = files.given.reading.ids, files.given.reading.with_files(ids=())
    if len(paths) == 1:
        trials = open_spoof_trials(paths[0], files.columns, None, replace(files.given, reading=given))
        return trials, tuple(trials.systems[system] for system in ("asv", "cm") if system in trials.systems)
    if len(paths) != 2:
        raise InputError(f"--sasv takes one file with both scores, or ASV and CM files; got {len(paths)}")
    from llrkit.io.countermeasures import join_countermeasure
    from llrkit.io.files_to_trials import table_options
    from llrkit.io.reading_options import TANDEM
    from llrkit.io.tables import read_table
    from llrkit.spoof.spoof_trials import SpoofTrials

    given.require(TANDEM)
    columns = (files.columns["asv"], files.columns["cm"])
    named = (replace(given, score=(name,)) if name else given for name in columns)
    asv, cm = (read_table(file, **table_options(one)) for file, one in zip(paths, named, strict=True))
    joined = join_countermeasure(asv, cm, ids)
    asv_name, cm_name = joined.score
    trials = SpoofTrials(joined.table, asv=asv_name, cm=cm_name, label=joined.label or "")
    return trials, (asv.score[0], cm.score[0])
