"""What the calibrators of several classes return: frozen maps from scores or vectors to log-likelihoods."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, overload

import numpy as np

from llrkit._arrays import FloatArray, Numbers
from llrkit.calibrate.saved_map import SavedMap
from llrkit.errors import InputError, LabelError, NaNScoreError, SystemCountError
from llrkit.multiclass.class_counts_and_priors import ClassCounts, Prior, class_prior
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
        >>> from llrkit.multiclass.class_map_forms import ScaleMap
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
