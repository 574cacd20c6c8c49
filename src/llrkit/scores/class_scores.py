"""Trials of more than two classes: log-likelihoods of every class, and a label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit._format import counted
from llrkit.errors import InputError, LabelError, SystemCountError
from llrkit.scores.checked_arrays import read_only
from llrkit.scores.class_labels import class_names
from llrkit.scores.class_vectors import ClassSource, ClassVectors, positions

__all__ = ["ClassScores", "ClassSource", "ClassVectors", "positions"]


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
        if self.values.ndim == 3 and self.values.shape[2] == 1:
            self.values = self.values[:, :, 0]

    def _check_classes(self) -> None:
        if self.values.shape[1] != len(self.classes):
            raise LabelError(
                f"{self.values.shape[1]} columns of log-likelihoods for {len(self.classes)} classes"
            )
        super()._check_classes()

    def _check_values(self) -> None:
        super()._check_values()
        if self.values.min() == -np.inf:
            hopeless = self.values.max(axis=1) == -np.inf
            if hopeless.any():
                row = int(np.argwhere(hopeless)[0][0])
                raise InputError(f"{self.place(row)}: all log-likelihoods are -inf, so no class is possible")
        if self.values.max() == np.inf:
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
        log_posteriors: npt.ArrayLike,
        labels: npt.ArrayLike,
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
            The prior that the posteriors contain: one probability per class, or ``"flat"``.
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
            The prior that the scores contain: one probability per class, or ``"flat"``.
        """
        counts = self.counts
        share = counts / counts.sum() if isinstance(prior, str) and prior == "counts" else prior
        try:
            share = np.asarray(share, dtype=np.float64)
        except (TypeError, ValueError):
            share = np.empty(0)
        if share.shape != (len(self.classes),) or not (share > 0).all():
            raise InputError(f"the prior must hold a positive number for each of the classes, got {prior!r}")
        shift = np.log(share / share.sum())
        values = self.values - (shift if self.values.ndim == 2 else shift[:, None])
        trials = self.part(read_only(values), self.codes, self.classes, self.columns)
        trials.ids = self.ids
        return trials

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
            if first.ids is not None and other.ids is not None and not np.array_equal(other.ids, first.ids):
                raise LabelError(f"system {i} has other trials, or in another order, than system 1")
        parts = [one.values if one.values.ndim == 3 else one.values[:, :, None] for one in systems]
        trials = cls.part(read_only(np.concatenate(parts, axis=2)), first.codes, first.classes, first.columns)
        trials.ids = first.ids
        return trials

    def __repr__(self) -> str:
        systems = f", {self.n_systems} systems" if self.n_systems > 1 else ""
        return f"ClassScores({counted(len(self), 'trial')} of {self.n_classes} classes{systems})"
