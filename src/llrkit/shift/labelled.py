"""What a few labeled trials of the new domain add to what its unlabeled scores tell.

How far the labels are followed depends on what the scores say. If they are as in training, or say how they
moved, the map is believed in, and a line after it must be confirmed by labels that were left out. If there
are too few scores to look at, less is asked for. If the scores have moved and do not say how, the map as it
is deserves no belief: the labels alone decide, and LLRs are bounded by what so few can show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

from llrkit.calibrate.bounds.bounds import bound_sources
from llrkit.calibrate.composed_map import ComposedMap
from llrkit.calibrate.maps import AffineMap, Map
from llrkit.scores import ScoreSource
from llrkit.shift.few_labels import FewLlrs, confirmed_line, shrunk_line, sure_gain
from llrkit.shift.moved_mixture import RUNGS
from llrkit.shift.new_scores import counted_map, densities_of


class Standing(Enum):
    """What the unlabeled scores say of a map; the value is how many standard errors speak against it."""

    DESCRIBED = 2.0
    NOT_LOOKED_AT = 1.0
    REFUSED = 0.0


def with_few_labels(fitted: Map, adapted: Map, few: ScoreSource, standing: Standing, said: str = "") -> Map:
    """The map as it was, or after its move, followed by the line that a few labels ask for.

    ``said`` is what the unlabeled scores tell, for the record.

    Examples
    --------
    >>> import llrkit as lk
    >>> few = lk.Scores([7.0, 5.0, 6.0], [1.0, -0.5, 2.0])
    >>> as_it_was = AffineMap(a=1.0, b=-3.0)
    >>> with_few_labels(as_it_was, as_it_was, few, Standing.REFUSED).high  # log(1 + 3)
    1.3862943611198906
    """
    start = adapted
    if adapted is not fitted:
        moved, unmoved = (FewLlrs.of(one.on(few)).losses for one in (adapted, fitted))
        if sure_gain(moved, unmoved, standing.value) > 0.0:  # the labels speak against the move
            start = fitted
    llrs = start.on(few)
    is_refused = standing is Standing.REFUSED
    line = shrunk_line(llrs) if is_refused else confirmed_line(FewLlrs.of(llrs), standing.value)
    told: dict[str, Any] = {
        "n_target": line.n_target,
        "n_nontarget": line.n_nontarget,
        "slope": line.slope,
        "offset": line.offset,
        "start": "moved"
        if start is not fitted and start.details["adaptation"]["rung"] != RUNGS[0]
        else "as it was",
        "unlabelled": said,
    }
    details = {key: value for key, value in start.details.items() if start is adapted or key != "adaptation"}
    after = AffineMap(a=line.slope, b=line.offset, method="few labels")
    # densities that the new scores do not have would find a shift wherever this map is used
    known = densities_of(start) if standing is Standing.DESCRIBED and start is adapted else None
    first: Map = start
    second: Map = after
    if known is not None and known.of == "LLRs":  # which are counted after the first map
        first, second = counted_map(start)
        second = ComposedMap(first=second, second=after, method="few labels")
    followed = ComposedMap(
        first=first,
        second=second,
        method=f"{start.method}+few labels",
        details={**details, "few_labels": told},
        provenance=start.provenance,
        reading=start.reading,
        densities=None if known is None else known.to_plain(),
    )
    if not is_refused:
        return followed
    bounded = bound_sources(followed, n_sources=(line.n_target, line.n_nontarget))
    told |= {"low": bounded.low, "high": bounded.high}
    return replace(bounded, details={**bounded.details, **details, "few_labels": told})


def labels_text(few: Mapping[str, Any]) -> str:
    """What a few labels ask for, in words.

    Examples
    --------
    >>> few = {"n_target": 10, "n_nontarget": 20, "slope": 1.0, "offset": 0.0, "start": "as it was"}
    >>> labels_text(few)
    '30 labeled trials do not speak against the LLRs of the map as it was.'
    >>> labels_text({**few, "slope": 0.5, "low": -2.4, "high": 3.0})
    '30 labeled trials ask for 0.500 times the LLR of the map as it was +0.000, held from -2.4 to 3.'
    """
    n = few["n_target"] + few["n_nontarget"]
    start = "of the map as it was" if few["start"] == "as it was" else "after the move"
    held = f", held from {few['low']:.3g} to {few['high']:.3g}" if "low" in few else ""
    if few["slope"] == 1.0 and few["offset"] == 0.0:
        return f"{n:,} labeled trials do not speak against the LLRs {start}{held}."
    return (
        f"{n:,} labeled trials ask for {few['slope']:.3f} times the LLR {start} {few['offset']:+.3f}{held}."
    )
