"""Cllr, Cavg, error rates and confusion of several classes, and one class against the others.

Every metric is a function of one summary, :class:`ClassLosses`. The arrays of a chunk have one row per trial;
the summary works on blocks of them turned round, so that every operation runs along long rows of one class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, Counts, FloatArray, IntArray, not_negative, whole_number, yes_or_no
from llrkit.base.text import not_among
from llrkit.core.numerics import BLOCK, LN2, blocks, probability
from llrkit.core.summaries import FieldwiseSums, ReadOnlyArrays
from llrkit.errors import (
    EmptyClassError,
    InputError,
    SystemCountError,
    UnconfirmedPresetError,
    UnknownNameError,
)
from llrkit.metrics.costs import act_dcf
from llrkit.metrics.discrimination import Curve, min_dcf
from llrkit.scores import Scores
from llrkit.scores.classes import ClassSource, ClassVectors
from llrkit.scores.derived import ChangedChunks
from llrkit.scores.labels import listed
from llrkit.scores.source import Roles, ScoreSource, row_in_words

Prior = str | Mapping[str, float] | Sequence[float] | npt.NDArray[np.float64]
"""``"flat"``, ``"counts"`` (the proportions of the labels), or one probability for each class."""


@dataclass(frozen=True, eq=False)
class ClassCounts(FieldwiseSums):
    """How many trials each class has; sums that subclasses hold besides are added field by field."""

    classes: tuple[str, ...]
    n: Counts

    _alike: ClassVar[tuple[str, ...]] = ("classes",)

    @staticmethod
    def of(chunk: ClassVectors) -> ClassCounts:
        """The counts of a chunk."""
        return ClassCounts(chunk.classes, chunk.counts)


def as_classes(given: object) -> ClassSource:
    """What was given, if it is a source of several classes; anything else is an error that says what is.

    Examples
    --------
    >>> as_classes("scores.csv")
    Traceback (most recent call last):
    llrkit.errors.InputError: expected trials of several classes, got str: give
    lk.scores.ClassScores(loglik, labels), lk.multiclass.read_classes(path) or ...
    """
    # a cluster holds trials of two or of several classes, which only its chunks tell
    of_two = isinstance(given, ScoreSource) and given.sizes is not None
    if of_two or not hasattr(given, "reduce"):
        raise InputError(
            f"expected trials of several classes, got {type(given).__name__}: give "
            "lk.scores.ClassScores(loglik, labels), lk.multiclass.read_classes(path) or "
            "lk.multiclass.scan_classes(path, classes)"
        )
    return cast(ClassSource, given)


def count_classes(source: ClassSource) -> ClassCounts:
    """The number of trials of each class; none may be empty."""
    source = as_classes(source)
    # Trials in memory know their counts.
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
    # A class with prior 0 would have an infinite log-prior.
    if not ((share > 0) & np.isfinite(share)).all():
        raise InputError(
            "every class needs a prior above 0; leave classes out with llrkit.multiclass.only(source, [...])"
        )
    if abs(share.sum() - 1.0) > 1e-6:
        raise InputError(f"the prior sums to {share.sum():.6g}, not to 1")
    # Rounding of what was written with few digits.
    return np.asarray(share / share.sum())


def entropy(prior: FloatArray) -> float:
    """Entropy of a prior in nats."""
    return -float((prior * np.log(prior)).sum())


def trial_blocks(n: int, width: int, least: int = 64) -> Iterator[slice]:
    """Slices of at least some trials whose numbers, ``width`` each, stay in the cache."""
    # At least 64 trials, or the cost of NumPy's calls would outweigh the work on very many classes.
    return blocks(n, max(64, least, BLOCK // width))


def by_class(values: Array) -> FloatArray:
    """A float64 copy of an array of shape (m, K) turned round to (K, m)."""
    # C order after turning: rows of one class are contiguous.
    return np.array(values.T, dtype=np.float64, order="C")


def loglik_blocks(chunk: ClassVectors) -> Iterator[tuple[FloatArray, IntArray]]:
    """Log-likelihoods, shape (K, m), and codes of consecutive trials of one system.

    A ``+inf`` makes its class certain: it is turned into 0 and the rest of the row into ``-inf``, which
    says the same and can be calculated with.
    """
    values = one_system(chunk)
    for block in trial_blocks(len(values), values.shape[1]):
        loglik = by_class(values[block])
        # One maximum over the block first: infinities are rare.
        if np.isposinf(loglik.max()):
            certain = np.isposinf(loglik.max(axis=0))
            loglik[:, certain] = np.where(np.isposinf(loglik[:, certain]), 0.0, -np.inf)
        yield loglik, chunk.codes[block]


def one_system(chunk: ClassVectors) -> Array:
    """The log-likelihoods of a chunk, which must be of one system."""
    values = chunk.loglik
    if values.ndim != 2:
        raise SystemCountError(f"one system expected, got {values.shape[2]}; fuse them first or choose one")
    return values


def against_others(loglik: FloatArray, which: int | IntArray, weights: FloatArray) -> FloatArray:
    """LLR of a class against the weighted rest: ``l_t - log sum_{n != t} w_n e^{l_n} / sum_{n != t} w_n``.

    ``loglik`` has shape (K, m); ``which`` is a class, or one class for each trial. The sum leaves the class
    out rather than taking it away again, so that two classes give exactly the difference.

    Examples
    --------
    >>> against_others(np.array([[2.0], [0.5]]), 0, np.ones(2))
    array([1.5])
    """
    trials = np.arange(loglik.shape[1])
    own = loglik[which, trials]
    rest = loglik.copy()
    rest[which, trials] = -np.inf
    top = rest.max(axis=0)
    # Every other class impossible: subtracting -inf from -inf would be NaN.
    impossible = np.isneginf(top)
    top[impossible] = 0.0
    rest -= top
    np.exp(rest, out=rest)
    rest *= weights[:, None]
    total = sums_of_others(weights)
    with np.errstate(divide="ignore"):  # log(0) = -inf: nothing but this class is possible
        others = np.log(rest.sum(axis=0)) - np.log(total[which])
    return np.asarray(own - (top + others))


def sums_of_others(weights: FloatArray) -> FloatArray:
    """For each class the sum of the weights of all others, added up rather than taken away.

    Examples
    --------
    >>> sums_of_others(np.array([0.5, 0.3, 0.2]))
    array([0.5, 0.7, 0.8])
    """
    return np.asarray(np.where(np.eye(len(weights), dtype=bool), 0.0, weights).sum(axis=1))


def gram(a: FloatArray, b: FloatArray) -> FloatArray:
    """``a b'``; of a few rows without BLAS, whose threads would fight those of the pool."""
    return np.asarray(np.einsum("im,jm->ij", a, b) if len(a) <= 64 else a @ b.T)


_NEARLY = 1e-10  # closer to the threshold than this, the LLR itself decides


@dataclass(frozen=True, eq=False)
class Detection(ReadOnlyArrays):
    """A question: is the LLR of each class against the weighted others at least ``threshold``?"""

    weights: FloatArray
    threshold: float


@dataclass(frozen=True, eq=False)
class ClassLosses(ClassCounts):
    """Soft and hard losses of log-likelihoods at a prior.

    ``loss[k]`` is the sum over trials of class k of ``-log`` of the posterior of k, in nats;
    ``confused[k, j]`` counts those whose most probable class is j (the first of several);
    ``decided[k, j]`` those for which decision j has the least expected cost, the decisions of all cost
    matrices standing side by side; ``accepted[d, t, k]`` those that detection d takes for class t.
    """

    loss: FloatArray
    confused: Counts
    decided: Counts
    accepted: Counts

    @classmethod
    def at(
        cls, log_prior: FloatArray, costs: Sequence[FloatArray] = (), detections: Sequence[Detection] = ()
    ) -> Callable[[ClassVectors], ClassLosses]:
        """A summarizer at a prior, for cost matrices and detection thresholds.

        Examples
        --------
        >>> from llrkit.scores.classes import ClassScores
        >>> chunk = ClassScores([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]], [0, 1, 1])
        >>> ClassLosses.at(np.log([0.5, 0.5]))(chunk).confused.tolist()
        [[1, 0], [1, 1]]
        """

        def make(chunk: ClassVectors) -> ClassLosses:
            k = len(chunk.classes)
            # A flat prior adds one constant to all classes, so the addition and its rounding are left
            # out.
            flat = bool((log_prior == log_prior[0]).all())
            loss = np.zeros(k)
            # the cells of each table that trials fall into; tables are large where classes are many, so they
            # are filled once and not for every block
            confused: list[IntArray] = []
            decided: list[list[IntArray]] = [[] for _ in costs]
            accepted: list[list[IntArray]] = [[] for _ in detections]
            for loglik, codes in loglik_blocks(chunk):
                weighted = loglik if flat else loglik + log_prior[:, None]
                top = weighted.max(axis=0)
                relative = np.exp(weighted - top)
                # bincount with weights adds up the losses of each class.
                loss += np.bincount(codes, _losses_of_classes(weighted, top, relative, codes), k)
                confused.append(codes * k + weighted.argmax(axis=0))
                for cost, cells in zip(costs, decided, strict=True):
                    best = np.einsum("kj,km->jm", cost, relative).argmin(axis=0)
                    cells.append(codes * cost.shape[1] + best)
                # Detections weigh the classes by themselves, so they need likelihoods without the prior.
                if detections and not flat:
                    relative = np.exp(loglik - loglik.max(axis=0))
                for detection, cells in zip(detections, accepted, strict=True):
                    models, trials = _accepted_detections(loglik, relative, detection)
                    cells.append(models * k + codes[trials])
            tables = [_table_of_cells(cells, cost.shape) for cells, cost in zip(decided, costs, strict=True)]
            return cls(
                chunk.classes,
                chunk.counts,
                loss,
                _table_of_cells(confused, (k, k)),
                np.hstack([np.zeros((k, 0), dtype=np.int64), *tables]),
                np.array([_table_of_cells(cells, (k, k)) for cells in accepted], np.int64).reshape(-1, k, k),
            )

        return make


def _table_of_cells(cells: list[IntArray], shape: tuple[int, ...]) -> Counts:
    """How often each cell of a table occurs."""
    every = np.concatenate(cells) if cells else np.empty(0, dtype=np.intp)
    return np.bincount(every, minlength=math.prod(shape)).astype(np.int64).reshape(shape)


def _losses_of_classes(
    weighted: FloatArray, top: FloatArray, relative: FloatArray, codes: IntArray
) -> FloatArray:
    """``log(1 + rest / own)`` of each trial, which keeps the digits of small losses and large ones finite."""
    trials = np.arange(len(codes))
    own = relative[codes, trials]
    # Zeroed and put back: subtracting own from the sum would cancel all digits of a small rest.
    relative[codes, trials] = 0.0
    rest = relative.sum(axis=0)
    relative[codes, trials] = own
    # Where own is the smaller part it may have underflowed to 0, and the logarithm is taken of the whole
    # sum.
    right = own >= rest
    ratio = np.divide(rest, own, out=np.zeros(len(own)), where=right)
    wrong = np.log(rest + own) - (weighted[codes, trials] - top)
    return np.asarray(np.where(right, np.log1p(ratio), wrong))


def _accepted_detections(
    loglik: FloatArray, relative: FloatArray, detection: Detection
) -> tuple[IntArray, IntArray]:
    """Models and trials of every acceptance; ``relative`` are likelihoods over the largest of the trial.

    ``x_t >= log b`` says that the share of the class in ``sum_n w_n e^{l_n}`` is at least b / (b w_t + rest),
    which takes no logarithm; where rounding could matter, the LLR itself decides.
    """
    weights, odds = detection.weights, float(np.exp(detection.threshold))
    least = odds / (odds * weights + sums_of_others(weights))
    total = np.einsum("k,km->m", weights, relative)
    # Equal weights, the usual case, have one bound for all classes.
    bound = np.multiply.outer(least, total) if np.ptp(least) else least[0] * total
    accepts = relative >= bound * (1.0 - _NEARLY)
    surely = relative >= bound * (1.0 + _NEARLY)
    # Ties and near ties are few, and only they pay for a logarithm.
    if np.count_nonzero(accepts) != np.count_nonzero(surely):
        models, trials = (accepts & ~surely).nonzero()
        accepts[models, trials] = against_others(loglik[:, trials], models, weights) >= detection.threshold
    places = np.flatnonzero(accepts)
    return np.divmod(places, accepts.shape[1])


def losses_at(
    source: ClassSource, prior: Prior = "flat", detections: Sequence[Detection] = ()
) -> tuple[ClassLosses, FloatArray]:
    """Losses of a source at a prior, and the prior as an array; every class must have trials."""
    share = class_prior(prior, count_classes(source))
    return source.reduce(ClassLosses.at(np.log(share), detections=detections)), share


def cllr(source: ClassSource, *, prior: Prior = "flat", normalized: bool = False) -> float:
    """Cross-entropy of the posteriors at a prior, in bits: the multi-class Cllr.

    ``sum_k prior_k mean_{trials of k} -log2 P(k | trial)``: every class weighs as its prior says, however
    many trials it has. At the flat prior this is Brümmer's Cmxe; two classes give Cllr. ``normalized``
    divides by the entropy of the prior, what log-likelihoods that say nothing cost.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.
    normalized
        Divide by the cost of deciding without scores.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]], [0, 1, 2])
    >>> round(lk.multiclass.cllr(scores), 4), round(lk.multiclass.cllr(scores, normalized=True), 4)
    (0.9087, 0.5733)
    """
    yes_or_no(normalized, "normalized")
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
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[1.0, 0.0], [0.0, 2.0], [3.0, 2.5]], [0, 1, 1])
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
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    cost
        Cost of each decision (column) for each class (row).
    prior
        Prior of the classes: ``"flat"``, or one probability per class.
    normalized
        Divide by the cost of deciding without scores.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[1.0, 0.0], [0.0, 2.0], [3.0, 2.5]], [0, 1, 1])
    >>> lk.multiclass.expected_cost(scores, [[0, 1], [10, 0]])
    1.0
    """
    yes_or_no(normalized, "normalized")
    counts = count_classes(source)
    matrix, share = cost_matrix(cost, counts), class_prior(prior, counts)
    losses = source.reduce(ClassLosses.at(np.log(share), [matrix]))
    return cost_from_decisions(losses.decided, matrix, share, normalized=normalized)


def cost_from_decisions(
    decided: Array, matrix: FloatArray, prior: FloatArray, *, normalized: bool = True
) -> float:
    """Mean cost of counted decisions, each class weighted by its prior."""
    rates = decided / decided.sum(axis=1, keepdims=True)
    value = float((prior[:, None] * rates * matrix).sum())
    if not normalized:
        return value
    # The best decision that is the same for all trials.
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
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[1.0, 0.0], [0.0, 2.0], [3.0, 2.5]], ["a", "b", "b"], ["a", "b"])
    >>> lk.multiclass.confusion(scores).counts
    array([[1, 0],
           [1, 1]])
    """
    losses, _ = losses_at(source, prior)
    return Confusion(losses.classes, losses.confused)


def detection(source: ClassSource, target: str, *, prior: Prior = "flat") -> ScoreSource:
    """Detection LLRs of one class as a source: ``l_t - log sum_{n != t} p_n e^{l_n}``.

    ``p_n`` is the prior of the other classes, scaled to sum to 1; trials of the class are the targets, all
    others the non-targets. Every binary metric, calibrator and ``evaluate`` takes the result.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    target
        Name of the class that is detected.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [0.1, 0.0, 2.0]], [0, 1, 2])
    >>> lk.eer(lk.multiclass.detection(scores, "1"))
    0.0
    """
    counts = as_classes(source).reduce(ClassCounts.of)
    return detection_of(source, _place_of_class(target, counts.classes), class_prior(prior, counts))


def pair(source: ClassSource, target: str, other: str) -> ScoreSource:
    """LLRs of one class against another, of the trials of these two only, as a source.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    target
        The class that positive LLRs speak for.
    other
        The class that negative LLRs speak for.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [0.1, 0.0, 2.0]], [0, 1, 2])
    >>> lk.auc(lk.multiclass.pair(scores, "0", "2"))
    1.0
    """
    # Weights do not matter with one other class.
    return detection_of(only(source, [target, other]), 0, np.ones(2))


def _place_of_class(name: str, classes: Sequence[str]) -> int:
    if name not in classes:
        raise UnknownNameError(f"there is no class {name!r}; the classes are {listed(classes)}")
    return list(classes).index(name)


class DetectionSource(ChangedChunks[ClassVectors, Scores], ScoreSource):
    """Trials with the LLR of one class against the weighted others in place of all log-likelihoods."""

    @property
    def roles(self) -> Roles:
        """One LLR per trial; what the classes carry is not known by role."""
        return Roles(("llr",), carried=self.carried)

    def place(self, row: int) -> str:
        """Trials of several classes are known by number only."""
        return row_in_words(row)


def detection_of(source: ClassSource, target: int, weights: FloatArray) -> DetectionSource:
    """LLRs of the class at a place against the weighted others, as a source."""
    return DetectionSource(source, partial(_as_two_classes, target=target, weights=weights))


def _as_two_classes(chunk: ClassVectors, target: int, weights: FloatArray) -> Scores:
    llrs = [against_others(loglik, target, weights) for loglik, _ in loglik_blocks(chunk)]
    llr = np.concatenate(llrs) if llrs else np.empty(0)
    mine = chunk.codes == target
    columns = {name: (column[mine], column[~mine]) for name, column in chunk.columns.items()}
    return Scores.part(llr[mine], llr[~mine], columns)


def detection_llrs(loglik: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatArray:
    """Detection LLRs of all classes, shape (n, K); ``weights`` are the priors, by default equal.

    Parameters
    ----------
    loglik
        Log-likelihoods, shape (trials, classes).
    weights
        Priors of the classes; by default equal.

    Examples
    --------
    >>> detection_llrs([[1.0, 0.0, 0.0]])
    array([[ 1.        , -0.62011451, -0.62011451]])
    """
    values = np.asarray(loglik, dtype=np.float64)
    share = np.ones(values.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    turned = by_class(values)
    return np.column_stack([against_others(turned, t, share) for t in range(values.shape[1])])


def only(source: ClassSource, classes: Sequence[str]) -> ClassSource:
    """The trials of some classes, with the log-likelihoods of these classes only.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    classes
        Names of the classes to keep.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [0.1, 0.0, 2.0]], [0, 1, 2])
    >>> lk.multiclass.error_rate(lk.multiclass.only(scores, ["0", "2"]))
    0.0
    """
    known = as_classes(source).reduce(ClassCounts.of).classes
    places = [_place_of_class(name, known) for name in classes]
    if len(set(places)) != len(places) or len(places) < 2:
        raise UnknownNameError(f"at least two different classes are needed, got {listed(classes)}")
    return ChangedChunks(source, partial(_trials_of_chosen_classes, places=np.array(places, dtype=np.intp)))


def _trials_of_chosen_classes(chunk: ClassVectors, places: IntArray) -> ClassVectors:
    """The trials of the classes at some places."""
    code = np.full(len(chunk.classes), -1, dtype=np.intp)
    code[places] = np.arange(len(places))
    codes = code[chunk.codes]
    rows = codes >= 0
    values = chunk.loglik[rows][:, places]
    # Leaving out a class may leave a trial without any possible one.
    if len(values) and np.isneginf(values.max(axis=1).min()):
        which = listed([chunk.classes[i] for i in places])
        raise InputError(f"a trial has log-likelihood -inf for all of the classes {which}")
    columns = {name: column[rows] for name, column in chunk.columns.items()}
    names = tuple(chunk.classes[i] for i in places)
    return type(chunk).part(values, codes[rows], names, columns)


@dataclass(frozen=True)
class CavgPreset:
    """How an evaluation averages the detection errors of its languages.

    ``p_target`` holds one or more priors of the target language, whose costs are averaged; ``p_out`` is the
    prior of out-of-set languages. A ``normalized`` cost is divided by the prior of the target, so that
    rejecting everything costs 1. ``unit`` says over what the mean is taken: all languages, the languages
    within each cluster, or pairs of languages.
    """

    name: str
    """Name of the preset."""
    p_target: tuple[float, ...] = (0.5,)
    """Priors of the target language, whose costs are averaged."""
    p_out: float = 0.0
    """Prior of out-of-set languages."""
    normalized: bool = False
    """Whether the cost is divided by the prior of the target."""
    unit: Literal["all", "clusters", "pairs"] = "all"
    """What the mean is taken over."""
    source: str = ""
    """Where the definition comes from."""
    confirmed: bool = True
    """Whether the definition could be confirmed."""

    def __post_init__(self) -> None:
        for prior in self.p_target:
            probability(prior, "p_target")
            # Otherwise nothing would be left for the other languages of the set.
            if not 0.0 <= self.p_out < 1.0 - prior:
                raise InputError(f"p_out must be at least 0 and below 1 - p_target, got {self.p_out!r}")

    def require_plain(self) -> None:
        """Refuse a cost that needs more than the trials: clusters, pairs, an out-of-set class."""
        if self.unit != "all" or self.p_out > 0.0:
            raise InputError(f"{self.name} does not average over all classes alone; use cavg() for it")


_LRE07 = "NIST's scoring script score_lre07.v01d, Cmiss = Cfa = 1, Ptarget = 0.5"
_OUT = "Poutofset = 0.2"
_FROM_MEMORY = "the evaluation plan itself was not at hand"
_PRESETS = (
    CavgPreset("lre07", source=f"NIST LRE 2007, closed set: {_LRE07}"),
    CavgPreset("lre07-open", p_out=0.2, source=f"NIST LRE 2007, open set: {_LRE07}, {_OUT}"),
    CavgPreset("lre09", source=f"NIST LRE 2009, closed set: as 2007; {_LRE07}"),
    CavgPreset("lre09-open", p_out=0.2, source=f"NIST LRE 2009, open set: as 2007; {_LRE07}, {_OUT}"),
    CavgPreset(
        "lre11", unit="pairs", confirmed=False,
        source="NIST LRE 2011: mean actual cost of the language pairs with the largest minimum cost, as many "
        f"pairs as languages; {_FROM_MEMORY}",
    ),
    CavgPreset(
        "lre15", unit="clusters", confirmed=False,
        source=f"NIST LRE 2015: mean over clusters of the LRE 2007 cost within each; {_FROM_MEMORY}",
    ),
    CavgPreset(
        "lre17", p_target=(0.5, 0.1), normalized=True, confirmed=False,
        source="NIST LRE 2017: mean of beta = 1 and 9; how data sources are averaged is not confirmed and "
        f"not done here; {_FROM_MEMORY}",
    ),
    CavgPreset(
        "lre22", p_target=(0.5, 0.1), normalized=True,
        source="NIST LRE 2022: mean of the normalized costs at beta = 1 and 9 (Ptarget = 0.5 and 0.1)",
    ),
)  # fmt: skip
PRESETS: Mapping[str, CavgPreset] = {preset.name: preset for preset in _PRESETS}


def cavg_preset(name: str | CavgPreset, *, allow_unconfirmed: bool = False) -> CavgPreset:
    """The cost of an evaluation by name.

    Parameters
    ----------
    name
        Name of the evaluation, or the preset itself.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> cavg_preset("lre22").p_target
    (0.5, 0.1)
    >>> cavg_preset("lre11")
    Traceback (most recent call last):
    llrkit.errors.UnconfirmedPresetError: preset 'lre11' is not confirmed (NIST LRE 2011: ...
    """
    yes_or_no(allow_unconfirmed, "allow_unconfirmed")
    if isinstance(name, CavgPreset):
        return name
    preset = PRESETS.get(str(name).lower())
    if preset is None:
        raise UnknownNameError(f"unknown cost {not_among(name, PRESETS)}")
    if not (preset.confirmed or allow_unconfirmed):
        raise UnconfirmedPresetError(
            f"preset {preset.name!r} is not confirmed ({preset.source}); pass allow_unconfirmed=True "
            "(--allow-unconfirmed) to use it"
        )
    return preset


def cavg(
    source: ClassSource,
    preset: str | CavgPreset = "lre07",
    *,
    out_of_set: str | None = None,
    clusters: Mapping[str, Sequence[str]] | None = None,
    allow_unconfirmed: bool = False,
) -> float:
    """Average detection cost over languages (or whatever the classes are), at the Bayes thresholds.

    ``1/N sum_t [Ptarget Pmiss(t) + sum_{n != t} Pnon Pfa(t, n) + Pout Pfa(t, out)]`` with
    ``Pnon = (1 - Ptarget - Pout) / (N - 1)``; class t is accepted when its detection LLR is at least
    ``log((1 - Ptarget) / Ptarget)``. False alarms are averaged over pairs of classes, not pooled.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    preset
        "lre07", "lre09" (with "-open" for open sets), "lre11", "lre15", "lre17", "lre22", or a
        :class:`CavgPreset`.
    out_of_set
        For open sets: the class that stands for every language outside the set. It is never a target.
    clusters
        For "lre15": name of each cluster -> its classes.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [2.1, 0.0, 2.0]], [0, 1, 2])
    >>> lk.multiclass.cavg(scores), round(lk.multiclass.cavg(scores, "lre22"), 6)
    (0.08333333333333333, 0.583333)
    """
    definition = cavg_preset(preset, allow_unconfirmed=allow_unconfirmed)
    if (definition.unit == "clusters") != (clusters is not None):
        raise InputError(f"{definition.name}: clusters are {'needed' if clusters is None else 'not used'}")
    if (definition.p_out > 0.0) != (out_of_set is not None):
        raise InputError(
            f"{definition.name}: {'name the class that stands for' if out_of_set is None else 'has no'} "
            "out-of-set trials (out_of_set)"
        )
    if definition.unit == "pairs":
        return _cost_of_worst_pairs(source, definition)
    if clusters is None:
        return _cost_over_all_classes(source, definition, out_of_set)
    if not clusters:
        raise InputError("no clusters were given")
    for name, members in clusters.items():
        if len(members) < 2:
            raise InputError(f"cluster {name!r} has fewer than two classes")
    within = [_cost_over_all_classes(only(source, names), definition, None) for names in clusters.values()]
    return float(np.mean(within))


def detections_of(preset: CavgPreset, n_classes: int, out: int | None = None) -> list[Detection]:
    """The detections whose errors a cost is made of: one for each prior of the target."""
    detections = []
    for prior in preset.p_target:
        weights = np.ones(n_classes)
        if out is not None:
            # In units of the weight of one other class of the set.
            weights[out] = preset.p_out / ((1.0 - prior - preset.p_out) / (n_classes - 2))
        detections.append(Detection(weights, math.log((1.0 - prior) / prior)))
    return detections


def cavg_from_detections(preset: CavgPreset, accepted: Counts, n: Counts, out: int | None = None) -> float:
    """The cost from counted detections, one table ``accepted[t, k]`` for each prior of the target."""
    # The out-of-set class stands for many languages and is never a target.
    targets = [t for t in range(len(n)) if t != out]
    costs = []
    for prior, counts in zip(preset.p_target, accepted, strict=True):
        rates = counts / n
        inside = rates[np.ix_(targets, targets)]
        miss = 1.0 - np.diag(inside)
        # Rates of pairs are added, so that every pair of languages counts the same.
        false_alarms = inside.sum(axis=1) - np.diag(inside)
        cost = prior * miss + (1.0 - prior - preset.p_out) / (len(targets) - 1) * false_alarms
        if out is not None:
            cost = cost + preset.p_out * rates[targets, out]
        costs.append(float(cost.mean()) / (prior if preset.normalized else 1.0))
    return float(np.mean(costs))


def _cost_over_all_classes(source: ClassSource, preset: CavgPreset, out_of_set: str | None) -> float:
    classes = count_classes(source).classes
    out = None if out_of_set is None else _place_of_class(out_of_set, classes)
    if len(classes) - (out is not None) < 2:
        raise InputError(f"{preset.name}: at least two target classes are needed")
    losses, _ = losses_at(source, detections=detections_of(preset, len(classes), out))
    return cavg_from_detections(preset, losses.accepted, losses.n, out)


def _cost_of_worst_pairs(source: ClassSource, preset: CavgPreset) -> float:
    classes = count_classes(source).classes
    point = preset.p_target[0]
    pairs = [pair(source, a, b) for a, b in combinations(classes, 2)]
    # the actual cost of a pair is that of the detection of its first class, half of each error
    least = np.array([min_dcf(one, point=point) for one in pairs])
    # As many pairs as languages; stable, so that ties are broken by the order of the classes.
    worst = np.argsort(-least, kind="stable")[: len(classes)]
    return float(np.mean([point * act_dcf(pairs[i], point=point) for i in worst]))
