"""On what a system is validated: sources, recordings, range and bounds of its LLRs, as numbers and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from llrkit._format import agreeing, counted
from llrkit._llr_units import NATS, LlrUnit
from llrkit._plain import Json
from llrkit.calibrate.bounds.bounded_map import BoundedMap
from llrkit.calibrate.bounds.bounding_methods import bound_elub
from llrkit.calibrate.bounds.named_bounds import counted_for_bounds
from llrkit.calibrate.composed_map import ComposedMap
from llrkit.calibrate.maps import AffineMap, Map
from llrkit.core.column_values import ValueCounts
from llrkit.core.loss_sums import LossSums
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.scores import ScoreSource

WHY = {
    "fixed": "given with the map",
    "sources": "the logarithm of the number of training sources plus one",
    "elub": "empirical lower and upper bounds (Vergeer et al. 2016)",
    "invariance": "invariance-verification method (Alberink et al. 2025)",
}
"""Why LLRs are bounded, by the last part of the name of the method."""


MANY_BEYOND = "lie beyond them, so this map did not make these LLRs"


@dataclass(frozen=True)
class DistinctCounts:
    """How many different values occur in columns: at all, in target trials, in non-target trials."""

    columns: tuple[str, ...]
    n: int
    n_target: int
    n_nontarget: int

    def __str__(self) -> str:
        classes = f"{self.n_target:,} in same-source, {self.n_nontarget:,} in different-source trials"
        return f"{self.n:,} ({classes})"


@dataclass(frozen=True)
class Bounds:
    """The bounds a map puts on LLRs in nats, why, and how many of the LLRs lie on them or beyond."""

    low: float
    high: float
    method: str
    n_at_low: int
    n_at_high: int
    n_beyond: int
    why: str
    """In words, with what was counted."""

    def words(self, unit: LlrUnit = NATS) -> str:
        """As a reader is told them."""
        why = self.why
        said = f"{unit.span(self.low, self.high)}, {why}; "
        said += f"{counted(self.n_at_low, 'LLR')} {agreeing(self.n_at_low, 'lies', 'lie')} at the lower one "
        said += f"and {self.n_at_high:,} at the upper one"
        if self.n_beyond:
            beyond = agreeing(self.n_beyond, "lies beyond them, so this map did not make it", MANY_BEYOND)
            said += f"; {self.n_beyond:,} {beyond}"
        return said


@dataclass(frozen=True)
class ValidatedScope:
    """What a validation report must state about trials and LLRs besides what only people know."""

    n_target: int
    n_nontarget: int
    sources: DistinctCounts | None
    recordings: DistinctCounts | None
    lowest: float
    highest: float
    supported: tuple[float, float]
    """Empirical lower and upper bounds of these trials in nats: they do not support stronger LLRs."""
    n_beyond: int
    """LLRs of these trials that are stronger than that."""
    beyond_by: float
    """How far the strongest of them lies outside, in nats; 0 if there is none."""
    calibration: str | None
    """How the calibration map was made, where it is known."""
    bounds: Bounds | None
    n_infinite: int = 0
    """Infinite LLRs, which the lowest and the highest are not."""

    def to_dict(self) -> dict[str, Json]:
        """Plain values."""
        plain = asdict(self)
        del plain["n_infinite"]
        for name in ("sources", "recordings"):
            if plain[name] is not None:
                plain[name]["columns"] = list(plain[name]["columns"])
        if plain["bounds"] is not None:
            del plain["bounds"]["why"]
        return {**plain, "supported": list(self.supported)}

    def words(self, unit: LlrUnit = NATS) -> dict[str, str]:
        """Everything that is known, by what it is."""
        bounds = self.bounds.words(unit) if self.bounds else "none"
        said = {
            "trials": f"{self.n_target:,} same-source, {self.n_nontarget:,} different-source",
            "sources": str(self.sources) if self.sources else "",
            "recordings": str(self.recordings) if self.recordings else "",
            "calibration map": self.calibration or "",
            "bounds of the map": bounds if self.bounds or self.calibration else "",
            "range of the LLRs": unit.span(self.lowest, self.highest) + self._infinite(),
            "range these trials support": f"{unit.span(*self.supported)}, {WHY['elub']}; "
            f"{self._stronger(unit)}",
        }
        return {name: text for name, text in said.items() if text}

    def _infinite(self) -> str:
        n = self.n_infinite
        return f"; {counted(n, 'other')} {agreeing(n, 'is', 'are')} infinite" if n else ""

    def _stronger(self, unit: LlrUnit) -> str:
        """How many LLRs are stronger than these trials support, and by how much; it may be little."""
        if not self.n_beyond:
            return "no LLR is stronger"
        are = agreeing(self.n_beyond, "LLR is", "LLRs are")
        if self.n_infinite:
            return f"{self.n_beyond:,} {are} stronger"
        return f"{self.n_beyond:,} {are} stronger, by {unit.said(self.beyond_by, '.2g')} at most"


def find_scope(
    source: ScoreSource,
    result: Evaluation,
    *,
    speakers: str | Sequence[str] | None = None,
    recordings: str | Sequence[str] | None = None,
    calibration: Map | None = None,
) -> ValidatedScope:
    """Count what a report states about trials that hold LLRs and their evaluation; a few passes.

    Without ``recordings`` the enrollment and test ids of the trials are counted, if they have both.

    Examples
    --------
    >>> from llrkit.evaluation.evaluate import evaluate
    >>> from llrkit.scores import Scores
    >>> speakers = {"left": (["a", "b"], ["a", "c", "d"]), "right": (["a", "b"], ["b", "d", "a"])}
    >>> scores = Scores([2.0, 1.0], [-1.0, 0.5, -3.0], speakers)
    >>> scope = find_scope(scores, evaluate(scores), speakers=("left", "right"))
    >>> scope.words()["sources"]
    '4 (2 in same-source, 4 in different-source trials)'
    """
    bounded = bounding_map(calibration)
    supported = bound_elub(AffineMap(a=1.0, b=0.0), source)
    below, above = _count_beyond(source, supported.low, supported.high)
    lowest, highest = result.moments.extremes
    return ValidatedScope(
        int(result.n_target), int(result.n_nontarget),
        _distinct_counts_of(source, _names_of_columns(speakers)),
        _distinct_counts_of(source, _names_of_columns(recordings) or _id_columns_of(source)), lowest, highest,
        (supported.low, supported.high), below + above,
        max(supported.low - lowest, highest - supported.high, 0.0) if below + above else 0.0,
        _words_on_calibration(calibration) if calibration is not None else None,
        _count_at_bounds(source, bounded) if bounded is not None else None,
        int(result.moments.n_infinite),
    )  # fmt: skip


def _names_of_columns(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if not columns else (columns,) if isinstance(columns, str) else tuple(columns)


def _id_columns_of(source: ScoreSource) -> tuple[str, ...]:
    ids = source.roles.ids
    return ids if len(ids) == 2 else ()


def _distinct_counts_of(source: ScoreSource, columns: tuple[str, ...]) -> DistinctCounts | None:
    if not columns:
        return None
    counts = source.with_columns(*columns).reduce(lambda chunk: ValueCounts.of(chunk, *columns)).counts
    of_class = [sum(1 for size in counts.values() if size[class_index] > 0) for class_index in (0, 1)]
    return DistinctCounts(columns, len(counts), *of_class)


def _count_beyond(source: ScoreSource, low: float, high: float) -> tuple[int, int]:
    """How many LLRs are below ``low``, and how many above ``high``."""
    cuts = [low, np.nextafter(high, np.inf)]
    sums = source.reduce(LossSums.at(thresholds=cuts))
    below = sums.n_miss[0] + sums.n_nontarget - sums.n_fa[0]
    return round(float(below)), round(float(sums.n_target - sums.n_miss[1] + sums.n_fa[1]))


def bounding_map(calibration: Map | None) -> BoundedMap | None:
    """The map that bounds the LLRs last."""
    if isinstance(calibration, ComposedMap):
        return bounding_map(calibration.second)
    return calibration if isinstance(calibration, BoundedMap) else None


def why_bounded(bounded: BoundedMap) -> str:
    """Why a map bounds LLRs, with the sources that were counted where it knows them.

    Examples
    --------
    >>> from llrkit.calibrate.bounds.bounding_methods import bound_sources
    >>> why_bounded(bound_sources(AffineMap(a=1.0, b=0.0), n_sources=(39, 780)))
    'the logarithm of the number of training sources plus one (39 target sources, 780 non-target sources)'
    """
    how = bounded.method.rpartition("+")[2]
    why = WHY.get(how.strip(), how)
    counted = counted_for_bounds(bounded) if how == "sources" else ""
    if not counted:
        return why
    each = ", each taken as a source of its own" if counts_trials(bounded) else ""
    return f"{why} ({counted}{each})"


def counts_trials(bounded: BoundedMap) -> bool:
    """Whether bounds by sources took every training trial for a source of its own."""
    return all(bounded.details.get(name) == "trials" for name in ("target_sources", "nontarget_sources"))


def _count_at_bounds(source: ScoreSource, bounded: BoundedMap) -> Bounds:
    reach = 1e-9 * max(1.0, abs(bounded.low), abs(bounded.high))  # LLRs may have been written as text
    to_low, to_high = _count_beyond(source, bounded.low + reach, bounded.high - reach)
    beyond = _count_beyond(source, bounded.low - reach, bounded.high + reach)
    how = bounded.method.rpartition("+")[2]
    at = to_low - beyond[0], to_high - beyond[1]
    return Bounds(bounded.low, bounded.high, how, *at, sum(beyond), why_bounded(bounded))


def _words_on_calibration(calibration: Map) -> str:
    known = calibration.provenance
    said = calibration.method or calibration.kind
    if "n_target" in known and "n_nontarget" in known:
        sizes = f"{known['n_target']:,} same-source and {known['n_nontarget']:,} different-source trials"
        said += f", trained on {sizes}"
    return said
