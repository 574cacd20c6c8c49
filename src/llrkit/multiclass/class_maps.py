"""What the calibrators of several classes return: frozen maps from scores or vectors to log-likelihoods."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, overload

import numpy as np

from llrkit._arrays import FloatArray, Numbers
from llrkit.calibrate.saved_map import SavedMap
from llrkit.errors import InputError, LabelError, NaNScoreError, SystemCountError
from llrkit.multiclass.class_priors import ClassCounts, Prior, class_prior
from llrkit.scores.checked_arrays import first_nan, read_only
from llrkit.scores.class_labels import listed
from llrkit.scores.class_scores import ClassScores, ClassSource, ClassVectors
from llrkit.scores.derived_sources import ChangedChunks


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
            return self._map_chunk(trials)
        values = np.asarray(trials, dtype=np.float64)
        single = values.shape == self.shape
        if not single and values.shape[1:] != self.shape:
            raise SystemCountError(
                f"this map takes trials of shape {self.shape}, one or several; got shape {values.shape}"
            )
        loglik = self._checked(values[None] if single else values)
        return loglik[0] if single else loglik

    def posteriors(self, trials: ClassVectors | Numbers, prior: Prior = "flat") -> FloatArray:
        """Posterior probabilities of the classes at a prior, shape (n, K).

        Parameters
        ----------
        trials
            Trials, or an array of their scores.
        prior
            Prior of the classes: ``"flat"``, or one probability per class.

        Examples
        --------
        >>> twice = ScaleMap(classes=["en", "de"], scales=np.array([2.0]), offsets=np.zeros(2))
        >>> twice.posteriors([[0.0, 0.0]], prior=[0.9, 0.1])
        array([[0.9, 0.1]])
        """
        mapped = self(trials)
        loglik = mapped.loglik if isinstance(mapped, ClassScores) else mapped
        return posteriors(loglik, self.log_prior(prior))

    def log_prior(self, prior: Prior) -> FloatArray:
        """Logarithm of a prior over the classes of the map.

        Parameters
        ----------
        prior
            Prior of the classes: ``"flat"``, or one probability per class.
        """
        if isinstance(prior, str) and prior == "counts":
            raise InputError("a map has no trials to count: give a probability for each class, or 'flat'")
        one_each = ClassCounts(tuple(self.classes), np.ones(len(self.classes)))
        return np.asarray(np.log(class_prior(prior, one_each)))

    def on(self, source: ClassSource) -> ClassSource:
        """The same trials with the map's log-likelihoods, as a source.

        Parameters
        ----------
        source
            Trials of several classes, such as :class:`llrkit.ClassScores`.
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
        return ComposedClassMap(
            classes=self.classes, first=self, second=other, method=f"{self.method}+{other.method}"
        )

    def try_out(self) -> None:
        """Map zeros: parameters of the wrong type or shape fail here."""
        loglik = self(np.zeros((1, *self.shape)))
        if loglik.shape != (1, len(self.classes)) or np.isnan(loglik).any():
            raise ValueError(f"{len(self.classes)} classes, but log-likelihoods {loglik.tolist()}")

    def _map_chunk(self, chunk: ClassVectors) -> ClassScores:
        self._require(chunk.classes)
        if chunk.values.shape[1:] != self.shape:
            raise SystemCountError(
                f"this map takes trials of shape {self.shape}, got {chunk.values.shape[1:]}"
            )
        loglik = self._checked(np.asarray(chunk.values, dtype=np.float64))
        scores = ClassScores.part(read_only(loglik), chunk.codes, chunk.classes, chunk.columns)
        scores.ids = chunk.ids
        return scores

    def _checked(self, values: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):  # looked at in the next line
            loglik = self.loglik(values)
        where = first_nan(loglik)
        if where is not None:
            row = where[0]
            why = "NaN" if np.isnan(values[row]).any() else "infinite values that contradict each other"
            raise NaNScoreError(f"cannot map trial {row}: {why}")
        hopeless = np.flatnonzero(loglik[:, 0] == -np.inf)
        hopeless = hopeless[(loglik[hopeless] == -np.inf).all(axis=1)]
        if len(hopeless):
            raise InputError(f"cannot map trial {hopeless[0]}: -inf for every class, so no class is possible")
        return loglik

    def _require(self, classes: tuple[str, ...]) -> None:
        if tuple(self.classes) == classes:
            return
        if set(self.classes) == set(classes):
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
    relative = np.exp(weighted - weighted.max(axis=-1, keepdims=True))
    return np.asarray(relative / relative.sum(axis=-1, keepdims=True))


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
        factors = np.linalg.cholesky(self.covariances)
        halves = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        return np.linalg.inv(factors), halves

    def loglik(self, values: FloatArray) -> FloatArray:
        """The Gaussian log-densities, without the constant that all classes share."""
        x = values[:, :-1] - values[:, -1:] if self.differences else values
        whitening, halves = self._whitening
        densities = np.empty((len(x), len(self.means)))
        for k, (mean, factor) in enumerate(zip(self.means, whitening, strict=True)):
            densities[:, k] = -0.5 * (((x - mean) @ factor.T) ** 2).sum(axis=1) - halves[k]
        return densities

    def __repr__(self) -> str:
        return f"QuadraticClassMap({self.method}: {len(self.means)} classes from {self.shape[0]} numbers)"


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
        return self.second.loglik(self.first.loglik(values))
