"""calibrate(): fit a map, record what it was made from, judge it, bound it, and evaluate before and after."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature

from llrkit.base.arguments import names_of
from llrkit.base.process import warn_caller
from llrkit.base.text import Json, not_among
from llrkit.errors import (
    InputError,
    LlrkitWarning,
    NoOverlapWarning,
    PoorFitWarning,
    ReversedScoresWarning,
    ShapeWarning,
)
from llrkit.fits.best import fit_best
from llrkit.fits.folds import METHODS, Fit, fit_of
from llrkit.fits.fusion import fit_by
from llrkit.fits.judge import few_if_unbounded, gap_if_unbounded, judge_fit, keeping_sample, with_densities
from llrkit.fits.logistic import fit_rule
from llrkit.fits.mixtures import fit_unsupervised
from llrkit.maps.bounds import bound_map, parse_bound
from llrkit.maps.map import Map
from llrkit.maps.training_range import with_group_spread
from llrkit.results.result import Result
from llrkit.scores import ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.scores.source import rows_in_memory
from llrkit.verbs.evaluate import evaluate
from llrkit.verbs.evaluation_result import Evaluation

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

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers; the map is as in its file."""
        return {
            "map": self.map.to_dict(),
            "before": None if self.before is None else self.before.to_dict(),
            "after": self.after.to_dict(),
            "warnings": list(self.warnings),
        }

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


def calibrate(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    method: str | Fit[Map] = "logistic",
    bound: str = "sources",
    speakers: str | Sequence[str] | None = None,
    groups: str | Sequence[str] | None = None,
    by: str | None = None,
    **settings: object,
) -> Calibration:
    """Make a map from score to LLR, as ``llrkit calibrate`` does: fitted, judged, bounded and evaluated.

    The map records what :func:`llrkit.check_shift`, :class:`llrkit.ShiftMonitor` and
    :func:`llrkit.fit_adapted` need: the densities of its training scores, and how much speakers or groups
    differ where these are named. A :class:`PoorFitWarning` is given if it does worse on its training trials
    than LLRs of 0, or clearly worse than logistic regression; without bounds, a :class:`NoOverlapWarning` if
    the classes do not overlap, and a :class:`ShapeWarning` if few trials decide the shapes of two densities.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    method
        The calibrator: its name, ``"best"`` for :func:`llrkit.fit_best`, or a fit function such as
        :func:`llrkit.fit_fusion`.
    bound
        How strong an LLR may be: ``"sources"``, ``"elub"``, ``"invariance"``, ``"fixed:LOW,HIGH"`` (nats) or
        ``"none"``, see :func:`llrkit.bound_map`.
    speakers
        For ``bound="sources"``: the column, or the two columns, with the speakers of the two sides.
    groups
        The column with what may be new in use: attacks, devices. LLRs are bounded by ``log(1 + groups)`` of
        the other class, where that has several groups. Methods that deal folds ("best", or "cmlg" with
        ``alpha="auto"``) also never put a group into two of them; there, groups may be two columns, the
        speakers of the two sides, and go with any ``bound``.
    by
        A column: one map for each of its values (:func:`llrkit.fit_by`).
    **settings
        Options of the method.

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
    """
    trials = as_source(source, labels)
    kind, _ = parse_bound(bound)  # a word nobody knows is refused before anything is read
    fit: Callable[..., Map] = fit_best if method == "best" else fit_of(method, METHODS)
    taken = signature(fit).parameters
    own = [name for name in taken if name not in ("source", "labels")]
    for name in settings:
        # a fit of the user's own may pass options on, and then refuses them itself
        if name not in own and not any(one.kind is one.VAR_KEYWORD for one in taken.values()):
            raise InputError(f"{fit.__name__} has no option {not_among(name, own, '; it takes ')}")
    people = None if speakers is None else names_of(speakers, "speakers")
    dealt = None if groups is None else names_of(groups, "groups")
    if people is not None and kind != "sources":
        raise InputError(f"bound {kind!r} does not use speakers, only 'sources' does; leave the speakers out")
    if by is not None and (dealt is not None or fit is fit_best):
        raise InputError(f"by={by!r} cannot be combined with {'groups' if dealt else 'the method best'}")

    # groups deal folds and bound LLRs; two columns of a method with folds are speakers, counted as such
    # methods with folds take groups as an option; for all others groups can only bound
    deals = fit is fit_best or settings.get("alpha") == AUTO
    bound_by_groups = dealt is not None and kind == "sources" and (len(dealt) == 1 or not deals)
    if dealt is not None:
        if not dealt:
            raise InputError("groups are one or two columns, got none")
        if not deals and not bound_by_groups:
            raise InputError(f"groups bound the LLRs: leave out bound={bound!r} or the groups")
        if deals:
            settings = {**settings, "groups": dealt}
        if fit is fit_best:
            # limits before blending and the bound afterwards must rest on the same count
            settings["group_limits"] = bound_by_groups
        # two columns of groups are the two sides of a trial, so they name speakers for the bound as well
        if kind == "sources" and not bound_by_groups and people is None:
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
                (gap_if_unbounded(fitted), NoOverlapWarning),
                (few_if_unbounded(fitted), ShapeWarning),
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
                    warnings.simplefilter("ignore", ReversedScoresWarning)
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
                fitted, trials, bound, speakers=people, groups=dealt if bound_by_groups else None
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
    texts = tuple(text for text, one in told.items() if issubclass(one.category, LlrkitWarning))
    return Calibration(fitted, before, after, texts)


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
        warn_caller(problem, PoorFitWarning)
    return fitted
