"""Identification (1:N): CMC, and FNIR and FPIR of open-set searches."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from llrkit._arguments import whole_number
from llrkit._arrays import BoolArray, FloatArray, IntArray
from llrkit.biometrics.identification_result import Cmc, Identification, OpenSetRow
from llrkit.biometrics.searches_by_probe import BeforeMates, BestScores, SubjectsBeforeMates
from llrkit.core.elementary_functions import probability
from llrkit.errors import InputError
from llrkit.metrics.threshold_choice import Range
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source
from llrkit.trust.intervals.interval_formulas import clopper_pearson
from llrkit.trust.intervals.jackknife import Jackknife, from_scale

RANKS = (1, 5, 10, 20)
FPIRS = (0.1, 0.01, 0.001)


def identification(
    source: ScoreSource,
    probe: str | None = None,
    *,
    subject: str | None = None,
    enrolled: str | None = None,
    gallery: str | None = None,
    ranks: Sequence[int] = RANKS,
    fpir: Sequence[float] = FPIRS,
    rank: int = 1,
    level: float = 0.95,
) -> Identification:
    """Evaluate searches of probes in a gallery: CMC and rank-k rates; DIR, FNIR at given FPIRs (open set).

    Comparisons of a probe with all gallery entries, or the candidates that a search returned; a target is a
    comparison with a mate. A probe is mated if one of its comparisons is a target, or if ``enrolled`` says
    so; the others are non-mated searches. The rank of a mate is one more than the number of others that
    score at least as high: ties count against it. Where a subject has several templates in the gallery, the
    highest score of each subject counts, of mates and others alike.

    - rank-k identification rate: share of mated searches whose mate is among the first k;
    - FPIR at t: share of non-mated searches with any candidate at or above t;
    - FNIR at t and rank R: share of mated searches without mate among the first R at or above t;
    - DIR = 1 - FNIR.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.
    probe
        The column that names the search; by default the test side of the trials.
    subject
        The column with the subjects of probes: intervals then leave out one subject at a time; without it
        searches are taken as independent.
    enrolled
        For lists of candidates, from which a mate may be missing: the column that says whether the subject
        of the probe is in the gallery.
    gallery
        The column with the subjects of gallery entries, of which one may have several templates; by default
        the enrollment side of the trials. Without any, every comparison is one with another subject.
    ranks, fpir, rank
        Which rates to report, and the rank R of FNIR.
    level
        Confidence level, between 0 and 1.

    Examples
    --------
    >>> import llrkit as lk
    >>> trials = lk.Trials({"score": [9, 1, 3, 7, 8, 2, 5, 4], "label": [1, 0, 0, 1, 0, 0, 0, 0],
    ...                     "probe": ["a", "a", "a", "b", "b", "b", "c", "c"]})
    >>> result = identification(trials, "probe", ranks=(1, 2), fpir=(0.5,))
    >>> result.rank_rate(1), result.rank_rate(2)
    (0.5, 1.0)
    >>> result.open_set[0].fnir
    0.5
    """
    source = as_source(source)
    probe = probe or source.roles.test
    if probe is None:
        raise InputError("name the column of the searches (probe=, --probe-column)")
    whole_number(rank, 1, "rank")
    for one in ranks:
        whole_number(one, 1, "ranks")
    for rate in fpir:
        if not 0.0 <= rate <= 1.0:
            raise InputError(f"an FPIR is between 0 and 1, got {rate!r}")
    probability(level, "level")
    if source.roles.weight is not None:
        raise InputError("identification takes no weights: every search counts once")
    columns = tuple(dict.fromkeys(name for name in (probe, subject, enrolled) if name))
    best = source.with_columns(*columns).reduce(BestScores.at(probe, subject, enrolled))
    mates = best.mates
    before = _subjects_before_mates(source, probe, mates, gallery or source.roles.enroll)
    for key in mates:
        if not best.enrolled.get(key, True):
            raise InputError(f"{probe} {key!r} has a mate, but {enrolled!r} says it is not in the gallery")
    order = sorted(mates | best.others, key=str)
    is_mated = np.array([key in mates or best.enrolled.get(key, False) for key in order], dtype=bool)
    if not is_mated.any():
        raise InputError("no search has a mate: there is nothing to identify")
    ranked = np.array([before.get(key, 0) + 1.0 if key in mates else math.inf for key in order])
    score = np.array([mates.get(key, -math.inf) for key in order])
    top = np.array([best.others.get(key, -math.inf) for key in order])
    people = _subject_numbers(order, best.subjects, subject)
    searches = _IdentificationSearches(is_mated, ranked, score, top, people, level)
    highest = int(max(np.max(ranked[np.isfinite(ranked)], initial=1.0), max(ranks, default=1)))
    return Identification(
        n_mated=int(is_mated.sum()),
        n_nonmated=int((~is_mated).sum()),
        cmc=Cmc(np.arange(1, highest + 1), searches.cmc(highest)),
        intervals=MappingProxyType({k: searches.interval(is_mated, ranked <= k) for k in ranks}),
        open_set=tuple(searches.at_fpir(rate, rank) for rate in fpir) if (~is_mated).any() else (),
        rank=rank,
        level=level,
        n_subjects=None if people is None else len(np.unique(people)),
        factor=source.roles.factor,
    )


def _subjects_before_mates(
    source: ScoreSource, probe: str, mates: Mapping[Hashable, float], gallery: str | None
) -> dict[Hashable, float]:
    """How many subjects of the gallery are before the mate of each search."""
    if gallery is None:
        return source.with_columns(probe).reduce(BeforeMates.at(probe, mates)).counts
    summarize = SubjectsBeforeMates.at(probe, mates, gallery)
    return source.with_columns(probe, gallery).reduce(summarize).counts


def _subject_numbers(
    order: list[Hashable], subjects: dict[Hashable, Hashable], column: str | None
) -> IntArray | None:
    if column is None:
        return None
    names = [str(subjects[key]) for key in order]
    return np.unique(names, return_inverse=True)[1]


class _IdentificationSearches:
    """All searches: whether mated, rank and score of the mate, highest score of the others, subject."""

    def __init__(
        self, mated: BoolArray, ranked: FloatArray, score: FloatArray, top: FloatArray,
        people: IntArray | None, level: float,
    ) -> None:  # fmt: skip
        self.mated, self.ranked, self.score, self.top = mated, ranked, score, top
        self.people, self.level = people, level

    def cmc(self, highest: int) -> FloatArray:
        """Share of mated searches found within each rank."""
        found = np.sort(self.ranked[self.mated])
        return np.searchsorted(found, np.arange(1, highest + 1), side="right") / len(found)

    def at_fpir(self, rate: float, rank: int) -> OpenSetRow:
        """Both error rates at the lowest threshold with at most this FPIR."""
        highest = np.sort(self.top[~self.mated])
        n = len(highest)
        allowed = min(math.floor(rate * n + 1e-9), n)
        # just above the highest score that must not be returned, ties included
        threshold = -math.inf if allowed == n else float(np.nextafter(highest[n - allowed - 1], math.inf))
        positive = ~self.mated & (self.top >= threshold)
        missed = self.mated & ((self.ranked > rank) | (self.score < threshold))
        if threshold == -math.inf:
            missed = self.mated & (self.ranked > rank)
        elif threshold == math.inf:  # infinite scores must be rejected too: nothing is returned
            positive, missed = np.zeros_like(positive), self.mated
        return OpenSetRow(
            wanted=rate,
            threshold=threshold,
            fpir=float(positive.sum() / n),
            fnir=float(missed.sum() / self.mated.sum()),
            n_false_positives=int(positive.sum()),
            n_missed=int(missed.sum()),
            fpir_interval=self.interval(~self.mated, positive),
            fnir_interval=self.interval(self.mated, missed),
        )

    def interval(self, among: BoolArray, event: BoolArray) -> Range:
        """Of the share of events among searches: exact, or leaving out one subject at a time."""
        n, errors = int(among.sum()), int((among & event).sum())
        exact = clopper_pearson(errors, n, self.level)
        if self.people is None or errors in (0, n):
            return exact
        size = self.people.max() + 1
        own = np.bincount(self.people[among], minlength=size)
        wrong = np.bincount(self.people[among & event], minlength=size)
        kept = own > 0
        left = n - own[kept]
        if kept.sum() < 3 or not left.all():
            return exact
        without = (errors - wrong[kept]) / left
        if not ((without > 0.0) & (without < 1.0)).all():
            return exact
        scaled = Jackknife(("rate",), np.array([errors / n]), without[:, None]).on_scales(["rate"])
        low, high = scaled.interval(self.level, center=scaled.values)
        return float(from_scale(low[0], "rate")), float(from_scale(high[0], "rate"))
