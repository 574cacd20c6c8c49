"""A shift in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NotRequired, TypedDict, TypeGuard

from llrkit._format import number, p_at_level
from llrkit.shift.shift_test import ALPHA

if TYPE_CHECKING:
    from llrkit.shift.check_shift import ClassMove, ShiftCheck


_TAKEN = {
    (True, True): "speakers taken into account",
    (True, False): "speakers taken into account, but those of training are not known",
    (False, True): "speakers of training taken into account, but not those of the scores",
    (False, False): "trials taken as independent",
}


class FewLabels(TypedDict):
    """What a map keeps of the few labels that it was adapted by."""

    n_target: int
    n_nontarget: int
    slope: float
    offset: float
    start: str
    unlabeled: NotRequired[str]
    low: NotRequired[float]
    high: NotRequired[float]


def is_few_labels(value: object) -> TypeGuard[FewLabels]:
    """Whether a detail of a map is this; those of a map that was adapted without labels are not."""
    return isinstance(value, Mapping) and "slope" in value


def labeled_text(
    check: ShiftCheck, target: ClassMove, nontarget: ClassMove, *, cllr: float, least: float
) -> str:
    """A shift of labeled trials: how each class moved, and how much of ``cllr`` their LLRs lose by it."""
    return (
        f"{_fit_in_words(check)} By their labels, targets moved by {_move_in_words(target)}, non-targets by "
        f"{_move_in_words(nontarget)}; of Cllr = {number(cllr)} bits, their LLRs lose {number(cllr - least)} "
        "to calibration."
    )


def _fit_in_words(check: ShiftCheck) -> str:
    """Whether the scores fit a mixture of the training classes."""
    taken = _TAKEN[check.by_groups, check.trained_by_groups]
    p = p_at_level(check.p_value, ALPHA)
    scores = f"{check.n:,} scores"
    if check.n_infinite:
        scores += f", {check.n_infinite:,} of them infinite,"
    head, which = ("A shift", "no") if check.is_shifted else ("No shift was found", "a")
    return f"{head}: the {scores} fit {which} mixture of the training classes ({p}, {taken})."


def shift_text(check: ShiftCheck) -> str:
    """What the scores tell of a shift, in a few sentences."""
    low, high = check.share_interval
    share = f"Estimated share of targets: {_percent(check.share)} ({_percent(low)} to {_percent(high)})."
    said = _fit_in_words(check)
    if not check.is_shifted:
        if check.refusal:
            return (
                f"{said} But {check.refusal}: either that is wrong, or they changed in a way that only "
                "labels show."
            )
        return f"{said} {share} {_harm_in_words(check)}"
    if check.refusal:
        return (
            f"{said} How they changed, and what it costs, cannot be known without labels: {check.refusal}. "
            "Label some trials of the new domain, or bound the LLRs by groups."
        )
    if check.rung == "no shift":
        whole, *classes = check.distances
        said += (
            f" It is small: at most {100.0 * max(whole, *classes):.1f} % of the scores of a class are out of "
            "place."
        )
        return f"{said} {share} {_harm_in_words(check)}"
    moves = (
        f"Targets moved by {_move_in_words(check.target)}, non-targets by {_move_in_words(check.nontarget)} "
    )
    moves += f"({check.rung})."
    return f"{said} {moves} {share} {_harm_in_words(check)}"


def _harm_in_words(check: ShiftCheck) -> str:
    if math.isnan(check.harm):
        return f"Expected harm: not estimated, because {check.no_harm}."
    low, high = check.harm_interval
    return f"Expected harm: {check.harm:.4f} bits of Cllr ({low:.4f} to {high:.4f})."


def _move_in_words(move: ClassMove) -> str:
    return f"{move.offset:+.2f} standard deviations, their spread is {move.spread:.2f} times that of training"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"


def labels_text(few: FewLabels) -> str:
    """What a few labels ask for, in words.

    Examples
    --------
    >>> few = {"n_target": 10, "n_nontarget": 20, "slope": 1.0, "offset": 0.0, "start": "as it was"}
    >>> labels_text(few)
    '30 labeled trials do not contradict the LLRs of the map as it was.'
    >>> labels_text({**few, "slope": 0.5, "low": -2.4, "high": 3.0})
    '30 labeled trials suggest 0.500 times the LLR of the map as it was +0.000, held from -2.4 to 3.'
    """
    n = few["n_target"] + few["n_nontarget"]
    start = "of the map as it was" if few["start"] == "as it was" else "after the move"
    held = f", held from {few['low']:.3g} to {few['high']:.3g}" if "low" in few and "high" in few else ""
    if few["slope"] == 1.0 and few["offset"] == 0.0:
        return f"{n:,} labeled trials do not contradict the LLRs {start}{held}."
    return (
        f"{n:,} labeled trials suggest {few['slope']:.3f} times the LLR {start} {few['offset']:+.3f}{held}."
    )
