"""Searches: what each probe found in a gallery, as summaries over comparisons of probes with candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from llrkit._arrays import BoolArray, FloatArray, IntArray
from llrkit.core.column_values import plain_value
from llrkit.core.summary_algebra import SummaryBase
from llrkit.errors import InputError
from llrkit.scores import Scores

V = TypeVar("V", bound=Hashable)


def _by_probe(chunk: Scores, probe: str, class_index: int) -> tuple[list[Hashable], IntArray]:
    """The probes of a class of a chunk, and which of them each comparison belongs to."""
    distinct, place = np.unique(chunk.columns[probe][class_index], return_inverse=True)
    names = chunk.categories.get(probe)
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


@dataclass(frozen=True, eq=False)
class BeforeMates(SummaryBase):
    """By mated probe, how many others in the gallery score at least as high as its best mate."""

    counts: dict[Hashable, float]

    @classmethod
    def at(cls, probe: str, best_mate: Mapping[Hashable, float]) -> Callable[[Scores], BeforeMates]:
        """A summarizer."""

        def make(chunk: Scores) -> BeforeMates:
            keys, place = _by_probe(chunk, probe, 1)
            ahead = place[_ahead_of_mate(chunk, keys, place, best_mate)]
            return cls(dict(zip(*_counted_probes(keys, ahead), strict=True)))

        return make

    def __add__(self, other: BeforeMates) -> BeforeMates:
        merged = dict(self.counts)
        for key, n in other.counts.items():
            merged[key] = merged.get(key, 0) + n
        return BeforeMates(merged)

    def __mul__(self, weight: float) -> BeforeMates:
        return BeforeMates({key: n * weight for key, n in self.counts.items()})


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
            names: dict[Hashable, dict[str, bool]] = {}
            ahead = _ahead_of_mate(chunk, keys, place, best_mate)
            entries, entry = _by_probe(chunk, gallery, 1)
            pairs = np.unique(place[ahead] * len(entries) + entry[ahead])
            for pair in pairs.tolist():
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
    mates: FloatArray = np.array([best_mate.get(key, math.nan) for key in keys], dtype=np.float64)
    return np.asarray(chunk.nontarget >= mates[place]) if len(keys) else np.zeros(0, dtype=bool)


def _counted_probes(keys: list[Hashable], place: IntArray) -> tuple[list[Hashable], list[int]]:
    """The probes that occur, and how often."""
    counts = np.bincount(place, minlength=len(keys)).tolist()
    found = [(key, n) for key, n in zip(keys, counts, strict=True) if n]
    return [key for key, _ in found], [n for _, n in found]
