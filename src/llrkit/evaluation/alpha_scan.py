"""alpha_scan(): what the weight that calibration is trained with does to a cost, on anybody's scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit._progress import tracked
from llrkit.choose.folds import crossed_source, make_folds, training_source
from llrkit.choose.methods import fit_quietly
from llrkit.core.special import sigmoid
from llrkit.errors import InputError
from llrkit.metrics.curve import Curve, as_floats, named_arrays
from llrkit.metrics.primary import c_primary
from llrkit.scores import ScoreSource
from llrkit.scores.labeled import takes_labels
from llrkit.scores.source import as_source
from llrkit.theory.operating_points import AnyPoint, cost_of

LOG_ODDS = np.arange(-12.0, 4.5)
"""Log-odds of alpha: from the variance of non-targets alone to almost that of targets alone."""
NAMES = {"cmlg": "CMLG", "logistic": "logistic regression"}
_OPTIONS = {"cmlg": "alpha", "logistic": "prior"}


@dataclass(frozen=True, eq=False)
class PriorScan(Curve):
    """A cost against the log-odds of the weight that calibration was trained with.

    Examples
    --------
    >>> scan = PriorScan([-2.0, 0.0, 2.0], {"CMLG": [0.26, 0.39, 0.55]}, minimum=0.24)
    >>> scan.cost_name
    'C_primary'
    """

    log_odds: FloatArray
    costs: Mapping[str, FloatArray]
    """For each method, the cost at each of the log-odds; NaN where a fit was refused."""
    minimum: float | None = None
    """What the best threshold would give."""
    cost_name: str = "C_primary"

    def __post_init__(self) -> None:
        as_floats(self, "log_odds")
        object.__setattr__(self, "costs", named_arrays(self.costs, len(self.log_odds), "costs"))
        super().__post_init__()


@takes_labels
def alpha_scan(
    source: ScoreSource,
    test: ScoreSource | None = None,
    *,
    point: AnyPoint = "sre12",
    known: str | None = None,
    p_known: float | None = None,
    log_odds: npt.ArrayLike = LOG_ODDS,
    groups: str | Sequence[str] | None = None,
    folds: int = 5,
    seed: int = 0,
) -> PriorScan:
    """Cost of CMLG at weights alpha, and of logistic regression at training priors, over their log-odds.

    A fit that is refused (at an extreme prior the classes may not overlap any more) gives NaN.

    Parameters
    ----------
    source
        The trials to train on. Without ``test`` they are also those whose cost is measured, every trial with
        a map that has seen neither it nor its groups.
    test
        Other trials, whose cost is measured instead.
    point
        The cost: the name of a preset ("sre12" averages two operating points), an operating point, or a
        prior.
    known, p_known
        A column that marks non-targets of known impostors, and their share, as in :func:`llrkit.c_primary`.
    log_odds
        Log-odds of the weights that are tried.
    groups, folds, seed
        For cross-validation, as in :func:`llrkit.cross_calibrate`.

    References
    ----------
    van Leeuwen & Brümmer, Interspeech 2013, figure 2.

    Examples
    --------
    >>> import llrkit as lk
    >>> rng = np.random.default_rng(1)
    >>> scores = lk.Scores(rng.normal(5.0, 1.6, 2000), rng.normal(0.0, 1.0, 20_000))
    >>> scan = lk.alpha_scan(scores, point="sre08", log_odds=[-4, 0, 4])
    >>> {name: costs.round(2).tolist() for name, costs in scan.costs.items()}
    {'CMLG': [0.12, 0.16, 0.21], 'logistic regression': [0.1, 0.11, 0.12]}
    """
    source, cost = as_source(source), cost_of(point)
    at = np.atleast_1d(np.asarray(log_odds, dtype=np.float64))
    if at.ndim != 1 or len(at) == 0 or not np.isfinite(at).all():
        raise InputError(f"log_odds must be finite numbers, got {log_odds!r}")
    if test is not None and groups is not None:
        raise InputError("groups are for cross-validation, which trials of their own (test) leave out")
    measured = source if test is None else as_source(test)
    counted: dict[str, Any] = {"known": known, "p_known": p_known}
    minimum = c_primary(measured, cost, actual=False, **counted)
    calibrate = _crossed(source, groups, folds, seed) if test is None else _trained(source, measured)
    costs = {}
    for method, name in NAMES.items():
        values = []
        for x in tracked(at, f"scanning {name}", len(at), "fits"):
            try:
                llrs = calibrate(method, {_OPTIONS[method]: float(sigmoid(x))})
            except InputError:
                values.append(float("nan"))
                continue
            values.append(c_primary(llrs, cost, **counted))
        costs[name] = np.array(values)
    shown = cost.name if known is None else f"{cost.name}, known and unknown non-targets"
    return PriorScan(at, costs, minimum, f"C_primary of {shown}" if cost.averages else f"cost at {shown}")


Calibrate = Callable[[str, Mapping[str, Any]], ScoreSource]
"""A method and its options -> the measured trials, calibrated."""


def _trained(train: ScoreSource, measured: ScoreSource) -> Calibrate:
    return lambda method, options: fit_quietly(method, train, options).on(measured)


def _crossed(source: ScoreSource, groups: str | Sequence[str] | None, n: int, seed: int) -> Calibrate:
    folds = make_folds(source, groups, n, seed)
    wide = source.with_columns(*folds.columns)

    def calibrate(method: str, options: Mapping[str, Any]) -> ScoreSource:
        maps = {
            pair: fit_quietly(method, training_source(wide, folds, pair), options) for pair in folds.pairs
        }
        return crossed_source(source, folds, maps)

    return calibrate
