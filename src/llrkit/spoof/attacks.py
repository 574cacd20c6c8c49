"""Presentation attack detection (ISO/IEC 30107-3): APCER by species, BPCER, ACER, IAPAR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import NamedTuple

from llrkit.base.arguments import real_number, takes
from llrkit.base.text import Json, counted, percent
from llrkit.core.functions import probability
from llrkit.core.groups import BONA_FIDE
from llrkit.errors import EmptyClassError, InputError
from llrkit.metrics.costs import eer_threshold, losses_at
from llrkit.results.result import Result
from llrkit.scores import ScoreSource
from llrkit.spoof.costs import asv_eer_threshold, cm_source
from llrkit.spoof.counts import attack_names
from llrkit.spoof.intervals import bpcers_at
from llrkit.spoof.trials import SpoofTrials
from llrkit.trust.intervals import curve_rates
from llrkit.trust.speakers import Columns, Speakers, clopper_pearson, find_speakers

Range = tuple[float, float]
ALL = "all attacks"
APCERS = (0.1, 0.05, 0.01)


@dataclass(frozen=True)
class SpeciesRate:
    """The share of the attacks of a species that is accepted, with its interval."""

    species: str
    """Name of the species."""
    n: int
    """Number of its attacks."""
    apcer: float
    """Share of its attacks that is accepted."""
    interval: Range
    """Interval of the APCER."""
    iapar: float | None
    """Share accepted by the ASV system at its threshold; None without one."""
    iapar_interval: Range | None = None
    """Interval of the IAPAR; None without an ASV threshold."""


@dataclass(frozen=True, repr=False)
class AttackDetection(Result):
    """The result of :func:`llrkit.spoof.attack_detection`."""

    threshold: float
    """Scores at or above it count as bona fide."""
    bpcer: float
    """Share of the bona fide presentations that is rejected."""
    bpcer_interval: Range
    """Interval of the BPCER."""
    n_bona_fide: int
    """Number of bona fide presentations."""
    species: tuple[SpeciesRate, ...]
    """The rates of each species of attack."""
    bpcer_at: dict[float, float]
    """BPCER where the APCER of the worst species is at most so much: BPCER10, BPCER20, BPCER100."""
    bpcer_at_intervals: dict[float, Range | None]
    """Of them; None where errors of a kind, or the subjects who make them, are too few."""
    asv_threshold: float | None
    """Threshold of the ASV system at which IAPAR is measured; None without ASV scores."""
    level: float
    """Confidence level of all intervals."""
    n_subjects: int | None = None
    """How many subjects the intervals leave out in turn; None where presentations count as independent."""

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
    def acer_interval(self) -> Range:
        """Of the mean of two rates of different presentations: their distances are added as errors are."""
        pairs = ((self.apcer, self.worst.interval), (self.bpcer, self.bpcer_interval))
        down = math.hypot(*(rate - ends[0] for rate, ends in pairs))
        up = math.hypot(*(ends[1] - rate for rate, ends in pairs))
        return max(self.acer - 0.5 * down, 0.0), min(self.acer + 0.5 * up, 1.0)

    @property
    def iapar(self) -> float | None:
        """IAPAR of the worst species."""
        rates = [one.iapar for one in self.species if one.iapar is not None]
        return max(rates) if rates else None

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return asdict(self) | {
            "apcer": self.apcer, "apcer_interval": self.worst.interval, "acer": self.acer,
            "acer_interval": self.acer_interval, "iapar": self.iapar, "worst_species": self.worst.species,
            "bpcer_at": {f"{rate:g}": value for rate, value in self.bpcer_at.items()},
            "bpcer_at_intervals": {f"{rate:g}": ends for rate, ends in self.bpcer_at_intervals.items()},
        }  # fmt: skip

    def rows(self) -> list[tuple[str, str, str]]:
        """The table: name, value, and what it is."""
        table = [
            ("BPCER", percent(self.bpcer), f"{_interval_ends(self.bpcer_interval)}  of {self.n_bona_fide:,}"),
            ("APCER", percent(self.apcer),
             f"{_interval_ends(self.worst.interval)}  worst species: {self.worst.species}"),
            ("ACER", percent(self.acer),
             f"{_interval_ends(self.acer_interval)}  mean of both; not in the standard since 2023"),
        ]  # fmt: skip
        table += [
            (f"BPCER{round(1 / rate)}", percent(value),
             f"{self._bpcer_ends(rate)}  BPCER at APCER {percent(rate)}")
            for rate, value in self.bpcer_at.items()
        ]  # fmt: skip
        if self.iapar is not None:
            where = f"ASV threshold {(self.asv_threshold or 0.0) + 0.0:.4g}, worst species"
            worst = max(self.species, key=lambda one: -1.0 if one.iapar is None else one.iapar)
            ends = "" if worst.iapar_interval is None else f"{_interval_ends(worst.iapar_interval)}  "
            table.append(("IAPAR", percent(self.iapar), f"{ends}{where}: {worst.species}"))
        for one in self.species:
            table.append(
                (
                    f"APCER {one.species}",
                    percent(one.apcer),
                    f"{_interval_ends(one.interval)}  of {one.n:,}",
                )
            )
        for one in self.species:
            if one.iapar is not None and one.iapar_interval is not None:
                table.append((f"IAPAR {one.species}", percent(one.iapar), _interval_ends(one.iapar_interval)))
        return table

    def _bpcer_ends(self, rate: float) -> str:
        ends = self.bpcer_at_intervals[rate]
        if ends is not None:
            return _interval_ends(ends)
        few = "" if self.n_subjects is None else ", or of too few subjects"
        return f"[no interval: too few errors of a kind{few}]"

    @property
    def note(self) -> str:
        """What the intervals take into account."""
        how = (
            "as if presentations were independent"
            if self.n_subjects is None
            else f"for {counted(self.n_subjects, 'subject')} whose presentations depend on each other"
        )
        said = f"intervals at {100 * self.level:g} % {how}, at thresholds taken as given"
        if not self.bpcer_at:
            return said
        return f"{said}; those of the BPCER at an APCER include that these gave its threshold"

    def __repr__(self) -> str:
        return "\n".join(f"{name:<12}  {value:>9}  {note}".rstrip() for name, value, note in self.rows())


def _interval_ends(interval: Range) -> str:
    return f"[{percent(interval[0])}, {percent(interval[1])}]"


@takes(trials=SpoofTrials)
def attack_detection(
    trials: SpoofTrials,
    *,
    threshold: float | None = None,
    asv_threshold: float | None = None,
    apcers: Sequence[float] = APCERS,
    speakers: Columns | None = None,
    level: float = 0.95,
) -> AttackDetection:
    """APCER of every species of attack, BPCER, ACER and IAPAR at a threshold of the countermeasure.

    ``APCER`` is the share of the attacks of a species that score at or above the threshold, ``BPCER`` that
    of bona fide presentations below it. Species are the attacks of the trials; without them all attacks are
    one. Intervals are exact, for independent presentations; with ``speakers`` each subject is left out in
    turn. Thresholds are taken as given, also where they were found on these trials; but intervals of the
    BPCER at an APCER, behind the species that asks for the highest threshold, include that it was found.

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
    speakers
        The column, or the two columns, with the subjects of the two sides of a presentation.
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
    cut = eer_threshold(cm_source(trials)) if threshold is None else real_number(threshold, "threshold")
    if math.isnan(cut):
        raise InputError("threshold must be a number")
    names = _species_names(trials)
    people = None if speakers is None else find_speakers(trials.source_of("cm"), speakers)
    bona_fide = _apcer_and_bpcer(trials.pair("cm", BONA_FIDE, ("spoof",)), cut, people, level)[0]
    found = bpcers_at(trials, {name: _attack_of_species(name) for name in names}, apcers, people, level)
    asv_cut, accepted = _asv_threshold_and_iapar(trials, asv_threshold, names, people, level)
    species = []
    for name in names:
        attacks = trials.pair("cm", BONA_FIDE, ("spoof",), attack=_attack_of_species(name))
        own = _apcer_and_bpcer(attacks, cut, people, level)[1]
        species.append(SpeciesRate(name, own.n, own.rate, own.interval, *accepted.get(name, (None, None))))
    return AttackDetection(
        threshold=cut,
        bpcer=bona_fide.rate,
        bpcer_interval=bona_fide.interval,
        n_bona_fide=bona_fide.n,
        species=tuple(species),
        bpcer_at={rate: value for rate, (value, _) in found.items()},
        bpcer_at_intervals={rate: ends for rate, (_, ends) in found.items()},
        asv_threshold=asv_cut,
        level=level,
        n_subjects=None if people is None else people.n_speakers,
    )


class _RateWithInterval(NamedTuple):
    rate: float
    n: int
    interval: Range


def _apcer_and_bpcer(
    source: ScoreSource, cut: float, people: Speakers | None, level: float
) -> tuple[_RateWithInterval, _RateWithInterval]:
    """The shares rejected of the first class and accepted of the second, with intervals."""
    losses = losses_at(source, thresholds=[cut])
    pairs = ((losses.n_miss, losses.n_target), (losses.n_fa, losses.n_nontarget))
    counts = [(round(float(wrong[0])), round(float(n))) for wrong, n in pairs]
    if people is None:
        first, second = (_RateWithInterval(k / n, n, clopper_pearson(k, n, level)) for k, n in counts)
        return first, second
    found = curve_rates(source, [cut], people, level)
    ends = [(float(one.low[0]), float(one.high[0])) for one in (found.miss, found.fa)]
    first, second = (_RateWithInterval(k / n, n, pair) for (k, n), pair in zip(counts, ends, strict=True))
    return first, second


def _attack_of_species(species: str) -> str | None:
    return None if species == ALL else species


def _species_names(trials: SpoofTrials) -> list[str]:
    return [ALL] if trials.attack is None else attack_names(trials, "cm")


def _asv_threshold_and_iapar(
    trials: SpoofTrials, threshold: float | None, names: list[str], people: Speakers | None, level: float
) -> tuple[float | None, dict[str, tuple[float, Range]]]:
    """The threshold of the ASV system, and the share of each species that it accepts."""
    if "asv" not in trials.systems:
        if threshold is not None:
            raise InputError("asv_threshold is for trials with ASV scores")
        return None, {}
    try:
        cut = asv_eer_threshold(trials) if threshold is None else real_number(threshold, "asv_threshold")
    except EmptyClassError:  # without targets or non-targets no threshold is given by itself
        return None, {}
    rates = {}
    for name in names:
        with suppress(EmptyClassError):  # attacks without ASV scores
            source = trials.pair("asv", ("target",), ("spoof",), attack=_attack_of_species(name))
            own = _apcer_and_bpcer(source, cut, people, level)[1]
            rates[name] = own.rate, own.interval
    return cut, rates
