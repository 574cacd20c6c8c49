"""LLRs of ranks, and of trials among their foils."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, overload

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray, IntArray, Numbers
from llrkit.calibrate.maps import Columns, Map
from llrkit.calibrate.monotone.lineup.foil_counts import Foils, foil_counts
from llrkit.calibrate.monotone.lineup.rank_probabilities import lr_of_ranks
from llrkit.calibrate.training_range import RangeWatch
from llrkit.core.column_values import decoded
from llrkit.errors import InputError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.scores_and_labels import given_source
from llrkit.scores.source import rows_in_memory

if TYPE_CHECKING:
    from llrkit.scores import Trials


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LineupMap(Map):
    """LLRs of ranks: rank 1 of ``cohort + 1`` is a score above all foils.

    Call it with ranks (:meth:`llr_of_rank`), or with ``Trials`` or ``Scores`` that carry the column
    ``by``: the foils of a trial are the *other* non-target trials with the same value there. For
    case trials that are not among the foils, use :meth:`against`. A trial without foils gets LLR 0.

    Examples
    --------
    >>> lineup = LineupMap(by="test", smoothing="gaussian", ties="spread", cohort=19, share=np.ones(20) / 20,
    ...                    d_prime=2.5)
    >>> np.exp(lineup.llr_of_rank([1, 2, 20], 19)).round(6)
    array([1.4421978e+01, 2.5891340e+00, 8.4500000e-04])
    """

    by: str
    smoothing: str
    ties: str
    cohort: int
    share: FloatArray
    d_prime: float

    kind: ClassVar[str] = "lineup"

    def __post_init__(self) -> None:
        """Keep the shares from being written to."""
        share = np.array(self.share, dtype=np.float64)
        share.flags.writeable = False
        object.__setattr__(self, "share", share)

    @property
    def needs(self) -> tuple[str, ...]:
        """The column that says whose line-up a trial is in."""
        return (self.by,)

    @overload
    def llr_of_rank(self, rank: int, cohort: int) -> float: ...
    @overload
    def llr_of_rank(self, rank: npt.ArrayLike, cohort: npt.ArrayLike) -> float | FloatArray: ...
    def llr_of_rank(self, rank: npt.ArrayLike, cohort: npt.ArrayLike) -> float | FloatArray:
        """LLR of the rank (1 = best, whole numbers) of a trial among itself and ``cohort`` foils."""
        ranks, cohorts = np.broadcast_arrays(np.asarray(rank), np.asarray(cohort))
        for name, values in (("rank", ranks), ("cohort", cohorts)):
            if values.dtype.kind not in "iu":
                raise InputError(f"{name} must be whole numbers, got {values.dtype}")
        if np.any(cohorts < 0) or np.any(ranks < 1) or np.any(ranks > cohorts + 1):
            raise InputError("a rank is between 1 and the size of the cohort plus 1")
        above, ties = ranks.ravel() - 1, np.zeros(ranks.size, dtype=np.int64)
        llrs = self._llrs(above, ties, cohorts.ravel()).reshape(ranks.shape)
        return llrs if ranks.ndim else float(llrs)

    def against(self, foils: ScoreSource) -> LineupAgainst:
        """The map for case trials against the non-target trials of a source, which it keeps. One pass."""
        against = foils.with_columns(self.by).reduce(lambda chunk: Foils.of(chunk, self.by))
        return LineupAgainst(lineup=self, foils=against.by_value, own=0, method=self.method)

    def on(
        self,
        source: object,
        labels: npt.ArrayLike | None = None,
        *,
        positive: object = None,
        weights: npt.ArrayLike | None = None,
    ) -> ScoreSource:
        """The trials of a source with LLRs in place of scores; their foils are collected in one pass."""
        if not (labels is positive is weights is None):
            raise InputError("a line-up needs the column of its foils: give Trials, not arrays")
        trials = given_source(source)
        bound = self.against(trials)
        return LineupAgainst(lineup=self, foils=bound.foils, own=1, method=self.method).on(trials)

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """Not possible: a score alone has no rank."""
        raise InputError(
            "a line-up needs foils: give Trials or Scores, use .against(foils), or .llr_of_rank(rank, cohort)"
        )

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
        """LLRs of ``Trials`` (in row order) or ``Scores``, each trial among its own foils.

        A rank is never outside the training range, whatever the scores: ``outside`` has nothing to look at.
        """
        if isinstance(scores, Scores):
            foils = self.against(scores).foils
            return LineupAgainst(lineup=self, foils=foils, own=1, method=self.method)(scores)
        if isinstance(scores, ScoreSource):
            trials = rows_in_memory(scores)
            mapped = self(trials.with_columns(self.by).scores())
            llrs = np.empty(len(trials))
            llrs[trials.is_target], llrs[~trials.is_target] = mapped.target, mapped.nontarget
            return llrs
        return super().__call__(scores, columns, outside=outside)

    def _tried(self, scores: FloatArray) -> FloatArray:
        ranks = np.minimum(np.arange(len(scores)), self.cohort) + 1
        return np.asarray(self.llr_of_rank(ranks, np.full(len(scores), self.cohort)))

    def __repr__(self) -> str:
        return f"LineupMap(by {self.by!r}, {self.smoothing}, trained on {self.cohort} foils)"

    def _llrs(self, above: IntArray, tied: IntArray, cohort: IntArray) -> FloatArray:
        """LLRs from how many foils score more, how many the same, and how many there are."""
        if self.ties == "pessimistic":
            above, tied = above + tied, np.zeros_like(tied)
        keys, where = _distinct_foil_counts(cohort, above, tied)
        lr = np.empty(len(keys))
        for n in np.unique(keys[:, 0]):
            mine = np.flatnonzero(keys[:, 0] == n)
            first, last = keys[mine, 1], keys[mine, 1] + keys[mine, 2]
            # P(one of several ranks) is a sum under both hypotheses, so their LR is the mean
            covers = np.zeros(n + 2, dtype=np.int64)
            np.add.at(covers, first, 1)
            np.add.at(covers, last + 1, -1)
            wanted = np.flatnonzero(np.cumsum(covers)[:-1])
            table = np.zeros(n + 1)
            table[wanted] = lr_of_ranks(wanted + 1, int(n), self.smoothing, self.share, self.d_prime)
            lr[mine] = table[first]
            for i in np.flatnonzero(last > first):
                lr[mine[i]] = table[first[i] : last[i] + 1].mean()
        return np.log(lr)[where]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LineupAgainst(Map):
    """A line-up map with its foils: scores and the values of a column in, LLRs out.

    With ``own`` = 1 the non-targets of mapped ``Scores`` are the foils themselves, and none is its own foil.
    """

    lineup: LineupMap
    foils: dict[Hashable, FloatArray]
    own: int

    kind: ClassVar[str] = "lineup_against"
    may_be_infinite: ClassVar[frozenset[str]] = frozenset({"foils"})

    def __repr__(self) -> str:
        return f"LineupAgainst({self.lineup!r}, {len(self.foils)} line-ups)"

    @property
    def needs(self) -> tuple[str, ...]:
        """The column that says whose line-up a trial is in."""
        return self.lineup.needs

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """Trials that are not among the foils."""
        counts = foil_counts(scores, columns[self.lineup.by], self.foils)
        return self.lineup._llrs(*counts)

    def _tried(self, scores: FloatArray) -> FloatArray:
        return self.lineup._tried(scores)

    def _of_chunk(self, chunk: Scores, read_factor: float, watch: RangeWatch) -> Scores:
        if not self.own:
            return super()._of_chunk(chunk, read_factor, watch)
        wide = chunk.with_columns(self.lineup.by)
        by_class = (wide.target.astype(np.float64), wide.nontarget.astype(np.float64))
        of_target, of_nontarget = (
            foil_counts(scores, decoded(wide, self.lineup.by, class_index), self.foils)
            for class_index, scores in enumerate(by_class)
        )
        above, tied, cohort = of_nontarget
        # each non-target found itself once, as a tie
        llrs = self.lineup._llrs(*of_target), self.lineup._llrs(above, tied - 1, cohort - 1)
        return Scores.part(*llrs, chunk.columns, chunk.categories)


def _distinct_foil_counts(cohort: IntArray, above: IntArray, tied: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct triples as rows, and which one each trial has."""
    base = int(cohort.max(initial=0)) + 1
    # numbers above and tied do not exceed the cohort: one number for the last two keeps the sort quick
    pair = above * base + tied
    order = np.lexsort((pair, cohort))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(cohort[order]) != 0) | (np.diff(pair[order]) != 0)
    where = np.empty(len(order), dtype=np.intp)
    where[order] = np.cumsum(new) - 1
    first = order[new]
    return np.stack([cohort[first], above[first], tied[first]], axis=1), where
