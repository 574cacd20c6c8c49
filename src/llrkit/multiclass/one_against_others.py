"""One class against the others, and one class against another: sources for every binary metric and curve."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray, IntArray
from llrkit.errors import InputError, UnknownNameError
from llrkit.multiclass.class_blocks import against_others, by_class, loglik_blocks
from llrkit.multiclass.class_counts_and_priors import ClassCounts, Prior, as_classes, class_prior
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.class_labels import listed
from llrkit.scores.class_scores import ClassSource, ClassVectors
from llrkit.scores.derived_sources import ChangedChunks
from llrkit.scores.roles import Roles, row_in_words


def detection(source: ClassSource, target: str, *, prior: Prior = "flat") -> ScoreSource:
    """Detection LLRs of one class as a source: ``l_t - log sum_{n != t} p_n e^{l_n}``.

    ``p_n`` is the prior of the other classes, scaled to sum to 1; trials of the class are the targets, all
    others the non-targets. Every binary metric, calibrator and ``evaluate`` takes the result.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    target
        Name of the class that is detected.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [0.1, 0.0, 2.0]], [0, 1, 2])
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
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    target
        The class that positive LLRs speak for.
    other
        The class that negative LLRs speak for.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [0.1, 0.0, 2.0]], [0, 1, 2])
    >>> lk.auc(lk.multiclass.pair(scores, "0", "2"))
    1.0
    """
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
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    classes
        Names of the classes to keep.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [0.1, 0.0, 2.0]], [0, 1, 2])
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
    if len(values) and np.isneginf(values.max(axis=1).min()):
        which = listed([chunk.classes[i] for i in places])
        raise InputError(f"a trial has log-likelihood -inf for all of the classes {which}")
    columns = {name: column[rows] for name, column in chunk.columns.items()}
    names = tuple(chunk.classes[i] for i in places)
    return type(chunk).part(values, codes[rows], names, columns)
