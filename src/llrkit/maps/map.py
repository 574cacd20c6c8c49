"""Maps from score to LLR: what all of them share, and the affine, inverse and composed ones."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, TypeAlias, TypedDict, cast, overload

import numpy as np

from llrkit.base.arguments import Array, BoolArray, FloatArray, Numbers
from llrkit.base.text import Json, counted
from llrkit.core.groups import decoded
from llrkit.errors import InputError, NaNScoreError, NotInvertibleError, SystemCountError
from llrkit.maps.training_range import ConditionWatch, RangeWatch, TrainingDensities
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.arrays import first_nan, number_array
from llrkit.scores.derived import DerivedSource, Labels, as_source, chosen_systems
from llrkit.scores.labels import named_systems
from llrkit.scores.source import Roles, rows_in_memory, unnamed_systems
from llrkit.theory.operating_points import OperatingPoint, operating_point, posterior

if TYPE_CHECKING:
    from llrkit.scores import Trials


Columns: TypeAlias = Mapping[str, Array]
Point: TypeAlias = OperatingPoint | str | float


class RecordedReading(TypedDict, total=False):
    """How the training scores were read; files of earlier versions say less."""

    score: list[str]
    log10: bool
    distance: bool
    positive: str | None
    calibrated: bool


def reading_of(roles: Roles) -> RecordedReading:
    """How scores were read, as a calibration file records it.

    Arrays, which have no column of labels, have none of scores either: no file is to be searched for one.

    Examples
    --------
    >>> reading_of(Roles(("cosine",), "label", factor=-1.0))
    {'score': ['cosine'], 'log10': False, 'distance': True, 'positive': None, 'calibrated': False}
    """
    return {
        # a file to be searched for a column by this name exists only for tables
        "score": list(roles.score) if roles.label is not None else [],
        "log10": abs(roles.factor) != 1.0,
        "distance": roles.factor < 0.0,
        "positive": roles.positive,
        "calibrated": roles.calibrated,
    }


def input_factor(reading: RecordedReading | None) -> float:
    """What scores as the training file held them are multiplied by before they are mapped.

    Examples
    --------
    >>> input_factor({"distance": True, "log10": False}), input_factor(None)
    (-1.0, 1.0)
    """
    if reading is None:
        return 1.0
    return (math.log(10.0) if reading.get("log10") else 1.0) * (-1.0 if reading.get("distance") else 1.0)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SavedMap(ABC):
    """A frozen dataclass whose own fields are parameters: numbers, strings, arrays, other maps."""

    method: str = ""
    """Which calibrator made it."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the calibrator was asked for."""
    details: Mapping[str, object] = field(default_factory=dict)
    """What the fit found out besides the parameters."""
    provenance: Mapping[str, object] = field(default_factory=dict)
    """Counts, range and training metrics, version, hash of the training file."""
    reading: RecordedReading | None = None
    """How the training scores were read (distances, log10 LLRs, which columns); None where nobody knows."""
    densities: Mapping[str, Json] | None = None
    """The training scores of each class as counts in cells, in plain values; None where nobody counted."""
    loaded_from: str = field(default="", compare=False)
    """Name and SHA-256 of the file that it was loaded from, as LLRs of that file name it; else empty."""

    kind: ClassVar[str] = ""
    format: ClassVar[str] = ""
    """The format and version of its calibration file."""
    older_formats: ClassVar[tuple[str, ...]] = ()
    """Formats that are read, but no longer written."""
    may_be_infinite: ClassVar[frozenset[str]] = frozenset()
    """Parameters that may be infinite; any other that is belongs to a broken file."""

    @abstractmethod
    def try_out(self) -> None:
        """Use the map once, so that broken parameters show when a file is read."""

    def with_provenance(self, **more: object) -> Self:
        """The same map with more known of where it comes from."""
        return replace(self, provenance={**self.provenance, **more})

    def with_reading(self, roles: Roles) -> Self:
        """The same map, which knows how its training scores were read."""
        return replace(self, reading=reading_of(roles))

    def detail(self, name: str) -> float:
        """A number that the fit found out besides the parameters."""
        value = self.details[name]
        if not isinstance(value, (int, float)):
            raise TypeError(f"{name} is {value!r}, not a number")
        return value

    def parameters(self) -> dict[str, object]:
        """The fields of the subclass by name."""
        shared = {item.name for item in fields(SavedMap)}
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name not in shared}

    def _own_arrays(self, *names: str) -> None:
        """Give the map arrays of its own, of float64, that nobody can write to."""
        for name in names:
            values = np.array(getattr(self, name), dtype=np.float64)
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers and lists: what a calibration file holds."""
        from llrkit.maps.files import map_to_dict

        return map_to_dict(self)

    def save(self, path: str | Path) -> None:
        """Write a calibration file, all at once or not at all."""
        from llrkit.maps.files import save_map

        save_map(self, path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.method or self.kind})"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Map(SavedMap):
    """A map from scores to natural-log LLRs.

    Subclasses are frozen dataclasses whose own fields are the parameters (numbers, strings, arrays, other
    maps); they set ``kind`` and define :meth:`llr`. Everything else is shared.
    """

    format: ClassVar[str] = "llrkit.map/2"
    older_formats: ClassVar[tuple[str, ...]] = ("llrkit.map/1",)

    @property
    def n_systems(self) -> int:
        """How many scores each trial needs."""
        return 1

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the columns each trial needs besides its scores."""
        return ()

    @property
    def condition_ranges(self) -> dict[str, list[float]]:
        """Of columns that are held at the ends of what training saw: smallest and largest value there."""
        return {}

    @property
    def accepts_missing(self) -> bool:
        """Whether NaN stands for the score of a system that has none."""
        return False

    @property
    def has_bounds(self) -> bool:
        """Whether all LLRs lie between bounds that were set for them."""
        return False

    @property
    def system_names(self) -> list[str]:
        """Names of the systems in the order of the scores, where they are known."""
        return []

    def system_order(self, names: Sequence[str]) -> list[int] | None:
        """Where the systems of training stand among those of some trials; None if they stand as in training.

        Systems are matched by name. They are taken by position where the map or the trials have no names,
        as arrays do.

        Parameters
        ----------
        names
            The systems of the trials.

        Examples
        --------
        >>> from llrkit.maps.composite import LinearMap
        >>> fusion = LinearMap(weights=np.ones(2), offset=0.0, systems=["plda", "ecapa"])
        >>> fusion.system_order(["ecapa", "plda"])
        [1, 0]
        """
        trained, given = self.system_names, list(names)
        if len(given) != self.n_systems:
            raise SystemCountError(
                f"this map takes the scores of {counted(self.n_systems, 'system')}, "
                f"the trials have {len(given)}"
            )
        if given == trained or len(given) == 1:
            return None
        # the same names in another order: columns are matched, never taken by position
        if set(given) == set(trained) and len(set(given)) == len(given):
            return [given.index(name) for name in trained]
        unnamed = list(unnamed_systems(len(given)))
        # arrays have no names of their own, so position is all there is
        if not trained or unnamed in (given, trained):
            return None
        unknown, lacking = (
            ", ".join(repr(name) for name in some if name not in others) or "none"
            for some, others in ((given, trained), (trained, given))
        )
        raise InputError(
            f"this map was trained on the systems {', '.join(trained)}; of the systems given, unknown: "
            f"{unknown}; missing: {lacking}"
        )

    def in_trained_order(self, source: ScoreSource) -> ScoreSource:
        """The same trials with the systems in the order of training.

        Parameters
        ----------
        source
            Trials whose scores the map takes.
        """
        order = self.system_order(source.roles.score)
        if order is None:
            return source
        return DerivedSource(source, partial(chosen_systems, places=order), score=tuple(self.system_names))

    @abstractmethod
    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """LLRs of checked float64 scores, shape (n,) or (n, K).

        Parameters
        ----------
        scores
            Scores as float64, shape (n,) or (n, systems).
        columns
            Columns that go with the scores, by name.
        """

    def back_to_scores(self) -> Map:
        """The inverse of :meth:`llr`: from LLR back to the score as it was read, where there is one."""
        raise NotInvertibleError(f"a map made by {self.method or self.kind!r} has no inverse")

    @property
    def inverse(self) -> Map:
        """The map from LLR back to what the training file held, where there is one."""
        back = self.back_to_scores()
        if self.input_factor == 1.0:
            return back
        # back_to_scores ends at scores as read; users have scores as the file holds them
        undone = AffineMap(a=1.0 / self.input_factor, b=0.0)  # what reading multiplied scores by
        return ComposedMap(first=back, second=undone, method=f"inverse of {self.method}")

    @overload
    def __call__(self, scores: Scores, *, outside: str | None = None) -> Scores: ...
    @overload
    def __call__(
        self, scores: float, columns: Columns | None = None, *, outside: str | None = None
    ) -> float: ...
    @overload
    def __call__(
        self, scores: Numbers | Trials, columns: Columns | None = None, *, outside: str | None = None
    ) -> FloatArray: ...
    @overload
    def __call__(
        self, scores: object, columns: Columns | None = None, *, outside: str | None = None
    ) -> float | FloatArray | Scores: ...
    def __call__(
        self, scores: object, columns: Columns | None = None, *, outside: str | None = None
    ) -> float | FloatArray | Scores:
        """LLRs of scores: an array for an array, a number for a number, ``Scores`` for ``Scores``.

        ``Trials`` give an array in the order of the rows. ``columns`` holds what :attr:`needs` names. Numbers
        are what the training file held: distances if the map was trained on distances, log10 LLRs if on
        those. Trials know how they were read, and need not be read in the same way. Systems of ``Trials`` and
        of data frames are matched with those of training by their names, those of arrays by their position.

        Numbers and ``Trials`` outside the range of the training scores are counted in a
        ``TrainingRangeWarning`` (``outside="warn"``); ``"error"`` refuses them, ``"bound"`` takes the nearest
        score of the range instead, and ``"ignore"`` does not look. ``Scores``, which are for evaluation, are
        looked at only if ``outside`` is given; :meth:`on`, whose trials are read later, does not look.
        """
        usual = "ignore" if isinstance(scores, Scores) else "warn"
        watch = self.watch(usual if outside is None else outside)
        llrs: float | FloatArray | Scores
        if isinstance(scores, Scores):
            llrs = self._of_scores(scores, watch)
        elif isinstance(scores, ScoreSource):
            llrs = self._of_rows(rows_in_memory(scores), watch)
        else:
            llrs = self._of_numbers(scores, columns, watch)
        watch.warn()
        return llrs

    @overload
    def posteriors(
        self, scores: float, prior: float, columns: Columns | None = None, *, outside: str | None = None
    ) -> float: ...
    @overload
    def posteriors(
        self,
        scores: Numbers | Trials,
        prior: float,
        columns: Columns | None = None,
        *,
        outside: str | None = None,
    ) -> FloatArray: ...
    def posteriors(
        self, scores: object, prior: float, columns: Columns | None = None, *, outside: str | None = None
    ) -> float | FloatArray:
        """The probability of a target after each score, ``sigmoid(llr + logit prior)``.

        Parameters
        ----------
        scores
            Numbers as the training file held them, or ``Trials``.
        prior
            Prior probability of the target.
        columns, outside
            As when the map is called.

        Examples
        --------
        >>> import llrkit as lk
        >>> calibrate = lk.maps.AffineMap(a=2.0, b=-1.0)
        >>> calibrate.posteriors([0.5, 0.5 + np.log(99) / 2], 0.01)
        array([0.01, 0.5 ])
        """
        return posterior(self._llrs_of_rows(scores, columns, outside), prior)

    @overload
    def decide(
        self, scores: float, point: Point, columns: Columns | None = None, *, outside: str | None = None
    ) -> bool: ...
    @overload
    def decide(
        self,
        scores: Numbers | Trials,
        point: Point,
        columns: Columns | None = None,
        *,
        outside: str | None = None,
    ) -> BoolArray: ...
    def decide(
        self, scores: object, point: Point, columns: Columns | None = None, *, outside: str | None = None
    ) -> bool | BoolArray:
        """Which scores to accept at an operating point: those whose LLR is at least its Bayes threshold.

        Parameters
        ----------
        scores
            Numbers as the training file held them, or ``Trials``.
        point
            The operating point, or the name of a preset.
        columns, outside
            As when the map is called.

        Examples
        --------
        >>> import llrkit as lk
        >>> calibrate = lk.maps.AffineMap(a=2.0, b=-1.0)
        >>> calibrate.decide([0.5, 3.0], "sre08")
        array([False,  True])
        """
        accepted = self._llrs_of_rows(scores, columns, outside) >= operating_point(point).threshold
        return np.asarray(accepted) if np.ndim(accepted) else bool(accepted)

    def _llrs_of_rows(self, scores: object, columns: Columns | None, outside: str | None) -> FloatArray:
        if isinstance(scores, Scores):
            raise InputError(
                "Scores keep the classes in separate arrays, so there are no rows; give an array, or Trials"
            )
        return np.asarray(self(scores, columns, outside=outside), dtype=np.float64)

    def _of_numbers(self, scores: object, columns: Columns | None, watch: RangeWatch) -> float | FloatArray:
        try:
            values = np.asarray(scores, dtype=np.float64)
        except (TypeError, ValueError):
            values = number_array(scores, "scores").astype(np.float64, copy=False)
        if self.n_systems == 1:
            flat = values.reshape(-1)
        elif values.ndim in (1, 2) and values.shape[-1] == self.n_systems:
            flat = np.atleast_2d(values)
        else:
            raise SystemCountError(
                f"this map takes the scores of {self.n_systems} systems, shape (n, {self.n_systems}); "
                f"got shape {values.shape}"
            )
        if self.n_systems > 1 and (names := named_systems(scores)):
            order = self.system_order(names)
            flat = flat if order is None else flat[:, order]
        needed = {name: np.atleast_1d(np.asarray(self._column(columns, name))) for name in self.needs}
        llrs = self._of_held(flat, 1.0, needed, watch)
        if self.n_systems > 1:
            return llrs if values.ndim == 2 else float(llrs[0])
        return llrs.reshape(values.shape) if values.ndim else float(llrs[0])

    def _of_scores(self, scores: Scores, watch: RangeWatch) -> Scores:
        order = self.system_order(scores.roles.score)
        chunk = scores if order is None else chosen_systems(scores, order)
        return self._of_chunk(chunk, self._read_factor(scores), watch)

    def of_training_unit(self, chunk: Scores) -> Scores:
        """LLRs of a chunk whose scores were read as the training scores were: what reading did is done.

        Parameters
        ----------
        chunk
            Scores in the unit that the parameters were fitted in.
        """
        # a chunk does not know that it was read as distances or log10 LLRs; the map would do it once more
        return self._of_chunk(chunk, self.input_factor, RangeWatch(None))

    def _of_rows(self, trials: Trials, watch: RangeWatch) -> FloatArray:
        order = self.system_order(trials.score)
        values = trials.score_array_or_nan if self.accepts_missing else trials.score_array
        values = values if order is None else values[:, order]
        columns = {name: trials.column(name) for name in self.needs}
        return self._of_held(values, self._read_factor(trials), columns, watch)

    def _of_held(
        self, scores: FloatArray, read_factor: float, columns: Columns, watch: RangeWatch
    ) -> FloatArray:
        """LLRs of scores that were multiplied by ``read_factor`` when they were read."""
        # undo the factor of reading: limits and notes are in the unit of the training file
        held = watch.seen(_scaled(scores.astype(np.float64, copy=False), 1.0 / read_factor))
        watch.saw(columns)
        # then into the unit that the parameters were fitted in
        return self.checked(_scaled(held, self.input_factor), columns)

    def watch(self, policy: str) -> RangeWatch:
        """Looks at scores and conditions before they are mapped.

        Parameters
        ----------
        policy
            What to do with scores outside the range of training.
        """
        conditions = ConditionWatch(self.condition_ranges) if self.condition_ranges else None
        return RangeWatch(self.training_range, policy, conditions=conditions)

    def on(self, source: object, labels: Labels | None = None) -> ScoreSource:
        """The same trials with LLRs in place of scores, as a source; trials are as every metric takes them.

        Parameters
        ----------
        source
            Trials whose scores the map takes: a score source, a pair of arrays, a table, or scores.
        labels
            The labels, if the first argument holds scores alone.

        Examples
        --------
        >>> AffineMap(a=2.0, b=0.0).on([1.0, -1.0, 0.5], [1, 0, 0]).target
        array([2.])
        """
        source = self.in_trained_order(as_source(source, labels))
        # trials of a source are read later and perhaps by workers: nobody could collect the notes
        unwatched = RangeWatch(None)
        change = partial(self._of_chunk, read_factor=self._read_factor(source), watch=unwatched)
        return DerivedSource(source, change, self.needs, score=("llr",), factor=1.0, calibrated=True)

    @property
    def input_factor(self) -> float:
        """What numbers as the training file held them are multiplied by before they are mapped."""
        return input_factor(self.reading)

    @property
    def training_range(self) -> tuple[FloatArray, FloatArray] | None:
        """Lowest and highest training score of each system, as in the training file; None if unknown."""
        if "low" not in self.provenance or "high" not in self.provenance:
            return None
        ends = [np.atleast_1d(np.asarray(self.provenance[end], dtype=np.float64)) for end in ("low", "high")]
        # features of a fusion follow the scores
        low, high = (end[: self.n_systems] / self.input_factor for end in ends)
        # a negative factor (distances) turns the range around
        return np.minimum(low, high), np.maximum(low, high)

    def _read_factor(self, source: ScoreSource) -> float:
        """What the scores of a source were multiplied by when they were read; they need not be as trained."""
        roles = source.roles
        # calibrating LLRs again by a map of raw scores would give numbers that look right
        if roles.calibrated and self.reading is not None and not self.reading.get("calibrated"):
            raise InputError(
                "these trials are already calibrated: a calibration wrote their LLRs. Use their raw scores "
                "(score=..., --score-column), or a map that was trained on LLRs"
            )
        if self.reading is None:
            return 1.0
        # LLRs of a calibration are natural ones once they are read, whatever their column holds
        return self.input_factor if roles.calibrated and self.reading.get("calibrated") else roles.factor

    def then(self, other: Map) -> Map:
        """First this map, then another one.

        Parameters
        ----------
        other
            The map that is applied second; it takes LLRs.

        Examples
        --------
        >>> double, up = AffineMap(a=2.0, b=0.0), AffineMap(a=1.0, b=1.0)
        >>> double.then(up)(3.0)
        7.0
        """
        if other.n_systems != 1:
            raise SystemCountError(f"a map of {other.n_systems} systems cannot follow another map")
        return ComposedMap(first=self, second=other, method=f"{self.method}+{other.method}")

    def try_out(self) -> None:
        """Map some scores: parameters of the wrong type or shape fail here."""
        # properties are evaluated for their errors
        _ = self.input_factor, self.training_range, self.system_names, self.needs, repr(self)
        if self.densities is not None:
            TrainingDensities.from_plain(self.densities)
        probe = np.array([-1.0, 0.0, 1.0])
        scores = np.repeat(probe[:, None], self.n_systems, axis=1) if self.n_systems > 1 else probe
        # probing may overflow exp far from the training range, which is no fault of the map
        with np.errstate(over="ignore"):
            llrs = self._tried(scores)
        if np.isnan(llrs).any():
            raise ValueError(f"the LLR of a score of {probe[np.isnan(llrs)][0]:g} is NaN")

    def _tried(self, scores: FloatArray) -> FloatArray:
        """LLRs of some scores, whatever else the map needs; for a map that is being read."""
        return self.checked(scores, {name: np.ones(len(scores)) for name in self.needs})

    def _column(self, columns: Columns | None, name: str) -> Array:
        if columns is None or name not in columns:
            raise InputError(
                f"this map needs the column {name!r} of each trial; pass columns={{{name!r}: ...}}"
            )
        return columns[name]

    def _of_chunk(self, chunk: Scores, read_factor: float, watch: RangeWatch) -> Scores:
        wide = chunk.with_columns(*self.needs) if self.needs else chunk
        target, nontarget = (
            self._of_held(scores, read_factor, {name: decoded(wide, name, i) for name in self.needs}, watch)
            for i, scores in enumerate((chunk.target, chunk.nontarget))
        )
        return Scores.part(target, nontarget, chunk.columns, chunk.categories)

    def checked(self, values: FloatArray, columns: Columns) -> FloatArray:
        """LLRs of float64 scores after looking for NaN and at the length of the columns.

        Parameters
        ----------
        values
            Scores as float64, shape (n,) or (n, systems).
        columns
            Columns that go with the scores, by name.
        """
        where = None if self.accepts_missing else first_nan(values)
        if where is not None:
            raise NaNScoreError(f"cannot map NaN: score at index {', system '.join(map(str, where))}")
        for name, column in columns.items():
            if len(column) != len(values):
                has = counted(len(column), "value")
                raise InputError(f"column {name!r} has {has} for {counted(len(values), 'score')}")
        return self.llr(values, columns)


def _scaled(values: FloatArray, factor: float) -> FloatArray:
    return values if factor == 1.0 else values * factor


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AffineMap(Map):
    """``llr = a * score + b``.

    Examples
    --------
    >>> calibrate = AffineMap(a=2.0, b=-1.0)
    >>> calibrate([0.0, 1.0])
    array([-1.,  1.])
    >>> calibrate.inverse(calibrate(0.3))
    0.3
    """

    a: float
    """Slope."""
    b: float
    """Offset, in nats."""

    kind: ClassVar[str] = "affine"

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The straight line.

        Parameters
        ----------
        scores
            Scores as float64.
        columns
            Columns that go with the scores, by name.
        """
        # 0 * inf would be nan
        if self.a == 0.0:  # also for infinite scores
            return np.full(len(scores), self.b)
        return self.a * scores + self.b

    def back_to_scores(self) -> AffineMap:
        """The straight line back."""
        return self._back(self.a)

    @property
    def inverse(self) -> AffineMap:
        """The straight line back, to what the training file held."""
        return self._back(self.a * self.input_factor)

    def _back(self, slope: float) -> AffineMap:
        if slope == 0.0:
            raise NotInvertibleError("the map is constant (a = 0) and has no inverse")
        return AffineMap(a=1.0 / slope, b=-self.b / slope, method=f"inverse of {self.method}")

    def __repr__(self) -> str:
        return f"AffineMap({self.method}: llr = {self.a * self.input_factor:.6g} * score {self.b:+.6g})"


class Monotone(Protocol):
    """A map that :class:`InverseMap` can turn round."""

    @property
    def low(self) -> float:
        """The LLR is constant below this score."""

    @property
    def high(self) -> float:
        """The LLR is constant above this score."""

    @property
    def direction(self) -> int:
        """1 when the LLR goes up in between, -1 when it goes down."""

    def anchor(self) -> tuple[float, float]:
        """A score in the bulk and the size of the bulk."""

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """LLRs of scores."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class InverseMap(Map):
    """The inverse of a monotone map, by bisection to the last bit."""

    of: Monotone

    kind: ClassVar[str] = "inverse ratio"

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The scores that have these LLRs."""
        of, up = self.of, float(self.of.direction)
        # a falling map is turned around, so the search below only sees rising ones
        wanted = up * scores
        center, scale = of.anchor()
        # the bulk of an interval that is held elsewhere may lie outside of it
        center = min(max(center, of.low), of.high)

        def at(s: FloatArray) -> FloatArray:
            return up * of.llr(s, columns)

        left, right = np.full(len(scores), center), np.full(len(scores), center)
        reach = scale
        # brackets grow fourfold, because scores may be of any size
        for _ in range(250):  # 4^250 is where floating point ends
            far_left, far_right = at(left) > wanted, at(right) < wanted
            far_left &= left > of.low
            far_right &= right < of.high
            if not (far_left.any() or far_right.any()):
                break
            left = np.where(far_left, max(center - reach, of.low), left)
            right = np.where(far_right, min(center + reach, of.high), right)
            reach *= 4.0
        out = np.where(at(left) >= wanted, left, right)
        inside = (at(left) < wanted) & (at(right) > wanted)
        a, b, goal = left[inside], right[inside], wanted[inside]
        # bisection halves the distance between doubles: 1,100 steps cover all exponents
        for _ in range(1100):
            middle = 0.5 * (a + b)
            if np.all((middle == a) | (middle == b)):
                break
            below = at(middle) < goal
            a, b = np.where(below, middle, a), np.where(below, b, middle)
        out[inside] = 0.5 * (a + b)
        # LLRs beyond the ends belong to the ends themselves
        edge = at(np.array([of.low, of.high]))
        out[wanted <= edge[0]] = of.low
        out[wanted >= edge[1]] = of.high
        return out

    def back_to_scores(self) -> Map:
        """The map this one turns round."""
        return cast(Map, self.of)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MapOfMaps(Map):
    """A map made of others, which take the same scores: it needs what they need."""

    @property
    @abstractmethod
    def inner_maps(self) -> tuple[Map, ...]:
        """The maps inside; the first of them meets the scores."""

    @property
    def n_systems(self) -> int:
        """As many as the first map takes."""
        return self.inner_maps[0].n_systems

    @property
    def system_names(self) -> list[str]:
        """Those of the first map."""
        return self.inner_maps[0].system_names

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of all maps."""
        return tuple(dict.fromkeys(name for inner in self.inner_maps for name in inner.needs))

    @property
    def condition_ranges(self) -> dict[str, list[float]]:
        """Those of all maps."""
        return {name: ends for inner in self.inner_maps for name, ends in inner.condition_ranges.items()}

    @property
    def accepts_missing(self) -> bool:
        """When all maps do."""
        return all(inner.accepts_missing for inner in self.inner_maps)

    def _tried(self, scores: FloatArray) -> FloatArray:
        # every map inside is tried; the LLRs of the last stand for all
        return np.concatenate([inner._tried(scores) for inner in self.inner_maps])[-len(scores) :]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ComposedMap(MapOfMaps):
    """One map after another."""

    first: Map
    second: Map

    kind: ClassVar[str] = "composed"

    def __post_init__(self) -> None:
        if self.reading is None:  # it takes what the first map takes
            object.__setattr__(self, "reading", self.first.reading)

    @property
    def inner_maps(self) -> tuple[Map, ...]:
        """Both, in their order."""
        return self.first, self.second

    @property
    def accepts_missing(self) -> bool:
        """As the first map: the second takes its LLRs."""
        return self.first.accepts_missing

    @property
    def training_range(self) -> tuple[FloatArray, FloatArray] | None:
        """That of the first map, which meets the scores."""
        return self.first.training_range

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The second map of the first map's LLRs."""
        return self.second.llr(self.first.checked(scores, columns), columns)

    def _tried(self, scores: FloatArray) -> FloatArray:
        return self.second._tried(self.first._tried(scores))

    def back_to_scores(self) -> ComposedMap:
        """Back through both, last first."""
        first, second = self.second.back_to_scores(), self.first.back_to_scores()
        return ComposedMap(first=first, second=second, method=f"inverse of {self.method}")
