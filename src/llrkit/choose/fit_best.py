"""fit_best() and cross_calibrate(): choice and reporting by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Generic, TypeVar

from llrkit._arguments import whole_number, yes_or_no
from llrkit._format import counted
from llrkit._plain import Json
from llrkit._progress import tracked
from llrkit._random import RNG, seed_of
from llrkit._results import Result
from llrkit.calibrate.bounds.bounds_by_groups import count_groups, groups_bound_llrs
from llrkit.calibrate.composite.mean_of_maps import MeanMap
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.maps import Map
from llrkit.calibrate.tied_scores import TiedScores
from llrkit.calibrate.training_checks import training_moments
from llrkit.choose.blend import Blend, best_blend
from llrkit.choose.candidates import Candidate, table_of
from llrkit.choose.cross_validated_loss import SETS, MethodLoss
from llrkit.choose.fold_fits import LlrLimits, fit_bounded_folds, fit_folds, fit_whole
from llrkit.choose.folds import Folds, Pair, crossed_source, make_folds, training_source
from llrkit.choose.held_trials import MOST_HELD, CodedTrials, condensed, training_sets
from llrkit.choose.methods import (
    CANDIDATES,
    METHODS,
    NOT_SMOOTH,
    Fit,
    M,
    Methods,
    fit_of,
    method_name,
    named_fits,
)
from llrkit.core.elementary_functions import probability
from llrkit.errors import InputError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source

Crossed = TypeVar("Crossed")


@dataclass(frozen=True, repr=False)
class CrossCalibration(Result, Generic[Crossed, M]):
    """Cross-validated LLRs as a source, and the maps that made them; log-likelihoods of several classes."""

    source: Crossed
    """The trials with cross-validated LLRs in place of scores."""
    maps: Mapping[Pair, M]
    """For each pair of folds that was left out, the map trained on the rest."""
    folds: Folds
    """How trials were dealt out."""

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers: the folds, and the map of each pair of folds that was left out."""
        maps: list[Json] = [
            {"left_out": list(pair), "map": fitted.to_dict()} for pair, fitted in self.maps.items()
        ]
        return {"folds": self.folds.n, "groups": self.folds.groups, "maps": maps}

    def _frame_rows(self) -> list[dict[str, Json]]:
        return [
            {"first_fold": f, "second_fold": g, "map": repr(fitted)} for (f, g), fitted in self.maps.items()
        ]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people: the map of each pair of folds that was left out."""
        rows = [[", ".join(map(str, sorted({*pair}))), repr(fitted)] for pair, fitted in self.maps.items()]
        return ["folds left out", "map"], rows

    def __repr__(self) -> str:
        return f"CrossCalibration({counted(len(self.maps), 'map')}, {counted(self.folds.n, 'fold')})"


@takes_labels
def cross_calibrate(
    source: ScoreSource,
    method: str | Fit[Map] = "logistic",
    *,
    groups: str | Sequence[str] | None = None,
    leave_out: str | None = None,
    folds: int | str = 5,
    rng: RNG = 0,
    **options: object,
) -> CrossCalibration[ScoreSource, Map]:
    """LLRs for reporting: each trial is calibrated by a map that has not seen it, nor its speakers.

    Parameters
    ----------
    method, **options
        The calibrator, by name or as a function, and its options.
    groups
        One column, or the two columns with the speakers of the two sides. A trial whose speakers are in
        folds f and g gets the map trained on the trials without a speaker in f or g. By default the
        enrollment and test ids of a table that has both; without any, trials are taken to be independent.
    leave_out
        In place of ``groups``: a column whose values (attacks, devices) are left out one at a time, so that
        every trial tells what happens with a group that was not there in training. A class of a single
        group, such as bona fide speech, is dealt out trial by trial.
    folds
        How many, or the name of a column whose values are the folds.
    rng
        Seed of the random numbers; the same seed gives the same result.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([1.0, 2.0, 4.0, 2.5, 3.0], [-1.0, 0.0, 1.5, -2.0, 2.2])
    >>> crossed = lk.cross_calibrate(scores, "cmlg", folds=2)
    >>> lk.evaluate(crossed.source).n_target
    5
    """
    seed = seed_of(rng)
    if leave_out is not None and groups is not None:
        raise InputError("give groups or leave_out, not both")
    left = groups if leave_out is None else leave_out
    assigned = make_folds(source, left, folds, seed, leave_one_out=leave_out is not None)
    carried = dict.fromkeys((*assigned.carried, *source.roles.carried))  # a method may look at columns
    wide = source.with_columns(*carried)
    training = partial(training_source, wide, assigned)
    maps = fit_folds(fit_of(method, METHODS), training, assigned.pairs, options, method_name(method))
    return CrossCalibration(crossed_source(source, assigned, maps), MappingProxyType(maps), assigned)


@fits_map
def fit_best(
    source: ScoreSource,
    *,
    methods: Methods[Map] = CANDIDATES,
    groups: str | Sequence[str] | None = None,
    folds: int = 5,
    repeats: int = 3,
    prior: float = 0.5,
    blend: bool = True,
    rng: RNG = 0,
) -> Map:
    """The blend of calibrators with the lowest cross-validated Cllr, fitted on everything; or a single one.

    Every method is fitted on folds that share no group, as in :func:`cross_calibrate`, and evaluated on the
    trials left out. The maps of folds have seen fewer trials than the map that is returned, which counts
    most against methods with much to estimate; Burman's correction takes that out. The folds are dealt
    several times, and what they say is averaged.

    All LLRs are held to ``log(1 + 4 n)`` of n non-targets and ``-log(1 + 4 n)`` of n targets, before they are
    judged and in the map that is returned: no method wins or loses by what it says beyond the data. Where the
    classes of a fold do not overlap, regularized logistic regression (``regularization=1``) takes the place
    of a method that would refuse.

    The map's ``details`` hold ``chosen``, the best single method, ``weights``, ``expected_cllr``, ``low`` and
    ``high``, the limits of the LLRs, ``tied``, what saturates or ties in the scores, and
    ``cross_validation``, the table of all methods, best first: ``cllr`` is what decides, ``cllr_crossed`` the
    value without correction, ``standard_error`` that of the difference from the best, ``flags`` what is wrong
    with a method: that it loses more than LLRs of 0 would, or clearly more than logistic regression; that
    many of its LLRs were at the limits; that folds did not overlap. A method that failed has a ``reason``
    instead.

    Parameters
    ----------
    methods
        Names of calibrators.
    groups
        As in :func:`cross_calibrate`. One column (attacks, devices, speakers) also bounds the LLRs by the
        number of its values, unless ``bound`` says otherwise; if only one class has several, they are left
        out one at a time.
    folds
        Number of folds of the cross-validation.
    repeats
        How many times the folds are dealt.
    prior
        Where the calibration should be best: losses are cross-entropies at this prior of a target, as
        shares of its entropy, which at 1/2 is Cllr (:term:`training prior`).
    blend
        Return the weighted mean of the LLRs of several methods, with the weights that have the lowest
        cross-validated Cllr (stacking). It is never worse in cross-validation than any of the methods alone.
        Otherwise the single method with the lowest cross-validated Cllr is returned.
    rng
        Seed of the random numbers; the same seed gives the same result.

    References
    ----------
    Burman, "A comparative study of ordinary cross-validation, v-fold cross-validation and the repeated
    learning-testing methods", Biometrika 76 (1989) 503; ``best_blend``.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> model = lk.theory.GaussianLLR.from_eer(0.1)
    >>> target, nontarget = model.rvs(2000, 2000, np.random.default_rng(3))
    >>> best = lk.fit_best(lk.Scores(target, nontarget), methods="cmlg,logistic,pav", folds=3)
    >>> best.details["chosen"], [row["method"] for row in best.details["cross_validation"]]
    ('logistic', ['logistic', 'cmlg', 'pav'])
    """
    seed = seed_of(rng)
    repeats = whole_number(repeats, 1, "repeats")
    blend = yes_or_no(blend, "blend")
    prior, fits = probability(prior, "prior"), named_fits(methods, METHODS)
    moments = training_moments(source)  # what all methods would refuse or warn of is said once
    limits = LlrLimits.of(moments)
    if groups is not None and groups_bound_llrs():
        limits = LlrLimits.of_groups(count_groups(source, groups, moments=moments))
    first = make_folds(source, groups, folds, seed)
    deals = [replace(first, seed=seed + i) for i in range(repeats)]
    wide = source.with_columns(*first.carried)  # once: what it has read and coded is kept
    if source.roles.weight is None and moments.target.n + moments.nontarget.n <= MOST_HELD:
        sets = [replace(deal, n=SETS) for deal in deals]
        wide = wide.reduce(CodedTrials.at([*deals, *sets])).scores
    training = [training_sets(wide, deal) for deal in deals]
    everything = condensed(wide.target, wide.nontarget) if isinstance(wide, Scores) else wide
    candidates: dict[str, Candidate] = {}
    failed: dict[str, str] = {}
    for name, fit in tracked(fits.items(), "cross-validating", len(fits), "methods"):
        try:
            full_map, note = fit_whole(fit, source, limits)
            fitted = [fit_bounded_folds(fit, sets, limits) for sets in training]
        except InputError as error:
            failed[name] = str(error)
            continue
        maps = [deal.maps for deal in fitted]
        smooth = name not in NOT_SMOOTH
        loss = MethodLoss.from_source(wide, deals, maps, full_map, prior, everything, corrected=smooth)
        regularized = sum(deal.n_regularized for deal in fitted)
        candidates[name] = Candidate(loss, full_map, maps, regularized, note)
    if not candidates:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        raise InputError(f"no method could be cross-validated: {reasons}")
    losses = {name: candidate.loss for name, candidate in candidates.items()}
    chosen = min(losses, key=lambda name: losses[name].cllr)
    how = {"folds": folds, "repeats": repeats, "groups": first.groups, "prior": prior, "seed": seed}
    details = {
        "chosen": chosen,
        "cross_validation": table_of(candidates, failed),
        "tied": TiedScores.of_source(as_source(source)).sentences(),
        "low": limits.low,
        "high": limits.high,
        **how,
    }
    if not blend or len(losses) == 1:
        mix = Blend({chosen: 1.0}, losses[chosen].cllr)
    else:
        crossed = {name: candidate.fold_maps for name, candidate in candidates.items()}
        mix = best_blend(wide, deals, crossed, losses)
    details |= {"weights": mix.weights, "expected_cllr": mix.cllr}
    if len(mix.weights) == 1:
        (only,) = (candidates[name].full_map for name in mix.weights)
        return replace(only, details={**only.map.details, **details})
    return MeanMap(
        maps={name: candidates[name].full_map for name in mix.weights},
        weights=mix.weights,
        method="blend",
        options={**how, "methods": list(fits)},
        details=details,
        provenance=candidates[chosen].full_map.provenance,
    )
