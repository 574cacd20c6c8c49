"""Trials of several classes: log-likelihoods or vectors, each with a label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, Self

import numpy as np

from llrkit.base.arguments import Array, ArrayLike, IntArray, Rows
from llrkit.base.process import reduce_chunks
from llrkit.base.text import counted
from llrkit.errors import InputError, LabelError, NaNScoreError, SystemCountError
from llrkit.scores.arrays import first_nan, number_array, per_trial, read_only
from llrkit.scores.labels import class_codes, class_names
from llrkit.scores.source import POSITION, S, require_column

CHUNK_NUMBERS = 1 << 20
"""How many numbers a chunk holds: enough work for a thread, little enough for its memory."""


class ClassSource(Protocol):
    """Anything that can summarize its trials of several classes: arrays, files, a cluster."""

    def reduce(self, summarize: Callable[[ClassVectors], S]) -> S:
        """Summarize every chunk and merge the summaries.

        Parameters
        ----------
        summarize
            Function of one chunk whose results can be merged with ``+``.
        """
        ...

    def with_columns(self, *names: str) -> ClassSource:
        """The same trials, each chunk carrying these columns.

        Parameters
        ----------
        *names
            Names of columns.
        """
        ...


class ClassVectors:
    """Vectors with a class label each, embeddings for instance.

    Parameters
    ----------
    vectors
        Shape (n, D). float32 and float64 are used as they are, without a copy.
    labels
        The class of each trial: its name, or its place in ``classes`` when the names are not numbers.
    classes
        Names of the classes in order; by default the distinct labels, sorted.
    ids
        Names of the trials.
    columns
        What else is known of each trial: name -> values.

    Examples
    --------
    >>> ClassVectors([[0.1, 0.2, 0.0], [0.3, 0.1, 0.9]], ["nl", "de"])
    ClassVectors(2 trials of 2 classes, dimension 3)
    """

    values: Array
    codes: IntArray
    classes: tuple[str, ...]
    ids: Array | None
    columns: Mapping[str, Array]

    def __init__(
        self,
        vectors: object,
        labels: object,
        classes: Sequence[object] | None = None,
        ids: object = None,
        *,
        columns: Mapping[str, object] | None = None,
    ) -> None:
        self.values = read_only(number_array(vectors, self._what))
        self._check_shape()
        self.classes = class_names(classes) if classes is not None else self._default_classes(labels)
        self._check_classes()
        self.codes = read_only(class_codes(labels, self.classes))
        if len(self.codes) != len(self.values):
            rows, labeled = counted(len(self.values), "row"), counted(len(self.codes), "label")
            raise InputError(f"{rows} of {self._what} but {labeled}")
        if len(self.values) == 0:
            raise InputError("there are no trials")
        self.ids = None if ids is None else per_trial(ids, len(self), "ids")
        self.columns = {name: per_trial(column, len(self), name) for name, column in (columns or {}).items()}
        self._check_values()  # last: its message names the trial by its id

    _what = "vectors"

    def _default_classes(self, labels: object) -> tuple[str, ...]:
        return class_names(np.unique(np.asarray(labels)).tolist())

    def _check_shape(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] == 0:
            raise InputError(f"vectors must have shape (n, D), got {self.values.shape}")

    def _check_classes(self) -> None:
        if len(self.classes) < 2:
            raise LabelError(f"one class only ({', '.join(self.classes)}): at least two are needed")

    def _check_values(self) -> None:
        where = first_nan(self.values)
        if where is not None:
            raise NaNScoreError(f"{self.place(where[0])}: NaN in {self._name_of(where[1:])}")

    def _name_of(self, where: tuple[int, ...]) -> str:
        return f"{self._what}, dimension {where[0]}"

    def place(self, row: int) -> str:
        """How messages name a trial.

        Parameters
        ----------
        row
            Number of the row, from 0.
        """
        return f"trial {row}" if self.ids is None else f"trial {row} ({self.ids[row]})"

    @classmethod
    def part(
        cls,
        values: Array,
        codes: IntArray,
        classes: tuple[str, ...],
        columns: Mapping[str, Array] | None = None,
        ids: Array | None = None,
    ) -> Self:
        """A chunk made by a source: arrays already checked, classes may be missing.

        Parameters
        ----------
        values
            Log-likelihoods, shape (trials, classes).
        codes
            The class of each trial as a number.
        classes
            Names of the classes.
        columns
            Columns that go with the scores, by name.
        ids
            What the trials are called.
        """
        trials = cls.__new__(cls)  # without the checks, which the whole has passed
        trials.values, trials.codes, trials.classes = values, codes, classes
        trials.ids, trials.columns = ids, columns or {}
        return trials

    @property
    def loglik(self) -> Array:
        """Refused: vectors are not log-likelihoods."""
        raise InputError(
            "these are vectors, not log-likelihoods: make log-likelihoods of them first, for instance "
            "with llrkit.multiclass.fit_gaussian"
        )

    @property
    def labels(self) -> Array:
        """The name of each trial's class."""
        # objects, so that names of different lengths are not padded
        return np.asarray(self.classes, dtype=object)[self.codes]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def counts(self) -> IntArray:
        """Number of trials of each class."""
        return np.bincount(self.codes, minlength=len(self.classes)).astype(np.int64)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Rows) -> Self:
        """Some of the trials, by a boolean mask, a slice or their places.

        Parameters
        ----------
        rows
            A boolean mask, a slice or row numbers.
        """
        columns = {name: column[rows] for name, column in self.columns.items()}
        ids = None if self.ids is None else self.ids[rows]
        return self.part(self.values[rows], self.codes[rows], self.classes, columns, ids)

    def reduce(self, summarize: Callable[[ClassVectors], S], *, threads: int | None = None) -> S:
        """Summarize every chunk in a pool of threads and merge the summaries.

        Parameters
        ----------
        summarize
            Function of one chunk whose results can be merged with ``+``.
        threads
            Number of threads; by default as many as there are processors.
        """
        return reduce_chunks(self.chunks(), summarize, threads=threads)

    def with_columns(self, *names: str) -> Self:
        """The same trials carrying only these columns; ``position`` is the place within the class.

        Parameters
        ----------
        *names
            Names of columns.
        """
        own = dict(self.columns)
        if POSITION in names and POSITION not in own:
            own[POSITION] = positions(self.codes, np.zeros(len(self.classes), dtype=np.intp))
        for name in names:
            if name not in own:
                require_column(name, self.columns)
        columns = {name: own[name] for name in names}
        return self.part(self.values, self.codes, self.classes, columns, self.ids)

    def chunks(self) -> Iterator[Self]:
        """Consecutive pieces; how they are cut depends on the data alone."""
        # at least some rows a chunk, however long the vectors are
        rows = max(256, CHUNK_NUMBERS // int(np.prod(self.values.shape[1:])))
        pieces = max(1, -(-len(self) // rows))
        for i in range(pieces):
            # even pieces: no thread is left with a short rest
            yield self.take(slice(i * len(self) // pieces, (i + 1) * len(self) // pieces))

    def __repr__(self) -> str:
        shape = f"dimension {self.values.shape[1]}"
        return f"{type(self).__name__}({counted(len(self), 'trial')} of {self.n_classes} classes, {shape})"


def positions(codes: IntArray, before: IntArray) -> IntArray:
    """The place of each trial among those of its class, when ``before`` of each came earlier.

    Examples
    --------
    >>> positions(np.array([0, 1, 0, 0]), np.array([10, 0])).tolist()
    [10, 0, 11, 12]
    """
    order = np.argsort(codes, kind="stable")  # stable: the order of the trials within a class
    counts = np.bincount(codes, minlength=len(before))
    starts = np.cumsum(counts) - counts
    places = np.empty(len(codes), dtype=np.intp)
    places[order] = np.arange(len(codes)) + (before - starts)[codes[order]]
    return places


class ClassScores(ClassVectors):
    """Log-likelihoods of K classes for each trial, natural logarithm, up to a constant per trial.

    Posteriors, logits and other scores that are log-likelihoods up to scale and offset may be given too:
    calibration is what makes log-likelihoods of them. One ``-inf`` says a class is impossible; a row
    of nothing but ``-inf`` is refused.

    Parameters
    ----------
    vectors
        Shape (n, K): one column per class. For several systems (n, K, systems).
    labels, classes, ids, columns
        As for :class:`ClassVectors`. Without ``classes`` the columns are named 0, 1, ..., K-1.

    Examples
    --------
    >>> ClassScores([[2.0, -1.0, 0.5], [0.1, 0.3, -2.0]], ["en", "de"], ["en", "de", "nl"])
    ClassScores(2 trials of 3 classes)
    >>> ClassScores([[2.0, -1.0]], ["fr"], ["en", "de"])
    Traceback (most recent call last):
    llrkit.errors.LabelError: unknown class 'fr' at index 0; the classes are en, de
    """

    _what = "log-likelihoods"

    def _default_classes(self, labels: object) -> tuple[str, ...]:
        return class_names(range(self.values.shape[1]))

    def _check_shape(self) -> None:
        if self.values.ndim not in (2, 3) or self.values.size == 0:
            raise InputError(
                f"log-likelihoods must have shape (n, K) or (n, K, systems), got {self.values.shape}"
            )
        if self.values.ndim == 3 and self.values.shape[2] == 1:  # one system has one shape everywhere
            self.values = self.values[:, :, 0]

    def _check_classes(self) -> None:
        if self.values.shape[1] != len(self.classes):
            raise LabelError(
                f"{self.values.shape[1]} columns of log-likelihoods for {len(self.classes)} classes"
            )
        super()._check_classes()

    def _check_values(self) -> None:
        super()._check_values()
        if self.values.min() == -np.inf:  # one pass tells whether a closer look is needed
            hopeless = self.values.max(axis=1) == -np.inf
            if hopeless.any():
                row = int(np.argwhere(hopeless)[0][0])
                raise InputError(f"{self.place(row)}: all log-likelihoods are -inf, so no class is possible")
        if self.values.max() == np.inf:  # of two infinite ones no posterior could be formed
            certain = (self.values == np.inf).sum(axis=1) > 1
            if certain.any():
                row = int(np.argwhere(certain)[0][0])
                raise InputError(f"{self.place(row)}: more than one log-likelihood is +inf")

    def _name_of(self, where: tuple[int, ...]) -> str:
        of_class, *systems = where
        system = f", system {systems[0]}" if systems else ""
        return f"the log-likelihood of class {self.classes[of_class]!r}{system}"

    @property
    def loglik(self) -> Array:
        """The log-likelihoods, shape (n, K), or (n, K, systems)."""
        return self.values

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return 1 if self.values.ndim == 2 else int(self.values.shape[2])

    @classmethod
    def from_posteriors(
        cls,
        log_posteriors: ArrayLike,
        labels: ArrayLike,
        classes: Sequence[object] | None = None,
        ids: object = None,
        *,
        prior: object,
        columns: Mapping[str, object] | None = None,
    ) -> ClassScores:
        """Remove the prior from log-posteriors (or logits) that contain one.

        ``prior`` holds one probability per class, or is "counts": the proportions of the labels.

        Parameters
        ----------
        log_posteriors
            Log-posteriors or logits, shape (trials, classes).
        labels
            The class of each trial: its name, or its position in ``classes``.
        classes
            Names of the classes.
        ids
            Identifiers of the trials.
        prior
            The prior that the posteriors contain: one probability per class, or ``"counts"``.
        columns
            Columns that go with the scores, by name.

        Examples
        --------
        >>> import numpy as np
        >>> ClassScores.from_posteriors(np.log([[0.8, 0.2]]), [0], prior=[0.8, 0.2]).loglik
        array([[0., 0.]])
        """
        return cls(log_posteriors, labels, classes, ids, columns=columns).without_prior(prior)

    def without_prior(self, prior: object) -> ClassScores:
        """The same trials with the logarithm of a prior taken away: log-likelihoods of log-posteriors.

        Parameters
        ----------
        prior
            The prior that the scores contain: one probability per class, or ``"counts"``.
        """
        counts = self.counts
        share = counts / counts.sum() if isinstance(prior, str) and prior == "counts" else prior
        try:
            share = np.asarray(share, dtype=np.float64)
        except (TypeError, ValueError):
            share = np.empty(0)
        if share.shape != (len(self.classes),) or not (share > 0).all():
            raise InputError(f"the prior must hold a positive number for each of the classes, got {prior!r}")
        shift = np.log(share / share.sum())  # priors may be given as counts
        values = self.values - (shift if self.values.ndim == 2 else shift[:, None])
        return self.part(read_only(values), self.codes, self.classes, self.columns, self.ids)

    @classmethod
    def stack(cls, systems: Sequence[ClassScores]) -> ClassScores:
        """Several systems' scores of the same trials, in the same order, as one set for fusion.

        Parameters
        ----------
        systems
            The trials scored by each system, in the same order.

        Examples
        --------
        >>> one = ClassScores([[1.0, 0.0], [0.0, 2.0]], [0, 1])
        >>> ClassScores.stack([one, one]).n_systems
        2
        """
        if not systems:
            raise SystemCountError("no systems to stack")
        first = systems[0]
        for i, other in enumerate(systems[1:], 2):
            if other.classes != first.classes:
                raise LabelError(f"system {i} has other classes, or in another order, than system 1")
            if not np.array_equal(other.codes, first.codes):
                raise LabelError(f"system {i} has other labels than system 1")
            # without ids, the labels must do
            if first.ids is not None and other.ids is not None and not np.array_equal(other.ids, first.ids):
                raise LabelError(f"system {i} has other trials, or in another order, than system 1")
        parts = [one.values if one.values.ndim == 3 else one.values[:, :, None] for one in systems]
        values = read_only(np.concatenate(parts, axis=2))
        return cls.part(values, first.codes, first.classes, first.columns, first.ids)

    def __repr__(self) -> str:
        systems = f", {self.n_systems} systems" if self.n_systems > 1 else ""
        return f"ClassScores({counted(len(self), 'trial')} of {self.n_classes} classes{systems})"
