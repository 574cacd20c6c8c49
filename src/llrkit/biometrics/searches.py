"""Searches: what each probe found in a gallery, as summaries over comparisons of probes with candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from llrkit._arrays import FloatArray, IntArray
from llrkit.core.column_values import plain_value
from llrkit.core.summary import SummaryBase
from llrkit.errors import InputError
from llrkit.scores import Scores


def _by_probe(chunk: Scores, probe: str, class_index: int) -> tuple[list[Any], IntArray]:
    """The probes of a class of a chunk, and which of them each comparison belongs to."""
    distinct, place = np.unique(chunk.columns[probe][class_index], return_inverse=True)
    names = chunk.categories.get(probe)
    keys = [plain_value(code if names is None else names[code]) for code in distinct.tolist()]
    return keys, place.reshape(-1)


@dataclass(frozen=True, eq=False)
class BestScores(SummaryBase):
    """By probe: the highest score of its mates, and of all others in the gallery; -inf without any."""

    best: dict[Any, tuple[float, float]]
    mated: frozenset[Any]
    """Probes that have a mate among the candidates."""
    subjects: dict[Any, Any]
    enrolled: dict[Any, bool]
    """By probe, whether a column says that its subject is in the gallery."""

    @classmethod
    def at(cls, probe: str, subject: str | None, enrolled: str | None) -> Callable[[Scores], BestScores]:
        """A summarizer; ``subject`` and ``enrolled`` are columns about the probes."""

        def make(chunk: Scores) -> BestScores:
            best: dict[Any, list[float]] = {}
            mated: set[Any] = set()
            about: dict[str, dict[Any, Any]] = {name: {} for name in (subject, enrolled) if name}
            for i, scores in enumerate((chunk.target, chunk.nontarget)):
                keys, place = _by_probe(chunk, probe, i)
                top = np.full(len(keys), -math.inf)
                np.maximum.at(top, place, scores.astype(np.float64, copy=False))
                for key, value in zip(keys, top.tolist(), strict=True):
                    best.setdefault(key, [-math.inf, -math.inf])[i] = value
                mated |= set(keys) if i == 0 else set()
                for name, values in about.items():
                    _note(values, chunk, name, i, keys, place, probe)
            said = {key: _is_true(value) for key, value in about.get(enrolled or "", {}).items()}
            pairs = {key: (one[0], one[1]) for key, one in best.items()}
            return cls(pairs, frozenset(mated), about.get(subject or "", {}), said)

        return make

    def __add__(self, other: BestScores) -> BestScores:
        best = dict(self.best)
        for key, pair in other.best.items():
            have = best.get(key, (-math.inf, -math.inf))
            best[key] = (max(have[0], pair[0]), max(have[1], pair[1]))
        return BestScores(
            best, self.mated | other.mated, _merged(self.subjects, other.subjects, "subject"),
            _merged(self.enrolled, other.enrolled, "value of the enrolled column"),
        )  # fmt: skip

    def __mul__(self, weight: float) -> BestScores:
        return self


def _note(
    values: dict[Any, Any], chunk: Scores, column: str, class_index: int, keys: list[Any], place: IntArray,
    probe: str,
) -> None:  # fmt: skip
    """Write down a column about the probes, which must be the same in all comparisons of a probe."""
    codes, names = chunk.columns[column][class_index], chunk.categories.get(column)
    distinct, code = np.unique(codes, return_inverse=True)
    low, high = np.full(len(keys), len(distinct)), np.full(len(keys), -1)
    np.minimum.at(low, place, code.reshape(-1))
    np.maximum.at(high, place, code.reshape(-1))
    for key, first, last in zip(keys, low.tolist(), high.tolist(), strict=True):
        value = plain_value(distinct[first] if names is None else names[distinct[first]])
        if first != last or values.setdefault(key, value) != value:
            raise InputError(f"{probe} {key!r} has several values in {column!r}; a probe has one")


def _merged(ours: dict[Any, Any], theirs: dict[Any, Any], what: str) -> dict[Any, Any]:
    merged = dict(ours)
    for key, value in theirs.items():
        if merged.setdefault(key, value) != value:
            raise InputError(f"probe {key!r} has more than one {what}: {merged[key]!r} and {value!r}")
    return merged


def _is_true(value: Any) -> bool:
    word = str(value).strip().lower()
    if word in ("1", "1.0", "true", "yes", "mated", "enrolled"):
        return True
    if word in ("0", "0.0", "false", "no", "non-mated", "nonmated", "-"):
        return False
    raise InputError(f"whether a probe is enrolled must be true or false (yes, no, 1, 0), got {value!r}")


@dataclass(frozen=True, eq=False)
class BeforeMates(SummaryBase):
    """By mated probe, how many others in the gallery score at least as high as its best mate."""

    counts: dict[Any, int]

    @classmethod
    def at(cls, probe: str, best_mate: Mapping[Any, float]) -> Callable[[Scores], BeforeMates]:
        """A summarizer."""

        def make(chunk: Scores) -> BeforeMates:
            keys, place = _by_probe(chunk, probe, 1)
            mates: FloatArray = np.array([best_mate.get(key, math.nan) for key in keys], dtype=np.float64)
            before = chunk.nontarget >= mates[place] if len(keys) else np.zeros(0, dtype=bool)
            counts = np.bincount(place[before], minlength=len(keys))
            found = zip(keys, counts.tolist(), strict=True)
            return cls({key: n for key, n in found if key in best_mate})

        return make

    def __add__(self, other: BeforeMates) -> BeforeMates:
        merged = dict(self.counts)
        for key, n in other.counts.items():
            merged[key] = merged.get(key, 0) + n
        return BeforeMates(merged)

    def __mul__(self, weight: float) -> BeforeMates:
        return self
