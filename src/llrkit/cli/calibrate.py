"""``llrkit calibrate`` and ``llrkit apply``: make a map from score to LLR, use it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import click

from llrkit.cli.class_commands import (
    classes_option,
    has_classes,
    prior_option,
    refuse_for_classes,
)
from llrkit.cli.class_map_commands import apply_classes, calibrate_classes, is_class_map
from llrkit.cli.output import (
    bound_options,
    json_option,
    parse_options,
    print_table,
    split_names,
    write_json,
)
from llrkit.cli.reading import TrialInput, cluster_options, reading_options, worker_options
from llrkit.errors import InputError


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
              help="cmlg, logistic, pav, ..., or 'best': several, weighted by cross-validation.")  # fmt: skip
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
@bound_options
@classes_option
@prior_option
@reading_options
@cluster_options
@json_option
def calibrate_command(
    train: str,
    method: str,
    output: str,
    settings: tuple[str, ...],
    by: str | None,
    groups: str | None,
    bound: str,
    speakers: str | None,
    classes: str | None,
    prior: str | None,
    json_path: str | None,
    **reading: Any,
) -> None:
    """Train a map from score to LLR and save it.

    LLRs are bounded where evidence is thin: by default no LLR is stronger than the number of independent
    sources in the training trials can show, which are trials unless --speakers tells whose they are. The file
    records how the scores were read and their range; 'llrkit apply' obeys it.

    Of a file with log-likelihoods of several classes: temperature, scale-offset (what logistic means there),
    vector, affine, gaussian or free-gaussian.

    \b
    Examples:
      llrkit calibrate dev.csv --method cmlg -o cal.json
      llrkit calibrate dev.csv --method logistic --option prior=0.01 -o cal.json
      llrkit calibrate dev.tsv --method best --groups enroll_speaker,test_speaker -o cal.json
      llrkit calibrate dev.tsv --speakers enroll_speaker,test_speaker -o cal.json
      llrkit calibrate languages.tsv --method scale-offset --prior counts -o cal.json
    """
    given = TrialInput.of(reading)
    if has_classes(train, classes, prior, given):
        refuse_for_classes(
            by=by, groups=groups, speakers=speakers, bound=bound if bound != "sources" else None
        )
        calibrate_classes(
            train, method=method, settings=settings, output=output, classes=classes, prior=prior,
            json_path=json_path, given=given,
        )  # fmt: skip
        return
    from llrkit.calibrate.composite.conditional import fit_by
    from llrkit.calibrate.composite.named_bounds import bound_map, bound_sentence, parse_bound
    from llrkit.choose.best import fit_best
    from llrkit.choose.methods import METHODS, method_name
    from llrkit.evaluation.evaluate import evaluate

    parse_bound(bound)  # a word nobody knows is refused before anything is read
    trials = given.open(train)
    options = parse_options(settings)
    if method == "best" and by:
        raise InputError("--by and --method best do not go together")
    fit = fit_best if method == "best" else METHODS[method_name(method)]
    if groups and method != "best":
        raise InputError("--groups is for --method best")
    refuse_unknown(fit, options, method)
    if method == "best":
        fitted = fit_best(trials, groups=groups.split(",") if groups else None, **options)
    elif by:
        fitted = fit_by(trials, by, fit, **options)
    else:
        fitted = fit(trials, **options)
    chosen = fitted.details
    fitted = bound_map(fitted, trials, bound, speakers=split_names(speakers))
    before, after = evaluate(trials), evaluate(fitted.on(trials))
    fitted = fitted.with_provenance(
        training_file=Path(train).name,
        training_sha256=sha256_of(train),
        **_hashes(key=reading["key"], nontargets=reading["nontargets"]),
        training_cllr_before=before.cllr,
        training_cllr=after.cllr,
        training_min_cllr=after.min_cllr,
        training_eer=after.eer,
    )
    fitted.save(output)
    to_stderr = json_path == "-"
    click.echo(f"{fitted!r}", err=to_stderr)
    if "cross_validation" in chosen:
        _show_cross_validation(chosen, to_stderr)
    click.echo(bound_sentence(fitted), err=to_stderr)
    click.echo(
        f"On the {before.n_target:,} + {before.n_nontarget:,} training trials Cllr goes from "
        f"{before.cllr:.4f} to {after.cllr:.4f} bits (minimum {after.min_cllr:.4f}). Saved in {output}",
        err=to_stderr,
    )
    write_json(fitted.to_dict(), "calibrate", json_path)


def _show_cross_validation(details: Mapping[str, Any], to_stderr: bool) -> None:
    """The table of a choice by cross-validation: loss and weight of each method, or why it has none."""
    loss = "Cllr" if details["prior"] == 0.5 else f"cross-entropy at the prior {details['prior']:g}"
    weights, rows = details["weights"], []
    for row in details["cross_validation"]:
        weight = f"{100 * weights[row['method']]:5.1f} %" if row["method"] in weights else "    -"
        rows.append((row["method"], f"{row['cllr']:.4f}", row.get("reason") or weight))
    if len(weights) > 1:
        rows.append(("the blend", f"{details['expected_cllr']:.4f}", ""))
    title = f"Cross-validated {loss}, and the weight in the result:"
    print_table(("", "", ""), rows, to_stderr=to_stderr, title=title, left=(0, 2))


def refuse_unknown(fit: Callable[..., Any], options: dict[str, Any], method: str) -> None:
    """Refuse options that a method does not have."""
    known = [name for name in list(signature(fit).parameters)[1:] if name != "groups"]
    for name in options:
        if name not in known:
            raise InputError(f"--option {name}: {method} takes {', '.join(known) or 'no options'}")


def _hashes(**files: str | None) -> dict[str, str]:
    """What is kept of the other files that a training set came from."""
    kept: dict[str, str] = {}
    for name, path in files.items():
        if path is not None:
            kept |= {f"training_{name}": Path(path).name, f"training_{name}_sha256": sha256_of(path)}
    return kept


def sha256_of(path: str) -> str:
    """The hash of a training file, as kept in a calibration file.

    Of a directory or a glob, the hash of what ``sha256sum`` prints for its files in the order of their names.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("abc")
    >>> sha256_of(str(file))[:16], sha256_of(str(file.parent))[:16]
    ('ba7816bf8f01cfea', 'de6ab0485a2f9629')
    """
    from llrkit.io.tables import files_of

    hashes = []
    for one in files_of(path):
        with one.open("rb") as file:
            hashes.append((hashlib.file_digest(file, "sha256").hexdigest(), one.name))
    if len(hashes) == 1 and Path(path).is_file():
        return hashes[0][0]
    return hashlib.sha256("".join(f"{digest}  {name}\n" for digest, name in hashes).encode()).hexdigest()


@click.command("apply")
@click.argument("calibration")
@click.argument("scores", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="FILE", help="Where the LLRs go.")
@click.option("--to", metavar="NAME", help="The format to write; by default that of the ending of FILE.")
@click.option("--key-output", metavar="FILE", help="Where the labels go, for Kaldi, NIST and BOSARIS.")
@click.option("--ids", metavar="COL[,COL]", help="For several files: the columns that identify a trial.")
@click.option("--outside", type=click.Choice(["warn", "error", "bound"]), default="warn", show_default=True,
              help="Scores outside the range of the training scores: say how many, refuse them, or take the "
              "nearest score of the range.")  # fmt: skip
@click.option("--base-10", is_flag=True, help="Write LLRs to base ten, in the column 'log10_lr'.")
@click.option("--force", is_flag=True, help="Calibrate LLRs that a calibration wrote once more.")
@reading_options
@worker_options
def apply_command(
    calibration: str,
    scores: tuple[str, ...],
    output: str,
    to: str | None,
    key_output: str | None,
    outside: str,
    base_10: bool,
    force: bool,
    **reading: Any,
) -> None:
    """Turn scores into LLRs with a saved calibration or fusion.

    All columns are kept as they are; the LLRs are in the column 'llr', and 'llr_map' says which calibration
    made them. Scores are read as the calibration was trained: distances, log10 LLRs. Tables are streamed, so
    their size does not matter. A fusion takes one file with a column per system, or one file
    per system in the order of training; if these do not have the same trials in the same order, they are
    joined in memory. The output may have any format that 'llrkit convert' writes. If it ends in '/', every
    file of a directory or pattern becomes a Parquet file of that folder, and an interrupted run goes on.

    \b
    Examples:
      llrkit apply cal.json eval.parquet -o llrs.parquet
      llrkit apply cal.json scores.txt --key trials.txt -o llrs.csv
      llrkit apply fusion.json a.csv b.csv c.csv -o llrs.csv
      llrkit apply cal.json scores/ -o llrs/ --workers 4
    """
    from llrkit.calibrate.map_files import load_map
    from llrkit.engine.apply import ApplyOptions, apply_map

    given = TrialInput.of(reading)
    if is_class_map(calibration):
        refuse_for_classes(key_output=key_output, base_10=base_10, force=force)
        apply_classes(calibration, scores, output, to=to, given=given)
        return
    fitted = load_map(calibration)
    how = given.reading
    if fitted.n_systems > 1 and len(scores) == 1 and how.score:
        how = replace(how, score=tuple(how.score[0].split(",")))
    name = f"{Path(calibration).name} {sha256_of(calibration)[:12]}"
    options = ApplyOptions(name=name, outside=outside, base_10=base_10, force=force)
    if output.endswith("/") or Path(output).is_dir():
        from llrkit.engine.apply_folder import apply_parts

        if len(scores) > 1 or key_output or to not in (None, "parquet"):
            raise InputError(f"{output}: a folder takes the LLRs of one directory or pattern, as Parquet")
        done = apply_parts(fitted, scores[0], output, how, options, run=given.part_runner())
    elif given.on_cluster:
        raise InputError("a cluster writes a folder: let the output end in '/'")
    else:
        done = apply_map(fitted, scores, output, how, options, to=to, key_output=key_output)
    for note in done.notes:
        click.echo(note, err=True)
    column = "log10_lr" if base_10 else "llr"
    plural = "LLR" if done.rows == 1 else "LLRs"
    click.echo(f"{done.rows:,} {plural} written to {output} (column {column!r})")
