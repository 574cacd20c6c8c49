"""calibrate() and fuse(): fit a map, record what it was made from, judge it, bound it, and evaluate it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from llrkit import errors
from llrkit.base.options import declared, documented
from llrkit.base.process import warn_caller
from llrkit.base.text import counted, did_you_mean, number
from llrkit.core.numerics import LN2
from llrkit.fits.best import BEYOND, fit_best
from llrkit.fits.folds import METHODS, fit_of
from llrkit.fits.fusion import fit_by, fit_fusion
from llrkit.fits.judge import few_if_unbounded, gap_if_unbounded, judge_fit, keeping_sample, with_densities
from llrkit.fits.logistic import fit_rule
from llrkit.fits.mixtures import fit_unsupervised
from llrkit.fits.training_checks import few_to_train
from llrkit.maps.bounds import BoundedMap, bound_map, parse_bound
from llrkit.maps.map import Map
from llrkit.maps.training_range import gap_of_moments, gap_sentence, with_group_spread
from llrkit.metrics.costs import cross_entropy_from_losses, losses_at
from llrkit.results.result import Result
from llrkit.scores import ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.scores.source import rows_in_memory
from llrkit.verbs.evaluate import Evaluation, evaluate, saturation
from llrkit.verbs.options import BoundOptions, CalibrateOptions, FuseOptions

if TYPE_CHECKING:
    from llrkit.keywords import FuseKeywords

AUTO = "auto"


@dataclass(frozen=True, repr=False)
class Calibration(Result):
    """A map from score to LLR, and what it does to the trials that it was made from."""

    map: Map
    """The map, bounded as asked for. It records how the scores were read, their densities and losses."""
    before: Evaluation | None
    """The training scores as they are; None for several systems, of which none stands for all."""
    after: Evaluation
    """The LLRs of the same trials: better than those of other trials."""
    warnings: tuple[str, ...] = ()
    """What was warned of, each once."""
    remarks: tuple[str, ...] = ()
    """What else is to be said: what the bounds do, a gap between the classes, scores that tell nothing."""
    cautions: tuple[str, ...] = ()
    """Why the LLRs may be far off: few trials of a class, saturated scores. Commands warn of them."""

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people: losses of the training trials before and after, in bits."""
        both = [("scores as they are", self.before), ("calibrated", self.after)]
        shown = [(name, result) for name, result in both if result is not None]
        rows = [
            ["Cllr (bits)", *(f"{result.cllr:.4f}" for _, result in shown)],
            ["of it lost to discrimination", *(f"{result.min_cllr:.4f}" for _, result in shown)],
            ["of it lost to calibration", *(f"{result.cllr_cal:.4f}" for _, result in shown)],
        ]
        return ["on the training trials", *(name for name, _ in shown)], rows

    def __repr__(self) -> str:
        was = "" if self.before is None else f" instead of {self.before.cllr:.4f}"
        return f"Calibration({self.map!r}: Cllr {self.after.cllr:.4f}{was} bits on the training trials)"


@documented(CalibrateOptions)
def calibrate(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    options: CalibrateOptions | None = None,
    **changes: Any,
) -> Calibration:
    """Make a map from score to LLR, as ``llrkit calibrate`` does: fitted, judged, bounded and evaluated.

    The map records what :func:`llrkit.check_shift`, :class:`llrkit.ShiftMonitor` and
    :func:`llrkit.adapt` need: the densities of its training scores, and how much speakers or groups
    differ where these are named. A :class:`llrkit.errors.PoorFitWarning` is given if it does worse on its
    training trials than LLRs of 0, or clearly worse than logistic regression; without bounds, a
    :class:`llrkit.errors.NoOverlapWarning` if the classes do not overlap, and a
    :class:`llrkit.errors.ShapeWarning` if few trials decide the shapes of two densities.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    options
        Options made before; those that are given as keywords replace theirs.
    {options}
    **changes
        All other keywords are options of the method.

    Notes
    -----
    The bounds are ``"sources"``, ``"elub"``, ``"invariance"``, ``"fixed:LOW,HIGH"`` or ``"none"``, see
    :func:`llrkit.maps.bound_map`. With ``groups``, LLRs are bounded by ``log(1 + groups)`` of the other
    class, where that has several groups.

    Methods that deal folds keep each group in one of them; there, groups may be two columns, the speakers
    of the two sides, and go with any ``bound``. Without groups, ``speakers`` are kept in one fold.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> dev = lk.Scores(rng.normal(4, 2, 30), rng.normal(0, 2, 200))
    >>> made = lk.calibrate(dev, method="cmlg")
    >>> made.map
    BoundedMap(AffineMap(cmlg: llr = 1.11536 * score -2.13459), llr from -3.434 to 5.303)
    >>> made.map([-4.0, 2.0, 6.0]).round(2)
    array([-3.43,  0.1 ,  4.56])
    >>> round(made.before.cllr, 2), round(made.after.cllr, 2)
    (0.85, 0.51)
    >>> made.remarks
    ('The bounds limit 55 of 230 training LLRs; without them (bound none) Cllr would be 0.5077 bits there.',)
    """
    known = declared(CalibrateOptions)
    asked = CalibrateOptions.of(options, {name: changes.pop(name) for name in [*changes] if name in known})
    method, settings = asked.method, {**(asked.settings or {}), **changes}
    fit: Callable[..., Map] = fit_best if method == "best" else fit_of(method, METHODS)
    called = method if isinstance(method, str) else fit.__name__
    refuse_unknown(fit, asked.settings or (), called, but=known)
    refuse_unknown(fit, changes, called, but=known, meant=known)
    if asked.by is not None and fit is fit_best:
        raise asked.error("{} cannot be combined with the method best", "by")
    return _fitted_and_evaluated(
        as_source(source, labels), fit, settings, asked, groups=asked.groups or None, by=asked.by
    )


@documented(FuseOptions)
def fuse(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    options: FuseOptions | None = None,
    **changes: Unpack[FuseKeywords],
) -> Calibration:
    """Make one LLR of the scores of several systems, as ``llrkit fuse`` does: judged, bounded, evaluated.

    Parameters
    ----------
    source
        Trials with the scores of several systems: :class:`llrkit.Scores` of two dimensions,
        :class:`llrkit.Trials` with several columns of scores, or another score source.
    labels
        The label of each trial, where the first argument is an array.
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> dev = lk.Scores(rng.normal(1, 1, (50, 2)), rng.normal(-1, 1, (200, 2)))
    >>> made = lk.fuse(dev, method="gaussian")
    >>> made.map
    BoundedMap(LinearMap(gaussian: llr = 2.1 system1 +1.992 system2 -0.04574), llr from -3.932 to 5.303)
    >>> round(made.after.cllr, 2)
    0.23
    """
    asked = FuseOptions.of(options, changes)
    taken = signature(fit_fusion).parameters
    settings = {name: getattr(asked, name) for name in taken if hasattr(asked, name)}
    return _fitted_and_evaluated(as_source(source, labels), fit_fusion, settings, asked)


def refuse_unknown(
    fit: Callable[..., object],
    settings: Iterable[str],
    name: str,
    *,
    but: Iterable[str] = (),
    meant: Iterable[str] = (),
) -> None:
    """Refuse options that a method does not have; ``but`` are those that its caller decides on.

    ``meant`` are further names that may have been meant. A fit of the user's own may pass options on, and
    then refuses them itself.
    """
    taken = signature(fit).parameters
    if any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        return
    hidden = {"source", "labels", "group_limits", *but}
    own = [option for option in taken if option not in hidden]
    for setting in settings:
        if setting not in own:
            there = ", ".join(own) or "no options"
            hint = did_you_mean(setting, [*own, *meant])
            raise errors.InputError(f"{name} has no option {setting!r}{hint}; it takes {there}")


def _fitted_and_evaluated(
    trials: ScoreSource,
    fit: Callable[..., Map],
    settings: dict[str, Any],
    asked: BoundOptions,
    *,
    groups: tuple[str, ...] | None = None,
    by: str | None = None,
) -> Calibration:
    """The map of a fit: recorded, judged, bounded and evaluated, with what is to be said of it."""
    bound, people, dealt = asked.bound, asked.speakers or None, groups
    kind, _ = parse_bound(bound)
    # methods with folds take groups as an option; for all others groups can only bound
    deals = fit is fit_best or settings.get("alpha") == AUTO
    if people is not None and kind != "sources" and not deals:
        raise errors.InputError(
            f"bound {kind!r} does not use speakers, only 'sources' does; leave the speakers out"
        )
    # groups deal folds and bound LLRs; two columns of a method with folds are speakers, counted as such
    bound_by_groups = dealt is not None and kind == "sources" and (len(dealt) == 1 or not deals)
    if dealt is not None and not deals and not bound_by_groups:
        text = "{} bound the LLRs, which {} does in another way: leave one of them out"
        raise CalibrateOptions.error(text, "groups", "bound")
    if deals and (dealt or people):
        # no speaker is in two folds, unless it is something else that must not be
        settings = {**settings, "groups": dealt or people}
        if fit is fit_best:
            # limits before blending and the bound afterwards must rest on the same count
            settings["group_limits"] = bound_by_groups
    # two columns of groups are the two sides of a trial, so they name speakers for the bound as well
    if dealt is not None and kind == "sources" and not bound_by_groups and people is None:
        people = dealt

    @wraps(fit)  # the map of a column is named after its method
    def fit_and_judge(part: ScoreSource, **options: object) -> Map:
        # judging and recording need a sample and a histogram: both come from the first pass of the fit
        part = keeping_sample(part)
        fitted = fit(part, **options)
        # trials that the fit has left out must not judge it
        if options.get("missing", "error") != "error":
            part = rows_in_memory(part).complete()
        if options.get("supervised") is None:  # else the labels of the other trials are not known
            fitted = _recorded_and_judged(fit, fitted, part, options)
        if kind == "none":
            for text, category in (
                (gap_if_unbounded(fitted), errors.NoOverlapWarning),
                (few_if_unbounded(fitted), errors.ShapeWarning),
            ):
                if text:
                    warn_caller(text, category)
        return fitted

    # warnings are collected and given once each: a map per value would repeat them
    caught: list[warnings.WarningMessage] = []
    try:
        # "always", because Python shows a repeated warning only the first time
        with warnings.catch_warnings(record=True, action="always") as caught:
            with warnings.catch_warnings():
                if by is None:  # the evaluation tests for reversed scores, and says more
                    warnings.simplefilter("ignore", errors.ReversedScoresWarning)
                if by is None:
                    fitted = fit_and_judge(trials, **settings)
                else:
                    fitted = fit_by(trials, None, column=by, method=fit_and_judge, fallback=False, **settings)
            if settings.get("missing", "error") != "error":
                trials = rows_in_memory(trials).complete()
            # before bounding: a bounded map finds its densities in the map inside
            if people or dealt:  # by which a shift is told from other speakers
                fitted = with_group_spread(fitted, trials, people or dealt or ())
            fitted = bound_map(
                fitted,
                trials,
                bound,
                speakers=people if kind == "sources" else None,  # other bounds count no speakers
                groups=dealt if bound_by_groups else None,
            )
            # scores of several systems have no evaluation as they are
            before = None if fitted.n_systems > 1 else evaluate(trials)
            after = evaluate(fitted.on(trials))
    finally:
        told = {str(one.message): one for one in caught}
        # given again from here, so they point at the caller's line;
        # in `finally`, so that an error does not hide them
        for one in told.values():
            warn_caller(one.message, one.category)
    # losses on the training trials let a later validation recognize them (given_calibration.same_losses)
    fitted = fitted.with_provenance(
        **({} if before is None else {"training_cllr_before": before.cllr}),
        training_cllr=after.cllr,
        training_min_cllr=after.min_cllr,
        training_eer=after.eer,
    )
    texts = tuple(text for text, one in told.items() if issubclass(one.category, errors.LlrkitWarning))
    remarks = tuple(_remarks(fitted, trials, before, always=fit is fit_best, kind=kind, settings=settings))
    cautions = tuple(_cautions(trials, before, after, texts))
    return Calibration(fitted, before, after, texts, remarks, cautions)


def _remarks(
    fitted: Map,
    trials: ScoreSource,
    before: Evaluation | None,
    *,
    always: bool,
    kind: str,
    settings: Mapping[str, object],
) -> Iterator[str]:
    """What is to be said of a calibration besides its bounds and losses.

    ``always`` is the choice among methods, which depends on its bounds: without them another map would be
    made.
    """
    if isinstance(fitted, BoundedMap):
        if always and kind == "none":
            yield f"'best' always has these bounds, log(1 + {BEYOND:g} n) for n trials of the other class."
        yield _effect_of_bounds(fitted, trials, optional=not always)
    if before is not None:
        gap = gap_of_moments(before.moments) if kind == "none" else None
        if gap is not None:
            said = gap_sentence(gap, bounded=isinstance(fitted, BoundedMap))
            yield f"{said[0].upper()}{said[1:]}."
        if before.verdict.outcome == "uninformative":
            yield f"The scores are {before.verdict.text}"
    if settings.get("supervised") is not None:
        yield (
            f"Whether the map does badly was not checked: where {settings['supervised']!r} is false the "
            "labels may not be known."
        )


def _effect_of_bounds(fitted: BoundedMap, trials: ScoreSource, *, optional: bool) -> str:
    """How many training LLRs the bounds hold, what Cllr would be without them, and how to do without."""
    free = losses_at(fitted.map.on(trials), thresholds=[fitted.low, np.nextafter(fitted.high, np.inf)])
    below = free.n_miss[0] + free.n_nontarget - free.n_fa[0]
    above = free.n_target - free.n_miss[1] + free.n_fa[1]
    held, total = round(float(below + above)), round(float(free.n_target + free.n_nontarget))
    without = "without them (bound none)" if optional else "without them"
    return (
        f"The bounds limit {held:,} of {counted(total, 'training LLR')}; {without} Cllr would be "
        f"{number(float(cross_entropy_from_losses(free)[0] / LN2))} bits there."
    )


def _cautions(
    trials: ScoreSource, before: Evaluation | None, after: Evaluation, told: Iterable[str]
) -> Iterator[str]:
    """Why LLRs may be far off: few trials of a class, saturated scores; but nothing that was warned of."""
    few = few_to_train(after.n_target, after.n_nontarget)
    if few and few not in told:
        yield few
    for text in () if before is None else saturation(before, trials):
        # a fit that does badly for it says so, with the shares of its own trials where there are several fits
        if not any(text.partition(" scores are ")[2] in one for one in told):
            yield text


def _recorded_and_judged(
    fit: Callable[..., Map], fitted: Map, trials: ScoreSource, options: dict[str, object]
) -> Map:
    """The map with the densities of its training trials, after a warning if it does badly on them."""
    unlabeled = fit is fit_unsupervised  # it has not seen the classes, and its prior is the share of targets
    if not unlabeled:
        fitted = with_densities(fitted, trials)
    prior = 0.5 if unlabeled else options.get("prior", 0.5)
    problem = judge_fit(
        fitted,
        trials,
        prior=float(prior) if isinstance(prior, (int, float)) else 0.5,
        # rules and shrunk fits give up some of the loss on purpose
        compared=fit is not fit_rule and not (options.get("robust") or options.get("regularization")),
    )
    if problem:
        warn_caller(problem, errors.PoorFitWarning)
    return fitted
