"""``llrkit calibrate`` and ``llrkit apply``: make a map from score to LLR, use it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.output import (
    json_option,
    parse_options,
    read_options,
    reading_options,
    shown_warnings,
    write_json,
)
from llrkit.errors import InputError, SystemCountError

if TYPE_CHECKING:
    from llrkit.calibrate.maps import Map


def _show_methods(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Every method with its options and what it does, from the functions themselves; then stop."""
    if not wanted or context.resilient_parsing:
        return
    from llrkit.choose.best import fit_best
    from llrkit.choose.methods import METHODS

    for name, fit in {**METHODS, "best": fit_best}.items():
        first_line = (fit.__doc__ or "").partition("\n")[0].replace("`", "")
        click.echo(f"{name}: {first_line}")
        for option in list(signature(fit).parameters.values())[1:]:
            if option.name != "groups":  # has an option of the command
                click.echo(f"    --option {option.name}={_spelled(option.default)}")
    context.exit()


def _spelled(value: Any) -> str:
    """A default as one would type it."""
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value)


@click.command("calibrate")
@click.argument("train")
@click.option("--method", default="logistic", show_default=True, metavar="NAME",
              help="cmlg, logistic, pav, ..., or 'best' to choose by cross-validation.")  # fmt: skip
@click.option("--help-methods", is_flag=True, is_eager=True, expose_value=False, callback=_show_methods,
              help="List the methods with their options, and stop.")  # fmt: skip
@click.option("-o", "--output", required=True, metavar="FILE", help="The calibration file (JSON).")
@click.option(
    "--option",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the method, see --help-methods. Repeatable.",
)
@click.option("--by", metavar="COLUMN", help="One calibration for each value of this column.")
@click.option(
    "--groups", metavar="COL[,COL]", help="With 'best': columns whose values never share two folds."
)
@reading_options
@json_option
def calibrate_command(
    train: str,
    method: str,
    output: str,
    settings: tuple[str, ...],
    by: str | None,
    groups: str | None,
    json_path: str | None,
    **reading: Any,
) -> None:
    """Train a map from score to LLR and save it.

    \b
    Examples:
      llrkit calibrate dev.csv --method cmlg -o cal.json
      llrkit calibrate dev.csv --method logistic --option prior=0.01 -o cal.json
      llrkit calibrate dev.tsv --method best --groups enroll_speaker,test_speaker -o cal.json
    """
    from llrkit.calibrate.conditional import fit_by
    from llrkit.choose.best import fit_best
    from llrkit.choose.methods import METHODS, method_name
    from llrkit.io import read_trials
    from llrkit.metrics.measure import evaluate

    trials = read_trials(train, **read_options(**reading))
    options = parse_options(settings)
    if method == "best" and by:
        raise InputError("--by and --method best do not go together")
    fit = fit_best if method == "best" else METHODS[method_name(method)]
    _refuse_unknown(fit, options, method)
    with shown_warnings():
        if method == "best":
            fitted = fit_best(trials, groups=groups.split(",") if groups else None, **options)
        elif by:
            fitted = fit_by(trials, by, fit, **options)
        else:
            fitted = fit(trials, **options)
    before, after = evaluate(trials), evaluate(fitted.on(trials))
    fitted = fitted.with_provenance(
        training_file=Path(train).name,
        training_sha256=sha256_of(train),
        training_cllr_before=before.cllr,
        training_cllr=after.cllr,
        training_min_cllr=after.min_cllr,
        training_eer=after.eer,
    )
    fitted.save(output)
    to_stderr = json_path == "-"
    click.echo(f"{fitted!r}", err=to_stderr)
    rows = fitted.details.get("cross_validation", ())
    if rows:
        click.echo("Cross-validated Cllr:", err=to_stderr)
    for row in rows:
        taken = "chosen" if row["method"] == fitted.details["chosen"] else row.get("reason", "")
        click.echo(f"  {row['method']:<12} {row['cllr']:.4f} {taken}".rstrip(), err=to_stderr)
    click.echo(
        f"On the {before.n_target:,} + {before.n_nontarget:,} training trials Cllr goes from "
        f"{before.cllr:.4f} to {after.cllr:.4f} bits (minimum {after.min_cllr:.4f}). Saved in {output}",
        err=to_stderr,
    )
    write_json(fitted.to_dict(), "calibrate", json_path)


def _refuse_unknown(fit: Callable[..., Any], options: dict[str, Any], method: str) -> None:
    known = list(signature(fit).parameters)[1:]
    for name in options:
        if name not in known:
            raise InputError(f"--option {name}: {method} takes {', '.join(known) or 'no options'}")


def sha256_of(path: str) -> str:
    """The hash of a training file, as kept in a calibration file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@click.command("apply")
@click.argument("calibration")
@click.argument("scores", nargs=-1, required=True)
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="Where the LLRs go: .parquet, .csv or .tsv."
)
@click.option(
    "--score-column", default="score", show_default=True, metavar="NAME", help="Column of the scores."
)
@click.option("--ids", metavar="COL[,COL]", help="For several files: the columns that identify a trial.")
def apply_command(
    calibration: str, scores: tuple[str, ...], output: str, score_column: str, ids: str | None
) -> None:
    """Turn scores into LLRs with a saved calibration or fusion.

    All columns are kept; the LLRs are in the column 'score', the score before is in 'raw_score'. One table is
    streamed, so its size does not matter. A fusion takes one file per system, in the order of training,
    which are joined in memory, or one file with a column per system.

    \b
    Examples:
      llrkit apply cal.json eval.parquet -o llrs.parquet
      llrkit apply fusion.json a.csv b.csv c.csv -o llrs.csv
    """
    from llrkit.calibrate.files import load_map
    from llrkit.io.stream import scan_table, write_scored

    fitted = load_map(calibration)
    systems = fitted.system_names or [score_column]
    if len(scores) == 1:
        table, names = scan_table(scores[0]), systems if fitted.n_systems > 1 else [score_column]
    else:
        table, names = _joined(fitted, scores, systems, ids)

    def llrs(values: Any, columns: dict[str, Any], before: int) -> Any:
        import numpy as np

        if not fitted.accepts_missing:
            bad = np.isnan(values) if values.ndim == 1 else np.isnan(values).any(axis=1)
            if bad.any():
                raise InputError(f"row {before + int(np.argmax(bad))}: the score is missing or NaN")
        return fitted(values, columns)

    rows = write_scored(table, output, names, fitted.needs, llrs)
    click.echo(f"{rows:,} LLRs written to {output} (column 'score')")


def _joined(
    fitted: Map, scores: tuple[str, ...], systems: list[str], ids: str | None
) -> tuple[Any, list[str]]:
    from llrkit.io.join import join_systems

    if len(scores) != fitted.n_systems:
        raise SystemCountError(
            f"the calibration takes {fitted.n_systems} systems ({', '.join(systems)}), "
            f"got {len(scores)} files"
        )
    missing = "subset" if fitted.accepts_missing else "error"
    table, names = join_systems(scores, ids=ids.split(",") if ids else (), missing=missing, labelled=False)
    if names != systems and set(names) == set(systems):
        raise InputError(
            f"the systems are in another order than in training, which was: {', '.join(systems)}"
        )
    if names != systems:
        pairs = ", ".join(f"{name} as {system}" for name, system in zip(names, systems, strict=True))
        click.echo(f"the files are named differently from training; taken are {pairs}", err=True)
    return table.lazy(), names
