"""``llrkit shift`` and ``llrkit adapt``, and ``--map`` of other commands: scores of a new domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from llrkit.base.text import as_object
from llrkit.cli.options import Command, split_names
from llrkit.cli.output import json_option, write_json
from llrkit.cli.trial_input import TrialInput, accept_changed_option, cluster_options, reading_options
from llrkit.errors import InputError, TooFewTrialsError

if TYPE_CHECKING:
    from llrkit.base.text import Json
    from llrkit.maps.map import Map
    from llrkit.scores.source import ScoreSource


_speakers_option = click.option(
    "--speakers", metavar="COL[,COL]",
    help="Columns with the speakers of a trial: trials that share one are not independent.",
)  # fmt: skip
_share_option = click.option(
    "--share", metavar="P|LOW,HIGH", help="The share of targets among the scores, or a range of it, if known."
)


@click.command("shift")
@click.argument("calibration")
@click.argument("scores")
@_speakers_option
@_share_option
@accept_changed_option
@reading_options
@cluster_options
@json_option
def shift_command(
    calibration: str,
    scores: str,
    speakers: str | None,
    share: str | None,
    accept_changed: bool,
    json_path: str | None,
    **reading: Any,
) -> None:
    """Check whether scores have changed since training.

    Compares the scores with those that the calibration was trained on.

    Labels are not needed, and not looked at where there are any. The answer has the share of targets, a test
    of whether the scores fit any mixture of the training classes, how each class moved, and how many bits the
    calibration is expected to lose by it. A fusion takes one file with a column per system.

    \b
    Examples:
      llrkit shift cal.json new.csv
      llrkit shift cal.json new.csv --speakers enroll_speaker,test_speaker
      llrkit shift cal.json new.parquet --share 0.001,0.05 --json shift.json
    """
    from llrkit.engine.apply_files import refuse_other_scale
    from llrkit.maps.files import load_map
    from llrkit.shift.shift_check import check_shift

    fitted = load_map(calibration, accept_changed=accept_changed)
    given = _for_systems(TrialInput.of(reading), fitted)
    refuse_other_scale(fitted, given.reading)
    trials = given.open_unlabeled(scores)
    check = check_shift(fitted, trials, speakers=split_names(speakers), share=parse_share(share))
    click.echo(check.text, err=json_path == "-")
    write_json(check.to_dict(), "shift", json_path)


@click.command("adapt")
@click.argument("calibration")
@click.argument("scores")
@click.option("-o", "--output", required=True, metavar="FILE", help="The adapted calibration file (JSON).")
@click.option("--labeled", metavar="FILE", help="A few labeled trials of the new domain, at least about ten.")
@_speakers_option
@_share_option
@accept_changed_option
@reading_options
@cluster_options
@json_option
def adapt_command(
    calibration: str,
    scores: str,
    output: str,
    labeled: str | None,
    speakers: str | None,
    share: str | None,
    accept_changed: bool,
    json_path: str | None,
    **reading: Any,
) -> None:
    """Adapt a calibration to unlabeled scores of a new domain.

    If the scores do not show how they changed, the command fails and says why; a few labeled trials
    (--labeled) then help. If the scores have not changed enough to matter, the calibration is saved as it
    is. A fusion takes one file with a column per system.

    \b
    Examples:
      llrkit adapt cal.json new.csv -o cal2.json
      llrkit adapt cal.json new.csv --share 0.01,0.1 -o cal2.json
      llrkit adapt cal.json new.csv --labeled few.csv -o cal2.json
    """
    from llrkit.cli.calibrate import sha256_of
    from llrkit.engine.apply_files import refuse_other_scale
    from llrkit.maps.files import load_map
    from llrkit.shift.adapt import fit_adapted
    from llrkit.shift.shift_check import is_few_labels, labels_text

    fitted = load_map(calibration, accept_changed=accept_changed)
    given = _for_systems(TrialInput.of(reading), fitted)
    refuse_other_scale(fitted, given.reading)
    shares, columns = parse_share(share), split_names(speakers)
    few = given.open(labeled) if labeled is not None else None
    trials = given.open_unlabeled(scores)
    adapted = fit_adapted(fitted, trials, share=shares, labeled=few, speakers=columns)
    adapted = adapted.with_provenance(adapted_from=sha256_of(calibration))
    adapted.save(output)
    few_labels = adapted.details.get("few_labels")
    if is_few_labels(few_labels):
        click.echo(few_labels.get("unlabeled"), err=json_path == "-")
        click.echo(labels_text(few_labels), err=json_path == "-")
        how = "adapted by labels"
    else:
        told = as_object(adapted.details["adaptation"])
        click.echo(told["text"], err=json_path == "-")
        how = "as it was" if told["rung"] == "no shift" else f"adapted ({told['rung']})"
    click.echo(f"The calibration is saved {how} in {output}", err=json_path == "-")
    write_json(adapted.to_dict(), "adapt", json_path)


def _for_systems(given: TrialInput, fitted: Map) -> TrialInput:
    """For a fusion: the columns of its systems, as typed or as in training."""
    if fitted.n_systems == 1:
        return given
    typed = given.reading.score
    columns = tuple(typed[0].split(",")) if typed else tuple(fitted.system_names)
    return replace(given, reading=replace(given.reading, score=columns))


def parse_share(typed: str | None) -> float | tuple[float, ...] | None:
    """A share of targets, or the two ends of a range, as typed.

    Examples
    --------
    >>> parse_share("0.1"), parse_share("1%,5%")
    (0.1, (0.01, 0.05))
    """
    if typed is None:
        return None
    try:
        ends = tuple(
            float(word.removesuffix("%")) / (100.0 if word.endswith("%") else 1.0)
            for word in typed.replace(" ", "").split(",")
        )
    except ValueError:
        raise InputError(
            f"--share {typed}: write a share of targets (0.01, 1%) or a range (0.01,0.1)"
        ) from None
    return ends[0] if len(ends) == 1 else ends


def map_option(command: Command) -> Command:
    """The options of commands that name a shift."""
    given = click.option(
        "--map", "map_path", metavar="FILE",
        help="The calibration that wrote these LLRs, or is meant for these scores: say whether they have "
        "moved since its training (see 'llrkit shift'). It is not applied.",
    )  # fmt: skip
    return given(accept_changed_option(command))


def named_shift(
    map_path: str | None, trials: ScoreSource, speakers: Sequence[str] | None, *, accept_changed: bool
) -> tuple[str, dict[str, Json]]:
    """What the calibration says of scores, in words and as plain values; nothing without one."""
    if map_path is None:
        if accept_changed:
            raise InputError("--accept-changed needs a calibration file (--map)")
        return "", {}
    from llrkit.maps.files import load_map
    from llrkit.shift.shift_check import check_shift, text_by_labels
    from llrkit.verbs.given_calibration import scores_beside

    fitted = load_map(map_path, accept_changed=accept_changed)
    scores = trials
    if trials.roles.calibrated and not (fitted.reading or {}).get("calibrated"):
        beside = scores_beside(trials, fitted)
        if beside is None:
            names = ", ".join((fitted.reading or {}).get("score") or ()) or "which is not known"
            raise InputError(
                f"--map {map_path}: the file holds LLRs but not the raw scores in the column of training "
                f"({names}), which are needed to find a shift"
            )
        scores = beside
    try:
        check = check_shift(fitted, scores, speakers=speakers)
    except TooFewTrialsError as error:
        text = f"No shift was looked for: {error}."
        return text, {"shift": {"text": text}}
    text = check.text
    if check.refusal:  # what scores do not tell, their labels do
        llrs = fitted.on(trials) if scores is trials else trials
        text = text_by_labels(fitted, check, scores, llrs)
    return text, {"shift": {**check.to_dict(), "text": text}}
