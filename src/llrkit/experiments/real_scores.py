"""Scored trials with conditions: each condition is a list, calibrated without looking at its speakers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType

from llrkit._format import not_among
from llrkit._plain import Json
from llrkit._progress import tracked
from llrkit.choose.fit_best import cross_calibrate
from llrkit.errors import InputError, SeparationError, UnknownNameError
from llrkit.experiments.list_results import (
    METHODS,
    REGULARIZATION,
    ListTable,
    calibrated,
    closer_look,
    fit_both,
    is_regularized,
    measure_list,
)
from llrkit.experiments.real_result import RealResult, shape_of
from llrkit.metrics.llr_costs import cllr
from llrkit.scores import ScoreSource
from llrkit.scores.trials import Trials

TRAINING = ("folds", "same")


def run_real_scores(
    trials: Trials,
    by: Sequence[str],
    *,
    training: str = "folds",
    groups: Sequence[str] | None = None,
    folds: int = 5,
    seed: int = 0,
) -> RealResult:
    """Run the experiment on every combination of conditions of a table of scored trials.

    Parameters
    ----------
    by
        The columns whose values are the conditions; the first one names the rows of the heat map, the
        others its columns.
    training
        'folds': every trial is calibrated by trials of its condition that share no group with it.
        'same': calibration is trained on the trials that are evaluated, which is too good.
    groups, folds, seed
        As in :func:`~llrkit.choose.fit_best.cross_calibrate`.

    Examples
    --------
    >>> import llrkit as lk
    >>> pair = lk.theory.GaussianLLR.from_eer(0.1)
    >>> trials = lk.simulate_trials(pair, n_target=400, n_nontarget=3000).trials()
    >>> result = run_real_scores(trials, ["gender"], training="same")
    >>> [(row.enroll, round(row.cmlg - row.logistic, 2)) for row in result.table.lists]
    [('f', 0.0), ('m', 0.0)]
    """
    if training not in TRAINING:
        raise UnknownNameError(f"training={not_among(training, TRAINING, ': expected one of ')}")
    if not by:
        raise InputError("name the column of the conditions (by)")
    began = time.perf_counter()
    results, shapes, regularized, skipped = [], [], [], {}
    largest: tuple[Trials, dict[str, ScoreSource]] | None = None
    for values, cell in tracked(_cells_of_conditions(trials, list(by)), "calibrating", unit="conditions"):
        name = "/".join(values)
        try:
            if training == "same":
                maps = fit_both(cell)
                llrs, rescued = calibrated(cell, maps), is_regularized(maps)
            else:
                llrs, rescued = _cross_calibrated(cell, groups, folds, seed)
        except InputError as error:
            skipped[name] = str(error)
            continue
        measured = measure_list(cell, {}, enroll=values[0], test="/".join(values[1:]))
        results.append(replace(measured, cmlg=cllr(llrs["cmlg"]), logistic=cllr(llrs["logistic"])))
        shapes.append(MappingProxyType(shape_of(cell)))
        if rescued:
            regularized.append(name)
        if largest is None or len(cell) > len(largest[0]):
            largest = cell, llrs
    if largest is None:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in list(skipped.items())[:3])
        raise InputError(f"no condition of {', '.join(by)} can be used: {reasons}")
    about: dict[str, Json] = {
        "by": list(by),
        "training": training,
        "folds": folds if training == "folds" else 0,
    }
    return RealResult(
        ListTable(tuple(results)),
        tuple(shapes),
        MappingProxyType(about),
        time.perf_counter() - began,
        closer_look(*largest),
        MappingProxyType(skipped),
        tuple(regularized),
    )


def _cells_of_conditions(trials: Trials, by: list[str]) -> Iterator[tuple[list[str], Trials]]:
    for value, cell in trials.by(by[0]).items():
        if len(by) == 1:
            yield [str(value)], cell
        else:
            yield from (([str(value), *rest], inner) for rest, inner in _cells_of_conditions(cell, by[1:]))


def _cross_calibrated(
    cell: Trials, groups: Sequence[str] | None, folds: int, seed: int
) -> tuple[dict[str, ScoreSource], bool]:
    """LLRs by maps that saw neither the trial nor its groups, and whether a fit had to be regularized."""
    llrs, rescued = {}, False
    for method in METHODS:
        try:
            crossed = cross_calibrate(cell, method, groups=groups, folds=folds, rng=seed)
        except SeparationError:
            rescued = True
            crossed = cross_calibrate(
                cell, method, groups=groups, folds=folds, rng=seed, regularization=REGULARIZATION
            )
        llrs[method] = crossed.source
    return llrs, rescued
