"""Presentation attack detection (ISO/IEC 30107-3): APCER by species, BPCER, ACER, IAPAR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from llrkit._format import percent
from llrkit._results import Result
from llrkit.core.counting import count_bins
from llrkit.core.hull import error_path
from llrkit.core.special import probability
from llrkit.errors import InputError
from llrkit.metrics.llr_costs import eer_threshold, losses_at
from llrkit.spoof.kind_counts import at_thresholds, count_kinds
from llrkit.spoof.spoof_trials import SpoofTrials
from llrkit.spoof.tandem_costs import asv_eer_threshold, cm_source
from llrkit.trust.intervals.interval import clopper_pearson

Range = tuple[float, float]
ALL = "all attacks"
APCERS = (0.1, 0.05, 0.01)


@dataclass(frozen=True)
class SpeciesRate:
    """The share of the attacks of a species that is accepted, with its interval."""

    species: str
    n: int
    apcer: float
    interval: Range
    iapar: float | None
    """Share accepted by the whole system, the ASV (or SASV) system at its threshold; None without one."""


@dataclass(frozen=True, repr=False)
class AttackDetection(Result):
    """The result of :func:`llrkit.spoof.attack_detection`."""

    threshold: float
    bpcer: float
    bpcer_interval: Range
    n_bona_fide: int
    species: tuple[SpeciesRate, ...]
    bpcer_at: dict[float, float]
    """BPCER where the APCER of the worst species is at most so much: BPCER10, BPCER20, BPCER100."""
    asv_threshold: float | None
    level: float

    @property
    def worst(self) -> SpeciesRate:
        """The species with the highest APCER, which counts by the standard."""
        return max(self.species, key=lambda one: one.apcer)

    @property
    def apcer(self) -> float:
        """APCER of the worst species."""
        return self.worst.apcer

    @property
    def acer(self) -> float:
        """Mean of APCER (worst species) and BPCER; no longer in the standard since 2023, still asked for."""
        return 0.5 * (self.apcer + self.bpcer)

    @property
    def iapar(self) -> float | None:
        """IAPAR of the worst species."""
        rates = [one.iapar for one in self.species if one.iapar is not None]
        return max(rates) if rates else None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, as in the JSON of the command line."""
        return asdict(self) | {
            "apcer": self.apcer, "acer": self.acer, "iapar": self.iapar, "worst_species": self.worst.species,
            "bpcer_at": {f"{rate:g}": value for rate, value in self.bpcer_at.items()},
        }  # fmt: skip

    def rows(self) -> list[tuple[str, str, str]]:
        """The table: name, value, and what it is."""
        low, high = self.bpcer_interval
        table = [
            ("BPCER", percent(self.bpcer), f"[{percent(low)}, {percent(high)}]  of {self.n_bona_fide:,}"),
            ("APCER", percent(self.apcer), f"worst species: {self.worst.species}"),
            ("ACER", percent(self.acer), "mean of both; not in the standard since 2023"),
        ]
        table += [
            (f"BPCER{round(1 / rate)}", percent(value), f"BPCER at APCER {percent(rate)}")
            for rate, value in self.bpcer_at.items()
        ]
        if self.iapar is not None:
            where = f"ASV threshold {self.asv_threshold:.4g}, worst species"
            table.append(("IAPAR", percent(self.iapar), where))
        for one in self.species:
            low, high = one.interval
            accepted = "" if one.iapar is None else f"  IAPAR {percent(one.iapar)}"
            note = f"[{percent(low)}, {percent(high)}]  of {one.n:,}{accepted}"
            table.append((f"APCER {one.species}", percent(one.apcer), note))
        return table

    def __repr__(self) -> str:
        return "\n".join(f"{name:<12}  {value:>9}  {note}".rstrip() for name, value, note in self.rows())


def attack_detection(
    trials: SpoofTrials,
    *,
    threshold: float | None = None,
    asv_threshold: float | None = None,
    apcers: Sequence[float] = APCERS,
    level: float = 0.95,
) -> AttackDetection:
    """APCER of every species of attack, BPCER, ACER and IAPAR at a threshold of the countermeasure.

    ``APCER`` is the share of the attacks of a species that score at or above the threshold, ``BPCER`` that
    of bona fide presentations below it. Species are the attacks of the trials; without them all attacks are
    one. Intervals are exact, for independent presentations.

    Parameters
    ----------
    trials
        The trials.
    threshold
        Of the CM scores; by default the equal-error threshold on these trials.
    asv_threshold
        For the IAPAR, where attacks meet the ASV system alone; by default its equal-error threshold.
    apcers
        APCERs at which the BPCER is found.
    level
        Confidence level, between 0 and 1.

    Examples
    --------
    >>> labels = ["target", "target", "nontarget", "spoof", "spoof", "spoof"]
    >>> trials = SpoofTrials({"cm": [2.0, 0.5, 1.0, -1.0, 1.5, -2.0], "label": labels,
    ...                       "attack": ["-", "-", "-", "mask", "print", "print"]}, cm="cm", attack="attack")
    >>> rates = attack_detection(trials, threshold=0.8)
    >>> rates.apcer, rates.worst.species, round(rates.bpcer, 4), round(rates.acer, 4)
    (0.5, 'print', 0.3333, 0.4167)
    """
    if "cm" not in trials.systems:
        raise InputError("APCER and BPCER need the scores of a countermeasure (cm=, --cm-column)")
    probability(level, "level")
    trials.require("cm", "spoof")
    source = cm_source(trials)
    cut = eer_threshold(source) if threshold is None else float(threshold)
    if math.isnan(cut):
        raise InputError("threshold must be a number")
    names = _species(trials)
    missed = losses_at(source, thresholds=[cut])
    n_bona_fide = round(missed.n_target)
    asv_cut, accepted = _asv(trials, asv_threshold, names)
    species = []
    for name in names:
        own = losses_at(cm_source(trials, None if name == ALL else name), thresholds=[cut])
        n, errors = round(own.n_nontarget), round(float(own.n_fa[0]))
        ends = clopper_pearson(errors, n, level)
        species.append(SpeciesRate(name, n, errors / n, ends, accepted.get(name)))
    rejected = round(float(missed.n_miss[0]))
    return AttackDetection(
        threshold=cut,
        bpcer=rejected / n_bona_fide,
        bpcer_interval=clopper_pearson(rejected, n_bona_fide, level),
        n_bona_fide=n_bona_fide,
        species=tuple(species),
        bpcer_at={float(rate): _bpcer_at(trials, names, float(rate)) for rate in apcers},
        asv_threshold=asv_cut,
        level=level,
    )


def _species(trials: SpoofTrials) -> list[str]:
    return [ALL] if trials.attack is None else count_kinds(trials, "cm").attacks


def _asv(
    trials: SpoofTrials, threshold: float | None, names: list[str]
) -> tuple[float | None, dict[str, float]]:
    """The threshold of the ASV system, and the share of each species that it accepts."""
    if "asv" not in trials.systems:
        if threshold is not None:
            raise InputError("asv_threshold is for trials with ASV scores")
        return None, {}
    cut = asv_eer_threshold(trials) if threshold is None else float(threshold)
    rates = {
        name: at_thresholds(trials, "asv", [cut], None if name == ALL else name)[0, 2].item()
        for name in names
    }
    return cut, {name: rate for name, rate in rates.items() if not math.isnan(rate)}


def _bpcer_at(trials: SpoofTrials, names: list[str], rate: float) -> float:
    """BPCER at the lowest threshold where no species has a higher APCER."""
    if not 0.0 <= rate <= 1.0:
        raise InputError(f"an APCER is between 0 and 1, got {rate!r}")
    rates = []
    for name in names:
        path = error_path(count_bins(cm_source(trials, None if name == ALL else name)))
        rates.append(float(path.p_miss[np.argmax(path.p_fa <= rate)]))
    return max(rates)
