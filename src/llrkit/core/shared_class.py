"""Groups that share a class: each attack against all bona fide trials, each condition against all targets."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from llrkit._arrays import IntArray
from llrkit._plain import Json
from llrkit.core.column_values import ValueCounts, natural_order, positions_by_name
from llrkit.core.spoof_kinds import BONA_FIDE, regrouped
from llrkit.core.summary_algebra import Grouped, Summarizer
from llrkit.core.threshold_grid import ClassName
from llrkit.errors import InputError, LabelError, PooledClassesWarning, UnknownNameError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived_sources import DerivedSource
from llrkit.scores.source import S
from llrkit.scores.spoof_kind_words import SPOOF_WORDS, kind_of
from llrkit.scores.target_labels import classify_words

MARKERS = frozenset({
    "", "-", "--", "none", "n/a", "na", "bonafide", "bona-fide", "bona fide", "bona_fide", "genuine", "human",
    "live", "real", "target", "nontarget",
})  # fmt: skip
"""Words that stand in a column of attacks for trials that are none; so does a missing value."""


@dataclass(frozen=True)
class SharedClass:
    """The class whose trials all groups of a column share, and the values that mark it.

    Examples
    --------
    >>> counts = {"-": (20, 0), "A01": (0, 5), "A02": (0, 7)}
    >>> shared = find_shared_class(counts)
    >>> shared.name, shared.markers, shared.groups(counts)
    ('target', ('-',), ['A01', 'A02'])
    """

    name: ClassName
    markers: tuple[Hashable, ...]
    """Values of the column that are no groups: they mark the shared class."""
    automatic: bool
    """Whether nobody asked for it."""
    of_kinds: bool = False
    """Whether targets and non-targets together are the bona fide trials, and the others spoofs."""

    @property
    def _other(self) -> int:
        return 1 if self.name == "target" else 0

    def groups(self, counts: Mapping[Hashable, tuple[float, float]]) -> list[Hashable]:
        """The values that are groups, in their order."""
        values = [v for v, n in counts.items() if n[self._other] > 0 and v not in self.markers]
        return sorted(values, key=natural_order)

    def skipped(self, counts: Mapping[Hashable, tuple[float, float]]) -> dict[Hashable, str]:
        """Markers that trials of the other class have as well, which are then in no group."""
        return {
            value: f"it marks the trials that the groups share ({self.name})"
            for value in self.markers
            if counts[value][self._other] > 0
        }

    def split(self, chunk: Scores, column: str, groups: Iterable[Hashable]) -> dict[Hashable, Scores]:
        """One chunk for each group, all with the whole shared class; also where the group has no trials."""
        positions = self._positions(chunk, column)
        nothing = np.empty(0, dtype=np.intp)
        return {group: self._select(chunk, positions.get(group, nothing)) for group in groups}

    def trials_of(self, source: ScoreSource, column: str, group: object) -> DerivedSource:
        """The trials of one group with the shared class."""

        def change(chunk: Scores) -> Scores:
            positions = self._positions(chunk, column)
            own = [at for value, at in positions.items() if value == group]
            return self._select(chunk, np.sort(np.concatenate([*own, np.empty(0, dtype=np.intp)])))

        return DerivedSource(source, change, (column,))

    def _positions(self, chunk: Scores, column: str) -> dict[Hashable, IntArray]:
        return positions_by_name(chunk.columns[column][self._other], chunk.categories.get(column))

    def _select(self, chunk: Scores, other: IntArray) -> Scores:
        every = slice(None)
        return chunk.select(every, other) if self._other else chunk.select(other, every)

    def sentence(self, by: str) -> str:
        """What the groups are compared with, in words."""
        why = ", because no group has any of its own" if self.automatic else ""
        name = {"target": "bona fide", "nontarget": "spoofed"}[self.name] if self.of_kinds else self.name
        which = " (targets and non-targets)" if name == "bona fide" else ""
        return f"Each {by} is evaluated against all {name} trials{which}, which the groups share{why}."

    def to_dict(self) -> dict[str, Json]:
        """Plain values, as in the JSON of the command line."""
        return {
            "class": self.name,
            "markers": [str(value) for value in self.markers],
            "automatic": self.automatic,
        }


def class_to_share(word: str) -> ClassName:
    """The class that a word means: target, bonafide, ..., or nontarget, spoof, ...

    Examples
    --------
    >>> class_to_share("bonafide"), class_to_share("spoof")
    ('target', 'nontarget')
    """
    meaning = classify_words([word])[0] if isinstance(word, str) else None
    if meaning is None:
        raise UnknownNameError(
            f"unknown class {word!r} to share; known are target (or bonafide) and nontarget (or spoof)"
        )
    return "target" if meaning else "nontarget"


def find_shared_class(
    counts: Mapping[Hashable, tuple[float, float]], asked: ClassName | None = None
) -> SharedClass | None:
    """The class that groups share: the one asked for, or one that has nothing but a marker; else None.

    ``counts`` are the numbers of targets and non-targets by value of the column. Without being asked for, a
    class is shared where no group could be evaluated otherwise: all of its trials have a word that says they
    belong to no group (``-``, ``bonafide``), or one value that no trial of the other class has, which has
    several.
    """
    for name, own, other in (("target", 0, 1), ("nontarget", 1, 0)):
        if asked is not None and asked != name:
            continue
        here = [value for value, n in counts.items() if n[own] > 0]
        there = [value for value, n in counts.items() if n[other] > 0]
        alone = [value for value in here if value not in there]
        marked = [value for value in here if _is_marker(value)]
        class_name: ClassName = "target" if own == 0 else "nontarget"
        if asked is not None:
            shared = SharedClass(class_name, tuple(dict.fromkeys([*alone, *marked])), automatic=False)
            if not shared.groups(counts):
                raise InputError(f"no group is left: all values mark the {name} trials, which are shared")
            return shared
        groups = [value for value in there if value not in here]
        if groups and (len(marked) == len(here) or (len(here) == 1 == len(alone) and len(there) > 1)):
            return SharedClass(class_name, tuple(here), automatic=True)
    return None


def _is_marker(value: object) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in MARKERS)


def each_group(
    split: Callable[[Scores], Mapping[Hashable, Scores]], summarize: Callable[[Hashable, Scores], S | None]
) -> Summarizer[Grouped[Hashable, S]]:
    """A summarizer of each group of a chunk, which is told the group too and may return ``None``."""

    def make(chunk: Scores) -> Grouped[Hashable, S]:
        summaries = {key: summarize(key, group) for key, group in split(chunk).items()}
        return Grouped({key: summary for key, summary in summaries.items() if summary is not None})

    return make


def speaks_of_spoofs(word: str | None) -> bool:
    """Whether a class to share is named as countermeasures do: bona fide, or spoof.

    Examples
    --------
    >>> [speaks_of_spoofs(word) for word in ("bonafide", "Bona fide", "spoof", "target", None)]
    [True, True, True, False, False]
    """
    plain = re.sub(r"[ _]+", "-", word.strip().lower()) if isinstance(word, str) else ""
    return plain in ("bonafide", "bona-fide") or plain in SPOOF_WORDS


def bona_fide_and_spoofs(source: ScoreSource, word: str | None) -> ScoreSource:
    """Targets and non-targets against spoofs, if the class to share is named so and labels tell all three.

    Both are bona fide, so that a countermeasure is to accept them. Other trials stay as they are; one pass.

    Examples
    --------
    >>> import llrkit as lk
    >>> table = {"score": [2.0, 3.0, -1.0], "label": ["target", "nontarget", "spoof"], "attack": list("--A")}
    >>> lk.evaluate(lk.Trials(table), by="attack", shared="bonafide").n_target
    2
    """
    column = source.roles.label
    if column is None or not speaks_of_spoofs(word):
        return source
    with warnings.catch_warnings():  # no two kinds are taken as one
        warnings.simplefilter("ignore", PooledClassesWarning)
        words = source.with_columns(column).reduce(lambda chunk: ValueCounts.of(chunk, column)).counts
    try:
        kinds = {kind_of(label) for label in words}
    except LabelError:  # labels of its own, which the label of the targets tells apart
        return source
    if not {"nontarget", "spoof"} <= kinds:
        return source
    change = partial(regrouped, column=column, positive=BONA_FIDE, negative=("spoof",), attack=None)
    return DerivedSource(source, change, (column,))
