"""compare(): methods of calibration on other trials; alpha_scan(): the weight of the targets in CMLG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import RNG, FloatArray, of_kind, seed_of
from llrkit.base.process import tracked
from llrkit.base.text import Json
from llrkit.core.numerics import sigmoid
from llrkit.errors import InputError
from llrkit.fits import folds as crossval
from llrkit.fits.best import fit_best
from llrkit.maps.map import Map
from llrkit.metrics.costs import c_primary
from llrkit.metrics.discrimination import Curve, as_floats, named_arrays, same_length
from llrkit.scores import ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.theory.operating_points import AnyPoint, Points, cost_of
from llrkit.verbs.evaluate import Evaluation, evaluate, group_rows, named_rows

_FITS: dict[str, Callable[..., Map]] = {**crossval.METHODS, "best": fit_best}


@dataclass(frozen=True, eq=False)
class ScoreToLlr(Curve):
    """What a calibration map makes of scores.

    Examples
    --------
    >>> ScoreToLlr([-1.0, 0.0, 1.0], [-2.0, 0.5, 3.0]).llr
    array([-2. ,  0.5,  3. ])
    """

    score: FloatArray
    llr: FloatArray

    def __post_init__(self) -> None:
        as_floats(self, "score", "llr")
        same_length(self, "score", "llr")
        super().__post_init__()


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(crossval.Compared[Evaluation, Map]):
    """The results of each calibrator on the evaluation set; the raw scores come first."""

    @property
    def sentence(self) -> str:
        """The comparison in plain words."""
        best = self.evaluations[self.best]
        return crossval.cllr_sentence(
            self.best, best.cllr, best.cllr_cal, self.evaluations[crossval.RAW].cllr
        )

    def map_curves(self, points: int = 257) -> dict[str, ScoreToLlr]:
        """The LLRs of each map over the range of the raw scores, for maps of a single score.

        Parameters
        ----------
        points
            Number of scores at which each map is evaluated.
        """
        low, high = self.evaluations[crossval.RAW].moments.extremes
        # over the raw scores that were evaluated, where the maps are used
        scores = np.linspace(low, high, points)
        plain = {name: fitted for name, fitted in self.maps.items() if not fitted.needs}
        return {name: ScoreToLlr(scores, fitted(scores, outside="ignore")) for name, fitted in plain.items()}

    def _frame_rows(self) -> Sequence[Mapping[str, object]]:
        return named_rows("method", self.evaluations)

    def _loss(self, name: str) -> float:
        return self.evaluations[name].cllr

    def _row(self, name: str) -> dict[str, Json]:
        result = self.evaluations[name]
        numbers = {key: getattr(result, key) for key in ("cllr", "min_cllr", "cllr_cal", "eer")}
        return {**numbers, "points": [point.to_dict() for point in result.points]}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""
        header, rows = group_rows(self.evaluations, "method")
        # without counts and the EER, which a calibration hardly changes
        return [header[0], *header[4:]], [[row[0], *row[4:]] for row in rows]


def compare(
    train: AnyTrials,
    test: AnyTrials,
    methods: crossval.Methods[Map] = crossval.CANDIDATES,
    *,
    points: Points = ("sre08", "sre10"),
    options: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> Comparison:
    """Train calibrators on one set of trials and evaluate them on another, raw scores first.

    "best" stands for :func:`llrkit.fit_best`, with ``options={"best": {...}}`` for its groups. A method that
    cannot be trained (classes that do not overlap, say) is listed in ``failed``.

    Parameters
    ----------
    train
        Trials that the calibrators are trained on.
    test
        Trials that they are evaluated on.
    methods
        Names of calibrators, separated by commas, or a list of names and of functions.
    points
        Operating points: priors, ``(prior, c_miss, c_fa)``, or names of presets.
    options
        Keywords by calibrator.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(7)
    >>> draw = lambda: lk.Scores(rng.normal(8, 2, 500), rng.normal(0, 2, 2000))
    >>> lk.compare(draw(), draw(), methods="cmlg,logistic", points=["sre08"])
    method      Cllr  min Cllr  Cllr - min  min sre08  act sre08
    raw       0.7689    0.0738      0.6952     0.1015     1.1751
    cmlg      0.0844    0.0738      0.0107     0.1015     0.1066
    logistic  0.0838    0.0738      0.0101     0.1015     0.1176
    """
    of_kind(options, Mapping, "options")
    train, test = as_source(train), as_source(test)
    compared = crossval.compared_on(
        train,
        methods,
        _FITS,
        lambda name: options.get(name, {}),
        lambda fitted: evaluate(test if fitted is None else fitted.on(test), points=points),
    )
    return Comparison(*compared)


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


def alpha_scan(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    test: AnyTrials | None = None,
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
        The trials to train on: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a
        table with columns ``score`` and ``label``, or an array of scores that comes with ``labels``. Without
        ``test`` they are also those whose cost is measured, every trial with a map that has seen neither it
        nor its groups.
    labels
        The label of each score, where the first argument is an array.
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
    source = as_source(source, labels)
    test = None if test is None else as_source(test)
    seed = seed_of(rng)
    cost = cost_of(point)
    at = np.atleast_1d(np.asarray(log_odds, dtype=np.float64))
    if at.ndim != 1 or len(at) == 0 or not np.isfinite(at).all():
        raise InputError(f"log_odds must be finite numbers, got {log_odds!r}")
    if test is not None and groups is not None:
        raise InputError("groups are for cross-validation and cannot be combined with test trials (test)")
    measured = source if test is None else test
    # the minimum cost is the same for every increasing map, so one serves all weights
    minimum = c_primary(measured, evaluation=cost, actual=False, known=known, p_known=p_known)
    dealt = None if test is not None else crossval.make_folds(source, groups, folds, seed)
    wide = source if dealt is None else source.with_columns(*dealt.columns)
    how = "trained on other trials"
    if dealt is not None:
        apart = " or ".join(dealt.groups)
        how = f"no value of {apart} in two" if apart else "trials assigned one by one"
        how = f"cross-validated in {dealt.n} folds, {how}"

    def calibrated(method: str, weight: float) -> ScoreSource:
        """The measured trials, calibrated by a method whose training weight is given."""
        options = {_OPTIONS[method]: weight}
        if dealt is None:
            return crossval.fit_quietly(method, source, options).on(measured)
        parts = ((pair, crossval.training_source(wide, dealt, pair)) for pair in dealt.pairs)
        return crossval.crossed_source(
            source, dealt, {pair: crossval.fit_quietly(method, part, options) for pair, part in parts}
        )

    costs: dict[str, FloatArray] = {}
    refused: dict[str, str] = {}
    for method, name in NAMES.items():
        values = []
        for x in tracked(at, f"scanning {name}", len(at), "fits"):
            try:
                llrs = calibrated(method, float(sigmoid(x)))
            # a refused fit leaves a gap in the curve; the others are still worth seeing
            except InputError as error:
                values.append(float("nan"))
                refused.setdefault(name, str(error))
                continue
            values.append(c_primary(llrs, evaluation=cost, known=known, p_known=p_known))
        costs[name] = np.array(values)
        if name in refused:
            without = np.isnan(costs[name])
            where = "any of the log-odds" if without.all() else ", ".join(f"{x:g}" for x in at[without])
            refused[name] = f"no fit at {where}: {refused[name]}"
    shown = cost.name if known is None else f"{cost.name}, known and unknown non-targets"
    title = f"C_primary of {shown}" if cost.averages else f"cost at {shown}"
    return PriorScan(at, costs, minimum, title, how, MappingProxyType(refused))
