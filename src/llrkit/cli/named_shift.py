"""``--map`` of evaluate and report: whether the scores are still what the calibration was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.reading import accept_changed_option
from llrkit.errors import InputError, TooFewTrialsError

if TYPE_CHECKING:
    from llrkit.scores.source import ScoreSource


def map_option(command: Any) -> Any:
    """The options of commands that name a shift."""
    given = click.option(
        "--map", "map_path", metavar="FILE",
        help="The calibration that wrote these LLRs, or is meant for these scores: say whether they have "
        "moved since its training (see 'llrkit shift'). It is not applied.",
    )  # fmt: skip
    return given(accept_changed_option(command))


def named_shift(
    map_path: str | None, trials: ScoreSource, speakers: Sequence[str] | None, *, accept_changed: bool
) -> tuple[str, dict[str, Any]]:
    """What the calibration says of scores, in words and as plain values; nothing without one."""
    if map_path is None:
        if accept_changed:
            raise InputError("--accept-changed is for a calibration (--map)")
        return "", {}
    from llrkit.calibrate.map_files import load_map
    from llrkit.shift.apply_judge import text_by_labels
    from llrkit.shift.check import check_shift
    from llrkit.validation.given_calibration import scores_beside

    fitted = load_map(map_path, accept_changed=accept_changed)
    scores = trials
    if trials.roles.calibrated and not (fitted.reading or {}).get("calibrated"):
        beside = scores_beside(trials, fitted)
        if beside is None:
            names = ", ".join((fitted.reading or {}).get("score") or ()) or "which is not known"
            raise InputError(
                f"--map {map_path}: beside its LLRs the file keeps no scores in the column of training "
                f"({names}), without which no shift can be told"
            )
        scores = beside
    try:
        check = check_shift(fitted, scores, speakers=speakers)
    except TooFewTrialsError as error:
        text = f"No shift was looked for: {error}."
        return text, {"shift": {"text": text}}
    plain = check.to_dict()
    if check.refusal:  # what scores do not tell, their labels do
        llrs = fitted.on(trials) if scores is trials else trials
        plain["text"] = text_by_labels(fitted, check, scores, llrs)
    return plain["text"], {"shift": plain}
