"""Scores in memory: two arrays, and what else is known of each trial."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, Rows
from llrkit._cached import cached_property
from llrkit._format import counted
from llrkit._progress import stage
from llrkit.errors import EmptyClassError, InputError
from llrkit.scores.arrays_of_other_libraries import named_systems
from llrkit.scores.checked_arrays import (
    column_array,
    frozen,
    refuse_nan,
    score_array,
    unchanging_and_smallest,
)
from llrkit.scores.roles import POSITION, Roles, require_column, row_in_words, unnamed_systems
from llrkit.scores.source import S, ScoreSource, reduce_chunks
from llrkit.scores.target_labels import expecting_scores_first, holds_words, looks_like_labels, target_mask

Prepared = TypeVar("Prepared")

CHUNK, LARGEST_CHUNK = 1 << 21, 1 << 22
DIVIDE_ABOVE = 1 << 19  # less work is not worth a second thread
_LABELS_GIVEN = "the second array holds labels, not scores of non-targets"
KEEP_UP_TO = 1 << 21  # trials of a set whose chunks, and whose scores in order, are kept


class Scores(ScoreSource):
    """Target and non-target scores, higher meaning more target-like.

    Labels in place of the non-target scores are refused: booleans, or only 0 and 1 (-1 and 1), both of them,
    for three or more trials, as many as the first array holds, whose values are others.

    A ``Scores`` is a score source: it is cut into chunks that a pool of threads summarizes.

    Parameters
    ----------
    target, nontarget
        Scores of one system, shape ``(n,)``, or of K systems on the same trials, shape ``(n, K)``: lists,
        NumPy arrays, columns of pandas or polars, or their tables, whose columns name the systems. Arrays
        that you could still write to are copied, since counts are kept for the next metric; read-only arrays
        of float32 and float64 are used as they are.
    columns
        What else is known of each trial: name -> (values of the targets, values of the non-targets).
    categories
        For a column of integer codes: name -> the values the codes stand for.

    Examples
    --------
    >>> scores = Scores([2.0, 3.5], [-1.0, 0.5, -2.0])
    >>> scores
    Scores(2 target, 3 nontarget trials)
    >>> Scores([1.0], [])
    Traceback (most recent call last):
    llrkit.errors.EmptyClassError: there are no nontarget trials; both classes need at least one
    >>> Scores([0.2, 3.5, 1.0], [0, 1, 1])
    Traceback (most recent call last):
    llrkit.errors.InputError: the second array holds labels, not scores of non-targets: ...
    """

    target: Array
    nontarget: Array
    columns: Mapping[str, tuple[Array, Array]]
    categories: Mapping[str, tuple[Hashable, ...]]
    ascending = False  # whether both classes are known to be in this order
    _sorted: Scores | None = None
    _factor = 1.0
    _calibrated = False
    _systems: tuple[str, ...] = ()  # their names, where tables were given

    def __init__(
        self,
        target: object,
        nontarget: object,
        columns: Mapping[str, tuple[object, object]] | None = None,
        *,
        categories: Mapping[str, Sequence[Hashable]] | None = None,
    ) -> None:
        self._set(target, nontarget, columns, categories)

    def _set(
        self,
        target: object,
        nontarget: object,
        columns: Mapping[str, tuple[object, object]] | None,
        categories: Mapping[str, Sequence[Hashable]] | None,
        *,
        labeled: bool = False,
    ) -> None:
        self.target, t_low = unchanging_and_smallest(score_array(target, "target scores"), target)
        try:
            others = score_array(nontarget, "nontarget scores")
            self.nontarget, n_low = unchanging_and_smallest(others, nontarget)
        except InputError:
            if labeled or not holds_words(nontarget):
                raise
            raise InputError(f"{_LABELS_GIVEN}: use lk.Scores.from_labels(scores, labels)") from None
        if not labeled and looks_like_labels(nontarget, self.nontarget, self.target):
            raise InputError(
                f"{_LABELS_GIVEN}: "
                "use lk.Scores.from_labels(scores, labels); if it does hold scores, lk.Scores.from_classes"
            )
        if self.target.shape[1:] != self.nontarget.shape[1:]:
            raise InputError(
                f"target scores have shape {self.target.shape}, nontarget scores {self.nontarget.shape}: "
                "both must hold the same number of systems"
            )
        if self.n_systems > 1:
            self._systems, others_named = named_systems(target), named_systems(nontarget)
            if self._systems and others_named and self._systems != others_named:
                raise InputError(
                    f"target scores are of the systems {', '.join(self._systems)}, nontarget scores of "
                    f"{', '.join(others_named)}: give both the same columns in the same order"
                )
        for name, array, low in (("target", self.target, t_low), ("nontarget", self.nontarget, n_low)):
            if len(array) == 0:
                raise EmptyClassError(f"there are no {name} trials; both classes need at least one")
            refuse_nan(array, f"{name} scores", low)
        self.columns = {
            name: (column_array(values[0], self.target, name), column_array(values[1], self.nontarget, name))
            for name, values in (columns or {}).items()
        }
        self.categories = {name: tuple(values) for name, values in (categories or {}).items()}

    @classmethod
    def from_classes(
        cls,
        target: npt.ArrayLike,
        nontarget: npt.ArrayLike,
        columns: Mapping[str, tuple[object, object]] | None = None,
        *,
        categories: Mapping[str, Sequence[Hashable]] | None = None,
    ) -> Scores:
        """As ``Scores(target, nontarget)``, where the second array may look like labels.

        Parameters
        ----------
        target
            Scores of the targets.
        nontarget
            Scores of the non-targets.
        columns
            For each name, the values of the targets and those of the non-targets.
        categories
            For each column of codes, the values that the codes stand for.

        Examples
        --------
        >>> Scores.from_classes([2.0, 3.0, 0.5], [0.0, 1.0, 0.0])
        Scores(3 target, 3 nontarget trials)
        """
        scores = cls.__new__(cls)
        scores._set(target, nontarget, columns, categories, labeled=True)
        return scores

    @classmethod
    def from_labels(
        cls,
        scores: object,
        is_target: object,
        columns: Mapping[str, object] | None = None,
        *,
        categories: Mapping[str, Sequence[Hashable]] | None = None,
        positive: object = None,
    ) -> Scores:
        """Split one array of scores by labels: bool, 0/1, -1/1, or the usual words.

        Two other kinds of labels are told apart by ``positive``, that of the targets.

        Parameters
        ----------
        scores
            Scores, higher meaning more target-like.
        is_target
            Labels: bool, 0/1, -1/1 or the usual words.
        columns
            For each name, one value per score.
        categories
            For each column of codes, the values that the codes stand for.
        positive
            The label that means target; all other labels mean non-target.

        Examples
        --------
        >>> Scores.from_labels([0.1, 2.0, 1.5], [0, 1, 1])
        Scores(2 target, 1 nontarget trials)
        >>> Scores.from_labels([0.1, 2.0, 1.5], ["other", "me", "me"], positive="me")
        Scores(2 target, 1 nontarget trials)
        """
        with expecting_scores_first(scores, is_target):
            values = score_array(scores, "scores")
            mask = target_mask(is_target, positive)
        if len(mask) != len(values):
            raise InputError(f"{counted(len(values), 'score')} but {counted(len(mask), 'label')}")
        refuse_nan(values, "scores")
        whole = {name: column_array(column, values, name) for name, column in (columns or {}).items()}
        split = {name: (frozen(column[mask]), frozen(column[~mask])) for name, column in whole.items()}
        made = cls.from_classes(frozen(values[mask]), frozen(values[~mask]), split, categories=categories)
        return made.read_with(systems=named_systems(scores))

    @classmethod
    def part(
        cls,
        target: Array,
        nontarget: Array,
        columns: Mapping[str, tuple[Array, Array]] | None = None,
        categories: Mapping[str, tuple[Hashable, ...]] | None = None,
    ) -> Scores:
        """A chunk made by a source: arrays already checked, either class may be empty.

        Parameters
        ----------
        target
            Scores of the targets.
        nontarget
            Scores of the non-targets.
        columns
            For each name, the values of the targets and those of the non-targets.
        categories
            For each column of codes, the values that the codes stand for.
        """
        chunk = cls.__new__(cls)
        chunk.target, chunk.nontarget = target, nontarget
        chunk.columns, chunk.categories = columns or {}, categories or {}
        return chunk

    @property
    def n_target(self) -> int:
        """Number of target trials."""
        return len(self.target)

    @property
    def n_nontarget(self) -> int:
        """Number of non-target trials."""
        return len(self.nontarget)

    @property
    def n_systems(self) -> int:
        """Number of systems that scored each trial."""
        return 1 if self.target.ndim == 1 else int(self.target.shape[1])

    @property
    def roles(self) -> Roles:
        """The systems and the columns there are; arrays have no ids."""
        names = self._systems or unnamed_systems(self.n_systems)
        return Roles(names, factor=self._factor, carried=tuple(self.columns), calibrated=self._calibrated)

    def read_with(
        self, factor: float = 1.0, calibrated: bool = False, systems: tuple[str, ...] = ()
    ) -> Scores:
        """These scores, remembering what those of a file were multiplied by, and whether a map made them.

        Parameters
        ----------
        factor
            What the scores of the file were multiplied by.
        calibrated
            Whether a calibration map wrote the scores.
        systems
            Names of the systems, where they have any and there are several.
        """
        self._factor, self._calibrated = factor, calibrated
        self._systems = systems if self.n_systems > 1 else ()
        return self

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of targets and of non-targets."""
        return self.n_target, self.n_nontarget

    @cached_property
    def kept_counts(self) -> dict[str, object]:
        """Counts for the next metric."""
        return {}

    def place(self, row: int) -> str:
        """Arrays know their rows by number only.

        Parameters
        ----------
        row
            Number of the row, from 0.
        """
        return row_in_words(row)

    def prepared(self, prepare: Callable[[Array], Prepared]) -> tuple[Prepared, Prepared]:
        """Target and non-target scores prepared for summaries; made once, so that all of them share it.

        Parameters
        ----------
        prepare
            Function of one array of scores.
        """
        if prepare not in self._prepared:
            self._prepared[prepare] = (prepare(self.target), prepare(self.nontarget))
        return cast("tuple[Prepared, Prepared]", self._prepared[prepare])

    @cached_property
    def _prepared(self) -> dict[Callable[[Array], object], tuple[object, object]]:
        return {}

    def reduce(self, summarize: Callable[[Scores], S], *, threads: int | None = None) -> S:
        """Summarize every chunk in a pool of threads and merge the summaries.

        Parameters
        ----------
        summarize
            Function of one chunk whose results can be merged with ``+``.
        threads
            Number of threads; by default as many as there are processors.
        """
        with stage("summarizing", self.n_target + self.n_nontarget) as done:
            chunks = _counted(self.chunks(), done)
            return reduce_chunks(chunks, summarize, n_chunks=self._pieces, threads=threads)

    def with_columns(self, *names: str) -> Scores:
        """The same scores carrying only these columns; a missing one is an error.

        Parameters
        ----------
        *names
            Names of columns.

        Examples
        --------
        >>> Scores([1.0], [0.0], {"room": ([1], [2])}).with_columns("noise")
        Traceback (most recent call last):
        llrkit.errors.UnknownNameError: there is no column 'noise'; there are: room
        """
        own = dict(self.columns)
        if POSITION in names and POSITION not in own:
            own[POSITION] = (np.arange(self.n_target), np.arange(self.n_nontarget))
        for name in names:
            if name != POSITION:
                require_column(name, self.columns)
        wide = Scores.part(self.target, self.nontarget, {name: own[name] for name in names}, self.categories)
        return wide.read_with(self._factor, self._calibrated, self._systems)

    def select(self, target: Rows, nontarget: Rows) -> Scores:
        """Some of the trials of each class, by masks, slices or positions, with their columns.

        Parameters
        ----------
        target
            Mask, slice or positions of the targets.
        nontarget
            Mask, slice or positions of the non-targets.

        Examples
        --------
        >>> Scores([1.0, 2.0], [0.0, 3.0, 4.0]).select([0], slice(1, None)).nontarget
        array([3., 4.])
        """
        columns = {name: (of[0][target], of[1][nontarget]) for name, of in self.columns.items()}
        some = Scores.part(self.target[target], self.nontarget[nontarget], columns, self.categories)
        return some.read_with(self._factor, self._calibrated, self._systems)

    def in_order(self, *, if_small: bool = False) -> Scores:
        """The scores of one system in ascending order; those of a small set are kept.

        Parameters
        ----------
        if_small
            Sort only if the set is small enough for the sorted scores to be kept.
        """
        from llrkit.scores.ascending import sorted_scores  # which is built on this module

        if self.ascending or self.target.ndim != 1 or (if_small and not self._small):
            return self
        if not self._small:
            return sorted_scores(self)
        if self._sorted is None:
            self._sorted = sorted_scores(self)
        return self._sorted

    def chunks(self, size: int | None = None) -> Iterator[Scores]:
        """Cut both classes into the same number of consecutive pieces, of at most ``size`` scores a class.

        Parameters
        ----------
        size
            Largest number of scores of a class in a chunk.
        """
        if size is not None:
            if size < 1:
                raise InputError(f"the size of a chunk must be at least 1, got {size}")
            return self._cut(-(-max(self.n_target, self.n_nontarget) // size))
        if self._small:
            return iter(self._kept)
        return self._cut(self._pieces)

    @property
    def _small(self) -> bool:
        return self.n_target + self.n_nontarget <= KEEP_UP_TO

    @property
    def _pieces(self) -> int:
        smaller, larger = sorted((self.n_target, self.n_nontarget))
        # A chunk much shorter than the grid of thresholds would make the grid the cost of each chunk.
        size = min(max(CHUNK, smaller), LARGEST_CHUNK)
        # The cut depends on the data alone, never on the number of threads, and so does every last bit.
        return max(-(-larger // size), 2 if larger + 4 * smaller > DIVIDE_ABOVE else 1)

    @cached_property
    def _kept(self) -> tuple[Scores, ...]:
        """The chunks of a small set, kept with what was sorted of them for the next pass."""
        return tuple(self._cut(self._pieces))

    def _cut(self, pieces: int) -> Iterator[Scores]:
        for i in range(pieces):
            t = slice(i * self.n_target // pieces, (i + 1) * self.n_target // pieces)
            n = slice(i * self.n_nontarget // pieces, (i + 1) * self.n_nontarget // pieces)
            chunk = self.select(t, n)
            chunk.ascending = self.ascending
            yield chunk

    def __repr__(self) -> str:
        systems = f", {self.n_systems} systems" if self.n_systems > 1 else ""
        return f"Scores({self.n_target:,} target, {self.n_nontarget:,} nontarget trials{systems})"


def _counted(chunks: Iterator[Scores], done: Callable[[float], None]) -> Iterator[Scores]:
    for chunk in chunks:
        yield chunk
        done(chunk.n_target + chunk.n_nontarget)
