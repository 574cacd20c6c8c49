"""Priors over classes, and that every class has trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray
from llrkit.core.summary_algebra import SummaryBase
from llrkit.errors import EmptyClassError, InputError
from llrkit.scores.class_labels import listed
from llrkit.scores.class_scores import ClassSource, ClassVectors
from llrkit.scores.source import ScoreSource

Prior = str | Mapping[str, float] | Sequence[float] | npt.NDArray[np.float64]
"""``"flat"``, ``"counts"`` (the proportions of the labels), or one probability for each class."""


@dataclass(frozen=True, eq=False)
class ClassCounts(SummaryBase):
    """How many trials each class has."""

    classes: tuple[str, ...]
    n: Array

    @classmethod
    def of(cls, chunk: ClassVectors) -> ClassCounts:
        """The counts of a chunk."""
        return cls(chunk.classes, chunk.counts)

    def __add__(self, other: ClassCounts) -> ClassCounts:
        return ClassCounts(self.classes, self.n + other.n)

    def __mul__(self, weight: float) -> ClassCounts:
        return ClassCounts(self.classes, self.n * weight)


def as_classes(given: object) -> ClassSource:
    """What was given, if it is a source of several classes; anything else is an error that says what is.

    Examples
    --------
    >>> as_classes("scores.csv")
    Traceback (most recent call last):
    llrkit.errors.InputError: expected trials of several classes, got str: give
    lk.ClassScores(loglik, labels), lk.multiclass.read_classes(path) or ...
    """
    # a cluster holds trials of two or of several classes, which only its chunks tell
    of_two = isinstance(given, ScoreSource) and given.sizes is not None
    if of_two or not hasattr(given, "reduce"):
        raise InputError(
            f"expected trials of several classes, got {type(given).__name__}: give "
            "lk.ClassScores(loglik, labels), lk.multiclass.read_classes(path) or "
            "lk.multiclass.scan_classes(path, classes)"
        )
    return cast(ClassSource, given)


def count_classes(source: ClassSource) -> ClassCounts:
    """The number of trials of each class; none may be empty."""
    source = as_classes(source)
    counts = ClassCounts.of(source) if isinstance(source, ClassVectors) else source.reduce(ClassCounts.of)
    require_all_classes(counts.classes, counts.n)
    return counts


def require_all_classes(classes: Sequence[str], counts: Array) -> None:
    """Refuse a class without trials.

    Examples
    --------
    >>> require_all_classes(["en", "de", "nl"], np.array([3, 0, 0]))
    Traceback (most recent call last):
    llrkit.errors.EmptyClassError: no trials of the classes de, nl; leave classes without trials out with
    llrkit.multiclass.only(source, [...]), or --classes
    """
    empty = [name for name, n in zip(classes, counts, strict=True) if n == 0]
    if empty:
        which = f"class {empty[0]}" if len(empty) == 1 else f"classes {listed(empty)}"
        raise EmptyClassError(
            f"no trials of the {which}; leave classes without trials out with "
            "llrkit.multiclass.only(source, [...]), or --classes"
        )


def class_prior(prior: Prior, counts: ClassCounts) -> FloatArray:
    """The prior as one positive probability per class, in the order of the classes.

    Examples
    --------
    >>> counts = ClassCounts(("en", "de"), np.array([3, 1]))
    >>> class_prior("counts", counts), class_prior({"de": 0.1, "en": 0.9}, counts)
    (array([0.75, 0.25]), array([0.9, 0.1]))
    """
    k = len(counts.classes)
    if isinstance(prior, str):
        if prior not in ("flat", "counts"):
            raise InputError(f"prior {prior!r}: expected 'flat', 'counts' or a probability for each class")
        return np.full(k, 1.0 / k) if prior == "flat" else counts.n / counts.n.sum()
    if isinstance(prior, Mapping):
        if set(prior) != set(counts.classes):
            wrong = sorted(set(prior) ^ set(counts.classes))
            raise InputError(f"the prior must name every class and no other; wrong: {listed(wrong)}")
        prior = [prior[name] for name in counts.classes]
    try:
        share = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"the prior must hold a probability for each class, got {prior!r}") from None
    if share.shape != (k,):
        raise InputError(f"the prior has shape {share.shape}, but there are {k} classes")
    if not ((share > 0) & np.isfinite(share)).all():
        raise InputError(
            "every class needs a prior above 0; leave classes out with llrkit.multiclass.only(source, [...])"
        )
    if abs(share.sum() - 1.0) > 1e-6:
        raise InputError(f"the prior sums to {share.sum():.6g}, not to 1")
    return np.asarray(share / share.sum())


def entropy(prior: FloatArray) -> float:
    """Entropy of a prior in nats."""
    return -float((prior * np.log(prior)).sum())
