"""fit_best() and cross_calibrate(): choice and reporting by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from llrkit.calibrate.maps import Map
from llrkit.choose.compare import finite, fit_quietly
from llrkit.choose.folds import Folds, Pair, cross_source, make_folds, training_part
from llrkit.choose.methods import CANDIDATES, method_name, method_names
from llrkit.errors import InputError
from llrkit.metrics.llrs import cross_entropy
from llrkit.scores import ScoreSource


@dataclass(frozen=True)
class CrossCalibration:
    """Cross-validated LLRs as a source, and the maps that made them."""

    source: ScoreSource
    maps: Mapping[Pair, Map]
    folds: Folds


def cross_calibrate(
    source: ScoreSource,
    method: str = "logistic",
    *,
    groups: str | Sequence[str] | None = None,
    folds: int = 5,
    seed: int = 0,
    **options: Any,
) -> CrossCalibration:
    """LLRs for reporting: each trial is calibrated by a map that has not seen it, nor its speakers.

    Parameters
    ----------
    groups
        One column, or the two columns with the speakers of the two sides. A trial whose speakers are in
        folds f and g gets the map trained on the trials without a speaker in f or g. By default the
        enrolment and test ids of a table that has both; without any, trials are taken to be independent.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([1.0, 2.0, 4.0, 2.5, 3.0], [-1.0, 0.0, 1.5, -2.0, 2.2])
    >>> crossed = lk.cross_calibrate(scores, "cmlg", folds=2)
    >>> lk.evaluate(crossed.source).n_target
    5
    """
    dealt = make_folds(source, groups, folds, seed)
    maps = _maps(source, dealt, method_name(method), options)
    return CrossCalibration(cross_source(source, dealt, maps), MappingProxyType(maps), dealt)


def fit_best(
    source: ScoreSource,
    *,
    methods: str | Sequence[str] = CANDIDATES,
    groups: str | Sequence[str] | None = None,
    folds: int = 5,
    prior: float = 0.5,
    seed: int = 0,
) -> Map:
    """The calibrator with the lowest cross-validated Cllr, fitted on everything.

    The map's ``details["cross_validation"]`` is the table of all methods, best first: the normalised
    cross-entropy at ``prior``, which at 1/2 is Cllr; a method that failed has a reason instead.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> model = lk.theory.GaussianLLR.from_eer(0.1)
    >>> target, nontarget = model.rvs(2000, 2000, np.random.default_rng(3))
    >>> best = lk.fit_best(lk.Scores(target, nontarget), methods="cmlg,logistic,pav", folds=3)
    >>> [row["method"] for row in best.details["cross_validation"]]
    ['logistic', 'cmlg', 'pav']
    """
    dealt = make_folds(source, groups, folds, seed)
    table: list[dict[str, Any]] = []
    for name in method_names(methods):
        try:
            maps = _maps(source, dealt, name, {})
            cost = cross_entropy(cross_source(source, dealt, maps), prior)
            table.append({"method": name, "cllr": cost})
        except InputError as error:
            table.append({"method": name, "cllr": float("inf"), "reason": str(error)})
    table.sort(key=lambda row: finite(row["cllr"]))
    if not table or finite(table[0]["cllr"]) == float("inf"):
        reasons = "; ".join(f"{row['method']}: {row.get('reason', 'infinite Cllr')}" for row in table)
        raise InputError(f"no method could be cross-validated: {reasons}")
    best = fit_quietly(table[0]["method"], source, {})
    chosen_by = {"cross_validation": table, "folds": folds, "groups": dealt.groups, "prior": prior}
    return replace(best, details={**best.details, **chosen_by})


def _maps(source: ScoreSource, folds: Folds, method: str, options: Mapping[str, Any]) -> dict[Pair, Map]:
    return {pair: fit_quietly(method, training_part(source, folds, pair), options) for pair in folds.pairs}
