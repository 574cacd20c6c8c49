"""Identification: ranks, FNIR and FPIR of searches of probes in a gallery.

Comparisons are summarized by probe: the best mate, the best of the others, and who is ahead of the mate.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Unpack

import numpy as np

from llrkit.base.arguments import BoolArray, FloatArray, IntArray
from llrkit.base.options import documented
from llrkit.base.text import Json, percent
from llrkit.biometrics.verification import small_rate, support
from llrkit.core.groups import plain_value
from llrkit.core.numerics import probability
from llrkit.core.summaries import Grouped, UnweightedSummary
from llrkit.errors import InputError
from llrkit.metrics.discrimination import Curve, Range
from llrkit.scores import Scores, ScoreSource, as_source
from llrkit.trust.jackknife import Jackknife, from_scale
from llrkit.trust.speakers import clopper_pearson
from llrkit.verbs.options import IdentifyOptions

if TYPE_CHECKING:
    from llrkit.keywords import IdentifyKeywords


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


Pairs = frozenset[tuple[Hashable, Hashable]]
_ByValue = tuple[list[Hashable], IntArray]


def _by_probe(chunk: Scores, column: str, class_index: int) -> _ByValue:
    """The probes (or other values) of a class of a chunk, and which of them each comparison belongs to."""
    distinct, place = np.unique(chunk.columns[column][class_index], return_inverse=True)
    names = chunk.categories.get(column)
    # Names, not codes: chunks may code them differently, and probes are merged across chunks.
    keys = [plain_value(code if names is None else names[code]) for code in distinct.tolist()]
    return keys, place.reshape(-1)


@dataclass(frozen=True, eq=False)
class BestScores(UnweightedSummary):
    """By probe: the highest score of its mates, and of all others in the gallery."""

    mates: dict[Hashable, float]
    """Of probes that have a mate among the candidates."""
    others: dict[Hashable, float]
    subjects: Pairs
    """Each probe with what the column of subjects says of it."""
    enrolled: Pairs
    """Each probe with what a column says about its subject being in the gallery."""

    @classmethod
    def at(cls, probe: str, subject: str | None, enrolled: str | None) -> Callable[[Scores], BestScores]:
        """A summarizer; ``subject`` and ``enrolled`` are columns about the probes."""

        def make(chunk: Scores) -> BestScores:
            best: list[dict[Hashable, float]] = []
            about: dict[str | None, Pairs] = {subject: frozenset(), enrolled: frozenset()}
            for i, scores in enumerate((chunk.target, chunk.nontarget)):
                keys, place = _by_probe(chunk, probe, i)
                top = np.full(len(keys), -math.inf)
                # np.maximum.at handles probes that occur several times; assignment by index would keep
                # the last.
                np.maximum.at(top, place, scores.astype(np.float64, copy=False))
                best.append(dict(zip(keys, top.tolist(), strict=True)))
                for name in filter(None, about):
                    about[name] |= _distinct_pairs((keys, place), _by_probe(chunk, name, i))
            return cls(best[0], best[1], about[subject], about[enrolled])

        return make

    def __add__(self, other: BestScores) -> BestScores:
        mates = _highest_by_probe(self.mates, other.mates)
        others = _highest_by_probe(self.others, other.others)
        return BestScores(mates, others, self.subjects | other.subjects, self.enrolled | other.enrolled)


def _distinct_pairs(first: _ByValue, second: _ByValue) -> Pairs:
    """The values of two columns that stand in one row."""
    (keys, place), (values, code) = first, second
    found = np.unique(place * len(values) + code).tolist()
    return frozenset((keys[pair // len(values)], values[pair % len(values)]) for pair in found)


def _only_values(pairs: Pairs, probe: str, column: str | None) -> dict[Hashable, Hashable]:
    """By probe, its value in a column; several are refused."""
    values = dict(pairs)
    if len(values) < len(pairs):
        several = min((key for key, value in pairs if values[key] != value), key=str)
        raise InputError(f"{probe} {several!r} has several values in {column!r}; a probe has one")
    return values


def _highest_by_probe(ours: dict[Hashable, float], theirs: dict[Hashable, float]) -> dict[Hashable, float]:
    merged = dict(ours)
    for key, score in theirs.items():
        merged[key] = max(merged.get(key, -math.inf), score)
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
class SubjectsBeforeMates(UnweightedSummary):
    """By mated probe, the others that score at least as high as its best mate, each subject once."""

    found: Pairs
    """Each probe with the name of each of them."""

    @classmethod
    def at(
        cls, probe: str, best_mate: Mapping[Hashable, float], gallery: str
    ) -> Callable[[Scores], SubjectsBeforeMates]:
        """A summarizer; ``gallery`` is the column with the subjects of gallery entries."""

        def make(chunk: Scores) -> SubjectsBeforeMates:
            keys, place = _by_probe(chunk, probe, 1)
            entries, entry = _by_probe(chunk, gallery, 1)
            ahead = _ahead_of_mate(chunk, keys, place, best_mate)
            # A subject with several templates takes one place in the ranking
            # (docs/notes/decisions-models.md).
            return cls(_distinct_pairs((keys, place[ahead]), ([*map(str, entries)], entry[ahead])))

        return make

    def __add__(self, other: SubjectsBeforeMates) -> SubjectsBeforeMates:
        return SubjectsBeforeMates(self.found | other.found)

    @property
    def counts(self) -> dict[Hashable, float]:
        """How many subjects they are."""
        return {**Counter(key for key, _ in self.found)}


def _ahead_of_mate(
    chunk: Scores, keys: list[Hashable], place: IntArray, best_mate: Mapping[Hashable, float]
) -> BoolArray:
    """Which of those who are no mates score at least as high as the best mate of their search."""
    # NaN for probes without a mate: every comparison with it is False.
    mates: FloatArray = np.array([best_mate.get(key, math.nan) for key in keys], dtype=np.float64)
    # At least as high: ties count against the mate.
    return np.asarray(chunk.nontarget >= mates[place]) if len(keys) else np.zeros(0, dtype=bool)


@documented(IdentifyOptions, without=("probe",))
def identification(
    source: ScoreSource,
    probe: str | None = None,
    *,
    options: IdentifyOptions | None = None,
    **changes: Unpack[IdentifyKeywords],
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
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

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
    asked = IdentifyOptions.of(options, changes if probe is None else {**changes, "probe": probe})
    source = as_source(source)
    probe = asked.probe or source.roles.test
    if probe is None:
        raise InputError("name the column of the searches (probe=, --probe-column)")
    subject, enrolled, ranks, level = asked.subject, asked.enrolled, asked.ranks, asked.level
    probability(level, "level")
    if source.roles.weight is not None:
        raise InputError("identification takes no weights: every search counts once")
    columns = tuple(dict.fromkeys(name for name in (probe, subject, enrolled) if name))
    best = source.with_columns(*columns).reduce(BestScores.at(probe, subject, enrolled))
    mates, subjects = best.mates, _only_values(best.subjects, probe, subject)
    known = _only_values(best.enrolled, probe, enrolled)
    in_gallery = {key: _is_enrolled(value) for key, value in known.items()}
    entries = asked.gallery or source.roles.enroll
    if entries is None:
        before = source.with_columns(probe).reduce(before_mates(probe, mates)).groups
    else:
        ahead = SubjectsBeforeMates.at(probe, mates, entries)
        before = source.with_columns(probe, entries).reduce(ahead).counts
    for key in mates:
        if not in_gallery.get(key, True):
            raise InputError(f"{probe} {key!r} has a mate, but {enrolled!r} says it is not in the gallery")
    # By name, so that the order does not depend on that of the comparisons.
    order = sorted(mates | best.others, key=str)
    is_mated = np.array([key in mates or in_gallery.get(key, False) for key in order], dtype=bool)
    if not is_mated.any():
        raise InputError("no search has a mate: there is nothing to identify")
    # A mate that is missing from the list of candidates is at no rank.
    ranked = np.array([before.get(key, 0) + 1.0 if key in mates else math.inf for key in order])
    score = np.array([mates.get(key, -math.inf) for key in order])
    top = np.array([best.others.get(key, -math.inf) for key in order])
    people = None
    if subject is not None:
        people = np.unique([str(subjects[key]) for key in order], return_inverse=True)[1]
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
        # without non-mated searches there is no FPIR
        open_set=tuple(searches.at_fpir(rate, asked.rank) for rate in asked.fpir if not is_mated.all()),
        rank=asked.rank,
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
