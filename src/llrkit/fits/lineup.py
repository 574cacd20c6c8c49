"""LLRs from the rank of a score in a lineup of foils."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, overload

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, FloatArray, IntArray, one_of
from llrkit.core.groups import decoded, positions_by_value
from llrkit.core.summaries import FieldwiseSums, SummaryBase
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.fits.training_checks import provenance, training_moments
from llrkit.maps.map import Columns, Map, reading_of
from llrkit.maps.training_range import RangeWatch
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source

if TYPE_CHECKING:
    from llrkit.scores import Trials


@dataclass(frozen=True, eq=False)
class Foils(SummaryBase):
    """The scores of one class for each value of a column, in ascending order.

    Examples
    --------
    >>> chunk = Scores([3.0], [2.0, 1.0], {"test": (["x"], ["x", "x"])})
    >>> Foils.of(chunk, "test").by_value
    {'x': array([1., 2.])}
    """

    by_value: dict[Hashable, FloatArray]

    @classmethod
    def of(cls, chunk: Scores, by: str, targets: bool = False) -> Foils:
        """The non-targets of a chunk, or its targets."""
        scores = chunk.target if targets else chunk.nontarget
        positions = positions_by_value(decoded(chunk, by, 0 if targets else 1))
        return cls({key: np.sort(scores[where]).astype(np.float64) for key, where in positions.items()})

    def __add__(self, other: Foils) -> Foils:
        merged = dict(self.by_value)
        for key, scores in other.by_value.items():
            merged[key] = np.sort(np.concatenate([merged[key], scores])) if key in merged else scores
        return Foils(merged)

    def __mul__(self, weight: float) -> Foils:
        return self  # a rank does not count a foil by halves

    def counter(self, by: str) -> Callable[[Scores], RankCounts]:
        """A summarizer that counts the non-targets of a chunk against these scores."""
        starts = np.cumsum([0, *(len(scores) for scores in self.by_value.values())])
        # each line-up has a fixed slice of one flat array, so counts
        # of chunks add up whatever tests a chunk holds
        first = dict(zip(self.by_value, starts, strict=False))

        def count(chunk: Scores) -> RankCounts:
            counts = [np.zeros(starts[-1], dtype=np.int64) for _ in range(3)]
            for key, where in positions_by_value(decoded(chunk, by, 1)).items():
                if key in self.by_value:
                    mine = slice(first[key], first[key] + len(self.by_value[key]))
                    foils = np.sort(chunk.nontarget[where]).astype(np.float64)
                    ranks = _count_foils(self.by_value[key], foils)
                    for out, values in zip(counts, ranks, strict=True):
                        out[mine] = values
            return RankCounts(*counts)

        return count


@dataclass(frozen=True, eq=False)
class RankCounts(FieldwiseSums):
    """For each target: how many foils score more, how many the same, and how many there are."""

    above: Array
    tied: Array
    cohort: Array


def foil_counts(
    scores: FloatArray, values: Array, foils: Mapping[Hashable, FloatArray]
) -> tuple[IntArray, IntArray, IntArray]:
    """For each score how many foils of its value score more, how many the same, how many there are.

    Examples
    --------
    >>> foil_counts(np.array([2.0, 0.0]), np.array(["x", "y"]), {"x": np.array([1.0, 2.0, 3.0])})
    (array([1, 0]), array([1, 0]), array([3, 0]))
    """
    counts = tuple(np.zeros(len(scores), dtype=np.int64) for _ in range(3))
    for key, where in positions_by_value(values).items():
        if key in foils:
            for out, numbers in zip(counts, _count_foils(scores[where], foils[key]), strict=True):
                out[where] = numbers
    return counts[0], counts[1], counts[2]


def _count_foils(scores: FloatArray, foils: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    left = np.searchsorted(foils, scores, side="left").astype(np.int64)
    right = np.searchsorted(foils, scores, side="right").astype(np.int64)
    return len(foils) - right, right - left, np.full(len(scores), len(foils), dtype=np.int64)


# where the search for d' ends
LARGEST_D_PRIME = 12.0
_BLOCK = 1 << 20  # elements of a temporary table


def drawn_above(above: IntArray, size: IntArray, cohort: int) -> FloatArray:
    """P(j of ``cohort`` foils drawn from ``size`` are among the ``above`` best): rows of cases, columns of j.

    Examples
    --------
    >>> drawn_above(np.array([1]), np.array([2]), 1)
    array([[0.5, 0.5]])
    """
    j = np.arange(cohort + 1)[None, :]
    k, n = above[:, None], size[:, None]
    possible = (j <= k) & (cohort - j <= n - k)
    # impossible rows get an argument that log-gamma can bear; their probability is set to 0 below
    j = np.where(possible, j, np.maximum(cohort - (n - k), 0))
    log = _log_choose(k, j) + _log_choose(n - k, cohort - j) - _log_choose(n, np.full_like(n, cohort))
    return np.where(possible, np.exp(log), 0.0)


def _log_choose(n: IntArray, k: IntArray) -> FloatArray:
    from scipy.special import gammaln

    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def rank_histogram(above: IntArray, tied: IntArray, size: IntArray, cohort: int) -> FloatArray:
    """Expected counts of the ranks 1 to cohort + 1 when ``cohort`` of each target's foils are drawn.

    Examples
    --------
    >>> rank_histogram(np.array([0, 1]), np.array([0, 1]), np.array([2, 2]), 2)
    array([1. , 0.5, 0.5])
    """
    # a target tied with t foils has each of t + 1 places with equal probability: ties are spread, not decided
    rows = np.repeat(np.arange(len(above)), tied + 1)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(tied + 1) - (tied + 1), tied + 1)
    # many targets share place and cohort size; each distinct pair is computed once
    pairs, where = np.unique(
        np.stack([above[rows] + place, size[rows]], axis=1), axis=0, return_inverse=True
    )  # fmt: skip
    weight = np.bincount(where.ravel(), 1.0 / (tied[rows] + 1), minlength=len(pairs))
    counts = np.zeros(cohort + 1)
    height = max(1, _BLOCK // (cohort + 1))
    for start in range(0, len(pairs), height):
        block = pairs[start : start + height]
        table = drawn_above(block[:, 0], block[:, 1], cohort)
        counts += (weight[start : start + height, None] * table).sum(axis=0)
    return counts


def lr_of_ranks(rank: IntArray, cohort: int, smoothing: str, share: FloatArray, d_prime: float) -> FloatArray:
    """LR of each rank among ``cohort`` foils, given P(rank | target) among ``len(share) - 1`` foils.

    Examples
    --------
    >>> lr_of_ranks(np.array([1, 2]), 1, "add-one", np.array([0.5, 0.3, 0.2]), 0.0)  # 0.5 + 0.3 / 2, ...
    array([1.3, 0.7])
    """
    if cohort == 0:
        return np.ones(len(rank))  # no foils, no evidence
    if smoothing == "gaussian":
        return gaussian_lr(rank, cohort, d_prime)
    trained = len(share) - 1
    # fewer foils than in training: the trained ranks are thinned to the cohort by the hypergeometric law
    if smoothing == "add-one" and cohort < trained:
        places = np.arange(trained + 1)
        table = drawn_above(places, np.full(trained + 1, trained), cohort)
        return np.asarray((cohort + 1) * (share[:, None] * table).sum(axis=0)[rank - 1])
    lr = np.empty(len(rank))
    height = max(1, _BLOCK // (trained + 1))
    for start in range(0, len(rank), height):
        block = rank[start : start + height]
        if smoothing == "add-one":
            # more foils than in training: the rank is thinned to the
            # trained cohort, and its LR is the mean over that
            table = (trained + 1) * drawn_above(block - 1, np.full(len(block), cohort), trained)
        else:
            table = _beta_overlap(block, cohort, trained)
        lr[start : start + height] = (table * share[None, :]).sum(axis=1)
    return lr


def _beta_overlap(rank: IntArray, cohort: int, trained: int) -> FloatArray:
    """Integral of the density Beta(r, N - r + 2) times Beta(r', N' - r' + 2) for all r'."""
    from scipy.special import betaln

    r, other = rank[:, None].astype(np.float64), np.arange(1.0, trained + 2.0)[None, :]
    # through logarithms: the beta functions of large cohorts underflow
    log = betaln(r + other - 1.0, cohort - r + trained - other + 3.0)
    log = log - betaln(r, cohort - r + 2.0) - betaln(other, trained - other + 2.0)
    return np.asarray(np.exp(log))


def gaussian_lr(rank: IntArray, cohort: int, d_prime: float) -> FloatArray:
    """E[h'(t)], t ~ Beta(r, N - r + 2), with ``h'(t) = exp(-d' probit(t) - d'^2 / 2)``.

    The integral is over z = probit(t), where it is smooth and the trapezium rule converges fastest.

    Examples
    --------
    >>> round(float(gaussian_lr(np.array([1, 2, 3]), 2, 1.0).mean()), 12)
    1.0
    """
    from scipy.special import betaln, log_ndtr

    # the integrand narrows with the root of the cohort, and so does the step
    step = 0.25 / np.sqrt(cohort + 4.0)
    # 12 standard deviations on either side of 0 and of -d', between which the integrand lies
    z = np.arange(min(-d_prime, 0.0) - 12.0, max(-d_prime, 0.0) + 12.0, step)
    # the standard normal density at z times h' is the density at z + d'
    weight = -0.5 * (z + d_prime) ** 2 - 0.5 * np.log(2.0 * np.pi) + np.log(step)
    below, above = log_ndtr(z), log_ndtr(-z)
    lr = np.empty(len(rank))
    for i, r in enumerate(rank):
        log = (r - 1.0) * below + (cohort - r + 1.0) * above + weight
        lr[i] = np.exp(log - betaln(float(r), cohort - r + 2.0)).sum()
    return lr


def best_d_prime(share: FloatArray) -> float:
    """The d' for which ranks with these shares are most likely."""
    from scipy.optimize import minimize_scalar

    filled = np.flatnonzero(share)

    def cost(d_prime: float) -> float:
        lr = gaussian_lr(filled + 1, len(share) - 1, d_prime)
        # the floor keeps the logarithm finite where a rank is out of reach of this d'
        return -float((share[filled] * np.log(np.maximum(lr, 1e-300))).sum())

    bounds = (-LARGEST_D_PRIME, LARGEST_D_PRIME)
    return float(minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-9}).x)


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
        self._own_arrays("share")

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

    def on(self, source: object, labels: Labels | None = None) -> ScoreSource:
        """The trials of a source with LLRs in place of scores; their foils are collected in one pass."""
        if labels is not None:
            raise InputError("a line-up needs the column of its foils: give Trials, not arrays")
        trials = as_source(source)
        return replace(self.against(trials), own=1).on(trials)

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """Not possible: a score alone has no rank."""
        raise InputError(
            "a line-up needs foils: give Trials or Scores, use .against(foils), or .llr_of_rank(rank, cohort)"
        )

    # each trial among its own foils; a rank is never outside the training range, so nothing is watched

    def _of_scores(self, scores: Scores, watch: RangeWatch) -> Scores:
        return replace(self.against(scores), own=1)(scores)

    def _of_rows(self, trials: Trials, watch: RangeWatch) -> FloatArray:
        mapped = self(trials.with_columns(self.by).scores())
        llrs = np.empty(len(trials))
        llrs[trials.is_target], llrs[~trials.is_target] = mapped.target, mapped.nontarget
        return llrs

    def _tried(self, scores: FloatArray) -> FloatArray:
        ranks = np.minimum(np.arange(len(scores)), self.cohort) + 1
        return np.asarray(self.llr_of_rank(ranks, np.full(len(scores), self.cohort)))

    def __repr__(self) -> str:
        return f"LineupMap(by {self.by!r}, {self.smoothing}, trained on {self.cohort} foils)"

    def _llrs(self, above: IntArray, tied: IntArray, cohort: IntArray) -> FloatArray:
        """LLRs from how many foils score more, how many the same, and how many there are."""
        if self.ties == "pessimistic":
            above, tied = above + tied, np.zeros_like(tied)
        # the LR of each distinct triple is computed once; neither of the other numbers exceeds the cohort
        base = int(cohort.max(initial=0)) + 1
        pairs, pair = np.unique(above * base + tied, return_inverse=True)
        keys, where = np.unique(cohort * len(pairs) + pair, return_inverse=True)
        cohorts, places = np.divmod(keys, max(len(pairs), 1))
        lr = np.empty(len(keys))
        for n in np.unique(cohorts):
            mine = np.flatnonzero(cohorts == n)
            first, same = np.divmod(pairs[places[mine]], base)
            last = first + same
            # P(one of several ranks) is a sum under both hypotheses, so their LR is the mean
            # a difference array marks the ranks that some trial has; the LR of the others is not computed
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


SMOOTHING = ("add-one", "gaussian", "empirical")
TIES = ("spread", "pessimistic")
LARGEST_COHORT = 4095


def fit_lineup(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    by: str = "test",
    smoothing: str = "add-one",
    ties: str = "spread",
    cohort: int | None = None,
) -> LineupMap:
    """Calibration by rank: how often a target comes r-th among N foils, over how often chance would.

    The foils of a trial are the non-target trials with the same value in column ``by``, for example all
    that were scored against the same test segment. Foils and a non-target are exchangeable, so
    ``P(rank | nontarget) = 1 / (N + 1)`` and ``LR(r) = (N + 1) P(r | target)``: at most N + 1, with mean
    1 over the ranks. Only the order of the scores within a line-up matters, so no condition of the test
    segment can shift them.

    All targets are brought to one cohort size N: a rank among more foils becomes the distribution of
    the rank among N of them drawn at random (hypergeometric). Three passes: moments; the targets of each
    line-up; their foils counted. Memory grows with the number of targets.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    by
        Column that says which trials are compared with each other.
    smoothing
        ``"add-one"``: one more target at every rank, ``LR(r) = (N + 1) (n_r + 1) / (n + N + 1)``. For fewer
        foils at use the ranks are thinned out, for more the LR is the mean over all draws of N.
        ``"gaussian"``: ``LR(r) = E[h'(t)]``, t ~ Beta(r, N - r + 2), for the ROC of two Gaussians,
        ``h'(t) = exp(-d' probit(t) - d'^2 / 2)``, with the d' most likely for the ranks (and one more
        target spread over all of them, so that it stays finite). ``"empirical"``: the same for the
        ROC whose slope is the mean of the densities Beta(r_i, N - r_i + 2) over the targets.
    ties
        A score tied with foils has several ranks at once (``"spread"``), or the worst (``"pessimistic"``).
    cohort
        N; by default one that nine of ten targets reach, at most 4095. Targets with fewer foils are left
        out and counted in ``details``.

    References
    ----------
    van Leeuwen & Brümmer, "A speaker line-up for the likelihood ratio", Interspeech 2011.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> scores = Scores([3.0, 1.5], [0.0, 1.0, 2.0, 0.5], {"test": (["x", "y"], ["x", "x", "y", "y"])})
    >>> lineup = fit_lineup(scores, by="test")  # one target is first of three, one second
    >>> np.exp(lineup.llr_of_rank([1, 2, 3], 2))  # 3 (1 + 1) / (2 + 3), ...
    array([1.2, 1.2, 0.6])
    """
    source = as_source(source, labels)
    one_of(smoothing, SMOOTHING, "smoothing")
    one_of(ties, TIES, "way with ties")
    if cohort is not None and not (isinstance(cohort, int) and 1 <= cohort <= LARGEST_COHORT):
        raise InputError(f"cohort must be a whole number from 1 to {LARGEST_COHORT}, got {cohort!r}")
    if source.roles.weight is not None:
        raise InputError("a line-up ranks the trials of each test, so trials cannot have weights")
    moments = training_moments(source)
    wide = source.with_columns(by)
    targets = wide.reduce(lambda chunk: Foils.of(chunk, by, targets=True))
    counted = wide.reduce(targets.counter(by))
    above, tied, sizes = counted.above, counted.tied, counted.cohort
    if not sizes.any():
        raise TooFewTrialsError(f"no target has a foil: no value of {by!r} has trials of both classes")
    # the smallest tenth of the cohorts sets the size: nine in ten
    # targets have at least that many foils to draw from
    size = cohort or min(int(np.quantile(sizes[sizes > 0], 0.1, method="lower")), LARGEST_COHORT)
    used = sizes >= size
    if not used.any():
        raise TooFewTrialsError(f"no target has {size} foils; the most are {int(sizes.max())}")
    if ties == "pessimistic":
        above, tied = above + tied, np.zeros_like(tied)
    counts = rank_histogram(above[used], tied[used], sizes[used], size)
    # a Gaussian fit takes one added trial in all; "add-one" adds one to each rank
    added = {"add-one": 1.0, "gaussian": 1.0 / (size + 1), "empirical": 0.0}[smoothing]
    share = (counts + added) / (counts + added).sum()
    details = {
        "cohort": size, "n_used": int(used.sum()), "n_too_few_foils": int((~used & (sizes > 0)).sum()),
        "n_without_foils": int((sizes == 0).sum()), "n_lineups": len(targets.by_value), "passes": 3,
    }  # fmt: skip
    return LineupMap(
        by=by, smoothing=smoothing, ties=ties, cohort=size, share=share,
        d_prime=best_d_prime(share) if smoothing == "gaussian" else 0.0, method="lineup",
        options={"by": by, "smoothing": smoothing, "ties": ties, "cohort": cohort},
        details=details, provenance=provenance(moments), reading=reading_of(source.roles),
    )  # fmt: skip
