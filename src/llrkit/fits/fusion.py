"""One map for several systems, for side information, or for each value of a column."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import ClassVar

import numpy as np

from llrkit.base.arguments import FloatArray, class_weight, names_of, one_of, yes_or_no
from llrkit.base.text import counted
from llrkit.core.groups import ValueCounts, positions_by_value, trials_with_value
from llrkit.core.losses import LossSums
from llrkit.core.numerics import probability
from llrkit.core.summaries import Moments, both
from llrkit.errors import InputError, LlrkitError, SystemCountError, UnknownNameError
from llrkit.fits.logistic import Shrinkage, fit_linear
from llrkit.fits.training_checks import check_moments, provenance
from llrkit.maps.composite import LinearMap, quality
from llrkit.maps.map import Columns, Map, MapOfMaps, reading_of
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import AnyTrials, DerivedSource, Labels, as_source, chosen_systems
from llrkit.scores.source import unnamed_systems
from llrkit.theory import GaussianLLR, fuse_calibrated, fuse_moments

Fused = tuple[FloatArray, float, dict[str, object], Moments]
"""Weights, offset, what is worth knowing of the fit, and the moments of its trials."""
METHODS = ("logistic", "gaussian", "precalibrated")
MISSING = ("error", "drop", "subset")


def fit_fusion(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    method: str = "logistic",
    prior: float = 0.5,
    alpha: float = 0.5,
    robust: float = 0.0,
    regularization: float = 0.0,
    quality_columns: Sequence[str] = (),
    features: str = "linear",
    scaled: bool = False,
    missing: str = "error",
    systems: Sequence[str] | None = None,
) -> LinearMap:
    """Fuse the scores of K systems into one calibrated LLR.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    method
        ``logistic``: prior-weighted logistic regression (FoCal); ``gaussian``: closed form
        ``w = V^-1 (m_e - m_d)``, ``b = -w (m_e + m_d) / 2``, ``V = alpha V_e + (1 - alpha) V_d``, the
        multivariate CMLG; ``precalibrated``: each system is a calibrated LLR already, and the weights follow
        from their Cllr and their correlations, which are reported for both classes.
    prior
        Where the fit should be best: the prior of a target, costs included (:term:`training prior`).
    alpha
        For ``method="gaussian"`` and ``"precalibrated"``: weight of the covariance of the targets
        (:term:`alpha`).
    robust
        Weight of a mislabeled copy of every trial.
    regularization
        Weight of copies of the trials that say nothing and pull LLRs towards 0.
    quality_columns, features, scaled
        Side information by column name (logistic only), see :func:`llrkit.fits.fit_quality`.
    missing
        What to do with trials that lack the score of some system: ``error``; ``drop`` them from the
        training, refuse them later; ``subset``: train on complete trials, and give an incomplete trial the
        fusion of the systems it has.
    systems
        Names of the systems of arrays, in the order of the scores. Columns of tables and files, and files of
        one system each, have names already. New trials are matched with the map by these names.

    Examples
    --------
    >>> import llrkit as lk
    >>> target = [[2.0, 1.0], [3.0, 2.5], [1.0, 3.0]]
    >>> nontarget = [[-1.0, 0.0], [0.5, -2.0], [-2.0, 1.0], [0.0, -1.0]]
    >>> lk.fit_fusion(lk.Scores(target, nontarget), method="gaussian")
    LinearMap(gaussian: llr = 10.42 system1 +9.201 system2 -14.83)
    """
    source = as_source(source, labels)
    one_of(method, METHODS, "fusion method")
    one_of(missing, MISSING, "policy for missing scores")
    prior, alpha = probability(prior, "prior"), class_weight(alpha)
    names = list(source.roles.score)
    if systems is not None:
        # tables name their systems by columns, and a second set of names would contradict them
        if names != list(unnamed_systems(len(names))):
            raise InputError(f"systems= is for arrays: these trials call their systems {', '.join(names)}")
        given = list(names_of(systems, "systems"))
        if len(given) != len(names):
            raise SystemCountError(f"{counted(len(given), 'name')} for {counted(len(names), 'system')}")
        names = given
    if missing != "error":
        from llrkit.scores import Trials

        if not isinstance(source, Trials):
            raise InputError(f"missing={missing!r} needs a table of trials; arrays always hold every score")
        source = source.complete_counted(of="the training" if missing == "subset" else "")
    side_information = quality(quality_columns, features, scaled)
    if (robust or regularization) and method != "logistic":
        raise InputError(f"robust and regularization need method='logistic', not {method!r}")
    if side_information.columns and method != "logistic":
        raise InputError(f"quality measures need method='logistic', not {method!r}")
    if side_information.columns and missing == "subset":
        raise InputError("missing='subset' and quality measures cannot be combined")
    options = {"prior": prior, "alpha": alpha, "robust": robust, "regularization": regularization}

    def fit(trials: ScoreSource) -> Fused:
        if method == "logistic":
            wide, shrinkage = side_information.source(trials), Shrinkage(robust, regularization)
            linear = fit_linear(wide, prior=prior, shrinkage=shrinkage)
            return linear.slopes, linear.offset, {**linear.details}, linear.moments
        return (_gaussian_fusion if method == "gaussian" else _precalibrated_systems)(trials, alpha)

    weights, offset, details, moments = fit(source)
    k = len(names)
    fitted = LinearMap(
        weights=weights,
        offset=offset,
        systems=names,
        columns=list(side_information.columns),
        features=features,
        scaled=scaled,
        missing=missing,
        method=method,
        options=options,
        details=details,
        provenance=provenance(moments),
        reading=reading_of(source.roles),
    )
    # one system has no subsets besides itself
    if missing != "subset" or k == 1:
        return fitted
    # 2^K - 2 fits, one for each pattern of missing scores; the key is the pattern, as the map looks it up
    subsets = {}
    for size in range(1, k):
        for chosen in combinations(range(k), size):
            some = tuple(names[i] for i in chosen)
            slopes, b, _, _ = fit(DerivedSource(source, partial(chosen_systems, places=chosen), score=some))
            subsets["".join("01"[i in chosen] for i in range(k))] = np.append(slopes, b)
    return replace(fitted, subsets=subsets)


def _gaussian_fusion(source: ScoreSource, alpha: float) -> Fused:
    moments = source.reduce(Moments.of)
    check_moments(source, moments, several=True)
    target, nontarget = moments.target, moments.nontarget
    fusion = fuse_moments(target.mean, nontarget.mean, target.covariance, nontarget.covariance, alpha=alpha)
    of_target, of_nontarget = map(_correlation_of_systems, (target.covariance, nontarget.covariance))
    details = {"correlation_target": of_target, "passes": 1, "correlation_nontarget": of_nontarget}
    return np.asarray(fusion.weights), float(fusion.offset), details, moments


def _precalibrated_systems(source: ScoreSource, alpha: float) -> Fused:
    moments = source.reduce(Moments.of)
    check_moments(source, moments, several=True)
    of_system = [partial(_losses_of_system, i) for i in range(len(moments.target.mean))]
    losses = source.reduce(both(*of_system)).summaries
    nats = [
        float(loss.target_loss[0] / loss.n_target + loss.nontarget_loss[0] / loss.n_nontarget)
        for loss in losses
    ]
    cllrs = [both_classes / (2 * np.log(2)) for both_classes in nats]
    for i, value in enumerate(cllrs):
        # a Gaussian pair has a Cllr strictly between 0 and 1; outside, no pair predicts the fusion
        if not 0.0 < value < 1.0:
            raise InputError(f"system {i + 1} is not a calibrated LLR: its Cllr is {value:.3f}")
    by_class = [_correlation_of_systems(one.covariance) for one in (moments.target, moments.nontarget)]
    # calibrated Gaussian LLRs have one correlation matrix for both classes, estimated by the mean of the two
    fusion = fuse_calibrated(list(map(GaussianLLR.from_cllr, cllrs)), (by_class[0] + by_class[1]) / 2)
    details: dict[str, object] = {
        "cllr": cllrs,
        "correlation_target": by_class[0],
        "correlation_nontarget": by_class[1],
        "predicted_eer": float(fusion.fused.eer),
        "predicted_cllr": float(fusion.fused.cllr),
        "passes": 2,
    }
    # calibrated LLRs of 0 fuse to 0: the offset is known
    return np.asarray(fusion.weights), 0.0, details, moments


def _losses_of_system(i: int, chunk: Scores) -> LossSums:
    return LossSums.of(chosen_systems(chunk, (i,)))


def _correlation_of_systems(covariance: FloatArray) -> FloatArray:
    spread = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(spread, spread))


def fit_quality(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    columns: Sequence[str] | str,
    features: str = "linear",
    scaled: bool = False,
    prior: float = 0.5,
    regularization: float = 0.0,
) -> LinearMap:
    """Calibrate with side information: logistic regression on the score and functions of columns.

    ``features`` is ``linear`` (each column as it is), ``durations`` (two columns in seconds) or
    ``bilinear`` (qualities of one side, then of the other); ``scaled`` lets the slope depend on them too.
    The result is ``w_0 + w_1 s + Q(columns)`` (Mandasari et al. 2013; BOSARIS).

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    columns
        Columns with quality measures.
    features
        ``"linear"``, ``"durations"`` or another set of functions of the columns.
    scaled
        Let the columns change the slope, too.
    prior
        Where the fit should be best: the prior of a target, costs included (:term:`training prior`).
    regularization
        Weight of copies of the trials that say nothing and pull LLRs towards 0.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([1.0, 2.0, 4.0], [-1.0, 0.0, 1.5, -2.0], {"snr": ([9, 20, 11], [15, 8, 21, 9])})
    >>> lk.fits.fit_quality(scores, columns="snr", regularization=1).needs
    ('snr',)
    """
    source = as_source(source, labels)
    wanted = names_of(columns, "columns")
    if not wanted:
        raise InputError("columns must name at least one column")
    fit = partial(fit_fusion, quality_columns=wanted, features=features, scaled=scaled)
    return replace(fit(source, prior=prior, regularization=regularization), method="quality")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ByMap(MapOfMaps):
    """A map for each value of a column, and perhaps one for values that have none.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> maps = {"phone": AffineMap(a=2.0, b=0.0), "mic": AffineMap(a=1.0, b=0.0)}
    >>> channel = ByMap(column="channel", maps=maps)
    >>> channel([1.0, 1.0], {"channel": ["mic", "phone"]})
    array([1., 2.])
    >>> channel(1.0, {"channel": "radio"})
    Traceback (most recent call last):
    llrkit.errors.UnknownNameError: no calibration for channel = 'radio'; there are: 'phone', 'mic'
    """

    column: str
    maps: Mapping[Hashable, Map]
    fallback: Map | None = None

    kind: ClassVar[str] = "by"

    def __post_init__(self) -> None:
        """Check that there is a map for at least one value, and that all take the same scores."""
        if not isinstance(self.column, str) or not isinstance(self.maps, Mapping) or not self.maps:
            raise InputError("a map by value needs the name of a column and at least one map")
        if not all(isinstance(fitted, Map) for fitted in self.inner_maps):
            raise InputError("some value has something other than a map")
        if len({fitted.n_systems for fitted in self.inner_maps}) > 1:
            raise SystemCountError("the maps take different numbers of systems")

    @property
    def inner_maps(self) -> tuple[Map, ...]:
        """Those of the values, then that of all others."""
        return (*self.maps.values(), *((self.fallback,) if self.fallback is not None else ()))

    @property
    def needs(self) -> tuple[str, ...]:
        """The column, and what the maps need."""
        return tuple(dict.fromkeys((self.column, *super().needs)))

    @property
    def condition_ranges(self) -> dict[str, list[float]]:
        """None: each value has ranges of its own."""
        return {}

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """Each score through the map of its value."""
        llrs = np.empty(len(scores))
        for value, where in positions_by_value(columns[self.column]).items():
            fitted = self.maps.get(value, self.fallback)
            if fitted is None:
                known = ", ".join(repr(known) for known in list(self.maps)[:10])
                more = ", ..." if len(self.maps) > 10 else ""
                raise UnknownNameError(
                    f"no calibration for {self.column} = {value!r}; there are: {known}{more}"
                )
            own_columns = {name: values[where] for name, values in columns.items()}
            llrs[where] = fitted.checked(scores[where], own_columns)
        return llrs

    def back_to_scores(self) -> ByMap:
        """The inverse of each map."""
        maps = {value: fitted.back_to_scores() for value, fitted in self.maps.items()}
        rest = None if self.fallback is None else self.fallback.back_to_scores()
        return ByMap(column=self.column, maps=maps, fallback=rest, method=f"inverse of {self.method}")

    def __repr__(self) -> str:
        return f"ByMap({self.method}: {counted(len(self.maps), 'value')} of {self.column!r})"


def fit_by(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    column: str,
    method: Callable[..., Map],
    fallback: bool = False,
    **options: object,
) -> ByMap:
    """One calibration for each value of a column, each fitted by ``method(part, **options)``.

    A trial is calibrated by the map of its own value. A value that was not there in training is an error
    that names it, or with ``fallback`` goes through a map fitted on all trials. What goes wrong in a
    group names the group. A missing value is a value of its own.

    Passes: one to find the values, then those of ``method`` for each value (each sees the whole source
    and keeps its own part), and once more for the fallback.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    column
        Name of a column of the source, of words or of numbers.
    method
        A fit function, for example ``fit_cmlg``.
    fallback
        Fit a map to all trials too, for values that training has not seen.
    **options
        Keywords of the method.

    Examples
    --------
    >>> from llrkit.fits.cmlg import fit_cmlg
    >>> from llrkit.scores import Scores
    >>> scores = Scores([2.0, 4.0, 20.0, 40.0], [0.0, 2.0, 0.0, 20.0],
    ...                 {"room": ([1, 1, 2, 2], [1, 1, 2, 2])})
    >>> fitted = fit_by(scores, column="room", method=fit_cmlg)
    >>> fitted.maps[2], fitted(30.0, {"room": 2})
    (AffineMap(cmlg: llr = 0.2 * score -4), 2.0)
    """
    source = as_source(source, labels)
    if not callable(method):
        raise InputError(f"method must be a fit function such as fit_cmlg, got {method!r}")
    fallback = yes_or_no(fallback, "fallback")
    values = source.with_columns(column).reduce(lambda chunk: ValueCounts.of(chunk, column))
    name = getattr(method, "__name__", str(method))
    maps = {}
    # a missing value is a group too, sorted last because None compares with nothing
    for value in sorted(values.counts, key=lambda value: (value is None, value)):
        try:
            maps[value] = method(trials_with_value(source, column, value), **options)
        except LlrkitError as error:
            # the same type of error, so that callers who catch it still do, with the group it happened in
            raise type(error)(f"{column} = {value!r}: {error}") from error
    rest = method(source, **options) if fallback else None
    if len({fitted.n_systems for fitted in maps.values()}) > 1:
        raise SystemCountError("the maps of the groups take different numbers of systems")
    # the range of all groups together: a score beyond it is outside of what any group was trained on
    known = [fitted.provenance for fitted in maps.values()]
    ends: dict[str, object] = {}
    if all("low" in one for one in known):
        lows, highs = (np.array([one[end] for one in known], dtype=np.float64) for end in ("low", "high"))
        ends = {"low": lows.min(axis=0).tolist(), "high": highs.max(axis=0).tolist()}
    return ByMap(
        column=column, maps=maps, fallback=rest, method=f"{name.removeprefix('fit_')} by {column}",
        options={"column": column, "method": name, "fallback": fallback, **options},
        details={"n_target": {key: n[0] for key, n in values.counts.items()},
                 "n_nontarget": {key: n[1] for key, n in values.counts.items()}},
        provenance=ends, reading=reading_of(source.roles),
    )  # fmt: skip
