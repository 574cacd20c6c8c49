"""What is wrong with a fitted map on the trials it was made from, and what a map records of them.

Two things are wrong with a map that no choice of test trials excuses: it loses more on its training trials
than a map that always says 0 would, or clearly more than logistic regression on the same trials, which every
fit that aims at the same loss could have equaled. Scores that saturate, ties and wrong assumptions all show
up here. A map without bounds is moreover only as good as its assumptions where the classes do not overlap, or
where few trials decide its shape.

To judge a map takes a sample of its training trials, and to record their densities takes a histogram.
:func:`keeping_sample` takes both on the first pass that a fit makes, so files are not read once more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from llrkit.base.text import as_list, as_number
from llrkit.core.histograms import ScoreHistogram
from llrkit.core.summaries import both
from llrkit.fits.logistic import TOLERATED, TrainingSample
from llrkit.fits.ratio import RatioMap
from llrkit.fits.training_checks import TiedScores, few_to_train
from llrkit.maps.map import Map
from llrkit.maps.training_range import TrainingDensities, gap_sentence
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.source import Roles, S, WrappedSource

M = TypeVar("M", bound=Map)

ROUNDING = 1e-4
"""Bits above 1 that the tilt of PAV or the knots of a curve may cost."""
FEWEST_COMPARED = 20
"""Trials of each class from which on the comparison with logistic regression is made: with fewer its two
parameters follow the trials so closely that other maps are several hundredths of a bit behind by right."""
COUNTING = frozenset({"pav", "lineup"})
"""Methods whose LLRs rest on counts of trials, which bound them."""
OWN_SHAPES = frozenset({"gaussian", "student_t", "nig"})
"""Methods that give each class a density with a spread of its own, from its trials alone.

In 8 sets of 9 Gaussian targets and 300 non-targets, their strongest LLRs on these trials were 40, 41 and
1494; that of "logistic" was 19, and that of "bayes", which allows for few trials, 8.6.
"""


def judge_fit(fitted: Map, source: ScoreSource, *, prior: float = 0.5, compared: bool = True) -> str:
    """Why a map is not fit for use on the trials it was made from; empty if it is, or if it takes columns.

    Parameters
    ----------
    fitted
        The map, without bounds: a bound that costs much is the user's wish.
    source
        Its training trials; :func:`keeping_sample` saves a pass.
    prior
        Where the map should be best: its loss is the cross-entropy there.
    compared
        Whether it is compared with logistic regression too, and not only with a constant: not if it was made
        for another scoring rule, or was asked to shrink.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> judge_fit(AffineMap(a=9.0, b=0.0, method="steep"), Scores([1.0, -1.0, 2.0], [0.0, -2.0]))
    'steep: on its training trials the map has a Cllr of 2.414, worse than the 1 of LLRs that are all 0: ...'
    """
    if fitted.needs:
        return ""
    trials = source.sample if isinstance(source, SampledSource) else source.reduce(TrainingSample.of)
    if trials.target.n == 0 or trials.nontarget.n == 0:
        return ""
    lost = trials.loss(lambda values: fitted.llr(values, {}), prior)
    name = "Cllr" if prior == 0.5 else f"normalized cross-entropy at prior {prior:g}"
    what = f"{fitted.method or fitted.kind}: on its training trials the map has a {name} of {lost:.4g}, "
    if lost > 1.0 + ROUNDING:
        # said before anything is compared: no choice of test trials excuses a map worse than no map
        return f"{what}worse than the 1 of LLRs that are all 0{_reason_for_poor_fit(trials, source)}"
    # a loss below what is tolerated cannot be clearly worse than that of any line
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
    # ties and saturation are named first since they have a remedy; otherwise the assumptions are to blame
    if not told:
        return ": the scores are unlike what the method assumes; compare methods with fit_best"
    return f": {'; '.join(told)}; use fit_pav, or the scores as they were before that"


def gap_if_unbounded(fitted: Map) -> str:
    """What nothing limits: the LLRs of a map without bounds whose training scores do not overlap.

    Of reversed scores a fit warns already, fits that count trials have no more to say than these, and who
    asks for shrinkage knows.
    """
    known = fitted.provenance
    shrunk = any(fitted.options.get(name) for name in ("regularization", "robust"))
    if "gap" not in known or fitted.has_bounds or fitted.method in COUNTING or shrunk:
        return ""
    low, high = map(as_number, as_list(known["gap"]))
    # reversed scores are reported by the fit itself
    if not low < high or as_number(known["mean_target"]) <= as_number(known["mean_nontarget"]):
        return ""
    return gap_sentence((low, high), bounded=False)


def few_if_unbounded(fitted: Map) -> str:
    """What nothing limits: the LLRs of two densities whose shapes few trials decide."""
    known = fitted.provenance
    # a fusion by "gaussian" is linear, with one covariance for both classes
    if fitted.method not in OWN_SHAPES or not isinstance(fitted, RatioMap) or "n_target" not in known:
        return ""
    return few_to_train(int(as_number(known["n_target"])), int(as_number(known["n_nontarget"])))


def with_densities(fitted: M, source: ScoreSource) -> M:
    """A map that records the densities of its training scores, by which a shift of new scores is told.

    A map of several systems, or one that takes columns, records its LLRs in their place. One that accepts
    trials without the score of some system records nothing: the LLRs of fewer systems are other ones.
    """
    if fitted.n_systems == 1 and not fitted.needs:
        counted = source.histogram if isinstance(source, SampledSource) else source.reduce(ScoreHistogram.of)
        return replace(fitted, densities=TrainingDensities(counted).to_plain())
    if fitted.accepts_missing:
        return fitted
    llrs = fitted.on(source).reduce(ScoreHistogram.of)
    return replace(fitted, densities=TrainingDensities(llrs, "LLRs").to_plain())


def keeping_sample(source: ScoreSource) -> ScoreSource:
    """The same trials; those that are not in memory keep a sample and a histogram on their first pass."""
    # arrays alone do not need polars, which a table has imported already
    tables = sys.modules.get("llrkit.scores.trials")
    # read through sys.modules: importing Trials here would import polars for users of arrays
    in_memory = isinstance(source, Scores) or (tables is not None and isinstance(source, tables.Trials))
    return source if in_memory else SampledSource(source)


@dataclass(frozen=True)
class SampledSource(WrappedSource):
    """Another source, of which a sample and a histogram are kept on the first pass that anyone makes."""

    source: ScoreSource
    # a list, because the dataclass is frozen; it is shared by
    # copies with other columns, so one pass serves all
    box: list[tuple[TrainingSample, ScoreHistogram | None]] = field(default_factory=list)

    @property
    def roles(self) -> Roles:
        """Those of the source below."""
        return self.source.roles

    @property
    def sample(self) -> TrainingSample:
        """The sample of the first pass; a pass of its own if there was none."""
        return self.box[0][0] if self.box else self.source.reduce(TrainingSample.of)

    @property
    def histogram(self) -> ScoreHistogram:
        """The histogram of the first pass; a pass of its own if there was none."""
        kept = self.box[0][1] if self.box else None
        return self.source.reduce(ScoreHistogram.of) if kept is None else kept

    def reduce(self, summarize: Callable[[Scores], S]) -> S:
        """Summarize; the first time, keep a sample and the histogram of one system's scores too."""
        if self.box:
            return self.source.reduce(summarize)
        # scores of several systems have no histogram of one score
        if self.roles.n_systems == 1:
            summarize_all = both(summarize, TrainingSample.of, ScoreHistogram.of)
            summary, sample, histogram = self.source.reduce(summarize_all).summaries
            self.box.append((sample, histogram))
        else:
            summary, sample = self.source.reduce(both(summarize, TrainingSample.of)).summaries
            self.box.append((sample, None))
        return summary

    def with_columns(self, *names: str) -> ScoreSource:
        """The same trials carrying these columns, sampled as well."""
        return replace(self, source=self.source.with_columns(*names))
