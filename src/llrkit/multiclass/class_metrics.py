"""Metrics of log-likelihoods of several classes: Cllr, error rate, expected cost, confusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arguments import not_negative, takes, whole_number
from llrkit._arrays import Array, FloatArray
from llrkit.core.elementary_functions import LN2
from llrkit.errors import InputError
from llrkit.metrics.curve_base import Curve
from llrkit.multiclass.class_counts_and_priors import ClassCounts, Prior, class_prior, count_classes, entropy
from llrkit.multiclass.class_losses import ClassLosses, Detection
from llrkit.scores.class_scores import ClassSource


def losses_at(
    source: ClassSource,
    prior: Prior = "flat",
    costs: Sequence[FloatArray] = (),
    detections: Sequence[Detection] = (),
) -> tuple[ClassLosses, FloatArray]:
    """Losses of a source at a prior, and the prior as an array; every class must have trials."""
    counts = count_classes(source)
    share = class_prior(prior, counts)
    return source.reduce(ClassLosses.at(np.log(share), costs, detections)), share


@takes()
def cllr(source: ClassSource, *, prior: Prior = "flat", normalized: bool = False) -> float:
    """Cross-entropy of the posteriors at a prior, in bits: the multi-class Cllr.

    ``sum_k prior_k mean_{trials of k} -log2 P(k | trial)``: every class weighs as its prior says, however
    many trials it has. At the flat prior this is Brümmer's Cmxe; two classes give Cllr. ``normalized``
    divides by the entropy of the prior, what log-likelihoods that say nothing cost.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.
    normalized
        Divide by the cost of deciding without scores.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]], [0, 1, 2])
    >>> round(lk.multiclass.cllr(scores), 4), round(lk.multiclass.cllr(scores, normalized=True), 4)
    (0.9087, 0.5733)
    """
    losses, share = losses_at(source, prior)
    return cllr_from_losses(losses, share, normalized=normalized)


def cllr_from_losses(losses: ClassLosses, prior: FloatArray, *, normalized: bool = False) -> float:
    """Cross-entropy of summed losses, in bits or over the entropy of the prior."""
    nats = float((prior * (losses.loss / losses.n)).sum())
    return nats / entropy(prior) if normalized else nats / LN2


def error_rate(source: ClassSource, *, prior: Prior = "flat") -> float:
    """Share of trials whose most probable class is another than theirs, each class weighted by its prior.

    Equal posteriors go to the class that comes first.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[1.0, 0.0], [0.0, 2.0], [3.0, 2.5]], [0, 1, 1])
    >>> lk.multiclass.error_rate(scores)
    0.25
    """
    losses, share = losses_at(source, prior)
    return error_rate_from_losses(losses, share)


def error_rate_from_losses(losses: ClassLosses, prior: FloatArray) -> float:
    """Error rate of counted decisions."""
    wrong = losses.n - np.diag(losses.confused)
    return float((prior * (wrong / losses.n)).sum())


def zero_one_cost(n_classes: int, *, abstain: float | None = None) -> FloatArray:
    """The cost matrix of the error rate; with ``abstain`` also a decision not to decide, of that cost.

    Parameters
    ----------
    n_classes
        Number of classes.
    abstain
        Cost of not deciding.

    Examples
    --------
    >>> zero_one_cost(2, abstain=0.1)
    array([[0. , 1. , 0.1],
           [1. , 0. , 0.1]])
    """
    errors = 1.0 - np.eye(whole_number(n_classes, 1, "n_classes"))
    if abstain is None:
        return errors
    return np.column_stack([errors, np.full(n_classes, not_negative(abstain, "abstain"))])


@takes()
def expected_cost(
    source: ClassSource, cost: npt.ArrayLike, *, prior: Prior = "flat", normalized: bool = True
) -> float:
    """Cost of Bayes decisions under a cost matrix (Ferrer 2022).

    ``cost[k, j]`` is the cost of decision j when class k is true; there may be more or fewer decisions than
    classes. Each trial gets the decision of least expected cost at the prior, the first of several.
    ``normalized`` divides by the cost of the best decision that looks at no trial.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    cost
        Cost of each decision (column) for each class (row).
    prior
        Prior of the classes: ``"flat"``, or one probability per class.
    normalized
        Divide by the cost of deciding without scores.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[1.0, 0.0], [0.0, 2.0], [3.0, 2.5]], [0, 1, 1])
    >>> lk.multiclass.expected_cost(scores, [[0, 1], [10, 0]])
    1.0
    """
    counts = count_classes(source)
    matrix = cost_matrix(cost, counts)
    losses, share = losses_at(source, prior, [matrix])
    return cost_from_decisions(losses.decided[0], matrix, share, normalized=normalized)


def cost_from_decisions(
    decided: Array, matrix: FloatArray, prior: FloatArray, *, normalized: bool = True
) -> float:
    """Mean cost of counted decisions, each class weighted by its prior."""
    rates = decided / decided.sum(axis=1, keepdims=True)
    value = float((prior[:, None] * rates * matrix).sum())
    if not normalized:
        return value
    blind = float((prior @ matrix).min())
    if blind == 0.0:
        raise InputError("one decision costs nothing whatever the class: the cost cannot be normalized")
    return value / blind


def cost_matrix(cost: npt.ArrayLike, counts: ClassCounts) -> FloatArray:
    """A checked cost matrix: one row per class, finite, not negative."""
    try:
        matrix = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the cost matrix is not a matrix of numbers ({error})") from None
    k = len(counts.classes)
    if matrix.ndim != 2 or matrix.shape[0] != k or matrix.shape[1] == 0:
        raise InputError(
            f"the cost matrix must have a row for each of the {k} classes, got shape {matrix.shape}"
        )
    if not (np.isfinite(matrix) & (matrix >= 0)).all():
        raise InputError("costs must be finite and not negative")
    return matrix


@dataclass(frozen=True, eq=False)
class Confusion(Curve):
    """``counts[k, j]``: trials of class k whose most probable class is j."""

    classes: tuple[str, ...]
    """Names of the classes."""
    counts: Array
    """Number of trials by true class (rows) and decided class (columns)."""

    @property
    def rates(self) -> FloatArray:
        """Shares of each class; the rows sum to 1."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    @property
    def error_rates(self) -> FloatArray:
        """Share of each class that is taken for another."""
        return np.asarray((self.counts.sum(axis=1) - np.diag(self.counts)) / self.counts.sum(axis=1))


def confusion(source: ClassSource, *, prior: Prior = "flat") -> Confusion:
    """How often each class is taken for each other, if the most probable class at the prior is chosen.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[1.0, 0.0], [0.0, 2.0], [3.0, 2.5]], ["a", "b", "b"], ["a", "b"])
    >>> lk.multiclass.confusion(scores).counts
    array([[1, 0],
           [1, 1]])
    """
    losses, _ = losses_at(source, prior)
    return Confusion(losses.classes, losses.confused)
