"""Scores in memory: checked, sorted, and given as a source."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

import numpy as np

from llrkit.base.arguments import Array, ArrayLike, FloatArray, Rows
from llrkit.base.process import cached_property, each_in_threads, reduce_chunks, stage, thread_count
from llrkit.base.text import counted
from llrkit.errors import EmptyClassError, InputError, NaNScoreError
from llrkit.scores import labels
from llrkit.scores.source import (
    POSITION,
    Roles,
    S,
    ScoreSource,
    require_column,
    row_in_words,
    unnamed_systems,
)

Result = TypeVar("Result")
Prepared = TypeVar("Prepared")
# Tuned for speed; benchmarks/bench_shapes.py times the sets on which they matter.
CHUNK, LARGEST_CHUNK = 1 << 21, 1 << 22
DIVIDE_ABOVE = 1 << 19  # less work is not worth a second thread
KEEP_UP_TO = 1 << 21  # trials of a set whose chunks, and whose scores in order, are kept
_WORTH_THREADS = 1 << 19  # numbers; fewer are copied and searched by one thread
_PIECE = 1 << 21
"""Numbers that a thread copies at a time, at most: many are still in the cache when looked at again."""
EXACT = 1 << 53  # float64 has 53 bits: whole numbers up to here are all different
INEXACT = (
    "is a whole number beyond 2^53, where different scores become equal; scale or shift the scores first"
)
UNCHANGING_OWNERS = ("bytes", "mmap", "PySeries")
"""Owners of memory that read-only arrays may share: bytes, a file that is mapped, a column of polars."""
_LABELS_GIVEN = "the second array holds labels, not scores of non-targets"


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
        # copied and searched for NaN in one pass (docs/notes/decisions-speed.md)
        self.target, t_low = unchanging_and_smallest(score_array(target, "target scores"), target)
        try:
            others = score_array(nontarget, "nontarget scores")
            self.nontarget, n_low = unchanging_and_smallest(others, nontarget)
        except InputError:
            if labeled or not labels.holds_words(nontarget):  # the error that is there says more
                raise
            raise InputError(f"{_LABELS_GIVEN}: use lk.Scores.from_labels(scores, labels)") from None
        if not labeled and labels.looks_like_labels(nontarget, self.nontarget, self.target):
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
            self._systems, others_named = labels.named_systems(target), labels.named_systems(nontarget)
            if self._systems and others_named and self._systems != others_named:
                raise InputError(
                    f"target scores are of the systems {', '.join(self._systems)}, nontarget scores of "
                    f"{', '.join(others_named)}: give both the same columns in the same order"
                )
        self._require_both_classes()
        refuse_nan(self.target, "target scores", t_low)
        refuse_nan(self.nontarget, "nontarget scores", n_low)
        self.columns = {
            name: (self._own_column(t, self.n_target, name), self._own_column(n, self.n_nontarget, name))
            for name, (t, n) in (columns or {}).items()
        }
        self.categories = {name: tuple(values) for name, values in (categories or {}).items()}

    @staticmethod
    def _own_column(values: object, n: int, name: str) -> Array:
        return unchanging(per_trial(values, n, name), values)

    def _require_both_classes(self) -> None:
        for name, array in (("target", self.target), ("nontarget", self.nontarget)):
            if len(array) == 0:
                raise EmptyClassError(f"there are no {name} trials; both classes need at least one")

    @classmethod
    def from_classes(
        cls,
        target: ArrayLike,
        nontarget: ArrayLike,
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
        scores = cls.__new__(cls)  # the constructor would refuse what looks like labels
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
        with labels.expecting_scores_first(scores, is_target):
            values = score_array(scores, "scores")
            mask = labels.target_mask(is_target, positive)
        if len(mask) != len(values):
            raise InputError(f"{counted(len(values), 'score')} but {counted(len(mask), 'label')}")
        refuse_nan(values, "scores")
        whole = {name: per_trial(column, len(mask), name) for name, column in (columns or {}).items()}
        # what a mask chooses is a copy, which nobody else has
        split = {name: (frozen(column[mask]), frozen(column[~mask])) for name, column in whole.items()}
        words = {name: tuple(names) for name, names in (categories or {}).items()}
        trials = cls.part(frozen(values[mask]), frozen(values[~mask]), split, words)
        trials._require_both_classes()
        return trials.read_with(systems=labels.named_systems(scores))

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
        chunk = cls.__new__(cls)  # without the checks, which the whole has passed
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
        self._systems = systems if self.n_systems > 1 else ()  # one system needs no name to be told apart
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
        # by function: moments, losses and counts of a chunk share what was sorted
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
        # several systems have no common order
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
            chunk.ascending = self.ascending  # a slice of sorted scores is sorted
            yield chunk

    def __repr__(self) -> str:
        systems = f", {self.n_systems} systems" if self.n_systems > 1 else ""
        return f"Scores({self.n_target:,} target, {self.n_nontarget:,} nontarget trials{systems})"


def _counted(chunks: Iterator[Scores], done: Callable[[float], None]) -> Iterator[Scores]:
    for chunk in chunks:
        yield chunk
        done(chunk.n_target + chunk.n_nontarget)  # when the next one is asked for


def sorted_scores(scores: Scores) -> Scores:
    """The scores of one system in ascending order, each class in a thread, sharing the counts that are kept.

    Examples
    --------
    >>> sorted_scores(Scores([3.0, 1.0, 2.0], [0.0])).target
    array([1., 2., 3.])
    """
    classes = (scores.target, scores.nontarget)
    small = min(map(len, classes)) < DIVIDE_ABOVE  # a second thread must have enough to sort
    target, nontarget = each_in_threads(np.sort, classes, threads=1 if small else None)
    ordered = Scores.part(target, nontarget).read_with(scores._factor, scores._calibrated)
    ordered.ascending = True
    # the same dict: what is counted of the sorted scores is found by the next metric of the unsorted
    vars(ordered)["kept_counts"] = scores.kept_counts
    return ordered


def score_array(values: object, what: str) -> Array:
    """Scores of one system or of several, read-only."""
    given = labels.as_numpy(values, what)
    array = _as_floats(given, what)
    refuse_inexact(given, what)  # of what was given: after conversion the digits are gone
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise InputError(f"{what} must have shape (n,) or (n, K), got {array.shape}")
    if array.ndim == 2 and array.shape[1] == 1:  # one system has one shape everywhere
        array = array[:, 0]
    return read_only(array)


def number_array(values: object, what: str) -> Array:
    """An array of float32 or float64; what is not a number is named by its place."""
    return _as_floats(labels.as_numpy(values, what), what)


def _as_floats(array: Array, what: str) -> Array:
    # NumPy would drop imaginary parts and read dates as numbers
    if array.dtype == object or array.dtype.kind in "USOcmM":
        return _floats_from_objects(array, what)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _floats_from_objects(array: Array, what: str) -> FloatArray:
    converted = np.empty(array.shape, dtype=np.float64)
    for index, value in np.ndenumerate(array):  # one by one, so that the message can name the place
        try:
            if isinstance(value, (complex, np.complexfloating)):
                raise TypeError("complex")  # float() would drop the imaginary part
            converted[index] = np.nan if value is None else float(value)
        except (TypeError, ValueError):
            place = f" at index {index[0] if len(index) == 1 else index}" if index else ""
            shown = value.item() if isinstance(value, np.generic) else value
            raise InputError(f"{what}: {shown!r}{place} is not a number") from None
    return converted


def refuse_inexact(whole: Array, what: str) -> None:
    """Refuse whole numbers beyond 2^53 as scores: floating point would make ties of different ones.

    Examples
    --------
    >>> refuse_inexact(np.array([2**53, 2**53 + 1]), "target")
    Traceback (most recent call last):
    llrkit.errors.InputError: target: 9007199254740993 at index 1 is a whole number beyond 2^53, where ...
    """
    if whole.dtype.kind not in "iuO" or whole.size == 0:
        return
    if whole.dtype.kind == "O":
        is_beyond = np.frompyfunc(lambda value: isinstance(value, int) and abs(value) > EXACT, 1, 1)
        beyond = np.asarray(is_beyond(whole), dtype=bool)
    else:
        # unsigned numbers have no lower side
        beyond = (whole > EXACT) | (whole < -EXACT if whole.dtype.kind == "i" else False)
    if beyond.any():
        index = tuple(int(i) for i in np.argwhere(beyond)[0])
        place = index[0] if len(index) == 1 else index
        raise InputError(f"{what}: {whole[index]} at index {place} {INEXACT}")


def beyond_exact(text: str) -> bool:
    """Whether a text is a whole number, written out, that floating point may not hold exactly.

    Examples
    --------
    >>> beyond_exact("9007199254740992"), beyond_exact("-9007199254740993"), beyond_exact("1e300")
    (False, True, False)
    """
    digits = text.strip().lstrip("+-")
    # int() of very many digits is slow, and beyond 4,300 an error
    return digits.isdecimal() and (len(digits) > 400 or int(digits) > EXACT)


def first_nan(array: Array) -> tuple[int, ...] | None:
    """Where the first NaN of an array of numbers is; None if there is none.

    Examples
    --------
    >>> first_nan(np.array([[1.0, np.inf], [0.0, np.nan]])), first_nan(np.array([1.0]))
    ((1, 1), None)
    """
    # min() hands a NaN through and needs no temporary array
    if array.size == 0 or not np.isnan(array.min()):
        return None
    return tuple(np.argwhere(np.isnan(array))[0].tolist())


def refuse_nan(array: Array, what: str, smallest: float | None = None) -> None:
    """Refuse NaN, naming its place; nothing is searched where the smallest value is known and a number."""
    if math.isnan(_smallest_of_array(array) if smallest is None else smallest):
        place = ", system ".join(map(str, first_nan(array) or ()))
        raise NaNScoreError(f"{what}: NaN at index {place}; every trial needs a score (+-inf is allowed)")


def per_trial(values: object, n: int, name: str) -> Array:
    """The values of a column, one for each of ``n`` trials, read-only."""
    array = np.asarray(values)
    if array.shape[:1] != (n,):
        has = counted(len(array), "value") if array.ndim else "no values"
        raise InputError(f"column {name!r} has {has} for {counted(n, 'trial')}")
    return read_only(array)


def read_only(array: Array) -> Array:
    """A view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def frozen(fresh: Array) -> Array:
    """An array that nobody else has, made read-only."""
    fresh.flags.writeable = False
    return fresh


def unchanging(array: Array, given: object) -> Array:
    """An array made of what was given, or a copy of it if whoever gave it could still write to it.

    What has been counted is kept, so the scores must stay what they were.

    Examples
    --------
    >>> mine = np.array([1.0, 2.0])
    >>> unchanging(mine, mine) is mine, unchanging(frozen(mine), mine) is mine
    (False, True)
    """
    return frozen(array.copy()) if _could_change(array, given) else array


def unchanging_and_smallest(array: Array, given: object) -> tuple[Array, float]:
    """The same array and its smallest value, NaN if there is any; found while what is copied is in the cache.

    Examples
    --------
    >>> unchanging_and_smallest(np.array([1.0, np.nan]), None)
    (array([ 1., nan]), nan)
    """
    if not _could_change(array, given):
        return array, _smallest_of_array(array)
    if array.size < _WORTH_THREADS:
        copy = frozen(array.copy())
        return copy, _smallest_of_array(copy)
    copy = np.empty_like(array)

    def copy_piece(piece: slice) -> float:
        np.copyto(copy[piece], array[piece])  # min() finds the piece still in the cache
        return float(copy[piece].min())

    smallest = float(np.min(_pieces_in_threads(array, copy_piece)))
    return frozen(copy), smallest


def _could_change(array: Array, given: object) -> bool:
    """Whether an array made of what was given can be written to by whoever gave it."""
    # lists are always copied; arrays are, where their type had to change
    if isinstance(given, (list, tuple)) or (
        isinstance(given, np.ndarray) and not np.may_share_memory(array, given)
    ):
        return False  # a new array was made of it already
    if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        return True  # memory of another library
    owner: object = array
    while isinstance(owner, np.ndarray):  # Arrow hides arrays of NumPy, for one
        if owner.flags.writeable:
            return True
        owner = owner.base
    # who owns the memory decides, not the view
    return owner is not None and type(owner).__name__ not in UNCHANGING_OWNERS


def _smallest_of_array(array: Array) -> float:
    if not array.size:
        return math.inf
    if array.size < _WORTH_THREADS:
        return float(array.min())
    return float(np.min(_pieces_in_threads(array, lambda piece: array[piece].min())))


def _pieces_in_threads(array: Array, work: Callable[[slice], Result]) -> list[Result]:
    """What ``work`` makes of the pieces of an array, by a pool of threads."""
    # at most a piece, and a share for every thread
    rows = max(1, min(_PIECE * len(array) // array.size, -(-len(array) // thread_count())))
    return each_in_threads(work, [slice(at, at + rows) for at in range(0, len(array), rows)])
