"""``llrkit calibrate``: make a map from score to LLR."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llrkit.base.process import warn_caller
from llrkit.base.text import Json, as_number, as_object, did_you_mean
from llrkit.cli.class_options import classes_option, prior_option
from llrkit.cli.kinds.asked_options import ToCalibrate
from llrkit.cli.kinds.two_classes import TwoClassFiles
from llrkit.cli.kinds.which_kind import score_files
from llrkit.cli.options import asking, parse_options, parse_points, split_names
from llrkit.cli.output import json_option, options_as_typed, print_table, write_json
from llrkit.cli.shared_options import bound_options
from llrkit.cli.shown_warnings import is_told, trained_without, unwarned
from llrkit.cli.trial_input import TrialInput, cluster_options, reading_options
from llrkit.errors import InputError, NoOverlapWarning, ShapeWarning

if TYPE_CHECKING:
    from llrkit.io.read_options import PathArg
    from llrkit.maps.bounds import BoundedMap
    from llrkit.maps.map import Map
    from llrkit.scores.source import ScoreSource
    from llrkit.verbs.evaluation_result import Evaluation

COMMAND_OPTIONS = ("labels", "groups", "group_limits")
"""Parameters of fits that are not given by --option: the command has its own, or none."""


def _show_methods(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Every method with its options and what it does, from the functions themselves; then stop."""
    if not wanted or context.resilient_parsing:
        return
    from llrkit.fits.best import fit_best
    from llrkit.fits.folds import METHODS

    fits: dict[str, Callable[..., Map]] = {**METHODS, "best": fit_best}
    for name, fit in fits.items():
        first_line = (fit.__doc__ or "").partition("\n")[0].replace("`", "")
        click.echo(f"{name}: {first_line}")
        for option in list(signature(fit).parameters.values())[1:]:
            if option.name not in COMMAND_OPTIONS:
                click.echo(f"    --option {option.name}={_spelled_default(option.default)}")
    context.exit()


def _spelled_default(value: object) -> str:
    """A default as one would type it."""
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value)


@click.command("calibrate")
@click.argument("train")
@click.option("--method", default="logistic", show_default=True, metavar="NAME",
              help="cmlg, logistic, pav, ..., or 'best': several, weighted by cross-validation.")  # fmt: skip
@click.option("--help-methods", is_flag=True, is_eager=True, expose_value=False, callback=_show_methods,
              help="List the methods with their options and exit.")  # fmt: skip
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
    "--groups",
    metavar="COL[,COL]",
    help="Column of what may be new in use (attacks, devices): LLRs are bounded by the number of its values. "
    "With 'best', or cmlg and alpha=auto, a value is also never in two folds.",
)
@bound_options
@classes_option
@prior_option
@reading_options
@cluster_options
@json_option
@asking(ToCalibrate)
def calibrate_command(
    asked: ToCalibrate, train: str, classes: str | None, prior: str | None, **reading: Any
) -> None:
    """Train a map from score to LLR and save it.

    By default LLRs are bounded by the number of independent sources in the training trials: the trials
    themselves, or speakers and pairs of speakers if --speakers names their columns. The file records how the
    scores were read and their range, which 'llrkit apply' uses.

    Methods for log-likelihoods of several classes: temperature, scale-offset (also called logistic there),
    vector, affine, gaussian or free-gaussian.

    \b
    Examples:
      llrkit calibrate dev.csv --method cmlg -o cal.json
      llrkit calibrate dev.csv --method cmlg --option alpha=auto --option point=sre08 -o cal.json
      llrkit calibrate dev.csv --method logistic --option prior=0.01 -o cal.json
      llrkit calibrate dev.tsv --method best --groups enroll_speaker,test_speaker -o cal.json
      llrkit calibrate dev.tsv --speakers enroll_speaker,test_speaker -o cal.json
      llrkit calibrate languages.tsv --method scale-offset --prior counts -o cal.json
    """
    given = TrialInput.of(reading)
    score_files((train,), given, classes=classes, prior=prior).calibrate(asked)


def calibrate_scores(files: TwoClassFiles, asked: ToCalibrate) -> None:
    """Train a map of scores of targets and non-targets and save it."""
    from llrkit.fits.best import fit_best
    from llrkit.fits.folds import METHODS, fit_of
    from llrkit.maps.bounds import BoundedMap, bound_sentence, parse_bound
    from llrkit.maps.training_range import class_gap, gap_sentence
    from llrkit.verbs.calibrate import calibrate
    from llrkit.verbs.evaluation_result import saturation

    parse_bound(asked.bound)  # a word nobody knows is refused before anything is read
    (train,) = files.paths
    trials = files.given.open(train)
    options: dict[str, object] = {**parse_options(asked.settings)}
    if asked.by and "," in asked.by:
        raise InputError(f"calibrate --by takes one column, got {asked.by!r}")
    if asked.method == "best" and asked.by:
        raise InputError("--by and --method best cannot be combined")
    fit: Callable[..., Map] = fit_best if asked.method == "best" else fit_of(asked.method, METHODS)
    refuse_unknown(fit, options, asked.method)
    if options.get("point") is not None:
        options["point"] = parse_points([str(options["point"])])[0]
    if asked.groups and asked.by:
        raise InputError("--groups and --by cannot be combined")
    deals_folds = asked.method == "best" or options.get("alpha") == "auto"
    if asked.groups and asked.bound != "sources" and not deals_folds:
        raise InputError(f"--groups bound the LLRs: leave out --bound {asked.bound} or --groups")
    with options_as_typed(), unwarned(NoOverlapWarning):  # of classes without overlap it is told below
        made = calibrate(
            trials,
            None,
            method=fit,
            bound=asked.bound,
            speakers=split_names(asked.speakers),
            groups=split_names(asked.groups),
            by=asked.by,
            **options,
        )
    before, after = made.before, made.after
    assert before is not None  # the methods are of one system
    fitted = made.map.with_provenance(
        training_file=Path(train).name,
        **trained_without(),
        training_sha256=sha256_of(train),
        **_hashes_of_other_files(key=files.given.reading.key, nontargets=files.given.reading.nontargets),
    )
    # what a choice found out stays with the map that was chosen, which is inside its bounds
    chosen = {**fitted.map.details, **fitted.details} if isinstance(fitted, BoundedMap) else fitted.details
    fitted.save(asked.output)
    click.echo(f"{fitted!r}", err=asked.to_stderr)
    if "cross_validation" in chosen:
        _show_cross_validation(chosen, asked.to_stderr)
    if "alpha_choice" in chosen:
        click.echo(_words_on_alpha(as_object(chosen["alpha_choice"])), err=asked.to_stderr)
    click.echo(bound_sentence(fitted), err=asked.to_stderr)
    if isinstance(fitted, BoundedMap):
        if asked.bound == "none" and asked.method == "best":
            from llrkit.fits.best import BEYOND

            always = f"'best' always has these bounds, log(1 + {BEYOND:g} n) for n trials of the other class."
            click.echo(always, err=asked.to_stderr)
        effect = _effect_of_bounds(fitted, trials, optional=asked.method != "best")
        click.echo(effect, err=asked.to_stderr)
    if asked.bound == "none" and (gap := class_gap(trials)) is not None:
        said = gap_sentence(gap, bounded=isinstance(fitted, BoundedMap))
        click.echo(f"{said[0].upper()}{said[1:]}.", err=asked.to_stderr)
    click.echo(
        f"On the {before.n_target:,} + {before.n_nontarget:,} training trials Cllr goes from "
        f"{before.cllr:.4f} to {after.cllr:.4f} bits (minimum {after.min_cllr:.4f}). Saved in {asked.output}",
        err=asked.to_stderr,
    )
    if options.get("supervised") is not None:
        click.echo(
            f"Whether the map does badly was not checked: where {options['supervised']!r} is false the "
            "labels may not be known.",
            err=asked.to_stderr,
        )
    warn_of_few(before)
    for said in saturation(before, trials):
        # a fit that does badly for it says so, with the shares of its own trials where there are several fits
        if not is_told(said.partition(" scores are ")[2]):
            warn_caller(said, ShapeWarning)
    if before.verdict.outcome == "uninformative":
        click.echo(f"The scores are {before.verdict.text}", err=asked.to_stderr)
    write_json(fitted.to_dict(), "calibrate", asked.json_path)


def warn_of_few(trained_on: Evaluation) -> None:
    """Say it if few trials of a class train a calibration."""
    from llrkit.fits.training_checks import few_to_train

    if few := few_to_train(trained_on.n_target, trained_on.n_nontarget):
        warn_caller(few, ShapeWarning)


def _effect_of_bounds(fitted: BoundedMap, trials: ScoreSource, *, optional: bool) -> str:
    """How many training LLRs the bounds hold, what Cllr would be without them, and how to do without.

    A choice among methods depends on its bounds: without them another map would be made.
    """
    import numpy as np

    from llrkit.base.text import counted, number
    from llrkit.core.numerics import LN2
    from llrkit.metrics.costs import cross_entropy_from_losses, losses_at

    free = losses_at(fitted.map.on(trials), thresholds=[fitted.low, np.nextafter(fitted.high, np.inf)])
    below = free.n_miss[0] + free.n_nontarget - free.n_fa[0]
    above = free.n_target - free.n_miss[1] + free.n_fa[1]
    held, total = round(float(below + above)), round(float(free.n_target + free.n_nontarget))
    without = "without them (--bound none)" if optional else "without them"
    return (
        f"They limit {held:,} of {counted(total, 'training LLR')}; {without} Cllr would be "
        f"{number(float(cross_entropy_from_losses(free)[0] / LN2))} bits there."
    )


def _show_cross_validation(details: Mapping[str, object], to_stderr: bool) -> None:
    """The table of a choice by cross-validation: loss and weight of each method, or why it has none."""
    from llrkit.fits.best import MethodRow

    prior, weights = as_number(details["prior"]), as_object(details["weights"])
    loss = "Cllr" if prior == 0.5 else f"cross-entropy at the prior {prior:g}"
    rows = []
    for row in MethodRow.of_details(details):
        weight = f"{100 * as_number(weights[row.method]):5.1f} %" if row.method in weights else "    -"
        rows.append((row.method, f"{row.cllr:.4f}", row.reason or weight))
    if len(weights) > 1:
        rows.append(("the blend", f"{as_number(details['expected_cllr']):.4f}", ""))
    title = f"Cross-validated {loss}, and the weight in the result:"
    print_table(("", "", ""), rows, to_stderr=to_stderr, title=title, left=(0, 2))


def _words_on_alpha(choice: Mapping[str, Json]) -> str:
    """Which alpha was chosen, and what for."""
    alpha, cost, at_half = (as_number(choice[name]) for name in ("alpha", "cost", "cost_at_half"))
    at = f"cross-validated cost at {choice['point']}"
    if alpha == 0.5:
        return f"alpha = 1/2 kept: {at} {at_half:.4f}, and no other weight is clearly better"
    return f"alpha = {alpha:.3g}: {at} {cost:.4f}; {at_half:.4f} at 1/2"


def refuse_unknown(fit: Callable[..., object], options: Iterable[str], method: str) -> None:
    """Refuse options that a method does not have."""
    known = [name for name in list(signature(fit).parameters)[1:] if name not in COMMAND_OPTIONS]
    for name in options:
        if name not in known:
            takes = ", ".join(known) or "no options"
            raise InputError(f"--option {name}{did_you_mean(name, known)}: {method} takes {takes}")


def _hashes_of_other_files(**files: PathArg | None) -> dict[str, str]:
    """What is kept of the other files that a training set came from."""
    kept: dict[str, str] = {}
    for name, path in files.items():
        if path is not None:
            kept |= {f"training_{name}": Path(path).name, f"training_{name}_sha256": sha256_of(str(path))}
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
    from llrkit.base.files import file_sha256
    from llrkit.io.formats import files_of

    hashes = [(file_sha256(file), file.name) for file in files_of(path)]
    if len(hashes) == 1 and Path(path).is_file():
        return hashes[0][0]
    return hashlib.sha256("".join(f"{digest}  {name}\n" for digest, name in hashes).encode()).hexdigest()
