"""The methods by name, and folds for cross-validation.

Folds say which trials may train the map that is applied to which trials. With groups, no trial is calibrated
by a map that has seen a trial with the same speaker. A trial belongs to the speakers of both its sides: the
map for a trial whose speakers are in folds f and g is trained on the trials that have no speaker in either.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, BoolArray, FloatArray, IntArray, names_of, whole_number
from llrkit.base.process import cached_property, tracked
from llrkit.base.text import Json, not_among, number
from llrkit.core.groups import ValueCounts, numbered, numbers_of
from llrkit.core.summaries import Moments, SummaryBase
from llrkit.errors import InputError, LlrkitWarning, TooFewTrialsError, UnknownNameError
from llrkit.fits.cmlg import fit_cmlg
from llrkit.fits.densities import fit_gaussian, fit_kde, fit_student_t
from llrkit.fits.gaussian import fit_bayes
from llrkit.fits.heavy_tails import fit_gamma, fit_nig, fit_tied_nig
from llrkit.fits.logistic import fit_logistic, fit_rule
from llrkit.fits.mixtures import fit_mixture, fit_unsupervised
from llrkit.fits.monotone import fit_bigaussian, fit_pav
from llrkit.fits.saturating import fit_expectation, fit_saturating
from llrkit.maps.map import Map, SavedMap
from llrkit.results.result import Result, flat, text_table
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.classes import ClassVectors
from llrkit.scores.derived import DerivedSource, weigh
from llrkit.scores.source import POSITION

Pair = tuple[int, int]
MOST_LEFT_OUT = 16
"""Groups that are left out one at a time; more are dealt into as many folds."""


@dataclass(frozen=True)
class Folds:
    """A way to give each trial the folds of its two sides (the same fold twice without groups)."""

    n: int
    columns: tuple[str, ...] = (POSITION,)
    values: tuple[Hashable, ...] | None = None
    """The groups, in an order that does not depend on that of the trials; None without groups."""
    seed: int = 0
    """Another seed assigns the folds differently."""
    named: bool = False
    """Whether the values of the column are the folds, in their order, instead of groups to be dealt out."""
    one_group: tuple[int, ...] = ()
    """Classes of a single group (bona fide speech, say): their trials are dealt out one by one."""

    @property
    def carried(self) -> tuple[str, ...]:
        """The columns that trials must carry to be dealt out."""
        return (*self.columns, POSITION) if self.one_group else self.columns

    @property
    def groups(self) -> list[str]:
        """The columns whose values never share two folds; none when trials are dealt out one by one."""
        return [] if self.values is None else list(self.columns)

    @property
    def name(self) -> str:
        """Of the column of a chunk that holds what :meth:`of` gives, where it was made before."""
        return f"{self.n} folds, deal {self.seed}"

    @cached_property
    def place_of(self) -> dict[Hashable, int]:
        """Where each group comes out when they are shuffled; its fold is that modulo ``n``."""
        values = self.values or ()
        n = len(values)
        order = range(n) if self.named else np.random.default_rng(self.seed).permutation(n)
        return {values[i]: place for place, i in enumerate(order)}

    @property
    def pairs(self) -> list[Pair]:
        """All combinations of the folds of two sides that can occur."""
        # without two sides, folds f and g are the same, so only n maps are needed
        if len(self.columns) < 2:
            return [(f, f) for f in range(self.n)]
        return [(f, g) for f in range(self.n) for g in range(f, self.n)]

    def of(self, chunk: Scores) -> tuple[IntArray, IntArray]:
        """The pair of each trial as one number, lower fold * n + higher fold, for each class."""
        # held trials were coded once and carry the answer; other chunks compute it from their columns
        if self.name in chunk.columns:
            return chunk.columns[self.name]
        target, nontarget = (
            # a class of one group cannot be dealt by group: all of it would be in one fold
            deal_folds(chunk.columns[POSITION][i], self.n, self.seed)
            if self.values is None or i in self.one_group
            else self._pairs_of([numbered(chunk, name, i, self.place_of) for name in self.columns])
            for i in (0, 1)
        )
        return target, nontarget

    def of_rows(self, chunk: ClassVectors) -> IntArray:
        """The same for trials of several classes, one number for each trial."""
        if self.values is None:
            return deal_folds(chunk.columns[POSITION], self.n, self.seed)
        return self._pairs_of([numbers_of(chunk.columns[name], None, self.place_of) for name in self.columns])

    def _pairs_of(self, places: Sequence[IntArray]) -> IntArray:
        one, other = places[0] % self.n, places[-1] % self.n
        # the order of sides has no meaning, so (f, g) and (g, f) share a map
        return np.minimum(one, other) * self.n + np.maximum(one, other)


def make_folds(
    source: ScoreSource,
    groups: str | Sequence[str] | None,
    folds: int | str,
    seed: int = 0,
    *,
    leave_one_out: bool = False,
) -> Folds:
    """Folds by the values of one or two columns, or by trial without groups; or those that a column names.

    A column that has several values in one class only (attacks) is left out group by group: what happens with
    a group that was not there is what is asked. The trials of the other class are dealt out one by one.

    Without groups, a table with enrollment and test ids is divided by those; other trials are dealt out
    one by one. Groups are shuffled and dealt out.
    """
    seed = whole_number(seed, 0, "seed")
    columns = group_columns(groups, folds, source.roles.ids or None)
    if columns is None:
        moments = source.reduce(Moments.of)
        fewest = min(moments.target.count, moments.nontarget.count)
        if fewest < int(folds):
            raise TooFewTrialsError(f"{fewest:g} trials of a class are too few for {folds} folds")
        return Folds(int(folds), seed=seed)
    values = source.with_columns(*columns).reduce(lambda chunk: ValueCounts.of(chunk, *columns))
    if isinstance(folds, str):
        return folds_of_values(columns, values.counts, folds)
    # a column that varies in one class only (attacks) cannot deal the other class
    several = [sum(1 for trials in values.counts.values() if trials[i] > 0) > 1 for i in (0, 1)]
    one_group = tuple(i for i in (0, 1) if len(columns) == 1 and not several[i] and several[1 - i])
    of_several = [
        value for value, trials in values.counts.items() if any(trials[i] for i in (0, 1) if several[i])
    ]
    groups_dealt = of_several if one_group else values.counts
    left_out = leave_one_out or bool(one_group)
    dealt = folds_of_values(columns, groups_dealt, folds, seed, leave_one_out=left_out)
    return replace(dealt, one_group=one_group)


def group_columns(
    groups: str | Sequence[str] | None, folds: int | str, default: tuple[str, ...] | None = None
) -> tuple[str, ...] | None:
    """The columns that say which trials stay together; None where trials are dealt out one by one."""
    if isinstance(folds, str):
        if groups is not None:
            raise InputError(f"give either groups or a column of folds ({folds!r}), not both")
        return (folds,)
    if not isinstance(folds, int) or folds < 2:
        raise InputError(f"cross-validation needs at least 2 folds, got {folds!r}")
    groups = default if groups is None else groups
    if groups is None:
        return None
    columns = names_of(groups, "groups")
    if len(columns) not in (1, 2):
        raise InputError(f"groups are one or two columns (the two sides of a trial), got {list(columns)}")
    if len(columns) == 2 and folds < 3:
        raise InputError("trials between two groups need at least 3 folds: two are left out at a time")
    return columns


def folds_of_values(
    columns: tuple[str, ...],
    values: Iterable[Hashable],
    folds: int | str,
    seed: int = 0,
    *,
    leave_one_out: bool = False,
) -> Folds:
    """Groups dealt into folds or left out one at a time, unless there are very many; or folds by name."""
    # sorted by name: the order that values were met in depends on how the trials were read
    distinct = tuple(sorted(values, key=str))
    if isinstance(folds, str):
        if len(distinct) < 2:
            raise InputError(f"column {folds!r} names fewer than 2 folds")
        return Folds(len(distinct), columns, distinct, named=True)
    n = folds
    if leave_one_out:
        # leaving groups out one at a time takes a fit each; beyond MOST_LEFT_OUT they are bundled
        n = len(distinct) if len(distinct) <= MOST_LEFT_OUT else max(n, MOST_LEFT_OUT)
    if len(distinct) < n or n < 2:
        raise InputError(f"{len(distinct)} groups in {', '.join(columns)} are too few for {n} folds")
    return Folds(n, columns, distinct, seed)


def training_source(source: ScoreSource, folds: Folds, pair: Pair) -> ScoreSource:
    """The trials that share no fold with a pair."""

    def kept(chunk: Scores) -> Scores:
        return chunk.select(*(apart_from(code, folds.n, pair) for code in folds.of(chunk)))

    return DerivedSource(source, kept, folds.carried)


def apart_from(code: IntArray, n: int, pair: Pair) -> BoolArray:
    """Whether trials with these pairs of n folds share no fold with a pair."""
    # all n^2 codes are answered once and looked up: cheaper than four comparisons per trial
    codes = np.arange(n * n)
    low, high = codes // n, codes % n
    apart = (low != pair[0]) & (low != pair[1]) & (high != pair[0]) & (high != pair[1])
    return np.asarray(apart[code])


def crossed_source(source: ScoreSource, folds: Folds, maps: Mapping[Pair, Map]) -> ScoreSource:
    """All trials, each with the LLR of the map that has not seen its groups."""
    needed = (name for fitted in maps.values() for name in fitted.needs)
    change = partial(_crossed_chunk, folds=folds, maps=maps)  # no closure: a result that holds it is pickled
    return DerivedSource(source, change, tuple(dict.fromkeys((*folds.carried, *needed))))


def _crossed_chunk(chunk: Scores, folds: Folds, maps: Mapping[Pair, Map]) -> Scores:
    target, nontarget = crossed_llrs(chunk, folds, [maps])
    return Scores.part(target[:, 0], nontarget[:, 0], chunk.columns, chunk.categories)


def crossed_llrs(
    chunk: Scores, folds: Folds, methods: Sequence[Mapping[Pair, Map]]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The LLRs of each class under maps that have not seen the trials' groups; a column for each method."""
    codes = folds.of(chunk)
    llrs = np.empty((chunk.n_target, len(methods))), np.empty((chunk.n_nontarget, len(methods)))
    # trials of one pair go through all methods together, so a chunk is split once
    for f, g in folds.pairs:
        rows = [np.flatnonzero(code == f * folds.n + g) for code in codes]
        trials = chunk.select(*rows)
        for column, maps in enumerate(methods):
            mapped = maps[f, g].of_training_unit(trials)
            llrs[0][rows[0], column], llrs[1][rows[1], column] = mapped.target, mapped.nontarget
    return llrs


def deal_folds(position: Array, n: int, seed: int) -> IntArray:
    """A fold for each trial of a class: n neighbors get all n folds, turned by a hash of where they are."""
    with np.errstate(over="ignore"):  # the arithmetic is meant to wrap around
        # The finalizer of SplitMix64: a fold depends on position and seed alone, so chunks need no shared
        # state. Position // n turns n neighbors together, which keeps the folds equally large.
        bits = (position // n).astype(np.uint64) + np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
    fold = (position + (bits % np.uint64(n)).astype(np.int64)) % n
    return np.asarray(fold * n + fold, dtype=np.int64)


MOST_HELD = 1 << 22
"""Trials; of more, every fit reads those it needs again."""
POINTS = 1 << 12
"""Of a class in a set of trials that maps of folds are fitted on; fewer than twice as many trials stay."""
_TIMES = "times"
_TIED = 0.1  # share of scores that others share, from which on a class is left as it is


@dataclass(frozen=True, eq=False)
class CodedTrials(SummaryBase):
    """Scores with the folds they are in, in the order of the chunks."""

    scores: Scores

    @classmethod
    def at(cls, folds: Sequence[Folds]) -> Callable[[Scores], CodedTrials]:
        """A summarizer."""
        return lambda chunk: cls(
            Scores.part(chunk.target, chunk.nontarget, {each.name: each.of(chunk) for each in folds})
        )

    def __add__(self, other: CodedTrials) -> CodedTrials:
        def joined(own: tuple[Array, Array], more: tuple[Array, Array]) -> tuple[Array, Array]:
            return np.concatenate([own[0], more[0]]), np.concatenate([own[1], more[1]])

        one, two = self.scores, other.scores
        columns = {name: joined(codes, two.columns[name]) for name, codes in one.columns.items()}
        target, nontarget = joined((one.target, one.nontarget), (two.target, two.nontarget))
        return CodedTrials(Scores.part(target, nontarget, columns))

    def __mul__(self, weight: float) -> CodedTrials:
        raise TypeError("trials that are held have no weight")


def training_sets(source: ScoreSource, folds: Folds) -> dict[Pair, ScoreSource]:
    """For each pair of folds the trials that share none with it; as points where they are held and many."""
    if not isinstance(source, Scores):
        return {pair: training_source(source, folds, pair) for pair in folds.pairs}
    codes = source.columns[folds.name]
    kept = {pair: [apart_from(code, folds.n, pair) for code in codes] for pair in folds.pairs}
    return {
        pair: condensed(source.target[in_target], source.nontarget[in_nontarget])
        for pair, (in_target, in_nontarget) in kept.items()
    }


def condensed(target: Array, nontarget: Array) -> ScoreSource:
    """Scores of both classes, or fewer points in their place that count several times.

    In the order of the scores, every few neighbors become two points, one standard deviation on either side
    of their mean; the outermost stay, and so does a class with many ties. Count, mean and variance are kept.

    Examples
    --------
    >>> from llrkit.core.summaries import Moments
    >>> rng = np.random.default_rng(1)
    >>> many = Scores(rng.normal(2.0, 1.0, 50_000), rng.normal(0.0, 1.0, 3_000))
    >>> few = condensed(many.target, many.nontarget)
    >>> kept = few.reduce(Moments.of).target
    >>> kept.n, bool(np.isclose(kept.variance[0], many.target.var()))
    (50000.0, True)
    """
    points = [_points_of_class(values) for values in (target, nontarget)]
    (target, times), (nontarget, more) = points
    if len(times) == len(more) == 0:
        return Scores.part(target, nontarget)
    once_if_untouched = [count if len(count) else np.ones(len(values)) for values, count in points]
    columns = {_TIMES: (once_if_untouched[0], once_if_untouched[1])}
    return weigh(Scores.part(target, nontarget, columns), _TIMES)


def _points_of_class(values: Array) -> tuple[Array, FloatArray]:
    """Points of one class and how often each counts; nothing if the scores stay as they are."""
    untouched = values, np.zeros(0)
    # below twice as many trials as points, condensing saves little
    if values.ndim != 1 or len(values) < 2 * POINTS:
        return untouched
    ascending = np.sort(values).astype(np.float64, copy=False)
    # averages of neighbors would remove ties, which the fits must see
    if (ascending[1:] == ascending[:-1]).mean() > _TIED:
        return untouched
    # an eighth of the points at each end stay single trials: the tails decide LLRs at the extremes
    end = POINTS // 8
    inner = ascending[end:-end]
    size = -(-len(inner) // (POINTS // 2))
    groups = inner[: len(inner) // size * size].reshape(-1, size)
    mean = groups.mean(axis=1)
    half = np.sqrt(((groups - mean[:, None]) ** 2).mean(axis=1))
    points = np.stack([mean - half, mean + half], axis=1).ravel()
    single = np.concatenate([ascending[:end], inner[len(points) // 2 * size :], ascending[-end:]])
    # each group of `size` trials becomes two points that count size / 2 each, which keeps count, mean and
    # variance; what does not fill a group stays as it is
    times = np.concatenate([np.full(len(points), 0.5 * size), np.ones(len(single))])
    return np.concatenate([points, single]), times


M = TypeVar("M", bound=SavedMap)
Fit: TypeAlias = Callable[..., M]
Methods: TypeAlias = str | Sequence[str | Callable[..., M]]
"""Methods to try: their names, separated by commas, or a list of names and of functions."""

METHODS: dict[str, Callable[..., Map]] = {
    "cmlg": fit_cmlg,
    "logistic": fit_logistic,
    "rule": fit_rule,
    "saturating": fit_saturating,
    "tied-nig": fit_tied_nig,
    "gaussian": fit_gaussian,
    "bayes": fit_bayes,
    "student-t": fit_student_t,
    "nig": fit_nig,
    "mixture": fit_mixture,
    "gamma": fit_gamma,
    "kde": fit_kde,
    "bigaussian": fit_bigaussian,
    "pav": fit_pav,
    "expectation": fit_expectation,
    "unsupervised": fit_unsupervised,
}

CANDIDATES = ("cmlg", "logistic", "saturating", "tied-nig", "gaussian", "nig", "kde", "bigaussian", "pav")
"""What :func:`llrkit.fit_best` tries unless told otherwise."""

NOT_SMOOTH = frozenset({"pav"})
"""Methods whose maps do not change smoothly with the shares of the training trials.

Burman's correction follows from a Taylor series in these shares. PAV follows every trial, its loss on its own
trials falls faster than the series allows, and the correction would make it look better than it is.
"""


def fit_quietly(method: str | Callable[..., Map], source: ScoreSource, options: Mapping[str, object]) -> Map:
    """Fit without warnings about the shape of the scores: where methods are compared one sees what fits."""
    return quietly(fit_of(method, METHODS), source, options)


def quietly(fit: Callable[..., M], source: object, options: Mapping[str, object]) -> M:
    """What a fit of any kind gives, without warnings about the shape of the scores."""
    with warnings.catch_warnings():
        # only our own warnings: those of NumPy or a user's method still appear
        warnings.simplefilter("ignore", LlrkitWarning)
        return fit(source, **options)


def fit_of(method: str | Callable[..., M], known: Mapping[str, Callable[..., M]]) -> Callable[..., M]:
    """The function behind a method, which is given by name or is that function already.

    Examples
    --------
    >>> fit_of("CMLG", METHODS) is fit_of(fit_cmlg, METHODS) is fit_cmlg
    True
    """
    return method if callable(method) else known[method_name(method, known)]


def method_name(method: str | Fit[SavedMap], known: Mapping[str, Fit[SavedMap]] = METHODS) -> str:
    """The name of a known method, underscores and case aside; that of a function is what follows ``fit_``.

    Examples
    --------
    >>> method_name("Student_T"), method_name(fit_cmlg), method_name(lambda source: None)
    ('student-t', 'cmlg', '<lambda>')
    """
    # a function may be one of ours under another name in the caller's code; identity decides, then its name
    if callable(method):
        plain = getattr(method, "__name__", type(method).__name__).removeprefix("fit_").replace("_", "-")
        return next((name for name, fit in known.items() if fit is method), plain)
    normalized = str(method).strip().lower().replace("_", "-")
    if normalized not in known:
        raise UnknownNameError(f"unknown calibration method {not_among(method, known)}")
    return normalized


def named_fits(methods: Methods[M], known: Mapping[str, Fit[M]]) -> dict[str, Fit[M]]:
    """Methods by name: names separated by commas, or a list of names and of functions.

    Examples
    --------
    >>> list(named_fits(["logistic", fit_cmlg], METHODS))
    ['logistic', 'cmlg']
    """
    typed = methods.split(",") if isinstance(methods, str) else methods
    several = isinstance(typed, Iterable) and not callable(typed)
    if not (several and all(isinstance(one, str) or callable(one) for one in typed)):
        raise InputError(f"methods are names or a list of names and functions, got {methods!r}")
    asked = [one for one in typed if callable(one) or one.strip()]
    if not asked:
        raise InputError(f"no method is given; known are {', '.join(known)}")
    return {method_name(one, known): fit_of(one, known) for one in asked}


E = TypeVar("E")
RAW = "raw"
"""What the row of the scores as they are is called."""


@dataclass(frozen=True, eq=False, repr=False)
class Compared(Result, Generic[E, M]):
    """What each method gives on the evaluation set; the raw scores come first."""

    evaluations: Mapping[str, E]
    """Evaluation by method; ``raw`` is that of the scores as they are."""
    maps: Mapping[str, M]
    """The trained maps by method."""
    failed: Mapping[str, str]
    """Methods that could not be trained, with the reason."""

    @abstractmethod
    def _loss(self, name: str) -> float:
        """What the best method has least of."""

    @abstractmethod
    def _row(self, name: str) -> dict[str, Json]:
        """The plain numbers of a method."""

    @abstractmethod
    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""

    @property
    def best(self) -> str:
        """The method with the lowest loss."""
        trained = {name: self._loss(name) for name in self.maps}
        if not trained:
            why = "; ".join(f"{name}: {reason}" for name, reason in self.failed.items())
            raise InputError(f"no method could be trained ({why})")
        return min(trained, key=trained.__getitem__)

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        rows = [{"method": name, **self._row(name)} for name in self.evaluations]
        return {"rows": rows, "best": self.best, "failed": dict(self.failed)}

    def _frame_rows(self) -> Sequence[Mapping[str, object]]:
        return [flat({"method": name, **self._row(name)}) for name in self.evaluations]

    def __repr__(self) -> str:
        failed = [f"{name}: {reason}" for name, reason in self.failed.items()]
        return "\n".join([text_table(*self.table()), *failed])


def cllr_sentence(best: str, cllr: float, cllr_cal: float, raw: float) -> str:
    """What a comparison by Cllr comes to.

    Examples
    --------
    >>> cllr_sentence("cmlg", 0.25, 0.01, 0.5)
    'The lowest Cllr is that of cmlg: 0.2500 bits instead of 0.5000 with the raw scores; 0.0100 are still ...'
    """
    if not cllr < raw:
        return f"None of them is better than the raw scores, whose Cllr is {number(raw)} bits."
    return (
        f"The lowest Cllr is that of {best}: {number(cllr)} bits instead of {number(raw)} with the raw "
        f"scores; {number(cllr_cal)} are still lost to calibration."
    )


def compared_on(
    train: object,
    methods: Methods[M],
    known: Mapping[str, Callable[..., M]],
    options: Callable[[str], Mapping[str, object]],
    evaluate: Callable[[M | None], E],
) -> tuple[Mapping[str, E], Mapping[str, M], Mapping[str, str]]:
    """Evaluations, maps and failures of methods; ``evaluate`` takes a map, or None for the raw scores."""
    fits = named_fits(methods, known)
    evaluations, maps, failed = {RAW: evaluate(None)}, {}, {}
    for name, fit in tracked(fits.items(), "comparing", len(fits), "methods"):
        try:
            maps[name] = quietly(fit, train, options(name))
        except InputError as error:
            failed[name] = str(error)
            continue
        evaluations[name] = evaluate(maps[name])
    return MappingProxyType(evaluations), MappingProxyType(maps), MappingProxyType(failed)
