"""What is said of a fitted map: poor fits, and bounds by name; and the decorator of every fit.

The guard of every fit: a map that does badly on its own training trials is not returned in silence. Two
things are wrong with a map that no choice of test trials excuses: it loses more on the trials it was made
from than a map that always says 0 would, or clearly more than logistic regression on the same trials, which
every fit that aims at the same loss could have equaled. Scores that saturate, ties and wrong assumptions all
show up here.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import wraps
from inspect import Parameter, cleandoc, signature
from typing import ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np

from llrkit.base.arguments import Array, FloatArray, names_of, takes
from llrkit.base.process import warn_caller
from llrkit.base.text import as_list, as_number, as_text, not_among, number, with_parameters
from llrkit.core.functions import binary_entropy, logit, softplus
from llrkit.core.histograms import ScoreHistogram
from llrkit.core.summaries import FieldwiseSums, SummaryBase, both
from llrkit.errors import (
    InputError,
    LlrkitWarning,
    NoOverlapWarning,
    PoorFitWarning,
    SeparationError,
    ShapeWarning,
    UnknownNameError,
)
from llrkit.fits.linear import Shrinkage, fit_linear
from llrkit.fits.training import TiedScores, few_to_train
from llrkit.maps.bounds import (
    BoundedMap,
    SourceCounts,
    bound_elub,
    bound_fixed,
    bound_groups,
    bound_invariance,
    bound_sources,
    bounding_groups,
    training_gap,
)
from llrkit.maps.map import ComposedMap, Map, reading_of
from llrkit.maps.training_range import TrainingDensities, gap_sentence, with_group_spread
from llrkit.results.vocabulary import LN10
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source, weigh
from llrkit.scores.source import Roles, S, WrappedSource, rows_in_memory

MOST_JUDGED = 100_000
"""Trials of a class that are looked at; of more, every second, fourth, ... one."""
TOLERATED = 0.05
"""Bits that a map may lose against logistic regression on its training trials."""
ROUNDING = 1e-4
"""Bits above 1 that the tilt of PAV or the knots of a curve may cost."""
MOST_FITTED = 8_192
"""Trials of a class that logistic regression is fitted on to compare; its loss is right to about 1e-4."""
FEWEST_COMPARED = 20
"""Trials of each class from which on the comparison with logistic regression is made: with fewer its two
parameters follow the trials so closely that other maps are several hundredths of a bit behind by right."""

NOT_JUDGED = {
    "fit_by": "is made of other fits, each of which is judged",
    "fit_quality": "minimizes the loss itself, with logistic regression as a special case",
    "fit_lineup": "counts ranks, one trial more added to each",
}
"""Fits that are not judged, and why."""
OTHER_AIMS = frozenset({"fit_rule"})
"""Fits that minimize something else: they are compared with a constant only."""

WITHOUT_LABELS = frozenset({"fit_unsupervised"})
"""Fits that do not look at labels: these only judge the map, and say nothing of the densities in its file."""

_enabled: ContextVar[bool] = ContextVar("enabled", default=True)


def is_judged() -> bool:
    """Whether a fit that ends here is judged by itself, not as a part of another one."""
    return _enabled.get()


@contextmanager
def without_guard() -> Iterator[None]:
    """Fits inside are not judged: for those who fit many maps and judge them by other trials."""
    token = _enabled.set(False)
    try:
        yield
    finally:
        _enabled.reset(token)


def guarded(
    fit: Callable[[ScoreSource], Map], source: ScoreSource, name: str, options: Mapping[str, object]
) -> Map:
    """What a fit returns, after a look at how its map does on the training trials, and with their densities.

    For that, a sample is taken and scores are counted on the first pass that the fit makes; trials in memory
    are sampled and counted afterwards, which costs next to nothing.
    """
    if not _enabled.get() or name in NOT_JUDGED or not isinstance(source, ScoreSource):
        return fit(source)
    if options.get("supervised") is not None:  # the labels of the other trials are not known
        return fit(source)
    watched = None if isinstance(source, Scores) or _is_table_in_memory(source) else WatchedSource(source)
    with without_guard():  # a fit made of others is judged as a whole
        fitted = fit(source if watched is None else watched)
    sample, counted = watched.box[0] if watched is not None and watched.box else (None, None)
    # what a fit without labels calls prior is the share of targets
    prior, complete = 0.5 if name in WITHOUT_LABELS else options.get("prior", 0.5), source
    if options.get("missing", "error") != "error":
        complete = rows_in_memory(source).complete()
    if fitted.n_systems > 1 or fitted.needs:
        if not fitted.accepts_missing:  # the LLRs of fewer systems are other ones
            llrs = fitted.on(complete).reduce(ScoreHistogram.of)
            fitted = replace(fitted, densities=TrainingDensities(llrs, "LLRs").to_plain())
    elif name not in WITHOUT_LABELS:
        counted = source.reduce(ScoreHistogram.of) if counted is None else counted
        fitted = replace(fitted, densities=TrainingDensities(counted).to_plain())
    problem = problem_of(
        fitted,
        complete,
        sample,
        prior=float(prior) if isinstance(prior, (int, float)) else 0.5,
        compared=name not in OTHER_AIMS
        and not any(options.get(option) for option in ("robust", "regularization")),
    )
    if problem:
        warn_caller(problem, PoorFitWarning)
    return fitted


def problem_of(
    fitted: Map,
    source: ScoreSource,
    sample: TrainingSample | None = None,
    *,
    prior: float = 0.5,
    compared: bool = True,
) -> str:
    """Why a map is not fit for use on the trials it was made from; empty if it is.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> problem_of(AffineMap(a=9.0, b=0.0, method="steep"), Scores([1.0, -1.0, 2.0], [0.0, -2.0]))
    'steep: on its training trials the map has a Cllr of 2.414, worse than the 1 of LLRs that are all 0: ...'
    """
    if sample is None:
        sample = TrainingSample.of(source) if isinstance(source, Scores) else source.reduce(TrainingSample.of)
    trials = sample
    if fitted.needs or trials.target.n == 0 or trials.nontarget.n == 0:
        return ""
    lost = trials.loss(lambda values: fitted.llr(values, {}), prior)
    name = "Cllr" if prior == 0.5 else f"normalized cross-entropy at prior {prior:g}"
    what = f"{fitted.method or fitted.kind}: on its training trials the map has a {name} of {lost:.4g}, "
    if lost > 1.0 + ROUNDING:
        return f"{what}worse than the 1 of LLRs that are all 0{_reason_for_poor_fit(trials, source)}"
    if not compared or lost <= TOLERATED or min(trials.target.n, trials.nontarget.n) < FEWEST_COMPARED:
        return ""
    line = trials.logistic_loss(prior)
    if lost <= line + TOLERATED:
        return ""
    return f"{what}logistic regression one of {line:.4g}{_reason_for_poor_fit(trials, source)}"


def _reason_for_poor_fit(trials: TrainingSample, source: ScoreSource) -> str:
    """What makes fits go wrong, where the trials show it; shares are those of all trials, as elsewhere."""
    told: list[str] = []
    if trials.target.values.ndim == 1:
        tied = TiedScores.of(trials.scores()) if trials.is_complete else source.reduce(TiedScores.of)
        told = replace(tied, llrs=source.roles.calibrated).sentences()
    if not told:
        return ": the scores are unlike what the method assumes; compare methods with fit_best"
    return f": {'; '.join(told)}; use fit_pav, or the scores as they were before that"


def _is_table_in_memory(source: ScoreSource) -> bool:
    """Whether the trials are a table in memory; arrays alone do not need polars."""
    module = sys.modules.get("llrkit.scores.trials")
    return module is not None and isinstance(source, module.Trials)


@dataclass(frozen=True, eq=False)
class ClassTrials(SummaryBase):
    """Every ``stride``-th trial of one class, at most ``MOST_JUDGED`` of them, and how often each counts."""

    values: FloatArray
    weights: FloatArray
    """Of each trial, or one for all."""
    stride: int

    @classmethod
    def of(cls, values: Array) -> ClassTrials:
        """Thin an array; scores that are missing are left out."""
        stride = 1
        while len(values) > MOST_JUDGED * stride:
            stride *= 2
        kept = values[::stride].astype(np.float64)
        whole = ~np.isnan(kept) if kept.ndim == 1 else ~np.isnan(kept).any(axis=1)
        kept = kept if whole.all() else kept[whole]
        return cls(kept, np.ones(1), stride)

    def __add__(self, other: ClassTrials) -> ClassTrials:
        stride = max(self.stride, other.stride)
        while True:
            steps = [stride // part.stride for part in (self, other)]
            own, more = self.values[:: steps[0]], other.values[:: steps[1]]
            if len(own) + len(more) <= MOST_JUDGED:
                break
            stride *= 2
        weights = self.weights if len(own) else other.weights
        if len(own) and len(more) and (len(weights) > 1 or not np.array_equal(weights, other.weights)):
            weights = np.concatenate([self.of_each[:: steps[0]], other.of_each[:: steps[1]]])
        return ClassTrials(np.concatenate([own, more]), weights, stride)

    @property
    def of_each(self) -> FloatArray:
        """The weight of each trial."""
        return np.broadcast_to(self.weights, len(self.values)) if len(self.weights) == 1 else self.weights

    @property
    def n(self) -> int:
        """Trials that were kept."""
        return len(self.values)

    def __mul__(self, weight: float) -> ClassTrials:
        return ClassTrials(self.values, self.weights * weight, self.stride)


@dataclass(frozen=True, eq=False)
class TrainingSample(FieldwiseSums):
    """The trials of both classes by which a map is judged: all, or a bounded and evenly spread part."""

    target: ClassTrials
    nontarget: ClassTrials

    @classmethod
    def of(cls, chunk: Scores) -> TrainingSample:
        """Of a chunk."""
        return cls(ClassTrials.of(chunk.target), ClassTrials.of(chunk.nontarget))

    @property
    def is_complete(self) -> bool:
        """Whether these are all trials, and each counts once."""
        classes = (self.target, self.nontarget)
        return all(part.stride == 1 and bool((part.weights == 1.0).all()) for part in classes)

    def scores(self) -> Scores:
        """The trials, each once."""
        return Scores.part(self.target.values, self.nontarget.values)

    def loss(self, llrs: Callable[[FloatArray], FloatArray], prior: float) -> float:
        """Cross-entropy at a prior as a share of the prior's entropy: Cllr at 1/2."""
        total, log_odds = 0.0, float(logit(prior))
        for part, share, sign in ((self.target, prior, -1.0), (self.nontarget, 1.0 - prior, 1.0)):
            losses = softplus(sign * (llrs(part.values) + log_odds))
            total += share * float((losses * part.of_each).sum() / part.of_each.sum())
        return total / float(binary_entropy(prior))

    def logistic_loss(self, prior: float) -> float:
        """The same of logistic regression on these trials, regularized where they do not overlap."""
        some = [slice(None, None, -(-part.n // MOST_FITTED)) for part in (self.target, self.nontarget)]
        weights = self.target.of_each[some[0]], self.nontarget.of_each[some[1]]
        source: ScoreSource = Scores.part(
            self.target.values[some[0]], self.nontarget.values[some[1]], {"weight": weights}
        )
        if any((each != each[0]).any() for each in weights):
            source = weigh(source, "weight")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LlrkitWarning)  # of reversed scores the fit has warned
            try:
                line = fit_linear(source, prior=prior)
            except SeparationError:
                line = fit_linear(source, prior=prior, shrinkage=Shrinkage(regularization=1.0))
        return self.loss(line.llrs, prior)


@dataclass(frozen=True)
class WatchedSource(WrappedSource):
    """Another source, of which a sample is kept on the first pass that anyone makes."""

    source: ScoreSource
    box: list[tuple[TrainingSample, ScoreHistogram | None]] = field(default_factory=list)

    @property
    def roles(self) -> Roles:
        """Those of the source below."""
        return self.source.roles

    def reduce(self, summarize: Callable[[Scores], S]) -> S:
        """Summarize; the first time, keep a sample and the counts of one system's scores too."""
        if self.box:
            return self.source.reduce(summarize)
        if self.roles.n_systems == 1:
            summarize_all = both(summarize, TrainingSample.of, ScoreHistogram.of)
            summary, sample, histogram = self.source.reduce(summarize_all).summaries
            self.box.append((sample, histogram))
        else:
            summary, sample = self.source.reduce(both(summarize, TrainingSample.of)).summaries
            self.box.append((sample, None))
        return summary

    def with_columns(self, *names: str) -> ScoreSource:
        """The same trials carrying these columns, watched as well."""
        return replace(self, source=self.source.with_columns(*names))


BOUNDS = ("none", "elub", "invariance", "sources", "fixed:LOW,HIGH")
"""What :func:`bound_map` accepts."""

COUNTING = frozenset({"pav", "lineup"})
"""Methods whose LLRs rest on counts of trials, which bound them."""
OWN_SHAPES = frozenset({"gaussian", "student_t", "nig"})
"""Methods that give each class a density with a spread of its own, from its trials alone.

In 8 sets of 9 Gaussian targets and 300 non-targets, their strongest LLRs on these trials were 40, 41 and
1494; that of "logistic" was 19, and that of "bayes", which allows for few trials, 8.6.
"""


def parse_bound(bound: str) -> tuple[str, tuple[float, float] | None]:
    """The name of a bound, and the two limits (in nats) of a fixed one; anything else is refused.

    Examples
    --------
    >>> parse_bound("elub"), parse_bound("fixed:-3,4.5")
    (('elub', None), ('fixed', (-3.0, 4.5)))
    >>> parse_bound("tight")
    Traceback (most recent call last):
    llrkit.errors.UnknownNameError: unknown bound 'tight'; known are none, elub, invariance, sources,
    fixed:LOW,HIGH (natural logarithms)
    """
    typed = bound.strip().lower() if isinstance(bound, str) else ""
    if typed in BOUNDS[:-1]:
        return typed, None
    name, _, rest = typed.partition(":")
    if name != "fixed":
        raise UnknownNameError(f"unknown bound {not_among(bound, BOUNDS)} (natural logarithms)")
    try:
        low, high = (float(text) for text in rest.split(","))
    except ValueError:
        low = high = float("nan")
    if not low <= 0.0 <= high:
        raise InputError(
            f"bound {bound!r}: write fixed:LOW,HIGH with two LLRs in nats (natural logarithms) and "
            "LOW <= 0 <= HIGH, such as fixed:-4.6,6.9"
        )
    return name, (low, high)


@takes(fitted=Map)
def bound_map(
    fitted: Map,
    source: ScoreSource,
    bound: str = "sources",
    *,
    speakers: str | Sequence[str] | None = None,
) -> Map:
    """Bound the LLRs of a map by the data it was trained on.

    The ``details`` of the bounded map hold ``bound``, ``low`` and ``high`` in nats, ``low_log10`` and
    ``high_log10``, what was counted, and ``gap`` if the classes do not overlap in the training scores;
    those of the fit are in ``bounded.map.details``. :func:`bound_sentence` says the same in words.

    Parameters
    ----------
    fitted
        The map whose LLRs are bounded.
    source
        The training data.
    bound
        ``"sources"``: :func:`bound_sources`. ``"elub"``: :func:`bound_elub`. ``"invariance"``:
        :func:`bound_invariance`. ``"fixed:LOW,HIGH"``: :func:`bound_fixed`, in nats (natural logarithms, as
        all LLRs here). ``"none"``: the map itself.
    speakers
        For ``"sources"``: the column, or the two columns, with the speakers of the two sides of a trial.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> dev = lk.Scores(rng.normal(2, 1, 30), rng.normal(0, 1, 200))
    >>> bounded = lk.bound_map(lk.fit_cmlg(dev), dev)
    >>> bounded([-9.0, 0.9, 9.0]).round(2)
    array([-3.43, -0.13,  5.3 ])
    >>> print(lk.bound_sentence(bounded))
    LLRs are bounded to [-3.43, 5.30] (log10: -1.49, 2.30): 30 target trials, 200 non-target trials.
    """
    kind, limits = parse_bound(bound)
    if speakers is not None and kind != "sources":
        raise InputError(f"bound {kind!r} does not use speakers, only 'sources' does; leave the speakers out")
    if kind == "none":
        _warn_of_gap(fitted)
        _warn_of_few(fitted)
        return fitted
    if kind == "sources":
        if speakers is not None:  # by which a shift is told from other speakers
            fitted = with_group_spread(fitted, as_source(source), names_of(speakers, "speakers"))
        return bound_sources(fitted, as_source(source), speakers=speakers)
    if limits is not None:
        bounded = bound_fixed(fitted, *limits)
    else:
        bounded = (bound_elub if kind == "elub" else bound_invariance)(fitted, source)
    _, gap = training_gap(fitted, source)
    details = {**bounded.details, **gap, "passes": as_number(bounded.details.get("passes", 0)) + 1}
    return replace(bounded, details=details)


def _warn_of_gap(fitted: Map) -> None:
    """Nothing limits the LLRs of a map without bounds where its training scores do not overlap.

    Of reversed scores a fit warns already, fits that count trials have no more to say than these, and who
    asks for shrinkage knows.
    """
    known = fitted.provenance
    shrunk = any(fitted.options.get(name) for name in ("regularization", "robust"))
    if "gap" not in known or fitted.has_bounds or fitted.method in COUNTING or shrunk or not is_judged():
        return
    low, high = map(as_number, as_list(known["gap"]))
    if low < high and as_number(known["mean_target"]) > as_number(known["mean_nontarget"]):
        warn_caller(gap_sentence((low, high), bounded=False), NoOverlapWarning)


def _warn_of_few(fitted: Map) -> None:
    """Nothing limits the LLRs of two densities whose shapes few trials decide."""
    if fitted.method not in OWN_SHAPES:
        return
    from llrkit.fits.ratio import RatioMap  # which most maps need not load

    known = fitted.provenance
    # a fusion by "gaussian" is linear, with one covariance for both classes
    if not isinstance(fitted, RatioMap) or fitted.has_bounds or "n_target" not in known or not is_judged():
        return
    few = few_to_train(int(as_number(known["n_target"])), int(as_number(known["n_nontarget"])))
    if few:
        warn_caller(few, ShapeWarning)


@takes(fitted=Map)
def bound_sentence(fitted: Map, *, base_10: bool = False) -> str:
    """The bounds of a map and what they rest on, in words.

    Parameters
    ----------
    fitted
        A map with bounds.
    base_10
        Show them to base ten only, not in nats.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> line = AffineMap(a=1.0, b=0.0)
    >>> print(bound_sentence(bound_sources(line, n_sources=(39, 780))))
    LLRs are bounded to [-3.69, 6.66] (log10: -1.60, 2.89): 39 target sources, 780 non-target sources.
    >>> bound_sentence(line)
    'LLRs are not bounded.'
    """
    while isinstance(fitted, ComposedMap):
        fitted = fitted.second
    if not isinstance(fitted, BoundedMap):
        return "LLRs are not bounded."
    nats, logs = (f"{number(fitted.low / unit, 2)}, {number(fitted.high / unit, 2)}" for unit in (1.0, LN10))
    details = fitted.details
    said = (
        f"LLRs are bounded to [{logs}] in log10 LR"
        if base_10
        else f"LLRs are bounded to [{nats}] (log10: {logs})"
    )
    why = counted_for_bounds(fitted)
    said += f": {why}." if why else "."
    gap = ""
    if "gap" in details:
        low, high = map(as_number, as_list(details["gap"]))
        gap = gap_sentence((low, high), as_text(details["gap_of"]))
    return f"{said} {gap[0].upper()}{gap[1:]}." if gap else said


def counted_for_bounds(bounded: BoundedMap) -> str:
    """What the bounds of a map rest on, in words; empty where it is not known.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> counted_for_bounds(bound_sources(AffineMap(a=1.0, b=0.0), n_sources=(39, 780)))
    '39 target sources, 780 non-target sources'
    """
    kind, details = bounded.method.rpartition("+")[2], bounded.details
    if kind == "sources" and "target_sources" in details:
        n_target, n_nontarget = (as_number(details[f"n_{name}_sources"]) for name in ("target", "nontarget"))
        target, nontarget = (as_text(details[f"{name}_sources"]) for name in ("target", "nontarget"))
        return str(SourceCounts(n_target, n_nontarget, target, nontarget, details["exact"] is True))
    if kind in ("elub", "invariance") and "n_target" in details:
        method = "empirical lower and upper bounds" if kind == "elub" else "invariance verification"
        return f"{method}, {details['n_target']:,} target and {details['n_nontarget']:,} non-target trials"
    return "as given" if kind == "fixed" else ""


P = ParamSpec("P")
M_co = TypeVar("M_co", bound=Map, covariant=True)

BOUND_DOCUMENTATION = {
    "source": """\
Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
``score`` and ``label``, or an array of scores that comes with ``labels``.""",
    "labels": """\
The label of each score, where the first argument is an array.""",
    "bound": """\
How strong an LLR may be: ``"none"`` (the default without groups), ``"elub"``, ``"invariance"``, ``"sources"``
or ``"fixed:LOW,HIGH"``, see :func:`llrkit.bound_map`. The result is a bounded map around the fitted one.""",
    "speakers": """\
For ``bound="sources"`` and ``groups``: the column, or the two columns, with the speakers of a trial.""",
    "groups": """\
The column with what may be new in use: attacks, devices, speakers. LLRs are bounded by ``log(1 + groups)`` of
the other class, where that has several groups, else by its speakers or trials; unless ``bound`` asks for
another bound or none: then groups only deal folds, in fits that have some.""",
}


class FitFunction(Protocol[P, M_co]):
    """A fit function: its own options give its own kind of map, ``bound`` any kind."""

    __name__: str

    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> M_co: ...
    @overload
    def __call__(
        self,
        scores: AnyTrials,
        labels: Labels | None = None,
        **options: object,
    ) -> M_co: ...
    @overload
    def __call__(
        self,
        source: ScoreSource,
        *args: object,
        bound: str,
        speakers: str | Sequence[str] | None = None,
        **options: object,
    ) -> Map: ...
    @overload
    def __call__(
        self,
        source: ScoreSource,
        *args: object,
        groups: str | Sequence[str],
        speakers: str | Sequence[str] | None = None,
        **options: object,
    ) -> Map: ...


def fits_map(fit: Callable[P, M_co]) -> FitFunction[P, M_co]:
    """A fit whose map records its training scores, with the options ``bound``, ``speakers`` and ``groups``.

    A fit that has ``groups`` of its own deals its folds by them; one column of groups bounds its LLRs, too.

    Examples
    --------
    >>> import llrkit as lk
    >>> dev = lk.Scores([2.0, 4.0], [0.0, 2.0])
    >>> lk.fit_cmlg(dev, bound="sources")
    BoundedMap(AffineMap(cmlg: llr = 2 * score -4), llr from -1.099 to 1.099)
    >>> lk.fit_cmlg(dev, bound="fixed:-2,3")([0.0, 9.0])
    array([-2.,  3.])
    """

    declared = signature(fit)

    def deals_groups(options: Mapping[str, object]) -> bool:
        """Whether the fit itself takes groups, to deal folds; CMLG does where it chooses alpha."""
        if "alpha" in declared.parameters and options.get("alpha") != "auto":
            return False
        return "groups" in declared.parameters

    @wraps(fit)
    def fitting(
        source: AnyTrials,
        labels: Labels | None = None,
        *,
        bound: str | None = None,
        speakers: str | Sequence[str] | None = None,
        **options: object,
    ) -> Map:
        source = as_source(source, labels)
        given, bound = bound, "none" if bound is None else bound
        kind, _ = parse_bound(bound)  # a word nobody knows is refused before anything is read
        deals = deals_groups(options)
        groups = options.get("groups") if deals else options.pop("groups", None)
        columns = () if groups is None else names_of(groups, "groups")
        if groups is not None and not columns:
            raise InputError("groups are one or two columns, got none")
        other_bound = given is not None and kind != "sources"
        if columns and other_bound and not deals:
            raise InputError(f"groups bound the LLRs: leave out bound={bound!r} or the groups")
        by_groups = bool(columns) and not other_bound and (len(columns) == 1 or not deals)
        if speakers is not None and kind != "sources" and not by_groups:
            raise InputError(f"speakers need bound='sources', not {bound!r}; leave the speakers out")

        def fitted_to(trials: ScoreSource) -> Map:
            with bounding_groups(by_groups):
                fitted = cast(Callable[..., Map], fit)(trials, **options)
            return replace(fitted, reading=reading_of(source.roles))

        # a bound that costs much is the user's wish: the map inside is judged
        fitted = guarded(fitted_to, source, fit.__name__, options)
        if speakers is None and columns:
            fitted = with_group_spread(fitted, source, columns)
        if by_groups:
            if speakers is not None:
                fitted = with_group_spread(fitted, source, names_of(speakers, "speakers"))
            return bound_groups(fitted, source, columns, speakers)
        return bound_map(fitted, source, bound, speakers=speakers)

    names = "str | Sequence[str] | None"
    more = [
        Parameter("bound", Parameter.KEYWORD_ONLY, default=None, annotation="str | None"),
        Parameter("speakers", Parameter.KEYWORD_ONLY, default=None, annotation=names),
        *(
            []
            if "groups" in declared.parameters
            else [Parameter("groups", Parameter.KEYWORD_ONLY, default=None, annotation=names)]
        ),
    ]
    first, *own = declared.parameters.values()
    both_forms = Parameter(
        "labels", Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation="Labels | None"
    )
    own = [
        first,
        both_forms,
        *(
            option.replace(kind=Parameter.KEYWORD_ONLY)
            if option.kind is Parameter.POSITIONAL_OR_KEYWORD
            else option
            for option in own
        ),
    ]
    rest = [option for option in own if option.kind is Parameter.VAR_KEYWORD]
    own = [option for option in own if option.kind is not Parameter.VAR_KEYWORD]
    fitting.__signature__ = declared.replace(parameters=[*own, *more, *rest])  # type: ignore[attr-defined]
    if fit.__doc__:  # there is none with python -OO
        order = [option.name for option in [*own, *more, *rest]]
        fitting.__doc__ = with_parameters(_with_both_uses(fit.__doc__), BOUND_DOCUMENTATION, order)
    return cast("FitFunction[P, M_co]", fitting)


def _with_both_uses(text: str) -> str:
    """The docstring of a fit with groups of its own: one entry for what they do to bounds and to folds."""
    shared = "".join(f"    {line}\n" for line in BOUND_DOCUMENTATION["groups"].splitlines())
    return cleandoc(text).replace("\ngroups\n", f"\ngroups\n{shared}", 1)
