"""Maps of log-likelihood vectors, their files, and the summaries that fits of them are made from.

Files are those of :mod:`llrkit.maps.files`, with a format of their own.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self, overload

import numpy as np

from llrkit._version import __version__
from llrkit.base.arguments import FloatArray, Numbers
from llrkit.base.process import cached_property
from llrkit.base.text import Json
from llrkit.core.summaries import ClassSample, FieldwiseSums
from llrkit.errors import (
    ConstantScoreError,
    InfiniteScoreError,
    InputError,
    LabelError,
    NaNScoreError,
    SystemCountError,
)
from llrkit.maps.files import read_json, saved_from_dict
from llrkit.maps.map import SavedMap
from llrkit.multiclass import metrics
from llrkit.scores.arrays import first_nan, read_only
from llrkit.scores.classes import ClassScores, ClassSource, ClassVectors
from llrkit.scores.derived import ChangedChunks
from llrkit.scores.labels import listed


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ClassMap(SavedMap):
    """A map to natural-log likelihoods of some classes, each known up to a constant per trial.

    Subclasses are frozen dataclasses whose own fields are the parameters; they set ``kind`` and define
    :meth:`loglik` and :attr:`shape`.
    """

    classes: list[str]
    """Names of the classes, in the order of the log-likelihoods."""

    format: ClassVar[str] = "llrkit.class_map/1"

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one trial: (K,) scores, (K, systems) scores, or a vector (D,)."""

    @abstractmethod
    def loglik(self, values: FloatArray) -> FloatArray:
        """Log-likelihoods, shape (n, K), of checked float64 trials, shape ``(n, *shape)``.

        Parameters
        ----------
        values
            Scores as float64, one row per trial.
        """

    @overload
    def __call__(self, trials: ClassVectors) -> ClassScores: ...
    @overload
    def __call__(self, trials: Numbers) -> FloatArray: ...
    def __call__(self, trials: ClassVectors | Numbers) -> ClassScores | FloatArray:
        """Log-likelihoods of trials: ``ClassScores`` of labeled trials, an array of an array.

        An array holds one trial, of the shape :attr:`shape`, or several of them.
        """
        if isinstance(trials, ClassVectors):
            self._require(trials.classes)
            if trials.values.shape[1:] != self.shape:
                raise SystemCountError(
                    f"this map takes trials of shape {self.shape}, got {trials.values.shape[1:]}"
                )
            mapped = self._checked(np.asarray(trials.values, dtype=np.float64))
            scores = ClassScores.part(read_only(mapped), trials.codes, trials.classes, trials.columns)
            # Ids are no argument of ``part``, which makes chunks.
            scores.ids = trials.ids
            return scores
        values = np.asarray(trials, dtype=np.float64)
        # One trial has the shape of the map; several have one axis more.
        single = values.shape == self.shape
        if not single and values.shape[1:] != self.shape:
            raise SystemCountError(
                f"this map takes trials of shape {self.shape}, one or several; got shape {values.shape}"
            )
        loglik = self._checked(values[None] if single else values)
        return loglik[0] if single else loglik

    def posteriors(self, trials: ClassVectors | Numbers, prior: metrics.Prior = "flat") -> FloatArray:
        """Posterior probabilities of the classes at a prior, shape (n, K).

        Parameters
        ----------
        trials
            Trials, or an array of their scores.
        prior
            Prior of the classes: ``"flat"``, or one probability per class.

        Examples
        --------
        >>> from llrkit.multiclass.maps import ScaleMap
        >>> twice = ScaleMap(classes=["en", "de"], scales=np.array([2.0]), offsets=np.zeros(2))
        >>> twice.posteriors([[0.0, 0.0]], prior=[0.9, 0.1])
        array([[0.9, 0.1]])
        """
        mapped = self(trials)
        loglik = mapped.loglik if isinstance(mapped, ClassScores) else mapped
        return posteriors(loglik, self.log_prior(prior))

    def log_prior(self, prior: metrics.Prior) -> FloatArray:
        """Logarithm of a prior over the classes of the map.

        Parameters
        ----------
        prior
            Prior of the classes: ``"flat"``, or one probability per class.
        """
        if isinstance(prior, str) and prior == "counts":
            raise InputError("a map has no trials to count: give a probability for each class, or 'flat'")
        one_each = metrics.ClassCounts(tuple(self.classes), np.ones(len(self.classes)))
        return np.asarray(np.log(metrics.class_prior(prior, one_each)))

    def on(self, source: ClassSource) -> ClassSource:
        """The same trials with the map's log-likelihoods, as a source.

        Parameters
        ----------
        source
            Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
        """
        return ChangedChunks(source, self)

    def then(self, other: ClassMap) -> ClassMap:
        """First this map, then another one, which must take scores of the same classes.

        Parameters
        ----------
        other
            The map that is applied second.
        """
        self._require(tuple(other.classes))
        if other.shape != (len(self.classes),):
            raise SystemCountError(f"a map that takes shape {other.shape} cannot follow another map")
        method = f"{self.method}+{other.method}"
        return ComposedClassMap(classes=self.classes, first=self, second=other, method=method)

    def try_out(self) -> None:
        """Map zeros: parameters of the wrong type or shape fail here."""
        loglik = self(np.zeros((1, *self.shape)))
        if loglik.shape != (1, len(self.classes)) or np.isnan(loglik).any():
            raise ValueError(f"{len(self.classes)} classes, but log-likelihoods {loglik.tolist()}")

    def _checked(self, values: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):  # looked at in the next line
            loglik = self.loglik(values)
        # inf - inf: a scale turns +inf into -inf, and a sum of both is no number.
        where = first_nan(loglik)
        if where is not None:
            row = where[0]
            why = "NaN" if np.isnan(values[row]).any() else "infinite values that contradict each other"
            raise NaNScoreError(f"cannot map trial {row}: {why}")
        # One column first: rows that are impossible throughout are -inf there too.
        hopeless = np.flatnonzero(loglik[:, 0] == -np.inf)
        hopeless = hopeless[(loglik[hopeless] == -np.inf).all(axis=1)]
        if len(hopeless):
            raise InputError(f"cannot map trial {hopeless[0]}: -inf for every class, so no class is possible")
        return loglik

    def _require(self, classes: tuple[str, ...]) -> None:
        if tuple(self.classes) == classes:
            return
        if set(self.classes) == set(classes):
            # Not reordered silently: a file with columns in another order is more likely a mistake.
            raise LabelError(f"the classes are in another order than in training: {listed(self.classes)}")
        raise LabelError(
            f"the map was made for the classes {listed(self.classes)}, the trials have {listed(classes)}"
        )


def posteriors(loglik: Numbers, log_prior: FloatArray) -> FloatArray:
    """Posterior probabilities of log-likelihoods, shape (n, K).

    Parameters
    ----------
    loglik
        Log-likelihoods, shape (trials, classes).
    log_prior
        Logarithm of the prior of each class.

    Examples
    --------
    >>> posteriors([[0.0, np.log(3.0)]], np.log([0.5, 0.5]))
    array([[0.25, 0.75]])
    """
    weighted = np.asarray(loglik, dtype=np.float64) + log_prior
    # The largest is taken away before the exponential, which then cannot overflow.
    relative = np.exp(weighted - weighted.max(axis=-1, keepdims=True))
    return np.asarray(relative / relative.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ComposedClassMap(ClassMap):
    """One map after another."""

    first: ClassMap
    second: ClassMap

    kind: ClassVar[str] = "class_composed"

    @property
    def shape(self) -> tuple[int, ...]:
        """What the first map takes."""
        return self.first.shape

    def loglik(self, values: FloatArray) -> FloatArray:
        """The second map of the first."""
        # Without checks in between: the result is checked once, by whoever called the composed map.
        return self.second.loglik(self.first.loglik(values))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ScaleMap(ClassMap):
    """``l'_k = sum_s scales_s l_ks + offsets_k``: temperature, scale and offset, or fusion (FoCal).

    Examples
    --------
    >>> calibrate = ScaleMap(classes=["en", "de"], scales=np.array([2.0]), offsets=np.array([0.5, -0.5]))
    >>> calibrate([1.0, 3.0])
    array([2.5, 5.5])
    """

    scales: FloatArray
    offsets: FloatArray

    kind: ClassVar[str] = "class_scale"

    @property
    def shape(self) -> tuple[int, ...]:
        """One score per class, or one per class and system."""
        k, systems = len(self.classes), len(self.scales)
        return (k,) if systems == 1 else (k, systems)

    def loglik(self, values: FloatArray) -> FloatArray:
        """The weighted sum."""
        scaled = values * self.scales[0] if values.ndim == 2 else values @ self.scales
        return np.asarray(scaled + self.offsets)

    def __repr__(self) -> str:
        scales = ", ".join(f"{scale:.6g}" for scale in self.scales)
        return f"ScaleMap({self.method}: {len(self.classes)} classes, scale {scales})"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class VectorScaleMap(ClassMap):
    """``l'_k = scales_k l_k + offsets_k``: a scale for each class (vector scaling)."""

    scales: FloatArray
    offsets: FloatArray

    kind: ClassVar[str] = "class_vector"

    @property
    def shape(self) -> tuple[int, ...]:
        """One score per class."""
        return (len(self.classes),)

    def loglik(self, values: FloatArray) -> FloatArray:
        """A straight line for each class."""
        return np.asarray(values * self.scales + self.offsets)

    def __repr__(self) -> str:
        low, high = self.scales.min(), self.scales.max()
        return f"VectorScaleMap({self.method}: {len(self.classes)} classes, scales {low:.6g} to {high:.6g})"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AffineClassMap(ClassMap):
    """``l' = weights x + offsets`` for vectors x; ``weights`` has shape (K, D)."""

    weights: FloatArray
    offsets: FloatArray

    kind: ClassVar[str] = "class_affine"

    @property
    def shape(self) -> tuple[int, ...]:
        """A vector."""
        return (int(self.weights.shape[1]),)

    def loglik(self, values: FloatArray) -> FloatArray:
        """The matrix product."""
        return np.asarray(values @ self.weights.T + self.offsets)

    def __repr__(self) -> str:
        k, d = self.weights.shape
        return f"AffineClassMap({self.method}: {k} classes from {d} numbers)"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class QuadraticClassMap(ClassMap):
    """``l'_k = log N(x | means_k, covariances_k)``; ``differences``: x are scores over the last one."""

    means: FloatArray
    covariances: FloatArray
    differences: bool = False

    kind: ClassVar[str] = "class_quadratic"

    @property
    def shape(self) -> tuple[int, ...]:
        """A vector, or one score per class."""
        return (int(self.means.shape[1]) + int(self.differences),)

    @cached_property
    def _whitening(self) -> tuple[FloatArray, FloatArray]:
        """Inverse Cholesky factors of the covariances, and half their log-determinants."""
        factors = np.asarray(np.linalg.cholesky(self.covariances), dtype=np.float64)
        # The determinant of a triangular factor is the product of its diagonal.
        halves = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        return np.asarray(np.linalg.inv(factors), dtype=np.float64), halves

    def loglik(self, values: FloatArray) -> FloatArray:
        """The Gaussian log-densities, without the constant that all classes share."""
        # LLRs over the last class, as in training: a constant per trial says nothing.
        x = values[:, :-1] - values[:, -1:] if self.differences else values
        whitening, halves = self._whitening
        densities = np.empty((len(x), len(self.means)))
        for k, (mean, factor) in enumerate(zip(self.means, whitening, strict=True)):
            densities[:, k] = -0.5 * (((x - mean) @ factor.T) ** 2).sum(axis=1) - halves[k]
        return densities

    def __repr__(self) -> str:
        return f"QuadraticClassMap({self.method}: {len(self.means)} classes from {self.shape[0]} numbers)"


def load_map(path: str | Path, *, accept_changed: bool = False) -> ClassMap:
    """Read a calibration of several classes; a broken one, or one of an unknown version, is refused.

    So is one that was changed after it was saved, which its checksum tells, unless ``accept_changed``.

    Parameters
    ----------
    path
        A calibration file.
    accept_changed
        Load a file that was changed by hand; there is a warning.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from llrkit.multiclass.maps import ScaleMap
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cal.json"
    >>> ScaleMap(classes=["en", "de"], scales=np.array([2.0]), offsets=np.zeros(2), method="x").save(path)
    >>> load_map(path)
    ScaleMap(x: 2 classes, scale 2)
    """
    return map_from_dict(read_json(path, accept_changed=accept_changed), str(Path(path)))


def map_from_dict(plain: object, where: str = "calibration") -> ClassMap:
    """The map of several classes that ``to_dict`` described."""
    return saved_from_dict(plain, where, ClassMap)  # type: ignore[type-abstract]


def vectors_of(chunk: ClassVectors, block: slice = slice(None)) -> FloatArray:
    """Vectors as they are; of scores, the log-likelihood-ratios over the last class."""
    if has_loglik(chunk):
        values = np.asarray(metrics.one_system(chunk)[block], dtype=np.float64)
        return np.asarray(values[:, :-1] - values[:, -1:])
    return np.asarray(chunk.values[block], dtype=np.float64)


def has_loglik(chunk: ClassVectors) -> bool:
    """Whether a chunk holds log-likelihoods, and not just any vectors."""
    return type(chunk).loglik is not ClassVectors.loglik


def provenance(counts: metrics.ClassCounts) -> dict[str, Json]:
    """What is written down about the training trials."""
    n = {name: int(n) for name, n in zip(counts.classes, counts.n, strict=True)}
    return {"llrkit": __version__, "n": n}


@dataclass(frozen=True, eq=False)
class _TrainingCounts(metrics.ClassCounts):
    """How many trials each class has, and the place of the first one with an infinite value."""

    first_infinite: float
    """``inf`` where all values are finite."""

    @staticmethod
    def _first_infinite(chunk: ClassVectors) -> float:
        values = chunk.values
        # Extremes need no temporary array of the size of the scores.
        if not len(values) or (np.isfinite(values.min()) and np.isfinite(values.max())):
            return math.inf
        return float(np.argmax(~np.isfinite(values).reshape(len(values), -1).all(axis=1)))

    def _first_of_both(self, other: _TrainingCounts) -> float:
        # Places of later chunks are counted from the end of the earlier ones.
        return min(self.first_infinite, float(self.n.sum()) + other.first_infinite)

    def __mul__(self, weight: float) -> Self:
        return replace(self, n=self.n * weight)

    def require_usable(self) -> Self:
        """Refuse an empty class and infinite values."""
        metrics.require_all_classes(self.classes, self.n)
        if math.isfinite(self.first_infinite):
            place = f"trial {self.first_infinite:.0f}"
            raise InfiniteScoreError(f"{place} has an infinite value; a fit needs finite ones")
        return self


def class_means(source: ClassSource) -> ClassMeans:
    """The means of all classes; an empty class and infinite values are refused."""
    return metrics.as_classes(source).reduce(ClassMeans.of).require_usable()


@dataclass(frozen=True, eq=False)
class ClassMeans(_TrainingCounts):
    """The mean vector of each class; ``differences`` where the vectors are LLRs over the last class."""

    mean: FloatArray
    differences: bool

    @staticmethod
    def of(chunk: ClassVectors) -> ClassMeans:
        """The means of a chunk; those of classes without trials are 0."""
        n, where = chunk.counts, _TrainingCounts._first_infinite(chunk)
        if math.isfinite(where):  # it will be refused, but has to add up
            mean = np.zeros((len(n), vectors_of(chunk, slice(0, 0)).shape[1]))
            return ClassMeans(chunk.classes, n, where, mean, has_loglik(chunk))
        vectors = vectors_of(chunk)
        # Sorted by class, so that one reduceat adds up all classes.
        order = np.argsort(chunk.codes, kind="stable")
        present = np.flatnonzero(n)
        mean = np.zeros((len(n), vectors.shape[1]))
        if len(present):
            starts = np.cumsum(n[present]) - n[present]
            mean[present] = np.add.reduceat(vectors[order], starts) / n[present, None]
        return ClassMeans(chunk.classes, n, where, mean, has_loglik(chunk))

    def __add__(self, other: ClassMeans) -> ClassMeans:
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros(len(n)), where=n > 0)
        # Means are merged and not sums: with many trials sums would lose digits.
        mean = self.mean + (other.mean - self.mean) * share[:, None]
        return ClassMeans(self.classes, n, self._first_of_both(other), mean, self.differences)


@dataclass(frozen=True, eq=False)
class Scatter(FieldwiseSums):
    """Sums of products of deviations from given means, ``(x - mean)(x - mean)'``.

    With weights of the classes one matrix that all share, without weights one matrix for each class.
    """

    sums: FloatArray

    @classmethod
    def at(cls, mean: FloatArray, weights: FloatArray | None) -> Callable[[ClassVectors], Scatter]:
        """A summarizer around the means of the classes, one row each."""
        k, d = mean.shape

        def make(chunk: ClassVectors) -> Scatter:
            sums = np.zeros((d, d) if weights is not None else (k, d, d))
            for block in metrics.trial_blocks(len(chunk.values), d):
                codes = chunk.codes[block]
                away = np.ascontiguousarray((vectors_of(chunk, block) - mean[codes]).T)
                if weights is not None:
                    sums += metrics.gram(away * weights[codes], away)
                    continue
                # Only classes that occur: a block of a sorted file has few.
                for c in np.unique(codes):
                    mine = np.ascontiguousarray(away[:, codes == c])
                    sums[c] += metrics.gram(mine, mine)
            return cls(sums)

        return make


_SAMPLE = 1 << 16  # trials in the first guess, of all classes together
_FEWEST = 64  # but of each class at least these


@dataclass(frozen=True, eq=False)
class TrainingTrials(_TrainingCounts):
    """Extremes and an evenly spread sample of each class; ``vectors`` where they are no log-likelihoods."""

    low: FloatArray
    high: FloatArray
    samples: tuple[ClassSample, ...]
    vectors: bool

    @staticmethod
    def of(chunk: ClassVectors) -> TrainingTrials:
        """A first look at a chunk."""
        values, k = chunk.values, len(chunk.classes)
        cap = max(_FEWEST, _SAMPLE // k)
        return TrainingTrials(
            chunk.classes,
            chunk.counts,
            _TrainingCounts._first_infinite(chunk),
            values.min(axis=0, initial=np.inf).astype(np.float64),
            values.max(axis=0, initial=-np.inf).astype(np.float64),
            # A cap for each class, so that rare classes are in the sample too.
            tuple(ClassSample.of(values[chunk.codes == code], cap) for code in range(k)),
            not has_loglik(chunk),
        )

    def __add__(self, other: TrainingTrials) -> TrainingTrials:
        return TrainingTrials(
            self.classes,
            self.n + other.n,
            self._first_of_both(other),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            tuple(a + b for a, b in zip(self.samples, other.samples, strict=True)),
            self.vectors,
        )

    def sample(self) -> ClassVectors:
        """The sampled trials."""
        values = np.concatenate([sample.values for sample in self.samples])
        codes = np.repeat(np.arange(len(self.samples)), [len(sample.values) for sample in self.samples])
        return ClassVectors.part(values, codes, self.classes)


def training_trials(source: ClassSource) -> TrainingTrials:
    """A first look at the trials: an empty class, infinite and constant values are refused."""
    training = metrics.as_classes(source).reduce(TrainingTrials.of).require_usable()
    # Equal in every dimension; single constant dimensions are left to the fits.
    if (training.low == training.high).all():
        raise ConstantScoreError("all trials are the same: there is nothing to calibrate")
    if not np.isfinite((training.high - training.low) ** 2).all():
        raise InputError("the scores are too large to calibrate: their squares are beyond float64")
    return training


ROUNDED = 1e-3
"""How far from 1 the sum of probabilities may be that were written with few digits."""


@dataclass(frozen=True, eq=False)
class ProbabilityRows(FieldwiseSums):
    """Whether every row holds numbers between 0 and 1 that sum to 1: then no chunk has ``others``.

    Examples
    --------
    >>> from llrkit.scores.classes import ClassScores
    >>> ProbabilityRows.of(ClassScores([[0.9, 0.1], [0.2, 0.8]], [0, 1])).others
    0.0
    >>> ProbabilityRows.of(ClassScores([[-0.1, -2.3], [-1.6, -0.2]], [0, 1])).others
    1.0
    """

    others: float

    @classmethod
    def of(cls, chunk: ClassVectors) -> ProbabilityRows:
        """Look at the rows of a chunk; one number outside settles it."""
        values = chunk.values
        if values.size and (values.min() < 0.0 or values.max() > 1.0):
            return cls(1.0)
        sums = values.reshape(len(values), values.shape[1], -1).sum(axis=1)
        return cls(float(not np.all(np.abs(sums - 1.0) <= ROUNDED)))
