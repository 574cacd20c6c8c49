"""Identification: ranks, FNIR and FPIR of searches of probes in a gallery.

Comparisons are summarized by probe: the best mate, the best of the others, and who is ahead of the mate.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from llrkit.base.arguments import BoolArray, FloatArray, IntArray, whole_number
from llrkit.base.text import Json, percent
from llrkit.biometrics.verification import small_rate, support
from llrkit.core.groups import plain_value
from llrkit.core.numerics import probability
from llrkit.core.summaries import Grouped, SummaryBase
from llrkit.errors import InputError
from llrkit.metrics.discrimination import Curve, Range
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import as_source
from llrkit.trust.jackknife import Jackknife, from_scale
from llrkit.trust.speakers import clopper_pearson


@dataclass(frozen=True, eq=False)
class Cmc(Curve):
    """Cumulative match characteristic: the share of mated searches whose mate is within each rank."""

    rank: IntArray
    """Ranks, from 1 on."""
    rate: FloatArray
    """Share of mated searches whose mate is within the rank."""


@dataclass(frozen=True)
class OpenSetRow:
    """Error rates of searches at the threshold for one FPIR."""

    wanted: float
    threshold: float
    fpir: float
    fnir: float
    n_false_positives: int
    n_missed: int
    fpir_interval: Range
    fnir_interval: Range

    @property
    def dir(self) -> float:
        """Detection and identification rate: 1 - FNIR."""
        return 1.0 - self.fnir


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """The result of :func:`llrkit.biometrics.identification`."""

    n_mated: int
    """Number of mated searches."""
    n_nonmated: int
    """Number of non-mated searches."""
    cmc: Cmc
    """The cumulative match characteristic."""
    intervals: Mapping[int, Range]
    """Of the identification rates at the ranks that were asked for."""
    open_set: tuple[OpenSetRow, ...]
    """Empty without non-mated searches."""
    rank: int
    """Number of candidates among which a mate must be."""
    level: float
    """Confidence level of the intervals."""
    n_subjects: int | None
    """Number of subjects; None if searches are taken as independent."""
    factor: float = 1.0
    """What scores of the file were multiplied by: -1 for distances."""

    def rank_rate(self, rank: int) -> float:
        """Share of mated searches whose mate is among the first so many candidates.

        Parameters
        ----------
        rank
            Number of candidates that are looked at.
        """
        if rank < 1:
            raise InputError("ranks begin at 1")
        return float(self.cmc.rate[min(rank, len(self.cmc.rate)) - 1])

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            "n_mated": self.n_mated, "n_nonmated": self.n_nonmated,
            "ranks": [
                {"rank": k, "rate": self.rank_rate(k), "interval": list(ends)}
                for k, ends in self.intervals.items()
            ],
            "cmc": self.cmc.rate.tolist(),
            "open_set": [
                asdict(row) | {"dir": row.dir, "threshold": row.threshold / self.factor}
                for row in self.open_set
            ],
            "rank": self.rank, "level": self.level, "n_subjects": self.n_subjects, "notes": self.notes,
        }  # fmt: skip

    def rank_table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of the identification rates."""
        rows = [
            [str(k), percent(self.rank_rate(k)), f"[{percent(low)}, {percent(high)}]"]
            for k, (low, high) in self.intervals.items()
        ]
        return ["rank", "identified", ""], rows

    def open_set_table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of the errors at given FPIRs."""
        header = ["FPIR", "threshold", f"FNIR (rank {self.rank})", "", "DIR", "false positives", "missed"]
        rows = [
            [
                f"{row.wanted:g}", _shown_threshold(row.threshold / self.factor), small_rate(row.fnir),
                f"[{small_rate(row.fnir_interval[0])}, {small_rate(row.fnir_interval[1])}]",
                small_rate(row.dir), support(row.n_false_positives, self.n_nonmated),
                support(row.n_missed, self.n_mated),
            ]
            for row in self.open_set
        ]  # fmt: skip
        return header, rows

    @property
    def notes(self) -> list[str]:
        """What a reader must know about the rates."""
        how = (
            "as if searches were independent"
            if self.n_subjects is None
            else f"leaving out each of {self.n_subjects:,} subjects in turn"
        )
        told = [f"intervals at {100 * self.level:g} % {how}", "ties count against the mate"]
        if not self.open_set:
            told.append("all searches are mated: there is no FPIR")
        return told

    def __repr__(self) -> str:
        header, rows = self.rank_table()
        lines = [f"{self.n_mated:,} mated, {self.n_nonmated:,} non-mated searches"]
        lines += ["  ".join(line).rstrip() for line in (header, *rows)]
        if self.open_set:
            header, rows = self.open_set_table()
            lines += ["", *("  ".join(line).rstrip() for line in (header, *rows))]
        return "\n".join(lines)


def _shown_threshold(threshold: float) -> str:
    """A threshold in a table.

    The lowest threshold above a score of 0 is the smallest number there is, whose digits mean nothing.

    Examples
    --------
    >>> _shown_threshold(1.25), _shown_threshold(5e-324), _shown_threshold(-5e-324)
    ('1.25', 'just above 0', 'just below 0')
    """
    if 0.0 < abs(threshold) < sys.float_info.min:
        return "just above 0" if threshold > 0.0 else "just below 0"
    return f"{threshold:.6g}"


V = TypeVar("V", bound=Hashable)


def _by_probe(chunk: Scores, probe: str, class_index: int) -> tuple[list[Hashable], IntArray]:
    """The probes of a class of a chunk, and which of them each comparison belongs to."""
    distinct, place = np.unique(chunk.columns[probe][class_index], return_inverse=True)
    names = chunk.categories.get(probe)
    # Names, not codes: chunks may code them differently, and probes are merged across chunks.
    keys = [plain_value(code if names is None else names[code]) for code in distinct.tolist()]
    return keys, place.reshape(-1)


@dataclass(frozen=True, eq=False)
class BestScores(SummaryBase):
    """By probe: the highest score of its mates, and of all others in the gallery."""

    mates: dict[Hashable, float]
    """Of probes that have a mate among the candidates."""
    others: dict[Hashable, float]
    subjects: dict[Hashable, Hashable]
    enrolled: dict[Hashable, bool]
    """By probe, whether a column says that its subject is in the gallery."""

    @classmethod
    def at(cls, probe: str, subject: str | None, enrolled: str | None) -> Callable[[Scores], BestScores]:
        """A summarizer; ``subject`` and ``enrolled`` are columns about the probes."""

        def make(chunk: Scores) -> BestScores:
            best: list[dict[Hashable, float]] = []
            about: dict[str, dict[Hashable, Hashable]] = {name: {} for name in (subject, enrolled) if name}
            for i, scores in enumerate((chunk.target, chunk.nontarget)):
                keys, place = _by_probe(chunk, probe, i)
                top = np.full(len(keys), -math.inf)
                # np.maximum.at handles probes that occur several times; assignment by index would keep
                # the last.
                np.maximum.at(top, place, scores.astype(np.float64, copy=False))
                best.append(dict(zip(keys, top.tolist(), strict=True)))
                for name, values in about.items():
                    _note_on_probe(values, chunk, name, i, keys, place, probe)
            said = {key: _is_enrolled(value) for key, value in about.get(enrolled or "", {}).items()}
            return cls(best[0], best[1], about.get(subject or "", {}), said)

        return make

    def __add__(self, other: BestScores) -> BestScores:
        return BestScores(
            _highest_by_probe(self.mates, other.mates), _highest_by_probe(self.others, other.others),
            _merged_by_probe(self.subjects, other.subjects, "subject"),
            _merged_by_probe(self.enrolled, other.enrolled, "value of the enrolled column"),
        )  # fmt: skip

    def __mul__(self, weight: float) -> BestScores:
        # Every search counts once; weights are refused by ``identification``.
        return self


def _highest_by_probe(ours: dict[Hashable, float], theirs: dict[Hashable, float]) -> dict[Hashable, float]:
    merged = dict(ours)
    for key, score in theirs.items():
        merged[key] = max(merged.get(key, -math.inf), score)
    return merged


def _note_on_probe(
    values: dict[Hashable, Hashable], chunk: Scores, column: str, class_index: int,
    keys: list[Hashable], place: IntArray, probe: str,
) -> None:  # fmt: skip
    """Write down a column about the probes, which must be the same in all comparisons of a probe."""
    codes, names = chunk.columns[column][class_index], chunk.categories.get(column)
    distinct, code = np.unique(codes, return_inverse=True)
    # Extremes of the codes: a probe with one value has both alike.
    low, high = np.full(len(keys), len(distinct)), np.full(len(keys), -1)
    np.minimum.at(low, place, code.reshape(-1))
    np.maximum.at(high, place, code.reshape(-1))
    meant = [plain_value(value if names is None else names[value]) for value in distinct.tolist()]
    for key, first, last in zip(keys, low.tolist(), high.tolist(), strict=True):
        value = meant[first]
        if first != last or values.setdefault(key, value) != value:
            raise InputError(f"{probe} {key!r} has several values in {column!r}; a probe has one")


def _merged_by_probe(ours: dict[Hashable, V], theirs: dict[Hashable, V], what: str) -> dict[Hashable, V]:
    merged = dict(ours)
    for key, value in theirs.items():
        if merged.setdefault(key, value) != value:
            raise InputError(f"probe {key!r} has more than one {what}: {merged[key]!r} and {value!r}")
    return merged


def _is_enrolled(value: Hashable) -> bool:
    word = str(value).strip().lower()
    if word in ("1", "1.0", "true", "yes", "mated", "enrolled"):
        return True
    if word in ("0", "0.0", "false", "no", "non-mated", "nonmated", "-"):
        return False
    raise InputError(f"whether a probe is enrolled must be true or false (yes, no, 1, 0), got {value!r}")


def before_mates(
    probe: str, best_mate: Mapping[Hashable, float]
) -> Callable[[Scores], Grouped[Hashable, float]]:
    """A summarizer: by mated probe, how many others score at least as high as its best mate."""

    def make(chunk: Scores) -> Grouped[Hashable, float]:
        keys, place = _by_probe(chunk, probe, 1)
        ahead = place[_ahead_of_mate(chunk, keys, place, best_mate)]
        counts = np.bincount(ahead, minlength=len(keys)).tolist()
        return Grouped({key: n for key, n in zip(keys, counts, strict=True) if n})

    return make


@dataclass(frozen=True, eq=False)
class SubjectsBeforeMates(SummaryBase):
    """By mated probe, the others that score at least as high as its best mate, each subject once."""

    names: dict[Hashable, dict[str, bool]]

    @classmethod
    def at(
        cls, probe: str, best_mate: Mapping[Hashable, float], gallery: str
    ) -> Callable[[Scores], SubjectsBeforeMates]:
        """A summarizer; ``gallery`` is the column with the subjects of gallery entries."""

        def make(chunk: Scores) -> SubjectsBeforeMates:
            keys, place = _by_probe(chunk, probe, 1)
            entries, entry = _by_probe(chunk, gallery, 1)
            ahead = _ahead_of_mate(chunk, keys, place, best_mate)
            names: dict[Hashable, dict[str, bool]] = {}
            # A subject with several templates takes one place in the ranking
            # (docs/notes/decisions-models.md).
            for pair in np.unique(place[ahead] * len(entries) + entry[ahead]).tolist():
                key, name = keys[pair // len(entries)], entries[pair % len(entries)]
                names.setdefault(key, {})[str(name)] = True
            return cls(names)

        return make

    def __add__(self, other: SubjectsBeforeMates) -> SubjectsBeforeMates:
        merged = dict(self.names)
        for key, names in other.names.items():
            merged[key] = merged[key] | names if key in merged else names
        return SubjectsBeforeMates(merged)

    def __mul__(self, weight: float) -> SubjectsBeforeMates:
        return self

    @property
    def counts(self) -> dict[Hashable, float]:
        """How many subjects they are."""
        return {key: len(names) for key, names in self.names.items()}


def _ahead_of_mate(
    chunk: Scores, keys: list[Hashable], place: IntArray, best_mate: Mapping[Hashable, float]
) -> BoolArray:
    """Which of those who are no mates score at least as high as the best mate of their search."""
    # NaN for probes without a mate: every comparison with it is False.
    mates: FloatArray = np.array([best_mate.get(key, math.nan) for key in keys], dtype=np.float64)
    # At least as high: ties count against the mate.
    return np.asarray(chunk.nontarget >= mates[place]) if len(keys) else np.zeros(0, dtype=bool)


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
    entries = gallery or source.roles.enroll
    if entries is None:
        before = source.with_columns(probe).reduce(before_mates(probe, mates)).groups
    else:
        ahead = SubjectsBeforeMates.at(probe, mates, entries)
        before = source.with_columns(probe, entries).reduce(ahead).counts
    for key in mates:
        if not best.enrolled.get(key, True):
            raise InputError(f"{probe} {key!r} has a mate, but {enrolled!r} says it is not in the gallery")
    # By name, so that the order does not depend on that of the comparisons.
    order = sorted(mates | best.others, key=str)
    is_mated = np.array([key in mates or best.enrolled.get(key, False) for key in order], dtype=bool)
    if not is_mated.any():
        raise InputError("no search has a mate: there is nothing to identify")
    # A mate that is missing from the list of candidates is at no rank.
    ranked = np.array([before.get(key, 0) + 1.0 if key in mates else math.inf for key in order])
    score = np.array([mates.get(key, -math.inf) for key in order])
    top = np.array([best.others.get(key, -math.inf) for key in order])
    people = None
    if subject is not None:
        people = np.unique([str(best.subjects[key]) for key in order], return_inverse=True)[1]
    searches = _Searches(is_mated, ranked, score, top, people, level)
    # At least up to the largest rank that was asked for.
    highest = int(max(np.max(ranked[np.isfinite(ranked)], initial=1.0), max(ranks, default=1)))
    every_rank = np.arange(1, highest + 1)
    within = np.searchsorted(np.sort(ranked[is_mated]), every_rank, side="right")
    return Identification(
        n_mated=int(is_mated.sum()),
        n_nonmated=int((~is_mated).sum()),
        cmc=Cmc(every_rank, within / is_mated.sum()),
        intervals=MappingProxyType({k: searches.interval(is_mated, ranked <= k) for k in ranks}),
        open_set=tuple(searches.at_fpir(rate, rank) for rate in fpir) if (~is_mated).any() else (),
        rank=rank,
        level=level,
        n_subjects=None if people is None else len(np.unique(people)),
        factor=source.roles.factor,
    )


@dataclass(frozen=True, eq=False)
class _Searches:
    """All searches: whether mated, rank and score of the mate, highest score of the others, subject."""

    mated: BoolArray
    ranked: FloatArray
    score: FloatArray
    top: FloatArray
    people: IntArray | None
    level: float

    def at_fpir(self, rate: float, rank: int) -> OpenSetRow:
        """Both error rates at the lowest threshold with at most this FPIR."""
        highest = np.sort(self.top[~self.mated])
        n = len(highest)
        # 1e-9, since 0.29 * 100 is 28.999999999999996 in floating point.
        allowed = min(math.floor(rate * n + 1e-9), n)
        # just above the highest score that must not be returned, ties included
        threshold = -math.inf if allowed == n else float(np.nextafter(highest[n - allowed - 1], math.inf))
        # -inf is a search that returned nothing, no false positive even where everything is returned
        # (docs/notes/decisions-models.md).
        positive = ~self.mated & (self.top >= threshold) & (self.top > -math.inf)
        missed = self.mated & ((self.ranked > rank) | (self.score < threshold))
        if threshold == math.inf:  # infinite scores must be rejected too: nothing is returned
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
        # Without an error, or with errors only, leaving out subjects shows no spread.
        if self.people is None or errors in (0, n):
            return exact
        size = self.people.max() + 1
        own = np.bincount(self.people[among], minlength=size)
        wrong = np.bincount(self.people[among & event], minlength=size)
        kept = own > 0
        left = n - own[kept]
        # Too few subjects, or one who made all searches.
        if kept.sum() < 3 or not left.all():
            return exact
        without = (errors - wrong[kept]) / left
        # A rate of 0 or 1 without one of the subjects has no logit.
        if not ((without > 0.0) & (without < 1.0)).all():
            return exact
        scaled = Jackknife(("rate",), np.array([errors / n]), without[:, None]).on_scales(["rate"])
        low, high = scaled.interval(self.level, center=scaled.values)
        return float(from_scale(low[0], "rate")), float(from_scale(high[0], "rate"))
