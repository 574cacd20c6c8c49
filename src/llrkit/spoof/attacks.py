"""Presentation attack detection (ISO/IEC 30107-3): APCER by species, BPCER, ACER, IAPAR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

import numpy as np

from llrkit.base.arguments import of_kind, real_number, share
from llrkit.base.text import Json, counted, percent
from llrkit.core.counting import count_bins
from llrkit.core.groups import BONA_FIDE
from llrkit.core.numerics import probability
from llrkit.core.pav import error_path
from llrkit.errors import EmptyClassError, InputError
from llrkit.metrics.costs import eer_threshold, losses_at
from llrkit.metrics.discrimination import Range, threshold_for_false_alarms
from llrkit.metrics.measure import measure
from llrkit.results.result import Result
from llrkit.scores import ScoreSource
from llrkit.spoof.costs import asv_eer_threshold, cm_source
from llrkit.spoof.counts import attack_names
from llrkit.spoof.trials import SpoofTrials
from llrkit.trust.intervals import curve_rates, miss_at_fa
from llrkit.trust.speakers import Columns, Speakers, clopper_pearson, find_speakers

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
        # The two rates are of different presentations, so their errors are independent.
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
        few = "" if self.n_subjects is None else ", or of too few subjects"
        for rate, value in self.bpcer_at.items():
            at = self.bpcer_at_intervals[rate]
            ends = f"[no interval: too few errors of a kind{few}]" if at is None else _interval_ends(at)
            name = f"BPCER{1 / rate:.0f}" if rate else "BPCER at 0"
            table.append((name, percent(value), f"{ends}  BPCER at APCER {percent(rate)}"))
        if self.iapar is not None:
            # Adding 0.0 turns -0.0 into 0.0.
            where = f"ASV threshold {(self.asv_threshold or 0.0) + 0.0:.4g}, worst species"
            worst = max(self.species, key=lambda one: -1.0 if one.iapar is None else one.iapar)
            ends = "" if worst.iapar_interval is None else f"{_interval_ends(worst.iapar_interval)}  "
            table.append(("IAPAR", percent(self.iapar), f"{ends}{where}: {worst.species}"))
        for one in self.species:
            ends = f"{_interval_ends(one.interval)}  of {one.n:,}"
            table.append((f"APCER {one.species}", percent(one.apcer), ends))
        for one in self.species:
            if one.iapar is not None and one.iapar_interval is not None:
                table.append((f"IAPAR {one.species}", percent(one.iapar), _interval_ends(one.iapar_interval)))
        return table

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
    of_kind(trials, SpoofTrials, "trials")
    if "cm" not in trials.systems:
        raise InputError("APCER and BPCER need the scores of a countermeasure (cm=, --cm-column)")
    probability(level, "level")
    trials.require("cm", "spoof")
    # Both classes of the countermeasure on these trials; ISO/IEC 30107-3 asks for a stated threshold.
    cut = eer_threshold(cm_source(trials)) if threshold is None else real_number(threshold, "threshold")
    # species by name, and the attack that each is; without attacks all spoofs are one species
    attacks: dict[str, str | None] = {name: name for name in attack_names(trials, "cm")}
    if trials.attack is None:
        attacks = {ALL: None}
    people = None if speakers is None else find_speakers(trials.source_of("cm"), speakers)
    # Bona fide means targets and non-targets alike.
    every = trials.pair("cm", BONA_FIDE, ("spoof",))
    n_bona_fide, bpcer, bpcer_interval = _rate_and_interval(every, 0, cut, people, level)
    # BPCER at the lowest threshold where no species has a higher APCER, and the species that decides it: the
    # interval is the one of that species; None where it rejects all.
    wanted = [share(rate, "an APCER") for rate in apcers]
    highest: dict[float, tuple[float, str]] = {}
    for name, attack in attacks.items():
        path = error_path(count_bins(cm_source(trials, attack)))
        for rate in wanted:
            # The lowest threshold that this species allows; misses there are the BPCER.
            worst = float(path.p_miss[np.argmax(path.p_fa <= rate)]), name
            # The standard reports the worst species, so the highest of these counts.
            highest[rate] = max(highest.get(rate, worst), worst)
    intervals: dict[float, Range | None] = dict.fromkeys(wanted)
    # One evaluation for each species that decides some rate, not for each rate.
    for name in sorted({name for _, name in highest.values()}):
        source = trials.pair("cm", BONA_FIDE, ("spoof",), attack=attacks[name])
        result = measure(source, [])
        own_rates = [rate for rate in wanted if highest[rate][1] == name]
        cuts = {rate: threshold_for_false_alarms(source, result.summaries.bins, rate) for rate in own_rates}
        # Rejecting everything has no threshold, and no interval.
        finite = {rate: one for rate, one in cuts.items() if math.isfinite(one)}
        if finite:
            found = miss_at_fa(source, result, list(finite.values()), people, level)
            intervals |= {rate: found.interval(one) for rate, one in finite.items()}
    asv_cut = None
    if asv_threshold is not None:
        if "asv" not in trials.systems:
            raise InputError("asv_threshold is for trials with ASV scores")
        asv_cut = real_number(asv_threshold, "asv_threshold")
    elif "asv" in trials.systems:
        with suppress(EmptyClassError):  # without targets or non-targets no threshold is given by itself
            asv_cut = asv_eer_threshold(trials)
    species = []
    for name, attack in attacks.items():
        source = trials.pair("cm", BONA_FIDE, ("spoof",), attack=attack)
        own = _rate_and_interval(source, 1, cut, people, level)
        species.append(SpeciesRate(name, *own, iapar=None))
        if asv_cut is not None:
            with suppress(EmptyClassError):  # attacks without ASV scores
                source = trials.pair("asv", ("target",), ("spoof",), attack=attack)
                _, iapar, ends = _rate_and_interval(source, 1, asv_cut, people, level)
                species[-1] = replace(species[-1], iapar=iapar, iapar_interval=ends)
    return AttackDetection(
        threshold=cut,
        bpcer=bpcer,
        bpcer_interval=bpcer_interval,
        n_bona_fide=n_bona_fide,
        species=tuple(species),
        bpcer_at={rate: highest[rate][0] for rate in wanted},
        bpcer_at_intervals=intervals,
        asv_threshold=asv_cut,
        level=level,
        n_subjects=None if people is None else people.n_speakers,
    )


def _rate_and_interval(
    source: ScoreSource, class_index: int, cut: float, people: Speakers | None, level: float
) -> tuple[int, float, Range]:
    """Trials of a class, the share rejected of the first or accepted of the second, and its interval."""
    losses = losses_at(source, thresholds=[cut])
    # Mistakes of the first class are misses, of the second false alarms.
    wrong, size = ((losses.n_miss, losses.n_target), (losses.n_fa, losses.n_nontarget))[class_index]
    errors, n = round(float(wrong[0])), round(float(size))
    if people is None:
        return n, errors / n, clopper_pearson(errors, n, level)
    rates = curve_rates(source, [cut], people, level)
    own = (rates.miss, rates.fa)[class_index]
    return n, errors / n, (float(own.low[0]), float(own.high[0]))
