"""What a map knows of its training scores: range, densities, and the gap between the classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from llrkit.base.arguments import FloatArray
from llrkit.base.process import warn_caller
from llrkit.base.text import Json, as_list, as_number, as_object, as_text, counted, not_among
from llrkit.core.groups import group_cells, share_covariance
from llrkit.core.histograms import ClassHistogram, ScoreHistogram
from llrkit.core.summaries import ClassMoments, Moments
from llrkit.errors import InputError, MapFileError, TrainingRangeWarning, UnknownNameError
from llrkit.scores import ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source

if TYPE_CHECKING:
    from llrkit.maps.map import Map


POLICIES = ("warn", "error", "bound")
"""What may become of scores outside the range."""


@dataclass
class ConditionWatch:
    """Counts the trials whose conditions are outside their range in training, where they count as its ends.

    Examples
    --------
    >>> watch = ConditionWatch({"seconds": [5.0, 40.0]})
    >>> watch.saw({"seconds": np.array([3.0, 10.0, 90.0])})
    >>> watch.note
    'of 3 trials, 2 have a condition outside its training range (seconds [5, 40]: from 3 to 90): held at ...'
    """

    ranges: Mapping[str, Sequence[float]]
    n_trials: int = 0
    n_outside: int = 0
    seen: dict[str, tuple[float, float]] = field(default_factory=dict)

    def saw(
        self,
        columns: Mapping[str, object],
        place: Callable[[int], str] | None = None,
        *,
        refuse: bool = False,
    ) -> None:
        """Look at the conditions of some trials; values that are no numbers are left to the map to refuse."""
        outside = np.zeros(0, dtype=np.bool_)
        for name, (low, high) in self.ranges.items():
            try:
                values = np.asarray(columns[name], dtype=np.float64)
            except (KeyError, TypeError, ValueError):
                # values that are no numbers are for the map to refuse, with a better message
                return
            beyond = (values < low) | (values > high)
            # a trial counts once, however many of its conditions are outside
            outside = beyond if len(outside) == 0 else outside | beyond
            if not beyond.any():
                continue
            if refuse:
                first = int(np.argmax(beyond))
                where = f"{place(first)}: " if place is not None else ""
                limits = f"[{low:g}, {high:g}]"
                raise InputError(f"{where}{name} {values[first]:g} is outside the training range {limits}")
            least, most = self.seen.get(name, (math.inf, -math.inf))
            self.seen[name] = min(least, float(values.min())), max(most, float(values.max()))
        self.n_trials += len(outside)
        self.n_outside += int(outside.sum())

    @property
    def note(self) -> str:
        """What is to be said; empty where all conditions were inside."""
        if self.n_outside == 0:
            return ""
        shown = "; ".join(
            f"{name} [{self.ranges[name][0]:g}, {self.ranges[name][1]:g}]: from {low:g} to {high:g}"
            for name, (low, high) in self.seen.items()
        )
        have = "has" if self.n_outside == 1 else "have"
        outside = f"of {counted(self.n_trials, 'trial')}, {self.n_outside:,} {have} a condition outside its"
        return f"{outside} training range ({shown}): held at its ends"


@dataclass
class RangeWatch:
    """Looks at scores before they are mapped; it remembers how many lay outside, and how far the furthest.

    ``limits`` are the lowest and highest training score of each system, as the training file held them; None
    where nobody knows. ``policy`` is what becomes of scores outside: ``"warn"`` leaves them as they are,
    ``"bound"`` makes them the nearest score of the range, ``"error"`` refuses them, ``"ignore"`` does not
    look.

    Examples
    --------
    >>> watch = RangeWatch((np.array([-1.0]), np.array([2.0])), "bound")
    >>> watch.seen(np.array([0.5, 5.2]))
    array([0.5, 2. ])
    >>> watch.note
    '1 of 2 scores is outside the training range [-1, 2], the furthest is 5.2: held at its ends'
    """

    limits: tuple[FloatArray, FloatArray] | None
    policy: str = "warn"
    n_outside: int = 0
    n_trials: int = 0
    furthest: float = 0.0
    furthest_by: float = -math.inf
    conditions: ConditionWatch | None = None
    """Looks at the conditions of the trials, where the map has some."""

    def __post_init__(self) -> None:
        if self.policy not in (*POLICIES, "ignore"):
            raise UnknownNameError(
                f"outside={not_among(self.policy, POLICIES, ': expected one of ')}, ignore"
            )

    def seen(self, scores: FloatArray, place: Callable[[int], str] | None = None) -> FloatArray:
        """The scores that are to be mapped; ``place`` says where a row is, for messages."""
        if self.limits is None or self.policy == "ignore":
            return scores
        low, high = self.limits
        with np.errstate(invalid="ignore"):  # a missing score is neither inside nor outside
            beyond = np.maximum(low - scores, scores - high)
        # with several systems the furthest one decides; initial covers a trial that has no score at all
        far = beyond if beyond.ndim == 1 else np.nanmax(beyond, axis=1, initial=-np.inf)
        outside = np.flatnonzero(far > 0)
        self.n_trials += len(far)
        if len(outside) == 0:
            return scores
        if self.policy == "error":
            first = int(outside[0])
            where = f"{place(first)}: " if place is not None else ""
            score = ", ".join(f"{value:g}" for value in np.atleast_1d(scores[first]))
            raise InputError(f"{where}the score {score} is outside the training range {self._range}")
        worst = int(outside[np.argmax(far[outside])])
        # over all chunks, so the note names the furthest score of the run
        if far[worst] > self.furthest_by:
            values = np.atleast_1d(scores[worst])
            self.furthest_by = float(far[worst])
            self.furthest = float(values[np.argmax(np.maximum(low - values, values - high))])
        self.n_outside += len(outside)
        return np.clip(scores, low, high) if self.policy == "bound" else scores

    @property
    def _range(self) -> str:
        assert self.limits is not None
        return ", ".join(f"[{low:.6g}, {high:.6g}]" for low, high in zip(*self.limits, strict=True))

    @property
    def note(self) -> str:
        """What is to be said; empty where all scores were inside or the range is not known."""
        if self.n_outside == 0:
            return ""
        are = "is" if self.n_outside == 1 else "are"
        what = "the calibration was not trained on such scores"
        if self.policy == "bound":
            what = "held at its ends"
        # one score alone is no majority
        if 2 * self.n_outside > self.n_trials > 1:
            what += "; most are outside: are these the scores it was made for?"
        return (
            f"{self.n_outside:,} of {counted(self.n_trials, 'score')} {are} outside the training range "
            f"{self._range}, the furthest is {self.furthest:g}: {what}"
        )

    def saw(self, columns: Mapping[str, object], place: Callable[[int], str] | None = None) -> None:
        """Look at the conditions of trials whose scores were seen."""
        if self.conditions is not None and self.policy != "ignore":
            self.conditions.saw(columns, place, refuse=self.policy == "error")

    @property
    def condition_note(self) -> str:
        """What is to be said of conditions; empty where all were inside."""
        return "" if self.conditions is None else self.conditions.note

    def warn(self) -> None:
        """Give the notes as warnings to whoever called a map."""
        for note in (self.note, self.condition_note):
            if note:
                warn_caller(note, TrainingRangeWarning)


M = TypeVar("M", bound="Map")
CUTS = 15
"""Scores at which shares of trials are compared; fewer where the cells are too coarse for so many."""
_COARSER = 2  # binary digits: other scores may spread four times as far and still have these cuts


@dataclass(frozen=True, eq=False)
class GroupSpread:
    """How much the share of trials below each cut varies because groups differ, for each class."""

    columns: tuple[str, ...]
    covariance: tuple[FloatArray, FloatArray]
    df: tuple[float, float]


@dataclass(frozen=True, eq=False)
class TrainingDensities:
    """Both classes of the training scores as histograms, and how their groups differ where these are known.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> histogram = Scores([2.0, 4.0, 3.0], [0.0, 1.0, 2.5]).reduce(ScoreHistogram.of)
    >>> densities = TrainingDensities(histogram)
    >>> again = TrainingDensities.from_plain(densities.to_plain())
    >>> again.histogram.target.total, again.of
    (3, 'scores')
    """

    histogram: ScoreHistogram
    of: str = "scores"
    """What was counted: 'scores', or the 'LLRs' of a map of several scores."""
    spread: GroupSpread | None = None

    @property
    def cuts(self) -> FloatArray:
        """Where shares are compared: quantiles of both classes in equal parts, at borders of cells."""
        target, nontarget = self.histogram.target, self.histogram.nontarget
        # cuts lie at borders of cells that are coarser than both
        # histograms, so that later counts can be joined to them exactly
        exponent = max(target.exponent, nontarget.exponent) + _COARSER
        both = target.coarser(exponent), nontarget.coarser(exponent)
        first = min(one.first for one in both)
        share = np.zeros(max(one.first + len(one.count) for one in both) - first)
        for one in both:
            place = one.first - first
            # both classes in equal parts, whatever their sizes: a shift may be in either
            share[place : place + len(one.count)] += 0.5 * one.count / one.total
        below = np.cumsum(share)
        border = np.searchsorted(below, np.arange(1, CUTS + 1) / (CUTS + 1)) + 1
        # the outermost border has all scores on one side
        inner = np.unique(border[border < len(share)])
        return np.asarray((inner + first) * np.ldexp(1.0, exponent), dtype=np.float64)

    def with_groups(self, source: ScoreSource, columns: Sequence[str]) -> TrainingDensities:
        """The same, with what the groups of the training trials tell; two passes."""
        cells = group_cells(source, columns, self.cuts)
        (target, t_df), (nontarget, n_df) = map(share_covariance, (cells.target, cells.nontarget))
        return replace(self, spread=GroupSpread(tuple(columns), (target, nontarget), (t_df, n_df)))

    def to_plain(self) -> dict[str, Json]:
        """Plain values for a calibration file."""
        target, nontarget = self.histogram.target.to_text(), self.histogram.nontarget.to_text()
        plain: dict[str, Json] = {"of": self.of, "target": target, "nontarget": nontarget}
        if self.spread is not None:
            plain["groups"] = {
                "columns": list(self.spread.columns),
                "covariance": [
                    # six digits keep the file small
                    [" ".join(f"{value:.6g}" for value in row) for row in matrix]
                    for matrix in self.spread.covariance
                ],
                "df": list(self.spread.df),
            }
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Json]) -> TrainingDensities:
        """What :meth:`to_plain` wrote; anything else is refused."""
        try:
            classes = [ClassHistogram.from_text(as_object(plain[name])) for name in ("target", "nontarget")]
            if plain["of"] not in ("scores", "LLRs") or min(one.total for one in classes) <= 0.0:
                raise ValueError("a class is empty, or what was counted is missing")
            found = cls(ScoreHistogram(*classes), as_text(plain["of"]))
            if "groups" in plain:
                spread = _group_spread_of(as_object(plain["groups"]), len(found.cuts))
                found = replace(found, spread=spread)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise MapFileError(f"the densities of the training scores are broken ({error})") from None
        return found


def _group_spread_of(plain: Mapping[str, Json], n: int) -> GroupSpread:
    matrices = [
        np.array([[float(word) for word in as_text(row).split()] for row in as_list(matrix)]).reshape(n, n)
        for matrix in as_list(plain["covariance"])
    ]
    if not all(np.isfinite(matrix).all() and (np.diag(matrix) >= 0.0).all() for matrix in matrices):
        raise ValueError("the spread of groups is not finite")
    (target, nontarget), (t_df, n_df) = matrices, (float(as_number(df)) for df in as_list(plain["df"]))
    if not (t_df >= 1.0 and n_df >= 1.0):
        raise ValueError("degrees of freedom below 1")
    columns = tuple(str(name) for name in as_list(plain["columns"]))
    return GroupSpread(columns, (target, nontarget), (t_df, n_df))


def with_group_spread(fitted: M, source: ScoreSource, columns: Sequence[str]) -> M:
    """A map that records how the groups of its training trials differ, if it records scores; two passes."""
    if fitted.densities is None:
        return fitted
    densities = TrainingDensities.from_plain(fitted.densities)
    densities = densities.with_groups(source if densities.of == "scores" else fitted.on(source), columns)
    return replace(fitted, densities=densities.to_plain())


REMEDY = (
    "logistic regression with regularization=1 keeps the slope finite; then bound the LLRs "
    '(bound="sources"), or collect more trials'
)
"""What to do about classes that do not overlap, wherever it is said."""
REMEDY_TYPED = (
    "--method logistic --option regularization=1 keeps the slope finite; then bound the LLRs "
    "(--bound sources, the default), or collect more trials"
)
"""The same on the command line."""


def class_gap(source: AnyTrials, labels: Labels | None = None) -> tuple[float, float] | None:
    """The scores between which no trial lies, if all targets are above all non-targets (or below); else None.

    The two are equal if the classes meet in one score. One pass; one system.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.

    Examples
    --------
    >>> import llrkit as lk
    >>> class_gap(lk.Scores([2.0, 3.0], [0.0, 1.5]))
    (1.5, 2.0)
    >>> class_gap(lk.Scores([2.0, 3.0], [0.0, 2.5])) is None
    True
    """
    return gap_of_moments(as_source(source, labels).reduce(Moments.of))


def gap_of_moments(moments: Moments) -> tuple[float, float] | None:
    """The gap, from the moments; None for several systems, of which none needs to separate the classes."""
    if len(moments.target.mean) != 1:
        return None
    for above, below in ((moments.target, moments.nontarget), (moments.nontarget, moments.target)):
        # equality is a gap of width 0: the classes meet in one score
        if above.count and below.count and lowest_score(above) >= highest_score(below):
            return highest_score(below), lowest_score(above)
    return None


def gap_sentence(gap: tuple[float, float] | None, of: str = "scores", *, bounded: bool = True) -> str:
    """Why the strength of evidence is not known from the training scores; empty for None.

    ``bounded`` is False for maps without bounds.

    Examples
    --------
    >>> gap_sentence((0.233, 0.647))
    'the classes do not overlap in the training scores (gap 0.233 to 0.647): the strength of evidence rests
    on the bounds alone'
    """
    if gap is None:
        return ""
    where = f"gap {gap[0]:.4g} to {gap[1]:.4g}" if gap[0] < gap[1] else f"they meet at {gap[0]:.4g}"
    rests_on = "the bounds" if bounded else "what the method assumes"
    return (
        f"the classes do not overlap in the training {of} ({where}): "
        f"the strength of evidence rests on {rests_on} alone"
    )


def lowest_score(moments: ClassMoments) -> float:
    """The smallest score of a class, infinite ones included."""
    # moments are of finite scores; an infinite one is lower than all of them
    return -math.inf if moments.n_neg_inf else math.inf if moments.n == 0 else float(moments.low[0])


def highest_score(moments: ClassMoments) -> float:
    """The largest score of a class, infinite ones included."""
    return math.inf if moments.n_pos_inf else -math.inf if moments.n == 0 else float(moments.high[0])
