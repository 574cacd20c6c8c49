"""BPCER at given APCERs (BPCER10, BPCER20, BPCER100), with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from llrkit.core.counting import count_bins
from llrkit.core.pav_and_hull import error_path
from llrkit.core.spoof_kinds import BONA_FIDE
from llrkit.errors import InputError
from llrkit.metrics.measure import measure
from llrkit.metrics.threshold_choice import threshold_for_false_alarms
from llrkit.scores import ScoreSource
from llrkit.spoof.spoof_trials import SpoofTrials
from llrkit.spoof.t_dcf_costs import cm_source
from llrkit.trust.intervals.miss_at_fa import miss_at_fa
from llrkit.trust.intervals.speakers import Speakers

Range = tuple[float, float]


def bpcers_at(
    trials: SpoofTrials,
    species: Mapping[str, str | None],
    apcers: Sequence[float],
    people: Speakers | None,
    level: float,
) -> dict[float, tuple[float, Range | None]]:
    """BPCER, with its interval, at the lowest threshold where no species has a higher APCER.

    ``species`` are the attacks by name; None stands for all of them. An interval is that of the species which
    asks for the highest threshold.
    """
    wanted = [float(rate) for rate in apcers]
    for rate in wanted:
        if not 0.0 <= rate <= 1.0:
            raise InputError(f"an APCER is between 0 and 1, got {rate!r}")
    highest: dict[float, tuple[float, str]] = {}
    for name, attack in species.items():
        path = error_path(count_bins(cm_source(trials, attack)))
        for rate in wanted:
            own = float(path.p_miss[np.argmax(path.p_fa <= rate)]), name
            highest[rate] = max(highest.get(rate, own), own)
    intervals: dict[float, Range | None] = {}
    for name in sorted({name for _, name in highest.values()}):
        source = trials.pair("cm", BONA_FIDE, ("spoof",), attack=species[name])
        own_rates = [rate for rate in wanted if highest[rate][1] == name]
        intervals |= _bpcer_intervals(source, own_rates, people, level)
    return {rate: (highest[rate][0], intervals[rate]) for rate in wanted}


def _bpcer_intervals(
    source: ScoreSource, rates: list[float], people: Speakers | None, level: float
) -> dict[float, Range | None]:
    """Of Pmiss at the lowest threshold whose Pfa is no higher than each rate; None where it rejects all."""
    result = measure(source, [])
    cuts = {rate: threshold_for_false_alarms(source, result.summaries.bins, rate) for rate in rates}
    finite = [cut for cut in cuts.values() if math.isfinite(cut)]
    if not finite:
        return dict.fromkeys(rates)
    found = miss_at_fa(source, result, finite, people, level)
    return {rate: found.interval(cut) if math.isfinite(cut) else None for rate, cut in cuts.items()}
