"""Which options of ``llrkit plot`` each kind of figure honors; all others are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.io.read_options import Reading

OF_SCORES = ("det", "roc", "ape", "bayes-error", "cross-entropy", "tippett", "pav", "histogram")
OTHERS = ("idempotence", "reliability", "two-gaussians", "theory", "heat-map", "zoo", "cmc", "groups")
OF_CLASSES = ("class-det", "confusion", "class-calibration", "pair-histogram", "class-idempotence")
OF_RESULTS = ("fusion-weights", "mixing", "cllr-scatter", "prior-scan")
WITH_BANDS = ("det", "tippett", "cross-entropy")

HONORED_BY: dict[str, tuple[str, ...]] = {
    "points": (*OF_SCORES, "theory"),
    "by": (*OF_SCORES, "theory", "heat-map", "zoo", "cmc", "groups"),
    "curve": ("det", "roc"),
    "style": ("tippett",),
    "axes": ("det",),
    "fmr": ("groups",),
    "bands": WITH_BANDS,
    "speakers": (*WITH_BANDS, "idempotence", "groups"),
    "value": ("heat-map",),
    "eer": ("two-gaussians",),
    "score_columns": (*OF_SCORES, *OTHERS),
    "names": (*OF_SCORES, *OTHERS),
    "classes": OF_CLASSES,
    "prior": OF_CLASSES,
}
"""The kinds of figure that honor an option."""


@dataclass(frozen=True, kw_only=True)
class ToPlot:
    """Options of ``plot`` that say nothing about reading."""

    score_columns: str | None
    names: str | None
    points: tuple[str, ...]
    by: str | None
    shared: str | None
    curve: str
    style: str
    axes: str
    words: str
    fmr: str | None
    bands: bool
    speakers: str | None
    base_10: bool
    title: str | None
    no_legend: bool
    value: str
    eer: str | None
    classes: str | None
    prior: str | None


def refuse_unused(kind: str, context: click.Context) -> None:
    """Refuse an option that was typed and that this kind of figure would ignore."""
    for option in context.command.params:
        kinds = HONORED_BY.get(option.name or "")
        if kinds is None or kind in kinds:
            continue
        if context.get_parameter_source(option.name or "") is not ParameterSource.DEFAULT:
            name = max(option.opts, key=len)
            raise InputError(f"plot {kind}: {name} is for {', '.join(kinds)}")


def refuse_reading(kind: str, reading: Reading, *, by: str | None = None) -> None:
    """Refuse options of reading, and groups, where no scores are read."""
    if by is not None:
        raise InputError(f"plot {kind}: --by is for files of scores")
    for name in reading.given():
        raise InputError(f"plot {kind}: the option {name!r} of reading is for files of scores")
