"""Maps of several systems, of side information, of spoofing countermeasures, and given conditions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import ClassVar

import numpy as np

from llrkit.base.arguments import Array, FloatArray, finite_numbers, names_of, one_of, yes_or_no
from llrkit.base.process import cached_property
from llrkit.core.groups import decoded
from llrkit.errors import InputError, NaNScoreError, NotInvertibleError, SystemCountError
from llrkit.maps.bounds import BoundedMap
from llrkit.maps.map import AffineMap, Columns, InverseMap, Map, MapOfMaps
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import DerivedSource
from llrkit.theory import GaussianLLR


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MeanMap(MapOfMaps):
    """``llr = sum_j weight_j llr_j``, weights that are positive and sum to one.

    The cross-entropy is a convex function of the LLR, so the mean never costs more than the maps do on
    average. Where one map says plus and another minus infinity, the mean is 0.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> maps = {"steep": AffineMap(a=3.0, b=0.0), "flat": AffineMap(a=1.0, b=-1.0)}
    >>> mean = MeanMap(maps=maps, weights={"steep": 0.5, "flat": 0.5})
    >>> mean([-1.0, 2.0])
    array([-2.5,  3.5])
    >>> mean.inverse(3.5)
    2.0
    """

    maps: Mapping[str, Map]
    weights: Mapping[str, float]

    kind: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        """Check that there is a weight for each map."""
        if not all(isinstance(fitted, Map) for fitted in self.maps.values()):
            raise InputError("a mean needs at least one map")
        if not all(isinstance(weight, (int, float)) for weight in self.weights.values()):
            raise InputError(f"weights must be numbers, got {dict(self.weights)}")
        if not self.maps or set(self.maps) != set(self.weights):
            raise InputError(f"weights {sorted(self.weights)} do not match the maps {sorted(self.maps)}")
        # a weight of 0 would let an infinite LLR in as nan
        if min(self.weights.values()) <= 0.0 or not math.isclose(sum(self.weights.values()), 1.0):
            raise InputError(f"weights must be positive and sum to one, got {dict(self.weights)}")
        if len({fitted.n_systems for fitted in self.maps.values()}) > 1:
            raise SystemCountError("the maps take different numbers of systems")

    @property
    def inner_maps(self) -> tuple[Map, ...]:
        """All that are averaged."""
        return tuple(self.maps.values())

    @property
    def has_bounds(self) -> bool:
        """When all maps have them."""
        return all(fitted.has_bounds for fitted in self.maps.values())

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The mean of what the maps say."""
        with np.errstate(invalid="ignore"):  # plus and minus infinity
            total = np.zeros(len(scores))
            for name, fitted in self.maps.items():
                total += self.weights[name] * fitted.llr(scores, columns)
        # only inf - inf gives nan here; infinities themselves stay
        return np.nan_to_num(total, copy=False, nan=0.0, posinf=math.inf, neginf=-math.inf)

    @property
    def low(self) -> float:
        """Minus infinity: a mean is held nowhere, though its maps may be."""
        return -math.inf

    @property
    def high(self) -> float:
        """Infinity."""
        return math.inf

    @property
    def direction(self) -> int:
        """1 when all maps go up, -1 when all go down, otherwise 0."""
        try:
            # the sign of the way back from -1 to 1 is that of the slope
            slopes = {np.sign(high - low) for low, high in (_around_zero(m) for m in self.maps.values())}
        except NotInvertibleError:
            return 0
        return int(slopes.pop()) if len(slopes) == 1 else 0

    def anchor(self) -> tuple[float, float]:
        """A score in the bulk and the size of the bulk: where the LLRs are about -1 to 1."""
        ends = np.array([_around_zero(fitted) for fitted in self.maps.values()])
        return float(ends.mean()), max(float(np.abs(ends[:, 1] - ends[:, 0]).mean()), 1e-300)

    def back_to_scores(self) -> InverseMap:
        """Back to the score, by bisection, when all maps go the same way."""
        if self.direction == 0:
            raise NotInvertibleError("some maps of the mean rise and others fall, so it has no inverse")
        return InverseMap(of=self, method=f"inverse of {self.method}")

    def __repr__(self) -> str:
        by_weight = sorted(self.weights.items(), key=lambda item: -item[1])
        return f"MeanMap({self.method}: {' + '.join(f'{weight:.2g} {name}' for name, weight in by_weight)})"


def _around_zero(fitted: Map) -> tuple[float, float]:
    """The scores with LLRs -1 and 1, or the nearest there are; what bounds a map is further out."""
    # bounds are level and have no inverse; the map inside has
    inside = fitted.map if isinstance(fitted, BoundedMap) else fitted
    back = inside.back_to_scores()(np.array([-1.0, 1.0]))
    return float(back[0]), float(back[1])


SASV = "sasv-"
"""How methods that fuse speaker verification with a countermeasure begin."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SasvMap(Map):
    """``llr = -log((1 - r) / LR_asv + r / LR_cm)``: targets against non-targets and spoofs, of share r.

    Both LRs come from a score by a straight line, ``log LR = slope * score + offset``. If non-targets sound
    as bona fide as targets, and spoofs are as hard for the ASV system as targets, this is the LLR of
    targets against the mixture (Wang et al., arXiv 2406.10836).

    Examples
    --------
    >>> fuse = SasvMap(asv_slope=1.0, asv_offset=0.0, cm_slope=1.0, cm_offset=0.0, spoof_share=0.5)
    >>> [round(float(llr), 3) for llr in fuse([[5.0, 5.0], [5.0, -5.0], [-5.0, 5.0]])]
    [5.0, -4.307, -4.307]
    """

    asv_slope: float
    asv_offset: float
    cm_slope: float
    cm_offset: float
    spoof_share: float
    asv_name: str = "asv"
    cm_name: str = "cm"

    kind: ClassVar[str] = "sasv"

    @property
    def n_systems(self) -> int:
        """The ASV and the CM system."""
        return 2

    @property
    def system_names(self) -> list[str]:
        """First the ASV system, then the CM system."""
        return [self.asv_name, self.cm_name]

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The LLR of both."""
        lines = ((self.asv_slope, self.asv_offset), (self.cm_slope, self.cm_offset))
        llrs = [line(scores[:, i], slope, offset) for i, (slope, offset) in enumerate(lines)]
        return combined(llrs[0], llrs[1], self.spoof_share)

    def __repr__(self) -> str:
        return (
            f"SasvMap({self.method or self.kind}: llr = -log({1.0 - self.spoof_share:.4g} / LR_asv + "
            f"{self.spoof_share:.4g} / LR_cm), log LR_asv = {self.asv_slope:.4g} {self.asv_name} "
            f"{self.asv_offset:+.4g}, log LR_cm = {self.cm_slope:.4g} {self.cm_name} {self.cm_offset:+.4g})"
        )


def line(scores: FloatArray, slope: float, offset: float) -> FloatArray:
    """A straight line; one without slope is constant also for infinite scores."""
    return np.full(len(scores), offset) if slope == 0.0 else slope * scores + offset


def combined(asv: FloatArray, cm: FloatArray, spoof_share: float) -> FloatArray:
    """LLRs of targets against non-targets and spoofs mixed by a share of spoofs.

    Examples
    --------
    >>> combined(np.array([2.0]), np.array([-1.0]), 0.0), combined(np.array([2.0]), np.array([-1.0]), 1.0)
    (array([2.]), array([-1.]))
    """
    if spoof_share in (0.0, 1.0):
        # at a share of 0 or 1 one of the logarithms is infinite, and only the other system matters
        return np.asarray(cm if spoof_share else asv, dtype=np.float64)
    # -log of a sum of two inverse ratios, without leaving logarithms
    return np.asarray(-np.logaddexp(np.log1p(-spoof_share) - asv, np.log(spoof_share) - cm))


FEATURES = ("linear", "durations", "bilinear")


@dataclass(frozen=True)
class Quality:
    """Which columns say something about the trials, and how they enter.

    ``linear``
        each column as it is;
    ``durations``
        two columns, the durations of the two sides in seconds: the logarithms, their product, the
        absolute and the squared logarithm of their ratio, and the sum of the inverses (Mandasari, Saeidi,
        McLaren & van Leeuwen 2013);
    ``bilinear``
        2 m columns, first the m qualities of one side, then the m of the other: the symmetric form
        ``q_1' W q_2`` with both vectors extended by 1 (BOSARIS).

    With ``scaled`` the scores are also multiplied with each feature, so that the slope depends on them.
    """

    columns: tuple[str, ...] = ()
    features: str = "linear"
    scaled: bool = False

    def __post_init__(self) -> None:
        one_of(self.features, FEATURES, "kind of features")
        if self.features == "durations" and len(self.columns) != 2:
            raise InputError(f"durations are two columns, one for each side; got {list(self.columns)}")
        if self.features == "bilinear" and (not self.columns or len(self.columns) % 2):
            sides = "as many columns of one side as of the other"
            raise InputError(f"bilinear features need {sides}; got {list(self.columns)}")

    def widen(self, scores: Array, columns: Columns) -> FloatArray:
        """Scores of K systems followed by the features, shape (n, K + F)."""
        base = scores.astype(np.float64, copy=False)
        base = base[:, None] if base.ndim == 1 else base
        if not self.columns:
            return base
        values = [finite_numbers(columns[name], name, "a quality measure") for name in self.columns]
        features = self._features(values)
        wide = [base, *(feature[:, None] for feature in features)]
        if self.scaled:
            wide += [base * feature[:, None] for feature in features]
        return np.concatenate(wide, axis=1)

    def _features(self, values: list[FloatArray]) -> list[FloatArray]:
        if self.features == "linear":
            return values
        if self.features == "durations":
            for name, value in zip(self.columns, values, strict=True):
                if len(value) and value.min() <= 0:
                    raise InputError(f"column {name!r}: durations must be positive, got {value.min():g}")
            one, two = values
            log_one, log_two = np.log(one), np.log(two)
            ratio = log_one - log_two
            return [log_one, log_two, log_one * log_two, np.abs(ratio), ratio**2, 1.0 / one + 1.0 / two]
        m = len(values) // 2
        ones = np.ones_like(values[0])
        first, second = [*values[:m], ones], [*values[m:], ones]
        # symmetric in the two sides; the last pair, 1 * 1, is the offset
        # BOSARIS: the form is symmetric, so q_1 and q_2 may change places
        pairs = list(combinations_with_replacement(range(m + 1), 2))[:-1]
        return [first[i] * second[j] + first[j] * second[i] for i, j in pairs]

    def term_names(self, systems: Sequence[str]) -> list[str]:
        """What each column made by :meth:`widen` is called.

        Examples
        --------
        >>> Quality(("a", "b"), "durations").term_names(["plda"])[:4]
        ['plda', 'log a', 'log b', 'log a log b']
        >>> Quality(("snr",), scaled=True).term_names(["plda"])
        ['plda', 'snr', 'plda snr']
        """
        features = self._feature_names()
        scaled = [f"{system} {feature}" for feature in features for system in systems] if self.scaled else []
        return [*systems, *features, *scaled]

    def _feature_names(self) -> list[str]:
        if self.features == "linear":
            return list(self.columns)
        if self.features == "durations":
            one, two = self.columns
            ratio = f"log {one}/{two}"
            return [f"log {one}", f"log {two}", f"log {one} log {two}", f"|{ratio}|", f"({ratio})^2",
                    f"(1/{one} + 1/{two})"]  # fmt: skip
        m = len(self.columns) // 2
        first, second = [*self.columns[:m], "1"], [*self.columns[m:], "1"]
        pairs = list(combinations_with_replacement(range(m + 1), 2))[:-1]
        return [f"({first[i]} {second[j]} + {first[j]} {second[i]})" for i, j in pairs]

    def source(self, source: ScoreSource) -> ScoreSource:
        """The source whose systems are the scores followed by the features."""
        if not self.columns:
            return source
        scores = source.roles.score
        n_features = len(self._features([np.ones(1)] * len(self.columns)))
        added = n_features * (1 + len(scores) if self.scaled else 1)
        names = (*scores, *(f"feature{i + 1}" for i in range(added)))

        def widened(chunk: Scores) -> Scores:
            # words stand in a chunk as codes: a duration read from text must be its value, not its code
            target, nontarget = (
                self.widen(scores, {name: decoded(chunk, name, class_index) for name in self.columns})
                for class_index, scores in enumerate((chunk.target, chunk.nontarget))
            )
            return Scores.part(target, nontarget, chunk.columns, chunk.categories)

        return DerivedSource(source, widened, self.columns, score=names)


def quality(columns: Sequence[str] | str, features: str = "linear", scaled: bool = False) -> Quality:
    """A :class:`Quality` from what a user gave.

    Examples
    --------
    >>> quality("snr").columns
    ('snr',)
    """
    return Quality(names_of(columns, "quality measures"), features, yes_or_no(scaled, "scaled"))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LinearMap(Map):
    """``llr = weights @ (scores, features) + offset`` for K systems.

    With ``missing="subset"`` a trial without a score (NaN) of some systems gets the fusion of the others.
    """

    weights: FloatArray
    """Weight of each system, then of each feature."""
    offset: float
    """What is added to the weighted sum."""
    systems: list[str]
    """Names of the systems, in the order of the scores."""
    columns: list[str] = field(default_factory=list)
    """Columns of the side information; empty without any."""
    features: str = "linear"
    """How these columns enter: "linear", "durations" or "bilinear"."""
    scaled: bool = False
    """Whether each score is also multiplied by each feature."""
    missing: str = "error"
    """What happens to a trial without the score of some system: "error", "drop" or "subset"."""
    subsets: Mapping[str, FloatArray] = field(default_factory=dict)
    """For each set of systems that are there, "101" say: its weights followed by its offset."""

    kind: ClassVar[str] = "linear"

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return len(self.systems)

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns of the side information."""
        return tuple(self.columns)

    @property
    def accepts_missing(self) -> bool:
        """With ``missing="subset"``."""
        return self.missing == "subset"

    @property
    def system_names(self) -> list[str]:
        """Names of the systems in the order of training."""
        return list(self.systems)

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The weighted sum, of the systems that are there.

        Parameters
        ----------
        scores
            Scores as float64, shape (n, systems).
        columns
            Columns that go with the scores, by name.
        """
        if self.accepts_missing and np.isnan(scores).any():
            return self._by_pattern(scores, columns)
        wide = Quality(tuple(self.columns), self.features, self.scaled).widen(scores, columns)
        with np.errstate(invalid="ignore"):  # looked at in the next line
            llrs = weighted_sum(wide, self.weights, self.offset)
        # +inf of one system and -inf of another: no sum can be right, so the trial is named
        if np.isnan(llrs).any():
            row = int(np.argmax(np.isnan(llrs)))
            raise NaNScoreError(f"trial {row}: the infinite scores of its systems contradict each other")
        return llrs

    def _by_pattern(self, values: FloatArray, columns: Columns) -> FloatArray:
        """Each trial by the fusion of the systems it has."""
        present = ~np.isnan(values)
        llrs = np.empty(len(values))
        # few patterns, many trials: each pattern is one weighted sum
        patterns, which = np.unique(present, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            rows = np.flatnonzero(which.ravel() == i)
            if pattern.all():
                llrs[rows] = self.llr(values[rows], {name: column[rows] for name, column in columns.items()})
                continue
            key = "".join("01"[int(flag)] for flag in pattern)
            if key not in self.subsets:
                raise NaNScoreError(f"trial {rows[0]}: no fusion was trained for the systems {key}")
            fitted = np.asarray(self.subsets[key])
            llrs[rows] = weighted_sum(values[rows][:, pattern], fitted[:-1], fitted[-1])
        return llrs

    def __repr__(self) -> str:
        made = Quality(tuple(self.columns), self.features, self.scaled)
        names = made.term_names(self.systems)
        # scores are shown as the file holds them, like those of an affine map; features are not scores
        factor = np.where(np.arange(len(names)) < self.n_systems, self.input_factor, 1.0)
        weights = np.multiply(self.weights, factor)
        first = f"{weights[0]:.4g} {names[0]}"
        more = "".join(f" {w:+.4g} {name}" for w, name in zip(weights[1:], names[1:], strict=True))
        subsets = f", {len(self.subsets)} fusions of fewer systems" if self.subsets else ""
        return f"LinearMap({self.method}: llr = {first}{more} {self.offset:+.4g}{subsets})"


def weighted_sum(values: FloatArray, weights: FloatArray, offset: float = 0.0) -> FloatArray:
    """Column by column: the last bits of a BLAS product may depend on how many rows come at once."""
    total = weights[0] * values[:, 0]
    for column in range(1, len(weights)):
        total += weights[column] * values[:, column]
    return np.asarray(total + offset)


BASES = ("log", "inverse", "linear")
MOST_CONDITIONS = 4
Powers = tuple[tuple[int, ...], ...]


def condition_names(conditions: object) -> tuple[str, ...]:
    """The columns of the conditions, from a list of names or from text with commas.

    Examples
    --------
    >>> condition_names("enroll_seconds,test_seconds")
    ('enroll_seconds', 'test_seconds')
    """
    typed = conditions.split(",") if isinstance(conditions, str) else names_of(conditions, "conditions")
    names = tuple(name.strip() for name in typed)
    if not 1 <= len(names) <= MOST_CONDITIONS or not all(names):
        raise InputError(f"conditions are the names of 1 to {MOST_CONDITIONS} columns, got {conditions!r}")
    if len(set(names)) < len(names):
        raise InputError(f"conditions name a column twice: {', '.join(names)}")
    return names


def condition_values(columns: Columns, names: Sequence[str], basis: str) -> FloatArray:
    """The conditions of each trial as finite numbers that the basis takes, shape (n, conditions)."""
    values = [finite_numbers(columns[name], name, "a condition") for name in names]
    if basis != "linear":
        for name, value in zip(names, values, strict=True):
            if len(value) and value.min() <= 0.0:
                raise InputError(
                    f"column {name!r}: the basis {basis!r} takes values above 0, got {value.min():g}; "
                    "the basis 'linear' takes all"
                )
    return np.stack(values, axis=1)


def quadratic_powers(n: int) -> Powers:
    """Powers of a full quadratic in ``n`` conditions: constant, linear, then products and squares.

    Examples
    --------
    >>> quadratic_powers(2)
    ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    """
    picks = [pick for degree in (0, 1, 2) for pick in combinations_with_replacement(range(n), degree)]
    return tuple(tuple(pick.count(i) for i in range(n)) for pick in picks)


@dataclass(frozen=True, eq=False)
class ConditionTerms:
    """The terms whose sums the class moments are: products of powers of the conditions.

    Each condition is transformed by the ``basis`` and moved to -1 ... 1 on ``low`` to ``high``, its range in
    training.
    A condition beyond that range counts as its end: a quadratic must not be extrapolated.

    Examples
    --------
    >>> terms = ConditionTerms(("seconds",), "log", np.array([5.0]), np.array([45.0]), ((0,), (1,), (2,)))
    >>> terms.of({"seconds": np.array([5.0, 15.0, 45.0, 900.0])}).round(9)
    array([[ 1., -1.,  1.],
           [ 1.,  0.,  0.],
           [ 1.,  1.,  1.],
           [ 1.,  1.,  1.]])
    >>> terms.names
    ['1', 'log seconds', '(log seconds)^2']
    """

    columns: tuple[str, ...]
    basis: str
    low: FloatArray
    high: FloatArray
    powers: Powers

    def of(self, columns: Columns) -> FloatArray:
        """The terms of each trial, shape (n, terms)."""
        return self.at(self.units(columns))

    def units(self, columns: Columns) -> FloatArray:
        """The conditions of each trial on -1 ... 1."""
        values = condition_values(columns, self.columns, self.basis)
        within = self._transformed(np.clip(values, self.low, self.high))
        # the ends go through the same transform, which may turn them around (inverse)
        first, last = self._transformed(self.low), self._transformed(self.high)
        # clipped once more: rounding may leave -1 ... 1 by a digit
        return np.clip((2.0 * within - first - last) / (last - first), -1.0, 1.0)

    def _transformed(self, values: FloatArray) -> FloatArray:
        if self.basis == "log":
            return np.asarray(np.log(values))
        return 1.0 / values if self.basis == "inverse" else values

    def at(self, units: FloatArray) -> FloatArray:
        """The terms of conditions that are on -1 ... 1 already."""
        terms = [np.prod(units ** np.array(powers), axis=1) for powers in self.powers]
        return np.stack(terms, axis=1)

    @property
    def names(self) -> list[str]:
        """The terms in words; the conditions in them run from -1 to 1."""
        shown = {"log": "log {}", "inverse": "1/{}", "linear": "{}"}[self.basis]
        return [_term_name([shown.format(name) for name in self.columns], powers) for powers in self.powers]

    @property
    def ranges(self) -> dict[str, list[float]]:
        """Smallest and largest value of each condition in training."""
        ends = zip(self.columns, self.low.tolist(), self.high.tolist(), strict=True)
        return {name: [low, high] for name, low, high in ends}


def _term_name(names: Sequence[str], powers: Sequence[int]) -> str:
    factors = [
        name if power == 1 else f"({name})^{power}"
        for name, power in zip(names, powers, strict=True)
        if power
    ]
    return " x ".join(factors) or "1"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ConditionedMap(Map):
    """``llr = a(z) score + b(z)`` for the conditions z of a trial, as :func:`llrkit.fit_cmlg` makes it.

    The mean and the logarithm of the variance of each class are sums of smooth terms of z; slope and offset
    are those of CMLG with these moments. :meth:`at` gives the line of one set of conditions, with standard
    errors.
    """

    columns: list[str]
    """Names of the conditions."""
    basis: str
    """How conditions are transformed: "log", "inverse" or "linear"."""
    low: FloatArray
    """Smallest value of each condition in training."""
    high: FloatArray
    """Largest value of each condition in training."""
    powers: list[list[int]]
    """For each term, the power of each condition in it."""
    alpha: float
    """Weight of the variance of the targets; that of the non-targets has the rest."""
    mean_target: FloatArray
    """Coefficients of the mean of the targets, one for each term."""
    mean_nontarget: FloatArray
    """Coefficients of the mean of the non-targets."""
    log_variance_target: FloatArray
    """Coefficients of the log-variance of the targets."""
    log_variance_nontarget: FloatArray
    """Coefficients of the log-variance of the non-targets."""
    covariance_target: FloatArray
    """Covariance matrix of the coefficients of the targets: those of the mean, then of the log-variance."""
    covariance_nontarget: FloatArray
    """The same of the non-targets."""

    kind: ClassVar[str] = "conditioned"

    @property
    def condition_ranges(self) -> dict[str, list[float]]:
        """Smallest and largest value of each condition in training."""
        return self.terms.ranges

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of the conditions."""
        return tuple(self.columns)

    @cached_property
    def terms(self) -> ConditionTerms:
        """What the moments are sums of."""
        powers = tuple(tuple(int(power) for power in term) for term in self.powers)
        return ConditionTerms(tuple(self.columns), self.basis, self.low, self.high, powers)

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """Each score through the line of its conditions.

        Parameters
        ----------
        scores
            Scores, higher meaning more target-like.
        columns
            Columns that go with the scores, by name.
        """
        slope, offset, *_ = self._lines(self.terms.of(columns))
        return slope * scores + offset

    def _lines(self, terms: FloatArray) -> tuple[FloatArray, ...]:
        """Slopes and offsets; the means of both classes, and what each adds to the variance."""
        m_e, m_d = weighted_sum(terms, self.mean_target), weighted_sum(terms, self.mean_nontarget)
        # variances are exponentials, positive whatever the coefficients
        v_e = self.alpha * np.exp(weighted_sum(terms, self.log_variance_target))
        v_d = (1.0 - self.alpha) * np.exp(weighted_sum(terms, self.log_variance_nontarget))
        slope = (m_e - m_d) / (v_e + v_d)
        return slope, -slope * (m_e + m_d) / 2.0, m_e, m_d, v_e, v_d

    def at(self, *in_order: float | Sequence[float], **conditions: float) -> AffineMap:
        """The straight line of one set of conditions; ``details`` has standard errors and what it promises.

        The conditions are given by name, or in the order of ``columns``. One beyond its range in training
        counts as the end of it; ``details["outside"]`` names those.
        The standard errors are those of independent trials (delta method, from the sandwich covariance of the
        coefficients).

        Parameters
        ----------
        *in_order
            The values of the conditions in the order of the columns.
        **conditions
            The value of each condition, by column.

        Examples
        --------
        >>> import llrkit as lk
        >>> rng = np.random.default_rng(1)
        >>> seconds = np.repeat([5.0, 40.0], 500), np.repeat([5.0, 40.0], 5000)
        >>> scores = lk.Scores(rng.normal(np.log(seconds[0])), rng.normal(0.0, 1.0, 10000),
        ...                    {"seconds": seconds})
        >>> fitted = lk.fit_cmlg(scores, conditions=["seconds"])
        >>> fitted.at(seconds=5.0)
        AffineMap(cmlg at seconds 5: llr = 1.70979 * score -1.34661)
        >>> round(fitted.at(seconds=40.0).details["se_a"], 3)
        0.129
        """
        first = in_order[0] if len(in_order) == 1 else None
        values = first if isinstance(first, (tuple, list)) else in_order
        given = {**dict(zip(self.columns, values, strict=False)), **conditions}
        if len(values) + len(conditions) != len(self.columns) or set(given) != set(self.columns):
            raise InputError(f"at() takes one number for each of {', '.join(self.columns)}")
        conditions, ends = given, self.condition_ranges  # by position or by name, but each exactly once
        terms = self.terms.of({name: np.array([value]) for name, value in conditions.items()})
        a, b, m_e, m_d, v_e, v_d = (float(line[0]) for line in self._lines(terms))
        mu = a * (m_e - m_d) / 2.0
        pair = GaussianLLR.from_mu(mu) if mu > 0.0 else None
        # covariance of slope and offset: they are functions of two means and two log-variances
        factors, middle = terms[0], (m_e + m_d) / 2.0
        v, total = v_e + v_d, np.zeros((2, 2))
        of_classes = ((1.0, v_e, self.covariance_target), (-1.0, v_d, self.covariance_nontarget))
        for sign, share, of_class in of_classes:
            # the chain rule: slope by mean and by log-variance, each a sum over the terms
            of_slope = np.concatenate([sign / v * factors, -a * share / v * factors])
            of_offset = -middle * of_slope - a / 2.0 * np.concatenate([factors, np.zeros_like(factors)])
            gradient = np.stack([of_slope, of_offset])
            total += gradient @ of_class @ gradient.T
        details: dict[str, object] = {
            "conditions": {name: float(conditions[name]) for name in self.columns},
            "outside": [name for name, (low, high) in ends.items() if not low <= conditions[name] <= high],
            "mean_target": m_e,
            "mean_nontarget": m_d,
            "se_a": math.sqrt(total[0, 0]),
            "se_b": math.sqrt(total[1, 1]),
            "covariance_ab": float(total[0, 1]),
            "mu": mu,
            "eer": pair.eer if pair else 0.5,
            "cllr": pair.cllr if pair else 1.0,
        }
        words = ", ".join(f"{name} {conditions[name]:g}" for name in self.columns)
        return AffineMap(a=a, b=b, method=f"{self.method} at {words}", details=details, reading=self.reading)

    def __repr__(self) -> str:
        ranges = self.terms.ranges
        ends = [{name: values[i] for name, values in ranges.items()} for i in (0, 1)]
        lines = [self.at(**end) for end in ends]
        shown = "; ".join(
            f"{line.a * self.input_factor:.4g} * score {line.b:+.4g} "
            f"at {', '.join(f'{value:g}' for value in end.values())}"
            for line, end in zip(lines, ends, strict=True)
        )
        return f"ConditionedMap({self.method} given {', '.join(self.columns)}: llr = {shown})"
