"""alpha_scan(): what the weight that calibration is trained with does to a cost, on any scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit._progress import tracked
from llrkit._random import RNG, seed_of
from llrkit.calibrate.poor_fit_guard import without_guard
from llrkit.choose.folds import Folds, crossed_source, make_folds, training_source
from llrkit.choose.methods import fit_quietly
from llrkit.core.elementary_functions import sigmoid
from llrkit.errors import InputError
from llrkit.metrics.curve_base import Curve, as_floats, named_arrays
from llrkit.metrics.primary_cost import c_primary
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.theory.presets import AnyPoint, cost_of

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
    how: str = ""
    """What was trained and measured on what, in words."""
    refused: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """For each method with a NaN, where its fits were refused and why the first was."""

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
    rng: RNG = 0,
) -> PriorScan:
    """Cost of CMLG at weights alpha, and of logistic regression at training priors, over their log-odds.

    A fit that is refused (at an extreme prior the classes may not overlap any more) gives NaN; ``refused`` of
    the result says why.

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
    groups, folds, rng
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
    seed = seed_of(rng)
    source, cost = as_source(source), cost_of(point)
    at = np.atleast_1d(np.asarray(log_odds, dtype=np.float64))
    if at.ndim != 1 or len(at) == 0 or not np.isfinite(at).all():
        raise InputError(f"log_odds must be finite numbers, got {log_odds!r}")
    if test is not None and groups is not None:
        raise InputError("groups are for cross-validation and cannot be combined with test trials (test)")
    measured = source if test is None else as_source(test)
    minimum = c_primary(measured, cost, actual=False, known=known, p_known=p_known)
    dealt = None if test is not None else make_folds(source, groups, folds, seed)
    calibrate = _trained_at_alpha(source, measured) if dealt is None else _crossed_at_alpha(source, dealt)
    costs: dict[str, FloatArray] = {}
    refused: dict[str, str] = {}
    for method, name in NAMES.items():
        values = []
        for x in tracked(at, f"scanning {name}", len(at), "fits"):
            try:
                with without_guard():  # the cost judges the maps
                    llrs = calibrate(method, {_OPTIONS[method]: float(sigmoid(x))})
            except InputError as error:
                values.append(float("nan"))
                refused.setdefault(name, str(error))
                continue
            values.append(c_primary(llrs, cost, known=known, p_known=p_known))
        costs[name] = np.array(values)
        if name in refused:
            without = np.isnan(costs[name])
            where = "any of the log-odds" if without.all() else ", ".join(f"{x:g}" for x in at[without])
            refused[name] = f"no fit at {where}: {refused[name]}"
    shown = cost.name if known is None else f"{cost.name}, known and unknown non-targets"
    title = f"C_primary of {shown}" if cost.averages else f"cost at {shown}"
    return PriorScan(at, costs, minimum, title, _how_scanned(dealt), MappingProxyType(refused))


def _how_scanned(folds: Folds | None) -> str:
    """What was measured on what."""
    if folds is None:
        return "trained on other trials"
    dealt = (
        f"no value of {' or '.join(folds.groups)} in two" if folds.groups else "trials assigned one by one"
    )
    return f"cross-validated in {folds.n} folds, {dealt}"


Calibrate = Callable[[str, Mapping[str, object]], ScoreSource]
"""A method and its options -> the measured trials, calibrated."""


def _trained_at_alpha(train: ScoreSource, measured: ScoreSource) -> Calibrate:
    return lambda method, options: fit_quietly(method, train, options).on(measured)


def _crossed_at_alpha(source: ScoreSource, folds: Folds) -> Calibrate:
    wide = source.with_columns(*folds.columns)

    def calibrate(method: str, options: Mapping[str, object]) -> ScoreSource:
        maps = {
            pair: fit_quietly(method, training_source(wide, folds, pair), options) for pair in folds.pairs
        }
        return crossed_source(source, folds, maps)

    return calibrate
