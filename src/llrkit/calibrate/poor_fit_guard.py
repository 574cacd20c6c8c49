"""The guard of every fit: a map that does badly on its own training trials is not returned in silence.

Two things are wrong with a map that no choice of test trials excuses: it loses more on the trials it was made
from than a map that always says 0 would, or clearly more than logistic regression on the same trials, which
every fit that aims at the same loss could have equaled. Scores that saturate, ties and wrong assumptions all
show up here.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit._warn import warn_caller
from llrkit.calibrate.affine.linear_fit import Shrinkage, fit_linear
from llrkit.calibrate.maps import Map
from llrkit.calibrate.tied_scores import TiedScores
from llrkit.calibrate.training_densities import TrainingDensities
from llrkit.core.elementary_functions import binary_entropy, logit, softplus
from llrkit.core.score_histogram import ScoreHistogram
from llrkit.core.summary_algebra import FieldwiseSums, SummaryBase, both
from llrkit.errors import LlrkitWarning, PoorFitWarning, SeparationError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.roles import Roles
from llrkit.scores.source import S, WrappedSource, rows_in_memory
from llrkit.scores.weights import weigh

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
    >>> from llrkit.calibrate.maps import AffineMap
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
